"""A laboratory: collections, indexes, retrieval models, feedback, engines, tuning, and what systems cost."""

from cranfield.lab.bench import Account, Bench, Load, measure_indexing, of_indexing, of_latencies, run_bench
from cranfield.lab.collections import Collection, collections_in, is_named, open_collection, qrels_from, topics_from
from cranfield.lab.collections.base import address_of
from cranfield.lab.collections.catalogue import KNOWN, Counts, Known, count
from cranfield.lab.collections.classic import MED_NOTE
from cranfield.lab.costs import Indexing, as_record
from cranfield.lab.dense import Space
from cranfield.lab.embeddings import Endpoint
from cranfield.lab.energy import Energy, Use, library
from cranfield.lab.engines import (
    LOCAL,
    Again,
    Engine,
    EngineError,
    Options,
    SearchFailed,
    as_run,
    engine_url,
    is_large,
    is_url,
    joined,
    open_engine,
    with_fields,
)
from cranfield.lab.engines.answer_cache import Keeping
from cranfield.lab.engines.embedded import built
from cranfield.lab.feedback_study import MEASURES, Comparison, Difference, compare_feedback, given_qrels
from cranfield.lab.http import RetryPolicy
from cranfield.lab.index import VERSION, Index
from cranfield.lab.latency import (
    PERCENTILES,
    Figure,
    Ratio,
    Searcher,
    Summary,
    Throughput,
    read_latencies,
    write_latencies,
)
from cranfield.lab.queries import queries_of
from cranfield.lab.secrets import mask_url
from cranfield.lab.systems import System, fitting, relevant_documents, system_named, with_setting
from cranfield.lab.systems_under_test import (
    Subject,
    VectorFiles,
    embedded_subject,
    engine_subject,
    given_options,
    subjects_named,
    with_index,
)
from cranfield.lab.tuning import Setting, Tuning, chosen_run, grid, random_settings, tune
from cranfield.lab.vector_sources import Sources
from cranfield.lab.vectors import is_vectors, read_vectors

__all__ = [
    "Account",
    "Again",
    "Bench",
    "Collection",
    "Comparison",
    "Counts",
    "Difference",
    "Endpoint",
    "Energy",
    "Engine",
    "EngineError",
    "Figure",
    "Index",
    "Indexing",
    "KNOWN",
    "Keeping",
    "Known",
    "LOCAL",
    "Load",
    "MEASURES",
    "MED_NOTE",
    "Options",
    "PERCENTILES",
    "RetryPolicy",
    "Ratio",
    "SearchFailed",
    "Searcher",
    "Setting",
    "Sources",
    "Space",
    "Subject",
    "Summary",
    "System",
    "Throughput",
    "Tuning",
    "Use",
    "VERSION",
    "VectorFiles",
    "address_of",
    "as_record",
    "as_run",
    "run_bench",
    "built",
    "chosen_run",
    "collections_in",
    "compare_feedback",
    "count",
    "embedded_subject",
    "engine_subject",
    "engine_url",
    "fitting",
    "given_options",
    "given_qrels",
    "grid",
    "is_large",
    "is_named",
    "is_url",
    "is_vectors",
    "joined",
    "library",
    "mask_url",
    "measure_indexing",
    "of_indexing",
    "of_latencies",
    "open_collection",
    "open_engine",
    "qrels_from",
    "queries_of",
    "random_settings",
    "read_latencies",
    "read_vectors",
    "relevant_documents",
    "subjects_named",
    "system_named",
    "topics_from",
    "tune",
    "with_fields",
    "with_index",
    "with_setting",
    "write_latencies",
]
