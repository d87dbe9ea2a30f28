"""Checks of host and origin for every request, and security headers for every response.

A local user needs no password, but other sites open in the same browser must not reach the server. The Host header
protects against DNS rebinding (a foreign name that resolves to 127.0.0.1); the Origin header and the CSRF token protect
against requests sent by other sites.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from cranfield.base import Record

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
# no inline scripts or styles, and nothing from other origins
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    # other sites see no referrer; our own forms still send theirs
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class AllowedHosts(Record):
    """The host names under which the server answers."""

    host: str = "127.0.0.1"  # the address to listen on
    names: tuple[str, ...] = ()  # additional names

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host)

    def allows(self, header: str) -> bool:
        """Whether a Host header names this server.

        >>> hosts = AllowedHosts()
        >>> hosts.allows("127.0.0.1:8000"), hosts.allows("[::1]:8000"), hosts.allows("evil.example:8000")
        (True, True, False)
        """
        name = host_name(header)
        if not name:
            return False
        known = (*LOOPBACK_NAMES, self.host.lower(), *(one.lower() for one in self.names))
        # an IP address, unlike a name, cannot be pointed at this server by others
        return name in known or is_loopback(name) or (not self.is_local and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether a host is a loopback address.

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
    """The name in a Host header, without the port; empty if the header is invalid."""
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


class SecurityMiddleware:
    """Refuses requests with a wrong host or origin, and adds the security headers to responses."""

    def __init__(self, app: Callable[..., Awaitable[None]], hosts: AllowedHosts) -> None:
        self.app = app
        self.hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = add_headers(message.get("headers", ()))
            await send(message)

        request = Request(scope, receive)
        refusal = self._refuse(request)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _refuse(self, request: Request) -> PlainTextResponse | None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or not self.hosts.allows(hosts[0]):
            return PlainTextResponse("Unknown host name. (cranfield serve --name NAME adds a name.)", 421)
        if request.method in SAFE_METHODS:
            return None
        origins = request.headers.getlist("origin")
        is_own = all(origin == f"{request.url.scheme}://{hosts[0]}" for origin in origins)
        if not is_own or request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return PlainTextResponse("This request comes from another site.", 403)
        return None


def add_headers(headers: Sequence[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Headers plus the security headers that are not among them."""
    names = {name.lower() for name, _ in headers}
    added = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items() if name.encode() not in names]
    return [*headers, *added]
