"""Options and their values, under the names that commands, functions and output share.

Nothing is imported here, so a command knows its options before anything else is loaded. Tests compare these lists with
the tables that implement them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

Ties = Literal["trec", "doc-ascending", "input-order", "rank-column", "expected", "best", "worst"]
RankBy = Literal["score", "rank", "input"]
ScoreType = Literal["float64", "float32"]
Missing = Literal["zero", "skip", "error"]
OnDuplicate = Literal["error", "first", "last", "max"]
How = Literal["arithmetic", "geometric", "median"]

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "R@100", "Judged@10")

# read_qrels(grade_words=…) takes other words
GRADE_WORDS: Mapping[str, float] = {"perfect": 4, "excellent": 3, "good": 2, "fair": 1, "bad": 0}

RUN_FORMATS = {
    "trec": "six columns: query Q0 doc rank score tag",
    "msmarco": "three columns: query doc rank",
    "json": "{query: {doc: score}}, or an array of records",
    "jsonl": "one JSON record a line: query, doc, score",
    "rag": 'one JSON line a query: {"query_id", "retrieved_ids"}',
    "csv": "commas, with a header: query, doc, score",
    "tsv": "tabs, with a header: query, doc, score",
    "parquet": "Parquet with columns query, doc, score (extra: arrow)",
}
QRELS_FORMATS = {
    "trec": "four columns: query iteration doc grade",
    "diversity": "four columns, the second being the subtopic",
    "sampled": "five columns: query iter doc stratum grade",
    "prefs": "five columns: query group subgroup doc level",
    "prels": "five columns: query doc grade method probability",
    "pairs": "preferences: query winner loser, or query doc doc winner",
    "plain": "three columns: query doc grade",
    "cranfield": "Cranfield's own: query doc code, code 1 being the best",
    "cacm": "CACM's own: query doc 0 0, every pair being relevant",
    "cisi": "CISI's own: as CACM's",
    "med": "MEDLARS' own: four columns as in TREC",
    "letor": "SVMlight/LETOR: grade qid:query features",
    "beir": "tabs, with a header: query-id corpus-id score",
    "json": "{query: {doc: grade}}, or an array of records",
    "jsonl": "one JSON record a line: query, doc, grade",
    "rag": 'one JSON line a query: {"query_id", "relevant_ids"}',
    "csv": "commas, with a header: query, doc, grade",
    "tsv": "tabs, with a header: query, doc, grade",
    "parquet": "Parquet with columns query, doc, grade (extra: arrow)",
}

# the keys of evaluation.TOOLS (a test compares them): importing all conventions would slow down every command
TOOL_NAMES = (
    "trec_eval-9",
    "trec_eval-10",
    "ir_measures",
    "ranx",
    "sklearn",
    "gdeval",
    "ndeval",
    "spark",
    "torchmetrics",
    "beir",
)
