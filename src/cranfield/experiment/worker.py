"""A process that runs the steps it reads from standard input, one after the other; it ends with its parent."""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from cranfield.errors import CranfieldError, MissingExtra

Task = dict[str, Any]


def main() -> None:
    """Write a line to standard output, the result, for every line of standard input, a task."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it
    results = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a step prints is no result
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(tasks,), daemon=True).start()
    from cranfield.experiment.builders import MAKERS  # noqa: F401  # slow, so before the first task

    print(json.dumps({"ready": True}), file=results, flush=True)
    while True:
        print(json.dumps(run_step(tasks.get())), file=results, flush=True)


def run_step(task: Task) -> dict[str, Any]:
    """Digests of what a step made and its notes, or an error."""
    from cranfield.experiment.builders import MAKERS
    from cranfield.experiment.fingerprints import digest_of

    into = Path(task["into"])
    try:
        into.mkdir(parents=True)
        notes = MAKERS[task["kind"]](task, into)
        digests = [digest_of(into / os.path.basename(output)) for output in task["outputs"]]
        return {"digests": digests, "notes": notes}
    except CranfieldError as error:
        message = str(error).replace(f"{into}{os.sep}", "")
        return {"error": message, "extra": isinstance(error, MissingExtra)}
    except OSError as error:
        return {"error": f"cannot be made: {error.strerror or error}."}
    except MemoryError:
        return {"error": "not enough memory for this."}
    except Exception as error:
        if os.environ.get("CRANFIELD_TRACEBACK"):
            import traceback

            traceback.print_exc()
        what = f"{type(error).__name__}: {error}"
        return {"error": f"internal error, please report it ({what}). Set CRANFIELD_TRACEBACK=1 to see where."}


def _read(tasks: queue.SimpleQueue[Task]) -> None:
    for line in sys.stdin.buffer:
        tasks.put(json.loads(line))
    os._exit(0)  # the parent has ended: what is being made would never be put in its place


if __name__ == "__main__":
    main()
