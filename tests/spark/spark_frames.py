"""Frames for the tests, and values in a form that can be compared."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from typing import Any

import pytest

from tests.waiting import TIMEOUT

# a Java that lives for a minute or two has no time to optimise
BRIEF = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Spark's Python is this one, and nothing listens but on loopback
ENVIRONMENT = {
    "PYSPARK_PYTHON": sys.executable,
    "PYSPARK_DRIVER_PYTHON": sys.executable,
    "SPARK_LOCAL_IP": "127.0.0.1",
    "SPARK_SUBMIT_OPTS": BRIEF,
    "SPARK_DAEMON_JAVA_OPTS": BRIEF,
}


def java() -> str | None:
    """The Java that Spark would use."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None)


def why_not() -> str | None:
    """Why there is no Spark to test with, if so."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError as error:
        return f"{error.name} is not installed"
    return None if java() else "there is no Java"


def require_spark() -> None:
    if why := why_not():
        pytest.skip(why)


def run_frame(session: Any, runs: dict[str, dict[str, dict[str, float]]], named: bool = True) -> Any:
    """Runs as a frame: {run: {query: {doc: score}}}."""
    rows = [
        (run, query, doc, float(score))
        for run, queries in runs.items()
        for query, docs in queries.items()
        for doc, score in docs.items()
    ]
    frame = session.createDataFrame(rows, "run string, query string, doc string, score double")
    return frame if named else frame.drop("run")


def qrels_frame(session: Any, rows: Any, schema: str = "query string, doc string, grade double") -> Any:
    return session.createDataFrame(list(rows), schema)


def plain_rows(qrels: dict[str, dict[str, float]]) -> list[tuple[str, str, float]]:
    return [(query, doc, float(grade)) for query, grades in qrels.items() for doc, grade in grades.items()]


def values_of(rows: Any) -> dict[tuple[str, str, str], float]:
    """(run, query, measure) -> value."""
    found = {(row["run"], row["query"], row["measure"]): row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def local_values(scores: Any) -> dict[tuple[str, str, str], float]:
    return {
        (run.name, query, label): value
        for run in scores.runs
        for label in scores.labels
        for query, value in scores.per_query(label, run.name).items()
    }


def run_command(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A command that has ended, with all that it started."""
    with subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, **ENVIRONMENT, **environment},
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=TIMEOUT)
        finally:
            end_group(process)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def end_group(process: subprocess.Popen[Any]) -> None:
    """Kill a process that leads a group, and the group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait(TIMEOUT)
