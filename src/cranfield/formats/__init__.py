"""The one door in and out: files and objects of any format become Run, Qrels, Topic, Document, and back."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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


# each is imported when it is first used: the formats are many, and a command needs few of them
_HOMES = {
    "files": ("read_qrels", "read_run", "write_qrels", "write_run"),
    "memory": ("as_qrels", "as_run", "from_arrays"),
    "tabbed": ("read_doc_lengths", "read_duplicates", "read_facts", "read_groups"),
    "texts": ("read_documents", "read_topics", "write_documents", "write_topics"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
