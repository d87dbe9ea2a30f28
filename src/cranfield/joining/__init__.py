"""The join: rank a run, break ties, look up its judgments; in memory, streaming, in parallel, read ahead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cranfield.base import lazy_exports

if TYPE_CHECKING:
    from cranfield.joining.join import assemble, join_run
    from cranfield.joining.judged_run import (
        NO_EXTRAS,
        Extras,
        JudgedRun,
        Sources,
        accumulate_within,
        count_duplicates_once,
        share,
    )
    from cranfield.joining.options import DEFAULT_JOINING, JOIN_OPTIONS, Joining
    from cranfield.joining.ranking import Hits, find_hits
    from cranfield.joining.read_ahead import ReadAhead
    from cranfield.joining.ties import TIE_RULES, TieRule

__all__, __getattr__ = lazy_exports(
    __name__,
    {
        "join": "assemble join_run",
        "judged_run": "Extras JudgedRun NO_EXTRAS Sources accumulate_within count_duplicates_once share",
        "options": "DEFAULT_JOINING JOIN_OPTIONS Joining",
        "ranking": "Hits find_hits",
        "read_ahead": "ReadAhead",
        "ties": "TIE_RULES TieRule",
    },
)
