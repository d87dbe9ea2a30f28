"""What the targets share: the instrumented core in place of the installed one, and the comparison with the twin."""

from __future__ import annotations

import gc
import sys
import zlib
from typing import Any

import _instrumented_core as core

sys.modules["cranfield.base._core"] = core

import numpy as np  # noqa: E402
from _harness import call, sealed  # noqa: E402

from cranfield.base import fields  # noqa: E402
from cranfield.joining import TIE_RULES, Hits, Joining  # noqa: E402
from cranfield.joining.parallel import Part  # noqa: E402
from cranfield.joining.streaming import _merge, _with_groups  # noqa: E402

__all__ = ["attempt", "comes_back", "compared", "core", "joining", "same_hits", "sealed"]

TIES = {rule.core_code: name for name, rule in reversed(TIE_RULES.items())}  # by the number in the core
ONE_IN = 50

gc.freeze()


def attempt(failing: int, function: Any, *args: Any) -> Any:
    """What the core answers; None too if it refuses, or if the allocation that is to fail did."""
    try:
        return call(failing, function, *args)
    except (TypeError, ValueError, OverflowError):
        return None
    except MemoryError:
        assert failing, "memory is short without reason"
        return None


def compared(data: bytes) -> bool:
    """Whether an input is among those whose answer is compared, which take much longer: always the same ones."""
    return zlib.crc32(data) % ONE_IN == 0


def joining(ties: int, single: bool) -> Joining:
    return Joining(ties=TIES[ties], score_type="float32" if single else "float64")  # type: ignore[arg-type]


def comes_back(found: tuple[Any, ...]) -> bool:
    """Whether lines of a query stand apart, which is the caller's to settle."""
    part = Part.of_core(found)
    return len(set(part.queries)) < len(part.queries) or len(set(part.others)) < len(part.others)


def same_hits(found: tuple[Any, ...], expected: Part) -> None:
    """Fail unless the core's hits are the twin's, bit for bit."""
    part = Part.of_core(found)
    assert sorted(part.others) == sorted(expected.others), (part.others, expected.others)
    mine, theirs = (_with_groups(_merge([p])) for p in (part, expected))
    for field in fields(Hits):
        assert _bits(mine, field.name) == _bits(theirs, field.name), (field.name, mine, theirs)


def _bits(hits: Hits, name: str) -> bytes:
    kind = np.float64 if name == "grade" else np.int64
    return np.ascontiguousarray(getattr(hits, name), dtype=kind).tobytes()
