"""The one door in and out: files and objects of any format become Run, Qrels, Topic, Document, and back."""

from cranfield.formats.files import read_qrels, read_run, write_qrels, write_run
from cranfield.formats.memory import as_qrels, as_run, from_arrays
from cranfield.formats.tabbed import read_doc_lengths, read_duplicates, read_facts, read_groups
from cranfield.formats.texts import read_documents, read_topics, write_documents, write_topics

__all__ = [
    "as_qrels",
    "as_run",
    "from_arrays",
    "read_doc_lengths",
    "read_documents",
    "read_duplicates",
    "read_facts",
    "read_groups",
    "read_qrels",
    "read_run",
    "read_topics",
    "write_documents",
    "write_qrels",
    "write_run",
    "write_topics",
]
