"""The header of a run: what made it, of what, as ir_metadata has it (Breuer, Keller, Schaer, SIGIR 2022).

The six parts are those of PRIMAD: platform, research goal, implementation, method, actor, data. Nothing in them changes
from one making to the next: no date, no machine, no folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

START, END = "# ir_metadata.start", "# ir_metadata.end"
LIBRARIES = ("cranfield", "numpy", "scipy")


def header(task: Mapping[str, Any], method: Mapping[str, Any]) -> bytes:
    """The lines before a run's own, each a comment."""
    content = {"tag": task["settings"]["tag"], **_parts(task, method)}
    lines = [START, *(f"# {line}" for line in as_yaml(content)), END]
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "surrogateescape")


def as_yaml(content: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """Mappings, lists and plain values as lines of YAML.

    >>> list(as_yaml({"tag": "bm25", "method": {"automatic": True, "retrieval": [{"name": "bm25", "b": 0.75}]}}))
    ['tag: "bm25"', 'method:', '  automatic: true', '  retrieval:', '    - name: "bm25"', '      b: 0.75']
    """
    for key, value in content.items():
        yield from _entry(f"{indent}{key}:", value, indent)


def _entry(start: str, value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield start
        yield from as_yaml(value, f"{indent}  ")
    elif isinstance(value, (list, tuple)) and value:
        yield start
        yield from _items(value, f"{indent}  ")
    else:
        yield f"{start} {_scalar(value)}"


def _items(values: Sequence[Any], indent: str) -> Iterator[str]:
    for value in values:
        if isinstance(value, Mapping) and value:
            first, *rest = as_yaml(value, f"{indent}  ")
            yield f"{indent}- {first.lstrip()}"
            yield from rest
        else:
            yield f"{indent}- {_scalar(value)}"


def _scalar(value: Any) -> str:
    """A value in JSON, which YAML takes; line ends that only YAML knows are escaped."""
    text = json.dumps(value, ensure_ascii=False)
    return "".join(f"\\u{ord(char):04x}" if char in "\x85\u2028\u2029\ufeff" else char for char in text)


def _parts(task: Mapping[str, Any], method: Mapping[str, Any]) -> dict[str, Any]:
    about = task["settings"]["about"]
    named = {"name": about["collection"], "source": about["documents"], "topics": about["topics"]}
    return {
        "actor": about["actor"],
        "platform": {"software": {"libraries": {"python": [f"{name} {version(name)}" for name in LIBRARIES]}}},
        "research goal": {"title": about["title"]} if about["title"] else {},
        "implementation": {"executable": {"cmd": "cranfield experiment"}, "source": {"lang": "python"}},
        "method": {"automatic": True, **method},
        "data": {
            "test collection": {key: value for key, value in named.items() if value},
            "sha256": task["inputs"],
        },
    }
