"""Methods and normalisations by name, however it is written."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import TypeVar

from cranfield.errors import CranfieldError

T = TypeVar("T")


def named(name: str, known: Mapping[str, T], aliases: Mapping[str, str], kind: str) -> T:
    """What goes by a name; case, hyphens and underscores do not matter.

    >>> named("Log-ISR", {"log_isr": 1}, {}, "method")
    1
    """
    spellings = {_plain(key): key for key in known} | dict(aliases)
    found = spellings.get(_plain(str(name)))
    if found is not None:
        return known[found]
    near = difflib.get_close_matches(_plain(str(name)), spellings, n=1)
    hint = f" Did you mean {spellings[near[0]]}?" if near else ""
    raise CranfieldError(f"unknown {kind} {name!r}.{hint} There are {', '.join(known)}.")


def _plain(name: str) -> str:
    return re.sub(r"[-_\s]", "", name).lower()
