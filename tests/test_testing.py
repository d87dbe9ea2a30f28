"""The helper for test suites."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cranfield import CranfieldError, as_run, evaluate, read_run
from cranfield.testing import assert_not_worse

EXAMPLE = Path(__file__).parent.parent / "src/cranfield/example"
QRELS = EXAMPLE / "qrels.txt"


def test_the_same_run_is_not_worse_in_any_form() -> None:
    path = EXAMPLE / "bm25.run"
    run = read_run(path)
    scores = evaluate(QRELS, run, ["nDCG@10"])
    for same in (path, str(path), run, run.to_dict(), scores, scores.per_query("nDCG@10")):
        found = assert_not_worse(QRELS, path, same, require_proof=True)
        assert found.passed and found.verdict == "not worse"


def test_a_worse_run_fails_the_test_with_the_reason() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_not_worse(QRELS, EXAMPLE / "bm25.run", EXAMPLE / "titles.run")
    said = str(failed.value)
    assert said.startswith("FAILED: titles.run against bm25.run.")
    assert "nDCG@10 fell by 0.2944" in said and "Worst       26 (1.0000 to 0.0000)" in said


def test_what_is_undecided_passes_unless_proof_is_required() -> None:
    runs = EXAMPLE / "lsi.run", EXAMPLE / "tfidf.run"
    assert assert_not_worse(QRELS, *runs).verdict == "undecided"
    with pytest.raises(AssertionError, match="undecided"):
        assert_not_worse(QRELS, *runs, require_proof=True)


def test_a_larger_drop_may_be_allowed_and_measures_may_be_several() -> None:
    runs = EXAMPLE / "bm25.run", EXAMPLE / "titles.run"
    assert assert_not_worse(QRELS, *runs, "nDCG@10", 0.3).passed
    with pytest.raises(AssertionError, match="1 of 2 measures failed"):
        assert_not_worse(QRELS, *runs, measure=["AP", "RR"], max_drop=0.2)


def test_options_of_evaluation_are_passed_on() -> None:
    titles = EXAMPLE / "titles.run"
    found = assert_not_worse(QRELS, EXAMPLE / "bm25.run", titles, "nDCG@10", max_drop=0.5, missing="skip", rel=2)
    assert found.decisions[0].n == 23
    with pytest.raises(TypeError):
        assert_not_worse(QRELS, titles, titles, nonsense=1)


def test_bad_input_is_an_error_and_no_failed_assertion() -> None:
    with pytest.raises(CranfieldError):
        assert_not_worse(QRELS, EXAMPLE / "bm25.run", EXAMPLE / "none.run")
    with pytest.raises(CranfieldError):
        assert_not_worse(QRELS, EXAMPLE / "bm25.run", as_run({"unheard of": {"d": 1.0}}))


def test_it_needs_no_pytest() -> None:
    program = (
        "import sys; from cranfield.testing import assert_not_worse; print({'pytest', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
