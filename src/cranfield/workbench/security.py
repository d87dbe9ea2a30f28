"""What every request must pass: the right host, the right origin, and headers that keep a browser from mischief.

Whoever is alone on this machine needs no password, but other sites that run in the same browser must not reach it:
a name that somebody points at 127.0.0.1 (DNS rebinding) is refused by the Host header, a request that another site
sends by the Origin header, and by a token that only our own pages know.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from starlette.requests import Request

from cranfield.base import Record

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
SAFE = ("GET", "HEAD", "OPTIONS")
# no inline script and no inline style anywhere; nothing from elsewhere
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # of other sites nothing; a form of ours still says where it comes from
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Doors(Record):
    """By which names the server may be called."""

    host: str = "127.0.0.1"  # it listens on
    names: tuple[str, ...] = ()  # it is known by besides

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)

    def allows(self, header: str) -> bool:
        """Whether a Host header names this server.

        >>> doors = Doors()
        >>> doors.allows("127.0.0.1:8000"), doors.allows("[::1]:8000"), doors.allows("evil.example:8000")
        (True, True, False)
        """
        name = host_name(header)
        if not name:
            return False
        known = (*LOOPBACK_NAMES, self.host.lower(), *(one.lower() for one in self.names))
        # what is no name cannot be pointed at us by somebody else
        return name in known or is_loopback(name) or (not self.is_local and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, and reachable from it only.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(header: str) -> str:
    """The name in a Host header, without the port; empty if it is none."""
    header = header.strip().lower()
    if header.startswith("["):
        name, closed, rest = header[1:].partition("]")
        return name if closed and (not rest or rest[1:].isdecimal()) else ""
    name, _, port = header.partition(":")
    return name if not port or port.isdecimal() else ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_origin(origin: str, scheme: str, host: str) -> bool:
    """Whether a request comes from a page of this server."""
    return origin == f"{scheme}://{host}"


class Gate:
    """Lets requests in by the right door, and puts the headers on what goes out."""

    def __init__(self, app: Callable[..., Awaitable[None]], doors: Doors) -> None:
        self.app = app
        self.doors = doors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = with_headers(message.get("headers", ()))
            await send(message)

        request = Request(scope, receive)
        wrong = self._refused(request)
        if wrong is not None:
            from starlette.responses import PlainTextResponse

            status, text = wrong
            await PlainTextResponse(text, status)(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _refused(self, request: Request) -> tuple[int, str] | None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self.doors.allows(hosts[0]):
            return 421, "This server does not go by that name. (cranfield serve --name NAME adds a name.)"
        if request.method in SAFE:
            return None
        origins = request.headers.getlist("origin")
        if any(not is_own_origin(one, request.url.scheme, hosts[0]) for one in origins):
            return 403, "This request comes from another site."
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "This request comes from another site."
        return None


def with_headers(given: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers with ours, where they are not set."""
    there = {name.lower() for name, _ in given}
    more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
    return [*given, *more]
