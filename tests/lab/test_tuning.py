"""Tuning: chosen on some topics, scored on others."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield import as_qrels, as_run, evaluate
from cranfield.data.collection import Run
from cranfield.errors import CranfieldError
from cranfield.lab.tuning import chosen_run, grid, random_settings, tune

TOPICS = [f"t{i}" for i in range(10)]
QRELS = as_qrels({topic: {"good": 1} for topic in TOPICS})


def ranked(setting: dict[str, float]) -> Run:
    """Setting x=i finds the good document first for topic i, and second elsewhere; x=99 first for even topics."""
    x = int(setting["x"])
    first = {t for i, t in enumerate(TOPICS) if i == x or (x == 99 and i % 2 == 0)}
    return as_run({t: {"good": 2.0 if t in first else 0.5, "bad": 1.0} for t in TOPICS})


def test_each_fold_is_scored_with_what_is_best_elsewhere() -> None:
    settings = grid({"x": [3, 99]})
    tuning = tune(ranked, settings, QRELS, "RR", folds=5)
    assert sorted(topic for fold in tuning.folds for topic in fold.topics) == sorted(TOPICS)
    for fold in tuning.folds:
        outside = [TOPICS.index(t) for t in TOPICS if t not in fold.topics]
        inside = [TOPICS.index(t) for t in fold.topics]
        means = tuning.values[:, outside].mean(axis=1)
        assert fold.setting == settings[int(np.argmax(means))] and fold.elsewhere == pytest.approx(means.max())
        assert fold.here == pytest.approx(tuning.values[settings.index(fold.setting), inside].mean())
    assert tuning.optimistic == pytest.approx(0.75) and tuning.settings[tuning.best] == {"x": 99}


def test_settings_that_fit_one_topic_each_are_seen_through() -> None:
    """Of ten settings each is right on one topic: the best on all looks better than what is held out."""
    tuning = tune(ranked, grid({"x": range(10)}), QRELS, "RR", folds=10)
    assert tuning.optimistic == pytest.approx(0.55) and tuning.held_out == pytest.approx(0.5)


def test_the_run_written_has_the_scores_told() -> None:
    tuning = tune(ranked, grid({"x": [1, 2, 99]}), QRELS, "RR", folds=4, seed=7)
    scores = evaluate(QRELS, chosen_run(tuning, ranked), ["RR"])
    assert scores.per_query("RR") == pytest.approx(tuning.per_topic)
    assert scores.mean("RR") == pytest.approx(tuning.held_out)


def test_a_measure_of_which_less_is_better_is_made_small() -> None:
    tuning = tune(ranked, grid({"x": [3, 99]}), QRELS, "SearchLength", folds=2)
    assert tuning.settings[tuning.best] == {"x": 99} and not tuning.more_is_better


def test_draws_lie_between_the_ends_and_depend_on_the_seed_alone() -> None:
    drawn = random_settings({"a": (1, 2), "b": (0, 100)}, 50, seed=3)
    assert drawn == random_settings({"a": (1, 2), "b": (0, 100)}, 50, seed=3) != random_settings({"a": (1, 2)}, 50)
    assert all(1 <= s["a"] <= 2 and 0 <= s["b"] <= 100 for s in drawn)


@pytest.mark.parametrize("folds", [1, 11])
def test_folds_need_topics(folds: int) -> None:
    with pytest.raises(CranfieldError, match=f"{folds} folds of 10 queries: expected 2 to 10"):
        tune(ranked, grid({"x": [3]}), QRELS, "RR", folds=folds)
    with pytest.raises(CranfieldError, match="no settings"):
        tune(ranked, [], QRELS, "RR")
