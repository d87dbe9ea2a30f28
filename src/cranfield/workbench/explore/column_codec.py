"""Columns of numbers as bytes: a short header, then the arrays as they are in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

_ALIGNMENT = 8


def pack(about: Mapping[str, Any], **columns: Any) -> bytes:
    """Encode columns, with information about them.

    >>> about, columns = unpack(pack({"run": "a"}, rank=np.array([1, 2])))
    >>> about["run"], columns["rank"].tolist()
    ('a', [1, 2])
    """
    arrays = {name: np.ascontiguousarray(column) for name, column in columns.items()}
    layout, offset = {}, 0
    for name, array in arrays.items():
        layout[name] = [array.dtype.str, len(array), offset]
        offset += _padded(array.nbytes)
    head = json.dumps({"about": dict(about), "columns": layout}).encode()
    head = head.ljust(_padded(len(head)))
    parts = [len(head).to_bytes(_ALIGNMENT, "little"), head]
    parts += [array.tobytes().ljust(_padded(array.nbytes), b"\0") for array in arrays.values()]
    return b"".join(parts)


def unpack(data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Decode columns, which are read-only views of the data, and the information about them."""
    size = int.from_bytes(data[:_ALIGNMENT], "little")
    head = json.loads(bytes(data[_ALIGNMENT : _ALIGNMENT + size]))
    first = _ALIGNMENT + size
    columns = {
        name: np.frombuffer(data, dtype=np.dtype(kind), count=n, offset=first + offset)
        for name, (kind, n, offset) in head["columns"].items()
    }
    return head["about"], columns


def _padded(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
