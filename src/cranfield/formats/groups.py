"""Groups of queries: a file of `query⇥group` lines."""

from __future__ import annotations

from cranfield.collection import shown
from cranfield.errors import InputError
from cranfield.formats.opening import Input, PathLike
from cranfield.formats.values import text


def read_groups(path: PathLike) -> dict[str, str]:
    """Which group each query belongs to (type, length, language, …)."""
    groups: dict[str, str] = {}
    with Input(path) as source:
        for number, line in source.lines():
            if not line.strip() or line.startswith(b"#"):
                continue
            fields = [field.strip() for field in line.split(b"\t")]
            if len(fields) != 2 or not all(fields):
                raise InputError(f"expected 'query<TAB>group', found {len(fields)} columns.", source.name, number)
            query, group = map(text, fields)
            if groups.setdefault(query, group) != group:
                message = f"query {shown(query)} is put into two groups, {groups[query]!r} and {group!r}."
                raise InputError(message, source.name, number)
    if not groups:
        raise InputError("the file is empty, expected 'query<TAB>group' lines.", source.name)
    return groups
