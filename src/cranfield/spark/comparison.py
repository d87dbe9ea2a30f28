"""Systems compared topic by topic where their scores are: only sums and small tables come back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from cranfield.base import Record, join_names, pluralize, replace
from cranfield.errors import CranfieldError, EvaluationError, InputError
from cranfield.evaluation import Interval
from cranfield.spark.columns import NUMBERS
from cranfield.spark.differences import First, FirstSums, Second, SecondSums, Settled, gathered
from cranfield.stats import adjust, find_measure, is_mean_over_queries, require_draws

RESAMPLES = 1_000
_COLUMNS = ("run", "query", "measure", "value")


class Difference(Record):
    """A system against another on a measure, over the queries that both have."""

    measure: str
    system: str
    reference: str
    n: int
    difference: float  # the mean of system − reference
    wins: int
    ties: int
    losses: int
    only_system: int  # queries that only one of both has, which are left out
    only_reference: int
    t: float | None  # None where all differences are the same
    p: float  # of the paired t-test
    p_corrected: float  # over the comparisons on this measure
    interval: Interval | None  # Student's t, of one difference
    p_permutation: float
    p_bootstrap: float
    bootstrap_interval: Interval | None  # percentiles of the means of resamples
    note: str = ""


def compare(
    scores: Any,
    baseline: str | None = None,
    *,
    measures: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 1,
    level: float = 0.95,
    correction: str = "holm",
) -> tuple[Difference, ...]:
    """Compare the runs in a frame of (run, query, measure, value): all with a baseline, or each with each.

    Student's paired t-test, with the same bits as on one machine; beside it a permutation test (signs are flipped) and
    a bootstrap test (queries are drawn a number of times that has Poisson's distribution with mean 1), from
    `resamples` draws each. Per-query scores of any origin will do, e.g. read back from Parquet.
    """
    require_draws(resamples, seed)
    if not 0 < level < 1:
        raise CranfieldError(f"level={level} is out of range: expected a number between 0 and 1.")
    if seed >= 2**63:
        raise CranfieldError(f"seed={seed} is out of range: expected a whole number below 2**63.")
    runs, known = _names(scores)
    measures = [measures] if isinstance(measures, str) else measures
    wanted = list(known if measures is None else map(str, measures))
    if unknown := [measure for measure in wanted if measure not in known]:
        raise CranfieldError(f"no measure {join_names(unknown)} among these scores: they have {', '.join(known)}.")
    _require_means(scores, wanted)
    pairs = _pairs(runs, baseline)
    if hasattr(scores, "evaluation"):
        scores.check()  # a run that has no judged query is no system to compare
    table = _by_query(scores, runs, wanted, seed).persist()  # it is looked at twice
    try:
        first = gathered(table, First(pairs), FirstSums)
        if any(sums.repeated for sums in first.values()):
            _raise_repeated(scores, wanted)
        settled = {key: Settled.of(sums) for key, sums in first.items() if sums.n}
        second = gathered(table, Second(pairs, settled, resamples), SecondSums)
    finally:
        table.unpersist()
    found = []
    for measure in wanted:
        tested = [
            _tested(
                measure, runs[a], runs[b], first[measure, k], settled[measure, k], second[measure, k], level, resamples
            )
            for k, (a, b) in enumerate(pairs)
            if (measure, k) in settled
        ]
        corrected = adjust([one.p for one in tested], correction).tolist() if tested else []
        found += [replace(one, p_corrected=p) for one, p in zip(tested, corrected, strict=True)]
    if not found:
        raise CranfieldError(f"no query has a score of two of the systems {join_names(runs)}.")
    return tuple(found)


def _names(scores: Any) -> tuple[list[str], list[str]]:
    """The runs and the measures in a frame of scores; an error if it is none, or has rows that cannot be used."""
    types = dict(getattr(scores, "dtypes", ()))
    if missing := [name for name in _COLUMNS if name not in types]:
        raise InputError(f"scores: no column {join_names(missing)}: expected run, query, measure and value.")
    if types["value"] not in NUMBERS and not types["value"].startswith("decimal"):
        raise InputError(f"scores: column 'value' is of type {types['value']}, expected numbers.")
    evaluation = getattr(scores, "evaluation", None)
    if evaluation is not None:  # made by `evaluate`, which knows
        runs, measures = sorted(evaluation.inputs.runs), list(evaluation.evaluator.labels)
    else:
        runs, measures = _names_of_any(scores)
    if len(runs) < 2:
        raise CranfieldError(
            f"there is only one system, {runs[0]!r}: a comparison needs at least two."
            if runs
            else "there are no systems to compare."
        )
    return runs, measures


def _require_means(scores: Any, labels: Sequence[str]) -> None:
    """As on one machine: what is compared are plain means over queries."""
    evaluation = getattr(scores, "evaluation", None)
    if evaluation is not None and (evaluation.evaluator.how != "arithmetic" or evaluation.weights is not None):
        raise EvaluationError(
            "comparisons are of plain means over queries: evaluate with mean='arithmetic' and without weights."
        )
    measures = {label: find_measure(label) for label in labels}
    if evaluation is not None:
        measures = dict(zip(evaluation.evaluator.labels, evaluation.evaluator.measures, strict=True))
    if other := [label for label in labels if (own := measures[label]) is not None and not is_mean_over_queries(own)]:
        raise EvaluationError(
            f"{join_names(other)}: no mean over queries, so that nothing can be compared topic by topic. "
            "Name the measures to compare, measures=."
        )


def _names_of_any(scores: Any) -> tuple[list[str], list[str]]:
    from pyspark.sql import functions as F

    value = F.col("value").cast("double")
    wrong = value.isNull() | F.isnan(value) | (F.abs(value) == float("inf"))
    for name in _COLUMNS[:-1]:
        wrong = wrong | F.col(name).isNull()
    rows = scores.groupBy("run", "measure").agg(F.count(F.when(wrong, 1)).alias("wrong")).collect()
    if number := sum(row["wrong"] for row in rows):
        some = scores.filter(wrong).select(*_COLUMNS).limit(3).collect()
        raise InputError(
            f"scores: {pluralize(number, 'row')} without a name or a finite value, e.g. "
            + ", ".join(str(tuple(row)) for row in some)
            + "."
        )
    runs, measures = (sorted({str(row[name]) for row in rows}) for name in ("run", "measure"))
    return runs, measures


def _raise_repeated(scores: Any, measures: Sequence[str]) -> NoReturn:
    chosen = scores.filter(scores["measure"].isin(list(measures)))
    twice = chosen.groupBy("run", "query", "measure").count().filter("count > 1")
    some = ", ".join(
        f"run {row['run']!r}, query {row['query']!r}, {row['measure']}" for row in twice.limit(3).collect()
    )
    raise InputError(f"scores: {pluralize(twice.count(), 'value')} given more than once, e.g. {some}.")


def _pairs(runs: Sequence[str], baseline: str | None) -> tuple[tuple[int, int], ...]:
    """Which runs are compared, as (system, reference)."""
    if baseline is not None:
        if baseline not in runs:
            raise CranfieldError(f"the baseline {baseline!r} is none of the systems: {', '.join(runs)}.")
        at = runs.index(baseline)
        return tuple((i, at) for i in range(len(runs)) if i != at)
    return tuple((j, i) for i in range(len(runs)) for j in range(i + 1, len(runs)))


def _by_query(scores: Any, runs: Sequence[str], measures: Sequence[str], seed: int) -> Any:
    """A row for each measure and query with the values of all runs, and a number that its draws come from."""
    from pyspark.sql import functions as F

    chosen = scores.filter(F.col("measure").isin(list(measures)))
    own = [F.when(F.col("run").cast("string") == run, F.col("value").cast("double")) for run in runs]
    values = (F.max(value).alias(f"v{i}") for i, value in enumerate(own))
    measure, query = (F.col(name).cast("string") for name in ("measure", "query"))
    rows = chosen.groupBy(measure.alias("measure"), query.alias("query")).agg(*values, F.count("value").alias("rows"))
    there = sum((F.col(f"v{i}").isNotNull().cast("int") for i in range(len(runs))), F.lit(0))
    return rows.withColumns({"draw": F.xxhash64(F.lit(seed), "query"), "repeated": F.col("rows") - there})


def _tested(
    measure: str,
    system: str,
    reference: str,
    first: FirstSums,
    settled: Settled,
    second: SecondSums,
    level: float,
    resamples: int,
) -> Difference:
    from scipy.special import stdtr, stdtrit

    n = first.n
    constant = second.least == second.greatest
    mean = second.least if constant else settled.centre
    t = interval = None
    note = ""
    if constant:
        # as stats.paired has it: no more than flipping signs says
        p = 1.0 if mean == 0 else min(1.0, 2 * 0.5**n)
        if mean == 0:
            note, interval = "The systems are identical: all differences are 0.", Interval(0.0, 0.0, level)
        elif 2 * 0.5**n <= 1 - level:
            note, interval = "All differences are the same.", Interval(mean, mean, level)
    else:
        error = math.sqrt(second.squares.value / (n - 1)) / math.sqrt(n)
        t = mean / error
        p = min(1.0, 2 * float(stdtr(n - 1, -abs(t))))
        half = float(stdtrit(n - 1, (1 + level) / 2)) * error
        interval = Interval(mean - half, mean + half, level)
    p_permutation = _permutation(second, resamples)
    p_bootstrap, percentiles = _bootstrap(second, settled, n, level) if not constant else (p, interval)
    return Difference(
        measure=measure,
        system=system,
        reference=reference,
        n=n,
        difference=mean,
        wins=second.wins,
        ties=n - second.wins - second.losses,
        losses=second.losses,
        only_system=first.only_a,
        only_reference=first.only_b,
        t=t,
        p=p,
        p_corrected=p,
        interval=interval,
        p_permutation=p_permutation,
        p_bootstrap=p_bootstrap,
        bootstrap_interval=percentiles,
        note=note,
    )


def _permutation(sums: SecondSums, resamples: int) -> float:
    """The share of flips whose sum is as far from 0; whole numbers need no slack."""
    extreme = sum(abs(sums.total - 2 * flipped) >= abs(sums.total) for flipped in sums.flipped)
    return (extreme + 1) / (resamples + 1)


def _bootstrap(sums: SecondSums, settled: Settled, n: int, level: float) -> tuple[float, Interval]:
    """How far means of resamples stray from the mean, and their percentiles."""
    mean = sums.total / n
    means = [drawn / size for drawn, size in zip(sums.drawn, sums.sizes, strict=True) if size] or [mean]
    extreme = sum(abs(one - mean) >= abs(mean) * (1 - 1e-12) for one in means)
    ordered = sorted(one / settled.unit for one in means)
    low, high = (_quantile(ordered, share) for share in ((1 - level) / 2, (1 + level) / 2))
    return (extreme + 1) / (len(means) + 1), Interval(low, high, level)


def _quantile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(max(math.ceil(share * len(ordered) - 1e-9), 1), len(ordered)) - 1]
