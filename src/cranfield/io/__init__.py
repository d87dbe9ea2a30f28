"""Every format in and out: files and objects become Run, Qrels, Topic and Document, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.io.beir import known_id, searchable, tidy, whole
    from cranfield.io.detect_format import AS_ASKED
    from cranfield.io.detect_kind import Identity, Kind, identify
    from cranfield.io.files import Input, PathLike, display_name, expand, sha256_of, without_compression, writing
    from cranfield.io.html_text import ENCODINGS_NOTE, feed_html, read_page
    from cranfield.io.json_rows import Pairs, parse_json
    from cranfield.io.lzw import MAGIC
    from cranfield.io.objects import as_qrels, as_run, from_arrays
    from cranfield.io.parse_values import OnProblem, any_id, any_number, decimal, stop, text
    from cranfield.io.plain_runs import PlainRun, read_plain_run
    from cranfield.io.rows import DOC, QUERY, QrelsRows, RunRows, column, placed, wanted
    from cranfield.io.runs_qrels import (
        QRELS_READERS,
        QRELS_WRITERS,
        RUN_READERS,
        RUN_WRITERS,
        qrels_format,
        qrels_rows,
        read_qrels,
        read_run,
        run_format,
        run_format_of,
        run_rows,
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
    from cranfield.io.tabular import delimited, frame_records
    from cranfield.io.topics_documents import (
        DOCUMENT_FORMATS,
        TOPIC_FORMATS,
        document_format,
        documents_in,
        read_documents,
        read_topics,
        topic_format,
        topics_in,
        write_documents,
        write_topics,
    )
    from cranfield.io.trec import as_column, number, read_trec_run

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "beir": "known_id searchable tidy whole",
        "detect_format": "AS_ASKED",
        "detect_kind": "Identity Kind identify",
        "files": "Input PathLike display_name expand sha256_of without_compression writing",
        "html_text": "ENCODINGS_NOTE feed_html read_page",
        "json_rows": "Pairs parse_json",
        "lzw": "MAGIC",
        "objects": "as_qrels as_run from_arrays",
        "parse_values": "OnProblem any_id any_number decimal stop text",
        "plain_runs": "PlainRun read_plain_run",
        "rows": "DOC QUERY QrelsRows RunRows column placed wanted",
        "runs_qrels": (
            "QRELS_READERS QRELS_WRITERS RUN_READERS RUN_WRITERS qrels_format qrels_rows read_qrels read_run "
            "run_format run_format_of run_rows write_qrels write_run"
        ),
        "score_tables": "ScoreRows as_scores read_scores",
        "side_files": (
            "as_doc_lengths as_duplicates as_facts as_weights read_doc_lengths read_duplicates read_facts read_groups"
        ),
        "tabular": "delimited frame_records",
        "topics_documents": (
            "DOCUMENT_FORMATS TOPIC_FORMATS document_format documents_in read_documents read_topics topic_format "
            "topics_in write_documents write_topics"
        ),
        "trec": "as_column number read_trec_run",
    },
)
