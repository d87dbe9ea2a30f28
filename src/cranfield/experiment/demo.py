"""The demo: an experiment on the built-in collection, laid out in a folder where it can be gone on with."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from cranfield.base import Record
from cranfield.errors import InputError, MissingExtra
from cranfield.experiment.fingerprints import KEPT, digest_of
from cranfield.experiment.workspace import FILE, Workspace, open_workspace
from cranfield.io import open_output
from cranfield.text import Analysis

FOLDER = "cranfield-demo"
FILES = ("documents.jsonl", "topics.xml", "qrels.txt")
TEXT = """\
# An experiment on the collection that comes with cranfield. Change what you like, then run:
#   cranfield experiment

title = "Which system finds what a cyclist asks for?"

[collection]
title = "bicycles"
documents = "documents.jsonl"
topics = "topics.xml"
qrels = "qrels.txt"
{index}
[systems]
# words of the topic's title, weighed by BM25
bm25 = "bm25"
# more words to search with, and other weights
tfidf = {{ system = "tfidf", fields = "title,description" }}
dph = {{ system = "dph", fields = "title,description,narrative" }}
lm = {{ system = "lm:mu=300", fields = "title,description,narrative" }}
# words that the topic does not have: from the first documents found, and by latent semantics
rm3 = {{ system = "bm25+rm3", fields = "title,description" }}
lsi = {{ system = "lsi:k=60", fields = "title,description" }}
{engine}# two of them made one
hybrid = {{ fuse = ["rm3", "lsi"], method = "rrf" }}

[pool]
depth = 20

[efficiency]
repetitions = 5
clients = [1, 2]
seconds = 0.25
"""
STEMLESS = 'index = { stemmer = "none" }  # stems need an extra: pip install "cranfield[lab]"\n'
SQLITE = '# a database that can search\nsqlite = { engine = "sqlite:sqlite.db", fields = "title,description" }\n'


class Demo(Record):
    """The workspace, and what is lacking in it for want of something else."""

    workspace: Workspace
    notes: tuple[str, ...] = ()


def lay_out(folder: str | None = None) -> Demo:
    """Write the demo's files where they are not yet; without a folder, here or where temporary files go."""
    notes = []
    try:
        place = _made(Path(folder or FOLDER))
    except InputError:
        if folder is not None:
            raise
        place = _made(Path(tempfile.mkdtemp(prefix="cranfield-")) / FOLDER)
        notes.append(f"nothing can be written here, so that the demo is in {place}.")
    _fill(place, {FILE: toml(has_stems(), has_sqlite()).encode(), **_collection()})
    if not has_stems():
        notes.append("words are not cut to their stems: that needs an extra, pip install 'cranfield[lab]'")
    if not has_sqlite():
        notes.append("sqlite is left out: this Python's SQLite has no full-text search.")
    return Demo(open_workspace(place), tuple(notes))


def toml(stems: bool, sqlite: bool) -> str:
    """The file of the demo, with what there is."""
    return TEXT.format(index="" if stems else STEMLESS, engine=SQLITE if sqlite else "")


def has_stems() -> bool:
    """Whether words can be cut to their stems."""
    try:
        Analysis()
    except MissingExtra:
        return False
    return True


def has_sqlite() -> bool:
    """Whether SQLite can search text."""
    try:
        import sqlite3
    except ImportError:
        return False
    try:
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE VIRTUAL TABLE texts USING fts5(text)")
        database.close()
    except sqlite3.Error:
        return False
    return True


def _made(place: Path) -> Path:
    """A folder that is there and can be written to."""
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}.", str(place)) from None


def _collection() -> dict[str, bytes]:
    """Documents, topics and judgments."""
    return {name: (files("cranfield") / "example" / name).read_bytes() for name in FILES}


def _fill(place: Path, contents: Mapping[str, bytes]) -> None:
    """Write what is missing or older; what somebody has changed stays, but then it is no demo any more."""
    kept = place / KEPT / "demo.json"
    before = _digests(kept)
    _check_ours(place, before)
    kept.parent.mkdir(exist_ok=True)
    _write(kept, json.dumps({name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}).encode())
    for name, content in contents.items():
        if not _is_changed(place / name, before.get(name)):
            _write(place / name, content)


def _check_ours(place: Path, before: Mapping[str, str]) -> None:
    """Nobody else's experiment is changed, nor a folder with other things filled."""
    if (place / FILE).exists() and _is_changed(place / FILE, before.get(FILE)):
        hint = f"`cranfield experiment {place}` runs it; -o names another folder for the demo"
        raise InputError(f"this is not as the demo has it. {hint}.", str(place / FILE))
    if not before and any(path.name != KEPT for path in place.iterdir()):
        raise InputError("this folder is not empty, and holds no demo. Name another with -o.", str(place))


def _digests(kept: Path) -> dict[str, str]:
    """What an earlier demo wrote here."""
    try:
        found = json.loads(kept.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _is_changed(path: Path, digest: str | None) -> bool:
    """Whether a file is there and is not what was written."""
    return path.exists() and digest_of(path) != digest


def _write(path: Path, content: bytes) -> None:
    with open_output(path) as out:
        out.write(content)
