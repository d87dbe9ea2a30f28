"""The compiled core, where there is one; `CRANFIELD_PURE=1` leaves it aside, and the Python twin does the work."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from cranfield.base.ids import sort_naturally

core: Any = None
if not os.environ.get("CRANFIELD_PURE"):
    try:
        core = import_module("cranfield.base._core")
    except ImportError:
        core = None


def describe_core() -> str:
    """Which of the two is in use, in words."""
    if core is not None:
        return "compiled core"
    asked = " as CRANFIELD_PURE asks" if os.environ.get("CRANFIELD_PURE") else ": the compiled core was not built"
    return f"Python core{asked}"


def sort_judgments(judgments: Any) -> Any:
    """The core's judgments with their queries in natural order (2 before 10)."""
    queries = judgments.queries()
    ordered = sort_naturally(queries)
    if ordered == queries:
        return judgments
    number = {query: i for i, query in enumerate(queries)}
    return judgments.arranged([number[query] for query in ordered])
