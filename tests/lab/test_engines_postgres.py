"""PostgreSQL's full-text search, on a server of its own that is started for these tests."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cranfield import evaluate, read_documents, read_qrels, read_topics
from cranfield.data.collection import Document
from cranfield.errors import InputError
from cranfield.lab.engines import EngineError, Options, SearchFailed, open_engine, postgres
from cranfield.lab.engines.postgres import Postgres
from cranfield.lab.systems import query_text

psycopg: Any = pytest.importorskip("psycopg")
DOCS = [
    Document("a", "a red bicycle lamp"),
    Document("b", "bicycle bells \udcff\0 ringing", "Lamps"),
    Document("c", "steam engines"),
    Document("d", ""),
]


@pytest.fixture
def server(postgres: str) -> str:
    return postgres


@pytest.fixture
def engine(server: str, request: pytest.FixtureRequest) -> Iterator[Postgres]:
    opened = Postgres(f"{server}?table={request.node.name[:40]}")
    yield opened
    opened.close()


def test_documents_are_copied_in_and_found(engine: Postgres) -> None:
    made = engine.index(DOCS)
    assert (made.documents, made.failed, made.resumed) == (4, (), 0) and made.bytes == engine.size()
    found = engine.search({"1": "lamp bells", "2": "zeppelin", "3": "the", "4": ""}).to_dict()
    assert [list(found[query]) for query in "1234"] == [["b", "a"], [], [], []]
    assert engine.about.name == "postgresql" and int(engine.about.version.split(".")[0]) >= 10


def test_scores_are_those_of_ts_rank_cd_divided_by_the_length(server: str) -> None:
    docs = [Document("a", "lamp " + "oil " * 50), Document("b", "lamp oil")]
    found = {}
    for norm in (0, 1):
        engine = open_engine(f"{server}?table=norm&norm={norm}")
        engine.index(docs)
        found[norm] = engine.search({"1": "lamp"}).to_dict()["1"]
        engine.close()
    assert found[0] == pytest.approx({"a": 0.1, "b": 0.1})
    # the manual has 1 + the logarithm of the length; what tsrank.c does is the logarithm of 1 + the length
    assert found[1] == pytest.approx({"a": 0.1 / math.log(52), "b": 0.1 / math.log(3)})


def test_words_are_never_operators(engine: Postgres) -> None:
    engine.index([*DOCS, Document("e", "o'neill http://host/x?a=1&b=2 C:\\dir")])
    queries = ["lamp & !lamp", "lamp | (", "'; DROP TABLE x; -- lamp", "lamp:*", "a <-> lamp", "\\ lamp", "%s lamp"]
    found = engine.search({str(i): query for i, query in enumerate(queries)}).to_dict()
    assert all("a" in found[str(i)] for i in range(len(queries)))
    found = engine.search({"1": "o'neill", "2": "http://host/x?a=1&b=2", "3": "C:\\dir"}).to_dict()
    assert [list(docs) for docs in found.values()] == [["e"]] * 3


def test_equal_scores_are_in_the_order_of_ids(engine: Postgres) -> None:
    engine.index([Document(doc, "lamp") for doc in ("b", "A", "a", "B", "_")])
    assert list(engine.search({"1": "lamp"}, depth=4).docs) == ["A", "B", "_", "a"]


def test_an_interrupted_attempt_goes_on_where_it_was(engine: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "COMMIT", 10)
    docs = [Document(f"d{i}", f"lamp number{i % 7}") for i in range(45)]

    def stopping() -> Iterator[Document]:
        yield from docs[:35]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.index(stopping())
    engine.close()
    with pytest.raises(InputError, match="is not complete; run 'cranfield index' again"):
        engine.search({"1": "lamp"})
    made = engine.index(docs)
    assert (made.documents, made.resumed, made.dropped) == (45, 30, 0) and len(engine.search({"1": "lamp"})) == 45
    # once complete it is made anew, and the old one stays until then
    with pytest.raises(KeyboardInterrupt):
        engine.index(stopping())
    engine.close()
    assert len(engine.search({"1": "lamp"})) == 45
    assert engine.index(docs[:20], ["title"]).documents == 20 and len(engine.search({"1": "lamp"})) == 0


def test_an_attempt_that_was_made_of_other_texts_is_begun_anew(
    engine: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "COMMIT", 10)
    docs = [Document(f"d{i}", f"lamp number{i % 7}") for i in range(45)]
    now = [Document("d0", "zeppelin"), *docs[1:]]

    def stopping() -> Iterator[Document]:
        yield from docs[:35]
        raise KeyboardInterrupt

    for documents in (now, iter(now)):
        with pytest.raises(KeyboardInterrupt):
            engine.index(stopping())
        engine.close()
        if documents is now:
            made = engine.index(documents)
            assert (made.documents, made.resumed, made.dropped) == (45, 0, 30)
            continue
        with pytest.raises(InputError, match="was begun with other documents.*The same again begins anew"):
            engine.index(documents)
        assert engine.index(iter(now)).documents == 45
    assert engine.search({"1": "zeppelin"}).to_dict() == {"1": {"d0": pytest.approx(0.1, abs=0.1)}}
    assert len(engine.search({"1": "lamp"})) == 44


def test_a_document_that_is_too_long_is_named_and_the_others_kept(engine: Postgres) -> None:
    long = Document("long", " ".join(f"word{i:06}" for i in range(120_000)))
    made = engine.index([*DOCS, long, Document("z", "last lamp")])
    ((doc, why),) = made.failed
    assert made.documents == 5 and doc == "long" and "too long for tsvector" in why
    assert set(engine.search({"1": "lamp"}).docs) == {"a", "b", "z"}


def test_a_table_of_somebody_else_is_searched_but_never_replaced(server: str, engine: Postgres) -> None:
    with psycopg.connect(server) as connection:
        connection.execute("CREATE SCHEMA shop; CREATE TABLE shop.items (sku int, tsv tsvector)")
        connection.execute("INSERT INTO shop.items VALUES (7, to_tsvector('simple', 'Lamps')), (8, 'lamp')")
    theirs = open_engine(f"{server}?table=shop.items&id=sku&vector=tsv&language=simple")
    with pytest.raises(InputError, match="was not made by 'cranfield index'; give another table="):
        theirs.index(DOCS)
    assert list(theirs.search({"1": "lamps"}).docs) == ["7"]
    theirs.close()
    wrong = open_engine(f"{server}?table=shop.items&id=isbn")
    with pytest.raises(SearchFailed, match='PostgreSQL says: column "isbn" does not exist'):
        wrong.search({"1": "lamps"})
    wrong.close()
    named = open_engine(f"{server}?table=shop.ours")
    assert named.index(DOCS).documents == 4 and len(named.search({"1": "lamp"})) == 2
    named.close()


def test_a_connection_that_broke_is_made_anew(server: str, engine: Postgres) -> None:
    class Breaking(dict[str, str]):
        """Queries that end the connection of who asks them."""

        def items(self) -> Any:
            yield "1", "lamp"
            with psycopg.connect(server) as other:
                other.execute("SELECT pg_terminate_backend(%s, 5000)", [engine.connection.info.backend_pid])
            yield "2", "lamp"

    engine.index(DOCS)
    assert len(engine.search(Breaking())) == 4


def test_a_search_that_takes_too_long_is_ended(server: str) -> None:
    with closing(open_engine(f"{server}?table=slow")) as filled:
        filled.index(DOCS)
    engine = open_engine(f"{server}?table=slow", Options(timeout=0.3))
    with psycopg.connect(server) as other:
        other.execute("LOCK TABLE slow IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(SearchFailed, match="no answer within 0.3 s"):
            engine.search({"1": "lamp"})
    engine.close()


def test_what_is_wrong_is_said_without_the_password(server: str, engine: Postgres) -> None:
    with pytest.raises(InputError, match="there is no such table"):
        engine.search({"1": "lamp"})
    with pytest.raises(InputError, match="postgresql cannot hold this id"):
        engine.index([Document("d\udcff", "x")])
    with pytest.raises(InputError, match="document 'a' comes twice"):
        engine.index([DOCS[0], DOCS[0]])
    with pytest.raises(InputError, match="norm=x: expected a whole number"):
        open_engine(f"{server}?norm=x")
    for url in (server.replace("s3cret", "wr0ng"), "postgresql://lab:wr0ng@127.0.0.1:9/x"):
        with pytest.raises(EngineError, match=r"postgresql://\*\*\*@127.*table docs: cannot connect") as caught:
            open_engine(url).search({"1": "lamp"})
        assert "wr0ng" not in str(caught.value)
    odd = open_engine(f"{server}?table=odd&language=elvish")
    with pytest.raises(EngineError, match='text search configuration "elvish" does not exist'):
        odd.index(DOCS)


def test_it_does_what_it_can_on_a_classic_collection(engine: Postgres, shared_data: Path) -> None:
    """ts_rank_cd knows no idf; it is some way below BM25 (.699)."""
    folder = shared_data / "classic" / "med"
    assert engine.index(read_documents(folder / "MED.ALL")).documents == 1033
    topics = {topic.id: query_text(topic) for topic in read_topics(folder / "MED.QRY")}
    scores = evaluate(read_qrels(folder / "MED.REL"), engine.search(topics), ["nDCG@10"])
    assert 0.4 < scores.mean("nDCG@10") < 0.7
