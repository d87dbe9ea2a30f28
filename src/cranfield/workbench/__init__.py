"""The workbench: judging and exploring in a browser. `make_app` makes it; `cranfield serve` serves it.

    app = make_app(open_workspace("trec8"))                 # judge and explore, alone on 127.0.0.1
    app = make_app(qrels="qrels.txt", runs=["a.run"])       # explore only

How a page is made: a handler takes a request and returns one `pages.Page` (a template, a value, and what only the
template needs); `pages.twins("/topics", handler)` are the routes of the page and of its JSON twin, /topics.json. The
value is what JSON shows; the template has it as `value`. Parameters are read by `asking.Asked(request)`, which answers
400 for what makes no sense. Ids stand in the query string (`pages.address("/topic", query="51")`), whatever bytes they
have. Pages for coordinators are `twins(…, role="coordinator")`. No script and no style stands in a page: files in
`static/` do, named by `{{ static("app.css") }}`.

Exploring is the package `explore`: its `routes(served)` (see `site.Served`), its lines of the navigation `NAV` (label
and path; the first is where a coordinator begins) and its part of the API, `openapi()` (paths of OpenAPI). Its pages
are for coordinators, which the application sees to. Templates and static files are in its folders of that name, the
latter at `static("explore/…")`. Texts of documents by id come from `library.Library`, which keeps them on disk.

All of it needs the extra `web`; nothing outside this package imports it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.workbench.app import make_app
    from cranfield.workbench.server import address_of, listening, run, set_up

__all__, __getattr__ = lazy_exports(__name__, {"app": "make_app", "server": "address_of listening run set_up"})
