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

from cranfield.judging.adaptive import feeder
from cranfield.judging.adjudication import Dispute, adjudicate, disputes, number_of_disputes, undo_adjudication
from cranfield.judging.assignment import Assignment, assign, assignments, deal, unassign
from cranfield.judging.database import DatabaseBusy, DatabaseFull, JudgingError
from cranfield.judging.desk import Desk, Item, Saved, TopicState
from cranfield.judging.events import KINDS, Event, State, Trace
from cranfield.judging.exporting import Disagreement, Exported, export_qrels, write_history
from cranfield.judging.importing import Imported, import_judgments
from cranfield.judging.log import Judgment, JudgmentLog, Pair, open_log
from cranfield.judging.progress import AssessorProgress, Progress, TopicProgress, WorkProgress, agreement, progress
from cranfield.judging.scale import Grade, Scale, read_scale
from cranfield.judging.settings import Settings

__all__ = [
    "KINDS",
    "Assignment",
    "AssessorProgress",
    "DatabaseBusy",
    "DatabaseFull",
    "Desk",
    "Disagreement",
    "Dispute",
    "Event",
    "Exported",
    "Grade",
    "Imported",
    "Item",
    "Judgment",
    "JudgmentLog",
    "JudgingError",
    "Pair",
    "Progress",
    "Saved",
    "Scale",
    "Settings",
    "State",
    "TopicProgress",
    "TopicState",
    "Trace",
    "WorkProgress",
    "adjudicate",
    "agreement",
    "assign",
    "assignments",
    "deal",
    "disputes",
    "export_qrels",
    "feeder",
    "import_judgments",
    "number_of_disputes",
    "open_log",
    "progress",
    "read_scale",
    "unassign",
    "undo_adjudication",
    "write_history",
]
