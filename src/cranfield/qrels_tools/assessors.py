"""Assessors by name, people and models, with their judgments."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from cranfield.base import Record, join_names
from cranfield.data import Qrels
from cranfield.errors import InputError
from cranfield.evaluation import distinct_names
from cranfield.io import display_name
from cranfield.qrels_tools.provenance import Provenance, label_assessor, read_provenance


class Assessor(Record):
    """An assessor with judgments: a person, or a model, which is never treated as a person."""

    name: str
    qrels: Qrels
    is_model: bool = False
    provenance: Provenance | None = None  # of judgments that were made from others

    @property
    def label(self) -> str:
        """The name, marked if it is a model."""
        return label_assessor(self.name, self.is_model)


def read_assessors(
    files: Sequence[str], models: Sequence[str], read: Callable[[str], Qrels], least: int = 1
) -> tuple[Assessor, ...]:
    """Assessors from `FILE` or `NAME=FILE`; `models` names those that are models, or further files of models.

    Judgments that were merged from a model's, according to their provenance, count as a model's too.
    """
    given = [_name_and_file(text) for text in files]
    marked: set[str] = set()
    for text in models:
        known = [i for i, (name, file) in enumerate(given) if text in (name or _file_name(file), file)]
        if len(known) > 1:
            raise InputError(f"--model {text}: several assessors have this name: give them names, as in NAME=FILE.")
        if not known:
            given.append(_model_file(text, [name or _file_name(file) for name, file in given]))
        marked.add(given[known[0] if known else -1][1])
    if [file for _, file in given].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    if len(given) < least:
        raise InputError(f"expected the judgments of at least {least} assessors, found {len(given)}.")
    names = _names(given)
    return tuple(_assessor(name, file, file in marked, read) for name, (_, file) in zip(names, given, strict=True))


def _assessor(name: str, file: str, is_marked: bool, read: Callable[[str], Qrels]) -> Assessor:
    qrels, known = read(file), read_provenance(file)
    return Assessor(name, qrels, is_marked or (known is not None and known.is_model), known)


def _name_and_file(text: str) -> tuple[str, str]:
    """The name and the file of an argument.

    >>> _name_and_file("anna=judged/anna.qrels"), _name_and_file("anna.qrels")
    (('anna', 'judged/anna.qrels'), ('', 'anna.qrels'))
    """
    name, sign, file = text.partition("=")
    if not sign or os.path.exists(text) or "/" in name:
        return "", text
    if not name or not file:
        raise InputError(f"{text!r}: expected FILE or NAME=FILE.")
    return name, file


def _model_file(text: str, names: Sequence[str]) -> tuple[str, str]:
    name, file = _name_and_file(text)
    if not name and not os.path.exists(file) and file != "-":
        known = f" ({join_names(names)})" if names else ""
        raise InputError(f"--model {text}: expected the name of an assessor{known} or a file of judgments, NAME=FILE.")
    return name, file


def _names(given: Sequence[tuple[str, str]]) -> list[str]:
    """The names of assessors, by default those of their files."""
    own = [name for name, _ in given if name]
    twice = next((name for name in own if own.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two assessors are named {twice!r}: expected different names.")
    return distinct_names([name or _file_name(file) for name, file in given], [file for _, file in given])


def _file_name(file: str) -> str:
    """The name of an assessor after the file.

    >>> _file_name("judged/anna.qrels.gz")
    'anna'
    """
    name = display_name(file)
    stem, suffix = os.path.splitext(name)
    return stem if stem and suffix.lower() in _SUFFIXES else name


_SUFFIXES = (".qrels", ".qrel", ".txt", ".tsv", ".csv", ".json", ".jsonl", ".parquet")
