"""TREC web collections (WT10g, GOV2, BLOG08): `<DOC><DOCNO>…<DOCHDR>…</DOCHDR>` followed by a page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cranfield.data import Document
from cranfield.errors import InputError
from cranfield.io.beir import check_id
from cranfield.io.files import Input
from cranfield.io.html_text import parse_headers, read_page
from cranfield.io.parse_values import OnProblem, read_each

LARGEST_PAGE = 1 << 28
_OPEN, _CLOSE = re.compile(rb"\s*<DOC>\s*", re.I), re.compile(rb"\s*</DOC>\s*", re.I)
_DOCNO = re.compile(rb"<DOCNO>(.*?)</DOCNO>", re.I | re.S)
_DOCHDR = re.compile(rb"<DOCHDR>(.*?)</DOCHDR>[ \t]*\r?\n?", re.I | re.S)
_FIELD = re.compile(rb"<([A-Z_]+)>([^<]*)</\1>", re.I)
_URL_FIELDS = ("permalink", "url")


def read_documents(source: Input, problem: OnProblem) -> Iterator[tuple[int, Document]]:
    """The pages of a file, each with its line."""
    return read_each(_records(source), lambda line, record: _document(record, source.name, line), problem)


def _records(source: Input) -> Iterator[tuple[int, bytes]]:
    """The lines between `<DOC>` and `</DOC>`, each on a line of its own, since pages may contain both within a line."""
    begun, suspicious, size = 0, 0, 0
    held: list[bytes] = []
    for line, data in source.lines():
        if not begun:
            if _OPEN.fullmatch(data):
                begun, held, size, suspicious = line, [], 0, 0
            elif data.strip():
                start = data.strip()[:40].decode("utf-8", "replace")
                raise InputError(f"expected <DOC> on a line of its own, found {start!r}.", source.name, line)
            continue
        if _CLOSE.fullmatch(data):
            yield begun, b"\n".join(held)
            begun = 0
            continue
        if suspicious and data.strip():
            if data.lstrip().upper().startswith(b"<DOCNO>"):
                message = f"<DOC> within the document that begins on line {begun}: its </DOC> is missing."
                raise InputError(message, source.name, suspicious)
            suspicious = 0
        if _OPEN.fullmatch(data):
            suspicious = line
        held.append(data)
        size += len(data) + 1
        if size > LARGEST_PAGE:
            break
    if begun:
        raise InputError("the document that begins here is cut off: its </DOC> is missing.", source.name, begun)


def _document(record: bytes, file: str, line: int) -> Document:
    docno = _DOCNO.search(record)
    if docno is None:
        raise InputError("the document has no id. Expected <DOCNO>id</DOCNO>.", file, line)
    header = _DOCHDR.search(record, docno.end())
    head = b"" if header is None else header[1].strip()
    before = record[docno.end() : docno.end() if header is None else header.start()]
    fields = {
        name.decode().lower(): text.decode("utf-8", "surrogateescape").strip() for name, text in _FIELD.findall(before)
    }
    page = read_page(
        record[docno.end() if header is None else header.end() :], parse_headers(head).get("content-type", "")
    )
    url = next((fields.pop(name) for name in _URL_FIELDS if fields.get(name)), "") or _first_line(head)
    id = docno[1].decode("utf-8", "surrogateescape").strip()
    return Document(check_id(id, "document", file, line), page.text, page.title, page.fields(url=url, **fields))


def _first_line(head: bytes) -> str:
    """The URL at the beginning of the header; in WT10g the address of the server and the date follow."""
    words = head.split(b"\n", 1)[0].split()
    return words[0].decode("utf-8", "surrogateescape") if words and b":" in words[0] else ""
