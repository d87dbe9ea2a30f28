"""The JSON versions of the pages, for the OpenAPI description."""

from __future__ import annotations

from typing import Any

from cranfield.stats import PAIRED_TESTS
from cranfield.workbench.explore.table_query import MAX_ROWS
from cranfield.workbench.explore.topics import MAX_DEPTH, MAX_SYSTEMS
from cranfield.workbench.judge.schemas import DOCUMENT
from cranfield.workbench.schemas import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    STRING,
    Schema,
    array,
    describe_response,
    enum,
    get,
    nullable,
    obj,
)

STRINGS = array(STRING)
VALUE = nullable(NUMBER)
VALUES = array(VALUE)
MEAN = obj(measure=STRING, mean=VALUE, low=VALUE, high=VALUE, is_best=BOOLEAN)
PAIR = obj(
    measure=STRING,
    title=STRING,
    topics=INTEGER,
    mean=VALUE,
    baseline_mean=VALUE,
    difference=VALUE,
    low=VALUE,
    high=VALUE,
    relative=VALUE,
    test=STRING,
    statistic=VALUE,
    p=VALUE,
    d_z=VALUE,
    wins=INTEGER,
    ties=INTEGER,
    losses=INTEGER,
)
RANKED = obj(rank=INTEGER, doc=STRING, score=VALUE, grade=VALUE, title=STRING)
JUDGMENT = obj(
    query=STRING,
    assessor=STRING,
    kind=STRING,
    grade=VALUE,
    note=STRING,
    at=STRING,
    is_repeat=BOOLEAN,
    adjudicated=VALUE,
    source=STRING,
    gold=VALUE,
)
STANDING = obj({"mean_change": VALUE}, measure=STRING, tau=VALUE, tau_ap=VALUE)
PARAMETER = obj(what=STRING, may_be=STRING, default=STRING, is_required=BOOLEAN)
PROGRESS = obj({"done": {"type": "integer"}, "of": {"type": "integer"}}, waiting=STRING)


def _table(**row: Schema) -> dict[str, Schema]:
    """A table that can be sorted, filtered and paged, with rows of these properties."""
    return {
        "rows": array(obj(**row)),
        "total": INTEGER,
        "matching": INTEGER,
        "page": INTEGER,
        "pages": INTEGER,
        "sort": STRING,
        "filter": STRING,
    }


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


RESPONSES: dict[str, Schema] = {
    "/leaderboard": obj(
        collection=STRING,
        measures=STRINGS,
        main=STRING,
        topics=INTEGER,
        summary=STRING,
        conventions=OBJECT,
        notes=STRINGS,
        **_table(system=STRING, measures=array(MEAN), judged=VALUE, missing=INTEGER, rank=nullable(INTEGER)),
    ),
    "/system": obj(
        collection=STRING,
        system=STRING,
        measures=STRINGS,
        main=STRING,
        means=array(MEAN),
        coverage=STRING,
        **_table(query=STRING, title=STRING, values=VALUES, median=VALUE, best=VALUE, retrieved=INTEGER),
    ),
    "/compare": _either(
        obj(
            collection=STRING,
            system=STRING,
            baseline=STRING,
            test=STRING,
            measure=STRING,
            pairs=array(PAIR),
            claims=STRINGS,
            warnings=STRINGS,
            **_table(query=STRING, title=STRING, system=VALUE, baseline=VALUE, difference=VALUE, relevant=INTEGER),
        ),
        obj(systems=INTEGER),  # there is only one
    ),
    "/topics": obj(
        collection=STRING,
        measure=STRING,
        systems=INTEGER,
        **_table(
            query=STRING,
            title=STRING,
            mean=VALUE,
            low=VALUE,
            high=VALUE,
            best=nullable(STRING),
            relevant=INTEGER,
            judged=INTEGER,
        ),
    ),
    "/topic": obj(
        collection=STRING,
        query=STRING,
        topic=nullable(obj(title=STRING, description=STRING, narrative=STRING, subtopics=array(OBJECT))),
        measures=STRINGS,
        relevant_documents=INTEGER,
        judged_documents=INTEGER,
        grades=array(obj(grade=NUMBER, documents=INTEGER)),
        systems=obj(**_table(system=STRING, values=VALUES, retrieved=INTEGER)),
        depth=INTEGER,
        rankings=array(obj(system=STRING, values=VALUES, retrieved=INTEGER, documents=array(RANKED))),
        relevant=obj(**_table(doc=STRING, grade=NUMBER, ranks=array(nullable(INTEGER)))),
        show=nullable(obj(doc=STRING, grade=VALUE, document=nullable(DOCUMENT))),
    ),
    "/explain": obj(
        {"title": STRING, "formula": STRING},
        measure=STRING,
        run=STRING,
        query=STRING,
        columns=STRINGS,
        rows=array(OBJECT),
        value=VALUE,
    ),
    "/document": _either(
        obj(
            collection=STRING,
            doc=STRING,
            document=nullable(DOCUMENT),
            query=nullable(STRING),
            qrels=nullable(OBJECT),
            judgments=array(JUDGMENT),
            topics=obj(**_table()),
            systems=nullable(obj(**_table(system=STRING, rank=nullable(INTEGER), score=VALUE))),
        ),
        obj(doc={"type": "null"}),  # none was requested
    ),
    "/pool": obj(
        collection=STRING,
        measure=STRING,
        depth=INTEGER,
        depths=array(INTEGER),
        depth_is=STRING,
        rel=NUMBER,
        findings=STRINGS,
        notes=STRINGS,
        pool=obj(documents=INTEGER, judged=INTEGER, relevant=INTEGER, unjudged=INTEGER, outside=INTEGER),
        standings=array(STANDING),
        systems=obj(**_table(name=STRING, pooled=INTEGER, judged=INTEGER)),
        topics=obj(**_table(query=STRING, pooled=INTEGER, judged=INTEGER)),
    ),
    "/measures": obj(
        advice=array(OBJECT), **_table(name=STRING, title=STRING, family=STRING, values=STRING, better=STRING)
    ),
    "/measure": obj(
        {"measure": STRING, "aliases": STRINGS, "what": STRING, "about": STRING, "better": STRING, "aggregate": STRING},
        name=STRING,
        title=STRING,
        formula=STRING,
        parameters={"type": "object", "additionalProperties": PARAMETER},
        range=nullable(VALUES),
    ),
    "/efficiency": _either(
        obj(
            collection=STRING,
            measure=STRING,
            summary=STRINGS,
            how=STRINGS,
            indexing=STRINGS,
            machine={"type": "object", "additionalProperties": STRING},
            notes=STRINGS,
            **_table(system=STRING, mean=VALUE, latency=nullable(OBJECT)),
        ),
        obj(rows={"type": "array", "maxItems": 0}, total={"const": 0}),  # nothing was measured
    ),
}

NAME: Schema = {"type": "string", "minLength": 1, "maxLength": 200}
POSITIVE: Schema = {"type": "integer", "minimum": 1}


def _describe(description: str, schema: Schema = NAME) -> Schema:
    return {"description": description, **schema}


COLLECTION = {"collection": _describe("the collection, if there are several")}
MEASURES = {
    **COLLECTION,
    "measure": _describe(
        "measures; by default those of the collection",
        {"type": "array", "items": {**NAME, "examples": ["nDCG@10", "AP"]}, "maxItems": 20},
    ),
}
QUERY, SYSTEM = {"query": _describe("a topic")}, {"system": _describe("a system")}


def _table_params(prefix: str = "") -> dict[str, Schema]:
    return {
        f"{prefix}sort": _describe("the column to sort by; prefix - for descending order"),
        f"{prefix}filter": _describe("words that rows must contain"),
        f"{prefix}page": _describe("the page", POSITIVE),
        f"{prefix}rows": _describe("rows on a page", {**POSITIVE, "maximum": MAX_ROWS}),
    }


# summary, parameters, required parameters
OPERATIONS: dict[str, tuple[str, dict[str, Schema], tuple[str, ...]]] = {
    "/leaderboard": ("All systems with means, intervals and the share judged", MEASURES | _table_params(), ()),
    "/system": ("One system, topic by topic", MEASURES | SYSTEM | _table_params(), ("system",)),
    "/compare": (
        "The comparison of two systems: differences, test, effect size, wins, ties and losses",
        MEASURES
        | {
            "system": _describe("the system; by default the best one"),
            "baseline": _describe("the system to compare it with"),
            "test": _describe("the test", enum(*PAIRED_TESTS)),
            "by": _describe("the measure whose topics are shown"),
        }
        | _table_params(),
        (),
    ),
    "/topics": ("All judged topics", MEASURES | _table_params(), ()),
    "/topic": (
        "One topic: the values of all systems, rankings side by side, relevant documents",
        MEASURES
        | QUERY
        | {
            "system": _describe("rankings to show", {"type": "array", "items": NAME, "maxItems": MAX_SYSTEMS}),
            "from": _describe("the first rank to show", POSITIVE),
            "depth": _describe("the number of ranks to show", {**POSITIVE, "maximum": MAX_DEPTH}),
            "show": _describe("a document whose text is shown"),
        }
        | _table_params()
        | _table_params("relevant_"),
        ("query",),
    ),
    "/explain": (
        "The explanation of a system's value for a topic",
        COLLECTION
        | QUERY
        | SYSTEM
        | {"measure": _describe("the measure"), "top": _describe("ranks to show", {**POSITIVE, "maximum": 1000})},
        ("query", "system"),
    ),
    "/document": (
        "One document: its text, its ranks, its judgments",
        COLLECTION | {"doc": _describe("the document")} | QUERY | _table_params() | _table_params("system_"),
        (),
    ),
    "/pool": (
        "The pool, and how the judgments would treat a system that did not contribute to it",
        MEASURES
        | {
            "depth": _describe("the depth of the pool; inferred by default", {"type": "integer", "minimum": 0}),
            "by": _describe("the measure by which systems are left out"),
        }
        | _table_params()
        | _table_params("topic_"),
        (),
    ),
    "/measures": ("All measures", _table_params(), ()),
    "/measure": ("One measure", {"name": _describe("its name")}, ("name",)),
    "/efficiency": ("The efficiency of the systems, if it was measured", MEASURES | _table_params(), ()),
}


def paths() -> dict[str, Any]:
    return {f"{path}.json": {"get": _operation(path)} for path in OPERATIONS}


def _operation(path: str) -> dict[str, Any]:
    summary, parameters, required = OPERATIONS[path]
    operation: dict[str, Any] = get(summary, parameters, required=required, response=RESPONSES[path])["get"]
    operation["responses"] |= {
        "202": describe_response("still computing; ask again", PROGRESS),
        "304": {"description": "not changed since If-None-Match"},
    }
    return {"operationId": f"explore_{path.strip('/')}", "tags": ["Explore"], **operation}
