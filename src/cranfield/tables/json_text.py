"""JSON for programs: UTF-8 whatever bytes ids hold, no NaN, and how each record names its inputs and versions."""

from __future__ import annotations

import json
import platform
import re
from importlib.metadata import version
from typing import Any


def dumped(content: Any, indent: int | None = 2) -> str:
    r"""JSON with a line end. Bytes of ids that are not UTF-8 are escaped as single surrogates, so the text is UTF-8.

    >>> dumped({"query": "\udcff", "title": "é"}, indent=None)
    '{"query": "\\udcff", "title": "é"}\n'
    """
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    return re.sub("[\ud800-\udfff]", lambda byte: f"\\u{ord(byte[0]):04x}", text)


def versions(*packages: str) -> dict[str, str]:
    """Which versions made the numbers: ours, those of packages, and Python's."""
    return {name: version(name) for name in ("cranfield", *packages)} | {"python": platform.python_version()}
