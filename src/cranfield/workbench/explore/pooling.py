"""The pool behind the judgments, and what they would be to a system that was not in it."""

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
    DEPTHS,
    Change,
    LeftOut,
    PooledRuns,
    Reusability,
    Standing,
    TopicPool,
    contributions_of_runs,
    judged_depth,
    leave_out,
    topic_pools,
)
from cranfield.reporting import number, percent, signed
from cranfield.workbench.explore.cache import key_of
from cranfield.workbench.explore.collection_view import Explored, System
from cranfield.workbench.explore.jobs import Job, NotYet
from cranfield.workbench.explore.request_context import Explorer, Visit, joining_of
from cranfield.workbench.explore.table_query import Heading, Listing, Row
from cranfield.workbench.pages import Page, as_json

MEASURES = 2  # by which runs are left out
MOST_HITS = 6_000_000  # judged documents of all runs that are held at a time: about a third of a gigabyte
CUT = 100  # the rank down to which they are held if there are more


def pool(visit: Visit) -> Page:
    """Who brought what into the pool, how far the judgments reach, and what leaving a system out would change."""
    labels = _measures(visit)
    depth = visit.asked.whole("depth", 0, 0, 100_000) or None
    found = _diagnosis(visit, labels, depth)
    labels = found["measures"]
    by = visit.asked.choice("by", labels, labels[0]) if labels else ""
    runs = _runs_listing(visit, found, labels, by)
    topics = _topics_listing(visit, found)
    value = {
        **{
            name: found[name]
            for name in ("depth", "depths", "depth_is", "rel", "findings", "notes", "pool", "standings")
        },
        "collection": visit.explored.name,
        "measure": by,
        "systems": runs.to_dict(),
        "topics": topics.to_dict(),
    }
    more = {"visit": visit, "listing": runs, "topics": topics, "labels": labels, "shown_depths": shown_depths(found)}
    tag = visit.tag("pool") if visit.unfinished is None else None
    return Page("pool.html", value, "Pool and reusability", more, tag=tag)


def _measures(visit: Visit) -> list[str]:
    """The measures that say which system is better, a few of them: the more, the longer it takes."""
    good = [label for label, measure in visit.measures if measure.is_quality and measure.aggregate == "mean"]
    return [name for name in good if name in visit.names][:MEASURES]


def _diagnosis(visit: Visit, labels: Sequence[str], depth: int | None) -> dict[str, Any]:
    explored, explorer = visit.explored, visit.explorer
    key = key_of(
        "pool",
        explored.qrels_digest,
        _runs(explored),
        list(labels),
        depth,
        explored.rel,
        explored.alpha,
        joining_of(explored).ties,
    )
    kept = explorer.kept.get(key)
    if kept is not None:
        known: dict[str, Any] = json.loads(kept)
        return known

    def work(job: Job) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(as_json(diagnosed(explorer, explored, labels, depth, job)))
        explorer.kept.put({key: json.dumps(made).encode()})
        return made

    try:
        return explorer.jobs.result(("pool", key), work, visit.patience)
    except NotYet as error:
        if error.so_far is None or visit.request.state.as_json:
            raise
        visit.unfinished = error
        so_far: dict[str, Any] = error.so_far
        return so_far


def _runs(explored: Explored) -> list[list[str]]:
    return [[system.name, system.digest] for system in explored.systems]


def diagnosed(
    explorer: Explorer, explored: Explored, labels: Sequence[str], depth: int | None, job: Job
) -> dict[str, Any]:
    """What there is to say of the pool, without holding whole runs in memory."""
    with explorer.first():
        joined = _joined(explored, labels, job)
    pooled = _pooled(explorer, explored, joined, depth, job)
    topics = topic_pools(pooled)
    made = partial(_told, joined, pooled, topics)
    if not joined.labels:
        return made(None)
    job.so_far = json.loads(as_json(made(None)))

    def watch(items: Iterable[LeftOut], of: int, _: str) -> Iterator[LeftOut]:
        return job.watch(items, of, "systems left out")

    return made(leave_out(pooled, joined.labels, alpha=explored.alpha, watch=watch))


def _told(
    joined: _Joined, pooled: PooledRuns, topics: Sequence[TopicPool], found: Reusability | None
) -> dict[str, Any]:
    """What is known of the pool; of leaving systems out, nothing as long as that is not done."""
    shares = joined.shares(pooled.depth)
    contributions = contributions_of_runs(pooled)
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
                "left_out": [] if found is None else _left_out(found.runs[r], joined.labels),
            }
            for r, one in enumerate(contributions)
        ],
        "topics": [
            as_dict(topic)
            | {"share": topic.share, "has_none": topic.has_none, "has_many": topic.has_many, "grades": None}
            for topic in topics
        ],
        "standings": [] if found is None else [_standing(one) for one in found.of_runs],
        "findings": _findings(pooled, contributions, topics, [] if found is None else list(found.of_runs)),
        "notes": [*pooled.notes, *joined.notes],
    }


class _Joined:
    """Runs joined with the judgments; of very many hits only those of the first ranks are kept."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.joins: list[JudgedRun] = []
        self.full: list[int | None] = []  # down to which rank each is judged
        self.labels = list(labels)
        self.notes: list[str] = []
        self._seen: list[dict[int, tuple[int, int]]] = []  # judged and shown documents down to some ranks
        self._is_cut = False

    def add(self, join: JudgedRun) -> None:
        self.full.append(judged_depth(join))
        self._seen.append({k: _seen(join, k) for k in DEPTHS})
        self.joins.append(_first_hits(join) if self._is_cut else join)
        if not self._is_cut and sum(len(one.rank) for one in self.joins) > MOST_HITS:
            self._cut()

    def shares(self, depth: int) -> dict[int, list[float | None]]:
        """judged@k of each run."""
        longest = max(int(join.retrieved.max(initial=0)) for join in self.joins)
        own = set() if self._is_cut and depth > CUT else {min(depth, longest)} - {0}
        ks = sorted({k for k in DEPTHS if k <= longest} | own)
        return {
            k: [_share(*(known.get(k) or _seen(join, k))) for known, join in zip(self._seen, self.joins, strict=True)]
            for k in ks
        }

    def _cut(self) -> None:
        self._is_cut = True
        self.joins = [_first_hits(join) for join in self.joins]
        deep = [label for label in self.labels if (getattr(parse_measure(label), "cutoff", None) or CUT + 1) > CUT]
        self.labels = [label for label in self.labels if label not in deep]
        if deep:
            self.notes.append(
                f"There are too many judged documents to leave systems out by {', '.join(deep)} here; "
                f"name a measure with a cutoff up to {CUT}, or use cranfield pool-report."
            )


def _first_hits(join: JudgedRun) -> JudgedRun:
    """The hits of the first ranks; where no two scores are equal, without columns that would say so of each."""
    cut = join.down_to(CUT)
    return cut if cut.has_ties else replace(cut, tie_first=cut.rank, tie_size=np.broadcast_to(1, len(cut.rank)))


def _seen(join: JudgedRun, k: int) -> tuple[int, int]:
    """How many of the first k documents have a judgment, and how many there are, over all topics."""
    seen = int(np.count_nonzero((join.grade >= 0) & (join.rank <= k)))
    return seen, int(np.minimum(join.retrieved, k).sum())


def _share(seen: int, of: int) -> float | None:
    return seen / of if of else None


def _joined(explored: Explored, labels: Sequence[str], job: Job) -> _Joined:
    joining = replace(joining_of(explored), missing="zero")  # a topic that a run has nothing for counts

    def join(system: System) -> JudgedRun:
        return join_run(explored.qrels, system.file, joining, name=system.name, format=system.format)

    joined = _Joined(labels)
    made = map_in_threads(join, explored.systems, count_cores())
    for one in job.watch(made, len(explored.systems), "runs joined"):
        joined.add(one)
    return joined


def _pooled(explorer: Explorer, explored: Explored, joined: _Joined, depth: int | None, job: Job) -> PooledRuns:
    """Judgments and runs, of which only hits are kept: whole ones would need gigabytes."""

    def first(r: int, query: str, depth: int) -> list[str]:
        return explorer.ranking(explored, explored.systems[r]).docs(query, depth)

    nothing = np.array([], dtype=object), np.array([], dtype=np.float64)
    return PooledRuns.of_joins(
        explored.qrels,
        [Run(system.name, (), np.array([0]), *nothing) for system in explored.systems],
        joined.joins,
        first,
        judged=joined.full,
        depth=depth,
        rel=explored.rel,
        watch=job.watch,
    )


def _left_out(side: LeftOut, labels: Sequence[str]) -> list[Row]:
    found = []
    for label in labels:
        effect = side.effect(label)
        change = effect.changes[0]
        found.append(
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
    return found


def _standing(one: Standing) -> Row:
    return {**as_dict(one), "worst": as_dict(one.worst) | {"delta": one.worst.delta}}


def _findings(
    pooled: PooledRuns, runs: Sequence[Any], topics: Sequence[Any], standings: Sequence[Standing]
) -> list[str]:
    total, judged = sum(topic.pooled for topic in topics), sum(topic.judged for topic in topics)
    relevant = sum(topic.relevant for topic in topics)
    unjudged = sum(topic.pooled_unjudged for topic in topics)
    state = "all judged" if not unjudged else f"{percent(unjudged / max(total, 1))} of them not judged"
    said = [
        f"The first {pooled.depth:,} documents of {pluralize(sum(pooled.pooled), 'system')} make a pool of "
        f"{pluralize(total, 'document')} for {pluralize(len(topics), 'topic')}, {state}.",
        f"{relevant:,} of {pluralize(judged, 'judged document')} are relevant"
        f"{f', {percent(relevant / judged)}' if judged else ''}.",
    ]
    alone, good = sum(one.unique for one in runs), sum(one.unique_relevant for one in runs)
    if alone:
        most = max(runs, key=lambda one: one.unique_relevant)
        whose = f", {most.unique_relevant:,} of these by {most.name}" if good else ""
        said.append(f"{pluralize(alone, 'document')} came from one system alone, {good:,} of them relevant{whose}.")
    for one in standings[:1]:
        tau = "" if one.tau is None else f"; ranked by such values, systems keep their order with tau {number(one.tau)}"
        said.append(
            f"Judged without what it alone brought in, a system's {one.measure} changes by "
            f"{number(one.mean_change, 4)} on average, at worst by {signed(one.worst.delta, 4)} "
            f"({one.worst.run}, {_ranks(one.worst)}){tau}."
        )
    return said


def _ranks(change: Change) -> str:
    before, after = change.rank_before, change.rank_after
    return f"rank {before:,}" if before == after else f"rank {before:,} to {after:,}"


def _runs_listing(visit: Visit, found: dict[str, Any], labels: Sequence[str], by: str) -> Listing:
    place = list(labels).index(by) if by else None
    rows = []
    for run in found["runs"]:
        left = run["left_out"][place] if place is not None and run["left_out"] else None
        row = {name: run[name] for name in ("name", "pooled", "judged", "relevant", "unique", "unique_relevant")}
        rows.append(row | {"is_pooled": run["is_pooled"], "judged_at": run["judged_at"], "left_out": left})
    headings = [
        Heading("name", "System", lambda row: row["name"], is_figure=False),
        Heading("pooled", "In pool", lambda row: row["pooled"], about="documents that it has in the pool"),
        Heading("relevant", "Relevant", lambda row: row["relevant"]),
        Heading("unique", "Alone", lambda row: row["unique"], about="documents that no other system has in the pool"),
        Heading("unique_relevant", "Relevant alone", lambda row: row["unique_relevant"]),
        *(_judged_heading(i, found["depths"][i]) for i in shown_depths(found)),
    ]
    if by:
        headings += [
            _left_heading("delta", f"{by} without it", "how its value changes if what it alone brought in is unjudged"),
            _left_heading("rank_after", "Rank", "its rank then"),
            _left_heading("tau", "tau", "of all systems: the order with all judgments against the order with fewer"),
        ]
    return Listing(visit.asked, headings, rows, lambda row: row["name"], sort="-unique_relevant", per_page=50)


def shown_depths(found: dict[str, Any]) -> list[int]:
    """The places of the depths that the table tells of: the first page, the pool, and as far as systems go."""
    depths = found["depths"]
    wanted = {k for k in (10, found["depth"], depths[-1] if depths else 0) if k in depths}
    return [i for i, k in enumerate(depths) if k in wanted]


def _judged_heading(place: int, k: int) -> Heading:
    return Heading(f"judged@{k}", f"Judged@{k:,}", lambda row: row["judged_at"][place])


def _left_heading(name: str, title: str, about: str) -> Heading:
    return Heading(name, title, lambda row: None if row["left_out"] is None else row["left_out"][name], about=about)


def _topics_listing(visit: Visit, found: dict[str, Any]) -> Listing:
    rows = [topic | {"title": visit.title_of(topic["query"])} for topic in found["topics"]]
    headings = [
        Heading("query", "Topic", lambda row: row["query"], is_figure=False),
        Heading("pooled", "In pool", lambda row: row["pooled"]),
        Heading("pooled_unjudged", "Not judged", lambda row: row["pooled_unjudged"]),
        Heading("judged", "Judged", lambda row: row["judged"]),
        Heading("relevant", "Relevant", lambda row: row["relevant"]),
        Heading("share", "Share relevant", lambda row: row["share"]),
    ]
    return Listing(
        visit.asked,
        headings,
        rows,
        lambda row: f"{row['query']} {row['title']}",
        sort="query",
        per_page=50,
        prefix="topic_",
    )
