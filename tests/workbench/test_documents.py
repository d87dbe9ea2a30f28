"""Documents as assessors see them: whatever they contain, nobody waits for them."""

from __future__ import annotations

import re
import threading
from typing import Any

import pytest

from cranfield.data.collection import Document
from cranfield.experiment.workspace import open_workspace
from cranfield.workbench.app import make_app
from cranfield.workbench.judge.documents import TOO_MUCH, document_to_dict, frame_html, get_html
from cranfield.workbench.judge.sanitize import MAX_DEPTH, MAX_MARKUP, MAX_TAGS, simplify_html
from tests.waiting import TIMEOUT
from tests.workbench.conftest import client_of, make_folder, open_service, serving, with_token

EVIL = {
    "comments": "<!---->",
    "tags that do not end": "<a",
    "tags that do not end, with spaces": "<a ",
    "instructions": "<?",
    "declarations": "<!",
    "ends": "</a",
    "sections": "<![CDATA[",
    "comments that do not end": "<!--x>",
    "nesting": "<div>",
    "nested tables": "<table><tr><td>",
    "marks within marks": "<b>",
    "marks in paragraphs": "<a><b><i><p>",
    "ends in disorder": "<b><p></b>",
    "brackets": "<",
    "ampersands": "&#x",
    "spaces": " \n",
}


def document(text: str) -> Document:
    return Document("x", text)


@pytest.mark.parametrize("name", EVIL)
def test_documents_are_shown_in_linear_time(name: str) -> None:
    """If time were quadratic, this would take minutes or hours."""
    text = f"<p>{EVIL[name] * 40_000}<x>hello"
    shown = document_to_dict(document(text))
    html = frame_html(text)
    assert shown is not None and html.startswith("<!DOCTYPE html>")


def test_thousands_of_attributes_are_shown_in_linear_time() -> None:
    assert "<p>so</p>" in frame_html("<p " + " ".join(f"a{i}=1" for i in range(100_000)) + ">so")
    marks = "".join(f"<b title={i}>" for i in range(20_000))
    frame_html(f"<p>{marks}" + "<p>so" * 20_000)


@pytest.mark.parametrize(
    "before", ["<!---->" * 100, "<!-- a -->\n<?xml version='1.0'?> ", "  \n", "<!--" + "-" * 900 + "-->"]
)
@pytest.mark.parametrize("first", ["<html>", "<!DOCTYPE html>", "<P class=x>", "<h1>"])
def test_a_page_is_told_by_its_beginning(before: str, first: str) -> None:
    assert get_html(document(before + first)) is not None


@pytest.mark.parametrize("text", ["plain", "<!---->" * 26 + "<x>hello", "<!-- never ended <p>", "a <p>", "<pre>", ""])
def test_what_does_not_begin_like_a_page_is_none(text: str) -> None:
    assert get_html(document(text)) is None


@pytest.mark.parametrize(
    ("markup", "shown"),
    [
        ("<p>a<p>b", "<p>a</p><p>b</p>"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        (
            "<table><tr><td>a<td>b<tr><th>c</table>d",
            "<table><tbody><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></tbody></table>d",
        ),
        ("<dl><dt>a<dd>b<dt>c</dl>", "<dl><dt>a</dt><dd>b</dd><dt>c</dt></dl>"),
        ("<b>a<i>b</b>c</i>d", "<b>a<i>b</i></b>cd"),
        ("<p>a<br>b<hr>c</p>", "<p>a<br>b</p><hr>c"),
        ("a &lt;b&gt; &amp;c < d", "a &lt;b&gt; &amp;c &lt; d"),
        ("<head><title>t</title><style>x</style><p>a</p>", "<p>a</p>"),
        ("<svg><p>x</p></svg>a<svg/>b", "ab"),
    ],
)
def test_a_page_in_a_frame_is_that_page(markup: str, shown: str) -> None:
    assert body_of(frame_html(markup)) == shown


def test_a_quotation_mark_does_not_end_an_attribute() -> None:
    shown = body_of(frame_html("<p title='\"><script>x</script>'>a</p>"))
    assert re.fullmatch('<p title="&quot;[^"]*">a</p>', shown)  # nh3 before 0.3.7 leaves < and > in attributes


def body_of(page: str) -> str:
    return page.partition('<body dir="auto">')[2].partition("</body>")[0]


def test_what_is_too_deep_is_shown_without_its_frames() -> None:
    html = simplify_html("<div>" * 1000 + "a" + "</div>" * 1000 + "<p>b</p>", {"div", "p"}, {}, set())
    assert html == "<div>" * MAX_DEPTH + "a" + "</div>" * MAX_DEPTH + "<p>b</p>"


@pytest.mark.parametrize("markup", ["<i>so</i>" * (MAX_TAGS + 1), "<p>" + "so " * (MAX_MARKUP // 3 + 1)])
def test_what_is_too_much_is_shown_as_text_with_a_sentence(markup: str) -> None:
    body = frame_html(markup).partition('<body dir="auto">')[2]
    assert body.startswith(f"<p>{TOO_MUCH}</p><p>so") and "<i>" not in body


def test_nobody_waits_while_a_document_is_looked_at(tmp_path: Any, monkeypatch: Any) -> None:
    """Documents are sanitized in a thread: the server answers others meanwhile."""
    import httpx

    folder = make_folder(tmp_path / "w", pairs={"1": ["page"]})
    service = open_service(folder)
    begun, go_on = threading.Event(), threading.Event()

    def slow(markup: str) -> str:
        begun.set()
        assert go_on.wait(TIMEOUT)
        return frame_html(markup)

    monkeypatch.setattr("cranfield.workbench.judge.judging_page.frame_html", slow)
    app = make_app(open_workspace(folder), judging=service, with_explore=False)
    with serving(app) as address, httpx.Client(base_url=address, timeout=TIMEOUT) as client:
        client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
        item = client.post("/api/judging/next", json={}).json()["item"]
        found: list[Any] = []
        at = {"query": "1", "place": item["place"]}
        url = f"{address}/judge/document"
        thread = threading.Thread(target=lambda: found.append(httpx.get(url, params=at, timeout=TIMEOUT)))
        thread.start()
        assert begun.wait(TIMEOUT)
        assert client.get("/api/session").status_code == 200 and not found
        go_on.set()
        thread.join()
        assert found[0].status_code == 200
    service.close()


def test_a_document_of_comments_is_shown(tmp_path: Any) -> None:
    documents = [{"id": "redos", "text": "<!---->" * 280 + "<x>hello"}]
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["redos"]}, documents=documents))
    client = with_token(client_of(make_app(judging=service)))
    assert not client.post("/api/judging/next", json={}).json()["item"]["document"]["is_page"]
    service.close()
