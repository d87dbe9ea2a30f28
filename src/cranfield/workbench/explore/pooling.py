"""The pool behind the judgments, and how they would treat a system that did not contribute to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from cranfield.base import as_dict, count_cores, map_in_threads, pluralize, replace
from cranfield.data import Run
from cranfield.joining import JudgedRun, join_run
from cranfield.measures import parse_measure
from cranfield.pooling import (
    JUDGED_DEPTHS,
    LeaveOutResult,
    LeaveOutSummary,
    PooledRuns,
    Reusability,
    ScoreChange,
    TopicPool,
    count_run_contributions,
    find_judged_depth,
    leave_out,
    summarize_topics,
)
from cranfield.tables import format_number, format_percent, format_signed
from cranfield.workbench.explore.cache import cache_key
from cranfield.workbench.explore.collection_view import CollectionView, System
from cranfield.workbench.explore.jobs import Job, StillRunning
from cranfield.workbench.explore.request_context import Explorer, RequestContext, joining_options
from cranfield.workbench.explore.table_query import Heading, PagedTable, Row
from cranfield.workbench.pages import Page, dump_json

MAX_MEASURES = 2  # for leaving systems out
MAX_HITS = 6_000_000  # judged documents of all runs held in memory: about a third of a gigabyte
CUTOFF = 100  # only these ranks are held if there are more


def pool(context: RequestContext) -> Page:
    """The contributions of the systems to the pool, the depth of judgments, and the effect of leaving a system out."""
    labels = _measures(context)
    depth = context.params.integer("depth", 0, 0, 100_000) or None
    report = _pool_report(context, labels, depth)
    labels = report["measures"]
    by = context.params.choice("by", labels, labels[0]) if labels else ""
    runs = _run_table(context, report, labels, by)
    topics = _topic_table(context, report)
    value = {
        **{
            name: report[name]
            for name in ("depth", "depths", "depth_is", "rel", "findings", "notes", "pool", "standings")
        },
        "collection": context.collection.name,
        "measure": by,
        "systems": runs.to_dict(),
        "topics": topics.to_dict(),
    }
    extra = {
        "context": context,
        "table": runs,
        "topics": topics,
        "labels": labels,
        "shown_depths": choose_depths(report),
    }
    tag = context.tag("pool") if context.pending is None else None
    return Page("pool.html", value, "Pool and reusability", extra, tag=tag)


def _measures(context: RequestContext) -> list[str]:
    """The first few measures of quality: more of them would take longer."""
    good = [label for label, measure in context.measures if measure.is_quality and measure.aggregate == "mean"]
    return [name for name in good if name in context.names][:MAX_MEASURES]


def _pool_report(context: RequestContext, labels: Sequence[str], depth: int | None) -> dict[str, Any]:
    collection, explorer = context.collection, context.explorer
    key = cache_key(
        "pool",
        collection.qrels_digest,
        _runs(collection),
        list(labels),
        depth,
        collection.rel,
        collection.alpha,
        joining_options(collection).ties,
    )
    cached = explorer.cache.get(key)
    if cached is not None:
        report: dict[str, Any] = json.loads(cached)
        return report

    def work(job: Job) -> dict[str, Any]:
        computed: dict[str, Any] = json.loads(dump_json(compute_report(explorer, collection, labels, depth, job)))
        explorer.cache.put({key: json.dumps(computed).encode()})
        return computed

    try:
        return explorer.jobs.result(("pool", key), work, context.timeout)
    except StillRunning as error:
        if error.partial is None or context.request.state.as_json:
            raise
        context.pending = error
        unfinished: dict[str, Any] = error.partial
        return unfinished


def _runs(collection: CollectionView) -> list[list[str]]:
    return [[system.name, system.digest] for system in collection.systems]


def compute_report(
    explorer: Explorer, collection: CollectionView, labels: Sequence[str], depth: int | None, job: Job
) -> dict[str, Any]:
    """Compute the report on the pool, without holding whole runs in memory."""
    with explorer.prioritized():
        joined = _join_runs(collection, labels, job)
    pooled = _pooled(explorer, collection, joined, depth, job)
    topics = summarize_topics(pooled)
    finish = partial(_make_report, joined, pooled, topics)
    if not joined.labels:
        return finish(None)
    job.partial = json.loads(dump_json(finish(None)))

    def watch(items: Iterable[LeaveOutResult], of: int, _: str) -> Iterator[LeaveOutResult]:
        return job.watch(items, of, "systems left out")

    return finish(leave_out(pooled, joined.labels, alpha=collection.alpha, watch=watch))


def _make_report(
    joined: _JoinedRuns, pooled: PooledRuns, topics: Sequence[TopicPool], reusability: Reusability | None
) -> dict[str, Any]:
    """The report; without the effect of leaving systems out while that is not computed."""
    shares = joined.shares(pooled.depth)
    contributions = count_run_contributions(pooled)
    return {
        "depth": pooled.depth,
        "depth_is": pooled.depth_is,
        "rel": pooled.rel,
        "depths": list(shares),
        "measures": joined.labels,
        "pool": {
            "documents": sum(topic.pooled for topic in topics),
            "judged": sum(topic.judged for topic in topics),
            "relevant": sum(topic.relevant for topic in topics),
            "unjudged": sum(topic.pooled_unjudged for topic in topics),
            "outside": sum(topic.outside for topic in topics),
        },
        "runs": [
            as_dict(one)
            | {
                "is_pooled": pooled.pooled[r],
                "judged_at": [shares[k][r] for k in shares],
                "left_out": [] if reusability is None else _left_out_rows(reusability.runs[r], joined.labels),
            }
            for r, one in enumerate(contributions)
        ],
        "topics": [
            as_dict(topic)
            | {"share": topic.share, "has_none": topic.has_none, "has_many": topic.has_many, "grades": None}
            for topic in topics
        ],
        "standings": [] if reusability is None else [_standing_row(one) for one in reusability.of_runs],
        "findings": _findings(pooled, contributions, topics, [] if reusability is None else list(reusability.of_runs)),
        "notes": [*pooled.notes, *joined.notes],
    }


class _JoinedRuns:
    """Runs joined with the judgments; if there are very many hits, only those at the first ranks."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.joins: list[JudgedRun] = []
        self.judged_depths: list[int | None] = []  # the rank down to which each run is judged
        self.labels = list(labels)
        self.notes: list[str] = []
        self._counts: list[dict[int, tuple[int, int]]] = []  # judged and retrieved documents down to some ranks
        self._is_cut = False

    def add(self, join: JudgedRun) -> None:
        self.judged_depths.append(find_judged_depth(join))
        self._counts.append({k: _count_judged(join, k) for k in JUDGED_DEPTHS})
        self.joins.append(_first_hits(join) if self._is_cut else join)
        if not self._is_cut and sum(len(one.rank) for one in self.joins) > MAX_HITS:
            self._cut()

    def shares(self, depth: int) -> dict[int, list[float | None]]:
        """judged@k of each run."""
        longest = max(int(join.retrieved.max(initial=0)) for join in self.joins)
        own = set() if self._is_cut and depth > CUTOFF else {min(depth, longest)} - {0}
        ks = sorted({k for k in JUDGED_DEPTHS if k <= longest} | own)
        return {
            k: [
                _share(*(own.get(k) or _count_judged(join, k)))
                for own, join in zip(self._counts, self.joins, strict=True)
            ]
            for k in ks
        }

    def _cut(self) -> None:
        self._is_cut = True
        self.joins = [_first_hits(join) for join in self.joins]
        deep = [
            label for label in self.labels if (getattr(parse_measure(label), "cutoff", None) or CUTOFF + 1) > CUTOFF
        ]
        self.labels = [label for label in self.labels if label not in deep]
        if deep:
            self.notes.append(
                f"There are too many judged documents to leave systems out by {', '.join(deep)} here. "
                f"Choose a measure with a cutoff of at most {CUTOFF}, or run cranfield pool-report."
            )


def _first_hits(join: JudgedRun) -> JudgedRun:
    """The hits at the first ranks; without ties, the columns on ties take no memory."""
    cut = join.cut(CUTOFF)
    return cut if cut.has_ties else replace(cut, tie_first=cut.rank, tie_size=np.broadcast_to(1, len(cut.rank)))


def _count_judged(join: JudgedRun, k: int) -> tuple[int, int]:
    """The number of judged and of all documents among the first k, over all topics."""
    judged = int(np.count_nonzero((join.grade >= 0) & (join.rank <= k)))
    return judged, int(np.minimum(join.retrieved, k).sum())


def _share(part: int, total: int) -> float | None:
    return part / total if total else None


def _join_runs(collection: CollectionView, labels: Sequence[str], job: Job) -> _JoinedRuns:
    joining = replace(joining_options(collection), missing="zero")  # topics without results count, too

    def join(system: System) -> JudgedRun:
        return join_run(collection.qrels, system.file, joining, name=system.name, format=system.format)

    joined = _JoinedRuns(labels)
    joins = map_in_threads(join, collection.systems, count_cores())
    for one in job.watch(joins, len(collection.systems), "runs joined"):
        joined.add(one)
    return joined


def _pooled(
    explorer: Explorer, collection: CollectionView, joined: _JoinedRuns, depth: int | None, job: Job
) -> PooledRuns:
    """Judgments and runs, reduced to the hits: whole runs would need gigabytes."""

    def first(r: int, query: str, depth: int) -> list[str]:
        return explorer.ranking(collection, collection.systems[r]).docs(query, depth)

    nothing = np.array([], dtype=object), np.array([], dtype=np.float64)
    return PooledRuns.from_joins(
        collection.qrels,
        [Run(system.name, (), np.array([0]), *nothing) for system in collection.systems],
        joined.joins,
        first,
        judged=joined.judged_depths,
        depth=depth,
        rel=collection.rel,
        watch=job.watch,
    )


def _left_out_rows(side: LeaveOutResult, labels: Sequence[str]) -> list[Row]:
    rows = []
    for label in labels:
        effect = side.effect(label)
        change = effect.changes[0]
        rows.append(
            {
                "measure": label,
                "before": change.before,
                "after": change.after,
                "delta": change.delta,
                "rank_before": change.rank_before,
                "rank_after": change.rank_after,
                "tau": effect.tau,
                "tau_ap": effect.tau_ap,
                "flipped": effect.flips.flipped,
                "judgments": side.judgments,
                "relevant": side.relevant,
            }
        )
    return rows


def _standing_row(one: LeaveOutSummary) -> Row:
    return {**as_dict(one), "worst": as_dict(one.worst) | {"delta": one.worst.delta}}


def _findings(
    pooled: PooledRuns, runs: Sequence[Any], topics: Sequence[Any], standings: Sequence[LeaveOutSummary]
) -> list[str]:
    total, judged = sum(topic.pooled for topic in topics), sum(topic.judged for topic in topics)
    relevant = sum(topic.relevant for topic in topics)
    unjudged = sum(topic.pooled_unjudged for topic in topics)
    state = "all judged" if not unjudged else f"{format_percent(unjudged / max(total, 1))} of them not judged"
    sentences = [
        f"The first {pooled.depth:,} documents of {pluralize(sum(pooled.pooled), 'system')} form a pool of "
        f"{pluralize(total, 'document')} for {pluralize(len(topics), 'topic')}, {state}.",
        f"{relevant:,} of {pluralize(judged, 'judged document')} are relevant"
        f"{f', {format_percent(relevant / judged)}' if judged else ''}.",
    ]
    alone, good = sum(one.unique for one in runs), sum(one.unique_relevant for one in runs)
    if alone:
        most = max(runs, key=lambda one: one.unique_relevant)
        whose = f", {most.unique_relevant:,} of these by {most.name}" if good else ""
        sentences.append(f"{pluralize(alone, 'document')} came from one system only, {good:,} of them relevant{whose}.")
    for one in standings[:1]:
        tau = (
            ""
            if one.tau is None
            else f"; the ranking of systems by these values has tau {format_number(one.tau)} with the original one"
        )
        sentences.append(
            f"Without the judgments of documents that only it retrieved, a system's {one.measure} changes by "
            f"{format_number(one.mean_change, 4)} on average, at worst by {format_signed(one.worst.delta, 4)} "
            f"({one.worst.run}, {_ranks(one.worst)}){tau}."
        )
    return sentences


def _ranks(change: ScoreChange) -> str:
    before, after = change.rank_before, change.rank_after
    return f"rank {before:,}" if before == after else f"rank {before:,} to {after:,}"


def _run_table(context: RequestContext, report: dict[str, Any], labels: Sequence[str], by: str) -> PagedTable:
    place = list(labels).index(by) if by else None
    rows = []
    for run in report["runs"]:
        left_out = run["left_out"][place] if place is not None and run["left_out"] else None
        row = {name: run[name] for name in ("name", "pooled", "judged", "relevant", "unique", "unique_relevant")}
        rows.append(row | {"is_pooled": run["is_pooled"], "judged_at": run["judged_at"], "left_out": left_out})
    headings = [
        Heading("name", "System", is_figure=False),
        Heading("pooled", "In pool", about="documents that it contributed to the pool"),
        Heading("relevant", "Relevant"),
        Heading("unique", "Unique", about="documents that no other system contributed"),
        Heading("unique_relevant", "Unique relevant"),
        *(_judged_heading(i, report["depths"][i]) for i in choose_depths(report)),
    ]
    if by:
        headings += [
            _left_out_heading(
                "delta", f"{by} left out", "change of its value if the documents that only it found are unjudged"
            ),
            _left_out_heading("rank_after", "Rank", "change of its rank then"),
            _left_out_heading("tau", "tau", "between the rankings of all systems with all and with fewer judgments"),
        ]
    return PagedTable(context.params, headings, rows, ("name",), sort="-unique_relevant", per_page=50)


def choose_depths(report: dict[str, Any]) -> list[int]:
    """The positions of the depths in the table: the first page, the pool, and the longest run."""
    depths = report["depths"]
    wanted = {k for k in (10, report["depth"], depths[-1] if depths else 0) if k in depths}
    return [i for i, k in enumerate(depths) if k in wanted]


def _judged_heading(place: int, k: int) -> Heading:
    return Heading(f"judged@{k}", f"Judged@{k:,}", lambda row: row["judged_at"][place])


def _left_out_heading(name: str, title: str, about: str) -> Heading:
    return Heading(name, title, lambda row: None if row["left_out"] is None else row["left_out"][name], about=about)


def _topic_table(context: RequestContext, report: dict[str, Any]) -> PagedTable:
    rows = [topic | {"title": context.title_of(topic["query"])} for topic in report["topics"]]
    headings = [
        Heading("query", "Topic", is_figure=False),
        Heading("pooled", "In pool"),
        Heading("pooled_unjudged", "Not judged"),
        Heading("judged", "Judged"),
        Heading("relevant", "Relevant"),
        Heading("share", "Share relevant"),
    ]
    return PagedTable(
        context.params,
        headings,
        rows,
        ("query", "title"),
        sort="query",
        per_page=50,
        prefix="topic_",
    )
