"""Bytes as instructions to build qrels and a run as dictionaries, with odd things in them: joining these."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from checks import attempt, compared, core, joining, same_hits

from cranfield.data.collection import Qrels
from cranfield.errors import CranfieldError
from cranfield.io import as_qrels, as_run
from cranfield.joining import find_hits
from cranfield.joining.parallel import Part

Nested = dict[Any, Any]


class Text(str):
    """Equal to everything, with one hash."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class Another(str):
    """Equal to nothing, so that a dictionary holds it beside the same text."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


class Number(float):
    """Another number than it seems."""

    def __float__(self) -> float:
        return 4.0


class Docs(dict[Any, Any]):
    """A dictionary of a kind of its own."""


being_joined: list[Nested] = []


def _meddle(self: object) -> float:
    """Change the dictionaries while they are being read."""
    for docs in being_joined:
        docs.clear()
        docs.update({f"new{i}": float(i) for i in range(100)})
    return 1.0


# a name that only NumPy's own type should have
Impostor = type("numpy.float32", (), {"__float__": _meddle})

IDS: tuple[Any, ...] = (
    *("a", "b", "c", "d", "q1", "q2", "q10", "d12345678", "d1234567", "0", "-1", "x" * 300, "a b", "\0", "a\0"),
    *("\xe9", "e\u0301", "\u4e2d\u6587", "\U0001d11e", "\ud800", "\udcc3\udca9", "\udcff", "\uffff", "\xff"),
    *("", " ", "\n", "a\n", "a\r", "\r", "\x85", "\u2028", "a\tb", "nan", "12345678\r", "\xe9\n", "\u4e2d\r"),
    *(1, 0, -1, 10**30, 10**5000, 2.5, None, True, False, b"a", b"\xff", (), ("a",), frozenset(), float("nan")),
    *(Text("a"), Another("a"), Another("a"), np.str_("a"), np.int64(7), np.float64(1.5), np.bool_(True)),
)
VALUES: tuple[Any, ...] = (
    *(0.0, -0.0, 1.0, 2.0, 0.5, 1e300, 1.1e300, -1e300, 5e-324, 2.2250738585072014e-308, 1e-45, 3.4e38, 3.5e38),
    *(1.0000000001, 1.0000000002, 16777216.0, 16777217.0, float("nan"), float("inf"), float("-inf")),
    *(0, 1, -1, 2**53, 2**53 + 1, 10**400, -(10**400), True, False, None, "1.5", "nan", "x", b"1", [], {}, 1j),
    *(np.float64(1.5), np.float32(1.5), np.float16(1.5), np.int64(3), np.int32(3), np.uint8(3), np.bool_(True)),
    *(np.longdouble("1e400"), np.float32("nan"), np.float64("inf"), np.array(1.0), np.array([1.0, 2.0])),
    *(Number(1.0), Impostor(), Text("1")),
)
LINES = b"q1 0 a 1 2 t\nq1 0 \xc3\xa9 1 1 t\n"
NAMES = tuple(f"d{i}" for i in range(1100))
SCORES = tuple(map(float, range(256)))
NO_DICTS: tuple[Any, ...] = (None, [], [("a", 1.0)], "a", 1.0, ("a",), {"a"}, np.array([1.0]))


def execute(view: memoryview) -> None:
    """One execution."""
    data = bytes(view)
    if len(data) < 3:
        return
    options, failing, kind = data[:3]
    ties, single = options % 6, bool(options & 32)
    failing = failing if failing < 64 else 0
    qrels, run = _built(data[3:])
    if kind & 1:
        run = Docs(run)
    being_joined[:] = [run, qrels, *(docs for docs in (*run.values(), *qrels.values()) if isinstance(docs, dict))]
    judgments = attempt(failing, core.Judgments, tuple(qrels)[: 2 if kind & 2 else None], tuple(qrels.values()))
    if judgments is not None:
        _ask(judgments, failing, options)
        attempt(failing, core.join_dict, judgments, run, ties, single)
        attempt(failing, core.join_lines, judgments, LINES, len(LINES), ties, single, True, True)
    if ties < 5 and compared(data):
        _compare(*_built(data[3:]), ties, single)


def _ask(judgments: Any, failing: int, options: int) -> None:
    for ask in (judgments.docs, judgments.queries, judgments.columns, judgments.ideal, judgments.__len__):
        attempt(failing, ask)
    n = len(judgments.queries())
    order = [(i * (options | 1)) % (n + (options & 1)) for i in range(n)]
    attempt(failing, judgments.arranged, order)
    attempt(failing, judgments.arranged, [*order[:-1], VALUES[options % len(VALUES)]])
    attempt(failing, judgments.arranged, tuple(order))


def _compare(judged: Nested, run: Nested, ties: int, single: bool) -> None:
    try:
        qrels = as_qrels(judged)
    except CranfieldError:
        return
    found = core.join_dict(qrels.index, run, ties, single)
    if found is None:
        return
    try:
        read = as_run(run)
    except CranfieldError as error:
        raise AssertionError("the twin does not find this plain") from error
    at = np.array([i for i, query in enumerate(qrels.queries) if query in read.position], dtype=np.int64)
    others = [query for query in read.queries if query not in set(qrels.queries)]
    hits = find_hits(qrels, read, at, joining(ties, single))
    same_hits(found, Part(hits.at.tolist(), hits, others))
    _check_index(qrels)


def _check_index(qrels: Qrels) -> None:
    ideal = [grade for judged in qrels.judged for grade in sorted(judged.values(), reverse=True)]
    assert qrels.index.ideal() == np.array(ideal, dtype=np.float64).tobytes()
    assert qrels.index.docs() == [doc for judged in qrels.judged for doc in judged]
    assert tuple(qrels.index.queries()) == qrels.queries


def _built(data: bytes) -> tuple[Nested, Nested]:
    """Each instruction is a byte: what to do in two bits, an id in six; a value or a kind follows."""
    qrels: Nested = {"q1": {"a": 1.0, "\xe9": 2.0}}
    run: Nested = {"q1": {}}
    docs, judged = run["q1"], qrels["q1"]
    after = iter(data)
    for instruction in after:
        id, argument = IDS[instruction % 64 % len(IDS)], next(after, 0)
        match instruction >> 6:
            case 0:
                docs = run[id] = _container(argument)
            case 1:
                judged = qrels[id] = _container(argument)
            case 2 if isinstance(docs, dict):
                docs.update({id: _value(argument, after)} if argument != 255 else _many(instruction, after))
            case 3 if isinstance(judged, dict):
                judged.update({id: _value(argument, after)} if argument != 255 else _many(instruction, after))
    return qrels, run


def _container(argument: int) -> Any:
    if argument < 192:
        return {}
    kinds = (dict, Docs, OrderedDict)
    return kinds[argument % 3]() if argument < 224 else NO_DICTS[argument % len(NO_DICTS)]


def _value(argument: int, after: Iterator[int]) -> Any:
    if argument == 254:
        return struct.unpack("<d", bytes(next(after, 0) for _ in range(8)))[0]
    return VALUES[argument] if argument < len(VALUES) else float(argument % 16)


def _many(seed: int, after: Iterator[int]) -> Nested:
    """A number of documents, of which some or all share their scores; rarely more than buffers have room for."""
    return _made(seed, next(after, 0) + 1, next(after, 0))


@lru_cache(100)
def _made(seed: int, levels: int, size: int) -> Nested:
    return {NAMES[i]: SCORES[i * (seed | 1) % levels] for i in range(size % 24 if size != 173 else len(NAMES))}
