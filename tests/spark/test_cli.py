"""`cranfield eval --engine spark` prints what `cranfield eval` does."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import socket
import sys
from pathlib import Path

import pytest

from cranfield import read_qrels, read_run, write_qrels, write_run
from cranfield.spark import reading, session
from tests.spark.spark_frames import require_spark, run_command

pytestmark = pytest.mark.spark
EXAMPLE = Path(__file__).parents[2] / "src" / "cranfield" / "example"


def cranfield(*arguments: object, **environment: str):
    return run_command(sys.executable, "-m", "cranfield", *map(str, arguments), **environment)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    require_spark()
    for name in ("qrels.txt", "bm25.run", "lm.run", "lsi.run"):
        shutil.copy(EXAMPLE / name, tmp_path)
    write_run(read_run(tmp_path / "lm.run"), tmp_path / "lm.parquet")
    write_qrels(read_qrels(tmp_path / "qrels.txt"), tmp_path / "qrels.parquet")
    with gzip.open(tmp_path / "lsi.csv.gz", "wt", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["qid", "docno", "score"])
        run = read_run(tmp_path / "lsi.run").to_dict()
        writer.writerows([q, d, repr(s)] for q, docs in run.items() for d, s in docs.items())
    return tmp_path


def test_text_csv_and_parquet_give_the_same_table(files: Path) -> None:
    runs = files / "bm25.run", files / "lm.parquet", files / "lsi.csv.gz"
    local = cranfield(
        "eval", files / "qrels.txt", *runs, "-q", "-m", "nDCG@10", "-m", "AP", "--quiet", "--format", "tsv"
    )
    spark = cranfield(
        "eval", "--engine", "spark", files / "qrels.parquet", *runs, "-q", "-m", "nDCG@10", "-m", "AP", "--quiet",
        "--format", "tsv", "--master", "local[2]",
    )  # fmt: skip
    assert spark.returncode == 0, spark.stderr
    assert spark.stderr == ""
    assert spark.stdout == local.stdout


def test_a_table_says_what_the_local_one_says_and_a_broken_line_is_shown(files: Path) -> None:
    arguments = files / "qrels.txt", files / "bm25.run", "--missing", "skip", "--mean", "geometric"
    local = cranfield("eval", *arguments)
    spark = cranfield("eval", "--engine", "spark", *arguments)
    assert (spark.returncode, spark.stdout) == (0, local.stdout), spark.stderr
    with open(files / "bm25.run", "a") as out:
        out.write("1 Q0 only-three\n")
    broken = cranfield("eval", "--engine", "spark", *arguments)
    assert broken.returncode == 2
    assert "1 row without a query (query is NULL), e.g. (line '1 Q0 only-three'" in broken.stderr
    assert "Traceback" not in broken.stderr


def test_bytes_quotes_and_brackets_are_read_as_on_one_machine(files: Path) -> None:
    (files / "q.txt").write_bytes(b"1 0 caf\xe9 1\n2 0 a\\ 1\n3 0 b\n".replace(b"3 0 b\n", b'3 0 "b 1\n'))
    (files / "r[1].run").write_bytes(b"1 Q0 caf\xe8 1 2 t\n1 Q0 z 2 1 t\n1\tQ0  caf\xe9 3 0.5 t\n2 Q0 a\\ 1 3 t\n")
    (files / "r.csv").write_text('query,doc,score\n2,"a\\",3\n3,"""b",1\n')
    options = "-m", "AP", "-m", "RR", "--format", "json"
    runs = files / "r[1].run", files / "r.csv"
    local = json.loads(cranfield("eval", files / "q.txt", *runs, *options).stdout)
    found = cranfield("eval", "--engine", "spark", files / "q.txt", *runs, *options)
    assert found.returncode == 0, found.stderr
    spark = json.loads(found.stdout)
    assert spark["runs"] == local["runs"]
    for mine, theirs in zip(spark["inputs"], local["inputs"], strict=True):
        assert [mine[key] for key in ("file", "format", "sha256")] == [
            theirs[key] for key in ("file", "format", "sha256")
        ]
    assert f"{runs[1]} was read as csv: the ending of its name." in spark["notes"]


def test_parquet_is_known_by_its_first_bytes_and_patterns_are_spelled_out_by_spark(files: Path) -> None:
    (files / "parts").mkdir()
    shutil.copy(files / "lm.parquet", files / "parts" / "part-00000")
    options = "-m", "AP", "--format", "tsv", "--quiet", "--engine", "spark"
    value = cranfield("eval", files / "qrels.txt", files / "lm.run", *options[:-2]).stdout.split()[-1]
    for path in (f"file://{files}/parts", f"{files}/l?.parquet"):
        found = cranfield("eval", files / "qrels.txt", path, *options)
        assert found.stdout.split()[-1:] == [value], found.stderr


def test_options_go_with_it_and_wrong_columns_are_named(files: Path) -> None:
    """Grades in words, weights, another run, and a folder of Parquet with the runs told apart by a column."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = {"1": "relevant", "2": "highly-relevant"}
    lines = [line.split() for line in (files / "qrels.txt").read_text().splitlines()]
    (files / "words.txt").write_text("".join(f"{q} {i} {d} {words.get(g, g)}\n" for q, i, d, g in lines))
    weights = {query: 1 + i % 3 for i, query in enumerate(dict.fromkeys(line[0] for line in lines))}
    (files / "weights.tsv").write_text("".join(f"{query}\t{weight}\n" for query, weight in weights.items()))
    (files / "runs").mkdir()
    for name in ("bm25", "lm"):
        rows = [
            (name, q, d, s) for q, docs in read_run(files / f"{name}.run").to_dict().items() for d, s in docs.items()
        ]
        columns = dict(zip(("system", "qid", "docid", "score"), zip(*rows, strict=True), strict=True))
        pq.write_table(
            pa.table({key: list(column) for key, column in columns.items()}), files / "runs" / f"{name}.parquet"
        )
    options = "-m", "RBO", "-m", "AP", "--weights", files / "weights.tsv", "--against", files / "lsi.run"
    words_option = "--grade-words", "relevant=1,highly-relevant=2"
    local = cranfield("eval", files / "words.txt", files / "bm25.run", files / "lm.run", *options, *words_option)
    spark = cranfield("eval", "--engine", "spark", files / "words.txt", files / "runs", *options, *words_option)
    assert spark.returncode == 0, spark.stderr
    note = f"{files / 'runs'} was read as parquet: the ending of the names in it.\n"
    assert re.sub(" +", " ", spark.stdout) == re.sub(" +", " ", local.stdout.replace(".run", "")) + note
    (files / "points.csv").write_text("query,doc,points\n1,a,2\n")
    told = cranfield("eval", "--engine", "spark", files / "qrels.txt", files / "points.csv")
    assert told.returncode == 2
    assert "points.csv: the run: no score (looked for score, sim" in told.stderr
    assert "found query, doc, points" in told.stderr and "Traceback" not in told.stderr


def told_at_once(*arguments: object, **environment: str) -> str:
    """What is said on standard error by a command that fails before a Spark is started."""
    told = cranfield("eval", "--engine", "spark", *arguments, **environment)
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.count("\n") == 1
    return told.stderr


QRELS, RUN = EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run"


def test_without_java_one_is_asked_for(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    message = "Spark needs Java 17 or later, and none was found: install one"
    assert message in told_at_once(QRELS, RUN, JAVA_HOME=str(tmp_path))
    assert message in told_at_once(QRELS, RUN, JAVA_HOME="", PATH=str(tmp_path))


def test_without_the_extra_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "pyspark.py").write_text("raise ImportError")
    told = told_at_once(QRELS, RUN, PYTHONPATH=str(tmp_path))
    assert "--engine spark needs an extra: pip install 'cranfield[spark]'" in told


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_master_that_does_not_answer_is_told_at_once(scheme: str) -> None:
    pytest.importorskip("pyspark")
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        master = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        assert f"nobody answers at {master}: Connection refused" in told_at_once("--master", master, QRELS, RUN)


def test_what_needs_no_spark_is_told_before_one_is_started(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    assert "there is no such file" in told_at_once(QRELS, tmp_path / "none.parquet")
    assert "Spark reads files, not standard input." in told_at_once(QRELS, "-")
    assert "nDCQ" in told_at_once(QRELS, RUN, "-m", "nDCQ")
    assert "rows of a Spark frame have no order" in told_at_once(QRELS, RUN, "--ties", "input-order")
    assert "--engine spark reads trec, csv" in told_at_once(QRELS, RUN, "--run-format", "msmarco")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--master", "local[1]"], "--master is for --engine spark."),
        (["--engine", "spark", "--as", "ranx"], "--as is not for --engine spark."),
        (["--engine", "spark", "--bounds"], "--bounds needs all of a run in one place: leave out --engine spark."),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], message: str) -> None:
    told = cranfield("eval", EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run", *arguments)
    assert (told.returncode, message in told.stderr) == (2, True), told.stderr


def test_formats_are_told_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "000.parquet").touch()
    assert reading._format_of("hdfs:///runs/bm25.parquet/", None)[0] == "parquet"
    assert reading._format_of("s3a://bucket/run.csv.gz", None)[0] == "csv"
    assert reading._format_of(str(tmp_path / "part"), None)[0] == "parquet"
    assert reading._format_of("bm25.run.gz", None)[0] == "trec"
    assert reading._format_of("x", "jsonl")[0] == "jsonl"
    with pytest.raises(Exception, match="reads trec, csv, tsv, jsonl, parquet, not msmarco"):
        reading._format_of("x", "msmarco")


def test_only_a_master_on_this_machine_is_bound_to_loopback() -> None:
    for master in ("local[*]", "spark://127.0.0.1:7077", "spark://localhost:7077"):
        assert session._settings(master)["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.driver.bindAddress" not in session._settings("spark://cluster:7077")
    assert "spark.driver.memory" not in session._settings("yarn")
