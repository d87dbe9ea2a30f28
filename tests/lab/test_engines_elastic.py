"""OpenSearch and Elasticsearch, against a server that is as difficult as they can be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.engines import EngineError, Options, SearchFailed, elastic, open_engine
from cranfield.lab.engines.elastic import Elastic
from cranfield.lab.http import RetryPolicy
from tests.lab.servers import FakeElastic, Request, Response, self_signed, serving
from tests.waiting import TIMEOUT

DOCS = [
    Document("a", "a red bicycle lamp"),
    Document("b", "bicycle bells", "Lamp"),
    Document("c", "steam engine"),
]
PAUSES: list[float] = []
QUICK = RetryPolicy(timeout=TIMEOUT, retries=3, sleep=PAUSES.append)


@pytest.fixture
def server() -> FakeElastic:
    PAUSES.clear()
    return FakeElastic("lab", "s3cret/word")


@pytest.fixture
def engine(server: FakeElastic) -> Iterator[Elastic]:
    with serving(server) as host:
        opened = Elastic("opensearch", f"http://lab:s3cret%2Fword@{host}/bicycles", retry=QUICK)
        yield opened
        opened.close()


def test_documents_are_indexed_in_bulk_and_found(engine: Elastic, server: FakeElastic) -> None:
    made = engine.index(DOCS)
    assert (made.documents, made.failed, made.bytes, made.resumed) == (3, (), 300, 0)
    assert server.indexes["bicycles"]["docs"]["b"] == {"doc": "b", "text": "Lamp bicycle bells"}
    assert server.indexes["bicycles"]["mappings"]["_meta"]["complete"] is True
    run = engine.search({"1": "bicycle lamp", "2": "zeppelin"})
    assert run.to_dict() == {"1": {"a": 2.0, "b": 2.0}, "2": {}} and run.tag == "opensearch"
    assert engine.about.name == "opensearch" and engine.about.version == "2.11.0"


def test_documents_that_the_server_has_no_time_for_are_sent_again_and_those_alone(
    engine: Elastic, server: FakeElastic
) -> None:
    server.busy.update({"b": 2})
    assert engine.index(DOCS).documents == 3
    bulks = [request.body.count(b"\n") // 2 for request in server.requests if request.path.endswith("_bulk")]
    assert bulks == [3, 1, 1] and len(PAUSES) == 2 and PAUSES[0] < PAUSES[1]


def test_a_server_that_stays_busy_ends_in_an_error_and_the_next_attempt_begins_anew(
    engine: Elastic, server: FakeElastic
) -> None:
    server.busy.update({"b": 100})
    with pytest.raises(EngineError, match=r"1 document \('b'\) refused 4 times: 429 .*queue is full.*index again"):
        engine.index(DOCS)
    with pytest.raises(EngineError, match="not complete"):
        engine.search({"1": "lamp"})
    server.busy.clear()
    # a document that the collection has no longer is not left over from the attempt before
    made = engine.index(DOCS[1:])
    assert (made.documents, made.resumed) == (2, 0) and sorted(server.indexes["bicycles"]["docs"]) == ["b", "c"]


def test_documents_that_are_refused_for_good_are_named_and_the_others_kept(
    engine: Elastic, server: FakeElastic
) -> None:
    server.wrong.add("b")
    made = engine.index(DOCS)
    assert made.documents == 2 and made.failed == (("b", "400 mapper_parsing_exception: failed to parse"),)


def test_a_request_that_is_too_large_is_halved(
    engine: Elastic, server: FakeElastic, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.most_bytes = 150
    long = Document("long", "word " * 100)
    made = engine.index([*DOCS, long])
    assert made.documents == 3 and made.failed == (("long", "413 too large for this server"),)
    monkeypatch.setattr(elastic, "MOST_BYTES", 100)
    assert engine.index(DOCS).documents == 3


@pytest.mark.parametrize("fault", ["drop", "late", "500", "503", "429", "broken", "cut", "slow"])
def test_every_request_survives_one_accident(fault: str) -> None:
    """Whichever request it hits, whether it was carried out or not."""
    wanted = {"1": {"a": 2.0, "b": 2.0}}
    for hit in range(9):
        server = FakeElastic()
        server.faults.extend([""] * hit + [fault])
        with serving(server) as host:
            quick = RetryPolicy(timeout=1.0 if fault == "slow" else TIMEOUT, retries=2, sleep=lambda _: None)
            engine = Elastic("elasticsearch", f"http://{host}/bicycles", retry=quick)
            assert engine.index(DOCS).documents == 3
            assert engine.search({"1": "bicycle lamp"}).to_dict() == wanted
            engine.close()
        if fault == "slow" and hit == 2:
            break  # a second each


def test_deep_rankings_are_paged_by_search_after(
    engine: Elastic, server: FakeElastic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elastic, "PAGE", 100)
    docs = [Document(f"d{i:05}", "lamp " * (i % 3 + 1)) for i in range(1005)]
    engine.index(docs)
    run = engine.search({"1": "lamp"}, depth=10_500)
    assert len(run) == 1005
    assert list(run.docs[:2]) == ["d00002", "d00005"] and list(run.docs[-2:]) == ["d00999", "d01002"]
    assert len(engine.search({"1": "lamp"}, depth=250)) == 250
    assert "search_after" in server.requests[-1].body.decode()


def test_an_index_of_somebody_else_is_searched_but_never_replaced(engine: Elastic, server: FakeElastic) -> None:
    docs = {"x1": {"text": "red lamp", "meta": {"sku": 17}}, "x0": {"text": "lamp", "meta": {"sku": 18}}}
    server.indexes["bicycles"] = {"mappings": {"properties": {}}, "docs": docs}
    with pytest.raises(InputError, match="was not made by 'cranfield index'; give another name"):
        engine.index(DOCS)
    assert engine.search({"1": "lamp"}).to_dict() == {"1": {"x0": 1.0, "x1": 1.0}}
    with serving(server) as host:
        url = f"opensearch+http://lab:s3cret%2Fword@{host}/bicycles?id=meta.sku&tie=_id"
        theirs = open_engine(url, Options(body='{"query": {"match": {"text": "{query}"}}}'))
        assert theirs.search({"1": 'red "lamp'}).to_dict() == {"1": {"17": 1.0}}
        theirs.close()


def test_the_wrong_password_is_an_error_at_once_and_never_shown(server: FakeElastic) -> None:
    with serving(server) as host:
        engine = open_engine(f"opensearch+http://lab:wr0ng@{host}/bicycles")
        for ask in (lambda: engine.index(DOCS), lambda: engine.search({"1": "lamp"})):
            with pytest.raises(
                CranfieldError, match="answered 401 Unauthorized .check user, password or key"
            ) as caught:
                ask()
            assert "wr0ng" not in str(caught.value)
        assert len(server.requests) == 2
        engine.close()


def test_keys_and_passwords_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAB_KEY", "k3y")
    monkeypatch.setenv("LAB_WORD", "p@ss")
    for server, url in (
        (FakeElastic(api_key="k3y"), "elasticsearch+http://{host}/docs?api_key_env=LAB_KEY"),
        (FakeElastic("me", "p@ss"), "elasticsearch+http://me@{host}/docs?password_env=LAB_WORD"),
    ):
        with serving(server) as host:
            engine = open_engine(url.format(host=host))
            assert engine.index(DOCS).documents == 3
            engine.close()
    with pytest.raises(InputError, match="NO_KEY is not set"):
        open_engine("elasticsearch+http://host/docs?api_key_env=NO_KEY")


def test_tls_is_checked_unless_told_otherwise(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    if certificate is None:
        pytest.skip("openssl is not installed")
    with serving(FakeElastic(), certificate) as host:
        strict = open_engine(f"opensearch+https://{host}/docs")
        with pytest.raises(CranfieldError, match="its certificate is not trusted .self.signed"):
            strict.index(DOCS)
        for setting in ("verify=false", f"ca={tmp_path / 'cert.pem'}"):
            engine = open_engine(f"opensearch+https://{host}/docs?{setting}")
            assert engine.index(DOCS).documents == 3
            engine.close()
        strict.close()
    with pytest.raises(InputError, match=r"none\.pem: certificates cannot be read"):
        open_engine("opensearch+https://host/docs?ca=none.pem")


def answering(search: Any) -> FakeElastic:
    """A server that is well but for its answers to searches."""

    class Odd(FakeElastic):
        def _search(self, index: dict[str, Any], body: dict[str, Any]) -> Response:
            return Response.of(search)

    server = Odd()
    server.indexes["docs"] = {"mappings": {}, "docs": {}}
    return server


@pytest.mark.parametrize(
    "answer, says",
    [
        ({"timed_out": True, "hits": {"hits": []}}, "a search is not complete, the time was up"),
        ({"_shards": {"failed": 2}, "hits": {"hits": []}}, "a search is not complete, 2 shards failed"),
        ({"hits": {}}, "no hits with 'sort'"),
        ([], "no hits with 'sort'"),
        ({"hits": {"hits": [{"_id": "a", "_score": 1.0}]}}, "no hits with 'sort'"),
        ({"hits": {"hits": [{"_id": "a", "_score": None, "sort": ["x", "a"]}]}}, "document 'a' has no score but 'x'"),
    ],
)
def test_half_an_answer_is_none(answer: Any, says: str) -> None:
    with serving(answering(answer)) as host:
        engine = Elastic("opensearch", f"http://{host}/docs?tie=_id", retry=QUICK)
        with pytest.raises(SearchFailed) as caught:
            engine.search({"1": "lamp"})
        assert says in str(caught.value)
        engine.close()


def test_a_bulk_answer_that_does_not_add_up_is_an_error() -> None:
    class Forgetful(FakeElastic):
        def _bulk(self, index: dict[str, Any], request: Request) -> Response:
            return Response.of({"items": []})

    with serving(Forgetful()) as host:
        engine = Elastic("opensearch", f"http://{host}/docs", retry=QUICK)
        with pytest.raises(EngineError, match="an answer for each of 3 documents, found 0. The index is not complete"):
            engine.index(DOCS)
        engine.close()


@pytest.mark.parametrize(
    "url, says",
    [
        ("opensearch+http://host:9200/", "expected the name of an index after the host"),
        ("opensearch+http://host:9200/_all", "expected the name of an index"),
        ("opensearch+http://host:9200/docs?verfy=false", "there is no setting 'verfy', expected one of verify"),
        ("opensearch+https://host:9200/docs?verify=no", "expected true or false"),
        ("opensearch+http://host:x/docs", "not a URL"),
        ("opensearch+http://host/docs?password_env=X", "password_env needs a user"),
    ],
)
def test_urls_that_are_wrong_say_what_is_right(url: str, says: str) -> None:
    with pytest.raises(CranfieldError) as caught:
        open_engine(url)
    assert says in str(caught.value)


def test_no_index_and_no_server_are_told_apart(engine: Elastic) -> None:
    with pytest.raises(InputError, match="there is no index 'bicycles'"):
        engine.search({"1": "lamp"})
    gone = Elastic("opensearch", "http://lab:s3cret@127.0.0.1:9/docs", retry=QUICK)
    with pytest.raises(CranfieldError, match=r"127.0.0.1:9: the request failed: Connection refused .tried 4 times"):
        gone.search({"1": "lamp"})


def test_ids_that_are_not_unicode_and_ids_twice_are_refused(engine: Elastic) -> None:
    with pytest.raises(InputError, match="opensearch cannot hold this id"):
        engine.index([Document("d\udcff", "x")])
    with pytest.raises(InputError, match="document 'a' comes twice"):
        engine.index([DOCS[0], DOCS[0]])
