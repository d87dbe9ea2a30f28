"""For coordinators: pairs that were judged differently, one after the other, and a grade that wins."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.annotation import Dispute, Trace, adjudicate, disputes, plain, undo_adjudication
from cranfield.workbench.judge.api import said, trace_of
from cranfield.workbench.judge.coordinator import room_of
from cranfield.workbench.judge.documents import as_shown
from cranfield.workbench.pages import Page, address, endpoint, go_to, twins
from cranfield.workbench.params import Asked, bad, field, form_of, missing, prose

MOST = 200  # disputes that are listed


def routes() -> list[Route]:
    """The queue, and decisions by form and by JSON."""
    return [
        *twins("/adjudicate", adjudication_page, role="coordinator"),
        endpoint("/adjudicate", decide_by_form, role="coordinator", methods=["POST"]),
        endpoint("/adjudicate/undo", undo_by_form, role="coordinator", methods=["POST"]),
        endpoint("/api/adjudication", decide, role="coordinator", methods=["POST"]),
        endpoint("/api/adjudication/undo", undo, role="coordinator", methods=["POST"]),
    ]


def adjudication_page(request: Request) -> Page:
    """The disagreements, and one of them in full. Who gave which grade is told only if asked for."""
    room = room_of(request)
    asked = Asked(request)
    is_open = asked.flag("names")
    settled = asked.flag("settled")
    found = disputes(room.log, blind=not is_open, settled=settled)
    here = _chosen(found, asked)
    value = {
        "disputes": found,
        "here": None
        if here is None
        else {
            "dispute": here,
            "topic": room.topic_text(here.query),
            "document": as_shown(room.documents.get(here.doc)),
        },
        "grades": room.log.settings.scale.to_dicts(),
    }
    more = {"names": is_open, "settled": settled, "shown_disputes": found[:MOST], "address_of": _address_of(asked)}
    return Page("adjudicate.html", value, "Adjudicate", more)


def _chosen(found: list[Dispute], asked: Asked) -> Dispute | None:
    if "doc" not in asked:
        return found[0] if found else None
    query, doc = asked.text("query"), asked.text("doc")
    for one in found:
        if (one.query, one.doc) == (query, doc):
            return one
    raise missing("This pair is not in dispute, or it is settled.")


def _address_of(asked: Asked) -> Any:
    names, settled = asked.flag("names"), asked.flag("settled")

    def found(**more: Any) -> str:
        kept = {"names": 1 if names else None, "settled": 1 if settled else None}
        return address("/adjudicate", **kept | more)

    return found


def decide_by_form(request: Request) -> Response:
    form = form_of(request)
    key = form.prose("key")
    trace = Trace(key=key, method="click") if key else Trace(method="click")
    try:
        grade = float(form.needed("grade"))
    except ValueError:
        raise bad("grade is no number.") from None
    adjudicate(
        room_of(request).log,
        request.state.user.name,
        form.id("query"),
        form.id("doc"),
        grade,
        form.prose("note").strip() or None,
        trace,
    )
    return go_to(_address_of(form)())


def undo_by_form(request: Request) -> Response:
    """Take back what this adjudicator decided last."""
    undone = undo_adjudication(room_of(request).log, request.state.user.name)
    of = _address_of(form_of(request))
    return go_to(of() if undone is None else of(query=undone.query, doc=undone.doc))


def decide(request: Request) -> dict[str, Any]:
    """Decide what a pair's grade is; it wins over every rule."""
    given = said(request)
    event = adjudicate(
        room_of(request).log,
        request.state.user.name,
        field(given, "query", str),
        field(given, "doc", str),
        field(given, "grade", (int, float)),
        prose(given, "note", None),
        trace_of(given),
    )
    assert event.grade is not None
    return {"saved": event.key, "query": event.query, "doc": event.doc, "grade": plain(event.grade)}


def undo(request: Request) -> dict[str, Any]:
    """Take back what was decided last; what it was."""
    undone = undo_adjudication(room_of(request).log, request.state.user.name, trace_of(said(request)))
    return {"undone": None if undone is None else {"query": undone.query, "doc": undone.doc}}
