"""The same numbers as trec_eval 9, query by query, on random data with everything that can be odd about them."""

import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cranfield import evaluate
from tests.measures.pytrec_oracle import Oracle
from tests.soak import examples

pytest.importorskip("pytrec_eval")

CUTOFFS = "1,2,3,5,10,100"
CUT = ["map_cut", "ndcg_cut", "P", "recall", "success"]
PLAIN = ["map", "recip_rank", "Rprec", "ndcg", "set_P", "set_recall", "set_F", "num_ret", "num_rel", "num_rel_ret"]
MEASURES = [*PLAIN, *(f"{name}.{CUTOFFS}" for name in CUT)]
THOROUGH = examples(120)

# ids of several lengths, prefixes of each other, capitals before small letters, not all ASCII
DOCS = ["d1", "d10", "d2", "D1", "d", "doc-0000000001", "é", "z", "0", "00", "日本", "a" * 60, "-", "_", "~"]
FEW_SCORES = st.sampled_from([0.0, 1.0, 1.5, -2.0])
FLOAT32_TIES = st.sampled_from([16777216.0, 16777217.0, 16777218.0, 1.0, 1.0 + 1e-9, 1.0 - 1e-9, 0.1, 0.1 + 1e-10])
LARGE = st.sampled_from([1e30, -1e30, 1e37, 3e38, -3e38, 1e-30, 1e-45, 0.0, 123456789.0, 123456790.0])
GRADES = st.integers(-2, 4)


@pytest.fixture(scope="module")
def oracle():
    oracle = Oracle()
    yield oracle
    oracle.close()


@st.composite
def topics(draw, scores):
    """The judgments and the list of one query; either may be None."""
    docs = draw(st.lists(st.sampled_from(DOCS), min_size=1, max_size=12, unique=True))
    others = draw(st.lists(st.sampled_from(DOCS), min_size=0, max_size=12, unique=True))
    judged = {doc: draw(GRADES) for doc in docs}
    judged[docs[0]] = abs(judged[docs[0]])  # trec_eval stops at a topic with negative grades only
    retrieved = {doc: draw(scores) for doc in others}
    kind = draw(st.sampled_from(["both"] * 5 + ["only judged", "only retrieved"]))
    return (None if kind == "only retrieved" else judged), (None if kind == "only judged" else retrieved)


def collections(scores):
    """Qrels and a run of up to a dozen queries."""

    def put_together(parts):
        qrels = {f"q{i}": judged for i, (judged, _) in enumerate(parts) if judged is not None}
        run = {f"q{i}": retrieved for i, (_, retrieved) in enumerate(parts) if retrieved is not None}
        return qrels, run

    return st.lists(topics(scores), min_size=1, max_size=12).map(put_together)


def assert_same(oracle, case, measures, level):
    """Each query that both know has the same value to nine digits."""
    qrels, run = case
    assume(set(qrels) & set(run))
    theirs = oracle.ask(qrels, run, measures, level)
    assert theirs is not None, "pytrec_eval gave no answer"
    scores = evaluate(qrels, run, measures, rel=level, score_type="float32", missing="skip")
    for label in scores.labels:
        ours = scores.per_query(label)
        assert set(ours) == set(theirs)
        wrong = {
            q: (ours[q], theirs[q][label]) for q in ours if not math.isclose(ours[q], theirs[q][label], abs_tol=1e-9)
        }
        assert wrong == {}, label


@pytest.mark.soak("random")
@pytest.mark.parametrize("level", [1, 2, 3])
def test_all_measures_agree_where_scores_are_tied(oracle, level):
    THOROUGH(given(collections(FEW_SCORES))(lambda case: assert_same(oracle, case, MEASURES, level)))()


@pytest.mark.soak("random")
@pytest.mark.parametrize("level", [1, 2, 3])
def test_all_measures_agree_where_scores_are_distinct(oracle, level):
    scores = st.floats(-100, 100, width=32)
    THOROUGH(given(collections(scores))(lambda case: assert_same(oracle, case, MEASURES, level)))()


@pytest.mark.soak("random")
@pytest.mark.parametrize("scores", [FLOAT32_TIES, LARGE, st.floats(-1e38, 1e38)], ids=["tied", "large", "any"])
def test_all_measures_agree_where_scores_only_differ_in_float64(oracle, scores):
    THOROUGH(given(collections(scores))(lambda case: assert_same(oracle, case, MEASURES, 1)))()


@pytest.mark.soak("random")
@pytest.mark.parametrize("level", [1, 2, 3])
def test_bpref_agrees(oracle, level):
    def check(case):
        qrels, run = case
        # trec_eval reads past an array where no grade is near the level
        qrels = {query: judged for query, judged in qrels.items() if max(judged.values()) >= level - 1}
        assert_same(oracle, (qrels, run), ["bpref"], level)

    THOROUGH(given(collections(FEW_SCORES))(check))()


def test_the_weighted_f_takes_the_square_of_beta(oracle):
    case = ({"q": {"a": 1, "b": 1, "c": 1, "d": 0}}, {"q": {"a": 3.0, "x": 2.0, "y": 1.0, "d": 0.5}})
    theirs = oracle.ask(*case, ["set_F.2"])
    assert theirs is not None
    ours = evaluate(*case, ["set_F.2"]).mean("set_F_2")
    assert math.isclose(ours, theirs["q"]["set_F"], abs_tol=1e-12)


def test_scores_that_differ_only_in_float64_are_ties_in_float32(oracle):
    qrels, run = {"q": {"a": 1, "z": 0}}, {"q": {"a": 16777217.0, "z": 16777216.0}}
    theirs = oracle.ask(qrels, run, ["recip_rank"])
    assert theirs == {"q": {"recip_rank": 0.5}}
    assert evaluate(qrels, run, ["RR"], score_type="float32").mean("RR") == 0.5
    assert evaluate(qrels, run, ["RR"]).mean("RR") == 1.0


def test_long_lists_of_many_queries_agree_to_the_last_digits(oracle):
    rng = random.Random(7)
    qrels = {f"q{i}": {f"d{j}": rng.choice([0, 0, 0, 1, 2]) for j in rng.sample(range(3000), 150)} for i in range(40)}
    run = {f"q{i}": {f"d{j}": rng.randint(0, 400) / 8 for j in rng.sample(range(3000), 1000)} for i in range(40)}
    measures = [*PLAIN, "bpref", *CUT]
    theirs = oracle.ask(qrels, run, measures)
    assert theirs is not None
    scores = evaluate(qrels, run, measures, score_type="float32")
    worst = max(abs(v - theirs[q][label]) for label in scores.labels for q, v in scores.per_query(label).items())
    assert worst < 1e-14


def test_the_oracle_is_started_again_after_it_failed():
    oracle = Oracle()
    case = {"q": {"a": 1}}, {"q": {"a": 1.0}}
    assert oracle.ask(*case, ["map"]) == {"q": {"map": 1.0}}
    oracle.process.kill()
    assert oracle.ask(*case, ["map"]) is None
    assert oracle.ask(*case, ["map"]) == {"q": {"map": 1.0}}
    oracle.close()
