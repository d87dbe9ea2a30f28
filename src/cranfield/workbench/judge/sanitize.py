"""A page written anew, with the elements that may be shown, well nested and not too deep.

What sanitises HTML builds a tree as a browser does, and takes quadratic time for markup that nests without end, mixes
up its ends or has thousands of attributes. What is written here is none of that, whatever came in, in linear time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from html import escape
from html.parser import HTMLParser

from cranfield.io import feed_html

DEEPEST = 100  # elements within each other
DEEPEST_MARKS = 20  # of those, elements within a line: a browser opens them anew in every paragraph
MOST_TAGS = 50_000
MOST_MARKUP = 5_000_000  # characters
_VOID = frozenset({"br", "col", "hr", "img", "wbr"})
_MARKS = frozenset("a b big code em font i s small strike strong tt u".split())
# elements that end a paragraph by their beginning
_BLOCKS = frozenset(
    "article aside blockquote center dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section summary table ul".split()
)
_CELLS = frozenset({"td", "th"})
_ROWS = _CELLS | {"tr"}
_PARTS = _ROWS | {"thead", "tbody", "tfoot", "caption", "colgroup"}
# which open elements the beginning of another one ends, and within what
_ENDS: Mapping[str, tuple[Set[str], Set[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "table"})),
    **dict.fromkeys(("dt", "dd"), (frozenset({"dt", "dd"}), frozenset({"dl", "table"}))),
    **dict.fromkeys(_CELLS, (_CELLS, frozenset({"tr", "table"}))),
    "tr": (_ROWS, frozenset({"thead", "tbody", "tfoot", "table"})),
    **dict.fromkeys(("thead", "tbody", "tfoot", "caption", "colgroup"), (_PARTS, frozenset({"table"}))),
}


class TooMuch(ValueError):
    """A page with more markup than can be shown."""


def simplified(markup: str, tags: Set[str], attributes: Mapping[str, Set[str]], unseen: Set[str]) -> str:
    """A page with these elements and attributes only ("*": of all elements), and without the content of those unseen.

    >>> simplified("<p>a<b>b<p>c</b><script>x</script>", {"p", "b"}, {}, {"script"})
    '<p>a<b>b</b></p><p>c</p>'
    """
    if len(markup) > MOST_MARKUP:
        raise TooMuch(f"{len(markup):,} characters")
    writer = _Writer(tags, attributes, unseen)
    feed_html(writer, markup)
    return writer.written()


class _Writer(HTMLParser):
    def __init__(self, tags: Set[str], attributes: Mapping[str, Set[str]], unseen: Set[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._tags, self._attributes, self._unseen = tags, attributes, unseen
        self._out: list[str] = []
        self._open: list[str] = []
        self._left_out: Counter[str] = Counter()  # beginnings that were too deep, whose ends are still to come
        self._hidden_by, self._hidden = "", 0
        self._seen = 0

    def written(self) -> str:
        self._end_from(0)
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._seen += 1
        if self._seen > MOST_TAGS:
            raise TooMuch(f"more than {MOST_TAGS:,} elements")
        if self._hidden_by or tag in self._unseen:
            self._hidden_by = self._hidden_by or tag
            self._hidden += tag == self._hidden_by
            return
        if tag not in self._tags:
            return
        self._end_implied(tag)
        if tag not in _VOID:
            if len(self._open) >= DEEPEST or (
                tag in _MARKS and sum(one in _MARKS for one in self._open) >= DEEPEST_MARKS
            ):
                self._left_out[tag] += 1
                return
            self._open.append(tag)
        allowed = self._attributes.get("*", frozenset()) | self._attributes.get(tag, frozenset())
        given = {name: value or "" for name, value in attrs if name in allowed}
        self._out.append("".join([f"<{tag}", *(f' {name}="{escape(value)}"' for name, value in given.items()), ">"]))

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        # in HTML, <p/> is <p>
        self.handle_starttag(tag, attrs)
        if tag in self._unseen and tag in ("svg", "math"):  # but not in these
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden_by:
            self._hidden -= tag == self._hidden_by
            self._hidden_by = self._hidden_by if self._hidden else ""
        elif self._left_out[tag] > 0:
            self._left_out[tag] -= 1
        elif tag in self._open:
            self._end_from(len(self._open) - 1 - self._open[::-1].index(tag))

    def handle_data(self, data: str) -> None:
        if not self._hidden_by:
            self._out.append(escape(data, quote=False))

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # Python's own stops with an AssertionError at sections it does not know, which Word's pages are full of
        return self.parse_bogus_comment(i)

    def _end_implied(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._end_first(frozenset({"p"}), _CELLS | {"table", "caption"})
        if tag in _ENDS:
            self._end_first(*_ENDS[tag])

    def _end_first(self, names: Set[str], within: Set[str]) -> None:
        """End the outermost of some elements, as far as it stands within others."""
        found = None
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in names:
                found = at
            elif self._open[at] in within:
                break
        if found is not None:
            self._end_from(found)

    def _end_from(self, at: int) -> None:
        self._out += [f"</{tag}>" for tag in reversed(self._open[at:])]
        del self._open[at:]
