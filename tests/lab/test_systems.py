"""Systems by name, from topics to runs."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from cranfield import evaluate, read_documents, read_qrels, read_topics
from cranfield.data.collection import Document, Topic
from cranfield.errors import CranfieldError
from cranfield.lab.index import build
from cranfield.lab.systems import fitting, query_text, system_named, with_setting
from cranfield.text.analysis import Analysis

DOCS = [Document("a", "red bicycle lamp"), Document("b", "bicycle bell"), Document("c", "steam engine lamp oil")]


def test_a_run_has_the_best_documents_of_each_query_and_keeps_empty_ones() -> None:
    run = system_named("bm25").search(build(DOCS), {"1": "bicycle lamp", "2": "zeppelin"}, depth=2)
    assert run.queries == ("1", "2") and list(run.to_dict()["1"]) == ["a", "b"] and run.to_dict()["2"] == {}
    assert run.tag == "bm25"


def test_feedback_finds_what_the_query_does_not_say() -> None:
    index = build(DOCS)
    assert "c" not in system_named("bm25").search(index, {"1": "red"}).to_dict()["1"]
    assert "c" in system_named("bm25+rm3:docs=1").search(index, {"1": "red"}).to_dict()["1"]
    given = system_named("bm25+rocchio").search(index, {"1": "red"}, relevant={"1": ["c", "unknown"]})
    assert "c" in given.to_dict()["1"]
    assert list(system_named("bm25+rm3").search(index, {"1": "red"}, relevant={}).to_dict()["1"]) == ["a"]


@pytest.mark.parametrize(
    "name, says",
    [
        ("bm52", "no system 'bm52': expected one of bm25, tfidf, lm, lm-jm, dph, dense, lsi."),
        ("bm25:k3=1", "bm25 has no parameter 'k3': it has k1, b."),
        ("bm25:k1", "bm25 has no parameter 'k1'"),
        ("bm25:k1=x", "bm25: k1='x': expected a number of at least 0."),
        ("bm25:k1=-1", "k1=-1 is out of range: expected a number of at least 0"),
        ("lsi:k=1.5", "lsi: k=1.5: expected a whole number of at least 1."),
        ("bm25+rm4", "no feedback 'rm4': expected one of rm3, rm3-best, rm3-fused, rocchio, rsj, or mmr"),
        ("bm25+rm3+rm3", "only one kind of feedback"),
        ("bm25+mmr+rm3", "only one kind of feedback after the model, and mmr after that"),
        ("bm25+mmr+mmr", "and mmr after that"),
        ("bm25+mmr:lambda=1.5", "mmr: lambda=1.5 is out of range: expected a number from 0 to 1"),
        ("bm25+mmr:lamda=0.5", "mmr has no parameter 'lamda': it has lambda, docs"),
        ("bm25+rm3-best:subsets=0", "rm3-best: subsets=0 is out of range: expected a whole number of at least 1"),
        ("dense:similarity=dot", "dense: similarity='dot' is unknown: expected one of inner, cosine"),
        ("dense+rocchio", "dense has none; only mmr after it"),
    ],
)
def test_names_that_are_wrong_say_what_is_right(name: str, says: str) -> None:
    with pytest.raises(CranfieldError) as caught:
        system_named(name)
    assert says.rstrip(".") in str(caught.value)


def test_settings_go_to_the_stage_that_has_them() -> None:
    setting = fitting("bm25+rm3+mmr", {"lambda": 0.3, "k1": 2.0, "docs": 7.0, "weight": 0.2})
    assert setting == {"lambda": 0.3, "k1": 2.0, "docs": 7, "weight": 0.2}
    assert with_setting("bm25+rm3+mmr", setting).name == "bm25:k1=2+rm3:docs=7,weight=0.2+mmr:lambda=0.3"
    assert with_setting("bm25+mmr:lambda=0.5", {"docs": 20}).name == "bm25+mmr:lambda=0.5,docs=20"
    with pytest.raises(CranfieldError, match="bm25 has no parameter 'mu'"):
        with_setting("bm25+mmr", {"mu": 3})


def test_a_query_has_the_fields_asked_for() -> None:
    topic = Topic("1", "red lamp", "about lamps", fields={"hint": "oil"})
    assert query_text(topic) == "red lamp"
    assert query_text(topic, ["title", "narrative", "description", "hint", "none"]) == "red lamp about lamps oil"


# bm25s with its own English stop list gives these, k1 1.2, b 0.75
CLASSICS = {
    "med": ("MED.ALL", "MED.QRY", "MED.REL", 0.699),
    "cacm": ("cacm.all", "query.text", "qrels.text", 0.499),
    "cisi": ("CISI.ALL", "CISI.QRY", "CISI.REL", 0.381),
    "cran": ("cran.all.1400", "cran.qry", "cran.qrels", 0.369),
}


@pytest.mark.parametrize("name", CLASSICS)
def test_bm25_on_the_classic_collections_is_what_others_find(name: str, shared_data: Path) -> None:
    docs, topics, judged, expected = CLASSICS[name]
    folder = shared_data / "classic" / name
    index = build(read_documents(folder / docs))
    texts = {topic.id: query_text(topic) for topic in read_topics(folder / topics)}
    if name == "cran":  # its judgments number the queries in the order of the file
        texts = {str(i): text for i, text in enumerate(texts.values(), 1)}
    qrels = read_qrels(folder / judged)
    bm25 = evaluate(qrels, system_named("bm25").search(index, texts), ["nDCG@10", "AP"])
    assert bm25.mean("nDCG@10") == pytest.approx(expected, abs=0.001)
    if name in ("med", "cisi"):
        assert evaluate(qrels, system_named("bm25+rm3").search(index, texts), ["AP"]).mean("AP") > bm25.mean("AP")


@pytest.mark.parametrize(
    "name, says",
    [
        ("bm25:b=7", "bm25: b=7 is out of range: expected a number from 0 to 1"),
        ("lm:mu=0", "lm: mu=0 is out of range: expected a number above 0"),
        ("lm-jm:weight=0", "lm-jm: weight=0 is out of range: expected a number above 0 and below 1"),
        ("lm-jm:weight=1", "lm-jm: weight=1 is out of range: expected a number above 0 and below 1"),
        ("lsi:k=0", "lsi: k=0 is out of range: expected a whole number of at least 1"),
        ("bm25+rm3:weight=2", "rm3: weight=2 is out of range: expected a number from 0 to 1"),
        ("bm25+rocchio:docs=0", "rocchio: docs=0 is out of range: expected a whole number of at least 1"),
        ("bm25+rm3-fused:subsets=0", "rm3-fused: subsets=0 is out of range: expected a whole number of at least 1"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name: str, says: str) -> None:
    with pytest.raises(CranfieldError, match=re.escape(says)):
        system_named(name)


@pytest.mark.parametrize("model", ["tfidf", "lsi:k=20"])
@pytest.mark.parametrize("feedback", ["rm3", "rocchio"])
def test_feedback_helps_a_cosine_too(model: str, feedback: str) -> None:
    """Terms that count less than once weigh less, and never against a document."""
    folder = Path(str(files("cranfield") / "example"))
    index = build(read_documents(folder / "documents.jsonl"), Analysis("none", "english"))
    queries = {topic.id: topic.title for topic in read_topics(folder / "topics.xml")}
    runs = {name: system_named(name).search(index, queries, 100) for name in (model, f"{model}+{feedback}")}
    scores = evaluate(folder / "qrels.txt", runs, ["nDCG@10"]).summary()
    plain, better = (scores[name]["nDCG@10"] for name in runs)
    assert better > plain - 0.1 and better > 0.3
