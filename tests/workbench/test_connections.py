"""The connection pool: bounded, never left in a transaction, renewed when PostgreSQL restarts."""

from __future__ import annotations

import glob
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cranfield.annotation import AssessorSession, JudgmentLog, Submission
from cranfield.annotation.database import DatabaseBusy, open_database
from cranfield.errors import InputError
from cranfield.workbench.app import make_app
from cranfield.workbench.connections import MAX_OVERFLOW, POOL_SIZE, ConnectionPool, use_pool
from tests.annotation.conftest import place as place
from tests.annotation.conftest import with_pairs
from tests.lab import servers
from tests.waiting import TIMEOUT, wait_until
from tests.workbench.conftest import client_of, open_service, serving, with_token


@contextmanager
def log_of(
    place: str, size: int = 3, overflow: int = 2, timeout: float = TIMEOUT
) -> Iterator[tuple[JudgmentLog, set[Any]]]:
    """A log with a connection pool, and its open connections."""
    database = open_database(place)
    connect, is_open = database.connect, set()

    def counted() -> Any:
        raw = connect()
        is_open.add(raw)
        return raw

    database.connect = counted  # type: ignore[method-assign]
    log = JudgmentLog(use_pool(database, size, overflow, timeout))
    try:
        yield log, is_open
    finally:
        log.close()
        assert not [raw for raw in is_open if answers(raw)], "a connection is left"


def answers(raw: Any) -> bool:
    """Whether a connection is open."""
    try:
        raw.execute("SELECT 1")
    except Exception:
        return False
    return True


def pool_of(log: JudgmentLog) -> Any:
    assert isinstance(log.database.connections, ConnectionPool)
    return log.database.connections.pool


def test_many_threads_share_few_connections_and_lose_nothing(place: str) -> None:
    with log_of(place) as (log, is_open):
        with_pairs(log, 1, 60, judgments=16)
        in_use, wrong = [], []

        def slowly(at: Any) -> None:
            in_use.append(pool_of(log).checkedout())
            time.sleep(0.002)

        def judge(name: str) -> None:
            try:
                session = AssessorSession(log, name)
                item = session.next("1")
                for _ in range(12):
                    assert item is not None
                    item = session.save("judge", "1", item.place, 1).next
                    log.read(slowly)
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=judge, args=(f"judge{n}",)) for n in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong and len(log.judgments()) == 16 * 12
        assert 1 < max(in_use) <= 5  # three that are kept, two more
        assert pool_of(log).checkedout() == 0 and pool_of(log).checkedin() <= 3
        assert len([raw for raw in is_open if answers(raw)]) <= 3


def test_a_wait_for_a_connection_ends_in_a_sentence(place: str) -> None:
    with log_of(place, size=1, overflow=0, timeout=0.05) as (log, _):
        name = log.name
        with log.database.snapshot(), pytest.raises(DatabaseBusy) as told:
            log.topics()
        assert str(told.value).startswith(f"{name}: all connections have been in use for 0.05 s. Nothing was saved")
        assert log.topics() == ()  # it is free again


def test_a_connection_that_failed_is_not_used_again(place: str) -> None:
    with log_of(place, size=1, overflow=0) as (log, is_open):
        with_pairs(log, 1, 2)

        def broken(at: Any) -> None:
            at.run("UPDATE pairs SET wanted = 7")
            raise KeyboardInterrupt

        (before,) = [raw for raw in is_open if answers(raw)]
        with pytest.raises(KeyboardInterrupt):
            log.write(broken)
        assert not answers(before) and pool_of(log).checkedout() == 0
        assert {pair.wanted for pair in log.pairs()} == {1}


def test_what_is_refused_costs_no_connection(place: str) -> None:
    with log_of(place, size=1, overflow=0) as (log, is_open):
        with_pairs(log, 1, 2)
        session = AssessorSession(log, "ada")
        item = session.next("1")
        assert item is not None
        before = len(is_open)
        for _ in range(3):
            with pytest.raises(InputError, match="grade 9 is not one of"):
                session.save("judge", "1", item.place, 9)
        assert len(is_open) == before and list(log.events()) == []
        assert session.save("judge", "1", item.place, 1).event.grade == 1


def test_no_connection_comes_back_in_the_midst_of_a_transaction(place: str) -> None:
    with log_of(place, size=1, overflow=0) as (log, _):
        with_pairs(log, 1, 2)
        with log.database.connections.acquire() as raw:
            raw.execute("BEGIN")
            raw.execute("UPDATE pairs SET wanted = 7")
        with log.database.connections.acquire() as again:
            assert again is raw
            again.execute("BEGIN")  # an error, or a warning, within a transaction
            again.execute("COMMIT")
        assert {pair.wanted for pair in log.pairs()} == {1}


def test_what_is_in_use_when_a_pool_is_closed_ends_when_it_comes_back(place: str) -> None:
    with log_of(place) as (log, is_open):
        with_pairs(log, 1, 2)
        with log.database.snapshot() as at:
            log.close()
            assert at.value("SELECT COUNT(*) FROM pairs") == 2  # it is finished with what it was doing
        assert not [raw for raw in is_open if answers(raw)]
        assert log.topics() == ("1",)  # and may be used again


def test_a_workbench_has_a_pool(service: Any) -> None:
    pool = service.log.database.connections.pool
    assert (pool.size(), pool._max_overflow) == (POOL_SIZE, MAX_OVERFLOW)


def test_a_database_that_does_not_answer_is_told_so_that_a_page_tries_again(folder: Path) -> None:
    service = open_service(folder)
    client = with_token(client_of(make_app(judging=service, local_user="ada")))
    item = client.post("/api/judging/next", json={}).json()["item"]
    given = {"kind": "judge", "query": "1", "place": item["place"], "grade": 1, "key": "k"}
    use_pool(service.log.database, 1, 0, 0.05)
    with service.log.database.snapshot():
        answer = client.post("/api/judging/save", json=given)
    assert answer.status_code == 503 and "try again" in answer.json()["error"]
    assert client.post("/api/judging/save", json=given).status_code == 200
    assert [event.key for event in service.log.events()] == ["k"]
    service.close()


def test_a_page_keeps_what_the_database_could_not_take(chromium: Any, folder: Path) -> None:
    service = open_service(folder)
    context = chromium.new_context()
    page = context.new_page()
    with serving(make_app(judging=service, local_user="ada")) as address:
        page.goto(f"{address}/judge")
        page.wait_for_selector("#document h1")
        write = service.log.write

        def away(work: Any) -> Any:
            raise DatabaseBusy("PostgreSQL cannot be reached.")

        service.log.write = away
        page.keyboard.press("2")
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('1 action is stored')")
        service.log.write = write
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('everything is saved')")
    assert [event.grade for event in service.log.events()] == [2]
    context.close()
    service.close()


# A server of PostgreSQL that is started anew


@pytest.fixture
def restarted(postgres: str) -> tuple[str, Any]:
    """The URL of a server, and a function that restarts it."""
    import psycopg

    with psycopg.connect(postgres) as at:
        data = at.execute("SHOW data_directory").fetchone()[0]
    control = shutil.which("pg_ctl") or sorted(glob.glob("/usr/lib/postgresql/*/bin/pg_ctl"))[-1]

    def restart(mode: str) -> None:
        call = [*servers._as_user(), control, "-D", data, "-w", "-m", mode, "-l", f"{data}/log", "restart"]
        null = subprocess.DEVNULL
        subprocess.run(call, check=True, stdout=null, stdin=null, cwd="/", timeout=TIMEOUT)

    return postgres, restart


def test_a_restart_of_postgresql_loses_nothing_doubles_nothing_and_leaves_nothing_behind(
    restarted: tuple[str, Any],
) -> None:
    url, restart = restarted
    with log_of(f"{url}?schema=restarted", size=4, overflow=4) as (log, is_open):
        with_pairs(log, 1, 400, judgments=6)
        confirmed: list[str] = []
        wrong: list[Exception] = []
        is_over = threading.Event()

        def judge(name: str) -> None:
            try:
                session = trying(lambda: AssessorSession(log, name))
                item = trying(lambda: session.next("1"))
                while item is not None and not is_over.is_set():
                    submission, at = Submission(), item.place
                    item = trying(
                        lambda at=at, submission=submission: session.save("judge", "1", at, 1, submission=submission)
                    ).next  # type: ignore[misc]
                    confirmed.append(submission.key)
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=judge, args=(f"judge{n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for mode in ("fast", "immediate", "fast"):
            before = len(confirmed)
            while len(confirmed) < before + 20 and not wrong:  # under load
                time.sleep(0.01)
            restart(mode)
        before = len(confirmed)
        while len(confirmed) < before + 20 and not wrong and any(thread.is_alive() for thread in threads):
            time.sleep(0.01)
        is_over.set()
        for thread in threads:
            thread.join()
        assert not wrong
        assert sorted(confirmed) == sorted(event.key for event in log.events())
        assert pool_of(log).checkedout() == 0
        open_now = "SELECT COUNT(*) FROM pg_stat_activity WHERE usename = 'lab' AND backend_type = 'client backend'"
        assert log.read(lambda at: at.value(open_now)) <= 4
        assert len([raw for raw in is_open if answers(raw)]) <= 4


def test_an_idle_server_does_not_notice_that_postgresql_was_started_anew(restarted: tuple[str, Any]) -> None:
    url, restart = restarted
    with log_of(f"{url}?schema=idle", size=4, overflow=4) as (log, _):
        with_pairs(log, 1, 3)
        with ExitStack() as stack:  # four that are kept
            for _ in range(4):
                stack.enter_context(log.database.snapshot())
        session = AssessorSession(log, "ada")
        item = session.next("1")
        assert item is not None and pool_of(log).checkedin() == 4
        restart("immediate")
        assert session.save("judge", "1", item.place, 1).next is not None  # at once, without a 503
        restart("fast")
        assert len(log.judgments()) == 1


def trying(work: Any) -> Any:
    """Retry, as the page does, until the database answers."""
    found: list[Any] = []

    def has_answered() -> bool:
        try:
            found.append(work())
        except DatabaseBusy:
            return False
        return True

    wait_until(has_answered)
    return found[0]


# Without SQLAlchemy

WITHOUT = """
import sys
sys.modules["sqlalchemy"] = None
from cranfield.cli import commands
commands(sys.argv[1:])
"""


def test_only_the_workbench_needs_sqlalchemy(folder: Path) -> None:
    files = ["--topics", str(folder / "topics.jsonl"), "--documents", str(folder / "documents.jsonl")]
    judge = ["judge", str(folder / "pool.jsonl"), *files, "--assessor", "ada", "--log", str(folder / f"{uuid4()}.db")]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *judge], input="1\nq\n", capture_output=True, text=True)
    assert done.returncode == 0 and "Saved: 1 Related." in done.stdout, done.stderr
    serve = ["serve", str(folder), "--port", "0"]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *serve], capture_output=True, text=True)
    assert done.returncode != 0 and "pip install 'cranfield[web]'" in done.stderr
