"""A collection as it is explored: judgments, runs and topics, identified by their content."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any

from cranfield.annotation import JudgingError, JudgmentLog, export_qrels
from cranfield.base import DEFAULT_MEASURES, Record, encode_id
from cranfield.data import Qrels, Topic
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import distinct_names
from cranfield.experiment import Collection, Given, Workspace
from cranfield.io import display_name, expand_path, hash_file, read_qrels
from cranfield.measures import parse_user_name
from cranfield.workbench.app_state import DataSource
from cranfield.workbench.document_store import DocumentSource, fingerprint_files
from cranfield.workbench.explore.cache import Cache, cache_key
from cranfield.workbench.judge.judging_service import open_documents


class System(Record):
    """A system and its run: the file, and the digest of its content."""

    name: str
    file: str
    format: str | None
    digest: str


class CollectionView(Record, eq=False):
    """A snapshot of a collection; equal tags mean equal content."""

    tag: str
    name: str  # empty if there is only one collection
    title: str
    qrels: Qrels
    qrels_digest: str
    systems: tuple[System, ...]
    qrels_file: str = ""  # the name to show; empty if the judgments come from the live log
    topics: Mapping[str, Topic] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of the evaluation
    measures: tuple[str, ...] = DEFAULT_MEASURES
    baseline: str | None = None
    alpha: float = 0.05
    seed: int = 1
    resamples: int = 10_000
    costs: str | None = None  # the file with efficiency measurements
    notes: tuple[str, ...] = ()

    @property
    def rel(self) -> float:
        """The lowest relevant grade."""
        return float(self.options.get("rel") or 1)

    @property
    def by_name(self) -> dict[str, System]:
        return {system.name: system for system in self.systems}


class LiveLog:
    """The judgment log, while assessors are at work."""

    def __init__(self, log: JudgmentLog) -> None:
        self.log = log

    @property
    def version(self) -> str:
        """Changes with every event, and when an assessor is marked as a model."""
        counts = "SELECT (SELECT MAX(seq) FROM events), (SELECT SUM(is_model) FROM assessors)"
        return str(self.log.read(lambda at: at.row(counts)))

    @property
    def has_judgments(self) -> bool:
        """Whether anything has been judged."""
        sql = "SELECT 1 FROM states WHERE grade IS NOT NULL UNION SELECT 1 FROM pairs WHERE adjudicated IS NOT NULL"
        return self.log.read(lambda at: at.value(f"{sql} LIMIT 1")) is not None

    def qrels(self) -> Qrels:
        """One grade for each pair, combined by the default rule."""
        try:
            return export_qrels(self.log).qrels
        except JudgingError as error:  # all judgments may be undone, or by models
            raise NothingToExplore(f"There are no judgments yet: {error}") from None


def is_judged_here(workspace: Workspace, collection: str) -> bool:
    """Whether documents of this collection are judged in the workbench."""
    configured = workspace.judging.collection if workspace.judging else ""
    return collection == (configured or workspace.collections[0].name)


class NothingToExplore(CranfieldError):
    """Judgments or runs are missing; the message says what to do."""


class CollectionLoader:
    """Loads collections, and reads only what has changed since."""

    def __init__(self, source: DataSource, cache: Cache) -> None:
        self.source = source
        self.cache = cache
        self._lock = threading.Lock()
        self._digests: dict[str, tuple[str, str]] = {}
        self._read: dict[tuple[str, str], tuple[str, Any]] = {}
        self._views: dict[str, CollectionView] = {}
        self._documents: dict[str, DocumentSource] = {}
        self.log: LiveLog | None = None  # if documents are judged here

    @property
    def collections(self) -> list[tuple[str, str]]:
        """The names and titles of the collections."""
        workspace = self.source.workspace
        if workspace is None:
            return [("", "")]
        return [(one.name, one.title or one.name) for one in workspace.collections]

    def load(self, name: str | None = None) -> CollectionView:
        """A collection as it is on disk now; by default the first one. Raises KeyError for an unknown name."""
        names = [name for name, _ in self.collections]
        name = name or names[0]
        if name not in names:
            raise KeyError(name)
        with self._lock:
            fields = self._fields(name)
            before = self._views.get(name)
            if before is None or before.tag != fields["tag"]:
                self._views[name] = CollectionView(**fields)
            return self._views[name]

    def _fields(self, name: str) -> dict[str, Any]:
        workspace = self.source.workspace
        fields = self._of_files() if workspace is None else self._of_workspace(workspace, _find(workspace, name))
        systems = [[system.name, system.digest, system.format, system.file] for system in fields["systems"]]
        parts = [fields["qrels_digest"], systems, fields["options"]]
        rest = {key: value for key, value in fields.items() if key not in ("qrels", "topics", "systems")}
        return fields | {"tag": cache_key("explored", *parts, rest, fields.pop("topics_fingerprint", ""))}

    def _of_files(self) -> dict[str, Any]:
        assert self.source.qrels is not None
        files = [file for path in self.source.runs for file in expand_path(path)]
        if not files:
            raise NothingToExplore("There are no runs: name them, as in cranfield serve --qrels QRELS RUN…")
        names = distinct_names([display_name(file) for file in files], list(files))
        path = self.source.qrels
        qrels, digest = self._read_once("qrels", path, fingerprint_files(path), lambda: _with_digest(read_qrels(path)))
        systems = [System(name, file, None, self._digest(file)) for name, file in zip(names, files, strict=True)]
        return {
            "name": "",
            "title": "",
            "qrels": qrels,
            "qrels_digest": digest,
            "qrels_file": display_name(path),
            "systems": tuple(systems),
            "topics": {},
            "options": {},
        }

    def _of_workspace(self, workspace: Workspace, collection: Collection) -> dict[str, Any]:
        systems, missing = self._runs(workspace, collection)
        if not systems:
            raise NothingToExplore(f"There are no runs{_of(collection)} yet. Create them with cranfield experiment.")
        evaluation = workspace.evaluation
        qrels, digest, notes = self._qrels(workspace, collection)
        options = {
            "rel": evaluation.rel,
            "ties": evaluation.ties,
            "missing": evaluation.missing,
            "seed": workspace.seed,
        }
        names = [system.name for system in systems]
        costs = str(workspace.folder / collection.path("efficiency.json"))
        return {
            "name": collection.name,
            "title": collection.title or collection.name,
            "qrels": qrels,
            "qrels_digest": digest,
            "qrels_file": _qrels_file(collection),
            "systems": tuple(systems),
            "topics": self._topics(workspace, collection),
            "topics_fingerprint": _fingerprint(workspace, collection, collection.topics)
            if collection.has_topics
            else "",
            "options": options,
            "measures": tuple(_locate(workspace, name) for name in evaluation.measures),
            "baseline": next((name for name in evaluation.baseline if name in names), None),
            "alpha": evaluation.alpha,
            "seed": workspace.seed,
            "resamples": evaluation.resamples,
            "costs": costs if os.path.isfile(costs) else None,
            "notes": (*notes, *(f"{name} has no run yet: cranfield experiment creates it." for name in missing)),
        }

    def _qrels(self, workspace: Workspace, collection: Collection) -> tuple[Qrels, str, tuple[str, ...]]:
        """The judgments that the workspace names, or else those of the live log; and notes."""
        if collection.has_qrels:
            qrels, digest = self._read_once(
                "qrels",
                collection.name,
                _fingerprint(workspace, collection, collection.qrels),
                lambda: _with_digest(workspace.qrels(collection)),
            )
            return qrels, digest, ()
        log = self.log if is_judged_here(workspace, collection.name) else None
        if log is None or not log.has_judgments:
            raise NothingToExplore(
                f"There are no judgments{_of(collection)} yet. Judge documents, or name a file in cranfield.toml: "
                'qrels = "qrels.txt" under [collection].'
            )
        qrels, digest = self._read_once("qrels", collection.name, log.version, lambda: _with_digest(log.qrels()))
        return qrels, digest, ("Systems are evaluated with the judgments made in this workbench so far.",)

    def _runs(self, workspace: Workspace, collection: Collection) -> tuple[list[System], list[str]]:
        systems, missing = [], []
        for system in workspace.systems:
            file = os.path.join(workspace.folder, workspace.run_file(system, collection))
            if not os.path.isfile(file):
                missing.append(system.name)
                continue
            format = system.format if isinstance(system, Given) else "trec"
            systems.append(System(system.name, file, format, self._digest(file)))
        return systems, missing

    def _topics(self, workspace: Workspace, collection: Collection) -> Mapping[str, Topic]:
        if not collection.has_topics:
            return {}
        stamp = _fingerprint(workspace, collection, collection.topics)
        topics: Mapping[str, Topic] = self._read_once(
            "topics", collection.name, stamp, lambda: {topic.id: topic for topic in workspace.topics(collection)}
        )
        return topics

    def _read_once(self, what: str, name: str, fingerprint: str, read: Callable[[], Any]) -> Any:
        """Read something, unless it was read before and has the same fingerprint."""
        last = self._read.get((what, name))
        if last is None or last[0] != fingerprint:
            last = self._read[(what, name)] = (fingerprint, read())
        return last[1]

    def _digest(self, file: str) -> str:
        """The SHA-256 of a file, computed only if its size or times have changed."""
        try:
            state = os.stat(file)
        except OSError as error:
            raise InputError(f"cannot read the file: {error.strerror or error}.", file) from None
        fingerprint = f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino} {state.st_dev}"
        last = self._digests.get(file)
        if last is None or last[0] != fingerprint:
            key = cache_key("digest", os.path.abspath(file), fingerprint)
            cached = self.cache.get(key)
            digest = cached.decode() if cached else hash_file(file)
            if cached is None:
                self.cache.put({key: digest.encode()})
            last = self._digests[file] = (fingerprint, digest)
        return last[1]

    def documents(self, name: str, already_open: DocumentSource | None = None) -> DocumentSource | None:
        """The texts of the documents of a collection, if it has any."""
        workspace = self.source.workspace
        if workspace is None:
            return None
        collection = _find(workspace, name)
        if collection.documents is None:
            return None
        if already_open is not None:
            return already_open
        if name not in self._documents:
            self._documents[name] = open_documents(workspace, collection)
        return self._documents[name]


def _find(workspace: Workspace, name: str) -> Collection:
    return next(one for one in workspace.collections if one.name == name)


def _locate(workspace: Workspace, measure: str) -> str:
    """The name of a measure; the file of a user's own measure is relative to the workspace."""
    own = parse_user_name(measure)
    return measure if own is None else f"{workspace.located(own[0])}:{own[1]}"


def _of(collection: Collection) -> str:
    return f" of {collection.name}" if collection.name else ""


def _qrels_file(collection: Collection) -> str:
    if not collection.has_qrels:
        return ""
    return "the qrels of the collection" if collection.qrels is None else display_name(collection.qrels)


def _fingerprint(workspace: Workspace, collection: Collection, file: str | None) -> str:
    """The fingerprint of judgments or topics: a file, or part of a whole collection."""
    text = workspace.located(file if file is not None else str(collection.documents))
    return fingerprint_files(text, text.partition(":")[2] or text)


def _with_digest(qrels: Qrels) -> tuple[Qrels, str]:
    """Judgments and the digest of their content, independent of the file format."""
    digest = hashlib.sha256()
    for text in _content(qrels):
        digest.update(len(text).to_bytes(8, "little") + text)
    return qrels, digest.hexdigest()


def _content(qrels: Qrels) -> Iterator[bytes]:
    yield from map(encode_id, qrels.queries)
    yield qrels.starts.tobytes()
    yield qrels.grades.tobytes()
    for column in (qrels.docs, qrels.subtopics, *(qrels.extra[name] for name in sorted(qrels.extra))):
        yield b"\0".join(map(encode_id, map(str, column)))
