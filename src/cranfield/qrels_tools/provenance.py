"""Where judgments come from, kept beside the file: qrels have no room for it that every tool would pass over."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib.metadata import version
from typing import Any

from cranfield.base import Record
from cranfield.data import Qrels
from cranfield.errors import CranfieldError
from cranfield.io import PathLike, hash_file, open_output, write_qrels

SUFFIX = ".provenance.json"
JUDGMENTS, CLICKS = "judgments", "clicks"


class Source(Record):
    """One of the files that judgments were made of."""

    name: str
    file: str | None
    sha256: str | None
    is_model: bool = False


class Provenance(Record):
    """How a file of judgments was made: what of, by which rule."""

    made_by: str  # the command
    kind: str  # judgments or clicks
    rule: str  # in a sentence
    sources: tuple[Source, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_model(self) -> bool:
        """Whether a model had a part in it."""
        return any(source.is_model for source in self.sources)


def label(name: str, is_model: bool) -> str:
    """What an assessor is called in all that people read: the name, marked if it is a model's.

    >>> label("anna", False), label("gpt", True)
    ('anna', 'gpt (model)')
    """
    return f"{name} (model)" if is_model else name


def described(known: Provenance) -> str:
    """Where judgments come from, in a sentence."""
    names = (label(source.name, source.is_model) for source in known.sources)
    return f"made by '{known.made_by}' of {', '.join(names)}: {known.rule}."


def source_of(qrels: Qrels, is_model: bool = False, name: str | None = None) -> Source:
    """A file of judgments as a source of others."""
    origin = qrels.origin
    return Source(name or qrels.name, origin.file if origin else None, origin.sha256 if origin else None, is_model)


def inherited(made_by: str, rule: str, qrels: Qrels, known: Provenance | None, **settings: Any) -> Provenance:
    """The provenance of judgments that were made of one file: what was a model's or clicks' stays so."""
    is_model = known is not None and known.is_model
    kind = CLICKS if is_clicks(qrels) or (known is not None and known.kind == CLICKS) else JUDGMENTS
    return Provenance(made_by, kind, rule, (source_of(qrels, is_model),), settings)


def is_clicks(qrels: Qrels) -> bool:
    """Whether the second column says that grades were made of clicks."""
    return bool(len(qrels)) and set(qrels.subtopics) == {CLICKS}


def provenance_file(path: PathLike) -> str:
    """Where the provenance of a file is kept.

    >>> provenance_file("merged.qrels")
    'merged.qrels.provenance.json'
    """
    return f"{os.fspath(path)}{SUFFIX}"


def write_judgments(qrels: Qrels, path: str, provenance: Provenance, format: str | None = None) -> tuple[str, ...]:
    """Write judgments, and beside them where they come from; on standard output there is no beside.

    What the format could not hold is said.
    """
    lost = write_qrels(qrels, path, format)
    if path != "-" and os.path.isfile(path):
        known = {**_record(provenance), "sha256": hash_file(path)}
        with open_output(provenance_file(path)) as out:
            out.write((json.dumps(known, indent=1, ensure_ascii=True) + "\n").encode())
    return lost


def read_provenance(path: PathLike) -> Provenance | None:
    """What is noted beside a file of judgments; None if nothing is, or it is of a file that has since been changed."""
    try:
        with open(provenance_file(path), "rb") as file:
            found = json.loads(file.read())
        if found["sha256"] != hash_file(path):
            return None
        sources = tuple(
            Source(str(one["name"]), one.get("file"), one.get("sha256"), bool(one.get("model")))
            for one in found["sources"]
        )
        settings, notes = dict(found.get("settings", {})), tuple(map(str, found.get("notes", ())))
        return Provenance(str(found["made_by"]), str(found["kind"]), str(found["rule"]), sources, settings, notes)
    except (CranfieldError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _record(provenance: Provenance) -> dict[str, Any]:
    return {
        "made_by": provenance.made_by,
        "cranfield": version("cranfield"),
        "kind": provenance.kind,
        "rule": provenance.rule,
        "sources": _sources(provenance.sources),
        "settings": dict(provenance.settings),
        "notes": list(provenance.notes),
    }


def _sources(sources: Sequence[Source]) -> list[dict[str, Any]]:
    return [{"name": s.name, "file": s.file, "sha256": s.sha256, "model": s.is_model} for s in sources]
