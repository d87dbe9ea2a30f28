"""Web pages as TREC packs them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.data.collection import Document
from cranfield.errors import InputError
from cranfield.io import trec_web
from cranfield.io.files import Input
from cranfield.io.parse_values import raise_problem

GOV2 = b"""<DOC>
<DOCNO>GX000-00-0000000</DOCNO>
<DOCHDR>
http://sgra.example.gov
HTTP/1.1 200 OK
Content-Type: text/html
</DOCHDR>
<html><head><title>A page</title></head>
<body>of caf\xe9 <p>
<DOC>
and </DOC> within a line
</body></html>
</DOC>

<DOC>
<DOCNO> GX000-00-0000001 </DOCNO>
<DOCHDR>
http://other.example.gov/report.pdf
HTTP/1.1 200 OK
Content-Type: application/pdf
</DOCHDR>
plain words
</DOC>
"""
BLOG08 = b"""<DOC>
<DOCNO>BLOG08-20080114-000-0000000000</DOCNO>
<DATE_XML>2008-01-14T00:00:00+0000</DATE_XML>
<FEEDNO>BLOG08-feed-000001</FEEDNO>
<PERMALINK>http://blog.example.org/1</PERMALINK>
<DOCHDR>
http://blog.example.org/1 0.0.0.0 20080114 1
HTTP/1.1 200 OK
Content-Type: text/html; charset=utf-8
</DOCHDR>
<p>A post\xe2\x80\xa6
</DOC>
"""


def read(path: Path) -> list[Document]:
    with Input(path) as source:
        return [document for _, document in trec_web.read_documents(source, raise_problem)]


def test_gov2_has_a_url_and_a_page(put: Callable[..., Path]) -> None:
    first, second = read(put(GOV2))
    assert first.id == "GX000-00-0000000" and first.title == "A page"
    assert first.text.split() == ["of", "café", "and", "within", "a", "line"]
    assert first.fields == {"url": "http://sgra.example.gov", "encoding": "latin-1"}
    assert (second.id, second.text) == ("GX000-00-0000001", "plain words")


def test_blog08_has_fields_before_its_header(put: Callable[..., Path]) -> None:
    (post,) = read(put(BLOG08))
    assert post.text == "A post…" and post.fields == {
        "url": "http://blog.example.org/1",
        "date_xml": "2008-01-14T00:00:00+0000",
        "feedno": "BLOG08-feed-000001",
        "encoding": "utf-8",
    }


@pytest.mark.parametrize(
    "content, says",
    [
        (b"hello\n", "line 1: expected <DOC> on a line of its own, found 'hello'"),
        (b"<DOC>\n<DOCNO>a</DOCNO>\n", "cut off"),
        (b"<DOC>\nx\n</DOC>\n", "no id"),
        (b"<DOC>\n<DOCNO></DOCNO>\n</DOC>\n", "empty id"),
        (b"<DOC>\n<DOCNO>a</DOCNO>\nx\n<DOC>\n<DOCNO>b</DOCNO>\n</DOC>\n", "line 4: <DOC> within the document"),
    ],
)
def test_damage_is_told(put: Callable[..., Path], content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        read(put(content))
