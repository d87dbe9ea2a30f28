"""The classic collections, as Glasgow and Cornell keep them: Cranfield, CACM, CISI, MED, ADI, NPL, TIME, LISA."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cranfield.base import Record, replace
from cranfield.data import Document, Qrels, Topic
from cranfield.io import glasgow, read_qrels, read_topics, smart
from cranfield.lab.collections.base import (
    Address,
    Collection,
    DocumentReader,
    assembled,
    matching,
    missing,
    qrels_by,
    stream,
    the_one,
    topics_by,
)

MED_NOTE = "MED (1,033 documents, 30 queries) is not the MEDLARS collection of the literature (450, 29)."
_ALL_RELEVANT = "Every pair listed in the judgments is relevant (grade 1), although the last column is 0."


class Classic(Record):
    """The names that the files of a classic collection go by, in small letters, and how they are read."""

    documents: tuple[str, ...]
    topics: tuple[str, ...]
    qrels: tuple[str, ...]
    read_qrels: Callable[[str], Qrels]
    read_topics: Callable[[str], tuple[Topic, ...]] = partial(read_topics, format="smart")
    read_documents: DocumentReader = smart.read_documents
    notes: tuple[str, ...] = ()


def open_classic(address: Address) -> Collection:
    """A classic collection in a folder."""
    address.allow("topics", "qrels")
    kind = CLASSICS[address.kind]
    matching(address.where, ())  # a folder that is not there is an error at once

    def documents() -> Iterator[Document]:
        files = matching(address.where, kind.documents)
        if not files:
            raise missing(address, "documents", _names(kind.documents))
        return stream(files, kind.read_documents)

    def topics() -> tuple[Topic, ...]:
        files = matching(address.where, kind.topics)
        return kind.read_topics(the_one(files, address, "topics", _names(kind.topics), "topics"))

    def qrels() -> Qrels:
        files = matching(address.where, kind.qrels)
        return kind.read_qrels(the_one(files, address, "judgments", _names(kind.qrels), "qrels"))

    return assembled(address, documents, topics, qrels, kind.notes)


def _cranfield_topics(file: str) -> tuple[Topic, ...]:
    """The queries numbered in the order of the file, as the judgments have it; their own numbers become a field."""
    return tuple(
        replace(topic, id=str(place), fields={**topic.fields, "number": topic.id})
        for place, topic in enumerate(read_topics(file, "smart"), 1)
    )


def _lisa_qrels(file: str) -> Qrels:
    numbers = file.lower().rpartition("lisarj.num")[1]
    return qrels_by(file, glasgow.read_lisa_numbers if numbers else glasgow.read_lisa_qrels, "lisa")


def _names(patterns: tuple[str, ...]) -> str:
    *others, last = patterns
    return f"{', '.join(others)} or {last}" if others else last


CLASSICS = {
    "cranfield": Classic(
        documents=("cran.all.1400", "cran.all"),
        topics=("cran.qry",),
        qrels=("cran.qrels", "cranqrel", "cranqrel.txt", "cran.rel"),
        read_topics=_cranfield_topics,
        read_qrels=partial(read_qrels, format="cranfield"),
        notes=(
            "Queries are numbered 1 to 225 in the order of their file, as the judgments have it; the numbers that "
            "stand in the file (001, 002, 004, 008 …) are in the field number.",
            "Grades are 5 − code, since code 1 is the best; the 225 rows with code −1, one a query, are left out.",
            "The text of nearly every document begins with its title, so that title and text together have its words "
            "twice; documents 471 and 995 are empty.",
        ),
    ),
    "cacm": Classic(
        documents=("cacm.all",),
        topics=("query.text", "cacm.qry"),
        qrels=("qrels.text", "cacm.rel"),
        read_qrels=partial(read_qrels, format="cacm"),
        notes=(
            _ALL_RELEVANT,
            "Ids that the judgments pad with zeros (01, 0756) are read without them, as the documents have them.",
        ),
    ),
    "cisi": Classic(
        documents=("cisi.all",),
        topics=("cisi.qry",),
        qrels=("cisi.rel",),
        read_qrels=partial(read_qrels, format="cisi"),
        notes=(_ALL_RELEVANT,),
    ),
    "med": Classic(
        documents=("med.all",),
        topics=("med.qry",),
        qrels=("med.rel",),
        read_qrels=partial(read_qrels, format="med"),
        notes=(MED_NOTE, "Documents have no title."),
    ),
    "adi": Classic(
        documents=("adi.all",),
        topics=("adi.qry",),
        qrels=("adi.rel",),
        read_qrels=partial(read_qrels, format="cacm"),
        notes=(_ALL_RELEVANT,),
    ),
    "npl": Classic(
        documents=("doc-text", "doc-text.txt"),
        topics=("query-text", "query-text.txt"),
        qrels=("rlv-ass", "rlv-ass.txt"),
        read_documents=glasgow.read_npl_documents,
        read_topics=partial(topics_by, read=glasgow.read_npl_topics),
        read_qrels=partial(qrels_by, read=glasgow.read_npl_qrels, format="npl"),
        notes=(
            "Documents listed in rlv-ass are relevant (grade 1); documents have no title.",
            "The files hold 11,429 documents; tables in the literature often have 11,571.",
        ),
    ),
    "time": Classic(
        documents=("time.all",),
        topics=("time.que",),
        qrels=("time.rel",),
        read_documents=glasgow.read_time_documents,
        read_topics=partial(topics_by, read=glasgow.read_time_topics),
        read_qrels=partial(qrels_by, read=glasgow.read_time_qrels, format="time"),
        notes=(
            "Documents are numbered by their place in the file, as the judgments have it; the numbers that stand in "
            "the file (017 to 563) are in the field number.",
            "Documents listed in TIME.REL are relevant (grade 1); documents have no title.",
        ),
    ),
    "lisa": Classic(
        documents=("lisa[0-9].[0-9][0-9][0-9]", "lisa.all*"),
        topics=("lisa.que", "lisa.queries*"),
        qrels=("lisarj.num", "lisa.rel"),
        read_documents=glasgow.read_lisa_documents,
        read_topics=partial(topics_by, read=glasgow.read_lisa_topics),
        read_qrels=_lisa_qrels,
        notes=(
            "Documents listed in the judgments are relevant (grade 1); LISARJ.NUM is preferred to LISA.REL, its older "
            "form.",
        ),
    ),
}
