"""All that `cranfield pool` computes."""

from __future__ import annotations

import pytest

from cranfield import evaluate
from cranfield.io import as_qrels
from cranfield.pooling.overview import build_overview
from tests.pooling.pooled_example import QRELS, RUNS


def test_an_overview_has_the_requested_parts() -> None:
    plain = build_overview(RUNS)
    assert plain.pool is not None and plain.ranking is None and plain.curves == () and plain.similarity is not None
    assert build_overview({"A": RUNS["A"]}).similarity is None
    replayed = build_overview(RUNS, ["mm", "mtf"], replayed=as_qrels(QRELS), with_pool=False)
    assert replayed.pool is None and [one.strategy for one in replayed.curves] == ["depth", "mm", "mtf"]
    assert replayed.notes == []


def test_votes_stand_beside_what_judgments_say() -> None:
    without = build_overview(RUNS, with_votes=True).ranking
    assert without is not None and without.ap is None and without.scores.share == 0.1
    ranking = build_overview(RUNS, with_votes=True, judged=as_qrels(QRELS)).ranking
    assert ranking is not None and ranking.ap is not None and ranking.tau is not None and -1 <= ranking.tau <= 1
    assert ranking.ap.tolist() == [evaluate(QRELS, RUNS[name], ["AP"]).mean("AP") for name in "ABC"]
    assert ranking.scores.share == pytest.approx(5 / 12)


def test_where_all_systems_are_the_same_there_is_no_correlation() -> None:
    ranking = build_overview({"a": RUNS["A"], "b": RUNS["A"]}, with_votes=True, judged=as_qrels(QRELS)).ranking
    assert ranking is not None and ranking.tau is None


def test_grades_below_0_are_no_judgments_to_votes_either() -> None:
    more = {"T": {**QRELS["T"], **{f"x{i}": -1 for i in range(20)}}}
    ranking = build_overview(RUNS, with_votes=True, judged=as_qrels(more)).ranking
    assert ranking is not None and ranking.scores.share == pytest.approx(5 / 12)
