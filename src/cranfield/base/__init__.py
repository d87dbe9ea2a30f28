"""What everything rests on: the compiled core, option names, ids, value objects, text helpers, Student's t."""

from cranfield.base.compiled import core, describe_core, sort_judgments
from cranfield.base.ids import encode_id, format_id, sort_naturally
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
from cranfield.base.parameters import Flag, Parameter, check_parameters, check_value
from cranfield.base.records import Record, as_dict, field_names, fields, replace
from cranfield.base.student_t import t_quantile
from cranfield.base.text import join_names, pluralize, suggest
from cranfield.base.threads import count_cores, map_in_threads

__all__ = [
    "Flag",
    "Parameter",
    "check_parameters",
    "check_value",
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
    "count_cores",
    "pluralize",
    "as_dict",
    "field_names",
    "fields",
    "replace",
    "encode_id",
    "sort_judgments",
    "map_in_threads",
    "describe_core",
    "lazy_exports",
    "join_names",
    "sort_naturally",
    "Record",
    "format_id",
    "suggest",
    "t_quantile",
]
