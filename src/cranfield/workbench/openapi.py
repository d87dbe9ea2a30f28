"""What the API is, as an OpenAPI description: every part says what its routes take and give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from starlette.requests import Request
from starlette.routing import Route

from cranfield.workbench.pages import endpoint

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
THING: Schema = {"type": "object"}
ERRORS = {
    400: "makes no sense",
    401: "nobody has signed in",
    403: "not for this role, or the token is missing",
    404: "is not there",
    409: "cannot be done now",
    413: "is too long",
    415: "is not in the form that is expected",
    429: "too many attempts",
    503: "the database does not answer, or an index is still being made; nothing was saved, try again",
    507: "there is no room on the disk; nothing was saved",
}


def routes(can_explore: bool) -> list[Route]:
    """The description itself."""

    def description(request: Request) -> dict[str, Any]:
        app_state = request.app.state.workbench
        return describe(app_state.judging is not None, can_explore, app_state.accounts is not None)

    return [endpoint("/openapi.json", description)]


def describe(judges: bool, explores: bool, signs_in: bool) -> dict[str, Any]:
    """The description of the parts that are there."""
    paths: dict[str, Any] = {
        "/api/session": get("Who is asking, and the token to send", answer=SESSION),
        "/index.json": get("All pages, and the first of them", answer=PAGES),
    }
    if signs_in:
        paths |= _signing_in()
    if judges:
        from cranfield.workbench.judge import schemas as judge_schemas

        paths |= judge_schemas.paths()
    if explores:
        from cranfield.workbench.explore import schemas as explore_schemas

        paths |= explore_schemas.paths()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "cranfield",
            "version": version("cranfield"),
            "description": "Judging and exploring. Requests that change something send the token of /api/session as "
            "X-CSRF-Token. Every page has a JSON twin at the same address with .json.",
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "session": {"type": "apiKey", "in": "cookie", "name": "cranfield_session"},
                "token": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token"},
            },
            "schemas": {"Error": thing("error", error=TEXT)},
        },
    }


# Pieces of a description


def get(
    summary: str,
    parameters: Mapping[str, Schema] | None = None,
    *,
    needed: Sequence[str] = (),
    answer: Schema | None = None,
    kind: str | Sequence[str] = "application/json",
) -> dict[str, Any]:
    """What a GET request takes and gives, in one form or in several."""
    return {"get": _operation(summary, parameters, needed, answer, kind)}


def post(
    summary: str,
    body: Schema | None = None,
    *,
    parameters: Mapping[str, Schema] | None = None,
    answer: Schema | None = None,
    takes: str = "application/json",
) -> dict[str, Any]:
    """What a POST request takes and gives."""
    made = _operation(summary, parameters, (), answer, "application/json") | {
        "security": [{"session": [], "token": []}],
        "requestBody": {"required": True, "content": {takes: {"schema": body or THING}}},
    }
    return {"post": made}


def form(summary: str, needed: Sequence[str] = (), **fields: Schema) -> dict[str, Any]:
    """What a form sends; the answer is a page to go to."""
    takes = "application/x-www-form-urlencoded"
    made = post(summary, thing(*("csrf", *needed), csrf=TEXT, **fields), takes=takes)
    answers = made["post"]["responses"]
    answers["303"] = {"description": "done; go to this page", "headers": {"location": {"schema": TEXT}}}
    answers["200"] = {"description": "done", "content": {"text/html": {"schema": TEXT}}}
    for status in ERRORS:
        answers[str(status)]["content"]["text/html"] = {"schema": TEXT}
    return made


def thing(*needed: str, **properties: Schema) -> Schema:
    """An object with properties, some of which must be there."""
    made: Schema = {"type": "object", "properties": properties}
    return made | ({"required": list(needed)} if needed else {})


def many(schema: Schema) -> Schema:
    return {"type": "array", "items": schema}


def maybe(schema: Schema) -> Schema:
    """Something, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def choice(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _operation(
    summary: str,
    parameters: Mapping[str, Schema] | None,
    needed: Sequence[str],
    answer: Schema | None,
    kind: str | Sequence[str],
) -> dict[str, Any]:
    kinds = [kind] if isinstance(kind, str) else kind
    given = [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in (parameters or {}).items()
    ]
    failed = {
        str(status): {
            "description": text,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        }
        for status, text in ERRORS.items()
    }
    # a request from another site is refused before it comes to anything, in plain text
    failed["403"]["content"]["text/plain"] = {"schema": TEXT}  # type: ignore[index]
    failed["421"] = {"description": "this server has another name", "content": {"text/plain": {"schema": TEXT}}}
    done = {"description": "done", "content": {one: {"schema": answer or {}} for one in kinds}}
    return {"summary": summary, "parameters": given, "responses": {"200": done, **failed}}


ROLE = choice("assessor", "coordinator")
SESSION = thing("name", "role", "csrf", name=TEXT, role=ROLE, csrf=TEXT)
PAGES = thing(
    "title",
    "first",
    "pages",
    title=TEXT,
    first=maybe(TEXT),
    pages=many(thing("label", "path", "role", "group", label=TEXT, path=TEXT, role=ROLE, group=TEXT)),
)
ACCOUNT = thing("name", "role", "state", name=TEXT, role=ROLE, state=choice("open", "closed", "invited"))


def _signing_in() -> dict[str, Any]:
    return {
        "/sign-in": form("Sign in", ("name", "password"), name=TEXT, password=TEXT, to=TEXT),
        "/sign-in.json": get("Where signing in leads", {"to": TEXT}, answer=thing("to", to=TEXT)),
        "/invitation.json": get("Nothing: the secret is known to the browser only", answer=THING),
        "/sign-out": form("Sign out"),
        "/invitation": form(
            "Choose a password", ("secret", "password", "again"), secret=TEXT, password=TEXT, again=TEXT
        ),
        "/account": form("Choose another password", ("old", "password", "again"), old=TEXT, password=TEXT, again=TEXT),
        "/account.json": get("Who has signed in", answer=thing("name", "role", name=TEXT, role=ROLE)),
        "/people.json": get("Who has an account", answer=thing("people", people=many(ACCOUNT))),
        "/people/invite": form("Make an invitation", ("name",), name=TEXT, role=choice("assessor", "coordinator")),
        "/people/change": form(
            "Close or open an account, change a role",
            ("name", "what"),
            name=TEXT,
            what=choice("close", "open", "uninvite", "assessor", "coordinator"),
        ),
    }
