"""A packet: one HTML file to judge with, offline and by e-mail, that gives its judgments back as JSON lines.

The scripts and the style in `page/` are also those of the workbench: `judging.js` draws the screen and knows nothing of
where judgments go, `packet.js` keeps them in the browser.
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

from cranfield.annotation.assessor_session import Desk
from cranfield.annotation.database import Connection
from cranfield.annotation.documents import Marker, Texts, other_fields
from cranfield.annotation.grades import USUAL, Scale
from cranfield.annotation.keybindings import ACTIONS
from cranfield.annotation.log import JudgmentLog, check_ids
from cranfield.annotation.presentation_order import arranged
from cranfield.annotation.settings import shown_guidelines
from cranfield.base import Record
from cranfield.data import Document
from cranfield.errors import InputError

Places = Mapping[str, Sequence[tuple[int, str]]]  # query -> (place, doc)


class Packet(Record):
    """A page, complete in itself."""

    id: str
    html: str
    topics: int
    documents: int


def packet(
    places: Places,
    texts: Texts,
    *,
    assessor: str | None = None,
    scale: Scale = USUAL,
    guidelines: str = "",
    seed: int = 1,
    title: str = "Relevance judgments",
) -> Packet:
    """A packet of documents by topic, with the places at which they are shown.

    Without an assessor the packet asks for a name, and puts the documents in an order by chance for that name.
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
        "guidelines": shown_guidelines(guidelines),
        "actions": [{"name": one.name, "keys": one.keys, "label": one.label, "about": one.about} for one in ACTIONS],
        "topics": [_topic(query, own, texts, number) for query, own in places.items() if own],
        "documents": [[shown_id(doc), _document(texts.document(doc))] for doc in docs],
    }
    content["packet"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]
    return Packet(content["packet"], page(title, content), len(content["topics"]), len(docs))


def places_by_chance(pairs: Mapping[str, Sequence[str]], assessor: str | None, seed: int) -> Places:
    """Places for documents that no log knows of: by chance for an assessor; the page does it for one it asks for."""
    found = {}
    for query, docs in pairs.items():
        order = list(range(len(docs)))
        if assessor is not None:
            order = [i for i, _ in arranged(order, (), random.Random(f"{seed} {assessor} {query}"))]
        found[query] = [(place, docs[i]) for place, i in enumerate(order, 1)]
    return found


def places_of(log: JudgmentLog, assessor: str) -> Places:
    """What is left for an assessor of a log, at the places of the order that is kept there."""
    desk = Desk(log, assessor)
    for topic in desk.topics():
        desk.prepare(topic.query)

    def work(at: Connection) -> list[tuple[Any, ...]]:
        return at.rows(
            """
            SELECT l.query, l.place, p.doc FROM places l JOIN pairs p ON p.pair = l.pair
            JOIN topics t ON t.query = l.query
            WHERE l.assessor = ? AND l.status IN ('open', 'waiting') ORDER BY t.number, l.place
            """,
            desk.assessor,
        )

    found: dict[str, list[tuple[int, str]]] = {}
    for query, place, doc in log.read(work):
        found.setdefault(query, []).append((place, doc))
    return found


def page(title: str, content: Mapping[str, Any]) -> str:
    """The HTML of a packet. Only the scripts and the style that are part of it may run, by their digests."""
    style = asset("judging.css")
    script = asset("judging.js") + asset("packet.js")
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
<div id="root"><noscript><p>This packet needs JavaScript, which is part of it; nothing is loaded.</p></noscript></div>
<script type="application/json" id="data">{in_script(json.dumps(content, ensure_ascii=False))}</script>
<script>{script}</script>
</body>
</html>
"""


def asset(name: str) -> str:
    """A script or style of the judging screen."""
    return (files("cranfield.annotation") / "page" / name).read_text(encoding="utf-8")


def in_script(text: str) -> str:
    """JSON as it may stand in a page, whatever texts it holds."""
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _topic(query: str, own: Sequence[tuple[int, str]], texts: Texts, number: Mapping[str, int]) -> dict[str, Any]:
    topic = texts.topic(query)
    documents = [texts.document(doc) for _, doc in own]
    words = Marker(topic).words(f"{one.title} {one.text}" for one in documents if one is not None)
    return {
        "query": shown_id(query),
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
        "fields": [[_printable(name), _printable(value)] for name, value in other_fields(document)],
    }


def shown_id(text: str) -> str:
    """An id as a packet can hold it: it comes back in the judgments, so that it must be UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"the id {text!r} is not UTF-8, and cannot be in a packet.") from None
    return text


def _printable(text: str) -> str:
    """Text as a page can hold it."""
    return text.encode("utf-8", "replace").decode()


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
