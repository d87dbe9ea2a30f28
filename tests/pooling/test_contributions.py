"""Who found what: pools, contributions, overlap and judged@k against plain sets."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError, InputError
from cranfield.io import as_qrels, as_run
from cranfield.joining import join_run
from cranfield.pooling.contributions import (
    PooledRuns,
    compute_judged_shares,
    compute_overlaps,
    count_group_contributions,
    count_run_contributions,
    summarize_topics,
)
from cranfield.pooling.groups import assign_groups, read_run_groups
from tests.pooling.depth_3_pool import DEPTH_3, T, judged, listed, runs_of_t
from tests.soak import examples

DOCS = [f"d{i}" for i in range(12)]


def test_the_uniques_of_the_reference_case_are_those_of_the_depth_3_pool() -> None:
    pooled = PooledRuns.of(DEPTH_3, runs_of_t(), depth=3)
    for name, unique in (("A", 1), ("B", 1), ("C", 1)):
        found = next(one for one in count_run_contributions(pooled) if one.name == name)
        assert (found.pooled, found.unique, found.unique_relevant) == (3, unique, 1)


def test_at_full_depth_other_documents_are_unique() -> None:
    pooled = PooledRuns.of(judged(*{doc for docs in T.values() for doc in docs.split()}), runs_of_t(), depth=6)
    assert [(one.unique, one.unique_relevant) for one in count_run_contributions(pooled)] == [(2, 0), (2, 1), (3, 1)]


def test_the_depth_is_inferred_from_what_is_judged() -> None:
    pooled = PooledRuns.of(DEPTH_3, runs_of_t())
    # A: d1 d2 d3 and then d4, which nobody judged; B: d7 d2 d8 d1, then d9; C: d3 d10 d7, then d11
    assert pooled.depth == 3 and pooled.pooled == (True, True, True)
    assert pooled.depth_is == "inferred: everything the runs retrieved down to rank 3 is judged"


def test_a_depth_that_is_given_is_taken_as_it_is() -> None:
    pooled = PooledRuns.of(DEPTH_3, runs_of_t(), depth=5)
    assert (pooled.depth, pooled.depth_is) == (5, "given")
    assert sum(topic.pooled_unjudged for topic in summarize_topics(pooled)) == len({"d4", "d5", "d9", "d11"})


@examples(50)
@given(seed=st.integers(0, 9_999), depth=st.integers(1, 12))
def test_runs_that_are_joined_already_are_pooled_alike_and_read_only_where_something_is_not_judged(
    seed: int, depth: int
) -> None:
    rng = np.random.default_rng(seed)
    runs = [
        as_run({q: dict(zip(rng.permutation(DOCS)[:9], rng.integers(0, 4, 9), strict=True)) for q in "ab"}, name=name)
        for name in "xyz"
    ]
    qrels = as_qrels({q: {doc: int(rng.integers(-1, 3)) for doc in rng.permutation(DOCS)[:7]} for q in "ab"})
    joins = [join_run(qrels, run) for run in runs]
    asked = []

    def first(r: int, query: str, depth: int) -> list[str]:
        asked.append((r, query))
        return joins[r].ranking(joins[r].queries.index(query))[:depth]

    expected = PooledRuns.of(qrels, runs, depth=depth)
    for kept in (None, 2):  # hits below a rank may be left out: then more is asked for
        found = PooledRuns.from_joins(qrels, runs, [join.cut(kept) for join in joins], first, depth=depth)
        for own, other in zip((*found.lists, *found.ranks), (*expected.lists, *expected.ranks), strict=True):
            assert own.tolist() == other.tolist()
        assert found.topic.tolist() == expected.topic.tolist() and found.notes == expected.notes
        np.testing.assert_array_equal(found.grade, expected.grade)
    asked.clear()
    PooledRuns.from_joins(qrels, runs, joins, first, depth=depth)
    lacking = [
        (r, query)
        for r, join in enumerate(joins)
        for i, query in enumerate(join.queries)
        if not set(join.ranking(i)[:depth]) <= qrels.judged[i].keys()
    ]
    assert asked == lacking


def test_everything_judged_is_a_pool_as_deep_as_the_longest_list() -> None:
    pooled = PooledRuns.of({"q": {"a": 1, "b": 0}}, [{"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": 1.0}}])
    assert pooled.depth == 2 and pooled.depth_is.startswith("inferred: everything the runs retrieved is judged")


def test_a_run_whose_first_document_is_not_judged_was_not_pooled() -> None:
    runs = [as_run({"q": listed("a b")}, name="in"), as_run({"q": listed("x a")}, name="out")]
    pooled = PooledRuns.of({"q": {"a": 1, "b": 0}}, runs)
    assert pooled.pooled == (True, False)
    assert [one.pooled for one in count_run_contributions(pooled)] == [2, 0]
    assert any("'out'" in note for note in pooled.notes)


def test_a_run_judged_far_less_deep_than_others_was_not_pooled() -> None:
    docs = [f"d{i}" for i in range(10)]
    deep = [as_run({"q": {doc: float(-i) for i, doc in enumerate([*order, "x"])}}) for order in (docs, docs[::-1])]
    shallow = as_run({"q": listed("d1 y d2")})
    pooled = PooledRuns.of({"q": dict.fromkeys(docs, 0)}, [*deep, shallow])
    assert pooled.depth == 10 and pooled.pooled == (True, True, False)


def test_where_nothing_is_judged_at_the_top_the_depth_is_said_to_be_unknown() -> None:
    pooled = PooledRuns.of({"q": {"a": 1}}, [{"q": listed("x a")}, {"q": listed("y a")}])
    assert pooled.depth == 2 and "no run has all of its first documents judged" in pooled.depth_is


def test_a_negative_grade_is_no_judgment() -> None:
    pooled = PooledRuns.of({"q": {"a": 1, "b": -1}}, [{"q": listed("a b")}], depth=2)
    (topic,) = summarize_topics(pooled)
    assert (topic.pooled, topic.judged, topic.pooled_unjudged, topic.relevant) == (2, 1, 1, 1)
    assert topic.grades == {1.0: 1}


def test_topics_tell_sizes_grades_and_what_is_outside() -> None:
    qrels = {"1": {"a": 0, "b": 0, "c": 0, "d": 1}, "2": {"a": 2, "b": 0}, "3": {"a": 0}, "4": {"a": 1, "b": 0, "c": 0}}
    pooled = PooledRuns.of(qrels, [{q: {"a": 1.0} for q in qrels}], depth=1)
    topics = summarize_topics(pooled)
    assert [topic.has_many for topic in topics] == [False, True, False, False]  # exactly a third is not over a third
    assert [topic.has_none for topic in topics] == [False, False, True, False]
    assert [topic.outside for topic in topics] == [3, 1, 0, 2]
    assert topics[0].grades == {0.0: 3, 1.0: 1, 2.0: 0}


def test_the_lowest_relevant_grade_can_be_another() -> None:
    pooled = PooledRuns.of({"q": {"a": 1, "b": 2}}, [{"q": listed("a b")}], rel=2)
    assert [one.unique_relevant for one in count_run_contributions(pooled)] == [1]


def test_of_equal_scores_the_last_id_comes_first_as_in_an_evaluation() -> None:
    pooled = PooledRuns.of({"q": {"a": 1, "b": 0}}, [{"q": {"a": 1.0, "b": 1.0}}], depth=1)
    assert [one.relevant for one in count_run_contributions(pooled)] == [0]


def test_runs_that_lack_topics_are_told() -> None:
    pooled = PooledRuns.of({"1": {"a": 1}, "2": {"a": 1}}, [{"1": {"a": 1.0}, "9": {"a": 1.0}}])
    assert any("has no documents for 1 topic with judgments" in note for note in pooled.notes)
    assert any("without judgments are left out, up to 1 of a run" in note for note in pooled.notes)


def test_a_depth_below_one_and_no_runs_are_refused() -> None:
    with pytest.raises(CranfieldError, match="depth 0"):
        PooledRuns.of({"1": {"a": 1}}, [{"1": {"a": 1.0}}], depth=0)
    with pytest.raises(CranfieldError, match="no runs"):
        PooledRuns.of({"1": {"a": 1}}, [])


ORDERS = st.lists(st.permutations(DOCS), min_size=1, max_size=4)


@examples(60)
@given(first=ORDERS, second=ORDERS, depth=st.integers(1, 8), seed=st.integers(0, 99))
def test_contributions_overlap_and_judged_shares_are_those_of_plain_sets(
    first: list[list[str]], second: list[list[str]], depth: int, seed: int
) -> None:
    """Two topics; a run that has no order for the second one lacks it."""
    rng = np.random.default_rng(seed)
    orders = [{"1": one, **({"2": second[r]} if r < len(second) else {})} for r, one in enumerate(first)]
    lists = [{q: order[: 3 + len(order) // 2] for q, order in own.items()} for own in orders]
    runs = [
        as_run({q: {d: float(-i) for i, d in enumerate(docs)} for q, docs in own.items()}, name=f"r{r}")
        for r, own in enumerate(lists)
    ]
    qrels = {q: {d: int(rng.integers(0, 3)) for d in DOCS if rng.random() < 0.7 or d == "d0"} for q in ("1", "2")}
    groups = {f"r{r}": "even" if r % 2 == 0 else f"r{r}" for r in range(len(runs))}
    pooled = PooledRuns.of(qrels, runs, depth=depth, groups=groups)
    tops = [{(q, d) for q, docs in own.items() for d in docs[:depth]} for own in lists]
    relevant = {(q, d) for q, own in qrels.items() for d, grade in own.items() if grade >= 1}
    for r, one in enumerate(count_run_contributions(pooled)):
        unique = tops[r] - set().union(*(tops[s] for s in range(len(tops)) if s != r))
        assert (one.pooled, one.unique, one.unique_relevant) == (len(tops[r]), len(unique), len(unique & relevant))
    for group in count_group_contributions(pooled):
        own = set().union(*(tops[r] for r in range(len(tops)) if groups[f"r{r}"] == group.name))
        unique = own - set().union(*(tops[r] for r in range(len(tops)) if groups[f"r{r}"] != group.name))
        assert (group.pooled, group.unique, group.unique_relevant) == (len(own), len(unique), len(unique & relevant))
    matrix = compute_overlaps(pooled)
    for a in range(len(tops)):
        for b in range(len(tops)):
            shares = []
            for q in ("1", "2"):
                one, other = ({pair for pair in tops[r] if pair[0] == q} for r in (a, b))
                if one | other:
                    shares.append(len(one & other) / len(one | other))
            assert matrix[a, b] == pytest.approx(np.mean(shares))
    for k, found in compute_judged_shares(pooled, [2, 5]).items():
        for r, own in enumerate(lists):
            seen = [d in qrels[q] for q, docs in own.items() for d in docs[:k]]
            assert found[r] == pytest.approx(np.mean(seen))


def test_groups_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "groups.tsv"
    file.write_text("# teams\na1\tA\na2\tA\n")
    assert assign_groups(["a1", "a2", "b"], read_run_groups(file)) == ("A", "A", "b")


@pytest.mark.parametrize(
    ("text", "said"),
    [("a b\n", "line 1: expected 'run<TAB>group'"), ("a\tA\na\tB\n", "is in two groups"), ("", "the file is empty")],
)
def test_a_file_of_groups_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "groups.tsv"
    file.write_text(text)
    with pytest.raises(InputError, match=said):
        read_run_groups(file)


def test_a_pattern_that_is_none_and_groups_of_other_runs_are_refused() -> None:
    with pytest.raises(InputError, match="not a valid regular expression"):
        assign_groups(["a"], "(")
    with pytest.raises(InputError, match="none of the runs"):
        assign_groups(["a"], {"b": "B"})
