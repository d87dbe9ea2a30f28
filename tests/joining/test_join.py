"""The join: which queries and documents count, at which rank, with which grade."""

import numpy as np
import pytest

from cranfield import EvaluationError, Qrels, Run, as_qrels, as_run, join_run
from cranfield.joining import Joining

QRELS = as_qrels({"1": {"a": 2, "b": 0, "c": -1, "d": 1}, "2": {"a": 1}, "10": {"z": 1}})
RUN = as_run(
    {"2": {"b": 3.0, "a": 2.0}, "1": {"x": 9.0, "a": 8.0, "c": 7.0, "y": 6.0, "b": 5.0}, "unjudged": {"a": 1.0}}
)


def hits(judged, i):
    """Rank and grade of each hit of a query."""
    rows = slice(judged.starts[i], judged.starts[i + 1])
    return list(zip(judged.rank[rows].tolist(), judged.grade[rows].tolist(), strict=True))


def test_hits_are_the_retrieved_judged_documents_in_rank_order():
    judged = join_run(QRELS, RUN)
    assert judged.queries == ("1", "2", "10")
    assert hits(judged, 0) == [(2, 2), (3, -1), (5, 0)]
    assert hits(judged, 1) == [(2, 1)]
    assert hits(judged, 2) == []
    assert judged.retrieved.tolist() == [5, 2, 0]


def test_the_ideal_holds_all_judged_grades_best_first():
    judged = join_run(QRELS, RUN)
    assert judged.ideal.tolist() == [2, 1, 0, -1, 1, 1]
    assert judged.ideal_starts.tolist() == [0, 4, 5, 6]
    assert judged.count_relevant(1).tolist() == [2, 1, 1]
    assert judged.count_relevant(2).tolist() == [1, 0, 0]


def test_queries_stand_in_natural_order():
    qrels = as_qrels({"q10": {"a": 1}, "q9": {"a": 1}, "q1": {"a": 1}})
    assert join_run(qrels, as_run({"q9": {"a": 1.0}})).queries == ("q1", "q9", "q10")


def test_missing_queries_are_kept_by_default():
    judged = join_run(QRELS, RUN)
    assert judged.missing.tolist() == [False, False, True]
    assert judged.n == 3


def test_missing_queries_are_left_out_with_skip():
    judged = join_run(QRELS, RUN, Joining(missing="skip"))
    assert judged.queries == ("1", "2")
    assert not judged.missing.any()


def test_missing_queries_are_an_error_if_asked_for():
    with pytest.raises(EvaluationError, match=r"lacks 1 of 3 judged queries \(10\)"):
        join_run(QRELS, RUN, Joining(missing="error"))


def test_a_query_with_an_empty_list_is_not_missing():
    run = as_run({"1": {}, "2": {"a": 1.0}, "10": {"z": 1.0}})
    judged = join_run(QRELS, run, Joining(missing="error"))
    assert judged.missing.tolist() == [False, False, False]
    assert judged.retrieved.tolist() == [0, 1, 1]


def test_no_query_in_common_is_an_error_that_shows_some():
    with pytest.raises(EvaluationError, match="no query in common.*qrels have 1, 2, 10.*run has q1"):
        join_run(QRELS, as_run({"q1": {"a": 1.0}}))


def test_empty_qrels_or_an_empty_run_have_no_query_in_common():
    for qrels, run in ((as_qrels({}), RUN), (QRELS, as_run({}))):
        with pytest.raises(EvaluationError, match="no query in common"):
            join_run(qrels, run)


def test_queries_without_judgments_are_counted():
    assert join_run(QRELS, RUN).only_in_run == 1


def test_a_query_of_the_qrels_without_judgments_has_no_hits():
    qrels = as_qrels({"1": {}, "2": {"a": 1}})
    judged = join_run(qrels, RUN)
    assert hits(judged, 0) == []
    assert judged.count_relevant(1).tolist() == [0, 1]


def test_a_document_judged_for_several_subtopics_has_its_highest_grade():
    qrels = Qrels.from_rows(["q"] * 4, ["a", "a", "a", "b"], [1, 3, 0, 1], subtopics=["1", "2", "3", "1"])
    judged = join_run(qrels, as_run({"q": {"a": 2.0, "b": 1.0}}))
    assert hits(judged, 0) == [(1, 3), (2, 1)]
    assert judged.ideal.tolist() == [3, 1]


def test_the_condensed_list_leaves_out_what_is_not_judged():
    condensed = join_run(QRELS, RUN).condensed
    assert hits(condensed, 0) == [(1, 2), (2, 0)]
    assert hits(condensed, 1) == [(1, 1)]
    assert condensed.retrieved.tolist() == [2, 1, 0]


def test_groups_of_equal_scores_shrink_in_the_condensed_list():
    run = as_run({"1": {"x": 2.0, "a": 2.0, "b": 2.0, "c": 2.0, "y": 1.0, "d": 1.0}})
    judged = join_run(QRELS, run)
    assert dict(zip(judged.rank.tolist(), judged.tie_size.tolist(), strict=True)) == {2: 4, 3: 4, 4: 4, 6: 2}
    assert judged.tie_first.tolist() == [1, 1, 1, 5]
    condensed = judged.condensed
    assert condensed.rank.tolist() == [1, 2, 3]
    assert condensed.tie_first.tolist() == [1, 1, 3]
    assert condensed.tie_size.tolist() == [2, 2, 1]


def test_a_shuffle_moves_hits_within_their_group_only():
    run = as_run({"1": {"a": 3.0, "x": 2.0, "b": 2.0, "y": 2.0, "c": 1.0, "d": 1.0}})
    judged = join_run(QRELS, run, Joining(ties="expected"))
    rng = np.random.default_rng(5)
    seen = [judged.shuffle_ties([rng] * judged.n) for _ in range(200)]
    for drawn in seen:
        assert (drawn.rank >= drawn.tie_first).all()
        assert (drawn.rank < drawn.tie_first + drawn.tie_size).all()
        assert (np.diff(drawn.rank[: drawn.starts[1]]) > 0).all()
        assert sorted(drawn.grade.tolist()) == sorted(judged.grade.tolist())
    assert {int(drawn.rank[1]) for drawn in seen} == {2, 3, 4}
    assert {drawn.grade[2] for drawn in seen} == {-1, 1}


def test_every_place_of_a_group_is_equally_likely_in_a_shuffle():
    run = as_run({"2": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}})
    judged = join_run(as_qrels({"2": {"a": 1}}), run, Joining(ties="expected"))
    rng = np.random.default_rng(1)
    counts = np.bincount([int(judged.shuffle_ties([rng] * judged.n).rank[0]) for _ in range(4000)], minlength=5)[1:]
    # 1000 each, with a standard deviation of 27
    assert (abs(counts - 1000) < 140).all()


def test_running_counts_start_anew_with_each_query():
    judged = join_run(QRELS, RUN)
    assert judged.count_running(np.ones(4, dtype=bool)).tolist() == [1, 2, 3, 1]
    assert judged.count_running(judged.grade > 0).tolist() == [1, 1, 1, 1]


def test_sums_over_hits_are_by_query():
    judged = join_run(QRELS, RUN)
    assert judged.total(judged.grade).tolist() == [1, 1, 0]
    assert judged.count(judged.grade > 0).tolist() == [1, 1, 0]


def test_scores_that_do_not_fit_float32_are_infinite_there():
    run = as_run({"2": {"a": 1e300, "b": 1e200, "c": 1.0}})
    judged = join_run(as_qrels({"2": {"a": 1}}), run, Joining(score_type="float32"))
    assert hits(judged, 0) == [(2, 1)]
    assert judged.float32_tied == 2
    assert join_run(as_qrels({"2": {"a": 1}}), run).rank.tolist() == [1]


def test_the_conventions_stay_with_the_join():
    joining = Joining(ties="best", missing="skip")
    assert join_run(QRELS, RUN, joining).joining == joining


@pytest.mark.parametrize("option", ["ties", "rank_by", "score_type", "missing"])
def test_unknown_conventions_name_those_that_are_known(option):
    with pytest.raises(Exception, match=f"{option.replace('_', ' ')} 'x' is unknown: expected one of"):
        Joining(**{option: "x"})


def test_the_inputs_are_left_alone():
    before = RUN.docs.tolist(), RUN.scores.tolist(), QRELS.grades.tolist()
    join_run(QRELS, RUN, Joining(ties="worst", score_type="float32"))
    assert (RUN.docs.tolist(), RUN.scores.tolist(), QRELS.grades.tolist()) == before


def test_ranks_agree_with_a_plain_sort():
    rng = np.random.default_rng(3)
    docs = [f"d{i}" for i in range(200)]
    scores = rng.integers(0, 20, 200).astype(float)
    run = Run.from_rows(["q"] * 200, docs, scores)
    qrels = Qrels.from_rows(["q"] * 50, docs[::4], list(range(50)))
    by_score_then_doc = sorted(
        zip(scores, docs, strict=True), key=lambda pair: (pair[0], pair[1].encode()), reverse=True
    )
    place = {doc: rank for rank, (_, doc) in enumerate(by_score_then_doc, 1)}
    assert sorted(hits(join_run(qrels, run), 0)) == sorted((place[doc], float(i)) for i, doc in enumerate(docs[::4]))
