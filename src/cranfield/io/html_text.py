"""Web pages as text: their encoding, their title and their visible text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from html import unescape
from html.parser import HTMLParser

from cranfield.base import Record
from cranfield.io.beir import normalize_space

ENCODINGS_NOTE = (
    "Pages are decoded as the charset they declare, else as UTF-8, else as Latin-1; the field encoding says which."
)
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.ASCII | re.IGNORECASE)
_BYTE_ORDER_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_BEGINNING = 4096  # bytes; HTML requires the charset within the first 1,024
# codecs of Python that are no encodings of pages
_NO_CHARSETS = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "unicode-escape", "undefined", "utf-7")
_UNICODE = ("utf-8", "utf8", "ascii", "us-ascii")
_HTML_TAG = re.compile(rb"<(?:!doctype|html|head|body|title|table|div|p|a|br|h[1-6]|font|meta|frameset)\b", re.I)
_LONGEST_REST = 2_000  # characters
_TAG = re.compile(r"<[^<>]*>")
_HIDDEN = frozenset({"script", "style", "template"})
# elements that do not separate words
_INLINE = frozenset(
    "a abbr acronym b bdo big cite code del em font i ins kbd mark q s samp small span strike strong sub sup tt u var "
    "wbr".split()
)


class Page(Record):
    """The text of a web page."""

    title: str
    text: str
    encoding: str

    def fields(self, **more: str) -> Mapping[str, str]:
        """The fields of a document that is this page: those that are not empty, and the encoding."""
        return {name: value for name, value in more.items() if value} | {"encoding": self.encoding}


def read_page(data: bytes, content_type: str = "") -> Page:
    """The title and the visible text of a page; the content type may say whether it is HTML, and its charset.

    >>> read_page(b"<title>Lamps</title><script>x()</script><p>Caf\\xe9 <b>lamp</b>s &amp; bells", "text/html")
    Page(title='Lamps', text='Café lamps & bells', encoding='latin-1')
    """
    text, encoding = decode_page(data, content_type)
    if not is_html(data, content_type):
        return Page("", _lines(text), encoding)
    parser = _TextParser()
    feed_html(parser, text)
    return Page(normalize_space("".join(parser.title)), _lines("".join(parser.text)), encoding)


def feed_html(parser: HTMLParser, text: str) -> None:
    """Parse a page in linear time.

    Python's parser searches for the end of unclosed markup again at each <, so a long rest is taken as text.
    """
    parser.feed(_cut_open_comment(text))
    if len(parser.rawdata) <= _LONGEST_REST:
        parser.close()
    elif parser.cdata_elem is None:
        parser.handle_data(unescape(_TAG.sub("", parser.rawdata)))


def decode_page(data: bytes, content_type: str = "") -> tuple[str, str]:
    """The text of a page and its encoding: the declared one if it fits, else UTF-8, else Latin-1.

    >>> decode_page("café".encode("cp1252"), "text/html; charset=windows-1252")
    ('café', 'windows-1252')
    """
    mark = next((encoding for start, encoding in _BYTE_ORDER_MARKS.items() if data.startswith(start)), None)
    declared = mark or _find_charset(data, content_type)
    attempts = [(declared, "strict"), ("utf-8", "strict")]
    if declared not in _UNICODE:  # a page in another alphabet with one wrong byte is still in the encoding it declares
        attempts.append((declared, "replace"))
    for encoding, errors in attempts:
        if encoding and encoding not in _NO_CHARSETS:
            with suppress(LookupError, UnicodeError):
                return data.decode(encoding, errors), encoding
    return data.decode("latin-1"), "latin-1"


def is_html(data: bytes, content_type: str) -> bool:
    """Whether a page is HTML, by its content type or else by its beginning.

    >>> is_html(b"plain text", "text/html"), is_html(b"a <b c", "text/plain"), is_html(b"<P>so", "")
    (True, False, True)
    """
    kind = content_type.lower()
    if "html" in kind or "xml" in kind:
        return True
    return not kind.startswith("text/plain") and _HTML_TAG.search(data[:_BEGINNING]) is not None


def is_text(content_type: str) -> bool:
    """Whether a content type is that of a text; a missing one is taken for it.

    >>> is_text("application/xhtml+xml"), is_text("image/png")
    (True, False)
    """
    kind = content_type.lower().strip()
    return not kind or kind.startswith("text/") or any(word in kind for word in ("html", "xml", "json"))


def parse_headers(header: bytes) -> dict[str, str]:
    """The fields of an HTTP or WARC header by their names in lower case; the first if there are several.

    >>> parse_headers(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n")
    {'content-type': 'text/html'}
    """
    fields: dict[str, str] = {}
    for line in header.decode("utf-8", "surrogateescape").splitlines():
        name, sign, value = line.partition(":")
        if sign and name and not name[0].isspace():
            fields.setdefault(name.strip().lower(), value.strip())
    return fields


def _find_charset(data: bytes, content_type: str) -> str | None:
    match = _CHARSET.search(content_type) or _CHARSET.search(data[:_BEGINNING].decode("latin-1"))
    return None if match is None else match[1].lower()


def _cut_open_comment(text: str) -> str:
    """The text up to a comment that is never closed, as browsers show it."""
    start = text.find("<!--", text.rfind("-->") + 1)
    return text if start < 0 else text[:start]


def _lines(text: str) -> str:
    lines = (normalize_space(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


class _TextParser(HTMLParser):
    """Collects the title and the visible text, where Resiliparse joins the words of table cells and skips figures."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.title: list[str] = []
        self.text: list[str] = []
        self._in_title = False
        self._hidden_by = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self.title
        if not self._hidden_by and tag in _HIDDEN:
            self._hidden_by = tag
        elif tag not in _INLINE:
            self.text.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden_by:
            self._hidden_by = ""
        if tag == "title":
            self._in_title = False
        if tag not in _INLINE:
            self.text.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._hidden_by:
            # a line break in the source is none on the screen
            self.text.append(data.replace("\r", " ").replace("\n", " "))

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # HTMLParser raises an AssertionError at sections it does not know, which pages made with Word have
        return self.parse_bogus_comment(i)
