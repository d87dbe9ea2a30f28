"""Risk against a baseline, with numbers worked by hand."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from cranfield import EvaluationError, evaluate
from cranfield.evaluation.risk import geo_risk, t_risk, weighted_gains, z_risk

QRELS = {q: {"a": 1, "b": 0, "c": 0} for q in ("1", "2", "3")}
TOP, SECOND, THIRD = {"a": 3.0, "b": 2.0}, {"b": 3.0, "a": 2.0}, {"b": 3.0, "c": 2.0, "a": 1.0}
BASE = {"1": SECOND, "2": TOP, "3": THIRD}  # RR 1/2, 1, 1/3
RUN = {"1": TOP, "2": SECOND, "3": THIRD}  # RR 1, 1/2, 1/3


def test_losses_weigh_more():
    gains = weighted_gains(np.array([0.5, 0.2, 0.9]), np.array([0.4, 0.5, 0.9]), alpha=1)
    assert gains == pytest.approx([0.1, -0.6, 0])
    assert gains.mean() == pytest.approx(-1 / 6)  # URisk
    assert weighted_gains(np.array([0.2]), np.array([0.5]), alpha=0) == pytest.approx([-0.3])


def test_t_risk_is_u_risk_over_its_standard_error():
    # deviations .8/3, −1.3/3, .5/3: their squares add up to .86/3, the standard error is √(.43/9)
    assert t_risk([0.1, -0.6, 0.0]) == pytest.approx(-(1 / 6) / math.sqrt(0.43 / 9))


def test_there_is_no_t_risk_without_a_standard_error():
    assert math.isnan(t_risk([0.5])) and math.isnan(t_risk([])) and math.isnan(t_risk([0.25, 0.25]))


def test_geo_risk_weighs_effectiveness_and_what_is_expected():
    # margins .6 and .4 both ways, so that .36, .24, .24 and .16 are expected
    values = np.array([[0.4, 0.2], [0.2, 0.2]])
    z = [0.04 / 0.6 - 2 * 0.04 / math.sqrt(0.24), -2 * 0.04 / math.sqrt(0.24) + 0.04 / 0.4]
    assert z_risk(values, alpha=1) == pytest.approx(z)
    phi = NormalDist().cdf
    assert geo_risk(values, alpha=1) == pytest.approx([math.sqrt(0.3 * phi(z[0] / 2)), math.sqrt(0.2 * phi(z[1] / 2))])
    assert geo_risk(values, alpha=1) == pytest.approx([0.3798, 0.3122], abs=5e-5)


def test_a_system_that_finds_nothing_has_no_geo_risk_to_speak_of():
    assert geo_risk(np.zeros((2, 3)), alpha=1).tolist() == [0, 0]
    assert geo_risk(np.array([[0.0, 0.0], [0.5, 0.0]]), alpha=1)[0] == 0


def test_risk_has_rows_of_its_own():
    scores = evaluate(QRELS, RUN, ["RR", "NumRel", "Judged@2"], against=BASE, risk=1)
    assert scores.labels == ("RR", "RR.urisk", "RR.trisk", "RR.georisk", "NumRel", "Judged@2")
    assert scores.per_query("RR.urisk") == {"1": 0.5, "2": -1.0, "3": 0.0}
    assert scores.mean("RR.urisk") == pytest.approx(-1 / 6)
    assert scores.mean("RR.trisk") == pytest.approx(t_risk([0.5, -1, 0]))
    table = np.array([[1, 1 / 2, 1 / 3], [1 / 2, 1, 1 / 3]])
    assert scores.mean("RR.georisk") == pytest.approx(geo_risk(table, 1)[0])
    assert scores.per_query("RR.trisk") == {}
    assert scores.conventions["risk"] == 1
    assert "No risk is defined for NumRel, Judged@2." in scores.notes


def test_the_baseline_counts_once_as_a_system():
    alone = evaluate(QRELS, {"run": RUN}, ["RR"], against=BASE, risk=2)
    both = evaluate(QRELS, {"run": RUN, "base": BASE}, ["RR"], against=BASE, risk=2)
    assert alone.mean("RR.georisk") == both.mean("RR.georisk", "run")
    assert both.mean("RR.urisk", "base") == 0
    assert math.isnan(both.mean("RR.trisk", "base"))


def test_less_of_a_bad_thing_is_a_gain():
    scores = evaluate(QRELS, RUN, ["SearchLength"], against=BASE, risk=1)
    assert scores.labels == ("SearchLength", "SearchLength.urisk", "SearchLength.trisk")
    assert scores.per_query("SearchLength.urisk") == {"1": 1, "2": -2, "3": 0}


def test_risk_of_some_queries_rests_on_these():
    scores = evaluate(QRELS, RUN, ["RR"], against=BASE, risk=1).select(["1", "3"])
    assert scores.mean("RR.urisk") == 0.25
    assert scores.mean("RR.trisk") == pytest.approx(t_risk([0.5, 0]))
    assert scores.mean("RR.georisk") == pytest.approx(geo_risk(np.array([[1, 1 / 3], [1 / 2, 1 / 3]]), 1)[0])


def test_queries_that_either_side_skips_have_no_risk():
    run = {"1": TOP, "2": SECOND}
    base = {"2": TOP, "3": THIRD}
    scores = evaluate(QRELS, run, ["RR"], against=base, risk=1, missing="skip")
    assert scores.per_query("RR.urisk") == {"2": -1}
    assert scores.mean("RR.georisk") == pytest.approx(geo_risk(np.array([[1 / 2], [1]]), 1)[0])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"risk": 1}, "name one with --against"),
        ({"risk": -1, "against": BASE}, "at least 0"),
        ({"risk": math.nan, "against": BASE}, "at least 0"),
        ({"risk": 1, "against": BASE, "weights": {"1": 1, "2": 1, "3": 1}}, "weighted"),
    ],
)
def test_risk_that_makes_no_sense_is_an_error(options, message):
    with pytest.raises(EvaluationError, match=message):
        evaluate(QRELS, RUN, ["RR"], **options)
