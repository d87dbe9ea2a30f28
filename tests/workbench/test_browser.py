"""Judging in a real browser: by keyboard and by touch, with disputes, adjudication and lost connections."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import export_qrels
from cranfield.experiment.workspace import open_workspace
from cranfield.lab.index import build
from cranfield.workbench.accounts import Accounts
from cranfield.workbench.app import make_app
from tests.workbench.conftest import EVIL, PASSWORD, QUICK, make_folder, open_service, serving


@contextmanager
def tab(chromium: Any, intercepts: bool = False, **given: Any) -> Iterator[Any]:
    """A tab of its own, whose console must stay empty, and that loads nothing from elsewhere.

    Requests that a test answers itself must be intercepted from the beginning: one that is sent right after
    the first route is given may still pass it by.
    """
    context = chromium.new_context(**given)
    if intercepts:
        context.route("**/never-asked-for", lambda route: route.abort())
    page = context.new_page()
    page.wrong = []
    page.on("console", lambda said: page.wrong.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    elsewhere: list[str] = []
    page.on("request", lambda asked: elsewhere.append(asked.url) if "127.0.0.1" not in asked.url else None)
    page.answered = []
    page.on("requestfinished", lambda asked: page.answered.append(asked.url))
    yield page
    context.close()
    assert page.wrong == []
    assert elsewhere == []


def heading(page: Any) -> str:
    return str(page.locator("#document h1").inner_text())


def progress(page: Any) -> str:
    return str(page.locator("#progress").inner_text())


def press(page: Any, key: str) -> None:
    """Press a key, and wait for another document."""
    before = progress(page)
    page.keyboard.press(key)
    page.wait_for_function("before => document.getElementById('progress').textContent !== before", arg=before)


def opened(page: Any, address: str) -> None:
    page.goto(f"{address}/judge")
    page.wait_for_selector("#document h1")


def fetched_ahead(page: Any) -> None:
    """Wait until the next documents are loaded, to continue without a connection."""
    asked = f"&place={re.findall('[0-9]+', progress(page))[0]}&"
    while not any("/api/judging/ahead?" in url and asked in url for url in page.answered):
        page.wait_for_timeout(20)
    page.wait_for_timeout(100)  # the page has it from the browser


def signed_in(page: Any, address: str, name: str) -> None:
    page.goto(f"{address}/sign-in")
    page.fill("#name", name)
    page.fill("#password", PASSWORD)
    page.click("button.first")
    page.wait_for_url(lambda url: "sign-in" not in url)


def events(service: Any) -> list[tuple[str, str | None, float | None]]:
    return [(event.kind, event.doc, event.grade) for event in service.log.events()]


def test_a_person_judges_by_keyboard_undoes_reloads_and_goes_on_in_the_same_order(
    chromium: Any, folder: Path, service: Any
) -> None:
    app = make_app(open_workspace(folder), judging=service, local_user="ada", with_explore=False)
    with serving(app) as address, tab(chromium) as page:
        opened(page, address)
        order = [f"Title {service.session('ada').item_at('1', place).doc[1:]}" for place in range(1, 7)]
        assert heading(page) == order[0]
        assert "How do I mend a flat tyre?" in page.locator(".topic").inner_text()
        assert "Repair is relevant." in page.locator(".topic").inner_text()
        assert page.locator("mark.word").first.inner_text() == "tyres"
        for n in (0, 1):
            press(page, "2")
            assert heading(page) == order[n + 1]
        assert progress(page) == "Document 3 of 6, 4 left"
        press(page, "u")
        assert heading(page) == order[1]
        page.reload()
        page.wait_for_selector("#document h1")
        assert heading(page) == order[1]
        press(page, "3")
        press(page, "b")
        assert heading(page) == order[1] and "You gave it 3" in page.locator(".mine").inner_text()
        press(page, "f")
        assert heading(page) == order[2]
        press(page, "x")  # cannot judge
        press(page, "s")  # comes again at the end
        assert heading(page) == order[4]
        page.keyboard.press("n")
        page.keyboard.type("too short to tell")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".mine")
        assert "too short to tell" in page.locator(".mine").inner_text()
        press(page, "0")
        press(page, "1")
        assert heading(page) == order[3]  # the one that was skipped
        press(page, "1")
        page.wait_for_function("() => document.querySelector('.topic').textContent.includes('squeal')")
        assert "This topic is done" in page.locator(".said").inner_text()
        assert service.session("ada").topics()[0].left == 0
    grades = [service.session("ada").item_at("1", place) for place in range(1, 7)]
    assert [(item.kind, item.grade) for item in grades] == [
        ("judge", 2),
        ("judge", 3),
        ("cannot", None),
        ("judge", 1),
        ("judge", 0),
        ("judge", 1),
    ]
    assert {event.method for event in service.log.events()} == {"key"}
    assert all(event.active_ms is not None and event.shown_at for event in service.log.events())
    assert "Title" and len(export_qrels(service.log).qrels) == 5


def test_highlighting_finding_guidelines_help_and_topics_are_a_key_away(
    chromium: Any, folder: Path, service: Any
) -> None:
    from cranfield.base import replace

    service.log.configure(replace(service.log.settings, guidelines="Judge as if you had a puncture."))
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        assert page.locator("#document.marked").count() == 1
        page.keyboard.press("h")
        assert page.locator("#document.marked").count() == 0
        page.keyboard.press("/")
        page.keyboard.type("about")
        page.wait_for_selector("mark.found.here")
        assert page.locator("mark.found").inner_text() == "about"
        page.keyboard.press("Escape")
        assert page.locator("mark.found").count() == 0
        page.keyboard.press("g")
        assert "had a puncture" in page.locator("dialog").inner_text()
        page.keyboard.press("Escape")
        page.keyboard.press("?")
        help_text = page.locator("dialog").inner_text()
        for word in ("Back", "Undo", "Skip", "Cannot judge", "Note", "Next topic", "Find", "Highlight", "Guidelines"):
            assert word in help_text
        page.keyboard.press("Escape")
        page.keyboard.press("t")
        page.wait_for_function("() => document.querySelector('.topic').textContent.includes('squeal')")
        assert list(service.log.events()) == []


def test_a_page_can_be_used_with_a_screen_reader(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        tree = page.locator("body").aria_snapshot()
        for part in ("complementary", "main", 'group "Grades"', "status", 'heading "Title', "button"):
            assert part in tree, part
        assert page.evaluate("document.activeElement.tagName") == "H1"  # what is new is read out
        press(page, "1")
        assert page.evaluate("document.activeElement.tagName") == "H1"
        assert page.locator('.said[aria-live="polite"]').inner_text().startswith("Saved")
        assert page.locator("[aria-keyshortcuts]").count() >= 12


GRADES = [
    "0 Not relevant Nothing in it answers the topic.",
    "1 Related On the subject, but it does not answer the topic.",
    "2 Relevant It answers the topic in part, or among much else.",
    "3 Highly relevant It is about the topic and answers it fully.",
]


def tree_of(page: Any) -> list[tuple[str, str]]:
    """Roles and names as the browser gives them to screen readers."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in nodes
        if not node.get("ignored", False)
    ]


def test_landmarks_labels_and_what_was_saved_are_in_the_accessibility_tree(
    chromium: Any, folder: Path, service: Any
) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        tree = tree_of(page)
        for landmark in (
            ("banner", ""),
            ("navigation", "More"),
            ("complementary", "Topic"),
            ("main", "Document"),
            ("contentinfo", ""),
        ):
            assert tree.count(landmark) == 1, landmark
        assert [name for role, name in tree if role == "group"] == ["Grades", "Other acts"]
        buttons = [name for role, name in tree if role == "button"]
        assert all(buttons) and len(set(buttons)) == len(buttons)  # each has a name of its own
        assert [name for name in buttons if name[0].isdigit()] == GRADES
        assert ("status", "") in tree
        for _ in range(2):  # the same words twice are news twice
            before = page.locator(".said").evaluate("said => said.textContent")
            press(page, "1")
            after = page.locator(".said").evaluate("said => said.textContent")
            assert after.strip("\u00a0") == "Saved: 1 Related." and after != before
            assert ("StaticText", after) in tree_of(page)
        for key, name in (("g", "Guidelines"), ("?", "Keys"), ("n", "Note")):
            page.keyboard.press(key)
            assert ("dialog", name) in tree_of(page)
            page.keyboard.press("Escape")
            assert page.evaluate("document.activeElement.tagName") == "H1"


def test_the_order_of_focus_is_topic_document_grades_acts(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        where = (
            "(() => { const at = document.activeElement; const part = at.closest('.skip-link, .top, .topic, .document,"
            " .grades, .acts'); return part ? part.classList[0] : at.tagName; })()"
        )
        seen = []
        page.evaluate("document.querySelector('.skip-link').focus()")
        for _ in range(40):
            part = page.evaluate(where)
            if part == "BODY" or (part == "skip-link" and len(seen) > 1):
                break
            if seen[-1:] != [part]:
                seen.append(part)
            page.keyboard.press("Tab")
        assert seen == ["skip-link", "top", "topic", "grades", "acts"]  # the document has the focus by itself
        page.evaluate("document.querySelector('.skip-link').focus()")
        page.keyboard.press("Enter")
        assert page.evaluate(where) == "document"


LONG = [
    (0, "Entirely irrelevant to the information need", "Nothing in it answers the topic."),
    (1, "Marginally related background material", "On the subject."),
    (2, "Partially relevant, needs other sources", "In part."),
    (3, "Unzweifelhaft themenbezogen", "Es passt."),
    (4, "Highly relevant and authoritative", "Fully."),
    (5, "Perfect: the dedicated page", "The one."),
]


@pytest.mark.parametrize("n", [2, 4, 6])
@pytest.mark.parametrize("width", [390, 320])
def test_on_a_phone_long_grades_wrap_and_nothing_is_covered(chromium: Any, tmp_path: Path, n: int, width: int) -> None:
    grades = "".join(f"[[judging.grades]]\nvalue = {v}\nlabel = '{a}'\ndefinition = '{b}'\n" for v, a, b in LONG[:n])
    documents = [{"id": "d0", "title": "Long", "text": "Mending tyres. " * 300 + "THE END"}]
    service = open_service(make_folder(tmp_path / "w", grades, {"1": ["d0"]}, documents))
    phone = {"viewport": {"width": width, "height": 844}, "has_touch": True, "is_mobile": True}
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, **phone) as page:
        opened(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        for share in (0.36, 0.52) if width == 390 else (0.5, 0.6):  # of the screen, as it is and with everything
            boxes = page.evaluate(
                "[...document.querySelectorAll('.bottom button')].filter(one => one.offsetParent).map(one => {"
                " const box = one.getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom,"
                " one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]; })"
            )
            assert all(left >= 0 and right <= width and bottom <= 844 for left, _, right, bottom, *_ in boxes)
            assert all(wide <= 0 and high <= 0 for *_, wide, high in boxes)  # no label is cut off
            assert all(right - left >= 40 and bottom - top >= 40 for left, top, right, bottom, *_ in boxes)
            for i, (left, top, right, bottom, *_) in enumerate(boxes):
                for a, b, c, d, *_ in boxes[i + 1 :]:
                    assert a >= right or c <= left or b >= bottom or d <= top  # no two overlap
            bar = page.locator(".bottom").bounding_box()
            assert bar["height"] <= share * 844
            page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
            text, topic = page.locator("#document .text").bounding_box(), page.locator(".topic").bounding_box()
            assert text["y"] + text["height"] <= bar["y"] + 1  # the end of the document is above the bar
            assert bar["y"] - (topic["y"] + topic["height"]) > 100  # there is room to read
            page.evaluate("window.scrollTo(0, 0)")
            head, topic = page.locator("#document h1").bounding_box(), page.locator(".topic").bounding_box()
            assert head["y"] >= topic["y"] + topic["height"]
            if not page.locator('button[data-act="note"]').is_visible():
                more = page.locator(".acts .more")
                assert more.get_attribute("aria-expanded") == "false"
                more.tap()
                assert more.get_attribute("aria-expanded") == "true"
                assert page.locator('button[data-act="note"]').is_visible()
        page.locator('button[data-act="find"]').tap()
        page.keyboard.type("the end")
        page.wait_for_selector("mark.found.here")
        hit, bar = page.locator("mark.found.here").bounding_box(), page.locator(".find input").bounding_box()
        assert 0 <= bar["y"] and bar["y"] + bar["height"] <= hit["y"] <= page.locator(".bottom").bounding_box()["y"]
    service.close()


TYRES = [
    {
        "id": "LA010189-0001",
        "title": "Mending a flat tyre by the road, without a stand",
        "url": "https://example.org/tyres",
        "text": "A flat\ntyre is mended by patching the tube. Take off the wheel and find the hole by ear. " * 40,
    }
]
MENDING = [
    {
        "id": "1",
        "title": "mending a flat tyre",
        "description": "How do I mend a flat tyre of a bicycle on the road, without a workshop and with few tools?",
        "narrative": "Repair is relevant, with patches or with a new tube. Documents that only sell tyres, or that "
        "tell of racing, are not relevant. Tubeless tyres count if the repair is described step by step. " * 3,
    }
]


@contextmanager
def on_a_screen(chromium: Any, tmp_path: Path, width: int, height: int, **given: Any) -> Iterator[Any]:
    """A document of usual length on the judging page, on a screen of some size; small ones are phones."""
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["LA010189-0001"]}, documents=TYRES, topics=MENDING))
    is_phone = min(width, height) < 500
    size = {"viewport": {"width": width, "height": height}, "has_touch": is_phone, "is_mobile": is_phone}
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, **size, **given) as page:
        opened(page, address)
        yield page
    service.close()


@pytest.mark.parametrize("size", [(320, 568), (667, 375), (844, 390), (360, 640), (390, 844), (1366, 640)])
def test_a_third_of_any_screen_at_least_is_text_of_the_document(
    chromium: Any, tmp_path: Path, size: tuple[int, int]
) -> None:
    with on_a_screen(chromium, tmp_path, *size) as page:
        text, bar = page.locator("#document .text").bounding_box(), page.locator(".bottom").bounding_box()
        assert bar["y"] + bar["height"] <= size[1] + 1
        assert bar["y"] - text["y"] >= size[1] / 3
        assert text["width"] >= 280
        title = page.locator(".topic h2").bounding_box()
        assert 0 <= title["y"] and title["y"] + title["height"] <= bar["y"]  # and the topic is in sight
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        note, more = page.locator('button[data-act="note"]'), page.locator(".acts .more")
        assert note.is_visible() == (size[0] > 1000) and more.is_visible() == (size[0] < 1000)
        if size[0] < 1000:
            for button in page.locator(".bottom button:visible").all():
                assert button.bounding_box()["height"] >= 40
            more.tap()
            assert note.is_visible()


@pytest.mark.parametrize("size", [(320, 568), (667, 375), (390, 844), (1366, 640), (1280, 720)])
def test_grades_have_their_definitions_on_any_screen(chromium: Any, tmp_path: Path, size: tuple[int, int]) -> None:
    with on_a_screen(chromium, tmp_path, *size) as page:
        if size == (320, 568):
            assert page.locator(".grades small").first.is_visible()
            page.locator(".acts .more").tap()  # the smallest cuts the longest short, and shows them whole when asked
        told = page.evaluate(
            "[...document.querySelectorAll('.grades .act')].map(one => { const small = one.querySelector('small');"
            " return [one.innerText.split(/\\s+/).join(' '), parseFloat(getComputedStyle(small).fontSize),"
            " small.scrollHeight - small.clientHeight, one.scrollHeight - one.clientHeight]; })"
        )
        assert [text for text, *_ in told] == GRADES
        for _, letters, cut, over in told:
            assert letters >= 12 and cut <= 0 and over <= 0


@pytest.mark.parametrize("size", [(320, 568), (390, 844)])
def test_a_topic_that_is_cut_short_says_so_and_is_a_tap_away(
    chromium: Any, tmp_path: Path, size: tuple[int, int]
) -> None:
    with on_a_screen(chromium, tmp_path, *size) as page:
        more = page.locator(".topic .unfolds")
        before = page.locator(".topic").bounding_box()["height"]
        assert more.is_visible() and more.inner_text() == "More" and page.locator(".topic.cut").count() == 1
        assert more.get_attribute("aria-expanded") == "false"
        more.tap()
        page.wait_for_function("before => document.querySelector('.topic').offsetHeight > before + 20", arg=before)
        assert more.inner_text() == "Less" and more.get_attribute("aria-expanded") == "true"
        page.locator(".about").evaluate("about => about.scrollTo(0, about.scrollHeight)")
        page.wait_for_selector(".topic:not(.cut)")  # nothing is below
        more.tap()
        assert page.locator(".topic").bounding_box()["height"] == before


def test_a_topic_that_fits_says_nothing_of_more(chromium: Any, folder: Path, service: Any) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    for given in (phone, {}):
        with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, **given) as page:
            opened(page, address)
            assert page.locator(".topic .unfolds").is_hidden() and page.locator(".topic.cut").count() == 0


def test_texts_run_as_their_script_does_and_words_without_spaces_are_marked(chromium: Any, tmp_path: Path) -> None:
    documents = [{"id": "d", "title": "دراجة", "text": "إصلاح الإطار\n我的自行车坏了，修理轮胎。C言語 tyre"}]
    topics = [{"id": "1", "title": "自行车轮胎修理 دراجة", "description": "إصلاح", "narrative": "Repair."}]
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["d"]}, documents=documents, topics=topics))
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        assert page.locator("mark.word").all_inner_texts() == ["دراجة", "自行车", "修理", "轮胎"]
        texts = page.locator("#document h1, .text, .topic p").all()
        assert [one.evaluate("one => getComputedStyle(one).direction") for one in texts] == [
            "rtl",
            "ltr",
            "ltr",
            "rtl",
            "rtl",
        ]  # topic: description, narrative, id; document
        page.goto(f"{address}/progress")
        assert page.locator("#topics td[dir=auto]").inner_text().endswith("دراجة")
    service.close()


def test_by_touch_on_a_phone(chromium: Any, folder: Path, service: Any) -> None:
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, **phone) as page:
        opened(page, address)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        button = page.locator('button[data-grade="2"]')
        box = button.bounding_box()
        assert box["height"] >= 40 and box["y"] + box["height"] <= 844  # within reach of a thumb
        before = progress(page)
        button.tap()
        page.wait_for_function("before => document.getElementById('progress').textContent !== before", arg=before)
        before = progress(page)
        page.locator('button[data-act="undo"]').tap()
        page.wait_for_function("before => document.getElementById('progress').textContent !== before", arg=before)
        for path in ("/progress", "/plan", "/adjudicate", "/export"):
            page.goto(address + path)
            assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    assert [event.method for event in service.log.events()] == ["touch", "touch"]


def test_two_assessors_overlap_disagree_are_adjudicated_and_exported(chromium: Any, tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w", "overlap = 1.0", {"1": ["d0", "d1", "d2"]})
    service = open_service(folder)
    accounts = Accounts(service.log.database, QUICK)
    accounts.accept(accounts.invite("cora", "coordinator"), PASSWORD)
    app = make_app(open_workspace(folder), judging=service, accounts=accounts, with_explore=False)
    with serving(app) as address:
        with tab(chromium) as cora:
            signed_in(cora, address, "cora")
            links = {}
            for name in ("ada", "grace"):
                cora.goto(f"{address}/people")
                cora.fill('input[name="name"]', name)
                cora.click("text=Create link")
                links[name] = cora.locator("input.link").input_value()
        grades = {"ada": {"d0": "0", "d1": "1", "d2": "2"}, "grace": {"d0": "3", "d1": "1", "d2": "2"}}
        for name, link in links.items():
            with tab(chromium) as page:
                page.goto(link)
                page.wait_for_url(lambda url: "#" not in url)  # the secret leaves the address
                page.fill("#password", PASSWORD)
                page.fill("#again", PASSWORD)
                page.click("button.first")
                page.wait_for_selector("#document h1")
                for _ in range(3):
                    doc = page.locator("#document .id").inner_text()
                    page.keyboard.press(grades[name][doc])
                    page.wait_for_function(
                        "doc => document.querySelector('#document .id')?.textContent !== doc", arg=doc
                    )
                assert "Nothing left here" in page.locator("#document").inner_text()
                answer = page.goto(f"{address}/progress")
                assert answer.status == 403  # how far they agree is not for judges
                page.wrong.clear()  # the browser notes the 403
        with tab(chromium) as cora:
            signed_in(cora, address, "cora")
            cora.goto(f"{address}/progress")
            assert "1 to adjudicate" in cora.locator("main").inner_text()
            assert "0.667" in cora.locator("main").inner_text()
            cora.goto(f"{address}/adjudicate")
            assert "Text 0" in cora.locator("article").inner_text()
            for key, shown in (
                ("2", "text=There are no disputes"),
                ("u", "article"),
                ("2", "text=There are no disputes"),
            ):
                with cora.expect_navigation():  # keys are heard once a page is loaded
                    cora.keyboard.press(key)
                cora.wait_for_selector(shown)
            cora.goto(f"{address}/export")
            assert "3 judgments of 1 topic by 2 people" in cora.locator("main").inner_text()
            with cora.expect_download() as coming:
                cora.click("text=Qrels, four columns")
            rows = Path(coming.value.path()).read_text().splitlines()
            assert sorted(rows) == ["1 0 d0 2", "1 0 d1 1", "1 0 d2 2"]
    service.close()


def test_nobody_is_told_that_all_is_judged_while_others_hold_some_of_it(chromium: Any, tmp_path: Path) -> None:
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["d0", "d1"]}))
    held = service.session("grace").next().doc
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        assert page.locator("#document .id").inner_text() != held
        page.keyboard.press("1")
        page.wait_for_selector("text=Nothing to judge for now")
        assert "1 document is left, which others are looking at" in page.locator("#document").inner_text()
        said = "Saved: 1 Related. Others are looking at what is left of this topic."
        assert page.locator(".said").inner_text() == said and page.locator("button[data-grade]").first.is_disabled()
        page.click("text=Look again")
        page.wait_for_selector("text=Nothing has come back yet.")
        service.session("grace").release_holds()
        page.click("text=Look again")
        page.wait_for_selector("#document .id")
        assert page.locator("#document .id").inner_text() == held
        page.keyboard.press("2")
        page.wait_for_selector("text=Everything that is yours to judge is judged.")
    service.close()


def test_a_lost_connection_loses_nothing_and_doubles_nothing(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        press(page, "1")
        fetched_ahead(page)
        page.context.set_offline(True)
        press(page, "2")
        press(page, "3")
        assert "2 actions are stored" in page.locator(".said").inner_text()
        assert len(events(service)) == 1
        page.context.set_offline(False)
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('everything is saved')")
        assert [grade for _, _, grade in events(service)] == [1, 2, 3]
        assert progress(page) == "Document 4 of 6, 3 left"
        page.wrong.clear()  # the browser notes what it could not reach


def test_an_answer_that_is_lost_is_asked_for_again_with_the_same_key(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        lost = []

        def lose(route: Any) -> None:
            route.fetch()  # it arrives, and is recorded
            lost.append(1)
            route.abort()
            page.unroute("**/api/judging/save")

        page.route("**/api/judging/save", lose)
        page.keyboard.press("2")
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('everything is saved')")
        assert lost == [1]
        assert [kind for kind, _, _ in events(service)] == ["judge"]
        page.wrong.clear()


def test_what_waits_is_sent_when_the_page_is_opened_again(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium, intercepts=True) as page:
        opened(page, address)
        page.route("**/api/judging/**", lambda route: route.abort())
        page.keyboard.press("3")
        page.wait_for_function("() => document.querySelector('.said').textContent.includes('1 action is stored')")
        page.unroute_all()
        page.wait_for_timeout(1000)  # what a page keeps reaches the browser, whom the next one asks, a moment later
        page.reload()  # as after the browser was closed
        page.wait_for_selector("#document h1")
        page.wait_for_function("() => document.getElementById('progress').textContent.includes('5 left')")
        assert [grade for _, _, grade in events(service)] == [3]
        page.wrong.clear()


def test_two_tabs_lose_nothing(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        other = page.context.new_page()
        opened(other, address)
        assert heading(page) == heading(other)
        press(page, "1")
        press(other, "2")  # the same document, a moment later: the last word counts
        press(page, "3")
    assert [grade for _, _, grade in events(service)] == [1, 2, 3]
    first = service.session("ada").item_at("1", 1)
    assert first.grade == 2


def test_a_document_that_is_a_page_is_shown_in_a_frame_that_can_do_nothing(chromium: Any, tmp_path: Path) -> None:
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["page"]}))
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        page.keyboard.press("p")
        frame = page.frame_locator("iframe.page")
        assert frame.locator("h1").inner_text() == "Big"
        assert page.locator("iframe.page").get_attribute("sandbox") == ""
        assert page.evaluate("window.hit") is None
        colour = frame.locator("body").evaluate("body => getComputedStyle(body).maxWidth")
        assert colour != "none"  # our style is let in, and no other
    service.close()


def test_texts_ids_and_notes_run_no_script(chromium: Any, tmp_path: Path) -> None:
    documents = [{"id": EVIL, "title": EVIL, "text": EVIL, "url": EVIL}]
    topics = [{"id": EVIL, "title": EVIL, "description": EVIL, "narrative": EVIL}]
    service = open_service(make_folder(tmp_path / "w", "judgments = 2", {EVIL: [EVIL]}, documents, topics))
    service.session("grace" + EVIL).next()
    service.session("grace" + EVIL).save("judge", EVIL, 1, 3, note=EVIL)
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        assert heading(page) == EVIL
        page.keyboard.press("n")
        page.keyboard.insert_text(EVIL)
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".mine")
        assert page.evaluate("window.hit") is None
        page.keyboard.press("1")
        page.wait_for_function("() => document.body.textContent.includes('Nothing left here')")
        for path in ("/progress", "/plan", "/adjudicate?names=1", "/export"):
            page.goto(address + path)
            assert page.evaluate("window.hit") is None, path
            assert page.locator("main img, main svg").count() == 0
    service.close()


def test_a_judge_searches_for_more_by_the_page(chromium: Any, folder: Path) -> None:
    workspace = open_workspace(folder)
    build(workspace.documents(workspace.collections[0])).save(folder / "index")
    service = open_service(folder)
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        opened(page, address)
        page.keyboard.press("e")
        page.keyboard.type("title 11")
        page.keyboard.press("Enter")
        page.click("dialog li button >> nth=0")
        page.wait_for_function("() => document.querySelector('#document h1').textContent === 'Title 11'")
        press(page, "3")
    assert [kind for kind, _, _ in events(service)] == ["search", "found", "judge"]
    service.close()


def test_a_file_is_imported_by_the_page(chromium: Any, folder: Path, service: Any, tmp_path: Path) -> None:
    (tmp_path / "old.qrels").write_text("1 0 d0 2\n1 0 d1 0\n")
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        page.goto(f"{address}/export")
        page.set_input_files("#file", tmp_path / "old.qrels")
        page.click("text=Import >> nth=-1")
        page.wait_for_selector("#said.wrong")
        page.wrong.clear()  # the browser notes the 400
        page.fill("#assessor", "nist")
        page.click("#import button")
        page.wait_for_selector("text=2 of them new")
    assert len(service.log.judgments()) == 2


@pytest.mark.parametrize("path", ["/progress", "/plan", "/adjudicate", "/export"])
def test_every_page_has_one_heading_a_title_and_labels(chromium: Any, folder: Path, service: Any, path: str) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        page.goto(address + path)
        assert page.locator("h1").count() == 1
        assert page.title()
        bare = page.evaluate(
            "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(one => !one.labels.length && !one.ariaLabel).length"
        )
        assert bare == 0


@pytest.mark.parametrize("size", [(1280, 900), (390, 844)])
def test_pages_of_accounts_and_coordinators_have_landmarks_and_labels_at_any_size(
    chromium: Any, app: Any, size: tuple[int, int]
) -> None:
    viewport = {"viewport": {"width": size[0], "height": size[1]}}
    fields = ("textbox", "combobox", "spinbutton", "checkbox", "searchbox", "button", "link")
    with serving(app) as address, tab(chromium, **viewport) as page:
        for path in (
            "/sign-in",
            "/invitation#abc",
            "/account",
            "/people",
            "/progress",
            "/plan",
            "/adjudicate",
            "/export",
        ):
            if path == "/account":
                signed_in(page, address, "cora")
            page.goto(address + path)
            tree = tree_of(page)
            assert [role for role, _ in tree].count("main") == 1 and ("banner", "") in tree, path
            assert (("navigation", "Pages") in tree) == (path not in ("/sign-in", "/invitation#abc")), path
            assert [role for role, name in tree if role in fields and not name.strip()] == [], path
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], path
            covered = page.evaluate(
                "[...document.querySelectorAll('main button, main input:not([type=hidden]), main select')]"
                ".filter(one => one.checkVisibility() && !one.closest('.scroll, .unseen') && !one.matches('.unseen'))"
                ".filter(one => { one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
                " const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);"
                " return !top || !(one.contains(top) || top.contains(one)); }).length"
            )
            assert covered == 0, path


def test_progress_is_kept_up_to_date_and_stays_sorted(chromium: Any, folder: Path, service: Any) -> None:
    with serving(make_app(judging=service, local_user="ada")) as address, tab(chromium) as page:
        page.clock.install()
        page.goto(f"{address}/progress")
        page.click("#topics th button >> nth=2")  # by pairs
        page.click("#topics th button >> nth=2")
        rows = "#topics tbody th"
        assert page.locator(rows).all_inner_texts() == ["2", "1"]
        item = service.session("grace").next()
        service.session("grace").save("judge", item.query, item.place, 1)
        page.clock.fast_forward(11_000)
        page.wait_for_selector("text=1 of 9 pairs judged")
        assert page.locator(rows).all_inner_texts() == ["2", "1"]
        assert page.evaluate("document.activeElement.closest('th').cellIndex") == 2
