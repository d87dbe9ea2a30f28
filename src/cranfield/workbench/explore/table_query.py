"""Tables that sort, filter and turn pages by their address, so that a long one is never sent as a whole."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cranfield.base import Record, sort_naturally
from cranfield.workbench.params import Asked, bad

MOST = 1000  # rows of a page

Row = dict[str, Any]
Key = Callable[[Row], Any]


class Heading(Record):
    """A column of a table: what it sorts by, and which way first."""

    name: str
    title: str
    key: Key
    is_figure: bool = True
    about: str = ""  # told on hover


class Listing:
    """The rows that are asked for: those with certain words, in a certain order, a page of them."""

    def __init__(
        self,
        asked: Asked,
        headings: Sequence[Heading],
        rows: Sequence[Row],
        words: Callable[[Row], str],
        *,
        sort: str,
        per_page: int = 100,
        prefix: str = "",
    ) -> None:
        self.prefix = prefix  # where a page has several tables, each has its own parameters
        self.headings = {heading.name: heading for heading in headings}
        self.sort = asked.text(f"{prefix}sort") or sort
        self.filter = asked.text(f"{prefix}filter").strip()[:200]
        self.per_page = asked.whole(f"{prefix}rows", per_page, 1, MOST)
        self.page = asked.whole(f"{prefix}page", 1, 1)
        if self.sort.removeprefix("-") not in self.headings:
            names = ", ".join(self.headings)
            raise bad(f"{prefix}sort is {self.sort!r:.80}, expected one of {names}; with - before it, downwards.")
        self._all, self._words = rows, words

    @property
    def total(self) -> int:
        return len(self._all)

    @cached_property
    def matching(self) -> list[Row]:
        """All rows that have the words, in order."""
        words = self.filter.lower().split()
        kept = [row for row in self._all if all(word in self._words(row).lower() for word in words)]
        name = self.sort.removeprefix("-")
        return ordered(kept, self.headings[name].key, self.sort.startswith("-"))

    @property
    def pages(self) -> int:
        return max(1, -(-len(self.matching) // self.per_page))

    @property
    def rows(self) -> list[Row]:
        """Those of the page."""
        start = (self.page - 1) * self.per_page
        return self.matching[start : start + self.per_page]

    def order_of(self, name: str) -> str:
        """How a column is sorted, in the words that screen readers know."""
        if self.sort.removeprefix("-") != name:
            return ""
        return "descending" if self.sort.startswith("-") else "ascending"

    def next_sort(self, name: str) -> str:
        """What a click on a heading asks for: figures from the largest, names from the first, then the other way."""
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


def ordered(rows: Sequence[Row], key: Key, is_down: bool) -> list[Row]:
    """Rows by a key, ids by number; what is missing comes last either way.

    >>> [row["a"] for row in ordered([{"a": "q10"}, {"a": None}, {"a": "q9"}], lambda row: row["a"], False)]
    ['q9', 'q10', None]
    """
    there: list[Row] = []
    missing: list[Row] = []
    for row in rows:
        value = key(row)
        is_none = value is None or (isinstance(value, float) and math.isnan(value))
        (missing if is_none else there).append(row)
    if there and isinstance(key(there[0]), str):
        place = {text: i for i, text in enumerate(sort_naturally({key(row) for row in there}))}
        there.sort(key=lambda row: place[key(row)], reverse=is_down)
    else:
        there.sort(key=key, reverse=is_down)
    return [*there, *missing]
