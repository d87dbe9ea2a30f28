"""How quickly the workbench answers judges: 50 of them at once, each judging every 2 s for a minute, and how much
memory the server takes. The workspace has 143 systems × 50 topics × 1000 documents, pooled to depth 100.

    python -m benchmarks.workbench [--judges 50] [--seconds 60] [--folder DIR] [--log postgresql://…] [--explore]

Runs and texts are made up, and kept in the folder for the next time. A judge does what the page does: sends a grade
with a key, is given the next document, and fetches what comes after it.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from benchmarks.leave_one_out import made_up_runs
from cranfield.annotation import Settings, open_log
from cranfield.io import write_run
from cranfield.pooling.pool import Pool, write_pool
from cranfield.workbench.accounts import Accounts, load_token_key
from cranfield.workbench.app_state import AppState, DataSource
from cranfield.workbench.passwords import Cost
from cranfield.workbench.security import AllowedHosts

WORDS = (
    "wheel brake chain pedal saddle tyre lamp bell road hill rain wind gear spoke frame fork rim tube pump lock".split()
)


def main() -> None:
    options = _options()
    folder = Path(options.folder or tempfile.mkdtemp(prefix="workbench-"))
    make_workspace(folder, options)
    log = options.log or str(folder / "pool.judgments.db")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    judges, coordinator = signed_in(log, port, options)
    call = [sys.executable, "-m", "cranfield", "serve", str(folder), "--log", log, "--port", str(port), "--quiet"]
    print(f"load before: {os.getloadavg()[0]:.1f}")
    with served(call) as server:
        measure(judges, options.seconds, server.pid)
        if options.explore:
            evaluated(port, coordinator)
    if options.explore:
        with served(call) as server:
            first_pages(port, coordinator, server.pid)
    print(f"load after: {os.getloadavg()[0]:.1f}")


@contextmanager
def served(call: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A server in a process of its own, as long as it is needed."""
    started = time.perf_counter()
    server = subprocess.Popen(call, stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None and server.stdout.readline().startswith(b"http")
        print(f"started in {time.perf_counter() - started:.1f} s")
        yield server
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def evaluated(port: int, cookie: str) -> None:
    """Wait until the server has evaluated all runs; from then on results are kept."""
    end = time.monotonic() + 600
    while page(port, cookie, "/leaderboard.json")[1] != 200:
        assert time.monotonic() < end
        time.sleep(0.5)


def first_pages(port: int, cookie: str, process: int) -> None:
    """How long the first page takes of a server that was started anew, and the same again."""
    for which in ("first", "second"):
        ms, status = page(port, cookie, "/leaderboard")
        print(f"leaderboard, {which} time: {ms:.0f} ms, status {status}")
    print(f"judging page: {page(port, cookie, '/judge')[0]:.0f} ms")
    print(f"memory of the server: {memory_of(process) / 2**20:.0f} MB")


def page(port: int, cookie: str, path: str) -> tuple[float, int]:
    """How many milliseconds a page takes, and the status of the answer."""
    started = time.perf_counter()
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    line.request("GET", path, headers={"cookie": f"cranfield_session={cookie}"})
    answer = line.getresponse()
    answer.read()
    line.close()
    return 1000 * (time.perf_counter() - started), answer.status


def measure(judges: list[Judge], seconds: float, process: int) -> None:
    threads = [threading.Thread(target=judge.run, args=(seconds,)) for judge in judges]
    for thread in threads:
        thread.start()
    most = 0
    while any(thread.is_alive() for thread in threads):
        most = max(most, memory_of(process))
        time.sleep(0.5)
    for name in ("next", "save", "ahead", "all of these"):
        times = np.array([ms for judge in judges for what, ms in judge.times if name in (what, "all of these")])
        p50, p95, p99 = np.percentile(times, [50, 95, 99])
        print(
            f"{name}: {len(times):,} requests, p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f}, max {times.max():.1f}"
        )
    print(f"wrong answers: {sum(judge.wrong for judge in judges)}")
    print(f"memory of the server: {most / 2**20:.0f} MB at most")


class Judge:
    """An assessor who judges by HTTP every so many seconds."""

    def __init__(self, port: int, cookie: str, token: str, every: float, seed: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self._headers = {
            "cookie": f"cranfield_session={cookie}",
            "x-csrf-token": token,
            "content-type": "application/json",
        }
        self._every, self._rng = every, random.Random(seed)
        self.times: list[tuple[str, float]] = []
        self.wrong = 0

    def run(self, seconds: float) -> None:
        time.sleep(self._rng.uniform(0, self._every))  # people do not begin all at once
        end = time.monotonic() + seconds
        item = self._ask("next", {})["item"]
        while time.monotonic() < end:
            due = time.monotonic() + self._every
            act = {"kind": "judge", "query": item["query"], "place": item["place"], "grade": self._rng.randrange(4)}
            item = self._ask("save", act | {"key": uuid4().hex, "active_ms": 1900, "method": "key"})["next"]
            if item is None:
                item = self._ask("next", {})["item"]
            self._ask("ahead", None, f"?query={item['query']}&place={item['place']}")
            time.sleep(max(0.0, due - time.monotonic()))
        self._line.close()

    def _ask(self, what: str, body: dict[str, Any] | None, more: str = "") -> Any:
        started = time.perf_counter()
        method, content = ("GET", None) if body is None else ("POST", json.dumps(body))
        self._line.request(method, f"/api/judging/{what}{more}", content, self._headers)
        answer = self._line.getresponse()
        found = json.loads(answer.read())
        self.times.append((what, 1000 * (time.perf_counter() - started)))
        self.wrong += answer.status != 200
        return found


def signed_in(log: str, port: int, options: argparse.Namespace) -> tuple[list[Judge], str]:
    """Judges who have signed in already, and the cookie of a coordinator who has."""
    with open_log(log) as opened:
        opened.configure(Settings(judgments=2, repeats=0.05))
        accounts = Accounts(opened.database, Cost(4, 8, 1))
        app_state = AppState(DataSource(), AllowedHosts(), load_token_key(opened.database))
        user = accounts.accept(accounts.invite("coordinator", "coordinator"), "password of this run")
        coordinator = accounts.start_session(user)
        found = []
        for n in range(options.judges):
            user = accounts.accept(accounts.invite(f"judge{n}"), "password of this run")
            cookie = accounts.start_session(user)
            found.append(Judge(port, cookie, app_state.make_token(cookie), options.every, n))
    return found, coordinator


def make_workspace(folder: Path, options: argparse.Namespace) -> None:
    """Runs, a pool, topics and texts, where they are not there yet."""
    if (folder / "cranfield.toml").exists():
        return
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    pooled: dict[str, dict[str, None]] = {}
    names, docs = [], set[str]()
    for run in made_up_runs(options.systems, options.topics, options.depth, 1):
        name = f"system{len(names) + 1}"
        names.append(name)
        write_run(run, folder / "runs" / f"{name}.run", "trec")
        for query, own in run.to_dict().items():
            docs |= own.keys()
            pooled.setdefault(query, {}).update(dict.fromkeys(sorted(own, key=lambda doc: -own[doc])[: options.pool]))
    write_pool(Pool({query: tuple(own) for query, own in pooled.items()}), folder / "pool.jsonl")
    rng = random.Random(1)
    with open(folder / "documents.jsonl", "w") as out:
        for doc in sorted(docs):
            text = " ".join(rng.choices(WORDS, k=300))
            out.write(json.dumps({"id": doc, "title": f"About {doc}", "text": text}) + "\n")
    with open(folder / "topics.jsonl", "w") as out:
        for query in pooled:
            out.write(json.dumps({"id": query, "title": " ".join(rng.sample(WORDS, 3)), "description": "?"}) + "\n")
    with open(folder / "qrels.txt", "w") as out:
        out.writelines(f"{q} 0 {doc} {rng.randrange(3)}\n" for q, own in pooled.items() for doc in own)
    systems = "".join(f"{name} = {{ run = 'runs/{name}.run' }}\n" for name in names)
    (folder / "cranfield.toml").write_text(
        "title = 'Made up'\n[collection]\ndocuments = 'documents.jsonl'\ntopics = 'topics.jsonl'\nqrels = 'qrels.txt'\n"
        f"[systems]\n{systems}[judging]\n"
    )


def memory_of(process: int) -> int:
    with open(f"/proc/{process}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judges", type=int, default=50)
    parser.add_argument("--every", type=float, default=2.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--systems", type=int, default=143)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--depth", type=int, default=1000)
    parser.add_argument("--pool", type=int, default=100)
    parser.add_argument("--folder")
    parser.add_argument("--log")
    parser.add_argument("--explore", action="store_true", help="time the first page of exploring, too")
    return parser.parse_args()


if __name__ == "__main__":
    main()
