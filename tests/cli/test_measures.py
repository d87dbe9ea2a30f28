"""cranfield measures: the list, all about one, and which to use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.measures import REGISTRY, Measure, all_measures, parse_measure
from cranfield.measures.advice import ADVICE

from .conftest import Cranfield

BUILT_IN = [kind for kind in all_measures() if kind.__module__.startswith("cranfield.")]


def test_every_measure_is_listed_once_below_its_family(cranfield: Cranfield) -> None:
    outcome = cranfield("measures")
    assert outcome.code == 0
    listed = [line.split()[0] for line in outcome.out.splitlines() if line.startswith("  ") and line[2] != " "]
    assert sorted(set(listed)) == sorted({kind.name for kind in all_measures()})
    assert len(listed) == len(set(listed))
    assert max(map(len, outcome.out.splitlines())) <= 80


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_every_measure_is_explained_in_eighty_columns(cranfield: Cranfield, kind: type) -> None:
    out = cranfield("measures", kind.name).out
    assert out.startswith(f"{kind.name}: {kind.title}\n")
    assert kind.formula in out and "Parameters" in out
    # a formula is not broken
    assert [line for line in out.splitlines() if len(line) > 80 and kind.formula not in line] == []


def test_all_there_is_to_say_of_one(cranfield: Cranfield) -> None:
    out = cranfield("measures", "nDCG").out
    for text in (
        "Also called       NDCG",
        "In trec_eval      ndcg, ndcg_cut_10",
        "In ir_measures    nDCG",
        "Values            0 to 1",
        "Better            more",
        "Weight of ranks   1.000 .631 .500 .431 .387 .356 .333 .315 .301 .289 …",
        "Järvelin",
        "@ or cutoff",
        "Default: the whole ranking.",
    ):
        assert text in out


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_every_measure_says_who_reads_and_what_is_ignored(cranfield: Cranfield, kind: type[Measure]) -> None:
    out = " ".join(cranfield("measures", kind.name).out.split())
    assert f" User {kind.user} Weight of ranks " in out and f" Ignores {kind.ignores} " in out
    assert ("Weight of ranks depends on the ranking" in out) == (kind.plain().rank_weights(10) is None)
    record = json.loads(cranfield("measures", kind.name, "--format", "json").out)
    assert (record["user"], record["ignores"]) == (kind.user, kind.ignores)


@pytest.mark.parametrize(
    ("name", "title"),
    [("nDCG@10", "nDCG:"), ("map", "AP:"), ("MRR", "RR:"), ("P(rel=2)@5", "P:"), ("ndcg_cut_10", "nDCG:")],
)
def test_any_name_of_a_measure_will_do(cranfield: Cranfield, name: str, title: str) -> None:
    assert cranfield("measures", name).out.startswith(title)


def test_an_unknown_name_is_told(cranfield: Cranfield) -> None:
    outcome = cranfield("measures", "NDGC")
    assert outcome.code == 2
    assert "unknown measure 'NDGC'. Did you mean nDCG?" in outcome.err


def test_json_holds_the_same(cranfield: Cranfield) -> None:
    records = json.loads(cranfield("measures", "--format", "json").out)
    assert [record["name"] for record in records] == [kind.name for kind in all_measures()]
    one = json.loads(cranfield("measures", "P", "--format", "json").out)
    assert one in records
    assert one["parameters"]["cutoff"]["is_required"] is True
    assert one["weights"] == pytest.approx([0.1] * 10)
    assert one["range"] == [0, 1]


@pytest.mark.parametrize("task", list(ADVICE))
def test_two_or_three_measures_are_recommended_for_each_task(cranfield: Cranfield, task: str) -> None:
    assert 2 <= len(ADVICE[task].measures) <= 3
    out = cranfield("measures", "--for", task).out
    for name, why in ADVICE[task].measures:
        assert f"  {parse_measure(name)}  " in out
        assert why.split()[0] in out and why.endswith(".")
    assert max(map(len, out.splitlines())) <= 80
    record = json.loads(cranfield("measures", "--for", task, "--format", "json").out)
    assert [m["reason"] for m in record["measures"]] == [why for _, why in ADVICE[task].measures]


def test_the_slides_answer_which_measure_to_use() -> None:
    first = {task: [parse_measure(name).name for name, _ in advice.measures] for task, advice in ADVICE.items()}
    assert first["known-item"][0] == "RR"
    assert {"P", "nDCG"} <= set(first["web"])
    assert {"R", "AP"} <= set(first["recall"])


def test_an_own_measure_is_explained_too(cranfield: Cranfield, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("from cranfield import Measure\n\nclass Nothing(Measure):\n    '''Nothing at all.'''\n")
    try:
        assert "Nothing at all." in cranfield("measures", f"{file}:Nothing").out
    finally:
        REGISTRY.pop("Nothing", None)


def test_a_name_and_a_task_are_too_much(cranfield: Cranfield) -> None:
    outcome = cranfield("measures", "AP", "--for", "recall")
    assert outcome.code == 2 and "not both" in outcome.err
