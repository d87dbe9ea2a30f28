"""What the routes about judging take and give, for the description of the API."""

from __future__ import annotations

from typing import Any

from cranfield.qrels_tools import RULES, TIES
from cranfield.workbench.openapi import FLAG, NUMBER, TEXT, THING, WHOLE, choice, form, get, many, maybe, post, thing

GRADE = thing("value", "label", "definition", "key", value=NUMBER, label=TEXT, definition=TEXT, key=TEXT)
DOCUMENT = thing("title", "text", "fields", title=TEXT, text=TEXT, fields=many(many(TEXT)), is_page=FLAG)
ITEM = thing(
    "query",
    "doc",
    "place",
    "places",
    "left",
    "kind",
    "grade",
    "note",
    query=TEXT,
    doc=TEXT,
    place=WHOLE,
    places=WHOLE,
    left=WHOLE,
    kind=choice("", "judge", "cannot", "skip"),
    grade=maybe(NUMBER),
    note=TEXT,
    document=maybe(DOCUMENT),
    words=many(TEXT),
)
TRACE = {
    "key": {"type": "string", "minLength": 1, "maxLength": 200},
    "shown_at": maybe(TEXT),
    "judged_at": maybe(TEXT),
    "active_ms": maybe(WHOLE),
    "method": TEXT,
}
TOPIC = thing("query", "title", "places", "left", query=TEXT, title=TEXT, places=WHOLE, left=WHOLE, skipped=WHOLE)
FILE = {"type": "string", "format": "binary"}
TAKEN = thing("said", said=TEXT, events=WHOLE, new=WHOLE, pairs=WHOLE, topics=WHOLE, assessors=many(TEXT))
OPINION = thing("grade", "note", "assessor", grade=NUMBER, note=TEXT, assessor=maybe(TEXT))
DISPUTE = thing(
    "query",
    "doc",
    "opinions",
    "adjudicated",
    query=TEXT,
    doc=TEXT,
    opinions=many(OPINION),
    adjudicated=maybe(NUMBER),
)
PACE = {
    "timed": WHOLE,
    "seconds": maybe(NUMBER),
    "per_hour": maybe(NUMBER),
    "hours_left": maybe(NUMBER),
}
ASSESSOR = thing(
    "assessor",
    "is_model",
    "topics",
    "judged",
    "cannot",
    "skipped",
    "left",
    *PACE,
    assessor=TEXT,
    is_model=FLAG,
    topics=WHOLE,
    judged=WHOLE,
    cannot=WHOLE,
    skipped=WHOLE,
    left=maybe(WHOLE),
    gold=many(WHOLE),
    repeats=many(WHOLE),
    last_at=maybe(TEXT),
    **PACE,
)
STATE = thing(
    "query",
    "pairs",
    "judged",
    "complete",
    "left",
    *PACE,
    query=TEXT,
    pairs=WHOLE,
    judged=WHOLE,
    complete=WHOLE,
    disputed=WHOLE,
    adjudicated=WHOLE,
    relevant=WHOLE,
    cannot=WHOLE,
    left=WHOLE,
    **PACE,
)
WORK = thing(
    *("assessor", "is_model", "query", "judged", "cannot", "skipped", "left"),
    *PACE,
    assessor=TEXT,
    is_model=FLAG,
    query=TEXT,
    judged=WHOLE,
    cannot=WHOLE,
    skipped=WHOLE,
    left=WHOLE,
    **PACE,
)
PLAN = thing(
    "settings",
    "assignments",
    "assessors",
    "topics",
    "has_search",
    "notes",
    settings=thing(
        *("guidelines", "judgments", "overlap", "repeats", "hold", "dispute", "seed", "grades"),
        guidelines=TEXT,
        judgments=WHOLE,
        overlap=NUMBER,
        repeats=NUMBER,
        hold=NUMBER,
        dispute=NUMBER,
        seed={"type": "integer"},
        grades=many(GRADE),
    ),
    assignments=many(thing("assessor", "query", "seat", assessor=TEXT, query=TEXT, seat=WHOLE)),
    assessors=many(TEXT),
    topics=many(thing("query", "title", query=TEXT, title=TEXT)),
    has_search=FLAG,
    notes=many(TEXT),
)
EXPORT = thing(
    "rule",
    "judgments",
    "unjudged",
    "notes",
    "problem",
    rule=TEXT,
    judgments=WHOLE,
    unjudged=WHOLE,
    notes=many(TEXT),
    problem=TEXT,
    topics=WHOLE,
    assessors=many(TEXT),
    described=TEXT,
    disagreements=WHOLE,
)
RULE = {
    "rule": choice(*RULES),
    "ties": choice(*TIES),
    "primary": TEXT,
    "assessor": many(TEXT),
    "models": FLAG,
    "least": WHOLE,
    "round": FLAG,
    "unjudged": FLAG,
}
OCTETS = "application/octet-stream"


def paths() -> dict[str, Any]:
    """The routes, those of judges first."""
    return _judging() | _coordinating()


def _judging() -> dict[str, Any]:
    at = {"query": TEXT, "place": WHOLE}
    item = thing("item", item=maybe(ITEM))
    search = thing("query", "words", query=TEXT, words=TEXT, **TRACE)
    saving = thing(
        "kind",
        "query",
        "place",
        kind=choice("judge", "cannot", "skip", "note"),
        query=TEXT,
        place=WHOLE,
        doc=maybe(TEXT),  # what was looked at; where it is not the document at this place, nothing is recorded
        grade=maybe(NUMBER),
        note=maybe(TEXT),
        **TRACE,
    )
    found = thing("doc", "title", doc=TEXT, title=TEXT, beginning=TEXT, kind=TEXT, grade=maybe(NUMBER))
    return {
        "/api/judging": get(
            "Grades, keys and guidelines; who is asking, and which log. Requests about judging may say both again, as "
            "who and log: where they are not the same any more, nothing is done (409)",
            answer=thing("grades", "assessor", "log", grades=many(GRADE), assessor=TEXT, log=TEXT),
        ),
        "/api/judging/topics": get("The topics to judge", answer=thing("topics", topics=many(TOPIC))),
        "/api/judging/item": get("The document at a place", at, needed=["query", "place"], answer=item),
        "/api/judging/seen": get(
            "Places that were dealt with", {"query": TEXT}, needed=["query"], answer=thing(places=many(WHOLE))
        ),
        "/api/judging/after": get(
            "The next topic with documents left", {"query": TEXT}, needed=["query"], answer=thing(query=maybe(TEXT))
        ),
        "/api/judging/ahead": get(
            "What comes next", at, needed=["query", "place"], answer=thing("items", items=many(ITEM))
        ),
        "/api/judging/own": get("What you have done", answer=thing("items", items=many(ITEM))),
        "/api/judging/next": post("The next document, held for you", thing(query=maybe(TEXT)), answer=item),
        "/api/judging/save": post(
            "Record a judgment; on disk when the answer comes",
            saving,
            answer=thing("saved", "next", "left", saved=TEXT, next=maybe(ITEM), left=WHOLE),
        ),
        "/api/judging/undo": post(
            "Take back what you did last; if `undoes` says what that is, nothing else",
            thing(undoes=maybe(TEXT), **TRACE),
            answer=item,
        ),
        "/api/judging/search": post("Look for more", search, answer=thing("found", found=many(found))),
        "/api/judging/found": post(
            "Take up what was found",
            thing("query", "doc", "words", query=TEXT, doc=TEXT, words=TEXT, **TRACE),
            answer=item,
        ),
        "/judge.json": get("The topics to judge", answer=thing("topics", topics=many(TOPIC))),
        "/judge/document": get(
            "A document as a page, with nothing in it that acts", at, needed=["query", "place"], kind="text/html"
        ),
    }


def _coordinating() -> dict[str, Any]:
    progress = thing(
        *("pairs", "judged", "complete", "to_adjudicate", "assessors", "topics", "work", "agreement", "notes"),
        pairs=WHOLE,
        judged=WHOLE,
        complete=WHOLE,
        to_adjudicate=WHOLE,
        assessors=many(ASSESSOR),
        topics=many(STATE),
        work=many(WORK),
        agreement=THING,
        notes=many(TEXT),
    )
    queue = {"names": FLAG, "settled": FLAG, "query": TEXT, "doc": TEXT}
    decision = thing("query", "doc", "grade", query=TEXT, doc=TEXT, grade=NUMBER, note=maybe(TEXT), **TRACE)
    imported = {"assessor": TEXT, "format": TEXT, "model": FLAG, "decisions": FLAG}
    disputed = thing(
        *("disputes", "here", "grades"),
        disputes=many(DISPUTE),
        here=maybe(thing("dispute", "topic", "document", dispute=DISPUTE, topic=THING, document=maybe(DOCUMENT))),
        grades=many(GRADE),
    )
    return {
        "/progress.json": get(
            "How far judging is and how fast it goes, by assessor, by topic and by both, and agreement", answer=progress
        ),
        "/plan.json": get("Who judges what, and how", answer=PLAN),
        "/plan/settings": form(
            "Change how judging is organised",
            guidelines=TEXT,
            judgments=WHOLE,
            overlap=NUMBER,
            repeats=NUMBER,
            hold=NUMBER,
            dispute=NUMBER,
        ),
        "/plan/deal": form("Deal all topics", ("names",), names=TEXT),
        "/plan/give": form("Give a topic", ("query", "assessor"), query=TEXT, assessor=TEXT, seat=WHOLE),
        "/plan/take": form("Take a topic back", ("query", "assessor"), query=TEXT, assessor=TEXT),
        "/adjudicate.json": get("Disagreements", queue, answer=disputed),
        "/adjudicate": form("Decide", ("query", "doc", "grade"), query=TEXT, doc=TEXT, grade=NUMBER, note=TEXT),
        "/adjudicate/undo": form("Take a decision back"),
        "/api/adjudication": post("Decide what a pair's grade is", decision, answer=thing("saved", saved=TEXT)),
        "/api/adjudication/undo": post("Take a decision back", thing(**TRACE), answer=thing(undone=maybe(THING))),
        "/export.json": get("What a rule makes of the judgments", RULE, answer=EXPORT),
        "/api/judgments/qrels": get(
            "Qrels by a rule", RULE | {"format": choice("trec", "sampled")}, kind="text/plain", answer=TEXT
        ),
        "/api/judgments/history": get(
            "Every act; those with gold pairs and repeats if asked for",
            {"format": choice("jsonl", "csv"), "all_events": FLAG},
            kind=("application/x-ndjson", "text/csv"),
            answer=TEXT,
        ),
        "/api/judgments/import": post("Take up judgments", FILE, parameters=imported, takes=OCTETS, answer=TAKEN),
        "/api/judgments/pool": post("Take up a pool", FILE, takes=OCTETS, answer=TAKEN),
        "/api/judgments/topics": post("Take up topics", FILE, takes=OCTETS, answer=TAKEN),
    }
