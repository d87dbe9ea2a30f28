"""Exploring in the browser: leaderboard, comparisons, topics, documents, the pool, measures, efficiency.

The pages show ranks and judgments, and are therefore for coordinators only.

`collection_view` loads a collection and identifies it by its content; `score_cache` evaluates systems, and `cache`
stores results on disk; `rankings` has runs on disk, by topic and rank; `jobs` runs long computations;
`request_context` is one request. The other modules have a page each.
"""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.tables import format_p, format_signed
from cranfield.workbench.app_state import DataSource
from cranfield.workbench.explore import (
    comparison,
    documents,
    efficiency,
    leaderboard,
    measures,
    pooling,
    topics,
)
from cranfield.workbench.explore.collection_view import NothingToExplore
from cranfield.workbench.explore.jobs import StillRunning
from cranfield.workbench.explore.request_context import Explorer, RequestContext
from cranfield.workbench.pages import (
    Page,
    build_url,
    environment,
    error_response,
    json_response,
    page_routes,
    redirect,
    render,
)
from cranfield.workbench.params import parse_params

NAV = (
    ("Leaderboard", "/leaderboard"),
    ("Compare", "/compare"),
    ("Topics", "/topics"),
    ("Pool", "/pool"),
    ("Efficiency", "/efficiency"),
    ("Measures", "/measures"),
)
GROUP = "Exploring"
STATE = "state"  # the field of a form with the other parameters of the URL
PAGES: dict[str, Callable[[RequestContext], Page]] = {
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
    "signed": lambda value, places=4: format_signed(value, places),
    "p": format_p,
    # formulas of measures, which come from our own registry
    "markup": Markup,
}


def routes(source: DataSource) -> list[Route]:
    environment().filters |= FILTERS
    explorer = Explorer(source)
    return [
        route
        for path, page in PAGES.items()
        for route in page_routes(path, _make_handler(explorer, page), name=path.strip("/"), role="coordinator")
    ]


def _make_handler(explorer: Explorer, page: Callable[[RequestContext], Page]) -> Callable[[Request], Page | Response]:
    def handle(request: Request) -> Page | Response:
        try:
            context = RequestContext(explorer, request)
            return _redirect_form(context) if STATE in context.url_params else page(context)
        except StillRunning as error:
            return _show_progress(request, error)
        except NothingToExplore as error:
            return error_response(request, 409, str(error))

    return handle


def _redirect_form(context: RequestContext) -> Response:
    """Redirect a form to the URL with its fields and the other parameters that the page had before.

    Forms cannot send ids that are not UTF-8, so the parameters of the page are one field, encoded as in the URL.
    """
    fields = {name: values for name, values in context.url_params.items() if name != STATE}
    before: dict[str, list[str]] = {}
    for name, value in parse_params(context.url_params[STATE][-1]):
        if value and name != STATE and name not in context.params:
            before.setdefault(name, []).append(value)
    return redirect(build_url(context.request.url.path, **(before | fields)))


def _show_progress(request: Request, error: StillRunning) -> Response:
    """The progress of a computation, on a page that reloads itself."""
    value = {"waiting": error.what or "computing", "done": error.done, "of": error.of}
    headers = {"cache-control": "no-store", "retry-after": "1"}
    if request.state.as_json:
        return json_response(value, 202, headers)
    body = render(request, "waiting.html", value=value, title="Computing")
    return Response(body, 202, headers | {"refresh": "1"}, "text/html; charset=utf-8")
