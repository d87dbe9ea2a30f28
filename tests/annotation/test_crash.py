"""A process that is killed while it judges loses nothing that it confirmed, and doubles nothing."""

from __future__ import annotations

import random
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import AssessorSession, JudgmentLog, Settings, open_log
from cranfield.annotation.events import reduce_events
from tests.annotation.conftest import DATABASES
from tests.annotation.forks import Forks
from tests.soak import SOAK
from tests.waiting import wait_until

KILLS = 1000 if SOAK else 10
GROUPS = 4 if SOAK else 2  # logs of their own, side by side, each with its share of the kills
JUDGES = 4
LEFT = "SELECT 1 FROM pairs WHERE judged < wanted LIMIT 1"

# several judges in threads, each telling what was confirmed, as soon as it was; and sending some of it again
JUDGING = """
import random, sys, threading
from cranfield.annotation import AssessorSession, Submission, open_log
log = open_log(sys.argv[1])
rng = random.Random(int(sys.argv[2]))
lock = threading.Lock()

def judge(name):
    session = AssessorSession(log, name)
    item = session.next()
    while item is not None:
        submission, grade = Submission(), rng.randrange(4)
        kind = "judge" if rng.random() < 0.9 else "skip"
        args = kind, item.query, item.place, grade if kind == "judge" else None
        saved = session.save(*args, submission=submission)
        with lock:
            print(submission.key, kind, name, item.query, item.doc, grade, flush=True)
        if rng.random() < 0.1:
            saved = session.save(*args, submission=submission)
        if rng.random() < 0.1:
            undo = Submission()
            session.undo(undo)
            with lock:
                print(undo.key, "undo", name, item.query, item.doc, 0, flush=True)
        item = saved.next or session.next()

threads = [threading.Thread(target=judge, args=(f"judge{i}",), daemon=True) for i in range(int(sys.argv[3]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


def killed(forks: Forks, out: Path, place: str, seed: int) -> list[list[str]]:
    """Judge for a moment and be killed; what was confirmed until then."""
    process = forks.start(JUDGING, out, place, str(seed), str(JUDGES))
    wait_until(lambda: out.exists() and out.stat().st_size)
    time.sleep(random.Random(seed).uniform(0, 0.25))  # under load
    code, wrong = forks.kill(process), Path(f"{out}.wrong")
    assert code in (-signal.SIGKILL, 0) and not wrong.stat().st_size, wrong.read_text()
    whole = out.read_bytes().rpartition(b"\n")[0]
    out.unlink()
    return [line.split() for line in whole.decode().splitlines()]


@pytest.mark.slow
@pytest.mark.soak("crashes")
@pytest.mark.parametrize("database", DATABASES)
def test_nothing_confirmed_is_lost_and_nothing_is_doubled(
    database: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Any
) -> None:
    server = request.getfixturevalue("postgres") if database == "postgresql" else None
    places = [
        str(tmp_path / f"log{group}.db") if server is None else f"{server}?schema=crash{group}"
        for group in range(GROUPS)
    ]
    with ThreadPoolExecutor(GROUPS) as groups:
        found = list(groups.map(kill_and_check, places, [tmp_path / f"out{group}" for group in range(GROUPS)]))
    record_property("kills", KILLS)
    record_property("confirmed", sum(confirmed for confirmed, _ in found))
    record_property("written, but killed before it was told", sum(unheard for _, unheard in found))


def kill_and_check(place: str, out: Path) -> tuple[int, int]:
    """Kill a process again and again that judges in a log, then check the log: how many acts were confirmed, and how
    many were written while the process died."""
    confirmed: list[list[str]] = []
    topics = 0
    with Forks("cranfield.annotation", "cranfield.pooling.pool", *(["psycopg"] if "://" in place else [])) as forks:
        for attempt in range(KILLS // GROUPS):
            with open_log(place) as log:
                if attempt % 10 == 0 or log.read(lambda db: db.value(LEFT)) is None:
                    topics += 1
                    if topics == 1:
                        log.configure(Settings(judgments=2, repeats=0.1, hold=1.0))
                    log.add_pairs({str(topics): [f"d{topics}-{i}" for i in range(400)]})
            confirmed += killed(forks, out, place, attempt)
    with open_log(place) as log:
        return len(confirmed), check(log, confirmed)


def check(log: JudgmentLog, confirmed: list[list[str]]) -> int:
    """See that all is there that was confirmed, once, and that the tables follow; how much is there beyond it."""
    kills = KILLS // GROUPS
    events = list(log.events())
    by_key = {event.key: event for event in events}
    assert len(by_key) == len(events)
    assert len(confirmed) > kills
    for key, kind, name, query, doc, grade in confirmed:
        event = by_key.pop(key)  # none is lost
        assert (event.kind, event.assessor) == (kind, name)
        if kind == "judge":
            assert (event.query, event.doc, event.grade) == (query, doc, float(grade))
    # what is there beyond that was written, but the process died before it could say so: one for each thread at most
    assert len(by_key) <= kills * JUDGES
    # and the tables that follow from the log do
    own: dict[tuple[str, str | None, str | None, bool], list[object]] = {}
    for event in events:
        own.setdefault((event.assessor, event.query, event.doc, event.again), []).append(event)
    states = {key: state for key, found in own.items() if (state := reduce_events(found)).kind}  # type: ignore[arg-type]
    judged = {(one.assessor, one.query, one.doc, one.again): (one.kind, one.grade) for one in log.judgments()}
    assert judged == {key: (state.kind, state.grade) for key, state in states.items()}
    for name, query in log.read(lambda db: db.rows("SELECT assessor, query FROM orders")):
        AssessorSession(log, name).prepare(query)
    tables = {table: _rows(log, table) for table in ("states", "pairs", "places")}
    log.rebuild()
    assert tables == {table: _rows(log, table) for table in tables}
    return len(by_key)


def _rows(log: JudgmentLog, table: str) -> list[object]:
    return sorted(log.read(lambda db: db.rows(f"SELECT * FROM {table}")), key=repr)
