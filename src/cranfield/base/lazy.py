"""Names of a package that are imported when they are first used, so a command loads only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, names_of: Mapping[str, str], modules: str = ""
) -> tuple[list[str], Callable[[str], Any]]:
    """`__all__` and `__getattr__` of a package, from a table of its modules and the names each one provides.

    `modules` are those that others may import as a whole.

    >>> __all__, __getattr__ = lazy_exports("cranfield.base", {"text": "join_names pluralize"})
    >>> __all__, __getattr__("pluralize")(2, "run")
    (['join_names', 'pluralize'], '2 runs')
    """
    module_of = {name: module for module, names in names_of.items() for name in names.split()}

    def load(name: str) -> Any:
        if name in modules.split():
            return import_module(f"{package}.{name}")
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted([*module_of, *modules.split()]), load
