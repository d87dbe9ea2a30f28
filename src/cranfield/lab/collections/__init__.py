"""Test collections by name and folder: documents, topics and judgments in one word."""

from cranfield.lab.collections.access import KINDS, collections_in, is_named, open_collection, qrels_from, topics_from
from cranfield.lab.collections.base import Collection

__all__ = ["KINDS", "Collection", "collections_in", "is_named", "open_collection", "qrels_from", "topics_from"]
