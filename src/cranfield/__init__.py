"""Information retrieval evaluation, exact and explained.

The public names, in the order of the method. Each is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    # data and files
    from cranfield.data import Document, Qrels, Run, Subtopic, Topic

    # what can go wrong
    from cranfield.errors import (
        CranfieldError,
        DuplicateError,
        EvaluationError,
        FormatError,
        InputError,
        MeasureError,
        MissingExtra,
    )

    # evaluate and explain
    from cranfield.evaluation import Evaluator, Explanation, Scores, evaluate, explain
    from cranfield.io import (
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

    # join and measure
    from cranfield.joining import Joining, JudgedRun, join_run
    from cranfield.measures import Measure, parse_measure, parse_measures

    # compare systems
    from cranfield.stats import Comparison, compare

__version__ = "0.1.0"
__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "data": "Document Qrels Run Subtopic Topic",
        "io": (
            "as_qrels as_run from_arrays read_documents read_qrels read_run read_topics "
            "write_documents write_qrels write_run write_topics"
        ),
        "joining": "Joining JudgedRun join_run",
        "measures": "Measure parse_measure parse_measures",
        "evaluation": "Evaluator Explanation Scores evaluate explain",
        "stats": "Comparison compare",
        "errors": ("CranfieldError DuplicateError EvaluationError FormatError InputError MeasureError MissingExtra"),
    },
)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
