"""The judging service: the judgment log, the texts of topics and documents, and the search for more documents."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cranfield.annotation import (
    AssessorSession,
    Connection,
    Highlighter,
    Item,
    JudgmentLog,
    Migration,
    Scale,
    assign_evenly,
    default_log_path,
    list_assignments,
    migrate,
    open_database,
    read_scale,
    start_adaptive_pool,
)
from cranfield.base import replace
from cranfield.data import Document, Topic
from cranfield.errors import InputError
from cranfield.experiment import Adaptive, Collection, Workspace
from cranfield.experiment import Judging as Config
from cranfield.io import read_qrels
from cranfield.reporting import annotation as annotation_report
from cranfield.workbench.app_state import DATA_FOLDER
from cranfield.workbench.connections import use_pool
from cranfield.workbench.document_store import DocumentSource, DocumentStore, fingerprint_files
from cranfield.workbench.judge.documents import document_to_dict
from cranfield.workbench.judge.search import DocumentSearch

SEARCH_RESULTS = 20
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


class JudgingService:
    """Everything that judging needs. Assessors see no ranks, scores, runs or judgments of others."""

    def __init__(
        self,
        log: JudgmentLog,
        topics: Iterable[Topic],
        documents: DocumentSource,
        *,
        search: DocumentSearch | None = None,
        extend_pool: Callable[[str], int] | None = None,
        sample: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self.log = log
        self._notes = tuple(notes)
        self.documents = documents
        self.sample = sample  # the file with the inclusion probabilities of a sampled pool
        self._search = search
        self._extend_pool = extend_pool
        self._pool_lock = threading.Lock()
        migrate(log.database, "texts", MIGRATIONS)
        self._topics = {topic.id: topic for topic in topics} | self._read_added_topics()
        self._markers: dict[str, Highlighter] = {}
        self._sessions: dict[str, AssessorSession] = {}

    @property
    def notes(self) -> list[str]:
        """What a coordinator should know about the setup."""
        problem = self._search.problem if self._search is not None and not self._search.is_available else ""
        return [*self._notes, *([f"Search for more documents: {problem}"] if problem else [])]

    @property
    def has_search(self) -> bool:
        return self._search is not None and self._search.is_available

    def start_indexing(self) -> None:
        """Build an index to search, if there is none, after the first pages are served."""
        if self._search is not None:
            self._search.start_later()

    def session(self, name: str) -> AssessorSession:
        """The session of an assessor."""
        if name not in self._sessions:
            extend = self._extend_one_at_a_time if self._extend_pool is not None else None
            self._sessions[name] = AssessorSession(self.log, name, extend)
        return self._sessions[name]

    def topic(self, query: str) -> Topic:
        """The text of a topic; its id serves as title if there is no text."""
        return self._topics.get(query) or Topic(query, query)

    def list_topics(self, session: AssessorSession) -> list[dict[str, Any]]:
        """The topics of an assessor, with their progress."""
        return [
            self.topic_text(state.query)
            | {"places": state.places, "left": state.left, "skipped": state.skipped, "words": []}
            for state in session.topics()
        ]

    def topic_text(self, query: str) -> dict[str, Any]:
        topic = self.topic(query)
        return {
            "query": query,
            "title": topic.title,
            "description": topic.description,
            "narrative": topic.narrative,
        }

    def show(self, item: Item | None) -> dict[str, Any] | None:
        """A document to judge, with its text and the words to highlight."""
        if item is None:
            return None
        body = document_to_dict(self.documents.get(item.doc))
        return item.to_dict() | {"document": body, "words": self._words(item.query, body)}

    def search_documents(self, session: AssessorSession, query: str, words: str) -> list[dict[str, Any]]:
        """The documents with these words, the best first, with the judgments of this assessor."""
        assert self._search is not None
        own_items = {item.doc: item for item in session.own_items() if item.query == query}
        results = []
        for doc in self._search.search(words, SEARCH_RESULTS):
            body = document_to_dict(self.documents.get(doc))
            item = own_items.get(doc)
            results.append(
                {
                    "doc": doc,
                    "title": body["title"] if body else "",
                    "beginning": _shorten(body["text"]) if body else "",
                    "kind": item.kind if item else "",
                    "grade": item.to_dict()["grade"] if item else None,
                }
            )
        return results

    def add_topics(self, topics: Iterable[Topic]) -> int:
        """Add texts of topics, replacing those with the same id; returns how many."""
        added = list(topics)

        def work(at: Connection) -> None:
            for topic in added:
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
        self._topics |= {topic.id: topic for topic in added}
        self._markers.clear()
        return len(added)

    def close(self) -> None:
        if self._search is not None:
            self._search.close()
        self.log.close()
        if isinstance(self.documents, DocumentStore):
            self.documents.close()

    def _read_added_topics(self) -> dict[str, Topic]:
        rows = self.log.read(lambda at: at.rows("SELECT query, title, description, narrative FROM topic_texts"))
        return {query: Topic(query, *texts) for query, *texts in rows}

    def _words(self, query: str, body: Mapping[str, Any] | None) -> list[str]:
        if body is None:
            return []
        if query not in self._markers:
            self._markers[query] = Highlighter(self.topic(query))
        return self._markers[query].words([body["title"], body["text"], *(value for _, value in body["fields"])])

    def _extend_one_at_a_time(self, query: str) -> int:
        assert self._extend_pool is not None
        with self._pool_lock:
            return self._extend_pool(query)


Watch = Callable[[Iterable[Document]], Iterable[Document]]


def open_judging(
    workspace: Workspace, log: str | None = None, watch: Watch | None = None, adaptive: Adaptive | None = None
) -> JudgingService | None:
    """The judging service of a workspace; None if it has neither a pool nor a table [judging].

    The first time, the texts of the documents are copied, which may take a while; `watch` can show the progress.
    `adaptive` replaces the adaptive pooling of the workspace.
    """
    config = workspace.judging or Config()
    if adaptive is not None:
        config = replace(config, adaptive=adaptive)
    collection = _find_collection(workspace, config)
    pools = _find_pools(workspace, config, collection)
    place = log or _find_log(workspace, config, pools)
    if place is None:
        return None
    opened = JudgmentLog(use_pool(open_database(place)))
    try:
        notes = _configure(opened, workspace, config, pools)
        documents = open_documents(workspace, collection, watch or iter)
        return JudgingService(
            opened,
            workspace.topics(collection) if collection.has_topics else (),
            documents,
            search=_open_search(workspace, collection, documents, config.search),
            extend_pool=_open_adaptive_pool(opened, workspace, collection, config),
            sample=None if config.sample is None else workspace.located(config.sample),
            notes=notes,
        )
    except BaseException:
        opened.close()
        raise


def _find_collection(workspace: Workspace, config: Config) -> Collection:
    named = [one for one in workspace.collections if one.name == config.collection]
    return named[0] if named else workspace.collections[0]


def _find_pools(workspace: Workspace, config: Config, collection: Collection) -> list[str]:
    if config.pools:
        return [workspace.located(pool) for pool in config.pools]
    default = workspace.located(collection.path("pool.jsonl"))
    return [default] if os.path.exists(default) else []


def _find_log(workspace: Workspace, config: Config, pools: Sequence[str]) -> str | None:
    """The judgment log: as configured, or next to the pool."""
    if config.log is not None:
        return config.log if "://" in config.log else workspace.located(config.log)
    if pools:
        return default_log_path(pools[0])
    return None if config == Config() and workspace.judging is None else workspace.located("judgments.db")


def _configure(log: JudgmentLog, workspace: Workspace, config: Config, pools: Sequence[str]) -> list[str]:
    """Apply the configuration of the workspace; other settings of the log stay. Returns notes for the coordinator."""
    notes: list[str] = []
    changes: dict[str, Any] = {
        name: getattr(config, name)
        for name in ("judgments", "overlap", "repeats", "hold", "dispute")
        if getattr(config, name) is not None
    }
    if config.grades is not None:
        changes["scale"] = (
            read_scale(workspace.located(config.grades)) if isinstance(config.grades, str) else Scale.of(config.grades)
        )
    if config.guidelines is not None:
        changes["guidelines"] = _read_text(workspace.located(config.guidelines))
    before = log.settings
    settings = replace(before, **changes)
    if settings != before:
        log.configure(settings)
    for pool in pools:
        log.add_pool(pool)
    if config.gold is not None:
        grades = read_qrels(workspace.located(config.gold)).to_dict()
        log.add_gold(grades)
        notes += annotation_report.describe_refused_gold(log, grades)
    if config.assessors and not list_assignments(log) and log.topics():
        assign_evenly(log, config.assessors)
    return notes


def _read_text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8", "replace").strip()
    except OSError as error:
        raise InputError(f"cannot read the file: {error.strerror or error}.", file) from None


class _NoDocuments:
    """A source without texts: documents are shown by their ids."""

    def get(self, doc: str) -> Document | None:
        return None


def open_documents(workspace: Workspace, collection: Collection, watch: Watch = iter) -> DocumentSource:
    """The texts of the documents of a collection, stored in the workspace."""
    if collection.documents is None:
        return _NoDocuments()
    file = workspace.folder / DATA_FOLDER / collection.path("texts.db")
    return DocumentStore.open(file, _fingerprint(workspace, collection), lambda: watch(workspace.documents(collection)))


def _fingerprint(workspace: Workspace, collection: Collection) -> str:
    located = workspace.located(str(collection.documents))
    return fingerprint_files(*(located, located.partition(":")[2])) + str(collection.formats.get("documents"))


def _open_search(
    workspace: Workspace, collection: Collection, documents: DocumentSource, system: str | None
) -> DocumentSearch | None:
    if system is None or not isinstance(documents, DocumentStore):
        return None
    return DocumentSearch(workspace, collection, documents, _fingerprint(workspace, collection), system)


def _open_adaptive_pool(
    log: JudgmentLog, workspace: Workspace, collection: Collection, config: Config
) -> Callable[[str], int] | None:
    """A function that adds documents of a topic to the pool, from the runs of the workspace."""
    adaptive = config.adaptive
    if adaptive is None:
        return None
    if not workspace.systems:
        raise InputError("adaptive pooling needs runs, but there are none under [systems].", str(workspace.file))
    runs = [workspace.run(system, collection) for system in workspace.systems]
    topics = {topic.id for topic in workspace.topics(collection)} if collection.has_topics else None
    limits = adaptive.depth, adaptive.budget, adaptive.batch
    return start_adaptive_pool(log, runs, adaptive.strategy, *limits, workspace.seed, topics)


def _shorten(text: str, limit: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 1].rsplit(' ', 1)[0]} …"
