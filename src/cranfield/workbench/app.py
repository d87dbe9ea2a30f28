"""The application: routes and middleware of all parts, the start page, error responses."""

from __future__ import annotations

import secrets
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
from cranfield.workbench import account_pages, auth, explore, judge, openapi
from cranfield.workbench.accounts import load_token_key
from cranfield.workbench.app_state import AppState, DataSource, NavEntry, User, get_app_state
from cranfield.workbench.explore.collection_view import LiveLog, is_judged_here
from cranfield.workbench.pages import (
    SERVER_ERROR,
    Page,
    error_response,
    page_routes,
    redirect,
    serve_static,
)
from cranfield.workbench.security import SECURITY_HEADERS, AllowedHosts, SecurityMiddleware

if TYPE_CHECKING:
    from cranfield.experiment import Workspace
    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.judge.judging_service import JudgingService


def make_app(
    workspace: Workspace | None = None,
    *,
    qrels: str | None = None,
    runs: Sequence[str] = (),
    judging: JudgingService | None = None,
    accounts: Accounts | None = None,
    hosts: AllowedHosts | None = None,
    local_user: str = "me",
    with_explore: bool = True,
) -> Starlette:
    """The workbench on a workspace, or on qrels and runs; with `judging`, documents can be judged.

    With `accounts`, users sign in. Without, every request comes from `local_user`, and the server may listen on
    loopback only.
    """
    hosts = hosts or AllowedHosts()
    if accounts is None and not hosts.is_local:
        raise CranfieldError(f"{hosts.host} is reachable from other machines, which requires accounts.")
    can_explore = with_explore and (workspace is not None or qrels is not None)
    app_state = AppState(
        source=DataSource(workspace, qrels, tuple(runs)),
        hosts=hosts,
        key=_token_key(judging, accounts),
        local_user=None if accounts is not None else User(local_user, "coordinator", is_local=True),
        accounts=accounts,
        judging=judging,
        entries=_nav_entries(judging, accounts, can_explore),
    )
    app = Starlette(
        routes=_routes(app_state, can_explore),
        middleware=[
            Middleware(SecurityMiddleware, hosts=hosts),
            Middleware(auth.AuthenticationMiddleware, app_state=app_state),
        ],
        exception_handlers={HTTPException: _on_http_error, CranfieldError: _on_error, Exception: _on_crash},
        lifespan=_lifespan(app_state),
    )
    app.state.workbench = app_state
    return app


def _token_key(judging: JudgingService | None, accounts: Accounts | None) -> bytes:
    """The key of CSRF tokens. It is stored in the database, so open pages stay valid when the server restarts."""
    if accounts is not None:
        return load_token_key(accounts.database)
    if judging is not None:
        return load_token_key(judging.log.database)
    return secrets.token_bytes(32)


def _nav_entries(judging: JudgingService | None, accounts: Accounts | None, can_explore: bool) -> list[NavEntry]:
    entries = [NavEntry(label, path, group=explore.GROUP) for label, path in explore.NAV] if can_explore else []
    if judging is not None:
        entries += [
            NavEntry("Judge", "/judge", "assessor"),
            NavEntry("Progress", "/progress"),
            NavEntry("Plan", "/plan"),
            NavEntry("Adjudicate", "/adjudicate"),
            NavEntry("Export", "/export"),
        ]
    if accounts is not None:
        entries.append(NavEntry("People", "/people"))
    return entries


def _routes(app_state: AppState, can_explore: bool) -> list[BaseRoute]:
    routes: list[BaseRoute] = [
        *page_routes("/", home),
        Route("/static/{name:path}", serve_static, name="static"),
        *auth.routes(app_state),
        *openapi.routes(can_explore),
    ]
    if app_state.accounts is not None:
        routes += account_pages.routes()
    if app_state.judging is not None:
        routes += judge.routes()
    if can_explore:
        routes += explore.routes(app_state.source)
    return routes


def home(request: Request) -> Response | Page:
    """Redirects to the first useful page: results if there are any, else judging. As JSON: a list of all pages.

    Coordinators of a team start at progress: opening the judging page would reserve a document for them.
    """
    app_state = get_app_state(request)
    user: User | None = request.state.user
    if user is None:
        raise HTTPException(401, "Sign in first.")
    entries = app_state.list_entries(user)
    skipped = [] if _has_results(app_state) else [path for _, path in explore.NAV]
    if app_state.accounts is not None and user.may("coordinator"):
        skipped.append("/judge")
    first = next((entry.path for entry in entries if entry.path not in skipped), None)
    if first is not None and not request.state.as_json:
        return redirect(first)
    return Page("nothing.html", {"title": app_state.title, "first": first, "pages": entries}, app_state.title)


def _has_results(app_state: AppState) -> bool:
    """Whether there are judgments and runs to explore. Without judging, the pages themselves say what is missing."""
    workspace, judging = app_state.source.workspace, app_state.judging
    if workspace is None or judging is None:
        return True
    first = workspace.collections[0]
    files = [workspace.folder / workspace.run_file(system, first) for system in workspace.systems]
    if not any(file.is_file() for file in files):
        return False
    return first.has_qrels or (is_judged_here(workspace, first.name) and LiveLog(judging.log).has_judgments)


def _lifespan(app_state: AppState) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        if app_state.judging is not None:
            app_state.judging.start_indexing()
        yield
        if app_state.judging is not None:
            app_state.judging.close()
        if app_state.accounts is not None:
            app_state.accounts.close()

    return lifespan


# Errors


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 401 and request.method == "GET":
        response = auth.redirect_to_sign_in(request)
        if response is not None:
            return response
    defaults = {"Not Found": "There is no such page.", "Method Not Allowed": "This page does not accept such requests."}
    return error_response(request, error.status_code, defaults.get(error.detail, error.detail), error.headers)


async def _on_error(request: Request, error: Exception) -> Response:
    # the judging page keeps what was answered with 503 and sends it again
    statuses = {DatabaseFull: 507, DatabaseBusy: 503, JudgingError: 409, CranfieldError: 400}
    status = next(code for kind, code in statuses.items() if isinstance(error, kind))
    return error_response(request, status, str(error))


async def _on_crash(request: Request, error: Exception) -> Response:
    # the server logs the traceback; this response does not pass the middleware that adds the headers
    response = error_response(request, 500, SERVER_ERROR)
    response.headers.update(SECURITY_HEADERS)
    return response
