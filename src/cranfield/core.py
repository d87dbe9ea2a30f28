"""The compiled core, where there is one; `CRANFIELD_PURE=1` leaves it aside, and the Python twin does the work."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

core: Any = None
if not os.environ.get("CRANFIELD_PURE"):
    try:
        core = import_module("cranfield._core")
    except ImportError:
        core = None


def in_use() -> str:
    """Which of the two is in use, in words."""
    if core is not None:
        return "compiled core"
    asked = " as CRANFIELD_PURE asks" if os.environ.get("CRANFIELD_PURE") else ": the compiled core was not built"
    return f"Python core{asked}"
