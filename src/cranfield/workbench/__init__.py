"""The workbench: judging and exploring in a browser. `make_app` creates the application; `cranfield serve` serves it.

    app = make_app(open_workspace("trec8"))                 # explore a workspace, as the local user
    app = make_app(qrels="qrels.txt", runs=["a.run"])       # explore runs without one

A handler takes a request and returns a `pages.Page`: a template, a value, and what only the template needs.
`pages.page_routes("/topics", handler)` are the routes of the page and of its JSON version, /topics.json, which is the
value. `params.Params(request)` reads parameters and answers 400 if they are invalid.
Ids are in the query string (`pages.build_url("/topic", query="51")`) and may contain any bytes. Pages have no inline
scripts and styles: those are files in `static/`, linked by `static_url("app.css")`.

`judge` has the pages for assessors and coordinators, `explore` those that show results. Both name their routes in
`routes()` and their part of the API in `schemas.paths()`. Everything here needs the extra `web`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.workbench.app import make_app
    from cranfield.workbench.server import bind_socket, open_workbench, serve, server_url

__all__, __getattr__ = lazy_exports(
    __name__, {"app": "make_app", "server": "bind_socket open_workbench serve server_url"}
)
