"""How a page is made: one value, shown as HTML by a template or as JSON by its twin; errors, addresses, caching."""

from __future__ import annotations

import hashlib
import json
import math
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from inspect import isawaitable, iscoroutinefunction
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from cranfield.base import Record, encode_id, fields, pluralize
from cranfield.errors import CranfieldError
from cranfield.reporting import shown
from cranfield.tables import number
from cranfield.workbench.params import FORM, media_type, read_form, read_json
from cranfield.workbench.security import SAFE

HERE = Path(str(files("cranfield.workbench")))
# where files are that pages load: the first part of their address, and the folder
STATIC = {
    "": HERE / "static",
    "explore": HERE / "explore" / "static",
    "judging": Path(str(files("cranfield.annotation"))) / "page",
}
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
}


class Page(Record, eq=False):
    """What a handler returns: a template, the value that it and the JSON twin show, and what only the template needs.

    `tag` names the state of what is shown, if that is known: a browser that has it already is told so (304).
    """

    template: str
    value: Any = None
    title: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    tag: str | None = None


Handler = Callable[[Request], Any]  # -> Page, Response, or a promise of one


def twins(
    path: str, handler: Handler, *, name: str | None = None, role: str | None = None, methods: Sequence[str] = ("GET",)
) -> list[Route]:
    """The routes of a page and of its JSON twin; for a role, or for everybody who may come in.

    A handler that is no coroutine runs in a thread.
    """

    async def shown_as_html(request: Request) -> Response:
        return await _answer(request, handler, role, as_json=_wants_json(request))

    async def shown_as_json(request: Request) -> Response:
        return await _answer(request, handler, role, as_json=True)

    twin = "/index.json" if path == "/" else f"{path}.json"
    called = name or handler.__name__
    return [
        Route(twin, shown_as_json, methods=list(methods), name=f"{called}.json"),
        Route(path, shown_as_html, methods=list(methods), name=called),
    ]


def endpoint(path: str, handler: Handler, *, role: str | None = None, methods: Sequence[str] = ("GET",)) -> Route:
    """The route of something that is JSON, or a response of its own, and no page; a form is answered by a page."""

    async def answered(request: Request) -> Response:
        is_form = media_type(request) == FORM and not path.startswith("/api/")
        return await _answer(request, handler, role, as_json=not is_form)

    return Route(path, answered, methods=list(methods), name=handler.__name__)


async def _answer(request: Request, handler: Handler, role: str | None, as_json: bool) -> Response:
    request.state.as_json = as_json
    if request.method not in SAFE:
        await check_token(request)
    if role is not None:
        require(request, role)
    try:
        done = await called(handler, request)
    except (HTTPException, CranfieldError):
        raise
    except Exception as error:
        traceback.print_exception(error, file=sys.stderr)
        return error_response(request, 500, MISTAKE)
    if isinstance(done, Response):
        return done
    if not isinstance(done, Page):
        return json_response(done)
    return respond(request, done, as_json)


async def check_token(request: Request) -> None:
    """Refuse what changes something and has not the token that only our own pages know.

    Scripts send it as a header, forms hold it. What was sent is `request.state.form` or `.body` from here on.
    """
    token = request.headers.get("x-csrf-token", "")
    if media_type(request) == FORM:
        request.state.form = await read_form(request)
        token = token or request.state.form.text("csrf")
    elif not token:
        raise HTTPException(403, "The token is missing. Load the page again.")
    state = request.state
    if media_type(request) == "application/json":
        state.body = await read_json(request)
    if not state.session or not request.app.state.site.is_token(state.session, token):
        raise HTTPException(403, "This page is out of date. Load it again.")


async def called(handler: Handler, request: Request) -> Any:
    """What a handler returns; one that may wait for a disk does so in a thread."""
    done = handler(request) if iscoroutinefunction(handler) else await run_in_threadpool(handler, request)
    return await done if isawaitable(done) else done


def require(request: Request, role: str) -> None:
    """Refuse who has not this role. Whoever is alone on this machine has every role."""
    user = request.state.user
    if user is None:
        raise HTTPException(401, "Sign in first.")
    if not user.may(role):
        raise HTTPException(403, f"This is for {ROLES[role]}.")


ROLES = {"coordinator": "coordinators", "assessor": "assessors"}


def respond(request: Request, page: Page, as_json: bool) -> Response:
    """A page as HTML or as JSON."""
    headers = {"vary": "Accept, Cookie", "cache-control": "no-store"}
    if page.tag is not None:
        who = request.state.user
        digest = etag(page.tag, page.template, str(as_json), repr(who), version("cranfield"), _assets())
        headers |= {"etag": digest, "cache-control": "private, no-cache"}
        if digest in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
    if as_json:
        return json_response(page.value, page.status, headers)
    return Response(
        render(request, page.template, value=page.value, title=page.title, **page.more),
        page.status,
        headers,
        "text/html; charset=utf-8",
    )


def render(request: Request, template: str, **context: Any) -> bytes:
    """The HTML of a template. It knows `value`, who is asking (`user`), `nav`, `csrf` and the functions below."""
    state = request.state
    known = {
        "request": request,
        "path": request.url.path,
        "user": getattr(state, "user", None),
        "csrf": getattr(state, "csrf", ""),
        "site": request.app.state.site,
    }
    return environment().get_template(template).render(known | context).encode("utf-8", "backslashreplace")


@lru_cache(1)
def environment() -> jinja2.Environment:
    """The templates. Everything is escaped; what is undefined is a mistake."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader([HERE / "templates", HERE / "explore" / "templates"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"static": static, "address": address, "version": version("cranfield")}
    made.filters |= {
        "shown": shown,
        "figure": figure,
        "count": count,
        "share": share,
        "when": when,
        "counted": pluralize,
        "quoted": quoted,
    }
    return made


# How values are written


def figure(value: float | None, digits: int = 4) -> str:
    """A number with so many digits; – where there is none."""
    return number(value, digits)


def count(value: int | None) -> str:
    """A whole number, thousands separated.

    >>> count(12345), count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,}"


def share(part: float, of: float) -> str:
    """A share in percent.

    >>> share(1, 8), share(0, 0)
    ('12 %', '–')
    """
    return f"{100 * part / of:.0f} %" if of else "–"


def when(time: str | None) -> str:
    """A time of the log, for people.

    >>> when("2026-03-01T09:00:00.000000Z")
    '2026-03-01 09:00 UTC'
    """
    return "–" if not time else f"{time[:10]} {time[11:16]} UTC"


def address(path: str, **parameters: Any) -> str:
    """An address within the workbench; ids of any bytes, and several values of a name, may be parameters.

    >>> address("/topic", query="a/b\\udcff", system=["x", "y"], depth=None)
    '/topic?query=a%2Fb%FF&system=x&system=y'
    """
    pairs = []
    for name, value in parameters.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append(f"{quote(name, safe='')}={quote(encode_id(str(one)), safe='')}")
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def quoted(text: str) -> str:
    """An id as it can stand in a form, whatever bytes it has; `asking.Asked.id` reads it.

    >>> quoted("a/\\udcff")
    'a%2F%FF'
    """
    return quote(encode_id(text), safe="")


# JSON


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON. Ids that are no UTF-8 are escaped, so that they come back as they are."""
    given = {"cache-control": "no-store"} | dict(headers or {})
    return Response(as_json(value).encode(), status, given, "application/json")


def as_json(value: Any) -> str:
    """A value as JSON: records as objects, numbers that are none as null.

    >>> as_json({"a": float("nan"), "b": (1, 2.0)})
    '{"a":null,"b":[1,2.0]}'
    """
    return json.dumps(plain(value), allow_nan=False, separators=(",", ":"))


def plain(value: Any) -> Any:
    """A value made of what JSON knows."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(one) for one in value]
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if isinstance(value, Record):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "tolist"):  # NumPy's
        return plain(value.tolist())
    return str(value)


def _wants_json(request: Request) -> bool:
    accept = request.headers.get("accept", "")
    return "application/json" in accept and "text/html" not in accept


# Files that pages load


def static(name: str) -> str:
    """The address of a file in static/; it changes with its content, so that browsers may keep it for good."""
    return f"/static/{name}?v={_digest(name)}"


def serve_static(request: Request) -> Response:
    """A file that pages load."""
    name = request.path_params["name"]
    found = _content(name)
    if found is None:
        raise HTTPException(404, "There is no such file.")
    content, kind = found
    is_named = request.url.query == f"v={_digest(name)}"
    headers = {
        "etag": f'"{_digest(name)}"',
        "cache-control": "public, max-age=31536000, immutable" if is_named else "no-cache",
    }
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=kind)


@lru_cache(100)
def _content(name: str) -> tuple[bytes, str] | None:
    """A file and its type. Only names of files that are there are looked up: no path leads anywhere else."""
    file = _files().get(name)
    return None if file is None else (file.read_bytes(), TYPES[file.suffix])


@lru_cache(1)
def _files() -> dict[str, Path]:
    return {
        f"{part}/{file.name}" if part else file.name: file
        for part, folder in STATIC.items()
        if folder.is_dir()
        for file in sorted(folder.iterdir())
        if file.suffix in TYPES
    }


@lru_cache(100)
def _digest(name: str) -> str:
    found = _content(name)
    assert found is not None, f"there is no static file {name}"
    return hashlib.sha256(found[0]).hexdigest()[:16]


@lru_cache(1)
def _assets() -> str:
    """What all templates and files come to: a page that is kept is not that of another version."""
    digest = hashlib.sha256()
    for folder in (HERE / "templates", HERE / "explore" / "templates", *STATIC.values()):
        for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if file.is_file():
                digest.update(file.read_bytes())
    return digest.hexdigest()


def etag(*parts: str) -> str:
    """A tag for a state that these texts name."""
    return '"' + hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32] + '"'


# Errors

MISTAKE = "This is a mistake of ours, not yours. The server has written down where."


def go_to(path: str) -> Response:
    """Go to another page of ours, after something was done."""
    assert path.startswith("/") and not path.startswith("//")
    return RedirectResponse(path, 303, {"cache-control": "no-store"})


def error_response(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """What went wrong, as a page or as JSON."""
    given = {"cache-control": "no-store", **(headers or {})}
    if wants_json(request):
        return JSONResponse({"error": shown(message)}, status, given)
    body = render(request, "error.html", title=TITLES.get(status, "Something is wrong"), status=status, message=message)
    return Response(body, status, given, "text/html; charset=utf-8")


def wants_json(request: Request) -> bool:
    """Whether a request is answered by JSON, errors too."""
    path = request.url.path
    if getattr(request.state, "as_json", False) or path.startswith("/api/") or path.endswith(".json"):
        return True
    return _wants_json(request)


TITLES = {
    400: "This cannot be asked",
    401: "Who are you?",
    403: "Not for you",
    404: "Not here",
    405: "Not like this",
    409: "Not now",
    413: "Too much",
    415: "Not in this form",
    421: "Not this address",
    429: "Too many attempts",
    500: "A mistake of ours",
    503: "Not now",
    507: "No room left",
}
