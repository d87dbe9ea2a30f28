"""Weights of queries: a file of `query⇥weight` lines."""

from __future__ import annotations

from cranfield.collection import shown
from cranfield.errors import InputError
from cranfield.formats.opening import Input, PathLike
from cranfield.formats.values import decimal, text

_EXPECTED = "expected 'query<TAB>weight'"


def read_weights(path: PathLike) -> dict[str, float]:
    """How much each query counts in a mean (how often it is asked, say)."""
    weights: dict[str, float] = {}
    with Input(path) as source:
        for number, line in source.lines():
            if not line.strip() or line.startswith(b"#"):
                continue
            fields = [field.strip() for field in line.split(b"\t")]
            if len(fields) != 2 or not all(fields):
                raise InputError(f"{_EXPECTED}, found {len(fields)} columns.", source.name, number)
            query = text(fields[0])
            weight = _weight(fields[1], source.name, number)
            if weights.setdefault(query, weight) != weight:
                message = f"query {shown(query)} is given two weights, {weights[query]:g} and {weight:g}."
                raise InputError(message, source.name, number)
    if not weights:
        raise InputError(f"the file is empty, {_EXPECTED} lines.", source.name)
    return weights


def _weight(token: bytes, file: str, line: int) -> float:
    try:
        weight = decimal(token, "weight")
    except InputError as problem:
        raise InputError(str(problem), file, line) from None
    if weight < 0:
        raise InputError(f"weight {weight:g} is negative.", file, line)
    return weight
