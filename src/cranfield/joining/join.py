"""The join: rank a run, break ties, look up judgments, deal with missing queries. All ranking happens here.

`join_run` takes a run from a file, a dict, a data frame or memory. Plain TREC files and dicts are joined as they are,
without becoming a `Run` (`streaming`); anything else is loaded and ranked in memory (`ranking`).
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from cranfield.base import OnDuplicate, replace
from cranfield.data import Floats, Ints, Origin, Qrels, Run, starts_of
from cranfield.errors import EvaluationError
from cranfield.io import Input, as_run, display_name, find_run_format, read_run
from cranfield.joining.judged_run import NO_EXTRAS, Extras, JudgedRun, Sources
from cranfield.joining.options import DEFAULT_JOINING, Joining
from cranfield.joining.ranking import Hits, find_hits
from cranfield.joining.streaming import stream_hits

if TYPE_CHECKING:
    from cranfield.joining.read_ahead import ReadAhead


def join_run(
    qrels: Qrels,
    run: Any,
    joining: Joining = DEFAULT_JOINING,
    extras: Extras = NO_EXTRAS,
    dense: bool = False,
    *,
    name: str | None = None,
    format: str | None = None,
    on_duplicate: OnDuplicate = "error",
    jobs: int = 1,
    read_ahead: ReadAhead | None = None,
    **rules: Any,
) -> JudgedRun:
    """Rank the documents of a run and keep the judged ones (all of them, if `dense`), with rank and grade.

    `run` is a `Run` or what `as_run` makes one of: a file name, {query: {doc: score}}, a data frame, ...

    >>> qrels = Qrels.from_rows(["q1", "q1"], ["a", "b"], [1, 0])
    >>> join_run(qrels, {"q1": {"b": 3.0, "x": 2.0, "a": 1.0}}, missing="error").rank
    array([1, 3])
    """
    if rules:
        joining = replace(joining, **rules)
    with Input(run) if isinstance(run, (str, os.PathLike)) else nullcontext(run) as source:
        chosen = find_run_format(source, format) if isinstance(source, Input) else None
        is_plain = chosen.format == "trec" if chosen else type(run) is dict
        if is_plain and joining.is_streamable and not dense:
            streamed = stream_hits(qrels, source, joining, jobs, read_ahead)
            if streamed is not None:
                hits, only_in_run = streamed
                load = partial(_load_run, run, format, name, on_duplicate)
                origin = Origin(source.name, chosen.format, chosen.why, source.sha256) if chosen else None
                name = name or (display_name(run) if chosen else "run")
                return assemble(hits, joining, Sources(qrels, load, extras, origin), name, only_in_run)
            source = source.again() if chosen else source
        loaded = _load_run(source, format, name, on_duplicate)
    at = np.array([i for i, query in enumerate(qrels.queries) if query in loaded.position], dtype=np.int64)
    _require_common_queries(qrels, loaded, at, joining)
    hits = find_hits(qrels, loaded, at, joining, dense)
    only_in_run = len(set(loaded.queries) - set(qrels.queries))
    return assemble(hits, joining, Sources.of(qrels, loaded, extras), loaded.name, only_in_run)


def _load_run(run: Any, format: str | None, name: str | None, on_duplicate: OnDuplicate) -> Run:
    if isinstance(run, (str, os.PathLike, Input)):
        return read_run(run, format, name=name, on_duplicate=on_duplicate)
    return as_run(run, name=name, on_duplicate=on_duplicate)


_ONE = np.ones(1, dtype=np.int64)


def assemble(hits: Hits, joining: Joining, sources: Sources, name: str, only_in_run: int) -> JudgedRun:
    """Make a join of the hits of all queries that a run has in common with the qrels."""
    qrels = sources.qrels
    if joining.missing == "skip":
        kept, queries, ideal, ideal_starts = _select_queries(qrels, hits.at)
    else:
        kept, queries, ideal, ideal_starts = qrels.everywhere, qrels.queries, qrels.ideal, qrels.starts_of_ideal
    n = len(kept)
    if len(hits.at) == n:
        retrieved, tied, single, starts = hits.retrieved, hits.tied_docs, hits.float32_tied_docs, hits.starts
        missing = np.zeros(n, dtype=bool)
    else:
        retrieved, tied, single, number = (
            _spread(column, hits.at, n)
            for column in (hits.retrieved, hits.tied_docs, hits.float32_tied_docs, np.diff(hits.starts))
        )
        starts = starts_of(number)
        missing = np.ones(n, dtype=bool)
        missing[hits.at] = False
    return JudgedRun(
        run=name,
        queries=queries,
        starts=starts,
        rank=hits.rank,
        grade=hits.grade,
        doc=hits.doc,
        tie_first=hits.rank if hits.tie_first is None else hits.tie_first,
        tie_size=np.broadcast_to(_ONE, len(hits.rank)) if hits.tie_size is None else hits.tie_size,
        retrieved=retrieved,
        missing=missing,
        ideal=ideal,
        ideal_starts=ideal_starts,
        joining=joining,
        sources=sources,
        qrels_at=kept,
        tied_docs=tied,
        float32_tied_docs=single,
        only_in_run=only_in_run,
    )


def _select_queries(qrels: Qrels, at: Ints) -> tuple[Ints, tuple[str, ...], Floats, Ints]:
    """The positions, names and ideal grades of some queries."""
    parts = [slice(int(qrels.starts_of_ideal[i]), int(qrels.starts_of_ideal[i + 1])) for i in at]
    ideal = np.concatenate([qrels.ideal[part] for part in parts] or [np.empty(0)])
    return at, tuple(qrels.queries[i] for i in at), ideal, starts_of([part.stop - part.start for part in parts])


def _spread(column: Ints, at: Ints, n: int) -> Ints:
    """A column of some queries spread over all n, 0 for the others."""
    placed = np.zeros(n, dtype=np.int64)
    placed[at] = column
    return placed


def _require_common_queries(qrels: Qrels, run: Run, at: Ints, joining: Joining) -> None:
    if not len(at):
        mine, theirs = ", ".join(qrels.queries[:3]), ", ".join(run.queries[:3])
        raise EvaluationError(
            f"qrels {qrels.name!r} and run {run.name!r} have no query in common: "
            f"the qrels have {mine or 'none'} …, the run has {theirs or 'none'} …. See 'cranfield check'."
        )
    if joining.missing == "error" and len(at) < len(qrels.queries):
        which = [query for query in qrels.queries if query not in run.position]
        raise EvaluationError(
            f"run {run.name!r} lacks {len(which):,} of {len(qrels.queries):,} judged queries "
            f"({', '.join(which[:5])}{' …' if len(which) > 5 else ''}). "
            "Count them as zero or skip them with --missing."
        )
