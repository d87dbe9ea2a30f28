"""Scores by content: what was once evaluated is read back, run by run and measure by measure."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.base import Record, count_cores, map_in_threads, replace
from cranfield.data import Origin, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import Evaluator, RunScores, Scores
from cranfield.io import read_run
from cranfield.joining import JudgedRun, Sources
from cranfield.measures import Measure
from cranfield.workbench.explore.cache import Kept, key_of
from cranfield.workbench.explore.collection_view import Explored, System
from cranfield.workbench.explore.column_codec import pack, unpack
from cranfield.workbench.explore.jobs import Job

_COLUMNS = (
    "starts",
    "rank",
    "grade",
    "doc",
    "tie_first",
    "tie_size",
    "retrieved",
    "missing",
    "qrels_at",
    "tied_docs",
    "float32_tied_docs",
)


class Board(Record):
    """The scores of the systems that could be evaluated, and why others could not."""

    scores: Scores
    problems: Mapping[str, CranfieldError]


def evaluated(explored: Explored, measures: Sequence[str], kept: Kept, job: Job) -> Board:
    """The scores of all systems, from disk as far as they were worked out before.

    Measures have values of topics: one of the run as a whole would need the whole run, of all systems at once. A run
    that cannot be evaluated does not keep the others from it; if none can, the first one's error is raised.
    """
    evaluator = Evaluator(explored.qrels, list(measures), **explored.options)
    shelf = _Shelf(explored, evaluator, kept)
    found = shelf.known()
    problems: dict[str, CranfieldError] = {}
    for labels, systems in shelf.missing(found).items():
        problems |= shelf.evaluate(labels, systems, job)
    if len(problems) == len(explored.systems):
        raise next(iter(problems.values()))
    if any(system.name not in found for system in explored.systems):
        found = shelf.known()
    return Board(evaluator.scores([found[s.name] for s in explored.systems if s.name not in problems]), problems)


class _Shelf:
    """What is kept of an evaluation: of each run the join down to the ranks reported on, and a row for each measure."""

    def __init__(self, explored: Explored, evaluator: Evaluator, kept: Kept) -> None:
        self.explored, self.evaluator, self.kept = explored, evaluator, kept
        self._programs = {measure: _program(measure) for measure in evaluator.measures}

    def known(self) -> dict[str, RunScores]:
        """The runs of which everything is there."""
        found = {}
        for system in self.explored.systems:
            rows = [self.kept.get(self.row_key(system, measure)) for measure in self.evaluator.measures]
            join = self.kept.get(self.join_key(system))
            if join is not None and all(row is not None for row in rows):
                found[system.name] = self._restored(system, join, [row for row in rows if row is not None])
        return found

    def missing(self, found: dict[str, RunScores]) -> dict[tuple[int, ...], list[System]]:
        """The systems to evaluate, by the measures that they lack."""
        wanted: dict[tuple[int, ...], list[System]] = {}
        for system in self.explored.systems:
            if system.name not in found:
                lacking = tuple(
                    i
                    for i, measure in enumerate(self.evaluator.measures)
                    if self.kept.get(self.row_key(system, measure)) is None
                )
                # where only the join lacks, one measure brings it
                wanted.setdefault(lacking or (0,), []).append(system)
        return wanted

    def evaluate(self, places: tuple[int, ...], systems: Sequence[System], job: Job) -> dict[str, CranfieldError]:
        """Evaluate systems by some of the measures, and keep what comes out; what went wrong, by system."""
        measures = [self.evaluator.measures[i] for i in places]
        evaluator = Evaluator(self.explored.qrels, measures, **self.explored.options)
        jobs = count_cores() if evaluator.only_hits_matter else 1
        scored = map_in_threads(partial(self._scored, evaluator), systems, jobs)
        items: dict[str, bytes] = {}
        problems: dict[str, CranfieldError] = {}
        for system, run in zip(systems, job.watch(scored, len(systems), "runs evaluated"), strict=True):
            if isinstance(run, CranfieldError):
                problems[system.name] = run
                continue
            items |= self._written(system, run, measures)
            if len(items) > 500:
                self.kept.put(items)
                items = {}
        self.kept.put(items)
        return problems

    def _scored(self, evaluator: Evaluator, system: System) -> RunScores | CranfieldError:
        try:
            scored = evaluator.score(system.file, system.name, system.format)
        except CranfieldError as error:
            return error
        return scored.without_hits(lambda: _read(system, self.evaluator))

    def _written(self, system: System, run: RunScores, measures: Sequence[Measure]) -> dict[str, bytes]:
        join, origin = run.judged, run.origin
        about = {
            "only_in_run": join.only_in_run,
            "notes": list(run.notes),
            "format": None if origin is None else [origin.format, origin.why],
        }
        items = {self.join_key(system): pack(about, **{name: getattr(join, name) for name in _COLUMNS})}
        for i, measure in enumerate(measures):
            errors = run.query_errors[i]
            more = {} if errors is None else {"errors": errors}
            items[self.row_key(system, measure)] = pack({}, values=run.values[i], **more)
        return items

    def _restored(self, system: System, join: bytes, rows: Sequence[bytes]) -> RunScores:
        read = [unpack(row)[1] for row in rows]
        about, columns = unpack(join)
        format, why = about["format"] or ("", "")
        origin = Origin(system.file, format, why, system.digest) if format else None
        return RunScores(
            name=system.name,
            values=np.array([row["values"] for row in read]),
            judged=self._join(system, about, columns),
            query_errors=tuple(row.get("errors") for row in read),
            origin=origin,
            notes=tuple(about["notes"]),
            outer=(None,) * len(read),
        )

    def _join(self, system: System, about: dict[str, Any], columns: dict[str, Any]) -> JudgedRun:
        qrels, at = self.explored.qrels, columns["qrels_at"]
        is_all = len(at) == len(qrels.queries)
        queries, ideal, starts = (qrels.queries, qrels.ideal, qrels.starts_of_ideal) if is_all else _some(qrels, at)
        sources = Sources(qrels, lambda: _read(system, self.evaluator), self.evaluator.extras)
        return JudgedRun(
            run=system.name,
            queries=queries,
            ideal=ideal,
            ideal_starts=starts,
            joining=self.evaluator.joining,
            sources=sources,
            only_in_run=int(about["only_in_run"]),
            **{name: columns[name] for name in _COLUMNS},
        )

    def join_key(self, system: System) -> str:
        return key_of("join", self._basis(system))

    def row_key(self, system: System, measure: Measure) -> str:
        return key_of("row", self._basis(system), repr(measure), self._programs[measure])

    def _basis(self, system: System) -> list[Any]:
        return [self.explored.qrels_digest, system.digest, system.format, dict(self.explored.options)]


def _program(measure: Measure) -> str:
    """What computes a measure: a user's own file by its content, else the class."""
    if not measure.source:
        return type(measure).__qualname__
    return hashlib.sha256(Path(measure.source).read_bytes()).hexdigest() if os.path.exists(measure.source) else ""


def _some(qrels: Qrels, at: Any) -> tuple[tuple[str, ...], Any, Any]:
    """Queries, grades and their starts for some of the queries of the qrels."""
    starts = qrels.starts_of_ideal
    parts = [qrels.ideal[int(starts[i]) : int(starts[i + 1])] for i in at.tolist()]
    sizes = np.array([len(part) for part in parts], dtype=np.int64)
    ideal = np.concatenate(parts) if parts else np.empty(0)
    return (
        tuple(qrels.queries[i] for i in at.tolist()),
        ideal,
        np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
    )


def _read(system: System, evaluator: Evaluator) -> Run:
    return read_run(system.file, system.format, name=system.name, on_duplicate=evaluator.on_duplicate)


def with_runs(scores: Scores, names: Iterable[str], load: Callable[[str], Run] | None = None) -> Scores:
    """Some of the systems, whose runs are read if need be and then forgotten with what is returned."""
    wanted = list(names)
    runs = {run.name: run for run in scores.runs}
    return replace(scores, runs=tuple(_loose(runs[name], load) for name in wanted))


def _loose(run: RunScores, load: Callable[[str], Run] | None) -> RunScores:
    sources = run.judged.sources
    own: Callable[[], Run] = sources.load_run if load is None else partial(load, run.name)
    fresh = Sources(sources.qrels, own, sources.extras)
    return replace(run, judged=replace(run.judged, sources=fresh))
