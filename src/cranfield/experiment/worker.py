"""A process that takes steps, one after the other, as they come on standard input; it ends with the one that asks."""

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
    """Answer every line of standard input, a task, by a line of standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # that is for the one that asks
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what anyone prints is no answer
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(tasks,), daemon=True).start()
    import cranfield.experiment.builders  # noqa: F401  # takes a while, in which nothing is asked yet

    print(json.dumps({"ready": True}), file=answers, flush=True)
    while True:
        print(json.dumps(taken(tasks.get())), file=answers, flush=True)


def taken(task: Task) -> dict[str, Any]:
    """What became of a step: digests of what was made and notes, or an error."""
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
        return {"error": f"this is a mistake of ours, not yours ({what}). CRANFIELD_TRACEBACK=1 shows where."}


def _read(tasks: queue.SimpleQueue[Task]) -> None:
    for line in sys.stdin.buffer:
        tasks.put(json.loads(line))
    os._exit(0)  # nobody asks any more: what is being made would never be put in its place


if __name__ == "__main__":
    main()
