"""A pool as text and as JSON: its contents, the similarity of its runs, rankings without judgments, replays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
from cranfield.reporting.plots.theme import INK, LINE, VERMILLION, assign_colours
from cranfield.reporting.plots.vega_parts import flatten, inline_data, line_layers, nominal, quantitative, value_tooltip
from cranfield.tables import (
    Cell,
    Table,
    count_columns,
    dump_json,
    format_number,
    render_text,
    replace_controls,
    wrap_sentences,
)

WIDTH = 100  # of sentences
_STEPS = 44  # columns from a similarity of 1 to 0
_SHARES = (0.1, 0.25, 0.5, 0.75)  # of the judgments, at which strategies are compared


def as_text(overview: PoolOverview, file: str | None, width: int, styled: bool) -> str:
    """The pool, the similarity of its runs, and the other parts; notes at the end."""
    parts = [part for part in _list_parts(overview, file, width, styled) if part]
    remarks = [f"Warning: {text}" for text in overview.warnings] + list(overview.notes)
    if remarks:
        parts.append(_wrap(remarks, width))
    return "\n".join(parts)


def as_json(overview: PoolOverview, file: str | None = None) -> str:
    """All results."""
    content: dict[str, Any] = {}
    if overview.pool is not None:
        content |= _pool_record(overview.pool, file)
    if overview.similarity is not None:
        content["likeness"] = _similarity_record(overview.similarity)
    if overview.ranking is not None:
        content["votes"] = _ranking_record(overview.ranking)
    if overview.curves:
        content["replay"] = [_curve_record(curve, _common_judgments(overview.curves)) for curve in overview.curves]
    content |= {"warnings": overview.warnings, "notes": list(overview.notes)}
    return dump_json(content)


def _list_parts(overview: PoolOverview, file: str | None, width: int, styled: bool) -> Iterator[str]:
    if overview.pool is not None:
        first, *more = _headline(overview.pool, file)  # a path is not wrapped
        yield f"{replace_controls(first)}\n{_wrap(more, width)}"
        if len(overview.pool):
            yield render_text([_runs(overview.pool)], width, styled)
    if overview.pool is not None and overview.similarity is not None and _is_whole(overview.pool):
        yield _similarity_text(overview.similarity, width)
    if overview.ranking is not None:
        yield render_text([_ranking_table(overview.ranking)], width, styled)
        yield _wrap(_about(overview.ranking), width)
    if overview.curves:
        yield render_text([_curves(overview.curves)], width, styled)


def _wrap(texts: Iterable[str], width: int) -> str:
    return wrap_sentences(map(replace_controls, texts), min(width, WIDTH))


# The pool


def _is_whole(pool: Pool) -> bool:
    """Whether this is a complete pool, not the next part of one."""
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
    provenance = pool.provenance
    values = {name.replace("_", " "): _format_parameter(value) for name, value in provenance["parameters"].items()}
    parameters = ", ".join(f"{name} {value}" for name, value in values.items())
    strategy = provenance["strategy"]
    if strategy == COMPLETE:
        runs = ", ".join(run["name"] for run in provenance["runs"])
        yield f"Documents missing judgments for {runs} ({parameters})."
        return
    yield f"Strategy {strategy}: {find_strategy(strategy).title} ({parameters}; seed {provenance['seed']})."


def _format_parameter(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _runs(pool: Pool) -> Table:
    held, alone = pool.count_contributions()
    found = zip(pool.provenance["runs"], held.tolist(), alone.tolist(), strict=True)
    cells = tuple(
        (Cell(run["name"]), Cell(f"{run['topics']:,}"), Cell(f"{own:,}"), Cell(f"{only:,}")) for run, own, only in found
    )
    return Table("", ("Run", "Topics", "In the pool", "Unique"), cells)


def _pool_record(pool: Pool, file: str | None) -> dict[str, Any]:
    held, alone = pool.count_contributions()
    provenance = dict(pool.provenance)
    runs = zip(provenance.get("runs", ()), held.tolist(), alone.tolist(), strict=True)
    return {
        "file": file,
        "pool": pool.header,
        "strategy": provenance["strategy"],
        "parameters": provenance["parameters"],
        "seed": provenance["seed"],
        "documents": {query: len(docs) for query, docs in pool.pairs.items()},
        "runs": [{**run, "in_pool": own, "only_there": only} for run, own, only in runs],
    }


# Similarity of runs


def _similarity_text(similarity: RunSimilarity, width: int) -> str:
    """The dendrogram, or how to plot it if it is too wide."""
    tree = dendrogram(similarity)
    if max(map(count_columns, tree.splitlines())) > width:
        runs = pluralize(len(similarity.systems), "run")
        return _wrap([f"The dendrogram of {runs} is wider than the terminal; plot it with --dendrogram FILE."], width)
    return f"Similarity of the runs (rank-biased overlap, p = {RBO_P}, first {RBO_DEPTH}):\n{tree}"


def dendrogram(similarity: RunSimilarity) -> str:
    """The dendrogram in characters: the further left two branches meet, the more similar they are."""
    tree, names = _Tree(similarity), [replace_controls(system) for system in similarity.systems]
    widest = max(map(count_columns, names))
    columns = max(tree.column.values()) + 1
    grid = [[" "] * columns for _ in tree.leaves]
    for merge, node in zip(similarity.merges, range(len(similarity.systems), len(tree.row)), strict=True):
        _draw(grid, tree, node, (merge.left, merge.right))
    lines = [
        f"{names[leaf]}{' ' * (widest - count_columns(names[leaf]))} {''.join(line).rstrip()}"
        for leaf, line in zip(tree.leaves, grid, strict=True)
    ]
    marks = [" "] * (_STEPS + 3)
    for tenth in (10, 8, 6, 4, 2, 0):
        at = round((1 - tenth / 10) * _STEPS)
        marks[at : at + 3] = f"{tenth / 10:.1f}"
    return "\n".join([*lines, f"{' ' * widest} {''.join(marks).rstrip()}"]) + "\n"


class _Tree:
    """Positions of leaves and branches: rows from the top, columns from a similarity of 1."""

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
    """Draw a branch: a line from each child to where they meet, and one that joins the two."""
    at = tree.column[node]
    top, bottom = sorted(int(tree.row[child]) for child in children)
    for child in children:
        line = grid[int(tree.row[child])]
        for column in range(tree.column[child], at):
            if line[column] == " ":
                line[column] = "─"
    for row in range(top, bottom + 1):
        grid[row][at] = "┐" if row == top else "┘" if row == bottom else "│"
    if node != max(tree.row):  # the root has no parent
        middle = int(tree.row[node])
        grid[middle][at] = {"┐": "┬", "┘": "┴", "│": "├"}[grid[middle][at]]


def plot_dendrogram(similarity: RunSimilarity) -> Plot:
    """The dendrogram of systems, with the threshold of near-identical systems."""
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
    x = quantitative("x", "Rank-biased overlap", scale={"domain": [1, max(0.0, low - 0.05)], "nice": False})
    y = quantitative("y", None, axis=None, scale={"domain": [-0.5, systems - 0.5], "reverse": True, "nice": False})
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
                "data": inline_data([{"x": SIMILAR_RBO}]),
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": LINE},
                "encoding": {"x": x},
            },
            {
                "data": inline_data(lines),
                "mark": {"type": "rule", "strokeWidth": 2, "strokeCap": "square"},
                "encoding": {
                    **{"x": x, "x2": {"field": "x2"}, "y": y, "y2": {"field": "y2"}, "color": coloured},
                    "tooltip": [value_tooltip("v", "Rank-biased overlap", ".2f")],
                },
            },
            {
                "data": inline_data(leaves),
                "mark": {"type": "text", "align": "right", "dx": -8, "limit": 200},
                "encoding": {"x": {"value": 0}, "y": y, "text": nominal("s")},
            },
        ],
    }
    groups = [group for group in similarity.clusters() if len(group) > 1]
    title = (
        f"{sum(map(len, groups))} of {systems} runs are nearly identical to another"
        if groups
        else f"No two of {pluralize(systems, 'run')} are nearly identical"
    )
    subtitle = (
        f"Branches meet at the average similarity of their runs (p = {RBO_P}, first {RBO_DEPTH} documents, "
        f"{pluralize(int(similarity.topics.max(initial=0)), 'topic')}). Dashed: nearly equal from {SIMILAR_RBO:.2f}."
    )
    names = "; ".join(", ".join(similarity.systems[i] for i in group) for group in groups) or "none"
    alt = f"Tree of {pluralize(systems, 'run')} by rank-biased overlap. {title}. Nearly identical: {names}."
    return Plot.of(view, title, subtitle, alt, 560)


def _similarity_record(similarity: RunSimilarity) -> dict[str, Any]:
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


def _ranking_table(ranking: JudgmentFreeRanking) -> Table:
    found, truth = ranking.scores, ranking.ap
    cells = tuple(
        (
            Cell(found.systems[i]),
            Cell(format_number(float(found.counts[i]), 1)),
            Cell(format_number(float(found.pseudo[i]), 4)),
            *(() if truth is None else (Cell(format_number(float(truth[i]), 4)),)),
        )
        for i in found.ranking()
    )
    header = ("Run", "Votes", "Pseudo-AP", *(() if truth is None else ("AP",)))
    return Table("Without judgments: agreement with the other runs, not quality", header, cells)


def _about(ranking: JudgmentFreeRanking) -> Iterator[str]:
    found = ranking.scores
    yield (
        f"Votes: how often other runs retrieve a run's documents, per topic. Pseudo-AP: mean over {found.trials} "
        f"random sets of documents assumed relevant ({found.share:.0%} of the pool, spread {found.spread:.0%}). This "
        "measures agreement: runs that find what others miss are ranked too low."
    )
    if ranking.tau is not None:
        yield f"Kendall's tau with the ranking by judgments (AP): {ranking.tau:.2f}."


def _ranking_record(ranking: JudgmentFreeRanking) -> dict[str, Any]:
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


def _common_judgments(curves: Sequence[GainCurve]) -> int:
    """The number of judgments that all strategies reached."""
    return min(int(curve.judged[-1]) for curve in curves)


def _curves(curves: Sequence[GainCurve]) -> Table:
    most = _common_judgments(curves)
    shares = {curve.strategy: [curve.share_at(share * most) for share in _SHARES] for curve in curves}
    best = [max(own[i] for own in shares.values()) for i in range(len(_SHARES))]
    means = {curve.strategy: curve.mean_share(most) for curve in curves}
    cells = tuple(
        (
            Cell(strategy),
            *(Cell(f"{share:.1%}", best=share > best[i] - 1e-12) for i, share in enumerate(own)),
            Cell(format_number(means[strategy], 4), best=means[strategy] > max(means.values()) - 1e-12),
        )
        for strategy, own in shares.items()
    )
    header = ("Strategy", *(f"{share:.0%}" for share in _SHARES), "Mean")
    title = f"Relevant documents found with a share of {most:,} judgments ({curves[0].relevant:,} relevant in all)"
    return Table(title, header, cells)


_FEW = {"tickCount": 6}
_DRAWN = 0.75  # of the judgments; beyond, all strategies converge


def plot_curves(curves: Sequence[GainCurve]) -> Plot:
    """Relevant documents found against judgments, one line per strategy."""
    most = _common_judgments(curves)
    points, shown = 60, _DRAWN * most
    at = [shown * i / points for i in range(points + 1)]
    means = {curve.strategy: curve.mean_share(most) for curve in curves}
    ranked = sorted(means, key=lambda strategy: -means[strategy])
    lines = [
        {"s": c.strategy, "x": [round(j, 1) for j in at], "y": [round(c.share_at(j), 5) for j in at]} for c in curves
    ]
    x = quantitative("x", "Judgments, all topics together", scale={"domain": [0, shown], "nice": False}, axis=_FEW)
    y = quantitative("y", "Relevant documents found", scale={"domain": [0, 1]}, axis={"format": ".0%"})
    size = (460, 300)
    tooltip = [nominal("s", "Strategy"), value_tooltip("x", "Judgments", ",.0f"), value_tooltip("y", "Found", ".1%")]
    palette = assign_colours([curve.strategy for curve in curves])
    layers = line_layers(lines, flatten("x", "y"), (x, y), ranked, palette, size, tooltip)
    best, half = ranked[0], most / 2
    by_name = {curve.strategy: curve for curve in curves}
    title = f"With half of the judgments, {best} finds {by_name[best].share_at(half):.0%} of the relevant documents"
    if "depth" in by_name and best != "depth":
        title += f", depth order {by_name['depth'].share_at(half):.0%}"
    shares = ", ".join(f"{strategy} {by_name[strategy].share_at(half):.0%}" for strategy in ranked)
    subtitle = (
        f"Strategies replayed on {most:,} judgments, three quarters of them shown; "
        f"{curves[0].relevant:,} relevant documents in all."
    )
    alt = f"Relevant documents found against judgments for {len(curves)} strategies. At half: {shares}."
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
