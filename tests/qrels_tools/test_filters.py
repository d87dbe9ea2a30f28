"""Parts of judgments: filtered, binarised, mapped, sampled."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.data.collection import Qrels
from cranfield.errors import CranfieldError, InputError
from cranfield.evaluation import evaluate
from cranfield.io import as_qrels
from cranfield.qrels_tools.filters import QrelsSampling, binarize_grades, filter_qrels, map_grades, sample_qrels
from cranfield.qrels_tools.grade_maps import parse_mapping, parse_ranges, parse_scale

QRELS = as_qrels({"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "d": 3}})


def test_topics_documents_and_grades_are_kept_together() -> None:
    assert filter_qrels(QRELS, topics=["1"]).qrels.to_dict() == {"1": {"a": 2, "b": 0, "c": 1}}
    assert filter_qrels(QRELS, docs=["a", "d"]).qrels.to_dict() == {"1": {"a": 2}, "2": {"a": 0, "d": 3}}
    assert filter_qrels(QRELS, grades=parse_ranges("1-")).qrels.to_dict() == {"1": {"a": 2, "c": 1}, "2": {"d": 3}}
    assert filter_qrels(QRELS, docs=["a"], grades=parse_ranges("1-")).qrels.to_dict() == {"1": {"a": 2}}
    assert filter_qrels(QRELS, docs=["a"], others=True).qrels.to_dict() == {"1": {"b": 0, "c": 1}, "2": {"d": 3}}


def test_what_is_not_there_is_told() -> None:
    found = filter_qrels(QRELS, topics=["1", "9"], docs=["a", "x", "y"])
    assert found.notes == ("1 topic not in the judgments: '9'.", "2 documents not in the judgments: 'x', 'y'.")
    assert "1 topic without any remaining judgment: '2'." in filter_qrels(QRELS, grades=parse_ranges("1,2")).notes
    with pytest.raises(CranfieldError, match="nothing remains"):
        filter_qrels(QRELS, topics=["9"])


def test_other_columns_are_kept() -> None:
    sampled = Qrels.from_rows(["1", "1"], ["a", "b"], [1, -1], extra={"stratum": ["1", "2"]}, subtopics=["0", "0"])
    assert filter_qrels(sampled, docs=["b"]).qrels.extra["stratum"].tolist() == ["2"]


def test_binary_grades() -> None:
    assert binarize_grades(QRELS, rel=2).qrels.to_dict() == {"1": {"a": 1, "b": 0, "c": 0}, "2": {"a": 0, "d": 1}}
    found = binarize_grades(as_qrels({"1": {"a": -1, "b": 3}}))
    assert found.qrels.to_dict() == {"1": {"a": -1, "b": 1}} and "negative grade" in found.notes[1]
    with pytest.raises(CranfieldError, match="above 0"):
        binarize_grades(QRELS, rel=0)


def test_mapped_grades_do_not_run_into_each_other() -> None:
    found = map_grades(QRELS, {1: 0, 2: 1, 3: 2})
    assert found.qrels.to_dict() == {"1": {"a": 1, "b": 0, "c": 0}, "2": {"a": 0, "d": 2}}
    assert found.notes[-1] == "unchanged: 2 judgments with grade 0, for which there is no rule."


def test_grades_as_they_are_written() -> None:
    assert parse_scale("0-3") == [0, 1, 2, 3] and parse_scale("3, 0, 1") == [0, 1, 3]
    assert parse_scale("-2..1") == [-2, -1, 0, 1]
    assert parse_mapping("-2=0,1=1") == {-2: 0, 1: 1}
    assert parse_ranges("0,2-3")(np.array([0.0, 1, 2, 2.5, 4])).tolist() == [True, False, True, True, False]
    for wrong, message in (("3-0", "above the last"), ("a", "not a decimal number"), ("1,", "separated by commas")):
        with pytest.raises(InputError, match=message):
            parse_scale(wrong)
    with pytest.raises(InputError, match="two ends"):
        parse_scale("1-")
    with pytest.raises(InputError, match="whole grades"):
        parse_scale("0-1.5")
    with pytest.raises(InputError, match="both 0 and 2"):
        parse_mapping("1=0,1=2")
    with pytest.raises(InputError, match="expected OLD=NEW"):
        parse_mapping("1:0")


BIG = as_qrels({str(q): {f"d{i}": int(i % 10 == 0) + int(i % 20 == 0) for i in range(100)} for q in range(5)})


def test_so_many_of_each_topic_are_drawn() -> None:
    found = sample_qrels(BIG, QrelsSampling(per_topic=7)).qrels
    assert [len(docs) for docs in found.to_dict().values()] == [7] * 5
    assert len(sample_qrels(BIG, QrelsSampling(rate=0.255)).qrels) == 5 * 26
    assert len(sample_qrels(BIG, QrelsSampling(rate=0.001)).qrels) == 5  # at least one
    assert len(sample_qrels(BIG, QrelsSampling(per_topic=1000)).qrels) == 500


def test_so_many_of_each_grade_are_drawn() -> None:
    found = sample_qrels(BIG, QrelsSampling(rate=0.2, by_grade=True)).qrels
    for grades in found.to_dict().values():
        assert [list(grades.values()).count(g) for g in (0, 1, 2)] == [18, 1, 1]


def test_a_topics_sample_depends_on_topic_and_seed_alone() -> None:
    whole = sample_qrels(BIG, QrelsSampling(per_topic=10)).qrels.to_dict()
    reverse = as_qrels({"3": dict(reversed(BIG.to_dict()["3"].items()))})
    assert sample_qrels(reverse, QrelsSampling(per_topic=10)).qrels.to_dict()["3"].keys() == whole["3"].keys()
    assert whole["3"].keys() != whole["4"].keys()
    assert sample_qrels(BIG, QrelsSampling(per_topic=10, seed=2)).qrels.to_dict() != whole


def test_every_document_is_drawn_equally_often() -> None:
    qrels = as_qrels({"q": {f"d{i}": 0 for i in range(10)}})
    drawn = [
        doc for seed in range(400) for doc in sample_qrels(qrels, QrelsSampling(per_topic=3, seed=seed)).qrels.docs
    ]
    counts = [drawn.count(f"d{i}") for i in range(10)]
    assert sum(counts) == 1200 and max(abs(n - 120) for n in counts) < 45  # 5 standard deviations


def test_five_columns_keep_the_pool() -> None:
    found = sample_qrels(BIG, QrelsSampling(rate=0.2, by_grade=True), five_columns=True)
    assert len(found.qrels) == 500 and int((found.qrels.grades >= 0).sum()) == 100
    strata = found.qrels.extra["stratum"]
    assert {int(BIG.grades[strata == s][0]) for s in ("1", "2", "3")} == {0, 1, 2}
    assert "1 grade 2, 2 grade 1, 3 grade 0" in found.notes[1]


def test_estimates_from_samples_come_near_the_truth() -> None:
    run = {q: {f"d{i}": 100.0 - (i * 37 % 100) for i in range(100)} for q in BIG.queries}
    truth = evaluate(BIG, run, ["AP"]).mean("AP")
    samples = (sample_qrels(BIG, QrelsSampling(rate=0.5, seed=seed), five_columns=True).qrels for seed in range(30))
    estimates = [evaluate(qrels, run, ["xinfAP"]).mean("xinfAP") for qrels in samples]
    assert np.mean(estimates) == pytest.approx(truth, abs=4 * np.std(estimates) / np.sqrt(30) + 0.01)


def test_what_cannot_be_sampled_is_refused() -> None:
    with pytest.raises(InputError, match="a sample of a sample"):
        sample_qrels(sample_qrels(BIG, QrelsSampling(rate=0.5), five_columns=True).qrels, QrelsSampling(rate=0.5))
    with pytest.raises(InputError, match="has subtopics"):
        sample_qrels(Qrels.from_rows(["1"] * 2, ["a"] * 2, [0, 1], subtopics=["1", "2"]), QrelsSampling(rate=0.5))
    for wrong in ({}, {"rate": 0.5, "per_topic": 3}, {"rate": 0}, {"rate": 1.5}, {"per_topic": 0}):
        with pytest.raises(CranfieldError, match="out of range|expected either"):
            QrelsSampling(**wrong)  # type: ignore[arg-type]
