"""A server killed under load, and a full disk: nothing confirmed is lost or duplicated."""

from __future__ import annotations

import http.client
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cranfield.annotation import DatabaseFull, JudgmentLog, open_log
from cranfield.annotation.events import reduce_events
from cranfield.workbench.accounts import Accounts, load_token_key
from cranfield.workbench.app import make_app
from cranfield.workbench.app_state import AppState, DataSource
from cranfield.workbench.security import AllowedHosts
from tests.annotation.conftest import DATABASES
from tests.annotation.forks import Forks
from tests.soak import SOAK
from tests.waiting import TIMEOUT, wait_until
from tests.workbench.conftest import PASSWORD, QUICK, client_of, make_folder, open_service, serving, with_token

KILLS = 1000 if SOAK else 10  # on each of two databases
GROUPS = 4 if SOAK else 2  # servers with logs of their own, side by side, each with its share of the kills
JUDGES = 4


class Server:
    """`cranfield serve` in its own process, which can be killed and restarted."""

    def __init__(self, folder: Path, log: str, limit: int | None = None) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._call = ["serve", str(folder), "--log", log, "--quiet", "--port", str(self.port)]
        self._limit = limit
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        def within() -> None:
            assert self._limit is not None
            resource.setrlimit(resource.RLIMIT_FSIZE, (self._limit, self._limit))

        self.process = subprocess.Popen(
            [sys.executable, "-m", "cranfield", *self._call],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            preexec_fn=None if self._limit is None else within,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline().startswith(b"http://")

    def kill(self) -> None:
        assert self.process is not None and self.process.stdout is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.kill()


class QuickServer(Server):
    """The same, with everything imported before the first start."""

    def __init__(self, folder: Path, log: str) -> None:
        super().__init__(folder, log)
        self._forks = Forks(
            "cranfield.cli",
            "cranfield.cli.serve",
            "cranfield.workbench.app",
            "cranfield.workbench.judge.judging_service",
            "uvicorn",
        )
        self._out = folder / "said"
        self._child: int | None = None

    def restart(self) -> None:
        """Restart after a kill."""
        self._out.unlink(missing_ok=True)
        self._child = self._forks.start(SERVING, self._out, *self._call)
        wait_until(
            lambda: self._out.exists() and self._out.read_bytes().startswith(b"http://"),
            lambda: Path(f"{self._out}.wrong").read_text(),
        )

    def kill(self) -> None:
        if self._child is None:
            super().kill()
        else:
            child, self._child = self._child, None
            assert self._forks.kill(child) == -signal.SIGKILL

    def __exit__(self, *_: object) -> None:
        if self.process is not None or self._child is not None:
            self.kill()
        self._forks.close()


SERVING = "import sys; from cranfield.cli import commands; commands(sys.argv[1:], standalone_mode=False)"


class Judge:
    """An assessor who judges by HTTP as the page does: unanswered requests are sent again with the same key."""

    def __init__(self, port: int, name: str, cookie: str, token: str, seed: int) -> None:
        self.name, self._port, self._rng = name, port, random.Random(seed)
        self._headers = {
            "cookie": f"cranfield_session={cookie}",
            "x-csrf-token": token,
            "content-type": "application/json",
        }
        self._line: http.client.HTTPConnection | None = None
        self.confirmed: list[tuple[str, str, str, str | None, float | None]] = []
        self.wrong: list[str] = []
        self.is_over = False

    def run(self) -> None:
        item: Any = None
        while not self.is_over:
            item = item or self.say("/next", {})["item"]
            if item is None:
                return
            kind = "judge" if self._rng.random() < 0.9 else "skip"
            grade = self._rng.randrange(4) if kind == "judge" else None
            act = {"kind": kind, "query": item["query"], "place": item["place"], "grade": grade, "key": uuid4().hex}
            saved = self.say("/save", act)
            self.confirmed.append((act["key"], kind, item["query"], item["doc"], grade))
            item = saved["next"]
            if self._rng.random() < 0.1:
                key = uuid4().hex
                item = self.say("/undo", {"key": key})["item"]
                self.confirmed.append((key, "undo", item["query"], item["doc"], None))

    def close(self) -> None:
        if self._line is not None:
            self._line.close()

    def say(self, path: str, act: dict[str, Any]) -> Any:
        body = json.dumps(act)
        while True:
            try:
                if self._line is None:
                    self._line = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT)
                self._line.request("POST", f"/api/judging{path}", body, self._headers)
                answer = self._line.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self.close()
                self._line = None
                time.sleep(0.05)
                continue
            if answer.status != 200:
                self.wrong.append(f"{answer.status} {content!r}")
                raise AssertionError(self.wrong[-1])
            return json.loads(content)


def judges_at(server: Server, log: str) -> list[Judge]:
    """Assessors who have signed in already."""
    with open_log(log) as opened:
        accounts = Accounts(opened.database, QUICK)
        accounts.accept(accounts.invite("cora", "coordinator"), PASSWORD)
        app_state = AppState(DataSource(), AllowedHosts(), load_token_key(opened.database))
        found = []
        for n in range(JUDGES):
            user = accounts.accept(accounts.invite(f"judge{n}"), PASSWORD)
            cookie = accounts.start_session(user)
            found.append(Judge(server.port, user.name, cookie, app_state.make_token(cookie), n))
    return found


@pytest.mark.slow
@pytest.mark.soak("crashes")
@pytest.mark.parametrize("database", DATABASES)
def test_a_server_killed_under_load_loses_nothing_and_doubles_nothing(
    database: str, tmp_path: Path, request: pytest.FixtureRequest, record_property: Any
) -> None:
    place = request.getfixturevalue("postgres") if database == "postgresql" else None
    topics = 2 + KILLS // GROUPS // 10  # more than can be judged between so many kills
    pairs = {str(query): [f"d{query}-{i}" for i in range(400)] for query in range(1, topics + 1)}
    judging = "judgments = 2\nrepeats = 0.1\nhold = 1"
    folders = [make_folder(tmp_path / f"w{group}", judging, pairs) for group in range(GROUPS)]
    logs = [str(folder / "log.db") if place is None else f"{place}?schema=killed{folder.name}" for folder in folders]
    with ThreadPoolExecutor(GROUPS) as groups:
        confirmed = sum(groups.map(kill_and_check, folders, logs, range(GROUPS)))
    record_property("kills", KILLS)
    record_property("confirmed", confirmed)


def kill_and_check(folder: Path, log: str, group: int) -> int:
    """Kill a server repeatedly under load, then check its log; returns how many actions were confirmed."""
    server = QuickServer(folder, log)
    judges = judges_at(server, log)
    with server:
        kill_under_load(server, judges, group)
    assert not any(judge.wrong for judge in judges)
    with open_log(log) as opened:
        return check(opened, judges)


def kill_under_load(server: QuickServer, judges: list[Judge], seed: int) -> None:
    threads = [threading.Thread(target=judge.run, daemon=True) for judge in judges]
    for thread in threads:
        thread.start()
    rng = random.Random(seed)
    for _ in range(KILLS // GROUPS):
        before = sum(len(judge.confirmed) for judge in judges)
        while sum(len(judge.confirmed) for judge in judges) < before + JUDGES:  # under load from here on
            time.sleep(0.01)
            assert not any(judge.wrong for judge in judges), [judge.wrong for judge in judges]
            assert all(thread.is_alive() for thread in threads), "there is nothing left to judge"
        time.sleep(rng.uniform(0, 0.2))
        server.kill()
        server.restart()
    for judge in judges:
        judge.is_over = True
    for judge, thread in zip(judges, threads, strict=True):
        thread.join(TIMEOUT)
        judge.close()


def check(log: JudgmentLog, judges: list[Judge]) -> int:
    """Check that all confirmed actions are recorded once, and nothing else; returns how many."""
    by_key = {event.key: event for event in log.events()}
    assert len(by_key) == sum(1 for _ in log.events())
    confirmed = [(judge.name, *one) for judge in judges for one in judge.confirmed]
    assert len(confirmed) > KILLS // GROUPS * JUDGES
    # all that was confirmed is there, and nothing else: every act without an answer was sent again, by its key
    assert sorted(by_key) == sorted(key for _, key, *_ in confirmed)
    for name, key, kind, query, doc, grade in confirmed:
        event = by_key[key]
        assert (event.assessor, event.kind, event.query, event.doc, event.grade) == (name, kind, query, doc, grade)
    own: dict[tuple[Any, ...], list[Any]] = {}
    for event in log.events():
        own.setdefault((event.assessor, event.query, event.doc, event.again), []).append(event)
    states = {key: (state.kind, state.grade) for key, found in own.items() if (state := reduce_events(found)).kind}
    judged = {(one.assessor, one.query, one.doc, one.again): (one.kind, one.grade) for one in log.judgments()}
    assert judged == states
    return len(confirmed)


# A full disk


@contextmanager
def full_soon(service: Any, more: int = 3) -> Iterator[None]:
    """A database that can grow by a few pages only."""
    database = service.log.database
    connect = type(database).connect

    def limited(self: Any) -> Any:
        raw = connect(self)
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        self.most = getattr(self, "most", pages + more)
        raw.execute(f"PRAGMA max_page_count = {self.most}")
        return raw

    database.close()
    type(database).connect = limited
    try:
        yield
    finally:
        type(database).connect = connect
        database.close()


def test_a_full_disk_is_told_and_what_was_confirmed_is_kept(folder: Path) -> None:
    service = open_service(folder)
    client = with_token(client_of(make_app(judging=service, local_user="ada")))
    item = client.post("/api/judging/next", json={}).json()["item"]
    confirmed, answer = [], None
    with full_soon(service):
        for n in range(200):
            given = {"kind": "note", "query": "1", "place": item["place"], "note": "x" * 1000, "key": f"k{n}"}
            answer = client.post("/api/judging/save", json=given)
            if answer.status_code != 200:
                break
            confirmed.append(f"k{n}")
    assert answer is not None and answer.status_code == 507
    assert "not saved" in answer.json()["error"] and "not lost" in answer.json()["error"]
    assert confirmed and [event.key for event in service.log.events()] == confirmed
    given = {"kind": "judge", "query": "1", "place": item["place"], "grade": 1, "key": "after"}
    assert client.post("/api/judging/save", json=given).status_code == 200  # there is room again
    service.close()


def fill(service: Any) -> None:
    """Use up all free space in the pages of a database that cannot grow."""
    session, place = service.session("ada"), service.session("ada").next("1").place
    for size in (15_000, 2_000, 200, 1):
        with pytest.raises(DatabaseFull):
            for _ in range(2_000):
                session.save("note", "1", place, note="x" * size)


def test_a_full_disk_is_told_on_the_page(chromium: Any, folder: Path) -> None:
    service = open_service(folder)
    context = chromium.new_context()
    page = context.new_page()
    with serving(make_app(judging=service, local_user="ada")) as address:
        page.goto(f"{address}/judge")
        page.wait_for_selector("#document h1")
        before = page.locator("#progress").inner_text()
        with full_soon(service, 0):
            fill(service)
            page.keyboard.press("1")
            page.wait_for_selector(".said.wrong")
            assert "not saved" in page.locator(".said").inner_text()
            assert page.locator("#progress").inner_text() == before  # nothing is shown as saved that is not
        page.keyboard.press("1")
        page.wait_for_function("before => document.getElementById('progress').textContent !== before", arg=before)
    assert [event.kind for event in service.log.events() if event.kind != "note"] == ["judge"]
    context.close()
    service.close()


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="there are no limits here")
def test_a_limit_on_the_size_of_files_is_told_and_what_was_confirmed_is_kept(tmp_path: Path) -> None:
    folder, log = make_folder(tmp_path / "w"), str(tmp_path / "log.db")
    open_service(folder, log).close()
    server = Server(folder, log, limit=400_000)
    judge = judges_at(server, log)[0]
    with server:
        item = judge.say("/next", {})["item"]
        act = {"kind": "note", "query": item["query"], "place": item["place"], "note": "x" * 5000}
        confirmed = []
        with pytest.raises(AssertionError, match="507"):
            for _ in range(500):
                key = uuid4().hex
                judge.say("/save", act | {"key": key})
                confirmed.append(key)
        assert judge.say("/next", {})["item"] == item | {"note": "x" * 5000}  # what can be read is still served
        judge.close()
    with open_log(log) as opened:
        assert confirmed and [event.key for event in opened.events()] == confirmed
