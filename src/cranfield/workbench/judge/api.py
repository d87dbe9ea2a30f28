"""The API of the judging page. Nothing here reveals ranks, scores, runs or the judgments of others."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.routing import Route

from cranfield.annotation import JUDGING_ACTIONS, AssessorSession, Submission, choose_guidelines
from cranfield.workbench.app_state import get_app_state, get_judging
from cranfield.workbench.judge.judging_service import JudgingService
from cranfield.workbench.pages import endpoint
from cranfield.workbench.params import Params, bad_request, get_field, get_json, get_prose, not_found

PREFETCHED = 3  # documents that a page may load in advance, for when the connection is lost
KINDS = ("judge", "cannot", "skip", "note")


def routes() -> list[Route]:
    get = {
        "": about,
        "/topics": list_topics,
        "/item": get_item,
        "/seen": list_seen,
        "/after": get_next_topic,
        "/ahead": list_next,
        "/own": list_own,
    }
    post = {"/next": get_next, "/save": save, "/undo": undo, "/search": search, "/found": open_found}
    return [
        endpoint(f"/api/judging{path}", handler, role="assessor", methods=[method])
        for method, handlers in (("GET", get), ("POST", post))
        for path, handler in handlers.items()
    ]


def about(request: Request) -> dict[str, Any]:
    """Grades, keys and guidelines."""
    judging, _ = get_session(request)
    settings = judging.log.settings
    return {
        "assessor": request.state.user.name,
        "log": get_app_state(request).log_id,
        "grades": settings.scale.to_dicts(),
        "actions": [
            {"name": one.name, "keys": one.keys, "label": one.label, "about": one.about} for one in JUDGING_ACTIONS
        ],
        "guidelines": choose_guidelines(settings.guidelines),
        "search": judging.has_search,
        "version": f"web {version('cranfield')}",
    }


def list_topics(request: Request) -> dict[str, Any]:
    """The topics to judge, with their progress."""
    judging, session = get_session(request)
    return {"topics": judging.list_topics(session)}


def get_item(request: Request) -> dict[str, Any]:
    """The document at a position."""
    judging, session = get_session(request)
    query, place = _read_position(Params(request))
    return {"item": judging.show(session.item_at(query, place))}


def list_seen(request: Request) -> dict[str, Any]:
    """The positions of a topic that this assessor has handled, in the order of time."""
    _, session = get_session(request)
    return {"places": session.seen_places(Params(request).required("query"))}


def get_next_topic(request: Request) -> dict[str, Any]:
    """The next topic with documents left to judge."""
    _, session = get_session(request)
    return {"query": session.next_topic(Params(request).required("query"))}


def list_next(request: Request) -> dict[str, Any]:
    """The next documents, in case the connection is lost."""
    judging, session = get_session(request)
    query, place = _read_position(Params(request))
    return {"items": [judging.show(one) for one in session.upcoming(query, place, PREFETCHED)]}


def list_own(request: Request) -> dict[str, Any]:
    """What this assessor has done so far."""
    _, session = get_session(request)
    return {"items": session.own_items()}


def get_next(request: Request) -> dict[str, Any]:
    """The next document of a topic, or of any; it is reserved for this assessor."""
    judging, session = get_session(request)
    return {"item": judging.show(session.next(get_field(get_json(request), "query", str, None)))}


def save(request: Request) -> dict[str, Any]:
    """Record a judgment. It is on disk when the response is sent."""
    judging, session = get_session(request)
    body = get_json(request)
    kind = get_field(body, "kind", str)
    if kind not in KINDS:
        raise bad_request(f"kind is {kind!r:.40}, expected one of {', '.join(KINDS)}.")
    saved = session.save(
        kind,
        get_field(body, "query", str),
        get_field(body, "place", int),
        get_field(body, "grade", (int, float), None),
        get_prose(body, "note", None),
        read_submission(body),
        get_field(body, "doc", str, None),
    )
    return {"saved": saved.event.key, "next": judging.show(saved.next), "left": saved.left}


def undo(request: Request) -> dict[str, Any]:
    """Undo the last action; returns its document."""
    judging, session = get_session(request)
    body = get_json(request)
    return {"item": judging.show(session.undo(read_submission(body), get_field(body, "undoes", str, None)))}


def search(request: Request) -> dict[str, Any]:
    """Search for more documents; the search is recorded."""
    judging, session = get_session(request)
    body = get_json(request)
    query, words = get_field(body, "query", str), get_prose(body, "words").strip()
    if not judging.has_search:
        raise not_found("There is no index to search: 'cranfield index DOCUMENTS -o WORKSPACE/index' creates one.")
    if not words:
        raise bad_request("words is empty: enter words to search for.")
    results = judging.search_documents(session, query, words)
    session.record_search(query, words, read_submission(body))
    return {"found": results}


def open_found(request: Request) -> dict[str, Any]:
    """Add a document found by searching to the documents to judge."""
    judging, session = get_session(request)
    body = get_json(request)
    doc = get_field(body, "doc", str)
    if not judging.has_search or judging.documents.get(doc) is None:
        raise not_found("There is no such document.")
    return {
        "item": judging.show(
            session.add_found(get_field(body, "query", str), doc, get_prose(body, "words"), read_submission(body))
        )
    }


def get_session(request: Request) -> tuple[JudgingService, AssessorSession]:
    """The judging service, and the session of this user."""
    judging = get_judging(request)
    _check_page(request)
    return judging, judging.session(request.state.user.name)


def _check_page(request: Request) -> None:
    """Refuse a request of a page that was opened by another user or for another log.

    Since then, someone else may have signed in with the same browser, or the server may have opened another workspace.
    """
    body = getattr(request.state, "body", None)
    text = Params(request).text if body is None else lambda name: get_field(body, name, str, "")
    user, log, name = text("who"), text("log"), request.state.user.name
    if log and log != get_app_state(request).log_id:
        raise HTTPException(409, "This page belongs to another judgment log than the one served now. Reload it.")
    if user and user != name:
        raise HTTPException(409, f"This page belongs to another user: {name} is signed in now. Reload it.")


def read_submission(body: dict[str, Any]) -> Submission:
    """How an action came about, as the page reports it."""
    key = get_prose(body, "key", None)
    fields: dict[str, Any] = {
        "shown_at": get_field(body, "shown_at", str, None),
        "judged_at": get_field(body, "judged_at", str, None),
        "active_ms": get_field(body, "active_ms", int, None),
        "method": get_prose(body, "method", ""),
        "version": f"web {version('cranfield')}",
    }
    return Submission(**fields) if key is None else Submission(key=key, **fields)


def _read_position(params: Params) -> tuple[str, int]:
    return params.required("query"), params.integer("place", 0, 0)
