"""The OpenAPI description is complete, and matches every request and response."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from starlette.routing import Route

from cranfield.experiment.workspace import open_workspace
from cranfield.workbench.accounts import Accounts
from cranfield.workbench.app import make_app
from tests.soak import SOAK
from tests.workbench.conftest import PASSWORD, QUICK, client_of, open_service, signed_in, token_in
from tests.workbench.explore.conftest import lay_out

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
# what these do ends sessions, or makes everybody wait
LAST = ("/sign-out", "/people/change", "/account", "/sign-in", "/invitation")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The whole workbench: runs to explore, documents that ada and grace judged differently, and accounts."""
    folder = lay_out(tmp_path_factory.mktemp("bench"))
    docs = [f"b{number:03}" for number in range(1, 31)]
    rows = [{"pool": {"documents": 60}}, *({"query": query, "doc": doc} for query in "12" for doc in docs)]
    (folder / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with (folder / "cranfield.toml").open("a") as toml:
        toml.write("[judging]\njudgments = 2\n")
    service = open_service(folder)
    finder: Any = service._search
    finder.search = lambda words, depth: docs[:depth]
    accounts = Accounts(service.log.database, QUICK)
    for name, role in (("cora", "coordinator"), ("ada", "assessor"), ("grace", "assessor"), ("carl", "coordinator")):
        accounts.accept(accounts.invite(name, role), PASSWORD)
    app = make_app(open_workspace(folder), judging=service, accounts=accounts)
    for name, grade in (("ada", 0), ("grace", 3)):
        session = service.session(name)
        for _ in range(3):
            item = session.next("1")
            assert item is not None
            session.save("judge", "1", item.place, grade, note="because")
    with client_of(app):
        yield app


@pytest.fixture(scope="module")
def cora(bench: Any) -> Any:
    return signed_in(bench, "cora")


@pytest.fixture(scope="module")
def description(cora: Any) -> Any:
    return cora.get("/openapi.json").json()


def check(description: Any, path: str, method: str, answer: Any) -> None:
    """Check that the description has a response: its status, its type and its whole body."""
    validator = pytest.importorskip("jsonschema_rs")
    described = description["paths"][path][method]["responses"]
    where = (method, path, answer.status_code, answer.text[:300])
    assert str(answer.status_code) in described, where
    content = described[str(answer.status_code)].get("content")
    if content is None:
        assert not answer.content, where
        return
    kind = answer.headers["content-type"].partition(";")[0]
    assert kind in content, where
    if kind == JSON:
        schema = content[kind]["schema"] | {"components": description["components"]}
        found = [
            f"{error.instance_path}: {error.message[:200]}" for error in validator.iter_errors(schema, answer.json())
        ]
        assert not found, (where, found)


def test_every_route_is_described(bench: Any, description: Any) -> None:
    told = {(path, method.upper()) for path, methods in description["paths"].items() for method in methods}
    pages = {"/" if path == "/index.json" else path.removesuffix(".json") for path, _ in told if path.endswith(".json")}
    routes = [route for route in bench.routes if route.path not in ("/openapi.json", "/static/{name:path}")]
    there = set()
    for route in routes:
        assert isinstance(route, Route)
        for method in (route.methods or set()) - {"HEAD"}:
            there.add((route.path, method))
            assert (route.path, method) in told or (method == "GET" and route.path in pages), (method, route.path)
    assert told <= there


def asked_for(place: int) -> dict[str, list[tuple[str, int]]]:
    """GET requests to every route, and their statuses."""
    at = f"?query=1&place={place}"
    return {
        "/api/session": [("", 200)],
        "/index.json": [("", 200)],
        "/sign-in.json": [("", 200), ("?to=/judge", 200)],
        "/invitation.json": [("", 200)],
        "/account.json": [("", 200)],
        "/people.json": [("", 200)],
        "/api/judging": [("", 200), ("?log=another", 409), ("?who=mallory", 409)],
        "/api/judging/topics": [("", 200)],
        "/api/judging/item": [(at, 200), ("?query=1&place=9999", 409), ("?query=1&place=x", 400)],
        "/api/judging/seen": [("?query=1", 200)],
        "/api/judging/after": [("?query=1", 200)],
        "/api/judging/ahead": [(at, 200)],
        "/api/judging/own": [("", 200)],
        "/judge.json": [("", 200)],
        "/judge/document": [(at, 404)],
        "/progress.json": [("", 200)],
        "/plan.json": [("", 200)],
        "/adjudicate.json": [("", 200), ("?names=1&settled=1", 200), ("?query=1&doc=nothing", 404)],
        "/export.json": [("", 200), ("?rule=mean&unjudged=1", 200), ("?rule=nonsense", 400)],
        "/api/judgments/qrels": [("", 200), ("?rule=primary", 400), ("?format=sampled", 400)],
        "/api/judgments/history": [("", 200), ("?format=csv", 200), ("?all_events=1", 200), ("?format=xml", 400)],
        "/leaderboard.json": [("", 200), ("?measure=AP&filter=bm", 200), ("?measure=nonsense", 400)],
        "/system.json": [("?system=bm25", 200), ("?system=nobody", 404)],
        "/compare.json": [("", 200), ("?system=lsi&baseline=bm25&test=wilcoxon", 200)],
        "/topics.json": [("", 200)],
        "/topic.json": [("?query=1", 200), ("?query=1&system=bm25&show=b003", 200), ("?query=none", 404)],
        "/explain.json": [("?query=1&system=bm25&measure=AP", 200), ("?query=1&system=bm25&measure=nDCG@10", 200)],
        "/document.json": [("", 200), ("?doc=b003", 200), ("?doc=b003&query=1", 200), ("?doc=none", 404)],
        "/pool.json": [("", 200), ("?depth=5", 200)],
        "/measures.json": [("", 200)],
        "/measure.json": [("?name=AP", 200), ("?name=nDCG@10", 200), ("?name=nothing", 404)],
        "/efficiency.json": [("", 200)],
    }


def test_what_is_read_is_answered_as_described(cora: Any, description: Any) -> None:
    place = cora.post("/api/judging/next", json={"query": "1"}).json()["item"]["place"]
    asked = asked_for(place)
    assert set(asked) == {path for path, methods in description["paths"].items() if "get" in methods}
    for path, ways in asked.items():
        for query, status in ways:
            answer = cora.get(path + query, follow_redirects=False)
            while answer.status_code == 202:
                check(description, path, "get", answer)
                answer = cora.get(path + query, follow_redirects=False)
            assert answer.status_code == status, (path, query, answer.text[:300])
            check(description, path, "get", answer)
    csv = cora.get("/api/judgments/history?format=csv")
    assert csv.headers["content-type"].partition(";")[0] == "text/csv"


def test_what_nobody_and_what_a_judge_may_not_read_is_answered_as_described(bench: Any, description: Any) -> None:
    ada, nobody = signed_in(bench, "ada"), client_of(bench)
    for path, methods in description["paths"].items():
        if "get" not in methods:
            continue
        for client in (ada, nobody):
            answer = client.get(path, follow_redirects=False, headers={"accept": JSON})
            check(description, path, "get", answer)
        assert nobody.get(path, headers={"host": "evil.example"}).status_code == 421
        check(description, path, "get", nobody.get(path, headers={"host": "evil.example"}))


def told(item: dict[str, Any]) -> dict[str, list[tuple[Any, int]]]:
    """POST requests to every route, and their statuses; forms are lists."""
    act = {"kind": "judge", "query": item["query"], "place": item["place"]}
    found = {"query": "1", "doc": "b003", "words": "tyre"}
    decided = {"query": "1", "doc": item["doc"], "grade": 2}
    huge, half = 10**30, "\ud800x"
    return {
        "/api/judging/next": [({}, 200), ({"query": "nothing"}, 400), ({"query": 1}, 400)],
        "/api/judging/save": [
            (act | {"grade": 1}, 200),
            (act | {"kind": "note", "note": "so"}, 200),
            (act | {"grade": 1, "place": huge}, 400),
            (act | {"grade": 1, "place": 2**63}, 400),
            (act | {"grade": 10**400}, 400),
            (act | {"grade": 1, "active_ms": huge}, 400),
            (act | {"grade": 1, "note": half}, 400),
            (act | {"grade": 1, "note": "a\0"}, 400),
            (act | {"grade": 1, "key": half}, 400),
            (act | {"grade": 1, "method": half}, 400),
            (act | {"grade": 1, "doc": "another"}, 409),
            (act, 400),
            (act | {"grade": "1"}, 400),
            (act | {"kind": "adjudicate", "grade": 1}, 400),
        ],
        "/api/judging/undo": [({}, 200), ({"undoes": "nothing"}, 409)],
        "/api/judging/search": [({"query": "1", "words": "tyre"}, 200), ({"query": "1", "words": half}, 400)],
        "/api/judging/found": [(found, 200), (found | {"doc": "none"}, 404)],
        "/api/adjudication": [(decided, 200), (decided | {"grade": 9}, 400), (decided | {"doc": "none"}, 409)],
        "/api/adjudication/undo": [({}, 200)],
        "/api/judgments/import": [(b"1 0 b003 1\n", 400), (b'{"assessor": "ada", "query": "1", "doc": "b003"}', 400)],
        "/api/judgments/pool": [(b'{"pool": {}}\n{"query": "3", "doc": "b003"}\n', 200), (b"nonsense", 400)],
        "/api/judgments/topics": [(b'{"id": "1", "title": "flat tyres"}\n', 200), (b"", 400)],
        "/plan/settings": [([("judgments", "2")], 303), ([("judgments", "0")], 400)],
        "/plan/deal": [([("names", "")], 400), ([("names", "ada,grace,cora")], 303)],
        "/plan/give": [([("query", "1"), ("assessor", "cora")], 303), ([("query", "none"), ("assessor", "ada")], 400)],
        "/plan/take": [([("query", "1"), ("assessor", "nobody")], 303)],
        "/adjudicate": [([("query", "1"), ("doc", item["doc"]), ("grade", "1")], 303), ([("grade", "x")], 400)],
        "/adjudicate/undo": [([], 303)],
        "/people/invite": [([("name", "zoe")], 200), ([("name", "")], 400), ([("name", "a%FF")], 400)],
        "/people/change": [([("name", "zoe"), ("what", "uninvite")], 303), ([("name", "nobody")], 400)],
        "/account": [([("old", "wrong"), ("password", "a"), ("again", "a")], 400)],
        "/invitation": [([("secret", "wrong"), ("password", "long enough"), ("again", "long enough")], 400)],
        "/sign-in": [
            ([("name", "cora"), ("password", "wrong")], 403),
            ([("name", "carl"), ("password", PASSWORD)], 303),
        ],
        "/sign-out": [([], 303)],
    }


def test_what_is_sent_is_answered_as_described(bench: Any, description: Any) -> None:
    client = signed_in(bench, "carl")
    item = client.post("/api/judging/next", json={"query": "1"}).json()["item"]
    sent = told(item)
    assert set(sent) == {path for path, methods in description["paths"].items() if "post" in methods}
    for path, ways in sent.items():
        takes = next(iter(description["paths"][path]["post"]["requestBody"]["content"]))
        for body, status in ways:
            content, client.headers["x-csrf-token"] = body, token_of(client)
            if takes == FORM:
                content = "&".join(f"{name}={value}" for name, value in body)
            elif takes == JSON:
                content = json.dumps(body)
            answer = client.post(path, content=content, headers={"content-type": takes}, follow_redirects=False)
            assert answer.status_code == status, (path, body, answer.text[:300])
            check(description, path, "post", answer)
        for kind in (takes, "text/plain"):  # neither signed in nor with a token
            bare = client_of(bench).post(path, content=b"{}", headers={"content-type": kind, "accept": JSON})
            assert bare.status_code in (400, 401, 403, 415), (path, kind)
            check(description, path, "post", bare)


def token_of(client: Any) -> str:
    answer = client.get("/api/session")
    return answer.json()["csrf"] if answer.status_code == 200 else token_in(client.get("/sign-in").text)


@pytest.mark.slow
@pytest.mark.soak("pages")
def test_nothing_that_is_sent_is_a_mistake_of_ours(bench: Any, description: Any) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    schema = schemathesis.openapi.from_dict(description)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) == sum(map(len, description["paths"].values()))
    ordered = sorted(operations, key=lambda one: one.path in LAST)
    clients = [signed_in(bench, "cora") for _ in range(1 + sum(one.path in LAST for one in ordered))]
    for operation in ordered:
        client = clients.pop() if operation.path in LAST else clients[0]
        attempts(operation, schemathesis.GenerationMode.POSITIVE, client, description)
        with suppress(Unsatisfiable):  # whoever asks for nothing in particular cannot ask for it wrongly
            attempts(operation, schemathesis.GenerationMode.NEGATIVE, client, description)


def attempts(operation: Any, mode: Any, client: Any, description: Any) -> None:
    """Send what the description allows or forbids, and check that the response is described."""

    @seed(1)
    @settings(max_examples=100 if SOAK else 8, database=None, phases=[Phase.generate])
    @given(case=operation.as_strategy(generation_mode=mode))
    def attempt(case: Any) -> None:
        sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
        wanted = {"url", "params", "json", "data"}
        given_headers = {name: value for name, value in dict(sent.get("headers") or {}).items() if name.isascii()}
        given_headers = {name: value for name, value in given_headers.items() if name.lower() == "content-type"}
        sent = {name: value for name, value in sent.items() if name in wanted} | {"headers": given_headers}
        if "json" in sent:  # httpx would choke on what is no Unicode
            sent["content"] = json.dumps(sent.pop("json"))
            sent["headers"] = {"content-type": JSON}
        if isinstance(sent.get("data"), (bytes, str)):
            sent["content"] = sent.pop("data")
        answer = client.request(case.method, follow_redirects=False, **sent)
        assert answer.status_code < 500, (case.path, sent, answer.text)
        if answer.status_code != 405:  # another method is no part of the description
            check(description, operation.path, operation.method.lower(), answer)

    attempt()
