"""The conventions of a join."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from cranfield.base import Missing, RankBy, Record, ScoreType, Ties
from cranfield.errors import CranfieldError
from cranfield.joining.ties import TIE_RULES, TieRule

JOIN_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "ties": tuple(TIE_RULES),
    "rank_by": get_args(RankBy),
    "score_type": get_args(ScoreType),
    "missing": get_args(Missing),
}


class Joining(Record):
    """The conventions of a join; the output of every command names them."""

    ties: Ties = "trec"
    rank_by: RankBy = "score"
    score_type: ScoreType = "float64"
    missing: Missing = "zero"

    def __post_init__(self) -> None:
        for name, choices in JOIN_OPTIONS.items():
            if getattr(self, name) not in choices:
                value, expected = getattr(self, name), ", ".join(choices)
                raise CranfieldError(f"{name.replace('_', ' ')} {value!r} is unknown: expected one of {expected}.")

    @property
    def tie_rule(self) -> TieRule:
        return TIE_RULES[self.ties]

    @property
    def is_streamable(self) -> bool:
        """Whether ranks follow from scores and document ids alone, so a file can be joined block by block."""
        return self.rank_by == "score" and self.tie_rule.core_code is not None


DEFAULT_JOINING = Joining()
