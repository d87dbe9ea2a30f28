"""The worked example of the field's notes as runs, with the judgments of its depth-3 pool."""

from __future__ import annotations

from cranfield.data.collection import Run
from cranfield.io import as_run

T = {"A": "d1 d2 d3 d4 d5 d6", "B": "d7 d2 d8 d1 d9 d4", "C": "d3 d10 d7 d11 d1 d12"}
RELEVANT = {"d1", "d3", "d4", "d8", "d10"}


def listed(docs: str) -> dict[str, float]:
    return {doc: float(-rank) for rank, doc in enumerate(docs.split())}


def runs_of_t() -> list[Run]:
    return [as_run({"q": listed(docs)}, name=name) for name, docs in T.items()]


def judged(*docs: str) -> dict[str, dict[str, int]]:
    return {"q": {doc: int(doc in RELEVANT) for doc in docs}}


DEPTH_3 = judged("d1", "d2", "d3", "d7", "d8", "d10")
