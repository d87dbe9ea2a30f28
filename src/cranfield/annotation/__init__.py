"""Annotation: how people make judgments. An append-only log; sessions, assignment, adjudication and export around it.

It needs neither a web server nor a database server. Terminals, packets and the workbench are thin callers.

    log = open_log("pool.judgments.db")           # or postgresql://user@host/database?schema=project
    log.configure(Settings(judgments=2, overlap=0.1, repeats=0.05, guidelines="…"))
    log.add_pool("pool.jsonl")                    # or log.add_pairs({query: [doc, …]}), log.add_gold({query: {doc: 2}})
    assign_evenly(log, ["ada", "grace"])          # without assignments everybody may judge everything

    session = AssessorSession(log, "ada")         # never shows rank, score, run or the grades of others
    item = session.next()                         # Item(query, doc, place, places, left, …), held for ada; or None
    saved = session.save("judge", item.query, item.place, grade=2, submission=Submission(key=…, shown_at=…))
    saved.next                                    # on disk when save returns; the same key again changes nothing

    list_disputes(log), adjudicate(log, "grace", query, doc, 3)  # for coordinators and adjudicators
    compute_progress(log), measure_agreement(log)
    export_qrels(log, "majority").qrels, write_history(log, "history.jsonl"), import_judgments(log, "history.jsonl")

What an `AssessorSession` returns may be shown to its assessor. Everything else is for coordinators. Everything may
be called from several threads and processes. Errors are `JudgingError` (or its `DatabaseFull`, `DatabaseBusy`) and
`InputError`.
"""

from cranfield.annotation.adaptive import make_refill, start_adaptive_pool
from cranfield.annotation.adjudication import Dispute, adjudicate, count_disputes, list_disputes, undo_adjudication
from cranfield.annotation.assessor_session import AssessorSession, Item
from cranfield.annotation.assignment import Assignment, assign, assign_evenly, list_assignments, unassign
from cranfield.annotation.database import (
    LOCK_TIMEOUT,
    Connection,
    Database,
    DatabaseBusy,
    DatabaseFull,
    JudgingError,
    escape_text,
    open_database,
)
from cranfield.annotation.documents import Highlighter, TextLookup, list_extra_fields
from cranfield.annotation.events import Event, JudgmentState, Submission, check_assessor_name
from cranfield.annotation.export import (
    QrelsExport,
    count_events,
    export_qrels,
    find_sampling_strategy,
    list_exported_assessors,
    write_history,
)
from cranfield.annotation.grades import DEFAULT_SCALE, Scale, format_grade, read_scale, simplify_grade
from cranfield.annotation.judgment_import import ImportResult, import_judgments
from cranfield.annotation.keybindings import JUDGING_ACTIONS
from cranfield.annotation.log import JudgmentLog, default_log_path, open_log
from cranfield.annotation.packet import build_packet, load_places, shuffle_places
from cranfield.annotation.progress import (
    MIN_TIMED,
    AssessorProgress,
    Progress,
    TopicProgress,
    WorkProgress,
    compute_progress,
    measure_agreement,
)
from cranfield.annotation.remaining import find_uncovered_topics, list_former_gold
from cranfield.annotation.schema import Migration, migrate
from cranfield.annotation.settings import Settings, choose_guidelines
from cranfield.annotation.terminal import (
    AdjudicationSession,
    JudgingSession,
    TerminalSession,
    has_screen,
    run_in_terminal,
)
from cranfield.annotation.timestamps import utc_now

__all__ = [
    "AdjudicationSession",
    "AssessorProgress",
    "AssessorSession",
    "Assignment",
    "Connection",
    "DEFAULT_SCALE",
    "Database",
    "DatabaseBusy",
    "DatabaseFull",
    "Dispute",
    "Event",
    "Highlighter",
    "ImportResult",
    "Item",
    "JUDGING_ACTIONS",
    "JudgingError",
    "JudgingSession",
    "JudgmentLog",
    "JudgmentState",
    "LOCK_TIMEOUT",
    "MIN_TIMED",
    "Migration",
    "Progress",
    "QrelsExport",
    "Scale",
    "Settings",
    "Submission",
    "TerminalSession",
    "TextLookup",
    "TopicProgress",
    "WorkProgress",
    "adjudicate",
    "assign",
    "assign_evenly",
    "build_packet",
    "check_assessor_name",
    "choose_guidelines",
    "compute_progress",
    "count_disputes",
    "count_events",
    "default_log_path",
    "escape_text",
    "export_qrels",
    "find_sampling_strategy",
    "find_uncovered_topics",
    "format_grade",
    "has_screen",
    "import_judgments",
    "list_assignments",
    "list_disputes",
    "list_exported_assessors",
    "list_extra_fields",
    "list_former_gold",
    "load_places",
    "make_refill",
    "measure_agreement",
    "migrate",
    "open_database",
    "open_log",
    "read_scale",
    "run_in_terminal",
    "shuffle_places",
    "simplify_grade",
    "start_adaptive_pool",
    "unassign",
    "undo_adjudication",
    "utc_now",
    "write_history",
]
