"""What is explored: the judgments, runs, topics and texts of one collection, named by their content."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol

from cranfield.annotation import JudgingError, JudgmentLog, export_qrels
from cranfield.base import DEFAULT_MEASURES, Record, encode_id
from cranfield.data import Document, Qrels, Topic
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import distinct_names
from cranfield.experiment import Collection, Given, Workspace
from cranfield.io import display_name, expand, read_qrels, sha256_of
from cranfield.measures import own_name
from cranfield.workbench.app_state import Served
from cranfield.workbench.document_store import stamp_of
from cranfield.workbench.explore.cache import Kept, key_of
from cranfield.workbench.judge.judging_service import library_of


class Shelf(Protocol):
    """Where texts of documents come from."""

    def get(self, doc: str) -> Document | None: ...


class System(Record):
    """A run by the name of its system: where it is, and the digest of its content."""

    name: str
    file: str
    format: str | None
    digest: str


class Explored(Record, eq=False):
    """One collection with everything that is known of it; equal tags mean equal contents."""

    tag: str
    name: str  # of the collection, empty where there is only one
    title: str
    qrels: Qrels
    qrels_digest: str
    systems: tuple[System, ...]
    qrels_file: str = ""  # its name; empty where judgments are those that are being made here
    topics: Mapping[str, Topic] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)  # of the evaluation
    measures: tuple[str, ...] = DEFAULT_MEASURES
    baseline: str | None = None
    alpha: float = 0.05
    seed: int = 1
    resamples: int = 10_000
    pool_depth: int | None = None
    costs: str | None = None  # the file, if there is one
    notes: tuple[str, ...] = ()

    @property
    def rel(self) -> float:
        """The lowest relevant grade."""
        return float(self.options.get("rel") or 1)

    @property
    def by_name(self) -> dict[str, System]:
        return {system.name: system for system in self.systems}


class LiveLog:
    """Judgments that are being made."""

    def __init__(self, log: JudgmentLog) -> None:
        self.log = log

    @property
    def stamp(self) -> str:
        """What changes with every event, and when an assessor is marked as a model."""
        counts = "SELECT (SELECT MAX(seq) FROM events), (SELECT SUM(is_model) FROM assessors)"
        return str(self.log.read(lambda at: at.row(counts)))

    @property
    def judgments_there(self) -> bool:
        """Whether something is judged by now."""
        found = "SELECT 1 FROM states WHERE grade IS NOT NULL UNION SELECT 1 FROM pairs WHERE adjudicated IS NOT NULL"
        return self.log.read(lambda at: at.value(f"{found} LIMIT 1")) is not None

    def qrels(self) -> Qrels:
        """One grade for each pair, by the usual rule where several judged it."""
        try:
            return export_qrels(self.log).qrels
        except JudgingError as error:  # what is there may be undone, or of models only
            raise Nothing(f"There are no judgments yet: {error}") from None


def is_judged_here(workspace: Workspace, collection: str) -> bool:
    """Whether it is this collection whose documents are judged."""
    wanted = workspace.judging.collection if workspace.judging else ""
    return collection == (wanted or workspace.collections[0].name)


class Nothing(CranfieldError):
    """There is nothing to explore yet; the message says what to do."""


class Finder:
    """Finds what is explored, and reads again only what has changed."""

    def __init__(self, served: Served, kept: Kept) -> None:
        self.served = served
        self.kept = kept
        self._lock = threading.Lock()
        self._digests: dict[str, tuple[str, str]] = {}
        self._read: dict[tuple[str, str], tuple[str, Any]] = {}
        self._found: dict[str, Explored] = {}
        self._libraries: dict[str, Shelf | None] = {}
        self.log: LiveLog | None = None  # where documents are being judged

    @property
    def collections(self) -> list[tuple[str, str]]:
        """The names and titles of collections."""
        workspace = self.served.workspace
        if workspace is None:
            return [("", "")]
        return [(one.name, one.title or one.name) for one in workspace.collections]

    def find(self, name: str | None = None) -> Explored:
        """A collection as it is on disk now; the first one, unless named."""
        known = [own for own, _ in self.collections]
        wanted = name if name else known[0]
        if wanted not in known:
            raise KeyError(wanted)
        with self._lock:
            return self._explored(wanted)

    def _explored(self, name: str) -> Explored:
        given = self._given(name)
        before = self._found.get(name)
        if before is None or before.tag != given["tag"]:
            self._found[name] = Explored(**given)
        return self._found[name]

    def _given(self, name: str) -> dict[str, Any]:
        workspace = self.served.workspace
        own = self._of_files() if workspace is None else self._of_workspace(workspace, _named(workspace, name))
        parts = [own["qrels_digest"], [[s.name, s.digest, s.format, s.file] for s in own["systems"]], own["options"]]
        rest = {key: value for key, value in own.items() if key not in ("qrels", "topics", "systems")}
        return own | {"tag": key_of("explored", *parts, rest, own.pop("topics_stamp", ""))}

    def _of_files(self) -> dict[str, Any]:
        assert self.served.qrels is not None
        files = [file for path in self.served.runs for file in expand(path)]
        if not files:
            raise Nothing("There are no runs: name them behind the judgments, as in cranfield serve --qrels QRELS RUN…")
        names = distinct_names([display_name(file) for file in files], list(files))
        path = self.served.qrels
        qrels, digest = self._once("qrels", path, stamp_of(path), lambda: _with_digest(read_qrels(path)))
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
            raise Nothing(f"There are no runs{_of(collection)} yet. Make them with cranfield experiment.")
        asked = workspace.evaluation
        qrels, digest, said = self._qrels(workspace, collection)
        options = {"rel": asked.rel, "ties": asked.ties, "missing": asked.missing, "seed": workspace.seed}
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
            "topics_stamp": _stamp(workspace, collection, collection.topics) if collection.has_topics else "",
            "options": options,
            "measures": tuple(_located(workspace, name) for name in asked.measures),
            "baseline": next((name for name in asked.baseline if name in names), None),
            "alpha": asked.alpha,
            "seed": workspace.seed,
            "resamples": asked.resamples,
            "pool_depth": None,
            "costs": costs if os.path.isfile(costs) else None,
            "notes": (*said, *(f"{name} has no run yet: cranfield experiment makes it." for name in missing)),
        }

    def _qrels(self, workspace: Workspace, collection: Collection) -> tuple[Qrels, str, tuple[str, ...]]:
        """The judgments that the workspace names, or else those that are being made here."""
        if collection.has_qrels:
            stamp = _stamp(workspace, collection, collection.qrels)
            found = self._once("qrels", collection.name, stamp, lambda: _with_digest(workspace.qrels(collection)))
            return (*found, ())
        log = self.log if is_judged_here(workspace, collection.name) else None
        if log is None or not log.judgments_there:
            raise Nothing(
                f"There are no judgments{_of(collection)} yet. Judge documents, or name judgments in cranfield.toml, "
                'as in qrels = "qrels.txt" under [collection].'
            )
        found = self._once("qrels", collection.name, log.stamp, lambda: _with_digest(log.qrels()))
        return (*found, ("Systems are evaluated by the judgments that are being made here, as they are now.",))

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
        stamp = _stamp(workspace, collection, collection.topics)
        found: Mapping[str, Topic] = self._once(
            "topics", collection.name, stamp, lambda: {topic.id: topic for topic in workspace.topics(collection)}
        )
        return found

    def _once(self, what: str, name: str, stamp: str, read: Any) -> Any:
        """What was read, as long as the files look the same from outside."""
        known = self._read.get((what, name))
        if known is None or known[0] != stamp:
            known = self._read[(what, name)] = (stamp, read())
        return known[1]

    def _digest(self, file: str) -> str:
        """The SHA-256 of a file, found out once as long as it looks the same."""
        try:
            state = os.stat(file)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}.", file) from None
        looks = f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino} {state.st_dev}"
        known = self._digests.get(file)
        if known is None or known[0] != looks:
            key = key_of("digest", os.path.abspath(file), looks)
            kept = self.kept.get(key)
            digest = kept.decode() if kept else sha256_of(file)
            if kept is None:
                self.kept.put({key: digest.encode()})
            known = self._digests[file] = (looks, digest)
        return known[1]

    # Texts

    def library(self, name: str, beside: Shelf | None = None) -> Shelf | None:
        """The texts of a collection's documents; None where it names none. `beside` are those that judges read."""
        workspace = self.served.workspace
        if workspace is None:
            return None
        collection = _named(workspace, name)
        if collection.documents is None:
            return None
        if beside is not None:
            return beside
        if name not in self._libraries:
            self._libraries[name] = library_of(workspace, collection)
        return self._libraries[name]


def _named(workspace: Workspace, name: str) -> Collection:
    return next(one for one in workspace.collections if one.name == name)


def _located(workspace: Workspace, measure: str) -> str:
    """A measure by name; a file of one's own is named as seen from the folder of the workspace."""
    own = own_name(measure)
    return measure if own is None else f"{workspace.located(own[0])}:{own[1]}"


def _of(collection: Collection) -> str:
    return f" of {collection.name}" if collection.name else ""


def _qrels_file(collection: Collection) -> str:
    if not collection.has_qrels:
        return ""
    return "the qrels of the collection" if collection.qrels is None else display_name(collection.qrels)


def _stamp(workspace: Workspace, collection: Collection, own: str | None) -> str:
    """What judgments or topics look like from outside, be they a file or a part of a whole collection."""
    text = workspace.located(own if own is not None else str(collection.documents))
    return stamp_of(text, text.partition(":")[2] or text)


def _with_digest(qrels: Qrels) -> tuple[Qrels, str]:
    """Judgments, and the digest of what they say, whatever format they were in."""
    digest = hashlib.sha256()
    for text in _said(qrels):
        digest.update(len(text).to_bytes(8, "little") + text)
    return qrels, digest.hexdigest()


def _said(qrels: Qrels) -> Iterator[bytes]:
    yield from map(encode_id, qrels.queries)
    yield qrels.starts.tobytes()
    yield qrels.grades.tobytes()
    for column in (qrels.docs, qrels.subtopics, *(qrels.extra[name] for name in sorted(qrels.extra))):
        yield b"\0".join(map(encode_id, map(str, column)))


def systems_named(explored: Explored, names: Sequence[str]) -> list[System]:
    """Systems by name; KeyError for one that is not there."""
    known = explored.by_name
    return [known[name] for name in names]


def where(served: Served) -> Path | None:
    """Where a server keeps what it worked out; None for a temporary folder."""
    from cranfield.workbench.explore.cache import place_of

    return None if served.workspace is None else place_of(served.workspace.folder)
