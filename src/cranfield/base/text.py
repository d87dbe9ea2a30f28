"""Numbers and names in sentences."""

from collections.abc import Iterable

_PLURALS = {"query": "queries"}


def pluralize(n: int, noun: str) -> str:
    """A number with its noun.

    >>> pluralize(1, "query"), pluralize(1400, "document")
    ('1 query', '1,400 documents')
    """
    return f"{n:,} {noun if n == 1 else _PLURALS.get(noun, noun + 's')}"


def join_names(ids: Iterable[str], most: int = 5) -> str:
    """A few ids and how many more there are.

    >>> join_names(["1", "2", "3"], most=2)
    "'1', '2' and 1 more"
    """
    all_ids = list(ids)
    shown = ", ".join(repr(one) for one in all_ids[:most])
    return shown if len(all_ids) <= most else f"{shown} and {len(all_ids) - most:,} more"


def suggest(name: str, known: Iterable[str]) -> str:
    """The known name nearest to a wrong one, as a sentence to append to an error; empty if none is near.

    >>> suggest("ndgc", ["nDCG", "AP"]), suggest("x", ["nDCG", "AP"])
    (' Did you mean nDCG?', '')
    """
    from difflib import get_close_matches  # only for an error

    spellings = {spelling.lower(): spelling for spelling in known}
    near = get_close_matches(name.lower(), spellings, 1)
    return f" Did you mean {spellings[near[0]]}?" if near else ""
