"""Web archives, WARC 0.18 to 1.1, as ClueWeb09 and ClueWeb12 have them: one page a `response` record."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress

from cranfield.collection import Document
from cranfield.errors import InputError
from cranfield.formats.beir import known_id
from cranfield.formats.pages import Page, headers, is_text, page_fields, read_page
from cranfield.formats.values import OnProblem, each
from cranfield.opening import Input

LARGEST_RECORD = 1 << 28
_MOST_HEADER_LINES = 1000
_VERSION = re.compile(rb"WARC/\d+\.\d+\s*")
# the beginning of a record, as it must not occur within another
_NEXT = re.compile(rb"\n(?=WARC/\d+\.\d+\r?\n(?:WARC-|Content-))")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"[0-9A-Fa-f]{1,8}")
_Record = tuple[dict[str, str], bytes]


def read_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """The pages of an archive, each with its line; other records (warcinfo, request, metadata) hold none."""
    pages = ((line, record) for line, record in records(source) if record[0].get("warc-type") == "response")
    return each(pages, lambda line, record: _document(record, source.name, line), problem)


def records(source: Input) -> Iterator[tuple[int, _Record]]:
    """The header and the content of every record, with its line.

    Some lengths in ClueWeb09 are wrong: a content goes as far as the next record begins.
    """
    reader = _Reader(source)
    while (begun := reader.next_record()) is not None:
        fields = reader.header(begun)
        yield begun, (fields, reader.content(_length(fields, source.name, begun)))


class _Reader:
    """A file read by lines and by numbers of bytes."""

    def __init__(self, source: Input) -> None:
        self._name = source.name
        self._blocks = source.blocks()
        self._held = b""
        self._at = 0
        self._line = 1

    def next_record(self) -> int | None:
        """The line of the next record, its first line being passed; None at the end."""
        while (line := self._take_line()) is not None:
            if _VERSION.fullmatch(line):
                return self._line - 1
            if line.strip():
                start = line.strip()[:40].decode("utf-8", "replace")
                raise InputError(f"expected a record, 'WARC/1.0', found {start!r}.", self._name, self._line - 1)
        return None

    def header(self, begun: int) -> dict[str, str]:
        """The fields up to an empty line; some headers of ClueWeb09 have one too many in the middle."""
        lines: list[bytes] = []
        while (line := self._take_line()) is not None and len(lines) < _MOST_HEADER_LINES:
            if line.strip():
                lines.append(line)
            elif "content-length" in (fields := headers(b"\n".join(lines))):
                return fields
        raise InputError("the header of the record that begins here has no Content-Length.", self._name, begun)

    def content(self, size: int) -> bytes:
        """So many bytes, or fewer or more if the next record says so."""
        while len(self._held) - self._at < size and self._more():
            pass
        data = self._held[self._at : self._at + size]
        if len(data) < size:
            raise InputError("the file is cut off within the record before its end.", self._name, self._line)
        if early := _NEXT.search(data):
            data = data[: early.end()]
        self._pass(len(data))
        return data + self._rest()

    def _rest(self) -> bytes:
        """Lines that the length did not count, up to the next record; usually there are two empty ones."""
        found: list[bytes] = []
        while (line := self._peek_line()) is not None and not _VERSION.fullmatch(line):
            found.append(line)
            self._pass(len(line))
        rest = b"".join(found)
        return rest if rest.strip() else b""

    def _take_line(self) -> bytes | None:
        line = self._peek_line()
        if line is not None:
            self._pass(len(line))
        return line

    def _peek_line(self) -> bytes | None:
        while (end := self._held.find(b"\n", self._at)) < 0:
            if not self._more():
                return self._held[self._at :] or None
        return self._held[self._at : end + 1]

    def _pass(self, size: int) -> None:
        self._line += self._held.count(b"\n", self._at, self._at + size)
        self._at += size

    def _more(self) -> bool:
        block = next(self._blocks, None)
        if block is None:
            return False
        self._held, self._at = self._held[self._at :] + block[1], 0
        return True


def _length(fields: dict[str, str], file: str, line: int) -> int:
    text = fields["content-length"]
    if not re.fullmatch(r"[0-9]{1,12}", text) or int(text) > LARGEST_RECORD:
        raise InputError(f"Content-Length is {text[:40]!r}, expected a number up to {LARGEST_RECORD:,}.", file, line)
    return int(text)


def _document(record: _Record, file: str, line: int) -> Document:
    fields, content = record
    id = fields.get("warc-trec-id") or fields.get("warc-record-id", "").strip("<>").removeprefix("urn:uuid:")
    if not id:
        raise InputError("the record has neither WARC-TREC-ID nor WARC-Record-ID.", file, line)
    head, body = _parted(content)
    said = headers(head)
    kind = said.get("content-type", "")
    page = read_page(_plain(body, said), kind) if is_text(kind) else Page("", "", "none")
    more = {"url": fields.get("warc-target-uri", "").strip("<>"), "date": fields.get("warc-date", "")}
    content_type = "" if is_text(kind) else kind
    return Document(
        id=known_id(id, "document", file, line),
        text=page.text,
        title=page.title,
        fields=page_fields(page, **more, content_type=content_type),
    )


def _parted(content: bytes) -> tuple[bytes, bytes]:
    """The HTTP header and the page; without a header all is page."""
    if not content.startswith(b"HTTP/"):
        return b"", content
    end = _END_OF_HEAD.search(content)
    return (content, b"") if end is None else (content[: end.start()], content[end.end() :])


def _plain(body: bytes, said: dict[str, str]) -> bytes:
    """The page as it was before it was sent; one that is not encoded as its header says is left as it is."""
    if "chunked" in said.get("transfer-encoding", "").lower():
        body = _joined(body)
    coding = said.get("content-encoding", "").lower()
    if "gzip" in coding or "deflate" in coding:
        for window in (47, -15):  # gzip or zlib, told by the header; deflate without any
            with suppress(zlib.error):
                return zlib.decompressobj(window).decompress(body, LARGEST_RECORD)
    return body


def _joined(body: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while True:
        end = body.find(b"\n", at)
        size = _CHUNK.match(body, at, max(end, at))
        if end < 0 or size is None:
            return b"".join(parts) if parts else body
        length = int(size[0], 16)
        if not length:
            return b"".join(parts)
        parts.append(body[end + 1 : end + 1 + length])
        at = end + 1 + length
        at += 2 if body.startswith(b"\r\n", at) else 1
