"""The application: routes of all parts, who is asking, and what is said when something goes wrong."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from cranfield.annotation import DatabaseBusy, DatabaseFull, JudgingError
from cranfield.errors import CranfieldError
from cranfield.workbench import account_pages, auth, explore, openapi
from cranfield.workbench.app_state import Entry, Served, Site, User
from cranfield.workbench.explore.collection_view import LiveLog, is_judged_here
from cranfield.workbench.pages import MISTAKE, Page, error_response, go_to, require, serve_static, twins
from cranfield.workbench.security import HEADERS, Doors, Gate

if TYPE_CHECKING:
    from cranfield.experiment import Workspace
    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.judge.judging_service import Room


def make_app(
    workspace: Workspace | None = None,
    *,
    qrels: str | None = None,
    runs: Sequence[str] = (),
    room: Room | None = None,
    accounts: Accounts | None = None,
    doors: Doors | None = None,
    alone: str = "me",
    explores: bool = True,
) -> Starlette:
    """The workbench on a workspace, or on qrels and runs; with `room`, documents can be judged.

    With `accounts` people sign in. Without, whoever asks is `alone`, which only a server on loopback may have.
    """
    doors = doors or Doors()
    if accounts is None and not doors.is_local:
        raise CranfieldError(f"{doors.host} can be reached by others, which demands accounts.")
    served = Served(workspace, qrels, tuple(runs))
    can_explore = explores and (workspace is not None or qrels is not None)
    site = Site(
        served=served,
        doors=doors,
        key=_key(room, accounts),
        alone=None if accounts is not None else User(alone, "coordinator", is_alone=True),
        accounts=accounts,
        room=room,
        entries=_entries(room, accounts, can_explore),
    )
    app = Starlette(
        routes=_routes(site, can_explore),
        middleware=[Middleware(Gate, doors=doors), Middleware(auth.Identity, site=site)],
        exception_handlers={HTTPException: _refused, CranfieldError: _wrong, Exception: _mistake},
        lifespan=_lifespan(site),
    )
    app.state.site = site
    return app


def _key(room: Room | None, accounts: Accounts | None) -> bytes:
    """What tokens are made with: kept in the database, so that a page outlives a server that is started anew."""
    from cranfield.workbench.accounts import kept_key

    if accounts is not None:
        return kept_key(accounts.database)
    if room is not None:
        return kept_key(room.log.database)
    import secrets

    return secrets.token_bytes(32)


def _entries(room: Room | None, accounts: Accounts | None, can_explore: bool) -> list[Entry]:
    found = [Entry("Judge", "/judge", "assessor")] if room is not None else []
    if room is not None:
        found += [
            Entry("Progress", "/progress"),
            Entry("Plan", "/plan"),
            Entry("Adjudicate", "/adjudicate"),
            Entry("Export", "/export"),
        ]
    if accounts is not None:
        found.append(Entry("People", "/people"))
    return ([Entry(label, path, group=explore.GROUP) for label, path in explore.NAV] if can_explore else []) + found


def _routes(site: Site, can_explore: bool) -> list[BaseRoute]:
    from cranfield.workbench.judge import routes as judging_routes

    routes: list[BaseRoute] = [
        *twins("/", home),
        Route("/static/{name:path}", serve_static, name="static"),
        *auth.routes(site),
        *openapi.routes(can_explore),
    ]
    if site.accounts is not None:
        routes += account_pages.routes()
    if site.room is not None:
        routes += judging_routes()
    if can_explore:
        routes += [_for_coordinators(route) for route in explore.routes(site.served)]
    return routes


def _for_coordinators(route: Route) -> Route:
    """A route whose pages tell ranks and judgments, which judges must not see."""

    async def guarded(request: Request) -> Response:
        request.state.as_json = route.path.endswith(".json")
        require(request, "coordinator")
        answer: Response = await route.endpoint(request)
        return answer

    return Route(route.path, guarded, methods=sorted(route.methods or ["GET"]), name=route.name)


def home(request: Request) -> Response | Page:
    """Where to begin: what is explored, or judged as long as there is nothing to explore. As JSON, all pages.

    Who coordinates others begins with their progress: a document would be held for whoever opens the page to judge.
    """
    site: Site = request.app.state.site
    if request.state.user is None:
        raise HTTPException(401, "Sign in first.")
    entries = site.entries_for(request.state.user)
    ready = [one for one in entries if one.group != explore.GROUP] if not _can_explore_by_now(site) else entries
    if site.accounts is not None and request.state.user.may("coordinator"):
        ready = [one for one in ready if one.path != "/judge"]
    first = ready[0].path if ready else None
    if first is not None and not request.state.as_json:
        return go_to(first)
    return Page("nothing.html", {"title": site.title, "first": first, "pages": entries}, site.title)


def _can_explore_by_now(site: Site) -> bool:
    """Whether there are judgments and runs; without judging, the pages of exploring say what is missing."""
    workspace, room = site.served.workspace, site.room
    if workspace is None or room is None:
        return True
    first = workspace.collections[0]
    files = [workspace.folder / workspace.run_file(system, first) for system in workspace.systems]
    if not any(file.is_file() for file in files):
        return False
    return first.has_qrels or (is_judged_here(workspace, first.name) and LiveLog(room.log).judgments_there)


def _lifespan(site: Site) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        if site.room is not None:
            site.room.begin_search()
        yield
        if site.room is not None:
            site.room.close()
        if site.accounts is not None:
            site.accounts.close()

    return lifespan


# When something goes wrong


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 401 and request.method == "GET":
        asked = auth.asked_to_sign_in(request)
        if asked is not None:
            return asked
    messages = {404: "There is no such page.", 405: "This address does not take such requests."}
    usual = error.detail in ("Not Found", "Method Not Allowed")
    message = messages.get(error.status_code, error.detail) if usual else error.detail
    return error_response(request, error.status_code, message, error.headers)


async def _wrong(request: Request, error: Exception) -> Response:
    # a page keeps what was answered with 503, and sends it again
    statuses = {DatabaseFull: 507, DatabaseBusy: 503, JudgingError: 409, CranfieldError: 400}
    status = next(code for kind, code in statuses.items() if isinstance(error, kind))
    return error_response(request, status, str(error))


async def _mistake(request: Request, error: Exception) -> Response:
    # the server writes down what it was; this answer comes from outside the gate, which puts on the headers otherwise
    answer = error_response(request, 500, MISTAKE)
    answer.headers.update(HEADERS)
    return answer
