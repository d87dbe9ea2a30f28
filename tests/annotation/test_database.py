"""The layer over both databases: ids of any bytes, errors in sentences, a full disk, an append-only log."""

from __future__ import annotations

import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.annotation import AssessorSession, DatabaseFull, JudgingError, JudgmentLog, export_qrels, open_log
from cranfield.annotation.database import APPLICATION_ID, escape_text, open_database, unescape_text
from tests.annotation.conftest import with_pairs
from tests.waiting import TIMEOUT


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    stored = escape_text(text)
    stored.encode()
    assert "\0" not in stored and unescape_text(stored) == text


def test_ids_that_are_not_utf8_survive_in_both_databases(log: JudgmentLog) -> None:
    odd = ["d\udcff", "back\\slash", "nul\0", "\\u0041", "ünïcode検索", "a'b\"c;--"]
    log.add_pairs({"q\udc80": odd})
    session = AssessorSession(log, "zoë \udcff")
    while (item := session.next()) is not None:
        session.save("judge", item.query, item.place, 1, note=f"about {item.doc}")
    assert set(export_qrels(log).qrels.to_dict()["q\udc80"]) == set(odd)
    assert {one.note for one in log.judgments()} == {f"about {doc}" for doc in odd}


def test_a_log_is_append_only_in_the_database_itself(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)
    session = AssessorSession(log, "ada")
    item = session.next()
    assert item is not None
    session.save("judge", item.query, item.place, 3)
    before = list(log.events())
    for statement in ("UPDATE events SET grade = 0", "DELETE FROM events", "DELETE FROM events WHERE seq = 1"):
        with pytest.raises(JudgingError, match="append-only"):
            log.write(lambda db, statement=statement: db.run(statement))  # type: ignore[misc]
    assert list(log.events()) == before and len(before) == 1


def test_what_fails_in_a_transaction_leaves_nothing(log: JudgmentLog) -> None:
    with_pairs(log, 1, 2)

    def work(db: object) -> None:
        db.run("UPDATE pairs SET wanted = 7")  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log.write(work)
    assert {pair.wanted for pair in log.pairs()} == {1}


def test_a_full_database_is_an_error_that_keeps_what_was_confirmed(tmp_path: Path) -> None:
    log = with_pairs(open_log(tmp_path / "log.db"), 1, 300)
    session = AssessorSession(log, "ada")
    pages = log.read(lambda db: db.value("PRAGMA page_count"))
    connect = log.database.connect

    def limited() -> object:
        raw = connect()
        raw.execute(f"PRAGMA max_page_count = {pages + 25}")
        return raw

    log.database.connect = limited  # type: ignore[method-assign]
    log.database.close()
    confirmed = []
    item = session.next()
    with pytest.raises(
        DatabaseFull, match=r"log\.db: the judgment is not saved: the disk is full .* not lost; free some space"
    ):
        while item is not None:
            saved = session.save("judge", item.query, item.place, 2)
            confirmed.append(item.doc)
            item = saved.next
    assert confirmed and item is not None
    log.database.connect = connect  # type: ignore[method-assign]
    log.database.close()
    assert sorted(one.doc for one in log.judgments()) == sorted(confirmed)
    session.save("judge", item.query, item.place, 2)  # with room again, it goes on
    assert len(log.judgments()) == len(confirmed) + 1
    log.close()


FILLING = """
import sys
from cranfield.annotation import AssessorSession, JudgingError, open_log
session = AssessorSession(open_log(sys.argv[1]), "ada")
item = session.next()
try:
    while item is not None:
        saved = session.save("judge", item.query, item.place, 1, note="x" * 500)
        print(item.doc, flush=True)
        item = saved.next
except JudgingError as error:
    print(f"! {error}", flush=True)
"""


def test_a_disk_that_fills_keeps_what_was_confirmed(tmp_path: Path) -> None:
    file = tmp_path / "log.db"
    with_pairs(open_log(file), 1, 2000).close()
    size = file.stat().st_size

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 400_000, size + 400_000))

    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(file)], capture_output=True, text=True, preexec_fn=limit, timeout=TIMEOUT
    )
    *confirmed, last = done.stdout.splitlines()
    assert last.startswith("! ") and "not saved" in last and done.stderr == ""
    with open_log(file) as log:
        assert sorted(one.doc for one in log.judgments()) == sorted(confirmed) and confirmed


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("not a database, but long enough to be looked at " * 20)
    with pytest.raises(JudgingError, match="not a log of judgments, or it is damaged"):
        open_log(tmp_path / "text.db")
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    before = (tmp_path / "other.db").read_bytes()
    with pytest.raises(JudgingError, match="a database, but not a log of judgments"):
        open_log(tmp_path / "other.db")
    assert (tmp_path / "other.db").read_bytes() == before
    with pytest.raises(JudgingError, match="this is a folder"):
        open_log(tmp_path)


def test_a_place_that_cannot_be_opened_is_said_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(JudgingError, match="Does its folder exist"):
        open_log(tmp_path / "none" / "log.db")
    with pytest.raises(JudgingError, match="this log of judgments does not exist"):
        open_log(tmp_path / "none.db", create=False)
    with pytest.raises(JudgingError, match="mysql://: expected a file, or a URL"):
        open_log("mysql://host/x")


@pytest.mark.postgres
def test_a_server_that_is_not_there_is_said_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(JudgingError, match="cannot be reached") as told:
        open_log("postgresql://ada:hush@127.0.0.1:9/x")
    assert "hush" not in str(told.value)
    with pytest.raises(JudgingError, match="expected lower-case letters"):
        open_database('postgresql://host/x?schema=a"b')


def test_a_log_in_sqlite_is_synchronised_at_every_commit(small: JudgmentLog) -> None:
    pragmas = {name: small.read(lambda db, n=name: db.value(f"PRAGMA {n}")) for name in ("journal_mode", "synchronous")}  # type: ignore[misc]
    assert pragmas == {"journal_mode": "wal", "synchronous": 2}  # 2 is FULL
    assert small.read(lambda db: db.value("PRAGMA application_id")) == APPLICATION_ID


def test_postgresql_is_told_to_confirm_only_what_is_written(postgres: str) -> None:
    with open_log(f"{postgres}?schema=confirming") as log:
        assert log.read(lambda db: db.value("SHOW synchronous_commit")) == "on"


def test_a_connection_that_the_server_ended_is_made_anew(postgres: str) -> None:
    with open_log(f"{postgres}?schema=ended") as log:
        with_pairs(log, 1, 3)
        session = AssessorSession(log, "ada")
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = 'lab'"
        import psycopg

        with psycopg.connect(postgres, autocommit=True) as other:
            item = session.next()
            assert item is not None
            other.execute(end)
            assert session.save("judge", item.query, item.place, 1).next is not None
            other.execute(end)
            assert len(log.judgments()) == 1
