"""Parameters and bodies of requests, read and checked; invalid ones are answered with 400."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

FORM = "application/x-www-form-urlencoded"
MAX_BODY = 200_000  # bytes; imported files may be larger
MAX_TEXT = 20_000  # characters of a parameter
MAX_INTEGER = 2**31 - 1
_NOT_TEXT = re.compile("[\0\ud800-\udfff]")


def bad_request(message: str) -> HTTPException:
    """The error for an invalid request."""
    return HTTPException(400, message)


def not_found(message: str) -> HTTPException:
    """The error for something that does not exist."""
    return HTTPException(404, message)


def unavailable(message: str) -> HTTPException:
    """The error for something that will be available soon."""
    return HTTPException(503, message, {"Retry-After": "2"})


class Params:
    """The parameters in the URL of a request, or in a form. Ids may contain any bytes."""

    def __init__(self, request: Request | None = None, values: Sequence[tuple[str, str]] | None = None) -> None:
        if values is None:
            assert request is not None
            values = parse_params(request.scope["query_string"].decode("latin-1"))
        self._values: dict[str, list[str]] = {}
        for name, value in values:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str = "") -> str:
        """The value, or the last one if there are several."""
        value = self._values.get(name, [default])[-1]
        if len(value) > MAX_TEXT:
            raise bad_request(f"{name} has {len(value):,} characters, expected at most {MAX_TEXT:,}.")
        return value

    def prose(self, name: str, default: str = "") -> str:
        """Text that a person wrote (not an id): it must be Unicode."""
        return check_prose(self.text(name, default), name)

    def required(self, name: str) -> str:
        """A value that must be present."""
        value = self.text(name)
        if not value:
            raise bad_request(f"{name} is missing.")
        return value

    def id(self, name: str) -> str:
        """An id in a form, as written by `pages.quote_id`."""
        return unquote(self.required(name), errors="surrogateescape")

    def many(self, name: str) -> tuple[str, ...]:
        """All values, without duplicates and empty ones."""
        return tuple(dict.fromkeys(value for value in self._values.get(name, ()) if value))

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self.text(name) or default
        if value not in choices:
            raise bad_request(f"{name} is {value!r:.80}, expected one of {', '.join(choices)}.")
        return value

    def integer(self, name: str, default: int, low: int = 0, high: int = MAX_INTEGER) -> int:
        value = self.text(name)
        if not value:
            return default
        if not value.isascii() or not value.lstrip("-").isdecimal() or len(value) > 11 or not low <= int(value) <= high:
            raise bad_request(f"{name} is {value!r:.40}, expected a whole number from {low:,} to {high:,}.")
        return int(value)

    def number(self, name: str, default: float, low: float = 0.0, high: float = 1e9) -> float:
        value = self.text(name)
        if not value:
            return default
        try:
            number = float(value)
        except ValueError:
            number = float("nan")
        if not low <= number <= high:
            raise bad_request(f"{name} is {value!r:.40}, expected a number from {low:g} to {high:g}.")
        return number

    def flag(self, name: str) -> bool:
        """Whether a box is checked."""
        return self.text(name) in ("1", "true", "on", "yes")


def parse_params(text: str) -> list[tuple[str, str]]:
    """The names and values in a query string or a form.

    >>> parse_params("doc=a%FF&doc=%2F")
    [('doc', 'a\\udcff'), ('doc', '/')]
    """
    try:
        return parse_qsl(text, keep_blank_values=True, errors="surrogateescape", max_num_fields=5_000)
    except ValueError:
        raise bad_request("too many parameters.") from None


async def read_form(request: Request) -> Params:
    """Read the fields of a form."""
    if media_type(request) != FORM:
        raise HTTPException(415, f"expected a form ({FORM}).")
    return Params(values=parse_params((await read_body(request)).decode("latin-1")))


def get_form(request: Request) -> Params:
    """The fields of a form whose token was checked."""
    form: Params | None = getattr(request.state, "form", None)
    if form is None:
        raise HTTPException(415, f"expected a form ({FORM}).")
    return form


def get_json(request: Request) -> dict[str, Any]:
    """The JSON object of a request whose token was checked."""
    body: dict[str, Any] | None = getattr(request.state, "body", None)
    if body is None:
        raise HTTPException(415, "expected JSON (application/json).")
    return body


async def read_json(request: Request) -> dict[str, Any]:
    """Read a JSON object. Browsers let only our own pages send one, no other site."""
    if media_type(request) != "application/json":
        raise HTTPException(415, "expected JSON (application/json).")
    body = await read_body(request)
    try:
        value = json.loads(body or b"{}", parse_constant=_refuse_constant, parse_float=_parse_finite)
    except (ValueError, RecursionError):
        raise bad_request("the body is not valid JSON.") from None
    if not isinstance(value, dict):
        raise bad_request(f"expected a JSON object, found {type(value).__name__}.")
    return value


async def read_body(request: Request, limit: int = MAX_BODY) -> bytes:
    """Read the body of a request, unless it is too large."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise HTTPException(413, f"the request has more than {limit:,} bytes.")
    except ClientDisconnect:  # nobody will read the response
        raise bad_request("the body is incomplete.") from None
    return bytes(body)


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def get_field(body: dict[str, Any], name: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
    """A value of a JSON object, of the expected type; missing or null means the default, if there is one."""
    value = body.get(name)
    if value is None:
        if default is ...:
            raise bad_request(f"{name} is missing.")
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise bad_request(f"{name}: expected {' or '.join(_KINDS[one] for one in kinds)}, found {value!r:.60}.")
    if isinstance(value, str) and len(value) > MAX_TEXT:
        raise bad_request(f"{name} has {len(value):,} characters, expected at most {MAX_TEXT:,}.")
    if isinstance(value, int) and not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise bad_request(f"{name} is out of range: expected at most {MAX_INTEGER:,}.")
    return value


def get_prose(body: dict[str, Any], name: str, default: Any = ...) -> Any:
    """Text in a JSON object that a person wrote (not an id): it must be Unicode."""
    value = get_field(body, name, str, default)
    return check_prose(value, name) if isinstance(value, str) else value


def check_prose(text: str, name: str) -> str:
    """Return text that can be written to any file; refuse surrogates and NUL."""
    if _NOT_TEXT.search(text):
        raise bad_request(f"{name} is not valid Unicode text.")
    return text


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _parse_finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
