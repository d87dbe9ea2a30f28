"""Hedge, by the trace of the worked example."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.pooling.hedge import Hedge
from tests.pooling.pooled_example import IN_ORDER, T, grade, replayed

ORDER = "d3 d10 d7 d1 d2 d11 d4 d5 d8 d9 d6 d12".split()
SCORES = [0.82830222, 0.77949956, 0.67896591, 0.42418583, 0.58573544, 0.30661526]
SCORES += [0.13610772, 0.08136327, 0.00245710, 0.00142933, 0, 0]


def test_the_order_is_that_of_the_trace() -> None:
    assert replayed("hedge") == ORDER


def test_scores_and_weights_are_those_of_the_trace() -> None:
    hedge = Hedge(T, IN_ORDER, 0.1)
    stakes = hedge._stakes(ORDER)
    loss, weights = np.zeros(3), []
    for i, doc in enumerate(ORDER):
        assert stakes[i] @ hedge._weights(loss) == pytest.approx(SCORES[i], abs=1e-8)
        loss += (0.5 - grade(doc)) * stakes[i]
        weights.append(hedge._weights(loss).tolist())
    assert weights[0] == pytest.approx([0.20029277, 0.09017615, 0.70953108], abs=1e-8)
    assert weights[11] == pytest.approx([0.39403800, 0.00636471, 0.59959729], abs=1e-8)
