"""What a gate decided, as text, JSON and JUnit XML."""

from __future__ import annotations

import json
import math
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.reporting.gate import as_json, as_junit, as_text
from cranfield.stats.gate import Gate, gate
from tests.soak import examples

BEFORE = {"q1": 0.50, "q2": 0.70, "q3": 0.90, "q4": 0.60}
AFTER = {"q1": 0.20, "q2": 0.45, "q3": 0.50, "q4": 0.35}
DOUBTFUL = {"q1": 0.55, "q2": 0.40, "q3": 0.95, "q4": 0.50}


def parsed(text: str) -> Any:
    """JSON as a strict reader takes it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    return json.loads(text.encode("utf-8"), parse_constant=refuse)


def cases(found: Gate) -> list[ElementTree.Element]:
    suites = ElementTree.fromstring(as_junit(found).encode("utf-8"))
    assert suites.tag == "testsuites"
    (suite,) = suites
    assert suite.tag == "testsuite"
    for element in (suites, suite):
        assert int(element.attrib["tests"]) == len(found.decisions)
        assert int(element.attrib["failures"]) == sum(not d.passed for d in found.decisions)
        assert element.attrib["errors"] == element.attrib["skipped"] == "0"
    assert all(case.tag == "testcase" for case in suite)
    return list(suite)


def test_the_text_begins_with_the_verdict_and_says_why() -> None:
    text = as_text(gate(None, BEFORE, AFTER))
    assert text.startswith("FAILED: candidate against baseline.\n")
    for part in (
        "Failed: nDCG@10 fell by 0.3000, more than the 0.01 allowed (p = .002, n = 4).",
        "Mean        baseline 0.6750, candidate 0.3750",
        "Difference  −0.3000, not below",
        "allowed: −0.0100",
        "(paired t-test, t = −8.20, df = 3)",
        "Topics      0 better, 0 the same, 4 worse, of 4",
        "Worst       q3 (0.9000 to 0.5000), q1 (0.5000 to 0.2000)",
        "Rule: a candidate fails if it is shown to be worse by more than 0.01; α = 0.05.",
    ):
        assert part in text
    assert "Needed" not in text


def test_what_is_undecided_is_said_to_be_with_what_it_would_take() -> None:
    text = as_text(gate(None, BEFORE, DOUBTFUL))
    assert text.startswith("PASSED: candidate against baseline (undecided).\n")
    assert "Passed, undecided: nDCG@10 fell by 0.0750 on 4 topics; whether" in text
    assert "topics to show that it is worse" in " ".join(text.split())
    strict = as_text(gate(None, BEFORE, DOUBTFUL, require_proof=True))
    assert strict.startswith("FAILED: candidate against baseline (undecided).\n")
    assert "proof is required" in strict and "fails unless it is shown not to be worse" in strict


@pytest.mark.parametrize(
    ("candidate", "options", "needed"),
    [
        ({"q1": 0.5}, {}, "one says nothing about the spread"),
        ({"q1": 0.25, "q2": 0.45}, {"max_drop": 0.25}, "no number of topics would decide"),
    ],
)
def test_why_no_number_of_topics_is_named_is_said(
    candidate: dict[str, float], options: dict[str, Any], needed: str
) -> None:
    before = {query: BEFORE[query] + (0.1 if len(candidate) == 1 else 0) for query in candidate}
    assert needed in " ".join(as_text(gate(None, before, candidate, **options)).split())


def test_the_same_scores_need_no_figures() -> None:
    text = as_text(gate(None, BEFORE, BEFORE))
    assert text.startswith("PASSED: candidate against baseline.\n\nPassed: nDCG@10 is the same on all 4 topics.\n")
    assert "Difference" not in text and "p =" not in text


def test_lines_are_no_wider_than_asked_and_styles_are_for_terminals() -> None:
    found = gate(None, BEFORE, AFTER)
    assert all(len(line) <= 80 for line in as_text(found, width=80).splitlines())
    assert "\x1b" not in as_text(found)
    assert as_text(found, styled=True).startswith("\x1b[1;31mFAILED\x1b[0m: candidate")
    assert as_text(found, reasons=False).count("\n") == 2


def test_where_less_is_better_the_text_speaks_of_a_rise() -> None:
    text = as_text(gate(None, AFTER, BEFORE, "Fallout"))
    assert "Fallout rose by 0.3000, more than the 0.01 allowed" in text
    assert "(lower is better)" in text and "allowed: +0.0100" in text and "for a rise of more than 0.01" in text


def test_json_holds_every_figure_in_full_precision() -> None:
    found = gate(None, BEFORE, AFTER)
    content = parsed(as_json(found))
    assert (content["passed"], content["verdict"], content["max_drop"]) == (False, "worse", 0.01)
    (measure,) = content["measures"]
    decision = found.decisions[0]
    for name in ("difference", "drop", "low", "high", "sd", "t", "p_worse", "p_not_worse", "n", "sentence"):
        assert measure[name] == getattr(decision, name)
    assert measure["worst"][0] == {"query": "q3", "baseline": 0.9, "candidate": 0.5}
    assert content["versions"].keys() == {"cranfield", "numpy", "scipy", "python"}


def test_what_there_is_no_number_for_is_null() -> None:
    one = parsed(as_json(gate(None, {"q": 0.5}, {"q": 0.25})))["measures"][0]
    assert [one[name] for name in ("low", "high", "sd", "t", "topics_needed", "noticed_drop")] == [None] * 6


def test_junit_has_a_case_for_each_measure_and_a_failure_says_why() -> None:
    (failed,) = cases(gate(None, BEFORE, AFTER))
    assert failed.attrib == {
        "classname": "cranfield.gate",
        "name": "nDCG@10: candidate against baseline",
        "time": "0",
    }
    (failure,) = failed
    assert (failure.tag, failure.attrib["type"]) == ("failure", "worse")
    assert failure.attrib["message"].startswith("nDCG@10 fell by 0.3000")
    assert failure.text is not None and "Worst: q3" in failure.text
    (passed,) = cases(gate(None, BEFORE, DOUBTFUL))
    assert [child.tag for child in passed] == ["system-out"]
    assert "undecided" in (passed[0].text or "")
    (unproven,) = cases(gate(None, BEFORE, DOUBTFUL, require_proof=True))
    assert unproven[0].attrib["type"] == "undecided"


def test_several_measures_are_counted() -> None:
    runs = [{str(q): {"a": 2.0, "b": 1.0} for q in range(9)}, {str(q): {"a": 1.0, "b": 2.0} for q in range(9)}]
    qrels = {str(q): {"a": 1, "b": 0} for q in range(9)}
    found = gate(qrels, *runs, ["P@1", "R@2"], correction="holm")
    assert [case.attrib["name"][:3] for case in cases(found)] == ["P@1", "R@2"]
    text = as_text(found)
    assert text.startswith("FAILED: candidate against baseline (1 of 2 measures failed).")
    assert "by Holm's correction" in text
    assert "without correction for their number" in " ".join(as_text(gate(qrels, *runs, ["P@1", "R@2"])).split())


@examples(100)
@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), min_size=1, max_size=8).map(
        lambda text: text.replace("0", "\udcff")  # a byte that is not UTF-8
    ),
    st.booleans(),
)
def test_any_characters_in_ids_leave_every_format_readable(query: str, fails: bool) -> None:
    candidate = {query + str(i): score - (0.5 if fails else 0) for i, score in enumerate(BEFORE.values())}
    before = {query + str(i): score for i, score in enumerate(BEFORE.values())}
    before[query + "0"] += 0.001
    found = gate(None, before, candidate, query)
    assert parsed(as_json(found))["measures"][0]["measure"] == query
    assert len(cases(found)) == 1
    text = as_text(found).replace("\n", "")
    assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text)
    text.encode("utf-8", "surrogateescape")


def test_no_figure_of_nearly_constant_differences_is_infinite() -> None:
    before = {str(q): 0.5 for q in range(40)}
    after = {str(q): 0.25 + (1e-9 if q == 3 else 0) for q in range(40)}
    content = parsed(as_json(gate(None, before, after)))
    assert content["verdict"] == "worse" and math.isfinite(content["measures"][0]["t"])
