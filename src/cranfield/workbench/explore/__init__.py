"""Exploring in the browser: leaderboard, comparisons, topics, documents, the pool, measures, costs.

`routes(served)` are the pages and their JSON twins, `NAV` the lines of the navigation, `openapi()` the paths of the
API. They tell ranks and judgments, and are therefore for coordinators, which the application sees to.

How it is built: `material` finds what is explored and names it by its content; `evaluated` gives scores, from disk
where they were worked out before; `rankings` holds runs on disk, by topic and rank; `jobs` does what takes long;
`visiting` is one request; the other modules are a page each, and hand their values to a template.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.reporting import signed
from cranfield.stats import p_figure
from cranfield.workbench.app_state import Served
from cranfield.workbench.explore import (
    comparison,
    documents,
    efficiency,
    leaderboard,
    measures,
    pooling,
    schemas,
    topics,
)
from cranfield.workbench.explore.collection_view import Nothing
from cranfield.workbench.explore.jobs import NotYet
from cranfield.workbench.explore.request_context import Explorer, Visit
from cranfield.workbench.pages import Page, address, environment, error_response, go_to, json_response, render, twins
from cranfield.workbench.params import split

NAV = (
    ("Leaderboard", "/leaderboard"),
    ("Compare", "/compare"),
    ("Topics", "/topics"),
    ("Pool", "/pool"),
    ("Efficiency", "/efficiency"),
    ("Measures", "/measures"),
)
GROUP = "Exploring"
STATE = "state"  # the field of a form that holds the rest of the address
PAGES: dict[str, Callable[[Visit], Page]] = {
    "/leaderboard": leaderboard.leaderboard,
    "/system": leaderboard.system,
    "/compare": comparison.comparison,
    "/topics": topics.topics,
    "/topic": topics.topic,
    "/explain": topics.explanation,
    "/document": documents.document,
    "/pool": pooling.pool,
    "/measures": measures.measures,
    "/measure": measures.measure,
    "/efficiency": efficiency.efficiency,
}


FILTERS = {
    "signed": lambda value, places=4: signed(value, places),
    "p": p_figure,
    # formulas of measures, made by us of what the registry says
    "markup": Markup,
}


def routes(served: Served) -> list[Route]:
    """The pages and their JSON twins."""
    environment().filters |= FILTERS
    explorer = Explorer(served)
    return [
        route for path, page in PAGES.items() for route in twins(path, _handler(explorer, page), name=path.strip("/"))
    ]


def openapi() -> dict[str, Any]:
    """What the JSON twins take and give."""
    return schemas.paths()


def _handler(explorer: Explorer, page: Callable[[Visit], Page]) -> Callable[[Request], Page | Response]:
    def handle(request: Request) -> Page | Response:
        try:
            visit = Visit(explorer, request)
            return _settled(visit) if STATE in visit.given else page(visit)
        except NotYet as error:
            return _waiting(request, error)
        except Nothing as error:
            return error_response(request, 409, str(error))

    return handle


def _settled(visit: Visit) -> Response:
    """The address that a form asks for: what it says, and of the rest of the state what the page had before.

    A form cannot send ids whose bytes are no text; the state is therefore one field of it, as it stood in the address.
    """
    said = {name: values for name, values in visit.given.items() if name != STATE}
    before: dict[str, list[str]] = {}
    for name, value in split(visit.given[STATE][-1]):
        if value and name != STATE and name not in visit.asked:
            before.setdefault(name, []).append(value)
    return go_to(address(visit.request.url.path, **(before | said)))


def _waiting(request: Request, error: NotYet) -> Response:
    """Something is being worked out: how far it is, and a page that asks again by itself."""
    value = {"waiting": error.what or "it is being worked out", "done": error.done, "of": error.of}
    headers = {"cache-control": "no-store", "retry-after": "1"}
    if request.state.as_json:
        return json_response(value, 202, headers)
    body = render(request, "waiting.html", value=value, title="One moment")
    return Response(body, 202, headers | {"refresh": "1"}, "text/html; charset=utf-8")
