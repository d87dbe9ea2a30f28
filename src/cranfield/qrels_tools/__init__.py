"""Work on qrels: merge, diff, count, filter, map, sample, clicks; agreement between assessors."""

from cranfield.qrels_tools.agreement import (
    Agreement,
    AgreementDesign,
    AssessorGroup,
    AssessorPair,
    AssessorSummary,
    ModelAgainstPeople,
    agree,
)
from cranfield.qrels_tools.assessors import Assessor, read_assessors
from cranfield.qrels_tools.clicks import (
    CLICK_CAUTION,
    CLICK_THRESHOLDS,
    MIN_IMPRESSIONS,
    ClickQrels,
    ClickRule,
    make_click_qrels,
)
from cranfield.qrels_tools.diff import CHANGE_KINDS, GradeChange, QrelsDiff, diff_qrels
from cranfield.qrels_tools.filters import (
    FilteredQrels,
    QrelsSampling,
    binarize_grades,
    filter_qrels,
    map_grades,
    sample_qrels,
)
from cranfield.qrels_tools.grade_maps import parse_mapping, parse_numbers, parse_ranges, parse_scale
from cranfield.qrels_tools.id_lists import collect_ids
from cranfield.qrels_tools.merge import MERGE_RULES, MERGE_TIES, Conflict, MergedQrels, MergeTies, merge_qrels
from cranfield.qrels_tools.provenance import (
    Provenance,
    ProvenanceSource,
    inherit_provenance,
    read_provenance,
    write_judgments,
)
from cranfield.qrels_tools.statistics import CountSummary, QrelsCounts, count_judgments
from cranfield.qrels_tools.system_rankings import RankingComparison, SystemRankings

__all__ = [
    "Agreement",
    "Assessor",
    "CLICK_CAUTION",
    "GradeChange",
    "ClickRule",
    "ClickQrels",
    "Conflict",
    "QrelsCounts",
    "AssessorPair",
    "AgreementDesign",
    "QrelsDiff",
    "AssessorGroup",
    "AssessorSummary",
    "CHANGE_KINDS",
    "MIN_IMPRESSIONS",
    "MergedQrels",
    "ModelAgainstPeople",
    "Provenance",
    "MERGE_RULES",
    "RankingComparison",
    "QrelsSampling",
    "FilteredQrels",
    "ProvenanceSource",
    "CountSummary",
    "SystemRankings",
    "CLICK_THRESHOLDS",
    "MERGE_TIES",
    "MergeTies",
    "agree",
    "binarize_grades",
    "count_judgments",
    "diff_qrels",
    "collect_ids",
    "inherit_provenance",
    "make_click_qrels",
    "filter_qrels",
    "map_grades",
    "merge_qrels",
    "parse_mapping",
    "parse_numbers",
    "parse_ranges",
    "parse_scale",
    "read_assessors",
    "read_provenance",
    "sample_qrels",
    "write_judgments",
]
