"""What everything rests on: the compiled core, option names, ids, value objects, text helpers, Student's t."""

from cranfield.base.compiled import core, in_natural_order, in_use
from cranfield.base.ids import id_bytes, natural_order, shown
from cranfield.base.lazy import lazy_exports
from cranfield.base.options import (
    DEFAULT_MEASURES,
    GRADE_WORDS,
    QRELS_FORMATS,
    RUN_FORMATS,
    TOOL_NAMES,
    How,
    Missing,
    OnDuplicate,
    RankBy,
    ScoreType,
    Ties,
)
from cranfield.base.records import Record, as_dict, field_names, fields, replace
from cranfield.base.student_t import t_quantile
from cranfield.base.text import counted, listed, suggest
from cranfield.base.threads import cores, in_parallel

__all__ = [
    "DEFAULT_MEASURES",
    "GRADE_WORDS",
    "How",
    "Missing",
    "OnDuplicate",
    "QRELS_FORMATS",
    "RUN_FORMATS",
    "RankBy",
    "ScoreType",
    "TOOL_NAMES",
    "Ties",
    "core",
    "cores",
    "counted",
    "as_dict",
    "field_names",
    "fields",
    "replace",
    "id_bytes",
    "in_natural_order",
    "in_parallel",
    "in_use",
    "lazy_exports",
    "listed",
    "natural_order",
    "Record",
    "shown",
    "suggest",
    "t_quantile",
]
