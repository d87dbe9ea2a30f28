"""A real cluster (a master and two workers on loopback), one of its workers killed, and Spark Connect."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cranfield import evaluate
from cranfield.measures import all_measures
from cranfield.stats.paired import t_test
from tests.measures.cases import full_case
from tests.spark.spark_frames import ENVIRONMENT, end_group, local_values, require_spark, run_command
from tests.waiting import TIMEOUT, wait_until

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "src" / "cranfield" / "example"
MEASURES = [kind.plain() for kind in all_measures() if kind.__module__.startswith("cranfield.")]


class Cluster:
    """A standalone master and its workers, each a process group of its own."""

    def __init__(self, folder: Path) -> None:
        import pyspark

        self.folder, self.home = folder, Path(pyspark.__file__).parent
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.master = f"spark://127.0.0.1:{free_port()}"

    def start(self) -> None:
        self._start("master", "master.Master", "--port", self.master.rpartition(":")[2])
        self._wait_for("master", "I have been elected leader")
        workers = ("worker1", "worker2")
        for name in workers:
            self._start(name, "worker.Worker", "-c", "1", "-m", "1200m", "-d", str(self.folder / name), self.master)
        for name in workers:
            self._wait_for(name, "Successfully registered with master")

    def _start(self, name: str, kind: str, *arguments: str) -> None:
        command = [str(self.home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        environment = {**os.environ, **ENVIRONMENT, "SPARK_HOME": str(self.home), "SPARK_DAEMON_MEMORY": "256m"}
        # its input ends with these tests, however they end, and then all of its group does
        until_then = ["bash", "-c", '"$@" </dev/null & read -r; kill -9 0', "until-then"]
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(
                [*until_then, *command, "--host", "127.0.0.1", "--webui-port", "0", *arguments],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                start_new_session=True,
            )

    def _wait_for(self, name: str, text: str) -> None:
        log = self.folder / f"{name}.log"
        wait_until(
            lambda: text in log.read_text(errors="replace"),
            lambda: f"{name} did not start:\n{log.read_text(errors='replace')}",
        )

    def stop(self) -> None:
        for process in self.processes.values():
            end_group(process)
            assert process.stdin is not None
            process.stdin.close()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    require_spark()
    made = Cluster(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def drive(folder: Path, *arguments: str, on_running: Any = None) -> dict[str, Any]:
    """What the driver reports."""
    command = [sys.executable, "-m", "tests.spark.on_a_cluster", *arguments]
    found: dict[str, Any] = {}
    with (
        open(folder / "driver.log", "w+") as log,
        subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        ) as driver,
    ):
        patience = threading.Timer(TIMEOUT, end_group, [driver])
        patience.start()
        try:
            assert driver.stdout is not None
            for line in driver.stdout:
                if line == "RUNNING\n":
                    on_running()
                elif line.startswith("{"):
                    found |= json.loads(line)
            driver.wait(TIMEOUT)
        finally:
            patience.cancel()
            end_group(driver)
        log.seek(0)
        assert driver.returncode == 0, log.read()[-3000:]
    return found


def check_every_measure(found: dict[str, Any]) -> None:
    case = full_case(2, scores=5, queries=8, least=1)
    extras = {name: getattr(case.extras, name) for name in ("against", "doc_lengths", "duplicates", "facts")}
    local = evaluate(case.qrels(), {"run": case.run}, MEASURES, **extras)
    values = {(run, query, measure): float.fromhex(value) for run, query, measure, value in found["values"]}
    assert values == local_values(local)
    assert {name: float.fromhex(mean) for name, mean in found["means"].items()} == local.summary()["run"]
    assert found["notes"] == list(local.notes)


def grades_of(rows: Any) -> dict[str, dict[str, float]]:
    qrels: dict[str, dict[str, float]] = {}
    for query, doc, grade, *_ in rows:
        qrels.setdefault(query, {})[doc] = grade
    return qrels


def test_a_cluster_has_the_same_bits_and_goes_on_without_a_killed_worker(cluster: Cluster, tmp_path: Path) -> None:
    def kill() -> None:
        os.killpg(cluster.processes["worker1"].pid, signal.SIGKILL)

    found = drive(tmp_path, cluster.master, "every", "slow", on_running=kill)
    check_every_measure(found)
    assert cluster.processes["worker1"].wait(TIMEOUT) == -signal.SIGKILL
    assert found["executors"] == [2, 1]
    case = full_case(3, queries=60, least=1, scores=None)
    local = evaluate(grades_of(case.rows), {"run": case.run}, ["nDCG@10", "AP"])
    assert {name: float.fromhex(mean) for name, mean in found["slow"].items()} == local.summary()["run"]
    # and the command on what is left of it
    files = EXAMPLE / "qrels.txt", EXAMPLE / "lm.run"
    arguments = [sys.executable, "-m", "cranfield", "eval", *map(str, files), "--format", "json"]
    on_cluster = run_command(*arguments, "--engine", "spark", "--master", cluster.master)
    assert on_cluster.returncode == 0, on_cluster.stderr
    here = json.loads(run_command(*arguments).stdout)
    assert json.loads(on_cluster.stdout)["runs"] == here["runs"]


def test_spark_connect_has_the_same_bits(tmp_path: Path) -> None:
    require_spark()
    pytest.importorskip("grpc")
    found = drive(tmp_path, "connect:local[2]", "every", "compare", "bad")
    check_every_measure(found)
    qrels = grades_of(row[:3] for row in full_case(3, queries=8).rows)
    runs = {"a": full_case(2, queries=8, least=1).run, "b": full_case(4, queries=8, least=1).run}
    local = evaluate(qrels, runs, ["AP"])
    expected = t_test(local.per_query("AP", "b"), local.per_query("AP", "a"))
    n, p, _ = found["compared"]
    assert (n, float.fromhex(p)) == (expected.n, expected.pvalue)
    assert found["bad"].startswith("the run: 1 row without a query (query is NULL), e.g. (query None, doc 'a', score")
