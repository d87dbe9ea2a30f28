"""pytrec_eval in a process of its own: it may crash or hang, and then is ended and started again."""

from __future__ import annotations

import json
import select
import subprocess
import sys
from typing import Any


class Oracle:
    """Answers what trec_eval 9 says about qrels and a run."""

    def __init__(self, seconds: float = 20.0) -> None:
        self.seconds = seconds
        self.process: subprocess.Popen[bytes] | None = None

    def ask(self, qrels: Any, run: Any, measures: list[str], level: int = 1) -> dict[str, dict[str, float]] | None:
        """{query: {measure: value}}, or None where it gave no answer in time."""
        process = self._started()
        assert process.stdin and process.stdout
        try:
            process.stdin.write(json.dumps([qrels, run, measures, level]).encode() + b"\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], self.seconds)
            line = process.stdout.readline() if ready else b""
        except BrokenPipeError:
            line = b""
        if not line.endswith(b"\n"):
            self.close()
            return None
        answer: dict[str, dict[str, float]] = json.loads(line)
        return answer

    def close(self) -> None:
        """End the process, if there is one."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _started(self) -> subprocess.Popen[bytes]:
        if self.process is None:
            command = [sys.executable, __file__]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        return self.process


def serve() -> None:
    """Answer each line of the input by one of output."""
    import pytrec_eval

    for line in sys.stdin:
        qrels, run, measures, level = json.loads(line)
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(measures), relevance_level=level)
        print(json.dumps(evaluator.evaluate(run)), flush=True)


if __name__ == "__main__":
    serve()
