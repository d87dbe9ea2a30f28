"""The evaluator: qrels and measures in, the scores of any number of runs out."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from cranfield.base import (
    DEFAULT_MEASURES,
    How,
    Missing,
    OnDuplicate,
    RankBy,
    ScoreType,
    Ties,
    core,
    count_cores,
    encode_id,
    join_names,
    map_in_threads,
    pluralize,
    replace,
)
from cranfield.data import Bools, Floats, Ints, Origin, Qrels, Run
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation.averages import GEOMETRIC_FLOOR, effective_number, mean_of_samples
from cranfield.evaluation.risk import weighted_gains
from cranfield.evaluation.run_names import distinct_names
from cranfield.evaluation.scores import Part, Row, RunScores, Scores, drop_zero_fraction, require_not_negative
from cranfield.io import AS_REQUESTED, as_doc_lengths, as_duplicates, as_facts, as_qrels, as_run, as_weights, read_run
from cranfield.joining import Extras, Joining, JudgedRun, join_run
from cranfield.measures import Measure, parse_measures

if TYPE_CHECKING:
    from cranfield.evaluation.bounds import Completions
    from cranfield.joining import ReadAhead

TIE_SAMPLES = 200  # random orders of ties, where there is no closed form of the expected value


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
            require_not_negative(self.labels, self.measures)
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
        """The scores of a run without the run itself, unless it will be needed."""
        scored = self.score(path, format=format)
        if self.alpha is not None or scored.joins or any(measure.aggregate == "run" for measure in self.measures):
            return scored
        return scored.without_hits(partial(read_run, path, format, on_duplicate=self.on_duplicate))

    @cached_property
    def only_hits_matter(self) -> bool:
        """Whether the judged documents of a run are all that matters, so the run need not be kept."""
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
        """The scores of the run to compare with, for risk."""
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
        return Completions(dense, grades, Sampling(TIE_SAMPLES, self.seed), self.unjudged)

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
        # a generator for each query, so results do not depend on other queries
        rngs = [np.random.default_rng([self.seed, *encode_id(query)]) for query in judged.queries]
        drawn = np.array([measure.values(judged.shuffle_ties(rngs)) for _ in range(TIE_SAMPLES)])
        return mean_of_samples(drawn)

    def _conventions(self) -> dict[str, Any]:
        joining = self.joining
        conventions: dict[str, Any] = {
            "ties": joining.ties,
            "rank_by": joining.rank_by,
            "score_type": joining.score_type,
            "missing": joining.missing,
            "on_duplicate": self.on_duplicate,
            "rel": 1 if self.rel is None else drop_zero_fraction(self.rel),
        }
        if self.docs is not None:
            conventions["docs"] = self.docs
        if joining.ties == "expected":
            conventions |= {"tie_samples": TIE_SAMPLES, "seed": self.seed}
        if self.how != "arithmetic":
            conventions["mean"] = self.how
        if self.weights is not None:
            conventions["weights"] = "by query"
        if self.alpha is not None and self.extras.against is not None:
            conventions |= {"against": self.extras.against.name, "risk": drop_zero_fraction(self.alpha)}
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
        """Notes on files that none of the measures uses."""
        for extra, who in _USERS.items():
            given = getattr(self.extras, extra) is not None and not (extra == "against" and self.alpha is not None)
            if given and not any(_uses(measure, extra) for measure in self.measures):
                example = _without_repeats(self.measures) if extra == "duplicates" else ""
                yield f"--{extra.replace('_', '-')} changes nothing here: only {who} it{example}."

    def _averaging_notes(self) -> Iterator[str]:
        if self.how == "geometric":
            floor = f"{GEOMETRIC_FLOOR:g}"
            yield f"Means are geometric: exp of the mean of ln(value), a value below {floor} counting as {floor}."
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
                what = f"{run.name}: {row.label} is a mean over {TIE_SAMPLES} random orders of ties"
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
    """Whether these are runs; some may be empty."""
    given = list(values)
    return any(map(_is_run, given)) and all(_is_run(value) or value == {} for value in given)


def _is_run(value: Any) -> bool:
    """Whether a value is a whole run by itself, rather than a part of one."""
    if isinstance(value, (Run, str, os.PathLike)) or hasattr(value, "columns") or hasattr(value, "column_names"):
        return True
    return isinstance(value, Mapping) and bool(value) and all(isinstance(v, Mapping) for v in value.values())


def _unusual_format(origin: Origin | None) -> Iterator[str]:
    """A note on a format other than TREC's that was detected, with the reason."""
    if origin is not None and origin.format != "trec" and origin.why != AS_REQUESTED:
        yield f"{origin.file} was read as {origin.format}: {origin.why}."


def _known_mean(how: str) -> How:
    if how not in get_args(How):
        raise CranfieldError(f"mean {how!r} is unknown: expected one of {', '.join(get_args(How))}.")
    return cast(How, how)


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise CranfieldError(f"seed {seed!r}: expected a whole number from 0.")
    return seed


def check_weights(weights: Mapping[str, float], qrels: Qrels) -> dict[str, float]:
    """The weights of the judged queries; each must have one."""
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
