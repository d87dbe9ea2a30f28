"""Signing in and out, accepting invitations, and identifying the user of a request."""

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
from cranfield.workbench.accounts import MAX_SESSION
from cranfield.workbench.app_state import AppState, User, get_accounts, get_app_state
from cranfield.workbench.pages import Page, build_url, endpoint, page_routes, redirect, respond, wants_json
from cranfield.workbench.params import Params, get_form
from cranfield.workbench.passwords import RateLimiter
from cranfield.workbench.security import Receive, Scope, Send

LOCAL_SESSION = "alone"  # the session where nobody signs in
WINDOW = 900.0  # seconds
# failed attempts allowed in the window: by client and name, by name, by client
MAX_ATTEMPTS = (5, 50, 30)


class AuthenticationMiddleware:
    """Sets `request.state.user` (None if nobody has signed in) and the CSRF token."""

    def __init__(self, app: Callable[..., Awaitable[None]], app_state: AppState) -> None:
        self.app = app
        self.app_state = app_state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope.setdefault("state", {})
            state = scope["state"]
            state["session"], state["user"] = await self._identify(scope)
            state["csrf"] = self.app_state.make_token(state["session"])
            state["as_json"] = False
        await self.app(scope, receive, send)

    async def _identify(self, scope: Scope) -> tuple[str, User | None]:
        app_state = self.app_state
        if app_state.accounts is None:
            return LOCAL_SESSION, app_state.local_user
        secret = read_cookie(scope, app_state.cookie)
        if not secret or scope["path"].startswith("/static/"):
            return secret, None
        return secret, await run_in_threadpool(app_state.accounts.find_user, secret)


def read_cookie(scope: Scope, name: str) -> str:
    """The value of a cookie; empty if there is none."""
    for key, value in scope["headers"]:
        if key == b"cookie":
            try:
                cookie = SimpleCookie(value.decode("latin-1")).get(name)
            except CookieError:
                continue
            if cookie is not None and 0 < len(cookie.value) <= 200:
                return cookie.value
    return ""


def routes(app_state: AppState) -> list[Route]:
    """The session, and with accounts signing in and out."""
    if app_state.accounts is None:
        return [endpoint("/api/session", session)]
    forms = _PasswordForms()
    return [
        endpoint("/api/session", session),
        *page_routes("/sign-in", sign_in_page),
        endpoint("/sign-in", forms.sign_in, methods=["POST"]),
        endpoint("/sign-out", sign_out, methods=["POST"]),
        *page_routes("/invitation", invitation_page),
        endpoint("/invitation", forms.accept, methods=["POST"]),
        *page_routes("/account", account_page, role="assessor"),
        endpoint("/account", forms.change_password, role="assessor", methods=["POST"]),
    ]


def session(request: Request) -> dict[str, Any]:
    """The user, and the token that requests with side effects must send as X-CSRF-Token."""
    user: User | None = request.state.user
    if user is None:
        raise HTTPException(401, "Sign in first.")
    return {"name": user.name, "role": user.role, "csrf": request.state.csrf}


def redirect_to_sign_in(request: Request) -> Response | None:
    """A redirect to the sign-in page for browsers; None for programs."""
    if wants_json(request) or get_app_state(request).accounts is None:
        return None
    wanted = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return redirect(build_url("/sign-in", to=wanted if wanted != "/" else None))


def sign_in_page(request: Request) -> Response | Page:
    to = safe_redirect_path(Params(request).text("to"))
    if request.state.user is not None and not wants_json(request):
        return redirect(to)
    return _respond(request, _sign_in_form(to))


def invitation_page(request: Request) -> Response | Page:
    # the secret follows # in the link, so no log and no Referer contains it; a script puts it into the form
    return _respond(request, _invitation_form())


def account_page(request: Request) -> Page:
    return _account_form(request.state.user)


def _sign_in_form(to: str, message: str = "", name: str = "") -> Page:
    return Page(
        "sign_in.html", {"to": to}, "Sign in", {"message": message, "name": name}, status=403 if message else 200
    )


def _invitation_form(message: str = "") -> Page:
    return Page("invitation.html", {}, "Choose a password", {"message": message}, status=400 if message else 200)


def _account_form(user: User, message: str = "") -> Page:
    value = {"name": user.name, "role": user.role}
    return Page("account.html", value, "Your account", {"message": message}, status=400 if message else 200)


class _PasswordForms:
    """The forms that take passwords, with rate limits."""

    def __init__(self) -> None:
        self._limits = [RateLimiter(attempts, WINDOW) for attempts in MAX_ATTEMPTS]

    def sign_in(self, request: Request) -> Response:
        form = get_form(request)
        name, to = form.text("name").strip(), safe_redirect_path(form.text("to"))
        keys = self._count_attempt(request, name)
        user = get_accounts(request).authenticate(name, form.text("password"))
        if user is None:
            return _respond(request, _sign_in_form(to, "Wrong name or password.", name))
        self._uncount(keys)
        return _start_session(request, user, to)

    def accept(self, request: Request) -> Response:
        form, accounts = get_form(request), get_accounts(request)
        keys = self._count_attempt(request, "\0invitation")
        try:
            if accounts.find_invited(form.text("secret")) is not None:  # whatever password is chosen
                self._uncount(keys, earlier_too=False)
            if form.text("password") != form.text("again"):
                raise InputError("The passwords do not match.")
            user = accounts.accept(form.text("secret"), form.text("password"))
        except InputError as error:
            return _respond(request, _invitation_form(str(error)))
        return _start_session(request, user, "/")

    def change_password(self, request: Request) -> Response:
        form, accounts = get_form(request), get_accounts(request)
        user: User = request.state.user
        keys = self._count_attempt(request, user.name)
        try:
            if accounts.authenticate(user.name, form.text("old")) is None:
                raise InputError("The current password is wrong.")
            self._uncount(keys)
            if form.text("password") != form.text("again"):
                raise InputError("The passwords do not match.")
            accounts.change_password(user.name, form.text("password"))
        except InputError as error:
            return respond(request, _account_form(user, str(error)), False)
        return _start_session(request, user, "/account")

    def _count_attempt(self, request: Request, name: str) -> list[str]:
        """Count an attempt; refuse it if there were too many."""
        host = request.client.host if request.client is not None else ""
        keys = [f"{host} {name}", name, host]
        for n, (limit, key) in enumerate(zip(self._limits, keys, strict=True)):
            seconds = limit.attempt(key)
            if seconds:
                for other, pluralize in zip(self._limits[:n], keys, strict=False):
                    other.uncount(pluralize)  # this attempt is not made
                raise HTTPException(
                    429,
                    f"Too many attempts. Try again in {max(1, round(seconds / 60))} minutes.",
                    {"retry-after": str(int(seconds) + 1)},
                )
        return keys

    def _uncount(self, keys: list[str], earlier_too: bool = True) -> None:
        """Do not count a successful attempt; earlier failures by this client and name were typing errors."""
        for limit, key in zip(self._limits, keys, strict=True):
            limit.uncount(key)
        if earlier_too:
            self._limits[0].reset(keys[0])


def sign_out(request: Request) -> Response:
    get_accounts(request).end_session(request.state.session)
    response = redirect("/sign-in")
    response.delete_cookie(get_app_state(request).cookie, httponly=True, samesite="lax")
    response.headers["clear-site-data"] = '"cache"'
    return response


def safe_redirect_path(text: str) -> str:
    """Where to go after signing in: a page of this server, or else the start page.

    >>> [safe_redirect_path(path) for path in ("/judge?topic=1", "//evil.example", "https://evil.example", "/\\\\evil")]
    ['/judge?topic=1', '/', '/', '/']
    """
    is_own = text.startswith("/") and not text.startswith("//") and "\\" not in text and text.isprintable()
    return text if is_own and not text.startswith(("/sign-in", "/api/")) else "/"


def _start_session(request: Request, user: User, to: str) -> Response:
    """Start a new session, whatever cookie came with the request: it may have been planted (session fixation)."""
    accounts = get_accounts(request)
    if request.state.session:
        accounts.end_session(request.state.session)
    response = redirect(to)
    _set_cookie(request, response, accounts.start_session(user), round(MAX_SESSION))
    return response


def _respond(request: Request, page: Page) -> Response:
    """A page for an unknown user, with a session cookie that ties the CSRF token of its form to this browser."""
    if request.state.session:
        return respond(request, page, wants_json(request))
    request.state.session = secrets.token_urlsafe(32)
    request.state.csrf = get_app_state(request).make_token(request.state.session)
    response = respond(request, page, wants_json(request))
    _set_cookie(request, response, request.state.session, None)
    return response


def _set_cookie(request: Request, response: Response, value: str, seconds: int | None) -> None:
    response.set_cookie(
        get_app_state(request).cookie,
        value,
        max_age=seconds,
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
