"""The page where coordinators manage accounts and invitations."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.errors import InputError
from cranfield.workbench.accounts import ROLES
from cranfield.workbench.app_state import get_accounts
from cranfield.workbench.pages import Page, endpoint, page_routes, redirect, respond
from cranfield.workbench.params import get_form


def routes() -> list[Route]:
    return [
        *page_routes("/people", people_page, role="coordinator"),
        endpoint("/people/invite", invite, role="coordinator", methods=["POST"]),
        endpoint("/people/change", change, role="coordinator", methods=["POST"]),
    ]


def people_page(request: Request) -> Page:
    return _page(request)


def _page(request: Request, message: str = "", link: str = "", name: str = "", status: int = 200) -> Page:
    extra = {"message": message, "link": link, "name": name, "roles": ROLES}
    return Page("people.html", {"people": get_accounts(request).list_all()}, "People", extra, status)


def invite(request: Request) -> Response:
    """Create an invitation link, which is shown once."""
    form = get_form(request)
    name = form.prose("name").strip()
    try:
        secret = get_accounts(request).invite(name, form.choice("role", ROLES, "assessor"), request.state.user.name)
    except InputError as error:
        return respond(request, _page(request, str(error), status=400), False)
    return respond(request, _page(request, link=f"{request.base_url}invitation#{secret}", name=name), False)


def change(request: Request) -> Response:
    """Close or reopen an account, change a role, withdraw an invitation."""
    form = get_form(request)
    name, accounts = form.id("name"), get_accounts(request)
    what = form.choice("what", ("close", "open", "uninvite", *ROLES), "close")
    try:
        if what == "uninvite":
            accounts.revoke_invitation(name)
        elif what in ROLES:
            accounts.set_role(name, what)
        else:
            accounts.set_closed(name, what == "close")
    except InputError as error:
        return respond(request, _page(request, str(error), status=400), False)
    return redirect("/people")
