"""A score step by step: one row a rank with the running quantities and the term, the sum, the normaliser."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from cranfield.base import Record, encode_id, fields, pluralize, replace
from cranfield.data import Floats, Ints, Qrels, Run
from cranfield.errors import EvaluationError
from cranfield.evaluation.averages import GEOMETRIC_FLOOR, mean_of_samples
from cranfield.evaluation.evaluator import TIE_SAMPLES, Evaluator
from cranfield.evaluation.tools.conventions import find_tool
from cranfield.io import as_qrels, as_run
from cranfield.joining import JOIN_OPTIONS, Extras, JudgedRun, join_run
from cranfield.measures import REGISTRY, Measure, parse_measure, report_user_errors

MOST_TERMS = 12  # how many terms a formula with numbers can hold and still be read


class Explanation(Record):
    """How a measure's value for one query, or its mean over all queries, comes about.

    >>> e = explain("AP", {"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, "q")
    >>> [row["term"] for row in e.rows], e.normaliser
    ([1.0, 0.0, 0.6666666666666666], 2.0)
    >>> e.with_numbers
    '(1 + 0.6667) / 2 = 0.8333'
    """

    measure: str
    title: str
    about: str
    formula: str
    rule: str
    with_numbers: str  # the rule with the numbers put in
    run: str
    query: str | None  # None for the mean over all of them
    columns: tuple[str, ...]  # between the document's grade, or the query, and the term
    # with rank and doc, then those of terms that belong to no document; of a mean, with query and value
    rows: tuple[dict[str, Any], ...]
    sum: float
    normaliser: float
    normaliser_is: str
    value: float
    conventions: dict[str, str]
    hidden: int = 0  # ranks (or queries) left out of `rows`; sum and value are those of all
    notes: tuple[str, ...] = ()
    cutoff: int | None = None
    average: str = ""  # what a mean is called
    averages: dict[str, float] = field(default_factory=dict)  # of a mean: those of columns that have one of their own
    hidden_rows: tuple[dict[str, Any], ...] = field(default=(), repr=False)

    def record(self) -> dict[str, Any]:
        """Everything shown, ready for JSON; the value can be recomputed from `rows` and `normaliser` by `rule`."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "hidden_rows"}

    def top(self, n: int) -> Explanation:
        """The same with the rows of the first n ranks, or queries, only."""
        left = {row["query"] for row in [row for row in self.rows if "query" in row][n:]}
        rows: list[dict[str, Any]] = []
        hidden: list[dict[str, Any]] = []
        for row in self.rows:
            (rows if row.get("rank", 0) <= n and row.get("query") not in left else hidden).append(row)
        hidden_rows = (*hidden, *self.hidden_rows)
        return replace(self, rows=tuple(rows), hidden=len(hidden_rows), hidden_rows=hidden_rows)

    def down_to_the_cutoff(self) -> Explanation:
        """The same without the ranks below the cutoff, if these add nothing."""
        below = [row["term"] for row in self.rows if row.get("rank", 0) > (self.cutoff or math.inf)]
        return self if self.cutoff is None or self.query is None or any(below) else self.top(self.cutoff)


def explain(
    measure: str | Measure,
    qrels: Any,
    run: Any,
    query: str | None = None,
    *,
    tool: str | None = None,
    extras: Extras | None = None,
    **options: Any,
) -> Explanation:
    """How a measure's value for a query comes about, as a lecture would show it; without a query, how the mean does.

    Options are those of `evaluate`; with `tool` it is as that tool would have it, except for what they say.

    >>> explain("P@2", {"q": {"a": 1}}, {"q": {"a": 2.0, "x": 1.0}}, "q").with_numbers
    '1 / 2 = 0.5'
    >>> explain("RR", {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 2.0}, "r": {"b": 2.0, "a": 1.0}}).with_numbers
    '(1 + 0.5) / 2 = 0.75'
    """
    if tool is not None:
        measure, qrels, run, options = _as_tool(tool, measure, qrels, run, options)
    evaluator = Evaluator(qrels, [_one(measure)], **options)
    evaluator.extras = evaluator.extras if extras is None else extras
    ranking = as_run(run, on_duplicate=evaluator.on_duplicate)
    explanation = _of_all(evaluator, ranking) if query is None else _of_one(evaluator, ranking, query)
    return explanation if tool is None else replace(explanation, conventions={"as": tool, **explanation.conventions})


def _as_tool(
    name: str, measure: str | Measure, qrels: Any, run: Any, options: dict[str, Any]
) -> tuple[Measure, Qrels, Run, dict[str, Any]]:
    """The measure and the data as a tool understands them, and the options it leaves to be given."""
    rest = dict(options)
    given = {key: value for key in ("rel", "docs") if (value := rest.pop(key, None)) is not None}
    chosen = _one(measure).with_defaults(**given)
    joining: dict[str, Any] = {key: rest.pop(key) for key in JOIN_OPTIONS if key in rest}
    twice = rest.get("on_duplicate", "error")
    judgments, ranking = as_qrels(qrels, on_duplicate=twice), as_run(run, on_duplicate=twice)
    setting = find_tool(name).understood(str(measure), chosen, given.get("rel"), joining)
    judgments, ranking = setting.prepared(judgments, ranking)
    own = {key: getattr(setting.joining, key) for key in JOIN_OPTIONS}
    return setting.measure, judgments, ranking, {**rest, **own}


def _of_one(evaluator: Evaluator, run: Run, query: str) -> Explanation:
    """How the value of one query comes about."""
    joining, (chosen,) = evaluator.joining, evaluator.measures
    judgments, part = evaluator.qrels.of(query), _of_query(run, query)
    missing = query not in run.position
    if missing and joining.missing != "zero":
        how = "is left out" if joining.missing == "skip" else "is an error"
        raise EvaluationError(f"run {run.name!r} lacks query {query!r}, which {how} (--missing {joining.missing}).")
    dense = join_run(judgments, part, joining, evaluator.extras, dense=True)
    sparse = join_run(judgments, part, joining, evaluator.extras)
    if joining.ties == "expected":
        steps = expected_steps(chosen, sparse, dense, evaluator.seed)
    else:
        steps = single_steps(chosen, sparse, dense)
    # a query that the run lacks counts as 0 by rule, whatever the measure would make of an empty list
    if missing and chosen.aggregate != "sum":
        steps = replace(steps, rows=[], value=0.0, rule=Measure.rule)
    label = chosen.shown_normaliser if steps.is_divided else ""
    terms = [row["term"] for row in steps.rows]
    return Explanation(
        measure=str(chosen),
        title=chosen.title,
        about=chosen.about,
        formula=_expected_formula(chosen.shown_formula) if steps.is_mean else chosen.shown_formula,
        rule=steps.rule,
        with_numbers=_with_numbers(steps.rule, terms, steps.normaliser, bool(label), steps.value),
        run=run.name,
        query=query,
        columns=steps.columns,
        rows=tuple(steps.rows),
        sum=math.fsum(terms),
        normaliser=steps.normaliser,
        normaliser_is=label,
        value=steps.value,
        conventions={name: getattr(joining, name) for name in ("ties", "rank_by", "score_type")},
        notes=(*_notes(chosen, run, query, dense), *steps.notes, *evaluator.unused_notes()),
        cutoff=getattr(chosen, "cutoff", None),
    )


def _one(measure: str | Measure) -> Measure:
    return parse_measure(measure) if isinstance(measure, str) else measure


def _of_query(run: Run, query: str) -> Run:
    """The run's part, empty where it has nothing for the query."""
    if query in run.position:
        return run.of(query)
    nothing = np.array([], dtype=np.int64)
    return replace(
        run,
        queries=(query,),
        starts=np.array([0, 0]),
        docs=np.array([], dtype=object),
        scores=np.array([]),
        ranks=None if run.ranks is None else nothing,
        lines=None if run.lines is None else nothing,
    )


def _has_terms(measure: Measure) -> bool:
    """Whether the value is a sum of terms; a user's own measure may just compute it."""
    return type(measure).terms is not Measure.terms


class _Steps(Record):
    """The rows of one query, and what they come to."""

    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    normaliser: float
    value: float
    rule: str = Measure.rule
    is_mean: bool = False  # over the orders of documents with equal scores
    is_divided: bool = True  # whether the normaliser is the measure's own
    notes: tuple[str, ...] = ()


_MEAN_NOTE = "E is the mean over the orders of documents with equal scores."


def _expected_formula(formula: str) -> str:
    """The formula of the mean over orders; what its symbols mean stays outside."""
    value, *meaning = re.split(r"(?=, ?\\quad)", formula, maxsplit=1)
    return rf"\mathrm{{E}}\left[ {value} \right]{''.join(meaning)}" if formula else ""


def single_steps(measure: Measure, sparse: JudgedRun, dense: JudgedRun) -> _Steps:
    """The steps of the one ranking that there is."""
    value = float(measure.values(sparse)[0])
    shown = measure.shown_list(dense)
    with report_user_errors(measure):
        has_terms = _has_terms(measure)
        terms = measure.terms(shown) if has_terms else np.zeros(len(shown.rank))
        normaliser = float(measure.normaliser(shown)[0]) if has_terms else 1.0
        others = measure.other_rows(shown)
        columns = measure.columns(shown)
    if not has_terms:
        others = [*others, {"what": "computed as a whole", "term": value}]
    rows = [*_rows(shown, columns, terms), *({name: _plain(item) for name, item in row.items()} for row in others)]
    steps = _Steps(tuple(columns), rows, normaliser, value, measure.rule)
    return steps if _is_built_in(measure) else _completed(steps)


def _is_built_in(measure: Measure) -> bool:
    """Whether it is a measure of the registry, whose terms are known to add up; a tool's own variant is none."""
    return REGISTRY.get(measure.name) is type(measure)


def _completed(steps: _Steps, what: str = "by a rule of its own, not by these terms") -> _Steps:
    """The same with a row for what the rows lack to come to the value."""
    if steps.rule != Measure.rule:
        return steps
    whole = steps.normaliser or 1.0
    lacking = steps.value * whole - math.fsum(row["term"] for row in steps.rows)
    if abs(lacking) <= 1e-12 * max(1.0, abs(steps.value * whole)) and (steps.normaliser or not steps.value):
        return steps
    return replace(steps, normaliser=whole, rows=[*steps.rows, {"what": what, "term": lacking}])


def expected_steps(measure: Measure, sparse: JudgedRun, dense: JudgedRun, seed: int = 1) -> _Steps:
    """What each document adds in the mean over all orders of documents with equal scores, or over a sample of them."""
    if not dense.has_ties or _is_the_same_in_any_order(measure, sparse):
        return single_steps(measure, sparse, dense)
    found = measure.expected_values(sparse)
    if found is None:
        return _sampled_steps(measure, sparse, dense, seed)
    value, shown = float(found[0]), measure.shown_list(dense)
    normaliser = float(measure.normaliser(shown)[0])
    terms = measure.expected_terms(shown)
    terms = _group_shares(measure, shown, normaliser) if terms is None else terms
    columns = {"places": _places(shown), **measure.expected_columns(shown)}
    rows = _rows(shown, columns, terms)
    steps = _Steps(tuple(columns), rows, normaliser, value, is_mean=True, notes=(_MEAN_NOTE,))
    return _completed(steps, "over all orders, not by one document")


def _places(judged: JudgedRun) -> Any:
    """From which rank to which each document may stand."""
    ends = zip(judged.tie_first.tolist(), (judged.tie_first + judged.tie_size - 1).tolist(), strict=True)
    return np.array([str(first) if first == last else f"{first}–{last}" for first, last in ends], dtype=object)


def _sampled_steps(measure: Measure, sparse: JudgedRun, dense: JudgedRun, seed: int) -> _Steps:
    """What each document adds in the mean over the random orders that an evaluation draws."""
    rngs = [np.random.default_rng([seed, *encode_id(sparse.queries[0])])]
    orders = [sparse.shuffle_ties(rngs) for _ in range(TIE_SAMPLES)]
    means, errors = mean_of_samples(np.array([measure.values(order)[:1] for order in orders]))
    value, error = float(means[0]), float(errors[0])
    # no order decides here which of two documents repeats the other
    shown = replace(measure, repeats=True).shown_list(dense)
    columns = {"places": _places(shown)}
    error = 0.0 if error < 1e-15 else error  # what rounding leaves
    notes = (
        f"E is the mean over {TIE_SAMPLES} random orders of documents with equal scores, standard error {error:.1g}.",
    )
    plain = _Steps(tuple(columns), [], 1.0, value, is_mean=True, is_divided=False, notes=notes)
    if measure.rule != Measure.rule or not _has_terms(measure):
        rows = [
            *_rows(shown, columns, np.zeros(len(shown.rank))),
            {"what": f"mean over {TIE_SAMPLES} orders", "term": value},
        ]
        return replace(plain, rows=rows)
    found = [_terms_in(measure, order, dense) for order in orders]
    normalisers = {normaliser for _, _, normaliser in found}
    # one that changes with the order is a part of each term
    normaliser = normalisers.pop() if len(normalisers) == 1 else None
    parts = np.array([1.0 if normaliser is not None else own or 1.0 for _, _, own in found])
    terms = np.array([own for own, _, _ in found]).T @ (1 / parts) / TIE_SAMPLES
    others: dict[str, float] = {}
    for (_, own, _), part in zip(found, parts.tolist(), strict=True):
        for what, term in own:
            others[what] = others.get(what, 0.0) + term / part / TIE_SAMPLES
    rows = _rows(shown, columns, _alike_if_unjudged(dense, terms)[_rows_of(dense, shown)])
    rows += [{"what": what, "term": term} for what, term in others.items()]
    whole = plain if normaliser is None else replace(plain, normaliser=normaliser, is_divided=True)
    return _completed(replace(whole, rows=rows))


def _terms_in(measure: Measure, order: JudgedRun, dense: JudgedRun) -> tuple[Floats, list[tuple[str, float]], float]:
    """The terms of one order, by the rows of the dense join, those of no document, and the normaliser."""
    at, shuffled = _dense_in(order, dense)
    shown = measure.shown_list(shuffled)
    terms = np.zeros(len(dense.rank))
    with report_user_errors(measure):
        terms[at[_rows_of(shuffled, shown)]] = measure.terms(shown)
        others = [(str(row["what"]), float(row["term"])) for row in measure.other_rows(shown)]
        return terms, others, float(measure.normaliser(shown)[0])


def _dense_in(order: JudgedRun, dense: JudgedRun) -> tuple[Ints, JudgedRun]:
    """The dense join with judged documents where an order has them, and which of its rows is at each rank."""
    row_of = {doc: row for row, doc in enumerate(dense.doc.tolist()) if doc >= 0}
    at = np.full(len(dense.rank), -1, dtype=np.int64)
    at[order.rank - 1] = [row_of[doc] for doc in order.doc.tolist()]
    # a place that is left is for an unjudged document of the same group; these come in rank order
    at[at < 0] = np.flatnonzero(dense.doc < 0)
    moved = {name: getattr(dense, name)[at] for name in ("grade", "doc", "tie_first", "tie_size")}
    return at, replace(dense, **moved)


def _rows_of(judged: JudgedRun, shown: JudgedRun) -> Ints:
    """The positions in the whole list of the rows that a measure looks at."""
    if len(shown.rank) == len(judged.rank):
        return np.arange(len(judged.rank))
    row_of = {doc: row for row, doc in enumerate(judged.doc.tolist()) if doc >= 0}
    return np.array([row_of[doc] for doc in shown.doc.tolist()], dtype=np.int64)


def _alike_if_unjudged(dense: JudgedRun, terms: Floats) -> Floats:
    """The terms with an equal share for each unjudged document of a group, since they cannot be distinguished."""
    group = np.where(dense.doc < 0, dense.tie_first, 0)
    shared = np.bincount(group, weights=terms) / np.maximum(np.bincount(group), 1)
    return np.where(group > 0, shared[group], terms)


def _is_the_same_in_any_order(measure: Measure, judged: JudgedRun) -> bool:
    """Whether the order of tied documents makes no difference to a query."""
    sources = judged.sources
    rules = [replace(judged.joining, ties=ties) for ties in ("best", "worst", "trec", "doc-ascending")]
    values = {float(measure.values(join_run(sources.qrels, sources.run, rule, sources.extras))[0]) for rule in rules}
    expected = measure.expected_values(judged)
    return len(values) == 1 and expected is not None and math.isclose(float(expected[0]), values.pop(), abs_tol=1e-12)


def _group_shares(measure: Measure, judged: JudgedRun, normaliser: float) -> Any:
    """An equal share for each document of what its group of equal scores adds to the expected sum of those above."""
    terms, before = np.zeros(len(judged.rank)), _expected_down_to(measure, judged, 0)
    for first in np.unique(judged.tie_first).tolist():
        group = judged.tie_first == first
        value = _expected_down_to(measure, judged, first + int(judged.tie_size[group][0]) - 1)
        terms[group] = (value - before) * normaliser / np.count_nonzero(group)
        before = value
    return terms


def _expected_down_to(measure: Measure, judged: JudgedRun, rank: int) -> float:
    """The expected value if the list ended at a rank at which no group of equal scores is cut."""
    cut = replace(judged.only(judged.rank <= rank), retrieved=np.minimum(judged.retrieved, rank))
    found = measure.expected(cut)
    return 0.0 if found is None else float(found[0])


def _rows(judged: JudgedRun, columns: dict[str, Any], terms: Any) -> list[dict[str, Any]]:
    """One row for each retrieved document."""
    return [
        {
            "rank": int(rank),
            "doc": doc,
            "grade": _plain(grade),
            **{name: _plain(values[i]) for name, values in columns.items()},
            "term": float(terms[i]),
        }
        for i, (rank, doc, grade) in enumerate(zip(judged.rank, _docs(judged), judged.grade, strict=True))
    ]


def _of_all(evaluator: Evaluator, run: Run) -> Explanation:
    """How the mean over queries comes about, or what a measure has in its place."""
    (chosen,) = evaluator.measures
    scored = evaluator.score(run)
    scores = evaluator.scores([scored])
    name, how = scores.labels[0], scores.averaging(0)
    values, weights, value = scores.per_query(name), scores.weights, float(scores.mean(name))
    of_run = how == "run"
    steps = _run_steps(chosen, scored.judged, values, value) if of_run else _mean_steps(how, values, weights, value)
    extra = _query_columns(chosen, scored.judged)
    rows = [
        {**row, **{column: of.get(row["query"], 0.0) for column, of in extra.items() if "query" in row}}
        for row in steps.rows
    ]
    terms = [row["term"] for row in steps.rows]
    is_weighted = weights is not None and how in ("arithmetic", "geometric")
    label = "weights of the queries" if is_weighted else _MEAN_OF[how]["label"]
    label = chosen.normaliser_is if of_run and steps.is_divided else label
    ties = evaluator.joining.ties == "expected" and bool(scored.judged.tied) and not of_run
    return Explanation(
        measure=str(chosen),
        title=chosen.title,
        about=chosen.about,
        formula=_mean_formula(chosen, how, weights is not None, ties),
        rule=steps.rule,
        with_numbers=_with_numbers(steps.rule, terms, steps.normaliser, bool(label), steps.value),
        run=run.name,
        query=None,
        columns=(*extra, *steps.columns),
        rows=tuple(rows),
        sum=math.fsum(terms),
        normaliser=steps.normaliser,
        normaliser_is=label,
        value=steps.value,
        conventions={key: str(scores.conventions[key]) for key in JOIN_OPTIONS},
        notes=(f"{scored.coverage}.", *scores.notes, *([_MEAN_NOTE] if ties else [])),
        average=_MEAN_OF[how]["called"],
        averages={column: math.fsum(of.values()) / len(of) for column, of in extra.items() if of},
    )


# how the value of a run comes from those of queries: what that is called, what the sum is divided by, and the formula
_MEAN_OF = {
    "arithmetic": {"called": "mean of", "label": "queries, |Q|", "formula": r"\frac{1}{|Q|} \sum_{q \in Q} %s"},
    "geometric": {
        "called": "geometric mean of",
        "label": "queries, |Q|",
        "formula": rf"\exp \left( \frac{{1}}{{|Q|}} \sum_{{q \in Q}} \ln \max(%s, {GEOMETRIC_FLOOR:.5f}) \right)",
    },
    "median": {"called": "median of", "label": "", "formula": r"\mathrm{median}_{q \in Q}\, %s"},
    "sum": {"called": "sum over", "label": "", "formula": r"\sum_{q \in Q} %s"},
    "run": {"called": "value of the run over", "label": "", "formula": ""},
}


def _mean_formula(measure: Measure, how: str, is_weighted: bool, ties_expected: bool) -> str:
    plainly_geometric = how == "geometric" and measure.aggregate == "geometric" and not is_weighted
    if how == "run" or (plainly_geometric and not ties_expected):
        return measure.formula
    name = rf"\mathrm{{{measure.name.replace('_', chr(92) + '_')}}}_q"
    shown = _MEAN_OF[how]["formula"] % (rf"\mathrm{{E}}\left[ {name} \right]" if ties_expected else name)
    if is_weighted and how in ("arithmetic", "geometric"):
        shown = shown.replace(r"\frac{1}{|Q|} \sum_{q \in Q}", r"\frac{1}{\sum_q w_q} \sum_{q \in Q} w_q")
    return shown.replace("median", r"weighted\ median") if is_weighted else shown


def _run_steps(measure: Measure, judged: JudgedRun, values: dict[str, float], value: float) -> _Steps:
    """The terms of a value of the run as a whole: of queries, or of what else it is a sum of."""
    with report_user_errors(measure):
        terms, normaliser = measure.run_rows(judged), measure.run_normaliser(judged)
    of_query = {row["query"]: row for row in terms if "query" in row}
    rows = [{"query": query, "value": one, "term": 0.0, **of_query.get(query, {})} for query, one in values.items()]
    rows += [row for row in terms if "query" not in row]
    told = {name: None for row in of_query.values() for name in row if name not in ("query", "term")}
    steps = _Steps(("value", *told), rows, normaliser, value, is_divided=bool(terms))
    return _completed(steps, "computed for the run as a whole")


def _mean_steps(how: str, values: dict[str, float], weights: Mapping[str, float] | None, value: float) -> _Steps:
    """A row for each query, and what they come to."""
    if how == "median":
        return _median_steps(values, weights, value)
    of = {query: 1.0 if weights is None or how == "sum" else weights[query] for query in values}
    is_geometric = how == "geometric"
    rows = [
        {
            "query": query,
            "value": one,
            **({"weight": of[query]} if weights is not None else {}),
            "term": of[query] * (math.log(max(one, GEOMETRIC_FLOOR)) if is_geometric else one),
        }
        for query, one in values.items()
    ]
    columns = (*(["value"] if is_geometric or weights is not None else []), *(["weight"] if weights else []))
    normaliser = 1.0 if how == "sum" else math.fsum(of.values())
    return _Steps(columns, rows, normaliser, value, "exp(sum / normaliser)" if is_geometric else Measure.rule)


def _median_steps(values: dict[str, float], weights: Mapping[str, float] | None, value: float) -> _Steps:
    """A row for each query; the middle one, or two, make the median."""
    of = {query: 1.0 if weights is None else weights[query] for query in values}
    order = sorted(values, key=lambda query: (values[query], of[query]))
    up_to: dict[str, float] = {}
    below = 0.0
    for query in order:
        below += of[query]
        up_to[query] = below
    half = math.fsum(of.values()) / 2
    present = [query for query in order if of[query] > 0]
    first = next((i for i, query in enumerate(present) if up_to[query] >= half), max(len(present) - 1, 0))
    # two where just half of the weight is up to the first of them
    middle = present[first : first + 2] if half in [up_to[query] for query in present] else present[first : first + 1]
    rows = [
        {
            "query": query,
            "value": one,
            **({"weight": of[query], "cumulated weight": up_to[query]} if weights is not None else {}),
            "term": one / len(middle) if query in middle else 0.0,
        }
        for query, one in values.items()
    ]
    columns = ("value",) if weights is None else ("value", "weight", "cumulated weight")
    return _completed(_Steps(columns, rows, 1.0, value), "what rounding leaves")


def _query_columns(measure: Measure, judged: JudgedRun) -> dict[str, dict[str, float]]:
    """Further quantities of each query, 0 for one that is missing."""
    with report_user_errors(measure):
        columns = measure.query_columns(measure.shown_list(judged))
    return {name: dict(zip(judged.queries, column.tolist(), strict=True)) for name, column in columns.items()}


def _docs(judged: JudgedRun) -> Sequence[str]:
    """The documents of the rows; a condensed list has only judged ones."""
    docs = judged.ranking(0)
    if len(judged.rank) == len(docs):
        return docs
    names = judged.judged_docs(0)
    return [names[number] for number in judged.doc]


def _plain(value: Any) -> Any:
    """A value that JSON can hold; None for what is no number."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _notes(measure: Measure, run: Run, query: str, dense: JudgedRun) -> Iterator[str]:
    """What one must know to read the rows."""
    if query not in run.position:
        zero = " and counts as 0" if measure.aggregate == "mean" else ""
        yield f"The run has nothing for query {query!r}: it is missing{zero}."
    unjudged = int(np.isnan(dense.grade).sum())
    if measure.judged_only and unjudged:
        yield f"{pluralize(unjudged, 'document')} without a judgment left out first (judged_only)."
    if dense.tied:
        rule = dense.joining.ties
        how = "any of their orders is equally likely" if rule == "expected" else f"ties {rule} orders them"
        yield f"{pluralize(dense.tied, 'document')} with the score of another: {how}."


def _with_numbers(rule: str, terms: Sequence[float], normaliser: float, is_named: bool, value: float) -> str:
    """The rule with the terms that are not 0, the normaliser and the value put in."""
    total = math.fsum(terms)
    least = 1e-12 * max(map(abs, terms), default=0.0)  # what is left by rounding is no term
    shown = [short(term) for term in terms if abs(term) > least]
    if len(shown) > MOST_TERMS:
        shown = [*shown[: MOST_TERMS - 2], "…", shown[-1]]
    added = " + ".join(shown).replace("+ -", "− ") or "0"
    if rule != Measure.rule:
        numbers = {"sum": short(total), "normaliser": short(normaliser)}
        filled = re.sub(r"\b(sum|normaliser)\b", lambda match: numbers[match[0]], rule)
        return f"sum = {added} = {short(total)}; {rule} = {filled} = {short(value)}"
    if normaliser == 1 and not is_named:
        return f"{added} = {short(value)}" if len(shown) > 1 else added
    added = f"({added})" if len(shown) > 1 else added
    if normaliser == 0:
        return f"{added} / 0, which counts as 0"
    return f"{added} / {short(normaliser)} = {short(value)}"


def short(number: float) -> str:
    """A number with at most four decimals.

    >>> short(2.0), short(0.66666), short(0.00001234)
    ('2', '0.6667', '1.234e-05')
    """
    if number and abs(number) < 0.00005:
        return f"{number:.4g}"
    return f"{number:.4f}".rstrip("0").rstrip(".")
