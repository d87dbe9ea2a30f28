"""Pages of the web: encodings, titles, visible text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.io.html_text import Page, decode_page, is_text, parse_headers, read_page

PAGE = """<!DOCTYPE html><html><head><title> Lamps
 &amp; bells </title><style>p {color: red}</style>
<script>if (a < b) { document.write("<p>no</p>"); }</script></head>
<body><!-- hidden --><h1>Lamps</h1><p>A <b>bi</b>cycle<br>lamp&nbsp;is
lit.</p><ul><li>one<li>two</ul><template>never</template><img alt="x" src="y"></body></html>"""


def test_title_and_visible_text_are_read_and_scripts_and_styles_are_not() -> None:
    page = read_page(PAGE.encode(), "text/html; charset=UTF-8")
    assert page.title == "Lamps & bells"
    assert page.text == "Lamps\nA bicycle\nlamp is lit.\none\ntwo"
    assert page.encoding == "utf-8"


def test_inline_elements_do_not_part_words_and_others_do() -> None:
    assert read_page(b"<td>one<td>two <i>th</i>ree<div>four").text == "one\ntwo three\nfour"
    assert read_page(b"<p>one\n<b>two</b>\r\n<i>three</i><figure>four</figure>").text == "one two three\nfour"


@pytest.mark.parametrize(
    "data, content_type, text, encoding",
    [
        ("é".encode("cp1252"), "text/html; charset=windows-1252", "é", "windows-1252"),
        ("é".encode("iso-8859-15"), 'text/html; charset="ISO-8859-15"', "é", "iso-8859-15"),
        ("é".encode(), "text/html", "é", "utf-8"),
        ("é".encode("latin-1"), "text/html", "é", "latin-1"),
        ("é".encode("latin-1"), "text/html; charset=utf-8", "é", "latin-1"),
        ("é".encode(), "text/html; charset=no-such-thing", "é", "utf-8"),
        ("é".encode(), "text/html; charset=hex", "é", "utf-8"),
        (b"\\x", "text/html; charset=unicode_escape", "\\x", "utf-8"),
        ("\ufeffé".encode("utf-16"), "", "é", "utf-16"),
        ("é".encode("utf-8-sig"), "text/html; charset=latin-1", "é", "utf-8-sig"),
        ("検索".encode("euc_jp") + b"\xff", "text/html; charset=euc-jp", "検索\ufffd", "euc-jp"),
    ],
)
def test_the_declared_charset_counts_if_it_fits_then_utf_8_then_latin_1(
    data: bytes, content_type: str, text: str, encoding: str
) -> None:
    assert (
        decode_page(data, content_type)[0].lstrip("\ufeff") == text and decode_page(data, content_type)[1] == encoding
    )


def test_a_charset_may_be_declared_in_the_page() -> None:
    page = '<meta http-equiv="Content-Type" content="text/html; charset=windows-1251"><p>поиск'.encode("cp1251")
    assert read_page(page, "text/html") == Page("", "поиск", "windows-1251")


def test_plain_text_is_left_as_it_is() -> None:
    assert read_page(b"a <b and c> d\n\n  e", "text/plain").text == "a <b and c> d\ne"
    assert read_page(b"%PDF turned to text", "application/pdf").text == "%PDF turned to text"


@pytest.mark.parametrize(
    "page, title, text",
    [
        (b"<title>a</title><title>b</title>", "a", "b"),
        (b"<![if !supportLists]>lamp<![endif]><![CDATA[x]]><!ELEMENT a>", "", "lamp"),
        (b"seen<!-- never closed <p>unseen", "", "seen"),
        (b"<p>seen<script>never closed", "", "seen"),
        (b"a < b &c; &#xD800; &#0;", "", "a < b &c; \ufffd \ufffd"),
        (b"</p></html></b>", "", ""),
        (b"", "", ""),
    ],
)
def test_broken_pages_are_read_as_far_as_they_go(page: bytes, title: str, text: str) -> None:
    found = read_page(page, "text/html")
    assert (found.title, found.text) == (title, text)


@given(st.binary(max_size=200) | st.text("<>!-[]/\"'=&;#x aphtml", max_size=80).map(str.encode))
def test_no_page_stops_the_reader(data: bytes) -> None:
    page = read_page(data, "text/html")
    assert page.encoding and "\udc80" not in page.text
    page.text.encode()


def test_comments_that_are_never_closed_are_read_in_linear_time() -> None:
    """If time were quadratic, this would take minutes."""
    assert read_page(b"<!--" * 100_000, "text/html").text == ""


def test_headers_and_kinds_are_told() -> None:
    assert parse_headers(b"HTTP/1.1 200 OK\nA: 1\nA: 2\n folded: x\nb:c:d") == {"a": "1", "b": "c:d"}
    assert is_text("") and is_text("text/css") and not is_text("application/pdf")
