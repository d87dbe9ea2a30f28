"""Vectors from an endpoint that runs in the test: order, retries, keys, broken answers, and going on."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError, InputError
from cranfield.io import files
from cranfield.lab import embeddings
from cranfield.lab.embeddings import Endpoint, embed_documents, embed_queries, made_with, vectors_of_index
from cranfield.lab.engines.embedded import built
from cranfield.lab.http import RetryPolicy
from cranfield.lab.index import build
from cranfield.lab.vectors import read_vectors
from cranfield.text.analysis import Analysis
from tests.lab.servers import Request, Response, serving
from tests.waiting import TIMEOUT

QUICK = RetryPolicy(timeout=TIMEOUT, retries=3, first_pause=0.001)


def vector(text: str) -> list[float]:
    """Something that depends on the text alone."""
    return [float(zlib.crc32(f"{i}{text}".encode()) % 1000) for i in range(4)]


class Server:
    """An endpoint like OpenAI's; answers come in another order than questions, and `fail` may come first."""

    def __init__(self, fail: Callable[[int, list[str]], Response | None] = lambda n, texts: None) -> None:
        self.asked: list[list[str]] = []
        self.requests: list[Request] = []
        self.fail = fail

    def __call__(self, request: Request) -> Response:
        body = json.loads(request.body)
        texts = body["input"]
        self.requests.append(request)
        if failed := self.fail(len(self.requests), texts):
            return failed
        self.asked.append(texts)
        data = [{"object": "embedding", "index": i, "embedding": vector(t)} for i, t in enumerate(texts)]
        return Response.of({"object": "list", "data": data[::-1], "model": body["model"]})


def endpoint(host: str, **more: Any) -> Endpoint:
    return Endpoint(f"http://{host}/v1", "small", **{"batch": 2, "retry": QUICK, **more})


TEXTS = [(f"d{i}", f"text {i}") for i in range(5)]


def test_vectors_come_in_batches_and_are_put_in_order_by_index(tmp_path: Path) -> None:
    server = Server()
    with serving(server) as host:
        found = embed_documents(TEXTS, str(tmp_path / "docs.npy"), endpoint(host))
    assert server.asked == [["text 0", "text 1"], ["text 2", "text 3"], ["text 4"]]
    assert {r.path for r in server.requests} == {"/v1/embeddings"} and server.requests[0].method == "POST"
    assert json.loads(server.requests[0].body)["model"] == "small"
    assert found.ids == ("d0", "d1", "d2", "d3", "d4")
    assert found.rows(np.arange(5)).tolist() == [vector(text) for _, text in TEXTS]
    assert np.load(tmp_path / "docs.npy").dtype == np.float32
    assert (tmp_path / "docs.ids.txt").read_text() == "d0\nd1\nd2\nd3\nd4\n"
    about = made_with(str(tmp_path / "docs.npy"))
    assert (about["model"], about["documents"], about["dimension"]) == ("small", 5, 4)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["docs.ids.txt", "docs.json", "docs.npy", "docs.texts"]


def test_queries_are_asked_for_with_what_comes_before_them() -> None:
    server = Server()
    with serving(server) as host:
        found = embed_queries({"1": "red lamp", "2": "", "3": "caf\udce9\0"}, endpoint(host, batch=9), "query: ")
    assert server.asked == [["query: red lamp", "query: ", "query: caf� "]] and found.ids == ("1", "2", "3")
    assert found.rows(np.array([0])).tolist() == [vector("query: red lamp")]


def test_an_empty_text_is_sent_as_a_space() -> None:
    server = Server()
    with serving(server) as host:
        embed_queries({"1": ""}, endpoint(host))
    assert server.asked == [[" "]]


@pytest.mark.parametrize(
    "first",
    [
        Response(429, b"slow down", {"Retry-After": "0.002"}),
        Response(500, b"oops"),
        Response(503),
        Response(fault="drop"),
        Response(200, b'{"data": [', {}),
        Response(200, b"<html>gateway</html>"),
        Response(200, b'{"data": []}', fault="cut"),
    ],
    ids=["429", "500", "503", "drop", "half", "html", "cut"],
)
def test_what_may_differ_next_time_is_asked_again(first: Response, tmp_path: Path) -> None:
    server = Server(lambda n, texts: first if n in (1, 2, 4) else None)
    with serving(server) as host:
        found = embed_documents(TEXTS, str(tmp_path / "docs.npy"), endpoint(host))
    assert found.rows(np.arange(5)).tolist() == [vector(text) for _, text in TEXTS]
    assert len(server.asked) == 3


def test_a_wish_to_wait_is_respected(tmp_path: Path) -> None:
    slept: list[float] = []
    retry = RetryPolicy(timeout=TIMEOUT, retries=2, first_pause=0.001, sleep=slept.append)
    server = Server(lambda n, texts: Response(429, b"", {"Retry-After": "7"}) if n == 1 else None)
    with serving(server) as host:
        embed_documents(TEXTS[:1], str(tmp_path / "docs.npy"), endpoint(host, retry=retry))
    assert slept == [7.0]


def test_the_key_comes_from_the_environment_and_into_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_KEY", "sk-s3cret")
    server = Server()
    with serving(server) as host:
        embed_queries({"1": "lamp"}, endpoint(host, key_from="LAB_KEY", headers=("X-Team: lab",)))
        assert server.requests[0].headers["authorization"] == "Bearer sk-s3cret"
        assert server.requests[0].headers["x-team"] == "lab"
        server.fail = lambda n, texts: Response(401, b"no")
        secret = Endpoint(f"http://me:s3cret@{host}/v1?key=s3cret", "small", "LAB_KEY", retry=QUICK)
        for act in (
            lambda: embed_queries({"1": "lamp"}, secret),
            lambda: embed_documents(TEXTS, str(tmp_path / "x.npy"), secret),
        ):
            with pytest.raises(CranfieldError, match=r"answered 401 Unauthorized \(check user, password or key\)") as e:
                act()
            assert "s3cret" not in str(e.value)
        server.fail = lambda n, texts: None
        embed_documents(TEXTS, str(tmp_path / "x.npy"), secret)
    assert not any("s3cret" in path.read_bytes().decode("latin-1") for path in tmp_path.iterdir())
    for value, says in (("", "LAB_KEY is not set"), ("a\nb", "LAB_KEY has characters")):
        monkeypatch.setenv("LAB_KEY", value)
        with pytest.raises(InputError, match=says):
            embed_queries({"1": "lamp"}, endpoint("127.0.0.1:1", key_from="LAB_KEY"))


def one(**more: Any) -> dict[str, Any]:
    return {"index": 0, "embedding": [1.0, 2.0], **more}


@pytest.mark.parametrize(
    "answer, says",
    [
        ({"error": {"message": "no"}}, r'expected an object with a list of data, found \{"error"'),
        ([1, 2], r"expected an object with a list of data, found \[1, 2\]"),
        ({"data": [one()]}, "1 vector for 2 texts"),
        ({"data": [one(), one(), one()]}, "3 vectors for 2 texts"),
        ({"data": [one(), one()]}, r"expected vectors with the indexes 0 to 1, found \[0, 0\]"),
        ({"data": [one(), one(index="1")]}, "expected vectors with the indexes 0 to 1"),
        ({"data": [one(), one(index=2)]}, "expected vectors with the indexes 0 to 1"),
        ({"data": [one(), one(index=1, embedding=[1.0])]}, "vector 1 has 1 number, expected 2"),
        ({"data": [one(), one(index=1, embedding=[])]}, r"expected a list of numbers as vector 1, found \[\]"),
        ({"data": [one(), one(index=1, embedding="AAAA")]}, 'expected a list of numbers as vector 1, found "AAAA"'),
        ({"data": [one(), {"index": 1}]}, "expected a list of numbers as vector 1, found null"),
        ({"data": [one(), one(index=1, embedding=[1.0, None])]}, "vector 1 has something else than finite numbers"),
        ({"data": [one(), one(index=1, embedding=[1.0, float("nan")])]}, "vector 1 has something else than finite"),
        ({"data": [one(), one(index=1, embedding=[1.0, 1e39])]}, "vector 1 has something else than finite numbers"),
        ({"data": [one(), one(index=1, embedding=[True, 1])]}, "vector 1 has something else than finite numbers"),
    ],
)
def test_answers_that_are_none_are_told(answer: Any, says: str, tmp_path: Path) -> None:
    with serving(lambda request: Response.of(answer)) as host:
        with pytest.raises(CranfieldError, match=says) as caught:
            embed_documents(TEXTS, str(tmp_path / "docs.npy"), endpoint(host))
    assert str(caught.value).startswith("http://127.0.0.1") and not (tmp_path / "docs.npy").exists()


def test_vectors_without_an_index_are_taken_as_they_come() -> None:
    answer = {"data": [{"embedding": [1, 2.5]}, {"embedding": [3, 4]}]}
    with serving(lambda request: Response.of(answer)) as host:
        found = embed_queries({"1": "a", "2": "b"}, endpoint(host))
    assert found.rows(np.arange(2)).tolist() == [[1.0, 2.5], [3.0, 4.0]]


def test_a_model_must_not_change_its_size_on_the_way(tmp_path: Path) -> None:
    def answer(request: Request) -> Response:
        n = len(json.loads(request.body)["input"])
        return Response.of({"data": [{"index": i, "embedding": [1.0] * (n + 1)} for i in range(n)]})

    with serving(answer) as host, pytest.raises(CranfieldError, match="vector 0 has 2 numbers, expected 3"):
        embed_documents(TEXTS, str(tmp_path / "docs.npy"), endpoint(host))


@pytest.mark.parametrize("status", [500, 400, "timeout", "broken"])
def test_what_was_got_is_kept_and_not_asked_for_again(status: int | str, tmp_path: Path) -> None:
    wrong = {
        "timeout": Response(fault="slow"),
        "broken": Response(200, b"{"),
        500: Response(500, b"out of memory"),
        400: Response(400, b"text too long"),
    }[status]
    retry = RetryPolicy(timeout=1.0 if status == "timeout" else TIMEOUT, retries=1, first_pause=0.001)
    server = Server(lambda n, texts: wrong if "text 2" in texts else None)
    path = str(tmp_path / "docs.npy")
    with serving(server) as host:
        with pytest.raises(CranfieldError) as caught:
            embed_documents(TEXTS, path, endpoint(host, retry=retry))
        says = {"timeout": "no answer within 1 s", "broken": "the answer is not JSON"}.get(
            str(status), f"answered {status}"
        )
        assert says in str(caught.value)
        assert f"2 vectors got so far kept in {path}.part; the same command goes on" in str(caught.value)
        assert not (tmp_path / "docs.npy").exists() and len(list(tmp_path.iterdir())) == 1
        server.fail, server.asked = lambda n, texts: None, []
        found = embed_documents(TEXTS, path, endpoint(host, batch=5))
    assert server.asked == [["text 2", "text 3", "text 4"]]
    assert found.rows(np.arange(5)).tolist() == [vector(text) for _, text in TEXTS]
    assert not (tmp_path / "docs.npy.part").exists()


def begun(path: Path, host: str, texts: list[tuple[str, str]] = TEXTS[:4]) -> None:
    """What is left when the program is killed after some answers."""
    with pytest.raises(ZeroDivisionError):
        embed_documents((pair if pair[0] != "d4" else 1 / 0 for pair in [*texts, TEXTS[4]]), str(path), endpoint(host))


def test_an_attempt_may_be_cut_at_any_byte(tmp_path: Path) -> None:
    path = tmp_path / "docs.npy"
    server = Server()
    with serving(server) as host:
        begun(path, host)
        part = tmp_path / "docs.npy.part"
        content = part.read_bytes()
        start = content.index(b"\n") + 1
        ends = list(range(start, len(content) + 1, 16 + 4 * 4))  # a digest and four numbers each
        assert len(ends) == 5 and ends[-1] == len(content)
        for size in sorted({0, 1, *ends, *(end - 1 for end in ends), *range(5, len(content), 29)}):
            part.write_bytes(content[:size])
            server.asked = []
            found = embed_documents(TEXTS, str(path), endpoint(host))
            assert found.rows(np.arange(5)).tolist() == [vector(text) for _, text in TEXTS], size
            kept = max(0, sum(end <= size for end in ends) - 1)
            assert sum(map(len, server.asked)) == 5 - kept
            path.unlink()


def test_what_was_begun_with_other_texts_serves_for_those_that_are_the_same(tmp_path: Path) -> None:
    server = Server()
    with serving(server) as host:
        for i, (texts, asked) in enumerate(
            (
                ([TEXTS[1], TEXTS[0], *TEXTS[2:]], [["text 4"]]),
                ([("d0", "changed"), *TEXTS[1:]], [["changed", "text 4"]]),
                (TEXTS[:1], []),
                ([("other", "text 3"), ("twin", "text 3")], []),
            )
        ):
            path = tmp_path / f"docs{i}.npy"
            begun(path, host)
            server.asked = []
            found = embed_documents(texts, str(path), endpoint(host))
            assert server.asked == asked and found.ids == tuple(one for one, _ in texts)
            assert found.rows(np.arange(len(texts))).tolist() == [vector(text) for _, text in texts]
            # and so do the vectors of a file that is whole
            server.asked = []
            found = embed_documents([("new", "text 9"), *texts[::-1]], str(path), endpoint(host))
            assert server.asked == [["text 9"]] and found.ids == ("new", *(one for one, _ in texts[::-1]))
            assert found.rows(np.arange(1, len(texts) + 1)).tolist() == [vector(text) for _, text in texts[::-1]]


def test_vectors_are_never_beside_the_ids_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while a file of vectors is replaced, at whatever point, the next attempt makes it whole."""
    path = tmp_path / "docs.npy"
    server = Server()
    with serving(server) as host:
        for stop in range(4):
            embed_documents(TEXTS, str(path), endpoint(host))
            written: list[Any] = []

            def writing(file: Any, written: list[Any] = written, stop: int = stop) -> Any:
                written.append(file)
                if len(written) > stop:
                    raise KeyboardInterrupt
                return files.open_output(file)

            with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
                patched.setattr(embeddings, "open_output", writing)
                embed_documents(TEXTS[::-1], str(path), endpoint(host))
            assert not path.exists()
            server.asked = []
            found = embed_documents(TEXTS[::-1], str(path), endpoint(host))
            assert server.asked == [] and found.ids == ("d4", "d3", "d2", "d1", "d0")
            assert found.rows(np.array([0])).tolist() == [vector("text 4")]


def test_another_model_does_not_go_on_from_what_was_begun(tmp_path: Path) -> None:
    path = tmp_path / "docs.npy"
    with serving(Server()) as host:
        begun(path, host)
        with pytest.raises(InputError, match=r"docs.npy.part: was begun with model 'small'\. Remove it"):
            embed_documents(TEXTS, str(path), Endpoint(f"http://{host}", "large", retry=QUICK))
        Path(f"{path}.part").write_text("a letter\n")
        with pytest.raises(InputError, match="this is no file of vectors that were begun"):
            embed_documents(TEXTS, str(path), endpoint(host))


def test_an_index_gets_vectors_once(tmp_path: Path) -> None:
    docs = [Document("a", "red lamp", "Lamps"), Document("b", "bells")]
    index = built(docs, Analysis(), ["title", "text"])
    path = str(tmp_path / "docs.npy")
    server = Server()
    with serving(server) as host:
        first = vectors_of_index(index, lambda: docs, path, endpoint(host), "passage: ")
        assert server.asked == [["passage: Lamps red lamp", "passage: bells"]]
        again = vectors_of_index(index, lambda: 1 / 0, path, endpoint(host), "passage: ")  # type: ignore[arg-type, return-value]
        assert len(server.asked) == 1 and again.ids == first.ids == ("a", "b")
        for changed, says in (
            ({"prefix": ""}, r'these vectors were made otherwise \(prefix "passage: ", now ""\)'),
            ({"endpoint": Endpoint(f"http://{host}", "large")}, 'model "small", now "large"'),
            ({"index": built(docs, Analysis(), ["text"])}, r'fields \["title", "text"\], now \["text"\]'),
        ):
            how: Any = {"index": index, "endpoint": endpoint(host), "prefix": "passage: ", **changed}
            with pytest.raises(InputError, match=says):
                vectors_of_index(documents=lambda: docs, path=path, **how)
    unknowing = build(docs)  # an index that does not know the digest of its texts has them looked through
    assert vectors_of_index(unknowing, lambda: docs, path, endpoint("127.0.0.1:1"), "passage: ").ids == ("a", "b")
    own = str(tmp_path / "own.npy")  # of vectors from elsewhere nothing is known
    np.save(own, np.ones((2, 3)))
    assert len(vectors_of_index(index, lambda: docs, own, endpoint(host))) == 2


def test_an_index_of_other_texts_gets_other_vectors(tmp_path: Path) -> None:
    docs = [Document("a", "red lamp"), Document("b", "old bells"), Document("c", "oil")]
    now = [docs[1], Document("a", "new lamp"), docs[2]]  # other order, other words, and as many letters
    path = str(tmp_path / "docs.npy")
    server = Server()
    for make in (lambda docs: built(docs, Analysis(), ["title", "text"]), build):
        with serving(server) as host:
            vectors_of_index(make(docs), lambda: docs, path, endpoint(host))
            server.asked = []
            for _ in range(2):
                found = vectors_of_index(make(now), lambda: now, path, endpoint(host))
                assert server.asked == [["new lamp"]] and found.ids == ("b", "a", "c")
                assert found.rows(np.arange(3)).tolist() == [vector(doc.text) for doc in now]
            assert (tmp_path / "docs.texts").stat().st_size == 48
        (tmp_path / "docs.npy").unlink()


def test_what_cannot_be_kept_is_said_before_anything_is_asked(tmp_path: Path) -> None:
    server = Server()
    with serving(server) as host:
        for path, says in (
            (tmp_path / "docs.parquet", "ends with .npy"),
            (tmp_path / "none" / "docs.npy", "cannot be written: No such file or directory"),
        ):
            with pytest.raises(InputError, match=says):
                embed_documents(TEXTS, str(path), endpoint(host))
        with pytest.raises(InputError, match="there is no document to get a vector for"):
            embed_documents([], str(tmp_path / "docs.npy"), endpoint(host))
    assert not server.requests


def test_ids_come_back_byte_for_byte(tmp_path: Path) -> None:
    with serving(Server()) as host:
        embed_documents([("caf\udce9", "x"), ("日本", "y")], str(tmp_path / "docs.npy"), endpoint(host))
    assert read_vectors(tmp_path / "docs.npy").ids == ("caf\udce9", "日本")


@pytest.mark.parametrize(
    "url, target",
    [
        ("http://h:1", "/v1/embeddings"),
        ("http://h/v1/", "/v1/embeddings"),
        ("https://h/openai/deployments/x/embeddings?api-version=2", "/openai/deployments/x/embeddings?api-version=2"),
    ],
)
def test_the_address_may_be_that_of_the_server_or_of_the_embeddings(url: str, target: str) -> None:
    assert Endpoint(url, "m").target == target
