"""Pages: one value shown as HTML by a template or as JSON; URLs, static files, caching, errors."""

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
from cranfield.reporting import format_label
from cranfield.tables import format_number
from cranfield.workbench.app_state import get_app_state
from cranfield.workbench.params import FORM, media_type, read_form, read_json
from cranfield.workbench.security import SAFE_METHODS

HERE = Path(str(files("cranfield.workbench")))
# folders of the files that pages load, by the first part of their URL
STATIC_FOLDERS = {
    "": HERE / "static",
    "explore": HERE / "explore" / "static",
    "judging": Path(str(files("cranfield.annotation"))) / "page",
}
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
}


class Page(Record, eq=False):
    """What a handler returns: a template, the value that HTML and JSON show, and what only the template needs.

    `tag` identifies the content, if known: it becomes the ETag, and a browser that has the page gets 304.
    """

    template: str
    value: Any = None
    title: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    tag: str | None = None


Handler = Callable[[Request], Any]  # -> Page, Response, JSON value, or an awaitable of one


def page_routes(path: str, handler: Handler, *, name: str | None = None, role: str | None = None) -> list[Route]:
    """The routes of a page and of its JSON version; for users with a role, or for all.

    A handler that is not a coroutine function runs in a thread.
    """

    async def show_html(request: Request) -> Response:
        return await _answer(request, handler, role, as_json=_accepts_json(request))

    async def show_json(request: Request) -> Response:
        return await _answer(request, handler, role, as_json=True)

    json_path = "/index.json" if path == "/" else f"{path}.json"
    name = name or handler.__name__
    return [
        Route(json_path, show_json, methods=["GET"], name=f"{name}.json"),
        Route(path, show_html, methods=["GET"], name=name),
    ]


def endpoint(path: str, handler: Handler, *, role: str | None = None, methods: Sequence[str] = ("GET",)) -> Route:
    """The route of an API call or a form. Responses are JSON by default, and pages if a form was sent."""

    async def answer(request: Request) -> Response:
        is_form = media_type(request) == FORM and not path.startswith("/api/")
        return await _answer(request, handler, role, as_json=not is_form)

    return Route(path, answer, methods=list(methods), name=handler.__name__)


async def _answer(request: Request, handler: Handler, role: str | None, as_json: bool) -> Response:
    request.state.as_json = as_json
    if request.method not in SAFE_METHODS:
        await check_token(request)
    if role is not None:
        require_role(request, role)
    try:
        result = await _call(handler, request)
    except (HTTPException, CranfieldError):
        raise
    except Exception as error:
        traceback.print_exception(error, file=sys.stderr)
        return error_response(request, 500, SERVER_ERROR)
    if isinstance(result, Response):
        return result
    return respond(request, result, as_json) if isinstance(result, Page) else json_response(result)


async def check_token(request: Request) -> None:
    """Refuse a request with side effects that lacks the CSRF token, which only our own pages know.

    Scripts send it as a header, forms as a field. Also sets `request.state.form` or `request.state.body`.
    """
    token = request.headers.get("x-csrf-token", "")
    if media_type(request) == FORM:
        request.state.form = await read_form(request)
        token = token or request.state.form.text("csrf")
    elif not token:
        raise HTTPException(403, "The CSRF token is missing. Reload the page.")
    state = request.state
    if media_type(request) == "application/json":
        state.body = await read_json(request)
    if not state.session or not get_app_state(request).is_token(state.session, token):
        raise HTTPException(403, "This page is out of date. Reload it.")


async def _call(handler: Handler, request: Request) -> Any:
    """The result of a handler; one that is not a coroutine function runs in a thread."""
    result = handler(request) if iscoroutinefunction(handler) else await run_in_threadpool(handler, request)
    return await result if isawaitable(result) else result


def require_role(request: Request, role: str) -> None:
    """Refuse users without this role."""
    user = request.state.user
    if user is None:
        raise HTTPException(401, "Sign in first.")
    if not user.may(role):
        raise HTTPException(403, f"This page is for {role}s.")


def respond(request: Request, page: Page, as_json: bool) -> Response:
    """A page as HTML or as JSON."""
    headers = {"vary": "Accept, Cookie", "cache-control": "no-store"}
    if page.tag is not None:
        who = request.state.user
        digest = make_etag(page.tag, page.template, str(as_json), repr(who), version("cranfield"), _assets_digest())
        headers |= {"etag": digest, "cache-control": "private, no-cache"}
        if digest in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
    if as_json:
        return json_response(page.value, page.status, headers)
    return Response(
        render(request, page.template, value=page.value, title=page.title, **page.extra),
        page.status,
        headers,
        "text/html; charset=utf-8",
    )


def render(request: Request, template: str, **context: Any) -> bytes:
    """The HTML of a template, which also knows `user`, `csrf`, `app_state` and the functions below."""
    state = request.state
    variables = {
        "request": request,
        "path": request.url.path,
        "user": getattr(state, "user", None),
        "csrf": getattr(state, "csrf", ""),
        "app_state": get_app_state(request),
    }
    return environment().get_template(template).render(variables | context).encode("utf-8", "backslashreplace")


@lru_cache(1)
def environment() -> jinja2.Environment:
    """The templates. All values are escaped; undefined names are errors."""
    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader([HERE / "templates", HERE / "explore" / "templates"]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals |= {"static_url": static_url, "build_url": build_url}
    templates.filters |= {
        "printable": format_label,
        "number": format_score,
        "count": format_count,
        "percent": format_percent,
        "time": format_time,
        "plural": pluralize,
        "quote_id": quote_id,
    }
    return templates


# Formats


def format_score(value: float | None, digits: int = 4) -> str:
    """A number with this many decimals; – for None."""
    return format_number(value, digits)


def format_count(value: int | None) -> str:
    """An integer with thousands separators.

    >>> format_count(12345), format_count(None)
    ('12,345', '–')
    """
    return "–" if value is None else f"{value:,}"


def format_percent(part: float, total: float) -> str:
    """A proportion in percent.

    >>> format_percent(1, 8), format_percent(0, 0)
    ('12 %', '–')
    """
    return f"{100 * part / total:.0f} %" if total else "–"


def format_time(time: str | None) -> str:
    """A timestamp of the judgment log, to the minute.

    >>> format_time("2026-03-01T09:00:00.000000Z")
    '2026-03-01 09:00 UTC'
    """
    return "–" if not time else f"{time[:10]} {time[11:16]} UTC"


def build_url(path: str, **parameters: Any) -> str:
    """A URL within the workbench. Parameters may be ids of any bytes, or lists of values; None leaves one out.

    >>> build_url("/topic", query="a/b\\udcff", system=["x", "y"], depth=None)
    '/topic?query=a%2Fb%FF&system=x&system=y'
    """
    pairs = []
    for name, value in parameters.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                pairs.append(f"{quote(name, safe='')}={quote(encode_id(str(one)), safe='')}")
    return f"{path}?{'&'.join(pairs)}" if pairs else path


def quote_id(text: str) -> str:
    """An id of any bytes as the value of a form field; `Params.id` reads it.

    >>> quote_id("a/\\udcff")
    'a%2F%FF'
    """
    return quote(encode_id(text), safe="")


# JSON


def json_response(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON. Ids that are not UTF-8 are escaped, and come back unchanged."""
    all_headers = {"cache-control": "no-store"} | dict(headers or {})
    return Response(dump_json(value).encode(), status, all_headers, "application/json")


def dump_json(value: Any) -> str:
    """A value as JSON: records as objects, NaN and infinity as null.

    >>> dump_json({"a": float("nan"), "b": (1, 2.0)})
    '{"a":null,"b":[1,2.0]}'
    """
    return json.dumps(to_builtins(value), allow_nan=False, separators=(",", ":"))


def to_builtins(value: Any) -> Any:
    """A value made of the types that JSON knows."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): to_builtins(one) for key, one in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_builtins(one) for one in value]
    if hasattr(value, "to_dict"):
        return to_builtins(value.to_dict())
    if isinstance(value, Record):
        return {one.name: to_builtins(getattr(value, one.name)) for one in fields(value)}
    if hasattr(value, "tolist"):  # NumPy's
        return to_builtins(value.tolist())
    return str(value)


def _accepts_json(request: Request) -> bool:
    accept = request.headers.get("accept", "")
    return "application/json" in accept and "text/html" not in accept


# Static files


def static_url(name: str) -> str:
    """The URL of a static file. It contains a digest of the content, so browsers may cache it forever."""
    return f"/static/{name}?v={_digest(name)}"


def serve_static(request: Request) -> Response:
    name = request.path_params["name"]
    file = _read_static(name)
    if file is None:
        raise HTTPException(404, "There is no such file.")
    content, media_type = file
    is_versioned = request.url.query == f"v={_digest(name)}"
    headers = {
        "etag": f'"{_digest(name)}"',
        "cache-control": "public, max-age=31536000, immutable" if is_versioned else "no-cache",
    }
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(content, headers=headers, media_type=media_type)


@lru_cache(100)
def _read_static(name: str) -> tuple[bytes, str] | None:
    """The content and media type of a static file. Only known names are looked up, so no path leads elsewhere."""
    file = _static_files().get(name)
    return None if file is None else (file.read_bytes(), MEDIA_TYPES[file.suffix])


@lru_cache(1)
def _static_files() -> dict[str, Path]:
    return {
        f"{part}/{file.name}" if part else file.name: file
        for part, folder in STATIC_FOLDERS.items()
        if folder.is_dir()
        for file in sorted(folder.iterdir())
        if file.suffix in MEDIA_TYPES
    }


@lru_cache(100)
def _digest(name: str) -> str:
    file = _read_static(name)
    assert file is not None, f"there is no static file {name}"
    return hashlib.sha256(file[0]).hexdigest()[:16]


@lru_cache(1)
def _assets_digest() -> str:
    """A digest of all templates and static files: another version of them makes cached pages invalid."""
    digest = hashlib.sha256()
    for folder in (HERE / "templates", HERE / "explore" / "templates", *STATIC_FOLDERS.values()):
        for file in sorted(folder.rglob("*")) if folder.is_dir() else ():
            if file.is_file():
                digest.update(file.read_bytes())
    return digest.hexdigest()


def make_etag(*parts: str) -> str:
    """The ETag of a state that these texts identify."""
    return '"' + hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32] + '"'


# Errors

SERVER_ERROR = "Internal server error. The details are in the log of the server."


def redirect(path: str) -> Response:
    """Redirect to another page of the workbench after a form was handled."""
    assert path.startswith("/") and not path.startswith("//")
    return RedirectResponse(path, 303, {"cache-control": "no-store"})


def error_response(request: Request, status: int, message: str, headers: Mapping[str, str] | None = None) -> Response:
    """An error as a page or as JSON."""
    all_headers = {"cache-control": "no-store", **(headers or {})}
    if wants_json(request):
        return JSONResponse({"error": format_label(message)}, status, all_headers)
    title = ERROR_TITLES.get(status, "Error")
    body = render(request, "error.html", title=title, status=status, message=message)
    return Response(body, status, all_headers, "text/html; charset=utf-8")


def wants_json(request: Request) -> bool:
    """Whether the response is JSON, including errors."""
    path = request.url.path
    if getattr(request.state, "as_json", False) or path.startswith("/api/") or path.endswith(".json"):
        return True
    return _accepts_json(request)


ERROR_TITLES = {
    400: "Invalid request",
    401: "Sign in",
    403: "Not allowed",
    404: "Not found",
    405: "Invalid request",
    409: "Not possible now",
    413: "Too large",
    415: "Unsupported format",
    429: "Too many attempts",
    500: "Server error",
    503: "Temporarily unavailable",
    507: "Disk full",
}
