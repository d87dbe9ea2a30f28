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
from cranfield.reporting.page.context import Material
from cranfield.reporting.page.html import Content, Html, bullets, joined, paragraphs, table, tag
from cranfield.reporting.plots.plot_data import number, rounded, shown, signed
from cranfield.reporting.plots.theme import GRADES

DEPTH = 10  # of the rankings that are shown
ENDS = 10  # hardest and easiest topics, and topics won and lost, at most
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

    material: Material
    queries: tuple[int, ...]  # those whose rankings are here, in the order of their interest
    rankings: tuple[Mapping[str, Sequence[str]], ...]  # of each system: query -> its first documents
    topics: Mapping[str, Topic]
    excerpts: Mapping[str, Excerpt]
    notes: tuple[str, ...] = ()

    @cached_property
    def shades(self) -> dict[str, tuple[str, ...]]:
        """The ground and the ink of each grade that occurs, and the same in the dark."""
        return shades(self.material.judged(0).sources.qrels.grades.tolist())

    @cached_property
    def grades(self) -> dict[str, Mapping[str, float]]:
        """The judged documents of each query, with their grades."""
        qrels = self.material.judged(0).sources.qrels
        return dict(zip(qrels.queries, qrels.judged, strict=True))

    def grade(self, j: int, doc: str) -> float | None:
        """The grade of a document for a query; None if it is not judged."""
        return self.grades[self.material.scores.queries[j]].get(doc)

    def relevant(self, j: int) -> int:
        """How many documents are relevant to a query."""
        grades = self.grades[self.material.scores.queries[j]]
        return sum(grade >= self.material.rel for grade in grades.values())

    def ranking(self, system: int, j: int) -> Sequence[str]:
        return self.rankings[system].get(self.material.scores.queries[j], ())

    def title(self, j: int) -> str:
        topic = self.topics.get(self.material.scores.queries[j])
        return shortened(topic.title or topic.description, TITLE) if topic else ""

    def about(self, j: int) -> str:
        """What else a topic says of itself."""
        topic = self.topics.get(self.material.scores.queries[j])
        if topic is None:
            return ""
        return shortened(" ".join(part for part in (topic.description, topic.narrative) if part), 2 * LETTERS)


# What is shown


class Ends(Record):
    """Queries at both ends, by their places: the hardest and easiest, the most won and the most lost."""

    hardest: tuple[int, ...]
    easiest: tuple[int, ...]
    won: tuple[int, ...]
    lost: tuple[int, ...]


def ends_of(material: Material) -> Ends:
    """At most ten at each end, and none at both."""
    order = material.by_difficulty
    some = min(ENDS, len(order) // 2)
    won: list[int] = []
    lost: list[int] = []
    if material.rival is not None:
        gains = material.gains(material.rival, material.base).tolist()
        known = sorted((j for j in range(len(gains)) if not math.isnan(gains[j])), key=lambda j: -gains[j])
        won = [j for j in known if gains[j] > 0][: ENDS // 2]
        lost = [j for j in reversed(known) if gains[j] < 0][: ENDS // 2]
    return Ends(tuple(order[:some]), tuple(order[::-1][:some]), tuple(won), tuple(lost))


def chosen_queries(material: Material, ends: Ends) -> tuple[int, ...]:
    """The queries to keep rankings of: those at the ends, then as many others as there is room for."""
    first = dict.fromkeys((*ends.won, *ends.lost, *ends.hardest, *ends.easiest))
    each = len(material.systems) * (DEPTH + 1) + 3 * DEPTH
    most = max(len(first), ROOM // each)
    return tuple(dict.fromkeys((*first, *range(len(material.topics)))))[:most]


def first_documents(scored: RunScores, run: Run, queries: Sequence[str]) -> dict[str, list[str]]:
    """The first documents of some queries of a run, in rank order."""
    judged = scored.judged
    at = [i for i, query in enumerate(judged.queries) if query in set(queries)]
    sources = Sources.of(judged.sources.qrels, run, judged.sources.extras)
    some = replace(judged, queries=tuple(judged.queries[i] for i in at), qrels_at=judged.qrels_at[at], sources=sources)
    return {query: some.ranking(i)[:DEPTH] for i, query in enumerate(some.queries)}


def wanted_documents(explorer: Explorer) -> list[str]:
    """The documents whose texts are shown, those of the first topics first."""
    found: dict[str, None] = {}
    systems = range(len(explorer.rankings))
    for j in explorer.queries:
        found |= dict.fromkeys(doc for system in systems for doc in explorer.ranking(system, j))
        if len(found) >= DOCUMENTS:
            break
    return list(found)[:DOCUMENTS]


def excerpts(documents: Iterable[Document], wanted: Iterable[str]) -> dict[str, Excerpt]:
    """The beginnings of the documents that are shown; a collection is read until all are found."""
    missing, found = set(wanted), {}
    for document in documents:
        if document.id in missing:
            missing.discard(document.id)
            found[document.id] = Excerpt(shortened(document.title, TITLE), shortened(document.text, LETTERS))
            if not missing:
                break
    return found


def shortened(text: str, letters: int) -> str:
    """The beginning of a text, cut between words.

    >>> shortened("Put it on level,  so that\\nit fits", 20)
    'Put it on level, so …'
    """
    plain = " ".join(text[: 4 * letters].split())
    if len(plain) <= letters and len(text) <= 4 * letters:
        return plain
    cut = plain[: letters + 1].rsplit(" ", 1)[0][:letters]
    return f"{cut} …"


def shades(grades: Iterable[float]) -> dict[str, tuple[str, ...]]:
    """The ground and the ink of each grade: one hue, the darker the higher, and in the dark the lighter.

    >>> shades([0, 1, 2])["2"]
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
    return ground, max(INKS, key=lambda ink: contrast(ink, ground))


def _mixed(share: float) -> str:
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in GRADES]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*ends, strict=True))


def contrast(one: str, other: str) -> float:
    """The ratio of luminances of two colours (WCAG 2, 1.4.3)."""
    a, b = sorted((_luminance(one), _luminance(other)))
    return (b + 0.05) / (a + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


# On the page


def ends_section(explorer: Explorer, ends: Ends) -> Html:
    """Tables of the hardest and the easiest topics."""
    material = explorer.material
    if not ends.hardest:
        return paragraphs([f"There is only {pluralize(len(material.by_difficulty), 'topic')}."])
    tables = [
        _difficulty_table(explorer, "Hardest topics", ends.hardest),
        _difficulty_table(explorer, "Easiest topics", ends.easiest),
    ]
    return tag("div", *tables, class_="pair")


def _difficulty_table(explorer: Explorer, caption: str, queries: Sequence[int]) -> Html:
    material = explorer.material
    several = len(material.systems) > 1
    header = ["Topic", *(["Mean", "Best system"] if several else [material.main.label]), "Relevant"]
    rows = [_difficulty_row(explorer, j, several) for j in queries]
    what = f"mean {material.main.label} over systems" if several else material.main.label
    return table(f"{caption} by {what}", header, rows, texts=(2,) if several else ())


def _difficulty_row(explorer: Explorer, j: int, several: bool) -> list[Content]:
    material = explorer.material
    column = material.main.values[:, j]
    best = max((i for i in range(len(column)) if column[i] == column[i]), key=lambda i: material.main.sign * column[i])
    best_cells: list[Content] = [f"{material.systems[best]} {number(float(column[best]), 4)}"] if several else []
    return [topic_link(explorer, j), number(float(material.difficulty[j]), 4), *best_cells, f"{explorer.relevant(j):,}"]


def topic_link(explorer: Explorer, j: int) -> Html:
    """A topic with its title, leading to its rankings if they are here."""
    name, title = explorer.material.topics[j], explorer.title(j)
    words = tag("span", title, class_="topic-title") if title else None
    label = joined([name, " " if words else None, words])
    return tag("a", label, href=f"#topic={_quoted(name)}") if j in explorer.queries else label


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")


def contrasts_section(explorer: Explorer, ends: Ends) -> Html:
    """The topics that a system wins and loses most against another, each with both rankings."""
    material = explorer.material
    if material.rival is None:
        return Html("")
    ours, theirs = material.systems[material.rival], material.systems[material.base]
    if not ends.won and not ends.lost:
        return paragraphs([f"{ours} and {theirs} have the same {material.main.label} on every topic."])
    parts: list[Content] = []
    for heading, queries in ((f"Biggest wins of {ours} over {theirs}", ends.won), ("Biggest losses", ends.lost)):
        if queries:
            parts += [tag("h4", heading), *(_contrast(explorer, j) for j in queries)]
        else:
            parts.append(paragraphs([f"{ours} {'wins' if heading.startswith('Biggest w') else 'loses'} no topic."]))
    return joined([grade_key(explorer), *parts], "\n")


def grade_key(explorer: Explorer) -> Html:
    """What the marks before documents mean."""
    marks = [grade_mark(explorer, float(grade)) for grade in explorer.shades]
    unjudged = grade_mark(explorer, None)
    rest = f" unjudged; ids in bold: not in the top {DEPTH} of the other system."
    return tag("p", "Grades: ", joined(marks, " "), ", ", unjudged, rest, class_="key")


def grade_mark(explorer: Explorer, grade: float | None) -> Html:
    """A grade on its shade; a dashed outline where there is none."""
    if grade is None:
        return tag("span", "?", class_="grade unjudged", title="unjudged")
    names = ("--ground-light", "--ink-light", "--ground-dark", "--ink-dark")
    style = ";".join(f"{name}:{shade}" for name, shade in zip(names, explorer.shades[f"{grade:g}"], strict=True))
    return tag("span", f"{grade:g}".replace("-", "−"), class_="grade", style=style)


def _contrast(explorer: Explorer, j: int) -> Html:
    material = explorer.material
    assert material.rival is not None
    sides = (material.rival, material.base)
    values = [float(material.main.values[i, j]) for i in sides]
    line = [
        tag("b", f"Topic {material.topics[j]}"),
        tag("span", explorer.title(j), class_="topic-title") if explorer.title(j) else None,
        tag("span", f"{signed(values[0] - values[1])}", class_="difference"),
    ]
    about = explorer.about(j)
    lists = [_ranking(explorer, i, other, j) for i, other in (sides, sides[::-1])]
    return tag(
        "details",
        tag("summary", joined([one for one in line if one is not None], " ")),
        tag("p", about, class_="about") if about else None,
        tag("div", *lists, class_="pair"),
    )


def _ranking(explorer: Explorer, system: int, other: int, j: int) -> Html:
    """The first documents of a system, each with its grade, its text, and its rank in the other list."""
    material = explorer.material
    docs, others = explorer.ranking(system, j), {doc: i for i, doc in enumerate(explorer.ranking(other, j), 1)}
    value = number(float(material.main.values[system, j]), 4)
    head = tag("h5", material.systems[system], " ", tag("small", f"{material.main.label} {value}"))
    if not docs:
        return tag("div", head, tag("p", "It retrieved nothing for this topic."), class_="ranking")
    grades = [explorer.grade(j, doc) for doc in docs]
    relevant = sum(grade is not None and grade >= material.rel for grade in grades)
    found = f"{relevant} of {pluralize(explorer.relevant(j), 'relevant document')} in the top {DEPTH}"
    entries = [_entry(explorer, j, doc, others.get(doc), material.systems[other]) for doc in docs]
    return tag("div", head, tag("p", found, class_="quiet"), tag("ol", joined(entries, "\n")), class_="ranking")


def _entry(explorer: Explorer, j: int, doc: str, elsewhere: int | None, other: str) -> Html:
    excerpt = explorer.excerpts.get(doc)
    text = None
    if excerpt:
        title = tag("b", excerpt.title) if excerpt.title else None
        text = tag("span", joined([title, excerpt.text], " "), class_="text")
    place = f"{other}: {elsewhere}" if elsewhere else f"{other}: not in its top {DEPTH}"
    return tag(
        "li",
        grade_mark(explorer, explorer.grade(j, doc)),
        tag("span", doc, class_="doc"),
        tag("small", place),
        text,
        class_=None if elsewhere else "only",
    )


def notes_of(explorer: Explorer) -> Html:
    material = explorer.material
    notes = list(explorer.notes)
    if len(explorer.queries) < len(material.topics):
        notes.append(
            f"Rankings of {len(explorer.queries):,} of {pluralize(len(material.topics), 'topic')} are in this file: "
            "those above, and as many others as there was room for. cranfield explain shows any of them."
        )
    return bullets(notes, class_="quiet")


def as_data(explorer: Explorer) -> dict[str, Any]:
    """What the script of the page needs to show any topic of any two systems."""
    material = explorer.material
    return {
        "measure": material.main.label,
        "sign": material.main.sign,
        "depth": DEPTH,
        "systems": material.systems,
        "system": material.rival,
        "against": material.base,
        "rel": material.rel,
        "shades": explorer.shades,
        "topics": [_topic_data(explorer, j) for j in explorer.queries],
        "texts": {shown(doc): [shown(one.title), shown(one.text)] for doc, one in explorer.excerpts.items()},
    }


def _topic_data(explorer: Explorer, j: int) -> dict[str, Any]:
    """A topic: the values of the systems, and their rankings as places in a list of its documents."""
    material = explorer.material
    systems = range(len(material.systems))
    docs = list(dict.fromkeys(doc for i in systems for doc in explorer.ranking(i, j)))
    place = {doc: i for i, doc in enumerate(docs)}
    return {
        "id": material.topics[j],
        "title": shown(explorer.title(j)),
        "about": shown(explorer.about(j)),
        "values": [rounded(round(float(value), 4)) for value in material.main.values[:, j]],
        "relevant": explorer.relevant(j),
        "docs": [shown(doc) for doc in docs],
        "grades": [rounded(grade) for grade in (explorer.grade(j, doc) for doc in docs)],
        "lists": [[place[doc] for doc in explorer.ranking(i, j)] for i in systems],
    }
