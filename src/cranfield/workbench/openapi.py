"""The OpenAPI description of the whole API, at /openapi.json."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from cranfield.workbench.accounts import ROLES, Account
from cranfield.workbench.app_state import NavEntry, get_app_state
from cranfield.workbench.explore import schemas as explore_schemas
from cranfield.workbench.judge import schemas as judge_schemas
from cranfield.workbench.pages import endpoint
from cranfield.workbench.schemas import OBJECT, STRING, array, enum, form, get, nullable, obj, schema_of

ROLE = enum(*ROLES)


def routes(can_explore: bool) -> list[Route]:
    def openapi(request: Request) -> dict[str, Any]:
        app_state = get_app_state(request)
        return describe(app_state.judging is not None, can_explore, app_state.accounts is not None)

    return [endpoint("/openapi.json", openapi)]


def describe(with_judging: bool, with_explore: bool, with_accounts: bool) -> dict[str, Any]:
    """The description of the parts that are served."""
    pages = obj(title=STRING, first=nullable(STRING), pages=array(schema_of(NavEntry)))
    paths: dict[str, Any] = {
        "/api/session": get("The user, and the CSRF token", response=obj(name=STRING, role=ROLE, csrf=STRING)),
        "/index.json": get("All pages, and the first one to open", response=pages),
    }
    if with_accounts:
        paths |= _account_paths()
    if with_judging:
        paths |= judge_schemas.paths()
    if with_explore:
        paths |= explore_schemas.paths()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cranfield",
            "version": version("cranfield"),
            "description": "Judging and exploring. Requests with side effects send the token of /api/session as "
            "X-CSRF-Token. Every page is available as JSON at the same URL with .json.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "cranfield_session"},
                "token": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
            },
            "schemas": {"Error": obj(error=STRING)},
        },
    }


def _account_paths() -> dict[str, Any]:
    changes = enum("close", "open", "uninvite", *ROLES)
    return {
        "/sign-in": form("Sign in", {"to": STRING}, name=STRING, password=STRING),
        "/sign-in.json": get("Where signing in leads", {"to": STRING}, response=obj(to=STRING)),
        "/invitation.json": get("Empty: only the browser knows the secret", response=OBJECT),
        "/sign-out": form("Sign out"),
        "/invitation": form("Choose a password", secret=STRING, password=STRING, again=STRING),
        "/account": form("Change the password", old=STRING, password=STRING, again=STRING),
        "/account.json": get("The user", response=obj(name=STRING, role=ROLE)),
        "/people.json": get("All accounts", response=obj(people=array(schema_of(Account)))),
        "/people/invite": form("Create an invitation", {"role": ROLE}, name=STRING),
        "/people/change": form("Close or open an account, change a role", name=STRING, what=changes),
    }
