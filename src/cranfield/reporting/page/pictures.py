"""The pictures of a report: every kind that the scores allow, in the order in which questions come up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from cranfield.base import Record
from cranfield.errors import CranfieldError
from cranfield.reporting.catalogue import compute_rank_weights
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Html, bullets, join_html, paragraphs, tag
from cranfield.reporting.page.leaderboard import system_dot
from cranfield.reporting.plots import PLOT_KINDS, find_plot
from cranfield.reporting.plots.plot import Plot

MEASURES = 6  # that have a panel in the picture of means
FEWEST = 3  # systems that are worth an average rank, or a correlation


class Picture(Record, eq=False):
    """A picture with the name of its kind; `has_systems` if it shows systems, of which some can be hidden."""

    kind: str
    plot: Plot
    title: str
    has_systems: bool = True

    @property
    def subtitle(self) -> str:
        heading = self.plot.spec["title"]
        return " ".join(heading.get("subtitle", ()))

    @property
    def spec(self) -> dict[str, Any]:
        """The specification less what the page has once for all, or in words of its own."""
        return {key: part for key, part in self.plot.spec.items() if key not in ("$schema", "title", "config")}


class DrawnPictures(Record):
    """All that could be drawn, and why others could not."""

    drawn: tuple[Picture, ...]
    missing: tuple[str, ...]


def draw_pictures(context: ReportContext) -> DrawnPictures:
    """Every kind of picture, drawn or with the reason why not."""
    drawn: list[Picture] = []
    missing = []
    for kind, draw in _ways(context).items():
        try:
            plot = draw()
        except CranfieldError as error:
            missing.append(f"{PLOT_KINDS[kind].rstrip('.')}: {error}")
            continue
        # two pictures may have the same finding: the second then says what it is
        title = PLOT_KINDS[kind].rstrip(".") if plot.title in (other.title for other in drawn) else plot.title
        drawn.append(Picture(kind, plot, title, kind not in ("correlation", "weights")))
    return DrawnPictures(tuple(drawn), tuple(missing))


def _ways(context: ReportContext) -> dict[str, Callable[[], Plot]]:
    """How each kind is drawn for these systems, from what is asked first to what is asked last."""
    scores, palette = context.scores, context.palette
    main, base = context.main_label, scores.runs[context.base].name
    several = len(context.systems) >= FEWEST

    def plot(kind: str, *given: Any, **more: Any) -> Callable[[], Plot]:
        return lambda: find_plot(kind)(*given, **more)

    ways = {
        "means": plot("means", scores, measures=_panels(context), palette=palette),
        "differences": plot("differences", scores, main, base, palette=palette),
        "scatter": plot("scatter", scores, main, base, palette=palette),
        "heatmap": plot("heatmap", scores, main, palette=palette),
        "boxes": plot("boxes", scores, main, palette=palette),
        "precision-recall": plot("precision-recall", scores, palette=palette),
        "cutoffs": plot("cutoffs", scores, palette=palette),
        "plane": plot("plane", scores, palette=palette),
        "critical-difference": plot("critical-difference", scores, main, context.alpha, palette=palette),
        "correlation": plot("correlation", scores, palette=palette),
        "gain": plot("gain", scores, _dividing_query(context), palette=palette),
        "weights": plot("weights", _weighted(context)),
    }
    alone = len(context.systems) == 1
    left_out = {"critical-difference", "correlation"} if not several else set()
    left_out |= {"differences", "scatter"} if alone else set()
    return {kind: way for kind, way in ways.items() if kind not in left_out}


def _panels(context: ReportContext) -> list[str]:
    """The measures of the picture of means, the main one first."""
    scores = context.scores
    others = [
        scores.labels[i]
        for i in context.rows
        if scores.measures[i].aggregate == "mean" and scores.measures[i].is_quality and i != context.main.place
    ]
    return [context.main_label, *others][:MEASURES]


def _weighted(context: ReportContext) -> list[str] | None:
    """The measures asked for whose ranks have weights, or the usual ones if they are too few to compare."""
    own = [
        str(one)
        for one in context.scores.measures
        if one.aggregate == "mean" and compute_rank_weights(one, 20) is not None
    ]
    return list(dict.fromkeys(own)) if len(own) > 1 else None


def _dividing_query(context: ReportContext) -> str:
    """The query with something to gain on which systems differ most."""
    values, judged = context.main.values, context.judged(0)
    relevant = dict(zip(judged.queries, judged.count_relevant(context.rel).tolist(), strict=True))
    spread = values.max(axis=0) - values.min(axis=0)
    queries = context.scores.queries
    known = [j for j in range(len(queries)) if spread[j] == spread[j]] or list(range(len(queries)))
    return queries[max(known, key=lambda j: (bool(relevant.get(queries[j])), float(spread[j])))]


# On the page


def figures_section(found: DrawnPictures) -> Html:
    """A place for each picture, with its title, its remark and a sentence for those who cannot see it."""
    parts = [render_figure(picture) for picture in found.drawn]
    if found.missing:
        parts += [paragraphs(["Not drawn:"]), bullets(found.missing)]
    return join_html(parts, "\n")


def render_figure(picture: Picture) -> Html:
    """The place of one picture."""
    kind, plot = picture.kind, picture.plot
    # the sentence is there for everybody until the picture is, and for screen readers ever after
    place = tag("div", paragraphs([plot.alt]), class_="plot", id=f"plot-{kind}", data_kind=kind)
    about = tag("p", picture.subtitle, class_="quiet") if picture.subtitle else None
    save = tag("p", class_="save", data_save=kind)
    return tag(
        "figure",
        tag("figcaption", tag("h3", picture.title), about),
        tag("div", place, class_="scroll", tabindex=0, role="img", aria_label=plot.alt),
        save,
        id=f"figure-{kind}",
        data_systems="" if picture.has_systems else None,
    )


def system_filter(context: ReportContext) -> Html:
    """Which systems pictures show; nothing to choose with a single one."""
    if len(context.systems) < 2:
        return Html("")
    boxes = [_box(context, i) for i in context.ranked]
    many = len(context.systems)
    buttons: list[tuple[str, str]] = [("all", "All"), ("none", "None")]
    buttons += [("5", "Best 5")] if many > 7 else []
    buttons += [("10", "Best 10")] if many > 14 else []
    row = [tag("button", text, type="button", data_pick=which) for which, text in buttons]
    find = tag("input", type="search", id="find-system", placeholder="part of a name", autocomplete="off")
    search = tag("label", "Find ", find, for_="find-system") if many > 12 else None
    return tag(
        "details",
        tag("summary", "Systems in the pictures: ", tag("span", f"all {many}", id="picked")),
        tag("div", *row, search, class_="row"),
        tag("div", *boxes, class_="boxes", role="group", aria_label="Systems in the pictures"),
        tag("p", "Titles and remarks speak of all systems, whichever are shown.", class_="quiet"),
        id="systems",
        hidden=True,
    )


def _box(context: ReportContext, i: int) -> Html:
    name = context.systems[i]
    return tag("label", tag("input", type="checkbox", checked=True, value=name), system_dot(context, i), name)


def list_colours(context: ReportContext) -> Iterator[tuple[str, str, list[int], str]]:
    """Each system with its colour, dash and marker."""
    for name in context.systems:
        style = context.palette[name]
        yield name, style.colour, list(style.dash), style.shape
