"""Merging judgments: each rule by hand, ties, conflicts, models, samples and subtopics."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Qrels
from cranfield.errors import CranfieldError, InputError
from cranfield.qrels_tools.assessors import Assessor
from cranfield.qrels_tools.merge import MERGE_RULES, MERGE_TIES, merge_qrels
from cranfield.reporting.qrels import format_merge_conflicts
from tests.qrels_tools.people import assessor, assessors

# a: 0 1 1, b: 0 0 3, c: 2 only by one, d: 0 2 by two, e: 3 3 3
from tests.soak import examples

PEOPLE = assessors(
    anna={"q": {"a": 0, "b": 0, "d": 0, "e": 3}},
    ben={"q": {"a": 1, "b": 0, "d": 2, "e": 3}},
    eva={"q": {"a": 1, "b": 3, "c": 2, "e": 3}},
)


def merged(rule: str, people: Any = PEOPLE, **options: Any) -> dict[str, float]:
    return merge_qrels(people, rule, **options).qrels.to_dict()["q"]


def test_majority_by_hand() -> None:
    assert merged("majority") == {"a": 1, "b": 0, "c": 2, "d": 0, "e": 3}


def test_the_rules_by_hand() -> None:
    assert merged("median") == {"a": 1, "b": 0, "c": 2, "d": 0, "e": 3}
    assert merged("mean") == {"a": pytest.approx(2 / 3), "b": 1, "c": 2, "d": 1, "e": 3}
    assert merged("max") == {"a": 1, "b": 3, "c": 2, "d": 2, "e": 3}
    assert merged("min") == {"a": 0, "b": 0, "c": 2, "d": 0, "e": 3}


def test_the_primary_assessor_comes_first_and_the_others_in_their_order() -> None:
    assert merged("primary", primary="ben") == {"a": 1, "b": 0, "c": 2, "d": 2, "e": 3}
    assert merge_qrels(PEOPLE, "primary", primary="ben").not_primary == 1
    people = assessors(anna={"q": {"a": 0}}, ben={"q": {"a": 1, "b": 1}}, eva={"q": {"b": 2, "a": 2}})
    assert merged("primary", people, primary="anna") == {"a": 0, "b": 1}


def test_ties_of_a_majority_have_a_stated_rule() -> None:
    assert merged("majority", ties="lower")["d"] == 0
    assert merged("majority", ties="higher")["d"] == 2
    assert merged("majority", ties="first")["d"] == 0
    assert merged("majority", list(reversed(PEOPLE)), ties="first")["d"] == 2
    assert "d" not in merged("majority", ties="drop")
    found = merge_qrels(PEOPLE, "majority", ties="drop")
    assert (found.tied, found.dropped, len(found.conflicts)) == (1, 1, 3)
    assert "for people to decide" in found.description


def test_nothing_but_ties_to_leave_out_is_an_error() -> None:
    with pytest.raises(CranfieldError, match="nothing remains: every pair is a tie"):
        merge_qrels(assessors(a={"q": {"x": 0}}, b={"q": {"x": 1}}), ties="drop")


def test_two_grades_in_the_middle_are_a_tie() -> None:
    people = assessors(a={"q": {"x": 0}}, b={"q": {"x": 1}}, c={"q": {"x": 2}}, d={"q": {"x": 3}})
    assert [merged("median", people, ties=ties)["x"] for ties in ("lower", "higher", "first")] == [1, 2, 1]
    reverse = list(reversed(people))
    assert merged("median", reverse, ties="first")["x"] == 2


def test_means_may_be_rounded_to_the_scale() -> None:
    people = assessors(a={"q": {"x": 0, "y": 1}}, b={"q": {"x": 1, "y": 3}}, c={"q": {"z": 1, "y": 3}})
    assert merged("mean", people, rounded=True) == {"x": 0, "y": 3, "z": 1}
    assert merged("mean", people, rounded=True, ties="higher") == {"x": 1, "y": 3, "z": 1}
    assert merged("mean", people, rounded=True, scale=[0, 1, 2, 3])["y"] == 2
    assert any("fractions" in note for note in merge_qrels(people, "mean").notes)


def noisy(truth: list[int], error: float, rng: random.Random) -> dict[str, dict[str, float]]:
    return {"q": {f"d{i}": grade ^ (rng.random() < error) for i, grade in enumerate(truth)}}


def test_dawid_skene_learns_whom_to_trust() -> None:
    rng = random.Random(2)
    truth = [int(i % 3 == 0) for i in range(300)]
    rates = {"a": 0.03, "b": 0.05, "c": 0.4, "d": 0.4, "e": 0.4}
    people = assessors(**{name: noisy(truth, rate, rng) for name, rate in rates.items()})
    wrong = {
        rule: sum(merged(rule, people)[f"d{i}"] != grade for i, grade in enumerate(truth))
        for rule in ("majority", "dawid-skene")
    }
    assert wrong["dawid-skene"] < 0.06 * 300 < wrong["majority"]
    found = merge_qrels(people, "dawid-skene")
    assert found.model is not None and found.model.accuracy == pytest.approx([0.97, 0.95, 0.6, 0.6, 0.6], abs=0.08)
    kept = found.provenance().settings
    assert set(kept["errors"]) == {"a", "b", "c", "d", "e"} and len(kept["prior"]) == 2


@pytest.mark.parametrize(("seed", "is_told"), [(7, True), (3, False)])
def test_an_estimate_against_the_majority_is_told(seed: int, is_told: bool) -> None:
    rng = random.Random(seed)
    truth = [int(i % 3 == 0) for i in range(60)]
    twins = noisy(truth, 0.8, rng)  # two who say the same, and mostly the opposite
    others = [noisy(truth, rate, rng) for rate in (0.02, 0.02, 0.5)]
    people = assessors(a=others[0], b=others[1], c=others[2], d=twins, e=twins)
    found, votes = merge_qrels(people, "dawid-skene"), merged("majority", people)
    against = sum(found.qrels.to_dict()["q"][doc] != grade for doc, grade in votes.items())
    assert (against > 30) == is_told
    assert any("contradicts the majority on most pairs" in note for note in found.notes) == is_told


def two_and_an_inverted_one() -> list[Assessor]:
    """Two who are right, and one who says the opposite and judged fifty pairs alone."""
    truth = {f"d{i}": int(i % 3 == 0) for i in range(200)}
    good = {doc: grade for doc, grade in truth.items() if int(doc[1:]) >= 50}
    bad = {doc: 1 - grade for doc, grade in truth.items()}
    return assessors(a={"q": good}, b={"q": good}, c={"q": bad})


def test_dawid_skene_keeps_the_grade_of_the_only_assessor_and_tells_what_it_doubts() -> None:
    people = two_and_an_inverted_one()
    found = merge_qrels(people, "dawid-skene")
    result, given_ = found.qrels.to_dict()["q"], people[2].qrels.to_dict()["q"]
    assert all(result[f"d{i}"] == given_[f"d{i}"] for i in range(50))
    assert all(result[f"d{i}"] == 1 - given_[f"d{i}"] for i in range(50, 200))
    assert any(note.startswith("50 pairs judged by one assessor only: the grade is kept") for note in found.notes)
    assert not found.overruled


def test_grades_that_nobody_gave_are_counted_and_listed() -> None:
    truth = [int(i % 2 == 0) for i in range(60)]
    right = {f"d{i}": grade for i, grade in enumerate(truth)}
    wrong = {doc: 1 - grade for doc, grade in right.items()}
    alone = {f"e{i}": i % 2 for i in range(4)}  # judged by the two who say the opposite
    names = {"a": right, "b": right, "c": right, "d": wrong | alone, "e": wrong | alone}
    found = merge_qrels(assessors(**{name: {"q": grades} for name, grades in names.items()}), "dawid-skene")
    assert [(c.doc, c.grades, c.merged) for c in found.overruled] == [
        (f"e{i}", (None, None, None, i % 2, i % 2), 1 - i % 2) for i in range(4)
    ]
    assert "4 pairs with a grade that none of their assessors gave, on 4 of which assessors agree." in found.notes
    assert len(format_merge_conflicts(found, "c.tsv").splitlines()) == 1 + 60 + 4
    assert found.provenance().settings["overruled"] == 4
    means = merge_qrels(PEOPLE, "mean")
    assert any("a grade that none of their assessors gave." in note for note in means.notes) and not means.overruled


def test_conflicts_are_listed_with_what_became_of_them() -> None:
    found = merge_qrels(PEOPLE)
    assert [(c.doc, c.grades, c.merged, c.is_tie) for c in found.conflicts] == [
        ("a", (0, 1, 1), 1, False),
        ("b", (0, 0, 3), 0, False),
        ("d", (0, 2, None), 0, True),
    ]
    assert (found.several, found.tied) == (4, 1)


def test_a_pair_may_need_several_assessors() -> None:
    found = merge_qrels(PEOPLE, least=3)
    assert found.qrels.to_dict() == {"q": {"a": 1, "b": 0, "e": 3}} and found.too_few == 2
    with pytest.raises(CranfieldError, match="nothing remains: no pair was judged by 4 assessors or more"):
        merge_qrels(PEOPLE, least=4)


def test_a_model_is_merged_only_when_asked_for() -> None:
    with_model = [*PEOPLE, assessor("gpt", {"q": {"d": 2}}, is_model=True)]
    with pytest.raises(CranfieldError, match="'gpt': judgments by a model are not merged .* --with-models"):
        merge_qrels(with_model)
    found = merge_qrels(with_model, with_models=True)
    assert found.qrels.to_dict()["q"]["d"] == 2
    assert found.provenance().is_model and [s.name for s in found.provenance().sources if s.is_model] == ["gpt"]


def test_pairs_pooled_but_not_judged_stay_so() -> None:
    people = assessors(anna={"q": {"a": -1, "b": -1}}, ben={"q": {"a": 1, "b": -1}})
    found = merge_qrels(people)
    assert found.qrels.to_dict() == {"q": {"a": 1, "b": -1}}
    assert found.several == 0 and any("negative grade" in note for note in found.notes)


def sampled(name: str, grades: list[float], strata: list[str]) -> Assessor:
    docs = ["a", "b", "c"][: len(grades)]
    return Assessor(name, Qrels.from_rows(["q"] * len(docs), docs, grades, extra={"stratum": strata}, name=name))


def test_samples_with_the_same_strata_are_merged() -> None:
    one, other = sampled("anna", [1, -1, 0], ["1", "1", "2"]), sampled("ben", [1, 1, -1], ["1", "1", "2"])
    found = merge_qrels([one, other])
    assert found.qrels.to_dict() == {"q": {"a": 1, "b": 1, "c": 0}}
    assert found.qrels.extra["stratum"].tolist() == ["1", "1", "2"]


def test_samples_that_differ_are_refused_with_the_reason() -> None:
    one = sampled("anna", [1, 0], ["1", "2"])
    with pytest.raises(InputError, match="document 'b' of query 'q' in stratum 1, another file in stratum 2"):
        merge_qrels([one, sampled("ben", [1, 0], ["1", "1"])])
    with pytest.raises(InputError, match="anna is sampled .* and ben is not"):
        merge_qrels([one, assessor("ben", {"q": {"a": 1}})])


def test_other_kinds_of_judgments_are_refused_with_the_reason() -> None:
    preferences = Qrels.from_rows(["q", "q"], ["a", "b"], [1, 0], extra={"subgroup": ["0", "0"]})
    with pytest.raises(InputError, match="prefs: found preferences"):
        merge_qrels([Assessor("prefs", preferences), *PEOPLE])
    prels = Qrels.from_rows(["q"], ["a"], [1], extra={"method": ["1"], "probability": ["0.5"]})
    with pytest.raises(InputError, match="inclusion probabilities"):
        merge_qrels([Assessor("prels", prels), *PEOPLE])


def test_subtopics_are_merged_one_by_one() -> None:
    def judged(name: str, grades: list[float], subtopics: list[str]) -> Assessor:
        return Assessor(name, Qrels.from_rows(["q"] * len(grades), ["a"] * len(grades), grades, subtopics=subtopics))

    found = merge_qrels([judged("anna", [1, 0], ["1", "2"]), judged("ben", [0, 0], ["1", "2"])], "max")
    assert list(zip(found.qrels.subtopics, found.qrels.grades, strict=True)) == [("1", 1), ("2", 0)]
    with pytest.raises(InputError, match="has subtopics"):
        merge_qrels([judged("anna", [1, 0], ["1", "2"]), assessor("ben", {"q": {"a": 1}})])


def test_the_second_column_may_be_0_in_one_file_and_q0_in_another() -> None:
    rows = (Qrels.from_rows(["q"], ["a"], [grade], subtopics=[s]) for grade, s in ((1, "0"), (2, "Q0")))
    found = merge_qrels([Assessor(name, qrels) for name, qrels in zip("ab", rows, strict=True)], "max")
    assert found.qrels.to_dict() == {"q": {"a": 2}} and found.qrels.subtopics.tolist() == ["0"]


def test_wrong_choices_are_errors() -> None:
    for options, message in (
        ({"rule": "best"}, "unknown rule 'best'"),
        ({"ties": "maybe"}, "unknown ties 'maybe'"),
        ({"rule": "primary"}, "--primary NAME"),
        ({"rule": "primary", "primary": "otto"}, "'otto' is not among 'anna', 'ben', 'eva'"),
        ({"scale": [0, 1]}, "not on the scale 0 1"),
    ):
        with pytest.raises(CranfieldError, match=message):
            merge_qrels(PEOPLE, **options)  # type: ignore[arg-type]


judged = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 3), min_size=1)


@given(
    st.lists(judged, min_size=2, max_size=4), st.sampled_from(sorted(MERGE_RULES)), st.sampled_from(sorted(MERGE_TIES))
)
@examples(150)
def test_every_rule_stays_within_what_was_given(given_: list[Any], rule: str, ties: Any) -> None:
    # a document that all give the same grade, so that something is left where ties are not
    people = [assessor(str(i), {"q": grades | {"z": 1}}) for i, grades in enumerate(given_)]
    found = merge_qrels(people, rule, ties=ties, primary="0")
    result = found.qrels.to_dict()["q"]
    result.pop("z", None)
    docs = {doc for grades in given_ for doc in grades}
    assert len(docs) + 1 == len(found.qrels) + found.dropped
    for doc, grade in result.items():
        votes = [grades[doc] for grades in given_ if doc in grades]
        if rule != "dawid-skene":
            assert min(votes) <= grade <= max(votes)
        if len(votes) == 1 or (len(set(votes)) == 1 and rule != "dawid-skene"):
            assert grade == votes[0]
        if rule == "majority" and votes.count(int(grade)) < max(map(votes.count, votes)):
            raise AssertionError(f"{grade} has fewer votes than another of {votes}")
