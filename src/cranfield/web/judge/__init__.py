"""Judging in the browser: the page, what it says by JSON, and the pages of those who coordinate."""

from __future__ import annotations

from starlette.routing import Route

from cranfield.web.judge import adjudicating, api, coordinating, exchange, judging


def routes() -> list[Route]:
    """All routes about judging."""
    parts = (judging, api, coordinating, adjudicating, exchange)
    return [route for part in parts for route in part.routes()]
