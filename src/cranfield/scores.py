"""From qrels, runs and measures to scores: per query, and as means with what one must know to read them."""

from __future__ import annotations

import html
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection import Floats, OnDuplicate, Origin, Qrels, Run, id_bytes, natural_order
from cranfield.errors import CranfieldError
from cranfield.formats import as_qrels, as_run
from cranfield.formats.recognise import AS_ASKED
from cranfield.judged import Joining, JudgedRun, Missing, RankBy, ScoreType, Ties, judge
from cranfield.measures import Judged, Measure, parse_measures
from cranfield.wording import counted

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100", "Judged@10")
SAMPLES = 200


@dataclass(frozen=True)
class Interval:
    """A confidence interval of a mean."""

    low: float
    high: float
    level: float = 0.95


@dataclass(frozen=True, eq=False)
class RunScores:
    """The scores of one run: one row a measure, one column a query; NaN where a query was skipped."""

    name: str
    values: Floats
    judged: JudgedRun
    query_errors: tuple[Floats | None, ...]  # standard errors of a measure's values, where ties were sampled
    origin: Origin | None = None
    notes: tuple[str, ...] = ()

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
            f"{counted(evaluated, 'query')} evaluated, "
            f"{self.judged.only_in_run:,} in the run have no judgments, {missing:,} missing{how}"
        )


@dataclass(frozen=True, eq=False)
class Scores:
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
    conventions: Mapping[str, Any]
    qrels: Origin | None = None
    notes: tuple[str, ...] = ()

    def values(self, measure: str | Measure, run: str | None = None) -> Floats:
        """The value of every query, NaN where it was skipped."""
        row: Floats = self._run(run).values[self._index(measure)]
        return row

    def per_query(self, measure: str | Measure, run: str | None = None) -> dict[str, float]:
        """{query: value} of the queries evaluated."""
        values = self.values(measure, run).tolist()
        return {q: v for q, v in zip(self.queries, values, strict=True) if not math.isnan(v)}

    def mean(self, measure: str | Measure, run: str | None = None) -> float:
        """The mean over queries; the sum for counts. Added exactly, so that no order changes a bit."""
        values = _present(self.values(measure, run))
        total = math.fsum(values)
        if self.measures[self._index(measure)].aggregate == "sum":
            return whole(total)
        return total / len(values) if values else math.nan

    def interval(self, measure: str | Measure, run: str | None = None, level: float = 0.95) -> Interval | None:
        """The t interval of a mean; None for a count or for fewer than two queries."""
        values = _present(self.values(measure, run))
        if len(values) < 2 or self.measures[self._index(measure)].aggregate == "sum":
            return None
        from scipy.special import stdtrit

        mean = math.fsum(values) / len(values)
        variance = math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)
        half = float(stdtrit(len(values) - 1, (1 + level) / 2)) * math.sqrt(variance / len(values))
        return Interval(mean - half, mean + half, level)

    def unjudged(self, k: int = 10, run: str | None = None) -> float:
        """The share of documents without a judgment among the first k, over all queries."""
        judged = self._run(run).judged
        shown = np.minimum(judged.retrieved, k)
        seen = Judged(cutoff=k).values(judged) * shown
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
        return replace(self, queries=tuple(self.queries[i] for i in at), runs=runs)

    def __str__(self) -> str:
        width = max(map(len, self.labels))
        return "\n".join(
            f"{run.name}  {label:<{width}}  {self.mean(label, run.name):.4f}"
            for run in self.runs
            for label in self.labels
        )

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(label)}</th>" for label in self.labels)
        body = "".join(
            f"<tr><th>{html.escape(run.name)}</th>"
            + "".join(f"<td>{self.mean(label, run.name):.4f}</td>" for label in self.labels)
            + "</tr>"
            for run in self.runs
        )
        return f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{body}</tbody></table>"

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
    ) -> None:
        self.qrels: Qrels = as_qrels(qrels, on_duplicate=on_duplicate)
        self.joining = Joining(ties, rank_by, score_type, missing)
        self.on_duplicate = on_duplicate
        self.seed = seed
        self.rel, self.docs = rel, docs
        named = parse_measures(measures)
        given = {key: value for key, value in (("rel", rel), ("docs", docs)) if value is not None}
        self.labels = tuple(label for label, _ in named)
        self.measures = tuple(measure.with_defaults(**given) for _, measure in named)

    def evaluate(self, runs: Any) -> Scores:
        """The scores of a run, or of several: a list, or a mapping from name to run."""
        return self.scores([self.score(run) for run in _runs(runs, self.on_duplicate)])

    def score(self, run: Run) -> RunScores:
        """One run, to be put together with others by `scores`."""
        judged = judge(self.qrels, run, self.joining)
        pairs = [self._measured(measure, judged) for measure in self.measures]
        where = {query: i for i, query in enumerate(self.qrels.queries)}
        values = np.full((len(pairs), len(where)), np.nan)
        values[:, [where[query] for query in judged.queries]] = [value for value, _ in pairs]
        errors = tuple(error for _, error in pairs)
        return RunScores(run.name, values, judged, errors, run.origin, run.notes)

    def scores(self, runs: Sequence[RunScores]) -> Scores:
        """Several runs' scores as one value."""
        names = distinct_names([run.name for run in runs], [run.origin.file if run.origin else None for run in runs])
        named = tuple(replace(run, name=name) for run, name in zip(runs, names, strict=True))
        return Scores(
            labels=self.labels,
            measures=self.measures,
            queries=self.qrels.queries,
            runs=named,
            conventions=self._conventions(),
            qrels=self.qrels.origin,
            notes=tuple(self._notes(named)),
        )

    def _measured(self, measure: Measure, judged: JudgedRun) -> tuple[Floats, Floats | None]:
        """A measure's values, and their standard errors where ties had to be sampled."""
        values, error = self._raw(measure, judged)
        if measure.aggregate == "mean":
            values = np.where(judged.missing, 0.0, values)
        return values, error

    def _raw(self, measure: Measure, judged: JudgedRun) -> tuple[Floats, Floats | None]:
        if self.joining.ties != "expected":
            return measure.values(judged), None
        closed = measure.expected_values(judged)
        if closed is not None:
            return closed, None
        # a generator for each query, so that no other query changes what is drawn for it
        rngs = [np.random.default_rng([self.seed, *id_bytes(query)]) for query in judged.queries]
        drawn = np.array([measure.values(judged.shuffled(rngs)) for _ in range(SAMPLES)])
        return drawn.mean(axis=0), drawn.std(axis=0, ddof=1) / math.sqrt(SAMPLES)

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
        return conventions

    def _notes(self, runs: Sequence[RunScores]) -> Iterator[str]:
        """What a reader of the figures must know, beyond the coverage of each run."""
        yield from _unusual_format(self.qrels.origin)
        yield from (f"qrels: {note}" for note in self.qrels.notes)
        if self.qrels.merged:
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
        for run in runs:
            yield from self._run_notes(run)

    def _run_notes(self, run: RunScores) -> Iterator[str]:
        yield from _unusual_format(run.origin)
        yield from (f"{run.name}: {note}" for note in run.notes)
        judged = run.judged
        flattered = [label for label, m in zip(self.labels, self.measures, strict=True) if not m.more_is_better]
        if judged.missing.any() and flattered:
            yield f"{run.name}: missing queries count as 0, which is the best value of {', '.join(flattered)}."
        for label, error in zip(self.labels, run.sampling_errors, strict=True):
            if error is not None:
                yield f"{run.name}: {label} is a mean over {SAMPLES} random orders of ties, standard error {error:.1g}."


def evaluate(qrels: Any, runs: Any, measures: Any = DEFAULT_MEASURES, **options: Any) -> Scores:
    """Evaluate a run, or several, against qrels. Options are those of `Evaluator`.

    >>> evaluate({"q1": {"a": 1}}, {"q1": {"a": 1.0}}, ["P@1"]).summary()
    {'run': {'P@1': 1.0}}
    """
    return Evaluator(qrels, measures, **options).evaluate(runs)


def distinct_names(names: Sequence[str], files: Sequence[str | None]) -> list[str]:
    """Names that tell runs apart: the same name gets its folders in front, then a number behind.

    >>> distinct_names(["bm25", "bm25", "lm"], ["a/bm25.gz", "b/bm25.gz", "a/lm"])
    ['a/bm25', 'b/bm25', 'lm']
    """
    result = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        at = [i for i, other in enumerate(names) if other == name]
        folders = [os.path.normpath(os.path.dirname(files[i] or "")).split(os.sep) for i in at]
        known = all(files[i] for i in at)
        depth = next((d for d in range(1, 9) if known and len({tuple(f[-d:]) for f in folders}) == len(at)), None)
        for number, (i, folder) in enumerate(zip(at, folders, strict=True), 1):
            result[i] = "/".join([*folder[-depth:], name]) if depth else f"{name} ({number})"
    # a name made up here may be one that was given
    while len(set(result)) < len(result):
        twice = next(i for i, name in enumerate(result) if result.index(name) < i)
        result[twice] += "'"
    return result


def whole(value: float) -> float | int:
    """A number without a point where it has none to lose."""
    return int(value) if float(value).is_integer() else value


def group_queries(groups: Mapping[str, str], queries: Sequence[str]) -> dict[str, list[str]]:
    """Queries by group in natural order; those without one are put together under `(none)`."""
    gathered: dict[str, list[str]] = {}
    for query in queries:
        gathered.setdefault(groups.get(query, "(none)"), []).append(query)
    return {group: gathered[group] for group in natural_order(gathered)}


def _runs(source: Any, on_duplicate: OnDuplicate) -> list[Run]:
    if isinstance(source, Mapping) and _are_runs(source.values()):
        return [as_run(run, name=str(name), on_duplicate=on_duplicate) for name, run in source.items()]
    if isinstance(source, (list, tuple)) and _are_runs(source):
        return [as_run(run, on_duplicate=on_duplicate) for run in source]
    return [as_run(source, on_duplicate=on_duplicate)]


def _are_runs(values: Iterable[Any]) -> bool:
    """Whether these are runs, of which some may be empty."""
    given = list(values)
    return any(map(_is_run, given)) and all(_is_run(value) or value == {} for value in given)


def _unusual_format(origin: Origin | None) -> Iterator[str]:
    """A format other than TREC's that was recognised by looking is told, with the reason."""
    if origin is not None and origin.format != "trec" and origin.why != AS_ASKED:
        yield f"{origin.file} was read as {origin.format}: {origin.why}."


def _is_run(value: Any) -> bool:
    """Whether a value is a whole run by itself, rather than a part of one."""
    if isinstance(value, (Run, str, os.PathLike)) or hasattr(value, "columns") or hasattr(value, "column_names"):
        return True
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Mapping) for v in value.values())


def _selected(run: RunScores, at: list[int], wanted: set[str]) -> RunScores:
    """The part of a run's scores that concerns some queries."""
    judged = np.array([query in wanted for query in run.judged.queries], dtype=bool)
    return replace(
        run,
        values=run.values[:, at],
        judged=_of_queries(run.judged, wanted),
        query_errors=tuple(None if errors is None else errors[judged] for errors in run.query_errors),
    )


def _of_queries(judged: JudgedRun, wanted: set[str]) -> JudgedRun:
    """The part of a join that concerns some queries."""
    at = [i for i, query in enumerate(judged.queries) if query in wanted]
    hits = np.isin(judged.query, at)
    ideal = np.isin(judged.ideal_query, at)
    return replace(
        judged,
        queries=tuple(judged.queries[i] for i in at),
        starts=_cumulated(np.diff(judged.starts)[at]),
        rank=judged.rank[hits],
        grade=judged.grade[hits],
        doc=judged.doc[hits],
        tie_first=judged.tie_first[hits],
        tie_size=judged.tie_size[hits],
        retrieved=judged.retrieved[at],
        missing=judged.missing[at],
        ideal=judged.ideal[ideal],
        ideal_starts=_cumulated(np.diff(judged.ideal_starts)[at]),
        qrels_at=judged.qrels_at[at],
    )


def _cumulated(sizes: Any) -> Any:
    return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)


def _present(values: Floats) -> list[float]:
    return [value for value in values.tolist() if not math.isnan(value)]
