"""Judging by JSON: what the judging page asks and says. Nothing here tells rank, score, run or what others think."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from cranfield.annotation import ACTIONS, Desk, Trace, shown_guidelines
from cranfield.workbench.app_state import Site
from cranfield.workbench.judge.judging_service import Room
from cranfield.workbench.pages import endpoint
from cranfield.workbench.params import Asked, bad, field, missing, prose

AHEAD = 3  # documents that a page may have ready, for when the connection is lost
KINDS = ("judge", "cannot", "skip", "note")


def routes() -> list[Route]:
    """What a judge can ask and say."""
    get = [(f"/api/judging{path}", handler) for path, handler in _ASKED.items()]
    post = [(f"/api/judging{path}", handler) for path, handler in _SAID.items()]
    return [
        *(endpoint(path, handler, role="assessor") for path, handler in get),
        *(endpoint(path, handler, role="assessor", methods=["POST"]) for path, handler in post),
    ]


def about(request: Request) -> dict[str, Any]:
    """Grades, keys and guidelines."""
    room, _ = at_desk(request)
    settings = room.log.settings
    return {
        "assessor": request.state.user.name,
        "log": request.app.state.site.log,
        "grades": settings.scale.to_dicts(),
        "actions": [{"name": one.name, "keys": one.keys, "label": one.label, "about": one.about} for one in ACTIONS],
        "guidelines": shown_guidelines(settings.guidelines),
        "search": room.has_search,
        "version": f"web {version('cranfield')}",
    }


def topics(request: Request) -> dict[str, Any]:
    """The topics to judge, with how far they are."""
    room, desk = at_desk(request)
    return {"topics": room.topics(desk)}


def item(request: Request) -> dict[str, Any]:
    """The document at a place."""
    room, desk = at_desk(request)
    query, place = _where(Asked(request))
    return {"item": room.shown(desk.at(query, place))}


def seen(request: Request) -> dict[str, Any]:
    """The places of a topic that were dealt with, in the order of time."""
    _, desk = at_desk(request)
    return {"places": desk.seen(Asked(request).needed("query"))}


def after(request: Request) -> dict[str, Any]:
    """The next topic with documents left."""
    _, desk = at_desk(request)
    return {"query": desk.after(Asked(request).needed("query"))}


def ahead(request: Request) -> dict[str, Any]:
    """The documents that come next, in case that the connection is lost."""
    room, desk = at_desk(request)
    query, place = _where(Asked(request))
    return {"items": [room.shown(one) for one in desk.ahead(query, place, AHEAD)]}


def own(request: Request) -> dict[str, Any]:
    """What this judge has done so far."""
    _, desk = at_desk(request)
    return {"items": desk.own()}


def go_on(request: Request) -> dict[str, Any]:
    """The next document of a topic, or of any; it is held for this judge."""
    room, desk = at_desk(request)
    return {"item": room.shown(desk.next(field(said(request), "query", str, None)))}


def save(request: Request) -> dict[str, Any]:
    """Record a grade, or that there is none. When the answer comes, it is on disk."""
    room, desk = at_desk(request)
    given = said(request)
    kind = field(given, "kind", str)
    if kind not in KINDS:
        raise bad(f"kind is {kind!r:.40}, expected one of {', '.join(KINDS)}.")
    saved = desk.save(
        kind,
        field(given, "query", str),
        field(given, "place", int),
        field(given, "grade", (int, float), None),
        prose(given, "note", None),
        trace_of(given),
        field(given, "doc", str, None),
    )
    return {"saved": saved.event.key, "next": room.shown(saved.next), "left": saved.left}


def undo(request: Request) -> dict[str, Any]:
    """Take back what was done last; the document it concerned."""
    room, desk = at_desk(request)
    given = said(request)
    return {"item": room.shown(desk.undo(trace_of(given), field(given, "undoes", str, None)))}


def search(request: Request) -> dict[str, Any]:
    """Look for more documents; the words are recorded."""
    room, desk = at_desk(request)
    given = said(request)
    query, words = field(given, "query", str), prose(given, "words").strip()
    if not room.has_search:
        raise missing("There is no index to search: 'cranfield index DOCUMENTS -o WORKSPACE/index' makes one.")
    if not words:
        raise bad("words is empty, expected words to search for.")
    results = room.look_for(desk, query, words)
    desk.searched(query, words, trace_of(given))
    return {"found": results}


def found(request: Request) -> dict[str, Any]:
    """Take up a document that was found by searching: it is on the desk now."""
    room, desk = at_desk(request)
    given = said(request)
    doc = field(given, "doc", str)
    if not room.has_search or room.documents.get(doc) is None:
        raise missing("There is no such document.")
    return {"item": room.shown(desk.found(field(given, "query", str), doc, prose(given, "words"), trace_of(given)))}


_ASKED = {
    "": about,
    "/topics": topics,
    "/item": item,
    "/seen": seen,
    "/after": after,
    "/ahead": ahead,
    "/own": own,
}
_SAID = {"/next": go_on, "/save": save, "/undo": undo, "/search": search, "/found": found}


def at_desk(request: Request) -> tuple[Room, Desk]:
    """The room, and the desk of who is asking: nobody sits at another's."""
    site: Site = request.app.state.site
    assert site.room is not None
    _check_seat(request, site)
    return site.room, site.room.desk(request.state.user.name)


def _check_seat(request: Request, site: Site) -> None:
    """Refuse what a page says for another judge or another log.

    While it was open, somebody else may have signed in in the same browser, or another workspace be served here.
    """
    body = getattr(request.state, "body", None)
    text = Asked(request).text if body is None else lambda name: field(body, name, str, "")
    who, log, name = text("who"), text("log"), request.state.user.name
    if log and log != site.log:
        raise HTTPException(
            409, "This page is about another log of judgments than the one that is served here now. Load it again."
        )
    if who and who != name:
        raise HTTPException(409, f"This page is of somebody else: {name} is signed in here now. Load it again.")


def said(request: Request) -> dict[str, Any]:
    """What a script sent as JSON."""
    found: dict[str, Any] | None = getattr(request.state, "body", None)
    if found is None:
        raise HTTPException(415, "expected JSON (application/json).")
    return found


def trace_of(given: dict[str, Any]) -> Trace:
    """How an act came about, as the page tells it."""
    key = prose(given, "key", None)
    known: dict[str, Any] = {
        "shown_at": field(given, "shown_at", str, None),
        "judged_at": field(given, "judged_at", str, None),
        "active_ms": field(given, "active_ms", int, None),
        "method": prose(given, "method", ""),
        "version": f"web {version('cranfield')}",
    }
    return Trace(**known) if key is None else Trace(key=key, **known)


def _where(asked: Asked) -> tuple[str, int]:
    return asked.needed("query"), asked.whole("place", 0, 0)
