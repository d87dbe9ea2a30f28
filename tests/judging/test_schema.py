"""Tables have versions from day one: an older database is brought up to date, a newer one is refused."""

from __future__ import annotations

import threading

import pytest

from cranfield.judging import Desk, JudgingError, open_log
from cranfield.judging.database import open_database
from cranfield.judging.schema import MIGRATIONS, Migration, migrate
from tests.judging.conftest import judge_all, with_pairs

SECOND = Migration(
    2,
    "a colour for everybody",
    ("ALTER TABLE assessors ADD COLUMN colour TEXT NOT NULL DEFAULT 'grey'",),
    sqlite=("CREATE TABLE only_sqlite (x TEXT)",),
    postgres=("CREATE TABLE only_postgres (x TEXT)",),
)


def test_a_database_of_version_1_is_brought_to_version_2_with_its_judgments(place: str) -> None:
    with open_log(place) as log:
        judge_all(Desk(with_pairs(log, 1, 4), "ada"), 2)
        before = list(log.events())
        assert migrate(log.database, migrations=[*MIGRATIONS, SECOND]) == [2]
        assert migrate(log.database, migrations=[*MIGRATIONS, SECOND]) == []
        assert log.read(lambda at: at.rows("SELECT assessor, colour FROM assessors")) == [("ada", "grey")]
        applied = log.read(lambda at: at.rows("SELECT part, version, about FROM migrations ORDER BY version"))
        assert applied == [("judging", 1, "the log of judgments"), ("judging", 2, "a colour for everybody")]
        assert list(log.events()) == before
    # a program that knows version 1 only must not touch it
    with pytest.raises(JudgingError, match="version 2 of judging, made by a newer cranfield"):
        open_log(place)


def test_a_migration_that_fails_changes_nothing(place: str) -> None:
    with open_log(place) as log:
        broken = Migration(2, "broken", ("CREATE TABLE half (x TEXT)", "CREATE NONSENSE"))
        with pytest.raises(JudgingError):
            migrate(log.database, migrations=[*MIGRATIONS, broken])
        assert migrate(log.database, migrations=[*MIGRATIONS, SECOND]) == [2]
        with pytest.raises(JudgingError, match="half"):
            log.read(lambda at: at.rows("SELECT * FROM half"))


def test_other_parts_have_versions_of_their_own(place: str) -> None:
    with open_log(place) as log:
        accounts = [Migration(1, "accounts", ("CREATE TABLE accounts (name TEXT PRIMARY KEY)",))]
        assert migrate(log.database, "accounts", accounts) == [1]
        assert migrate(log.database, "accounts", accounts) == []
    open_log(place).close()


def test_many_may_open_a_new_log_at_once(place: str) -> None:
    failed: list[Exception] = []

    def work() -> None:
        database = open_database(place)
        try:
            migrate(database)
        except Exception as error:
            failed.append(error)
        database.close()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    with open_log(place) as log:
        assert log.read(lambda at: at.value("SELECT COUNT(*) FROM migrations")) == 1
