"""What the pages of exploring take and give, as paths of an OpenAPI description: of each the JSON twin."""

from __future__ import annotations

from typing import Any

from cranfield.stats import PAIRED_TESTS
from cranfield.workbench.explore.responses import ANSWERS
from cranfield.workbench.explore.table_query import MAX_ROWS
from cranfield.workbench.explore.topics import MAX_DEPTH

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
NUMBER: Schema = {"type": "integer", "minimum": 1}


def _parameter(name: str, about: str, schema: Schema, required: bool = False) -> Schema:
    return {"name": name, "in": "query", "description": about, "required": required, "schema": schema}


COLLECTION = _parameter("collection", "the collection, where there are several", TEXT)
MEASURES = _parameter(
    "measure",
    "measures, in place of the usual ones",
    {"type": "array", "items": {**TEXT, "examples": ["nDCG@10", "AP"]}, "maxItems": 20},
)
QUERY = _parameter("query", "a topic", TEXT, required=True)
SYSTEM = _parameter("system", "a system", TEXT, required=True)


def _listing(prefix: str = "") -> list[Schema]:
    return [
        _parameter(f"{prefix}sort", "the column to sort by; with - before it, downwards", TEXT),
        _parameter(f"{prefix}filter", "words that a row must have", TEXT),
        _parameter(f"{prefix}page", "which page", NUMBER),
        _parameter(f"{prefix}rows", "rows of a page", {**NUMBER, "maximum": MAX_ROWS}),
    ]


PAGES: dict[str, tuple[str, list[Schema]]] = {
    "/leaderboard": ("All systems with means, intervals and the share judged.", [COLLECTION, MEASURES, *_listing()]),
    "/system": ("One system, topic by topic.", [COLLECTION, MEASURES, SYSTEM, *_listing()]),
    "/compare": (
        "A system against another: differences, test, effect size, wins, ties and losses.",
        [
            COLLECTION,
            MEASURES,
            _parameter("system", "the system; the best one unless named", TEXT),
            _parameter("baseline", "what it is compared with", TEXT),
            _parameter("test", "the test", {"type": "string", "enum": list(PAIRED_TESTS)}),
            _parameter("by", "the measure whose topics are shown", TEXT),
            *_listing(),
        ],
    ),
    "/topics": ("All judged topics.", [COLLECTION, MEASURES, *_listing()]),
    "/topic": (
        "One topic: all systems' values, rankings side by side, relevant documents.",
        [
            COLLECTION,
            MEASURES,
            QUERY,
            _parameter("system", "rankings to show", {"type": "array", "items": TEXT, "maxItems": 6}),
            _parameter("from", "the first rank shown", NUMBER),
            _parameter("depth", "ranks shown", {**NUMBER, "maximum": MAX_DEPTH}),
            _parameter("show", "a document whose text is shown", TEXT),
            *_listing(),
            *_listing("relevant_"),
        ],
    ),
    "/explain": (
        "How a system's value for a topic comes about.",
        [
            COLLECTION,
            QUERY,
            SYSTEM,
            _parameter("measure", "the measure", TEXT),
            _parameter("top", "ranks shown", {**NUMBER, "maximum": 1000}),
        ],
    ),
    "/document": (
        "One document: its text, who retrieved it where, who judged it what.",
        [
            COLLECTION,
            _parameter("doc", "the document", TEXT),
            _parameter("query", "a topic", TEXT),
            *_listing(),
            *_listing("system_"),
        ],
    ),
    "/pool": (
        "The pool, and what the judgments would be to a system that was not in it.",
        [
            COLLECTION,
            MEASURES,
            _parameter("depth", "of the pool; inferred unless given", {"type": "integer", "minimum": 0}),
            _parameter("by", "the measure by which systems are left out", TEXT),
            *_listing(),
            *_listing("topic_"),
        ],
    ),
    "/measures": ("All measures.", _listing()),
    "/measure": ("All about one measure.", [_parameter("name", "its name", TEXT, required=True)]),
    "/efficiency": ("What systems cost, where that was measured.", [COLLECTION, MEASURES, *_listing()]),
}


def paths() -> dict[str, Any]:
    """The paths, each with what it takes and how it answers."""
    return {f"{path}.json": {"get": _operation(path, *PAGES[path])} for path in PAGES}


def _operation(path: str, about: str, parameters: list[Schema]) -> dict[str, Any]:
    return {
        "operationId": f"explore_{path.strip('/')}",
        "tags": ["Explore"],
        "summary": about,
        "parameters": parameters,
        "responses": {
            "200": _answer("What the page shows.", ANSWERS[path]),
            "202": _answer("It is being worked out; ask again.", _WAITING),
            "304": {"description": "The same as what If-None-Match names."},
            "400": _answer("This cannot be asked.", _ERROR),
            "401": _answer("Sign in first.", _ERROR),
            "403": _answer("This is for coordinators.", _ERROR),
            "404": _answer("There is no such thing.", _ERROR),
            "409": _answer("There is nothing to explore yet.", _ERROR),
            "421": {"description": "This server has another name.", "content": {"text/plain": {"schema": TEXT}}},
        },
    }


_ERROR: Schema = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_WAITING: Schema = {
    "type": "object",
    "properties": {
        "waiting": {"type": "string"},
        "done": {"type": "integer"},
        "of": {"type": "integer"},
    },
    "required": ["waiting"],
}


def _answer(about: str, schema: Schema) -> dict[str, Any]:
    return {"description": about, "content": {"application/json": {"schema": schema}}}
