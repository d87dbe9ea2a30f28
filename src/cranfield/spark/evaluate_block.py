"""What is done with the rows of queries wherever they are: the same join and the same measures as on one machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import JUDGED_DEPTH, Evaluator
from cranfield.joining import JudgedRun, Sources, assemble, find_hits
from cranfield.measures import Judged, is_built_in
from cranfield.spark.arrays import Lists
from cranfield.spark.joining import RunJoin
from cranfield.spark.query_block import Block

BLOCK = 200_000  # documents joined at a time, so that memory does not depend on how Spark cuts batches
EVALUATED, MISSING, SKIPPED, UNJUDGED, ABOUT_QRELS, PROBLEM = range(6)  # what a row of results is about
RESULTS = (
    "run string, query string, state tinyint, values array<double>, errors array<double>, "
    "tied bigint, float32_tied bigint, shown bigint, seen bigint, repeated bigint, problem string"
)


class Judging(Record):
    """Evaluates batches of `grouping.by_query`; travels to where they are."""

    evaluator: Evaluator  # its qrels are those of no query
    runs: tuple[str, ...]
    extra: tuple[str, ...]  # columns of the qrels beyond query, doc and grade

    def __call__(self, batches: Iterable[Any]) -> Iterator[Any]:
        for block in self.blocks(batches):
            yield from self.results(block)

    def blocks(self, batches: Iterable[Any]) -> Iterator[Block]:
        for batch in batches:
            sizes = Lists.of(batch["run_doc"]).sizes + Lists.of(batch["qrels_doc"]).sizes
            for start, stop in _cuts(sizes):
                yield Block(batch.slice(start, stop - start), self.evaluator, self.extra)

    def results(self, block: Block) -> Iterator[Any]:
        problem = block.problem
        if problem is None:
            try:
                yield from self._evaluated(block)
                return
            except CranfieldError as error:
                problem = getattr(error, "message", str(error)).rstrip(".")
        yield as_batch([], PROBLEM, problem=problem)

    def _evaluated(self, block: Block) -> Iterator[Any]:
        for i, run in enumerate(self.runs):
            if len(unjudged := block.unjudged(i)):
                yield as_batch([block.queries[k] for k in unjudged.tolist()], UNJUDGED, run)
            join = RunJoin(block, i, run)
            for judged in join.parts():
                yield self._values(run, judged)
                if judged.joining.missing == "skip" and judged.n < len(judged.sources.qrels.queries):
                    lacked = set(judged.sources.qrels.queries) - set(judged.queries)
                    yield as_batch(sorted(lacked), SKIPPED, run)
            if join.repeated_docs:
                yield as_batch([], EVALUATED, run, repeated=join.repeated_docs)
        if block.merged or block.repeated_judgments:
            yield as_batch([], ABOUT_QRELS, repeated=block.repeated_judgments, tied=block.merged)

    def _values(self, run: str, judged: JudgedRun) -> Any:
        found = [self.evaluator._measured(measure, judged) for measure in self.evaluator.measures]
        shown = np.minimum(judged.retrieved, JUDGED_DEPTH)
        seen = np.rint(Judged(cutoff=JUDGED_DEPTH).values(judged) * shown).astype(np.int64)
        errors = None
        if judged.joining.ties == "expected":
            errors = np.array([np.full(judged.n, np.nan) if error is None else error for _, error in found])
        return as_batch(
            judged.queries,
            np.where(judged.missing, MISSING, EVALUATED),
            run,
            values=np.array([values for values, _ in found]),
            errors=errors,
            tied=judged.tied_docs,
            float32_tied=judged.float32_tied_docs,
            shown=shown,
            seen=seen,
        )


def as_batch(
    queries: Any,
    state: Any,
    run: str | None = None,
    values: Floats | None = None,
    errors: Floats | None = None,
    problem: str | None = None,
    **counts: Any,
) -> Any:
    """Results as an Arrow batch: a row a query, or one row without any."""
    import pyarrow as pa

    n = len(queries) or 1
    names = _names(queries) if len(queries) else pa.nulls(1, pa.string())
    if values is not None and not len(queries):
        return pa.RecordBatch.from_arrays([pa.array([], kind) for _, kind in _fields()], [f for f, _ in _fields()])
    columns = [
        pa.array([run] * n, pa.string()),
        names,
        pa.array(np.broadcast_to(np.asarray(state, dtype=np.int8), n)),
        _lists(values, n),
        _lists(errors, n),
        *(
            pa.array(np.broadcast_to(np.asarray(counts.get(name, 0), dtype=np.int64), n))
            for name in ("tied", "float32_tied", "shown", "seen", "repeated")
        ),
        pa.array([problem] * n, pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, [name for name, _ in _fields()])


def _fields() -> list[tuple[str, Any]]:
    import pyarrow as pa

    kinds = {"string": pa.string(), "tinyint": pa.int8(), "array<double>": pa.list_(pa.float64()), "bigint": pa.int64()}
    return [(name, kinds[kind]) for name, kind in (field.split() for field in RESULTS.split(", "))]


def _lists(table: Floats | None, n: int) -> Any:
    """A list for each query, out of a table with a row for each measure."""
    import pyarrow as pa

    if table is None:
        return pa.nulls(n, pa.list_(pa.float64()))
    flat = np.ascontiguousarray(table.T).ravel()
    offsets = np.arange(n + 1, dtype=np.int32) * table.shape[0]
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def _names(queries: Sequence[str]) -> Any:
    import pyarrow as pa

    try:
        return pa.array(queries, pa.string())
    except UnicodeEncodeError:
        # Spark's text is UTF-8: what is not, and was kept as surrogates, cannot be written back
        written = (query.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for query in queries)
        return pa.array(written, pa.string())


def _cuts(sizes: Ints) -> Iterator[tuple[int, int]]:
    """Where to cut queries of some sizes into blocks of at most BLOCK documents, or of one query."""
    start, total = 0, 0
    for i, size in enumerate(sizes.tolist()):
        if i > start and total + size > BLOCK:
            yield start, i
            start, total = i, 0
        total += size
    if len(sizes) > start:
        yield start, len(sizes)


def no_qrels(columns: Iterable[str] = ()) -> Qrels:
    """Qrels of no query, for an evaluator that will be given others."""
    return Qrels.from_rows([], [], [], extra={name: [] for name in columns if name != "subtopic"})


def try_on_nothing(evaluator: Evaluator) -> None:
    """Evaluate no query at all, so that a measure that lacks what it needs says so before anything is sent anywhere."""
    none, joining = np.empty(0, dtype=np.int64), evaluator.joining
    run = Run.from_rows([], [], [], ranks=none)
    hits = find_hits(evaluator.qrels, run, none, joining)
    judged = assemble(hits, joining, Sources.of(evaluator.qrels, run, evaluator.extras), "run", 0)
    for measure in evaluator.measures:
        try:
            evaluator._measured(measure, judged)
        except CranfieldError:
            raise
        except Exception:
            if is_built_in(type(measure)):
                raise  # that a user's own cannot do without queries is no fault: it never has to
