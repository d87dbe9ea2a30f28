"""A fusion method with its settings, and the run it makes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, check_parameters, join_names, pluralize
from cranfield.data import Floats, Ints, Run, Strings
from cranfield.errors import CranfieldError
from cranfield.evaluation import distinct_names
from cranfield.fusion.candidates import Candidates, all_queries, gather_candidates
from cranfield.fusion.methods import FusionMethod, Points, Settings, find_method
from cranfield.fusion.norms import Norm, find_norm
from cranfield.io import as_run


class Recipe(Record, eq=False):
    """A fusion method with its normalisation, weights and parameters, and what it has learned about each run."""

    method: FusionMethod
    norm: Norm
    weights: tuple[float, ...] | None = None
    params: Mapping[str, float] | None = None
    learned: tuple[Floats, ...] = ()

    @cached_property
    def settings(self) -> Settings:
        return Settings(self.params or {}, self.learned)

    @property
    def description(self) -> str:
        """The method with its parameters and weights.

        >>> make_recipe("rrf", 2).description
        'rrf(k=60)'
        """
        given = [f"{name}={value:g}" for name, value in (self.params or {}).items()]
        if self.weights is not None:
            given.append(f"weights={','.join(f'{weight:g}' for weight in self.weights)}")
        if self.method.reads_scores:
            given.append(f"norm={self.norm.name}")
        return f"{self.method.name}({', '.join(given)})" if given else self.method.name

    def scores(self, candidates: Candidates) -> Floats:
        """One score for each candidate."""
        weights = None if self.weights is None else np.array(self.weights)
        if self.method.order is not None:
            return self.method.order(candidates, weights)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = self.method.combine(self._points(candidates, weights), self.settings)
        if not np.isfinite(scores).all():
            raise CranfieldError(f"{self.method.name}: scores overflow: normalise them, e.g. with --norm min-max.")
        return scores

    def _points(self, candidates: Candidates, weights: Floats | None) -> Points:
        entries = self.entries(candidates)
        has_all = self.method.absent or (self.norm.absent if self.method.reads_scores else None)
        if has_all is None:
            table = candidates.table(entries, np.nan)
            there = ~np.isnan(table)
            return Points(np.where(there, table, 0.0), there, weights)
        table = np.repeat(has_all(candidates), candidates.number, axis=0)
        table[candidates.candidate, candidates.run] = entries
        return Points(table, np.ones(table.shape, dtype=bool), weights)

    def entries(self, candidates: Candidates) -> Floats:
        """The points of each document of each list."""
        scores = self.norm.scores(candidates) if self.method.reads_scores else candidates.score
        return self.method.points(candidates, scores, self.settings)

    def fuse(self, runs: Any, *, depth: int | None = None, name: str | None = None) -> Run:
        """Fuse runs into one, with at most `depth` documents per query."""
        given = as_runs(runs)
        if self.weights is not None and len(self.weights) != len(given):
            raise CranfieldError(f"{pluralize(len(self.weights), 'weight')} for {pluralize(len(given), 'run')}.")
        if self.method.learn and len(self.learned) != len(given):
            raise CranfieldError(f"{self.method.name} was trained on {len(self.learned)} runs, not on {len(given)}.")
        lists = list(self.lists(given, all_queries(given), depth))
        return concatenate_lists(lists, name or self.method.name, self.notes(given, lists, depth))

    def lists(self, runs: Sequence[Run], queries: Sequence[str], depth: int | None) -> Iterator[FusedLists]:
        """The fused lists of some queries, several at a time."""
        for candidates in gather_candidates(runs, queries, self.norm.lowest_is_best):
            yield self._rank(candidates, depth)

    def notes(self, runs: Sequence[Run], lists: Sequence[FusedLists], depth: int | None) -> tuple[str, ...]:
        """What a reader of the fused run must know."""
        return (*_coverage(runs), *self._unused(), *self._below_zero(runs, lists), *_left_out(lists, depth))

    def _rank(self, candidates: Candidates, depth: int | None) -> FusedLists:
        scores = self.scores(candidates)
        order, rank = candidates.ranked(scores)
        kept = order if depth is None else order[rank <= depth]
        number = candidates.number if depth is None else np.minimum(candidates.number, depth)
        return FusedLists(
            candidates.queries, number, candidates.docs[kept], scores[kept], len(order), self._negative(candidates)
        )

    def _negative(self, candidates: Candidates) -> Ints:
        """How many documents of each run score below a missing document, which counts as 0."""
        if not self.method.absent_is_zero or self.norm.absent is not None:
            return np.zeros(candidates.runs, dtype=np.int64)
        negative = np.bincount(candidates.run[self.entries(candidates) < 0], minlength=candidates.runs)
        return np.where(candidates.sizes.sum(axis=0) < len(candidates.docs), negative, 0)

    def _unused(self) -> Iterator[str]:
        if not self.method.reads_scores and self.norm.name not in ("none", "min-max-inverted"):
            yield f"--norm {self.norm.name} has no effect: {self.method.name} uses only ranks."

    def _below_zero(self, runs: Sequence[Run], lists: Sequence[FusedLists]) -> Iterator[str]:
        for i, run in enumerate(runs):
            number = sum(int(part.negative[i]) for part in lists)
            if number:
                what = f"{pluralize(number, 'score')} of {run.name} below 0 (norm {self.norm.name})"
                yield f"{what}: a missing document, which counts as 0, scores higher. --norm min-max avoids this."


class FusedLists(Record, eq=False):
    """The fused lists of some queries, best first."""

    queries: tuple[str, ...]
    number: Ints  # of documents, per query
    docs: Strings
    scores: Floats
    candidates: int
    negative: Ints  # per run: documents that score below a missing one


def fuse(
    runs: Any,
    method: str = "rrf",
    *,
    norm: str | None = None,
    weights: Iterable[float] | None = None,
    depth: int | None = None,
    name: str | None = None,
    **params: float,
) -> Run:
    """One run out of several.

    >>> one, other = {"q": {"a": 9.0, "b": 5.0, "c": 1.0}}, {"q": {"b": 0.7, "d": 0.1}}
    >>> fuse([one, other]).to_dict()["q"].keys()
    dict_keys(['b', 'a', 'd', 'c'])
    >>> fuse([one, other], "wsum", weights=[0.2, 0.8]).to_dict()
    {'q': {'b': 0.9, 'a': 0.2, 'd': 0.0, 'c': 0.0}}
    """
    given = as_runs(runs)
    recipe = make_recipe(method, len(given), norm=norm, weights=weights, params=params)
    if recipe.method.learn:
        raise CranfieldError(f"{recipe.method.name} learns from judgments: --qrels QRELS, or fit(qrels, runs, …).")
    return recipe.fuse(given, depth=depth, name=name)


def make_recipe(
    method: str,
    runs: int,
    *,
    norm: str | None = None,
    weights: Iterable[float] | None = None,
    learning: bool = False,
    params: Mapping[str, float] | None = None,
) -> Recipe:
    """A method with checked parameters and weights; those to be learned may be missing."""
    chosen = find_method(method)
    default = "min-max" if chosen.reads_scores else "none"
    return Recipe(
        chosen,
        find_norm(norm or default),
        check_weights(chosen, weights, runs, learning),
        {name: float(value) for name, value in check_parameters(chosen.name, chosen.parameters, params or {}).items()},
    )


def check_weights(
    method: FusionMethod, weights: Iterable[float] | None, runs: int, learning: bool
) -> tuple[float, ...] | None:
    given = None if weights is None else tuple(float(weight) for weight in weights)
    if given is None:
        if method.weights == "needed" and not learning:
            what = "weights, e.g. --weights 0.3,0.7, or judgments to learn them from, --qrels QRELS"
            raise CranfieldError(f"{method.name} needs {what}.")
        return None
    if method.weights == "no":
        weighted = {"sum": "wsum", "mnz": "wmnz", "bordafuse": "w_bordafuse", "condorcet": "w_condorcet"}
        hint = f" Use {weighted[method.name]} instead." if method.name in weighted else ""
        raise CranfieldError(f"{method.name} takes no weights.{hint}")
    if len(given) != runs:
        raise CranfieldError(f"{pluralize(len(given), 'weight')} for {pluralize(runs, 'run')}: expected one for each.")
    if not all(math.isfinite(weight) and weight >= 0 for weight in given) or not any(given):
        raise CranfieldError(
            f"weights {', '.join(f'{w:g}' for w in given)}: expected numbers from 0, not all of them 0."
        )
    return given


def as_runs(runs: Any) -> list[Run]:
    """Runs from anything `as_run` accepts, with distinct names."""
    if isinstance(runs, Mapping):
        given = [as_run(run, name=str(name)) for name, run in runs.items()]
    else:
        given = [as_run(run) for run in ([runs] if isinstance(runs, (str, os.PathLike, Run)) else runs)]
    if not given:
        raise CranfieldError("there are no runs to fuse.")
    names = distinct_names([run.name for run in given], [run.origin.file if run.origin else None for run in given])
    return [run if run.name == name else run.renamed(name) for run, name in zip(given, names, strict=True)]


def concatenate_lists(lists: Sequence[FusedLists], name: str, notes: tuple[str, ...]) -> Run:
    """The fused lists of all queries as a run."""
    numbers = np.concatenate([part.number for part in lists] or [np.empty(0, dtype=np.int64)])
    return Run(
        name=name,
        queries=tuple(query for part in lists for query in part.queries),
        starts=np.concatenate(([0], np.cumsum(numbers))).astype(np.int64),
        docs=np.concatenate([part.docs for part in lists] or [np.empty(0, dtype=object)]),
        scores=np.concatenate([part.scores for part in lists] or [np.empty(0)]),
        tag=name,
        notes=notes,
    )


def _coverage(runs: Sequence[Run]) -> Iterator[str]:
    """Notes on runs that lack queries of others."""
    every = all_queries(runs)
    for run in runs:
        lacking = [query for query in every if query not in run.position]
        if lacking:
            what = f"{len(lacking):,} of {pluralize(len(every), 'query')}"
            yield f"{run.name} lacks {what} ({join_names(lacking, 3)}): only the other runs are fused there."


def _left_out(lists: Sequence[FusedLists], depth: int | None) -> Iterator[str]:
    left = sum(part.candidates - len(part.docs) for part in lists)
    if left:
        yield f"{pluralize(left, 'document')} below rank {depth:,} left out."
