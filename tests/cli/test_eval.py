"""cranfield eval: what it prints and how it fails."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield
from tests.soak import SOAK


def test_tsv_has_runs_and_measures_in_the_order_asked_for(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield(
        "eval", small / "qrels", small / "two.run", small / "one.run", "-m", "RR", "-m", "map", "--format=tsv"
    )
    assert outcome.code == 0
    assert [row[:3] for row in outcome.table] == [
        ["two.run", "RR", "all"],
        ["two.run", "map", "all"],
        ["one.run", "RR", "all"],
        ["one.run", "map", "all"],
    ]
    assert [float(row[3]) for row in outcome.table] == [0.25, 0.125, 0.75, 0.5]


def test_q_prints_every_query_before_the_mean(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", small / "qrels", small / "one.run", "-q", "-m", "P@1", "--format", "tsv")
    assert outcome.table == [
        ["one.run", "P@1", "1", "1.0"],
        ["one.run", "P@1", "2", "0.0"],
        ["one.run", "P@1", "all", "0.5"],
    ]


def test_the_default_measures_are_those_documented(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", small / "qrels", small / "one.run", "--format", "tsv")
    assert [row[1] for row in outcome.table] == ["nDCG@10", "AP", "RR", "P@10", "R@100", "Judged@10"]


def test_coverage_is_always_told(cranfield: Cranfield, small: Path) -> None:
    sentence = "2 queries evaluated, 1 in the run have no judgments, 1 missing (count as 0)"
    for format_ in ("table", "markdown", "latex"):
        assert sentence in cranfield("eval", small / "qrels", small / "two.run", "--format", format_).out
    assert sentence in cranfield("eval", small / "qrels", small / "two.run", "--format", "tsv").err
    skipped = cranfield("eval", small / "qrels", small / "two.run", "--missing", "skip").out
    assert "1 query evaluated, 1 in the run have no judgments, 1 missing (skipped)" in skipped


def test_missing_error_is_exit_2(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", small / "qrels", small / "two.run", "--missing", "error")
    assert outcome.code == 2
    assert "lacks 1 of 2 judged queries (2)" in outcome.err


def test_places_rounds_and_default_is_full_precision(cranfield: Cranfield, example: Path) -> None:
    full = cranfield("eval", example / "qrels.txt", example / "bm25.run", "-m", "AP", "--format", "tsv").table[0][3]
    cut = cranfield("eval", example / "qrels.txt", example / "bm25.run", "-m", "AP", "--format", "tsv", "--places", 3)
    assert repr(float(full)) == full
    assert cut.table[0][3] == f"{float(full):.3f}"


def test_csv_and_jsonl_hold_the_same_rows_as_tsv(cranfield: Cranfield, example: Path) -> None:
    args = ("eval", example / "qrels.txt", example / "bm25.run", example / "lm.run", "-q")
    tsv = cranfield(*args, "--format", "tsv").table
    table = list(csv.reader(io.StringIO(cranfield(*args, "--format", "csv").out)))
    assert table[0] == ["run", "measure", "query", "value"]
    assert table[1:] == tsv
    lines = [json.loads(line) for line in cranfield(*args, "--format", "jsonl").out.splitlines()]
    assert [[r["run"], r["measure"], r["query"], repr(r["value"])] for r in lines] == tsv


def test_json_names_conventions_versions_and_digests(cranfield: Cranfield, example: Path) -> None:
    run = example / "bm25.run"
    outcome = cranfield("eval", example / "qrels.txt", run, "-q", "--format", "json", "--ties", "best", "--rel", 2)
    content = json.loads(outcome.out)
    assert content["conventions"]["ties"] == "best"
    assert content["conventions"]["rel"] == 2
    assert content["versions"]["cranfield"]
    digests = [entry["sha256"] for entry in content["inputs"]]
    assert digests == [hashlib.sha256((example / name).read_bytes()).hexdigest() for name in ("qrels.txt", "bm25.run")]
    record = content["runs"][0]
    assert record["queries"] == {"evaluated": 30, "only_in_run": 0, "missing": 0}
    ap = record["scores"]["AP"]
    assert ap["interval"][0] < ap["mean"] < ap["interval"][1]
    assert len(ap["per_query"]) == 30
    assert any("--rel 2 does not concern nDCG@10" in note for note in content["notes"])


def test_rel_reaches_binary_measures_that_name_none(cranfield: Cranfield, small: Path) -> None:
    args = (
        "eval",
        small / "qrels",
        small / "one.run",
        "-m",
        "AP",
        "-m",
        "AP(rel=1)",
        "-m",
        "nDCG",
        "--format",
        "tsv",
        "-q",
    )
    one, two = cranfield(*args).table, cranfield(*args, "--rel", 2).table
    changed = [row[1] for row, other in zip(one, two, strict=True) if row != other]
    assert set(changed) == {"AP"}


def test_docs_serves_fallout_and_is_asked_for(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", small / "qrels", small / "one.run", "-m", "Fallout")
    assert outcome.code == 2
    assert "--docs" in outcome.err
    given = cranfield(
        "eval", small / "qrels", small / "one.run", "-m", "Fallout", "--docs", 10, "--format", "tsv", "-q"
    )
    assert [float(row[3]) for row in given.table][:2] == [2 / 8, 1 / 9]


def test_by_gives_the_same_per_group(cranfield: Cranfield, small: Path) -> None:
    (small / "groups").write_text("1\tshort\n2\tlong\n")
    args = ("eval", small / "qrels", small / "one.run", "-m", "RR", "--by", small / "groups")
    rows = {row[2]: float(row[3]) for row in cranfield(*args, "--format", "tsv").table}
    assert rows == {"all:long": 0.5, "all:short": 1.0, "all": 0.75}
    assert set(json.loads(cranfield(*args, "--format", "json").out)["groups"]) == {"long", "short"}
    table = cranfield(*args).out
    assert "long (1 query)" in table


def test_queries_in_no_group_are_kept_together(cranfield: Cranfield, small: Path) -> None:
    (small / "groups").write_text("1\tshort\n")
    rows = cranfield(
        "eval", small / "qrels", small / "one.run", "-m", "RR", "--by", small / "groups", "--format", "tsv"
    ).table
    assert {row[2] for row in rows} == {"all:short", "all:(none)", "all"}


def test_a_bad_group_file_is_named_with_its_line(cranfield: Cranfield, small: Path) -> None:
    (small / "groups").write_text("1\tshort\nnonsense\n")
    outcome = cranfield("eval", small / "qrels", small / "one.run", "--by", small / "groups")
    assert outcome.code == 2
    assert "groups, line 2" in outcome.err


def test_runs_of_the_same_name_are_told_apart(cranfield: Cranfield, small: Path) -> None:
    for folder in ("a", "b"):
        (small / folder).mkdir()
        shutil.copy(small / "one.run", small / folder / "x.run")
    rows = cranfield(
        "eval", small / "qrels", small / "a/x.run", small / "b/x.run", small / "b/x.run", "-m", "RR", "--format", "tsv"
    ).table
    assert len({row[0] for row in rows}) == 3
    rows = cranfield("eval", small / "qrels", small / "a/x.run", small / "b/x.run", "-m", "RR", "--format", "tsv").table
    assert [row[0] for row in rows] == ["a/x.run", "b/x.run"]


def test_a_run_is_called_by_its_file_less_compression(cranfield: Cranfield, small: Path) -> None:
    (small / "one.trec.gz").write_bytes(gzip.compress((small / "one.run").read_bytes()))
    rows = cranfield("eval", small / "qrels", small / "one.trec.gz", "-m", "RR", "--format", "tsv").table
    assert rows == [["one.trec", "RR", "all", "0.75"]]


def test_the_best_is_marked_and_equals_are_marked_alike(cranfield: Cranfield, small: Path) -> None:
    args = ("eval", small / "qrels", small / "one.run", small / "two.run", "-m", "RR", "-m", "P@10")
    lines = cranfield(*args, "--format", "markdown").out.splitlines()
    assert "| one.run | **0.7500** | **0.1000** |" in lines
    assert "| two.run | 0.2500 | 0.0500 |" in lines
    assert r"\textbf{0.7500}" in cranfield(*args, "--format", "latex").out
    assert "0.7500*" in cranfield(*args).out


def test_less_is_better_where_it_is(cranfield: Cranfield, small: Path) -> None:
    args = ("eval", small / "qrels", small / "one.run", small / "two.run", "-m", "SearchLength", "--missing", "skip")
    assert "| one.run | **0.5000** |" in cranfield(*args, "--format", "markdown").out.splitlines()


def test_table_fits_eighty_columns(cranfield: Cranfield, example: Path) -> None:
    runs = sorted(example.glob("*.run"))
    out = cranfield("eval", example / "qrels.txt", *runs).out
    assert max(map(len, out.splitlines()[:13])) <= 80


def test_a_table_on_a_narrow_terminal_is_split(example: Path) -> None:
    from cranfield.evaluation import evaluate
    from cranfield.reporting import evaluation

    measures = [f"P@{k}" for k in range(1, 31)]
    scores = evaluate(example / "qrels.txt", [example / "bm25.run", example / "lm.run"], measures)
    lines = evaluation.as_table(scores, False, None, None, 80, False).splitlines()
    assert max(len(line) for line in lines if "0." in line and "Unjudged" not in line) <= 80
    assert sum(line.split().count("P@17") for line in lines) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-m", "NDGC@10"), "unknown measure 'NDGC'. Did you mean nDCG?"),
        (("-m", "P"), None),
        (("-m", "nDCG@0"), "expected a whole number"),
        (("--ties", "coin"), "Invalid value for '--ties'"),
        (("--rank-by", "score", "--qrels-format", "nonsense"), "Invalid value for '--qrels-format'"),
        (("--run-format", "json"), "not JSON"),
    ],
)
def test_wrong_usage_is_exit_2_with_a_hint(
    cranfield: Cranfield, small: Path, args: tuple[str, ...], message: str | None
) -> None:
    outcome = cranfield("eval", small / "qrels", small / "one.run", *args)
    assert outcome.code == (0 if message is None else 2)
    assert "Traceback" not in outcome.err
    assert message is None or message in outcome.err


def test_no_query_in_common_is_an_error(cranfield: Cranfield, small: Path) -> None:
    (small / "other.run").write_text("77 Q0 a 1 3 t\n")
    outcome = cranfield("eval", small / "qrels", small / "other.run")
    assert outcome.code == 2
    assert "no query in common" in outcome.err


def test_swapped_arguments_are_noticed(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", small / "one.run", small / "qrels")
    assert outcome.code == 2
    assert "QRELS RUN" in outcome.err


def test_standard_input_is_read_once(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", "-", "-")
    assert outcome.code == 2
    assert "standard input" in outcome.err


def test_a_run_comes_from_standard_input(small: Path) -> None:
    command = [sys.executable, "-m", "cranfield", "eval", str(small / "qrels"), "-", "-m", "RR", "--format", "tsv"]
    with (small / "one.run").open("rb") as run:
        outcome = subprocess.run(command, stdin=run, capture_output=True, text=True, check=True)
    assert outcome.stdout == "stdin\tRR\tall\t0.75\n"


def test_a_closed_pipe_is_no_error(small: Path) -> None:
    command = f"{sys.executable} -m cranfield eval {small / 'qrels'} {small / 'one.run'} -q --format tsv | head -1"
    outcome = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0
    assert outcome.stderr.count("Traceback") == 0


def test_ids_that_are_not_utf8_come_out_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"q\xff 0 d 1\n")
    (tmp_path / "run").write_bytes(b"q\xff Q0 d 1 1 t\n")
    command = [sys.executable, "-m", "cranfield", "eval", "qrels", "run", "-q", "-m", "RR", "--format", "tsv"]
    outcome = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert outcome.stdout == b"run\tRR\tq\xff\t1.0\nrun\tRR\tall\t1.0\n"
    for format_ in ("table", "json", "jsonl", "csv", "markdown", "latex"):
        subprocess.run([*command[:-1], format_], cwd=tmp_path, capture_output=True, check=True)


def test_every_command_shows_an_example(cranfield: Cranfield) -> None:
    assert "cranfield eval" in cranfield("--help").out
    for command in ("eval", "check", "convert", "demo"):
        outcome = cranfield(command, "--help")
        assert outcome.code == 0
        assert "Example:" in outcome.out


def test_version_is_printed(cranfield: Cranfield) -> None:
    assert cranfield("--version").out.startswith("cranfield ")


def test_permuting_lines_changes_no_byte(cranfield: Cranfield, example: Path, tmp_path: Path) -> None:
    rng = random.Random(7)
    for name in ("qrels.txt", "bm25.run"):
        lines = (example / name).read_text().splitlines(keepends=True)
        rng.shuffle(lines)
        (tmp_path / name).write_text("".join(lines))
    for ties in ("trec", "doc-ascending", "rank-column", "expected", "best", "worst"):
        args = ("-q", "--format", "tsv", "--ties", ties, "-m", "AP", "-m", "nDCG", "-m", "Bpref", "-m", "IPrec@.3")
        before = cranfield("eval", example / "qrels.txt", example / "bm25.run", *args)
        after = cranfield("eval", tmp_path / "qrels.txt", tmp_path / "bm25.run", *args)
        assert before.out == after.out, ties


def test_files_and_dicts_give_the_same_numbers(example: Path) -> None:
    from cranfield import evaluate, read_qrels, read_run

    qrels, run = read_qrels(example / "qrels.txt"), read_run(example / "lm.run")
    measures = ["nDCG@10", "AP", "RR", "Rprec", "Bpref", "Judged@10", "InterpolatedAP"]
    from_files = evaluate(qrels, run, measures)
    from_dicts = evaluate(qrels.to_dict(), run.to_dict(), measures)
    for name in measures:
        assert from_files.per_query(name) == from_dicts.per_query(name)


@pytest.mark.soak("mutations")
def test_no_mutation_of_a_file_gives_a_traceback(cranfield: Cranfield, small: Path) -> None:
    rng = random.Random(11)
    originals = {name: (small / name).read_bytes() for name in ("qrels", "one.run")}
    for _ in range(20_000 if SOAK else 500):
        name = rng.choice(list(originals))
        (small / "mutated").write_bytes(mutated(originals[name], rng))
        files = ("mutated", "one.run") if name == "qrels" else ("qrels", "mutated")
        outcome = cranfield("eval", *(small / file for file in files), "--format", "tsv", "--quiet")
        assert outcome.code in (0, 2)
        if outcome.code == 2:
            assert outcome.err.startswith("cranfield: ")
            assert "Traceback" not in outcome.err


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Flip, cut, insert or repeat some bytes."""
    content = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        span = rng.randint(1, 12)
        kind = rng.randrange(4)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del content[at : at + span]
        elif kind == 2:
            content[at:at] = rng.randbytes(span)
        else:
            content[at:at] = content[at : at + span]
    return bytes(content)


DL19 = {"P_10", "map", "ndcg_cut_10", "recip_rank"}


def test_all_runs_of_dl19_match_the_published_scores(cranfield: Cranfield, shared_data: Path) -> None:
    folder = shared_data / "dl19"
    with (folder / "published_scores.tsv").open() as file:
        published = list(csv.DictReader(file, delimiter="\t"))
    assert len(published) == 312
    runs = sorted({row["run"] for row in published})
    files = [folder / "runs" / f"{run}.gz" for run in runs]
    for level in ("1", "2"):
        wanted = {(r["run"], r["measure"]): r["value"] for r in published if r["relevance_level"] == level}
        names = sorted({measure for _, measure in wanted})
        options = [option for name in names for option in ("-m", name)]
        args = ("eval", folder / "qrels.dl19-passage.txt", *files, *options, "--rel", level, "--places", 4)
        found = {(row[0], row[1]): row[3] for row in cranfield(*args, "--format", "tsv").table}
        assert found == wanted


def test_odd_files_get_clear_answers(cranfield: Cranfield, shared_data: Path, tmp_path: Path) -> None:
    odd = shared_data / "odd"
    docs = [line.split() for line in (odd / "float_grades.qrels").read_text().splitlines()]
    run = tmp_path / "run"
    run.write_text("".join(f"{row[0]} Q0 {row[2]} 1 {i} t\n" for i, row in enumerate(docs[:50])))
    assert cranfield("eval", odd / "float_grades.qrels", run).code == 0
    for name, line in (("swapped_columns.run", "line 2"), ("duplicate_docs.run", "line 140")):
        outcome = cranfield("eval", odd / "float_grades.qrels", odd / name)
        assert outcome.code == 2
        assert f"{name}, {line}" in outcome.err


# bounds, risk, other means


def test_bounds_follow_their_measure(cranfield: Cranfield, small: Path) -> None:
    args = ("eval", small / "qrels", small / "one.run", "-m", "P@3", "-m", "RR", "--bounds")
    rows = cranfield(*args, "--format", "tsv").table
    assert [(row[1], float(row[3])) for row in rows] == [
        ("P@3", pytest.approx(1 / 3)),
        ("P@3.low", pytest.approx(1 / 3)),
        ("P@3.high", pytest.approx(2 / 3)),
        ("RR", 0.75),
        ("RR.low", 0.75),
        ("RR.high", 1.0),
    ]
    per_query = cranfield(*args, "-q", "--format", "tsv").table
    assert [row[:3] for row in per_query[3:6]] == [["one.run", "P@3.low", query] for query in ("1", "2", "all")]
    assert "P@3.high" in cranfield(*args, "--format", "latex").out
    scores = json.loads(cranfield(*args, "--format", "json").out)
    assert "outer" not in scores["runs"][0]["scores"]["P@3.low"]
    assert [(m["name"], m.get("part")) for m in scores["measures"][:3]] == [
        ("P@3", None),
        ("P@3.low", "low"),
        ("P@3.high", "high"),
    ]


def test_outer_bounds_are_marked(cranfield: Cranfield, small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for most in ("MOST_CANDIDATES", "MOST_JOINED"):
        monkeypatch.setattr(f"cranfield.evaluation.bounds.{most}", 1)
    args = ("eval", small / "qrels", small / "one.run", "-m", "Rprec", "--bounds")
    record = json.loads(cranfield(*args, "--format", "json", "-q").out)["runs"][0]["scores"]["Rprec.low"]
    assert record["outer"] == {"queries": 2, "which": ["1", "2"]}
    sentence = "one.run: Rprec.low and Rprec.high are outer bounds for 2 of 2 queries."
    for format_ in ("table", "markdown", "latex"):
        assert sentence in cranfield(*args, "--format", format_).out
    for format_ in ("tsv", "csv", "jsonl"):
        assert sentence in cranfield(*args, "--format", format_).err


def test_risk_follows_its_measure(cranfield: Cranfield, small: Path) -> None:
    args = ("eval", small / "qrels", small / "two.run", "-m", "RR", "--against", small / "one.run", "--risk", 1)
    rows = {row[1]: float(row[3]) for row in cranfield(*args, "--format", "tsv").table}
    # two.run loses half of query 1, and all of query 2, which is half there
    assert rows["RR.urisk"] == -1.0
    assert list(rows) == ["RR", "RR.urisk", "RR.georisk"], "both losses are equal, so there is no standard error"
    table = cranfield(*args).out
    assert "RR.trisk" in table and "–" in table
    content = json.loads(cranfield(*args, "--format", "json").out)
    assert content["conventions"]["against"] == "one.run" and content["conventions"]["risk"] == 1
    assert content["runs"][0]["scores"]["RR.trisk"] == {"value": None}
    assert [Path(entry["file"]).name for entry in content["inputs"]] == ["qrels", "two.run", "one.run"]


def test_risk_needs_a_baseline(cranfield: Cranfield, small: Path) -> None:
    outcome = cranfield("eval", small / "qrels", small / "one.run", "--risk", 1)
    assert outcome.code == 2
    assert "--against" in outcome.err


@pytest.mark.parametrize(("mean", "value"), [("geometric", 0.5**0.5), ("median", 0.75)])
def test_every_format_names_another_mean(cranfield: Cranfield, small: Path, mean: str, value: float) -> None:
    args = ("eval", small / "qrels", small / "one.run", "-m", "RR", "--mean", mean)
    tsv = cranfield(*args, "--format", "tsv")
    assert float(tsv.table[0][3]) == pytest.approx(value)
    assert f"mean {mean}" in tsv.err
    for format_ in ("table", "markdown", "latex"):
        out = cranfield(*args, "--format", format_).out
        assert f"mean {mean}" in out and {"geometric": "Geometric mean", "median": "Median"}[mean] in out
    content = json.loads(cranfield(*args, "--format", "json").out)
    assert content["conventions"]["mean"] == mean
    assert content["runs"][0]["scores"]["RR"][mean] == pytest.approx(value)


def test_weights_come_from_a_file(cranfield: Cranfield, small: Path) -> None:
    (small / "weights").write_text("# query\tweight\n1\t3\n2\t1\n")
    args = ("eval", small / "qrels", small / "one.run", "-m", "RR", "--weights", small / "weights")
    assert float(cranfield(*args, "--format", "tsv").table[0][3]) == 3.5 / 4
    assert "Weighted mean" in cranfield(*args).out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\t3\nnonsense\n", "weights, line 2: expected 'query<TAB>weight', found 1 columns"),
        ("1\t3\n2\tx\n", "weights, line 2: weight 'x' is not a decimal number"),
        ("1\t3\n2\t-1\n", "weights, line 2: weight -1 is below 0"),
        ("1\t3\n1\t4\n", "weights, line 2: query '1' has two weights, 3 and 4"),
        ("1\t3\n", "no weight is given for 1 query of the qrels: '2'."),
        ("", "the file is empty"),
    ],
)
def test_bad_weights_are_named_with_their_line(cranfield: Cranfield, small: Path, text: str, message: str) -> None:
    (small / "weights").write_text(text)
    outcome = cranfield("eval", small / "qrels", small / "one.run", "--weights", small / "weights")
    assert outcome.code == 2
    assert message in outcome.err


def test_groups_have_bounds_and_risk_of_their_own(cranfield: Cranfield, small: Path) -> None:
    (small / "groups").write_text("1\tshort\n2\tlong\n")
    args = ("eval", small / "qrels", small / "two.run", "-m", "RR", "--by", small / "groups", "--bounds")
    more = ("--against", small / "one.run", "--risk", 0, "--format", "tsv")
    rows = {(row[1], row[2]): float(row[3]) for row in cranfield(*args, *more).table}
    assert rows["RR.urisk", "all:short"] == rows["RR.urisk", "all:long"] == -0.5
    assert ("RR.trisk", "all:short") not in rows
    assert rows["RR.low", "all:long"] == 0
    assert cranfield(*args, *more[:-1], "table").code == 0


WORDS = "1 0 a relevant\n1 0 b partially\n1 0 c not\n"
MEANING = "relevant=2,Partially=0.5, not=0"


def test_words_stand_for_the_grades_that_are_given(cranfield: Cranfield, small: Path) -> None:
    (small / "words").write_text(WORDS)
    (small / "run").write_text("1 Q0 b 1 2 x\n1 Q0 a 2 1 x\n")
    command = ("eval", small / "words", small / "run", "-m", "CG@2", "--format", "tsv", "--quiet")
    assert cranfield(*command, "--grade-words", MEANING).table == [["run", "CG@2", "all", "2.5"]]
    refused = cranfield(*command)
    assert refused.code == 2 and "--grade-words" in refused.err and "line 1" in refused.err
    converted = cranfield("convert", small / "words", small / "numbers", "--quiet", "--grade-words", MEANING)
    assert converted.code == 0 and (small / "numbers").read_text() == "1 0 a 2\n1 0 b 0.5\n1 0 c 0\n"
    assert cranfield("check", small / "words", "--kind", "qrels").code == 2
    assert cranfield("check", small / "words", "--kind", "qrels", "--grade-words", MEANING).code == 0
    shown = cranfield("explain", "CG@2", small / "words", small / "run", "--query", "1", "--grade-words", MEANING)
    assert "2.5" in shown.out
    asked = cranfield("conventions", "DCG@2", small / "words", small / "run", "--grade-words", MEANING)
    assert asked.code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("relevant", "expected comma-separated WORD=GRADE, found 'relevant'"),
        ("=2", "expected comma-separated WORD=GRADE"),
        ("a=1,", "found ''"),
        ("a=b", "the grade of 'a', 'b' is not a decimal number"),
        ("a=1,A=2", "'A' has two grades, 1 and 2"),
    ],
)
def test_words_without_a_grade_are_an_error(cranfield: Cranfield, small: Path, words: str, message: str) -> None:
    outcome = cranfield("eval", small / "qrels", small / "one.run", "--grade-words", words)
    assert outcome.code == 2 and message in outcome.err
