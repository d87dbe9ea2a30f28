"""Packets: one file, offline, in a real browser; what comes back is imported, once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import Scale, Settings, export_qrels, import_judgments, open_log
from cranfield.annotation.documents import TextLookup
from cranfield.annotation.packet import Packet, build_packet, escape_json, load_places, read_asset, shuffle_places
from cranfield.annotation.settings import DEFAULT_GUIDELINES
from cranfield.data.collection import Document, Topic
from cranfield.errors import InputError
from tests.annotation.conftest import with_pairs

EVIL = """</script><script>window.hit = 1</script><img src=x onerror="window.hit = 1"><svg onload=window.hit=1>
javascript:window.hit=1 {{7*7}} <!-- \u2028 --> ]]> &lt;b&gt; 'quoted' "double"
<a href="javascript:window.hit=1">x</a>"""
TOPICS = [
    Topic("1", "flat tyres", "How do I mend a flat tyre?", "Repair is relevant.\nRacing is not."),
    Topic("<b>2</b>", EVIL, EVIL, EVIL),
]
DOCUMENTS = [
    *(
        Document(f"d{i}", f"Text {i} about tyres. " * 30 + "Needle.", f"Title {i}", {"url": f"http://host/{i}"})
        for i in range(5)
    ),
    Document("<i>evil</i>", EVIL, EVIL, {EVIL: EVIL}),
]
PAIRS = {"1": ["d0", "d1", "d2", "d3", "d4"], "<b>2</b>": ["<i>evil</i>", "no-text", "d0"]}


def made(assessor: str | None = "Ada", pairs: dict[str, list[str]] = PAIRS, **more: Any) -> Packet:
    texts = TextLookup.of(TOPICS, DOCUMENTS, [doc for docs in pairs.values() for doc in docs])
    return build_packet(
        shuffle_places(pairs, assessor, 1), texts, assessor=assessor, guidelines=f"Judge well. {EVIL}", **more
    )


# The file


def test_a_packet_loads_nothing_and_runs_only_what_is_its_own() -> None:
    html = made().html
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None and policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy[1] and "http" not in policy[1]
    assert html.count("<script") == 2 and html.count("<style") == 1  # data, code; nothing of a document got out
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b|@import|url\(", html)
    for name in ("judging.js", "packet.js", "judging.css"):
        assert not re.search(
            r"https?://|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", read_asset(name)
        ), name


def test_nothing_but_what_is_to_be_judged_is_in_the_file() -> None:
    data = json.loads(re.search(r'id="data">(.*?)</script>', made().html, re.S)[1])  # type: ignore[index]
    assert set(data) == {
        *("title", "assessor", "seed", "version", "grades", "guidelines", "actions", "topics", "documents", "packet")
    }
    for topic in data["topics"]:
        assert set(topic) == {"query", "title", "description", "narrative", "words", "places"}
    assert {key for _, one in data["documents"] if one for key in one} == {"title", "text", "fields"}


def test_without_guidelines_a_packet_has_the_usual_ones() -> None:
    texts = TextLookup.of(TOPICS, DOCUMENTS, ["d0"])
    html = build_packet(shuffle_places({"1": ["d0"]}, "Ada", 1), texts, assessor="Ada").html
    data = json.loads(re.search(r'id="data">(.*?)</script>', html, re.S)[1])  # type: ignore[index]
    assert data["guidelines"] == DEFAULT_GUIDELINES and "you are writing a report on the topic" in DEFAULT_GUIDELINES


def test_the_same_input_gives_the_same_packet_and_assessors_have_their_own_orders() -> None:
    assert made().html == made().html and made().id != made("Bob").id
    long = {"1": [f"d{i}" for i in range(40)]}
    orders = [shuffle_places(long, name, seed)["1"] for name, seed in (("ada", 1), ("bob", 1), ("ada", 2))]
    assert len({tuple(order) for order in orders}) == 3
    assert all(sorted(doc for _, doc in order) == sorted(long["1"]) for order in orders)


def test_what_cannot_be_in_a_packet_is_said() -> None:
    with pytest.raises(InputError, match="nothing to judge"):
        made(pairs={"1": []})
    with pytest.raises(InputError, match="not UTF-8"):
        made(pairs={"1": ["d\udcff"]})
    with pytest.raises(InputError, match="'two words' cannot be written to qrels"):
        made(pairs={"1": ["d0", "two words"]})


def test_json_in_a_page_holds_no_markup() -> None:
    text = escape_json(json.dumps(EVIL, ensure_ascii=False))
    assert not set("<>&\u2028\u2029") & set(text) and json.loads(text) == EVIL


def test_a_packet_of_a_log_has_what_is_left_in_the_order_kept_there(tmp_path: Path) -> None:
    from cranfield.annotation import AssessorSession

    with open_log(tmp_path / "log.db") as log:
        with_pairs(log, 1, 10, repeats=0.3)
        session = AssessorSession(log, "ada")
        first = session.next()
        assert first is not None
        session.save("judge", "1", first.place, 1)
        places = load_places(log, "ada")["1"]
        assert len(places) == 12 and first.place not in [place for place, _ in places]
        assert all(session.item_at("1", place).doc == doc for place, doc in places)


# In a browser


class Reader:
    """Somebody with a packet open, who sees what is on the page."""

    def __init__(self, chromium: Any, file: Path, **context: Any) -> None:
        self.context = chromium.new_context(accept_downloads=True, **context)
        self.file = file
        self.problems: list[str] = []
        self.page = self.open()

    def open(self) -> Any:
        page = self.context.new_page()
        page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("request", lambda request: self.problems.append(request.url) if "file:" not in request.url else None)
        page.goto(self.file.as_uri())
        return page

    @property
    def doc(self) -> str:
        return str(self.page.locator(".document .id").inner_text())

    @property
    def progress(self) -> str:
        return str(self.page.locator(".progress").inner_text())

    @property
    def said(self) -> str:
        return str(self.page.locator(".said").inner_text())

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def reload(self, page: Any = None) -> None:
        page = page or self.page
        page.wait_for_timeout(1000)  # what a page keeps reaches the browser, whom the next one asks, a moment later
        page.reload()

    def exported(self) -> list[dict[str, Any]]:
        self.page.get_by_role("button", name="Export").click()
        with self.page.expect_download() as waiting:
            self.page.locator("#download").click()
        saved = self.file.with_name(waiting.value.suggested_filename)
        waiting.value.save_as(saved)
        self.page.keyboard.press("Escape")
        self.saved = saved
        return [json.loads(line) for line in saved.read_text().splitlines()]


@pytest.fixture
def reader(chromium: Any, tmp_path: Path) -> Iterator[Reader]:
    (tmp_path / "packet.html").write_text(made().html)
    opened = Reader(chromium, tmp_path / "packet.html")
    yield opened
    problems = opened.problems
    opened.context.close()
    assert problems == []


def test_a_person_judges_by_keyboard_undoes_reloads_and_resumes_in_the_same_order(reader: Reader) -> None:
    assert reader.progress == "Document 1 of 5, 5 left"
    order = [reader.doc]
    reader.press("2")
    assert reader.said == "Saved: 2 Relevant." and reader.progress == "Document 2 of 5, 4 left"
    order.append(reader.doc)
    reader.press("0")
    order.append(reader.doc)
    reader.press("u")
    assert reader.doc == order[1] and reader.said == "Undone." and reader.progress == "Document 2 of 5, 4 left"
    reader.reload()
    assert reader.doc == order[1]
    reader.press("3", "s")
    reader.press("x")
    fifth = reader.doc
    reader.press("1")
    assert reader.doc == order[2] and "You skipped it." in reader.page.locator(".document").inner_text()
    reader.press("b")
    assert reader.doc == fifth and reader.page.locator(".grades [aria-pressed=true]").inner_text().startswith("1")
    reader.press("ArrowRight", "0")
    assert "This topic is done; here is the next one." in reader.said
    header, *events = reader.exported()
    assert header["judgments"]["packet"] == made().id
    assert [event["kind"] for event in events] == [
        "judge",
        "judge",
        "undo",
        "judge",
        "skip",
        "cannot",
        "judge",
        "judge",
    ]
    assert {event["method"] for event in events} == {"key"} and {event["assessor"] for event in events} == {"Ada"}
    assert all(event["shown_at"] <= event["judged_at"] and event["active_ms"] >= 0 for event in events)
    assert len({event["key"] for event in events}) == len(events)


def test_what_is_exported_is_imported_once(reader: Reader, tmp_path: Path) -> None:
    reader.press("2", "0", "u", "3", "x")
    reader.exported()
    with open_log(tmp_path / "log.db") as log:
        log.add_pairs(PAIRS)
        assert import_judgments(log, reader.saved).new == 5
        before = export_qrels(log).qrels.to_dict()
        assert sorted(before["1"].values()) == [2.0, 3.0]
        assert import_judgments(log, reader.saved).new == 0
        reader.press("1")
        reader.exported()  # the file grows: what is new is taken up
        assert import_judgments(log, reader.saved).new == 1
        assert sorted(export_qrels(log).qrels.to_dict()["1"].values()) == [1.0, 2.0, 3.0]


def test_repeats_of_a_packet_are_known_by_the_log(chromium: Any, tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        log.configure(Settings(repeats=1.0))
        log.add_pairs({"1": PAIRS["1"]})
        texts = TextLookup.of(TOPICS, DOCUMENTS, PAIRS["1"])
        (tmp_path / "packet.html").write_text(build_packet(load_places(log, "Ada"), texts, assessor="Ada").html)
        reader = Reader(chromium, tmp_path / "packet.html")
        reader.press(*"2222222222")
        reader.exported()
        import_judgments(log, reader.saved)
        assert sorted(event.again for event in log.events()) == [False] * 5 + [True] * 5
        assert len(export_qrels(log).qrels) == 5
        reader.context.close()


def test_nothing_of_a_topic_a_document_or_an_id_becomes_script(reader: Reader) -> None:
    reader.press("t")
    seen = set()
    for _ in range(3):
        seen.add(reader.doc)
        text = reader.page.locator(".document").inner_text()
        assert "<svg onload=window.hit=1>" in reader.page.locator(".topic").inner_text()
        if reader.doc == "<i>evil</i>":
            assert "<img src=x onerror=" in text
            reader.press("n")
            reader.page.locator("textarea").fill(EVIL)
            reader.press("Control+Enter")
            assert "<svg onload" in reader.page.locator(".mine").inner_text()
        reader.press("1")
    assert seen == {"<i>evil</i>", "no-text", "d0"}
    reader.press("g")
    reader.page.locator("dialog").get_by_text("Judge well.").wait_for()
    reader.press("Escape")
    reader.page.get_by_role("button", name="Topics").click()
    assert reader.page.evaluate("window.hit") is None
    assert (
        reader.page.locator("script").count() == 2 and reader.page.locator("a:not(.skip-link), img, svg").count() == 0
    )


def test_find_highlight_note_and_help(reader: Reader) -> None:
    page = reader.page
    assert page.locator("mark.word").count() > 10 and "marked" in page.locator("main").get_attribute("class")
    reader.press("h")
    assert "marked" not in page.locator("main").get_attribute("class").split()
    reader.press("/")
    page.keyboard.type("needle")  # letters and digits go into the field, not to the grades
    assert page.locator("mark.found").count() == 1 and page.locator(".find").inner_text().endswith("1 of 1")
    page.keyboard.type("0")
    assert page.locator("mark.found").count() == 0
    reader.press("Escape", "n")
    page.locator("textarea").fill("rather 2 short")
    page.get_by_role("button", name="Save").click()
    assert "Your note: rather 2 short" in page.locator(".mine").inner_text()
    reader.press("?")
    assert "revert your last action" in page.locator("dialog").inner_text()
    reader.press("2")  # nothing happens behind a dialog
    reader.press("Escape")
    assert reader.progress == "Document 1 of 5, 5 left"
    _, *events = reader.exported()
    assert [(event["kind"], event["note"]) for event in events] == [("note", "rather 2 short")]


def test_a_grade_goes_to_the_document_on_the_screen_however_long_it_is(chromium: Any, tmp_path: Path) -> None:
    long = Document("long", ("tyre tyre lorem ipsum " * 90_000)[:2_000_000] + "Finis", "Long")
    docs = ["d0", "d1", "long", "d2"]
    texts = TextLookup.of(TOPICS, [*DOCUMENTS, long], docs)
    (tmp_path / "packet.html").write_text(
        build_packet(shuffle_places({"1": docs}, "Ada", 1), texts, assessor="Ada").html
    )
    reader = Reader(chromium, tmp_path / "packet.html")
    meant = []
    for grade in (0, 1, 2, 3):
        meant.append((reader.doc, grade))
        if reader.doc == "long":
            assert reader.page.locator("mark.word").count() > 1_000
            reader.press("/")
            reader.page.keyboard.type("FINIS")
            assert reader.page.locator("mark.here").inner_text() == "Finis"
            assert reader.page.locator(".find").inner_text().endswith("1 of 1")
            reader.press("Escape")
        reader.press(str(grade))
    _, *events = reader.exported()
    assert [(event["doc"], event["grade"]) for event in events] == meant and {doc for doc, _ in meant} == {*docs}
    assert reader.problems == []
    reader.context.close()


def test_two_tabs_lose_nothing(reader: Reader) -> None:
    other = reader.open()
    reader.press("2", "2")
    other.keyboard.press("3")
    other.bring_to_front()
    reader.reload(other)
    assert other.locator(".progress").inner_text() == "Document 3 of 5, 3 left"
    _, *events = reader.exported()
    assert len(events) == 3


def test_a_browser_that_keeps_nothing_says_so_and_can_still_export(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "packet.html").write_text(made().html)
    reader = Reader(chromium, tmp_path / "packet.html")
    reader.context.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('no'); }});")
    reader.page.reload()
    assert "cannot keep your judgments" in reader.said
    reader.press("2", "1")
    assert reader.progress == "Document 3 of 5, 3 left" and "cannot keep" in reader.said or "Saved" in reader.said
    _, *events = reader.exported()
    assert [event["grade"] for event in events] == [2, 1]
    # and can go on with what it exported
    reader.page.on("dialog", lambda asked: asked.accept())
    reader.page.reload()
    reader.page.get_by_role("button", name="Export").click()
    reader.page.locator("dialog input[type=file]").set_input_files(reader.saved)
    reader.page.get_by_text("2 taken up.").wait_for()
    reader.press("Escape")
    assert reader.progress == "Document 3 of 5, 3 left"
    reader.context.close()


def test_a_packet_for_anybody_asks_for_a_name_and_keeps_an_order_for_it(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "packet.html").write_text(made(None).html)
    orders = {}
    for name in ("Zoë", "Bob"):
        reader = Reader(chromium, tmp_path / "packet.html")
        assert "8 documents of 2 topics to judge" in reader.page.locator("main").inner_text()
        reader.page.get_by_label("Your name").fill(name)
        reader.press("Enter")
        order = [reader.doc]
        reader.press("1")
        order.append(reader.doc)
        reader.reload()
        assert reader.doc == order[1]
        reader.press("1", "1", "1")
        header, *events = reader.exported()
        orders[name] = [event["doc"] for event in events]
        assert events[0]["assessor"] == name and reader.saved.name.startswith(f"judgments-{name}-")
        reader.context.close()
    assert orders["Zoë"] != orders["Bob"]


def test_a_packet_works_by_touch_on_a_phone(chromium: Any, tmp_path: Path) -> None:
    (tmp_path / "packet.html").write_text(made().html)
    reader = Reader(
        chromium, tmp_path / "packet.html", viewport={"width": 360, "height": 640}, has_touch=True, is_mobile=True
    )
    page = reader.page
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    for button in page.locator(".grades .act").all():
        box = button.bounding_box()
        assert box["height"] >= 44 and box["y"] + box["height"] <= 640  # large enough, and in sight
    assert page.locator(".topic h2").is_visible()
    page.locator(".grades .act").nth(2).tap()
    assert reader.progress == "Document 2 of 5, 4 left"
    page.locator("[data-act=undo]").scroll_into_view_if_needed()
    page.locator("[data-act=undo]").tap()
    assert reader.progress == "Document 1 of 5, 5 left"
    _, *events = reader.exported()
    assert [event["method"] for event in events] == ["touch", "touch"]
    reader.context.close()


def test_a_screen_reader_finds_names_roles_and_what_was_saved(reader: Reader) -> None:
    page = reader.page
    for grade in ("Not relevant", "Related", "Relevant", "Highly relevant"):
        button = page.get_by_role("group", name="Grades").get_by_role("button", name=grade).first
        assert button.get_attribute("aria-keyshortcuts") in "0123"
    assert page.get_by_role("complementary", name="Topic").is_visible() and page.get_by_role("main").is_visible()
    assert page.locator(".said").get_attribute("role") == "status"
    # each document is announced: its heading has the focus
    assert page.evaluate("document.activeElement.tagName") == "H1"
    reader.press("2")
    assert page.evaluate("document.activeElement.textContent") == page.locator(".document h1").inner_text()
    # everything can be reached and used with tabulator and return
    seen = []
    for _ in range(30):
        reader.press("Tab")
        seen.append(page.evaluate("document.activeElement.textContent.trim()"))
    for label in (
        "Not relevant",
        "Back",
        "Undo",
        "Skip",
        "Cannot judge",
        "Note",
        "Next topic",
        "Find",
        "Highlight",
        "Export",
    ):
        assert any(label in text for text in seen), label
    page.locator(".grades .act").first.focus()
    reader.press("Enter")
    assert reader.progress == "Document 3 of 5, 3 left"


def test_other_grades_have_keys_of_their_own(chromium: Any, tmp_path: Path) -> None:
    scale = Scale.of([(-2, "Spam", ""), (0, "No", ""), (0.5, "Half", "In part."), (10, "Yes", "")])
    (tmp_path / "packet.html").write_text(made(scale=scale).html)
    reader = Reader(chromium, tmp_path / "packet.html")
    reader.press("2", "3", "0", "7")
    _, *events = reader.exported()
    assert [event["grade"] for event in events] == [0.5, 10, -2]
    reader.context.close()
