"""How alike two runs are: by hand, and as the functions of stats.correlation find it for each query."""

import itertools
import math
import random

import pytest

from cranfield import CranfieldError, as_qrels, as_run, evaluate, join_run
from cranfield.evaluation.explanation import explain
from cranfield.joining import Extras, Joining
from cranfield.measures.rank_similarity import RBO, Overlap, Tau, TauAP
from cranfield.stats.correlation import kendall_tau, overlap, rbo, tau_ap
from tests.measures.rankings import random_case


def of(docs):
    """A run of one query from its ranking."""
    return {"q": {doc: float(len(docs) - i) for i, doc in enumerate(docs)}}


def values(measure, run, against, qrels=None, expected=False, **options):
    extras = Extras(against=as_run(against))
    judged = join_run(as_qrels(qrels or {"q": {"a": 1}}), as_run(run), Joining(**options), extras)
    column = measure.expected_values(judged) if expected else measure.values(judged)
    return dict(zip(judged.queries, column.tolist(), strict=True))


def value(measure, run, against):
    return values(measure, of(run), of(against))["q"]


def test_reference_case_r4():
    assert value(RBO(), "abc", "badcef") == pytest.approx(0.759762)
    assert value(RBO(value="min"), "abc", "badcef") == pytest.approx(0.395528364331)
    assert value(RBO(value="max"), "badcef", "abc") == pytest.approx(0.873)
    assert value(RBO(value="res", p=0.8), "abc", "badcef") == pytest.approx(0.272921565674)


def test_tau_is_over_the_documents_that_both_have():
    assert value(Tau(), "axbyc", "abc") == 1
    assert value(Tau(), "cba", "axbc") == -1
    assert value(Tau(), "abc", "bac") == pytest.approx(1 / 3)
    assert value(TauAP(), "bacd", "abcd") == pytest.approx(1 / 3)
    for measure in (Tau(), TauAP()):
        assert value(measure, "abc", "xyz") == value(measure, "abc", "cx") == 0


def test_tau_ap_takes_the_other_run_as_the_truth():
    x, y = [5, 1, 4, 2, 3], [5, 3, 1, 2, 4]
    run, against = ({"q": dict(zip("abcde", map(float, scores), strict=True))} for scores in (y, x))
    assert values(TauAP(), run, against)["q"] == pytest.approx(tau_ap(x, y)) != pytest.approx(tau_ap(y, x))


def test_overlap_at_k():
    assert value(Overlap(cutoff=2), "abcd", "bxad") == 0.5
    assert value(Overlap(), "abcd", "bxad") == 0.75
    assert value(Overlap(cutoff=100), "ab", "ab") == 1


@pytest.mark.parametrize("measure", [RBO(), RBO(value="min"), Tau(), TauAP(), Overlap(cutoff=5)], ids=str)
def test_a_query_that_one_run_lacks_is_worth_0(measure):
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}, "r": {"a": 1.0}}
    against = {"r": {"a": 1.0}}
    assert values(measure, run, against, qrels)["q"] == 0
    assert values(measure, against, run, qrels)["q"] == 0


def groups(scores):
    """The documents of a ranking, tied ones in a tuple."""
    docs = sorted(scores, key=lambda doc: -scores[doc])
    return [tuple(group) for _, group in itertools.groupby(docs, key=lambda doc: scores[doc])]


@pytest.mark.parametrize("seed", range(5))
def test_ties_are_those_of_the_scores(seed):
    qrels, run = random_case(seed, scores=4, least=2)
    _, against = random_case(seed + 100, scores=4, least=2)
    for variant in "wab":
        found = values(RBO(variant=variant), run, against, qrels)
        for query in qrels:
            expected = rbo(groups(run[query]), groups(against[query]), ties=variant).ext
            assert found[query] == pytest.approx(expected, abs=1e-12)
    for query in qrels:
        common = sorted(run[query].keys() & against[query].keys())
        x, y = ([scores[query][doc] for doc in common] for scores in (against, run))
        expected = {
            Tau(variant="a"): kendall_tau(x, y, "a"),
            Tau(variant="b"): kendall_tau(x, y, "b"),
            TauAP(variant="b"): tau_ap(x, y, "b"),
        }
        for measure, wanted in expected.items():
            found = values(measure, run, against, qrels)[query]
            assert found == pytest.approx(0.0 if math.isnan(wanted) else wanted, abs=1e-12)


def orders(scores):
    """All rankings that the order of equal scores allows."""
    for parts in itertools.product(*(itertools.permutations(group) for group in groups(scores))):
        yield [doc for part in parts for doc in part]


def test_an_expected_value_is_the_mean_over_the_orders_of_both_runs():
    one = {"q": {"a": 2.0, "b": 2.0, "c": 1.0, "d": 1.0}}
    other = {"q": {"a": 2.0, "c": 2.0, "b": 2.0, "e": 1.0}}
    pairs = list(itertools.product(orders(one["q"]), orders(other["q"])))
    for measure, function in (
        (RBO(), lambda x, y: rbo(x, y).ext),
        (Overlap(cutoff=2), lambda x, y: overlap(x, y, 2)),
        (Tau(), lambda x, y: value(Tau(), x, y)),
    ):
        mean = math.fsum(function(x, y) for x, y in pairs) / len(pairs)
        assert values(measure, one, other, expected=True, ties="expected")["q"] == pytest.approx(mean, abs=1e-12)


def test_without_a_variant_the_tie_rule_orders_both_runs():
    tied = {"q": {"a": 1.0, "b": 1.0}}
    assert values(RBO(), tied, of("ba"))["q"] == pytest.approx(1)
    assert values(RBO(), tied, of("ab"), ties="doc-ascending")["q"] == pytest.approx(1)
    assert values(RBO(), tied, of("ab"))["q"] < 1


def test_scores_are_tied_as_the_join_reads_them():
    nearly = {"q": {"a": 1.0, "b": 1.0 + 1e-12}}
    assert values(Tau(variant="a"), nearly, of("ba"))["q"] == 1
    assert values(Tau(variant="a"), nearly, of("ba"), score_type="float32")["q"] == 0
    assert values(Tau(variant="a"), {"q": {"a": 1.0, "b": 1.0}}, of("ab"), rank_by="input")["q"] == 1


def test_unjudged_documents_can_be_left_out_of_both_runs():
    qrels = {"q": {"a": 1, "b": 0, "c": -1}}
    found = values(RBO(judged_only=True), of("xacb"), of("ayb"), qrels)
    assert found["q"] == pytest.approx(1)


def test_rbo_is_explained_depth_by_depth():
    extras = Extras(against=as_run(of("badcef")))
    explanation = explain(RBO(), {"q": {"a": 1}}, of("abc"), "q", extras=extras)
    rows = [row for row in explanation.rows if "rank" in row]
    assert [(row["rank there"], row["in common"], row["agreement"]) for row in rows] == [
        (2, 0, 0),
        (1, 2, 1),
        (4, 2, pytest.approx(2 / 3)),
    ]
    others = [row["what"] for row in explanation.rows if "rank" not in row]
    assert others == ["depth 4", "depth 5", "depth 6", "all depths beyond both lists"]
    assert sum(row["term"] for row in explanation.rows) == pytest.approx(explanation.value)


def test_without_another_run_it_is_said_what_is_needed():
    judged = join_run(as_qrels({"q": {"a": 1}}), as_run(of("ab")))
    for measure in (RBO(), Tau(), TauAP(), Overlap(cutoff=5)):
        with pytest.raises(CranfieldError, match="--against RUN"):
            measure.values(judged)


TIED = [RBO(), RBO(p=0.6), RBO(value="min"), RBO(value="max"), RBO(value="res"), Tau(), TauAP(), Overlap(cutoff=3)]


@pytest.mark.parametrize("measure", TIED, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_the_expected_value_is_the_mean_over_all_orders_of_both_runs(measure, seed):
    rng = random.Random(seed)
    run, against = (
        {"q": {doc: float(rng.randrange(3)) for doc in rng.sample("abcdef", rng.randint(1, 5))}} for _ in range(2)
    )
    every = [value(measure, a, b) for a, b in itertools.product(orders(run["q"]), orders(against["q"]))]
    found = values(measure, run, against, expected=True)["q"]
    assert found == pytest.approx(sum(every) / len(every), abs=1e-12)
    assert min(every) - 1e-12 <= found <= max(every) + 1e-12


def test_repeats_do_not_keep_from_the_expected_value():
    run, against = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 2.0, "b": 1.0}}
    scores = evaluate(
        {"q": {"a": 1}}, run, ["Tau", "Tau(repeats=False)"], ties="expected", against=against, duplicates={"a": "x"}
    )
    assert scores.mean("Tau") == scores.mean("Tau(repeats=False)") == 0


def test_a_variant_is_the_same_under_every_tie_rule():
    run, against = {"q": {"a": 2.0, "b": 1.0, "c": 1.0}}, {"q": {"c": 2.0, "b": 1.0, "a": 1.0}}
    for name in ("RBO(variant='w')", "Tau(variant='b')", "TauAP(variant='b')"):
        found = {
            evaluate({"q": {"a": 1}}, run, [name], ties=ties, against=against).mean(name)
            for ties in ("trec", "doc-ascending", "expected", "best", "worst")
        }
        assert len(found) == 1, name
