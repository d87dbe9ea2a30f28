"""cranfield measures: the list, all about one, and which to use."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from cranfield.measures import REGISTRY, Measure, all_measures, parse_measure
from cranfield.measures.advice import ADVICE
from cranfield.reporting.catalogue import choose_formula, make_default_measure
from tests.cli.conftest import Cranfield

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
    formula = choose_formula(make_default_measure(kind))
    assert formula in out and "Parameters" in out
    # a formula is not broken
    assert [line for line in out.splitlines() if len(line) > 80 and formula not in line] == []


def test_all_there_is_to_say_of_one(cranfield: Cranfield) -> None:
    out = cranfield("measures", "nDCG").out
    for text in (
        "Also called       NDCG",
        "In trec_eval      ndcg, ndcg_cut_10",
        "In ir_measures    nDCG",
        "Values            0 to 1",
        "Better            more",
        "Rank weights      1.000 .631 .500 .431 .387 .356 .333 .315 .301 .289 …",
        "Järvelin",
        "@ or cutoff",
        "Default: the whole ranking.",
    ):
        assert text in out


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.name)
def test_every_measure_says_who_reads_and_what_is_ignored(cranfield: Cranfield, kind: type[Measure]) -> None:
    out = " ".join(cranfield("measures", kind.name).out.split())
    ignored = kind.ignores.removeprefix("Ignores ")
    assert f" User {kind.user} Rank weights " in out
    assert f" Ignores {ignored[:1].upper()}{ignored[1:]} " in out and "Ignores Ignores" not in out
    assert kind.weighting in out
    record = json.loads(cranfield("measures", kind.name, "--format", "json").out)
    assert (record["user"], record["ignores"]) == (kind.user, kind.ignores)


@pytest.mark.parametrize(
    ("name", "title"),
    [("nDCG@10", "nDCG:"), ("map", "AP:"), ("MRR", "RR:"), ("P(rel=2)@5", "P:"), ("ndcg_cut_10", "nDCG:")],
)
def test_any_name_of_a_measure_will_do(cranfield: Cranfield, name: str, title: str) -> None:
    assert cranfield("measures", name).out.startswith(title)


def test_parameters_of_a_name_are_those_of_what_is_told(cranfield: Cranfield) -> None:
    half = cranfield("measures", "RBP(p=.5)").out
    assert "Rank weights      .500 .250 .125 .062 .031" in half and "(RBP(p=0.5)): (1 − p)·p^(i−1)" in half
    assert ".200 .160 .128" in cranfield("measures", "RBP").out
    assert "Rank weights      .500 .500 .000" in cranfield("measures", "P@2").out
    residual = json.loads(cranfield("measures", "INST(value='ED',residual=True)", "--format", "json").out)
    assert residual["better"] == "–" and residual["range"][1] is None and "C_j" in residual["formula"]
    assert "Values            −∞ to 1" in cranfield("measures", "nDCG(gain={0:-1})").out
    assert "Values            0 to ∞" in cranfield("measures", "alpha_DCG(raw_at_1=True)@1").out
    assert "Values            0 to 1.582" in cranfield("measures", "alpha_nDCG").out
    assert r"\frac{1}{3} \sum_{j=0}^{2}" in cranfield("measures", "InterpolatedAP(points=3)").out
    assert "is out of range" in cranfield("measures", "RBP(p=2)").err


@pytest.mark.parametrize(
    ("name", "said", "unsaid"),
    [
        ("nDCG(discount='log(max(i,base))')@5", "that of DCG, 1/log2(max(i, 2)), as a share", "log2(1 + i)"),
        ("nDCG(base=10)", "that of DCG, 1/log10(1 + i), as a share", "log2"),
        ("DCG(discount='1/i')", ": 1/i down to rank k, 0 below", "log2"),
        (f"DCG(discount='log(max(i,base))',base={math.e!r})", ": 1/ln(max(i, e)) down", "log2"),
        ("DCG", ": 1/log2(1 + i) down to rank k, 0 below", "another discount"),
        ("AP(denominator='min(R,k)')@5", "weighs P@i/min(R, k), and", "P@i/R"),
        ("MAPk(denominator='R')@5", "weighs P@i/R, and", "P@i/min"),
        ("AP(ties='group')", "weighs P@l/R, and", "P@i"),
        ("RBP(value='ED')", "no gain weighs anything; each rank counts with the chance", "gain per document"),
        (
            "RBP(value='ED')",
            "The number of documents that the user described here is expected to read.",
            "Values 0 to 1 ",
        ),
        ("RBP(value='ED')", "Rank weights 1.000 .800 .640", "Nothing found 0"),
        ("RBP(value='EC')", ".200 .160", "gain per document"),
        ("RBP(value='EC')", "of costs, not of gains: (1 − p)·p^(i−1)", "Ignores How many"),
        ("RBP(value='ETU')@2", "1.000 .800 .000", "gain per document"),
        ("RBP(value='ETU')@2", "p^(i−1) down to rank k, 0 below", "(1 − p)"),
        ("RBP(depth=10)", "(1 − p)·p^(i−1)/(1 − p^n)", "of costs"),
        ("RBP(residual=True)", "Values 0 to 1 ", "-1"),
        ("RBP(residual=True)", "(1 − p)·p^(i−1), for what is unjudged", "The gain per document of"),
        ("RBP(value='ETC',residual=True)", "none: what is unjudged changes nothing", ".800"),
        ("INST(residual=True)", "Values -1 to 1 ", "for what is unjudged"),
        ("INST(value='ETU')", "depends on the ranking: the chance that the user reads rank i", "gain per document"),
        ("IFT(stop='goal')", "falls as the gain had so far passes T Ignores", "passes A"),
        ("IFT(stop='rate')", "to go on rises as the gain per cost passes A", "passes T"),
    ],
)
def test_the_words_follow_the_parameters_too(cranfield: Cranfield, name: str, said: str, unsaid: str) -> None:
    out = " ".join(cranfield("measures", name).out.partition("Parameters")[0].split())
    assert said in out and unsaid not in out
    record = json.loads(cranfield("measures", name, "--format", "json").out)
    assert f" {record['what']} " in out and record["weighting"] in out and record["nothing_found"] in out


def test_weights_that_differ_look_different(cranfield: Cranfield) -> None:
    for name in ("TBG", "U", "RBP(p=0.999)", "NPV(r=0.001)"):
        out = " ".join(cranfield("measures", name).out.partition("Rank weights")[2].split())
        weights = out.partition(" …")[0].split()
        assert len(weights) == len(set(weights)) == 10, name


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


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("AP", "the mean"),
        ("GMAP", "the geometric mean"),
        ("NumRet", "the sum"),
        ("Gini", "computed for the whole run"),
    ],
)
def test_it_says_how_the_values_of_queries_become_one(cranfield: Cranfield, name: str, how: str) -> None:
    assert f"  All queries       {how}" in cranfield("measures", name).out


def test_the_parameters_of_a_measure_come_before_those_that_all_have(cranfield: Cranfield) -> None:
    shown = [
        line.split()[0]
        for line in cranfield("measures", "RBO").out.split("Parameters\n")[1].splitlines()
        if line[2:3].strip()
    ]
    assert shown == ["p", "value", "variant", "gain", "judged_only", "repeats"]
    assert "Default: –" not in cranfield("measures", "RBO").out


def test_a_measure_of_ones_own_may_say_nothing_of_itself(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "my.py").write_text("from cranfield import Measure\nclass Mine(Measure):\n    name = 'Mine'\n")
    out = cranfield("measures", f"{tmp_path / 'my.py'}:Mine").out
    assert out.startswith("Mine\n\n  Rank weights") and "gain: 'Any'" not in out
