"""How many relevant documents are missing from the judgments? Four estimates, each with its assumptions.

They are based on a random sample of unjudged documents, on what two independent finders have in common, on the decline
of new relevant documents with depth, and on relevant documents known from another source.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property, partial
from typing import Any

import numpy as np

from cranfield.base import Record, join_names, pluralize, replace
from cranfield.data import Ints, Qrels
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.io import as_qrels
from cranfield.pooling.contributions import PooledRuns
from cranfield.pooling.estimators import (
    Kind,
    Recapture,
    chapman,
    normal_interval,
    power_law,
    require_level,
    sample_size,
    sample_size_without_any,
    share_interval,
)


def count_new_relevant(pooled: PooledRuns) -> Ints:
    """Count the relevant documents that are new at each depth of the pool: topics × depths."""
    relevant = pooled.is_relevant & pooled.in_pool
    counts = np.zeros((len(pooled.queries), pooled.depth), dtype=np.int64)
    np.add.at(counts, (pooled.topic[relevant], pooled.best_rank[relevant] - 1), 1)
    return counts


# Estimates


class RelevantEstimate(Record):
    """The estimated number of relevant documents of a topic, or of all topics together."""

    topic: str | None  # None for all topics together
    known: int  # in the judgments; for extrapolation, in the pool
    total: float | None
    low: float | None
    high: float | None
    details: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""  # why there is no estimate

    @property
    def is_below_known(self) -> bool:
        """Whether the estimate is below the number of known ones: then its assumptions do not hold."""
        return self.total is not None and self.total < self.known - 1e-9

    @property
    def recall(self) -> float | None:
        """The share of relevant documents that the judgments contain; None if it cannot be estimated."""
        return _share(self.known, self.total)

    @property
    def recall_low(self) -> float | None:
        return _share(self.known, self.high)

    @property
    def recall_high(self) -> float | None:
        return _share(self.known, self.low)


def _share(known: int, total: float | None) -> float | None:
    """The known share of a total; None if the total is 0, or less than what is known."""
    return None if not total or total < known - 1e-9 else min(1.0, known / total)


class MethodResult(Record):
    """The result of one method: its assumption and its estimates, or why there are none."""

    name: str
    title: str
    assumption: str
    overall: RelevantEstimate | None
    topics: tuple[RelevantEstimate, ...] = ()
    why_not: str = ""
    notes: tuple[str, ...] = ()


class SampleSize(Record):
    """How many documents to draw at random."""

    topic: str | None  # None for all topics together
    population: int | None  # number of unjudged documents, if known
    known: int
    by_margin: int  # to estimate the share of relevant documents among the unjudged to ± margin
    by_target: int | None  # to show the target recall if none of the sample is relevant; None if unknown


class SamplePlan(Record):
    """How large a random sample must be."""

    margin: float
    expected: float
    target: float
    level: float
    kind: Kind
    population_is: str
    overall: SampleSize
    topics: tuple[SampleSize, ...]


class RunRecall(Record):
    """How many relevant documents a run retrieved, at any rank."""

    run: str
    found: int
    recall: float | None  # of the known ones


class RecallReport(Record):
    """The number of known relevant documents, the sample sizes needed, and the estimates of each method."""

    known: int
    judged: int
    topics: int
    rel: float
    level: float
    plan: SamplePlan
    methods: tuple[MethodResult, ...]
    runs: tuple[RunRecall, ...]
    notes: tuple[str, ...]
    depth: int | None
    depth_is: str

    def method(self, name: str) -> MethodResult:
        return next(method for method in self.methods if method.name == name)


def estimate_recall(
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
) -> RecallReport:
    """Estimate how many relevant documents the judgments miss, by every method that has the data it needs.

    `pooled` are the runs behind the judgments, in groups if some are not independent finders. `sample` are judgments of
    documents drawn at random from those that are unjudged in `qrels`, in a collection of `docs` documents; without
    `docs`, from what the runs retrieved. `external` are judgments from another source.
    """
    inputs = _Inputs(as_qrels(qrels), pooled, docs, rel, level, kind)
    plan = _plan(inputs, margin, expected, target)
    methods = (
        _by_sampling(inputs, None if sample is None else as_qrels(sample)),
        _by_recapture(inputs),
        _by_extrapolation(inputs, to),
        _by_external(inputs, None if external is None else as_qrels(external)),
    )
    return RecallReport(
        known=int(inputs.known.sum()),
        judged=int(inputs.judged.sum()),
        topics=len(inputs.qrels.queries),
        rel=rel,
        level=level,
        plan=plan,
        methods=methods,
        runs=tuple(_run_recalls(inputs)),
        notes=() if pooled is None else pooled.notes,
        depth=None if pooled is None else pooled.depth,
        depth_is="" if pooled is None else pooled.depth_is,
    )


class _Inputs:
    """The judgments, and what several methods derive from them."""

    def __init__(
        self, qrels: Qrels, pooled: PooledRuns | None, docs: int | None, rel: float, level: float, kind: Kind
    ) -> None:
        require_level(level)
        self.qrels, self.pooled, self.docs, self.rel, self.level, self.kind = qrels, pooled, docs, rel, level, kind
        self.judged = np.array([sum(grade >= 0 for grade in own.values()) for own in qrels.judged], dtype=np.int64)
        self.known = np.array([sum(grade >= rel for grade in own.values()) for own in qrels.judged], dtype=np.int64)
        if docs is not None and docs < int(self.judged.max(initial=0)):
            most = int(self.judged.max())
            raise EvaluationError(f"--docs {docs:,}: a topic has {most:,} judged documents, more than that.")
        self.populations = self._populations()

    def _populations(self) -> Ints | None:
        """The number of unjudged documents of each topic: in the collection, or among those the runs retrieved."""
        if self.docs is not None:
            return self.docs - self.judged
        if self.pooled is None:
            return None
        return np.array([len(docs) for docs in self.unjudged], dtype=np.int64)

    @cached_property
    def unjudged(self) -> list[set[str]]:
        """For each topic the unjudged documents that runs retrieved, at any rank."""
        assert self.pooled is not None
        unjudged: list[set[str]] = []
        for query, own in zip(self.qrels.queries, self.qrels.judged, strict=True):
            lists = [run.docs[run.rows_of(run.position[query])] for run in self.pooled.runs if query in run.position]
            retrieved = {doc for docs in lists for doc in docs.tolist()}
            unjudged.append({doc for doc in retrieved if not own.get(doc, -1.0) >= 0})
        return unjudged

    @property
    def population_is(self) -> str:
        if self.docs is not None:
            return f"a collection of {pluralize(self.docs, 'document')}"
        return "what the runs retrieved, at any rank" if self.pooled is not None else "of unknown size"

    def topics(self) -> Iterator[tuple[int, str, int]]:
        return (
            (i, query, int(known)) for i, (query, known) in enumerate(zip(self.qrels.queries, self.known, strict=True))
        )


def _plan(inputs: _Inputs, margin: float, expected: float, target: float) -> SamplePlan:
    if not 0 < target <= 1:
        raise CranfieldError(f"target {target:g}: expected a recall above 0 and at most 1.")

    def needed(topic: str | None, population: int | None, known: int) -> SampleSize:
        by_target = None
        if population is not None and known:
            # rounded, as 4 · (1 / .8 − 1) is slightly less than 1 in floating point
            allowed = round(known * (1 / target - 1), 9)
            by_target = sample_size_without_any(allowed, population, inputs.level)
        by_margin = sample_size(margin, expected, inputs.level, inputs.kind, population)
        return SampleSize(topic, population, known, by_margin, by_target)

    sizes = [None] * len(inputs.known) if inputs.populations is None else inputs.populations.tolist()
    total = None if inputs.populations is None else int(inputs.populations.sum())
    return SamplePlan(
        margin=margin,
        expected=expected,
        target=target,
        level=inputs.level,
        kind=inputs.kind,
        population_is=inputs.population_is,
        overall=needed(None, total, int(inputs.known.sum())),
        topics=tuple(needed(query, sizes[i], known) for i, query, known in inputs.topics()),
    )


INTERVAL_NAMES: Mapping[Kind, str] = {"clopper-pearson": "Clopper–Pearson", "wilson": "Wilson"}


# Random sample

SAMPLING = (
    "Assumes that the sample was drawn at random from the unjudged documents of each topic, and judged like the others."
)


def _by_sampling(inputs: _Inputs, sample: Qrels | None) -> MethodResult:
    method = partial(MethodResult, "sampling", "random sample", SAMPLING)
    if sample is None:
        return method(None, why_not="needs the judgments of a random sample: --sample QRELS.")
    if inputs.populations is None:
        return method(None, why_not="needs to know what the sample was drawn from: --docs N, or the runs.")
    place = {query: i for i, query in enumerate(inputs.qrels.queries)}
    unknown = [query for query in sample.queries if query not in place]
    if len(unknown) == len(sample.queries):
        raise EvaluationError(
            f"the sample and the judgments have no topic in common: the sample has {join_names(sample.queries, 3)}."
        )
    drawn, found, ignored = _count_sampled(inputs, sample, place)
    notes = [f"Not in the judgments, left out: {pluralize(len(unknown), 'topic')} of the sample."] if unknown else []
    if ignored:
        documents = pluralize(ignored, "document")
        notes.append(f"{documents} of the sample left out: judged already, or not in the population it is drawn from.")
    topics = tuple(
        _sampled_topic(inputs, i, query, known, int(drawn[i]), int(found[i])) for i, query, known in inputs.topics()
    )
    without = [estimate.topic for estimate in topics if estimate.total is None and estimate.topic is not None]
    if without and drawn.any():
        notes.append(
            f"{pluralize(len(without), 'topic')} without a sample, not included in the total: {join_names(without)}."
        )
    return method(_sampled_sum(inputs, drawn, found), topics, notes=tuple(notes))


def _count_sampled(inputs: _Inputs, sample: Qrels, place: Mapping[str, int]) -> tuple[Ints, Ints, int]:
    """For each topic the drawn documents and the relevant ones among them; and how many are ignored."""
    drawn, found = np.zeros_like(inputs.known), np.zeros_like(inputs.known)
    allowed = None if inputs.docs is not None else inputs.unjudged
    ignored = 0
    for query, own in zip(sample.queries, sample.judged, strict=True):
        i = place.get(query)
        if i is None:
            continue
        judged = inputs.qrels.judged[i]
        for doc, grade in own.items():
            if grade < 0:
                continue
            if judged.get(doc, -1.0) >= 0 or (allowed is not None and doc not in allowed[i]):
                ignored += 1
                continue
            drawn[i] += 1
            found[i] += grade >= inputs.rel
    assert inputs.populations is not None
    more = np.flatnonzero(drawn > inputs.populations)
    if len(more):
        i = int(more[0])
        raise EvaluationError(
            f"the sample of topic {inputs.qrels.queries[i]!r} has {drawn[i]:,} documents, "
            f"but only {inputs.populations[i]:,} are unjudged: is --docs right?"
        )
    return drawn, found, ignored


def _sampled_topic(inputs: _Inputs, i: int, query: str, known: int, drawn: int, found: int) -> RelevantEstimate:
    assert inputs.populations is not None
    population = int(inputs.populations[i])
    details = {"population": population, "sampled": drawn, "relevant": found}
    if not drawn and population:
        return RelevantEstimate(query, known, None, None, None, details, "no document of its sample is judged")
    return _with_missing(inputs, query, known, found / drawn if drawn else 0.0, drawn, details)


def _with_missing(
    inputs: _Inputs, topic: str | None, known: int, share: float, size: float, details: dict[str, Any]
) -> RelevantEstimate:
    """An estimate from the share of relevant documents in a sample of the given effective size."""
    population, found = details["population"], details["relevant"]
    if details["sampled"] >= population:  # everything is judged: the number is exact
        exact = float(known + found)
        return RelevantEstimate(topic, known, exact, exact, exact, details)
    interval = share_interval(share * size, size, inputs.level, inputs.kind)
    # not below what was found, whatever the interval says
    low = known + max(population * interval.low, found)
    return RelevantEstimate(topic, known, known + population * share, low, known + population * interval.high, details)


def _sampled_sum(inputs: _Inputs, drawn: Ints, found: Ints) -> RelevantEstimate:
    """All sampled topics: each drawn document is weighted by the population of its topic per drawn document.

    If topics were sampled at different rates, the interval is that of Kish's effective sample size.
    """
    assert inputs.populations is not None
    has_sample = drawn > 0
    population, known = int(inputs.populations[has_sample].sum()), int(inputs.known[has_sample].sum())
    if not has_sample.any():
        return RelevantEstimate(
            None, int(inputs.known.sum()), None, None, None, {}, "no document of the sample is judged"
        )
    weight = inputs.populations[has_sample] / drawn[has_sample]
    effective = float((weight * drawn[has_sample]).sum() ** 2 / (weight**2 * drawn[has_sample]).sum())
    share = float((weight * found[has_sample]).sum() / population)
    details = {
        "population": population,
        "sampled": int(drawn.sum()),
        "relevant": int(found.sum()),
        "effective_sample": effective,
        "topics": int(has_sample.sum()),
    }
    return _with_missing(inputs, None, known, share, effective, details)


# Capture–recapture

RECAPTURE = (
    "Chapman's estimator assumes that the two finders are independent and that all relevant documents are equally easy "
    "to find. If they tend to find the same documents, as is usual (positive dependence), it is a lower bound."
)


def _by_recapture(inputs: _Inputs) -> MethodResult:
    method = partial(MethodResult, "recapture", "capture–recapture", RECAPTURE)
    pooled = inputs.pooled
    if pooled is None:
        return method(None, why_not="needs runs as finders: name two or more.")
    finders = {group: docs[pooled.is_relevant[docs]] for group, docs in pooled.group_docs.items()}
    if len(finders) < 2:
        return method(None, why_not="needs two finders, and there is one run or group.")
    splits = [_split(inputs, finders, group) for group in list(finders)[: 1 if len(finders) == 2 else None]]
    ordered = sorted(splits, key=lambda split: split.overall.total or 0.0)
    median = ordered[(len(ordered) - 1) // 2]
    notes = []
    if len(splits) > 2:
        low, high = (f"{split.overall.total:,.1f}" for split in (ordered[0], ordered[-1]))
        notes.append(
            f"Each of {len(finders)} finders was compared with all others together, giving {low} to {high}; shown is "
            f"the median, that of {median.name}."
        )
    return method(_add_splits(median.overall, splits), median.topics, notes=tuple(notes))


class _Split(Record):
    """One finder compared with all others."""

    name: str
    overall: RelevantEstimate
    topics: tuple[RelevantEstimate, ...]


def _split(inputs: _Inputs, finders: Mapping[str, Ints], group: str) -> _Split:
    pooled = inputs.pooled
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
    found = [chapman(one[i], other[i], common[i], inputs.level) for i in range(n)]
    topics = tuple(_recapture_estimate(query, known, found[i]) for i, query, known in inputs.topics())
    total, variance = math.fsum(one.total for one in found), math.fsum(one.variance for one in found)
    known, union = int(inputs.known.sum()), sum(one.union for one in found)
    low, high = normal_interval(total, variance, inputs.level, union)
    details = {
        "first": sum(one.first for one in found),
        "second": sum(one.second for one in found),
        "both": sum(one.both for one in found),
        "finders": [group, others[0] if len(others) == 1 else "all others"],
        "variance": variance,
        "standard_error": math.sqrt(variance),
    }
    overall = RelevantEstimate(None, known, total, low, high, details)
    return _Split(group, overall, topics)


def _recapture_estimate(query: str, known: int, found: Recapture) -> RelevantEstimate:
    details = {
        "first": found.first,
        "second": found.second,
        "both": found.both,
        "variance": found.variance,
        "standard_error": found.error,
    }
    return RelevantEstimate(query, known, found.total, found.low, found.high, details)


def _add_splits(overall: RelevantEstimate, splits: Sequence[_Split]) -> RelevantEstimate:
    rows = [
        {"finder": split.name, "total": split.overall.total, "low": split.overall.low, "high": split.overall.high}
        for split in splits
    ]
    return replace(overall, details={**overall.details, "splits": rows})


# Extrapolation

EXTRAPOLATION = (
    "Assumes that new relevant documents keep declining with depth as they did within the pool, n = C · d^s − 1 "
    "(Zobel). It counts only what these runs would contribute down to that depth, and has no interval."
)


def _by_extrapolation(inputs: _Inputs, to: int | None) -> MethodResult:
    pooled = inputs.pooled
    depth = 0 if pooled is None else pooled.depth
    end = 2 * depth if to is None else to
    title = f"extrapolation to depth {end:,}" if pooled else "extrapolation of the pool"
    method = partial(MethodResult, "extrapolation", title, EXTRAPOLATION)
    if pooled is None:
        return method(None, why_not="needs the runs that were pooled.")
    if end <= depth:
        raise CranfieldError(f"--to {end:,}: expected more than the depth of the pool, {depth:,}.")
    counts = count_new_relevant(pooled)
    mean = counts.mean(axis=0) if len(counts) else np.zeros(depth)
    law, plain = power_law(mean), power_law(mean, less=0.0)
    if law is None:
        return method(None, why_not=f"needs a pool deeper than 1: this one has depth {depth}.")
    if not law.falls:
        return method(None, why_not="needs new relevant documents to become fewer with depth, which they do not here.")
    topics = tuple(_extrapolated(query, counts[i], end) for i, query, _ in inputs.topics())
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
    return method(RelevantEstimate(None, in_pool, in_pool + more, None, None, details), topics)


def _extrapolated(query: str, counts: Ints, to: int) -> RelevantEstimate:
    law = power_law(counts)
    assert law is not None
    in_pool, more = int(counts.sum()), law.between(len(counts), to)
    details = {"in_pool": in_pool, "beyond": more, "scale": law.scale, "exponent": law.exponent}
    if not law.falls:
        why = "new relevant documents do not become fewer with depth"
        return RelevantEstimate(query, in_pool, None, None, None, details | {"beyond": None}, why)
    return RelevantEstimate(query, in_pool, in_pool + more, None, None, details)


# Outside source

EXTERNAL = (
    "Assumes that the documents of the outside source were found independently of the pool, are as easy to find as "
    "others, and are relevant in the same sense; those that were judged non-relevant here do not count."
)


def _by_external(inputs: _Inputs, external: Qrels | None) -> MethodResult:
    method = partial(MethodResult, "external", "outside source", EXTERNAL)
    if external is None:
        return method(None, why_not="needs relevant documents from another source: --external QRELS.")
    theirs = dict(zip(external.queries, external.judged, strict=True))
    if not set(theirs) & set(inputs.qrels.queries):
        raise EvaluationError(
            f"the outside source and the judgments have no topic in common: the source has {join_names(theirs, 3)}."
        )
    rows = [
        (query, known, *_count_confirmed(theirs.get(query, {}), inputs.qrels.judged[i], inputs.rel))
        for i, query, known in inputs.topics()
    ]
    topics = tuple(_external_estimate(inputs, *row) for row in rows)
    named, known_here, rejected = (sum(column) for column in zip(*(row[2:] for row in rows), strict=True))
    overall = _external_estimate(inputs, None, int(inputs.known.sum()), named, known_here, rejected)
    unknown = [query for query in theirs if query not in set(inputs.qrels.queries)]
    notes = [f"Topics of the outside source without judgments, left out: {len(unknown):,}."] if unknown else []
    return method(overall, topics, notes=tuple(notes))


def _count_confirmed(theirs: Mapping[str, float], ours: Mapping[str, float], rel: float) -> tuple[int, int, int]:
    """How many documents are relevant in `theirs`, and how many of these are relevant or non-relevant in `ours`."""
    named = [doc for doc, grade in theirs.items() if grade >= rel]
    known = sum(ours.get(doc, -1.0) >= rel for doc in named)
    rejected = sum(0 <= ours.get(doc, -1.0) < rel for doc in named)
    return len(named), known, rejected


def _external_estimate(
    inputs: _Inputs, topic: str | None, known: int, named: int, here: int, rejected: int
) -> RelevantEstimate:
    candidates = named - rejected
    details: dict[str, Any] = {"named": named, "known_here": here, "judged_non_relevant": rejected}
    if not candidates:
        return RelevantEstimate(
            topic, known, None, None, None, details, "the outside source names no relevant document"
        )
    interval = share_interval(here, candidates, inputs.level, inputs.kind)
    details |= {"recall": here / candidates, "recall_low": interval.low, "recall_high": interval.high}
    least = known + candidates - here  # these certainly exist
    low, high = known / interval.high, known / interval.low if interval.low else None
    total = known * candidates / here if here else None
    note = "" if here else "the judgments contain none of its documents"
    return RelevantEstimate(
        topic, known, None if total is None else max(total, least), max(low, least), high, details, note
    )


def _run_recalls(inputs: _Inputs) -> Iterator[RunRecall]:
    if inputs.pooled is None:
        return
    known = int(inputs.known.sum())
    for name, join in zip(inputs.pooled.names, inputs.pooled.joins, strict=True):
        found = int(np.count_nonzero(join.grade >= inputs.rel))
        yield RunRecall(name, found, found / known if known else None)
