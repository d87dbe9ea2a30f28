"""Judging: an append-only log of what people think of documents, and everything around it. No web, no database server
needed; pages, terminals and packets are callers of what stands here.

    log = open_log("pool.judgments.db")           # or postgresql://user@host/database?schema=project
    log.set_up(Settings(judgments=2, overlap=0.1, repeats=0.05, guidelines="…"))
    log.add_pool("pool.jsonl")                    # or log.add_pairs({query: [doc, …]}), log.add_gold({query: {doc: 2}})
    deal(log, ["ada", "grace"])                   # topics to assessors; without it everybody may judge everything

    desk = Desk(log, "ada")                       # what one assessor sees: never rank, score, run or others' grades
    item = desk.next()                            # Item(query, doc, place, places, left, …), held for ada; or None
    saved = desk.save("judge", item.query, item.place, grade=2, trace=Trace(key=…, shown_at=…, method="key"))
    saved.next                                    # on disk when save returns; the same key again changes nothing
    desk.undo(), desk.at(query, place), desk.seen(query), desk.topics(), desk.after(query)
    desk.searched(query, words), desk.found(query, doc, words)   # interactive searching and judging

    disputes(log), adjudicate(log, "grace", query, doc, 3)       # for coordinators and adjudicators
    progress(log), agreement(log)
    export_qrels(log, "majority").qrels, write_history(log, "history.jsonl"), import_judgments(log, "history.jsonl")

What a `Desk` returns may be shown to its assessor as it is. Everything else is for coordinators. All of it is safe to
call from several threads and processes. Errors are `JudgingError` (or its `DatabaseFull`, `DatabaseBusy`) and
`InputError`.
"""

from cranfield.annotation.adaptive import feeder, growing
from cranfield.annotation.adjudication import Dispute, adjudicate, disputes, number_of_disputes, undo_adjudication
from cranfield.annotation.assessor_session import Desk, Item, Saved, TopicState
from cranfield.annotation.assignment import Assignment, assign, assignments, deal, unassign
from cranfield.annotation.database import (
    PATIENCE,
    Connection,
    Database,
    DatabaseBusy,
    DatabaseFull,
    JudgingError,
    escaped,
    open_database,
)
from cranfield.annotation.documents import Marker, Texts, other_fields
from cranfield.annotation.events import KINDS, Event, State, Trace, checked_assessor
from cranfield.annotation.export import (
    Disagreement,
    Exported,
    export_qrels,
    judges,
    number_of_events,
    sampled_by,
    write_history,
)
from cranfield.annotation.grades import USUAL, Grade, Scale, plain, read_scale, written
from cranfield.annotation.imports import Imported, import_judgments
from cranfield.annotation.keybindings import ACTIONS
from cranfield.annotation.log import Judgment, JudgmentLog, Pair, beside, open_log
from cranfield.annotation.packet import packet, places_by_chance, places_of
from cranfield.annotation.progress import (
    FEW,
    AssessorProgress,
    Progress,
    TopicProgress,
    WorkProgress,
    agreement,
    progress,
)
from cranfield.annotation.schema import Migration, migrate
from cranfield.annotation.settings import Settings, shown_guidelines
from cranfield.annotation.shortfall import once_gold, shortfalls
from cranfield.annotation.terminal.screen import has_screen, run
from cranfield.annotation.terminal.seat import Seat
from cranfield.annotation.terminal.settling import Settling
from cranfield.annotation.terminal.sitting import Sitting
from cranfield.annotation.timestamps import now

__all__ = [
    "ACTIONS",
    "AssessorProgress",
    "Assignment",
    "Connection",
    "Database",
    "DatabaseBusy",
    "DatabaseFull",
    "Desk",
    "Disagreement",
    "Dispute",
    "Event",
    "Exported",
    "FEW",
    "Grade",
    "Imported",
    "Item",
    "JudgingError",
    "Judgment",
    "JudgmentLog",
    "KINDS",
    "Marker",
    "Migration",
    "PATIENCE",
    "Pair",
    "Progress",
    "Saved",
    "Scale",
    "Seat",
    "Settings",
    "Settling",
    "Sitting",
    "State",
    "Texts",
    "TopicProgress",
    "TopicState",
    "Trace",
    "USUAL",
    "WorkProgress",
    "adjudicate",
    "agreement",
    "assign",
    "assignments",
    "beside",
    "checked_assessor",
    "deal",
    "disputes",
    "escaped",
    "export_qrels",
    "feeder",
    "growing",
    "has_screen",
    "import_judgments",
    "judges",
    "migrate",
    "now",
    "number_of_disputes",
    "number_of_events",
    "once_gold",
    "open_database",
    "open_log",
    "other_fields",
    "packet",
    "places_by_chance",
    "places_of",
    "plain",
    "progress",
    "read_scale",
    "run",
    "sampled_by",
    "shortfalls",
    "shown_guidelines",
    "unassign",
    "undo_adjudication",
    "write_history",
    "written",
]
