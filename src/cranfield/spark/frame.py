"""A frame of scores: one of Spark's own, which also knows its means, intervals, coverage and notes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, cast

from cranfield.base import pluralize, t_quantile
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import Evaluator, Interval, average, drop_zero_fraction, interval
from cranfield.measures import Measure
from cranfield.spark.aggregates import Totals
from cranfield.spark.evaluation import Evaluation, Unjudged
from cranfield.spark.exact_sum import ExactSum
from cranfield.spark.grouping import SEE
from cranfield.spark.validation import raise_problems


class SparkScores:
    """What a frame of scores has beyond a frame. Sums are made where the data are; only small tables come back."""

    evaluation: Evaluation

    def mean(self, measure: str | Measure | None = None, run: str | None = None) -> Any:
        """The mean of a measure (of a run, if there are several), or without a measure a frame of all means.

        The frame has run, measure, value and queries: how many of them the value rests on.
        """
        if measure is not None:
            return self._mean(self._run(run), self._index(measure))
        rows = [
            (run, label, float(self._mean(run, i)), self._totals[run].counts["evaluated"])
            for run in self.evaluation.inputs.runs
            for i, label in enumerate(self.evaluation.evaluator.labels)
        ]
        session = cast(Any, self).sparkSession
        return session.createDataFrame(rows, "run string, measure string, value double, queries bigint")

    def summary(self) -> dict[str, dict[str, float]]:
        """{run: {measure: mean}}"""
        labels = self.evaluation.evaluator.labels
        return {
            run: {label: self._mean(run, i) for i, label in enumerate(labels)} for run in self.evaluation.inputs.runs
        }

    def interval(self, measure: str | Measure, run: str | None = None, level: float = 0.95) -> Interval | None:
        """The interval of a mean; None for a count, for fewer than two queries, and for a weighted median."""
        return self._interval(self._run(run), self._index(measure), level)

    def coverage(self, run: str | None = None) -> str:
        """How many queries the figures rest on, and what was left out."""
        counts = self._totals[self._run(run)].counts
        missing, how = counts["missing"], " (count as 0)" if counts["missing"] else ""
        if counts["skipped"]:
            missing, how = counts["skipped"], " (skipped)"
        return (
            f"{pluralize(counts['evaluated'], 'query')} evaluated, "
            f"{self._only_in_run(self._run(run)):,} in the run have no judgments, {missing:,} missing{how}"
        )

    @property
    def conventions(self) -> Mapping[str, Any]:
        """The choices that the values rest on."""
        found = self.evaluation.evaluator._conventions()
        return found if self.evaluation.weights is None else {**found, "weights": "by query"}

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures must know."""
        return tuple(dict.fromkeys(self._notes()))  # what is said of a file is said once, however many runs it has

    def unjudged(self, run: str | None = None) -> float:
        """The share of documents without a judgment among the first ten, over all queries."""
        counts = self._totals[self._run(run)].counts
        return 1 - counts["seen"] / counts["shown"] if counts["shown"] else math.nan

    def check(self) -> None:
        """Look at all rows, and raise an error that counts and shows what cannot be used, if there is any."""
        _ = self._totals

    # what Spark would do by itself, with an error that says what is wrong with all of the data

    def collect(self) -> Any:
        rows = self._telling(lambda: cast(Any, super(SparkScores, self)).collect())
        self._require_some((row["run"], row["measure"], row["value"]) for row in rows)
        return rows

    def toPandas(self) -> Any:
        table = self._telling(lambda: cast(Any, super(SparkScores, self)).toPandas())
        self._require_some(zip(table["run"], table["measure"], table["value"], strict=True))
        return table

    def toArrow(self) -> Any:
        table = self._telling(lambda: cast(Any, super(SparkScores, self)).toArrow())
        self._require_some(zip(*(table[name].to_pylist() for name in ("run", "measure", "value")), strict=True))
        return table

    def count(self) -> Any:
        return self._telling(lambda: cast(Any, super(SparkScores, self)).count())

    def show(self, *args: Any, **kwargs: Any) -> Any:
        return self._telling(lambda: cast(Any, super(SparkScores, self)).show(*args, **kwargs))

    def persist(self, *args: Any, **kwargs: Any) -> Any:
        """Keep the values of queries, so that means, intervals and the frame itself need the runs only once."""
        if self.evaluation.kept is None:
            self.evaluation.kept = self.evaluation.results.persist(*args, **kwargs)
        return self

    def cache(self) -> Any:
        """As `persist`."""
        return self.persist()

    def unpersist(self, blocking: bool = False) -> Any:
        if self.evaluation.kept is not None:
            self.evaluation.kept.unpersist(blocking)
            self.evaluation.kept = None
        return self

    def _require_some(self, rows: Iterable[tuple[str, str, float]]) -> None:
        """If a measure of a run is 0 throughout, see whether it has any query in common with the qrels."""
        some = {(run, measure) for run, measure, value in rows if value}
        if len(some) < len(self.evaluation.inputs.runs) * len(self.evaluation.evaluator.labels):
            self.check()

    def _telling(self, action: Callable[[], Any]) -> Any:
        try:
            return action()
        except Exception as error:
            if SEE not in str(error):  # not our own look at the data has failed, but the cluster
                raise
        self.check()
        raise AssertionError("what was refused once is refused again")

    @cached_property
    def _totals(self) -> dict[str, Totals]:
        try:
            found = self.evaluation.totals()
        except Exception as error:
            if SEE not in str(error):
                raise
            found = {"": Totals(examples={"problems": ["rows without an id"]})}
        for run in self.evaluation.inputs.runs:
            found.setdefault(run, Totals())
        problems = {text for totals in found.values() for text in totals.examples.get("problems", ())}
        rule = self.evaluation.evaluator.on_duplicate
        if not problems and rule == "error" and any(one.repeated for one in (self._unjudged or {}).values()):
            problems = {"documents that occur more than once"}
        if problems:
            raise_problems(self.evaluation.inputs, rule, sorted(problems))
        _require_queries(self.evaluation, found)
        return found

    def _index(self, measure: str | Measure) -> int:
        evaluator = self.evaluation.evaluator
        if isinstance(measure, Measure) and measure in evaluator.measures:
            return evaluator.measures.index(measure)
        if str(measure) not in evaluator.labels:
            raise CranfieldError(
                f"no measure {str(measure)!r} among these scores: they have {', '.join(evaluator.labels)}."
            )
        return evaluator.labels.index(str(measure))

    def _run(self, name: str | None) -> str:
        runs = self.evaluation.inputs.runs
        if name is None and len(runs) == 1:
            return runs[0]
        if name not in runs:
            raise CranfieldError(f"no run {name!r} among these scores: they have {', '.join(runs)}.")
        return name

    def _sums(self, run: str, i: int) -> tuple[ExactSum, ExactSum]:
        """What was added for a measure: its values, and the squares of their sampling errors."""
        sums = self._totals[run].sums
        return sums[2 * i], sums[2 * i + 1]

    def _weight(self, run: str) -> tuple[float, float]:
        """The sum of the weights of a run's queries, and of their squares."""
        total, squares = self._totals[run].sums[-2:]
        return total.value, squares.value

    def _centre(self, run: str, i: int) -> float:
        """The arithmetic mean of values, or of their logarithms."""
        total = self._sums(run, i)[0].value
        if self.evaluation.weights is None:
            return total / self._totals[run].counts["evaluated"]
        weight = self._weight(run)[0]
        return total / weight if weight else math.nan

    def _mean(self, run: str, i: int) -> float:
        evaluation, how = self.evaluation, self.evaluation.averaging(i)
        if how == "run":
            return self._of_the_whole(run, i)
        if not self._totals[run].counts["evaluated"]:
            return math.nan
        if how == "sum":
            return drop_zero_fraction(self._sums(run, i)[0].value)
        if how == "median":
            if evaluation.weights is not None:
                return average(*self._weighted(run, i), "median")
            return self._medians[run, i]
        return math.exp(self._centre(run, i)) if how == "geometric" else self._centre(run, i)

    def _weighted(self, run: str, i: int) -> tuple[list[float], list[float]]:
        assert self.evaluation.weights is not None
        values = self.evaluation.values(run, i)
        return list(values.values()), [self.evaluation.weights[query] for query in values]

    @cached_property
    def _medians(self) -> dict[tuple[str, int], float]:
        return self.evaluation.medians()

    @cached_property
    def _exposure(self) -> dict[tuple[str, int], list[int]]:
        return self.evaluation.exposure()

    def _of_the_whole(self, run: str, i: int) -> float:
        """The value of a run as a whole, by the measure's own rule, from how often documents are shown."""
        measure = self.evaluation.evaluator.measures[i]
        counting = object.__new__(type(measure))
        shown = self._exposure.get((run, i), [])
        counting.__dict__.update(measure.__dict__, exposure=lambda _: shown)
        return counting.run_value(cast(Any, None))

    def _interval(self, run: str, i: int, level: float) -> Interval | None:
        how = self.evaluation.averaging(i)
        if how in ("sum", "run"):
            return None
        if how == "median":
            if self.evaluation.weights is not None:
                return None
            return interval(list(self.evaluation.values(run, i).values()), None, "median", level)
        found = self._t_interval(run, i, level)
        if how == "arithmetic" or found is None:
            return found
        return Interval(math.exp(found.low), math.exp(found.high), level)

    def _t_interval(self, run: str, i: int, level: float) -> Interval | None:
        """As averages.interval, from sums instead of values."""
        number: float = self._totals[run].counts["evaluated"]
        weight = 0.0
        if self.evaluation.weights is not None:
            weight, squares = self._weight(run)
            number = weight**2 / squares if squares else 0.0
        if number < 2:
            return None
        spread = self._deviations[run].sums[i].value
        if self.evaluation.weights is None:
            variance = spread / (number - 1) / number
        else:
            variance = spread / weight**2 * number / (number - 1)
        mean = self._centre(run, i)
        half = t_quantile(number - 1, (1 + level) / 2) * math.sqrt(variance)
        return Interval(mean - half, mean + half, level)

    @cached_property
    def _deviations(self) -> dict[str, Totals]:
        """A second look at all values, now that their means are known."""
        measures = range(len(self.evaluation.evaluator.measures))
        means = {
            run: [self._centre(run, i) for i in measures] if totals.counts["evaluated"] else []
            for run, totals in self._totals.items()
            if run
        }
        return self.evaluation.totals(means)

    def _only_in_run(self, run: str) -> int:
        if self._unjudged is None:
            return self._totals[run].counts["only_in_run"]
        return self._unjudged.get(run, Unjudged()).queries

    @cached_property
    def _unjudged(self) -> dict[str, Unjudged] | None:
        return self.evaluation.unjudged()

    def _notes(self) -> Iterator[str]:
        """The notes of the local engine, on what was counted here."""
        evaluator, about = self.evaluation.evaluator, self._totals.get("", Totals()).counts
        notes = []
        if about["repeated_judgments"]:
            rule = evaluator.on_duplicate
            how = "identical" if rule == "error" else f"--on-duplicate {rule}"
            notes.append(f"{pluralize(about['repeated_judgments'], 'repeated judgment')} left out ({how}).")
        stand_in = SimpleNamespace(origin=self.evaluation.qrels_origin, notes=tuple(notes), merged=about["merged"])
        own = object.__new__(Evaluator)
        own.__dict__.update(evaluator.__dict__, qrels=stand_in, weights=self.evaluation.weights)
        yield from own._notes(cast(Any, [self.standing(run) for run in self.evaluation.inputs.runs]))

    def standing(self, run: str) -> Any:
        """A run's counts under the names that the local engine's scores have, for notes and tables."""
        counts = self._totals[run].counts
        evaluator = self.evaluation.evaluator
        notes: tuple[str, ...] = ()
        if repeated := counts["repeated_docs"] + (self._unjudged or {}).get(run, Unjudged()).repeated:
            left = pluralize(repeated, "repeated document")
            notes = (f"{left} left out (--on-duplicate {evaluator.on_duplicate}).",)
        return SimpleNamespace(
            name=run,
            origin=self.evaluation.origin_of(run),
            notes=notes,
            outer=(None,) * len(evaluator.labels),
            coverage=self.coverage(run),
            sampling_errors=tuple(self._sampling_error(run, i) for i in range(len(evaluator.labels))),
            judged=SimpleNamespace(
                n=counts["evaluated"],
                tied=counts["tied"],
                float32_tied=counts["float32_tied"],
                only_in_run=self._only_in_run(run),
                missing=_Count(counts["missing"]),
                skipped=counts["skipped"],
                sources=SimpleNamespace(extras=evaluator.extras),
            ),
        )

    def _sampling_error(self, run: str, i: int) -> float | None:
        squares = self._sums(run, i)[1].value if self._totals[run].sums else 0.0
        return math.sqrt(squares) / self._totals[run].counts["evaluated"] if squares else None


class _Count(int):
    """A number of flags that are set, asked for as of an array."""

    def any(self) -> bool:
        return self > 0

    def sum(self) -> int:
        return int(self)


def _require_queries(evaluation: Evaluation, totals: Mapping[str, Totals]) -> None:
    """As the local join: a run must have judged queries, and all of them if missing ones are an error."""
    for run in evaluation.inputs.runs:
        counts, examples = totals[run].counts, totals[run].examples.get("missing", [])
        lacked = counts["missing"] + counts["skipped"]
        if counts["evaluated"] == counts["missing"]:
            mine, theirs = ", ".join(examples[:3]), ", ".join(evaluation.some_queries(run))
            raise EvaluationError(
                f"the qrels and run {run!r} have no query in common: the qrels have {mine or 'none'} …, "
                f"the run has {theirs or 'none'} …. See 'cranfield check'."
            )
        if evaluation.evaluator.joining.missing == "error" and lacked:
            raise EvaluationError(
                f"run {run!r} lacks {lacked:,} of {counts['evaluated'] + counts['skipped']:,} judged queries "
                f"({', '.join(examples)}{' …' if lacked > len(examples) else ''}). "
                "Count them as zero or skip them with --missing."
            )


def scores_frame(evaluation: Evaluation) -> Any:
    """The frame of scores: one of Spark's own that knows how it was made."""
    frame = evaluation.rows()
    kind: Any = type(frame)
    frame.__class__ = _kind_of(kind)
    frame.evaluation = evaluation
    return frame


@lru_cache(maxsize=4)
def _kind_of(kind: Any) -> type:
    """Spark's class of frames (there are two, one for Spark Connect) with the methods of scores."""
    return type("SparkScores", (SparkScores, kind), {"__doc__": SparkScores.__doc__})
