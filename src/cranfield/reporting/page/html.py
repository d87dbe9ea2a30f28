"""Pieces of a page: text is escaped wherever it is not known to be HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from cranfield.reporting.plots.plot_data import format_label

_EMPTY = ("input", "br", "meta")


class Html(str):
    """A piece of HTML; every other text is text."""


Content = str | Html | None


def escape(text: str) -> Html:
    """A text as it stands in a page, whatever it holds.

    >>> escape("<b> & \\udcff")
    '&lt;b&gt; &amp; \\\\xff'
    """
    return text if isinstance(text, Html) else Html(html.escape(format_label(text)))


def tag(name: str, *content: Content, **attributes: str | int | bool | None) -> Html:
    """An element. `class_` and `for_` are class and for, `_` in other names is a hyphen.

    >>> tag("a", "x < y", href="#1", class_="far", hidden=False)
    '<a href="#1" class="far">x &lt; y</a>'
    """
    given = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _EMPTY:
        return Html(f"<{name}{given}>")
    return Html(f"<{name}{given}>{join_html(content)}</{name}>")


def join_html(content: Iterable[Content], between: str = "") -> Html:
    """Pieces one after the other; those that are None are left out."""
    return Html(between.join(escape(piece) for piece in content if piece is not None))


def _attribute(key: str, value: str | int | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(str(value))}"'


def paragraphs(texts: Iterable[Content], **attributes: str) -> Html:
    return join_html([tag("p", text, **attributes) for text in texts if text], "\n")


def bullets(items: Iterable[Content], **attributes: str) -> Html:
    """A list, or nothing where there are no items."""
    entries = [tag("li", item) for item in items]
    return tag("ul", *entries, **attributes) if entries else Html("")


def definition_list(facts: Iterable[tuple[str, Content]]) -> Html:
    """Facts with their names."""
    return tag("dl", *(join_html([tag("dt", name), tag("dd", value)]) for name, value in facts))


def table(
    caption: Content,
    header: Sequence[Content],
    rows: Iterable[Sequence[Content]],
    *,
    sortable: bool = False,
    texts: Sequence[int] = (),
    **attributes: str,
) -> Html:
    """A table that can be scrolled by itself: the first cell of a row names it, columns not in `texts` are figures."""
    words = {0, *texts}
    heads = [
        tag("th", head, scope="col", class_=None if i in words else "figure", data_sort="" if sortable else None)
        for i, head in enumerate(header)
    ]
    body = [
        tag("tr", *(_cell(cell, i, i in words) for i, cell in enumerate(row)), data_system=_system(row)) for row in rows
    ]
    inner = tag(
        "table",
        tag("caption", caption) if caption else None,
        tag("thead", tag("tr", *heads)),
        tag("tbody", join_html(body, "\n")),
        **attributes,
    )
    label = re.sub("<[^>]*>", "", html.unescape(caption or "table"))
    return tag("div", inner, class_="scroll", tabindex=0, role="region", aria_label=label[:120])


class Name(Html):
    """The name of a system at the head of a row."""

    system: str

    @classmethod
    def of(cls, system: str, content: Content = None) -> Name:
        made = cls(escape(system if content is None else content))
        made.system = system
        return made


def _system(row: Sequence[Content]) -> str | None:
    return row[0].system if row and isinstance(row[0], Name) else None


def _cell(cell: Content, i: int, is_text: bool) -> Html:
    if i == 0:
        return tag("th", cell, scope="row")
    return tag("td", cell, class_=None if is_text else "figure")
