"""The page on which documents are judged, and the frame that shows a document as a page."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.workbench.judge.api import at_desk
from cranfield.workbench.judge.documents import frame_policy, framed, page_of
from cranfield.workbench.pages import Page, endpoint, twins
from cranfield.workbench.params import Asked, missing


def routes() -> list[Route]:
    """What a judge can open."""
    return [
        *twins("/judge", judge, role="assessor"),
        endpoint("/judge/document", document, role="assessor"),
    ]


def judge(request: Request) -> Page:
    """The page; what it shows comes by JSON."""
    room, desk = at_desk(request)
    return Page("judge.html", {"topics": room.topics(desk)}, "Judge")


def document(request: Request) -> Response:
    """A document of this judge's order as a page in a frame, with nothing in it that could act or load."""
    room, desk = at_desk(request)
    asked = Asked(request)
    found = room.documents.get(desk.at(asked.needed("query"), asked.whole("place", 0)).doc)
    markup = page_of(found) if found is not None else None
    if markup is None:
        raise missing("This document is no page.")
    headers = {
        "content-security-policy": frame_policy(),
        "x-frame-options": "SAMEORIGIN",
        "cache-control": "no-store",
    }
    return Response(framed(markup).encode("utf-8", "replace"), 200, headers, "text/html; charset=utf-8")
