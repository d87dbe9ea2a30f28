"""A pool as text, JSON and pictures."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cranfield.io import as_qrels
from cranfield.pooling.overview import build_overview
from cranfield.pooling.run_similarity import RunSimilarity
from cranfield.reporting.pooling import as_json, as_text, dendrogram, plot_curves, plot_dendrogram
from tests.pooling.pooled_example import QRELS, RUNS, as_run


def alike(names: str, table: list[list[float]]) -> RunSimilarity:
    rbo = np.array(table)
    return RunSimilarity(tuple(names), 10, rbo, rbo, np.ones(rbo.shape, dtype=np.int64))


def test_branches_meet_where_runs_are_as_alike_as_that() -> None:
    tree = dendrogram(alike("abc", [[1, 0.75, 0.2], [0.75, 1, 0.3], [0.2, 0.3, 1]]))
    # 0.75 is a quarter of 44 columns from the left, the mean of 0.2 and 0.3 three quarters
    assert tree.splitlines() == [
        "a ───────────┬─────────────────────┐",
        "b ───────────┘                     │",
        "c ─────────────────────────────────┘",
        "  1.0      0.8      0.6     0.4      0.2      0.0",
    ]


def test_a_branch_leaves_from_the_middle_of_what_it_joins() -> None:
    table = [[1, 0.9, 0.5, 0.1], [0.9, 1, 0.5, 0.1], [0.5, 0.5, 1, 0.1], [0.1, 0.1, 0.1, 1]]
    lines = dendrogram(alike("dcba", table)).splitlines()
    assert [line[0] for line in lines[:4]] == ["d", "c", "b", "a"]
    # d and c meet at 0.9, b joins them at 0.5, and from the middle of these it goes on to a
    assert lines[:4] == [
        "d ────┬─────────────────┐",
        "c ────┘                 ├─────────────────┐",
        "b ──────────────────────┘                 │",
        "a ────────────────────────────────────────┘",
    ]


def test_equal_runs_have_a_tree_too() -> None:
    lines = dendrogram(alike("ab", [[1, 1], [1, 1]])).splitlines()
    assert lines[:2] == ["a ─┐", "b ─┘"]


def test_the_tree_of_many_runs_is_shown_as_well_or_where_to_see_it() -> None:
    many = build_overview({f"run{i}": as_run({"1": [f"d{i}", f"d{i + 1}", "x"]}) for i in range(40)})
    text = as_text(many, None, 200, styled=False)
    assert all(f"\nrun{i:<2} ─" in text for i in range(40))
    same = build_overview({f"run{i}": as_run({"1": "xyz"}) for i in range(90)})  # each branch is one column further on
    assert "The dendrogram of 90 runs is wider than the terminal" in as_text(same, None, 80, styled=False)
    assert "--dendrogram" in as_text(same, None, 80, styled=False) and "run7 " in as_text(same, None, 200, False)


def test_text_and_json_have_no_gaps_whatever_is_asked() -> None:
    found = build_overview(RUNS, ["mm"], replayed=as_qrels(QRELS), judged=as_qrels(QRELS), with_votes=True)
    text = as_text(found, "pool.jsonl", 80, styled=False)
    assert text.startswith("pool.jsonl: nothing to judge.\n") and "NaN" not in text and "nan" not in text
    told = json.loads(as_json(found, "pool.jsonl"))
    assert told["pool"]["documents"] == 0 and len(told["replay"]) == 2 and told["likeness"]["top"] == 20


def test_odd_names_do_no_harm() -> None:
    odd = {"a\x1b[31m": as_run({"1": "xy"}), "b\udcff": as_run({"1": "yz"})}
    found = build_overview(odd)
    assert "\x1b" not in as_text(found, None, 80, styled=False)
    assert json.loads(as_json(found))["runs"][1]["name"] == "b\udcff"


@pytest.mark.parametrize("near", [0.9, 0.5])
def test_the_picture_of_the_tree_says_what_is_alike(near: float) -> None:
    plot = plot_dendrogram(alike("abc", [[1, near, 0.2], [near, 1, 0.3], [0.2, 0.3, 1]]))
    expected = "2 of 3 runs are nearly identical to another" if near >= 0.8 else "No two of 3 runs are nearly identical"
    assert plot.title == expected
    lines = plot.spec["layer"][1]["data"]["values"]
    assert len(lines) == 6 and {line["a"] for line in lines} == ({True, False} if near >= 0.8 else {False})


def test_the_picture_of_curves_says_who_is_ahead() -> None:
    found = build_overview(RUNS, ["mtf"], replayed=as_qrels(QRELS), with_pool=False)
    plot = plot_curves(found.curves)
    assert plot.title.startswith("With half of the judgments, ") and "At half: " in plot.alt
    assert json.loads(plot.json())["title"]["text"]
