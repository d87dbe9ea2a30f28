"""Queries out of topics: the words of those fields that are searched with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cranfield.data import Topic
from cranfield.errors import InputError
from cranfield.lab.systems import query_text

PLAIN = ("title", "description", "narrative")


def queries_of(topics: Iterable[Topic], fields: str | Sequence[str], source: str | None = None) -> dict[str, str]:
    """The words of each topic that are searched with; an error for a field that no topic has.

    >>> queries_of([Topic("1", "red lamps", "Lamps that are red.")], "title, description")
    {'1': 'red lamps Lamps that are red.'}
    """
    topics = list(topics)
    given = fields.split(",") if isinstance(fields, str) else fields
    wanted = [field.strip() for field in given if field.strip()]
    known = known_fields(topics)
    missing = [field for field in wanted if field not in known]
    if topics and (missing or not wanted):
        what = f"no topic has a field {missing[0]!r}" if missing else "no field of the topics is named"
        raise InputError(f"{what}; there are {', '.join(known) or 'none'}. Choose with fields=/--fields.", source)
    return {topic.id: query_text(topic, wanted) for topic in topics}


def known_fields(topics: Iterable[Topic]) -> list[str]:
    """The fields that some topic has words in, the usual ones first."""
    found: dict[str, None] = {}
    for topic in topics:
        found |= dict.fromkeys(field for field in PLAIN if getattr(topic, field))
        found |= dict.fromkeys(field for field, text in topic.fields.items() if text)
    return sorted(found, key=lambda field: PLAIN.index(field) if field in PLAIN else len(PLAIN))
