"""Small files of columns parted by tabs: groups and weights of queries, duplicates, facts and lengths of documents.

What they hold can be given in Python as well; `as_facts` and its like take either.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from cranfield.base import encode_id, format_id
from cranfield.errors import InputError
from cranfield.io.files import Input, PathLike
from cranfield.io.parse_values import decode_id, parse_decimal


def read_groups(path: PathLike) -> dict[str, str]:
    """Which group each query belongs to (type, length, language, …): lines `query⇥group`."""
    return _groups(path, "query")


def read_duplicates(path: PathLike) -> dict[str, str]:
    """Which group of documents that say the same each document belongs to: lines `doc⇥group`."""
    return _groups(path, "doc")


def read_facts(path: PathLike) -> dict[str, dict[str, frozenset[str]]]:
    """The facts or entities in each document that answer a query: lines `query⇥doc⇥fact`."""
    facts: dict[str, dict[str, frozenset[str]]] = {}
    with Input(path) as source:
        for _, (query, doc, fact) in _rows(source, "query<TAB>doc<TAB>fact"):
            docs = facts.setdefault(query, {})
            docs[doc] = docs.get(doc, frozenset()) | {fact}
    return facts


def read_doc_lengths(path: PathLike) -> dict[str, float]:
    """How long each document is, in whatever unit: lines `doc⇥length`."""
    return _amounts(path, "doc", "length")


def read_weights(path: PathLike) -> dict[str, float]:
    """How much each query counts in a mean (how often it is asked, say): lines `query⇥weight`."""
    return _amounts(path, "query", "weight")


def as_duplicates(given: Any) -> dict[str, str]:
    """Groups of documents that say the same, from a mapping or a file."""
    if isinstance(given, (str, os.PathLike)):
        return read_duplicates(given)
    groups = _mapping(given, "duplicates", "{doc: group}")
    wrong = next((doc for doc, group in groups.items() if not isinstance(group, (str, int))), None)
    if wrong is not None:
        raise InputError(f"duplicates: the group of {wrong!r} is {groups[wrong]!r}, expected a text.")
    return {str(doc): str(group) for doc, group in groups.items()}


def as_facts(given: Any) -> dict[str, dict[str, frozenset[str]]]:
    """The facts in each document by query, from a mapping of mappings, rows or a file.

    >>> as_facts({"q": {"a": ["x", "y"]}}) == as_facts([("q", "a", "x"), ("q", "a", "y")])
    True
    """
    if isinstance(given, (str, os.PathLike)):
        return read_facts(given)
    layout = "{query: {doc: [fact, …]}} or rows (query, doc, fact)"
    if isinstance(given, Mapping):
        return {
            str(q): {
                str(doc): _facts(doc, own) for doc, own in _mapping(docs, f"facts of {q!r}", "{doc: [fact, …]}").items()
            }
            for q, docs in given.items()
        }
    facts: dict[str, dict[str, frozenset[str]]] = {}
    for row in given if isinstance(given, Iterable) else [given]:
        if not isinstance(row, (tuple, list)) or len(row) != 3:
            raise InputError(f"facts: found {row!r}, expected {layout}.")
        query, doc, fact = map(str, row)
        docs = facts.setdefault(query, {})
        docs[doc] = docs.get(doc, frozenset()) | {fact}
    return facts


def as_doc_lengths(given: Any) -> dict[str, float]:
    """Lengths of documents, from a mapping or a file."""
    if isinstance(given, (str, os.PathLike)):
        return read_doc_lengths(given)
    lengths = _numbers(given, "doc", "length")
    wrong = next((doc for doc, length in lengths.items() if not (math.isfinite(length) and length >= 0)), None)
    if wrong is not None:
        raise InputError(f"the length of {wrong!r} is {lengths[wrong]:g}, expected a number of at least 0.")
    return lengths


def as_weights(given: Any) -> dict[str, float]:
    """Weights of queries, from a mapping or a file."""
    return read_weights(given) if isinstance(given, (str, os.PathLike)) else _numbers(given, "query", "weight")


def _mapping(given: Any, name: str, layout: str) -> Mapping[Any, Any]:
    if not isinstance(given, Mapping):
        raise InputError(f"{name}: found {type(given).__name__} {given!r:.40}, expected {layout}.")
    return given


def _facts(doc: Any, facts: Any) -> frozenset[str]:
    if isinstance(facts, (str, bytes)) or not isinstance(facts, Iterable):
        raise InputError(f"facts of {doc!r}: found {facts!r:.40}, expected a list or set of facts.")
    return frozenset(map(str, facts))


def _numbers(given: Any, what: str, of: str) -> dict[str, float]:
    amounts = _mapping(given, f"{of}s", f"{{{what}: {of}}}")
    return {str(name): _checked(name, amount, of) for name, amount in amounts.items()}


def _checked(name: Any, amount: Any, of: str) -> float:
    if isinstance(amount, (str, bytes, bool)) or not hasattr(amount, "__float__"):
        raise InputError(f"the {of} of {name!r} is {amount!r:.40}, expected a number.")
    return float(amount)


def _groups(path: PathLike, what: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    with Input(path) as source:
        for number, (name, group) in _rows(source, f"{what}<TAB>group"):
            if groups.setdefault(name, group) != group:
                message = f"{what} {format_id(name)} is put into two groups, {groups[name]!r} and {group!r}."
                raise InputError(message, source.name, number)
    return groups


def _amounts(path: PathLike, what: str, of: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    with Input(path) as source:
        for number, (name, token) in _rows(source, f"{what}<TAB>{of}"):
            amount = _amount(token, of, source.name, number)
            if amounts.setdefault(name, amount) != amount:
                message = f"{what} {format_id(name)} has two {of}s, {amounts[name]:g} and {amount:g}."
                raise InputError(message, source.name, number)
    return amounts


def _rows(source: Input, layout: str) -> Iterator[tuple[int, list[str]]]:
    """The number and the columns of each line, without blank lines and comments; an error if there is none."""
    width, is_empty = layout.count("<TAB>") + 1, True
    for number, line in source.lines():
        if not line.strip() or line.startswith(b"#"):
            continue
        fields = [field.strip() for field in line.split(b"\t")]
        if len(fields) != width or not all(fields):
            raise InputError(f"expected '{layout}', found {len(fields)} columns.", source.name, number)
        is_empty = False
        yield number, list(map(decode_id, fields))
    if is_empty:
        raise InputError(f"the file is empty, expected '{layout}' lines.", source.name)


def _amount(token: str, of: str, file: str, number: int) -> float:
    try:
        amount = parse_decimal(encode_id(token), of)
    except InputError as error:
        raise InputError(error.message, file, number) from None
    if amount < 0:
        raise InputError(f"{of} {amount:g} is below 0.", file, number)
    return amount
