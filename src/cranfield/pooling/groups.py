"""Groups of runs, such as those of one team or one family of models."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cranfield.base import format_id, join_names
from cranfield.errors import InputError
from cranfield.io import Input, PathLike, decode_id


def read_run_groups(path: PathLike) -> dict[str, str]:
    """Read the group of each run: lines `run⇥group`."""
    groups: dict[str, str] = {}
    with Input(path) as source:
        for number, line in source.lines():
            if not line.strip() or line.startswith(b"#"):
                continue
            fields = [decode_id(field.strip()) for field in line.split(b"\t")]
            if len(fields) != 2 or not all(fields):
                raise InputError(f"expected 'run<TAB>group', found {len(fields)} columns.", source.name, number)
            run, group = fields
            if groups.setdefault(run, group) != group:
                message = f"run {format_id(run)} is in two groups, {groups[run]!r} and {group!r}."
                raise InputError(message, source.name, number)
        if not groups:
            raise InputError("the file is empty, expected 'run<TAB>group' lines.", source.name)
    return groups


def assign_groups(runs: Sequence[str], groups: Mapping[str, str] | str | None = None) -> tuple[str, ...]:
    """The group of each run, from a mapping of run to group or a regular expression searched in the run's name.

    With a regular expression, the group is what its first parentheses match, or the whole match if there are none. A
    run that is in no group, or does not match, is a group of its own.

    >>> assign_groups(["ict_1", "ict_2", "bm25"], "^[a-z]+_")
    ('ict_', 'ict_', 'bm25')
    >>> assign_groups(["ict_1", "ict_2", "bm25"], {"ict_1": "ICT", "ict_2": "ICT"})
    ('ICT', 'ICT', 'bm25')
    """
    if groups is None:
        return tuple(runs)
    if isinstance(groups, str):
        return tuple(_match_group(run, groups) for run in runs)
    unknown = [run for run in groups if run not in runs]
    if len(unknown) == len(groups):
        raise InputError(f"none of the runs in the groups is among the runs to pool: {join_names(unknown, 3)}.")
    return tuple(groups.get(run, run) for run in runs)


def _match_group(run: str, pattern: str) -> str:
    try:
        match = re.search(pattern, run)
    except re.error as error:
        raise InputError(f"{pattern!r} is not a valid regular expression: {error}.") from None
    if match is None:
        return run
    return (match[1] if match.re.groups else match[0]) or run
