"""Processes that have imported everything when they begin, so that thousands can be started and killed in a while.

A mother imports once and forks for every call. Each child is a process of its own, with files, threads and connections
of its own, and is killed as any other. It is the mother who kills: the number of a child that has ended is nobody
else's until she has heard of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOTHER = """
import json, os, signal, sys, traceback
for name in sys.argv[1:]:
    __import__(name)
print("ready", flush=True)
for line in sys.stdin:
    what, *given = json.loads(line)
    if what == "kill":
        os.kill(given[0], signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(given[0], 0)[1]), flush=True)
        continue
    code, out, arguments = given
    child = os.fork()
    if child:
        print(child, flush=True)
        continue
    for number, file, flags in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, out + ".wrong", os.O_WRONLY)):
        os.dup2(os.open(file, flags | os.O_CREAT | os.O_APPEND), number)
    sys.argv = ["-c", *arguments]
    try:
        exec(code, {"__name__": "__main__"})
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
"""


class Forks:
    """A mother and her children. For one thread at a time."""

    def __init__(self, *modules: str) -> None:
        self._mother = subprocess.Popen(
            [sys.executable, "-c", MOTHER, *modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._children: set[int] = set()
        assert self._heard() == "ready"

    def start(self, code: str, out: Path, *arguments: str) -> int:
        """Run code in a new process; what it prints goes to a file, what goes wrong to another beside it."""
        child = int(self._told("start", code, str(out), list(arguments)))
        self._children.add(child)
        return child

    def kill(self, child: int) -> int:
        """SIGKILL, or the exit code of one that had ended by itself."""
        self._children.remove(child)
        return int(self._told("kill", child))

    def close(self) -> None:
        for child in list(self._children):
            self.kill(child)
        self._mother.communicate()

    def __enter__(self) -> Forks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _told(self, *what: object) -> str:
        assert self._mother.stdin is not None
        self._mother.stdin.write(json.dumps(what) + "\n")
        self._mother.stdin.flush()
        return self._heard()

    def _heard(self) -> str:
        assert self._mother.stdout is not None
        return self._mother.stdout.readline().strip()
