"""cranfield trec_eval on the command line: what the library gives is printed as it is, and help is for people."""

from pathlib import Path

from cranfield.evaluation.tools.trec_eval import trec_eval
from tests.cli.conftest import Cranfield


def test_output_and_exit_code_are_trec_evals(cranfield: Cranfield, small: Path) -> None:
    files = str(small / "qrels"), str(small / "one.run")
    expected = trec_eval(["-q", *files])
    outcome = cranfield("trec_eval", "-q", *files)
    assert (outcome.out, outcome.err, outcome.code) == (expected.out, "", 0)
    assert outcome.out.splitlines()[0] == "num_ret               \t1\t3"


def test_messages_go_to_standard_error(cranfield: Cranfield, small: Path) -> None:
    wrong = cranfield("trec_eval", "-mfoo", small / "qrels", small / "one.run")
    assert (wrong.out, wrong.err, wrong.code) == ("", "trec_eval: illegal measure 'foo'\n", 1)
    missing = cranfield("trec_eval", small / "none", small / "one.run")
    assert missing.code == 2
    assert missing.err.startswith("trec_eval.get_qrels: Cannot read qrels file ")


def test_bytes_that_are_not_utf8_are_printed_as_they_are(cranfield: Cranfield, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"\xff 0 a 1\n")
    (tmp_path / "run").write_bytes(b"\xff Q0 a 1 9 t\n")
    outcome = cranfield("trec_eval", "-qn", "-mmap", tmp_path / "qrels", tmp_path / "run")
    assert outcome.out == "map                   \t\udcff\t1.0000\n"


def test_help_says_what_is_different_and_what_a_measure_is(cranfield: Cranfield) -> None:
    for flag in ("-h", "--help"):
        outcome = cranfield("trec_eval", flag)
        assert outcome.code == 0
        assert outcome.out.startswith("Usage: cranfield trec_eval [OPTIONS] QRELS RUN")
        assert "--strict" in outcome.out and "official: runid, num_q" in outcome.out
        assert max(map(len, outcome.out.splitlines())) <= 80
    one = cranfield("trec_eval", "-h", "-m", "set_map", "-m", "relstring")
    assert "set_map: Unranked average precision." in one.out
    assert "relstring: The levels" in one.out and "official:" not in one.out
