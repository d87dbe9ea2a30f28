"""In a real browser: judgments are of the document on the screen, and go to the right log and assessor, or wait."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import import_judgments
from cranfield.workbench.accounts import Accounts
from cranfield.workbench.app import make_app
from tests.workbench.conftest import PASSWORD, QUICK, make_folder, open_service, serving
from tests.workbench.test_browser import fetched_ahead, heading, opened, press, progress, signed_in, tab

SAVE = "**/api/judging/save"
FULL = {"status": 507, "content_type": "application/json", "body": '{"error": "The disk is full: not saved."}'}
GONE = {"status": 409, "content_type": "application/json", "body": '{"error": "This document is no longer yours."}'}
MANY = [{"id": f"d{i}", "title": f"Title {i}", "text": f"Text {i} about tyres."} for i in range(12)]


class Switch:
    """One URL at which one application after the other is served."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


def judged(service: Any) -> list[tuple[str, str | None, float | None]]:
    return [(event.assessor, event.doc, event.grade) for event in service.log.events() if event.kind == "judge"]


def shown_doc(page: Any) -> str:
    return str(page.locator("#document .id").inner_text())


def said(page: Any, text: str) -> None:
    """Wait for a message."""
    page.wait_for_function("text => document.querySelector('.said')?.textContent.includes(text)", arg=text)


def judge_offline(page: Any, keys: str) -> list[tuple[str, float]]:
    """Judge without a connection; returns the documents and grades as shown."""
    fetched_ahead(page)
    page.context.set_offline(True)
    meant = []
    for key in keys:
        meant.append((shown_doc(page), float(key)))
        press(page, key)
    return meant


# Documents of any length


def test_a_grade_goes_to_the_document_on_the_screen_however_long_it_is(chromium: Any, tmp_path: Path) -> None:
    long = {"id": "long", "title": "Long", "text": ("tyre tyre lorem ipsum " * 90_000)[:2_000_000]}
    service = open_service(
        make_folder(tmp_path / "w", pairs={"1": ["d0", "d1", "long", "d2", "d3"]}, documents=[*MANY, long])
    )
    meant = []
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        for grade in (0, 1, 2, 3, 0):
            meant.append(("ada", shown_doc(page), float(grade)))
            if shown_doc(page) == "long":
                assert page.locator("#document .text").evaluate("text => text.textContent") == long["text"]
                strips = page.locator("#document .strip")
                assert 0 < strips.last.locator("mark").count() + strips.first.locator("mark").count() < 5_000
                page.keyboard.press("End")
                strips.last.locator("mark.word").last.wait_for()  # marked when it comes near
            press(page, str(grade))
        assert heading(page) == "Nothing left here"
    assert judged(service) == meant and {doc for _, doc, _ in meant} == {"d0", "d1", "d2", "d3", "long"}
    service.close()


def test_a_document_that_cannot_be_drawn_is_named_and_nothing_else_is_judged(chromium: Any, tmp_path: Path) -> None:
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["d0", "d1", "d2"]}, documents=MANY))
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        before = shown_doc(page)
        page.evaluate("document.createElement = (make => (name, ...more) => {"
                      " if (name === 'mark') throw new Error('no marks'); return make.call(document, name, ...more);"
                      "})(document.createElement)")  # fmt: skip
        press(page, "1")
        assert "cannot be shown here: no marks" in page.locator("#document").inner_text()
        second = heading(page)  # its id: nothing of the document before is left
        press(page, "x")
    assert before != second
    assert [(event.kind, event.doc) for event in service.log.events()] == [("judge", before), ("cannot", second)]
    service.close()


WORDS = "the quick brown fox jumps over the lazy dog and then it repairs a puncture with patches and glue".split()


def test_finding_in_two_million_characters_takes_no_time(chromium: Any, tmp_path: Path) -> None:
    text = " ".join(WORDS[(7 * i + i // 11) % len(WORDS)] for i in range(400_000))[:2_000_000]
    long = {"id": "long", "title": "The end of the long one", "text": text + " İSTANBUL finis"}
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["long"]}, documents=[long]))
    timed = (
        "word => { const field = document.querySelector('.find input'); field.value = word; const start ="
        " performance.now(); field.dispatchEvent(new Event('input')); document.body.offsetHeight;"
        " return performance.now() - start; }"
    )
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        page.keyboard.press("/")
        whole = f"{long['title']} {long['text']}".lower()
        for word in ("t", "th", "the", "e", " "):
            assert page.evaluate(timed, word) < 1_000
            count = whole.count(word) - (1 if word == " " else 0)  # the one between title and text is ours
            assert page.locator(".find .quiet").inner_text() == f"1 of {count:,}"
        assert page.evaluate(timed, "finis") < 1_000
        assert page.locator(".find .quiet").inner_text() == "1 of 1"
        here = page.locator("mark.here")
        assert here.inner_text() == "finis" and here.bounding_box()["y"] < page.viewport_size["height"]
        assert page.evaluate(timed, "istanbul") < 1_000
        assert here.inner_text() == "İSTANBUL"
        page.evaluate(timed, "the")
        assert here.inner_text() == "The" and here.evaluate("mark => mark.closest('h1') !== null")
        page.keyboard.press("Shift+Enter")  # the last one, at the other end
        count = whole.count("the")
        assert page.locator(".find .quiet").inner_text() == f"{count:,} of {count:,}"
        assert here.count() == 1 and 0 < here.bounding_box()["y"] < page.viewport_size["height"]
        page.keyboard.press("Escape")
        assert page.locator("mark.found").count() == 0
        assert page.locator("#document .text").evaluate("text => text.textContent") == long["text"]
    service.close()


def test_what_is_sought_is_found_across_pieces_and_over_words_of_the_topic(chromium: Any, tmp_path: Path) -> None:
    text = "x" * 19_990 + " flat tyres are mended " + "y" * 30_000 + " 😀 flat tyres"
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["d"]}, documents=[{"id": "d", "text": text}]))
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        assert page.locator("#document .strip").count() > 1
        page.keyboard.press("/")
        page.keyboard.type("FLAT TYRES")
        assert page.locator(".find .quiet").inner_text() == "1 of 2"
        assert "".join(page.locator("mark.here").all_inner_texts()) == "flat tyres"
        page.keyboard.press("Enter")
        assert "".join(page.locator("mark.here").all_inner_texts()) == "flat tyres"
        assert page.locator("#document .text").evaluate("text => text.textContent") == text
    service.close()


def test_white_space_in_what_is_sought_stands_for_any(chromium: Any, tmp_path: Path) -> None:
    text = "A flat\ntyre over a line. A flat tyre.\nA flat \t\n  TYRE and a (flat) tyre+ of flattyres"
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["d"]}, documents=[{"id": "d", "text": text}]))
    count = "[...document.querySelectorAll('mark.found')].map(mark => mark.textContent)"
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        page.keyboard.press("/")
        for sought, expected in (
            ("flat tyre", ["flat\ntyre", "flat tyre", "flat \t\n  TYRE"]),
            ("a  flat", ["A flat", "A flat", "A flat"]),
            ("(flat) tyre+", ["(flat) tyre+"]),  # no regular expression
            ("tyre ", ["tyre ", "TYRE "]),
            (" tyre", ["\ntyre", " tyre", " TYRE", " tyre"]),
            ("t.re", []),
        ):
            page.fill(".find input", sought)
            assert page.evaluate(count) == expected, sought
            total = len(expected)
            assert page.locator(".find .quiet").inner_text() == f"{min(total, 1)} of {total}"
        page.fill(".find input", "flat tyre")
        for n in (2, 3, 1):
            page.keyboard.press("Enter")
            assert page.locator(".find .quiet").inner_text() == f"{n} of 3"
            assert page.locator("mark.here").count() == 1
        assert page.locator("#document .text").evaluate("text => text.textContent") == text
    service.close()


def test_white_space_by_the_million_is_sought_through_in_no_time(chromium: Any, tmp_path: Path) -> None:
    long = {"id": "long", "text": "flat" + " " * 1_000_000 + "flat" + " " * 999_000 + "tyre"}
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["long"]}, documents=[long]))
    timed = (
        "word => { const field = document.querySelector('.find input'); field.value = word; const start ="
        " performance.now(); field.dispatchEvent(new Event('input')); return performance.now() - start; }"
    )
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        page.keyboard.press("/")
        for word, count in (("flat tyre", 1), (" tyre", 1), ("flat ", 2), ("flat flat", 1), ("tyre flat", 0), (" ", 2)):
            assert page.evaluate(timed, word) < 3_000, word
            assert page.locator(".find .quiet").inner_text() == f"{min(count, 1)} of {count}", word
    service.close()


# Who judges, and which log


def test_somebody_else_who_signs_in_judges_nothing_in_this_tab(chromium: Any, folder: Path, service: Any) -> None:
    accounts = Accounts(service.log.database, QUICK)
    for name, role in (("cora", "coordinator"), ("ada", "assessor"), ("grace", "assessor")):
        accounts.accept(accounts.invite(name, role), PASSWORD)
    with serving(make_app(judging=service, accounts=accounts)) as address, tab(chromium) as page:
        signed_in(page, address, "ada")
        opened(page, address)
        press(page, "1")
        doc = shown_doc(page)
        other = page.context.new_page()
        for name in ("grace", "ada"):
            other.goto(f"{address}/account")
            other.click("text=Sign out")
            other.wait_for_url("**/sign-in*")
            signed_in(other, address, name)
            if name == "ada":
                break
            page.keyboard.press("3")
            page.wait_for_selector("dialog[open]")
            assert "grace is signed in now, but this page belongs to ada" in page.locator("dialog").inner_text()
            page.keyboard.press("2")  # behind a dialog nothing is judged
            page.keyboard.press("Escape")
            assert shown_doc(page) == doc and "not saved yet" in page.locator(".mine").inner_text()
            page.keyboard.press("b")  # and nothing of grace's is shown here
            said(page, "This page belongs to another user: grace is signed in")
            assert [who for who, _, _ in judged(service)] == ["ada"]
            opened(other, address)
            assert other.locator('[data-more="unsent"]').is_hidden()  # what waits for ada is nothing for grace
            press(other, "0")
        said(page, "everything is saved")  # by itself, as soon as she is back
        assert shown_doc(page) != doc
        page.wrong.clear()  # the browser notes what was refused
    assert [(who, grade) for who, _, grade in judged(service)] == [("ada", 1), ("grace", 0), ("ada", 3)]
    assert judged(service)[2][1] == doc


def test_what_waits_goes_to_no_other_log(chromium: Any, tmp_path: Path) -> None:
    rooms = [
        open_service(
            make_folder(
                tmp_path / name,
                pairs={"1": [f"{name}{i}" for i in range(6)]},
                documents=[{"id": f"{name}{i}", "title": f"{name.upper()} {i}", "text": "tyres"} for i in range(6)],
            )
        )
        for name in ("a", "b")
    ]
    first, second = (make_app(judging=service, local_user="ada") for service in rooms)
    switch = Switch(first)
    with serving(switch) as address, tab(chromium) as page:
        opened(page, address)
        press(page, "1")
        meant = judge_offline(page, "23")
        switch.app = second
        page.context.set_offline(False)
        page.wait_for_selector("dialog[open]")  # in the tab of the first log
        assert "The server now has another judgment log" in page.locator("dialog").inner_text()
        page.click("text=Reload the page")
        page.wait_for_function("() => document.querySelector('#document h1')?.textContent.startsWith('B ')")
        press(page, "0")
        assert [doc for _, doc, _ in judged(rooms[1])] == [f"b{room_place(rooms[1], 1)}"]
        assert page.locator('[data-more="unsent"]').inner_text() == "Not sent: 2"
        page.click('[data-more="unsent"]')
        for doc, _ in meant:
            assert f"A {doc[1:]}" in page.locator("dialog").inner_text()
        with page.expect_download() as coming:
            page.click("text=Save as a file")
        file = tmp_path / "not-sent.jsonl"
        coming.value.save_as(file)
        assert import_judgments(rooms[0].log, file).new == 2
        assert [(doc, grade) for _, doc, grade in judged(rooms[0])][1:] == meant
        switch.app = first
        opened(page, address)  # it is sent where it belongs, and known there already
        page.wait_for_function("() => document.getElementById('progress').textContent.includes('3 left')")
        assert page.locator('[data-more="unsent"]').is_hidden()
        page.wrong.clear()
    assert len(judged(rooms[0])) == 3 and len(judged(rooms[1])) == 1
    for service in rooms:
        service.close()


def room_place(service: Any, place: int) -> str:
    return str(service.session("ada").item_at("1", place).doc[1:])


# What is refused


@pytest.mark.parametrize("status", [500, 503])
def test_a_beginning_that_fails_is_tried_again_and_nobody_is_told_that_nothing_is_left(
    chromium: Any, folder: Path, service: Any, status: int
) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        page.route("**/api/judging/next", lambda route: route.fulfill(**FULL | {"status": status}), times=2)
        page.goto(f"{address}/judge")
        said(page, "No connection" if status == 503 else "The disk is full")
        assert page.locator("#document h1").count() == 0
        said(page, "Connected again")
        assert shown_doc(page) == f"d{room_place(service, 1)}" and progress(page) == "Document 1 of 6, 6 left"
        page.wrong.clear()


def test_an_address_with_a_topic_that_is_not_there_names_those_that_are(
    chromium: Any, folder: Path, service: Any
) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        page.goto(f"{address}/judge?query=zzz")
        said(page, "there is nothing to judge for query 'zzz'; the pool has '1', '2'.")
        assert progress(page) == "Document 1 of 6, 6 left"
        press(page, "1")
        page.wrong.clear()


@pytest.mark.parametrize("status", [507, 500, 503, 429])
def test_what_is_refused_for_now_waits_and_is_sent_without_a_key(
    chromium: Any, folder: Path, service: Any, status: int
) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        page.clock.install()
        opened(page, address)
        meant = judge_offline(page, "123")
        refused: list[int] = []

        def refuse(route: Any) -> None:
            refused.append(status)
            route.fulfill(**FULL | {"status": status})

        page.route(SAVE, refuse)
        with page.expect_response(SAVE):  # what is said of a 503 has been said before
            page.context.set_offline(False)
        said(page, "No connection" if status == 503 else "The disk is full")
        assert "3 actions are stored" in page.locator(".said").inner_text() and judged(service) == []
        assert page.locator('[data-more="unsent"]').inner_text() == "Not sent: 3"
        page.unroute(SAVE)
        page.clock.fast_forward(20_000)
        said(page, "everything is saved (3)")
        assert refused and [(doc, grade) for _, doc, grade in judged(service)] == meant
        assert page.locator('[data-more="unsent"]').is_hidden()
        page.wrong.clear()


def test_a_document_whose_grade_is_not_saved_stays_and_the_last_word_counts(
    chromium: Any, folder: Path, service: Any
) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        doc, before = shown_doc(page), progress(page)
        page.route(SAVE, lambda route: route.fulfill(**FULL))
        for key in "12":
            page.keyboard.press(key)
            page.wait_for_selector(f'button[data-grade="{key}"][aria-pressed="true"]')
        assert progress(page) == before and "1 action is stored" in page.locator(".said").inner_text()
        assert "You gave it 2, Relevant. It waits in this browser" in page.locator(".mine").inner_text()
        page.unroute(SAVE)
        said(page, "everything is saved (1)")
        assert shown_doc(page) != doc
        page.wrong.clear()
    assert judged(service) == [("ada", doc, 2.0)]


def test_what_is_refused_for_good_is_kept_in_sight_and_holds_up_nothing(
    chromium: Any, folder: Path, service: Any, tmp_path: Path
) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        meant = judge_offline(page, "123")
        page.route(SAVE, lambda route: route.fulfill(**GONE), times=1)
        page.context.set_offline(False)
        said(page, 'Sent: 2. Refused, see "Not sent": 1.')
        assert [(doc, grade) for _, doc, grade in judged(service)] == meant[1:]
        page.reload()
        page.wait_for_selector("#document h1")
        page.wait_for_selector('[data-more="unsent"]:not([hidden])')
        page.click('[data-more="unsent"]')
        told = page.locator("dialog").inner_text()
        assert f"Topic 1, Title {meant[0][0][1:]}: 1 Related" in told and "no longer yours" in told
        with page.expect_download() as coming:
            page.click("text=Save as a file")
        coming.value.save_as(tmp_path / "file.jsonl")
        rows = [json.loads(line) for line in (tmp_path / "file.jsonl").read_text().splitlines()]
        assert [(row["assessor"], row["doc"], row["grade"]) for row in rows[1:]] == [("ada", *meant[0])]
        page.on("dialog", lambda asked: asked.accept())
        page.click("text=Discard")
        page.wait_for_selector("text=Everything was sent or discarded.")
        assert page.locator('[data-more="unsent"]').is_hidden()
        assert page.evaluate("localStorage.length") == 0
        page.wrong.clear()


def test_an_act_that_is_refused_at_once_is_told_and_kept(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        doc = shown_doc(page)
        page.route(SAVE, lambda route: route.fulfill(**GONE), times=1)
        page.keyboard.press("1")
        said(page, "Not sent: This document is no longer yours.")
        assert shown_doc(page) == doc and page.locator('[data-more="unsent"]').inner_text() == "Not sent: 1"
        press(page, "2")
        assert page.locator('[data-more="unsent"]').is_visible()
        page.wrong.clear()
    assert judged(service) == [("ada", doc, 2.0)]


def test_an_undo_takes_back_what_it_was_meant_for_and_nothing_else(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        press(page, "3")
        [(doc, _)] = judge_offline(page, "1")
        press(page, "u")
        assert shown_doc(page) == doc
        page.route(SAVE, lambda route: route.fulfill(**GONE), times=1)
        page.context.set_offline(False)
        said(page, 'see "Not sent": 2')
        page.wrong.clear()
    assert [event.kind for event in service.log.events()] == ["judge"]  # the first one stands


def test_undo_without_a_connection_is_an_event_like_any_other(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        meant = judge_offline(page, "12")
        for doc, _ in reversed(meant):
            press(page, "u")
            assert shown_doc(page) == doc
        press(page, "3")
        page.context.set_offline(False)
        said(page, "everything is saved (5)")
        page.wrong.clear()
    kinds = [(event.kind, event.doc) for event in service.log.events()]
    (first, _), (second, _) = meant
    assert kinds == [("judge", first), ("judge", second), ("undo", second), ("undo", first), ("judge", first)]


def test_a_note_goes_to_the_document_it_was_written_for(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        doc = shown_doc(page)
        page.route(SAVE, lambda route: route.fulfill(**FULL))
        page.keyboard.press("1")
        said(page, "1 action is stored")
        page.keyboard.press("n")
        page.keyboard.type("about this one")
        page.unroute(SAVE)
        said(page, "everything is saved")  # another document is on the screen now
        assert shown_doc(page) != doc
        page.keyboard.press("Control+Enter")
        said(page, "Note saved.")
        assert page.locator(".mine").count() == 0
        page.wrong.clear()
    assert [(event.kind, event.doc) for event in service.log.events()] == [("judge", doc), ("note", doc)]
