"""Topics one by one: the hardest, the easiest, those won and lost, with two rankings side by side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from cranfield.base import Record, pluralize, replace
from cranfield.data import Document, Run, Topic
from cranfield.evaluation import RunScores
from cranfield.joining import Sources
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.html import Content, Html, bullets, join_html, paragraphs, table, tag
from cranfield.reporting.plots.plot_data import format_label, round_number
from cranfield.reporting.plots.theme import GRADES
from cranfield.tables import format_number, format_signed

DEPTH = 10  # of the rankings that are shown
MOST_EXTREMES = 10  # hardest and easiest topics, and topics won and lost, at most
ROOM = 200_000  # ids and figures that the explorer may hold: about a megabyte
DOCUMENTS = 4_000  # texts that a page holds, about a megabyte
LETTERS, TITLE = 280, 120  # of a text, of a title
INKS = ("#000000", "#ffffff")  # on every ground one of these has a contrast of 4.5 or more, which of no other two is so


class Excerpt(Record):
    """The beginning of a document."""

    title: str
    text: str


class Explorer(Record, eq=False):
    """Topics with their rankings and texts; queries are told by their place among those of the scores."""

    context: ReportContext
    queries: tuple[int, ...]  # those whose rankings are here, in the order of their interest
    rankings: tuple[Mapping[str, Sequence[str]], ...]  # of each system: query -> its first documents
    topics: Mapping[str, Topic]
    excerpts: Mapping[str, Excerpt]
    notes: tuple[str, ...] = ()

    @cached_property
    def shades(self) -> dict[str, tuple[str, ...]]:
        """The ground and the ink of each grade that occurs, and the same in the dark."""
        return assign_shades(self.context.judged(0).sources.qrels.grades.tolist())

    @cached_property
    def grades(self) -> dict[str, Mapping[str, float]]:
        """The judged documents of each query, with their grades."""
        qrels = self.context.judged(0).sources.qrels
        return dict(zip(qrels.queries, qrels.judged, strict=True))

    def grade(self, j: int, doc: str) -> float | None:
        """The grade of a document for a query; None if it is not judged."""
        return self.grades[self.context.scores.queries[j]].get(doc)

    def relevant(self, j: int) -> int:
        """How many documents are relevant to a query."""
        grades = self.grades[self.context.scores.queries[j]]
        return sum(grade >= self.context.rel for grade in grades.values())

    def ranking(self, system: int, j: int) -> Sequence[str]:
        return self.rankings[system].get(self.context.scores.queries[j], ())

    def title(self, j: int) -> str:
        topic = self.topics.get(self.context.scores.queries[j])
        return shorten(topic.title or topic.description, TITLE) if topic else ""

    def about(self, j: int) -> str:
        """What else a topic says of itself."""
        topic = self.topics.get(self.context.scores.queries[j])
        if topic is None:
            return ""
        return shorten(" ".join(part for part in (topic.description, topic.narrative) if part), 2 * LETTERS)


# What is shown


class Extremes(Record):
    """Queries at both ends, by their places: the hardest and easiest, the most won and the most lost."""

    hardest: tuple[int, ...]
    easiest: tuple[int, ...]
    won: tuple[int, ...]
    lost: tuple[int, ...]


def find_extremes(context: ReportContext) -> Extremes:
    """At most ten at each end, and none at both."""
    order = context.by_difficulty
    some = min(MOST_EXTREMES, len(order) // 2)
    won: list[int] = []
    lost: list[int] = []
    if context.rival is not None:
        gains = context.gains(context.rival, context.base).tolist()
        known = sorted((j for j in range(len(gains)) if not math.isnan(gains[j])), key=lambda j: -gains[j])
        won = [j for j in known if gains[j] > 0][: MOST_EXTREMES // 2]
        lost = [j for j in reversed(known) if gains[j] < 0][: MOST_EXTREMES // 2]
    return Extremes(tuple(order[:some]), tuple(order[::-1][:some]), tuple(won), tuple(lost))


def choose_queries(context: ReportContext, ends: Extremes) -> tuple[int, ...]:
    """The queries to keep rankings of: those at the ends, then as many others as there is room for."""
    first = dict.fromkeys((*ends.won, *ends.lost, *ends.hardest, *ends.easiest))
    each = len(context.systems) * (DEPTH + 1) + 3 * DEPTH
    most = max(len(first), ROOM // each)
    return tuple(dict.fromkeys((*first, *range(len(context.topics)))))[:most]


def list_top_documents(scored: RunScores, run: Run, queries: Sequence[str]) -> dict[str, list[str]]:
    """The first documents of some queries of a run, in rank order."""
    judged = scored.judged
    at = [i for i, query in enumerate(judged.queries) if query in set(queries)]
    sources = Sources.of(judged.sources.qrels, run, judged.sources.extras)
    some = replace(judged, queries=tuple(judged.queries[i] for i in at), qrels_at=judged.qrels_at[at], sources=sources)
    return {query: some.ranking(i)[:DEPTH] for i, query in enumerate(some.queries)}


def list_documents(explorer: Explorer) -> list[str]:
    """The documents whose texts are shown, those of the first topics first."""
    found: dict[str, None] = {}
    systems = range(len(explorer.rankings))
    for j in explorer.queries:
        found |= dict.fromkeys(doc for system in systems for doc in explorer.ranking(system, j))
        if len(found) >= DOCUMENTS:
            break
    return list(found)[:DOCUMENTS]


def make_excerpts(documents: Iterable[Document], wanted: Iterable[str]) -> dict[str, Excerpt]:
    """The beginnings of the documents that are shown; a collection is read until all are found."""
    missing, found = set(wanted), {}
    for document in documents:
        if document.id in missing:
            missing.discard(document.id)
            found[document.id] = Excerpt(shorten(document.title, TITLE), shorten(document.text, LETTERS))
            if not missing:
                break
    return found


def shorten(text: str, letters: int) -> str:
    """The beginning of a text, cut between words.

    >>> shorten("Put it on level,  so that\\nit fits", 20)
    'Put it on level, so …'
    """
    plain = " ".join(text[: 4 * letters].split())
    if len(plain) <= letters and len(text) <= 4 * letters:
        return plain
    cut = plain[: letters + 1].rsplit(" ", 1)[0][:letters]
    return f"{cut} …"


def assign_shades(grades: Iterable[float]) -> dict[str, tuple[str, ...]]:
    """The ground and the ink of each grade: one hue, the darker the higher, and in the dark the lighter.

    >>> assign_shades([0, 1, 2])["2"]
    ('#08306b', '#ffffff', '#deebf7', '#000000')
    """
    known = sorted({0.0, *grades})
    low, high = known[0], max(known[-1], known[0] + 1)
    found: dict[str, tuple[str, ...]] = {}
    for grade in known:
        share = (grade - low) / (high - low)
        found[f"{grade:g}"] = (*_with_ink(_mixed(share)), *_with_ink(_mixed(1 - share)))
    return found


def _with_ink(ground: str) -> tuple[str, str]:
    return ground, max(INKS, key=lambda ink: compute_contrast(ink, ground))


def _mixed(share: float) -> str:
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in GRADES]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*ends, strict=True))


def compute_contrast(one: str, other: str) -> float:
    """The ratio of luminances of two colours (WCAG 2, 1.4.3)."""
    a, b = sorted((_luminance(one), _luminance(other)))
    return (b + 0.05) / (a + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# On the page


def extremes_section(explorer: Explorer, ends: Extremes) -> Html:
    """Tables of the hardest and the easiest topics."""
    context = explorer.context
    if not ends.hardest:
        return paragraphs([f"There is only {pluralize(len(context.by_difficulty), 'topic')}."])
    tables = [
        _difficulty_table(explorer, "Hardest topics", ends.hardest),
        _difficulty_table(explorer, "Easiest topics", ends.easiest),
    ]
    return tag("div", *tables, class_="pair")


def _difficulty_table(explorer: Explorer, caption: str, queries: Sequence[int]) -> Html:
    context = explorer.context
    several = len(context.systems) > 1
    header = ["Topic", *(["Mean", "Best system"] if several else [context.main.label]), "Relevant"]
    rows = [_difficulty_row(explorer, j, several) for j in queries]
    what = f"mean {context.main.label} over systems" if several else context.main.label
    return table(f"{caption} by {what}", header, rows, texts=(2,) if several else ())


def _difficulty_row(explorer: Explorer, j: int, several: bool) -> list[Content]:
    context = explorer.context
    column = context.main.values[:, j]
    best = max((i for i in range(len(column)) if column[i] == column[i]), key=lambda i: context.main.sign * column[i])
    best_cells: list[Content] = [f"{context.systems[best]} {format_number(float(column[best]), 4)}"] if several else []
    return [
        topic_link(explorer, j),
        format_number(float(context.difficulty[j]), 4),
        *best_cells,
        f"{explorer.relevant(j):,}",
    ]


def topic_link(explorer: Explorer, j: int) -> Html:
    """A topic with its title, leading to its rankings if they are here."""
    name, title = explorer.context.topics[j], explorer.title(j)
    words = tag("span", title, class_="topic-title") if title else None
    label = join_html([name, " " if words else None, words])
    return tag("a", label, href=f"#topic={_quoted(name)}") if j in explorer.queries else label


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def contrasts_section(explorer: Explorer, ends: Extremes) -> Html:
    """The topics that a system wins and loses most against another, each with both rankings."""
    context = explorer.context
    if context.rival is None:
        return Html("")
    ours, theirs = context.systems[context.rival], context.systems[context.base]
    if not ends.won and not ends.lost:
        return paragraphs([f"{ours} and {theirs} have the same {context.main.label} on every topic."])
    parts: list[Content] = []
    for heading, queries in ((f"Biggest wins of {ours} over {theirs}", ends.won), ("Biggest losses", ends.lost)):
        if queries:
            parts += [tag("h4", heading), *(_contrast(explorer, j) for j in queries)]
        else:
            parts.append(paragraphs([f"{ours} {'wins' if heading.startswith('Biggest w') else 'loses'} no topic."]))
    return join_html([grade_key(explorer), *parts], "\n")


def grade_key(explorer: Explorer) -> Html:
    """What the marks before documents mean."""
    marks = [grade_mark(explorer, float(grade)) for grade in explorer.shades]
    unjudged = grade_mark(explorer, None)
    rest = f" unjudged; ids in bold: not in the top {DEPTH} of the other system."
    return tag("p", "Grades: ", join_html(marks, " "), ", ", unjudged, rest, class_="key")


def grade_mark(explorer: Explorer, grade: float | None) -> Html:
    """A grade on its shade; a dashed outline where there is none."""
    if grade is None:
        return tag("span", "?", class_="grade unjudged", title="unjudged")
    names = ("--ground-light", "--ink-light", "--ground-dark", "--ink-dark")
    style = ";".join(f"{name}:{shade}" for name, shade in zip(names, explorer.shades[f"{grade:g}"], strict=True))
    return tag("span", f"{grade:g}".replace("-", "−"), class_="grade", style=style)


def _contrast(explorer: Explorer, j: int) -> Html:
    context = explorer.context
    assert context.rival is not None
    sides = (context.rival, context.base)
    values = [float(context.main.values[i, j]) for i in sides]
    line = [
        tag("b", f"Topic {context.topics[j]}"),
        tag("span", explorer.title(j), class_="topic-title") if explorer.title(j) else None,
        tag("span", f"{format_signed(values[0] - values[1])}", class_="difference"),
    ]
    about = explorer.about(j)
    lists = [_ranking(explorer, i, other, j) for i, other in (sides, sides[::-1])]
    return tag(
        "details",
        tag("summary", join_html([one for one in line if one is not None], " ")),
        tag("p", about, class_="about") if about else None,
        tag("div", *lists, class_="pair"),
    )


def _ranking(explorer: Explorer, system: int, other: int, j: int) -> Html:
    """The first documents of a system, each with its grade, its text, and its rank in the other list."""
    context = explorer.context
    docs, others = explorer.ranking(system, j), {doc: i for i, doc in enumerate(explorer.ranking(other, j), 1)}
    value = format_number(float(context.main.values[system, j]), 4)
    head = tag("h5", context.systems[system], " ", tag("small", f"{context.main.label} {value}"))
    if not docs:
        return tag("div", head, tag("p", "It retrieved nothing for this topic."), class_="ranking")
    grades = [explorer.grade(j, doc) for doc in docs]
    relevant = sum(grade is not None and grade >= context.rel for grade in grades)
    found = f"{relevant} of {pluralize(explorer.relevant(j), 'relevant document')} in the top {DEPTH}"
    entries = [_entry(explorer, j, doc, others.get(doc), context.systems[other]) for doc in docs]
    return tag("div", head, tag("p", found, class_="quiet"), tag("ol", join_html(entries, "\n")), class_="ranking")


def _entry(explorer: Explorer, j: int, doc: str, elsewhere: int | None, other: str) -> Html:
    excerpt = explorer.excerpts.get(doc)
    text = None
    if excerpt:
        title = tag("b", excerpt.title) if excerpt.title else None
        text = tag("span", join_html([title, excerpt.text], " "), class_="text")
    place = f"{other}: {elsewhere}" if elsewhere else f"{other}: not in its top {DEPTH}"
    return tag(
        "li",
        grade_mark(explorer, explorer.grade(j, doc)),
        tag("span", doc, class_="doc"),
        tag("small", place),
        text,
        class_=None if elsewhere else "only",
    )


def notes_section(explorer: Explorer) -> Html:
    context = explorer.context
    notes = list(explorer.notes)
    if len(explorer.queries) < len(context.topics):
        notes.append(
            f"Rankings of {len(explorer.queries):,} of {pluralize(len(context.topics), 'topic')} are in this file: "
            "those above, and as many others as there was room for. cranfield explain shows any of them."
        )
    return bullets(notes, class_="quiet")


def explorer_data(explorer: Explorer) -> dict[str, Any]:
    """What the script of the page needs to show any topic of any two systems."""
    context = explorer.context
    return {
        "measure": context.main.label,
        "sign": context.main.sign,
        "depth": DEPTH,
        "systems": context.systems,
        "system": context.rival,
        "against": context.base,
        "rel": context.rel,
        "shades": explorer.shades,
        "topics": [_topic_data(explorer, j) for j in explorer.queries],
        "texts": {
            format_label(doc): [format_label(one.title), format_label(one.text)]
            for doc, one in explorer.excerpts.items()
        },
    }


def _topic_data(explorer: Explorer, j: int) -> dict[str, Any]:
    """A topic: the values of the systems, and their rankings as places in a list of its documents."""
    context = explorer.context
    systems = range(len(context.systems))
    docs = list(dict.fromkeys(doc for i in systems for doc in explorer.ranking(i, j)))
    place = {doc: i for i, doc in enumerate(docs)}
    return {
        "id": context.topics[j],
        "title": format_label(explorer.title(j)),
        "about": format_label(explorer.about(j)),
        "values": [round_number(round(float(value), 4)) for value in context.main.values[:, j]],
        "relevant": explorer.relevant(j),
        "docs": [format_label(doc) for doc in docs],
        "grades": [round_number(grade) for grade in (explorer.grade(j, doc) for doc in docs)],
        "lists": [[place[doc] for doc in explorer.ranking(i, j)] for i in systems],
    }
