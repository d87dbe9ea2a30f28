"""PostgreSQL's full-text search: `postgresql://user:password@host/database?table=docs`.

Documents become a tsvector with an index of kind GIN; ts_rank_cd ranks, divided by the logarithm of 1 + the length of a
document (normalisation 1; `norm=` has others). `language=` names the analysis, english if not given. A table that is
there already is searched with `table=`, `id=` and `vector=`, the columns of its ids and of its tsvector.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

from cranfield.data import Document, Run
from cranfield.errors import InputError, MissingExtra
from cranfield.lab.engines import (
    DEPTH,
    FIELDS,
    About,
    Answered,
    Begun,
    EngineError,
    Hits,
    Indexed,
    Options,
    after,
    anew,
    ask_each,
    batches,
    digested,
    plain_id,
    text_of,
    unique,
)
from cranfield.lab.secrets import mask_url, register_secrets

COMMIT = 2_000  # documents
SETTINGS = {"table": "docs", "id": "id", "vector": "vector", "language": "english", "norm": "1"}
MAKE = "CREATE TABLE {part} (id text NOT NULL, vector tsvector NOT NULL)"
TAKE = "CREATE TEMPORARY TABLE IF NOT EXISTS cranfield_texts (number bigint, id text, body text) ON COMMIT DELETE ROWS"
LOAD = "COPY cranfield_texts (number, id, body) FROM STDIN"
ADD = """
    INSERT INTO {part} (id, vector)
    SELECT id, to_tsvector({language}::regconfig, body) FROM cranfield_texts ORDER BY number
"""
ADD_ONE = "INSERT INTO {part} (id, vector) VALUES (%s, to_tsvector({language}::regconfig, %s))"
# any of the words; each lexeme is quoted, so that none is taken for an operator
ANY = r"""
    SELECT string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')
    FROM unnest(to_tsvector({language}::regconfig, %s))
"""
SEARCH = """
    SELECT {id}::text, ts_rank_cd({vector}, asked, {norm}) AS score
    FROM {table}, CAST(%s AS tsquery) AS asked WHERE {vector} @@ asked
    ORDER BY score DESC, {id}::text COLLATE "C" LIMIT %s
"""


def opened(kind: str, place: str, options: Options) -> Postgres:
    return Postgres(f"postgresql:{place}", options)


class Postgres:
    """A table of texts in a database of PostgreSQL."""

    def __init__(self, url: str, options: Options | None = None) -> None:
        self.options = options or Options()
        parts = urlsplit(url)
        given = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.settings = {name: given.pop(name, default) for name, default in SETTINGS.items()}
        if not self.settings["norm"].isdecimal() or int(self.settings["norm"]) > 63:
            raise InputError(f"norm={self.settings['norm']}: expected a whole number from 0 to 63, see ts_rank_cd.")
        register_secrets(unquote(parts.password or ""))
        self.there = False  # whether the table is known to be
        self.url = urlunsplit(parts._replace(query=urlencode({"connect_timeout": "10", **given})))
        self.name = f"{mask_url(urlunsplit(parts._replace(query='')))}, table {self.settings['table']}"

    @cached_property
    def about(self) -> About:
        return About("postgresql", str(self._value("SHOW server_version")).split()[0])

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        start = time.perf_counter()
        if self._mark("table") is None and self._exists("table"):
            raise InputError(f"{self.name}: it is there and was not made by 'cranfield index'; give another table=.")
        with self._said():
            begun, failed = self._begun(list(fields))
            rest, dropped = after(unique(documents, self.options.source), begun, fields), 0
            if rest is None:
                self._make_part(list(fields))
                rest = unique(anew(documents, f"{self.name}_part"), self.options.source)
                begun, failed, dropped = Begun(), [], begun.done
            done, digest = begun.done, begun.digest
            for some in batches(rest, COMMIT):
                for document in some:
                    digest = digested(digest, document, fields)
                failed += self._add(some, fields, Begun(done + len(some), digest), failed)
                done += len(some)
            self._finish(list(fields))
        seconds = time.perf_counter() - start
        return Indexed(done - len(failed), seconds, self.size(), tuple(failed), begun.done, dropped)

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        if not self.there and not self._exists("table"):
            what = "is not complete; run 'cranfield index' again" if self._exists("part") else "there is no such table"
            raise InputError(f"{self.name}: {what}.")
        self.there = True
        return ask_each("postgresql", queries, lambda text: self._found(text, depth), answered)

    def size(self) -> int | None:
        if not self._exists("table"):
            return None
        return int(self._value("SELECT pg_total_relation_size(to_regclass(%s))", self._quoted("table")))

    def close(self) -> None:
        connection = self.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    @cached_property
    def connection(self) -> Any:
        psycopg = _library()
        try:
            made = psycopg.connect(self.url)
        except psycopg.Error as error:
            raise EngineError(f"{self.name}: cannot connect: {_said_by(error)}.") from None
        made.execute(f"SET statement_timeout = {int(self.options.timeout * 1000)}")
        made.commit()
        return made

    def _begun(self, fields: list[str]) -> tuple[Begun, list[tuple[str, str]]]:
        """How far an interrupted attempt got, and which documents were refused."""
        mark = self._mark("part")
        self._run("SET statement_timeout = 0")  # an index takes as long as it takes
        self._run(TAKE)
        self.connection.commit()
        if mark is not None and mark["fields"] == fields:
            digest = bytes.fromhex(mark.get("digest", "00"))  # an earlier version kept none
            return Begun(mark["done"], digest), [(doc, why) for doc, why in mark["failed"]]
        if mark is None and self._exists("part"):
            raise InputError(f"{self.name}_part is in the way; it was not made by 'cranfield index'.")
        self._make_part(fields)
        return Begun(), []

    def _make_part(self, fields: list[str]) -> None:
        self._run(self._sql("DROP TABLE IF EXISTS {part}"))
        self._run(self._sql(MAKE))
        self._remark(fields, Begun(), [])
        self.connection.commit()

    def _add(
        self, documents: list[Document], fields: Sequence[str], then: Begun, before: list[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """Index some documents in one transaction, and note how far it then is; which were refused, and why."""
        rows = [(plain_id(document.id, "postgresql"), text_of(document, fields)) for document in documents]
        psycopg = _library()
        refused: list[tuple[str, str]] = []
        try:
            with self.connection.cursor() as cursor:
                with cursor.copy(LOAD) as copy:
                    for number, (doc, text) in enumerate(rows):
                        copy.write_row((number, doc, text))
                cursor.execute(self._sql(ADD))
        except (psycopg.errors.ProgramLimitExceeded, psycopg.DataError):
            # one document that is too long for a tsvector must not take the others along
            self.connection.rollback()
            refused = self._one_by_one(rows)
        self._remark(list(fields), then, before + refused)
        self.connection.commit()
        return refused

    def _one_by_one(self, rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
        psycopg = _library()
        refused: list[tuple[str, str]] = []
        for row in rows:
            try:
                with self.connection.transaction():
                    self.connection.execute(self._sql(ADD_ONE), row)
            except (psycopg.errors.ProgramLimitExceeded, psycopg.DataError) as error:
                refused.append((row[0], _said_by(error)))
        return refused

    def _finish(self, fields: list[str]) -> None:
        """Make the index of words and put the table in its place, at once."""
        self._run(self._sql("CREATE INDEX ON {part} USING gin (vector)"))
        self._run(self._sql("DROP TABLE IF EXISTS {table}"))
        self._run(self._sql("ALTER TABLE {part} RENAME TO {bare}"))
        self.connection.commit()
        self._run(self._sql("ANALYZE {table}"))
        self._run(f"SET statement_timeout = {int(self.options.timeout * 1000)}")
        self.connection.commit()

    def _found(self, text: str, depth: int) -> Hits:
        psycopg = _library()
        with self._said():
            try:
                return self._asked(text, depth)
            except psycopg.errors.QueryCanceled:
                raise EngineError(f"{self.name}: no answer within {self.options.timeout:g} s.") from None
            except psycopg.OperationalError:
                self.close()  # a connection that broke is made anew, once
                return self._asked(text, depth)

    def _asked(self, text: str, depth: int) -> Hits:
        (asked,) = self.connection.execute(self._sql(ANY), (text,)).fetchone()
        rows = self.connection.execute(self._sql(SEARCH), (asked, depth)).fetchall() if asked else []
        self.connection.commit()
        return [(doc, float(score)) for doc, score in rows]

    def _sql(self, template: str) -> Any:
        """A statement with names and settings in it, quoted."""
        sql = _sql_library()
        named = {
            "part": _table(f"{self.settings['table']}_part"),
            "table": _table(self.settings["table"]),
            "bare": sql.Identifier(self.settings["table"].split(".")[-1]),
            "id": sql.Identifier(self.settings["id"]),
            "vector": sql.Identifier(self.settings["vector"]),
            "language": sql.Literal(self.settings["language"]),
            "norm": sql.Literal(int(self.settings["norm"])),
        }
        return sql.SQL(template).format(**named)

    def _run(self, statement: Any) -> None:
        self.connection.execute(statement)

    def _value(self, statement: Any, *values: Any) -> Any:
        with self._said():
            (value,) = self.connection.execute(statement, values).fetchone()
            self.connection.commit()
        return value

    def _quoted(self, which: str) -> str:
        return str(self._sql(f"{{{which}}}").as_string(self.connection))

    def _exists(self, which: str) -> bool:
        return self._value("SELECT to_regclass(%s)", self._quoted(which)) is not None

    def _mark(self, which: str) -> dict[str, Any] | None:
        """What we noted of a table of ours; None if it is not there, or somebody else's."""
        note = self._value("SELECT obj_description(to_regclass(%s), 'pg_class')", self._quoted(which))
        try:
            mark: dict[str, Any] = json.loads(note or "null")["cranfield"]
            return mark
        except (KeyError, TypeError, ValueError):
            return None

    def _remark(self, fields: list[str], begun: Begun, failed: list[tuple[str, str]]) -> None:
        sql = _sql_library()
        mark = {"fields": fields, "done": begun.done, "digest": begun.digest.hex(), "failed": failed}
        note = json.dumps({"cranfield": mark})
        self._run(sql.SQL("COMMENT ON TABLE {} IS {}").format(self._sql("{part}"), sql.Literal(note)))

    @contextmanager
    def _said(self) -> Iterator[None]:
        """What goes wrong inside, in a sentence; whatever it is, a transaction that was under way is taken back."""
        psycopg = _library()
        try:
            yield
        except psycopg.Error as error:
            self.close()
            raise EngineError(f"{self.name}: PostgreSQL says: {_said_by(error)}.") from None
        except BaseException:
            self.close()
            raise


def _table(name: str) -> Any:
    """The name of a table, with its schema if it has one."""
    return _sql_library().Identifier(*name.split(".", 1))


def _said_by(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")


def _library() -> Any:
    try:
        import psycopg
    except ImportError:
        raise MissingExtra("PostgreSQL", "postgres") from None
    return psycopg


def _sql_library() -> Any:
    _library()
    from psycopg import sql

    return sql
