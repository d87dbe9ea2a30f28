"""Ids that look like each other."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from cranfield.validation.pairs import _look_alike

IDS = st.sets(st.text("aAΣσ0129-. \n\tİ", max_size=5), max_size=8)


def plainly(ours: set[str], theirs: set[str], any_prefix: bool) -> list[tuple[str, str]]:
    """The same one by one, as it is meant."""

    def simple(text: str) -> str:
        text = re.sub(r"^.*[^0-9](?=[0-9]+$)", "", text) if any_prefix else text
        return re.sub(r"(?<![0-9])0+(?=[0-9])", "", text.strip().lower())

    known = {simple(one): one for one in sorted(theirs)}
    return [(one, known[simple(one)]) for one in sorted(ours) if simple(one) in known]


@given(IDS, IDS, st.booleans())
def test_many_ids_at_once_are_like_one_by_one(ours: set[str], theirs: set[str], any_prefix: bool) -> None:
    assert _look_alike(ours, theirs, any_prefix) == plainly(ours, theirs, any_prefix)


def test_zeros_case_and_white_space_do_not_tell_ids_apart() -> None:
    assert _look_alike({"007", "WT-1", "x"}, {"7", "wt-01", "wt-1", "y"}) == [("007", "7"), ("WT-1", "wt-1")]
    assert _look_alike({"1"}, {"wt09-1"}) == [] and _look_alike({"1"}, {"wt09-1"}, any_prefix=True) == [("1", "wt09-1")]
    assert _look_alike(set(), {"a"}) == _look_alike({"a"}, set()) == []
