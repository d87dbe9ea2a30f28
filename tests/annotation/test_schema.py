"""Tables have versions from day one: an older database is brought up to date, a newer one is refused."""

from __future__ import annotations

import threading

import pytest

from cranfield.annotation import AssessorSession, Event, JudgingError, open_log
from cranfield.annotation.database import Connection, open_database
from cranfield.annotation.schema import MIGRATIONS, Migration, migrate
from tests.annotation.conftest import judge_all, with_pairs

NEXT = MIGRATIONS[-1].version + 1
ANOTHER = Migration(
    NEXT,
    "a colour for everybody",
    ("ALTER TABLE assessors ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'",),
    sqlite=("CREATE TABLE only_sqlite (x TEXT)",),
    postgres=("CREATE TABLE only_postgres (x TEXT)",),
)


def test_a_database_is_brought_to_the_next_version_with_its_judgments(place: str) -> None:
    with open_log(place) as log:
        judge_all(AssessorSession(with_pairs(log, 1, 4), "ada"), 2)
        before = list(log.events())
        assert migrate(log.database, migrations=[*MIGRATIONS, ANOTHER]) == [NEXT]
        assert migrate(log.database, migrations=[*MIGRATIONS, ANOTHER]) == []
        assert log.read(lambda db: db.rows("SELECT assessor, colour FROM assessors")) == [("ada", "grey")]
        applied = log.read(lambda db: db.rows("SELECT part, version, about FROM migrations ORDER BY version"))
        told = [("judging", one.version, one.about) for one in MIGRATIONS]
        assert applied == [*told, ("judging", NEXT, "a colour for everybody")]
        assert list(log.events()) == before
    # a program that knows earlier versions only must not touch it
    with pytest.raises(JudgingError, match=f"version {NEXT} of judging was created by a newer cranfield"):
        open_log(place)


def test_keys_of_version_1_become_keys_of_their_assessors(place: str) -> None:
    database = open_database(place)
    migrate(database, migrations=MIGRATIONS[:1])

    def work(db: Connection) -> None:
        db.run("INSERT INTO assessors (assessor, added_at) VALUES ('ada', '2026')")
        db.run("INSERT INTO topics VALUES ('1', 1)")
        db.run("INSERT INTO pairs (query, doc, source, wanted) VALUES ('1', 'a', 'pool', 1)")
        for seq, grade in enumerate((1.0, 2.0), 1):
            db.run(
                """
                INSERT INTO events (key, kind, assessor, query, doc, pair, again, grade, judged_at, recorded_at, method,
                version) VALUES (?, 'judge', 'ada', '1', 'a', 1, 0, ?, ?, ?, 'key', '')
                """,
                f"k{seq}",
                grade,
                f"2026-01-0{seq}",
                f"2026-01-0{seq}",
            )

    database.write(work)
    database.close()
    with open_log(place) as log:
        assert [(event.key, event.grade) for event in log.events()] == [("k1", 1.0), ("k2", 2.0)]
        log.append(Event("k1", "judge", "grace", "1", "a", 3.0, judged_at="2026-01-03", recorded_at="2026-01-03"))
        log.append(Event("k1", "judge", "ada", "1", "a", 1.0, judged_at="2026-01-03", recorded_at="2026-01-03"))
        assert [(event.assessor, event.key) for event in log.events()] == [
            ("ada", "k1"),
            ("ada", "k2"),
            ("grace", "k1"),
        ]
        for statement in ("DELETE FROM events", "UPDATE events SET grade = 0"):
            with pytest.raises(JudgingError, match="append-only"):
                log.write(lambda db, statement=statement: db.run(statement))  # type: ignore[misc]


def test_a_migration_that_fails_changes_nothing(place: str) -> None:
    with open_log(place) as log:
        broken = Migration(NEXT, "broken", ("CREATE TABLE half (x TEXT)", "CREATE NONSENSE"))
        with pytest.raises(JudgingError):
            migrate(log.database, migrations=[*MIGRATIONS, broken])
        assert migrate(log.database, migrations=[*MIGRATIONS, ANOTHER]) == [NEXT]
        with pytest.raises(JudgingError, match="half"):
            log.read(lambda db: db.rows("SELECT * FROM half"))


def test_other_parts_have_versions_of_their_own(place: str) -> None:
    with open_log(place) as log:
        accounts = [Migration(1, "accounts", ("CREATE TABLE accounts (name TEXT PRIMARY KEY)",))]
        assert migrate(log.database, "accounts", accounts) == [1]
        assert migrate(log.database, "accounts", accounts) == []
    open_log(place).close()


def test_many_may_open_a_new_log_at_once(place: str) -> None:
    failed: list[Exception] = []

    def work() -> None:
        try:
            database = open_database(place)
            migrate(database)
            database.close()
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_log(place) as log:
        assert log.read(lambda db: db.value("SELECT COUNT(*) FROM migrations")) == len(MIGRATIONS)
