"""Tables that are sorted, filtered and paged by URL parameters, so that long ones are never sent as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cranfield.base import Record, sort_naturally
from cranfield.workbench.params import Params, bad_request

MAX_ROWS = 1000  # of a page

Row = dict[str, Any]
Key = Callable[[Row], Any]


class Heading(Record):
    """A column of a table: its sort key is the value of that name in a row, unless given."""

    name: str
    title: str
    key: Key | None = None
    is_figure: bool = True
    about: str = ""  # tooltip

    def value(self, row: Row) -> Any:
        return row[self.name] if self.key is None else self.key(row)


class PagedTable:
    """The rows with certain words, in a certain order, one page at a time."""

    def __init__(
        self,
        params: Params,
        headings: Sequence[Heading],
        rows: Sequence[Row],
        filter_on: Sequence[str],
        *,
        sort: str,
        per_page: int = 100,
        prefix: str = "",
    ) -> None:
        self.prefix = prefix  # of the parameters, for pages with several tables
        self.headings = {heading.name: heading for heading in headings}
        self.sort = params.text(f"{prefix}sort") or sort
        self.filter = params.text(f"{prefix}filter").strip()[:200]
        self.per_page = params.integer(f"{prefix}rows", per_page, 1, MAX_ROWS)
        self.page = params.integer(f"{prefix}page", 1, 1)
        if self.sort.removeprefix("-") not in self.headings:
            names = ", ".join(self.headings)
            raise bad_request(
                f"{prefix}sort is {self.sort!r:.80}, expected one of {names}; prefix - sorts in descending order."
            )
        self._all, self._filter_on = rows, filter_on

    @property
    def total(self) -> int:
        return len(self._all)

    @cached_property
    def matching(self) -> list[Row]:
        """All rows that match the filter, in order."""
        words = self.filter.lower().split()
        matching = [row for row in self._all if all(word in self._text(row) for word in words)]
        name = self.sort.removeprefix("-")
        return sort_rows(matching, self.headings[name].value, self.sort.startswith("-"))

    def _text(self, row: Row) -> str:
        return " ".join(row[name] for name in self._filter_on).lower()

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.matching) // self.per_page))

    @property
    def rows(self) -> list[Row]:
        """The rows of the page."""
        start = (self.page - 1) * self.per_page
        return self.matching[start : start + self.per_page]

    def order_of(self, name: str) -> str:
        """How a column is sorted, as the value of aria-sort."""
        if self.sort.removeprefix("-") != name:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    def next_sort(self, name: str) -> str:
        """The order after a click on a heading: numbers descending, names ascending; then the reverse."""
        order = self.order_of(name)
        is_down = order == "ascending" or (not order and self.headings[name].is_figure)
        return f"-{name}" if is_down else name

    def to_dict(self) -> Row:
        return {
            "rows": self.rows,
            "total": self.total,
            "matching": len(self.matching),
            "page": self.page,
            "pages": self.pages,
            "sort": self.sort,
            "filter": self.filter,
        }


def sort_rows(rows: Sequence[Row], key: Key, is_down: bool) -> list[Row]:
    """Sort rows by a key, ids in natural order; rows without a value come last either way.

    >>> [row["a"] for row in sort_rows([{"a": "q10"}, {"a": None}, {"a": "q9"}], lambda row: row["a"], False)]
    ['q9', 'q10', None]
    """
    present: list[Row] = []
    missing: list[Row] = []
    for row in rows:
        value = key(row)
        is_none = value is None or (isinstance(value, float) and math.isnan(value))
        (missing if is_none else present).append(row)
    if present and isinstance(key(present[0]), str):
        place = {text: i for i, text in enumerate(sort_naturally({key(row) for row in present}))}
        present.sort(key=lambda row: place[key(row)], reverse=is_down)
    else:
        present.sort(key=key, reverse=is_down)
    return [*present, *missing]


def none_if_nan(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
