"""One look for all pictures: colours that everybody can tell apart, type, axes, and what changes in the dark."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from cranfield.base import Record
from cranfield.errors import CranfieldError

INK, QUIET, LINE, GRID, GROUND = "#1c1e21", "#5b6168", "#9aa0a6", "#e6e8eb", "#ffffff"
# Okabe & Ito, Color Universal Design, 2008. Their orange, sky blue and yellow are too light for thin marks on white:
# here they are as dark as 3:1 asks for, and yellow darker still, since it would else be orange to many.
BLACK, BLUE, VERMILLION, GREEN = "#000000", "#0072b2", "#d55e00", "#009e73"
PURPLE, SKY, ORANGE, YELLOW = "#cc79a7", "#3e9bd6", "#c78700", "#665e00"
# the first six are told apart by everybody; orange and vermillion are near for some, so that markers differ as well
COLOURS = (BLACK, BLUE, VERMILLION, GREEN, PURPLE, SKY, ORANGE, YELLOW)
DASHES: tuple[tuple[int, ...], ...] = (
    (1, 0),
    (6, 3),
    (2, 2),
    (10, 3, 2, 3),
    (12, 4),
    (1, 4),
    (8, 2, 2, 2, 2, 2),
    (4, 6),
)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-left", "triangle-right")
# text on a shade stays as it is in the dark, as the shade does
ON_LIGHT, ON_DARK = "#1d1f22", "#fefefe"
BETTER, WORSE, SAME = BLUE, ORANGE, QUIET
GRADES = ("#deebf7", "#08306b")  # one hue from light to dark
UNJUDGED = "#9aa0a6"
RAMP = "ramp"  # the name of what is drawn in shades, and its beginning
DIVERGING = (ORANGE, "#ffffff", BLUE)
# metrics of these are the same, so that text is as wide everywhere as where it was laid out
FONT = "Helvetica, Arial, 'Liberation Sans', Arimo, sans-serif"
DIRECT = 6  # lines that are labelled where they end; more have a legend
WIDTH = 520

CONFIG: dict[str, Any] = {
    # a picture has one alternative text; a label for each of thousands of marks would drown it
    "aria": False,
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "domainColor": LINE,
        "tickColor": LINE,
        "gridColor": GRID,
        "labelLimit": 200,
    },
    "legend": {
        "labelColor": INK,
        "labelFontSize": 12,
        "titleColor": INK,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "symbolLimit": 0,
        "symbolStrokeWidth": 2,
        "labelLimit": 200,
    },
    "header": {"labelColor": INK, "labelFontSize": 12, "labelFontWeight": "bold", "labelLimit": 200, "title": None},
    "title": {
        "anchor": "start",
        "color": INK,
        "fontSize": 15,
        "fontWeight": "bold",
        "lineHeight": 19,
        "subtitleColor": QUIET,
        "subtitleFontSize": 12,
        "subtitleLineHeight": 16,
        "subtitlePadding": 6,
        "offset": 14,
    },
    "text": {"color": INK, "fontSize": 12},
    "rule": {"color": LINE},
    "line": {"strokeWidth": 2, "strokeJoin": "round"},
}

# in the dark: what is ink becomes light, ground dark, and the three darkened colours what they were
_IN_THE_DARK = {
    INK: "#e3e5e8",
    BLACK: "#e3e5e8",
    QUIET: "#9fa6ad",
    LINE: "#6b7178",
    GRID: "#2d3136",
    GROUND: "#16181b",
    BLUE: "#3b9bd9",
    SKY: "#8fd0f5",
    ORANGE: "#e69f00",
    YELLOW: "#f0e442",
}
# what is strongest must stand out from a dark ground too: shades are turned round, and keep their hue
_SHADES = ", ".join(
    f"svg.marks {part}"
    for part in (
        f'[class*=" {RAMP}"].role-mark:not(.mark-group)',
        ".role-legend-gradient",
        f".{RAMP}_group .role-legend-symbol",
    )
)
DARK = "@media screen and (prefers-color-scheme: dark) {{ svg.marks {{ {ground} }} {rules} {shades} }}".format(
    ground=f"background-color: {_IN_THE_DARK[GROUND]} !important",
    shades=f"{_SHADES} {{ filter: invert(1) hue-rotate(180deg) }}",
    rules=" ".join(
        f'svg.marks [{paint}="{light}"] {{ {paint}: {dark} }}'
        for light, dark in _IN_THE_DARK.items()
        for paint in ("fill", "stroke")
    ),
)


class Style(Record):
    """How a system is drawn."""

    colour: str
    dash: tuple[int, ...]
    shape: str


class Palette(Record):
    """The colour, dash and marker of each system, the same in all pictures that are given the same palette.

    >>> palette = Palette(("bm25", "lm"))
    >>> palette["lm"].colour
    '#0072b2'
    """

    systems: tuple[str, ...]

    def __getitem__(self, system: str) -> Style:
        if system not in self.systems:
            raise CranfieldError(f"the palette has no colour for {system!r}: it is for {', '.join(self.systems)}.")
        i = self.systems.index(system)
        turn, colour = divmod(i, len(COLOURS))
        return Style(COLOURS[colour], DASHES[turn % len(DASHES)], SHAPES[(colour + turn) % len(SHAPES)])

    def channels(self, systems: Sequence[str], *, lines: bool, legend: dict[str, Any] | None) -> dict[str, Any]:
        """The encoding of systems by colour, and by dash if they are lines, else by marker."""
        styles = [self[system] for system in systems]
        other = [list(style.dash) if lines else style.shape for style in styles]
        coloured = self.colour(systems) | {"legend": legend}
        scale = {"domain": list(systems), "range": other}
        return {"color": coloured, "strokeDash" if lines else "shape": coloured | {"scale": scale}}

    def colour(self, systems: Sequence[str]) -> dict[str, Any]:
        """The encoding of systems by colour only, in a layer that has no say about the legend."""
        scale = {"domain": list(systems), "range": [self[system].colour for system in systems]}
        return {"field": "s", "type": "nominal", "title": None, "scale": scale}


def assign_colours(systems: Iterable[str]) -> Palette:
    """A palette for these systems, in this order."""
    return Palette(tuple(systems))


def make_legend(systems: Sequence[str], width: int, lines: bool = True) -> dict[str, Any]:
    """A legend beside the picture, or in columns below it if it is long."""
    sample: dict[str, Any] = (
        {"symbolType": "stroke", "symbolSize": 400} if lines else {"symbolOpacity": 1, "offset": 48}
    )
    if len(systems) <= 16:
        return {"orient": "right", "columns": 1} | sample
    widest = min(200, max(len(system) for system in systems) * 7) + 40
    return {"orient": "bottom", "columns": max(1, (width + 120) // widest), "columnPadding": 12} | sample


def wrap_title(text: str, width: int, size: int = 12) -> list[str]:
    """A text in lines that fit above a picture.

    >>> wrap_title("lm is better than bm25 on 12 of 20 topics", 160)
    ['lm is better than bm25 on', '12 of 20 topics']
    """
    letters = max(20, round(width / (size * 0.52)))
    return textwrap.wrap(text, letters, break_on_hyphens=False) or [""]
