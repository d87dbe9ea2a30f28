"""Columns as bytes and back: a short header, then the numbers as they are in memory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

_ALIGNED = 8


def pack(about: Mapping[str, Any], **columns: Any) -> bytes:
    """What is said of columns, and the columns.

    >>> about, columns = unpack(pack({"run": "a"}, rank=np.array([1, 2])))
    >>> about["run"], columns["rank"].tolist()
    ('a', [1, 2])
    """
    arrays = {name: np.ascontiguousarray(column) for name, column in columns.items()}
    places, at = {}, 0
    for name, array in arrays.items():
        places[name] = [array.dtype.str, len(array), at]
        at += _padded(array.nbytes)
    head = json.dumps({"about": dict(about), "columns": places}).encode()
    head = head.ljust(_padded(len(head)))
    parts = [len(head).to_bytes(_ALIGNED, "little"), head]
    parts += [array.tobytes().ljust(_padded(array.nbytes), b"\0") for array in arrays.values()]
    return b"".join(parts)


def unpack(data: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of columns, and the columns, which are views of the data and not to be written to."""
    size = int.from_bytes(data[:_ALIGNED], "little")
    head = json.loads(bytes(data[_ALIGNED : _ALIGNED + size]))
    first = _ALIGNED + size
    columns = {
        name: np.frombuffer(data, dtype=np.dtype(kind), count=n, offset=first + at)
        for name, (kind, n, at) in head["columns"].items()
    }
    return head["about"], columns


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
