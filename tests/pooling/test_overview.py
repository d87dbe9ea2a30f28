"""All that the command finds out in one go."""

from __future__ import annotations

import pytest

from cranfield import evaluate
from cranfield.io import as_qrels
from cranfield.pooling.overview import survey
from tests.pooling.pooled_example import QRELS, RUNS


def test_a_survey_has_what_was_asked_for() -> None:
    plain = survey(RUNS)
    assert plain.pool is not None and plain.guess is None and plain.curves == () and plain.alike is not None
    assert survey({"A": RUNS["A"]}).alike is None
    replayed = survey(RUNS, ["mm", "mtf"], replayed=as_qrels(QRELS), with_pool=False)
    assert replayed.pool is None and [one.strategy for one in replayed.curves] == ["depth", "mm", "mtf"]
    assert replayed.notes == []


def test_votes_stand_beside_what_judgments_say() -> None:
    without = survey(RUNS, with_votes=True).guess
    assert without is not None and without.truth is None and without.votes.share == 0.1
    guess = survey(RUNS, with_votes=True, judged=as_qrels(QRELS)).guess
    assert guess is not None and guess.truth is not None and guess.tau is not None and -1 <= guess.tau <= 1
    assert guess.truth.tolist() == [evaluate(QRELS, RUNS[name], ["AP"]).mean("AP") for name in "ABC"]
    assert guess.votes.share == pytest.approx(5 / 12)


def test_where_all_systems_are_the_same_there_is_no_correlation() -> None:
    guess = survey({"a": RUNS["A"], "b": RUNS["A"]}, with_votes=True, judged=as_qrels(QRELS)).guess
    assert guess is not None and guess.tau is None


def test_grades_below_0_are_no_judgments_to_votes_either() -> None:
    more = {"T": {**QRELS["T"], **{f"x{i}": -1 for i in range(20)}}}
    guess = survey(RUNS, with_votes=True, judged=as_qrels(more)).guess
    assert guess is not None and guess.votes.share == pytest.approx(5 / 12)
