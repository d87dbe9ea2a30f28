"""One page about an evaluation, in a file that opens offline: the answer on top, what it is made of below."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from cranfield.base import GRADE_WORDS, Record, join_names, pluralize, replace
from cranfield.data import Document, Run, Topic
from cranfield.errors import MissingExtra
from cranfield.evaluation import Scores
from cranfield.io import expand_path, open_output, read_documents, read_topics
from cranfield.reporting.costs import Costs, read_costs
from cranfield.reporting.page import explorer as topics_page
from cranfield.reporting.page import provenance
from cranfield.reporting.page.comparisons import comparison_section
from cranfield.reporting.page.context import ReportContext, list_baselines
from cranfield.reporting.page.efficiency import draw_front, efficiency_section
from cranfield.reporting.page.efficiency import summarize_costs as costs_summary
from cranfield.reporting.page.explorer import Explorer
from cranfield.reporting.page.html import Content, Html, escape, join_html, paragraphs, tag
from cranfield.reporting.page.leaderboard import leaderboard_section
from cranfield.reporting.page.pictures import Picture, draw_pictures, figures_section, list_colours, system_filter
from cranfield.reporting.page.summary import make_heading, make_title, summarize
from cranfield.reporting.page.ties import ties_section
from cranfield.reporting.page.unjudged import MeanBounds, can_be_bounded, compute_bounds, unjudged_section
from cranfield.reporting.plots.plot import escape_script, load_vega, require_plot_format
from cranfield.reporting.plots.theme import CONFIG, DARK
from cranfield.validation import CheckedFile

__all__ = ["Report", "report"]

# nothing may be loaded, from anywhere; the pictures are drawn without making code of expressions
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; "
    "base-uri 'none'; form-action 'none'"
)


class Report(Record):
    """A page, complete in itself."""

    title: str
    html: str

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page; `-` is standard output."""
        with open_output(path) as out:
            out.write(self.html.encode())

    def __str__(self) -> str:
        return self.title


def report(
    scores: Scores,
    baseline: str | Sequence[str] | None = None,
    *,
    topics: str | os.PathLike[str] | Iterable[Topic] | None = None,
    documents: str | os.PathLike[str] | Iterable[Document] | None = None,
    alpha: float = 0.05,
    seed: int = 1,
    command: str = "",
    grade_words: Mapping[str, float] = GRADE_WORDS,
    costs: str | os.PathLike[str] | Costs | None = None,
    date: str | None = None,
) -> Report:
    """A page with everything there is to say of these scores: who is best, how sure that is, and where.

    `baseline` names the run or runs that others are compared with; without it all are compared with each other.
    `topics` and `documents` are files, or what was read from them: then the page shows texts instead of ids alone.
    `costs` is what `cranfield bench --format json` wrote. `date` is now unless given; an empty one is left out, so that
    the same evaluation always gives the same page.
    """
    require_plots()
    measured = read_costs(costs) if isinstance(costs, (str, os.PathLike)) else costs
    context = ReportContext(scores, list_baselines(baseline), command, alpha, seed, grade_words, measured)
    moment = provenance.format_now() if date is None else date
    ends = topics_page.find_extremes(context)
    texts = [file for one in (topics, documents) for file in _files(one)]
    checked = provenance.check_files(context, texts)
    explorer, bounds = _read_once_more(context, topics_page.choose_queries(context, ends), _runs_in(checked))
    explorer = _with_texts(explorer, topics, documents)
    drawn = draw_pictures(context)
    front = None if measured is None else draw_front(context, measured)
    sections = [
        ("leaderboard", "Leaderboard", leaderboard_section(context)),
        ("comparisons", "Comparisons", comparison_section(context)),
        *([] if measured is None else [("efficiency", "Efficiency", efficiency_section(context, measured, front))]),
        ("pictures", "Pictures", join_html([system_filter(context), figures_section(drawn)], "\n")),
        ("topics", "Topics", _topics(explorer, ends)),
        ("unjudged", "Unjudged documents", unjudged_section(context, bounds)),
        ("ties", "Ties", ties_section(context)),
        ("checks", "Checks", provenance.checks_section(context, checked, texts)),
        ("provenance", "Provenance", provenance.provenance_section(context, texts, moment)),
    ]
    shown = drawn.drawn if front is None else (front, *drawn.drawn)
    return Report(make_title(context), _page(context, sections, _data(context, shown, explorer), moment))


def require_plots() -> None:
    """An error if pictures cannot be drawn here, before any work is done."""
    try:
        require_plot_format("html")
    except MissingExtra:
        raise MissingExtra("a report", "plots") from None


def _runs_in(checked: Iterable[CheckedFile]) -> dict[str, Run]:
    """The runs that checks have read, by file; one with errors may have been settled otherwise for the scores."""
    return {one.file: one.value for one in checked if isinstance(one.value, Run) and one.usable}


def _read_once_more(
    context: ReportContext, queries: tuple[int, ...], known: Mapping[str, Run]
) -> tuple[Explorer, list[MeanBounds | None]]:
    """What only whole runs tell: the first documents, judged or not, and bounds; one run at a time."""
    wanted = [context.scores.queries[j] for j in queries]
    rankings, bounds = [], []
    bounded = can_be_bounded(context)
    for scored, run in context.read_whole_runs(known):
        rankings.append(topics_page.list_top_documents(scored, run, wanted))
        bounds.append(compute_bounds(context, scored, run) if bounded else None)
    return Explorer(context, queries, tuple(rankings), {}, {}), bounds


def _files(given: Any) -> list[str]:
    """The files that texts are read from, as far as they can be read once more."""
    return [file for file in expand_path(given) if file != "-"] if isinstance(given, (str, os.PathLike)) else []


def _with_texts(explorer: Explorer, topics: Any, documents: Any) -> Explorer:
    """The same with the texts that are shown, and a note on those that were not found."""
    notes = []
    known: dict[str, Topic] = {}
    if topics is not None:
        read = read_topics(topics) if isinstance(topics, (str, os.PathLike)) else topics
        asked = set(explorer.context.scores.queries)
        known = {topic.id: topic for topic in read if topic.id in asked}
        if len(known) < len(asked):
            without = [query for query in explorer.context.scores.queries if query not in known]
            notes.append(f"{pluralize(len(without), 'topic')} without a text: {join_names(without)}.")
    excerpts = {}
    if documents is not None:
        wanted = topics_page.list_documents(explorer)
        read_docs = read_documents(documents) if isinstance(documents, (str, os.PathLike)) else documents
        excerpts = topics_page.make_excerpts(read_docs, wanted)
        missing = [doc for doc in wanted if doc not in excerpts]
        if missing:
            notes.append(f"{pluralize(len(missing), 'document')} shown without a text: {join_names(missing)}.")
        if len(wanted) == topics_page.DOCUMENTS:
            notes.append(f"Texts of {len(wanted):,} documents are in this file, those of the topics above first.")
    return replace(explorer, topics=known, excerpts=excerpts, notes=tuple(notes))


def _topics(explorer: Explorer, ends: topics_page.Extremes) -> Html:
    parts: list[Content] = [
        topics_page.extremes_section(explorer, ends),
        tag("h3", "Wins and losses") if explorer.context.rival is not None else None,
        topics_page.contrasts_section(explorer, ends),
        tag("h3", "Any topic"),
        tag("div", tag("noscript", tag("p", "This part needs JavaScript.")), id="explorer"),
        topics_page.notes_section(explorer),
    ]
    return join_html(parts, "\n")


def _data(context: ReportContext, shown: Sequence[Picture], explorer: Explorer) -> Html:
    """What the script works with."""
    content = {
        "pictures": {picture.kind: picture.spec for picture in shown},
        "config": CONFIG | {"aria": False},
        "palette": [list(entry) for entry in list_colours(context)],
        "explorer": topics_page.explorer_data(explorer),
    }
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Html(escape_script(text))


def _page(context: ReportContext, sections: Sequence[tuple[str, str, Html]], data: Html, date: str) -> str:
    here = files(__package__)
    style, script = ((here / name).read_text("utf-8") for name in ("page.css", "page.js"))
    answer, *more = summarize(context)
    links = [tag("li", tag("a", name, href=f"#{place}")) for place, name, _ in sections]
    body = [
        tag("section", tag("h2", name, id=f"h-{place}"), content, id=place, aria_labelledby=f"h-{place}")
        for place, name, content in sections
    ]
    return PAGE.format(
        policy=POLICY,
        title=escape(f"{make_title(context)} · cranfield report"),
        style=f"{style}\n{DARK}",
        links=tag("ul", *links),
        heading=escape(make_heading(context)),
        made=escape(f"cranfield report, {date}" if date else context.command or "cranfield report"),
        summary=paragraphs([answer, *costs_summary(context), *more]),
        sections=join_html(body, "\n"),
        data=data,
        runtime=load_vega(),
        script=script,
    )


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<nav aria-label="Sections">
{links}
</nav>
<main id="main">
<header>
<p class="quiet">{made}</p>
<h1>{heading}</h1>
<div class="summary">
{summary}
</div>
</header>
<noscript><p>Pictures and the table of any topic need JavaScript, which this page runs by itself, without a network.</p>
</noscript>
{sections}
</main>
<script type="application/json" id="data">{data}</script>
<script>{runtime}</script>
<script>
{script}
</script>
</body>
</html>
"""
