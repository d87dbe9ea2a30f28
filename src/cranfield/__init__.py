"""Information retrieval evaluation, exact and explained."""

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
from cranfield.explain import Explanation, explain
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

__version__ = "0.1.0"
__all__ = [
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
