"""Assessors compared: pairs, topics, models against people, and what becomes of rankings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.errors import CranfieldError
from cranfield.evaluation import evaluate
from cranfield.io import read_qrels
from cranfield.pooling.reevaluation import Flips, PairwiseSignificance
from cranfield.qrels_tools.agreement import Agreement, AgreementDesign, agree
from cranfield.qrels_tools.assessors import Assessor
from cranfield.reporting import agreement as report
from cranfield.stats.comparison import compare
from cranfield.stats.correlation import kendall_tau, tau_ap
from tests.qrels_tools.people import assessor, assessors

QUICK = AgreementDesign(resamples=50)
PEOPLE = assessors(
    anna={"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "b": 0}},
    ben={"1": {"a": 1, "b": 0, "c": 1}, "2": {"a": 1, "d": 1}},
)


def texts(found: Agreement) -> tuple[str, dict[str, Any]]:
    """Both forms of a report, to be sure that each can be made."""
    text, data = report.as_text(found), report.as_json(found)
    assert "nan" not in text.lower() and "NaN" not in data
    content: dict[str, Any] = json.loads(data)
    return text, content


def test_two_assessors_are_compared_on_what_both_judged() -> None:
    found = agree(PEOPLE, QUICK)
    couple = found.assessor_pairs[0]
    assert found.overall is couple
    assert (couple.pairs, couple.topics, couple.only) == (4, 2, (1, 1))
    assert (couple.lower, couple.higher, couple.means) == (1, 0, (1.0, 0.75))
    assert couple.coefficients["percent"].value == 0.75
    assert couple.by_topic is not None and couple.by_topic["1"]["percent"] == pytest.approx(2 / 3)
    assert couple.by_topic["2"]["pairs"] == 1
    assert list(found.topics) == ["1", "2"]
    text, data = texts(found)
    assert "anna and ben agree on 75 % of the 4 pairs that both judged (2 topics)" in text
    assert data["pairs"][0]["confusion"] == [[1, 0, 0], [0, 2, 0], [0, 1, 0]]


def test_topics_alone_have_the_same_values_with_and_without_intervals() -> None:
    found = agree(PEOPLE, QUICK)
    for query, group in found.topics.items():
        values = (found.assessor_pairs[0].by_topic or {})[query]
        for name, one in group.coefficients.items():
            assert values[name] == pytest.approx(one.value), (query, name)


def test_several_assessors_have_a_figure_each_two_and_all() -> None:
    people = [*PEOPLE, *assessors(eva={"1": {"a": 2, "b": 1}, "2": {"b": 0}})]
    found = agree(people, QUICK)
    assert found.overall is not None and found.overall.names == ("anna", "ben", "eva")
    assert [couple.names for couple in found.assessor_pairs] == [("anna", "ben"), ("anna", "eva"), ("ben", "eva")]
    assert "kappa" not in found.overall.coefficients and "kappa" in found.assessor_pairs[0].coefficients
    assert (found.overall.pairs, found.overall.full) == (5, 2)
    text, _ = texts(found)
    assert "use the 2 pairs that all 3 judged" in text


def test_a_model_is_one_more_assessor_compared_with_people() -> None:
    model = assessor("gpt", {"1": {"a": 2, "b": 1, "c": 2}, "2": {"a": 2, "b": 0}}, is_model=True)
    found = agree([*PEOPLE, model], QUICK)
    one = found.models[0]
    # anna: a 2=2, b 0<1, c 1<2, a 1<2, b 0=0; ben: a 1<2, b 0<1, c 1<2, a 1<2
    assert (one.judgments, one.higher, one.same, one.lower) == (9, 7, 2, 0)
    assert one.difference.value == pytest.approx(7 / 9)
    assert one.confusion.sum() == 9 and one.confusion[0].tolist() == [1, 2, 0]
    assert found.people is not None and found.people.names == ("anna", "ben")
    assert found.people.coefficients["percent"].value == 0.75
    assert [couple.kind for couple in found.assessor_pairs] == ["people", "person and model", "person and model"]
    text, data = texts(found)
    assert "gpt (model) gives a higher grade than people in 78 %" in text
    assert data["assessors"][2]["model"] is True and data["models"][0]["higher"] == 7


def test_one_assessor_has_nobody_to_agree_with() -> None:
    found = agree(PEOPLE[:1], QUICK)
    assert found.overall is None and not found.assessor_pairs
    text, data = texts(found)
    assert "There is only one assessor: agreement needs" in text and data["overall"] is None


def test_nothing_in_common_is_said() -> None:
    found = agree(assessors(anna={"1": {"a": 1}}, ben={"1": {"b": 1}}), QUICK)
    text, data = texts(found)
    assert "No pair of query and document was judged by two assessors" in text
    assert data["overall"]["figures"]["kappa"]["value"] is None
    assert data["overall"]["figures"]["kappa"]["note"] == "no pair was judged by two assessors."


def test_one_grade_only_is_said() -> None:
    found = agree(assessors(anna={"1": {"a": 0, "b": 0}}, ben={"1": {"a": 0, "b": 0}}), QUICK)
    text, data = texts(found)
    assert "every judgment is 0: full agreement" in text and data["overall"]["figures"]["alpha_ordinal"]["value"] == 1
    assert "belong to one topic: intervals resample pairs" in text


def test_a_gap_in_the_scale_is_told_unless_the_scale_is_given() -> None:
    people = assessors(anna={"1": {"a": 0, "b": 3}}, ben={"1": {"a": 1, "b": 3}})
    assert any("Nobody gave grade 2" in note and "--scale 0-3" in note for note in agree(people, QUICK).notes)
    found = agree(people, QUICK, scale=[0, 1, 2, 3])
    assert not any("Nobody" in note for note in found.notes) and found.scale.tolist() == [0, 1, 2, 3]


def test_sampled_judgments_are_compared_with_others_where_judged() -> None:
    from cranfield.data.collection import Qrels

    sampled = Assessor("s", Qrels.from_rows(["1"] * 2, ["a", "b"], [1, -1], extra={"stratum": ["1", "1"]}))
    found = agree([sampled, assessor("anna", {"1": {"a": 1, "b": 0}})], QUICK)
    assert found.assessor_pairs[0].pairs == 1


def test_intervals_may_be_by_pairs_or_left_out() -> None:
    by_pairs = agree(PEOPLE, AgreementDesign(resample="pairs", resamples=50)).assessor_pairs[0].coefficients["percent"]
    by_topic = agree(PEOPLE, QUICK).assessor_pairs[0].coefficients["percent"]
    assert (by_pairs.low, by_pairs.high) != (by_topic.low, by_topic.high)
    assert agree(PEOPLE, AgreementDesign(resamples=0)).assessor_pairs[0].coefficients["percent"].low is None
    with pytest.raises(CranfieldError, match="expected topics or pairs"):
        AgreementDesign(resample="documents")  # type: ignore[arg-type]


# rankings of systems


def two_views(topics: int = 30, flip: bool = True) -> tuple[list[Assessor], list[Any]]:
    """Two assessors who disagree about which documents are relevant, and systems that each please one of them."""
    rng = np.random.default_rng(4)
    good, other = {}, {}
    runs: list[dict[str, dict[str, float]]] = [{}, {}, {}]
    for t in range(topics):
        query = str(t)
        docs = [f"d{i}" for i in range(10)]
        good[query] = {doc: int(i < 3) for i, doc in enumerate(docs)}
        other[query] = {doc: int(i >= 7) if flip else int(i < 4) for i, doc in enumerate(docs)}
        first = {doc: 10.0 - i + rng.normal(0, 0.5) for i, doc in enumerate(docs)}
        runs[0][query] = first
        runs[1][query] = {doc: -score for doc, score in first.items()}
        runs[2][query] = {doc: float(rng.random()) for doc in docs}
    return assessors(anna=good, ben=other), runs


def named_runs(runs: list[Any]) -> list[Any]:
    from cranfield.io import as_run

    return [as_run(run, name=name) for run, name in zip(runs, ("up", "down", "random"), strict=True)]


def test_opposite_views_flip_significant_pairs() -> None:
    people, runs = two_views()
    found = agree(people, QUICK, runs=named_runs(runs))
    assert found.system_rankings is not None
    ranking = found.system_rankings.comparisons[0]
    assert ranking.correlation is not None and ranking.correlation.tau == -1
    assert ranking.counts["reversed"] == 3 and ranking.best == ("up", "down")
    text, data = texts(found)
    assert "3 flipped (0 for anna only, 0 for ben only, 3 reversed)" in " ".join(text.split()) and "Flipped: " in text
    assert sorted(map(sorted, data["systems"]["rankings"][0]["flipped"])) == [
        ["down", "random"],
        ["down", "up"],
        ["random", "up"],
    ]


def test_like_views_rank_alike() -> None:
    people, runs = two_views(flip=False)
    found = agree(people, QUICK, runs=named_runs(runs), measures=["nDCG@10", "P@3"])
    assert found.system_rankings is not None and found.system_rankings.measures == ("nDCG@10", "P@3")
    for ranking in found.system_rankings.comparisons:
        assert ranking.correlation is not None and ranking.correlation.tau == 1
        assert ranking.counts["same"] >= 2 and ranking.counts["reversed"] == 0


def test_flipped_means_lost_gained_or_reversed_as_in_a_pool_report() -> None:
    people, runs = two_views()
    blind = {query: dict.fromkeys(docs, 1) for query, docs in people[0].qrels.to_dict().items()}
    for pair in ([people[0], *assessors(eva=blind)], [*assessors(eva=blind), people[0]]):
        found = agree(pair, QUICK, runs=named_runs(runs))
        assert found.system_rankings is not None
        ranking = found.system_rankings.comparisons[0]
        alone = ("first only", "second only")
        signs = [np.array([int(p.verdict in (one, "same")) for p in ranking.pairs]) for one in alone]
        same_as = Flips.between(PairwiseSignificance(signs[0]), PairwiseSignificance(signs[1]))
        lone = ranking.counts["first only"], ranking.counts["second only"]
        assert sorted(lone)[0] == 0 < sorted(lone)[1] and (same_as.lost, same_as.gained) == lone
        assert len(ranking.flipped) == same_as.flipped
        text, data = texts(found)
        first, second = (one.name for one in pair)
        said = f"{sum(lone)} flipped ({lone[0]} for {first} only, {lone[1]} for {second} only, 0 reversed)"
        assert said in " ".join(text.split()) and "significant for anna only." in text
        told = data["systems"]["rankings"][0]
        assert told["significant"]["flipped"] == len(told["flipped"]) == sum(lone)


def test_models_are_marked_in_every_line_that_names_them() -> None:
    people, runs = two_views()
    model = [Assessor(one.name, one.qrels, one.name == "ben") for one in people]
    for party in (model, [*model, *assessors(eva=people[0].qrels.to_dict())]):
        text, _ = texts(agree(party, QUICK, runs=named_runs(runs), measures=["nDCG@10", "AP"]))
        words = " ".join(text.split())
        assert words.count("ben") == words.count("ben (model)") > 8


def test_one_system_has_no_ranking() -> None:
    people, runs = two_views()
    found = agree(people, QUICK, runs=named_runs(runs)[:1])
    text, data = texts(found)
    assert "One system only: there is no ranking to compare." in text
    assert data["systems"]["rankings"][0]["tau"] is None


def test_without_pairs_in_common_rankings_are_not_compared() -> None:
    people = assessors(anna={"1": {"a": 1}}, ben={"1": {"b": 1}})
    found = agree(people, QUICK, runs=[{"1": {"a": 2.0, "b": 1.0}}, {"1": {"b": 2.0, "a": 1.0}}])
    assert found.system_rankings is not None and found.system_rankings.comparisons[0].correlation is None
    assert "judged no pair in common" in found.system_rankings.comparisons[0].note
    texts(found)


@pytest.fixture
def dl19(shared_data: Path) -> tuple[list[Assessor], list[Path]]:
    files = [shared_data / "agreement" / f"dl19.assessor{i}.qrels" for i in (1, 2)]
    return [Assessor(file.stem, read_qrels(file)) for file in files], sorted((shared_data / "dl19" / "runs").glob("*"))


@pytest.mark.slow
def test_rankings_of_dl19_are_what_evaluations_one_by_one_give(dl19: tuple[list[Assessor], list[Path]]) -> None:
    people, runs = dl19
    found = agree(people, QUICK, runs=runs, measures=["AP"], scale=[0, 1, 2, 3])
    assert found.system_rankings is not None
    ranking = found.system_rankings.comparisons[0]
    assert (ranking.topics, len(found.system_rankings.systems)) == (12, 12)
    both = [one.qrels.to_dict() for one in people]
    common = {q: set(both[0].get(q, {})) & set(both[1].get(q, {})) for q in both[0]}
    scores = [
        evaluate({q: {d: own[q][d] for d in docs} for q, docs in common.items() if docs}, runs, ["AP"]) for own in both
    ]
    means = [{run: own["AP"] for run, own in one.summary().items()} for one in scores]
    assert ranking.means[0] == pytest.approx(means[0]) and ranking.means[1] == pytest.approx(means[1])
    assert ranking.correlation is not None
    assert ranking.correlation.tau == pytest.approx(kendall_tau(*means))
    assert ranking.correlation.tau_ap == pytest.approx(tau_ap(*means, variant="b"))
    columns = [compare(one, ()).columns[0] for one in scores]
    turned = lost = 0
    for pair in columns[0].pairs:
        other = columns[1].pair(pair.system, pair.reference)
        verdicts = {pair.verdict, other.verdict}
        turned += verdicts == {"better", "worse"}
        lost += "undecided" in verdicts and len(verdicts) == 2
    assert ranking.counts["reversed"] == turned and len(ranking.flipped) == turned + lost
    assert ranking.counts["first only"] + ranking.counts["second only"] == lost
    assert found.assessor_pairs[0].coefficients["alpha_ordinal"].value == pytest.approx(0.4951776825121, abs=1e-10)
