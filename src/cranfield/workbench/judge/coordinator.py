"""For coordinators: how far judging is and how well it goes, and who judges what."""

from __future__ import annotations

import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.annotation import (
    FEW,
    Assignment,
    agreement,
    assign,
    assignments,
    deal,
    number_of_disputes,
    progress,
    shown_guidelines,
    unassign,
)
from cranfield.base import replace
from cranfield.errors import InputError
from cranfield.reporting import plan_notes
from cranfield.stats import TITLES
from cranfield.workbench.app_state import Site
from cranfield.workbench.judge.judging_service import Room
from cranfield.workbench.pages import Page, endpoint, go_to, twins
from cranfield.workbench.params import form_of

AGREEMENT = ("percent", "overlap", "kappa_quadratic", "alpha_ordinal", "ac2_quadratic")  # what the page shows
MOST_WORK = 500  # rows of assessors and topics on the page; its JSON twin has all
NAMES = re.compile(r"\s*[,;\n]\s*")


def routes() -> list[Route]:
    """Progress and plan."""
    return [
        *twins("/progress", progress_page, role="coordinator"),
        *twins("/plan", plan_page, role="coordinator"),
        endpoint("/plan/settings", set_up, role="coordinator", methods=["POST"]),
        endpoint("/plan/deal", deal_all, role="coordinator", methods=["POST"]),
        endpoint("/plan/give", give, role="coordinator", methods=["POST"]),
        endpoint("/plan/take", take, role="coordinator", methods=["POST"]),
    ]


def progress_page(request: Request) -> Page:
    """How far every topic and every assessor is, how fast it goes, and how far they agree."""
    site: Site = request.app.state.site
    room = room_of(request)
    state = progress(room.log)
    figures = _agreement(site, room)
    value = {
        "pairs": state.pairs,
        "judged": state.judged,
        "complete": state.complete,
        "to_adjudicate": number_of_disputes(room.log),
        "assessors": state.assessors,
        "topics": state.topics,
        "work": state.work,
        "agreement": figures,
        "notes": plan_notes(room.log),
    }
    titles = {topic.query: room.topic(topic.query).title for topic in state.topics}
    more = {
        "titles": titles,
        "figures": [(TITLES[name], figures[name]) for name in AGREEMENT if name in figures],
        "hours": state.hours_left,
        "settings": room.log.settings,
        "few": FEW,
        "most": MOST_WORK,
    }
    return Page("progress.html", value, "Progress", more)


def _agreement(site: Site, room: Room) -> dict[str, Any]:
    """Figures of agreement, worked out anew only when something was judged since, or other judgments count."""
    counts = "SELECT (SELECT MAX(seq) FROM events), (SELECT COUNT(gold) FROM pairs)"
    last = (room.log.read(lambda at: at.row(counts)), room.log.models(), room.log.settings.scale.values)
    known = site.kept.get("agreement")
    if known is None or known[0] != last:
        known = site.kept["agreement"] = (last, agreement(room.log))
    figures: dict[str, Any] = known[1]
    return figures


def plan_page(request: Request) -> Page:
    """Who judges what, how often, and by which grades."""
    return _plan(request)


def _plan(request: Request, message: str = "", status: int = 200) -> Page:
    site: Site = request.app.state.site
    room = room_of(request)
    settings = room.log.settings
    given = assignments(room.log)
    people = [one.name for one in site.accounts.everybody() if one.state != "closed"] if site.accounts else []
    names = list(dict.fromkeys([*people, *room.log.assessors()]))
    value: dict[str, Any] = {
        "settings": {
            name: getattr(settings, name)
            for name in ("guidelines", "judgments", "overlap", "repeats", "hold", "dispute", "seed")
        }
        | {"grades": settings.scale.to_dicts()},
        "assignments": given,
        "assessors": names,
        "topics": [{"query": query, "title": room.topic(query).title} for query in room.log.topics()],
        "has_search": room.has_search,
        "notes": [*room.notes, *plan_notes(room.log)],
    }
    dealt = list(dict.fromkeys(one.assessor for one in given))
    titles = {one["query"]: one["title"] for one in value["topics"]}
    more = {"message": message, "dealt": dealt or people, "titles": titles, "usual": shown_guidelines("")}
    return Page("plan.html", value, "Plan", more, status)


def set_up(request: Request) -> Response | Page:
    """Change how judging is organised."""
    form = form_of(request)
    room = room_of(request)
    before = room.log.settings
    try:
        settings = replace(
            before,
            guidelines=form.prose("guidelines", before.guidelines).replace("\r\n", "\n").strip(),
            judgments=form.whole("judgments", before.judgments, 1, 1000),
            overlap=form.number("overlap", 100 * before.overlap, 0, 100) / 100,
            repeats=form.number("repeats", 100 * before.repeats, 0, 100) / 100,
            hold=round(form.number("hold", before.hold / 60, 0, 1e9) * 60, 3),
            dispute=form.number("dispute", before.dispute, 0.001, 1e6),
        )
        room.log.set_up(settings)
    except InputError as error:
        return _plan(request, str(error), 400)
    except HTTPException as error:
        return _plan(request, str(error.detail), error.status_code)
    return go_to("/plan")


def deal_all(request: Request) -> Response | Page:
    """Deal all topics to some assessors."""
    form = form_of(request)
    room = room_of(request)
    names = [name for name in NAMES.split(form.prose("names").strip()) if name]
    try:
        if not names:
            raise InputError("name those who are to judge, parted by commas.")
        deal(room.log, names, anew=True)
    except InputError as error:
        return _plan(request, str(error), 400)
    return go_to("/plan")


def give(request: Request) -> Response | Page:
    """Give a topic to an assessor."""
    form = form_of(request)
    try:
        given = Assignment(form.needed("assessor"), form.id("query"), form.whole("seat", 0, 0, 1000))
        assign(room_of(request).log, [given])
    except InputError as error:
        return _plan(request, str(error), 400)
    return go_to("/plan#who")


def take(request: Request) -> Response:
    """Take a topic from an assessor; what was judged stays."""
    form = form_of(request)
    unassign(room_of(request).log, form.id("assessor"), [form.id("query")])
    return go_to("/plan#who")


def room_of(request: Request) -> Room:
    site: Site = request.app.state.site
    assert site.room is not None
    return site.room
