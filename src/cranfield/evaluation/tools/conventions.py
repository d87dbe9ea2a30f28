"""How other tools understand a measure's name: what each does differently from us, one difference at a time.

A tool's value is ours after a few changes to a `Setting`: to the measure, to the join, or to what the tool is given.
Each change is a `Difference` that says which convention it concerns, so that it can be made alone and blamed alone.
What is said of a tool is said of the version in its title; field notes and the tool's own source are the authority.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from cranfield.base import OnDuplicate, Record, fields, join_names, pluralize, replace
from cranfield.data import Bools, Floats, Qrels, Run
from cranfield.errors import CranfieldError, EvaluationError, MeasureError
from cranfield.joining import Joining, JudgedRun, join_run
from cranfield.measures import (
    AP,
    CUTOFF,
    DCG,
    LONGEST,
    REGISTRY,
    RETRIEVED,
    Accuracy,
    Bpref,
    CompatByScore,
    Fallout,
    Judged,
    Measure,
    NumPrefs,
    NumQ,
    NumRel,
    Parameter,
    Success,
    TrecRBP,
    TrecRBPResidual,
    Unjudged,
    Utility,
    nDCG,
)

Prepare = Callable[[Qrels, Run], tuple[Qrels, Run]]


class Setting(Record):
    """A measure with all that its value depends on besides qrels and run."""

    measure: Measure
    joining: Joining = Joining()
    prepare: tuple[Prepare, ...] = ()
    settle: Prepare | None = None  # what it does with documents judged for several subtopics; the highest grade if None
    stands_in: bool = False  # whether a missing query that counts as zero is given a list of one unknown document
    on_duplicate: OnDuplicate = "error"  # which row counts where a document is there twice

    @property
    def data(self) -> Hashable:
        """What decides which data the measure is given."""
        settle = None if "subtopic" in self.measure.reads_columns else self.settle
        return settle, self.prepare, self.stands_in and self.joining.missing == "zero"

    def settled(self, qrels: Qrels, run: Run) -> Qrels:
        """Qrels with one row a document, for a measure that does not look at subtopics and a tool that knows none."""
        subtopics_matter = "subtopic" in self.measure.reads_columns
        return qrels if self.settle is None or subtopics_matter or not qrels.merged else self.settle(qrels, run)[0]

    def read(self, grades: Floats) -> Floats:
        """What the tool makes of grades."""
        return np.trunc(grades) + 0.0 if whole_grades in self.prepare else grades

    def prepared(self, qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
        """Qrels and run as the tool would be given them."""
        qrels = self.settled(qrels, run)
        for step in self.prepare:
            qrels, run = step(qrels, run)
        return qrels, with_stand_ins(qrels, run) if self.stands_in and self.joining.missing == "zero" else run


class Difference(Record):
    """One thing that a tool does otherwise: which convention it is, how the tool has it, and the change it makes."""

    what: str
    how: str
    change: Callable[[Setting], Setting]
    sets: frozenset[str] = frozenset()  # the options or parameters it decides; if given explicitly, they stand


Rule = Callable[[Any, float | None], Iterable[Difference] | None]


class Tool(Record):
    """Another tool: what it always does differently, and what it does with each measure it has."""

    name: str
    title: str
    always: tuple[Difference, ...]
    rules: Mapping[str, Rule]  # by our name of the measure; a rule gives None for a form the tool does not have
    usual: tuple[str, ...] = ()  # what to evaluate if nothing is asked for and it has none of our usual measures
    judged_only: bool = False  # whether it can leave unjudged documents out

    def differences(
        self, measure: Measure, rel: float | None = None, given: Iterable[str] = ()
    ) -> tuple[Difference, ...] | None:
        """What the tool does otherwise for a measure, except what was given explicitly; None if it lacks the measure.

        >>> [d.how for d in TOOLS["gdeval"].differences(nDCG(cutoff=10))]  # doctest: +ELLIPSIS
        ['queries that the run lacks are left out', ..., 'the gain of a grade is 2^grade − 1']
        """
        rule = self.rules.get(measure.name)
        lacking = rule is None or (measure.judged_only and not self.judged_only) or not measure.repeats
        own = None if rule is None or lacking else rule(measure, rel)
        if own is None:
            return None
        named = {difference.what: difference for difference in (*self.always, *own)}
        start = Setting(measure)
        return tuple(d for d in named.values() if not d.sets & set(given) and d.change(start) != start)

    def understood(
        self, label: str, measure: Measure, rel: float | None = None, options: Mapping[str, Any] | None = None
    ) -> Setting:
        """The measure as the tool understands its name, under the options that were given explicitly.

        >>> TOOLS["spark"].understood("AP@10", AP(cutoff=10)).measure
        AP(denominator='min(R,k)')@10
        """
        given = dict(options or {})
        differences = self.differences(measure, rel, {*given, *named_parameters(label, measure)})
        if differences is None:
            raise MeasureError(
                f"{self.title} has {measure.name}, but not as {label}: with other parameters, or with a cutoff."
                if measure.name in self.has()
                else f"{self.title} has no {label}. It has {', '.join(self.has())}."
            )
        setting = Setting(measure)
        for difference in differences:
            setting = difference.change(setting)
        rule = given.pop("on_duplicate", None)
        if rule is not None:
            setting = replace(setting, on_duplicate=rule, settle=SETTLED[rule])
        return replace(setting, joining=replace(setting.joining, **given))

    @property
    def on_duplicate(self) -> OnDuplicate:
        """Which row counts for the tool where a document is there twice."""
        return "last" if LAST_WINS in self.always else "error"

    def has(self) -> list[str]:
        """The measures that the tool has, by our names."""
        return [name for name in self.rules if name in REGISTRY]


def tool(name: str) -> Tool:
    """The tool of a name."""
    if name not in TOOLS:
        raise CranfieldError(f"tool {name!r} is unknown: expected one of {', '.join(TOOLS)}.")
    return TOOLS[name]


def named_parameters(label: str, measure: Measure) -> set[str]:
    """The parameters that a measure's name gives a value to, by whatever name.

    >>> named_parameters("nDCG(dcg='log2')@10", nDCG(cutoff=10)) >= {"gain"}
    True
    """
    named = set(re.findall(r"(\w+)\s*=", label))
    meant = {ours for name in named for ours, _ in measure.synonyms.get(name, {}).values()}
    return named | meant | ({"gain"} if isinstance(measure.gain, Mapping) else set())


# the kinds of difference


def _joined(what: str, how: str, **options: Any) -> Difference:
    """Another rule of the join."""
    return Difference(
        what, how, lambda setting: replace(setting, joining=replace(setting.joining, **options)), frozenset(options)
    )


def _parameters(what: str, how: str, **values: Any) -> Difference:
    """Other values of the measure's parameters."""
    return Difference(
        what, how, lambda setting: replace(setting, measure=replace(setting.measure, **values)), frozenset(values)
    )


def _read_as(what: str, how: str, **values: Any) -> Difference:
    """Parameters that mean something else to the tool, so that they are another value to us even where given."""
    return replace(_parameters(what, how, **values), sets=frozenset())


def _becomes(what: str, how: str, kind: type[Measure], instead_of: Iterable[str] = (), **values: Any) -> Difference:
    """Another measure with the parameters that both have; `instead_of` are parameters that it does not look at."""

    def change(setting: Setting) -> Setting:
        old = setting.measure
        shared = {f.name: getattr(old, f.name) for f in fields(old) if f.name in kind.parameters}
        # what is not given has another default there
        shared = {name: value for name, value in shared.items() if value is not None}
        return replace(setting, measure=kind(**{**shared, **values}))

    return Difference(what, how, change, frozenset(instead_of))


def _given(what: str, how: str, step: Prepare, unless: Iterable[str] = ()) -> Difference:
    """Other data, unless an option decides that."""
    return Difference(what, how, lambda setting: replace(setting, prepare=(*setting.prepare, step)), frozenset(unless))


# what a tool is given


def _rows(rows: Any, keep: Bools) -> Any:
    """Some rows of qrels or of a run; its queries stay."""
    kept = np.concatenate(([0], np.cumsum(keep)))[rows.starts].astype(np.int64)
    parts = {name: getattr(rows, name)[keep] for name in rows.row_columns if getattr(rows, name) is not None}
    if isinstance(rows, Qrels):
        parts["extra"] = {name: column[keep] for name, column in rows.extra.items()}
    return replace(rows, starts=kept, **parts)


def only_queries(qrels: Qrels, queries: Iterable[str]) -> Qrels:
    """The judgments of some queries."""
    wanted = set(queries)
    kept = [i for i, query in enumerate(qrels.queries) if query in wanted]
    rows: Qrels = _rows(qrels, np.array([query in wanted for query in qrels.row_queries()], dtype=bool))
    starts = np.concatenate(([0], np.cumsum(np.diff(rows.starts)[kept]))).astype(np.int64)
    return replace(rows, queries=tuple(qrels.queries[i] for i in kept), starts=starts)


def _pairs(rows: Qrels | Run) -> list[tuple[str, str]]:
    return list(zip(rows.row_queries(), rows.docs.tolist(), strict=True))


def only_retrieved(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Judgments of retrieved documents only."""
    retrieved = set(_pairs(run))
    return _rows(qrels, np.array([pair in retrieved for pair in _pairs(qrels)], dtype=bool)), run


def only_positive_scores(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Documents with a score of 0 or less stay in the list, but are no longer known there."""
    # a space cannot be in an id, so that no judgment finds the document
    docs = np.where(run.scores > 0, run.docs, run.docs + " ")
    return qrels, replace(run, docs=docs)


def everything_scored(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Judged documents that were not retrieved come last, all with the same score."""
    retrieved = set(_pairs(run))
    lowest = {query: run.scores[run.rows_of(i)].min(initial=0.0) for i, query in enumerate(run.queries)}
    missed = [pair for pair in dict.fromkeys(_pairs(qrels)) if pair[0] in lowest and pair not in retrieved]
    rows = [*_pairs(run), *missed]
    scores = [*run.scores.tolist(), *(math.nextafter(lowest[query], -math.inf) for query, _ in missed)]
    queries, docs = ([pair[i] for pair in rows] for i in (0, 1))
    return qrels, Run.from_rows(queries, docs, scores, name=run.name, empty_queries=run.queries)


def with_stand_ins(qrels: Qrels, run: Run) -> Run:
    """A list of one document that nobody knows, for each judged query that the run lacks."""
    missing = [query for query in qrels.queries if query not in run.position]
    queries = [*run.row_queries(), *missing]
    # a space cannot be in an id
    docs = [*run.docs.tolist(), *[" "] * len(missing)]
    scores = [*run.scores.tolist(), *[1.0] * len(missing)]
    return Run.from_rows(queries, docs, scores, name=run.name, empty_queries=run.queries) if missing else run


def whole_grades(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Grades without what is behind the point, as C's atol and Python's int read them."""
    whole = np.trunc(qrels.grades) + 0.0  # not -0
    return (qrels if np.array_equal(whole, qrels.grades) else replace(qrels, grades=whole)), run


def ir_measures_refuses_fractions(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """read_trec_qrels raises a ValueError on them."""
    return _refuse_fractions("ir_measures", qrels), run


def beir_refuses_fractions(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """The loader of qrels raises a ValueError on them, and pytrec_eval a TypeError."""
    return _refuse_fractions("BEIR", qrels), run


def _refuse_fractions(who: str, qrels: Qrels) -> Qrels:
    broken = qrels.grades[qrels.grades != np.trunc(qrels.grades)]
    if len(broken):
        raise EvaluationError(f"{who} refuses grades that are no whole numbers, and these qrels have {broken[0]:g}.")
    return qrels


def refuse_negative_grades(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """ndcg_score raises a ValueError on them."""
    return _refuse_negative("scikit-learn's ndcg_score", qrels), run


def only_natural_grades(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """All others are a syntax error to ndeval."""
    return _refuse_fractions("ndeval", _refuse_negative("ndeval", qrels)), run


def _refuse_negative(who: str, qrels: Qrels) -> Qrels:
    if (qrels.grades < 0).any():
        raise EvaluationError(f"{who} refuses negative grades, and these qrels have some.")
    return qrels


def refuse_single_documents(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """ndcg_score and dcg_score raise a ValueError on a row with one document."""
    alone = [query for i, query in enumerate(run.queries) if run.rows_of(i).stop - run.rows_of(i).start == 1]
    judged = [query for query in alone if query in qrels.queries]
    if judged:
        raise EvaluationError(f"scikit-learn refuses lists of one document, as of query {judged[0]!r}.")
    return qrels, run


def only_grades_up_to_four(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """All others, and fractions, are a format error to gdeval."""
    _refuse_fractions("gdeval", qrels)
    if (qrels.grades > 4).any():
        raise EvaluationError(f"gdeval refuses grades above 4, and these qrels have {qrels.grades.max():g}.")
    return qrels, run


def only_with_relevant(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Queries with a positive grade only."""
    positive = [q for q, judged in zip(qrels.queries, qrels.judged, strict=True) if max(judged.values(), default=0) > 0]
    return only_queries(qrels, positive), run


def refuse_nothing_relevant(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """R_cap divides by min(R, k)."""
    empty = [q for q, judged in zip(qrels.queries, qrels.judged, strict=True) if max(judged.values(), default=0) <= 0]
    if any(query in run.position for query in empty):
        raise EvaluationError(f"BEIR's R_cap divides by zero where nothing is relevant, as for query {empty[0]!r}.")
    return qrels, run


def ranx_refuses_unjudged_queries(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """evaluate() raises an AssertionError where qrels and run differ in their queries."""
    return qrels, _refuse_unjudged("ranx", qrels, run)


def beir_refuses_unjudged_queries(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """The measures of BEIR itself raise a KeyError."""
    return qrels, _refuse_unjudged("BEIR", qrels, run)


def _refuse_unjudged(who: str, qrels: Qrels, run: Run) -> Run:
    unjudged = [query for query in run.queries if query not in set(qrels.queries)]
    if unjudged:
        what = pluralize(len(unjudged), "query")
        raise EvaluationError(
            f"{who} refuses queries without judgments, and this run has {what}: {join_names(unjudged)}."
        )
    return run


def without_the_query_itself(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """No document that has the query's id."""
    return qrels, _rows(run, np.array([query != doc for query, doc in _pairs(run)], dtype=bool))


def first_row_counts(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Of the judgments of a document the first."""
    kept: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(_pairs(qrels)):
        kept.setdefault(pair, row)
    return _rows(qrels, _are(kept.values(), len(qrels))), run


def last_row_counts(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Of the judgments of a document the last."""
    kept = {pair: row for row, pair in enumerate(_pairs(qrels))}
    return _rows(qrels, _are(kept.values(), len(qrels))), run


def _are(rows: Iterable[int], n: int) -> Bools:
    flags = np.zeros(n, dtype=bool)
    flags[list(rows)] = True
    return flags


def refuse_two_judgments(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """trec_eval quits with "duplicate docs" when it comes to a query of the run."""
    _refuse_repeats(qrels, run.queries, "a document judged twice, even for two subtopics, is an error")
    return qrels, run


def refuse_two_judgments_anywhere(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """Version 10 looks at all queries, as those that the run lacks are an error or have a list of their own."""
    _refuse_repeats(qrels, qrels.queries, "a document judged twice, even for two subtopics, is an error")
    return qrels, run


def gdeval_refuses_subtopics(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """All that is not 0 in their column is a format error to gdeval."""
    _refuse_repeats(qrels, qrels.queries, "gdeval refuses subtopics")
    return qrels, run


def _refuse_repeats(qrels: Qrels, queries: Iterable[str], why: str) -> None:
    wanted, seen = set(queries), set()
    for pair in _pairs(qrels):
        if pair in seen and pair[0] in wanted:
            raise EvaluationError(
                f"{why}, as document {pair[1]!r} of query {pair[0]!r}: "
                "choose a row with --on-duplicate first, last or max."
            )
        seen.add(pair)


def every_positive_row(qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
    """What gdeval makes of a document twice: the lowest positive grade counts, and the ideal ranking has them all."""
    pairs, docs = _pairs(qrels), qrels.docs.copy()
    lowest: dict[tuple[str, str], int] = {}
    for row, pair in enumerate(pairs):
        kept = lowest.get(pair)
        if kept is None or _gdeval_order(qrels.grades[row]) < _gdeval_order(qrels.grades[kept]):
            lowest[pair] = row
    for row, pair in enumerate(pairs):
        if lowest[pair] != row:
            # a space cannot be in an id, so that the document is another one, and nobody retrieves it
            docs[row] = f"{pair[1]} {row}"
    return replace(qrels, docs=docs), run


def _gdeval_order(grade: float) -> tuple[bool, float]:
    return grade <= 0, grade


# which row counts where --on-duplicate was given; the highest is what a measure without subtopics takes anyway
SETTLED: Mapping[OnDuplicate, Prepare | None] = {
    "error": refuse_two_judgments,
    "first": first_row_counts,
    "last": last_row_counts,
    "max": None,
}


# measures as only one tool has them: subclasses without a name, so that they are in no list


class OverFound(AP):
    """AP divided by the relevant documents found within the cutoff."""

    def __str__(self) -> str:
        return f"AP(denominator='found'){'' if self.cutoff is None else f'@{self.cutoff}'}"

    def normaliser(self, judged: JudgedRun) -> Floats:
        return judged.count(self.top(judged))


class IdealAsGiven(nDCG):
    """nDCG whose ideal ranking is the relevant documents in the order of the qrels, which may not be the best one."""

    high: ClassVar[float] = math.inf

    def ideal_terms(self, judged: JudgedRun) -> Floats:
        parts = [self._given(judged, i) for i in range(judged.n)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def _given(self, judged: JudgedRun, i: int) -> Floats:
        """The terms of a query, as many as it has judged documents."""
        grades = judged.sources.qrels.judged[int(judged.qrels_at[i])].values()
        gains = self.gains(np.array([grade for grade in grades if grade > 0], dtype=np.float64))
        rank = np.arange(1, len(gains) + 1)
        terms = np.zeros(len(grades))
        terms[: len(gains)] = np.where(rank <= (self.cutoff or len(gains)), gains / self.divisor(rank), 0.0)
        return terms


_LEAST = Parameter("the lowest grade that gains anything")


class LeveledDCG(DCG):
    """DCG in which grades below a level gain nothing."""

    least: float = 1.0
    beyond_rel: ClassVar[bool] = True
    parameters: ClassVar = {**DCG.parameters, "least": _LEAST}

    @property
    def is_binary(self) -> bool:
        return True  # in that a lowest relevant grade concerns it

    def gains(self, grades: Floats) -> Floats:
        return np.where(grades >= self.least, super().gains(grades), 0.0)


class LeveledNDCG(nDCG):
    """nDCG in which grades below a level gain nothing."""

    least: float = 1.0
    beyond_rel: ClassVar[bool] = True
    parameters: ClassVar = {**nDCG.parameters, "least": _LEAST}

    @property
    def is_binary(self) -> bool:
        return True  # in that a lowest relevant grade concerns it

    def gains(self, grades: Floats) -> Floats:
        return np.where(grades >= self.least, super().gains(grades), 0.0)


class SignedDCG(DCG):
    """DCG in which a negative grade is a loss."""

    def gains(self, grades: Floats) -> Floats:
        return np.nan_to_num(grades)


class SignedNDCG(nDCG):
    """nDCG in which a negative grade is a loss, of all that was retrieved; 0 where the grades add up to 0."""

    def gains(self, grades: Floats) -> Floats:
        return np.nan_to_num(grades)

    def ideal(self, judged: JudgedRun) -> Floats:
        # an empty target is told by the sum of its grades (torchmetrics/retrieval/base.py)
        some = judged.ideal_total(judged.ideal) != 0
        return np.where(some, [self._best(judged, i) for i in range(judged.n)], 0.0)

    def _best(self, judged: JudgedRun, i: int) -> float:
        """The value of the documents retrieved in their best order, in which those without a judgment are 0."""
        known = judged.ideal[int(judged.ideal_starts[i]) : int(judged.ideal_starts[i + 1])]
        grades = np.concatenate((known, np.zeros(max(int(judged.retrieved[i]) - len(known), 0))))
        rank = np.arange(1, len(grades) + 1)
        return math.fsum(np.where(self._inside(rank), -np.sort(-grades) / self.divisor(rank), 0.0))


class RanxBpref(Bpref):
    """Bpref in which a negative grade is a judgment, without value where N is 0 and a relevant document found."""

    def _others(self, judged: JudgedRun) -> Floats:
        return judged.ideal_total(judged.ideal < self.lowest_relevant)

    def _above(self, judged: JudgedRun) -> Floats:
        return judged.running(judged.grade < self.lowest_relevant)

    def per_query(self, judged: JudgedRun) -> Floats:
        # each relevant document found is then 1 − 0/0
        undefined = (self._others(judged) == 0) & (judged.count(judged.grade >= self.lowest_relevant) > 0)
        return np.where(undefined, np.nan, super().per_query(judged))


class JudgedAtAll(Judged):
    """Judged, with negative grades as judgments."""

    def shown_list(self, judged: JudgedRun) -> JudgedRun:
        return replace(judged, grade=np.abs(judged.grade))


class AccuracyWhereRelevant(Accuracy):
    """Accuracy, without value where nothing relevant was retrieved."""

    def per_query(self, judged: JudgedRun) -> Floats:
        found, others = judged.count(self.top(judged)), self._others(judged)
        if ((found > 0) & (others == 0)).any():
            raise EvaluationError("ir_measures divides by zero where all documents retrieved are relevant.")
        return np.where(found > 0, super().per_query(judged), np.nan)


class Hole(Unjudged):
    """The share of the first k documents that is judged for no query at all."""

    def per_query(self, judged: JudgedRun) -> Floats:
        known = set(judged.sources.qrels.docs.tolist())
        unknown = [sum(doc not in known for doc in judged.ranking(i)[: self.cutoff]) for i in range(judged.n)]
        return np.array(unknown, dtype=np.float64) / self.normaliser(judged)

    def terms(self, judged: JudgedRun) -> Floats:
        known = set(judged.sources.qrels.docs.tolist())
        docs = [judged.ranking(i)[rank - 1] for i, rank in zip(judged.query, judged.rank, strict=True)]
        holes = np.array([doc not in known for doc in docs], dtype=bool)
        return (holes & (judged.rank <= (self.cutoff or 1))).astype(np.float64)

    def mean_value(self, judged: JudgedRun) -> float | None:
        """The sum over all lists, also of queries without judgments, by the number of judged queries."""
        qrels, run = judged.sources.qrels, judged.sources.run
        others = [query for query in run.queries if query not in set(qrels.queries)]
        if not others or judged.n < len(qrels.queries):
            return None
        nothing = Qrels.from_rows([], [], [], empty_queries=others)
        lists = join_run(nothing, run, judged.joining)
        known = set(qrels.docs.tolist())
        ranked = [lists.ranking(i)[: self.cutoff] for i in range(lists.n)]
        more = [sum(doc not in known for doc in docs) / (self.cutoff or 1) for docs in ranked]
        return math.fsum([*self.values(judged).tolist(), *more]) / judged.n

    def expected(self, judged: JudgedRun) -> Floats:
        if judged.has_ties:
            raise EvaluationError("BEIR's Hole has no expected value over ties here: choose another tie rule.")
        return self.per_query(judged)


class RawRBP(Measure):
    """Rank-biased precision with the grade itself as gain."""

    rel: float | None = None
    p: float = 0.8
    cutoff: int | None = None
    high: ClassVar[float] = math.inf
    beyond_rel: ClassVar[bool] = True
    parameters: ClassVar = {
        "rel": Parameter("the lowest grade that gains anything"),
        "p": Parameter("the probability of going on", low=0, high=1),
        "cutoff": CUTOFF,
    }
    title: ClassVar = "Rank-biased precision of raw grades"
    formula: ClassVar = r"(1 - p) \sum_{i=1}^{k} g_i\, p^{i-1}"

    def __str__(self) -> str:
        level = "" if self.rel is None else f",rel={self.rel:g}"
        return f"RBP(p={self.p:g}{level},gain=grade){'' if self.cutoff is None else f'@{self.cutoff}'}"

    def terms(self, judged: JudgedRun) -> Floats:
        gains = np.where(judged.grade >= self.lowest_relevant, judged.grade, 0.0)
        inside = True if self.cutoff is None else judged.rank <= self.cutoff
        return np.where(inside, (1 - self.p) * gains * self.p ** (judged.rank - 1.0), 0.0)


class FalloutOfAny(Fallout):
    """Fallout, 1 where every document is relevant."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(self.normaliser(judged) == 0, 1.0, super().per_query(judged))

    def expected(self, judged: JudgedRun) -> Floats:
        return np.where(self.normaliser(judged) == 0, 1.0, super().expected(judged))


class RecountedRel(NumRel):
    """The relevant documents; over all queries, if missing ones count, those above grade 0 whatever `rel` says."""

    aggregate: ClassVar = "run"  # type: ignore[assignment]

    def run_value(self, judged: JudgedRun) -> float:
        if judged.joining.missing != "zero":
            return int(math.fsum(self.values(judged)))
        # recounted from the judgments, without a look at the level (m_num_rel.c)
        grades = [judged.sources.qrels.judged[int(at)].values() for at in judged.qrels_at]
        return sum(grade > 0 for own in grades for grade in own)


class NumRelMet(NumRel):
    """The relevant documents, none for a query that the run lacks."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.missing, 0.0, super().per_query(judged))


class NumQMet(NumQ):
    """The queries that the run has."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.missing, 0.0, super().per_query(judged))


class NumPrefsMet(NumPrefs):
    """Preferences, without those of queries that the run lacks."""

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.where(judged.missing, 0.0, super().per_query(judged))


# what the tools do


def _as_it_is(_: Any, __: float | None) -> Iterable[Difference]:
    return ()


def _all(*names: str) -> dict[str, Rule]:
    """Measures that the tool has as we do."""
    return dict.fromkeys(names, _as_it_is)


def _if(condition: Callable[[Any], bool], *differences: Difference) -> Rule:
    """A measure that the tool has in some forms only."""
    return lambda measure, _: differences if condition(measure) else None


def _is_plain(measure: Any) -> bool:
    """Whether (n)DCG has the usual discount log2(1 + i)."""
    return bool(measure.discount == "log(1+i)" and measure.base == 2)


def _is_linear(measure: Any) -> bool:
    return _is_plain(measure) and measure.gain == "linear"


def _is_usual(measure: Any, *but: str) -> bool:
    """Whether all parameters but some are what they are if not given."""
    return all(getattr(measure, f.name) == f.default for f in fields(measure) if f.name not in but)


def _has_a_cutoff(measure: Any) -> bool:
    return getattr(measure, "cutoff", None) is not None


def _over_all(measure: Any) -> bool:
    """Whether AP is the usual one, over R and rank by rank."""
    return bool(measure.denominator == "R" and measure.ties is None)


FLOAT32 = _joined("score precision", "scores in single precision (float32)", score_type="float32")
FLOAT64 = _joined("score precision", "scores in double precision", score_type="float64")
DOC_ASCENDING = _joined("ties", "ties by doc id, ascending", ties="doc-ascending")
DOC_DESCENDING = _joined("ties", "ties by doc id, descending", ties="trec")
INPUT_ORDER = _joined("ties", "ties in the order of the input", ties="input-order")
UNSTABLE = _joined("ties", "ties in the order of an unstable sort, here that of the input", ties="input-order")
AVERAGED = _joined("ties", "the mean over all orders of tied documents", ties="expected")
RANK_COLUMN = _joined("ranking", "ranked by the rank column, not by score", rank_by="rank")
SKIPPED = _joined("missing queries", "queries that the run lacks are left out", missing="skip")
AS_ZERO = _joined("missing queries", "queries that the run lacks count as 0", missing="zero")
REFUSED = _joined("missing queries", "stops if the run lacks a query", missing="error")
RETRIEVED_ONLY = _given("ideal", "knows the judgments of retrieved documents only", only_retrieved)
NO_UNJUDGED_QUERIES = _given(
    "queries", "stops at queries without judgments", ranx_refuses_unjudged_queries, {"missing"}
)
WHOLE_GRADES = _given("grades", "grades lose what is behind the point", whole_grades)
GRADES_AS_THEY_ARE = Difference("grades", "grades as they are", lambda setting: setting)


def _twice(how: str, settle: Prepare | None, on_duplicate: OnDuplicate = "error") -> Difference:
    """What counts where a document is there twice, or judged for several subtopics."""
    return Difference(
        "duplicates",
        how,
        lambda setting: replace(setting, on_duplicate=on_duplicate, settle=settle),
        frozenset({"on_duplicate"}),
    )


LAST_WINS = _twice("of a document that is there twice the last row counts", last_row_counts, "last")
_ONE_JUDGMENT = "stops at a document judged twice, even for two subtopics"
ONE_JUDGMENT = {
    9: _twice(_ONE_JUDGMENT, refuse_two_judgments),
    10: _twice(_ONE_JUDGMENT, refuse_two_judgments_anywhere),
}
NO_SUBTOPICS = _twice("stops at a document judged for several subtopics", gdeval_refuses_subtopics)
# how ir_measures has measures by other providers than pytrec_eval
ANY_ROW = _twice(
    "of a document retrieved twice the last row counts, of one judged for several subtopics the highest", None, "last"
)
LOWEST_ROW = _twice(
    "of a document retrieved twice the last row counts; of one judged for several subtopics the lowest positive grade, "
    "and all of them in the ideal ranking",
    every_positive_row,
    "last",
)
EXPONENTIAL = _parameters("gain", "the gain of a grade is 2^grade − 1", gain="exp")


def _cut_at(k: int) -> Difference:
    return _parameters("cutoff", f"the cutoff is {k} unless one is given", cutoff=k)


STANDS_IN = Difference(
    "stand-in",
    "a query that the run lacks has a list of one unknown document, if it counts as zero",
    lambda setting: replace(setting, stands_in=True),
)


_ONLY_IN_10: dict[str, Rule] = {
    **_all("TrecRBP", "Unjudged"),
    "TrecRBPResidual": lambda measure, _: () if measure.p == TrecRBPResidual().p else (STANDS_IN,),
    # version 10 sets to 0 what a missing query has, but for these, and only under the default name
    "IdealDCG": lambda *_: (STANDS_IN,),
    "YAAP": lambda *_: (STANDS_IN,),
    "Utility": lambda measure, _: () if measure.coefficients == Utility().coefficients else (STANDS_IN,),
    "DCG": _if(lambda m: m.cutoff is None and _is_plain(m) and m.gain != "exp"),
    "RBP": _if(
        lambda m: _is_usual(m, "p", "gain", "judged_only"),
        _becomes("gain", "the gain is the grade; scaled to 0…1 query by query where it is not within", TrecRBP),
        _parameters("p", "p is 0.9 unless given", p=0.9),
    ),
}

_ONLY_IN_9: dict[str, Rule] = {
    "NumPrefs": lambda *_: (
        DOC_ASCENDING,
        GRADES_AS_THEY_ARE,
        _becomes("queries", "the preferences of queries that the run lacks are not counted", NumPrefsMet),
    ),
}
RECOUNTED = _becomes(
    "sum",
    "if missing queries count, the sum is of all documents with a grade above 0, whatever the level",
    RecountedRel,
)
NO_END = _parameters("end", "the end of a list just one longer than the best ranking is left out", end="trec_eval")


def _trec_eval(version: int, *always: Difference) -> Tool:
    how = {9: "⌊rR + 0.9⌋ relevant documents reach recall r", 10: "rR relevant documents, rounded, reach recall r"}
    rounded = _parameters("rounding", how[version], rounding=f"trec_eval-{version}")
    return Tool(
        name=f"trec_eval-{version}",
        title=f"trec_eval {version}",
        always=(*always, ONE_JUDGMENT[version], WHOLE_GRADES),
        rules={
            **_all("P", "R", "Success", "HitRate", "Rprec", "Bpref", "RR", "SetP", "SetR", "SetF", "SetRelP", "SetAP"),
            **_all("NumQ", "NumRet", "NumRelRet", "NumNonrelJudgedRet", "RelativeP", "RprecMult", "YAAP"),
            **_all("GMBpref", "infAP", "BinG", "G", "nDCG_rel", "Utility"),
            "NumRel": lambda measure, _: () if measure.lowest_relevant == 1 else (RECOUNTED,),
            "Rndcg": lambda *_: (NO_END,),
            **_all("GroupAP", "GroupP", "GroupRprecMult"),
            # trec_eval orders documents for preferences the other way round
            **dict.fromkeys(("Prefs", "PrefsRnonrel", "NumPrefs"), lambda *_: (DOC_ASCENDING, GRADES_AS_THEY_ARE)),
            **(_ONLY_IN_10 if version == 10 else _ONLY_IN_9),
            "AP": _if(_over_all),
            "GMAP": _if(lambda m: _over_all(m) and m.cutoff is None),
            "nDCG": _if(lambda m: _is_linear(m) or (_is_plain(m) and not isinstance(m.gain, str) and not m.cutoff)),
            "IPrec": lambda *_: (rounded,),
            "InterpolatedAP": lambda *_: (rounded,),
        },
        judged_only=True,
    )


def _ir_measures_set_f(measure: Any, _: float | None) -> Iterable[Difference]:
    return (_read_as("beta", "the parameter beta is β²", beta=math.sqrt(measure.beta)),)


def _ir_measures_iprec(measure: Any, _: float | None) -> Iterable[Difference]:
    return (
        _parameters("rounding", "⌊rR + 0.9⌋ relevant documents reach recall r", rounding="trec_eval-9"),
        _read_as("recall", "a recall point has two decimals", recall=float(f"{measure.recall:.2f}")),
    )


def _by_cwl(_: Any, __: float | None) -> Iterable[Difference]:
    """cwl_eval gets documents sorted by score with Python's stable sort."""
    return (INPUT_ORDER, FLOAT64)


def _ndeval(measure: Any, _: float | None) -> Iterable[Difference] | None:
    # AP-IA and NRBP look at the whole list, all others at the first k
    if "cutoff" in measure.parameters and (measure.cutoff is None) != (measure.name == "AP_IA"):
        return None
    if "raw_at_1" not in measure.parameters:
        return ()
    return (_parameters("denominator", "divided by nothing at cutoff 1", raw_at_1=True),)


def _by_pyndeval(measure: Any, rel: float | None) -> Iterable[Difference] | None:
    if measure.judged_only or (getattr(measure, "cutoff", None) or 1) > 20:
        return None
    own = _ndeval(measure, rel)
    return None if own is None else (DOC_ASCENDING, FLOAT64, *own)


def _ir_measures_rr(measure: Any, _: float | None) -> Iterable[Difference] | None:
    # pytrec_eval has no cutoff, so that RR@k comes from another provider than RR
    if measure.cutoff is None:
        return ()
    return None if measure.judged_only else (DOC_ASCENDING, FLOAT64, ANY_ROW)


def _ir_measures_ndcg(measure: Any, _: float | None) -> Iterable[Difference] | None:
    if not _is_plain(measure):
        return None
    if measure.gain != "exp":
        return ()
    if measure.judged_only:
        return None
    # by gdeval with a cutoff, by ranx without
    by_gdeval, by_ranx = (FLOAT64, LOWEST_ROW), (FLOAT64, UNSTABLE, REFUSED, NO_UNJUDGED_QUERIES)
    return by_gdeval if measure.cutoff is not None else by_ranx


def _ir_measures_rbp(measure: Any, rel: float | None) -> Iterable[Difference] | None:
    if (measure.rel is None and rel is None) or not _is_usual(measure, "p", "rel", "depth", "gain"):
        return None
    level = () if measure.rel is not None else (_parameters("rel", f"relevant from grade {rel:g} on", rel=rel),)
    return (INPUT_ORDER, FLOAT64, _parameters("depth", "a ranking ends at 1000", depth=1000), *level)


_DIVERSITY = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
_COUNTED_AT_ALL = _becomes("denominator", "a document with a negative grade is judged", JudgedAtAll)
IR_MEASURES = Tool(
    name="ir_measures",
    title="ir_measures 0.4",
    always=(
        FLOAT32,
        AS_ZERO,
        LAST_WINS,
        _given("grades", "stops at grades that are no whole numbers", ir_measures_refuses_fractions),
    ),
    rules={
        **_all("P", "R", "Success", "Rprec", "Bpref", "SetP", "SetR", "SetAP", "infAP", "NumRet", "NumRelRet"),
        # even what does not depend on the run is 0 for a query that it lacks
        "NumQ": lambda *_: (_becomes("queries", "0 for queries that the run lacks", NumQMet),),
        "NumRel": _if(
            lambda m: m.lowest_relevant == 1, _becomes("queries", "0 for queries that the run lacks", NumRelMet)
        ),
        "AP": _if(_over_all),
        "RR": _ir_measures_rr,
        "nDCG": _ir_measures_ndcg,
        "IPrec": _ir_measures_iprec,
        "SetF": _ir_measures_set_f,
        "Judged": _if(lambda m: not m.judged_only, DOC_ASCENDING, FLOAT64, _COUNTED_AT_ALL),
        "ERR": _if(_has_a_cutoff, FLOAT64, LOWEST_ROW),
        "SetRelP": _as_it_is,
        "Compat": _if(
            lambda m: not m.judged_only,
            DOC_ASCENDING,
            FLOAT64,
            _becomes("ideal", "equal grades are ordered by score in the ideal ranking", CompatByScore),
            _parameters("depth", "compared as deep as the longer list is", depth=LONGEST),
        ),
        "Accuracy": _if(
            lambda m: not m.judged_only,
            INPUT_ORDER,
            FLOAT64,
            SKIPPED,
            _becomes("queries", "queries without a relevant document retrieved are left out", AccuracyWhereRelevant),
        ),
        "RBP": _ir_measures_rbp,
        **dict.fromkeys(("BPM", "SDCG", "INST", "INSQ", "NERR8", "NERR9", "NERR10", "NERR11"), _by_cwl),
        **dict.fromkeys(_DIVERSITY, _by_pyndeval),
    },
    judged_only=True,
)


def _ranx_gain(kind: type[Measure]) -> Rule:
    def rule(measure: Any, rel: float | None) -> Iterable[Difference] | None:
        if not _is_plain(measure) or not isinstance(measure.gain, str):
            return None
        level = _becomes("gain", f"grades below {rel or 1:g} gain nothing", kind, least=float(rel or 1))
        return (level,)

    return rule


def _ranx_rbp(measure: Any, rel: float | None) -> Iterable[Difference] | None:
    if measure.residual or measure.value != "EU" or measure.depth is not None or measure.cost is not None:
        return None
    level = rel if measure.rel is None else measure.rel
    return (_becomes("gain", "the gain is the grade itself", RawRBP, ("max_rel", "min_rel"), rel=level),)


RANX = Tool(
    name="ranx",
    title="ranx 0.3",
    always=(
        UNSTABLE,
        REFUSED,
        LAST_WINS,
        WHOLE_GRADES,
        NO_UNJUDGED_QUERIES,
    ),
    rules={
        **_all("P", "R", "Success", "HitRate", "RR", "Rprec", "SetP", "SetR", "NumRelRet"),
        "AP": _if(_over_all),
        "SetF": _if(lambda m: m.beta == 1),
        "DCG": _ranx_gain(LeveledDCG),
        "nDCG": _ranx_gain(LeveledNDCG),
        "Bpref": lambda *_: (
            _becomes("denominator", "negative grades are judgments; no value where N is 0 and some found", RanxBpref),
        ),
        "RBP": _ranx_rbp,
    },
)

_NO_NEGATIVES = _given("grades", "stops at negative grades", refuse_negative_grades)
_NO_SINGLES = _given("lists", "stops at lists of one document", refuse_single_documents)
SKLEARN = Tool(
    name="sklearn",
    title="scikit-learn 1.4 and later",
    always=(
        AVERAGED,
        SKIPPED,
        _given("documents", "judged documents that were not retrieved come last, tied", everything_scored),
    ),
    rules={
        "nDCG": _if(_is_linear, _NO_NEGATIVES, _NO_SINGLES),
        "DCG": _if(
            lambda m: m.discount == "log(1+i)" and m.gain == "linear",
            _NO_SINGLES,
            _becomes("gain", "a negative grade is a loss", SignedDCG),
        ),
        "AP": _if(
            lambda m: m.cutoff is None and m.denominator == "R",
            _parameters("ties", "documents of equal score are one step", ties="group"),
        ),
        "LRAP": _as_it_is,
    },
)


def _gdeval(measure: Any, _: float | None) -> Iterable[Difference] | None:
    if measure.name == "nDCG" and not _is_plain(measure):
        return None
    gain = (EXPONENTIAL,) if measure.name == "nDCG" else ()
    return gain if measure.cutoff is not None else (*gain, _cut_at(20))


GDEVAL = Tool(
    name="gdeval",
    title="gdeval 1.3",
    always=(
        SKIPPED,
        NO_SUBTOPICS,
        _given("queries", "queries without a positive grade are left out", only_with_relevant),
        _given("grades", "stops at grades above 4 and at fractions", only_grades_up_to_four),
    ),
    rules={"nDCG": _gdeval, "ERR": _gdeval},
    usual=("nDCG@20", "ERR@20"),
)

NDEVAL = Tool(
    name="ndeval",
    title="ndeval 4.5",
    always=(
        RANK_COLUMN,
        SKIPPED,
        _given("grades", "stops at negative grades and at fractions", only_natural_grades),
    ),
    rules=dict.fromkeys(_DIVERSITY, _ndeval),
    usual=("ERR_IA@20", "alpha_nDCG@20", "NRBP", "AP_IA", "P_IA@20", "StRecall@20"),
)


def _spark_ndcg(measure: Any, _: float | None) -> Iterable[Difference] | None:
    if not _is_plain(measure):
        return None
    ideal = _becomes("ideal", "the ideal ranking is the relevant documents in the order of the qrels", IdealAsGiven)
    return (ideal, EXPONENTIAL, *(() if measure.cutoff else (_cut_at(10),)))


SPARK = Tool(
    name="spark",
    title="Spark 3.4's RankingMetrics",
    always=(SKIPPED,),
    rules={
        **_all("P", "R", "MAPk"),
        "AP": _if(
            lambda m: m.ties is None,
            _parameters("denominator", "divided by min(R, k)", denominator="min(R,k)"),
        ),
        "nDCG": _spark_ndcg,
    },
)

_UNPOSITIVE = _given("scores", "documents with a score of 0 or less count as not relevant", only_positive_scores)
TORCHMETRICS = Tool(
    name="torchmetrics",
    title="torchmetrics 1.9",
    always=(FLOAT32, UNSTABLE, SKIPPED, RETRIEVED_ONLY),
    rules={
        **_all("Success", "HitRate", "Rprec"),
        **dict.fromkeys(("P", "R", "RR"), lambda *_: (_UNPOSITIVE,)),
        "AP": _if(
            _over_all,
            _UNPOSITIVE,
            _becomes("denominator", "divided by the relevant documents found in the top k", OverFound, {"denominator"}),
        ),
        "nDCG": _if(_is_linear, AVERAGED, _becomes("gain", "a negative grade is a loss", SignedNDCG)),
        # empty_target_action is "pos" for this one and "neg" for all others, which is 0 as for us
        "Fallout": lambda measure, _: (
            *(
                ()
                if measure.docs
                else (_parameters("documents", "the collection is what was retrieved", docs=RETRIEVED),)
            ),
            _becomes("denominator", "1 where all documents are relevant", FalloutOfAny),
        ),
    },
)


def _beir_accuracy(measure: Any, _: float | None) -> Iterable[Difference] | None:
    """BEIR calls by this name what others call success."""
    if measure.cutoff is None:
        return None
    return (*_BEIR_OWN, _becomes("name", "Accuracy@k is success at k", Success))


_BEIR_HOLE = (INPUT_ORDER, AS_ZERO)
_BEIR_OWN = (
    *_BEIR_HOLE,
    _given("unjudged queries", "stops at queries without judgments", beir_refuses_unjudged_queries),
)
_BEIR_TREC = (
    FLOAT32,
    DOC_DESCENDING,
    SKIPPED,
    _given("documents", "a document with the query's id is left out", without_the_query_itself),
)
BEIR = Tool(
    name="beir",
    title="BEIR 2.2",
    always=(LAST_WINS, _given("grades", "stops at grades that are no whole numbers", beir_refuses_fractions)),
    rules={
        "nDCG": _if(lambda m: _has_a_cutoff(m) and _is_linear(m), *_BEIR_TREC),
        "AP": _if(lambda m: _has_a_cutoff(m) and _over_all(m), *_BEIR_TREC),
        "R": _if(_has_a_cutoff, *_BEIR_TREC),
        "P": _if(_has_a_cutoff, *_BEIR_TREC),
        "RR": _if(_has_a_cutoff, *_BEIR_OWN),
        "RelativeP": _if(
            _has_a_cutoff,
            *_BEIR_OWN,
            _given("queries", "stops at queries with nothing relevant", refuse_nothing_relevant),
        ),
        "Success": _if(_has_a_cutoff, *_BEIR_OWN),
        "HitRate": _if(_has_a_cutoff, *_BEIR_OWN),
        "Unjudged": _if(
            _has_a_cutoff,
            *_BEIR_HOLE,
            _becomes(
                "denominator",
                "a document judged for some query is judged for all; lists of queries without judgments count (Hole)",
                Hole,
            ),
        ),
        "Accuracy": _beir_accuracy,
    },
)

TOOLS = {
    each.name: each
    for each in (
        _trec_eval(9, FLOAT32, SKIPPED),
        _trec_eval(10, REFUSED),
        IR_MEASURES,
        RANX,
        SKLEARN,
        GDEVAL,
        NDEVAL,
        SPARK,
        TORCHMETRICS,
        BEIR,
    )
}
