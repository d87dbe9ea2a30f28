"""Feedback, measured on what is left."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from cranfield import as_qrels, as_run, evaluate, read_documents, read_qrels, read_topics
from cranfield.data.collection import Document
from cranfield.errors import CranfieldError
from cranfield.lab.collections import open_collection
from cranfield.lab.feedback import subsets_of
from cranfield.lab.feedback_study import Comparison, compare_feedback, first_relevant, given_qrels, residual, without
from cranfield.lab.index import Index, build
from cranfield.lab.systems import query_text, system_named
from cranfield.reporting import feedback as forms

EXAMPLE = Path(str(files("cranfield") / "example"))


def test_the_first_relevant_documents_are_given_and_taken_out_of_everything() -> None:
    run = as_run({"1": {"a": 5.0, "b": 4.0, "c": 3.0, "d": 2.0}, "2": {"a": 1.0}, "3": {"b": 1.0}})
    qrels = as_qrels({"1": {"b": 1, "c": 2, "d": 0, "e": 1}, "2": {"a": 1}, "3": {"b": 0}, "4": {"a": 1}})
    given = first_relevant(run, qrels, 1)
    assert given == {"1": ["b"], "2": ["a"], "3": []}
    assert first_relevant(run, qrels, 9)["1"] == ["b", "c"] and first_relevant(run, qrels, 9, rel=2)["1"] == ["c"]
    # topic 2 has nothing left to find, 3 and 4 nothing to learn from
    assert residual(qrels, given).to_dict() == {"1": {"c": 2.0, "d": 0.0, "e": 1.0}}
    assert residual(qrels, {"1": ["b", "c", "e"]}).queries == ()
    left = without(run, given, 2)
    assert left.to_dict() == {"1": {"a": 5.0, "c": 3.0}, "2": {}, "3": {"b": 1.0}}
    assert given_qrels(given).to_dict() == {"1": {"b": 1.0}, "2": {"a": 1.0}}


@pytest.fixture(scope="module")
def bicycles() -> tuple[Index, dict[str, str]]:
    index = build(read_documents(EXAMPLE / "documents.jsonl"))
    return index, {topic.id: query_text(topic) for topic in read_topics(EXAMPLE / "topics.xml")}


@pytest.fixture(scope="module")
def compared(bicycles: tuple[Index, dict[str, str]]) -> Comparison:
    return compare_feedback(*bicycles, read_qrels(EXAMPLE / "qrels.txt"), given=3, depth=100)


def test_every_way_is_what_the_systems_find_by_their_names(
    compared: Comparison, bicycles: tuple[Index, dict[str, str]]
) -> None:
    index, queries = bicycles
    qrels = read_qrels(EXAMPLE / "qrels.txt")
    given = first_relevant(system_named("bm25").search(index, queries, 103), qrels, 3)
    assert {topic: list(docs) for topic, docs in compared.given.items()} == given
    for name, system, relevant in (
        ("none", "bm25", None),
        ("blind", "bm25+rm3", None),
        ("all", "bm25+rm3", given),
        ("best", "bm25+rm3-best", given),
        ("fused", "bm25+rm3-fused", given),
    ):
        way = compared.way(name)
        run = without(system_named(system).search(index, queries, 103, relevant), given, 100)
        found = evaluate(compared.qrels, run, ["AP", "nDCG@10"])
        assert way.system == system and way.mean("AP") == pytest.approx(found.mean("AP"))
        assert way.values["nDCG@10"].tolist() == found.values("nDCG@10").tolist()
        assert not any(
            set(docs) & set(way.run.to_dict()[topic]) for topic, docs in given.items() if topic in way.run.queries
        )


def test_hindsight_is_the_best_of_all_subsets_topic_by_topic(
    compared: Comparison, bicycles: tuple[Index, dict[str, str]]
) -> None:
    index, queries = bicycles
    best = np.zeros(len(compared.topics))
    for number in range(7):
        given = {}
        for topic in compared.topics:
            docs = sorted(compared.given[topic], key=index.doc_numbers.__getitem__)
            parts = subsets_of(len(docs), 63)
            given[topic] = [docs[i] for i in parts[min(number, len(parts) - 1)]]
        run = system_named("bm25+rm3").search(index, {t: queries[t] for t in compared.topics}, 103, given)
        values = evaluate(compared.qrels, without(run, compared.given, 100), ["AP"]).values("AP")
        best = np.maximum(best, values)
    assert compared.way("hindsight").values["AP"] == pytest.approx(best)
    for name in ("all", "best"):
        assert compared.difference("hindsight", name, "AP").worse == 0


def test_only_topics_with_something_to_learn_from_and_something_to_find_count(compared: Comparison) -> None:
    assert len(compared.topics) == 27 and all(compared.given[topic] for topic in compared.topics)
    assert compared.notes == (
        "3 topics left out: no relevant document to learn from, or none left to find: '2', '26', '27'",
    )
    nothing = compared.difference("all", "all", "AP")
    assert (nothing.mean, nothing.better, nothing.worse) == (0.0, 0, 0)


def test_the_comparison_in_words_says_what_is_in_the_table(compared: Comparison) -> None:
    text = forms.as_text(compared, 100, styled=False)
    one = compared.difference("fused", "all", "AP")
    more = "more" if one.mean > 0 else "less"
    assert f"Fusing subsets gives {abs(one.mean):.4f} {more} AP than learning from all at once [" in text
    assert f"better on {one.better} and worse on {one.worse} topics." in text
    assert "27 topics, 71 documents used as feedback and removed from rankings and judgments." in text
    assert [line.split()[0] for line in text.splitlines()[2:] if line[:1].isalpha()][:6] == [
        way.name for way in compared.ways
    ]


def test_of_some_measures_less_is_better(bicycles: tuple[Index, dict[str, str]]) -> None:
    found = compare_feedback(*bicycles, read_qrels(EXAMPLE / "qrels.txt"), given=2, measures=["SearchLength"], depth=50)
    one = found.difference("hindsight", "all", "SearchLength")
    assert one.mean < 0 and one.worse == 0 < one.better


def test_parameters_are_the_same_for_every_way(bicycles: tuple[Index, dict[str, str]]) -> None:
    qrels = read_qrels(EXAMPLE / "qrels.txt")
    found = compare_feedback(*bicycles, qrels, "lm:mu=100+rm3:terms=3,weight=0.2", given=2, measures=["P@5"], depth=50)
    assert [way.system for way in found.ways] == [
        "lm:mu=100",
        "lm:mu=100+rm3:terms=3,weight=0.2",
        "lm:mu=100+rm3:terms=3,weight=0.2",
        "lm:mu=100+rm3-best:terms=3,weight=0.2",
        "lm:mu=100+rm3-fused:terms=3,weight=0.2",
        "",
    ]
    one = compare_feedback(*bicycles, qrels, "bm25+rm3-fused:subsets=1", given=4, measures=["AP"], depth=50)
    # with one subset, the whole, all is the same
    assert one.difference("hindsight", "all", "AP").mean == 0 == one.difference("best", "all", "AP").mean


def test_what_cannot_be_compared_is_said(bicycles: tuple[Index, dict[str, str]]) -> None:
    qrels = read_qrels(EXAMPLE / "qrels.txt")
    for system in ("bm25", "bm25+rocchio", "bm25+rm3+mmr"):
        with pytest.raises(CranfieldError, match="expected a model with rm3"):
            compare_feedback(*bicycles, qrels, system)
    index = build([Document("a", "lamp"), Document("b", "oil")])
    with pytest.raises(CranfieldError, match="no topic has both a relevant document that is found and another"):
        compare_feedback(index, {"1": "lamp"}, as_qrels({"1": {"a": 1}}))


@pytest.mark.parametrize("name, given, topics", [("med", 5, 30), ("cisi", 3, 74)])
def test_the_comparison_of_raiber_and_kurland_on_a_classic_collection(
    name: str, given: int, topics: int, shared_data: Path
) -> None:
    collection = open_collection(f"{name}:{shared_data / 'classic' / name}")
    queries = {topic.id: query_text(topic) for topic in collection.topics()}
    found = compare_feedback(build(collection.documents()), queries, collection.qrels(), given=given, measures=["AP"])
    means = {way.name: way.mean("AP") for way in found.ways}
    assert len(found.topics) == topics
    # learning helps, even more with judgments; a subset known in hindsight is better than the whole, as they found
    assert means["none"] < means["blind"] < means["all"] < means["hindsight"]
    assert found.difference("hindsight", "all", "AP").interval.low > 0.02  # type: ignore[union-attr]
    assert means["fused"] == pytest.approx(means["all"], abs=0.01) and means["best"] < means["hindsight"]
    assert len(forms.as_text(found, 80, styled=False).splitlines()) > 15
