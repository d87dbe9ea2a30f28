"""Assessors for tests, from plain mappings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.io import as_qrels
from cranfield.qrels_tools.assessors import Assessor


def assessor(name: str, grades: Any, is_model: bool = False) -> Assessor:
    return Assessor(name, as_qrels(grades, name=name), is_model)


def assessors(**judged: Mapping[str, Mapping[str, float]]) -> list[Assessor]:
    return [assessor(name, grades) for name, grades in judged.items()]
