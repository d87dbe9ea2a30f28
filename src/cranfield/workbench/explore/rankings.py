"""The rankings of a run, on disk in the order of ranks: a topic or a document is looked up without reading the rest."""

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
from cranfield.io import PlainRun, writing
from cranfield.joining import Joining, join_run
from cranfield.workbench.explore.column_codec import pack, unpack

OPEN = 8  # files that are open at a time: what is read of them counts as memory
BY_GRADE = ("best", "worst")  # rules for ties that look at judgments


class Retrieved(Record):
    """A document in a ranking."""

    query: str
    doc: str
    rank: int
    score: float | None  # None where it was not looked at


class Ranking:
    """The documents that a run retrieved, by query and rank."""

    def __init__(self, data: Any) -> None:
        self.about, self._columns = unpack(data)

    @cached_property
    def queries(self) -> dict[str, int]:
        """Where each query stands."""
        return {query: i for i, query in enumerate(self.about["queries"])}

    @property
    def tag(self) -> str:
        return str(self.about["tag"])

    def size(self, query: str) -> int:
        """How many documents were retrieved for a query."""
        rows = self._rows(query)
        return int(rows.stop - rows.start)

    def part(self, query: str, first: int = 1, most: int | None = None) -> list[Retrieved]:
        """The documents of a query from a rank on."""
        rows = self._rows(query)
        start = min(rows.start + first - 1, rows.stop)
        stop = rows.stop if most is None else min(start + most, rows.stop)
        docs, scores = self._docs(start, stop), self._columns["scores"][start:stop].tolist()
        return [
            Retrieved(query, doc, rank, score)
            for rank, (doc, score) in enumerate(zip(docs, scores, strict=True), start - rows.start + 1)
        ]

    def docs(self, query: str, most: int) -> list[str]:
        """The first documents of a query."""
        rows = self._rows(query)
        return self._docs(rows.start, min(rows.start + most, rows.stop))

    def ranks(self, query: str) -> dict[str, int]:
        """The rank of each document of a query."""
        rows = self._rows(query)
        return {doc: rank for rank, doc in enumerate(self._docs(rows.start, rows.stop), 1)}

    def find(self, doc: str) -> list[Retrieved]:
        """The queries that a document was retrieved for, with its rank."""
        wanted = encode_id(doc)
        # of another type, the whole column would be read and converted
        check = checks_of(np.frombuffer(wanted, dtype=np.uint8), np.array([len(wanted)]))[0]
        first, last = (int(np.searchsorted(self._columns["checks"], check, side)) for side in ("left", "right"))
        found = []
        for row in sorted(self._columns["places"][first:last].tolist()):
            if self._doc_bytes(row) == wanted:
                i = int(np.searchsorted(self._columns["starts"], row, "right")) - 1
                query = self.about["queries"][i]
                rank = row - int(self._columns["starts"][i]) + 1
                found.append(Retrieved(query, doc, rank, float(self._columns["scores"][row])))
        return found

    def run(self, query: str, name: str) -> Run:
        """The run's part that concerns a query."""
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


def packed(run: Run, joining: Joining, qrels: Qrels) -> bytes:
    """A run in the order of ranks, as an evaluation has it."""
    everywhere = Qrels.from_rows([], [], [], empty_queries=run.queries)
    join = join_run(everywhere, run, joining, missing="zero")
    judged = dict(zip(qrels.queries, qrels.judged, strict=True)) if joining.ties in BY_GRADE else {}
    docs: list[bytes] = []
    scores: list[float] = []
    sizes = []
    for i, query in enumerate(join.queries):
        rows = run.rows_of(run.position[query])
        score_of = dict(zip(run.docs[rows].tolist(), run.scores[rows].tolist(), strict=True))
        ranked = _ranked(join.ranking(i), score_of, judged.get(query, {}), joining)
        docs += map(encode_id, ranked)
        scores += [score_of[doc] for doc in ranked]
        sizes.append(len(ranked))
    lengths = np.fromiter(map(len, docs), dtype=np.int64, count=len(docs))
    content = np.frombuffer(b"".join(docs), dtype=np.uint8)
    starts = np.concatenate(([0], np.cumsum(np.array(sizes, dtype=np.int64)))).astype(np.int64)
    return _laid_out(join.queries, run.tag or "", starts, np.array(scores, dtype=np.float64), content, lengths)


def packed_plain(run: PlainRun, joining: Joining) -> bytes | None:
    """The same of a plain run, many times as quickly; None where a rule for ties asks for more than ids and scores."""
    if joining.ties not in ORDERS:
        return None
    topic = np.repeat(np.arange(len(run.queries)), np.diff(run.starts))
    order = _by_ids(run, topic, np.lexsort((-run.scores, topic)), ORDERS[joining.ties])
    docs, lengths = run.arranged(order)
    return _laid_out(run.queries, run.tag, run.starts, run.scores[order], docs, lengths)


# rules for ties that ids and the order of lines settle: whether ids fall; None for the order of lines
ORDERS: dict[str, bool | None] = {"trec": True, "expected": True, "doc-ascending": False, "input-order": None}


def _by_ids(run: PlainRun, topic: Ints, order: Ints, is_falling: bool | None) -> Ints:
    """An order by score with equal scores put in the order of ids."""
    scores = run.scores[order]
    is_same = (scores[1:] == scores[:-1]) & (topic[1:] == topic[:-1])
    if is_falling is None or not is_same.any():
        return order
    ends = np.cumsum(run.lengths)
    text = run.docs.tobytes()
    order = order.copy()
    edges = np.flatnonzero(np.diff(np.concatenate(([False], is_same, [False])).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        rows = order[first : last + 1].tolist()
        own = {row: text[int(ends[row] - run.lengths[row]) : int(ends[row])] for row in rows}
        order[first : last + 1] = sorted(rows, key=own.__getitem__, reverse=is_falling)
    return order


def _laid_out(queries: Sequence[str], tag: str, starts: Ints, scores: Floats, docs: Any, lengths: Ints) -> bytes:
    checks = checks_of(docs, lengths)
    order = np.argsort(checks, kind="stable")
    ends = np.cumsum(lengths)
    return pack(
        {"queries": list(queries), "tag": tag},
        starts=starts,
        scores=scores,
        ends=ends.astype(np.uint32 if not len(ends) or ends[-1] < 2**32 else np.uint64),
        checks=checks[order],
        places=order.astype(np.uint32),
        docs=docs,
    )


_FACTOR = 0x9E3779B1  # an odd number, so that every letter counts wherever it stands


def checks_of(docs: Any, lengths: Ints) -> Any:
    """A number for each of some ids, which stand one behind the other: equal ids have equal numbers.

    >>> checks_of(np.frombuffer(b"d1d2d1", np.uint8), np.array([2, 2, 2])).tolist()
    [3369641909, 3367990294, 3369641909]
    """
    if not len(lengths):
        return np.empty(0, dtype=np.uint32)
    starts = np.cumsum(lengths) - lengths
    weights = np.full(int(lengths.max()), _FACTOR, dtype=np.uint32)
    weights = np.multiply.accumulate(weights)
    place = np.arange(len(docs)) - np.repeat(starts, lengths)
    return np.add.reduceat(docs * weights[place], starts, dtype=np.uint32)


def _ranked(docs: list[str], score_of: dict[str, float], grades: dict[str, float], joining: Joining) -> list[str]:
    if joining.ties not in BY_GRADE:
        return docs
    # those without a judgment count as the worst, as in the join
    sign = -1 if joining.ties == "best" else 1
    return sorted(docs, key=lambda doc: (-score_of[doc], sign * grades.get(doc, float("-inf"))))


class Rankings:
    """The rankings of all runs: files that are made when they are first asked for, a few of them open."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._open: OrderedDict[str, Ranking] = OrderedDict()
        self._locks: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()

    def has(self, key: str) -> bool:
        return (self.folder / f"{key}.rank").exists()

    def get(self, key: str, make: Callable[[], bytes]) -> Ranking:
        """The ranking of a run; made if it is not there."""
        with self._lock:
            known = self._open.get(key)
            own = self._locks.setdefault(key, threading.Lock())
        if known is not None:
            return known
        with own:
            ranking = self._opened(key) or self._made(key, make)
        with self._lock:
            self._open[key] = ranking
            while len(self._open) > OPEN:
                self._open.popitem(last=False)
        return ranking

    def _made(self, key: str, make: Callable[[], bytes]) -> Ranking:
        content = make()
        try:
            with writing(self.folder / f"{key}.rank") as out:
                out.write(content)
        except Exception:  # no room: it stays in memory as long as it is of use
            return Ranking(content)
        return self._opened(key) or Ranking(content)

    def _opened(self, key: str) -> Ranking | None:
        path = self.folder / f"{key}.rank"
        try:
            with open(path, "rb") as file:
                ranking = Ranking(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            with suppress(OSError):
                os.utime(path)  # so that it is not swept away
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):  # damaged
            with suppress(OSError):
                path.unlink()
            return None
        return ranking
