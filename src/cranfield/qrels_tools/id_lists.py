"""Files of ids, one per line."""

from __future__ import annotations

from collections.abc import Sequence

from cranfield.errors import InputError
from cranfield.io import Input, PathLike, decode_id


def collect_ids(named: Sequence[str], path: PathLike | None) -> list[str] | None:
    """The ids named on the command line and those of a file; None if there are neither."""
    if path is None:
        return list(named) or None
    return [*named, *read_ids(path)]


def read_ids(path: PathLike) -> list[str]:
    """The ids of a file, one per line; blank lines and comments (#) are skipped."""
    with Input(path) as source:
        found: list[str] = []
        for number, line in source.lines():
            words = line.split()
            if not words or words[0].startswith(b"#"):
                continue
            if len(words) > 1:
                raise InputError(f"expected one id per line, found {len(words)} columns.", source.name, number)
            found.append(decode_id(words[0]))
        if not found:
            raise InputError("the file has no ids: expected one per line.", source.name)
    return found
