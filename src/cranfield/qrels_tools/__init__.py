"""Work on qrels: merge, diff, count, filter, map, sample, clicks; agreement between assessors."""

from cranfield.qrels_tools.agreement import Agreement, Couple, Design, Group, Judged, ModelAgainstPeople, agree
from cranfield.qrels_tools.assessors import Assessor, read_assessors
from cranfield.qrels_tools.clicks import CAUTION, LEAST_IMPRESSIONS, THRESHOLDS, Clicked, ClickRule, judge_by_clicks
from cranfield.qrels_tools.diff import KINDS, Change, Differences, differences
from cranfield.qrels_tools.filters import Sampling, Selected, binarize, keep, map_grades, sample
from cranfield.qrels_tools.grade_maps import parse_mapping, parse_numbers, parse_ranges, parse_scale
from cranfield.qrels_tools.id_lists import ids_of
from cranfield.qrels_tools.merging import RULES, TIES, Conflict, Merged, Ties, merge
from cranfield.qrels_tools.provenance import JUDGMENTS, Provenance, Source, inherited, read_provenance, write_judgments
from cranfield.qrels_tools.statistics import Counts, Spread, count
from cranfield.qrels_tools.system_rankings import Rankings, Standings

__all__ = [
    "Agreement",
    "Assessor",
    "CAUTION",
    "Change",
    "ClickRule",
    "Clicked",
    "Conflict",
    "Counts",
    "Couple",
    "Design",
    "Differences",
    "Group",
    "JUDGMENTS",
    "Judged",
    "KINDS",
    "LEAST_IMPRESSIONS",
    "Merged",
    "ModelAgainstPeople",
    "Provenance",
    "RULES",
    "Rankings",
    "Sampling",
    "Selected",
    "Source",
    "Spread",
    "Standings",
    "THRESHOLDS",
    "TIES",
    "Ties",
    "agree",
    "binarize",
    "count",
    "differences",
    "ids_of",
    "inherited",
    "judge_by_clicks",
    "keep",
    "map_grades",
    "merge",
    "parse_mapping",
    "parse_numbers",
    "parse_ranges",
    "parse_scale",
    "read_assessors",
    "read_provenance",
    "sample",
    "write_judgments",
]
