"""A pool as text and as JSON: what is in it, how alike its runs are, and what was asked of it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from cranfield.base import pluralize
from cranfield.pooling import (
    COMPLETE,
    RBO_DEPTH,
    RBO_P,
    SIMILAR_RBO,
    GainCurve,
    JudgmentFreeRanking,
    Pool,
    PoolOverview,
    RunSimilarity,
    find_strategy,
)
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.theme import INK, LINE, VERMILLION, colours
from cranfield.reporting.plots.vega_parts import line_layers, name, quantity, rows, unfolded, value
from cranfield.tables import Cell, Table, dumped, number, render

WIDTH = 100  # of sentences
_STEPS = 44  # columns from a likeness of 1 to 0
_SHARES = (0.1, 0.25, 0.5, 0.75)  # of the judgments, at which strategies are compared


def as_text(told: PoolOverview, file: str | None, width: int, styled: bool) -> str:
    """The pool first, then how alike the runs are, then what else was asked for; notes at the end."""
    parts = [part for part in _parts(told, file, width, styled) if part]
    remarks = [f"Warning: {text}" for text in told.warnings] + list(told.notes)
    if remarks:
        parts.append("".join(f"{line}\n" for text in remarks for line in _wrapped(text, width)))
    return "\n".join(parts)


def as_json(told: PoolOverview, file: str | None = None) -> str:
    """Everything, for programs."""
    content: dict[str, Any] = {}
    if told.pool is not None:
        content |= _pool_record(told.pool, file)
    if told.similarity is not None:
        content["likeness"] = _likeness_record(told.similarity)
    if told.ranking is not None:
        content["votes"] = _guess_record(told.ranking)
    if told.curves:
        content["replay"] = [_curve_record(curve, _shared(told.curves)) for curve in told.curves]
    content |= {"warnings": told.warnings, "notes": list(told.notes)}
    return dumped(content)


def _parts(told: PoolOverview, file: str | None, width: int, styled: bool) -> Iterator[str]:
    if told.pool is not None:
        first, *more = _headline(told.pool, file)  # a path is not broken into lines
        yield "".join(
            f"{line}\n" for line in (_printable(first), *(line for text in more for line in _wrapped(text, width)))
        )
        if len(told.pool):
            yield render.terminal([_runs(told.pool)], width, styled)
    if told.pool is not None and told.similarity is not None and _is_whole(told.pool):
        yield _alike(told.similarity, width)
    if told.ranking is not None:
        yield render.terminal([_guess(told.ranking)], width, styled)
        yield "".join(f"{line}\n" for text in _about(told.ranking) for line in _wrapped(text, width))
    if told.curves:
        yield render.terminal([_curves(told.curves)], width, styled)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(_printable(text), min(width, WIDTH), break_on_hyphens=False)


def _printable(text: str) -> str:
    """Text without the characters that would steer a terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "\N{REPLACEMENT CHARACTER}", text)


# The pool


def _is_whole(pool: Pool) -> bool:
    """Whether this is a pool of its own, and not the next part of one."""
    strategy = pool.provenance["strategy"]
    return strategy != COMPLETE and find_strategy(strategy).kind != "adaptive"


def _headline(pool: Pool, file: str | None) -> Iterator[str]:
    where = f"{file}: " if file else ""
    sizes = [len(docs) for docs in pool.pairs.values()]
    if not sizes:
        yield f"{where}nothing to judge."
        return
    span = f"{min(sizes):,} to {max(sizes):,} each" if min(sizes) < max(sizes) else f"{sizes[0]:,} each"
    of = f"{pluralize(len(pool), 'document')} to judge for {pluralize(len(sizes), 'topic')}"
    yield f"{where}{of} ({span})."
    told = pool.provenance
    given = ", ".join(f"{key.replace('_', ' ')} {_plain(value)}" for key, value in told["parameters"].items())
    if told["strategy"] == COMPLETE:
        yield f"What is missing to judge {', '.join(run['name'] for run in told['runs'])} ({given})."
        return
    yield f"Strategy {told['strategy']}: {find_strategy(told['strategy']).title} ({given}; seed {told['seed']})."


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _runs(pool: Pool) -> Table:
    held, alone = pool.count_contributions()
    found = zip(pool.provenance["runs"], held.tolist(), alone.tolist(), strict=True)
    cells = tuple(
        (Cell(run["name"]), Cell(f"{run['topics']:,}"), Cell(f"{own:,}"), Cell(f"{only:,}")) for run, own, only in found
    )
    return Table("", ("Run", "Topics", "In the pool", "Only there"), cells)


def _pool_record(pool: Pool, file: str | None) -> dict[str, Any]:
    held, alone = pool.count_contributions()
    told = dict(pool.provenance)
    runs = zip(told.get("runs", ()), held.tolist(), alone.tolist(), strict=True)
    return {
        "file": file,
        "pool": pool.header,
        "strategy": told["strategy"],
        "parameters": told["parameters"],
        "seed": told["seed"],
        "documents": {query: len(docs) for query, docs in pool.pairs.items()},
        "runs": [{**run, "in_pool": own, "only_there": only} for run, own, only in runs],
    }


# How alike the runs are


def _alike(similarity: RunSimilarity, width: int) -> str:
    """The tree, or where to see it if it is too wide."""
    tree = dendrogram(similarity)
    if max(map(render.columns, tree.splitlines())) > width:
        runs = pluralize(len(similarity.systems), "run")
        told = f"The tree of {runs} is wider than the terminal: --dendrogram FILE draws it."
        return "".join(f"{line}\n" for line in _wrapped(told, width))
    return f"How alike the runs are (rank-biased overlap, p = {RBO_P}, first {RBO_DEPTH}):\n{tree}"


def dendrogram(similarity: RunSimilarity) -> str:
    """The tree of systems in characters: the further to the left two branches meet, the more alike they are."""
    tree, names = _Tree(similarity), [_printable(system) for system in similarity.systems]
    widest = max(map(render.columns, names))
    columns = max(tree.column.values()) + 1
    grid = [[" "] * columns for _ in tree.leaves]
    for merge, node in zip(similarity.merges, range(len(similarity.systems), len(tree.row)), strict=True):
        _draw(grid, tree, node, (merge.left, merge.right))
    lines = [
        f"{names[leaf]}{' ' * (widest - render.columns(names[leaf]))} {''.join(line).rstrip()}"
        for leaf, line in zip(tree.leaves, grid, strict=True)
    ]
    marks = [" "] * (_STEPS + 3)
    for tenth in (10, 8, 6, 4, 2, 0):
        at = round((1 - tenth / 10) * _STEPS)
        marks[at : at + 3] = f"{tenth / 10:.1f}"
    return "\n".join([*lines, f"{' ' * widest} {''.join(marks).rstrip()}"]) + "\n"


class _Tree:
    """Where leaves and branches stand: rows from the top, columns from a likeness of 1."""

    def __init__(self, similarity: RunSimilarity) -> None:
        systems = len(similarity.systems)
        parts = {i: [i] for i in range(systems)}
        for i, merge in enumerate(similarity.merges):
            left, right = parts.pop(merge.left), parts.pop(merge.right)
            parts[systems + i] = left + right if min(left) < min(right) else right + left
        self.leaves = next(iter(parts.values()))
        self.row: dict[int, float] = {leaf: float(i) for i, leaf in enumerate(self.leaves)}
        self.column = dict.fromkeys(range(systems), 0)
        for i, merge in enumerate(similarity.merges):
            self.row[systems + i] = (self.row[merge.left] + self.row[merge.right]) / 2
            least = max(self.column[merge.left], self.column[merge.right]) + 1
            self.column[systems + i] = max(round((1 - merge.similarity) * _STEPS), least)


def _draw(grid: list[list[str]], tree: _Tree, node: int, children: tuple[int, int]) -> None:
    """A branch: a line from each child to where they meet, and one that joins the two."""
    at = tree.column[node]
    top, bottom = sorted(int(tree.row[child]) for child in children)
    for child in children:
        line = grid[int(tree.row[child])]
        for column in range(tree.column[child], at):
            if line[column] == " ":
                line[column] = "─"
    for row in range(top, bottom + 1):
        grid[row][at] = "┐" if row == top else "┘" if row == bottom else "│"
    if node != max(tree.row):  # the last one goes on to nowhere
        middle = int(tree.row[node])
        grid[middle][at] = {"┐": "┬", "┘": "┴", "│": "├"}[grid[middle][at]]


def dendrogram_plot(similarity: RunSimilarity) -> Plot:
    """The tree of systems as a picture, with the line from which systems count as alike."""
    tree = _Tree(similarity)
    systems = len(similarity.systems)
    place = {
        **dict.fromkeys(range(systems), 1.0),
        **{systems + i: m.similarity for i, m in enumerate(similarity.merges)},
    }
    lines = []
    for i, merge in enumerate(similarity.merges):
        own, near = place[systems + i], merge.similarity >= SIMILAR_RBO
        lines += [
            {"x": place[child], "x2": own, "y": tree.row[child], "y2": tree.row[child], "a": near, "v": own}
            for child in (merge.left, merge.right)
        ]
        first, last = sorted((tree.row[merge.left], tree.row[merge.right]))
        lines.append({"x": own, "x2": own, "y": first, "y2": last, "a": near, "v": own})
    low = min([*(m.similarity for m in similarity.merges), SIMILAR_RBO - 0.1])
    x = quantity("x", "Rank-biased overlap", scale={"domain": [1, max(0.0, low - 0.05)], "nice": False})
    y = quantity("y", None, axis=None, scale={"domain": [-0.5, systems - 0.5], "reverse": True, "nice": False})
    coloured = {
        "field": "a",
        "type": "nominal",
        "legend": None,
        "scale": {"domain": [True, False], "range": [VERMILLION, INK]},
    }
    leaves = [{"y": tree.row[leaf], "s": similarity.systems[leaf]} for leaf in tree.leaves]
    view = {
        "width": 420,
        "height": max(60, 22 * systems),
        "layer": [
            {
                "data": rows([{"x": SIMILAR_RBO}]),
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": LINE},
                "encoding": {"x": x},
            },
            {
                "data": rows(lines),
                "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "square"},
                "encoding": {
                    **{"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}, "color": coloured},
                    "tooltip": [value("v", "Rank-biased overlap", ".2f")],
                },
            },
            {
                "data": rows(leaves),
                "mark": {"type": "text", "align": "right", "dx": -8, "limit": 200},
                "encoding": {"x": {"value": 0}, "y": y, "text": name("s")},
            },
        ],
    }
    groups = [group for group in similarity.clusters() if len(group) > 1]
    title = (
        f"{sum(map(len, groups))} of {systems} runs are nearly the same as another"
        if groups
        else f"No two of {pluralize(systems, 'run')} are nearly the same"
    )
    subtitle = (
        f"Where branches meet is how alike runs are on average (p = {RBO_P}, first {RBO_DEPTH} documents, "
        f"{pluralize(int(similarity.topics.max(initial=0)), 'topic')}). Dashed: alike from {SIMILAR_RBO:.2f} on."
    )
    told = "; ".join(", ".join(similarity.systems[i] for i in group) for group in groups) or "none"
    alt = f"Tree of {pluralize(systems, 'run')} by rank-biased overlap. {title}. Alike: {told}."
    return Plot.of(view, title, subtitle, alt, 560)


def _likeness_record(similarity: RunSimilarity) -> dict[str, Any]:
    return {
        "systems": list(similarity.systems),
        "rbo": similarity.rbo.round(6).tolist(),
        "overlap": similarity.overlap.round(6).tolist(),
        "p": RBO_P,
        "top": RBO_DEPTH,
        "depth": similarity.depth,
        "alike_from": SIMILAR_RBO,
        "clusters": [[similarity.systems[i] for i in group] for group in similarity.clusters()],
        "merges": [{"left": m.left, "right": m.right, "rbo": round(m.similarity, 6)} for m in similarity.merges],
    }


# Systems ranked without judgments


def _guess(ranking: JudgmentFreeRanking) -> Table:
    found, truth = ranking.scores, ranking.ap
    cells = tuple(
        (
            Cell(found.systems[i]),
            Cell(number(float(found.counts[i]), 1)),
            Cell(number(float(found.pseudo[i]), 4)),
            *(() if truth is None else (Cell(number(float(truth[i]), 4)),)),
        )
        for i in found.ranking()
    )
    header = ("Run", "Votes", "Pseudo-AP", *(() if truth is None else ("AP",)))
    return Table("Without judgments: who is usual, not who is good", header, cells)


def _about(ranking: JudgmentFreeRanking) -> Iterator[str]:
    found = ranking.scores
    yield (
        f"Votes: how often other runs have a run's documents, a topic. Pseudo-AP: mean over {found.trials} draws of "
        f"documents taken for relevant ({found.share:.0%} of the pool, spread {found.spread:.0%}). A guess from "
        "agreement: runs that find what others miss are ranked too low."
    )
    if ranking.tau is not None:
        yield f"Kendall's tau with the ranking by judgments (AP): {ranking.tau:.2f}."


def _guess_record(ranking: JudgmentFreeRanking) -> dict[str, Any]:
    found = ranking.scores
    truth = [None] * len(found.systems) if ranking.ap is None else ranking.ap.tolist()
    return {
        "about": "a guess from agreement, without judgments",
        "trials": found.trials,
        "share": found.share,
        "spread": found.spread,
        "tau": ranking.tau,
        "systems": [
            {
                "name": found.systems[i],
                "votes": float(found.counts[i]),
                "pseudo_ap": float(found.pseudo[i]),
                "standard_error": float(found.error[i]),
                "ap": truth[i],
            }
            for i in found.ranking()
        ],
    }


# Strategies replayed


def _shared(curves: Sequence[GainCurve]) -> int:
    """The judgments that all strategies got to make."""
    return min(int(curve.judged[-1]) for curve in curves)


def _curves(curves: Sequence[GainCurve]) -> Table:
    most = _shared(curves)
    shares = {curve.strategy: [curve.share_at(share * most) for share in _SHARES] for curve in curves}
    best = [max(own[i] for own in shares.values()) for i in range(len(_SHARES))]
    means = {curve.strategy: curve.mean_share(most) for curve in curves}
    cells = tuple(
        (
            Cell(strategy),
            *(Cell(f"{share:.1%}", best=share > best[i] - 1e-12) for i, share in enumerate(own)),
            Cell(number(means[strategy], 4), best=means[strategy] > max(means.values()) - 1e-12),
        )
        for strategy, own in shares.items()
    )
    header = ("Strategy", *(f"{share:.0%}" for share in _SHARES), "Mean")
    title = f"Relevant documents found with a share of {most:,} judgments ({curves[0].relevant:,} to be found)"
    return Table(title, header, cells)


_FEW = {"tickCount": 6}
_DRAWN = 0.75  # of the judgments; beyond, all strategies come together


def curves_plot(curves: Sequence[GainCurve]) -> Plot:
    """Relevant documents found against judgments, a line for each strategy."""
    most = _shared(curves)
    points, shown = 60, _DRAWN * most
    at = [shown * i / points for i in range(points + 1)]
    means = {curve.strategy: curve.mean_share(most) for curve in curves}
    ranked = sorted(means, key=lambda strategy: -means[strategy])
    lines = [
        {"s": c.strategy, "x": [round(j, 1) for j in at], "y": [round(c.share_at(j), 5) for j in at]} for c in curves
    ]
    x = quantity("x", "Judgments, all topics together", scale={"domain": [0, shown], "nice": False}, axis=_FEW)
    y = quantity("y", "Relevant documents found", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    size = (460, 300)
    tooltip = [name("s", "Strategy"), value("x", "Judgments", ",.0f"), value("y", "Found", ".1%")]
    palette = colours([curve.strategy for curve in curves])
    layers = line_layers(lines, unfolded("x", "y"), (x, y), ranked, palette, size, tooltip)
    best, half = ranked[0], most / 2
    by_name = {curve.strategy: curve for curve in curves}
    title = f"With half of the judgments {best} finds {by_name[best].share_at(half):.0%} of what is relevant"
    if "depth" in by_name and best != "depth":
        title += f", depth order {by_name['depth'].share_at(half):.0%}"
    told = ", ".join(f"{strategy} {by_name[strategy].share_at(half):.0%}" for strategy in ranked)
    subtitle = (
        f"Strategies replayed on {most:,} judgments, of which three quarters are shown; "
        f"{curves[0].relevant:,} relevant documents are to be found."
    )
    alt = f"Relevant documents found against judgments for {len(curves)} strategies. At half: {told}."
    view = {"width": size[0], "height": size[1], "layer": layers}
    return Plot.of(view, title, subtitle, alt, 560)


def _curve_record(curve: GainCurve, most: int) -> dict[str, Any]:
    return {
        "strategy": curve.strategy,
        "judged": curve.judged.tolist(),
        "found": curve.found.tolist(),
        "relevant": curve.relevant,
        "mean_share": curve.mean_share(most),
    }
