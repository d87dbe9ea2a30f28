"""Any search over HTTP by template, and the client that asks: what it repeats, says, and keeps to itself."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.base import replace
from cranfield.errors import CranfieldError, InputError, MissingExtra
from cranfield.lab import secrets
from cranfield.lab.engines import EngineError, Options, SearchFailed, is_url, open_engine
from cranfield.lab.engines.endpoint import Endpoint
from cranfield.lab.engines.response_parser import JsonPath, hits_in_json, hits_in_lines, hits_in_text
from cranfield.lab.engines.templates import filled_arguments, filled_json, filled_shell, filled_url
from cranfield.lab.http import Client, RetryPolicy, ServerError
from cranfield.lab.secrets import mask_url, parse_header
from tests.lab.servers import Answering, Request, Response, serving
from tests.waiting import TIMEOUT

PATIENT = RetryPolicy(timeout=TIMEOUT, retries=2, sleep=lambda _: None)
HITS = {"hits": [{"id": "a", "score": 2.5}, {"id": 7, "score": 1}]}
Making = Callable[..., Endpoint]


class Scripted:
    """Gives its answers one after the other, the last one for ever; keeps what it was asked."""

    def __init__(self, *answers: Response) -> None:
        self.answers = list(answers)
        self.requests: list[Request] = []

    def __call__(self, request: Request) -> Response:
        self.requests.append(request)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@pytest.fixture
def made() -> Iterator[Making]:
    """Endpoints at servers that end with the test."""
    from contextlib import ExitStack, closing

    with ExitStack() as open_ones:

        def make(
            server: Scripted,
            method: str = "GET",
            path: str = "/s?q={query}&k={depth}",
            retry: RetryPolicy = PATIENT,
            **options: Any,
        ) -> Endpoint:
            host = open_ones.enter_context(serving(server))
            endpoint = Endpoint(method, f"http://{host}{path}", Options(**options), retry)
            return open_ones.enter_context(closing(endpoint))

        yield make


def test_a_query_goes_into_the_url_and_hits_come_out_of_json(made: Making) -> None:
    server = Scripted(Response.of(HITS))
    endpoint = made(server, headers=("X-Tenant: lab",))
    run = endpoint.search({"1": "cats & dogs/é", "2": "x"}, depth=5)
    assert run.to_dict() == {"1": {"a": 2.5, "7": 1.0}, "2": {"a": 2.5, "7": 1.0}} and run.tag == "http"
    assert server.requests[0].query == {"q": ["cats & dogs/é"], "k": ["5"]}
    assert server.requests[0].headers["x-tenant"] == "lab"
    assert endpoint.search({"1": "x"}, depth=1).to_dict() == {"1": {"a": 2.5}}
    assert endpoint.size() is None and endpoint.about.name == "http"


def test_a_body_is_posted_as_json(made: Making) -> None:
    server = Scripted(Response.of({"found": {"the docs": [["a", 0.5]]}}))
    body = '{"text": "{query}", "size": {depth}, "say": "{depth} of {query}"}'
    endpoint = made(
        server, "POST", "/s", body=body, ids="$.found['the docs'][*][0]", scores="$.found['the docs'][*][1]"
    )
    assert endpoint.search({"1": 'a "b" {depth}'}, 3).to_dict() == {"1": {"a": 0.5}}
    sent = {"text": 'a "b" {depth}', "size": 3, "say": '3 of a "b" {depth}'}
    assert json.loads(server.requests[0].body) == sent
    assert server.requests[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize(
    "response, says",
    [
        (Response(500, b"out of\nmemory"), "answered 500 Internal Server Error: out of memory (tried 3 times)."),
        (Response(429, b""), "answered 429 Too Many Requests (tried 3 times)."),
        (Response(body=b'{"hits": ['), "the answer is not JSON (Expecting value"),
        (Response(body=b"<html>\xff"), "the answer is not JSON ('utf-8' codec can't decode"),
        (Response(fault="drop"), "the request failed: "),
        (
            Response(body=b"{}", fault="cut"),
            "the request failed: peer closed connection without sending complete message body",
        ),
        (Response(body=b"{}", fault="slow"), "no answer within 0.3 s (tried 3 times)"),
        (Response(404, b"no such page"), "answered 404 Not Found: no such page"),
        (Response(400, b"x" * 500), "x…"),
        (Response(302, b"", {"Location": "http://me:pw@elsewhere/?key=k"}), "a redirect to http://***@elsewhere/"),
        (Response.of({"hits": [{"name": "a"}]}), "no doc but 'name'; use --ids and --scores"),
        (Response.of({"hits": [{"id": "a", "score": None}]}), "a score that is no number: None"),
        (Response.of({"hits": [{"id": "a", "score": 1}, {"id": "b"}]}), "has no score but 'id'"),
        (Response.of({"hits": [{"id": None}]}), "an id that is nothing, expected text or a whole number"),
        (Response.of("sorry"), "no list of documents but 'sorry'; say where the ids are with --ids"),
    ],
)
def test_an_answer_that_is_none_is_said(made: Making, response: Response, says: str) -> None:
    server = Scripted(response)
    with pytest.raises(SearchFailed) as caught:
        made(server, retry=replace(PATIENT, timeout=0.3) if response.fault == "slow" else PATIENT).search({"1": "lamp"})
    assert says in str(caught.value) and len(caught.value.found) == 0 and list(caught.value.failed) == ["1"]
    assert pickle.loads(pickle.dumps(caught.value)).failed == caught.value.failed


def test_a_failure_is_tried_again_with_growing_pauses_that_the_server_may_prolong(made: Making) -> None:
    pauses: list[float] = []
    server = Scripted(Response(503), Response(429, headers={"Retry-After": "7"}), Response(500), Response.of(HITS))
    endpoint = made(server)
    endpoint.client.retry = RetryPolicy(TIMEOUT, 5, sleep=pauses.append)
    assert len(endpoint.search({"1": "lamp"})) == 2
    first, second, third = pauses
    assert 0.25 <= first <= 0.5 and second == 7 and 1 <= third <= 2


def test_queries_that_fail_do_not_take_the_others_along(made: Making) -> None:
    class Moody(Scripted):
        def __call__(self, request: Request) -> Response:
            return Response(400, b"no") if request.query["q"] == ["bad"] else Response.of(HITS)

    with pytest.raises(
        SearchFailed, match="http: 1 of 3 queries failed: '2'. The first: .*400 Bad Request: no"
    ) as caught:
        made(Moody()).search({"1": "x", "2": "bad", "3": "y"})
    assert caught.value.found.queries == ("1", "3") and len(caught.value.found) == 4


def test_a_wrong_key_ends_the_search_at_once_and_is_not_shown(made: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", "t0ken")
    server = Scripted(Response(403, b"go away"))
    endpoint = made(server, path="/s?q={query}&api_key=k3y", headers=("Authorization: Bearer ${LAB_TOKEN}",))
    with pytest.raises(SearchFailed, match="1 of 1 query failed: '1'; 2 queries then not asked") as caught:
        endpoint.search({"1": "x", "2": "y", "3": "z"})
    assert len(server.requests) == 1 and server.requests[0].headers["authorization"] == "Bearer t0ken"
    said = f"{caught.value} {caught.value.failed} {caught.value.__dict__}"
    assert "t0ken" not in said and "k3y" not in said
    with pytest.raises(InputError, match="NO_TOKEN is not set"):
        parse_header("Authorization: Bearer $NO_TOKEN")


def test_a_secret_that_a_server_repeats_is_mask_url(made: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_TOKEN", 'sk-"t0ken/0123456789')
    headers = ("Authorization: Bearer $LAB_TOKEN", "Cookie: a=c00kie-jar", "X-Team: bicycles")
    secrets = ("t0ken", "c00kie", "k3y-of", "t0ken%2F0123")

    def repeating(status: int, form: str) -> Answering:
        def answer(request: Request) -> Response:
            token = request.headers["authorization"].split()[1]
            said = {
                "plain": f"no such key: {token}; team {request.headers['x-team']}",
                "json": json.dumps({"error": f"Bearer {token}", "cookie": request.headers["cookie"]}),
                "url": f"see /keys/{quote(token, safe='')}?{request.query['api_key'][0]}",
                "cut": " " * 3 + "x" * 190 + token,
                "upper": token.upper(),
                "id": json.dumps([{"id": None, "score": token}]),
                "score": json.dumps([{"id": "a", "score": "x" * 70 + token}]),
            }[form]
            return Response(status, said.encode(), {"Location": f"http://host/{token}"})

        return answer

    for status, form in (
        *((status, form) for status in (401, 400, 302) for form in ("plain", "json", "url", "cut", "upper")),
        *((200, form) for form in ("plain", "json", "url", "cut", "id", "score")),
    ):
        endpoint = made(repeating(status, form), path="/s?q={query}&api_key=k3y-of-mine", headers=headers)
        with pytest.raises(SearchFailed) as caught:
            endpoint.search({"1": "x"})
        said = f"{caught.value} {caught.value.failed}".lower()
        assert not any(secret in said for secret in secrets) and "sk-" not in said, said
        assert form != "plain" or status == 200 or ("***" in said and "team bicycles" in said)


def test_a_short_secret_hides_words_and_not_letters() -> None:
    secrets.register_secrets("lab")
    try:
        assert secrets.mask_secrets("lab: label of 'lab'") == "***: label of '***'"
    finally:
        secrets._SECRETS.discard("lab")


def test_user_and_password_of_a_url_are_sent_and_mask_url(made: Making) -> None:
    server = Scripted(Response.of(HITS))
    with serving(server) as host:
        endpoint = open_engine(f"http-get:http://me:s3cret@{host}/s?q={{query}}")
        endpoint.search({"1": "x"})
        assert server.requests[0].headers["authorization"] == "Basic bWU6czNjcmV0"
        with pytest.raises(EngineError) as caught:
            endpoint.index([])
        endpoint.close()
    assert "s3cret" not in str(caught.value) and "***@" in str(caught.value)


def test_one_connection_serves_many_queries(made: Making) -> None:
    server = Scripted(Response.of(HITS))
    endpoint = made(server)
    endpoint.search({"1": "x"})
    endpoint.search({"1": "x", "2": "y"})
    assert len({request.port for request in server.requests}) == 1 and len(server.requests) == 3


def test_requests_go_to_the_server_itself_with_the_headers_given(made: Making, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server = Scripted(Response(200, json.dumps(HITS).encode(), {"Set-Cookie": "a=b"}))
    with serving(server) as host:
        client = Client(f"http://me:s3cret@{host}", {"authorization": "Bearer t0ken", "X-Team": "caf\xe9"}, PATIENT)
        for target in ("/a%2Fb?q=%C3%A9", "/"):
            client.request("GET", target)
        client.close()
    first, second = (request.headers for request in server.requests)
    assert first["authorization"] == "Bearer t0ken" and first["x-team"] == "caf\xe9" and "cookie" not in second
    assert server.requests[0].path == "/a/b" and server.requests[0].query == {"q": ["é"]}


def test_a_url_that_is_too_long_is_not_tried_again(made: Making) -> None:
    with pytest.raises(SearchFailed, match=r"the request failed: URL too long\."):
        made(Scripted(Response.of(HITS))).search({"1": "x" * 100_000})


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(MissingExtra, match=r"HTTP needs an extra: pip install 'cranfield\[lab\]'"):
        open_engine("http-get:http://host/{query}")


def test_a_host_that_is_not_there_is_said() -> None:
    client = Client("http://no-such-host.invalid", retry=RetryPolicy(0.3, 0))
    with pytest.raises(ServerError, match=r"http://no-such-host.invalid: the request failed: "):
        client.request("GET", "/")


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: open_engine("http-get:http://host/s"), "there is no {query} in it"),
        (lambda: open_engine("http-get:host/{query}"), "not a URL of a server: 'host/{query}'"),
        (lambda: open_engine("http-get:ftp://me:pw@host/{query}"), "not a URL of a server: 'ftp://***@host/{query}'"),
        (lambda: open_engine("http-get:http://h/{query}", Options(body="{}")), "--body is for http-post:"),
        (lambda: open_engine("http-get:http://h/{query}", Options(headers=("no colon",))), "as 'Name: value'"),
        (lambda: parse_header("X: a\nb"), "must be on one line"),
        (lambda: filled_json("{query}", "a", 1), "is no JSON once it is filled"),
        (lambda: filled_arguments("x 'y", "a", 1), "cannot be parted into arguments: No closing quotation"),
        (lambda: filled_shell("grep '{query}' x", "a", 1), "must not stand within quotation marks"),
        (lambda: hits_in_json([], scores="$"), "--scores needs --ids"),
        (lambda: JsonPath.of("hits.id"), "path 'hits.id': cannot read 'hits.id'; expected e.g. $.hits[*].id"),
        (lambda: JsonPath.of("$.hits[?(@.x)]"), "cannot read '[?(@.x)]'"),
        (lambda: JsonPath.of("$."), "cannot read '.'"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(CranfieldError) as caught:
        make()
    assert says in str(caught.value)


DATA = {"hits": {"hits": [{"_id": "a", "s": [1, 2]}, {"_id": "b", "s": [3]}], "x y": {"a.b": 5}, "a-b": None}}


@pytest.mark.parametrize(
    "path, values",
    [
        ("$", [DATA]),
        ("$.hits.hits[*]._id", ["a", "b"]),
        ("$['hits'][\"hits\"][1]['_id']", ["b"]),
        ("$.hits.hits[*].s[*]", [1, 2, 3]),
        ("$.hits['x y']['a.b']", [5]),
        ("$.hits.a-b", [None]),
    ],
)
def test_a_path_leads_to_values(path: str, values: list[Any]) -> None:
    assert JsonPath.of(path).values(DATA) == values


@pytest.mark.parametrize(
    "path, says",
    [
        ("$.hit", "the answer has no $.hit: expected a field 'hit' at the top, found an object with 'hits'"),
        ("$.hits.hits[*].id", "expected a field 'id' at step 4, found an object with '_id', 's'"),
        ("$.hits.hits[2]", "expected element 2 at step 3, found a list of 2"),
        ("$.hits[*]", "expected a list at step 2, found an object with 'hits', 'x y', 'a-b'"),
        ("$.hits.a-b.c", "found nothing"),
    ],
)
def test_a_path_that_leads_nowhere_says_where_it_ends(path: str, says: str) -> None:
    with pytest.raises(EngineError) as caught:
        JsonPath.of(path).values(DATA)
    assert says in str(caught.value)


def test_ids_and_scores_must_be_as_many() -> None:
    with pytest.raises(EngineError, match="the answer has 2 ids .* and 3 scores"):
        hits_in_json(DATA, "$.hits.hits[*]._id", "$.hits.hits[*].s[*]")
    assert hits_in_json(DATA, "$.hits.hits[*]._id") == [("a", 1.0), ("b", 0.5)]


@pytest.mark.parametrize(
    "data, hits",
    [
        ([], []),
        ({"results": []}, []),
        (["a", 3], [("a", 1.0), ("3", 0.5)]),
        (["a", "b", "a"], [("a", 1.0), ("b", 0.5)]),
        ([["a", 3], ["b", -1.5]], [("a", 3.0), ("b", -1.5)]),
        ({"hits": {"hits": [{"_id": "a", "_score": 3}]}}, [("a", 3.0)]),
        ({"documents": [{"docno": "a"}]}, [("a", 1.0)]),
    ],
)
def test_json_of_a_usual_shape_needs_no_paths(data: Any, hits: Any) -> None:
    assert hits_in_json(data) == hits
    assert hits_in_text(json.dumps(data)) == hits


def test_lines_have_ids_with_scores_or_without() -> None:
    assert hits_in_lines("\na\t1e3\n\nb -2\n") == [("a", 1000.0), ("b", -2.0)]
    assert hits_in_lines("a\nb\n") == [("a", 1.0), ("b", 0.5)] and hits_in_lines(" \n") == []
    for text, says in (
        ("a 1\nb\n", "line 2 of the output: expected 'doc score'"),
        ("1 Q0 a 1 2 t\n", "line 1"),
        ("a nan\n", "no number: 'nan'"),
        ("a x\n", "no number: 'x'"),
        ("{broken", "the output is no JSON"),
    ):
        with pytest.raises(EngineError, match=says):
            hits_in_text(text)


@given(st.text())
def test_a_query_is_filled_in_without_harm(query: str) -> None:
    from urllib.parse import parse_qs, urlsplit

    query = query.encode("utf-8", "replace").decode()
    url = filled_url("http://host/s?q={query}&k={depth}", f"x{query}", 3)
    assert parse_qs(urlsplit(url).query) == {"q": [f"x{query}"], "k": ["3"]}
    assert filled_json('{"q": "{query}", "k": {depth}}', query, 3) == {"q": query, "k": 3}
    assert filled_arguments("a --q={query} '{depth} b'", query, 3) == ["a", f"--q={query}", "3 b"]


def test_what_is_secret_in_a_url_is_mask_url() -> None:
    assert mask_url("http://h/s?token=a&q=b&API-KEY=c") == "http://h/s?token=***&q=b&API-KEY=***"
    assert mask_url("postgresql://me:p%40ss@h/db?password=x") == "postgresql://***@h/db?password=***"
    assert is_url("command:x") and not is_url("C:\\index") and not is_url("tantivy")
