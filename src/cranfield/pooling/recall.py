"""How many relevant documents did nobody find? Four ways to estimate it, each with what it takes for granted.

A random sample of what is not judged; two finders and what both found; the fall of new relevant documents with depth;
and documents known to be relevant from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Ints, Qrels
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.io import as_qrels
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.estimators import (
    Kind,
    Recapture,
    around,
    chapman,
    power_law,
    require_level,
    sample_size,
    sample_size_without_any,
    share_interval,
)


def new_by_depth(pooled: PooledRuns) -> Ints:
    """How many relevant documents come up at each depth of the pool: a row a topic, a column a depth."""
    found = pooled.is_relevant & pooled.in_pool
    counts = np.zeros((len(pooled.queries), pooled.depth), dtype=np.int64)
    np.add.at(counts, (pooled.topic[found], pooled.best_rank[found] - 1), 1)
    return counts


# Estimates


class Estimate(Record):
    """How many documents are relevant to a topic, or to all topics together, and what share of them is known."""

    topic: str | None  # None for all together
    known: int  # to the judgments; by extrapolation, to the pool
    total: float | None
    low: float | None
    high: float | None
    details: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # why there is no estimate

    @property
    def is_below_known(self) -> bool:
        """Whether it says there are fewer than the judgments know of: then its assumptions do not hold."""
        return self.total is not None and self.total < self.known - 1e-9

    @property
    def recall(self) -> float | None:
        """The share of relevant documents that the judgments know; None where that cannot be said."""
        return _share(self.known, self.total)

    @property
    def recall_low(self) -> float | None:
        return _share(self.known, self.high)

    @property
    def recall_high(self) -> float | None:
        return _share(self.known, self.low)


def _share(known: int, total: float | None) -> float | None:
    """What is known of a total; None if there is nothing to know, or if more is known than that."""
    return None if not total or total < known - 1e-9 else min(1.0, known / total)


class Method(Record):
    """A way to estimate: what it takes for granted, what it gives overall and topic by topic, or why it cannot."""

    name: str
    title: str
    assumption: str
    overall: Estimate | None
    topics: tuple[Estimate, ...] = ()
    why_not: str = ""
    notes: tuple[str, ...] = ()


class Needed(Record):
    """How many documents to draw at random, before any is judged."""

    topic: str | None  # None for all together
    population: int | None  # unjudged documents, if it is known how many
    known: int
    by_margin: int  # to know the share of relevant ones among the unjudged to ± margin
    by_target: int | None  # to show the recall aimed at, if none of those drawn is relevant; None if not to be known


class Plan(Record):
    """What a random sample must have."""

    margin: float
    expected: float
    target: float
    level: float
    kind: Kind
    population_is: str
    overall: Needed
    topics: tuple[Needed, ...]


class RunRecall(Record):
    """How many relevant documents a run retrieved, anywhere in its lists."""

    run: str
    found: int
    recall: float | None  # of those known


class Recall(Record):
    """What is known, what a sample would need, and what each method says."""

    known: int
    judged: int
    topics: int
    rel: float
    level: float
    plan: Plan
    methods: tuple[Method, ...]
    runs: tuple[RunRecall, ...]
    notes: tuple[str, ...]
    depth: int | None
    depth_is: str

    def method(self, name: str) -> Method:
        return next(method for method in self.methods if method.name == name)


def recall_estimate(
    qrels: Any,
    pooled: PooledRuns | None = None,
    *,
    sample: Any = None,
    external: Any = None,
    docs: int | None = None,
    to: int | None = None,
    rel: float = 1,
    level: float = 0.95,
    kind: Kind = "clopper-pearson",
    margin: float = 0.05,
    expected: float = 0.5,
    target: float = 0.8,
) -> Recall:
    """Estimate how many relevant documents the judgments lack, by every method that there is material for.

    `pooled` are the runs behind the judgments, in groups if two or more of them are no independent finders. `sample`
    are judgments of documents drawn at random from those that `qrels` leaves unjudged, in a collection of `docs`
    documents; without `docs`, from what the runs retrieved. `external` are judgments from elsewhere.
    """
    given = _Given(as_qrels(qrels), pooled, docs, rel, level, kind)
    plan = _plan(given, margin, expected, target)
    methods = (
        _by_sampling(given, None if sample is None else as_qrels(sample)),
        _by_recapture(given),
        _by_extrapolation(given, to),
        _by_external(given, None if external is None else as_qrels(external)),
    )
    return Recall(
        known=int(given.known.sum()),
        judged=int(given.judged.sum()),
        topics=len(given.qrels.queries),
        rel=rel,
        level=level,
        plan=plan,
        methods=methods,
        runs=tuple(_run_recalls(given)),
        notes=() if pooled is None else pooled.notes,
        depth=None if pooled is None else pooled.depth,
        depth_is="" if pooled is None else pooled.depth_is,
    )


class _Given:
    """The judgments, and what several methods ask of them."""

    def __init__(
        self, qrels: Qrels, pooled: PooledRuns | None, docs: int | None, rel: float, level: float, kind: Kind
    ) -> None:
        require_level(level)
        self.qrels, self.pooled, self.docs, self.rel, self.level, self.kind = qrels, pooled, docs, rel, level, kind
        self.judged = np.array([sum(grade >= 0 for grade in own.values()) for own in qrels.judged], dtype=np.int64)
        self.known = np.array([sum(grade >= rel for grade in own.values()) for own in qrels.judged], dtype=np.int64)
        if docs is not None and docs < int(self.judged.max(initial=0)):
            most = int(self.judged.max())
            raise EvaluationError(f"--docs {docs:,}: a topic has {most:,} judged documents, more than there are.")
        self.populations = self._populations()

    def _populations(self) -> Ints | None:
        """How many documents of each topic are not judged: of the collection, or of what the runs retrieved."""
        if self.docs is not None:
            return self.docs - self.judged
        if self.pooled is None:
            return None
        return np.array([len(docs) for docs in self.unjudged], dtype=np.int64)

    @cached_property
    def unjudged(self) -> list[set[str]]:
        """What the runs retrieved of each topic, at whatever rank, and nobody judged."""
        assert self.pooled is not None
        found: list[set[str]] = []
        for query, own in zip(self.qrels.queries, self.qrels.judged, strict=True):
            lists = [run.docs[run.rows_of(run.position[query])] for run in self.pooled.runs if query in run.position]
            retrieved = {doc for docs in lists for doc in docs.tolist()}
            found.append({doc for doc in retrieved if not own.get(doc, -1.0) >= 0})
        return found

    @property
    def population_is(self) -> str:
        if self.docs is not None:
            return f"a collection of {pluralize(self.docs, 'document')}"
        return "what the runs retrieved, at any rank" if self.pooled is not None else "of unknown size"

    def topics(self) -> Iterator[tuple[int, str, int]]:
        return (
            (i, query, int(known)) for i, (query, known) in enumerate(zip(self.qrels.queries, self.known, strict=True))
        )


def _plan(given: _Given, margin: float, expected: float, target: float) -> Plan:
    if not 0 < target <= 1:
        raise CranfieldError(f"target {target:g}: expected a recall above 0, up to 1.")

    def needed(topic: str | None, population: int | None, known: int) -> Needed:
        by_target = None
        if population is not None and known:
            # rounded, as 4 · (1 / .8 − 1) is a little less than 1 to a computer
            allowed = round(known * (1 / target - 1), 9)
            by_target = sample_size_without_any(allowed, population, given.level)
        by_margin = sample_size(margin, expected, given.level, given.kind, population)
        return Needed(topic, population, known, by_margin, by_target)

    sizes = [None] * len(given.known) if given.populations is None else given.populations.tolist()
    total = None if given.populations is None else int(given.populations.sum())
    return Plan(
        margin=margin,
        expected=expected,
        target=target,
        level=given.level,
        kind=given.kind,
        population_is=given.population_is,
        overall=needed(None, total, int(given.known.sum())),
        topics=tuple(needed(query, sizes[i], known) for i, query, known in given.topics()),
    )


KINDS: Mapping[Kind, str] = {"clopper-pearson": "Clopper–Pearson", "wilson": "Wilson"}


# By a random sample

SAMPLING = (
    "Takes the sample as drawn at random from the unjudged documents of each topic, and judged as the others were."
)


def _by_sampling(given: _Given, sample: Qrels | None) -> Method:
    method = _method("sampling", "random sample", SAMPLING)
    if sample is None:
        return method(None, why_not="needs the judgments of a random sample: --sample QRELS.")
    if given.populations is None:
        return method(None, why_not="needs to know what the sample was drawn from: --docs N, or the runs.")
    place = {query: i for i, query in enumerate(given.qrels.queries)}
    unknown = [query for query in sample.queries if query not in place]
    if len(unknown) == len(sample.queries):
        raise EvaluationError(f"the sample has no topic of the judgments: it has {join_names(sample.queries, 3)}.")
    drawn, found, left = _sampled(given, sample, place)
    notes = [f"Not in the judgments, left out: {pluralize(len(unknown), 'topic')} of the sample."] if unknown else []
    if left:
        notes.append(
            f"{pluralize(left, 'document')} of the sample left out: judged already, or not among those it is drawn "
            "from."
        )
    topics = tuple(
        _sampled_topic(given, i, query, known, int(drawn[i]), int(found[i])) for i, query, known in given.topics()
    )
    without = [estimate.topic for estimate in topics if estimate.total is None and estimate.topic is not None]
    if without and drawn.any():
        notes.append(
            f"{pluralize(len(without), 'topic')} without a sample, of which the sum says nothing: "
            f"{join_names(without)}."
        )
    return method(_sampled_sum(given, drawn, found), topics, notes=tuple(notes))


def _sampled(given: _Given, sample: Qrels, place: Mapping[str, int]) -> tuple[Ints, Ints, int]:
    """Of each topic how many documents were drawn, how many of them are relevant; and how many count for nothing."""
    drawn, found = np.zeros_like(given.known), np.zeros_like(given.known)
    allowed = None if given.docs is not None else given.unjudged
    left = 0
    for query, own in zip(sample.queries, sample.judged, strict=True):
        i = place.get(query)
        if i is None:
            continue
        judged = given.qrels.judged[i]
        for doc, grade in own.items():
            if grade < 0:
                continue
            if judged.get(doc, -1.0) >= 0 or (allowed is not None and doc not in allowed[i]):
                left += 1
                continue
            drawn[i] += 1
            found[i] += grade >= given.rel
    assert given.populations is not None
    more = np.flatnonzero(drawn > given.populations)
    if len(more):
        i = int(more[0])
        raise EvaluationError(
            f"the sample of topic {given.qrels.queries[i]!r} has {drawn[i]:,} documents, "
            f"of {given.populations[i]:,} that are not judged: is --docs right?"
        )
    return drawn, found, left


def _sampled_topic(given: _Given, i: int, query: str, known: int, drawn: int, found: int) -> Estimate:
    assert given.populations is not None
    population = int(given.populations[i])
    details = {"population": population, "sampled": drawn, "relevant": found}
    if not drawn and population:
        return Estimate(query, known, None, None, None, details, "no document of its sample is judged")
    return _with_missing(given, query, known, found / drawn if drawn else 0.0, drawn, details)


def _with_missing(
    given: _Given, topic: str | None, known: int, share: float, size: float, details: dict[str, Any]
) -> Estimate:
    """With a share of relevant documents among the unjudged, by a sample that is worth so many documents."""
    population, found = details["population"], details["relevant"]
    if details["sampled"] >= population:  # all of it was judged, so that nothing is left to guess
        exact = float(known + found)
        return Estimate(topic, known, exact, exact, exact, details)
    interval = share_interval(share * size, size, given.level, given.kind)
    # what was found is there, whatever the interval says
    low = known + max(population * interval.low, found)
    return Estimate(topic, known, known + population * share, low, known + population * interval.high, details)


def _sampled_sum(given: _Given, drawn: Ints, found: Ints) -> Estimate:
    """All sampled topics: each drawn document stands for as many as its topic has for one drawn.

    Where topics were sampled at different rates the interval is that of Kish's effective sample size.
    """
    assert given.populations is not None
    there = drawn > 0
    population, known = int(given.populations[there].sum()), int(given.known[there].sum())
    if not there.any():
        return Estimate(None, int(given.known.sum()), None, None, None, {}, "no document of the sample is judged")
    weight = given.populations[there] / drawn[there]
    effective = float((weight * drawn[there]).sum() ** 2 / (weight**2 * drawn[there]).sum())
    share = float((weight * found[there]).sum() / population)
    details = {
        "population": population,
        "sampled": int(drawn.sum()),
        "relevant": int(found.sum()),
        "effective_sample": effective,
        "topics": int(there.sum()),
    }
    return _with_missing(given, None, known, share, effective, details)


# By what two finders have in common

RECAPTURE = (
    "Chapman's estimator takes the two finders as independent and every relevant document as equally easy to find; "
    "where what one finds the other finds more often, as is usual (positive dependence), it is a lower bound."
)


def _by_recapture(given: _Given) -> Method:
    method = _method("recapture", "capture–recapture", RECAPTURE)
    pooled = given.pooled
    if pooled is None:
        return method(None, why_not="needs runs as finders: name two or more.")
    finders = {group: docs[pooled.is_relevant[docs]] for group, docs in pooled.group_docs.items()}
    if len(finders) < 2:
        return method(None, why_not="needs two finders, and there is one run or group.")
    splits = [_split(given, finders, group) for group in list(finders)[: 1 if len(finders) == 2 else None]]
    ordered = sorted(splits, key=lambda split: split.overall.total or 0.0)
    chosen = ordered[(len(ordered) - 1) // 2]
    notes = []
    if len(splits) > 2:
        low, high = (f"{split.overall.total:,.1f}" for split in (ordered[0], ordered[-1]))
        notes.append(
            f"Each of {len(finders)} finders was held against all others together, which gives {low} to {high}; "
            f"the median is told, that of {chosen.name}."
        )
    overall = _detailed(chosen.overall, splits)
    return method(overall, chosen.topics, notes=tuple(notes))


class _Split(Record):
    """One finder against the others."""

    name: str
    overall: Estimate
    topics: tuple[Estimate, ...]


def _split(given: _Given, finders: Mapping[str, Ints], group: str) -> _Split:
    pooled = given.pooled
    assert pooled is not None
    others = [name for name in finders if name != group]
    first = np.zeros(len(pooled.grade), dtype=bool)
    second = first.copy()
    first[finders[group]] = True
    for name in others:
        second[finders[name]] = True
    n = len(pooled.queries)
    counts = [np.bincount(pooled.topic[flags], minlength=n) for flags in (first, second, first & second)]
    one, other, common = (count.tolist() for count in counts)
    found = [chapman(one[i], other[i], common[i], given.level) for i in range(n)]
    topics = tuple(_recaptured(query, known, found[i]) for i, query, known in given.topics())
    total, variance = math.fsum(one.total for one in found), math.fsum(one.variance for one in found)
    known, union = int(given.known.sum()), sum(one.union for one in found)
    low, high = around(total, variance, given.level, union)
    details = {
        "first": sum(one.first for one in found),
        "second": sum(one.second for one in found),
        "both": sum(one.both for one in found),
        "finders": [group, others[0] if len(others) == 1 else "all others"],
        "variance": variance,
        "standard_error": math.sqrt(variance),
    }
    overall = Estimate(None, known, total, low, high, details)
    return _Split(group, overall, topics)


def _recaptured(query: str, known: int, found: Recapture) -> Estimate:
    details = {
        "first": found.first,
        "second": found.second,
        "both": found.both,
        "variance": found.variance,
        "standard_error": found.error,
    }
    return Estimate(query, known, found.total, found.low, found.high, details)


def _detailed(overall: Estimate, splits: Sequence[_Split]) -> Estimate:
    all_splits = [
        {"finder": split.name, "total": split.overall.total, "low": split.overall.low, "high": split.overall.high}
        for split in splits
    ]
    details = {**overall.details, "splits": all_splits}
    return Estimate(None, overall.known, overall.total, overall.low, overall.high, details)


# By depth

EXTRAPOLATION = (
    "Takes new relevant documents to go on falling with depth as they did within the pool, n = C · d^s − 1 (Zobel); it "
    "counts only what these runs would bring in down to the depth named, and has no interval."
)


def _by_extrapolation(given: _Given, to: int | None) -> Method:
    pooled = given.pooled
    depth = 0 if pooled is None else pooled.depth
    end = 2 * depth if to is None else to
    method = _method(
        "extrapolation", f"extrapolation to depth {end:,}" if pooled else "extrapolation of the pool", EXTRAPOLATION
    )
    if pooled is None:
        return method(None, why_not="needs the runs that were pooled.")
    if end <= depth:
        raise CranfieldError(f"--to {end:,}: expected more than the depth of the pool, {depth:,}.")
    counts = new_by_depth(pooled)
    mean = counts.mean(axis=0) if len(counts) else np.zeros(depth)
    law, plain = power_law(mean), power_law(mean, less=0.0)
    if law is None:
        return method(None, why_not=f"needs a pool deeper than 1: this one has depth {depth}.")
    if not law.falls:
        return method(None, why_not="needs new relevant documents to become fewer with depth, which they do not here.")
    topics = tuple(_extrapolated(query, counts[i], end) for i, query, _ in given.topics())
    n, in_pool = len(counts), int(counts.sum())
    more = n * law.between(depth, end)
    details = {
        "in_pool": in_pool,
        "beyond": more,
        "depth": depth,
        "to": end,
        "scale": law.scale,
        "exponent": law.exponent,
        "beyond_by_plain_power_law": None if plain is None else n * plain.between(depth, end),
    }
    return method(Estimate(None, in_pool, in_pool + more, None, None, details), topics)


def _extrapolated(query: str, counts: Ints, to: int) -> Estimate:
    law = power_law(counts)
    assert law is not None
    in_pool, more = int(counts.sum()), law.between(len(counts), to)
    details = {"in_pool": in_pool, "beyond": more, "scale": law.scale, "exponent": law.exponent}
    if not law.falls:
        why = "new relevant documents do not become fewer with depth"
        return Estimate(query, in_pool, None, None, None, details | {"beyond": None}, why)
    return Estimate(query, in_pool, in_pool + more, None, None, details)


# By what is known from elsewhere

EXTERNAL = (
    "Takes the documents known from elsewhere as found without regard to the pool, as easy to find as others, and "
    "relevant in the same sense; those that were judged non-relevant here do not count."
)


def _by_external(given: _Given, external: Qrels | None) -> Method:
    method = _method("external", "outside source", EXTERNAL)
    if external is None:
        return method(None, why_not="needs relevant documents known from elsewhere: --external QRELS.")
    theirs = dict(zip(external.queries, external.judged, strict=True))
    if not set(theirs) & set(given.qrels.queries):
        raise EvaluationError(f"the outside source has no topic of the judgments: it has {join_names(theirs, 3)}.")
    rows = [
        (query, known, *_confirmed(theirs.get(query, {}), given.qrels.judged[i], given.rel))
        for i, query, known in given.topics()
    ]
    topics = tuple(_from_outside(given, *row) for row in rows)
    named, known_here, refused = (sum(column) for column in zip(*(row[2:] for row in rows), strict=True))
    overall = _from_outside(given, None, int(given.known.sum()), named, known_here, refused)
    unknown = [query for query in theirs if query not in set(given.qrels.queries)]
    notes = [f"Topics of the outside source without judgments, left out: {len(unknown):,}."] if unknown else []
    return method(overall, topics, notes=tuple(notes))


def _confirmed(theirs: Mapping[str, float], ours: Mapping[str, float], rel: float) -> tuple[int, int, int]:
    """How many documents are relevant to them, how many of those we know as relevant, and how many we refused."""
    named = [doc for doc, grade in theirs.items() if grade >= rel]
    known = sum(ours.get(doc, -1.0) >= rel for doc in named)
    refused = sum(0 <= ours.get(doc, -1.0) < rel for doc in named)
    return len(named), known, refused


def _from_outside(given: _Given, topic: str | None, known: int, named: int, here: int, refused: int) -> Estimate:
    counted_ones = named - refused
    details: dict[str, Any] = {"named": named, "known_here": here, "judged_non_relevant": refused}
    if not counted_ones:
        return Estimate(topic, known, None, None, None, details, "the outside source names no relevant document")
    interval = share_interval(here, counted_ones, given.level, given.kind)
    details |= {"recall": here / counted_ones, "recall_low": interval.low, "recall_high": interval.high}
    least = known + counted_ones - here  # these are there for sure
    low, high = known / interval.high, known / interval.low if interval.low else None
    total = known * counted_ones / here if here else None
    note = "" if here else "the judgments know none of its documents"
    return Estimate(topic, known, None if total is None else max(total, least), max(low, least), high, details, note)


def _method(name: str, title: str, assumption: str) -> Callable[..., Method]:
    def made(
        overall: Estimate | None, topics: tuple[Estimate, ...] = (), why_not: str = "", notes: tuple[str, ...] = ()
    ) -> Method:
        return Method(name, title, assumption, overall, topics, why_not, notes)

    return made


def _run_recalls(given: _Given) -> Iterator[RunRecall]:
    if given.pooled is None:
        return
    known = int(given.known.sum())
    for name, join in zip(given.pooled.names, given.pooled.joins, strict=True):
        found = int(np.count_nonzero(join.grade >= given.rel))
        yield RunRecall(name, found, found / known if known else None)
