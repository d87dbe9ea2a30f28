"""What the pages of exploring answer as JSON, as schemas: what is named here is always there."""

from __future__ import annotations

from typing import Any

from cranfield.workbench.openapi import FLAG, NUMBER, TEXT, THING, WHOLE, many, maybe, thing

Schema = dict[str, Any]
FIGURE = maybe(NUMBER)  # null where there is none
TEXTS = many(TEXT)


def _all(**properties: Schema) -> Schema:
    """An object all of whose properties are there."""
    return thing(*properties, **properties)


def _rows(row: Schema) -> dict[str, Schema]:
    """A table that can be sorted, filtered and paged."""
    return {
        "rows": many(row),
        "total": WHOLE,
        "matching": WHOLE,
        "page": WHOLE,
        "pages": WHOLE,
        "sort": TEXT,
        "filter": TEXT,
    }


def _either(*schemas: Schema) -> Schema:
    return {"anyOf": list(schemas)}


MEAN = _all(measure=TEXT, mean=FIGURE, low=FIGURE, high=FIGURE, is_best=FLAG)
DOCUMENT = _all(title=TEXT, text=TEXT, fields=many(TEXTS), is_page=FLAG)
PAIR = _all(
    measure=TEXT,
    title=TEXT,
    topics=WHOLE,
    mean=FIGURE,
    baseline_mean=FIGURE,
    difference=FIGURE,
    low=FIGURE,
    high=FIGURE,
    relative=FIGURE,
    test=TEXT,
    statistic=FIGURE,
    p=FIGURE,
    d_z=FIGURE,
    wins=WHOLE,
    ties=WHOLE,
    losses=WHOLE,
)
RANKED = _all(rank=WHOLE, doc=TEXT, score=FIGURE, grade=FIGURE, title=TEXT)
JUDGMENT = _all(
    query=TEXT,
    assessor=TEXT,
    kind=TEXT,
    grade=FIGURE,
    note=TEXT,
    at=TEXT,
    is_repeat=FLAG,
    adjudicated=FIGURE,
    source=TEXT,
    gold=FIGURE,
)
STANDING = thing("measure", "tau", "tau_ap", measure=TEXT, tau=FIGURE, tau_ap=FIGURE, mean_change=FIGURE)
PARAMETER = _all(what=TEXT, may_be=TEXT, default=TEXT, is_required=FLAG)

ANSWERS: dict[str, Schema] = {
    "/leaderboard": _all(
        collection=TEXT,
        measures=TEXTS,
        main=TEXT,
        topics=WHOLE,
        summary=TEXT,
        conventions=THING,
        notes=TEXTS,
        **_rows(_all(system=TEXT, measures=many(MEAN), judged=FIGURE, missing=WHOLE, rank=maybe(WHOLE))),
    ),
    "/system": _all(
        collection=TEXT,
        system=TEXT,
        measures=TEXTS,
        main=TEXT,
        means=many(MEAN),
        coverage=TEXT,
        **_rows(_all(query=TEXT, title=TEXT, values=many(FIGURE), median=FIGURE, best=FIGURE, retrieved=WHOLE)),
    ),
    "/compare": _either(
        _all(
            collection=TEXT,
            system=TEXT,
            baseline=TEXT,
            test=TEXT,
            measure=TEXT,
            pairs=many(PAIR),
            claims=TEXTS,
            warnings=TEXTS,
            **_rows(_all(query=TEXT, title=TEXT, system=FIGURE, baseline=FIGURE, difference=FIGURE, relevant=WHOLE)),
        ),
        _all(systems=WHOLE),  # there is but one
    ),
    "/topics": _all(
        collection=TEXT,
        measure=TEXT,
        systems=WHOLE,
        **_rows(
            _all(
                query=TEXT,
                title=TEXT,
                mean=FIGURE,
                low=FIGURE,
                high=FIGURE,
                best=maybe(TEXT),
                relevant=WHOLE,
                judged=WHOLE,
            )
        ),
    ),
    "/topic": _all(
        collection=TEXT,
        query=TEXT,
        topic=maybe(_all(title=TEXT, description=TEXT, narrative=TEXT, subtopics=many(THING))),
        measures=TEXTS,
        relevant_documents=WHOLE,
        judged_documents=WHOLE,
        grades=many(_all(grade=NUMBER, documents=WHOLE)),
        systems=_all(**_rows(_all(system=TEXT, values=many(FIGURE), retrieved=WHOLE))),
        depth=WHOLE,
        rankings=many(_all(system=TEXT, values=many(FIGURE), retrieved=WHOLE, documents=many(RANKED))),
        relevant=_all(**_rows(_all(doc=TEXT, grade=NUMBER, ranks=many(maybe(WHOLE))))),
        show=maybe(_all(doc=TEXT, grade=FIGURE, document=maybe(DOCUMENT))),
    ),
    "/explain": thing(
        "measure",
        "run",
        "query",
        "columns",
        "rows",
        "value",
        measure=TEXT,
        title=TEXT,
        formula=TEXT,
        run=TEXT,
        query=TEXT,
        columns=TEXTS,
        rows=many(THING),
        value=FIGURE,
    ),
    "/document": _either(
        _all(
            collection=TEXT,
            doc=TEXT,
            document=maybe(DOCUMENT),
            query=maybe(TEXT),
            qrels=maybe(THING),
            judgments=many(JUDGMENT),
            topics=_all(**_rows(THING)),
            systems=maybe(_all(**_rows(_all(system=TEXT, rank=maybe(WHOLE), score=FIGURE)))),
        ),
        _all(doc={"type": "null"}),  # none was asked for
    ),
    "/pool": _all(
        collection=TEXT,
        measure=TEXT,
        depth=WHOLE,
        depths=many(WHOLE),
        depth_is=TEXT,
        rel=NUMBER,
        findings=TEXTS,
        notes=TEXTS,
        pool=_all(documents=WHOLE, judged=WHOLE, relevant=WHOLE, unjudged=WHOLE, outside=WHOLE),
        standings=many(STANDING),
        systems=_all(**_rows(thing("name", "pooled", "judged", name=TEXT, pooled=WHOLE, judged=WHOLE))),
        topics=_all(**_rows(thing("query", "pooled", "judged", query=TEXT, pooled=WHOLE, judged=WHOLE))),
    ),
    "/measures": _all(advice=many(THING), **_rows(_all(name=TEXT, title=TEXT, family=TEXT, values=TEXT, better=TEXT))),
    "/measure": thing(
        "name",
        "title",
        "formula",
        "parameters",
        "range",
        name=TEXT,
        measure=TEXT,
        aliases=TEXTS,
        title=TEXT,
        what=TEXT,
        about=TEXT,
        formula=TEXT,
        parameters={"type": "object", "additionalProperties": PARAMETER},
        range=maybe(many(FIGURE)),
        better=TEXT,
        aggregate=TEXT,
    ),
    "/efficiency": _either(
        _all(
            collection=TEXT,
            measure=TEXT,
            summary=TEXTS,
            how=TEXTS,
            indexing=TEXTS,
            machine={"type": "object", "additionalProperties": TEXT},
            notes=TEXTS,
            **_rows(thing("system", "mean", "latency", system=TEXT, mean=FIGURE, latency=maybe(THING))),
        ),
        _all(rows={"type": "array", "maxItems": 0}, total={"const": 0}),  # nothing was measured
    ),
}
