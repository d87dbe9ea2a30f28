"""From qrels, runs and measures to scores: per query, and as means with what one must know to read them."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from cranfield.base import (
    DEFAULT_MEASURES,
    How,
    Missing,
    OnDuplicate,
    RankBy,
    Record,
    ScoreType,
    Ties,
    core,
    count_cores,
    encode_id,
    join_names,
    map_in_threads,
    pluralize,
    replace,
    sort_naturally,
)
from cranfield.data import Bools, Floats, Ints, Origin, Qrels, Run, starts_of
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation.averages import LEAST, Interval, average, effective_number, interval
from cranfield.evaluation.risk import geo_risk, t_risk, weighted_gains
from cranfield.io import AS_REQUESTED, as_doc_lengths, as_duplicates, as_facts, as_qrels, as_run, as_weights, read_run
from cranfield.joining import Extras, Joining, JudgedRun, Sources, join_run
from cranfield.measures import Judged, Measure, parse_measures

if TYPE_CHECKING:
    from cranfield.evaluation.bounds import Completions
    from cranfield.joining import ReadAhead

SAMPLES = 200
TOP = 10  # the ranks in which the share of unjudged documents is told
# what a row says of its measure: the value itself, its bounds, or what the run risks against a baseline
Part = Literal["", "low", "high", "urisk", "trisk", "georisk"]


class Row(Record):
    """A row of scores: a measure under the name it was asked for by, or what is said of it under NAME.PART."""

    name: str
    measure: Measure
    part: Part = ""

    @property
    def label(self) -> str:
        return f"{self.name}.{self.part}" if self.part else self.name


class RunScores(Record, eq=False):
    """The scores of one run: one row a measure, one column a query; NaN where a query was skipped."""

    name: str
    values: Floats
    judged: JudgedRun
    query_errors: tuple[Floats | None, ...]  # standard errors of a measure's values, where ties were sampled
    origin: Origin | None = None
    notes: tuple[str, ...] = ()
    outer: tuple[Bools | None, ...] = ()  # for a row of bounds, which queries have only an outer one
    joins: tuple[JudgedRun, ...] = ()  # the join of each row, where they have several

    def joined(self, i: int) -> JudgedRun:
        """What the i-th row was computed from."""
        return self.joins[i] if self.joins else self.judged

    def without_hits(self, load: Callable[[], Run]) -> RunScores:
        """The same without the run and the hits below the ranks reported on, which take more room than all values."""
        kept = self.judged.down_to(TOP)
        sources = Sources(kept.sources.qrels, load, kept.sources.extras)
        return replace(self, judged=replace(kept, sources=sources))

    @property
    def sampling_errors(self) -> tuple[float | None, ...]:
        """The standard error of each measure's mean, where ties were sampled; queries are drawn independently."""
        return tuple(None if e is None else float(np.sqrt((e**2).sum()) / len(e)) for e in self.query_errors)

    @property
    def coverage(self) -> str:
        """How many queries the figures rest on, and what was left out.

        "43 queries evaluated, 157 in the run have no judgments, 0 missing"
        """
        missing = int(np.count_nonzero(self.judged.missing))
        how = " (count as 0)" if missing else ""
        skipped = int(np.isnan(self.values[0]).sum()) if len(self.values) else 0
        if skipped:
            missing, how = skipped, " (skipped)"
        evaluated = self.judged.n
        return (
            f"{pluralize(evaluated, 'query')} evaluated, "
            f"{self.judged.only_in_run:,} in the run have no judgments, {missing:,} missing{how}"
        )


class Scores(Record, eq=False):
    """What `evaluate` gives: a value for each run, measure and query.

    >>> scores = evaluate({"q1": {"a": 1}}, {"q1": {"b": 2.0, "a": 1.0}}, ["RR", "P@1"])
    >>> scores.mean("RR")
    0.5
    >>> scores.per_query("P@1")
    {'q1': 0.0}
    """

    labels: tuple[str, ...]  # the names the measures were asked for by
    measures: tuple[Measure, ...]
    queries: tuple[str, ...]
    runs: tuple[RunScores, ...]
    find_conventions: Callable[[], Mapping[str, Any]]
    qrels: Origin | None = None
    find_notes: Callable[[], Iterable[str]] = tuple
    parts: tuple[Part, ...] = ()
    how: How = "arithmetic"
    weights: Mapping[str, float] | None = None
    baseline: RunScores | None = None
    alpha: float = 0.0  # how much more a loss against the baseline weighs

    @cached_property
    def conventions(self) -> Mapping[str, Any]:
        """The choices that the values rest on."""
        return self.find_conventions()

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures must know."""
        return tuple(self.find_notes())

    def values(self, measure: str | Measure, run: str | None = None) -> Floats:
        """The value of every query, NaN where it was skipped."""
        row: Floats = self._run(run).values[self._index(measure)]
        return row

    def per_query(self, measure: str | Measure, run: str | None = None) -> dict[str, float]:
        """{query: value} of the queries evaluated."""
        return dict(zip(*self.evaluated(measure, run), strict=True))

    def evaluated(self, measure: str | Measure, run: str | None = None) -> tuple[Sequence[str], list[float]]:
        """The queries evaluated and the value of each."""
        found = self.values(measure, run).tolist()
        if not math.isnan(sum(found)):
            return self.queries, found
        there = [(query, value) for query, value in zip(self.queries, found, strict=True) if not math.isnan(value)]
        return [query for query, _ in there], [value for _, value in there]

    def mean(self, measure: str | Measure, run: str | None = None, how: How | None = None) -> float:
        """The mean over queries, as asked for when evaluating unless `how` says otherwise; the sum for counts."""
        i = self._index(measure)
        if self.part(i) in ("trisk", "georisk"):
            return self._risk(i, self._run(run))
        aggregate = self.averaging(i, how)
        if how == "geometric":
            _require_no_negative(self.labels[i : i + 1], self.measures[i : i + 1])
        if aggregate == "run":
            return self.measures[i].run_value(self._run(run).joined(i))
        own = self._own_mean(i, run) if aggregate == "arithmetic" else None
        if own is not None:
            return own
        values, weights = self._present(self.values(measure, run))
        return whole(math.fsum(values)) if aggregate == "sum" else average(values, weights, aggregate)

    def interval(self, measure: str | Measure, run: str | None = None, level: float = 0.95) -> Interval | None:
        """The interval of a mean; None for a count, a bound, or fewer than two queries."""
        i = self._index(measure)
        aggregate = self.averaging(i)
        if aggregate == "sum" or aggregate == "run" or self.part(i) not in ("", "urisk"):
            return None
        if self._own_mean(i, run) is not None:
            return None
        values, weights = self._present(self.values(measure, run))
        return interval(values, weights, aggregate, level)

    def averaging(self, i: int, how: How | None = None) -> How | Literal["sum", "run"]:
        """How the i-th row is made one number: `run` if by the measure itself, from the run as a whole."""
        aggregate = self.measures[i].aggregate
        if aggregate != "mean":
            return aggregate
        # URisk is an arithmetic mean by definition, and its terms may be negative
        return "arithmetic" if self.part(i) == "urisk" else how or self.how

    def part(self, i: int) -> Part:
        """What the i-th row says of its measure."""
        return self.parts[i] if self.parts else ""

    def outer(self, measure: str | Measure, run: str | None = None) -> list[str]:
        """The queries for which a bound is only an outer one: the value cannot go beyond it, but may not reach it."""
        scored = self._run(run)
        outer = scored.outer[self._index(measure)] if scored.outer else None
        return [] if outer is None else [q for q, flag in zip(self.queries, outer.tolist(), strict=True) if flag]

    def unjudged(self, k: int = TOP, run: str | None = None) -> float:
        """The share of documents without a judgment among the first k, over all queries."""
        judged = self._run(run).judged
        shown = np.minimum(judged.retrieved, k)
        seen = np.rint(Judged(cutoff=k).values(judged) * shown)
        return float(1 - seen.sum() / shown.sum()) if shown.sum() else math.nan

    def n(self, run: str | None = None) -> int:
        """The number of queries a run's means rest on."""
        return self._run(run).judged.n

    def summary(self) -> dict[str, dict[str, float]]:
        """{run: {measure: mean}}"""
        return {run.name: {label: self.mean(label, run.name) for label in self.labels} for run in self.runs}

    def select(self, queries: Iterable[str]) -> Scores:
        """The same for some of the queries only."""
        wanted = set(queries)
        at = [i for i, query in enumerate(self.queries) if query in wanted]
        runs = tuple(_selected(run, at, wanted) for run in self.runs)
        baseline = None if self.baseline is None else _selected(self.baseline, at, wanted)
        return replace(self, queries=tuple(self.queries[i] for i in at), runs=runs, baseline=baseline)

    def __str__(self) -> str:
        width = max(map(len, self.labels))
        return "\n".join(
            f"{run.name}  {label:<{width}}  {self.mean(label, run.name):.4f}"
            for run in self.runs
            for label in self.labels
        )

    def _repr_html_(self) -> str:
        import html

        head = "".join(f"<th>{html.escape(label)}</th>" for label in self.labels)
        body = "".join(
            f"<tr><th>{html.escape(run.name)}</th>"
            + "".join(f"<td>{self.mean(label, run.name):.4f}</td>" for label in self.labels)
            + "</tr>"
            for run in self.runs
        )
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _own_mean(self, i: int, run: str | None) -> float | None:
        """The mean of a measure that has a definition of its own for it."""
        plain = not self.part(i) and self.weights is None
        return self.measures[i].mean_value(self._run(run).joined(i)) if plain else None

    def _present(self, values: Floats) -> tuple[list[float], list[float] | None]:
        """The values of the queries evaluated, with their weights if they have any."""
        if self.weights is None:
            given = values.tolist()
            return [v for v in given if not math.isnan(v)] if math.isnan(sum(given)) else given, None
        there = [(v, q) for v, q in zip(values.tolist(), self.queries, strict=True) if not math.isnan(v)]
        return [value for value, _ in there], [self.weights[query] for _, query in there]

    def _risk(self, i: int, run: RunScores) -> float:
        """TRisk or GeoRisk of the measure that the i-th row is about."""
        main = max(j for j in range(i) if not self.part(j))
        if self.part(i) == "trisk":
            return t_risk(_present(run.values[main + self.parts[main:].index("urisk")]))
        systems = np.array([system.values[main] for system in self._systems])
        table = systems[:, ~np.isnan(systems).any(axis=0)]
        return float(geo_risk(table, self.alpha)[self._systems.index(run)])

    @cached_property
    def _systems(self) -> list[RunScores]:
        """The runs and the baseline, which may be one of them."""
        baseline = self.baseline
        if baseline is None or any(_same_run(run, baseline) for run in self.runs):
            return list(self.runs)
        return [*self.runs, baseline]

    def _run(self, name: str | None) -> RunScores:
        if name is None and len(self.runs) == 1:
            return self.runs[0]
        found = next((run for run in self.runs if run.name == name), None)
        if found is None:
            known = ", ".join(run.name for run in self.runs)
            raise CranfieldError(f"no run {name!r} among these scores: they have {known}.")
        return found

    def _index(self, measure: str | Measure) -> int:
        if isinstance(measure, Measure):
            if measure in self.measures:
                return self.measures.index(measure)
            measure = str(measure)
        if measure not in self.labels:
            raise CranfieldError(f"no measure {measure!r} among these scores: they have {', '.join(self.labels)}.")
        return self.labels.index(measure)


class Evaluator:
    """Qrels and measures ready to evaluate any number of runs.

    >>> evaluator = Evaluator({"q1": {"a": 1}}, ["RR"])
    >>> evaluator.evaluate({"q1": {"b": 2.0, "a": 1.0}}).mean("RR")
    0.5
    """

    def __init__(
        self,
        qrels: Any,
        measures: Any = DEFAULT_MEASURES,
        *,
        ties: Ties = "trec",
        rank_by: RankBy = "score",
        score_type: ScoreType = "float64",
        missing: Missing = "zero",
        on_duplicate: OnDuplicate = "error",
        rel: float | None = None,
        docs: int | None = None,
        seed: int = 1,
        mean: How = "arithmetic",
        weights: Any = None,
        bounds: bool = False,
        against: Any = None,
        risk: float | None = None,
        doc_lengths: Any = None,
        duplicates: Any = None,
        facts: Any = None,
    ) -> None:
        self.qrels: Qrels = as_qrels(qrels, on_duplicate=on_duplicate)
        self.joining = Joining(ties, rank_by, score_type, missing)
        self.on_duplicate = on_duplicate
        self.seed = _checked_seed(seed)
        self.rel, self.docs = rel, docs
        named = parse_measures(measures)
        given = {key: value for key, value in (("rel", rel), ("docs", docs)) if value is not None}
        self.labels = tuple(label for label, _ in named)
        self.measures = tuple(measure.with_defaults(**given) for _, measure in named)
        self.how = _known_mean(mean)
        if self.how == "geometric":
            _require_no_negative(self.labels, self.measures)
        self.weights = None if weights is None else check_weights(as_weights(weights), self.qrels)
        self.bounds = bounds
        # what could be judged otherwise and how, where qrels and run were prepared for a tool and do not tell
        self.grades: Floats | None = None
        self.unjudged: Mapping[str, Set[str]] | None = None
        self.alpha = None if risk is None else _checked_alpha(risk, against, weights)
        self.extras = Extras(
            against=None if against is None else as_run(against, on_duplicate=on_duplicate),
            doc_lengths=None if doc_lengths is None else as_doc_lengths(doc_lengths),
            duplicates=None if duplicates is None else as_duplicates(duplicates),
            facts=None if facts is None else as_facts(facts),
        )
        self.rows = tuple(
            row for name, m in zip(self.labels, self.measures, strict=True) for row in self._rows(name, m)
        )

    def evaluate(self, runs: Any) -> Scores:
        """The scores of a run, or of several: a list, or a mapping from name to run."""
        return self.scores([self.score(run, name) for name, run in _runs(runs)])

    def score(
        self,
        run: Any,
        name: str | None = None,
        format: str | None = None,
        jobs: int = 1,
        read_ahead: ReadAhead | None = None,
    ) -> RunScores:
        """One run, or the file it is in, to be put together with others by `scores`."""
        if self.only_hits_matter:
            options: Any = {"name": name, "format": format, "on_duplicate": self.on_duplicate}
            return self._values(
                join_run(self.qrels, run, self.joining, self.extras, jobs=jobs, read_ahead=read_ahead, **options)
            )
        if isinstance(run, (str, os.PathLike)):
            run = read_run(run, format, name=name, on_duplicate=self.on_duplicate)
        scored = self._scored(as_run(run, name=name, on_duplicate=self.on_duplicate), self.bounds)
        return scored if self.alpha is None else self._with_risk(scored)

    def score_files(
        self,
        paths: Sequence[Any],
        format: str | None = None,
        jobs: int | None = None,
        read_ahead: ReadAhead | None = None,
    ) -> Iterator[RunScores]:
        """The runs in several files, a few at a time; of each only what `Scores` needs is kept."""
        jobs = jobs or count_cores()
        if len(paths) == 1:
            yield self.score(paths[0], format=format, jobs=jobs, read_ahead=read_ahead)
            return
        # what is done in Python is not done faster by several threads, and cannot be interrupted in them
        jobs = jobs if self.only_hits_matter and core is not None else 1
        yield from map_in_threads(partial(self._score_and_forget, format), paths, jobs)

    def _score_and_forget(self, format: str | None, path: Any) -> RunScores:
        """A run's scores without the run, unless it will be asked for."""
        scored = self.score(path, format=format)
        if self.alpha is not None or scored.joins or any(measure.aggregate == "run" for measure in self.measures):
            return scored
        return scored.without_hits(partial(read_run, path, format, on_duplicate=self.on_duplicate))

    @cached_property
    def only_hits_matter(self) -> bool:
        """Whether the judged documents of a run tell all there is to know, so that the run need not be kept."""
        extras = self.extras
        given = (extras.against, extras.doc_lengths, extras.facts, self.alpha)
        # what a user's own measure looks at is not known
        wanted = any(measure.reads_run or measure.source for measure in self.measures)
        return self.joining.is_streamable and not (self.bounds or wanted or any(x is not None for x in given))

    @property
    def takes_highest_grade(self) -> bool:
        """Whether, of the grades for several subtopics, the highest counts for some measure."""
        return True

    @cached_property
    def baseline(self) -> RunScores | None:
        """The scores of the run to compare with, where risk is asked for."""
        against = self.extras.against
        return None if self.alpha is None or against is None else self._scored(against, False)

    def _scored(self, run: Run, bounds: bool) -> RunScores:
        completions = self._completions(run) if bounds else None
        return self._values(join_run(self.qrels, run, self.joining, self.extras), completions)

    def _values(self, judged: JudgedRun, completions: Completions | None = None) -> RunScores:
        n = len(self.qrels.queries)
        at = slice(None) if judged.n == n else judged.qrels_at
        values = np.full((len(self.rows), n), np.nan)
        errors: list[Floats | None] = [None] * len(self.rows)
        outer: list[Bools | None] = [None] * len(self.rows)
        for i, row in enumerate(self.rows):
            if not row.part:
                values[i, at], errors[i] = self._measured(row.measure, judged)
            elif row.part == "low" and completions is not None:
                found = completions.bounds(row.measure, values[i - 1, at])
                values[i, at], values[i + 1, at] = found.low, found.high
                outer[i] = outer[i + 1] = _spread(found.outer, at, n)
        origin, notes = judged.sources.origin, judged.sources.notes
        return RunScores(judged.run, values, judged, tuple(errors), origin, notes, tuple(outer))

    def _completions(self, run: Run) -> Completions:
        from cranfield.evaluation.bounds import Completions, Sampling, possible_grades

        dense = join_run(self.qrels, run, self.joining, self.extras, dense=True)
        grades = possible_grades(self.qrels) if self.grades is None else self.grades
        return Completions(dense, grades, Sampling(SAMPLES, self.seed), self.unjudged)

    def _with_risk(self, scored: RunScores) -> RunScores:
        """The same with what each query gains or loses against the baseline."""
        assert self.baseline is not None and self.alpha is not None
        values, main = scored.values.copy(), 0
        for i, row in enumerate(self.rows):
            main = i if not row.part else main
            if row.part == "urisk":
                sides = scored.values[main], self.baseline.values[main]
                ours, theirs = sides if row.measure.more_is_better else sides[::-1]
                values[i] = weighted_gains(ours, theirs, self.alpha)
        return replace(scored, values=values)

    def _rows(self, name: str, measure: Measure) -> Iterator[Row]:
        """A measure and what else is asked about it."""
        yield Row(name, measure)
        if self.bounds and measure.aggregate != "run":
            yield Row(name, measure, "low")
            yield Row(name, measure, "high")
        if self.alpha is not None and measure.is_quality and measure.aggregate == "mean":
            yield Row(name, measure, "urisk")
            yield Row(name, measure, "trisk")
            # expectations from the margins of a table make sense for amounts of something good
            if measure.more_is_better and measure.low >= 0 and "range" not in measure.lacks:
                yield Row(name, measure, "georisk")

    def scores(self, runs: Sequence[RunScores]) -> Scores:
        """Several runs' scores as one value."""
        named = tuple(runs)
        if len(runs) > 1:
            files = [run.origin.file if run.origin else None for run in runs]
            names = distinct_names([run.name for run in runs], files)
            named = tuple(replace(run, name=name) for run, name in zip(runs, names, strict=True))
        labels, measures, parts = self._columns
        return Scores(
            labels=labels,
            measures=measures,
            queries=self.qrels.queries,
            runs=named,
            find_conventions=self._conventions,
            qrels=self.qrels.origin,
            find_notes=lambda: self._notes(named),
            parts=parts,
            how=self.how,
            weights=self.weights,
            baseline=self.baseline,
            alpha=self.alpha or 0.0,
        )

    @cached_property
    def _columns(self) -> tuple[tuple[str, ...], tuple[Measure, ...], tuple[Part, ...]]:
        """Label, measure and part of each row."""
        rows = self.rows
        return tuple(r.label for r in rows), tuple(r.measure for r in rows), tuple(r.part for r in rows)

    def _measured(self, measure: Measure, judged: JudgedRun) -> tuple[Floats, Floats | None]:
        """A measure's values, and their standard errors where ties had to be sampled."""
        values, error = self._raw(measure, judged)
        if judged.has_missing and measure.aggregate in ("mean", "geometric"):
            values = np.where(judged.missing, 0.0, values)
        return values, error

    def _raw(self, measure: Measure, judged: JudgedRun) -> tuple[Floats, Floats | None]:
        if self.joining.ties != "expected":
            return measure.values(judged), None
        closed = measure.expected_values(judged)
        if closed is not None:
            return closed, None
        # a generator for each query, so that no other query changes what is drawn for it
        rngs = [np.random.default_rng([self.seed, *encode_id(query)]) for query in judged.queries]
        drawn = np.array([measure.values(judged.shuffled(rngs)) for _ in range(SAMPLES)])
        return mean_of_samples(drawn)

    def _conventions(self) -> dict[str, Any]:
        joining = self.joining
        conventions: dict[str, Any] = {
            "ties": joining.ties,
            "rank_by": joining.rank_by,
            "score_type": joining.score_type,
            "missing": joining.missing,
            "on_duplicate": self.on_duplicate,
            "rel": 1 if self.rel is None else whole(self.rel),
        }
        if self.docs is not None:
            conventions["docs"] = self.docs
        if joining.ties == "expected":
            conventions |= {"tie_samples": SAMPLES, "seed": self.seed}
        if self.how != "arithmetic":
            conventions["mean"] = self.how
        if self.weights is not None:
            conventions["weights"] = "by query"
        if self.alpha is not None and self.extras.against is not None:
            conventions |= {"against": self.extras.against.name, "risk": whole(self.alpha)}
        return conventions

    def _notes(self, runs: Sequence[RunScores]) -> Iterator[str]:
        """What a reader of the figures must know, beyond the coverage of each run."""
        yield from _unusual_format(self.qrels.origin)
        yield from (f"qrels: {note}" for note in self.qrels.notes)
        if self.qrels.merged and self.takes_highest_grade:
            yield (
                f"{self.qrels.merged:,} documents are judged for several subtopics or groups: "
                "measures without subtopics take the highest grade."
            )
        graded = [label for label, m in zip(self.labels, self.measures, strict=True) if not m.is_binary]
        if self.rel is not None and graded:
            yield f"--rel {self.rel:g} does not concern {', '.join(graded)}."
        tied = ", ".join(f"{run.name} {run.judged.tied:,}" for run in runs if run.judged.tied)
        if tied:
            yield f"Documents that share their score with another (ties {self.joining.ties}): {tied}."
        single = ", ".join(f"{run.name} {run.judged.float32_tied:,}" for run in runs if run.judged.float32_tied)
        if single:
            yield f"Documents tied in float32 but not in float64: {single}."
        yield from self._averaging_notes()
        yield from self.unused_notes()
        for run in runs:
            yield from self._run_notes(run)

    def unused_notes(self) -> Iterator[str]:
        """Files that were given for nothing: no measure asked for looks at them."""
        for extra, who in _USERS.items():
            given = getattr(self.extras, extra) is not None and not (extra == "against" and self.alpha is not None)
            if given and not any(_uses(measure, extra) for measure in self.measures):
                example = _without_repeats(self.measures) if extra == "duplicates" else ""
                yield f"--{extra.replace('_', '-')} changes nothing here: only {who} it{example}."

    def _averaging_notes(self) -> Iterator[str]:
        if self.how == "geometric":
            yield f"Means are geometric: exp of the mean of ln(value), a value below {LEAST:g} counting as {LEAST:g}."
        if self.how == "median":
            yield "In place of means there are medians."
        if self.weights is not None:
            number = effective_number(list(self.weights.values()))
            yield f"Queries are weighted; they are worth {number:.1f} of equal weight."
        if self.bounds:
            from cranfield.evaluation.bounds import possible_grades

            yield f"Bounds: every unjudged document could have {_choice(possible_grades(self.qrels).tolist())}."
        left = [row.name for row in self.rows if not row.part and Row(row.name, row.measure, "urisk") not in self.rows]
        if self.alpha is not None and left:
            yield f"No risk is defined for {', '.join(left)}."

    def _run_notes(self, run: RunScores) -> Iterator[str]:
        yield from _unusual_format(run.origin)
        yield from (f"{run.name}: {note}" for note in run.notes)
        judged = run.judged
        flattered = [label for label, m in zip(self.labels, self.measures, strict=True) if not m.more_is_better]
        if judged.missing.any() and flattered:
            yield f"{run.name}: missing queries count as 0, which is the best value of {', '.join(flattered)}."
        plain = self.how == "arithmetic" and self.weights is None
        of = "" if plain else " of the plain mean"
        for row, error in zip(self.rows, run.sampling_errors, strict=True):
            if error is not None:
                what = f"{run.name}: {row.label} is a mean over {SAMPLES} random orders of ties"
                yield f"{what}, standard error {error:.1g}{of}."
        for row, outer in zip(self.rows, run.outer, strict=True):
            if row.part == "low" and outer is not None and outer.any():
                number = f"{int(outer.sum()):,} of {pluralize(judged.n, 'query')}"
                yield f"{run.name}: {row.label} and {row.name}.high are outer bounds for {number}."


_USERS = {
    "against": "measures between runs (RBO, Tau, TauAP, Overlap) and --risk look at",
    "doc_lengths": "TBG, U and user models with cost='length' look at",
    "duplicates": "measures with repeats=False look at",
    "facts": "FactRecall looks at",
}


def _uses(measure: Measure, extra: str) -> bool:
    """Whether a measure looks at what it is given beyond judgments and run."""
    by_length = getattr(measure, "length_is_cost", False) and getattr(measure, "cost", None) is None
    return extra in measure.needed or (extra == "doc_lengths" and by_length)


def _without_repeats(measures: Sequence[Measure]) -> str:
    return f", e.g. {replace(measures[0], repeats=False)}"


def evaluate(qrels: Any, runs: Any, measures: Any = DEFAULT_MEASURES, **options: Any) -> Scores:
    """Evaluate a run, or several, against qrels. Options are those of `Evaluator`.

    >>> evaluate({"q1": {"a": 1}}, {"q1": {"a": 1.0}}, ["P@1"]).summary()
    {'run': {'P@1': 1.0}}
    """
    return Evaluator(qrels, measures, **options).evaluate(runs)


def distinct_names(names: Sequence[str], files: Sequence[str | None]) -> list[str]:
    """Names that tell runs apart: the same name gets its folders in front, as many as it takes, then a number behind.

    >>> distinct_names(["bm25", "bm25", "lm"], ["a/bm25.gz", "b/bm25.gz", "a/lm"])
    ['a/bm25', 'b/bm25', 'lm']
    >>> distinct_names(["bm25", "bm25", "bm25"], ["a/bm25", "b/bm25", "b/bm25.gz"])
    ['a/bm25', 'b/bm25 (1)', 'b/bm25 (2)']
    """
    result = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        at = [i for i, other in enumerate(names) if other == name]
        for i, folder in zip(at, _telling_folders([files[i] for i in at]), strict=True):
            result[i] = "/".join([*folder, name])
        for i, number in _numbered([result[i] for i in at]):
            result[at[i]] += f" ({number})"
    # a name made up here may be one that was given
    while len(set(result)) < len(result):
        twice = next(i for i, name in enumerate(result) if result.index(name) < i)
        result[twice] += "'"
    return result


def _telling_folders(files: Sequence[str | None]) -> list[tuple[str, ...]]:
    """The last folders of each path, as many as tell different ones apart; none if all are the same."""
    folders = [tuple(os.path.normpath(os.path.dirname(file)).split(os.sep)) if file else () for file in files]
    depths = range(1 + max(map(len, folders)))
    depth = next(d for d in depths if len({_last(folder, d) for folder in folders}) == len(set(folders)))
    return [_last(folder, depth) for folder in folders]


def _last(folder: tuple[str, ...], depth: int) -> tuple[str, ...]:
    return folder[len(folder) - depth :] if depth < len(folder) else folder


def _numbered(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where names occur more than once, and the how-manieth of its like each is."""
    for i, name in enumerate(names):
        if names.count(name) > 1:
            yield i, names[: i + 1].count(name)


def whole(value: float) -> float | int:
    """A number without a point where it has none to lose."""
    return int(value) if float(value).is_integer() else value


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise CranfieldError(f"seed {seed!r}: expected a whole number from 0.")
    return seed


def group_queries(groups: Mapping[str, str], queries: Sequence[str]) -> dict[str, list[str]]:
    """Queries by group in natural order; those without one are put together under `(none)`."""
    if not set(groups) & set(queries):
        raise EvaluationError(f"none of the queries that are put into groups is judged: {join_names(groups, 3)}.")
    gathered: dict[str, list[str]] = {}
    for query in queries:
        gathered.setdefault(groups.get(query, "(none)"), []).append(query)
    return {group: gathered[group] for group in sort_naturally(gathered)}


def _runs(source: Any) -> list[tuple[str | None, Any]]:
    """Runs with the names they are given, if any."""
    if type(source) is dict and _is_plain_run(source):
        return [(None, source)]
    if isinstance(source, Mapping) and _are_runs(source.values()):
        return [(str(name), run) for name, run in source.items()]
    if isinstance(source, (list, tuple)) and _are_runs(source):
        return [(None, run) for run in source]
    return [(None, source)]


def _is_plain_run(source: dict[Any, Any]) -> bool:
    """Whether a dict begins as {query: {doc: score}} does, which is quickly seen."""
    first = next(iter(source.values()), None)
    score = next(iter(first.values()), None) if type(first) is dict else None
    return isinstance(score, (float, int))


def _are_runs(values: Iterable[Any]) -> bool:
    """Whether these are runs, of which some may be empty."""
    given = list(values)
    return any(map(_is_run, given)) and all(_is_run(value) or value == {} for value in given)


def _unusual_format(origin: Origin | None) -> Iterator[str]:
    """A format other than TREC's that was recognised by looking is told, with the reason."""
    if origin is not None and origin.format != "trec" and origin.why != AS_REQUESTED:
        yield f"{origin.file} was read as {origin.format}: {origin.why}."


def _is_run(value: Any) -> bool:
    """Whether a value is a whole run by itself, rather than a part of one."""
    if isinstance(value, (Run, str, os.PathLike)) or hasattr(value, "columns") or hasattr(value, "column_names"):
        return True
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Mapping) for v in value.values())


def _known_mean(how: str) -> How:
    if how not in get_args(How):
        raise CranfieldError(f"mean {how!r} is unknown: expected one of {', '.join(get_args(How))}.")
    return cast(How, how)


def _require_no_negative(labels: Sequence[str], measures: Sequence[Measure]) -> None:
    """A geometric mean is one of values above 0: those of a measure that may be negative would all count the same."""
    below = [label for label, m in zip(labels, measures, strict=True) if m.aggregate == "mean" and m.low < 0]
    if below:
        raise EvaluationError(
            f"a geometric mean is of values that are not negative, and {join_names(below)} may be: "
            "leave it out, or take another mean."
        )


def check_weights(weights: Mapping[str, float], qrels: Qrels) -> dict[str, float]:
    """The weights of the judged queries, each of which must have one."""
    without = [query for query in qrels.queries if query not in weights]
    if without:
        raise EvaluationError(
            f"no weight is given for {pluralize(len(without), 'query')} of the qrels: {join_names(without)}."
        )
    own = {query: float(weights[query]) for query in qrels.queries}
    wrong = [query for query, weight in own.items() if not (math.isfinite(weight) and weight >= 0)]
    if wrong:
        raise EvaluationError(f"the weight of {join_names(wrong)} is not a number of at least 0.")
    if not any(own.values()):
        raise EvaluationError("all judged queries have the weight 0.")
    return own


def _checked_alpha(alpha: float, against: Any, weights: Any) -> float:
    if against is None:
        raise EvaluationError("risk is against a baseline: name one with --against RUN.")
    if weights is not None:
        raise EvaluationError("risk is not defined for weighted queries: leave out --weights or --risk.")
    if not (math.isfinite(alpha) and alpha >= 0):
        raise EvaluationError(f"risk {alpha:g} is out of range: expected a number of at least 0.")
    return float(alpha)


def _choice(grades: Sequence[float]) -> str:
    """What a grade may be, in words.

    >>> _choice([0.0, 0.5, 2.0])
    'grade 0, 0.5 or 2'
    """
    if len(grades) > 9:
        return f"any of {len(grades)} grades from {grades[0]:g} to {grades[-1]:g}"
    first = ", ".join(f"{grade:g}" for grade in grades[:-1])
    return f"grade {first} or {grades[-1]:g}" if first else f"grade {grades[-1]:g}"


def _spread(flags: Bools, at: Ints | slice, size: int) -> Bools:
    """Flags of the queries evaluated, among all."""
    spread = np.zeros(size, dtype=bool)
    spread[at] = flags
    return spread


def _same_run(one: RunScores, other: RunScores) -> bool:
    """Whether two were made of the same documents with the same scores."""
    a, b = one.judged.sources.run, other.judged.sources.run
    return a is b or (
        a.queries == b.queries
        and np.array_equal(a.starts, b.starts)
        and np.array_equal(a.docs, b.docs)
        and np.array_equal(a.scores, b.scores)
    )


def _selected(run: RunScores, at: list[int], wanted: set[str]) -> RunScores:
    """The part of a run's scores that concerns some queries."""
    judged = np.array([query in wanted for query in run.judged.queries], dtype=bool)
    return replace(
        run,
        values=run.values[:, at],
        judged=_of_queries(run.judged, wanted),
        query_errors=tuple(None if errors is None else errors[judged] for errors in run.query_errors),
        outer=tuple(None if outer is None else outer[at] for outer in run.outer),
        joins=tuple(_of_queries(judged, wanted) for judged in run.joins),
    )


def _of_queries(judged: JudgedRun, wanted: set[str]) -> JudgedRun:
    """The part of a join that concerns some queries."""
    at = [i for i, query in enumerate(judged.queries) if query in wanted]
    hits = np.isin(judged.query, at)
    ideal = np.isin(judged.ideal_query, at)
    return replace(
        judged,
        queries=tuple(judged.queries[i] for i in at),
        starts=starts_of(np.diff(judged.starts)[at]),
        rank=judged.rank[hits],
        grade=judged.grade[hits],
        doc=judged.doc[hits],
        tie_first=judged.tie_first[hits],
        tie_size=judged.tie_size[hits],
        retrieved=judged.retrieved[at],
        missing=judged.missing[at],
        ideal=judged.ideal[ideal],
        ideal_starts=starts_of(np.diff(judged.ideal_starts)[at]),
        qrels_at=judged.qrels_at[at],
        tied_docs=judged.tied_docs[at],
        float32_tied_docs=judged.float32_tied_docs[at],
    )


def mean_of_samples(drawn: Floats) -> tuple[Floats, Floats]:
    """The mean of each column, a query's values over sampled orders, and its standard error.

    Values are added one after the other, and are as they are where all are alike, so that no other query changes a bit.
    """
    n = len(drawn)
    mean = np.where((drawn == drawn[0]).all(axis=0), drawn[0], _added(drawn) / n)
    return mean, np.sqrt(_added((drawn - mean) ** 2) / (n - 1)) / math.sqrt(n)


def _added(rows: Floats) -> Floats:
    """The sum of each column, as a plain loop adds it; `sum` adds otherwise where there is only one column."""
    sums: Floats = np.add.accumulate(rows, axis=0)[-1]
    return sums


def _present(values: Floats) -> list[float]:
    return [value for value in values.tolist() if not math.isnan(value)]
