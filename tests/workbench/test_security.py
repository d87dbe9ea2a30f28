"""Security: hosts, origins, CSRF tokens, headers, roles, and hostile documents."""

from __future__ import annotations

import re
from typing import Any

import pytest
from starlette.routing import Route

from cranfield.errors import CranfieldError
from cranfield.workbench.app import make_app
from cranfield.workbench.judge.documents import frame_html
from cranfield.workbench.security import SAFE_METHODS, AllowedHosts
from tests.workbench.conftest import (
    EVIL,
    HOST,
    client_of,
    make_folder,
    open_service,
    sign_in,
    signed_in,
    token_in,
    with_token,
)

READ = ["/judge", "/progress", "/plan", "/adjudicate", "/export", "/openapi.json", "/api/judging", "/nothing"]


# By which door


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example", "", "[::1", "a b"])
def test_a_name_that_somebody_else_points_at_this_machine_is_refused(alone: Any, host: str) -> None:
    answer = alone.get("/api/judging", headers={"host": host})
    assert answer.status_code == 421
    assert "grades" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "127.0.0.2"])
def test_names_of_this_machine_are_let_in(alone: Any, host: str) -> None:
    assert alone.get("/api/judging", headers={"host": host}).status_code == 200


def test_other_addresses_are_names_only_where_others_may_come() -> None:
    assert not AllowedHosts("127.0.0.1").allows("192.168.1.5:8000")
    assert AllowedHosts("0.0.0.0").allows("192.168.1.5:8000")
    assert not AllowedHosts("0.0.0.0").allows("evil.example")
    assert AllowedHosts("0.0.0.0", ("lab.example",)).allows("Lab.Example:443")


def test_a_server_that_others_can_reach_does_not_start_without_accounts(folder: Any, service: Any) -> None:
    with pytest.raises(CranfieldError, match="requires accounts"):
        make_app(judging=service, hosts=AllowedHosts("0.0.0.0"))


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "https://127.0.0.1:8000"},
        {"origin": "http://127.0.0.1:9"},
        {"origin": "http://localhost:8000"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_of_other_sites_change_nothing_even_with_the_token(alone: Any, headers: dict[str, str]) -> None:
    answer = alone.post("/api/judging/next", json={}, headers=headers)
    assert answer.status_code == 403
    assert "another site" in answer.text


def test_a_page_of_ours_may_ask(alone: Any) -> None:
    assert alone.post("/api/judging/next", json={}, headers={"origin": HOST}).status_code == 200


# Tokens


def changing(app: Any) -> list[tuple[str, str]]:
    found = [
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in route.methods or ()
        if method not in SAFE_METHODS
    ]
    assert len(found) > 15
    return found


def test_nothing_changes_without_the_token_whatever_the_route(app: Any) -> None:
    client = signed_in(app, "cora")
    del client.headers["x-csrf-token"]
    other = signed_in(app, "ada").headers["x-csrf-token"]
    for method, path in changing(app):
        for token in ("", "wrong", other):
            headers = {"x-csrf-token": token} if token else {}
            for body in ({"json": {}}, {"data": {"csrf": token}}, {"content": b"x"}, {}):
                answer = client.request(method, path, headers=headers, follow_redirects=False, **body)
                assert answer.status_code == 403, (method, path, body, answer.text)
    assert client.get("/people.json").json()["people"][0]["state"] == "open"


def test_json_is_taken_as_json_only(alone: Any) -> None:
    # what a form of another site can send without asking is not JSON
    for kind in ("text/plain", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded"):
        answer = alone.post("/api/judging/next", content=b"{}", headers={"content-type": kind})
        assert answer.status_code == 415, kind


def test_a_form_is_taken_as_a_form_only(alone: Any) -> None:
    for path in ("/plan/settings", "/plan/deal", "/plan/give", "/plan/take", "/adjudicate", "/adjudicate/undo"):
        for body in ({"json": {"names": "ada"}}, {"content": b"names=ada"}, {}):
            assert alone.post(path, **body).status_code == 415, (path, body)


def test_a_token_outlives_the_server(folder: Any) -> None:
    tokens = []
    for _ in range(2):
        service = open_service(folder)
        tokens.append(with_token(client_of(make_app(judging=service))).headers["x-csrf-token"])
        service.close()
    assert tokens[0] == tokens[1]


# Headers


@pytest.mark.parametrize("path", READ)
def test_every_answer_has_the_headers(alone: Any, path: str) -> None:
    headers = alone.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/judge", "/progress", "/plan", "/adjudicate", "/export", "/people", "/sign-in"])
def test_pages_have_no_script_or_style_in_them_and_load_nothing_from_elsewhere(app: Any, path: str) -> None:
    html = signed_in(app, "cora").get(path).text
    assert not re.search(r"<script(?![^>]*\bsrc=)", html)
    assert not re.search(r"<style|\sstyle=|\son\w+=", html)
    assert not re.findall(r'(?:src|href|action)="(?!/|#)[^"]*"', html)


# Who may come in


def test_nobody_gets_anything_before_signing_in(app: Any) -> None:
    client = client_of(app)
    routes = [route for route in app.routes if isinstance(route, Route) and "{" not in route.path]
    public = {"/sign-in", "/sign-in.json", "/invitation", "/invitation.json", "/openapi.json"}
    for route in routes:
        if route.path in public or "GET" not in (route.methods or ()):
            continue
        answer = client.get(route.path, follow_redirects=False)
        assert answer.status_code in (401, 303), route.path
        assert answer.status_code == 401 or answer.headers["location"].startswith("/sign-in"), route.path


def test_assessors_get_nothing_of_a_coordinator(app: Any) -> None:
    ada = signed_in(app, "ada")
    theirs = ["/progress", "/plan", "/adjudicate", "/export", "/people"]
    theirs += [f"{path}.json" for path in theirs]
    theirs += ["/api/judgments/qrels", "/api/judgments/history"]
    for path in theirs:
        assert ada.get(path).status_code == 403, path
    for path in ("/plan/settings", "/plan/deal", "/plan/give", "/plan/take", "/people/invite", "/people/change"):
        data = {"csrf": ada.headers["x-csrf-token"], "name": "x", "query": "1", "assessor": "ada"}
        assert ada.post(path, data=data).status_code == 403, path
    for path in ("/api/adjudication", "/api/adjudication/undo", "/api/judgments/import", "/api/judgments/pool"):
        assert ada.post(path, json={"query": "1", "doc": "d0", "grade": 1}).status_code == 403, path


def test_cookies_are_for_this_server_only(app: Any) -> None:
    client = client_of(app)
    cookie = sign_in(client, "ada").headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=lax" in cookie and "Domain" not in cookie


def test_a_session_that_was_planted_is_not_used(app: Any) -> None:
    client = client_of(app)
    client.cookies.set("cranfield_session", "planted-by-somebody")
    token = token_in(client.get("/sign-in").text)
    answer = client.post(
        "/sign-in", data={"name": "ada", "password": "correct horse", "csrf": token}, follow_redirects=False
    )
    assert answer.status_code == 303
    assert client.cookies.get("cranfield_session", domain="127.0.0.1") != "planted-by-somebody"
    thief = client_of(app)
    thief.cookies.set("cranfield_session", "planted-by-somebody")
    assert thief.get("/api/session").status_code == 401


def test_signing_in_gives_another_session_each_time_and_ends_the_old_one(app: Any) -> None:
    client = signed_in(app, "ada")
    old = client.cookies["cranfield_session"]
    client.post("/sign-out", data={"csrf": client.headers["x-csrf-token"]})
    thief = client_of(app)
    thief.cookies.set("cranfield_session", old)
    assert thief.get("/api/session").status_code == 401


def test_who_floods_the_door_has_to_wait(app: Any) -> None:
    client = client_of(app)
    codes = [sign_in(client, "ada", f"guess {i}").status_code for i in range(8)]
    assert codes == [403] * 5 + [429] * 3
    assert int(sign_in(client, "ada").headers["retry-after"]) > 60  # the right one comes too late
    assert sign_in(client_of(app), "grace").status_code == 303  # others are let in


def test_who_tries_many_names_has_to_wait(app: Any) -> None:
    client = client_of(app)
    codes = [sign_in(client, f"name {i}").status_code for i in range(40)]
    assert codes[:30] == [403] * 30
    assert set(codes[30:]) == {429}


def test_an_unknown_name_is_answered_as_a_wrong_password(app: Any) -> None:
    answers = [sign_in(client_of(app), name, "wrong horse") for name in ("ada", "nobody")]
    assert answers[0].status_code == answers[1].status_code == 403
    plain = [re.sub(r"[0-9a-f]{64}|value=\"(ada|nobody)\"", "", answer.text) for answer in answers]
    assert plain[0] == plain[1]


@pytest.mark.parametrize("to", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:x", "/a\nb"])
def test_signing_in_leads_nowhere_else(app: Any, to: str) -> None:
    client = client_of(app)
    token = token_in(client.get("/sign-in", params={"to": to}).text)
    given = {"name": "ada", "password": "correct horse", "csrf": token, "to": to}
    assert client.post("/sign-in", data=given, follow_redirects=False).headers["location"] == "/"


# Paths


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/explore/../../app.py",
        "/static/judging/..%5c..%5capp.py",
        "/static/app.css%00.js",
        "/static/",
        "/judge/../../etc/passwd",
    ],
)
def test_no_path_leads_to_another_file(alone: Any, path: str) -> None:
    assert alone.get(path).status_code == 404


def test_no_id_leads_to_a_file(alone: Any) -> None:
    for bad in ("../../etc/passwd", "/etc/passwd", "..\\x", "a\0b"):
        assert alone.get("/api/judging/item", params={"query": bad, "place": 1}).status_code == 409
        assert alone.get("/judge/document", params={"query": bad, "place": 1}).status_code == 409
        assert alone.post("/api/judging/next", json={"query": bad}).status_code == 400


# Documents, topics, notes and ids


def test_what_is_evil_in_texts_and_ids_is_shown_as_text(tmp_path: Any) -> None:
    documents = [{"id": EVIL, "title": EVIL, "text": EVIL, "url": EVIL}, {"id": "b", "text": "b"}]
    topics = [{"id": EVIL, "title": EVIL, "description": EVIL, "narrative": EVIL}]
    folder = make_folder(tmp_path / "w", "judgments = 2", {EVIL: [EVIL, "b"]}, documents, topics)
    service = open_service(folder)
    for name, grade in (("ada" + EVIL, 0), ("grace", 3)):
        client = with_token(client_of(make_app(judging=service, local_user=name)))
        for _ in range(2):
            item = client.post("/api/judging/next", json={}).json()["item"]
            given = {"kind": "judge", "query": EVIL, "place": item["place"], "grade": grade, "note": EVIL}
            assert client.post("/api/judging/save", json=given).status_code == 200
    pages = ["/judge", "/progress", "/plan", "/adjudicate?names=1", "/export", f"/nothing/{EVIL}", "/adjudicate?doc=x"]
    for path in pages:
        html = client.get(path).text
        assert not re.search(r"<(img|svg)\b", html)
        assert EVIL not in html
        assert not re.search(r"<script(?![^>]*\bsrc=\"/static/)", html)
    answer = client.get("/api/judging/topics")
    assert answer.headers["content-type"] == "application/json"
    service.close()


@pytest.mark.parametrize(
    "markup",
    [
        "<p>a<script>window.hit=1</script></p>",
        "<p>a<img src=x onerror=window.hit=1></p>",
        "<p>a<a href='javascript:window.hit=1'>b</a></p>",
        "<p>a<iframe src=//evil.example></iframe><object data=x></object><embed src=x></p>",
        "<p style='background:url(//evil.example)'>a</p><style>@import '//evil.example'</style>",
        "<p>a<form action=//evil.example><input name=password><button>b</button></form>",
        "<p>a<svg><script>window.hit=1</script><a xlink:href=javascript:window.hit=1>x</a></svg>",
        "<p>a<math><mtext><table><mglyph><style><img src=x onerror=window.hit=1>",
        "<p>a<meta http-equiv=refresh content='0;url=//evil.example'><base href=//evil.example><link rel=x href=//e>",
        "<p>a<img src=//evil.example/pixel.png><img src='data:image/svg+xml,<svg onload=window.hit=1>'>",
        "<p>a<noscript><p title='</noscript><img src=x onerror=window.hit=1>'>",
        "<p>a<a href=//evil.example ping=//evil.example target=_top>b</a>",
    ],
)
def test_a_page_in_a_frame_can_do_nothing(markup: str) -> None:
    html = frame_html(markup)
    body = html.partition('<body dir="auto">')[2]
    assert body.startswith("<p")
    assert not re.search(r"<(script|iframe|object|embed|style|form|input|button|svg|math|meta|base|link)\b", body)
    assert not re.search(r"\s(on\w+|href|style|ping|target|action)\s*=", body)
    assert not re.search(r'\ssrc="(?!data:image/(png|jpeg|gif|webp);base64,)', body)


def test_a_frame_is_locked_by_its_headers_as_well(tmp_path: Any) -> None:
    service = open_service(make_folder(tmp_path / "w", pairs={"1": ["page"]}))
    client = with_token(client_of(make_app(judging=service)))
    item = client.post("/api/judging/next", json={}).json()["item"]
    assert item["document"]["is_page"] and "window.hit" not in item["document"]["text"]
    assert item["document"]["text"].split() == ["Big", "small", "tyre"]
    answer = client.get("/judge/document", params={"query": "1", "place": item["place"]})
    policy = answer.headers["content-security-policy"]
    assert "sandbox" in policy.split("; ") and "script-src" not in policy and "frame-ancestors 'self'" in policy
    assert "<h1>Big</h1>" in answer.text and "hit" not in answer.text
    service.close()


def test_what_is_too_long_is_refused(alone: Any) -> None:
    long = "x" * 30_000
    given = {"kind": "note", "query": "1", "place": 1, "note": long}
    assert alone.post("/api/judging/save", json=given).status_code == 400
    assert alone.post("/api/judging/save", json={"note": "x" * 300_000}).status_code == 413
    assert alone.get("/api/judging/item", params={"query": long}).status_code == 400
    assert alone.get("/api/judging/item?" + "&".join(f"a{i}=1" for i in range(6000))).status_code in (400, 414)


def test_no_mistake_of_ours_shows_where_it_was_made(alone: Any, service: Any, monkeypatch: Any, capsys: Any) -> None:
    client = client_of(alone.app, raise_server_exceptions=False)
    monkeypatch.setattr(type(service), "list_topics", lambda *_: 1 / 0)
    answer = client.get("/api/judging/topics")
    assert answer.status_code == 500
    assert "Zero" not in answer.text and "Traceback" not in answer.text
    assert answer.headers["content-security-policy"]
    assert "ZeroDivisionError" in capsys.readouterr().err
