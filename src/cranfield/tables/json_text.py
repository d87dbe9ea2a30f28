"""JSON output: valid UTF-8 whatever bytes ids contain, without NaN; and the versions to record in it."""

from __future__ import annotations

import json
import platform
import re
from importlib.metadata import version
from typing import Any


def dump_json(content: Any, indent: int | None = 2) -> str:
    r"""JSON with a final newline. Bytes of ids that are not UTF-8 are escaped as single surrogates.

    >>> dump_json({"query": "\udcff", "title": "é"}, indent=None)
    '{"query": "\\udcff", "title": "é"}\n'
    """
    text = json.dumps(content, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"
    return re.sub("[\ud800-\udfff]", lambda byte: f"\\u{ord(byte[0]):04x}", text)


def package_versions(*packages: str) -> dict[str, str]:
    """The versions of cranfield, of packages, and of Python."""
    return {name: version(name) for name in ("cranfield", *packages)} | {"python": platform.python_version()}
