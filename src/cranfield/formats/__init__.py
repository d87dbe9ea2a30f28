"""The one door in and out: files and objects of any format become Run, Qrels, Topic, Document, and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.formats.files import read_qrels, read_run, write_qrels, write_run
from cranfield.formats.memory import as_qrels, as_run, from_arrays
from cranfield.formats.tabbed import read_doc_lengths, read_duplicates, read_facts, read_groups

if TYPE_CHECKING:
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


def __getattr__(name: str) -> Any:
    # the formats of texts are many, and evaluating needs none of them
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.texts"), name)
    globals()[name] = value
    return value
