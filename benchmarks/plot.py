"""The times as a picture: a panel for each workload with a bar for each tool, as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from benchmarks.results import DICTS, FILES, MANY, US, Row, in_unit, times, unit_of
from benchmarks.workloads import WORKLOADS

# Okabe–Ito; sky blue and purple darkened to stand out from white
COLOURS = {
    US: "#0072b2",
    "pytrec_eval": "#d55e00",
    "ir_measures": "#009e73",
    "ranx": "#b65d8f",
    "trec_eval": "#3a8fc0",
}
COLUMNS = ("From a file, in a fresh process", (FILES, MANY)), ("From dicts, in a warm process", (DICTS,))
WIDTH, MARGIN, COLUMN = 768, 16, 384
NAMES, BARS = 92, 136  # where the bars begin in a column, and how long the longest is
HEAD, TITLE, LINE, GAP = 84, 24, 20, 20
STYLE = """
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "Liberation Sans", sans-serif;
  fill: #1c1e21; font-variant-numeric: tabular-nums; }
.title { font-size: 15px; font-weight: 600; }
.head, .ours { font-weight: 600; }
.quiet { fill: #5b6168; }
.ground { fill: #ffffff; }
line { stroke: #d9dce0; }
@media (prefers-color-scheme: dark) {
  text { fill: #e3e5e8; }
  .quiet { fill: #9fa6ad; }
  .ground { fill: #16181b; }
  line { stroke: #3a3f45; }
}
"""


def svg(rows: Sequence[Row]) -> str:
    """The picture of the tools that take part; other rows are left out."""
    parts, bottoms = [], []
    for i, (heading, groups) in enumerate(COLUMNS):
        x, y = MARGIN + i * COLUMN, HEAD
        parts.append(_text(x, HEAD - 20, heading, "head"))
        for panel in _panels(rows, groups):
            parts += _panel(panel, x, y)
            y += TITLE + LINE * len(panel) + GAP
        bottoms.append(y)
    height = max(bottoms)
    title = finding(rows)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
            ' role="img" aria-labelledby="title">',
            f'<title id="title">{escape(title)}</title>',
            f"<style>{STYLE}</style>",
            f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
            _text(MARGIN, 28, title, "title"),
            *parts,
            "</svg>\n",
        ]
    )


def finding(rows: Sequence[Row]) -> str:
    """What the picture shows, in a sentence."""
    files, dicts = _range(rows, (FILES, MANY)), _range(rows, (DICTS,))
    return f"pytrec_eval takes {files} as long as cranfield from files, {dicts} from dicts"


def _range(rows: Sequence[Row], groups: Sequence[str]) -> str:
    of_peer = [(row, _ours(panel)) for panel in _panels(rows, groups) for row in panel if row.tool == "pytrec_eval"]
    ratios = [peer.median / ours.median for peer, ours in of_peer]
    return f"{times(min(ratios))[:-1]}–{times(max(ratios))}" if ratios else "–"


def _panels(rows: Sequence[Row], groups: Sequence[str]) -> Iterator[list[Row]]:
    """The rows of each workload, ours first."""
    inside = [row for row in rows if row.group in groups and row.tool in COLOURS]
    for workload in dict.fromkeys(row.workload for row in inside):
        yield [row for row in inside if row.workload == workload]


def _ours(panel: Sequence[Row]) -> Row:
    return next(row for row in panel if row.tool == US)


def _panel(panel: Sequence[Row], x: int, y: int) -> Iterator[str]:
    """Bars from zero, the slowest tool's as long as there is room."""
    workload = WORKLOADS[panel[0].workload]
    yield _text(x, y + 12, f"{workload.name}: {workload.about}", "quiet")
    unit, slowest, ours = unit_of(panel), max(row.median for row in panel), _ours(panel).median
    for i, row in enumerate(panel):
        top, length = y + TITLE + LINE * i, max(1.0, BARS * row.median / slowest)
        kind = "ours" if row.tool == US else ""
        yield _text(x, top + 11, row.tool, kind)
        yield f'<rect x="{x + NAMES}" y="{top}" width="{length:.1f}" height="14" fill="{COLOURS[row.tool]}"/>'
        label = f"{in_unit(row.median, unit)} {unit}" + ("" if row.tool == US else f" · {times(row.median / ours)}")
        yield _text(x + NAMES + length + 6, top + 11, label, kind)
    yield (
        f'<line x1="{x + NAMES - 0.5}" x2="{x + NAMES - 0.5}"'
        f' y1="{y + TITLE - 3}" y2="{y + TITLE + LINE * len(panel) - 3}"/>'
    )


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    of_class = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{of_class}>{escape(text)}</text>'
