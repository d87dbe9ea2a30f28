"""Documents as assessors see them: as text, or as HTML without anything active."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from html import escape
from typing import Any

import nh3

from cranfield.annotation import list_extra_fields
from cranfield.data import Document
from cranfield.io import read_page
from cranfield.reporting import format_label
from cranfield.workbench.judge.sanitize import TooMuchMarkup, simplify_html
from cranfield.workbench.pages import HERE

HTML = "html"  # the field with the HTML of a document
BEGINNING = 2000  # characters in which HTML is detected
_FIRST = re.compile(r"<(?:!doctype\s+html|html|head|body|title|article|div|p|table|h[1-6])\b", re.IGNORECASE)
TOO_MUCH = "This page has too much markup to be shown as a page. This is its text."
_TAGS = set(
    "a abbr article aside b bdi bdo blockquote br caption center cite code col colgroup dd del details dfn div dl dt "
    "em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol p pre q rp rt ruby s "
    "samp section small span strike strong sub summary sup table tbody td tfoot th thead time tr tt u ul var "
    "wbr".split()
)
# no links: a click leads nowhere, and no other server learns that the document is read
_ATTRIBUTES = {
    "*": {"title", "lang", "dir"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "ol": {"start"},
    "img": {"alt", "src"},
}
_HIDDEN = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "head", "title"}


def document_to_dict(document: Document | None) -> dict[str, Any] | None:
    """Title, text and fields of a document; the page shows all of them as text."""
    if document is None:
        return None
    markup = get_html(document)
    text, title = document.text, document.title
    if markup is not None and markup is document.text:
        visible = read_page(markup.encode("utf-8", "replace"), "text/html; charset=utf-8")
        text, title = visible.text, title or visible.title
    fields = [[format_label(name), _printable(value)] for name, value in list_extra_fields(document) if name != HTML]
    return {"title": _printable(title), "text": _printable(text), "fields": fields, "is_page": markup is not None}


def get_html(document: Document) -> str | None:
    """The HTML of a document, if it has any."""
    if document.fields.get(HTML):
        return document.fields[HTML]
    return document.text if _is_html(document.text[:BEGINNING]) else None


def _is_html(beginning: str) -> bool:
    """Whether a text starts like HTML, possibly after comments."""
    rest = beginning.lstrip()
    while rest.startswith(("<!--", "<?xml")):
        is_comment = rest.startswith("<!--")
        rest = rest[4:].partition("-->" if is_comment else ">")[2].lstrip()
    return _FIRST.match(rest) is not None


def frame_html(markup: str) -> str:
    """A sanitized page for a frame: it can neither act nor load anything.

    >>> "<p>so</p>" in frame_html("<p onclick='x()'>so<script>x()</script></p>")
    True
    """
    head = f'<meta charset="utf-8"><style>{_style()}</style>'
    try:
        body = _clean(markup)
    except TooMuchMarkup:
        text = read_page(markup.encode("utf-8", "replace"), "text/html; charset=utf-8").text
        body = "".join(f"<p>{escape(line)}</p>" for line in [TOO_MUCH, *text.splitlines()])
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body dir="auto">{body}</body></html>\n'


def frame_policy() -> str:
    """The Content-Security-Policy of a frame: no scripts, forms or resources, only our style, an origin of its own."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'self'; sandbox"
    )


@lru_cache(1)
def _style() -> str:
    return (HERE / "static" / "document.css").read_text("utf-8")


def _clean(markup: str) -> str:
    return nh3.clean(
        simplify_html(_printable(markup), _TAGS, _ATTRIBUTES, _HIDDEN - {"head"}),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        clean_content_tags=_HIDDEN,
        url_schemes={"data"},
        attribute_filter=_drop_remote_images,
        link_rel=None,
        strip_comments=True,
    )


def _drop_remote_images(tag: str, name: str, value: str) -> str | None:
    """Images may be embedded in a page, but not loaded from elsewhere."""
    if name != "src":
        return value
    return value if re.match(r"data:image/(?:png|jpeg|gif|webp);base64,", value) else None


def _printable(text: str) -> str:
    """Text that can be encoded in a page."""
    return text.encode("utf-8", "replace").decode()
