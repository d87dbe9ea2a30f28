"""Building a pool: what a strategy selects for each topic, without the documents that are judged already."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from cranfield.base import Record, encode_id, join_names, pluralize, replace
from cranfield.data import Document, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.pooling.active import ActiveSampling, build_prels
from cranfield.pooling.pool import Pool
from cranfield.pooling.prior_judgments import PriorJudgments
from cranfield.pooling.ranked_lists import RankedLists, as_sorted_runs, collect_ranked_lists
from cranfield.pooling.replay import require_positive
from cranfield.pooling.sampling import NOT_JUDGED, Sampler, build_sampled_qrels
from cranfield.pooling.selector import PoolingContext, Search, Selector, shuffle_by_hash
from cranfield.pooling.strategies import Strategy, find_strategy

DEPTH = 100
COMPLETE = "complete"  # recorded as the strategy of a pool made by `complete_pool`
Selected = Mapping[str, Sequence[str]]  # query -> documents


def make_pool(
    runs: Any,
    strategy: str = "depth",
    depth: int = DEPTH,
    budget: int | None = None,
    seed: int = 1,
    judged: Any = None,
    *,
    total: int | None = None,
    batch: int | None = None,
    rel: float = 1.0,
    judged_topics: bool = False,
    topics: Mapping[str, str] | None = None,
    documents: Iterable[Document] | None = None,
    search: Search | None = None,
    progress: Callable[[Iterable[str], int], Iterable[str]] = lambda queries, _: queries,
    **params: Any,
) -> Pool:
    """The documents to judge next: everything that a strategy selects, or one batch if it is guided by judgments.

    `budget` is the number of documents to judge for each topic, `total` the number for all topics together, split
    evenly. Documents in `judged` are not selected again; their grades guide adaptive strategies.

    >>> runs = {"a": {"1": {"x": 3, "y": 2}}, "b": {"1": {"z": 3, "x": 2}}}
    >>> sorted(make_pool(runs, depth=1).pairs["1"])
    ['x', 'z']
    >>> make_pool(runs, judged={"1": {"x": 1, "y": 0}}).pairs
    {'1': ('z',)}
    """
    require_positive(depth=depth, budget=budget, total=total, batch=batch)
    if budget is not None and total is not None:
        raise CranfieldError("give either budget (for each topic) or total (for all topics together), not both.")
    chosen = find_strategy(strategy)
    context = PoolingContext(seed, rel, "chance", topics, documents, search)
    chosen.require(context)
    prior = PriorJudgments.of(judged)
    sorted_runs = as_sorted_runs(runs)
    lists = collect_ranked_lists(sorted_runs, depth)
    queries = prior.judged_queries(lists) if judged_topics else list(lists)
    request = PoolRequest(chosen, chosen.check(params), budget, total, batch)
    request.check_sample_size()
    chosen.require_texts(context, lists.values())
    selectors = {query: chosen.selector(lists[query], context, params) for query in queries}
    selected = {
        query: request.select(selectors[query], prior.of_query(query)) for query in progress(queries, len(queries))
    }
    selected = request.limit(selected, seed, sum(len(prior.of_query(query)) for query in queries))
    pairs = {query: [doc for doc in docs if doc not in prior.of_query(query)] for query, docs in selected.items()}
    sample = _build_sample(selectors, selected, prior)
    return Pool(
        pairs={query: tuple(shuffle_by_hash(docs, query, seed)) for query, docs in pairs.items() if docs},
        provenance=_provenance(request, sorted_runs, prior, depth, context),
        ranks={query: lists[query].ranks for query in pairs},
        sample=sample,
        notes=(
            *_notes(request, sorted_runs, lists, prior, selected),
            *dict.fromkeys(note for selector in selectors.values() for note in selector.notes()),
            *_round_notes(sample, selected),
        ),
    )


def complete_pool(runs: Any, depth: int, judged: Any = None, **options: Any) -> Pool:
    """The unjudged documents among the first `depth` of each run.

    >>> complete_pool([{"1": {"x": 3, "y": 2, "z": 1}}], 2, {"1": {"x": 0}}).pairs
    {'1': ('y',)}
    """
    pool = make_pool(runs, depth=depth, judged=judged, **options)
    notes = () if judged is not None else ("No judgments were named: nothing counts as judged.",)
    return replace(pool, provenance={**pool.provenance, "strategy": COMPLETE}, notes=pool.notes + notes)


class PoolRequest(Record, eq=False):
    """A strategy with its parameters, and how many documents to select."""

    strategy: Strategy
    params: Mapping[str, Any]
    budget: int | None
    total: int | None
    batch: int | None

    def check_sample_size(self) -> None:
        """Raise an error if the size of a sample is missing or given twice."""
        if self.strategy.name == "uniform" and not (self.params["rate"] or self.budget or self.total):
            raise CranfieldError("uniform: how many? Give a rate, e.g. --rate 0.2, or a budget.")
        if self.strategy.name == "uniform" and self.params["rate"] and (self.budget or self.total):
            raise CranfieldError("uniform: give either a rate or a budget, not both.")
        if self.strategy.name == "stratified" and (self.budget or self.total):
            raise CranfieldError("stratified: takes no budget, as the rates of the strata set the size of the sample.")

    def select(self, selector: Selector, judged: Mapping[str, float]) -> Sequence[str]:
        """What to judge for a topic, without regard to other topics."""
        kind = self.strategy.kind
        if kind == "sample":  # the sample stays the same, whatever part of it is judged
            return selector.next({}, self.budget or sys.maxsize)
        if kind == "order" and self.budget is None and self.total is None:
            return [doc for doc in selector.lists.ranks if doc not in judged]
        if kind == "order":
            return selector.next(judged, self.budget or sys.maxsize)
        batch = self.batch or selector.batch(len(judged))
        remaining = batch if self.budget is None else max(0, self.budget - len(judged))
        return selector.next(judged, min(batch, remaining))

    def limit(self, selected: Selected, seed: int, judged: int) -> dict[str, Sequence[str]]:
        """Cut the selection to the total, split as evenly over topics as they allow."""
        if self.total is None:
            return dict(selected)
        # an adaptive strategy is called again and again: its total includes all judgments so far
        total = max(0, self.total - judged) if self.strategy.kind == "adaptive" else self.total
        shares = share_evenly(total, {query: len(docs) for query, docs in selected.items()}, seed)
        return {query: docs[: shares[query]] for query, docs in selected.items()}


def share_evenly(total: int, sizes: Mapping[str, int], seed: int) -> dict[str, int]:
    """Split a number over topics as evenly as their sizes allow; a remainder goes to random topics.

    >>> share_evenly(10, {"1": 2, "2": 9, "3": 9}, seed=1)
    {'1': 2, '2': 4, '3': 4}
    """
    shares = dict.fromkeys(sizes, 0)
    remaining = min(total, sum(sizes.values()))
    while remaining:
        open_ = [query for query, size in sizes.items() if shares[query] < size]
        each = remaining // len(open_)
        if not each:
            for query in shuffle_by_hash(open_, "", seed, "shares")[:remaining]:
                shares[query] += 1
            break
        for query in open_:
            more = min(each, sizes[query] - shares[query])
            shares[query] += more
            remaining -= more
    return shares


def _build_sample(selectors: Mapping[str, Selector], drawn: Selected, prior: PriorJudgments) -> Qrels | None:
    """What estimates are made from: the known grades with strata, or with inclusion probabilities."""
    samplers = {query: one for query, one in selectors.items() if isinstance(one, Sampler)}
    if samplers:
        strata = {query: sampler.strata() for query, sampler in samplers.items()}
        grades = {query: {doc: prior.of_query(query).get(doc, NOT_JUDGED) for doc in drawn[query]} for query in strata}
        return build_sampled_qrels(strata, grades)
    active = {query: one for query, one in selectors.items() if isinstance(one, ActiveSampling)}
    return build_prels({query: one.sample(prior.of_query(query)) for query, one in active.items()}) if active else None


def _provenance(
    request: PoolRequest, runs: Sequence[Run], prior: PriorJudgments, depth: int, context: PoolingContext
) -> dict[str, Any]:
    """All that is needed to make the same pool again."""
    judged = prior.qrels
    limits = {name: getattr(request, name) for name in ("budget", "total", "batch")}
    return {
        "cranfield": version("cranfield"),
        "strategy": request.strategy.name,
        "parameters": {
            "depth": depth,
            **{name: value for name, value in limits.items() if value is not None},
            **{name: _plain(value) for name, value in request.params.items() if value is not None},
            **({"rel": context.rel} if request.strategy.kind == "adaptive" else {}),
        },
        "seed": context.seed,
        "runs": [{"name": run.name, "sha256": _sha256(run), "topics": len(run.queries)} for run in runs],
        **({} if judged is None else {"judged": {"name": judged.name, "sha256": _sha256(judged)}}),
    }


def _plain(value: Any) -> Any:
    """A parameter in the form in which users write it."""
    return ",".join(f"{one.last}:{one.rate:g}" for one in value) if isinstance(value, tuple) else value


def _sha256(rows: Run | Qrels) -> str:
    """The digest of the file, or of the rows of an object."""
    if rows.origin is not None:
        return rows.origin.sha256
    values = rows.scores if isinstance(rows, Run) else rows.grades
    lines = zip(rows.row_queries(), rows.docs.tolist(), values.tolist(), strict=True)
    return hashlib.sha256(
        b"".join(b"%b\t%b\t%b\n" % (encode_id(q), encode_id(d), repr(v).encode()) for q, d, v in lines)
    ).hexdigest()


# Notes


def _notes(
    request: PoolRequest,
    runs: Sequence[Run],
    lists: Mapping[str, RankedLists],
    prior: PriorJudgments,
    selected: Selected,
) -> Iterator[str]:
    yield from _coverage_notes(runs, lists)
    yield from _judged_notes(prior, selected)
    yield from _budget_notes(request, selected)
    yield from (f"{run.name}: {note}" for run in runs for note in run.notes)


def _round_notes(sample: Qrels | None, selected: Selected) -> Iterator[str]:
    if sample is not None and "probability" in sample.extra:
        topics = f"{len(sample.queries):,} of {pluralize(len(selected), 'topic')}"
        yield f"{topics} with a fully judged round of draws: only these have probabilities to estimate from."


def _coverage_notes(runs: Sequence[Run], lists: Mapping[str, RankedLists]) -> Iterator[str]:
    if len(runs) < 2:
        return
    holders = {query: sum(map(bool, one.docs)) for query, one in lists.items()}
    alone = [query for query, n in holders.items() if n == 1]
    some = [query for query, n in holders.items() if 1 < n < len(runs)]
    if len(alone) == len(lists):
        yield "No two runs have a topic in common: every topic is pooled from one run. Are these one collection?"
    elif alone:
        yield f"{pluralize(len(alone), 'topic')} in one run only, and pooled from it alone: {join_names(alone)}."
    if some:
        yield f"{pluralize(len(some), 'topic')} not in all runs: {join_names(some)}."
    empty = [query for query, n in holders.items() if n == 0]
    if empty:
        yield f"No run has a document for {pluralize(len(empty), 'topic')}: {join_names(empty)}."


def _judged_notes(prior: PriorJudgments, selected: Selected) -> Iterator[str]:
    if prior.qrels is None:
        return
    judged = [query for query in selected if prior.of_query(query)]
    if not judged:
        yield f"None of the topics has a judgment in {prior.qrels.name}: are the ids the same?"
        return
    if prior.negative:
        yield f"{pluralize(prior.negative, 'grade')} below 0: these documents count as not judged."
    new = [query for query in selected if query not in prior.grades]
    if new:
        yield f"{pluralize(len(new), 'topic')} without any judgment so far: {join_names(new)}."
    done = [query for query in judged if all(doc in prior.of_query(query) for doc in selected[query])]
    if done:
        yield f"Nothing left to judge for {pluralize(len(done), 'topic')}: {join_names(done)}."


def _budget_notes(request: PoolRequest, selected: Selected) -> Iterator[str]:
    name, kind = request.strategy.name, request.strategy.kind
    if kind == "order" and name != "depth" and request.budget is None and request.total is None:
        yield f"Without a budget all documents are pooled: {name} gives the same pool as depth."
    if kind != "adaptive" and request.batch is not None:
        yield f"The batch size has no effect: {name} is not guided by judgments."
    if kind == "adaptive" or not selected:
        return
    budget, total = request.budget, request.total
    short = [query for query, docs in selected.items() if budget is not None and len(docs) < budget]
    if short:
        least = min(len(selected[query]) for query in short)
        yield (
            f"{pluralize(len(short), 'topic')} with fewer than {budget:,} documents to judge (at least {least:,}): all "
            "of them are in the pool."
        )
    every = sum(map(len, selected.values()))
    if total is not None and every < total:
        yield f"There are only {pluralize(every, 'document')} to judge, fewer than {total:,}: all are in the pool."
