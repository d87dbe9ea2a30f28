"""Where people judge: the log, the texts of topics and documents, and what looks for more."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from cranfield.annotation import (
    Connection,
    Desk,
    Item,
    JudgmentLog,
    Marker,
    Migration,
    Scale,
    assignments,
    beside,
    deal,
    growing,
    migrate,
    open_database,
    read_scale,
)
from cranfield.base import replace
from cranfield.data import Document, Topic
from cranfield.errors import InputError
from cranfield.experiment import Adaptive, Collection, Workspace
from cranfield.experiment import Judging as Wanted
from cranfield.reporting import not_gold_text
from cranfield.workbench.connections import pooled
from cranfield.workbench.document_store import Library, stamp_of
from cranfield.workbench.judge.documents import as_shown

if TYPE_CHECKING:
    from cranfield.workbench.judge.search import Finder

FOUND = 20  # documents that a search shows
KEPT = ".cranfield"  # the folder of what can be made again
MIGRATIONS = (
    Migration(
        1,
        "texts of topics that were added",
        (
            "CREATE TABLE topic_texts (query TEXT PRIMARY KEY, title TEXT NOT NULL, description TEXT NOT NULL, "
            "narrative TEXT NOT NULL)",
        ),
    ),
)


class Shelf(Protocol):
    """Where texts of documents come from."""

    def get(self, doc: str) -> Document | None: ...


class Room:
    """All that judging needs. What it gives to a judge tells neither rank, score or run, nor what others think."""

    def __init__(
        self,
        log: JudgmentLog,
        topics: Iterable[Topic],
        documents: Shelf,
        *,
        search: Finder | None = None,
        feed: Callable[[str], int] | None = None,
        sample: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.log = log
        self._notes = tuple(notes)
        self.documents = documents
        self.sample = sample  # the form of a sampled pool
        self._search = search
        self._feed = feed
        self._feeding = threading.Lock()
        migrate(log.database, "texts", MIGRATIONS)
        self._topics = {topic.id: topic for topic in topics} | self._added()
        self._markers: dict[str, Marker] = {}
        self._desks: dict[str, Desk] = {}

    @property
    def notes(self) -> list[str]:
        """What a coordinator should know of how it was set up."""
        missing = self._search.why_not if self._search is not None and not self._search.is_offered else ""
        return [*self._notes, *([f"Searching for more: {missing}"] if missing else [])]

    @property
    def has_search(self) -> bool:
        return self._search is not None and self._search.is_offered

    def begin_search(self) -> None:
        """Have an index made to search for more in, where there is none, after the first pages."""
        if self._search is not None:
            self._search.begin_soon()

    def desk(self, name: str) -> Desk:
        """The desk of an assessor."""
        known = self._desks.get(name)
        if known is None:
            known = self._desks[name] = Desk(self.log, name, self._fed if self._feed is not None else None)
        return known

    def topic(self, query: str) -> Topic:
        """The text of a topic; one without any is called by its id."""
        return self._topics.get(query) or Topic(query, query)

    def topics(self, desk: Desk) -> list[dict[str, Any]]:
        """The topics of a judge, with how far they are."""
        return [
            self.topic_text(state.query)
            | {"places": state.places, "left": state.left, "skipped": state.skipped, "words": []}
            for state in desk.topics()
        ]

    def topic_text(self, query: str) -> dict[str, Any]:
        topic = self.topic(query)
        return {
            "query": query,
            "title": topic.title,
            "description": topic.description,
            "narrative": topic.narrative,
        }

    def shown(self, item: Item | None) -> dict[str, Any] | None:
        """A document on the desk, with its text and the words in it to mark."""
        if item is None:
            return None
        body = as_shown(self.documents.get(item.doc))
        return item.to_dict() | {"document": body, "words": self._words(item.query, body)}

    def look_for(self, desk: Desk, query: str, words: str) -> list[dict[str, Any]]:
        """Documents that a judge searches for, the best first, with where this judge stands with them."""
        assert self._search is not None
        mine = {item.doc: item for item in desk.own() if item.query == query}
        found = []
        for doc in self._search.search(words, FOUND):
            body = as_shown(self.documents.get(doc))
            item = mine.get(doc)
            found.append(
                {
                    "doc": doc,
                    "title": body["title"] if body else "",
                    "beginning": _beginning(body["text"]) if body else "",
                    "kind": item.kind if item else "",
                    "grade": item.to_dict()["grade"] if item else None,
                }
            )
        return found

    def add_topics(self, topics: Iterable[Topic]) -> int:
        """Take up texts of topics, in place of those that are known by the same id; how many."""
        given = list(topics)

        def work(at: Connection) -> None:
            for topic in given:
                at.run(
                    """
                    INSERT INTO topic_texts VALUES (?, ?, ?, ?) ON CONFLICT (query) DO UPDATE SET
                    title = excluded.title, description = excluded.description, narrative = excluded.narrative
                    """,
                    topic.id,
                    topic.title,
                    topic.description,
                    topic.narrative,
                )

        self.log.write(work)
        self._topics |= {topic.id: topic for topic in given}
        self._markers.clear()
        return len(given)

    def close(self) -> None:
        if self._search is not None:
            self._search.close()
        self.log.close()
        if isinstance(self.documents, Library):
            self.documents.close()

    def _added(self) -> dict[str, Topic]:
        rows = self.log.read(lambda at: at.rows("SELECT query, title, description, narrative FROM topic_texts"))
        return {query: Topic(query, *texts) for query, *texts in rows}

    def _words(self, query: str, body: Mapping[str, Any] | None) -> list[str]:
        if body is None:
            return []
        marker = self._markers.get(query)
        if marker is None:
            marker = self._markers[query] = Marker(self.topic(query))
        return marker.words([body["title"], body["text"], *(value for _, value in body["fields"])])

    def _fed(self, query: str) -> int:
        """What an adaptive pool adds, asked for by one judge at a time."""
        assert self._feed is not None
        with self._feeding:
            return self._feed(query)


Watch = Callable[[Iterable[Document]], Iterable[Document]]


def open_room(
    workspace: Workspace, log: str | None = None, watch: Watch | None = None, adaptive: Adaptive | None = None
) -> Room | None:
    """Where the documents of a workspace are judged; None where it has no pool and says nothing of judging.

    The first time, their texts are copied, which may take a while; `watch` is handed them one by one. `adaptive` is how
    the pool grows, in place of what the workspace says.
    """
    wanted = workspace.judging or Wanted()
    if adaptive is not None:
        wanted = replace(wanted, adaptive=adaptive)
    collection = _collection(workspace, wanted)
    pools = _pools(workspace, wanted, collection)
    place = log or _log(workspace, wanted, pools)
    if place is None:
        return None
    opened = JudgmentLog(pooled(open_database(place)))
    try:
        notes = _set_up(opened, workspace, wanted, pools)
        documents = library_of(workspace, collection, watch or iter)
        return Room(
            opened,
            workspace.topics(collection) if collection.has_topics else (),
            documents,
            search=_finder(workspace, collection, documents, wanted.search),
            feed=_feed(opened, workspace, collection, wanted),
            sample=None if wanted.sample is None else workspace.located(wanted.sample),
            notes=notes,
        )
    except BaseException:
        opened.close()
        raise


def _collection(workspace: Workspace, wanted: Wanted) -> Collection:
    named = [one for one in workspace.collections if one.name == wanted.collection]
    return named[0] if named else workspace.collections[0]


def _pools(workspace: Workspace, wanted: Wanted, collection: Collection) -> list[str]:
    if wanted.pools:
        return [workspace.located(pool) for pool in wanted.pools]
    usual = workspace.located(collection.path("pool.jsonl"))
    return [usual] if os.path.exists(usual) else []


def _log(workspace: Workspace, wanted: Wanted, pools: Sequence[str]) -> str | None:
    """Where judgments are kept: where the file says, or beside the pool."""
    if wanted.log is not None:
        return wanted.log if "://" in wanted.log else workspace.located(wanted.log)
    if pools:
        return beside(pools[0])
    return None if wanted == Wanted() and workspace.judging is None else workspace.located("judgments.db")


def _set_up(log: JudgmentLog, workspace: Workspace, wanted: Wanted, pools: Sequence[str]) -> list[str]:
    """Take up what the workspace says: what it does not say stays as it is in the log; what there is to tell."""
    notes: list[str] = []
    given: dict[str, Any] = {
        name: getattr(wanted, name)
        for name in ("judgments", "overlap", "repeats", "hold", "dispute")
        if getattr(wanted, name) is not None
    }
    if wanted.grades is not None:
        given["scale"] = (
            read_scale(workspace.located(wanted.grades)) if isinstance(wanted.grades, str) else Scale.of(wanted.grades)
        )
    if wanted.guidelines is not None:
        given["guidelines"] = _text(workspace.located(wanted.guidelines))
    before = log.settings
    settings = replace(before, **given)
    if settings != before:
        log.set_up(settings)
    for pool in pools:
        log.add_pool(pool)
    if wanted.gold is not None:
        from cranfield.io import read_qrels

        grades = read_qrels(workspace.located(wanted.gold)).to_dict()
        log.add_gold(grades)
        notes += not_gold_text(log, grades)
    if wanted.assessors and not assignments(log) and log.topics():
        deal(log, wanted.assessors)
    return notes


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8", "replace").strip()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", file) from None


class _Nothing:
    """No texts: documents are shown by their ids."""

    def get(self, doc: str) -> Document | None:
        return None


def library_of(workspace: Workspace, collection: Collection, watch: Watch = iter) -> Shelf:
    """The documents of a collection, kept in the workspace."""
    if collection.documents is None:
        return _Nothing()
    file = workspace.folder / KEPT / collection.path("texts.db")
    return Library.of(file, _stamp(workspace, collection), lambda: watch(workspace.documents(collection)))


def _stamp(workspace: Workspace, collection: Collection) -> str:
    """What the documents look like from outside."""
    located = workspace.located(str(collection.documents))
    return stamp_of(*(located, located.partition(":")[2])) + str(collection.formats.get("documents"))


def _finder(workspace: Workspace, collection: Collection, documents: Shelf, system: str | None) -> Finder | None:
    """What looks for more documents, where that is wanted and there are any."""
    if system is None or not isinstance(documents, Library):
        return None
    from cranfield.workbench.judge.search import Finder

    return Finder(workspace, collection, documents, _stamp(workspace, collection), system)


def _feed(
    log: JudgmentLog, workspace: Workspace, collection: Collection, wanted: Wanted
) -> Callable[[str], int] | None:
    """What an adaptive pool asks for; it knows the runs, and tells nobody."""
    adaptive = wanted.adaptive
    if adaptive is None:
        return None
    if not workspace.systems:
        raise InputError("a pool that grows is fed by runs, and there is none under [systems].", str(workspace.file))
    runs = [workspace.run(system, collection) for system in workspace.systems]
    topics = {topic.id for topic in workspace.topics(collection)} if collection.has_topics else None
    limits = adaptive.depth, adaptive.budget, adaptive.batch
    return growing(log, runs, adaptive.strategy, *limits, workspace.seed, topics)


def _beginning(text: str, most: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1].rsplit(' ', 1)[0]} …"
