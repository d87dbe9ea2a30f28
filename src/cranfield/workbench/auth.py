"""Signing in and out, invitations, and finding out who is asking."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.errors import InputError
from cranfield.workbench.accounts import LONGEST
from cranfield.workbench.app_state import Site, User
from cranfield.workbench.pages import Page, address, endpoint, go_to, respond, twins, wants_json
from cranfield.workbench.params import Asked, form_of
from cranfield.workbench.passwords import Patience
from cranfield.workbench.security import Receive, Scope, Send

ALONE = "alone"  # the session of whoever is alone on this machine
QUARTER = 900.0  # seconds
# attempts that may fail in a quarter of an hour: by one address at one name, at one name, and by one address
ATTEMPTS = (5, 50, 30)


class Identity:
    """Finds out who is asking: `request.state.user`, None for nobody; and the token that only our pages know."""

    def __init__(self, app: Callable[..., Awaitable[None]], site: Site) -> None:
        self.app = app
        self.site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})
            state = scope["state"]
            state["session"], state["user"] = await self._found(scope)
            state["csrf"] = self.site.token(state["session"])
            state["as_json"] = False
        await self.app(scope, receive, send)

    async def _found(self, scope: Scope) -> tuple[str, User | None]:
        site = self.site
        if site.accounts is None:
            return ALONE, site.alone
        secret = cookie_in(scope, site.cookie)
        if not secret or scope["path"].startswith("/static/"):
            return secret, None
        return secret, await run_in_threadpool(site.accounts.user, secret)


def cookie_in(scope: Scope, name: str) -> str:
    """The cookie of a session; empty if there is none."""
    for key, value in scope["headers"]:
        if key == b"cookie":
            try:
                found = SimpleCookie(value.decode("latin-1")).get(name)
            except CookieError:
                continue
            if found is not None and 0 < len(found.value) <= 200:
                return found.value
    return ""


def routes(site: Site) -> list[Route]:
    """Signing in and out; nothing of it where nobody needs to."""
    found = [endpoint("/api/session", session)]
    if site.accounts is None:
        return found
    guard = _Guard()
    return [
        *found,
        *twins("/sign-in", sign_in_page),
        endpoint("/sign-in", guard.sign_in, methods=["POST"]),
        endpoint("/sign-out", sign_out, methods=["POST"]),
        *twins("/invitation", invitation_page),
        endpoint("/invitation", guard.accept, methods=["POST"]),
        *twins("/account", account_page, role="assessor"),
        endpoint("/account", guard.change_password, role="assessor", methods=["POST"]),
    ]


def session(request: Request) -> dict[str, Any]:
    """Who is asking, and the token that requests which change something must send as X-CSRF-Token."""
    user: User | None = request.state.user
    if user is None:
        raise HTTPException(401, "Sign in first.")
    return {"name": user.name, "role": user.role, "csrf": request.state.csrf}


def asked_to_sign_in(request: Request) -> Response | None:
    """Where a page is asked for by nobody, the way to sign in; None where a program asks."""
    if wants_json(request) or request.app.state.site.accounts is None:
        return None
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return go_to(address("/sign-in", to=wanted if wanted != "/" else None))


def sign_in_page(request: Request) -> Response | Page:
    to = own_path(Asked(request).text("to"))
    if request.state.user is not None and not wants_json(request):
        return go_to(to)
    return _fresh(request, Page("sign_in.html", {"to": to}, "Sign in", {"message": "", "name": ""}))


def invitation_page(request: Request) -> Response | Page:
    # the secret stands behind #: no log and no Referer ever has it; a script puts it into the form
    return _fresh(request, Page("invitation.html", {}, "You are invited", {"message": ""}))


def account_page(request: Request) -> Page:
    user: User = request.state.user
    return Page("account.html", {"name": user.name, "role": user.role}, "Your account", {"message": "", "done": False})


class _Guard:
    """What takes passwords, and how often."""

    def __init__(self) -> None:
        self._limits = [Patience(attempts, QUARTER) for attempts in ATTEMPTS]

    def sign_in(self, request: Request) -> Response:
        form = form_of(request)
        site: Site = request.app.state.site
        assert site.accounts is not None
        name, to = form.text("name").strip(), own_path(form.text("to"))
        keys = self._wait(request, name)
        user = site.accounts.check(name, form.text("password"))
        if user is None:
            page = Page(
                "sign_in.html",
                {"to": to},
                "Sign in",
                {"message": "The name or the password is wrong.", "name": name},
                status=403,
            )
            return _fresh(request, page)
        self._was_right(keys)
        return _begin(request, user, to)

    def accept(self, request: Request) -> Response:
        form = form_of(request)
        site: Site = request.app.state.site
        assert site.accounts is not None
        keys = self._wait(request, "\0invitation")
        try:
            if site.accounts.invited(form.text("secret")) is not None:  # whatever password is chosen
                self._was_right(keys, forgives=False)
            if form.text("password") != form.text("again"):
                raise InputError("the two passwords differ.")
            user = site.accounts.accept(form.text("secret"), form.text("password"))
        except InputError as error:
            more = {"message": f"{error}"}
            return _fresh(request, Page("invitation.html", {}, "You are invited", more, status=400))
        return _begin(request, user, "/")

    def change_password(self, request: Request) -> Response:
        form = form_of(request)
        site: Site = request.app.state.site
        user: User = request.state.user
        assert site.accounts is not None
        keys = self._wait(request, user.name)
        message = ""
        is_right = site.accounts.check(user.name, form.text("old")) is not None
        if is_right:
            self._was_right(keys)
        if not is_right:
            message = "The old password is wrong."
        elif form.text("password") != form.text("again"):
            message = "The two passwords differ."
        else:
            try:
                site.accounts.change_password(user.name, form.text("password"))
            except InputError as error:
                message = str(error)
        if not message:
            return _begin(request, user, "/account")
        value = {"name": user.name, "role": user.role}
        page = Page("account.html", value, "Your account", {"message": message, "done": False}, status=400)
        return respond(request, page, False)

    def _wait(self, request: Request, name: str) -> list[str]:
        """Count an attempt, or refuse it."""
        host = request.client.host if request.client is not None else ""
        keys = [f"{host} {name}", name, host]
        for n, (limit, key) in enumerate(zip(self._limits, keys, strict=True)):
            seconds = limit.wait(key)
            if seconds:
                for other, counted in zip(self._limits[:n], keys, strict=False):
                    other.take_back(counted)  # it was not made
                raise HTTPException(
                    429,
                    f"Too many attempts. Try again in {max(1, round(seconds / 60))} minutes.",
                    {"retry-after": str(int(seconds) + 1)},
                )
        return keys

    def _was_right(self, keys: list[str], forgives: bool = True) -> None:
        """Take back an attempt, which was no guess; whoever knows a password may have mistyped it before."""
        for limit, key in zip(self._limits, keys, strict=True):
            limit.take_back(key)
        if forgives:
            self._limits[0].forgive(keys[0])


def sign_out(request: Request) -> Response:
    site: Site = request.app.state.site
    assert site.accounts is not None
    site.accounts.end(request.state.session)
    gone = go_to("/sign-in")
    gone.delete_cookie(site.cookie, httponly=True, samesite="lax")
    gone.headers["clear-site-data"] = '"cache"'
    return gone


def own_path(text: str) -> str:
    """Where to go after signing in: a page of ours, whatever was asked for.

    >>> own_path("/judge?topic=1"), own_path("//evil.example"), own_path("https://evil.example"), own_path("/\\\\evil")
    ('/judge?topic=1', '/', '/', '/')
    """
    is_own = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if is_own and not text.startswith(("/sign-in", "/api/")) else "/"


def _begin(request: Request, user: User, to: str) -> Response:
    """A session that is new, whatever cookie came with the request: nobody can have planted it."""
    site: Site = request.app.state.site
    assert site.accounts is not None
    if request.state.session:
        site.accounts.end(request.state.session)
    gone = go_to(to)
    _set_cookie(request, gone, site.accounts.begin(user), round(LONGEST))
    return gone


def _fresh(request: Request, page: Page) -> Response:
    """A page for somebody who is not known, with a cookie, so that the token of its form is of this browser only."""
    if not request.state.session:
        site: Site = request.app.state.site
        request.state.session = secrets.token_urlsafe(32)
        request.state.csrf = site.token(request.state.session)
        answer = respond(request, page, wants_json(request))
        _set_cookie(request, answer, request.state.session, None)
        return answer
    return respond(request, page, wants_json(request))


def _set_cookie(request: Request, answer: Response, value: str, seconds: int | None) -> None:
    answer.set_cookie(
        request.app.state.site.cookie,
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
