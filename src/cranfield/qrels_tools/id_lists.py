"""Lists of ids, one a line, as files hold them."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.errors import InputError
from cranfield.io import Input, PathLike, decode_id


def ids_of(named: Sequence[str], path: PathLike | None) -> list[str] | None:
    """The ids that were named and those of a file; None if neither is given."""
    if path is None:
        return list(named) or None
    return [*named, *read_ids(path)]


def read_ids(path: PathLike) -> list[str]:
    """The ids of a file, one a line; blank lines and comments (#) are passed over."""
    with Input(path) as source:
        found: list[str] = []
        for number, line in source.lines():
            words = line.split()
            if not words or words[0].startswith(b"#"):
                continue
            if len(words) > 1:
                raise InputError(f"expected one id a line, found {len(words)} columns.", source.name, number)
            found.append(decode_id(words[0]))
        if not found:
            raise InputError("no id in this file: expected one a line.", source.name)
    return found
