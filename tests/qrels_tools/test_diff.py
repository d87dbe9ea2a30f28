"""What changed between two sets of judgments."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cranfield.io import as_qrels
from cranfield.qrels_tools.diff import diff_qrels
from tests.soak import examples

OLD = as_qrels({"1": {"a": 0, "b": 1, "c": 2}, "2": {"a": 1}})
NEW = as_qrels({"1": {"a": 2, "b": 1, "d": 0}, "3": {"a": 1}})


def test_added_removed_and_changed_by_hand() -> None:
    found = diff_qrels(OLD, NEW)
    assert found.counts == {"same": 1, "added": 2, "removed": 2, "changed": 1}
    assert [(c.query, c.doc, c.old, c.new, c.kind) for c in found.changes] == [
        ("1", "a", 0, 2, "changed"),
        ("1", "c", 2, None, "removed"),
        ("1", "d", None, 0, "added"),
        ("2", "a", 1, None, "removed"),
        ("3", "a", None, 1, "added"),
    ]
    assert found.grades.tolist() == [0, 1, 2] and found.moves.tolist() == [[0, 0, 1], [0, 1, 0], [0, 0, 0]]
    assert (found.topics_added, found.topics_removed) == (("3",), ("2",))
    assert found.crossed(rel=1) == (1, 0)
    assert [(t.query, t.same, t.added, t.removed, t.changed) for t in found.topics][0] == ("1", 1, 1, 1, 1)


def test_the_same_judgments_do_not_differ() -> None:
    found = diff_qrels(OLD, OLD)
    assert not found.changes and found.counts["same"] == 4


qrels = st.dictionaries(
    st.sampled_from("12"), st.dictionaries(st.sampled_from("abcd"), st.integers(0, 3), min_size=1), min_size=1
)


@given(qrels, qrels)
@examples(60)
def test_the_way_back_is_the_opposite(old: Any, new: Any) -> None:
    there, back = diff_qrels(as_qrels(old), as_qrels(new)), diff_qrels(as_qrels(new), as_qrels(old))
    assert (there.moves == back.moves.T).all()
    assert there.counts["added"] == back.counts["removed"] and there.counts["changed"] == back.counts["changed"]
    one = {(c.query, c.doc): c.new for c in there.changes}
    patched = {(q, d): g for q, docs in old.items() for d, g in docs.items()} | one
    expected = {(q, d): g for q, docs in new.items() for d, g in docs.items()}
    assert {key: grade for key, grade in patched.items() if grade is not None} == expected
