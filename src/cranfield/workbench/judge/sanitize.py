"""Simplification of HTML to allowed elements, well nested and not too deep, before it is sanitized.

Sanitizers build a tree as browsers do, and take quadratic time for markup that is deeply nested, badly nested or has
thousands of attributes. This module turns any input into harmless markup in linear time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from html import escape
from html.parser import HTMLParser

from cranfield.io import feed_html

MAX_DEPTH = 100  # nested elements
MAX_INLINE_DEPTH = 20  # nested inline elements: a browser reopens them in every paragraph
MAX_TAGS = 50_000
MAX_MARKUP = 5_000_000  # characters
_VOID = frozenset({"br", "col", "hr", "img", "wbr"})
_INLINE = frozenset("a b big code em font i s small strike strong tt u".split())
# elements whose start tag ends a paragraph
_BLOCKS = frozenset(
    "article aside blockquote center dd details div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 header hr li main "
    "nav ol p pre section summary table ul".split()
)
_CELLS = frozenset({"td", "th"})
_ROWS = _CELLS | {"tr"}
_PARTS = _ROWS | {"thead", "tbody", "tfoot", "caption", "colgroup"}
# which open elements a start tag ends, and up to which enclosing elements
_ENDS: Mapping[str, tuple[Set[str], Set[str]]] = {
    "li": (frozenset({"li"}), frozenset({"ul", "ol", "table"})),
    **dict.fromkeys(("dt", "dd"), (frozenset({"dt", "dd"}), frozenset({"dl", "table"}))),
    **dict.fromkeys(_CELLS, (_CELLS, frozenset({"tr", "table"}))),
    "tr": (_ROWS, frozenset({"thead", "tbody", "tfoot", "table"})),
    **dict.fromkeys(("thead", "tbody", "tfoot", "caption", "colgroup"), (_PARTS, frozenset({"table"}))),
}


class TooMuchMarkup(ValueError):
    """A page has too much markup to be shown."""


def simplify_html(markup: str, tags: Set[str], attributes: Mapping[str, Set[str]], hidden: Set[str]) -> str:
    """Keep these elements and attributes ("*": of all elements) only, and drop hidden elements with their content.

    >>> simplify_html("<p>a<b>b<p>c</b><script>x</script>", {"p", "b"}, {}, {"script"})
    '<p>a<b>b</b></p><p>c</p>'
    """
    if len(markup) > MAX_MARKUP:
        raise TooMuchMarkup(f"{len(markup):,} characters")
    writer = _Writer(tags, attributes, hidden)
    feed_html(writer, markup)
    return writer.finish()


class _Writer(HTMLParser):
    def __init__(self, tags: Set[str], attributes: Mapping[str, Set[str]], hidden: Set[str]) -> None:
        super().__init__(convert_charrefs=True)
        self._tags, self._attributes, self._hidden = tags, attributes, hidden
        self._out: list[str] = []
        self._open: list[str] = []
        self._dropped: Counter[str] = Counter()  # start tags that were too deep, whose end tags are still to come
        self._hidden_by, self._hidden_depth = "", 0
        self._count = 0

    def finish(self) -> str:
        self._end_from(0)
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._count += 1
        if self._count > MAX_TAGS:
            raise TooMuchMarkup(f"more than {MAX_TAGS:,} elements")
        if self._hidden_by or tag in self._hidden:
            self._hidden_by = self._hidden_by or tag
            self._hidden_depth += tag == self._hidden_by
            return
        if tag not in self._tags:
            return
        self._end_implied(tag)
        if tag not in _VOID:
            if len(self._open) >= MAX_DEPTH or (
                tag in _INLINE and sum(one in _INLINE for one in self._open) >= MAX_INLINE_DEPTH
            ):
                self._dropped[tag] += 1
                return
            self._open.append(tag)
        allowed = self._attributes.get("*", frozenset()) | self._attributes.get(tag, frozenset())
        allowed_attrs = {name: value or "" for name, value in attrs if name in allowed}
        self._out.append(
            "".join([f"<{tag}", *(f' {name}="{escape(value)}"' for name, value in allowed_attrs.items()), ">"])
        )

    def handle_startendtag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        # in HTML, <p/> is <p>
        self.handle_starttag(tag, attrs)
        if tag in self._hidden and tag in ("svg", "math"):  # but not in these
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._hidden_by:
            self._hidden_depth -= tag == self._hidden_by
            self._hidden_by = self._hidden_by if self._hidden_depth else ""
        elif self._dropped[tag] > 0:
            self._dropped[tag] -= 1
        elif tag in self._open:
            self._end_from(len(self._open) - 1 - self._open[::-1].index(tag))

    def handle_data(self, data: str) -> None:
        if not self._hidden_by:
            self._out.append(escape(data, quote=False))

    def parse_marked_section(self, i: int, report: bool = True) -> int:
        # the inherited method fails with an AssertionError at unknown sections, which pages by Word are full of
        return self.parse_bogus_comment(i)

    def _end_implied(self, tag: str) -> None:
        if tag in _BLOCKS:
            self._end_first(frozenset({"p"}), _CELLS | {"table", "caption"})
        if tag in _ENDS:
            self._end_first(*_ENDS[tag])

    def _end_first(self, names: Set[str], within: Set[str]) -> None:
        """End the outermost of some open elements, looking up to certain enclosing elements."""
        outermost = None
        for at in range(len(self._open) - 1, -1, -1):
            if self._open[at] in names:
                outermost = at
            elif self._open[at] in within:
                break
        if outermost is not None:
            self._end_from(outermost)

    def _end_from(self, at: int) -> None:
        self._out += [f"</{tag}>" for tag in reversed(self._open[at:])]
        del self._open[at:]
