"""The pool: which documents to judge for each query, in an order that reveals nothing about ranks.

A pool is written as JSON lines: a header, then a line `{"query", "doc"}` for each pair. What assessors must not know,
such as which system had a document at which rank, is in a provenance file beside it.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import chain
from json.encoder import encode_basestring as quote  # much faster than json.dumps for each id
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Ints, Qrels
from cranfield.errors import FormatError, InputError
from cranfield.io import Input, open_output, strip_compression_suffix

VERSION = 1
Ranks = Mapping[str, Mapping[str, Mapping[int, int]]]  # query -> doc -> run (by number) -> rank


class Pool(Record, eq=False):
    """The documents to judge, query by query.

    >>> pool = Pool({"1": ("d7", "d2"), "2": ("d2",)})
    >>> pool, pool.header
    (<Pool: 2 topics, 3 documents>, {'version': 1, 'topics': 2, 'documents': 3})
    """

    pairs: Mapping[str, tuple[str, ...]]
    provenance: Mapping[str, Any] = field(default_factory=dict)  # strategy, parameters, seed, runs with their digests
    ranks: Ranks = field(default_factory=dict)
    sample: Qrels | None = None  # of a random sample: known grades, with strata or probabilities
    notes: tuple[str, ...] = ()

    @property
    def header(self) -> dict[str, Any]:
        """The first line of the file. It does not say how the pool was made."""
        return {"version": VERSION, "topics": len(self.pairs), "documents": len(self)}

    def __len__(self) -> int:
        return sum(map(len, self.pairs.values()))

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Pairs of query and document, in the order in which to judge them."""
        return ((query, doc) for query, docs in self.pairs.items() for doc in docs)

    def count_contributions(self) -> tuple[Ints, ...]:
        """For each run how many documents of the pool it has, and how many of them no other run has."""
        runs = len(self.provenance.get("runs", ()))
        total, unique = Counter[int](), Counter[int]()
        for query, docs in self.pairs.items():
            ranks = self.ranks.get(query, {})
            runs_with = [own for doc in docs if (own := ranks.get(doc))]
            total.update(chain.from_iterable(runs_with))
            unique.update([run for own in runs_with if len(own) == 1 for run in own])
        return tuple(np.array([count[run] for run in range(runs)], dtype=np.int64) for count in (total, unique))

    def __repr__(self) -> str:
        return f"<Pool: {len(self.pairs):,} topics, {len(self):,} documents>"


def write_pool(pool: Pool, path: str | os.PathLike[str], provenance: str | os.PathLike[str] | None = None) -> None:
    """Write a pool and its provenance file. Without a name for it, a pool written to standard output, `-`, has none."""
    beside = provenance_path(path) if provenance is None else os.fspath(provenance)
    if beside is not None and pool.provenance:
        write_provenance(pool, beside)
    with open_output(path) as out:
        out.write(_line({"pool": pool.header}))
        for query, docs in pool.pairs.items():
            start = f'{{"query": {quote(query)}, "doc": '
            out.write(_encode("".join([f"{start}{quote(doc)}}}\n" for doc in docs])))


def provenance_path(path: str | os.PathLike[str]) -> str | None:
    """The file that says what a pool was made from.

    >>> provenance_path("trec/pool.jsonl.gz")
    'trec/pool.provenance.jsonl.gz'
    """
    text = os.fspath(path)
    if text == "-":
        return None
    plain = strip_compression_suffix(text)
    stem, suffix = os.path.splitext(plain)
    is_json = suffix.lower() in (".jsonl", ".ndjson", ".json")
    return f"{stem if is_json else plain}.provenance.jsonl{text[len(plain) :]}"


def write_provenance(pool: Pool, path: str | os.PathLike[str]) -> None:
    """Write what a pool was made from: a line for the whole, then for each pair its rank in each run that has it."""
    with open_output(path) as out:
        out.write(_line({"provenance": pool.provenance}))
        runs = [f'"{run}": ' for run in range(len(pool.provenance.get("runs", ())))]
        for query, docs in pool.pairs.items():
            start, ranks = f'{{"query": {quote(query)}, "doc": ', pool.ranks.get(query, {})
            out.write(
                _encode(
                    "".join([f"{start}{quote(doc)}, {_format_ranks(ranks.get(doc, {}), runs)}}}\n" for doc in docs])
                )
            )


def _format_ranks(ranks: Mapping[int, int], runs: Sequence[str]) -> str:
    return f'"ranks": {{{", ".join([f"{runs[run]}{rank}" for run, rank in ranks.items()])}}}'


def read_pool(path: str | os.PathLike[str]) -> Pool:
    """Read a pool. Lines with anything but query and document are refused: assessors would see it."""
    pairs: dict[str, dict[str, None]] = {}
    with Input(path) as source:
        lines = source.lines()
        number, first = next(lines, (1, b""))
        header = _object(first, source.name, number)
        if not isinstance(header.get("pool"), dict):
            raise FormatError('expected a header, {"pool": {…}}, as `cranfield pool` writes it.', source.name, number)
        for number, line in lines:
            if not line.strip():
                continue
            query, doc = _pair(line, source.name, number)
            docs = pairs.setdefault(query, {})
            if doc in docs:
                raise InputError(f"document {doc!r} occurs twice for query {query!r}.", source.name, number)
            docs[doc] = None
        name = source.name
    pool = Pool({query: tuple(docs) for query, docs in pairs.items()})
    expected = header["pool"].get("documents", len(pool))
    if expected != len(pool):
        raise InputError(
            f"expected {expected} documents by the header, found {len(pool):,}: is the file complete?", name
        )
    return pool


def _pair(line: bytes, file: str, number: int) -> tuple[str, str]:
    content = _object(line, file, number)
    if not all(isinstance(content.get(key), str) for key in ("query", "doc")):
        raise InputError('expected {"query": "…", "doc": "…"}.', file, number)
    more = [key for key in content if key not in ("query", "doc")]
    if more:
        names = ", ".join(map(repr, more))
        raise InputError(f"a pair of a pool must have query and doc only, found {names}.", file, number)
    return content["query"], content["doc"]


def _object(line: bytes, file: str, number: int) -> dict[str, Any]:
    try:
        content = json.loads(line.decode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise FormatError(f"expected a line of JSON: {error}.", file, number) from None
    if not isinstance(content, dict):
        raise FormatError(f"expected a JSON object, found {type(content).__name__}.", file, number)
    return content


def _line(content: Mapping[str, Any]) -> bytes:
    return _encode(json.dumps(content, ensure_ascii=False) + "\n")


def _encode(text: str) -> bytes:
    # bytes of ids that are not UTF-8 are written as \udcff, so every line is valid JSON
    return text.encode("utf-8", "backslashreplace")
