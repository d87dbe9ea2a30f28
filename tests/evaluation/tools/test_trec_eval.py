"""trec_eval drop-in: the reference's own outputs byte for byte, its small examples, its failures, and four repairs."""

from __future__ import annotations

import gzip
import math
import random
import re
from pathlib import Path

import numpy as np
import pytest

from cranfield.evaluation.tools.trec_eval import Outcome, trec_eval
from cranfield.evaluation.tools.trec_eval.numbers import atof, atol
from cranfield.evaluation.tools.trec_eval.table import _sorted

GAINS = (
    "-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 "
    "-mutility.2,-1,0,0 -m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20"
)
# command lines of trec_eval's own test outputs; files stand in the folder trec_eval of the shared data
OWN = {
    "out.test": "qrels.test results.test",
    "out.test.a": "-m all_trec qrels.test results.test",
    "out.test.aq": "-m all_trec -q qrels.test results.test",
    "out.test.aqc": "-m all_trec -q -c qrels.test results.trunc",
    "out.test.aqcM": "-m all_trec -q -c -M100 qrels.test results.trunc",
    "out.test.aql": "-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test",
    "out.test.prefs": "-m all_prefs -q -R prefs prefs.test prefs.results.test",
    "out.test.qrels_prefs": "-m all_prefs -q -R qrels_prefs qrels.test results.test",
    "out.test.qrels_jg": "-m qrels_jg -q -R qrels_jg qrels.123 results.test",
    "out.test.aqZ": "-q -m all_trec -Z zscores_file qrels.test results.test",
    "out.test.meas_params": f"{GAINS} qrels.test results.test",
    "out.comment.test": "qrels.comment.test results.comment.test",
}
WITH_COMMENTS = {
    "out.test.prefs": "-m all_prefs -q -R prefs prefs.comment.test prefs.results.test",
    "out.test.aq": "-m all_trec -q qrels.test.with-comments results.test",
    "out.test.qrels_jg": "-m qrels_jg -q -R qrels_jg qrels.comments.123 results.test",
}
FLAGS = {"c_J_all_trec": "-c -J -m all_trec", "c_l2_official": "-c -l2", "q_c_all_trec": "-q -c -m all_trec"}
RELEASES = {"9": "9.0.8", "10": "10.0"}
RUNS = ["ICT-BERT2", "bm25base_p", "p_bert", "test1"]
both_versions = pytest.mark.parametrize("version", RELEASES)


@pytest.fixture
def files(shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The shared data, from the folder of trec_eval's own test files, with the compressed one unpacked."""
    for file in (shared_data / "trec_eval").iterdir():
        (tmp_path / file.name).symlink_to(file)
    with gzip.open(shared_data / "trec_eval/results.comment.test.gz") as packed:
        (tmp_path / "results.comment.test").write_bytes(packed.read())
    monkeypatch.chdir(tmp_path)
    return shared_data


def assert_prints(command: str, expected: bytes, version: str) -> None:
    outcome = trec_eval(["--as", version, *command.split()])
    assert (outcome.err, outcome.code) == ("", 0)
    assert outcome.out.encode("utf-8", "surrogateescape") == expected


# the reference's outputs


@pytest.mark.parametrize("name", OWN)
def test_the_outputs_that_come_with_trec_eval_10_are_printed_byte_for_byte(name: str, files: Path) -> None:
    assert_prints(OWN[name], (files / "trec_eval" / name).read_bytes(), "10")


@pytest.mark.parametrize("name", WITH_COMMENTS)
def test_comments_that_version_10_can_read_change_nothing(name: str, files: Path) -> None:
    assert_prints(WITH_COMMENTS[name], (files / "trec_eval" / name).read_bytes(), "10")


@both_versions
@pytest.mark.parametrize("name", ["aq", "aqc", "aqcM", "aql", "prefs"])
def test_the_test_files_give_what_each_version_prints(name: str, version: str, files: Path) -> None:
    folder = files / "expected" / f"trec_eval-{RELEASES[version]}"
    assert_prints(OWN[f"out.test.{name}"], (folder / f"test.{name}.txt").read_bytes(), version)


@both_versions
@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("run", RUNS)
def test_submitted_runs_give_what_each_version_prints(run: str, flags: str, version: str, files: Path) -> None:
    Path("run").write_bytes(gzip.decompress((files / f"dl19/runs/{run}.gz").read_bytes()))
    Path("qrels").symlink_to(files / "dl19/qrels.dl19-passage.txt")
    (expected,) = (files / "expected" / f"trec_eval-{RELEASES[version]}").glob(f"dl19.{run}.{flags}.txt*")
    packed = expected.read_bytes()
    assert_prints(f"{FLAGS[flags]} qrels run", gzip.decompress(packed) if expected.suffix == ".gz" else packed, version)


# small examples


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(qrels: str, run: str, query: str = "1") -> None:
    """Files of one query: grades as `a2 b0`, scores as `b9 c8`."""
    judged = [re.fullmatch(r"(\D+?)(-?\d+)", part) for part in qrels.split()]
    scored = [re.fullmatch(r"(\D+)(\d+)", part) for part in run.split()]
    Path("qrels").write_text("".join(f"{query} 0 {m[1]} {m[2]}\n" for m in judged if m))
    Path("run").write_text("".join(f"{query} Q0 {m[1]} 0 {m[2]} tag\n" for m in scored if m))


def printed(command: str, files: str = "qrels run") -> dict[str, str]:
    """What is printed for the first query, by name."""
    outcome = trec_eval([*command.split(), "-q", "-n", *files.split()])
    assert outcome.code == 0, outcome.err
    return {line.split("\t")[0].strip(): line.split("\t")[2] for line in outcome.out.splitlines()}


TINY = "a2 b0 c1 d1 e0 f-1 g3", "b9 c8 x7 f6 a5 d5 e4"
TINY_VALUES = (
    "map .3500 Rprec .2500 bpref .3750 recip_rank .5000 infAP .4028 Rprec_mult_0.20 0 Rprec_mult_0.40 .5 "
    "Rprec_mult_1.20 .4 Rprec_mult_2.00 .375 binG .3731 G .2047 ndcg .3332 ndcg_rel .2526 Rndcg .1507 "
    "ndcg_cut_5 .1960 set_map .3214 set_F .5455 utility -1"
)
OF_VERSION = {
    "9": "11pt_avg .3636 iprec_at_recall_0.80 0",
    "10": "11pt_avg .4091 iprec_at_recall_0.80 .5 rbp .0912 rbp_resid .6322 unj_5 .4000",
}


def values(text: str) -> dict[str, float]:
    parts = text.split()
    return {name: float(value) for name, value in zip(parts[::2], parts[1::2], strict=True)}


def assert_values(found: dict[str, str], expected: str) -> None:
    wanted = values(expected)
    assert {name: float(found[name]) for name in wanted} == wanted


@both_versions
def test_the_tiny_example(version: str, here: Path) -> None:
    write(*TINY)
    found = printed(f"--as {version} -m all_trec -m yaap")
    assert found["relstring"] == "'01-.120'"
    assert_values(found, f"{TINY_VALUES} yaap -.4055 {OF_VERSION[version]}")


@both_versions
@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("-J -m all_trec", "num_ret 5 map .4792 infAP .4792 P_5 .6 ndcg .3837"),
        ("-J -M4 -m all_trec", "num_ret 2 map .1250"),
        ("-m ndcg.1=3,2=9,4=4.5", "ndcg_1=3,2=9,4=4.5 .4574"),
        ("-m G.1=3,2=9", "G_1=3,2=9 .2689"),
        ("-m Rndcg.1=3,2=9", "Rndcg_1=3,2=9 .1986"),
        ("-m ndcg_rel.1=3,2=9", "ndcg_rel_1=3,2=9 .3279"),
        ("-N100 -m utility.2,-1,-0.5,0.1", "utility_2,-1,-0.5,0.1 10.7000"),
        ("-l 2 -m num_rel -m P.10", "num_rel 2 P_10 .1"),
    ],
)
def test_the_tiny_example_with_flags_and_parameters(command: str, expected: str, version: str, here: Path) -> None:
    write(*TINY)
    assert_values(printed(f"--as {version} {command}"), expected)


def test_the_end_of_the_list_counts_for_rndcg_only_two_beyond_the_best_ranking(here: Path) -> None:
    write("a1 b1", "x9 a8 b7")
    assert printed("-m Rndcg") == {"Rndcg": "0.3869"}
    write("a1 b1", "x9 a8 b7 y6")
    assert printed("-m Rndcg") == {"Rndcg": "0.5401"}


PREFS = "u1 s1 a 2|u1 s1 b 1|u1 s1 c 0|u1 s1 d 0|u2 s1 b 3|u2 s1 a 1|u2 s2 a 2|u2 s2 e 0"


def write_prefs(rows: str, run: str) -> None:
    Path("prefs").write_text("".join(f"1 {row}\n" for row in rows.split("|")))
    Path("run").write_text("".join(f"1 Q0 {doc[0]} 0 {doc[1:]} tag\n" for doc in run.split()))


@both_versions
def test_the_example_of_preferences(version: str, here: Path) -> None:
    write_prefs(PREFS, "c5 a5 x4 b3")
    found = printed(f"--as {version} -m all_prefs -R prefs", "prefs run")
    assert_values(
        found,
        "prefs_num_prefs_poss 8 prefs_num_prefs_ful 6 prefs_num_prefs_ful_ret 2 prefs_simp .7500 prefs_pair .7857 "
        "prefs_avgjg .7333 prefs_simp_ret .5000 prefs_pair_ret .5 prefs_avgjg_ret .3333 prefs_avgjg_Rnonrel .8000 "
        "prefs_avgjg_Rnonrel_ret .8000 prefs_simp_imp .7500 prefs_pair_imp .7857 prefs_avgjg_imp .7333",
    )


def test_a_perfect_ranking_has_a_quarter_of_prefs_avgjg_rnonrel(here: Path) -> None:
    write_prefs("u s a 1|u s b 0|u s c 0|u s d 0", "a9 b8 c7")
    assert_values(
        printed("-m all_prefs -R prefs", "prefs run"), "prefs_avgjg_Rnonrel .2500 prefs_avgjg_Rnonrel_ret .3333"
    )


def test_preferences_break_ties_by_doc_id_ascending_and_everything_else_descending(here: Path) -> None:
    write("a1 b0", "a5 b5")
    assert printed("-m recip_rank")["recip_rank"] == "0.5000"
    assert printed("-m prefs -R qrels_prefs")["prefs_simp"] == "1.0000"


@both_versions
def test_the_example_of_judgment_groups(version: str, here: Path) -> None:
    Path("qrels").write_text("1 A a 1\n1 A b 0\n1 A c 1\n1 B a 0\n1 B b 1\n1 B c 0\n")
    Path("run").write_text("1 Q0 a 1 9 t\n1 Q0 b 2 8 t\n")
    found = printed(f"--as {version} -m map_avgjg -m P_avgjg.1 -m Rprec_mult_avgjg.1 -R qrels_jg")
    assert_values(found, "map_avgjg .5 P_avgjg_1 .5 Rprec_mult_avgjg_1.00 .25")


def test_the_example_of_z_scores(here: Path) -> None:
    write(*TINY)
    Path("z").write_text("1 map 0.2 0.1\n1 P_5 0.2 0\n1 recip_rank .5 0\n")
    outcome = trec_eval("-Z z -q -m map -m P.5 -m recip_rank -m ndcg -m num_q qrels run".split())
    assert outcome.out.splitlines() == [
        "Zmap                   \t1\t1.5000",
        "Zrecip_rank            \t1\t0.0000",
        "ZP_5                   \t1\t-1000000.0000",
        "Zndcg                  \t1\t-1000000.0000",
        "Znum_q                 \tall\t1.0000",
        "Zmap                   \tall\t1.5000",
        "Zrecip_rank            \tall\t0.0000",
        "ZP_5                   \tall\t-1000000.0000",
        "Zndcg                  \tall\t-1000000.0000",
    ]


# what differs between the versions


def test_scores_are_floats_in_version_9_and_doubles_in_version_10(here: Path) -> None:
    write("a1 b0", "a16777217 b16777216")
    assert printed("--as 9 -m recip_rank")["recip_rank"] == "0.5000"
    assert printed("--as 10 -m recip_rank")["recip_rank"] == "1.0000"


TWO_TOPICS = "1 0 a 1\n2 0 a 1\n2 0 b 1\n"


def summary(outcome: Outcome) -> dict[str, str]:
    rows = [line.split("\t") for line in outcome.out.splitlines()]
    return {row[0].strip(): row[2] for row in rows if row[1] == "all"}


def test_a_topic_that_the_run_lacks_is_left_out_by_version_9_and_stops_version_10(here: Path) -> None:
    Path("qrels").write_text(TWO_TOPICS)
    Path("run").write_text("1 Q0 a 1 9 t\n3 Q0 a 1 9 t\n")
    assert summary(trec_eval(["qrels", "run"]))["num_q"] == "1"
    stopped = trec_eval(["--as", "10", "-q", "-mmap", "qrels", "run"])
    assert (stopped.code, stopped.out) == (4, "map                   \t1\t1.0000\n")
    assert stopped.err == "trec_eval: result qid '2' not found in qrels\n"


def test_a_missing_topic_under_c_is_zero_and_only_printed_by_version_10(here: Path) -> None:
    Path("qrels").write_text(TWO_TOPICS)
    Path("run").write_text("1 Q0 a 1 9 t\n")
    command = "-q -c -m map -m gm_map -m num_rel -m num_ret -m utility -m yaap qrels run".split()
    nine, ten = trec_eval(command), trec_eval(["--as", "10", *command])
    assert "\t2\t" not in nine.out
    assert summary(nine) == {
        "num_ret": "1",
        "num_rel": "3",
        "map": "0.5000",
        "gm_map": "0.0032",
        "utility": "0.5000",
        "yaap": "0.3466",
    }
    assert summary(ten) == {**summary(nine), "yaap": "-0.2027"}
    assert [line.split("\t")[2] for line in ten.out.splitlines() if "\t2\t" in line] == [
        "0",
        "2",
        "0.0000",
        "0.0000",
        "-1.0986",
    ]


def test_only_default_names_are_reset_for_a_missing_topic_in_version_10(here: Path) -> None:
    Path("qrels").write_text(TWO_TOPICS)
    Path("run").write_text("1 Q0 a 1 9 t\n")
    command = "--as 10 -q -c -m utility.2,-1,0,0 -m relstring.5 -m rbp_resid.p=0.5 -m unj.2 qrels run"
    missing = [line.split("\t") for line in trec_eval(command.split()).out.splitlines() if "\t2\t" in line]
    assert {row[0].strip(): row[2] for row in missing} == {
        "relstring_5": "'-'",
        "utility_2,-1,0,0": "-1.0000",
        "rbp_resid_p=0.5": "1.0000",
        "unj_2": "0.0000",
    }
    default = trec_eval("--as 10 -q -c -m relstring -m rbp_resid qrels run".split())
    assert [line.split("\t")[2] for line in default.out.splitlines() if "\t2\t" in line] == ["''", "0.0000"]


def test_the_number_of_relevant_documents_ignores_the_level_under_c(here: Path) -> None:
    write("a2 b1 c1", "a3 b2")
    assert summary(trec_eval("-l2 -mnum_rel qrels run".split())) == {"num_rel": "1"}
    assert summary(trec_eval("-c -l2 -mnum_rel qrels run".split())) == {"num_rel": "3"}


def test_measures_of_version_10_are_illegal_in_version_9(here: Path) -> None:
    for name in ("dcg", "ideal_dcg", "rbp", "rbp_resid", "unj"):
        assert trec_eval(["-m", name, "q", "r"]).err == f"trec_eval: illegal measure '{name}'\n"
    write("a2 b1", "b2 a1")
    found = printed("--as 10 -m dcg -m ideal_dcg")
    assert found == {"dcg": "2.2619", "ideal_dcg": "2.6309"}


# the command line


@pytest.mark.parametrize(
    "flags",
    [
        "-q -c -l 2 -M 100 -m map",
        "-qcl2 -M100 -mmap",
        "--query_eval_wanted --complete_rel_info_wanted --level_for_rel=2 --Max_retrieved_per_topic 100 --measure map",
        "--query --compl --level 2 --Max=100 --meas=map",
        "-qco -l2 -mmap -M100 -Rqrels -Ttrec_results -D0",
    ],
)
def test_flags_are_read_as_getopt_does(flags: str, here: Path) -> None:
    write("a2 b1 c0", "a3 b2 c1")
    expected = "map                   \t1\t1.0000\nmap                   \tall\t1.0000\n"
    assert trec_eval([*flags.split(), "qrels", "run"]) == Outcome(expected)
    mixed = flags.split()
    assert trec_eval(["qrels", *mixed, "run"]) == trec_eval(["qrels", "run", *mixed]) == Outcome(expected)
    assert trec_eval([*mixed, "--", "qrels", "run"]) == Outcome(expected)


def test_a_debug_level_with_a_topic_restricts_to_it(here: Path) -> None:
    Path("qrels").write_text(TWO_TOPICS)
    Path("run").write_text("1 Q0 x 1 9 t\n2 Q0 a 1 9 t\n")
    assert summary(trec_eval("-D1.2 -mmap -mnum_q qrels run".split())) == {"num_q": "1", "map": "0.5000"}


def test_measures_are_printed_in_the_order_of_the_table_whatever_the_command_line(here: Path) -> None:
    write("a1", "a1")
    outcome = trec_eval("-m P.10,5 -m map -m recip_rank -m runid qrels run".split())
    assert list(summary(outcome)) == ["runid", "map", "recip_rank", "P_5", "P_10"]


def test_parameters_of_a_measure_that_has_none_are_ignored(here: Path) -> None:
    write("a1", "a1")
    assert summary(trec_eval("-m map.5 -m official.3 qrels run".split()))["map"] == "1.0000"


def test_topics_are_in_the_order_of_their_bytes(here: Path) -> None:
    Path("qrels").write_text("".join(f"{q} 0 a 1\n" for q in ("9", "10", "B", "a")))
    Path("run").write_text("".join(f"{q} Q0 a 1 1 t\n" for q in ("a", "9", "B", "10")))
    lines = trec_eval("-q -n -mmap qrels run".split()).out.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["10", "9", "B", "a"]


def test_help_and_version(here: Path) -> None:
    assert trec_eval(["-h"]).help_for == ()
    assert trec_eval(["--help", "-m", "set_P", "-m", "map"]).help_for == ("map", "set_P")
    assert trec_eval(["-v"]) == Outcome("", "trec_eval version 9.0.8\n", 0)
    assert trec_eval(["--as=10", "--version"]) == Outcome("", "trec_eval version 10.0\n", 0)


# failures


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("qrels", "Usage: trec_eval [-h]"),
        ("qrels run more", "Usage: trec_eval [-h]"),
        ("-x qrels run", "trec_eval: invalid option -- 'x'\nUsage: "),
        ("qrels run -m", "trec_eval: option requires an argument -- 'm'\nUsage: "),
        ("--foo qrels run", "trec_eval: unrecognized option '--foo'\nUsage: "),
        ("--help=1 qrels run", "trec_eval: option '--help' doesn't allow an argument\nUsage: "),
        ("qrels run --measure", "trec_eval: option '--measure' requires an argument\nUsage: "),
        (
            "--Re x qrels run",
            "trec_eval: option '--Re' is ambiguous; possibilities: '--Rel_info_format' '--Results_format'\nUsage: ",
        ),
        ("-m foo qrels run", "trec_eval: illegal measure 'foo'\n"),
        ("-m foo.3 qrels run", "trec_eval: illegal measure 'foo'\n"),
        ("-m P_10 qrels run", "trec_eval: illegal measure 'P_10'\n"),
        ("-m ndcg_p qrels run", "trec_eval: illegal measure 'ndcg_p'\n"),
        ("-m P. qrels run", "trec_eval: improper measure in parameter 'P'\ntrec_eval: illegal measure 'P'\n"),
        ("--as 8 qrels run", "trec_eval: --as '8': expected 9 or 10\n"),
    ],
)
def test_a_wrong_command_line_ends_with_1(command: str, message: str, here: Path) -> None:
    write("a1", "a1")
    outcome = trec_eval(command.split())
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.err.startswith(message)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("none run", "trec_eval.get_qrels: Cannot read qrels file 'none'\ntrec_eval: Quit in file 'none'\n"),
        ("empty run", "trec_eval.get_qrels: Cannot read qrels file 'empty'\ntrec_eval: Quit in file 'empty'\n"),
        ("-R prefs none run", "trec_eval.get_prefs: Cannot read prefs file 'none'\ntrec_eval: Quit in file 'none'\n"),
        ("qrels none", "trec_eval.get_results: Cannot read results file 'none'\ntrec_eval: Quit in file 'none'\n"),
        ("qrels -", "trec_eval.get_results: Cannot read results file '-'\ntrec_eval: Quit in file '-'\n"),
        ("blank run", "trec_eval.get_qrels: Malformed line 2\ntrec_eval: Quit in file 'blank'\n"),
        ("-R qrels_jg blank run", "trec_eval.get_qrels_jg: Malformed line 2\ntrec_eval: Quit in file 'blank'\n"),
        ("-R prefs qrels run", "trec_eval.get_prefs: Malformed line 1\ntrec_eval: Quit in file 'qrels'\n"),
        ("qrels qrels", "trec_eval.get_results: Malformed line 1\ntrec_eval: Quit in file 'qrels'\n"),
        ("-R foo qrels run", "trec_eval: Illegal rel_format 'foo'\n"),
        ("-T foo qrels run", "trec_eval: Illegal retrieval results format 'foo'\n"),
        ("-R qrels_jg twice run", "trec_eval.get_qrels: duplicate docs a\ntrec_eval: Quit in file 'twice'\n"),
        ("-m P.-5 qrels run", "trec_eval: Negative cutoff detected\ntrec_eval: Cannot initialize measure 'P'\n"),
        ("-m P.5,x qrels run", "trec_eval: Negative cutoff detected\ntrec_eval: Cannot initialize measure 'P'\n"),
        ("-m P.5,5 qrels run", "trec_eval: duplicate cutoffs detected\ntrec_eval: Cannot initialize measure 'P'\n"),
        (
            "-m ndcg.1,2 qrels run",
            "trec_eval: malformed pair parameters in '1,2'\ntrec_eval: Cannot initialize measure 'ndcg'\n",
        ),
    ],
)
def test_what_cannot_be_read_ends_with_2(command: str, message: str, here: Path) -> None:
    write("a1", "a1")
    Path("empty").write_text("")
    Path("blank").write_text("1 0 a 1\n\n1 0 b 1\n")
    Path("twice").write_text("1 0 a 1\n1 0 b 1\n1 0 a 0\n")
    assert trec_eval(command.split()) == Outcome("", message, 2)


@both_versions
def test_a_document_twice_ends_with_4_and_has_no_line_of_its_own(version: str, here: Path) -> None:
    Path("qrels").write_text("1 0 a 1\n2 0 a 1\n")
    Path("run").write_text("1 Q0 a 1 9 t\n2 Q0 a 1 9 t\n2 Q0 b 2 8 t\n2 Q0 a 3 7 t\n")
    outcome = trec_eval(["--as", version, "-q", "-mmap", "qrels", "run"])
    assert (outcome.code, outcome.out) == (4, "map                   \t1\t1.0000\n")
    assert outcome.err == "trec_eval.form_res_qrels: duplicate docs atrec_eval: Can't calculate measure 'map'\n"
    assert trec_eval(["--as", version, "-M2", "-mmap", "qrels", "run"]).code == 0


def test_a_judgment_twice_ends_with_4(here: Path) -> None:
    write("a1 b1 a0", "a9")
    assert trec_eval(["qrels", "run"]) == Outcome(
        "", "trec_eval.form_res_rels: duplicate docs a\ntrec_eval: Can't calculate measure 'num_ret'\n", 4
    )
    assert trec_eval(["-mnum_q", "qrels", "run"]).code == 0


def test_a_first_topic_with_negative_judgments_only_ends_with_4(here: Path) -> None:
    write("a-1 b-1", "a9")
    assert trec_eval(["qrels", "run"]) == Outcome("", "trec_eval: Can't calculate measure 'num_ret'\n", 4)


def test_a_later_topic_with_negative_judgments_only_is_evaluated(here: Path) -> None:
    # so does pytrec_eval: what counts levels is there from the topic before, unless a level is below -1
    Path("qrels").write_text("1 0 a 1\n2 0 a -1\n")
    Path("run").write_text("1 Q0 a 1 9 t\n2 Q0 a 1 9 t\n")
    assert summary(trec_eval("-m map -m num_q qrels run".split())) == {"num_q": "2", "map": "0.5000"}
    Path("qrels").write_text("1 0 a 1\n2 0 a -2\n")
    assert trec_eval("-m map qrels run".split()).code == 139


def test_no_common_topic_ends_with_7_in_version_9_and_4_in_version_10(here: Path) -> None:
    Path("qrels").write_text("1 0 a 1\n")
    Path("run").write_text("2 Q0 a 1 9 t\n")
    message = "trec_eval: No queries with both results and relevance info\n"
    assert trec_eval(["qrels", "run"]) == Outcome("", message, 7)
    assert trec_eval(["--as", "10", "qrels", "run"]).code == 4


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("-m prefs qrels run", "trec_eval.form_prefs_info: prefs_info format not (prefs or qrels_prefs) or results "),
        ("-m map -R qrels_jg qrels run", "trec_eval.form_res_qrels: rel_info format not qrels or results format not "),
        ("-m qrels_jg qrels run", "trec_eval: rel_info format not qrels_jg or results format not trec_results\n"),
        ("-m utility.1,2 qrels run", "trec_eval.calc_utility: improper number of coefficients\n"),
    ],
)
def test_a_measure_that_does_not_fit_the_judgments_ends_with_4(command: str, message: str, here: Path) -> None:
    write("a1", "a1")
    outcome = trec_eval(command.split())
    assert outcome.code == 4
    assert outcome.err.startswith(message)
    assert re.search(r"trec_eval: Can't calculate measure '\w+'\n$", outcome.err)


def test_preferences_that_cannot_go_together_are_refused(here: Path) -> None:
    write_prefs("u s a 2|u s a 1", "a9")
    outcome = trec_eval("-m prefs -R prefs prefs run".split())
    assert outcome.code == 4
    assert "Internal docid 0 occurs with different rel_level in same jsg\n" in outcome.err
    write_prefs("u s a 2|u t a 0", "a9")
    assert "doc 'a' has both 0 and non-0 rel_level assigned\n" in trec_eval("-m prefs -R prefs prefs run".split()).err
    write_prefs("u s a 2|u s b 1|u t b 2|u t a 1", "a9 b8")
    outcome = trec_eval("-q -m prefs -R prefs prefs run".split())
    assert (outcome.code, outcome.out) == (134, "")
    assert outcome.err.endswith("internal rank 0 and internal rank 1 are conflicted\n")


def test_a_file_of_z_scores_that_cannot_be_read_ends_with_255(here: Path) -> None:
    write("a1", "a1")
    Path("z").write_text("1 map 2\n")
    message = "trec_eval.get_prefs: Cannot read zscores file 'none'\n"
    assert trec_eval("-Z none qrels run".split()) == Outcome("", message, 255)
    assert trec_eval("-Z z qrels run".split()) == Outcome("", "trec_eval.get_zscores: Malformed line 1\n", 255)


def test_gains_given_to_one_of_dcg_ideal_dcg_and_ndcg_crash_version_10(here: Path) -> None:
    write("a1", "a1")
    assert trec_eval("--as 10 -m dcg -m ndcg.1=3 qrels run".split()).code == 139
    assert trec_eval("--as 10 -m dcg.1=3 qrels run".split()).code == 0


# reading


def test_numbers_are_read_as_far_as_they_go(here: Path) -> None:
    assert [atol(text) for text in ("12abc", "1.9", " -3", "+4", "x", "9" * 30)] == [12, 1, -3, 4, 0, 2**63 - 1]
    assert [atof(text) for text in ("1.5x", ".5", "1e2", "1e", "0x1p3", "-Infinity", "x")] == [
        1.5,
        0.5,
        100,
        1,
        8,
        -float("inf"),
        0,
    ]
    Path("qrels").write_text("1 0 a 1.9\n1 0 b x\n")
    Path("run").write_text("1 Q0 a 1 x t\n1 Q0 b 2 inf t\n1 Q0 c 3 2.5e0z t\n")
    assert printed("-m relstring") == {"relstring": "'0-1'"}


def test_white_space_blank_lines_and_more_columns_are_no_matter(here: Path) -> None:
    Path("qrels").write_bytes(b"1\t0  a 1 \r\n  1 0\x0bb\x0c0\r\n")
    Path("run").write_bytes(b"\n \t\n1 Q0 b 1 9 first x y\r\n  1\tQ0\ta 2 8 last\r\n")
    outcome = trec_eval("-m recip_rank -m runid qrels run".split())
    assert summary(outcome) == {"runid": "last", "recip_rank": "0.5000"}


def test_ids_that_are_not_utf8_are_kept_byte_for_byte(here: Path) -> None:
    Path("qrels").write_bytes(b"\xff 0 \xe9 1\n")
    Path("run").write_bytes(b"\xff Q0 \xe9 1 9 \xfe\n")
    out = trec_eval("-q -mmap -mrunid qrels run".split()).out.encode("utf-8", "surrogateescape")
    assert out.splitlines()[0] == b"map                   \t\xff\t1.0000"
    assert out.splitlines()[1].endswith(b"\t\xfe")


def test_a_run_from_standard_input_is_for_version_10(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import sys

    write("a1", "a1")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path("run").read_bytes())))
    assert summary(trec_eval("--as 10 -mmap qrels -".split())) == {"map": "1.0000"}


def test_a_level_below_zero_makes_unjudged_documents_relevant(here: Path) -> None:
    write("a1 b0", "x9 a8")
    assert printed("-l -1 -m recip_rank -m num_rel -m num_rel_ret") == {
        "num_rel": "2",
        "num_rel_ret": "1",
        "recip_rank": "1.0000",
    }


def test_recall_points_may_be_anywhere_and_in_any_order(here: Path) -> None:
    write("a1 b1 c1", "a9 x8 b7 y6 c5")
    assert printed("-m iprec_at_recall.1.5,-1,.5") == {
        "iprec_at_recall_-1.00": "1.0000",
        "iprec_at_recall_0.50": "0.6667",
        "iprec_at_recall_1.50": "0.0000",
    }
    # the last point is looked for first, and one that then needs more gets the best precision of all
    rising, falling = (printed(f"-m 11pt_avg.{points}") for points in (".3,1", "1,.3"))
    assert list(rising.values()) == ["0.8000"]
    assert list(falling.values()) == ["1.0000"]


# repairs


def repaired(command: str) -> tuple[Outcome, Outcome]:
    """The outcome with repairs, which says so in one line, and without."""
    mended, strict = trec_eval(command.split()), trec_eval(["--strict", *command.split()])
    assert mended.code == 0
    assert re.fullmatch(r"cranfield trec_eval: .* \(--strict undoes this\)\.\n", mended.err)
    return mended, strict


@both_versions
def test_fractional_gains_are_sorted_rightly(version: str, here: Path) -> None:
    write("a3 b2 c1 d0", "a9 b8 c7 d6")
    for name, best in (("ndcg", "1.0000"), ("ndcg_rel", "1.0000"), ("Rndcg", "1.0000")):
        mended, strict = repaired(f"--as {version} -q -n -m {name}.1=0.2,2=0.5,3=0.9 qrels run")
        assert mended.out.endswith(f"\t{best}\n")
        assert strict == Outcome(
            f"{name}_1=0.2,2=0.5,3=0.9".ljust(22) + f"\t1\t{'0.0000' if name != 'Rndcg' else '  -nan'}\n"
        )


def test_gains_that_trec_eval_sorts_rightly_need_no_repair(here: Path) -> None:
    write("a3 b2 c1 d0", "a9 b8 c7 d6")
    assert trec_eval("-m ndcg.1=3,2=9,4=4.5 qrels run".split()).err == ""
    assert trec_eval("-m ndcg.1=0.5 qrels run".split()).err != ""
    # sorted otherwise, but no value of these documents changes
    write("a1 b2 c3", "x9 y8 c7")
    assert trec_eval("-m ndcg.1=0.5,2=0.6 -m G.1=0.5,2=0.6 qrels run".split()).err == ""


@both_versions
@pytest.mark.parametrize(("gains", "value"), [("1=0.5,2=0.6", "0.4134"), ("2=0.1,7=0.6,3=0.3", "0.1210")])
def test_a_level_without_documents_is_passed_over_in_the_best_ranking(
    gains: str, value: str, version: str, here: Path
) -> None:
    write("a1 b2 c3", "x9 y8 c7")
    assert printed(f"--as {version} --strict -m ndcg.{gains}") == {f"ndcg_{gains}": value}


@both_versions
def test_a_level_with_two_gains_has_the_first_after_sorting(version: str, here: Path) -> None:
    write("a1 b2", "b9 a8")
    # both documents gain 2; the best ranking has the gain that was given first
    assert set(printed(f"--as {version} -m ndcg.1=2,1=9 -m G.1=2,1=9").values()) == {"1.0000"}
    expected = (2 + 2 / math.log2(3)) / (9 + 2 / math.log2(3))
    assert printed(f"--as {version} -m ndcg.1=9,1=2") == {"ndcg_1=9,1=2": f"{expected:.4f}"}


@pytest.mark.slow
@both_versions
@pytest.mark.parametrize("strict", ["", "--strict "])
def test_a_grade_in_the_millions_takes_no_longer(strict: str, version: str, here: Path) -> None:
    write("a3000000 b2 c1", "b9 a8 c7")
    found = printed(f"--as {version} {strict}-m ndcg -m map -m Rndcg -m G.1=.2 -m ndcg_rel.1=.2,2=.4")
    assert {name: found[name] for name in ("map", "ndcg", "G_1=.2")} == {
        "map": "1.0000",
        "ndcg": "0.6309",
        "G_1=.2": "1.0000",
    }


@pytest.mark.parametrize(
    "gains", ["1=0.5,2=0.6", "2=0.1,5=0.6,3=0.3,0=1.2", "3=-0.5,1=0.9,7=-2,2=0.2", "1=2,1=9,4=2.5"]
)
def test_sorting_at_once_is_the_merge_sort_of_the_c_library(gains: str) -> None:
    pairs = [(int(pair[0]), float(pair[2:])) for pair in gains.split(",")]
    for highest in (0, 1, 3, 8, 40):
        worth = [gain for _, gain in pairs] + [float(level) for level in range(highest) if str(level) not in gains]
        slow = one_by_one(list(range(len(worth))), worth)
        assert _sorted(np.array(worth), len(pairs), exact=False).tolist() == slow


def one_by_one(levels: list[int], worth: list[float]) -> list[int]:
    if len(levels) < 2:
        return levels
    left, right = one_by_one(levels[: len(levels) // 2], worth), one_by_one(levels[len(levels) // 2 :], worth)
    merged = []
    while left and right:
        merged.append(left.pop(0) if int(worth[left[0]] - worth[right[0]]) <= 0 else right.pop(0))
    return merged + left + right


@both_versions
def test_a_negative_multiple_and_a_negative_collection_are_taken_as_they_are(version: str, here: Path) -> None:
    write("a1 b2", "b9 a8 x7")
    assert printed(f"--as {version} -m Rprec_mult.-1,1") == {"Rprec_mult_-1.00": "0.0000", "Rprec_mult_1.00": "1.0000"}
    # −5 documents without the three that were retrieved
    assert printed(f"--as {version} -N-5 -m utility.0,0,0,1") == {"utility_0,0,0,1": "-8.0000"}
    Path("qrels").write_text("1 u a 1\n1 v b 1\n")
    assert printed(f"--as {version} -R qrels_jg -m Rprec_mult_avgjg.-1") == {"Rprec_mult_avgjg_-1.00": "0.0000"}


def test_every_parameter_of_a_repeated_measure_is_used(here: Path) -> None:
    write("a1 b1", "x9 a8 b7")
    mended, strict = repaired("-m P.3 -m P.2,1 qrels run")
    assert summary(mended) == {"P_1": "0.0000", "P_2": "0.5000", "P_3": "0.6667"}
    assert summary(strict) == {"P_3": "0.6667"}
    assert strict.err == ""
    mended, strict = repaired("-m set_F.1 -m set_F.2 -m map qrels run")
    assert list(summary(mended)) == ["map", "set_F_1", "set_F_2"]
    assert list(summary(strict)) == ["map", "set_F_1"]


@both_versions
def test_no_number_is_printed_as_zero(version: str, here: Path) -> None:
    Path("qrels").write_text("1 0 a 1\n2 0 a 1\n")
    Path("run").write_text("1 Q0 x 1 9 t\n2 Q0 a 1 9 t\n")
    mended, strict = repaired(f"--as {version} -q -J -m iprec_at_recall.0,1 -m 11pt_avg qrels run")
    assert [line.split("\t")[2] for line in mended.out.splitlines()] == ["0.0000"] * 3 + ["1.0000"] * 3 + ["0.5000"] * 3
    assert strict.err == ""
    assert [line.split("\t")[2] for line in strict.out.splitlines()] == [
        *("  -nan", "0.0000", "  -nan"),
        *("1.0000", "1.0000", "1.0000"),
        *("  -nan", "0.5000", "  -nan"),
    ]


@pytest.mark.parametrize(
    ("qrels", "code"),
    [
        ("# one\n# two\n1 0 a 1\n", {"9": 2, "10": 2}),
        ("1 0 a 1\n# last\n", {"9": 2, "10": 139}),
        ("# first\n1 0 a 1\n", {"9": 2, "10": 0}),
    ],
)
@both_versions
def test_comments_are_skipped(qrels: str, code: dict[str, int], version: str, here: Path) -> None:
    Path("qrels").write_text(qrels)
    Path("run").write_text("1 Q0 a 1 9 t\n")
    command = f"--as {version} -mmap qrels run"
    if code[version] == 0:
        assert summary(trec_eval(command.split())) == {"map": "1.0000"}
        assert trec_eval(command.split()).err == ""
        return
    mended, strict = repaired(command)
    assert summary(mended) == {"map": "1.0000"}
    assert (strict.code, strict.out) == (code[version], "")


def test_a_comment_in_a_run_is_malformed_in_version_9_only(here: Path) -> None:
    Path("qrels").write_text("1 0 a 1\n")
    Path("run").write_text("# comment\n1 Q0 a 1 9 t\n")
    mended, strict = repaired("-mmap qrels run")
    assert summary(mended) == {"map": "1.0000"}
    assert strict == Outcome("", "trec_eval.get_results: Malformed line 1\ntrec_eval: Quit in file 'run'\n", 2)
    assert trec_eval("--as 10 -mmap qrels run".split()).err == ""


def test_a_comment_that_reads_as_a_judgment_is_one(here: Path) -> None:
    # four columns: version 9 takes it for the judgment of a topic called #
    Path("qrels").write_text("# of four columns\n1 0 a 1\n")
    Path("run").write_text("1 Q0 a 1 9 t\n")
    assert summary(trec_eval("-c -mnum_q qrels run".split())) == {"num_q": "2"}


# against the reference's own functions


def test_every_value_of_version_9_is_pytrec_evals(here: Path) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = random.Random(3)
    qrels = {
        f"q{i}": {f"d{j}": rng.choice([-1, 0, 0, 1, 2, 3]) for j in rng.sample(range(40), 25)} | {"d0": 1}
        for i in range(30)
    }
    run = {f"q{i}": {f"d{j}": float(rng.randint(0, 9)) for j in rng.sample(range(60), 30)} for i in range(30)}
    rows = [(query, doc, grade) for query, part in qrels.items() for doc, grade in part.items()]
    Path("qrels").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows))
    Path("run").write_text(
        "".join(f"{query} Q0 {doc} 0 {score} t\n" for query, part in run.items() for doc, score in part.items())
    )
    for level in (1, 2):
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, pytrec_eval.supported_measures, relevance_level=level)
        theirs = evaluator.evaluate(run)
        outcome = trec_eval(f"-q -n -l{level} -m all_trec qrels run".split())
        ours = [line.split("\t") for line in outcome.out.splitlines() if not line.startswith("relstring")]
        compared = [(row, theirs[row[1]][row[0].strip()]) for row in ours if row[0].strip() in theirs[row[1]]]
        assert len(compared) > 2500
        assert [(row, value) for row, value in compared if f"{float(row[2]):.4f}" != f"{value:.4f}"] == []
