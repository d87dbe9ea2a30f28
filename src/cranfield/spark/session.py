"""A Spark of the command's own. (The library takes the session of the caller's frames.)"""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit

from cranfield.base import count_cores
from cranfield.errors import CranfieldError, MissingExtra

T = TypeVar("T")
_TICK, _PATIENCE = 0.2, 30.0  # seconds: between two looks at tasks, and without any before that is said
_JAVA = (
    "Spark needs Java 17 or later, and none was found: install one (on Debian: apt-get install "
    "openjdk-17-jre-headless), or say where it is with JAVA_HOME."
)


@contextmanager
def opened(master: str | None, jobs: int | None = None) -> Iterator[Any]:
    """A session on a master (`jobs` cores of this machine, or all, if none is named), stopped in the end."""
    try:
        import pyarrow  # noqa: F401
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtra("--engine spark", "spark") from None
    from py4j.protocol import Py4JError

    builder: Any = SparkSession.builder
    master = master or f"local[{jobs or '*'}]"
    _require_answer(master)
    with tempfile.TemporaryFile() as log:
        try:
            if master.startswith("sc://"):
                session = builder.remote(master).getOrCreate()
            else:
                session = _classic(builder.appName("cranfield"), master, log)
        except CranfieldError:
            raise
        except Exception as error:
            raise CranfieldError(f"Spark did not start: {_told(error)}{_last_words(log)}") from None
        try:
            yield session
        except (PySparkException, Py4JError) as error:
            raise CranfieldError(f"Spark: {_told(error)}") from None
        finally:
            with suppress(Exception):  # a cluster that is gone is stopped
                session.stop()


def _require_answer(master: str) -> None:
    """Somebody must listen where a master is said to be: Spark itself would try for minutes."""
    if not master.startswith(("spark://", "sc://")):
        return
    standard = 7077 if master.startswith("spark://") else 15002
    addresses = master.partition("://")[2].partition("/")[0].split(",")
    failed = ""
    for address in addresses:
        try:
            place = urlsplit(f"//{address}")
            with socket.create_connection((place.hostname or "", place.port or standard), timeout=10):
                return
        except (OSError, ValueError) as error:
            failed = getattr(error, "strerror", None) or str(error)
    raise CranfieldError(f"nobody answers at {master}: {failed}. Is Spark running there?")


def _classic(builder: Any, master: str, log: Any) -> Any:
    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=os.path.join(home, "bin") if home else None):
        raise CranfieldError(_JAVA)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    for name, value in _settings(master).items():
        builder = builder.config(name, value)
    with _errors_to(log):
        session = builder.master(master).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def _settings(master: str) -> dict[str, str]:
    """What a session of one command needs; SPARK_CONF_DIR and its spark-defaults.conf say the rest."""
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    host = urlsplit(master).hostname
    if master.startswith("local") or host in ("localhost", "127.0.0.1", "::1"):
        # nobody else needs to reach the driver
        settings |= {"spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    if master.startswith("local"):
        settings["spark.driver.memory"] = f"{_memory()}m"  # which is that of the executors, too
        settings["spark.sql.shuffle.partitions"] = str(4 * count_cores())  # Spark's 200 are for a cluster
    return settings


def _memory() -> int:
    """A quarter of this machine's memory in MB, but from 1 to 8 GB: Python's processes need their share as well."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
    except (AttributeError, ValueError, OSError):
        total = 8 << 10
    return min(max(total // 4, 1 << 10), 8 << 10)


@contextmanager
def _errors_to(log: Any) -> Iterator[None]:
    """What is started here writes its errors to a file: Java says much that is of no use."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _told(error: Exception) -> str:
    """What an error says, in one line: Spark's are followed by pages."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    if "Python worker" in lines[0]:  # what was raised there stands at the end
        return next((line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception)\b", line)), lines[0])
    if lines[0].startswith("An error occurred while calling"):  # the other side's own words follow
        return lines[1].lstrip(": ") if len(lines) > 1 else lines[0]
    return lines[0]


def _last_words(log: Any) -> str:
    log.seek(0)
    lines = [
        line.strip()
        for line in log.read().decode(errors="replace").splitlines()
        if "Exception" in line or "Error" in line
    ]
    return f" ({lines[-1]:.300})" if lines else ""


def ticking(session: Any, work: Callable[[], T], found: list[T], tell: Callable[[str], None]) -> Iterator[int]:
    """Do some work on Spark, and meanwhile give something for each task that is done; the outcome goes to `found`."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            found.append(work())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    done: dict[int, int] = {}  # tasks by stage
    waited = 0.0
    while thread.is_alive():
        thread.join(_TICK)
        before = sum(done.values())
        done |= _tasks(session, "numCompletedTasks")
        yield from range(before, sum(done.values()))
        running = _tasks(session, "numActiveTasks")
        waited = waited + _TICK if running and not any(running.values()) else 0.0
        if _PATIENCE <= waited < _PATIENCE + _TICK:
            tell(f"Spark has run no task for {_PATIENCE:g} seconds: has the cluster free cores and memory?")
    if failed:
        raise failed[0]


def _tasks(session: Any, which: str) -> dict[int, int]:
    """How many tasks of the stages at work are done, or run; none where Spark does not tell, as over Connect."""
    try:
        tracker = session.sparkContext.statusTracker()
        stages = {stage: tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()}
    except Exception:
        return {}
    return {stage: getattr(info, which) for stage, info in stages.items() if info is not None}
