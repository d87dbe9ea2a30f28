"""The join: rank a run, break ties, look up its judgments; in memory, streaming, in parallel, read ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.joining.join import (
        DEFAULT,
        JOIN_OPTIONS,
        NOTHING,
        Bools,
        Extras,
        Hits,
        Joining,
        JudgedRun,
        Sources,
        accumulated,
        assemble,
        find_hits,
        judge,
        once_each,
        share,
    )
    from cranfield.joining.streaming import Joined, Joiner, is_streamable

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "join": (
            "Bools DEFAULT Extras Hits JOIN_OPTIONS Joining JudgedRun NOTHING Sources accumulated assemble "
            "find_hits judge once_each share"
        ),
        "streaming": "Joined Joiner is_streamable",
    },
)
