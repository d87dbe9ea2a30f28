"""Names that distinguish runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence


def distinct_names(names: Sequence[str], files: Sequence[str | None]) -> list[str]:
    """Names that distinguish runs: equal names get folders in front, as many as needed, then a number behind.

    >>> distinct_names(["bm25", "bm25", "lm"], ["a/bm25.gz", "b/bm25.gz", "a/lm"])
    ['a/bm25', 'b/bm25', 'lm']
    >>> distinct_names(["bm25", "bm25", "bm25"], ["a/bm25", "b/bm25", "b/bm25.gz"])
    ['a/bm25', 'b/bm25 (1)', 'b/bm25 (2)']
    """
    result = list(names)
    for name in {name for name in names if names.count(name) > 1}:
        at = [i for i, other in enumerate(names) if other == name]
        for i, folder in zip(at, _telling_folders([files[i] for i in at]), strict=True):
            result[i] = "/".join([*folder, name])
        for i, number in _numbered([result[i] for i in at]):
            result[at[i]] += f" ({number})"
    # a name made up here may be one that was given
    while len(set(result)) < len(result):
        twice = next(i for i, name in enumerate(result) if result.index(name) < i)
        result[twice] += "'"
    return result


def _telling_folders(files: Sequence[str | None]) -> list[tuple[str, ...]]:
    """The last folders of each path, as many as tell different ones apart; none if all are the same."""
    folders = [tuple(os.path.normpath(os.path.dirname(file)).split(os.sep)) if file else () for file in files]
    depths = range(1 + max(map(len, folders)))
    depth = next(d for d in depths if len({_last(folder, d) for folder in folders}) == len(set(folders)))
    return [_last(folder, depth) for folder in folders]


def _last(folder: tuple[str, ...], depth: int) -> tuple[str, ...]:
    return folder[len(folder) - depth :] if depth < len(folder) else folder


def _numbered(names: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The positions of names that occur more than once, and the number of each among its equals."""
    for i, name in enumerate(names):
        if names.count(name) > 1:
            yield i, names[: i + 1].count(name)
