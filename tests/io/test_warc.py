"""Web archives."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.data.collection import Document
from cranfield.errors import InputError
from cranfield.io import warc
from cranfield.io.files import Input
from cranfield.io.parse_values import raise_problem

HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def record(content: bytes, end: str = "\r\n", version: str = "1.0", length: int | None = None, **fields: str) -> bytes:
    given = {"WARC-Type": "response"} | {name.replace("_", "-"): value for name, value in fields.items()}
    lines = [f"WARC/{version}", *(f"{name}: {value}" for name, value in given.items())]
    lines.append(f"Content-Length: {len(content) if length is None else length}")
    return (end.join(lines) + end + end).encode() + content + (end + end).encode()


def read(path: Path) -> list[Document]:
    with Input(path) as source:
        return [document for _, document in warc.read_documents(source, raise_problem)]


def test_clueweb12_has_pages_in_response_records_with_trec_ids(put: Callable[..., Path]) -> None:
    content = b"".join(
        [
            record(b"software: x\r\n", WARC_Type="warcinfo"),
            record(
                HTTP + "<title>Löwe</title><p>Tier".encode(),
                WARC_TREC_ID="clueweb12-0000tw-00-00000",
                WARC_Target_URI="http://example.org/",
                WARC_Date="2012-02-10",
            ),
            record(b"GET /", WARC_Type="request"),
            record(HTTP + b"<p>two", WARC_TREC_ID="clueweb12-0000tw-00-00001"),
        ]
    )
    first, second = read(put(gzip.compress(content[:300]) + gzip.compress(content[300:]), "00.warc.gz"))
    assert first == Document(
        "clueweb12-0000tw-00-00000",
        "Tier",
        "Löwe",
        {"url": "http://example.org/", "date": "2012-02-10", "encoding": "utf-8"},
    )
    assert (second.id, second.text) == ("clueweb12-0000tw-00-00001", "two")


def test_clueweb09_has_plain_line_ends_and_an_empty_line_too_many_in_some_headers(put: Callable[..., Path]) -> None:
    page = b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n<p>caf\xe9\n"
    whole = record(page, "\n", "0.18", WARC_TREC_ID="clueweb09-en0000-00-00000")
    torn = record(page, "\n", "0.18", WARC_Target_URI="http://x.org/a\n\n", WARC_TREC_ID="clueweb09-en0000-00-00001")
    documents = read(put(whole + torn))
    assert [document.id[-1] for document in documents] == ["0", "1"]
    assert documents[0].text == documents[1].text == "café" and documents[0].fields["encoding"] == "latin-1"


def test_lengths_that_are_wrong_are_settled_by_where_the_next_record_begins(put: Callable[..., Path]) -> None:
    page = HTTP + b"<p>one two three\n"
    for length in (len(page) - 9, len(page) + 6, len(page) + 40):
        content = record(page, "\n", "0.18", length, WARC_TREC_ID="a") + record(page, "\n", WARC_TREC_ID="b")
        assert [(d.id, d.text) for d in read(put(content))] == [("a", "one two three"), ("b", "one two three")]


def test_a_page_may_be_about_archives(put: Callable[..., Path]) -> None:
    first, second = read(put(2 * record(HTTP + b"<p>a\nWARC/1.0\nis a format\n", WARC_TREC_ID="a")))
    assert first.text == second.text == "a WARC/1.0 is a format"


def test_without_a_trec_id_the_record_id_is_taken(put: Callable[..., Path]) -> None:
    (document,) = read(put(record(HTTP + b"x", WARC_Record_ID="<urn:uuid:0a-1b>")))
    assert document.id == "0a-1b"


def test_pages_are_unpacked_as_their_headers_say(put: Callable[..., Path]) -> None:
    def sent(fields: str, body: bytes) -> str:
        content = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n{fields}\r\n\r\n".encode() + body
        return read(put(record(content, WARC_TREC_ID="a")))[0].text

    raw = zlib.compressobj(wbits=-15)
    assert sent("Transfer-Encoding: chunked", b"3\r\n<p>\r\n5;x=y\r\nlamps\r\n0\r\n\r\n") == "lamps"
    assert sent("Transfer-Encoding: chunked", b"not chunked") == "not chunked"
    assert sent("Content-Encoding: gzip", gzip.compress(b"<p>lamps")) == "lamps"
    assert sent("Content-Encoding: deflate", zlib.compress(b"<p>lamps")) == "lamps"
    assert sent("Content-Encoding: deflate", raw.compress(b"<p>lamps") + raw.flush()) == "lamps"
    assert sent("Content-Encoding: gzip", b"<p>plain") == "plain"


def test_what_is_no_text_is_a_document_without_words(put: Callable[..., Path]) -> None:
    (document,) = read(put(record(b"HTTP/1.0 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG", WARC_TREC_ID="a")))
    assert document.text == "" and document.fields["content_type"] == "image/png"


@pytest.mark.parametrize(
    "content, says",
    [
        (b"hello\n", "expected a record"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n\r\n", "no Content-Length"),
        (b"WARC/1.0\r\nContent-Length: many\r\n\r\n", "Content-Length is 'many'"),
        (b"WARC/1.0\r\nContent-Length: 999999999999\r\n\r\n", "expected a number up to"),
        (b"WARC/1.0\r\nContent-Length: 99\r\n\r\nshort", "cut off"),
        (record(HTTP), "neither WARC-TREC-ID nor WARC-Record-ID"),
        (record(HTTP, WARC_TREC_ID="a") + b"WARC/1.0\r\nWARC-Ty", "line 11: .* no Content-Length"),
    ],
)
def test_damage_is_told(put: Callable[..., Path], content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(put(content))


def test_memory_does_not_grow_with_the_file(put: Callable[..., Path]) -> None:
    page = HTTP + b"<p>" + b"lamp " * 20_000
    path = put(b"".join(record(page, WARC_TREC_ID=f"d{i}") for i in range(120)))
    tracemalloc.start()
    try:
        with Input(path) as source:
            assert sum(1 for _ in warc.read_documents(source, raise_problem)) == 120
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < path.stat().st_size * 0.75
