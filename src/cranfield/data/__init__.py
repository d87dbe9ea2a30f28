"""The nouns of a test collection: Run, Qrels, Topic, Document. Frozen columns, checked once when made."""

from cranfield.data.collection import (
    Bools,
    Document,
    Floats,
    Ints,
    LazyQrels,
    Origin,
    Qrels,
    Run,
    Strings,
    Subtopic,
    Topic,
    starts_of,
)

__all__ = [
    "Bools",
    "Document",
    "Floats",
    "Ints",
    "LazyQrels",
    "Origin",
    "Qrels",
    "Run",
    "Strings",
    "Subtopic",
    "Topic",
    "starts_of",
]
