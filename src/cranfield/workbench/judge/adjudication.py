"""Adjudication: coordinators decide on pairs that assessors judged differently."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.annotation import Dispute, Submission, adjudicate, list_disputes, simplify_grade, undo_adjudication
from cranfield.workbench.app_state import get_judging
from cranfield.workbench.judge.api import read_submission
from cranfield.workbench.judge.documents import document_to_dict
from cranfield.workbench.pages import Page, build_url, endpoint, page_routes, redirect
from cranfield.workbench.params import Params, bad_request, get_field, get_form, get_json, get_prose, not_found

MAX_LISTED = 200  # disputes


def routes() -> list[Route]:
    return [
        *page_routes("/adjudicate", adjudication_page, role="coordinator"),
        endpoint("/adjudicate", decide_by_form, role="coordinator", methods=["POST"]),
        endpoint("/adjudicate/undo", undo_by_form, role="coordinator", methods=["POST"]),
        endpoint("/api/adjudication", decide, role="coordinator", methods=["POST"]),
        endpoint("/api/adjudication/undo", undo, role="coordinator", methods=["POST"]),
    ]


def adjudication_page(request: Request) -> Page:
    """The disputes, and one of them in full. Names of assessors are shown only on request."""
    judging = get_judging(request)
    params = Params(request)
    with_names = params.flag("names")
    settled = params.flag("settled")
    queue = list_disputes(judging.log, blind=not with_names, settled=settled)
    here = _choose(queue, params)
    value = {
        "disputes": queue,
        "here": None
        if here is None
        else {
            "dispute": here,
            "topic": judging.topic_text(here.query),
            "document": document_to_dict(judging.documents.get(here.doc)),
        },
        "grades": judging.log.settings.scale.to_dicts(),
    }
    extra = {
        "names": with_names,
        "settled": settled,
        "shown_disputes": queue[:MAX_LISTED],
        "dispute_url": _make_url_builder(params),
    }
    return Page("adjudicate.html", value, "Adjudicate", extra)


def _choose(queue: list[Dispute], params: Params) -> Dispute | None:
    if "doc" not in params:
        return queue[0] if queue else None
    query, doc = params.text("query"), params.text("doc")
    for dispute in queue:
        if (dispute.query, dispute.doc) == (query, doc):
            return dispute
    raise not_found("This pair is not disputed, or it is settled already.")


def _make_url_builder(params: Params) -> Any:
    """A function for URLs of this page that keep its options."""
    options = {name: 1 if params.flag(name) else None for name in ("names", "settled")}

    def build(**more: Any) -> str:
        return build_url("/adjudicate", **options | more)

    return build


def decide_by_form(request: Request) -> Response:
    form = get_form(request)
    key = form.prose("key")
    submission = Submission(key=key, method="click") if key else Submission(method="click")
    try:
        grade = float(form.required("grade"))
    except ValueError:
        raise bad_request("grade is not a number.") from None
    adjudicate(
        get_judging(request).log,
        request.state.user.name,
        form.id("query"),
        form.id("doc"),
        grade,
        form.prose("note").strip() or None,
        submission,
    )
    return redirect(_make_url_builder(form)())


def undo_by_form(request: Request) -> Response:
    """Undo the last decision of this adjudicator."""
    undone = undo_adjudication(get_judging(request).log, request.state.user.name)
    url_of = _make_url_builder(get_form(request))
    return redirect(url_of() if undone is None else url_of(query=undone.query, doc=undone.doc))


def decide(request: Request) -> dict[str, Any]:
    """Set the final grade of a pair, which takes precedence over any rule."""
    body = get_json(request)
    event = adjudicate(
        get_judging(request).log,
        request.state.user.name,
        get_field(body, "query", str),
        get_field(body, "doc", str),
        get_field(body, "grade", (int, float)),
        get_prose(body, "note", None),
        read_submission(body),
    )
    assert event.grade is not None
    return {"saved": event.key, "query": event.query, "doc": event.doc, "grade": simplify_grade(event.grade)}


def undo(request: Request) -> dict[str, Any]:
    """Undo the last decision; returns its pair."""
    undone = undo_adjudication(get_judging(request).log, request.state.user.name, read_submission(get_json(request)))
    return {"undone": None if undone is None else {"query": undone.query, "doc": undone.doc}}
