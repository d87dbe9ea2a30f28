"""Pages as HTML and JSON, errors, URLs, caching."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from starlette.applications import Starlette

from cranfield.annotation.grades import Grade
from cranfield.errors import InputError
from cranfield.experiment.workspace import open_workspace
from cranfield.workbench.app import make_app
from cranfield.workbench.pages import Page, build_url, dump_json, page_routes, static_url
from cranfield.workbench.params import Params, not_found
from tests.workbench.conftest import client_of, judge_all, make_folder, open_service, serving, signed_in, with_token


def app_with(handler: Any, path: str = "/thing") -> Starlette:
    app = make_app(qrels="qrels.txt", runs=["a.run"], with_explore=False)
    app.router.routes[:0] = page_routes(path, handler)
    return app


def shown(request: Any) -> Page:
    params = Params(request)
    if "gone" in params:
        raise not_found("no such thing <b>")
    if "odd" in params:
        raise InputError("odd input", "file.txt", 3)
    return Page("error.html", {"n": params.integer("n", 1, 0, 9)}, "T", {"status": 200, "message": "m"}, tag="one")


def test_a_page_and_its_twin_show_the_same_value() -> None:
    client = client_of(app_with(shown))
    assert "<h1>T</h1>" in client.get("/thing").text
    assert client.get("/thing.json?n=3").json() == {"n": 3}
    assert client.get("/thing?n=4", headers={"accept": "application/json"}).json() == {"n": 4}


def test_what_a_browser_has_is_not_sent_again() -> None:
    client = client_of(app_with(shown))
    tag = client.get("/thing").headers["etag"]
    assert client.get("/thing", headers={"if-none-match": tag}).status_code == 304
    assert client.get("/thing.json", headers={"if-none-match": tag}).status_code == 200


@pytest.mark.parametrize(("asked", "status"), [("gone=1", 404), ("odd=1", 400), ("n=10", 400), ("n=x", 400)])
def test_errors_are_pages_or_json(asked: str, status: int) -> None:
    client = client_of(app_with(shown))
    page, twin = client.get(f"/thing?{asked}"), client.get(f"/thing.json?{asked}")
    assert page.status_code == twin.status_code == status
    assert page.headers["content-type"].startswith("text/html") and "<b>" not in page.text
    assert list(twin.json()) == ["error"]


def test_an_unknown_address_is_told_in_the_form_that_was_asked_for() -> None:
    client = client_of(app_with(shown))
    assert "There is no such page." in client.get("/nowhere").text
    assert client.get("/nowhere.json").json() == {"error": "There is no such page."}
    assert client.get("/api/nowhere").json() == {"error": "There is no such page."}
    assert client.post("/thing").status_code == 405


@pytest.mark.parametrize("text", ["a/b?c&d=e#f", "ä€", "d\udcff\udc80", " %20+", "\n\0"])
def test_ids_of_any_bytes_survive_an_address(text: str) -> None:
    seen = []

    def handler(request: Any) -> dict[str, Any]:
        seen.append(Params(request).text("doc"))
        return Page("error.html", {"doc": seen[-1]})  # type: ignore[return-value]

    client = client_of(app_with(handler))
    answer = client.get(build_url("/thing.json", doc=text))
    assert seen == [text]
    assert json.loads(answer.content)["doc"] == text


def test_json_knows_records_arrays_and_numbers_that_are_none() -> None:
    value = {"a": np.array([1.5, np.nan]), "b": np.int64(3), "c": Grade(1.0, "x"), "d": {2: float("inf")}, "e": {1}}
    assert json.loads(dump_json(value)) == {
        "a": [1.5, None],
        "b": 3,
        "c": {"value": 1.0, "label": "x", "definition": "", "key": ""},
        "d": {"2": None},
        "e": [1],
    }


def test_files_are_kept_for_good_by_their_content() -> None:
    client = client_of(make_app(qrels="q", runs=["r"], with_explore=False))
    cached = client.get(static_url("app.css"))
    assert "immutable" in cached.headers["cache-control"]
    assert client.get("/static/app.css").headers["cache-control"] == "no-cache"
    assert client.get("/static/app.css?v=old").headers["cache-control"] == "no-cache"
    headers = {"if-none-match": cached.headers["etag"]}
    assert client.get("/static/app.css", headers=headers).status_code == 304


def test_where_there_is_nothing_the_first_page_says_what_to_do() -> None:
    client = client_of(make_app(qrels="q", runs=["r"], with_explore=False))
    assert "cranfield pool" in client.get("/").text


def test_the_first_page_is_judging_as_long_as_there_is_nothing_to_explore(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w", systems="[systems]\na = {run = 'a.run'}")
    service = open_service(folder)
    client = with_token(client_of(make_app(open_workspace(folder), judging=service)))

    def first() -> str:
        return str(client.get("/", follow_redirects=False).headers["location"])

    assert first() == "/judge" and client.get("/").status_code == 200
    (folder / "a.run").write_text("1 Q0 d0 1 9.5 a\n")
    assert first() == "/judge"  # runs, and no judgments
    judge_all(client)
    assert first() == "/leaderboard" and client.get("/").status_code in (200, 202)
    twin = client.get("/index.json", follow_redirects=False).json()
    assert twin["first"] == "/leaderboard" and "/judge" in [page["path"] for page in twin["pages"]]
    (folder / "a.run").unlink()
    assert first() == "/judge"  # judgments, and no runs
    service.close()


def test_who_coordinates_begins_with_progress_and_holds_nothing(app: Any) -> None:
    first = {
        name: signed_in(app, name).get("/", follow_redirects=False).headers["location"] for name in ("cora", "ada")
    }
    assert first == {"cora": "/progress", "ada": "/judge"}


def test_who_leaves_in_the_middle_of_a_request_leaves_no_traceback(
    folder: Path, service: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    app = make_app(open_workspace(folder), judging=service, local_user="ada", with_explore=False)
    token = with_token(client_of(app)).headers["x-csrf-token"]
    with serving(app) as address:
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as line:
            line.sendall(
                f"POST /api/judging/next HTTP/1.1\r\nhost: {host}:{port}\r\ncontent-type: application/json\r\n"
                f"x-csrf-token: {token}\r\ncontent-length: 100\r\n\r\n{{".encode()
            )
        with httpx.Client(base_url=address) as client:
            assert client.get("/api/judging").status_code == 200  # it goes on
    told = capfd.readouterr().err
    assert "Traceback" not in told and "Exception" not in told
