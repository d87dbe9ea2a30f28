"""A process that is killed while it judges loses nothing that it confirmed, and doubles nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cranfield.judging import JudgmentLog, open_log
from cranfield.judging.events import state_of
from tests.judging.conftest import with_pairs

SOAK = bool(os.environ.get("CRANFIELD_SOAK"))
KILLS = 1000 if SOAK else 10
JUDGES = 4

# several judges in threads, each telling what was confirmed, as soon as it was; and sending some of it again
JUDGING = """
import random, sys, threading
from cranfield.judging import Desk, Trace, open_log
log = open_log(sys.argv[1])
rng = random.Random(int(sys.argv[2]))
lock = threading.Lock()

def judge(name):
    desk = Desk(log, name)
    item = desk.next()
    while item is not None:
        trace, grade = Trace(), rng.randrange(4)
        kind = "judge" if rng.random() < 0.9 else "skip"
        saved = desk.save(kind, item.query, item.place, grade if kind == "judge" else None, trace=trace)
        with lock:
            print(trace.key, kind, name, item.query, item.doc, grade, flush=True)
        if rng.random() < 0.1:
            saved = desk.save(kind, item.query, item.place, grade if kind == "judge" else None, trace=trace)
        if rng.random() < 0.1:
            undo = Trace()
            desk.undo(undo)
            with lock:
                print(undo.key, "undo", name, item.query, item.doc, 0, flush=True)
        item = saved.next or desk.next()

threads = [threading.Thread(target=judge, args=(f"judge{i}",), daemon=True) for i in range(int(sys.argv[3]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def killed(place: str, seed: int) -> list[list[str]]:
    """Judge for a moment and be killed; what was confirmed until then."""
    process = subprocess.Popen(
        [sys.executable, "-c", JUDGING, place, str(seed), str(JUDGES)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,  # what the first line's reading ahead had kept, communicate() would not see
    )
    assert process.stdout is not None and process.stderr is not None
    first = process.stdout.readline()  # under load from here on
    time.sleep(random.Random(seed).uniform(0, 0.25))
    os.kill(process.pid, signal.SIGKILL)
    rest, errors = process.communicate()
    assert process.returncode in (-signal.SIGKILL, 0), errors.decode()
    whole = (first + rest).rpartition(b"\n")[0]
    return [line.split() for line in whole.decode().splitlines()]


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_nothing_confirmed_is_lost_and_nothing_is_doubled(
    database: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "log.db")
    if database == "postgresql":
        place = f"{request.getfixturevalue('postgres')}?schema=crash"
    confirmed: list[list[str]] = []
    topics = 0
    for attempt in range(KILLS):
        with open_log(place) as log:
            if not topics or not any(pair.judged < pair.wanted for pair in log.pairs()) or attempt % 10 == 0:
                topics += 1
                with_pairs(log, topics, 400, judgments=2, repeats=0.1, hold=1.0)
        confirmed += killed(place, attempt)
    with open_log(place) as log:
        check(log, confirmed)


def check(log: JudgmentLog, confirmed: list[list[str]]) -> None:
    events = list(log.events())
    by_key = {event.key: event for event in events}
    assert len(by_key) == len(events)
    assert len(confirmed) > KILLS
    for key, kind, name, query, doc, grade in confirmed:
        event = by_key.pop(key)  # none is lost
        assert (event.kind, event.assessor) == (kind, name)
        if kind == "judge":
            assert (event.query, event.doc, event.grade) == (query, doc, float(grade))
    # what is there beyond that was written, but the process died before it could say so: one for each thread at most
    assert len(by_key) <= KILLS * JUDGES
    # and the tables that follow from the log do
    own: dict[tuple[str, str | None, str | None, bool], list[object]] = {}
    for event in events:
        own.setdefault((event.assessor, event.query, event.doc, event.again), []).append(event)
    states = {key: state for key, found in own.items() if (state := state_of(found)).kind}  # type: ignore[arg-type]
    judged = {(one.assessor, one.query, one.doc, one.again): (one.kind, one.grade) for one in log.judgments()}
    assert judged == {key: (state.kind, state.grade) for key, state in states.items()}
    tables = {table: _rows(log, table) for table in ("states", "pairs", "places")}
    log.rebuild()
    assert tables == {table: _rows(log, table) for table in tables}


def _rows(log: JudgmentLog, table: str) -> list[object]:
    return sorted(log.read(lambda at: at.rows(f"SELECT * FROM {table}")), key=repr)
