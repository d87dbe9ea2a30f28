"""Every format in and out: files and objects become Run, Qrels, Topic and Document, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.io.beir import check_id, ensure_title, normalize_space, replace_lone_surrogates
    from cranfield.io.detect_format import AS_REQUESTED
    from cranfield.io.file_kind import FileKind, Kind, detect_kind
    from cranfield.io.files import (
        Input,
        PathLike,
        display_name,
        expand_path,
        hash_file,
        open_output,
        strip_compression_suffix,
    )
    from cranfield.io.html_text import ENCODINGS_NOTE, feed_html, read_page
    from cranfield.io.json_rows import JsonObject, parse_json
    from cranfield.io.lzw import LZW_MAGIC
    from cranfield.io.objects import as_qrels, as_run, from_arrays
    from cranfield.io.parse_values import OnProblem, decode_id, parse_decimal, parse_id, parse_number, raise_problem
    from cranfield.io.plain_runs import PlainRun, read_plain_run
    from cranfield.io.rows import DOC_COLUMNS, QUERY_COLUMNS, QrelsRows, RunRows, add_place, find_column, get_required
    from cranfield.io.runs_qrels import (
        QRELS_READERS,
        QRELS_WRITERS,
        RUN_READERS,
        RUN_WRITERS,
        choose_qrels_format,
        choose_run_format,
        find_run_format,
        read_qrels,
        read_qrels_rows,
        read_run,
        read_run_rows,
        write_qrels,
        write_run,
    )
    from cranfield.io.score_tables import ScoreRows, as_scores, read_scores
    from cranfield.io.side_files import (
        as_doc_lengths,
        as_duplicates,
        as_facts,
        as_weights,
        read_doc_lengths,
        read_duplicates,
        read_facts,
        read_groups,
    )
    from cranfield.io.tabular import read_delimited, read_frame
    from cranfield.io.topics_documents import (
        DOCUMENT_FORMATS,
        TOPIC_FORMATS,
        choose_document_format,
        choose_topic_format,
        read_documents,
        read_open_documents,
        read_open_topics,
        read_topics,
        write_documents,
        write_topics,
    )
    from cranfield.io.trec import format_column, format_number, read_trec_run

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "beir": "check_id ensure_title normalize_space replace_lone_surrogates",
        "detect_format": "AS_REQUESTED",
        "file_kind": "FileKind Kind detect_kind",
        "files": "Input PathLike display_name expand_path hash_file open_output strip_compression_suffix",
        "html_text": "ENCODINGS_NOTE feed_html read_page",
        "json_rows": "JsonObject parse_json",
        "lzw": "LZW_MAGIC",
        "objects": "as_qrels as_run from_arrays",
        "parse_values": "OnProblem decode_id parse_decimal parse_id parse_number raise_problem",
        "plain_runs": "PlainRun read_plain_run",
        "rows": "DOC_COLUMNS QUERY_COLUMNS QrelsRows RunRows add_place find_column get_required",
        "runs_qrels": (
            "QRELS_READERS QRELS_WRITERS RUN_READERS RUN_WRITERS choose_qrels_format choose_run_format "
            "find_run_format read_qrels read_qrels_rows read_run read_run_rows write_qrels write_run"
        ),
        "score_tables": "ScoreRows as_scores read_scores",
        "side_files": (
            "as_doc_lengths as_duplicates as_facts as_weights read_doc_lengths read_duplicates read_facts read_groups"
        ),
        "tabular": "read_delimited read_frame",
        "topics_documents": (
            "DOCUMENT_FORMATS TOPIC_FORMATS choose_document_format choose_topic_format read_documents "
            "read_open_documents read_open_topics read_topics write_documents write_topics"
        ),
        "trec": "format_column format_number read_trec_run",
    },
    modules="glasgow rows smart trec_text trec_web warc",
)
