"""Bytes as TREC qrels and a TREC run, or a block of one: reading and joining them.

An input is three bytes of options, the qrels, a line `%%` and the run; the run ends where the input does, so that
nothing behind it can be read unnoticed. One of the options puts many lines before each.
"""

from __future__ import annotations

import numpy as np
from checks import attempt, comes_back, compared, core, joining, same_hits, sealed

from cranfield.base.options import GRADE_WORDS
from cranfield.data.collection import Qrels
from cranfield.errors import InputError
from cranfield.io.parse_values import raise_problem
from cranfield.io.trec import read_graded
from cranfield.joining.streaming import _Lines, join_lines

PARTING = b"%%\n"
MANY_JUDGED = b"".join(b"g%d 0 a 1\n" % i for i in range(600))
MANY_RETRIEVED = b"".join(b"q2 0 n%d 1 %d t\n" % (i, i * 7 % 1000) for i in range(1100))
USUAL = Qrels.from_rows(["1", "1", "1", "q2", "q2"], ["a", "b", "d12345678", "a", "\xe9"], [1.0, 0.0, 2.0, 3.0, -1.0])


def execute(view: memoryview) -> None:
    """One execution."""
    data = bytes(view)
    if len(data) < 3:
        return
    options, failing, shorter = data[:3]
    ties, single, at_start, at_end = options % 6, bool(options & 32), bool(options & 64), bool(options & 128)
    failing = failing if failing < 64 else 0
    parting = data.find(PARTING, 3)
    judged, run = (b"", view[3:]) if parting < 0 else (data[3:parting], view[parting + len(PARTING) :])
    if shorter == 17:
        judged, run = MANY_JUDGED + judged, memoryview(sealed(MANY_RETRIEVED + run))
    qrels = _read(judged, failing) or USUAL
    size = len(run) - shorter if shorter < 16 else len(run)
    found = attempt(failing, core.join_lines, qrels.index, run, size, ties, single, at_start, at_end)
    gathered = attempt(failing, core.gather_queries, bytes(run[:size]))
    if not compared(data):
        return
    if gathered is not None:
        assert gathered == _gathered(bytes(run[:size])), "lines went astray"
    if found is not None and comes_back(found[2]):
        if not (at_start and at_end and gathered is not None):
            return
        found = core.join_lines(qrels.index, gathered, len(gathered), ties, single, True, True)
        found = found and (0, size, found[2])
    if found is not None:
        expected = join_lines(qrels, joining(ties, single), bytes(run[:size]), at_start, at_end)
        assert expected is not None, "the twin does not find this plain"
        assert found[:2] == expected[:2], (found[:2], expected[:2])
        same_hits(found[2], expected[2])


def _read(text: bytes, failing: int) -> Qrels | None:
    judgments = attempt(failing, core.read_judgments, sealed(text))
    if judgments is None:
        return None
    for ask in (judgments.docs, judgments.queries, judgments.columns, judgments.ideal):
        attempt(failing, ask)
    attempt(failing, judgments.arranged, list(range(len(judgments.queries())))[::-1])
    qrels = Qrels.packed(judgments, "qrels", None)
    if compared(text):
        _check_qrels(qrels, text)
    return qrels


def _gathered(run: bytes) -> bytes:
    lines: dict[bytes, list[bytes]] = {}
    for line in run.split(b"\n"):
        if line.strip() and not line.lstrip().startswith(b"#"):
            lines.setdefault(line.split()[0], []).append(line + b"\n")
    return b"".join(line for group in lines.values() for line in group)


def _check_qrels(qrels: Qrels, text: bytes) -> None:
    try:
        twin = read_graded(_Lines(text), raise_problem, GRADE_WORDS, "trec").qrels("qrels", None, "error")  # type: ignore[arg-type]
    except InputError as error:
        raise AssertionError("the twin does not find these judgments plain") from error
    assert qrels.queries == twin.queries
    assert qrels.judged == twin.judged
    for name in ("starts", "docs", "grades", "subtopics", "lines", "ideal", "starts_of_ideal"):
        assert np.array_equal(getattr(qrels, name), getattr(twin, name)), name
