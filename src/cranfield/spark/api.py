"""What is asked of Spark: frames, measures and conventions, checked before anything runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

from cranfield.base import (
    DEFAULT_MEASURES,
    How,
    Missing,
    OnDuplicate,
    RankBy,
    ScoreType,
    Ties,
    join_names,
    sort_naturally,
)
from cranfield.errors import CranfieldError, EvaluationError, InputError, MissingExtra
from cranfield.evaluation import Evaluator, check_weights
from cranfield.io import as_weights
from cranfield.measures import Measure, is_built_in
from cranfield.spark.columns import Columns, qrels_columns, run_columns
from cranfield.spark.evaluate_block import no_qrels, try_on_nothing
from cranfield.spark.evaluation import Evaluation
from cranfield.spark.frame import scores_frame
from cranfield.spark.grouping import EXTRA, Inputs

_ORDER = "rows of a Spark frame have no order"


def evaluate(
    run: Any,
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
    against: Any = None,
    doc_lengths: Any = None,
    duplicates: Any = None,
    facts: Any = None,
    query: str | None = None,
    doc: str | None = None,
    score: str | None = None,
    grade: str | None = None,
    rank: str | None = None,
    run_name: str | None = None,
    runs: Sequence[str] | None = None,
    broadcast: bool | None = None,
    partitions: int | None = None,
) -> Any:
    """Evaluate the runs in a Spark frame against the judgments in another: a frame of (run, query, measure, value).

    `run` has columns for query, doc and score, and `qrels` for query, doc and grade, under the names they usually go
    by, or those given (`query`, `doc`, `score`, `grade`, `rank`). A column `run` (or `run_name`) tells several runs
    apart; `runs` names them, or they are looked up. Conventions are those of `Evaluator`. Nothing is computed before
    the frame is used; it also has `mean`, `summary`, `interval`, `coverage`, `notes` and `check`. `broadcast` says
    whether judged queries are few enough to be sent to where the run is read, `partitions` how many tasks to use.
    """
    _require_pyspark()
    require_order_free(ties, rank_by, on_duplicate)
    options: dict[str, Any] = {
        "ties": ties,
        "rank_by": rank_by,
        "score_type": score_type,
        "missing": missing,
        "on_duplicate": on_duplicate,
        "rel": rel,
        "docs": docs,
        "seed": seed,
        "mean": mean,
        "doc_lengths": doc_lengths,
        "duplicates": duplicates,
        "facts": facts,
        "against": _run_in_memory(against),
    }
    with_ranks = rank_by == "rank" or ties == "rank-column"
    of_run = run_columns(run, with_ranks, query=query, doc=doc, score=score, rank=rank, run=run_name)
    of_qrels = qrels_columns(qrels, query=_there(query, qrels), doc=_there(doc, qrels), grade=grade)
    _require_partitions(partitions)
    evaluator = Evaluator(no_qrels(name for name in EXTRA if name in of_qrels), measures, **options)
    _require_means(evaluator.measures)
    try_on_nothing(evaluator)
    _let_travel(evaluator.measures)
    in_order = any(map(_minds_order, evaluator.measures))
    inputs = Inputs(run, qrels, of_run, of_qrels, _run_names(run, of_run, runs), in_order)
    weighed = None if weights is None else _weights(as_weights(weights), inputs)
    return scores_frame(Evaluation(evaluator, inputs, weighed, broadcast, partitions))


def _require_pyspark() -> None:
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        raise MissingExtra("cranfield.spark", "spark") from None


def require_order_free(ties: str, rank_by: str, on_duplicate: str) -> None:
    """Refuse rules that rest on the order of rows."""
    for name, given, why in (
        ("ties", ties, "input-order"),
        ("rank_by", rank_by, "input"),
        ("on_duplicate", on_duplicate, "first"),
        ("on_duplicate", on_duplicate, "last"),
    ):
        if given == why:
            raise CranfieldError(f"{name}={given!r} cannot hold on a cluster: {_ORDER}.")


def _require_means(measures: Sequence[Measure]) -> None:
    """A measure of a run as a whole must be one of how often documents are shown, which can be counted apart."""
    for measure in measures:
        own = type(measure).mean_value is not Measure.mean_value
        if own or (measure.aggregate == "run" and not hasattr(measure, "exposure")):
            raise CranfieldError(f"{measure} needs all queries of a run in one place: evaluate it without Spark.")


def _let_travel(measures: Sequence[Measure]) -> None:
    """A user's own measure, of a file that only this machine has, goes to the others as it is."""
    from pyspark import cloudpickle

    for measure in measures:
        if measure.source:
            cast(Any, cloudpickle).register_pickle_by_value(sys.modules[type(measure).__module__])


def _weights(weights: Mapping[str, float], inputs: Inputs) -> Mapping[str, float]:
    """The weights of the judged queries, checked as on one machine; they are in memory here, and so may queries be."""
    rows = inputs.judged().filter("query is not null")
    queries = rows.select(rows["query"].cast("string").alias("query")).distinct().toArrow()["query"].to_pylist()
    return check_weights(weights, cast(Any, SimpleNamespace(queries=sort_naturally(queries))))


def _require_partitions(partitions: Any) -> None:
    if partitions is not None and (isinstance(partitions, bool) or not isinstance(partitions, int) or partitions < 1):
        raise CranfieldError(f"partitions={partitions!r}: expected a whole number of at least 1.")


def _minds_order(measure: Measure) -> bool:
    """Whether a value may depend on the order of judgments: of equal documents some measures keep the first."""
    return bool(measure.reads_columns or measure.qrels_columns or not measure.repeats or not is_built_in(type(measure)))


def _there(name: str | None, frame: Any) -> str | None:
    """A column's name if the frame has it: qrels may name their columns otherwise."""
    return name if name is not None and name in frame.columns else None


def _run_in_memory(against: Any) -> Any:
    """Another run to compare with, which every task needs in full."""
    return against.toPandas() if hasattr(against, "mapInArrow") else against


def _run_names(run: Any, columns: Columns, given: Sequence[str] | None) -> tuple[str, ...]:
    if "run" not in columns:
        if given is not None and len(given) != 1:
            raise CranfieldError("several runs are named, but no column of the run frame tells them apart.")
        return _distinct(tuple(map(str, given))) if given else ("run",)
    if given is not None:
        return _distinct(tuple(map(str, given)))
    names = run.select(columns.ids("run", True).alias("run")).distinct().collect()
    found = sorted(row["run"] for row in names if row["run"] is not None)
    if not found:
        raise EvaluationError("the run frame names no run: it is empty, or its run column is.")
    return _distinct(tuple(found))


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    if "" in names:
        raise InputError("the run: there is a run whose name is empty. Give it one.")
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise CranfieldError(f"the runs name {join_names(twice)} more than once.")
    return names
