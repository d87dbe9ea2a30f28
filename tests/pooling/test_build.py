"""Pools: unions of lists, budgets, what is judged already, and what a user is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Document
from cranfield.errors import CranfieldError
from cranfield.pooling import make_pool
from cranfield.pooling.build import complete_pool, share_evenly
from tests.pooling.pooled_example import QRELS, RUNS, as_run

docs = st.dictionaries(st.sampled_from([f"d{i}" for i in range(15)]), st.integers(0, 5), max_size=12)
runs = st.dictionaries(
    st.sampled_from(["a", "b", "c", "d"]),
    st.dictionaries(st.sampled_from(["1", "2", "10"]), docs.filter(bool), min_size=1),
    min_size=1,
)
judgments = st.dictionaries(st.sampled_from(["1", "2", "3"]), docs.filter(bool), min_size=1)


def first(found: dict[str, int], depth: int) -> list[str]:
    """The first documents, as trec_eval ranks them."""
    return sorted(found, key=lambda doc: (found[doc], doc), reverse=True)[:depth]


@given(runs, st.integers(1, 13), st.one_of(st.none(), judgments))
def test_a_pool_of_depth_k_is_the_union_of_the_first_k_less_what_is_judged(
    own: dict[str, dict[str, dict[str, int]]], depth: int, judged: dict[str, dict[str, int]] | None
) -> None:
    expected = {
        (query, doc)
        for run in own.values()
        for query, found in run.items()
        for doc in first(found, depth)
        if doc not in (judged or {}).get(query, {})
    }
    pool = make_pool(own, depth=depth, judged=judged)
    assert set(pool) == expected and len(pool) == len(expected) == pool.header["documents"]


@given(runs, st.integers(1, 6), st.integers(0, 3))
def test_a_budget_is_kept_topic_by_topic(own: dict[str, dict[str, dict[str, int]]], budget: int, seed: int) -> None:
    whole = make_pool(own, seed=seed)
    for strategy in ("depth", "rrf", "uniform"):
        pool = make_pool(own, strategy, budget=budget, seed=seed)
        assert {q: len(d) for q, d in pool.pairs.items()} == {q: min(budget, len(d)) for q, d in whole.pairs.items()}
        assert set(pool) <= set(whole)


@given(runs, st.integers(1, 30))
def test_a_total_is_shared_out_evenly(own: dict[str, dict[str, dict[str, int]]], total: int) -> None:
    whole, pool = make_pool(own), make_pool(own, total=total)
    assert len(pool) == min(total, len(whole))
    cut = [
        len(pool.pairs.get(query, ())) for query, d in whole.pairs.items() if len(pool.pairs.get(query, ())) < len(d)
    ]
    # a topic of which not all is pooled has as many as the others, give or take one
    assert not cut or max(len(d) for d in pool.pairs.values()) <= min(cut) + 1


@given(st.integers(0, 50), st.dictionaries(st.text(max_size=2), st.integers(0, 12), min_size=1))
def test_shares_add_up(total: int, sizes: dict[str, int]) -> None:
    shares = share_evenly(total, sizes, 1)
    assert sum(shares.values()) == min(total, sum(sizes.values())) and list(shares) == list(sizes)
    assert all(shares[query] <= size for query, size in sizes.items())


def test_the_order_of_a_pool_does_not_depend_on_ranks() -> None:
    backwards = {name: {"T": {doc: -score for doc, score in run["T"].items()}} for name, run in RUNS.items()}
    assert make_pool(RUNS, depth=6).pairs == make_pool(backwards, depth=6).pairs
    assert make_pool(RUNS, seed=2).pairs != make_pool(RUNS, seed=1).pairs


def test_a_guided_strategy_gives_the_next_batch() -> None:
    judged = {"T": {doc: QRELS["T"][doc] for doc in ("d1", "d3", "d7")}}
    pool = make_pool(RUNS, "mm", judged=judged, batch=2)
    assert len(pool) == 2 and not set(pool.pairs["T"]) & set(judged["T"])
    assert len(make_pool(RUNS, "mm", judged=judged, batch=5, budget=4)) == 1
    assert len(make_pool(RUNS, "mm", judged=judged, batch=5, total=5)) == 2
    done = make_pool(RUNS, "mm", judged=QRELS)
    assert not len(done) and any("Nothing left to judge for 1 topic" in note for note in done.notes)


def test_what_is_missing_of_a_run_is_listed_and_nothing_else() -> None:
    new = {"T": {f"d{i}": -i for i in range(1, 9)}, "U": {"x": 1}}
    pool = complete_pool([new], 4, {"T": {"d1": 0, "d4": 1, "d9": 1}})
    assert {query: set(own) for query, own in pool.pairs.items()} == {"T": {"d2", "d3"}, "U": {"x"}}
    assert pool.provenance["strategy"] == "complete"
    only = complete_pool([new], 4, {"T": {"d1": 0}}, judged_topics=True)
    assert list(only.pairs) == ["T"]


def test_in_a_sample_what_was_not_drawn_is_not_judged() -> None:
    pool = make_pool(RUNS, "stratified", strata="6:0.5")
    assert pool.sample is not None and set(pool.sample.grades) == {-1}
    assert len(make_pool(RUNS, judged=pool.sample)) == 12
    # as everywhere a grade below 0 means pooled but not judged
    again = make_pool(RUNS, judged={"T": {"d1": -2, "d2": 0}})
    assert len(again) == 11 and note_of(again.notes, "1 grade below 0: these documents count as not judged")


def note_of(pool_notes: tuple[str, ...], part: str) -> bool:
    return any(part in note for note in pool_notes)


def test_topics_that_runs_do_not_share_are_told() -> None:
    apart = make_pool({"a": {"1": {"x": 1}}, "b": {"2": {"x": 1}}})
    assert note_of(apart.notes, "No two runs have a topic in common") and len(apart) == 2
    some = make_pool({"a": {"1": {"x": 1}, "2": {"x": 1}}, "b": {"2": {"y": 1}}})
    assert note_of(some.notes, "1 topic in one run only, and pooled from it alone: '1'")
    three = {"a": {"1": {"x": 1}}, "b": {"1": {"y": 1}}, "c": {"2": {"y": 1}}}
    assert note_of(make_pool(three).notes, "1 topic not in all runs: '1'")


def test_budgets_beyond_the_pool_and_judgments_of_other_topics_are_told() -> None:
    assert note_of(make_pool(RUNS, budget=50).notes, "1 topic with fewer than 50 documents to judge (at least 12)")
    assert note_of(make_pool(RUNS, total=50).notes, "only 12 documents to judge, fewer than 50")
    assert note_of(make_pool(RUNS, "rrf").notes, "Without a budget all documents are pooled")
    assert note_of(make_pool(RUNS, batch=3).notes, "The batch size has no effect")
    assert note_of(make_pool(RUNS, judged={"other": {"d1": 1}}).notes, "None of the topics has a judgment")
    assert note_of(make_pool(RUNS, "stratified", strata="3:0.5").notes, "below rank 3 belong to no stratum")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strategy": "deptth"}, "unknown strategy 'deptth'. Did you mean depth?"),
        ({"depth": 0}, "depth 0: expected a whole number from 1"),
        ({"budget": 0}, "budget 0: expected a whole number from 1"),
        ({"budget": 1, "total": 1}, "give either budget (for each topic) or total"),
        ({"strategy": "uniform"}, "uniform: how many?"),
        ({"strategy": "uniform", "rate": 0}, "rate=0 is out of range: expected a number above 0 and up to 1"),
        ({"strategy": "uniform", "rate": 1.1}, "expected a number above 0 and up to 1"),
        ({"strategy": "uniform", "rate": "much"}, "rate='much': expected a number above 0 and up to 1"),
        ({"strategy": "stratified", "strata": "10:0"}, "rates above 0 and at most 1, found 0"),
        ({"strategy": "stratified", "strata": "10:1.5"}, "rates above 0 and at most 1, found 1.5"),
        ({"strategy": "stratified", "strata": "10:1,5:1"}, "increasing ranks, but 5 comes after 10"),
        ({"strategy": "stratified", "strata": "ten"}, "expected strata as last rank and rate"),
        ({"strategy": "stratified", "budget": 3}, "the rates of the strata set the size of the sample"),
        ({"strategy": "rrf", "p": 0.5}, "rrf has no parameter 'p': it has k"),
        ({"strategy": "mm", "update": "some"}, "update='some' is unknown: expected one of all, own"),
        ({"strategy": "mm", "seed_depth": 1.5}, "expected a whole number of at least 0"),
        ({"strategy": "autotar"}, "autotar needs the texts of documents: --documents FILE"),
        ({"strategy": "autotar", "documents": []}, "autotar needs the texts of topics: --topics FILE"),
        ({"strategy": "autotar", "documents": [], "topics": {}}, "there is no document to learn from"),
        ({"strategy": "autotar", "documents": [Document("x", "y")], "topics": {}}, "Are the ids the same?"),
        ({"strategy": "expansion"}, "expansion needs an index to search: --index INDEX"),
        ({"judged_topics": True}, "needs judgments: name them with --judged"),
        ({"judged_topics": True, "judged": {"other": {"d1": 1}}}, "have no query in common"),
    ],
)
def test_what_cannot_be_made_is_a_clear_error(options: dict[str, object], message: str) -> None:
    with pytest.raises(CranfieldError) as error:
        make_pool(RUNS, **options)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_runs_of_the_same_name_are_told_apart() -> None:
    pool = make_pool([as_run({"1": "ab"}), as_run({"1": "bc"})])
    assert [run["name"] for run in pool.provenance["runs"]] == ["run (1)", "run (2)"] and len(pool) == 3
