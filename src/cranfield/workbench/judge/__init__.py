"""Judging in the browser: the page for assessors and its API, and the pages for coordinators."""

from __future__ import annotations

from starlette.routing import Route

from cranfield.workbench.judge import adjudication, api, coordinator, import_export, judging_page


def routes() -> list[Route]:
    """All routes about judging."""
    parts = (judging_page, api, coordinator, adjudication, import_export)
    return [route for part in parts for route in part.routes()]
