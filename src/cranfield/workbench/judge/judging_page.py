"""The judging page, and the frame that shows a document as HTML."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.workbench.judge.api import get_session
from cranfield.workbench.judge.documents import frame_html, frame_policy, get_html
from cranfield.workbench.pages import Page, endpoint, page_routes
from cranfield.workbench.params import Params, not_found


def routes() -> list[Route]:
    return [
        *page_routes("/judge", judging_page, role="assessor"),
        endpoint("/judge/document", document_frame, role="assessor"),
    ]


def judging_page(request: Request) -> Page:
    """The page; its content comes from the API."""
    judging, session = get_session(request)
    return Page("judge.html", {"topics": judging.list_topics(session)}, "Judge")


def document_frame(request: Request) -> Response:
    """The document at a position of this assessor, as sanitized HTML."""
    judging, session = get_session(request)
    params = Params(request)
    document = judging.documents.get(session.item_at(params.required("query"), params.integer("place", 0)).doc)
    markup = get_html(document) if document is not None else None
    if markup is None:
        raise not_found("This document has no HTML.")
    headers = {
        "content-security-policy": frame_policy(),
        "x-frame-options": "SAMEORIGIN",
        "cache-control": "no-store",
    }
    return Response(frame_html(markup).encode("utf-8", "replace"), 200, headers, "text/html; charset=utf-8")
