"""Whether files go together: the ids of qrels against those of runs, topics and documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from cranfield.checking.findings import Checked, Finding
from cranfield.collection import Qrels, Run
from cranfield.wording import counted, listed


@dataclass(frozen=True)
class Pair:
    """Two files side by side."""

    files: tuple[str, str]
    findings: tuple[Finding, ...]

    def record(self) -> dict[str, Any]:
        return {"files": list(self.files), "findings": [finding.record() for finding in self.findings]}


def pair_up(checked: Iterable[Checked]) -> list[Pair]:
    """Each qrels file beside every run, topic and document file."""
    everything = list(checked)
    judgments = [one for one in everything if isinstance(one.value, Qrels)]
    others = [one for one in everything if one.identity and not isinstance(one.value, Qrels)]
    return [
        Pair((q.file, o.file), tuple(_compared(q.value, o))) for q in judgments for o in others if q.value is not None
    ]


def _compared(qrels: Any, other: Checked) -> Iterator[Finding]:
    if isinstance(other.value, Run):
        yield from _with_run(qrels, other.value)
    elif other.identity and other.identity.kind == "topics":
        yield from _ids("query", "qrels", set(qrels.queries), "topics", set(other.ids))
    elif other.identity and other.identity.kind == "documents":
        yield from _ids("document", "qrels", set(qrels.docs), "documents", set(other.ids))


def _with_run(qrels: Qrels, run: Run) -> Iterator[Finding]:
    yield from _ids("query", "qrels", set(qrels.queries), "run", set(run.queries))
    judged: set[str] = set(qrels.docs)
    retrieved: set[str] = set(run.docs)
    if judged and retrieved and not judged & retrieved:
        message = "no judged document was retrieved by any query: do the doc ids mean the same documents?"
        yield Finding("warning", "doc ids", message)
    differing = _look_alike(judged - retrieved, retrieved - judged)
    if differing:
        yield Finding("warning", "doc ids", _alike("document", "qrels", "run", differing), count=len(differing))


def _ids(what: str, left: str, ours: set[str], right: str, theirs: set[str]) -> Iterator[Finding]:
    """How two sets of ids overlap, and ids that are probably meant to be the same."""
    common = ours & theirs
    message = (
        f"{counted(len(common), what)} in common, {len(ours - theirs):,} only in the {left}, "
        f"{len(theirs - ours):,} only in the {right}."
    )
    yield Finding("info" if common else "warning", f"{what} ids", message)
    differing = _look_alike(ours - theirs, theirs - ours)
    if not differing and not common and what == "query":
        differing = _look_alike(ours, theirs, any_prefix=True)
    if differing:
        yield Finding("warning", f"{what} ids", _alike(what, left, right, differing), count=len(differing))


def _alike(what: str, left: str, right: str, pairs: list[tuple[str, str]]) -> str:
    one, other = pairs[0]
    examples = listed([a for a, _ in pairs[1:]], most=3)
    more = f" ({len(pairs):,} such: {examples})" if len(pairs) > 1 else ""
    return f"{what} {one!r} in the {left} looks like {other!r} in the {right}, but ids are compared byte by byte{more}."


def _look_alike(ours: set[str], theirs: set[str], any_prefix: bool = False) -> list[tuple[str, str]]:
    """Ids that are the same but for zeros in front, case, or (if asked) a prefix such as `wt09-`."""
    known = {_simplified(one, any_prefix): one for one in sorted(theirs)}
    pairs = ((one, known.get(_simplified(one, any_prefix))) for one in sorted(ours))
    return [(one, other) for one, other in pairs if other is not None]


def _simplified(text: str, any_prefix: bool) -> str:
    if any_prefix:
        text = re.sub(r"^.*[^0-9](?=[0-9]+$)", "", text)
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", text.strip().lower())
