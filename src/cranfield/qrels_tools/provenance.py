"""Where judgments come from, in a file next to theirs: qrels have no comments that every tool ignores."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import field
from importlib.metadata import version
from typing import Any, Literal, cast

from cranfield.base import Record
from cranfield.data import Qrels
from cranfield.errors import CranfieldError
from cranfield.io import PathLike, hash_file, open_output, write_qrels

SUFFIX = ".provenance.json"
CLICKS = "clicks"  # the kind of qrels made from clicks, and their second column, which evaluation ignores
Kind = Literal["judgments", "clicks"]


class ProvenanceSource(Record):
    """One of the files that judgments were made from."""

    name: str
    file: str | None
    sha256: str | None
    is_model: bool = False


class Provenance(Record):
    """How a file of judgments was made: by which command and rule, from which files."""

    made_by: str  # the command
    kind: Kind
    rule: str  # in a sentence
    sources: tuple[ProvenanceSource, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def is_model(self) -> bool:
        """Whether any of the judgments are a model's."""
        return any(source.is_model for source in self.sources)


def label_assessor(name: str, is_model: bool) -> str:
    """The name of an assessor as people read it, marked if it is a model.

    >>> label_assessor("anna", False), label_assessor("gpt", True)
    ('anna', 'gpt (model)')
    """
    return f"{name} (model)" if is_model else name


def describe_provenance(known: Provenance) -> str:
    """Where judgments come from, in a phrase."""
    names = (label_assessor(source.name, source.is_model) for source in known.sources)
    return f"made by '{known.made_by}' from {', '.join(names)}: {known.rule}."


def source_of(qrels: Qrels, is_model: bool = False, name: str | None = None) -> ProvenanceSource:
    """A file of judgments as a source of others."""
    origin = qrels.origin
    return ProvenanceSource(
        name or qrels.name, origin.file if origin else None, origin.sha256 if origin else None, is_model
    )


def inherit_provenance(made_by: str, rule: str, qrels: Qrels, known: Provenance | None, **settings: Any) -> Provenance:
    """The provenance of judgments made from one file: judgments of a model, and clicks, remain marked as such."""
    is_model = known is not None and known.is_model
    from_clicks = is_clicks(qrels) or (known is not None and known.kind == "clicks")
    kind: Kind = "clicks" if from_clicks else "judgments"
    return Provenance(made_by, kind, rule, (source_of(qrels, is_model),), settings)


def is_clicks(qrels: Qrels) -> bool:
    """Whether the second column says that the grades come from clicks."""
    return bool(len(qrels)) and set(qrels.subtopics) == {CLICKS}


def provenance_file(path: PathLike) -> str:
    """The file that holds the provenance of another.

    >>> provenance_file("merged.qrels")
    'merged.qrels.provenance.json'
    """
    return f"{os.fspath(path)}{SUFFIX}"


def write_judgments(qrels: Qrels, path: str, provenance: Provenance, format: str | None = None) -> tuple[str, ...]:
    """Write judgments, and next to them their provenance, except on standard output.

    Returns notes on what the format could not hold.
    """
    lost = write_qrels(qrels, path, format)
    if path != "-" and os.path.isfile(path):
        known = {**_record(provenance), "sha256": hash_file(path)}
        with open_output(provenance_file(path)) as out:
            out.write((json.dumps(known, indent=1, ensure_ascii=True) + "\n").encode())
    return lost


def read_provenance(path: PathLike) -> Provenance | None:
    """The provenance of a file of judgments; None if there is none, or if the file has changed since."""
    try:
        with open(provenance_file(path), "rb") as file:
            found = json.loads(file.read())
        if found["sha256"] != hash_file(path):
            return None
        sources = tuple(
            ProvenanceSource(str(one["name"]), one.get("file"), one.get("sha256"), bool(one.get("model")))
            for one in found["sources"]
        )
        settings, notes = dict(found.get("settings", {})), tuple(map(str, found.get("notes", ())))
        return Provenance(
            str(found["made_by"]), cast(Kind, str(found["kind"])), str(found["rule"]), sources, settings, notes
        )
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


def _sources(sources: Sequence[ProvenanceSource]) -> list[dict[str, Any]]:
    return [{"name": s.name, "file": s.file, "sha256": s.sha256, "model": s.is_model} for s in sources]
