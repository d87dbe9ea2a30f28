"""Making a pool: what a strategy asks for, topic by topic, less what is judged already."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from cranfield.base import Record, encode_id, join_names, pluralize, replace
from cranfield.data import Document, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.pooling.active import ActiveSampling, prels_of
from cranfield.pooling.lists import Lists, named_runs, ranked_lists
from cranfield.pooling.pool import Pool
from cranfield.pooling.prior_judgments import Known
from cranfield.pooling.replay import require_positive
from cranfield.pooling.sampling import NOT_JUDGED, Sampler, sampled_qrels
from cranfield.pooling.strategies import Strategy, strategy_of
from cranfield.pooling.strategy import Asker, Search, Setting, scattered

DEPTH = 100
COMPLETE = "complete"  # in place of a strategy, where a pool is what runs lack
Wanted = Mapping[str, Sequence[str]]  # query -> documents


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
    """The documents to judge next: all that a strategy wants, or a batch of what it wants if judgments guide it.

    `budget` is the number of documents to judge of each topic, `total` that of all topics together, shared out evenly.
    What is `judged` already is not asked again, and tells adaptive strategies what to ask.

    >>> runs = {"a": {"1": {"x": 3, "y": 2}}, "b": {"1": {"z": 3, "x": 2}}}
    >>> sorted(make_pool(runs, depth=1).pairs["1"])
    ['x', 'z']
    >>> make_pool(runs, judged={"1": {"x": 1, "y": 0}}).pairs
    {'1': ('z',)}
    """
    require_positive(depth=depth, budget=budget, total=total, batch=batch)
    if budget is not None and total is not None:
        raise CranfieldError("a budget is of each topic or of all together: give one of budget and total.")
    chosen = strategy_of(strategy)
    setting = Setting(seed, rel, "chance", topics, documents, search)
    chosen.require(setting)
    known = Known.of(judged)
    named = named_runs(runs)
    lists = ranked_lists(named, depth)
    queries = known.among(lists) if judged_topics else list(lists)
    plan = Plan(chosen, chosen.checked(params), budget, total, batch)
    plan.require()
    chosen.require_texts(setting, lists.values())
    askers = {query: chosen.asker(lists[query], setting, params) for query in queries}
    wanted = {query: plan.wanted(askers[query], known.of_query(query)) for query in progress(queries, len(queries))}
    cut = plan.cut(wanted, seed, sum(len(known.of_query(query)) for query in queries))
    pairs = {query: [doc for doc in docs if doc not in known.of_query(query)] for query, docs in cut.items()}
    sample = _sample(askers, cut, known)
    return Pool(
        pairs={query: tuple(scattered(docs, query, seed)) for query, docs in pairs.items() if docs},
        provenance=_provenance(plan, named, known, depth, setting),
        ranks={query: lists[query].ranks for query in pairs},
        sample=sample,
        notes=(
            *_notes(plan, named, lists, known, cut),
            *_asker_notes(askers),
            *_round_notes(sample, cut),
        ),
    )


def complete_pool(runs: Any, depth: int, judged: Any = None, **options: Any) -> Pool:
    """What is missing to judge runs to a depth: their first documents that nobody has judged.

    >>> complete_pool([{"1": {"x": 3, "y": 2, "z": 1}}], 2, {"1": {"x": 0}}).pairs
    {'1': ('y',)}
    """
    pool = make_pool(runs, depth=depth, judged=judged, **options)
    notes = () if judged is not None else ("No judgments were named: nothing counts as judged.",)
    return replace(pool, provenance={**pool.provenance, "strategy": COMPLETE}, notes=pool.notes + notes)


class Plan(Record, eq=False):
    """A strategy with its parameters, and how much may be asked for."""

    strategy: Strategy
    params: Mapping[str, Any]
    budget: int | None
    total: int | None
    batch: int | None

    def require(self) -> None:
        """An error if a sample has no size, or two."""
        if self.strategy.name == "uniform" and not (self.params["rate"] or self.budget or self.total):
            raise CranfieldError("uniform: how many? Give a rate, e.g. --rate 0.2, or a budget.")
        if self.strategy.name == "uniform" and self.params["rate"] and (self.budget or self.total):
            raise CranfieldError("uniform: a rate or a budget, not both: each says how many are drawn.")
        if self.strategy.name == "stratified" and (self.budget or self.total):
            raise CranfieldError(
                "stratified: the rates of the strata say how many are drawn, so that it has no budget."
            )

    def wanted(self, asker: Asker, judged: Mapping[str, float]) -> list[str]:
        """What to ask for a topic if other topics did not matter."""
        kind = self.strategy.kind
        if kind == "sample":  # what was drawn stays drawn, whoever has judged some of it
            return asker.next({}, self.budget or sys.maxsize)
        if kind == "order" and self.budget is None and self.total is None:
            return [doc for doc in asker.lists.ranks if doc not in judged]
        if kind == "order":
            return asker.next(judged, self.budget or sys.maxsize)
        batch = self.batch or asker.batch(len(judged))
        left = batch if self.budget is None else max(0, self.budget - len(judged))
        return asker.next(judged, min(batch, left))

    def cut(self, wanted: Mapping[str, Sequence[str]], seed: int, judged: int) -> dict[str, Sequence[str]]:
        """What to ask for all topics, the total shared out as evenly as they allow."""
        if self.total is None:
            return dict(wanted)
        # what guides itself by judgments is asked again and again: the total is that of all its judgments
        total = max(0, self.total - judged) if self.strategy.kind == "adaptive" else self.total
        shares = shared_out(total, {query: len(docs) for query, docs in wanted.items()}, seed)
        return {query: docs[: shares[query]] for query, docs in wanted.items()}


def shared_out(total: int, sizes: Mapping[str, int], seed: int) -> dict[str, int]:
    """A number shared out over topics as evenly as their sizes allow; who gets one more is left to chance.

    >>> shared_out(10, {"1": 2, "2": 9, "3": 9}, seed=1)
    {'1': 2, '2': 4, '3': 4}
    """
    shares = dict.fromkeys(sizes, 0)
    left = min(total, sum(sizes.values()))
    while left:
        open_ = [query for query, size in sizes.items() if shares[query] < size]
        each = left // len(open_)
        if not each:
            for query in scattered(open_, "", seed, "shares")[:left]:
                shares[query] += 1
            break
        for query in open_:
            more = min(each, sizes[query] - shares[query])
            shares[query] += more
            left -= more
    return shares


def _sample(askers: Mapping[str, Asker], drawn: Wanted, known: Known) -> Qrels | None:
    """What estimates are made from: of a sample the strata with the grades that are known, or chances and grades."""
    some = next(iter(askers.values()), None)
    if isinstance(some, Sampler):
        strata = {query: asker.strata() for query, asker in askers.items() if isinstance(asker, Sampler)}
        graded = {query: {doc: known.of_query(query).get(doc, NOT_JUDGED) for doc in drawn[query]} for query in askers}
        return sampled_qrels(strata, graded)
    if isinstance(some, ActiveSampling):
        active = {query: asker for query, asker in askers.items() if isinstance(asker, ActiveSampling)}
        return prels_of({query: asker.sample(known.of_query(query)) for query, asker in active.items()})
    return None


def _provenance(plan: Plan, runs: Sequence[Run], known: Known, depth: int, setting: Setting) -> dict[str, Any]:
    """All that is needed to make the same pool again."""
    judged = known.qrels
    return {
        "cranfield": version("cranfield"),
        "strategy": plan.strategy.name,
        "parameters": {
            "depth": depth,
            **{name: value for name in ("budget", "total", "batch") if (value := getattr(plan, name)) is not None},
            **{name: _plain(value) for name, value in plan.params.items() if value is not None},
            **({"rel": setting.rel} if plan.strategy.kind == "adaptive" else {}),
        },
        "seed": setting.seed,
        "runs": [_run_provenance(run) for run in runs],
        **({} if judged is None else {"judged": {"name": judged.name, "sha256": _sha256(judged)}}),
    }


def _plain(value: Any) -> Any:
    """A parameter as it may be given."""
    return ",".join(f"{one.last}:{one.rate:g}" for one in value) if isinstance(value, tuple) else value


def _run_provenance(run: Run) -> dict[str, Any]:
    return {"name": run.name, "sha256": _sha256(run), "topics": len(run.queries)}


def _sha256(rows: Run | Qrels) -> str:
    """The digest of the file, or of what is in memory."""
    if rows.origin is not None:
        return rows.origin.sha256
    values = rows.scores if isinstance(rows, Run) else rows.grades
    lines = zip(rows.row_queries(), rows.docs.tolist(), values.tolist(), strict=True)
    return hashlib.sha256(
        b"".join(b"%b\t%b\t%b\n" % (encode_id(q), encode_id(d), repr(v).encode()) for q, d, v in lines)
    ).hexdigest()


# What a user should know


def _notes(plan: Plan, runs: Sequence[Run], lists: Mapping[str, Lists], known: Known, wanted: Wanted) -> Iterator[str]:
    yield from coverage_notes(runs, lists)
    yield from _judged_notes(known, wanted)
    yield from _budget_notes(plan, wanted)
    yield from (f"{run.name}: {note}" for run in runs for note in run.notes)


def _round_notes(sample: Qrels | None, wanted: Wanted) -> Iterator[str]:
    """Of how many topics there are chances to estimate with."""
    if sample is not None and "probability" in sample.extra:
        known = f"{len(sample.queries):,} of {pluralize(len(wanted), 'topic')}"
        yield f"{known} with a round of draws of which all is judged, and so with chances to estimate from."


def _asker_notes(askers: Mapping[str, Asker]) -> Iterator[str]:
    """What askers have to say of their topics, each thing once."""
    yield from dict.fromkeys(note for asker in askers.values() for note in asker.notes())


def coverage_notes(runs: Sequence[Run], lists: Mapping[str, Lists]) -> Iterator[str]:
    """Topics that not all runs have."""
    if len(runs) < 2:
        return
    holders = {query: sum(map(bool, own.docs)) for query, own in lists.items()}
    alone = [query for query, n in holders.items() if n == 1]
    some = [query for query, n in holders.items() if 1 < n < len(runs)]
    if len(alone) == len(lists):
        yield "No two runs have a topic in common: every topic is pooled from one run alone. Are these one collection?"
    elif alone:
        yield f"{pluralize(len(alone), 'topic')} in one run only, and pooled from it alone: {join_names(alone)}."
    if some:
        yield f"{pluralize(len(some), 'topic')} not in all runs: {join_names(some)}."
    empty = [query for query, n in holders.items() if n == 0]
    if empty:
        yield f"No run has a document for {pluralize(len(empty), 'topic')}: {join_names(empty)}."


def _judged_notes(known: Known, wanted: Wanted) -> Iterator[str]:
    if known.qrels is None:
        return
    before = [query for query in wanted if known.of_query(query)]
    if not before:
        yield f"None of the topics has a judgment in {known.qrels.name}: are the ids the same?"
        return
    if known.negative:
        yield f"{pluralize(known.negative, 'grade')} below 0: pooled but not judged, so that they are asked for again."
    new = [query for query in wanted if query not in known.grades]
    if new:
        yield f"{pluralize(len(new), 'topic')} without any judgment so far: {join_names(new)}."
    done = [query for query in before if all(doc in known.of_query(query) for doc in wanted[query])]
    if done:
        yield f"Nothing is left to judge for {pluralize(len(done), 'topic')}: {join_names(done)}."


def _budget_notes(plan: Plan, wanted: Wanted) -> Iterator[str]:
    name, kind = plan.strategy.name, plan.strategy.kind
    if kind == "order" and name != "depth" and plan.budget is None and plan.total is None:
        yield f"Without a budget all documents are pooled, so that {name} gives the pool that depth does."
    if kind != "adaptive" and plan.batch is not None:
        yield f"A batch changes nothing: {name} is not guided by judgments."
    if kind == "adaptive" or not wanted:
        return
    short = [query for query, docs in wanted.items() if plan.budget is not None and len(docs) < plan.budget]
    if short:
        least = min(len(wanted[query]) for query in short)
        yield (
            f"{pluralize(len(short), 'topic')} with fewer than {plan.budget:,} documents to judge (the fewest "
            f"{least:,}): all of theirs are in the pool."
        )
    every = sum(map(len, wanted.values()))
    if plan.total is not None and every < plan.total:
        yield f"There are only {pluralize(every, 'document')} to judge, fewer than {plan.total:,}: all are in the pool."
