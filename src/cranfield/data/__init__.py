"""The nouns of a test collection: Run, Qrels, Topic, Document. Frozen columns, checked once when made."""

from cranfield.data.collection import Bools, Document, Floats, Ints, Origin, Qrels, Run, Strings, Subtopic, Topic

__all__ = ["Bools", "Document", "Floats", "Ints", "Origin", "Qrels", "Run", "Strings", "Subtopic", "Topic"]
