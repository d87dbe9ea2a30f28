"""What a check finds, and about which file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from cranfield.collection import Qrels, Run
from cranfield.formats.identify import Identity

Level = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Finding:
    """One thing wrong (error), suspicious (warning) or worth knowing (info)."""

    level: Level
    about: str  # what kind of finding, a few words
    message: str
    line: int | None = None
    count: int = 1  # how many such there are, the line being that of the first

    def __str__(self) -> str:
        if self.line is None:
            return self.message
        return f"line {self.line}: {self.message}" if self.count == 1 else f"{self.message} First in line {self.line}."

    def record(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "about": self.about,
            "line": self.line,
            "count": self.count,
            "message": self.message,
        }


@dataclass(frozen=True)
class Checked:
    """A file, what it is, what it holds, and what was found in it."""

    file: str
    identity: Identity | None
    counts: str
    findings: tuple[Finding, ...]
    value: Run | Qrels | None = None
    ids: frozenset[str] = field(default_factory=frozenset)  # of topics or documents

    @property
    def usable(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)

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
