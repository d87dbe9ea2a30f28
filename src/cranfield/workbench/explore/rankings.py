"""The rankings of runs, on disk in the order of ranks: a topic or a document is found without reading the rest."""

from __future__ import annotations

import mmap
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.base import Record, encode_id
from cranfield.data import Floats, Ints, Qrels, Run
from cranfield.io import PlainRun, open_output
from cranfield.joining import TIE_RULES, Joining, join_run
from cranfield.workbench.explore.column_codec import pack, unpack

MAX_OPEN = 8  # files open at a time: the pages that are read count as memory
GRADE_TIES = {name for name, rule in TIE_RULES.items() if rule.by_grade}


class RetrievedDoc(Record):
    """A document in a ranking."""

    query: str
    doc: str
    rank: int
    score: float | None  # None if it was not read


class Ranking:
    """The documents that a run retrieved, by query and rank."""

    def __init__(self, data: Any) -> None:
        self.about, self._columns = unpack(data)

    @cached_property
    def queries(self) -> dict[str, int]:
        """The position of each query."""
        return {query: i for i, query in enumerate(self.about["queries"])}

    @property
    def tag(self) -> str:
        return str(self.about["tag"])

    def size(self, query: str) -> int:
        """The number of documents retrieved for a query."""
        rows = self._rows(query)
        return int(rows.stop - rows.start)

    def list_docs(self, query: str, first: int = 1, limit: int | None = None) -> list[RetrievedDoc]:
        """The documents of a query from a rank on."""
        rows = self._rows(query)
        start = min(rows.start + first - 1, rows.stop)
        stop = rows.stop if limit is None else min(start + limit, rows.stop)
        docs, scores = self._docs(start, stop), self._columns["scores"][start:stop].tolist()
        return [
            RetrievedDoc(query, doc, rank, score)
            for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), start - rows.start + 1)
        ]

    def docs(self, query: str, depth: int) -> list[str]:
        """The first documents of a query."""
        rows = self._rows(query)
        return self._docs(rows.start, min(rows.start + depth, rows.stop))

    def ranks(self, query: str) -> dict[str, int]:
        """The rank of each document of a query."""
        rows = self._rows(query)
        return {doc: rank for rank, doc in enumerate(self._docs(rows.start, rows.stop), 1)}

    def find(self, doc: str) -> list[RetrievedDoc]:
        """The queries that a document was retrieved for, with its ranks."""
        wanted = encode_id(doc)
        # the same type as the column, which would be converted as a whole otherwise
        hashed = hash_ids(np.frombuffer(wanted, dtype=np.uint8), np.array([len(wanted)]))[0]
        first, last = (int(np.searchsorted(self._columns["checks"], hashed, side)) for side in ("left", "right"))
        found = []
        for row in sorted(self._columns["places"][first:last].tolist()):
            if self._doc_bytes(row) == wanted:
                i = int(np.searchsorted(self._columns["starts"], row, "right")) - 1
                query = self.about["queries"][i]
                rank = row - int(self._columns["starts"][i]) + 1
                found.append(RetrievedDoc(query, doc, rank, float(self._columns["scores"][row])))
        return found

    def run(self, query: str, name: str) -> Run:
        """The part of the run for a query."""
        rows = self._rows(query)
        n = rows.stop - rows.start
        docs = np.empty(n, dtype=object)
        docs[:] = self._docs(rows.start, rows.stop)
        return Run(
            name=name,
            queries=(query,) if query in self.queries else (),
            starts=np.array([0, n] if query in self.queries else [0]),
            docs=docs,
            scores=np.array(self._columns["scores"][rows]),
            lines=np.arange(1, n + 1),
        )

    def _rows(self, query: str) -> slice:
        at = self.queries.get(query)
        if at is None:
            return slice(0, 0)
        starts = self._columns["starts"]
        return slice(int(starts[at]), int(starts[at + 1]))

    def _docs(self, start: int, stop: int) -> list[str]:
        if start >= stop:
            return []
        ends = self._columns["ends"][start:stop].tolist()
        first = int(self._columns["ends"][start - 1]) if start else 0
        text = self._columns["docs"][first : ends[-1]].tobytes()
        found, begin = [], first
        for end in ends:
            found.append(text[begin - first : end - first].decode("utf-8", "surrogateescape"))
            begin = end
        return found

    def _doc_bytes(self, row: int) -> bytes:
        ends = self._columns["ends"]
        found: bytes = self._columns["docs"][int(ends[row - 1]) if row else 0 : int(ends[row])].tobytes()
        return found


def pack_run(run: Run, joining: Joining, qrels: Qrels) -> bytes:
    """A run in the order of ranks, as in an evaluation."""
    everywhere = Qrels.from_rows([], [], [], empty_queries=run.queries)
    join = join_run(everywhere, run, joining, missing="zero")
    judged = dict(zip(qrels.queries, qrels.judged, strict=True)) if joining.ties in GRADE_TIES else {}
    docs: list[bytes] = []
    scores: list[float] = []
    sizes = []
    for i, query in enumerate(join.queries):
        rows = run.rows_of(run.position[query])
        score_of = dict(zip(run.docs[rows].tolist(), run.scores[rows].tolist(), strict=True))
        ranked = _break_ties_by_grade(join.ranking(i), score_of, judged.get(query, {}), joining)
        docs += map(encode_id, ranked)
        scores += [score_of[doc] for doc in ranked]
        sizes.append(len(ranked))
    lengths = np.fromiter(map(len, docs), dtype=np.int64, count=len(docs))
    content = np.frombuffer(b"".join(docs), dtype=np.uint8)
    starts = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64)))).astype(np.int64)
    return _pack_columns(join.queries, run.tag or "", starts, np.array(scores, dtype=np.float64), content, lengths)


def pack_plain_run(run: PlainRun, joining: Joining) -> bytes | None:
    """The same for a plain run, much faster; None if the tie rule needs more than ids and scores."""
    if joining.ties not in TIE_ORDERS:
        return None
    topic = np.repeat(np.arange(len(run.queries)), np.diff(run.starts))
    order = _break_ties_by_id(run, topic, np.lexsort((-run.scores, topic)), TIE_ORDERS[joining.ties])
    docs, lengths = run.arranged(order)
    return _pack_columns(run.queries, run.tag, run.starts, run.scores[order], docs, lengths)


# tie rules that need only ids and the order of lines: whether ids are descending; None for the order of lines
TIE_ORDERS: dict[str, bool | None] = {"trec": True, "expected": True, "doc-ascending": False, "input-order": None}


def _break_ties_by_id(run: PlainRun, topic: Ints, order: Ints, is_descending: bool | None) -> Ints:
    """An order by score, with equal scores in the order of ids."""
    scores = run.scores[order]
    is_same = (scores[1:] == scores[:-1]) & (topic[1:] == topic[:-1])
    if is_descending is None or not is_same.any():
        return order
    ends = np.cumsum(run.lengths)
    text = run.docs.tobytes()
    order = order.copy()
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_same, [False])).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        rows = order[first : last + 1].tolist()
        own = {row: text[int(ends[row] - run.lengths[row]) : int(ends[row])] for row in rows}
        order[first : last + 1] = sorted(rows, key=own.__getitem__, reverse=is_descending)
    return order


def _pack_columns(queries: Sequence[str], tag: str, starts: Ints, scores: Floats, docs: Any, lengths: Ints) -> bytes:
    hashes = hash_ids(docs, lengths)
    order = np.argsort(hashes, kind="stable")
    ends = np.cumsum(lengths)
    return pack(
        {"queries": list(queries), "tag": tag},
        starts=starts,
        scores=scores,
        ends=ends.astype(np.uint32 if not len(ends) or ends[-1] < 2**32 else np.uint64),
        checks=hashes[order],
        places=order.astype(np.uint32),
        docs=docs,
    )


_FACTOR = 0x9E3779B1  # odd, so that every byte counts at every position


def hash_ids(docs: Any, lengths: Ints) -> Any:
    """A hash of each id; `docs` has the bytes of all ids, one after the other.

    >>> hash_ids(np.frombuffer(b"d1d2d1", np.uint8), np.array([2, 2, 2])).tolist()
    [3369641909, 3367990294, 3369641909]
    """
    if not len(lengths):
        return np.empty(0, dtype=np.uint32)
    starts = np.cumsum(lengths) - lengths
    weights = np.full(int(lengths.max()), _FACTOR, dtype=np.uint32)
    weights = np.multiply.accumulate(weights)
    place = np.arange(len(docs)) - np.repeat(starts, lengths)
    return np.add.reduceat(docs * weights[place], starts, dtype=np.uint32)


def _break_ties_by_grade(
    docs: list[str], score_of: dict[str, float], grades: dict[str, float], joining: Joining
) -> list[str]:
    if joining.ties not in GRADE_TIES:
        return docs
    # unjudged documents count as the worst, as in the join
    sign = -1 if joining.ties == "best" else 1
    return sorted(docs, key=lambda doc: (-score_of[doc], sign * grades.get(doc, float("-inf"))))


class Rankings:
    """The ranking files of all runs, created on first use; a few are open at a time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: OrderedDict[str, Ranking] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def has(self, key: str) -> bool:
        return (self.folder / f"{key}.rank").exists()

    def get(self, key: str, make: Callable[[], bytes]) -> Ranking:
        """The ranking of a run, created with `make` if it is missing."""
        with self._lock:
            open_ranking = self._open.get(key)
            key_lock = self._locks.setdefault(key, threading.Lock())
        if open_ranking is not None:
            return open_ranking
        with key_lock:
            ranking = self._read(key) or self._write(key, make())
        with self._lock:
            self._open[key] = ranking
            while len(self._open) > MAX_OPEN:
                self._open.popitem(last=False)
        return ranking

    def _write(self, key: str, content: bytes) -> Ranking:
        try:
            with open_output(self.folder / f"{key}.rank") as out:
                out.write(content)
        except Exception:  # disk full: it stays in memory while it is used
            return Ranking(content)
        return self._read(key) or Ranking(content)

    def _read(self, key: str) -> Ranking | None:
        path = self.folder / f"{key}.rank"
        try:
            with open(path, "rb") as file:
                ranking = Ranking(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            with suppress(OSError):
                os.utime(path)  # so that it is not deleted as unused
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):  # damaged
            with suppress(OSError):
                path.unlink()
            return None
        return ranking
