"""A packet: one HTML file to judge with offline, say by e-mail. It saves the judgments as JSON lines.

The workbench uses the scripts and the style in `page/` as well: `judging.js` draws the screen and does not know where
judgments go, `packet.js` stores them in the browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
from collections.abc import Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from cranfield.annotation.assessor_session import AssessorSession
from cranfield.annotation.database import Connection
from cranfield.annotation.documents import Highlighter, TextLookup, list_extra_fields
from cranfield.annotation.grades import DEFAULT_SCALE, Scale
from cranfield.annotation.keybindings import JUDGING_ACTIONS
from cranfield.annotation.log import JudgmentLog, check_ids
from cranfield.annotation.presentation_order import arrange_pairs
from cranfield.annotation.settings import choose_guidelines
from cranfield.base import Record
from cranfield.data import Document
from cranfield.errors import InputError

Places = Mapping[str, Sequence[tuple[int, str]]]  # query -> (place, doc)


class Packet(Record):
    """A self-contained page."""

    id: str
    html: str
    topics: int
    documents: int


def build_packet(
    places: Places,
    texts: TextLookup,
    *,
    assessor: str | None = None,
    scale: Scale = DEFAULT_SCALE,
    guidelines: str = "",
    seed: int = 1,
    title: str = "Relevance judgments",
) -> Packet:
    """Build a packet of documents by topic, with the places at which they are shown.

    Without an assessor the packet asks for a name, and shuffles the documents for that name.
    """
    if not any(places.values()):
        raise InputError("there is nothing to judge.")
    for query, own in places.items():
        check_ids(query, (doc for _, doc in own))
    docs = list(dict.fromkeys(doc for own in places.values() for _, doc in own))
    number = {doc: i for i, doc in enumerate(docs)}
    content: dict[str, Any] = {
        "title": title,
        "assessor": assessor,
        "seed": seed,
        "version": f"packet {version('cranfield')}",
        "grades": scale.to_dicts(),
        "guidelines": choose_guidelines(guidelines),
        "actions": [
            {"name": one.name, "keys": one.keys, "label": one.label, "about": one.about} for one in JUDGING_ACTIONS
        ],
        "topics": [_topic(query, own, texts, number) for query, own in places.items() if own],
        "documents": [[require_utf8(doc), _document(texts.document(doc))] for doc in docs],
    }
    content["packet"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
    return Packet(content["packet"], render_page(title, content), len(content["topics"]), len(docs))


def shuffle_places(pairs: Mapping[str, Sequence[str]], assessor: str | None, seed: int) -> Places:
    """Places for documents that are in no log: shuffled for an assessor. Without one, the page shuffles them itself."""
    places = {}
    for query, docs in pairs.items():
        order = list(range(len(docs)))
        if assessor is not None:
            order = [i for i, _ in arrange_pairs(order, (), random.Random(f"{seed} {assessor} {query}"))]
        places[query] = [(place, docs[i]) for place, i in enumerate(order, 1)]
    return places


def load_places(log: JudgmentLog, assessor: str) -> Places:
    """The documents that remain for an assessor of a log, at the places of the stored order."""
    session = AssessorSession(log, assessor)
    for topic in session.topics():
        session.prepare(topic.query)

    def work(db: Connection) -> list[tuple[Any, ...]]:
        return db.rows(
            """
            SELECT l.query, l.place, p.doc FROM places l JOIN pairs p ON p.pair = l.pair
            JOIN topics t ON t.query = l.query
            WHERE l.assessor = ? AND l.status IN ('open', 'waiting') ORDER BY t.number, l.place
            """,
            session.assessor,
        )

    places: dict[str, list[tuple[int, str]]] = {}
    for query, place, doc in log.read(work):
        places.setdefault(query, []).append((place, doc))
    return places


def render_page(title: str, content: Mapping[str, Any]) -> str:
    """The HTML of a packet. Its policy allows only the embedded scripts and style, by their digests."""
    style = read_asset("judging.css")
    script = read_asset("judging.js") + read_asset("packet.js")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(_printable(title))}</title>
<style>{style}</style>
</head>
<body>
<div id="root"><noscript><p>This packet needs JavaScript. Nothing is loaded from the network.</p></noscript></div>
<script type="application/json" id="data">{escape_json(json.dumps(content, ensure_ascii=False))}</script>
<script>{script}</script>
</body>
</html>
"""


def read_asset(name: str) -> str:
    """A script or style of the judging screen."""
    return (files("cranfield.annotation") / "page" / name).read_text(encoding="utf-8")


def escape_json(text: str) -> str:
    """Escape JSON for embedding in a page."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _topic(query: str, own: Sequence[tuple[int, str]], texts: TextLookup, number: Mapping[str, int]) -> dict[str, Any]:
    topic = texts.topic(query)
    documents = [texts.document(doc) for _, doc in own]
    words = Highlighter(topic).words(f"{one.title} {one.text}" for one in documents if one is not None)
    return {
        "query": require_utf8(query),
        "title": _printable(topic.title),
        "description": _printable(topic.description),
        "narrative": _printable(topic.narrative),
        "words": [_printable(word) for word in words],
        "places": [[place, number[doc]] for place, doc in own],
    }


def _document(document: Document | None) -> dict[str, Any] | None:
    if document is None:
        return None
    return {
        "title": _printable(document.title),
        "text": _printable(document.text),
        "fields": [[_printable(name), _printable(value)] for name, value in list_extra_fields(document)],
    }


def require_utf8(text: str) -> str:
    """Refuse an id that is not UTF-8: a packet could not return it with the judgments."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the id {text!r} is not UTF-8 and cannot be part of a packet.") from None
    return text


def _printable(text: str) -> str:
    """Replace what is not valid Unicode."""
    return text.encode("utf-8", "replace").decode()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
