"""Pages of the web as text: what their bytes are encoded in, their title, and what a reader sees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from html.parser import HTMLParser

from cranfield.formats.beir import tidy
from cranfield.records import record

ENCODINGS_NOTE = (
    "Pages are decoded as the charset they declare, else as UTF-8, else as Latin-1; the field encoding says which."
)
_DECLARED = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.ASCII | re.IGNORECASE)
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_DECLARED_WITHIN = 4096  # bytes; HTML wants the declaration within the first 1,024
# names Python knows for something else than the encoding of a page
_NO_CHARSETS = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "unicode-escape", "undefined", "utf-7")
_UNICODE = ("utf-8", "utf8", "ascii", "us-ascii")
_LIKE_HTML = re.compile(rb"<(?:!doctype|html|head|body|title|table|div|p|a|br|h[1-6]|font|meta|frameset)\b", re.I)
_LONGEST_REST = 2_000  # characters
_TAG = re.compile(r"<[^<>]*>")
_HIDDEN = frozenset({"script", "style", "template"})
# elements that do not end a word
_INLINE = frozenset(
    "a abbr acronym b bdo big cite code del em font i ins kbd mark q s samp small span strike strong sub sup tt u var "
    "wbr".split()
)


@record
class Page:
    """What there is to read on a page."""

    title: str
    text: str
    encoding: str


def read_page(data: bytes, content_type: str = "") -> Page:
    """The title and the visible text of a page; the content type says what it is, if it does.

    >>> read_page(b"<title>Lamps</title><script>x()</script><p>Caf\\xe9 <b>lamp</b>s &amp; bells", "text/html")
    Page(title='Lamps', text='Café lamps & bells', encoding='latin-1')
    """
    text, encoding = decoded(data, content_type)
    if not is_markup(data, content_type):
        return Page("", _lines(text), encoding)
    visible = _Visible()
    fed(visible, text)
    return Page(tidy("".join(visible.title)), _lines("".join(visible.text)), encoding)


def fed(parser: HTMLParser, text: str) -> None:
    """Have a page parsed, in a time that grows with its length only.

    Of markup that is never ended, Python's parser looks for the end anew at each <: a long rest is taken as text.
    """
    parser.feed(_without_open_comment(text))
    if len(parser.rawdata) <= _LONGEST_REST:
        parser.close()
    elif parser.cdata_elem is None:
        parser.handle_data(unescape(_TAG.sub("", parser.rawdata)))


def decoded(data: bytes, content_type: str = "") -> tuple[str, str]:
    """Bytes as text, and the encoding: the declared one if it fits, else UTF-8, else Latin-1.

    >>> decoded("café".encode("cp1252"), "text/html; charset=windows-1252")
    ('café', 'windows-1252')
    """
    mark = next((encoding for start, encoding in _MARKS.items() if data.startswith(start)), None)
    declared = mark or _declared(data, content_type)
    for encoding in (declared, "utf-8"):
        if encoding is not None and (text := _as(data, encoding, "strict")) is not None:
            return text, encoding
    # a page of another alphabet with one wrong byte is still best read as what it says it is
    if declared is not None and declared not in _UNICODE and (text := _as(data, declared, "replace")) is not None:
        return text, declared
    return data.decode("latin-1"), "latin-1"


def is_markup(data: bytes, content_type: str) -> bool:
    """Whether a page is HTML; where the content type does not tell, its beginning does.

    >>> is_markup(b"plain text", "text/html"), is_markup(b"a <b c", "text/plain"), is_markup(b"<P>so", "")
    (True, False, True)
    """
    kind = content_type.lower()
    if "html" in kind or "xml" in kind:
        return True
    return not kind.startswith("text/plain") and _LIKE_HTML.search(data[:_DECLARED_WITHIN]) is not None


def is_text(content_type: str) -> bool:
    """Whether a content type promises text; a missing one does.

    >>> is_text("application/xhtml+xml"), is_text("image/png")
    (True, False)
    """
    kind = content_type.lower().strip()
    return not kind or kind.startswith("text/") or any(word in kind for word in ("html", "xml", "json"))


def headers(head: bytes) -> dict[str, str]:
    """The fields of an HTTP or WARC header, their names in lower case; of two alike the first.

    >>> headers(b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n")
    {'content-type': 'text/html'}
    """
    fields: dict[str, str] = {}
    for line in head.decode("utf-8", "surrogateescape").splitlines():
        name, sign, value = line.partition(":")
        if sign and name and not name[0].isspace():
            fields.setdefault(name.strip().lower(), value.strip())
    return fields


def page_fields(page: Page, **more: str) -> Mapping[str, str]:
    """The fields of a document that is a page: those that are known, and its encoding."""
    return {name: value for name, value in more.items() if value} | {"encoding": page.encoding}


def _declared(data: bytes, content_type: str) -> str | None:
    found = _DECLARED.search(content_type) or _DECLARED.search(data[:_DECLARED_WITHIN].decode("latin-1"))
    return None if found is None else found[1].lower()


def _as(data: bytes, encoding: str, errors: str) -> str | None:
    if encoding in _NO_CHARSETS:
        return None
    try:
        return data.decode(encoding, errors)
    except (LookupError, UnicodeError):
        return None


def _without_open_comment(text: str) -> str:
    """The text up to a comment that is never closed, as browsers show it; the parser would look for each end anew."""
    start = text.find("<!--", text.rfind("-->") + 1)
    return text if start < 0 else text[:start]


def _lines(text: str) -> str:
    lines = (tidy(line) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


class _Visible(HTMLParser):
    """Gathers the title and the text that is seen."""

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
            # what ends a line in the source does not end it on the screen
            self.text.append(" ".join(data.splitlines()) if "\n" in data or "\r" in data else data)

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # Python's own stops with an AssertionError at sections it does not know, which Word's pages are full of
        return self.parse_bogus_comment(i)
