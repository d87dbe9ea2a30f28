"""A user's own measures: classes in a Python file, named as `my_measures.py:Mine`."""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from types import ModuleType

from cranfield.base import Record, fields, join_names
from cranfield.errors import InputError, MeasureError
from cranfield.measures.base import Measure, user_error

_NAMED = re.compile(r"(?P<file>.+?\.py):(?P<measure>.+)", re.DOTALL)


def parse_user_name(text: str) -> tuple[str, str] | None:
    """The file and the measure of a name such as `file.py:Mine`; None for any other.

    >>> parse_user_name("my_measures.py:Mine@10"), parse_user_name("nDCG@10")
    (('my_measures.py', 'Mine@10'), None)
    """
    match = _NAMED.fullmatch(text)
    return (match["file"], match["measure"].strip()) if match else None


def load_user_measure(file: str, name: str) -> type[Measure]:
    """Run a Python file and return its measure of that name (or class); the error says which it has."""
    found = _defined(file)
    kinds = {key: kind for kind in found.measures for key in (kind.__name__, kind.name, *kind.aliases)}
    if name in kinds:
        return kinds[name]
    if name in found.others:
        raise MeasureError(f"{file}: {name} is not a measure: expected a class that subclasses cranfield.Measure.")
    has = f"it has {join_names(kind.__name__ for kind in found.measures)}" if kinds else "it has none"
    raise MeasureError(f"{file}: there is no measure {name!r}: {has}.")


class _Definitions(Record):
    """What a file defines: its measures, and the names of everything else."""

    measures: tuple[type[Measure], ...]
    others: frozenset[str]


def _defined(file: str) -> _Definitions:
    try:
        with open(file, "rb") as source:
            program = source.read()
    except FileNotFoundError:
        raise InputError("there is no such file.", file) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", file) from None
    return _loaded(file, program)


@lru_cache(maxsize=64)
def _loaded(file: str, program: bytes) -> _Definitions:
    module = _run(file, program)
    kinds = {name: kind for name, kind in vars(module).items() if _is_own(kind, module)}
    for name, kind in kinds.items():
        _finish(name, kind, file)
    return _Definitions(tuple(kinds.values()), frozenset(set(vars(module)) - set(kinds)))


def _run(file: str, program: bytes) -> ModuleType:
    module = ModuleType(f"own_measures_{os.path.splitext(os.path.basename(file))[0]}")
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses look there for what annotations mean
    try:
        exec(compile(program, file, "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        raise user_error(error, file) from error
    return module


def _is_own(kind: object, module: ModuleType) -> bool:
    return isinstance(kind, type) and kind.__module__ == module.__name__ and issubclass(kind, Measure)


def _finish(name: str, kind: type[Measure], file: str) -> None:
    """Record the file of a measure, and name it after its class if it has no name."""
    kind.source = file
    undescribed = [field.name for field in fields(kind) if field.name not in kind.parameters]
    if undescribed:
        raise InputError(f"{name} does not describe {join_names(undescribed)} in its `parameters`.", file)
    if not kind.__dict__.get("name") and not name.startswith("_"):
        kind.name = name
        kind.register()
