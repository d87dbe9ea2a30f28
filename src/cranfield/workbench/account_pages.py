"""For coordinators: who has an account, and links by which others get one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.errors import InputError
from cranfield.workbench.accounts import ROLES, Accounts
from cranfield.workbench.app_state import Site
from cranfield.workbench.pages import Page, endpoint, go_to, respond, twins
from cranfield.workbench.params import form_of


def routes() -> list[Route]:
    """The page, and what can be done there."""
    return [
        *twins("/people", people_page, role="coordinator"),
        endpoint("/people/invite", invite, role="coordinator", methods=["POST"]),
        endpoint("/people/change", change, role="coordinator", methods=["POST"]),
    ]


def people_page(request: Request) -> Page:
    return _page(request)


def _page(request: Request, message: str = "", link: str = "", name: str = "", status: int = 200) -> Page:
    more = {"message": message, "link": link, "name": name, "roles": ROLES}
    return Page("people.html", {"people": _accounts(request).everybody()}, "People", more, status)


def invite(request: Request) -> Response:
    """Make a link by which somebody can choose a password. It is shown once."""
    form = form_of(request)
    name = form.prose("name").strip()
    try:
        secret = _accounts(request).invite(name, form.choice("role", ROLES, "assessor"), request.state.user.name)
    except InputError as error:
        return respond(request, _page(request, str(error), status=400), False)
    return respond(request, _page(request, link=f"{request.base_url}invitation#{secret}", name=name), False)


def change(request: Request) -> Response:
    """Close an account or open it again, change a role, take an invitation back."""
    form = form_of(request)
    name, accounts = form.id("name"), _accounts(request)
    what = form.choice("what", ("close", "open", "uninvite", *ROLES), "close")
    try:
        if what == "uninvite":
            accounts.uninvite(name)
        elif what in ROLES:
            accounts.set_role(name, what)
        else:
            accounts.set_closed(name, what == "close")
    except InputError as error:
        return respond(request, _page(request, str(error), status=400), False)
    return go_to("/people")


def _accounts(request: Request) -> Accounts:
    site: Site = request.app.state.site
    assert site.accounts is not None
    return site.accounts
