"""What a request asks for: parameters and bodies, read and checked in one place; nonsense is answered 400."""

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
MOST_BODY = 200_000  # bytes; files that are imported may have more
MOST_TEXT = 20_000  # characters of a parameter
MOST_WHOLE = 2**31 - 1
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def bad(message: str) -> HTTPException:
    """What is raised for a request that makes no sense."""
    return HTTPException(400, message)


def missing(message: str) -> HTTPException:
    """What is raised for something that is not there."""
    return HTTPException(404, message)


def not_yet(message: str) -> HTTPException:
    """What is raised for something that will be there in a moment."""
    return HTTPException(503, message, {"Retry-After": "2"})


class Asked:
    """The parameters of a request: those of the address, or those of a form. Ids may hold any bytes."""

    def __init__(self, request: Request | None = None, values: Sequence[tuple[str, str]] | None = None) -> None:
        if values is None:
            assert request is not None
            values = split(request.scope["query_string"].decode("latin-1"))
        self._values: dict[str, list[str]] = {}
        for name, value in values:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def text(self, name: str, default: str = "") -> str:
        """A text; the last one, if there are several."""
        value = self._values.get(name, [default])[-1]
        if len(value) > MOST_TEXT:
            raise bad(f"{name} has {len(value):,} characters, expected {MOST_TEXT:,} at most.")
        return value

    def prose(self, name: str, default: str = "") -> str:
        """A text that somebody wrote, and no id: it must be Unicode."""
        return checked_prose(self.text(name, default), name)

    def needed(self, name: str) -> str:
        """A text that must be there."""
        value = self.text(name)
        if not value:
            raise bad(f"{name} is missing.")
        return value

    def id(self, name: str) -> str:
        """An id in a form, where it stands as `pages.quoted` writes it."""
        return unquote(self.needed(name), errors="surrogateescape")

    def many(self, name: str) -> tuple[str, ...]:
        """All texts of a name, each once; those that are empty are left out."""
        return tuple(dict.fromkeys(value for value in self._values.get(name, ()) if value))

    def choice(self, name: str, choices: Sequence[str], default: str) -> str:
        value = self.text(name) or default
        if value not in choices:
            raise bad(f"{name} is {value!r:.80}, expected one of {', '.join(choices)}.")
        return value

    def whole(self, name: str, default: int, low: int = 0, high: int = 2**31 - 1) -> int:
        value = self.text(name)
        if not value:
            return default
        if not value.isascii() or not value.lstrip("-").isdecimal() or len(value) > 11 or not low <= int(value) <= high:
            raise bad(f"{name} is {value!r:.40}, expected a whole number from {low:,} to {high:,}.")
        return int(value)

    def number(self, name: str, default: float, low: float = 0.0, high: float = 1e9) -> float:
        value = self.text(name)
        if not value:
            return default
        try:
            found = float(value)
        except ValueError:
            found = float("nan")
        if not low <= found <= high:
            raise bad(f"{name} is {value!r:.40}, expected a number from {low:g} to {high:g}.")
        return found

    def flag(self, name: str) -> bool:
        """Whether a box is ticked."""
        return self.text(name) in ("1", "true", "on", "yes")


def split(text: str) -> list[tuple[str, str]]:
    """The names and values of an address or a form.

    >>> split("doc=a%FF&doc=%2F")
    [('doc', 'a\\udcff'), ('doc', '/')]
    """
    try:
        return parse_qsl(text, keep_blank_values=True, errors="surrogateescape", max_num_fields=5_000)
    except ValueError:
        raise bad("there are too many parameters.") from None


async def read_form(request: Request) -> Asked:
    """What a form sends."""
    if media_type(request) != FORM:
        raise HTTPException(415, f"expected a form ({FORM}).")
    return Asked(values=split((await read_body(request)).decode("latin-1")))


def form_of(request: Request) -> Asked:
    """What a form sent, after its token was checked."""
    found: Asked | None = getattr(request.state, "form", None)
    if found is None:
        raise HTTPException(415, f"expected a form ({FORM}).")
    return found


async def read_json(request: Request) -> dict[str, Any]:
    """A JSON object. Only a page of ours can send one: browsers let no other site do so."""
    if media_type(request) != "application/json":
        raise HTTPException(415, "expected JSON (application/json).")
    body = await read_body(request)
    try:
        found = json.loads(body or b"{}", parse_constant=_no_constant, parse_float=_finite)
    except (ValueError, RecursionError):
        raise bad("the body is no JSON.") from None
    if not isinstance(found, dict):
        raise bad(f"expected a JSON object, found {type(found).__name__}.")
    return found


async def read_body(request: Request, most: int = MOST_BODY) -> bytes:
    """The body of a request, as long as it is not too long."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise HTTPException(413, f"this is more than {most:,} bytes.")
    except ClientDisconnect:  # who left the page in the middle of it reads no answer
        raise bad("the body did not come whole.") from None
    return bytes(body)


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def field(given: dict[str, Any], name: str, kind: type | tuple[type, ...], default: Any = ...) -> Any:
    """A value of a JSON object, of the kind that is expected; null is the default, if there is one."""
    value = given.get(name)
    if value is None:
        if default is ...:
            raise bad(f"{name} is missing.")
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise bad(f"{name}: expected {' or '.join(_KINDS[one] for one in kinds)}, found {value!r:.60}.")
    if isinstance(value, str) and len(value) > MOST_TEXT:
        raise bad(f"{name} has {len(value):,} characters, expected {MOST_TEXT:,} at most.")
    if isinstance(value, int) and not -MOST_WHOLE <= value <= MOST_WHOLE:
        raise bad(f"{name} is out of range: expected {MOST_WHOLE:,} at most.")
    return value


def prose(given: dict[str, Any], name: str, default: Any = ...) -> Any:
    """A text of a JSON object that somebody wrote, and no id: it must be Unicode."""
    value = field(given, name, str, default)
    return checked_prose(value, name) if isinstance(value, str) else value


def checked_prose(text: str, name: str) -> str:
    """A text that can be written to any file; halves of characters, bytes that are none and NUL are refused."""
    if _NO_TEXT.search(text):
        raise bad(f"{name} holds what is no text of Unicode.")
    return text


_KINDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", list: "a list"}


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
