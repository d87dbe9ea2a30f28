"""The page, the text and the JSON of a pool: what the library computes, without NaN, whatever the pool is like."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.evaluation import evaluate
from cranfield.io import as_run
from cranfield.pooling.diagnosis import Diagnosis, diagnose
from cranfield.pooling.recall import estimate_recall
from cranfield.reporting import recall as recall_report
from cranfield.reporting.plots.pool_curves import budget_curves, new_relevant, relevant_found
from cranfield.reporting.plots.pool_runs import contributions, leave_out, overlap
from cranfield.reporting.plots.pool_topics import grade_distribution, pool_topics
from cranfield.reporting.pool_page import make_pool_page
from cranfield.reporting.pool_page.data import pool_report_as_dict, pool_report_as_json
from cranfield.reporting.pool_page.findings import list_findings
from cranfield.reporting.pool_page.text import pool_report_as_text
from tests.reporting.test_page import opened

drawn = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl-convert-python is not installed")
EXAMPLE = Path(str(files("cranfield") / "example"))
RUNS = ("bm25", "lm", "lsi", "rm3", "tfidf", "titles")


@pytest.fixture(scope="module")
def example() -> Diagnosis:
    runs = [EXAMPLE / f"{name}.run" for name in RUNS]
    return diagnose(EXAMPLE / "qrels.txt", runs, ["nDCG@10", "AP"])


QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "x": 0}, "3": {"z": 1}}
ONE = {"1": {"a": 3.0, "b": 2.0, "q": 1.0}, "2": {"a": 2.0, "x": 1.0}, "3": {"z": 1.0}}
ODD: dict[str, tuple[Any, dict[str, Any]]] = {
    "one run": (QRELS, {"r": ONE}),
    "two that are the same": (QRELS, {"r": ONE, "s": ONE}),
    "a run that lacks topics": (QRELS, {"r": ONE, "s": {"1": {"c": 3.0, "b": 2.0}}}),
    "nothing relevant": ({"1": {"a": 0}, "2": {"b": 0}}, {"r": {"1": {"a": 1.0}}, "s": {"2": {"b": 1.0}}}),
    "one topic": ({"1": {"a": 1, "b": 0}}, {"r": {"1": {"a": 2.0, "b": 1.0}}, "s": {"1": {"b": 2.0, "a": 1.0}}}),
    "nothing judged on top": ({"1": {"a": 1}}, {"r": {"1": {"x": 2.0, "a": 1.0}}, "s": {"1": {"y": 2.0, "a": 1.0}}}),
    "nothing judged at all": ({"1": {"a": -1}}, {"r": {"1": {"a": 2.0}}, "s": {"1": {"a": 2.0}}}),
    "names that are code": (
        {"<b>": {"a&": 1, "b": 0}},
        {"<i>r": {"<b>": {"a&": 2.0}}, "constructor": {"<b>": {"b": 2.0}}},
    ),
}


@drawn
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("depth", [None, 1, 3])
@pytest.mark.parametrize("groups", [None, "."])
def test_an_odd_pool_has_defined_answers_everywhere(kind: str, depth: int | None, groups: str | None) -> None:
    qrels, lists = ODD[kind]
    runs = [as_run(run, name=name) for name, run in lists.items()]
    diagnosis = diagnose(qrels, runs, ["nDCG@10", "AP", "Bpref", "RR"], depth=depth, groups=groups)
    json.loads(pool_report_as_json(diagnosis), parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))
    page = make_pool_page(diagnosis).html
    body = page[page.index("<main") : page.index('<script type="application/json"')]
    texts = [pool_report_as_text(diagnosis, 80, False), body]
    found = estimate_recall(qrels, diagnosis.pooled, docs=50)
    json.loads(recall_report.as_json(found), parse_constant=lambda word: pytest.fail(f"{word} in the JSON"))
    texts.append(recall_report.as_text(found, 80, False, by_topic=True))
    for text in texts:
        assert not re.search(r"\b(nan|inf|none of 0|None(?! of))\b", re.sub("<[^>]*>", "", text))
    assert "<i>r" not in body and "<b>" not in re.sub(r"<b>(\w+\s?\w*|[\w-]+)</b>", "", body)
    assert all(columns <= 80 for columns in map(len, texts[0].splitlines()))


def test_the_json_says_what_the_library_computes(example: Diagnosis) -> None:
    found = pool_report_as_dict(example)
    scores = evaluate(EXAMPLE / "qrels.txt", [str(EXAMPLE / f"{name}.run") for name in RUNS], ["nDCG@10", "AP"])
    assert found["depth"] == 20 and found["depth_is"].startswith("inferred")
    for run in found["runs"]:
        assert run["means"]["AP"] == scores.mean("AP", run["name"])
        assert run["judged_at"]["20"] == 1.0
    assert sum(topic["relevant"] for topic in found["topics"]) == found["pool"]["relevant"] == 271
    assert found["pool"]["grades"] == {"0": 1382, "1": 99, "2": 64, "3": 108}
    assert len(found["leave_one_out"]["runs"]) == 6
    assert [curve["strategy"] for curve in found["budgets"]["curves"]] == ["depth", "rrf", "mtf", "mm-ns"]
    assert len(found["overlap"]["jaccard"]) == 6 and found["overlap"]["jaccard"][0][0] == 1.0
    bounded = evaluate(EXAMPLE / "qrels.txt", EXAMPLE / "lm.run", ["AP"], bounds=True)
    own = next(one for one in found["bounds"] if one["run"] == "lm.run" and one["measure"] == "AP")
    assert (own["low"], own["high"]) == (bounded.mean("AP.low"), bounded.mean("AP.high"))


def test_flagged_topics_are_named(example: Diagnosis) -> None:
    assert example.with_many == ["17", "22"] and example.without_relevant == []
    assert "'17', '22'" in next(one.text for one in list_findings(example) if one.about == "Relevant")


def test_the_text_is_short_and_names_every_run(example: Diagnosis) -> None:
    text = pool_report_as_text(example, 80, False)
    assert text.startswith("Pool of 6 runs to depth 20, 30 topics.\n")
    assert len(text.splitlines()) < 70 and max(map(len, text.splitlines())) <= 80
    assert all(text.count(f"{name}.run") >= 2 for name in RUNS)


@drawn
def test_every_picture_can_be_drawn_and_says_what_it_shows(example: Diagnosis) -> None:
    plots = [
        contributions(example),
        overlap(example),
        leave_out(example),
        pool_topics(example),
        grade_distribution(example),
        budget_curves(example, "tau"),
        budget_curves(example, "tau_ap"),
        budget_curves(example, "rmse", "AP"),
        relevant_found(example),
        new_relevant(example),
    ]
    for plot in plots:
        assert plot.svg().startswith("<svg") and plot.title in plot.alt


def test_bars_of_contributions_add_up(example: Diagnosis) -> None:
    data = contributions(example).spec["data"]["values"]
    for one in example.runs:
        assert sum(row["n"] for row in data if row["s"] == one.name) == one.pooled
    assert sum(row["n"] for row in data if row["k"] == "relevant, no other has it") == sum(
        one.unique_relevant for one in example.runs
    )


@pytest.mark.slow
def test_many_runs_and_topics_make_a_page_that_is_not_too_large() -> None:
    rng = np.random.default_rng(1)
    docs = [f"d{i}" for i in range(40)]
    queries = [str(t) for t in range(250)]
    qrels = {q: {d: int(rng.random() < 0.2) for d in docs[:30]} for q in queries}
    runs = [
        as_run(
            {q: dict(zip(rng.permutation(docs)[:10].tolist(), range(10), strict=True)) for q in queries}, name=f"r{i}"
        )
        for i in range(45)
    ]
    diagnosis = diagnose(qrels, runs, ["nDCG@10"], depth=5, strategies=["depth"])
    assert not diagnosis.bounds and any("Bounds were not computed" in note for note in diagnosis.notes)
    if find_spec("vl_convert") is not None:
        assert len(make_pool_page(diagnosis).html) < 3_000_000


@drawn
def test_a_browser_draws_every_picture_offline_without_a_complaint(
    chromium: Any, example: Diagnosis, tmp_path: Path
) -> None:
    dom, complaints = opened(chromium, tmp_path, make_pool_page(example))
    assert complaints == [] and 'data-drawn="all"' in dom
    assert dom.count("<figure") == dom.count('class="marks"')


def test_a_pool_of_two_groups_is_told_by_group() -> None:
    runs = [EXAMPLE / f"{name}.run" for name in RUNS]
    groups = {"bm25.run": "lexical", "lm.run": "lexical", "tfidf.run": "lexical", "rm3.run": "lexical"}
    diagnosis = diagnose(EXAMPLE / "qrels.txt", runs, ["AP"], groups=groups, strategies=["depth"], bounds=False)
    assert [group.name for group in diagnosis.groups] == ["lexical", "lsi.run", "titles.run"]
    text = pool_report_as_text(diagnosis, 80, False)
    assert "lexical: bm25.run" in text and "from one group alone" in text
    assert not diagnosis.bounds
