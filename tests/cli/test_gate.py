"""cranfield gate: exit codes, formats and options."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cranfield.cli.gate import CORRECTIONS, MEASURES
from cranfield.stats.gate import GATE_CORRECTIONS, GATE_MEASURE
from tests.cli.conftest import Cranfield


def test_the_same_run_passes_and_a_degraded_one_fails(cranfield: Cranfield, example: Path) -> None:
    qrels, bm25 = example / "qrels.txt", example / "bm25.run"
    for options in ((), ("--require-proof",), ("--max-drop", "0")):
        assert cranfield("gate", qrels, bm25, bm25, *options).code == 0
    outcome = cranfield("gate", qrels, bm25, example / "titles.run")
    assert outcome.code == 1
    assert outcome.out.startswith("FAILED: titles.run against bm25.run.\n")
    assert outcome.err == ""


def test_undecided_is_said_and_passes_unless_proof_is_required(cranfield: Cranfield, example: Path) -> None:
    files = example / "qrels.txt", example / "lsi.run", example / "tfidf.run"
    outcome = cranfield("gate", *files)
    assert (outcome.code, outcome.out.split("\n")[0]) == (0, "PASSED: tfidf.run against lsi.run (undecided).")
    assert "Needed      about 138 topics" in outcome.out
    outcome = cranfield("gate", *files, "--require-proof")
    assert (outcome.code, outcome.out.split("\n")[0]) == (1, "FAILED: tfidf.run against lsi.run (undecided).")


def test_proof_may_be_given(cranfield: Cranfield, example: Path) -> None:
    outcome = cranfield("gate", example / "qrels.txt", example / "bm25.run", example / "lm.run", "--require-proof")
    assert outcome.code == 0 and "Passed: nDCG@10 did not fall by more than the 0.01 allowed" in outcome.out


def test_every_measure_must_pass(cranfield: Cranfield, example: Path) -> None:
    files = example / "qrels.txt", example / "bm25.run", example / "titles.run"
    outcome = cranfield("gate", *files, "-m", "AP RR", "--max-drop", "0.2", "--format", "json")
    assert outcome.code == 1
    measures = json.loads(outcome.out)["measures"]
    assert [(m["measure"], m["verdict"]) for m in measures] == [("AP", "undecided"), ("RR", "worse")]
    assert cranfield("gate", *files, "-m", "AP", "--max-drop", "0.2").code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--max-drop", "-0.1"),
        ("--max-drop", "nan"),
        ("--alpha", "0"),
        ("--alpha", "0.5"),
        ("--correction", "bh"),
        ("-m", "NDGC@10"),
        ("-m", "gm_map"),
        ("--missing", "error"),
        ("-o", "no/such/folder/gate.json"),
    ],
)
def test_what_cannot_be_decided_is_an_error_not_a_failure(
    cranfield: Cranfield, example: Path, options: tuple[str, str]
) -> None:
    outcome = cranfield("gate", example / "qrels.txt", example / "bm25.run", example / "titles.run", *options)
    assert outcome.code == 2 and outcome.out == "" and outcome.err


def test_files_that_cannot_be_read_or_have_nothing_in_common_are_errors(cranfield: Cranfield, small: Path) -> None:
    (small / "empty").write_text("")
    (small / "other.run").write_text("77 Q0 a 1 3 t\n")
    for candidate in ("empty", "none", "other.run"):
        assert cranfield("gate", small / "qrels", small / "one.run", small / candidate).code == 2
    outcome = cranfield("gate", "-", small / "one.run", "-")
    assert outcome.code == 2 and "'-' is given twice" in outcome.err
    assert cranfield("gate", small / "qrels", small / "one.run").code == 2


def test_one_topic_is_undecided_unless_it_is_the_same(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "good.run").write_text("1 Q0 a 1 2 t\n1 Q0 b 2 1 t\n")
    (tmp_path / "bad.run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 1 t\n")
    qrels, good, bad = (tmp_path / name for name in ("qrels", "good.run", "bad.run"))
    assert cranfield("gate", qrels, good, bad).code == 0
    assert cranfield("gate", qrels, good, bad, "--require-proof").code == 1
    assert cranfield("gate", qrels, good, good, "--require-proof").code == 0


def test_a_file_is_written_and_the_text_is_printed_for_the_log(
    cranfield: Cranfield, example: Path, tmp_path: Path
) -> None:
    files = example / "qrels.txt", example / "bm25.run", example / "titles.run"
    for form, name in (("junit", "gate.xml"), ("json", "gate.json"), ("text", "gate.txt")):
        outcome = cranfield("gate", *files, "--format", form, "-o", tmp_path / name)
        assert outcome.code == 1 and outcome.out.startswith("FAILED")
    suites = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert suites.attrib["failures"] == "1" and suites[0][0][0].tag == "failure"
    assert json.loads((tmp_path / "gate.json").read_text())["passed"] is False
    assert (tmp_path / "gate.txt").read_text() == cranfield("gate", *files).out
    quiet = cranfield("gate", *files, "--format", "junit", "-o", tmp_path / "gate.xml", "--quiet")
    assert (quiet.code, quiet.out, quiet.err) == (1, "", "")


def test_formats_go_to_standard_output_alone(cranfield: Cranfield, example: Path) -> None:
    files = example / "qrels.txt", example / "bm25.run", example / "titles.run"
    for target in ((), ("-o", "-")):
        assert json.loads(cranfield("gate", *files, "--format", "json", *target).out)["verdict"] == "worse"
        ElementTree.fromstring(cranfield("gate", *files, "--format", "junit", *target).out.encode())
    inputs = json.loads(cranfield("gate", *files, "--format", "json").out)["inputs"]
    assert [Path(one["file"]).name for one in inputs] == ["qrels.txt", "bm25.run", "titles.run"]


def test_quiet_leaves_the_verdicts(cranfield: Cranfield, example: Path) -> None:
    outcome = cranfield("gate", example / "qrels.txt", example / "bm25.run", example / "lm.run", "--quiet")
    assert outcome.code == 0 and len(outcome.out.splitlines()) <= 3 and outcome.err == ""


def test_conventions_are_those_of_eval(cranfield: Cranfield, example: Path) -> None:
    files = example / "qrels.txt", example / "bm25.run", example / "titles.run"
    options = ("-m", "AP", "--rel", "2", "--ties", "expected", "--missing", "skip", "--jobs", "1", "--format", "json")
    content = json.loads(cranfield("gate", *files, *options, "--max-drop", "1").out)
    assert content["conventions"]["ties"] == "expected" and content["conventions"]["missing"] == "skip"
    assert content["measures"][0]["n"] == 23
    scores = cranfield("eval", files[0], files[2], *options).out
    mean = json.loads(scores)["runs"][0]["scores"]["AP"]["mean"]
    assert content["measures"][0]["candidate_mean"] == pytest.approx(mean, abs=1e-12)


def test_ids_that_are_not_utf_8_do_not_spoil_the_output(cranfield: Cranfield, tmp_path: Path) -> None:
    queries = [b"\xff%d" % i for i in range(9)]
    (tmp_path / "qrels").write_bytes(b"".join(b"%s 0 a 1\n%s 0 b 0\n" % (q, q) for q in queries))
    (tmp_path / "good.run").write_bytes(b"".join(b"%s Q0 a 1 2 t\n" % q for q in queries))
    (tmp_path / "bad.run").write_bytes(b"".join(b"%s Q0 b 1 2 t\n" % q for q in queries))
    files = [tmp_path / name for name in ("qrels", "good.run", "bad.run")]
    assert cranfield("gate", *files).code == 1
    out = tmp_path / "out"
    assert cranfield("gate", *files, "--format", "json", "-o", out).code == 1
    assert json.loads(out.read_text("utf-8"))["measures"][0]["worst"][0]["query"] == "\udcff0"
    assert cranfield("gate", *files, "--format", "junit", "-o", out).code == 1
    ElementTree.parse(out)


def test_a_reader_that_has_gone_does_not_turn_a_failure_into_a_pass(example: Path) -> None:
    files = [str(example / name) for name in ("qrels.txt", "bm25.run", "titles.run")]
    gate = subprocess.Popen([sys.executable, "-m", "cranfield", "gate", *files], stdout=subprocess.PIPE)
    assert gate.stdout is not None
    gate.stdout.close()
    assert gate.wait() == 1


def test_help_says_what_the_exit_codes_mean(cranfield: Cranfield) -> None:
    out = " ".join(cranfield("gate", "--help").out.split())
    assert "The exit code is 1 if a one-sided paired t-test shows" in out and "--require-proof" in out


def test_the_choices_are_those_of_the_library() -> None:
    assert (MEASURES[0], CORRECTIONS) == (GATE_MEASURE, GATE_CORRECTIONS)
