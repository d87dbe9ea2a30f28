"""Web archives, WARC 0.18 to 1.1, as in ClueWeb09 and ClueWeb12: one page in each `response` record."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from cranfield.data import Document
from cranfield.errors import InputError
from cranfield.io.beir import check_id
from cranfield.io.files import Input
from cranfield.io.html_text import Page, is_text, parse_headers, read_page
from cranfield.io.parse_values import OnProblem, read_each

LARGEST_RECORD = 1 << 28
_LONGEST_HEADER = 1 << 16
_START = re.compile(rb"\n(?=WARC/\d+\.\d+[ \t]*(?:\r?\n[\w-]+:|\s*[\w-]*\Z))")
_LONGEST_START = 200  # bytes
_VERSION = re.compile(rb"WARC/\d+\.\d+\s")
# the length and the other fields up to an empty line; some headers of ClueWeb09 have another one before the length
_LENGTH = re.compile(rb"^Content-Length:[ \t]*([^\r\n]*)(?:\r?\n.+)*?\r?\n\r?\n", re.I | re.M)
_END_OF_HEADER = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"(?:\r?\n)?([0-9A-Fa-f]{1,8})[^\n]*\n")


class _Record(NamedTuple):
    data: bytes
    is_last: bool = False


def read_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """The pages of an archive, each with its line; other records (warcinfo, request, metadata) are skipped."""
    for line, document in read_each(
        _records(source), lambda line, record: _document(record, source.name, line), problem
    ):
        if document is not None:
            yield line, document


def _records(source: Input) -> Iterator[tuple[int, _Record]]:
    """The records of a file, each with its line.

    A record ends where the next one begins: some lengths in ClueWeb09 are wrong. Readers that rely on them, such as
    FastWARC, lose the end of a record or the next one.
    """
    held, line, searched = bytearray(), 1, 0
    for _, block in source.blocks():
        held += block
        while start := _START.search(held, searched):
            yield line, _Record(bytes(held[: start.end()]))
            line += held.count(b"\n", 0, start.end())
            del held[: start.end()]
            searched = 0
        searched = max(0, len(held) - _LONGEST_START)
        if len(held) > LARGEST_RECORD + _LONGEST_HEADER:
            raise InputError(f"the record that begins here has more than {LARGEST_RECORD:,} bytes.", source.name, line)
    if held.strip():
        yield line, _Record(bytes(held), is_last=True)


def _document(record: _Record, file: str, line: int) -> Document | None:
    fields, content = _header_and_content(record, file, line)
    if fields.get("warc-type") != "response":
        return None
    id = fields.get("warc-trec-id") or fields.get("warc-record-id", "").strip("<>").removeprefix("urn:uuid:")
    if not id:
        raise InputError("the record has neither WARC-TREC-ID nor WARC-Record-ID.", file, line)
    http, body = _split_http(content)
    content_type = http.get("content-type", "")
    page = read_page(_decode_body(body, http), content_type) if is_text(content_type) else Page("", "", "none")
    return Document(
        id=check_id(id, "document", file, line),
        text=page.text,
        title=page.title,
        fields=page.fields(
            url=fields.get("warc-target-uri", "").strip("<>"),
            date=fields.get("warc-date", ""),
            content_type="" if is_text(content_type) else content_type,
        ),
    )


def _header_and_content(record: _Record, file: str, line: int) -> tuple[dict[str, str], bytes]:
    data = record.data.lstrip()
    if not _VERSION.match(data):
        beginning = data[:40].decode("utf-8", "replace").splitlines()[0].strip()
        raise InputError(f"expected a record, 'WARC/1.0', found {beginning!r}.", file, line)
    header = _LENGTH.search(data, 0, _LONGEST_HEADER)
    if header is None:
        raise InputError("the header of the record that begins here has no Content-Length.", file, line)
    length, content = header[1].decode("latin-1").strip(), data[header.end() :]
    if not re.fullmatch(r"[0-9]{1,12}", length) or int(length) > LARGEST_RECORD:
        raise InputError(f"Content-Length is {length[:40]!r}, expected a number up to {LARGEST_RECORD:,}.", file, line)
    if record.is_last and len(content) < int(length):
        raise InputError("the file is cut off within the record that begins here.", file, line)
    if not content[int(length) :].strip():
        content = content[: int(length)]  # without the empty lines between records
    return parse_headers(data[: header.end()]), content


def _split_http(content: bytes) -> tuple[dict[str, str], bytes]:
    """The fields of the HTTP header and the page; without a header all is page."""
    if not content.startswith(b"HTTP/"):
        return {}, content
    end = _END_OF_HEADER.search(content)
    return (
        (parse_headers(content), b"") if end is None else (parse_headers(content[: end.start()]), content[end.end() :])
    )


def _decode_body(body: bytes, http: dict[str, str]) -> bytes:
    """Undo the transfer and the content encoding; a body that does not have the declared encoding stays as it is."""
    if "chunked" in http.get("transfer-encoding", "").lower():
        body = _join_chunks(body)
    encoding = http.get("content-encoding", "").lower()
    if "gzip" in encoding or "deflate" in encoding:
        for window in (47, -15):  # gzip or zlib, detected from their headers; deflate without a header
            with suppress(zlib.error):
                return zlib.decompressobj(window).decompress(body, LARGEST_RECORD)
    return body


def _join_chunks(body: bytes) -> bytes:
    chunks, at = [], 0
    while (size := _CHUNK.match(body, at)) and int(size[1], 16):
        at = size.end() + int(size[1], 16)
        chunks.append(body[size.end() : at])
    return b"".join(chunks) if chunks or size else body
