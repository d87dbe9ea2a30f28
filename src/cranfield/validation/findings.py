"""Findings of a check, and the file they are about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from cranfield.base import Record
from cranfield.data import Qrels, Run
from cranfield.io import FileKind, add_place

Level = Literal["error", "warning", "info"]
Unit = Literal["line", "record"]


class Finding(Record):
    """One thing wrong (error), suspicious (warning) or worth knowing (info)."""

    level: Level
    about: str  # the kind of finding, in a few words
    message: str
    line: int | None = None
    count: int = 1  # how many there are; the line is that of the first
    unit: Unit = "line"  # what `line` counts: JSON and Parquet have records
    file: str | None = None  # which of two files the line is in

    def __str__(self) -> str:
        file = "" if self.file is None else f"{self.file}, "
        return add_place(self.message, self.count, None if self.line is None else f"{file}{self.unit} {self.line}")

    def record(self) -> dict[str, Any]:
        place = {"file": self.file} if self.file is not None else {}
        return {
            "level": self.level,
            "about": self.about,
            **place,
            "line": self.line if self.unit == "line" else None,
            **({"record": self.line} if self.unit == "record" else {}),
            "count": self.count,
            "message": self.message,
        }


class CheckedFile(Record):
    """A file, what it is, what it holds, and what was found in it."""

    file: str
    identity: FileKind | None
    counts: str
    findings: tuple[Finding, ...]
    value: Run | Qrels | None = None
    ids: Mapping[str, int] = field(default_factory=dict)  # of topics or documents, with the line of each

    @property
    def usable(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)

    @property
    def unit(self) -> Unit:
        return unit_of(self.identity.format) if self.identity else "line"

    def record(self) -> dict[str, Any]:
        identity = self.identity
        return {
            "file": self.file,
            "kind": identity.kind if identity else None,
            "format": identity.format if identity else None,
            "why": identity.why if identity else None,
            "holds": self.counts,
            "usable": self.usable,
            "findings": [finding.record() for finding in self.findings],
        }


def unit_of(format: str) -> Unit:
    """What locates a row in a format: its line or its record."""
    return "record" if format in ("json", "parquet") else "line"
