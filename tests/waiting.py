"""How long tests wait for something that is going to happen.

No test asserts how long something takes: on a busy machine anything may. Where a test waits for a process, a page or a
thread, it gives up after `TIMEOUT`, which is far more than it ever takes. Work that would take hours if its time were
quadratic is ended by `faulthandler_timeout` in pyproject.toml.
"""

from __future__ import annotations

import time
from collections.abc import Callable

TIMEOUT = 600.0  # seconds


def wait_until(condition: Callable[[], object], message: str | Callable[[], str] = "it did not happen") -> None:
    """Wait until a condition holds, and fail with a message if it never does."""
    end = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < end, message() if callable(message) else message
        time.sleep(0.005)
