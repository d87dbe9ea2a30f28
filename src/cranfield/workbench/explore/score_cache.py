"""Cached scores, by run and measure, under the content of runs and judgments."""

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
from cranfield.workbench.explore.cache import Cache, cache_key
from cranfield.workbench.explore.collection_view import CollectionView, System
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


class Evaluation(Record):
    """The scores of the systems, and the errors of those that could not be evaluated."""

    scores: Scores
    problems: Mapping[str, CranfieldError]


def evaluate_systems(collection: CollectionView, measures: Sequence[str], cache: Cache, job: Job) -> Evaluation:
    """The scores of all systems, from the cache where possible.

    Measures must have values by topic: one of whole runs would need all runs in memory. A run that cannot be evaluated
    does not affect the others; if none can, the first error is raised.
    """
    evaluator = Evaluator(collection.qrels, list(measures), **collection.options)
    scores = _ScoreCache(collection, evaluator, cache)
    found = scores.load()
    problems: dict[str, CranfieldError] = {}
    for places, systems in scores.missing(found).items():
        problems |= scores.evaluate(places, systems, job)
    if len(problems) == len(collection.systems):
        raise next(iter(problems.values()))
    if any(system.name not in found for system in collection.systems):
        found = scores.load()
    return Evaluation(evaluator.scores([found[s.name] for s in collection.systems if s.name not in problems]), problems)


class _ScoreCache:
    """The cached parts of an evaluation: for each run the join down to the reported ranks and a row per measure."""

    def __init__(self, collection: CollectionView, evaluator: Evaluator, cache: Cache) -> None:
        self.collection, self.evaluator, self.cache = collection, evaluator, cache
        self._programs = {measure: _program(measure) for measure in evaluator.measures}

    def load(self) -> dict[str, RunScores]:
        """The runs whose scores are all in the cache."""
        found = {}
        for system in self.collection.systems:
            rows = [self.cache.get(self.row_key(system, measure)) for measure in self.evaluator.measures]
            join = self.cache.get(self.join_key(system))
            if join is not None and all(row is not None for row in rows):
                found[system.name] = self._decode(system, join, [row for row in rows if row is not None])
        return found

    def missing(self, found: dict[str, RunScores]) -> dict[tuple[int, ...], list[System]]:
        """The systems to evaluate, by the positions of the missing measures."""
        systems: dict[tuple[int, ...], list[System]] = {}
        for system in self.collection.systems:
            if system.name not in found:
                places = tuple(
                    i
                    for i, measure in enumerate(self.evaluator.measures)
                    if self.cache.get(self.row_key(system, measure)) is None
                )
                # if only the join is missing, one measure brings it
                systems.setdefault(places or (0,), []).append(system)
        return systems

    def evaluate(self, places: tuple[int, ...], systems: Sequence[System], job: Job) -> dict[str, CranfieldError]:
        """Evaluate systems with some of the measures and store the results; returns the errors by system."""
        measures = [self.evaluator.measures[i] for i in places]
        evaluator = Evaluator(self.collection.qrels, measures, **self.collection.options)
        jobs = count_cores() if evaluator.only_hits_matter else 1
        scored = map_in_threads(partial(self._score, evaluator), systems, jobs)
        items: dict[str, bytes] = {}
        problems: dict[str, CranfieldError] = {}
        for system, run in zip(systems, job.watch(scored, len(systems), "runs evaluated"), strict=True):
            if isinstance(run, CranfieldError):
                problems[system.name] = run
                continue
            items |= self._encode(system, run, measures)
            if len(items) > 500:
                self.cache.put(items)
                items = {}
        self.cache.put(items)
        return problems

    def _score(self, evaluator: Evaluator, system: System) -> RunScores | CranfieldError:
        try:
            scored = evaluator.score(system.file, system.name, system.format)
        except CranfieldError as error:
            return error
        return scored.without_hits(lambda: _read(system, self.evaluator))

    def _encode(self, system: System, run: RunScores, measures: Sequence[Measure]) -> dict[str, bytes]:
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

    def _decode(self, system: System, join: bytes, rows: Sequence[bytes]) -> RunScores:
        read = [unpack(row)[1] for row in rows]
        about, columns = unpack(join)
        format, why = about["format"] or ("", "")
        origin = Origin(system.file, format, why, system.digest) if format else None
        return RunScores(
            name=system.name,
            values=np.array([row["values"] for row in read]),
            judged=self._decode_join(system, about, columns),
            query_errors=tuple(row.get("errors") for row in read),
            origin=origin,
            notes=tuple(about["notes"]),
            outer=(None,) * len(read),
        )

    def _decode_join(self, system: System, about: dict[str, Any], columns: dict[str, Any]) -> JudgedRun:
        qrels, at = self.collection.qrels, columns["qrels_at"]
        is_all = len(at) == len(qrels.queries)
        queries, ideal, starts = (
            (qrels.queries, qrels.ideal, qrels.starts_of_ideal) if is_all else _select_queries(qrels, at)
        )
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
        return cache_key("join", self._basis(system))

    def row_key(self, system: System, measure: Measure) -> str:
        return cache_key("row", self._basis(system), repr(measure), self._programs[measure])

    def _basis(self, system: System) -> list[Any]:
        return [self.collection.qrels_digest, system.digest, system.format, dict(self.collection.options)]


def _program(measure: Measure) -> str:
    """Identifies the code of a measure: the content of a user's file, or the class."""
    if not measure.source:
        return type(measure).__qualname__
    return hashlib.sha256(Path(measure.source).read_bytes()).hexdigest() if os.path.exists(measure.source) else ""


def _select_queries(qrels: Qrels, at: Any) -> tuple[tuple[str, ...], Any, Any]:
    """Query ids, ideal grades and their offsets, for some queries of the qrels."""
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


def select_systems(scores: Scores, names: Iterable[str], load: Callable[[str], Run] | None = None) -> Scores:
    """The scores of some systems. Runs that are read for them are freed together with the returned value."""
    runs = {run.name: run for run in scores.runs}
    return replace(scores, runs=tuple(_detach(runs[name], load) for name in names))


def _detach(run: RunScores, load: Callable[[str], Run] | None) -> RunScores:
    sources = run.judged.sources
    own: Callable[[], Run] = sources.load_run if load is None else partial(load, run.name)
    fresh = Sources(sources.qrels, own, sources.extras)
    return replace(run, judged=replace(run.judged, sources=fresh))
