"""Ids and scores out of whatever a system answers: JSON with paths into it, JSON of a usual shape, or plain lines."""

from __future__ import annotations

import json
import math
import re
from typing import Any

from cranfield.base import Record, join_names
from cranfield.errors import InputError
from cranfield.lab.engines import EngineError, Hits
from cranfield.lab.secrets import mask_secrets

_STEP = re.compile(
    r"""\.(?P<name>[\w-]+)|\[(?P<number>\d+)\]|\[(?P<all>\*)\]|\[(?P<quote>['"])(?P<key>.*?)(?P=quote)\]"""
)
IDS = ("doc", "id", "_id", "docid", "docno")
SCORES = ("score", "_score")
LISTS = ("hits", "results", "docs", "documents")


class JsonPath(Record):
    """Where something is in JSON: names, numbers of elements, and * for all of them.

    >>> JsonPath.of("$.hits[*]['doc id']").values({"hits": [{"doc id": 7}, {"doc id": 8}]})
    [7, 8]
    """

    text: str
    steps: tuple[str | int | None, ...]  # None for all elements

    @classmethod
    def of(cls, text: str) -> JsonPath:
        steps: list[str | int | None] = []
        at = 1
        while at < len(text) and text[:1] == "$":
            step = _STEP.match(text, at)
            if step is None:
                break
            if step["all"]:
                steps.append(None)
            else:
                steps.append(int(step["number"]) if step["number"] else step["name"] or step["key"] or "")
            at = step.end()
        if not text.startswith("$") or at < len(text):
            rest = text[at:] if text.startswith("$") else text
            raise InputError(f"path {text!r}: cannot read {rest!r}; expected e.g. $.hits[*].id or $['the hits'][0].")
        return cls(text, tuple(steps))

    def values(self, data: Any) -> list[Any]:
        """All that is there, in order; an error where a step leads nowhere."""
        found = [data]
        for i, step in enumerate(self.steps):
            found = [value for one in found for value in self._stepped(one, step, i)]
        return found

    def _stepped(self, value: Any, step: str | int | None, i: int) -> list[Any]:
        if step is None and isinstance(value, list):
            return value
        if isinstance(step, int) and isinstance(value, list) and step < len(value):
            return [value[step]]
        if isinstance(step, str) and isinstance(value, dict) and step in value:
            return [value[step]]
        wanted = "a list" if step is None else f"element {step}" if isinstance(step, int) else f"a field {step!r}"
        raise EngineError(f"the answer has no {self.text}: expected {wanted} {_where(i)}, found {_kind(value)}.")


def hits_in_json(data: Any, ids: str = "", scores: str = "") -> Hits:
    """Documents with scores out of JSON: by paths, or by the names that such fields usually have.

    >>> hits_in_json({"hits": [{"id": 4, "score": 2.5}]}), hits_in_json(["a", "b"])
    ([('4', 2.5)], [('a', 1.0), ('b', 0.5)])
    """
    if not ids:
        if scores:
            raise InputError("--scores needs --ids as well.")
        return _usual(data)
    docs = [_id(value) for value in JsonPath.of(ids).values(data)]
    if not scores:
        return _by_rank(docs)
    values = [_score(value) for value in JsonPath.of(scores).values(data)]
    if len(values) != len(docs):
        raise EngineError(f"the answer has {len(docs):,} ids ({ids}) and {len(values):,} scores ({scores}).")
    return list(zip(docs, values, strict=True))


def hits_in_lines(text: str) -> Hits:
    """Documents with scores, or without, one a line.

    >>> hits_in_lines("a 2.5\\nb 1\\n")
    [('a', 2.5), ('b', 1.0)]
    """
    rows = [(number, line.split()) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    widths = {len(row) for _, row in rows}
    if widths <= {1}:
        return _by_rank([row[0] for _, row in rows])
    for number, row in rows:
        if len(row) != 2:
            what = f"expected 'doc score' (or 'doc' in every line), found {_quote(' '.join(row))}"
            raise EngineError(f"line {number} of the output: {what}.")
    return [(row[0], _score(row[1])) for _, row in rows]


def hits_in_text(text: str, ids: str = "", scores: str = "") -> Hits:
    """Documents with scores out of JSON or lines, whichever it is."""
    if not ids and not text.lstrip().startswith(("[", "{")):
        return hits_in_lines(text)
    try:
        data = json.loads(text)
    except ValueError as error:
        raise EngineError(f"the output is no JSON ({error}): {_quote(text.strip())}.") from None
    return hits_in_json(data, ids, scores)


def _usual(data: Any) -> Hits:
    """Documents out of a list of ids, of pairs, or of objects, which may be inside another object."""
    if isinstance(data, dict):
        inside = next((data[name] for name in LISTS if name in data), None)
        if inside is not None:
            return _usual(inside)
    if not isinstance(data, list):
        raise EngineError(f"the answer has no list of documents but {_kind(data)}; say where the ids are with --ids.")
    if all(isinstance(one, dict) for one in data) and data:
        docs = [_id(_named(one, IDS)) for one in data]
        if not any(name in data[0] for name in SCORES):
            return _by_rank(docs)
        return [(doc, _score(_named(one, SCORES))) for doc, one in zip(docs, data, strict=True)]
    if all(isinstance(one, list) and len(one) == 2 for one in data) and data:
        return [(_id(doc), _score(score)) for doc, score in data]
    return _by_rank([_id(value) for value in data])


def _named(one: dict[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in one:
            return one[name]
    raise EngineError(f"a document of the answer has no {names[0]} but {join_names(one, 8)}; use --ids and --scores.")


def _by_rank(docs: list[str]) -> Hits:
    """Scores for documents that have none: 1, 1/2, 1/3, … in their order; a document again counts no more."""
    return [(doc, 1 / rank) for rank, doc in enumerate(dict.fromkeys(docs), 1)]


def _id(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise EngineError(f"the answer has an id that is {_kind(value)}, expected text or a whole number.")
    return str(value)


def _score(value: Any) -> float:
    try:
        score = float("nan") if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        score = float("nan")
    if not math.isfinite(score):
        raise EngineError(f"the answer has a score that is no number: {_quote(value)}.")
    return score


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return f"an object with {join_names(value, 8)}" if value else "an empty object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "nothing" if value is None else _quote(value)


def _where(i: int) -> str:
    return "at the top" if i == 0 else f"at step {i + 1}"


def _quote(value: Any) -> str:
    """The beginning of a value, for a message.

    >>> _quote("none"), _quote(None)
    ("'none'", 'None')
    """
    text = repr(mask_secrets(value) if isinstance(value, str) else value)
    return f"{mask_secrets(text):.80}"
