"""The routes of judging, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from cranfield.annotation import AssessorProgress, Assignment, Dispute, Item, TopicProgress, WorkProgress
from cranfield.qrels_tools import MERGE_RULES, MERGE_TIES
from cranfield.workbench.judge.api import KINDS
from cranfield.workbench.schemas import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    array,
    enum,
    form,
    get,
    nullable,
    obj,
    post,
    schema_of,
)

STRINGS = array(STRING)
GRADES = array(obj(value=NUMBER, label=STRING, definition=STRING, key=STRING))
DOCUMENT = obj(title=STRING, text=STRING, fields=array(STRINGS), is_page=BOOLEAN)
ITEM = schema_of(Item)
ITEM["properties"] |= {"kind": enum("", "judge", "cannot", "skip"), "document": nullable(DOCUMENT), "words": STRINGS}
SUBMISSION = {
    "key": {"type": "string", "minLength": 1, "maxLength": 200},
    "shown_at": nullable(STRING),
    "judged_at": nullable(STRING),
    "active_ms": nullable(INTEGER),
    "method": STRING,
}
TOPICS = obj(topics=array(obj({"skipped": INTEGER}, query=STRING, title=STRING, places=INTEGER, left=INTEGER)))
FILE = {"type": "string", "format": "binary"}
IMPORTED = obj(
    {"events": INTEGER, "new": INTEGER, "pairs": INTEGER, "topics": INTEGER, "assessors": STRINGS}, said=STRING
)
DISPUTE = schema_of(Dispute)
EXPORT = obj(
    {"topics": INTEGER, "assessors": STRINGS, "described": STRING, "disagreements": INTEGER},
    rule=STRING,
    judgments=INTEGER,
    unjudged=INTEGER,
    notes=STRINGS,
    problem=STRING,
)
RULE = {
    "rule": enum(*MERGE_RULES),
    "ties": enum(*MERGE_TIES),
    "primary": STRING,
    "assessor": STRINGS,
    "models": BOOLEAN,
    "least": INTEGER,
    "round": BOOLEAN,
    "unjudged": BOOLEAN,
}
SETTINGS = {"judgments": INTEGER, "overlap": NUMBER, "repeats": NUMBER, "hold": NUMBER, "dispute": NUMBER}
OCTETS = "application/octet-stream"


def paths() -> dict[str, Any]:
    return _assessor_paths() | _coordinator_paths()


def _assessor_paths() -> dict[str, Any]:
    position = {"query": STRING, "place": INTEGER}
    item = obj(item=nullable(ITEM))
    judgment = obj(
        # `doc` is the document that was shown: if another one is at this position, nothing is recorded
        {"doc": nullable(STRING), "grade": nullable(NUMBER), "note": nullable(STRING), **SUBMISSION},
        kind=enum(*KINDS),
        query=STRING,
        place=INTEGER,
    )
    result = obj({"beginning": STRING, "kind": STRING, "grade": nullable(NUMBER)}, doc=STRING, title=STRING)
    saved = obj(saved=STRING, next=nullable(ITEM), left=INTEGER)
    return {
        "/api/judging": get(
            "Grades, keys and guidelines; the assessor and the log. Other requests may send both as `who` and `log`: "
            "if they have changed, nothing is done (409)",
            response=obj(grades=GRADES, assessor=STRING, log=STRING),
        ),
        "/api/judging/topics": get("The topics to judge", response=TOPICS),
        "/api/judging/item": get("The document at a position", position, required=["query", "place"], response=item),
        "/api/judging/seen": get(
            "The positions handled so far",
            {"query": STRING},
            required=["query"],
            response=obj(places=array(INTEGER)),
        ),
        "/api/judging/after": get(
            "The next topic with documents left to judge",
            {"query": STRING},
            required=["query"],
            response=obj(query=nullable(STRING)),
        ),
        "/api/judging/ahead": get(
            "The next documents", position, required=["query", "place"], response=obj(items=array(ITEM))
        ),
        "/api/judging/own": get("The actions of this assessor", response=obj(items=array(ITEM))),
        "/api/judging/next": post("Reserve the next document", obj({"query": nullable(STRING)}), response=item),
        "/api/judging/save": post(
            "Record a judgment; it is on disk when the response is sent", judgment, response=saved
        ),
        "/api/judging/undo": post(
            "Undo the last action; with `undoes`, only if it has this key",
            obj({"undoes": nullable(STRING), **SUBMISSION}),
            response=item,
        ),
        "/api/judging/search": post(
            "Search for more documents", obj(SUBMISSION, query=STRING, words=STRING), response=obj(found=array(result))
        ),
        "/api/judging/found": post(
            "Open a document found by searching", obj(SUBMISSION, query=STRING, doc=STRING, words=STRING), response=item
        ),
        "/judge.json": get("The topics to judge", response=TOPICS),
        "/judge/document": get(
            "A document as sanitized HTML", position, required=["query", "place"], media_types=["text/html"]
        ),
    }


def _coordinator_paths() -> dict[str, Any]:
    progress = obj(
        pairs=INTEGER,
        judged=INTEGER,
        complete=INTEGER,
        to_adjudicate=INTEGER,
        assessors=array(schema_of(AssessorProgress)),
        topics=array(schema_of(TopicProgress)),
        work=array(schema_of(WorkProgress)),
        agreement=OBJECT,
        notes=STRINGS,
    )
    plan = obj(
        settings=obj(guidelines=STRING, seed={"type": "integer"}, grades=GRADES, **SETTINGS),
        assignments=array(schema_of(Assignment)),
        assessors=STRINGS,
        topics=array(obj(query=STRING, title=STRING)),
        has_search=BOOLEAN,
        notes=STRINGS,
    )
    here = obj(dispute=DISPUTE, topic=OBJECT, document=nullable(DOCUMENT))
    queue = obj(disputes=array(DISPUTE), here=nullable(here), grades=GRADES)
    decision = obj({"note": nullable(STRING), **SUBMISSION}, query=STRING, doc=STRING, grade=NUMBER)
    imports = {"assessor": STRING, "format": STRING, "model": BOOLEAN, "decisions": BOOLEAN}
    return {
        "/progress.json": get("Progress and pace by assessor, by topic and by both; agreement", response=progress),
        "/plan.json": get("Settings and assignments", response=plan),
        "/plan/settings": form("Change the settings", {"guidelines": STRING, **SETTINGS}),
        "/plan/deal": form("Distribute all topics", names=STRING),
        "/plan/give": form("Assign a topic", {"seat": INTEGER}, query=STRING, assessor=STRING),
        "/plan/take": form("Unassign a topic", query=STRING, assessor=STRING),
        "/adjudicate.json": get(
            "Disputes", {"names": BOOLEAN, "settled": BOOLEAN, "query": STRING, "doc": STRING}, response=queue
        ),
        "/adjudicate": form("Decide", {"note": STRING}, query=STRING, doc=STRING, grade=NUMBER),
        "/adjudicate/undo": form("Undo the last decision"),
        "/api/adjudication": post("Set the final grade of a pair", decision, response=obj(saved=STRING)),
        "/api/adjudication/undo": post(
            "Undo the last decision", obj(SUBMISSION), response=obj(undone=nullable(OBJECT))
        ),
        "/export.json": get("A summary of the qrels by a rule", RULE, response=EXPORT),
        "/api/judgments/qrels": get(
            "Qrels by a rule",
            RULE | {"format": enum("trec", "sampled")},
            response=STRING,
            media_types=["text/plain"],
        ),
        "/api/judgments/history": get(
            "All events; gold pairs and repeats on request",
            {"format": enum("jsonl", "csv"), "all_events": BOOLEAN},
            response=STRING,
            media_types=["application/x-ndjson", "text/csv"],
        ),
        "/api/judgments/import": post("Import judgments", FILE, parameters=imports, takes=OCTETS, response=IMPORTED),
        "/api/judgments/pool": post("Import a pool", FILE, takes=OCTETS, response=IMPORTED),
        "/api/judgments/topics": post("Import topics", FILE, takes=OCTETS, response=IMPORTED),
    }
