"""Learn weights, parameters and probabilities of relevance from judgments, and fuse held-out topics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize, replace, sort_naturally
from cranfield.data import Floats, Ints, Run
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.fusion.candidates import all_queries
from cranfield.fusion.recipe import FusedLists, Recipe, as_runs, concatenate_lists, make_recipe
from cranfield.fusion.training import Training
from cranfield.io import as_qrels
from cranfield.measures import Measure, parse_measures

MOST_TRIALS = 20_000


class Fit(Record, eq=False):
    """What was learned from some queries, and its score on the same queries, which is optimistic."""

    recipe: Recipe
    measure: str
    queries: tuple[str, ...]
    score: float
    tried: int
    runs: tuple[str, ...]
    run_scores: tuple[float, ...]  # of each run alone on the same queries
    more_is_better: bool = True

    @property
    def best_run(self) -> tuple[str, float]:
        """The best single run on the same queries, and its score."""
        best = (max if self.more_is_better else min)(self.run_scores)
        return self.runs[self.run_scores.index(best)], best

    def fuse(self, runs: Any, *, depth: int | None = None, name: str | None = None) -> Run:
        """Fuse other runs of the same systems, in the same order, as learned."""
        return self.recipe.fuse(runs, depth=depth, name=name)


class CrossFit(Record, eq=False):
    """A run in which each query was fused with what was learned from the other folds."""

    run: Run
    folds: tuple[Fit, ...]
    held_out: tuple[tuple[str, ...], ...]  # the queries of each fold, on which nothing was learned
    values: dict[str, float]  # of each judged query, held out
    whole: Fit  # learned from all judged queries

    @property
    def score(self) -> float:
        """The mean over all queries, each held out."""
        return math.fsum(self.values.values()) / len(self.values)

    def fold_score(self, i: int) -> float:
        """The mean over the held-out queries of one fold."""
        return math.fsum(self.values[query] for query in self.held_out[i]) / len(self.held_out[i])


def fit(
    qrels: Any,
    runs: Any,
    method: str = "wsum",
    *,
    measure: str | Measure = "nDCG@10",
    norm: str | None = None,
    weights: Iterable[float] | None = None,
    step: float = 0.1,
    depth: int | None = None,
    rel: float = 1,
    **params: float,
) -> Fit:
    """Learn what a method can learn: the weights of runs, a parameter, or the value of ranks in each run.

    >>> qrels = {"1": {"a": 1}, "2": {"b": 1}}
    >>> good, bad = {"1": {"a": 2.0, "c": 1.0}, "2": {"b": 2.0}}, {"1": {"c": 9.0}, "2": {"c": 9.0}}
    >>> learned = fit(qrels, [good, bad], measure="AP")
    >>> learned.recipe.weights, learned.score, learned.tried
    ((0.6, 0.4), 1.0, 11)
    """
    search = _search(qrels, runs, method, measure, norm, weights, step, depth, rel, params)
    return search.fit(search.everything)


def cross_fuse(
    qrels: Any,
    runs: Any,
    method: str = "wsum",
    *,
    folds: int = 5,
    seed: int = 1,
    measure: str | Measure = "nDCG@10",
    norm: str | None = None,
    weights: Iterable[float] | None = None,
    step: float = 0.1,
    depth: int | None = None,
    rel: float = 1,
    name: str | None = None,
    **params: float,
) -> CrossFit:
    """Fuse every judged query as learned from the other folds, and unjudged queries as learned from all."""
    search = _search(qrels, runs, method, measure, norm, weights, step, depth, rel, params)
    held_out = split_folds(search.training.queries, folds, seed)
    place = search.training.place
    values: dict[str, float] = {}
    fits: list[Fit] = []
    for queries in held_out:
        at = np.array([place[query] for query in queries], dtype=np.int64)
        learned = search.fit(np.setdiff1d(search.everything, at))
        fits.append(learned)
        values |= dict(zip(queries, search.values(learned.recipe)[at].tolist(), strict=True))
    whole = search.fit(search.everything)
    run = _cross_fuse(search.training.runs, [*fits, whole], held_out, depth, name)
    return CrossFit(run, tuple(fits), tuple(held_out), values, whole)


def split_folds(queries: Sequence[str], folds: int, seed: int = 1) -> list[tuple[str, ...]]:
    """Split queries at random into folds of nearly the same size, independent of their order.

    >>> split_folds(["1", "2", "3", "4", "5"], 2)
    [('2', '4', '5'), ('1', '3')]
    """
    if not 2 <= folds <= len(queries):
        raise CranfieldError(f"{folds} folds of {pluralize(len(queries), 'query')}: expected 2 to {len(queries)}.")
    ordered = sort_naturally(queries)
    drawn = np.random.default_rng(seed).permutation(len(ordered))
    return [tuple(ordered[i] for i in sorted(drawn[fold::folds].tolist())) for fold in range(folds)]


def weight_grid(runs: int, step: float) -> list[tuple[float, ...]]:
    """All weights that are multiples of a step and add up to exactly 1.

    >>> weight_grid(2, 0.5)
    [(1.0, 0.0), (0.5, 0.5), (0.0, 1.0)]
    >>> len(weight_grid(3, 0.1)), len(weight_grid(4, 0.1))
    (66, 286)
    """
    steps = round(1 / step) if step > 0 else 0
    if not steps or abs(steps * step - 1) > 1e-9:
        raise CranfieldError(f"--step {step:g}: expected a fraction that divides 1, such as 0.1, 0.2 or 0.25.")
    number = math.comb(steps + runs - 1, runs - 1)
    if number > MOST_TRIALS:
        raise CranfieldError(
            f"{number:,} weights of {runs} runs in steps of {step:g} are too many to try: use a larger --step."
        )
    return [tuple(part / steps for part in parts) for parts in _compositions(steps, runs)]


def _compositions(whole: int, parts: int) -> Iterator[tuple[int, ...]]:
    if parts == 1:
        yield (whole,)
        return
    for first in range(whole, -1, -1):
        yield from ((first, *rest) for rest in _compositions(whole - first, parts - 1))


class _Search(Record, eq=False):
    """A search for the best of several recipes."""

    training: Training
    label: str
    trials: tuple[Recipe, ...]

    @cached_property
    def everything(self) -> Ints:
        return np.arange(len(self.training.queries))

    @cached_property
    def _known(self) -> dict[Recipe, Floats]:
        return {}

    def values(self, recipe: Recipe) -> Floats:
        """The value of each query; recipes that were tried before are cached."""
        if recipe not in self._known:
            self._known[recipe] = self.training.values(recipe)
        return self._known[recipe]

    def fit(self, some: Ints) -> Fit:
        """The best recipe on some of the queries; among equals, the one closest to equal weights or defaults."""
        sign = 1 if self.training.measure.more_is_better else -1
        best: tuple[tuple[float, float], Recipe, float] | None = None
        for trial in self.trials:
            recipe = self._trained(trial, some)
            mean = math.fsum(self.values(recipe)[some].tolist()) / len(some)
            key = (sign * mean, -_eccentricity(recipe))
            if best is None or key > best[0]:
                best = key, recipe, mean
        assert best is not None
        return Fit(
            best[1],
            self.label,
            tuple(self.training.queries[i] for i in some.tolist()),
            best[2],
            len(self.trials),
            tuple(run.name for run in self.training.runs),
            tuple(math.fsum(values[some].tolist()) / len(some) for values in self._run_values),
            self.training.measure.more_is_better,
        )

    @cached_property
    def _run_values(self) -> list[Floats]:
        return [self.training.of_run(i) for i in range(len(self.training.runs))]

    def _trained(self, trial: Recipe, some: Ints) -> Recipe:
        return replace(trial, learned=self.training.learned(trial, some)) if trial.method.learn else trial


def _search(
    qrels: Any,
    runs: Any,
    method: str,
    measure: str | Measure,
    norm: str | None,
    weights: Iterable[float] | None,
    step: float,
    depth: int | None,
    rel: float,
    params: dict[str, float],
) -> _Search:
    given, judged = as_runs(runs), as_qrels(qrels)
    recipe = make_recipe(method, len(given), norm=norm, weights=weights, learning=True, params=params)
    trials = tuple(_trials(recipe, len(given), step, params))
    label, chosen = _measure(measure)
    queries = tuple(query for query in all_queries(given) if query in set(judged.queries))
    if not queries:
        raise EvaluationError(
            f"none of the queries in the runs is judged: the qrels have {join_names(judged.queries, 3)}."
        )
    training = Training(judged, tuple(given), queries, chosen, depth, rel, recipe.norm.lowest_is_best)
    return _Search(training, label, trials)


def _trials(recipe: Recipe, runs: int, step: float, given: dict[str, float]) -> Iterator[Recipe]:
    """The recipes to try, which differ in what is to be learned."""
    method = recipe.method
    unset = [name for name in method.parameters if name not in given]
    if method.weights == "needed" and recipe.weights is None:
        yield from (replace(recipe, weights=weights) for weights in weight_grid(runs, step))
    elif unset:
        name = unset[0]
        known = recipe.params or {}
        yield from (replace(recipe, params={**known, name: value}) for value in method.parameters[name].examples)
    elif method.learn:
        yield recipe
    else:
        why = "all parameters are set" if method.parameters or recipe.weights else "it has no parameters"
        raise CranfieldError(f"{method.name} has nothing to learn ({why}): leave out the judgments.")


def _measure(measure: str | Measure) -> tuple[str, Measure]:
    named = parse_measures([measure])
    label, chosen = named[0]
    if len(named) > 1 or chosen.aggregate != "mean":
        raise CranfieldError(f"cannot optimise {measure}: expected one measure that is a mean over queries.")
    return label, chosen


def _eccentricity(recipe: Recipe) -> float:
    """How far a recipe is from equal weights, or a parameter from its default."""
    if recipe.weights is not None:
        return round(sum(weight**2 for weight in recipe.weights), 9)
    usual = {name: float(parameter.default) for name, parameter in recipe.method.parameters.items()}
    return round(sum(abs(value - usual[name]) for name, value in (recipe.params or {}).items()), 9)


def _cross_fuse(
    runs: Sequence[Run], fits: Sequence[Fit], held_out: Sequence[Sequence[str]], depth: int | None, name: str | None
) -> Run:
    """Fuse each query with the recipe that was learned without it."""
    every = all_queries(runs)
    judged = {query for queries in held_out for query in queries}
    portions = [*held_out, [query for query in every if query not in judged]]
    lists: list[FusedLists] = []
    for fitted, queries in zip(fits, portions, strict=True):
        lists += fitted.recipe.lists(runs, queries, depth)
    recipe = fits[-1].recipe
    fused = concatenate_lists(lists, name or recipe.method.name, recipe.notes(runs, lists, depth))
    return _reorder_queries(fused, every)


def _reorder_queries(run: Run, queries: Sequence[str]) -> Run:
    """The run with its queries in this order."""
    at = [run.position[query] for query in queries]
    rows = np.concatenate([np.arange(run.starts[i], run.starts[i + 1]) for i in at] or [np.empty(0, dtype=np.int64)])
    starts = np.concatenate(([0], np.cumsum(np.diff(run.starts)[at]))).astype(np.int64)
    return replace(run, queries=tuple(queries), starts=starts, docs=run.docs[rows], scores=run.scores[rows])
