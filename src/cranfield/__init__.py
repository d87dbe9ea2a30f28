"""Information retrieval evaluation, exact and explained."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cranfield.collection import Document, Qrels, Run, Subtopic, Topic
    from cranfield.errors import (
        CranfieldError,
        DuplicateError,
        EvaluationError,
        FormatError,
        InputError,
        MeasureError,
        MissingExtra,
    )
    from cranfield.explaining import Explanation, explain
    from cranfield.formats import (
        as_qrels,
        as_run,
        from_arrays,
        read_documents,
        read_qrels,
        read_run,
        read_topics,
        write_documents,
        write_qrels,
        write_run,
        write_topics,
    )
    from cranfield.judged import Joining, JudgedRun, judge
    from cranfield.measures import Measure, parse_measure, parse_measures
    from cranfield.scores import Evaluator, Scores, evaluate
    from cranfield.stats.compare import Comparison, compare

__version__ = "0.1.0"
__all__ = [
    "Comparison",
    "CranfieldError",
    "Document",
    "DuplicateError",
    "EvaluationError",
    "Evaluator",
    "Explanation",
    "FormatError",
    "InputError",
    "Joining",
    "JudgedRun",
    "Measure",
    "MeasureError",
    "MissingExtra",
    "Qrels",
    "Run",
    "Scores",
    "Subtopic",
    "Topic",
    "as_qrels",
    "as_run",
    "compare",
    "evaluate",
    "explain",
    "from_arrays",
    "judge",
    "parse_measure",
    "parse_measures",
    "read_documents",
    "read_qrels",
    "read_run",
    "read_topics",
    "write_documents",
    "write_qrels",
    "write_run",
    "write_topics",
]

# each name is imported when it is first used: a command should not wait for what it has no use for
_HOMES = {
    "collection": ("Document", "Qrels", "Run", "Subtopic", "Topic"),
    "explaining": ("Explanation", "explain"),
    "judged": ("Joining", "JudgedRun", "judge"),
    "measures": ("Measure", "parse_measure", "parse_measures"),
    "scores": ("Evaluator", "Scores", "evaluate"),
    "stats.compare": ("Comparison", "compare"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    default = "formats" if name[0].islower() else "errors"
    value = getattr(import_module(f"{__name__}.{_HOME.get(name, default)}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
