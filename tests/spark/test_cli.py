"""`cranfield eval --engine spark` prints what `cranfield eval` does."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield import read_qrels, read_run, write_qrels, write_run
from cranfield.spark import reading, session
from tests.cli.conftest import Cranfield, Outcome
from tests.cli.conftest import cranfield as cranfield
from tests.spark.conftest import SETTINGS
from tests.spark.spark_frames import require_spark, run_command

pytestmark = pytest.mark.spark
EXAMPLE = Path(__file__).parents[2] / "src" / "cranfield" / "example"


def in_a_process(*arguments: object, **environment: str) -> Outcome:
    done = run_command(sys.executable, "-m", "cranfield", *map(str, arguments), **environment)
    return Outcome(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def on_spark(spark: Any, cranfield: Cranfield, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cranfield]:
    """Call the command with the session that all tests share."""
    monkeypatch.setattr(type(spark), "stop", lambda self: self.catalog.clearCache())
    yield lambda *arguments: cranfield("eval", "--engine", "spark", *arguments)
    spark.conf.set("spark.sql.shuffle.partitions", SETTINGS["spark.sql.shuffle.partitions"])
    spark.sparkContext.setLogLevel("OFF")


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
    local = in_a_process(
        "eval", files / "qrels.txt", *runs, "-q", "-m", "nDCG@10", "-m", "AP", "--quiet", "--format", "tsv"
    )
    spark = in_a_process(
        "eval", "--engine", "spark", files / "qrels.parquet", *runs, "-q", "-m", "nDCG@10", "-m", "AP", "--quiet",
        "--format", "tsv", "--master", "local[2]",
    )  # fmt: skip
    assert spark.code == 0, spark.err
    assert spark.err == ""
    assert spark.out == local.out


def test_a_table_says_what_the_local_one_says_and_a_broken_line_is_shown(
    files: Path, cranfield: Cranfield, on_spark: Cranfield
) -> None:
    arguments = files / "qrels.txt", files / "bm25.run", "--missing", "skip", "--mean", "geometric"
    local = cranfield("eval", *arguments)
    spark = on_spark(*arguments)
    assert (spark.code, spark.out) == (0, local.out), spark.err
    with open(files / "bm25.run", "a") as out:
        out.write("1 Q0 only-three\n")
    broken = on_spark(*arguments)
    assert broken.code == 2
    assert "1 row without a query (query is NULL), e.g. (line '1 Q0 only-three'" in broken.err
    assert "Traceback" not in broken.err


def test_bytes_quotes_and_brackets_are_read_as_on_one_machine(
    files: Path, cranfield: Cranfield, on_spark: Cranfield
) -> None:
    (files / "q.txt").write_bytes(b"1 0 caf\xe9 1\n2 0 a\\ 1\n3 0 b\n".replace(b"3 0 b\n", b'3 0 "b 1\n'))
    (files / "r[1].run").write_bytes(b"1 Q0 caf\xe8 1 2 t\n1 Q0 z 2 1 t\n1\tQ0  caf\xe9 3 0.5 t\n2 Q0 a\\ 1 3 t\n")
    (files / "r.csv").write_text('query,doc,score\n2,"a\\",3\n3,"""b",1\n')
    options = "-m", "AP", "-m", "RR", "--format", "json"
    runs = files / "r[1].run", files / "r.csv"
    local = json.loads(cranfield("eval", files / "q.txt", *runs, *options).out)
    found = on_spark(files / "q.txt", *runs, *options)
    assert found.code == 0, found.err
    spark = json.loads(found.out)
    assert spark["runs"] == local["runs"]
    for mine, theirs in zip(spark["inputs"], local["inputs"], strict=True):
        assert [mine[key] for key in ("file", "format", "sha256")] == [
            theirs[key] for key in ("file", "format", "sha256")
        ]
    assert f"{runs[1]} was read as csv: the ending of its name." in spark["notes"]


def test_parquet_is_known_by_its_first_bytes_and_patterns_are_spelled_out_by_spark(
    files: Path, cranfield: Cranfield, on_spark: Cranfield
) -> None:
    (files / "parts").mkdir()
    shutil.copy(files / "lm.parquet", files / "parts" / "part-00000")
    options = "-m", "AP", "--format", "tsv", "--quiet"
    value = cranfield("eval", files / "qrels.txt", files / "lm.run", *options).out.split()[-1]
    for path in (f"file://{files}/parts", f"{files}/l?.parquet"):
        found = on_spark(files / "qrels.txt", path, *options)
        assert found.out.split()[-1:] == [value], found.err


def test_options_go_with_it_and_wrong_columns_are_named(files: Path, cranfield: Cranfield, on_spark: Cranfield) -> None:
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
    spark = on_spark(files / "words.txt", files / "runs", *options, *words_option)
    assert spark.code == 0, spark.err
    note = f"{files / 'runs'} was read as parquet: the ending of the names in it.\n"
    assert re.sub(" +", " ", spark.out) == re.sub(" +", " ", local.out.replace(".run", "")) + note
    (files / "points.csv").write_text("query,doc,points\n1,a,2\n")
    told = on_spark(files / "qrels.txt", files / "points.csv")
    assert told.code == 2
    assert "points.csv: the run: no score (looked for score, sim" in told.err
    assert "found query, doc, points" in told.err and "Traceback" not in told.err


@pytest.fixture
def told(cranfield: Cranfield) -> Callable[..., str]:
    """What is said on standard error by a command that fails before a Spark is started."""

    def call(*arguments: object) -> str:
        done = cranfield("eval", "--engine", "spark", *arguments)
        assert (done.code, done.out) == (2, "") and done.err.count("\n") == 1
        return done.err

    return call


Told = Callable[..., str]
QRELS, RUN = EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run"


def test_without_java_one_is_asked_for(told: Told, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    message = "Spark needs Java 17 or later, and none was found: install one"
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert message in told(QRELS, RUN)
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert message in told(QRELS, RUN)


def test_without_the_extra_it_is_named(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark.errors", None)
    assert "--engine spark needs an extra: pip install 'cranfield[spark]'" in told(QRELS, RUN)


@pytest.mark.parametrize("scheme", ["spark", "sc"])
def test_a_master_that_does_not_answer_is_told(told: Told, scheme: str) -> None:
    pytest.importorskip("pyspark")
    with socket.socket() as taken:  # and nobody listens
        taken.bind(("127.0.0.1", 0))
        master = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        assert f"nobody answers at {master}: Connection refused" in told("--master", master, QRELS, RUN)


def test_what_needs_no_spark_is_told_before_one_is_started(told: Told, tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    assert "there is no such file" in told(QRELS, tmp_path / "none.parquet")
    assert "Spark reads files, not standard input." in told(QRELS, "-")
    assert "nDCQ" in told(QRELS, RUN, "-m", "nDCQ")
    assert "rows of a Spark frame have no order" in told(QRELS, RUN, "--ties", "input-order")
    assert "--engine spark reads trec, csv" in told(QRELS, RUN, "--run-format", "msmarco")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--master", "local[1]"], "--master needs --engine spark."),
        (["--engine", "spark", "--as", "ranx"], "--as cannot be used with --engine spark."),
        (["--engine", "spark", "--bounds"], "--bounds needs all of a run in one place: leave out --engine spark."),
    ],
)
def test_options_that_do_not_go_together(cranfield: Cranfield, arguments: list[str], message: str) -> None:
    told = cranfield("eval", EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run", *arguments)
    assert (told.code, message in told.err) == (2, True), told.err


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
