"""Small files of columns parted by tabs: groups and weights of queries, duplicates, facts and lengths of documents."""

from __future__ import annotations

from collections.abc import Iterator

from cranfield.collection import id_bytes, shown
from cranfield.errors import InputError
from cranfield.formats.opening import Input, PathLike
from cranfield.formats.values import decimal, text


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


def _groups(path: PathLike, what: str) -> dict[str, str]:
    groups: dict[str, str] = {}
    with Input(path) as source:
        for number, (name, group) in _rows(source, f"{what}<TAB>group"):
            if groups.setdefault(name, group) != group:
                message = f"{what} {shown(name)} is put into two groups, {groups[name]!r} and {group!r}."
                raise InputError(message, source.name, number)
    return groups


def _amounts(path: PathLike, what: str, of: str) -> dict[str, float]:
    amounts: dict[str, float] = {}
    with Input(path) as source:
        for number, (name, token) in _rows(source, f"{what}<TAB>{of}"):
            amount = _amount(token, of, source.name, number)
            if amounts.setdefault(name, amount) != amount:
                message = f"{what} {shown(name)} has two {of}s, {amounts[name]:g} and {amount:g}."
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
        yield number, list(map(text, fields))
    if is_empty:
        raise InputError(f"the file is empty, expected '{layout}' lines.", source.name)


def _amount(token: str, of: str, file: str, number: int) -> float:
    try:
        amount = decimal(id_bytes(token), of)
    except InputError as error:
        raise InputError(error.message, file, number) from None
    if amount < 0:
        raise InputError(f"{of} {amount:g} is below 0.", file, number)
    return amount
