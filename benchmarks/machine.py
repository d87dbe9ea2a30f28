"""Where and with what figures were made."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Sequence
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine(packages: Sequence[str]) -> str:
    """Date, processor and versions, as a sentence."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    tools = ", ".join(f"{name} {found}" for name in packages if (found := _version(name)))
    return (
        f"Measured on {date.today():%d %B %Y}: {models[0] if models else platform.machine()}, {cores} cores, "
        f"{platform.system()}, Python {platform.python_version()}, {_ours()}, {tools}. The files are in the cache."
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _ours() -> str:
    from cranfield.base.compiled import describe_core

    return f"cranfield {version('cranfield')} ({describe_core()})"
