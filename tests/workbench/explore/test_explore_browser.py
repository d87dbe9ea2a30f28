"""Exploring in a real browser: no errors in the console, tables sort and filter, Back works."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.experiment.workspace import open_workspace
from cranfield.workbench import make_app
from cranfield.workbench.explore import pooling, request_context
from tests.waiting import TIMEOUT
from tests.workbench.conftest import serving
from tests.workbench.explore.conftest import lay_out

COSTS = (
    '{"latency": [{"system": "bm25", "p50": {"value": 1.0, "low": 0.9, "high": 1.1}, "p95": 2.0},'
    ' {"system": "lsi", "p50": 3.5, "p95": 4.0}], "queries": 30}'
)
PAGES = (
    "/leaderboard",
    "/system?system=lsi",
    "/compare?system=lsi&baseline=bm25",
    "/topics",
    "/topic?query=5&system=lsi&system=bm25&system=rm3",
    "/topic?query=5&show=b003",
    "/explain?query=5&system=bm25&measure=nDCG@10",
    "/document?doc=b003&query=1",
    "/pool",
    "/measures",
    "/measure?name=nDCG@10",
    "/efficiency",
)
SCREENS: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1200, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True},
    "dark": {"viewport": {"width": 1200, "height": 900}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    place: Path = lay_out(tmp_path_factory.mktemp("browsed"))
    (place / "efficiency.json").write_text(COSTS)
    with serving(make_app(open_workspace(place))) as address:
        yield address


@pytest.fixture
def page(chromium: Any, server: str) -> Iterator[Any]:
    """A tab that fails the test if the console reports anything."""
    context = chromium.new_context(viewport={"width": 1200, "height": 900}, base_url=server)
    tab = context.new_page()
    yield watched(tab)
    context.close()
    assert not tab.complaints


def watched(tab: Any) -> Any:
    tab.complaints = []
    tab.on("console", lambda said: tab.complaints.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.on("request", lambda request: request.url.startswith("http://127.0.0.1:") or tab.complaints.append(request.url))
    return tab


def first_column(page: Any, table: str, cell: str = "th[scope=row] a") -> list[str]:
    found: list[str] = page.locator(f"#{table} tbody {cell}").all_inner_texts()
    return found


@pytest.mark.parametrize("screen", SCREENS)
def test_every_page_is_drawn_without_a_complaint_and_fits(chromium: Any, server: str, screen: str) -> None:
    context = chromium.new_context(base_url=server, **SCREENS[screen])
    tab = watched(context.new_page())
    for address in PAGES:
        answer = tab.goto(address)
        assert answer is not None and answer.status == 200
        widths = tab.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert widths[0] <= widths[1], (address, widths)
    context.close()
    assert not tab.complaints


def test_a_click_on_a_heading_sorts_and_back_undoes_it(page: Any) -> None:
    page.goto("/leaderboard")
    by_ndcg = first_column(page, "board")
    page.evaluate("window.kept = true")
    page.get_by_role("link", name="System", exact=True).click()
    page.wait_for_url("**sort=system*")
    assert first_column(page, "board") == sorted(by_ndcg)
    assert page.evaluate("window.kept"), "the page was not loaded anew"
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("System")
    page.get_by_role("link", name="System", exact=True).click()
    page.wait_for_url("**sort=-system*")
    page.locator("th[aria-sort=descending]").wait_for()
    assert first_column(page, "board") == sorted(by_ndcg, reverse=True)
    page.go_back()
    page.locator("th[aria-sort=ascending]").wait_for()
    page.go_back()
    page.wait_for_url("**/leaderboard")
    page.locator("th[aria-sort=descending]", has_text="nDCG@10").wait_for()
    assert first_column(page, "board") == by_ndcg


def test_a_filter_works_as_one_types_and_is_in_the_address(page: Any) -> None:
    page.goto("/leaderboard?sort=system")
    page.get_by_placeholder("Filter systems").press_sequentially("l", delay=30)
    page.wait_for_url("**filter=l*")
    page.locator("[data-said]", has_text="3 of 6").wait_for()
    assert first_column(page, "board") == ["lm", "lsi", "titles"]
    assert page.evaluate("document.activeElement.id") == "filter"
    assert "sort=system" in page.url
    assert page.locator("#said").inner_text().startswith("3 of 6")
    page.reload()
    assert first_column(page, "board") == ["lm", "lsi", "titles"]


def test_state_survives_a_visit_to_another_page(page: Any) -> None:
    page.goto("/leaderboard?measure=RR+AP")
    page.get_by_role("link", name="AP", exact=True).click()
    page.wait_for_url("**sort=-AP*")
    order = first_column(page, "board")
    page.get_by_role("link", name=order[0], exact=True).click()
    page.wait_for_url("**/system?*")
    assert "measure=RR" in page.url
    page.go_back()
    page.wait_for_url("**/leaderboard?*sort=-AP*")
    assert first_column(page, "board") == order


def test_a_bar_opens_its_topic_and_a_document_its_text(page: Any) -> None:
    page.goto("/compare?system=lsi&baseline=bm25")
    page.locator(".bars a").first.click()
    page.wait_for_url("**/topic?*")
    assert page.locator(".side h3").all_inner_texts() == ["lsi", "bm25"]
    assert page.locator("#text").is_hidden()
    page.evaluate("window.kept = true")
    doc = page.locator(".ranking .doc .id").first.inner_text()
    page.locator(".ranking .doc").first.click()
    page.wait_for_url(f"**show={doc}*")
    page.locator("#text .text").wait_for()
    assert page.locator("#text h2").inner_text().endswith(doc) and page.evaluate("window.kept")
    assert page.evaluate("document.activeElement.id") == "text"
    page.go_back()
    page.locator("#text").wait_for(state="hidden")
    page.go_forward()
    page.locator("#text .text").wait_for()


def test_rankings_are_chosen_by_a_form_and_the_lines_meet_the_rows(page: Any) -> None:
    page.goto("/topic?query=5&system=lsi&system=bm25")
    page.locator("select[name=system]").nth(2).select_option("rm3")
    page.locator("input[name=depth]").fill("20")
    page.locator("form:has(input[name=depth]) button").click()
    page.wait_for_url("**depth=20*")
    page.locator(".side").nth(2).wait_for()
    assert "state=" not in page.url and page.url.count("system=") == 3
    places = page.evaluate(
        """() => {
          const path = document.querySelector(".moves path"), from = path.getPointAtLength(0);
          const box = path.ownerSVGElement.getBoundingClientRect();
          const doc = path.querySelector("title").textContent.split(":")[0];
          const row = document.querySelector(`.side li[data-doc="${doc}"]`).getBoundingClientRect();
          return [box.top + from.y, row.top + row.height / 2];
        }"""
    )
    assert abs(places[0] - places[1]) < 4


def test_everything_works_without_scripts(chromium: Any, server: str) -> None:
    context = chromium.new_context(base_url=server, java_script_enabled=False)
    page = context.new_page()
    page.goto("/leaderboard?sort=system")
    page.get_by_placeholder("Filter systems").fill("ls")
    page.get_by_placeholder("Filter systems").press("Enter")
    page.wait_for_url("**filter=ls*")
    assert "sort=system" in page.url and first_column(page, "board") == ["lsi"]
    page.goto("/topic?query=5")
    page.locator(".ranking .doc").first.click()
    page.locator("#text .text").wait_for()
    context.close()


def test_tables_are_worked_by_keyboard(page: Any) -> None:
    page.goto("/leaderboard")
    page.locator("a.sort").nth(1).focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**sort=system*")
    page.locator("th[aria-sort=ascending]").wait_for()
    assert page.evaluate("document.activeElement.classList.contains('sort')")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_a_page_that_is_not_complete_completes_itself(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, leave_out = threading.Event(), pooling.leave_out

    def slowly(*given: Any, **options: Any) -> Any:
        going.wait(TIMEOUT)
        return leave_out(*given, **options)

    monkeypatch.setattr(pooling, "leave_out", slowly)
    monkeypatch.setattr(request_context, "PAGE_TIMEOUT", 0.3)
    with serving(make_app(open_workspace(lay_out(tmp_path)))) as address:
        context = chromium.new_context(viewport={"width": 390, "height": 844}, base_url=address)
        tab = watched(context.new_page())
        tab.goto("/pool")
        tab.wait_for_selector("[data-unfinished]")
        tab.fill("#filter", "l")  # what one does meanwhile is not undone
        tab.wait_for_url("**filter=l**")
        assert not tab.query_selector("#standings")
        going.set()
        tab.wait_for_selector("#standings")
        assert not tab.query_selector("[data-unfinished]")
        assert "filter=l" in tab.url and tab.input_value("#filter") == "l"
        context.close()
        assert not tab.complaints
