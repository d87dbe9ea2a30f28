"""Pages for coordinators: progress and agreement, and the plan of who judges what."""

from __future__ import annotations

import re
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.annotation import (
    MIN_TIMED,
    Assignment,
    assign,
    assign_evenly,
    choose_guidelines,
    compute_progress,
    count_disputes,
    list_assignments,
    measure_agreement,
    unassign,
)
from cranfield.base import replace
from cranfield.errors import InputError
from cranfield.reporting import annotation as annotation_report
from cranfield.stats import AGREEMENT_TITLES
from cranfield.workbench.app_state import get_app_state, get_judging
from cranfield.workbench.judge.judging_service import JudgingService
from cranfield.workbench.pages import Page, endpoint, page_routes, redirect
from cranfield.workbench.params import get_form

AGREEMENT = ("percent", "overlap", "kappa_quadratic", "alpha_ordinal", "ac2_quadratic")  # shown on the page
MAX_WORK_ROWS = 500  # rows of assessors and topics on the page; the JSON has all
SEPARATOR = re.compile(r"\s*[,;\n]\s*")


def routes() -> list[Route]:
    return [
        *page_routes("/progress", progress_page, role="coordinator"),
        *page_routes("/plan", plan_page, role="coordinator"),
        endpoint("/plan/settings", change_settings, role="coordinator", methods=["POST"]),
        endpoint("/plan/deal", assign_all, role="coordinator", methods=["POST"]),
        endpoint("/plan/give", assign_topic, role="coordinator", methods=["POST"]),
        endpoint("/plan/take", unassign_topic, role="coordinator", methods=["POST"]),
    ]


def progress_page(request: Request) -> Page:
    """Progress and pace by topic and assessor, and agreement between assessors."""
    judging = get_judging(request)
    state = compute_progress(judging.log)
    figures = _agreement(request, judging)
    value = {
        "pairs": state.pairs,
        "judged": state.judged,
        "complete": state.complete,
        "to_adjudicate": count_disputes(judging.log),
        "assessors": state.assessors,
        "topics": state.topics,
        "work": state.work,
        "agreement": figures,
        "notes": annotation_report.check_plan(judging.log),
    }
    titles = {topic.query: judging.topic(topic.query).title for topic in state.topics}
    extra = {
        "titles": titles,
        "figures": [(AGREEMENT_TITLES[name], figures[name]) for name in AGREEMENT if name in figures],
        "hours": state.hours_left,
        "settings": judging.log.settings,
        "few": MIN_TIMED,
        "most": MAX_WORK_ROWS,
    }
    return Page("progress.html", value, "Progress", extra)


def _agreement(request: Request, judging: JudgingService) -> dict[str, Any]:
    """Agreement between assessors, cached until the judgments that count change."""
    counts = "SELECT (SELECT MAX(seq) FROM events), (SELECT COUNT(gold) FROM pairs)"
    last = (judging.log.read(lambda at: at.row(counts)), judging.log.models(), judging.log.settings.scale.values)
    cache = get_app_state(request).cache
    if "agreement" not in cache or cache["agreement"][0] != last:
        cache["agreement"] = (last, measure_agreement(judging.log))
    figures: dict[str, Any] = cache["agreement"][1]
    return figures


def plan_page(request: Request) -> Page:
    """Settings and assignments."""
    return _plan(request)


def _plan(request: Request, message: str = "", status: int = 200) -> Page:
    accounts = get_app_state(request).accounts
    judging = get_judging(request)
    settings = judging.log.settings
    assigned = list_assignments(judging.log)
    people = [account.name for account in accounts.list_all() if account.state != "closed"] if accounts else []
    names = list(dict.fromkeys([*people, *judging.log.assessors()]))
    value: dict[str, Any] = {
        "settings": {
            name: getattr(settings, name)
            for name in ("guidelines", "judgments", "overlap", "repeats", "hold", "dispute", "seed")
        }
        | {"grades": settings.scale.to_dicts()},
        "assignments": assigned,
        "assessors": names,
        "topics": [{"query": query, "title": judging.topic(query).title} for query in judging.log.topics()],
        "has_search": judging.has_search,
        "notes": [*judging.notes, *annotation_report.check_plan(judging.log)],
    }
    dealt = list(dict.fromkeys(one.assessor for one in assigned))
    titles = {one["query"]: one["title"] for one in value["topics"]}
    extra = {"message": message, "dealt": dealt or people, "titles": titles, "usual": choose_guidelines("")}
    return Page("plan.html", value, "Plan", extra, status)


def change_settings(request: Request) -> Response | Page:
    form = get_form(request)
    judging = get_judging(request)
    before = judging.log.settings
    try:
        settings = replace(
            before,
            guidelines=form.prose("guidelines", before.guidelines).replace("\r\n", "\n").strip(),
            judgments=form.integer("judgments", before.judgments, 1, 1000),
            overlap=form.number("overlap", 100 * before.overlap, 0, 100) / 100,
            repeats=form.number("repeats", 100 * before.repeats, 0, 100) / 100,
            hold=round(form.number("hold", before.hold / 60, 0, 1e9) * 60, 3),
            dispute=form.number("dispute", before.dispute, 0.001, 1e6),
        )
        judging.log.configure(settings)
    except InputError as error:
        return _plan(request, str(error), 400)
    except HTTPException as error:
        return _plan(request, str(error.detail), error.status_code)
    return redirect("/plan")


def assign_all(request: Request) -> Response | Page:
    """Distribute all topics among assessors."""
    form = get_form(request)
    judging = get_judging(request)
    names = [name for name in SEPARATOR.split(form.prose("names").strip()) if name]
    try:
        if not names:
            raise InputError("enter the names of assessors, separated by commas.")
        assign_evenly(judging.log, names, replace=True)
    except InputError as error:
        return _plan(request, str(error), 400)
    return redirect("/plan")


def assign_topic(request: Request) -> Response | Page:
    form = get_form(request)
    try:
        assignment = Assignment(form.required("assessor"), form.id("query"), form.integer("seat", 0, 0, 1000))
        assign(get_judging(request).log, [assignment])
    except InputError as error:
        return _plan(request, str(error), 400)
    return redirect("/plan#who")


def unassign_topic(request: Request) -> Response:
    """Take a topic from an assessor; its judgments stay."""
    form = get_form(request)
    unassign(get_judging(request).log, form.id("assessor"), [form.id("query")])
    return redirect("/plan#who")
