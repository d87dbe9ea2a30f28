"""Answers of an engine, kept in a file as they come, so that whatever happens they need not be asked for again."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import IO

from cranfield.base import pluralize
from cranfield.errors import InputError
from cranfield.io import decode_id, format_column, format_number
from cranfield.lab.engines import Hits


class Keeping:
    """The answers so far, beside the run that they are for.

    After the lines of a query, which are those of a TREC run, comes a comment: without it they are not all there.
    """

    def __init__(self, path: str, go_on: bool = False) -> None:
        self.path = path
        self.found: dict[str, Hits] = {}
        self._end = 0
        self._file: IO[bytes] | None = None
        if go_on and os.path.exists(path):
            self._read()

    def add(self, query: str, hits: Hits) -> None:
        """Keep an answer; what was kept by an attempt that is not gone on from is replaced by the first."""
        try:
            lines = _lines(query, hits)
        except InputError:  # an id that no TREC run can have is for another format to write, and is asked for again
            return
        try:
            self._write(lines)
        except OSError as error:
            with suppress(OSError):
                os.truncate(self.path, self._end)
            raise InputError(f"cannot be written: {error.strerror or error}. {self.said}", self.path) from None
        self.found[query] = hits

    @property
    def said(self) -> str:
        """What is there, and what to do with it."""
        if not self.found:
            return "No answer could be kept."
        answers = f"the answers to {pluralize(len(self.found), 'query')} are in {self.path}"
        return f"{answers[0].upper()}{answers[1:]}; --continue searches for the rest."

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, lines: bytes) -> None:
        if self._file is None:
            self._file = open(self.path, "r+b" if self._end else "wb", buffering=0)
            self._file.truncate(self._end)
            self._file.seek(self._end)
        left = memoryview(lines)
        while left:  # a disk that fills takes a part of it before it says so
            left = left[self._file.write(left) :]
        self._end += len(lines)

    def _read(self) -> None:
        some: list[tuple[str, float]] = []
        try:
            with open(self.path, "rb") as file:
                while (line := file.readline()).endswith(b"\n"):
                    query, doc, score = _parted(line)
                    if doc:
                        some.append((doc, score))
                        continue
                    self.found[query], some, self._end = some, [], file.tell()
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror or error}.", self.path) from None
        except (ValueError, IndexError):
            raise InputError("these are no answers that a search has kept. Remove it.", self.path) from None


def _lines(query: str, hits: Hits) -> bytes:
    asked = format_column(query, "query id")
    ranked = enumerate(hits, 1)
    lines = [
        b"%b Q0 %b %d %b kept\n" % (asked, format_column(d, "document id"), i, format_number(s)) for i, (d, s) in ranked
    ]
    return b"".join(lines) + b"# %b answered\n" % asked


def _parted(line: bytes) -> tuple[str, str, float]:
    """Query, document and score; no document where the query ends."""
    columns = line.split()
    if columns[0] == b"#":
        return decode_id(columns[1]), "", 0.0
    return decode_id(columns[0]), decode_id(columns[2]), float(columns[4])
