"""Which columns of a Spark frame are which, and of what type: or an error before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.base import Record
from cranfield.errors import InputError
from cranfield.io import rows

RUN = ("run", "run_id", "runid", "system", "tag")
WHOLE = ("tinyint", "smallint", "int", "bigint")
NUMBERS = (*WHOLE, "float", "double")
# as formats.values has it: no hex, no NaN, no suffix for a type, all of which Java reads as numbers
_DECIMAL = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = r"^[+-]?[0-9]{1,18}$"
_EXTRA = {
    "stratum": rows.STRATUM,
    "subgroup": rows.SUBGROUP,
    "method": rows.METHOD,
    "probability": rows.PROBABILITY,
}


class Columns(Record):
    """What the columns of a frame are called, by what they hold."""

    frame: str  # what the frame is, in messages
    names: dict[str, str]
    types: dict[str, str]

    def __contains__(self, what: str) -> bool:
        return what in self.names

    def type_of(self, what: str) -> str:
        return self.types[self.names[what]]

    def is_whole(self, what: str) -> bool:
        """Whether ids are whole numbers, which are written out as text."""
        return self.type_of(what) in WHOLE

    def is_text(self, what: str) -> bool:
        return _is_text(self.type_of(what))

    def ids(self, what: str, as_text: bool) -> Any:
        """A column of ids: as text, or as the whole numbers that they are."""
        from pyspark.sql import functions as F

        return F.col(quoted(self.names[what])).cast("string" if as_text else "bigint")

    def subtopics(self) -> Any:
        """The column of subtopics; "0" where there is none, as in files."""
        from pyspark.sql import functions as F

        subtopic = self.ids("subtopic", True)
        return F.when(subtopic.isNull() | (subtopic == ""), "0").otherwise(subtopic)

    def ranks(self) -> Any:
        """The column of ranks; NULL where text is no whole number."""
        from pyspark.sql import functions as F

        rank = F.trim(self.ids("rank", True))
        return F.when(rank.rlike(_WHOLE), rank.cast("bigint"))

    def numbers(self, what: str) -> Any:
        """A column of numbers; NULL where text is none."""
        from pyspark.sql import functions as F

        name = quoted(self.names[what])
        if not self.is_text(what):
            return F.col(name).cast("double")
        text = F.trim(F.col(name))
        return F.when(text.rlike(_DECIMAL), text.cast("double"))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def run_columns(frame: Any, with_ranks: bool, **given: str | None) -> Columns:
    """The columns of a run: query, doc, score, the rank if it is asked for, and the run where there are several."""
    needed: dict[str, Sequence[str]] = {
        "query": rows.QUERY_COLUMNS,
        "doc": rows.DOC_COLUMNS,
        "score": rows.SCORE_COLUMNS,
    }
    if with_ranks:
        needed["rank"] = rows.RANK_COLUMNS
    return _found(frame, "the run", needed, {"run": RUN}, given)


def qrels_columns(frame: Any, **given: str | None) -> Columns:
    """The columns of qrels: query, doc, grade, and subtopic and those of samples where there are."""
    found = _found(
        frame,
        "the qrels",
        {"query": rows.QUERY_COLUMNS, "doc": rows.DOC_COLUMNS, "grade": rows.GRADE_COLUMNS},
        {"subtopic": rows.SUBTOPIC, **_EXTRA},
        given,
    )
    if "probability" not in found:
        found.names.pop("method", None)  # by itself it is somebody else's column
    return found


def _found(
    frame: Any,
    what: str,
    needed: dict[str, Sequence[str]],
    welcome: dict[str, Sequence[str]],
    given: dict[str, str | None],
) -> Columns:
    if not hasattr(frame, "schema") or not hasattr(frame, "mapInArrow"):
        raise InputError(f"{what}: expected a Spark DataFrame, found a {type(frame).__name__}.")
    types = dict(frame.dtypes)
    names: dict[str, str] = {}
    for idea, aliases in {**needed, **welcome}.items():
        chosen = given.get(idea)
        if chosen is not None and chosen not in types:
            raise InputError(f"{what}: there is no column {chosen!r} for {idea}: it has {', '.join(types)}.")
        found = chosen or rows.find_column(types, aliases)
        if found is not None:
            names[idea] = found
        elif idea in needed:
            raise InputError(
                f"{what}: no {idea} (looked for {', '.join(aliases)}; found {', '.join(types):.200}). Rename a column, "
                f"or name it: {idea}='…'."
            )
    columns = Columns(what, names, types)
    _check_types(columns)
    return columns


def _check_types(columns: Columns) -> None:
    for idea, name in columns.names.items():
        kind = columns.types[name]
        if idea in ("score", "grade"):
            if not (kind in NUMBERS or kind.startswith("decimal") or _is_text(kind)):
                raise InputError(f"{columns.frame}: column {name!r} is of type {kind}, expected numbers for {idea}.")
        elif idea == "rank":
            if kind not in WHOLE and not _is_text(kind):
                raise InputError(f"{columns.frame}: column {name!r} is of type {kind}, expected whole numbers.")
        elif idea in ("query", "doc", "run") and not (kind in WHOLE or _is_text(kind) or _is_other_id(kind)):
            raise InputError(
                f"{columns.frame}: column {name!r} is of type {kind}, expected text or whole numbers for {idea}."
            )


def _is_text(kind: str) -> bool:
    return kind.startswith(("string", "varchar", "char"))


def _is_other_id(kind: str) -> bool:
    """Bytes, and whole numbers of any length: written out as text, they are ids like others."""
    return kind == "binary" or (kind.startswith("decimal") and kind.endswith(",0)"))
