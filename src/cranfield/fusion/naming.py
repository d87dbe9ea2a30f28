"""Find methods and normalisations by name, in any spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from cranfield.base import suggest
from cranfield.errors import CranfieldError

T = TypeVar("T")


def find_by_name(name: str, known: Mapping[str, T], aliases: Mapping[str, str], kind: str) -> T:
    """Find something by name; case, hyphens and underscores do not matter.

    >>> find_by_name("Log-ISR", {"log_isr": 1}, {}, "method")
    1
    """
    spellings = {_plain(key): key for key in known} | dict(aliases)
    key = spellings.get(_plain(str(name)))
    if key is None:
        near = suggest(str(name), (*known, *aliases))
        raise CranfieldError(f"unknown {kind} {name!r}.{near} Choose from {', '.join(known)}.")
    return known[key]


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()
