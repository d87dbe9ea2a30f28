"""Compatibility, preference graphs and pairwise accuracy: worked examples, ir_measures, and plain loops."""

import random

import numpy as np
import pytest

from cranfield import CranfieldError, Qrels, as_qrels, as_run, evaluate, join_run, parse_measure, read_qrels
from cranfield.base import replace
from cranfield.evaluation.explanation import explain
from cranfield.joining import Extras, Joining
from cranfield.measures.preferences import PGC, Accuracy, Compat, CompatByScore, DivCompat, preferred_order
from tests.measures.rankings import random_case, ranked

# definitions.md, F
QRELS = {"q": {"a": 3, "b": 1, "c": 1, "d": 0, "e": 0.5}}
RUN = {"q": {"c": 9.0, "x": 8.0, "a": 7.0, "y": 7.0}}
PAIRS = [("a", "b"), ("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("e", "d")]


def preferences(pairs, query="q"):
    """Five-column qrels in which each pair is a subgroup of its own."""
    docs = [doc for pair in pairs for doc in pair]
    groups = [str(i) for i in range(len(pairs)) for _ in range(2)]
    levels = [1.0, 0.0] * len(pairs)
    return Qrels.from_rows([query] * len(docs), docs, levels, extra={"subgroup": groups})


def values(measure, qrels, run, **options):
    judged = join_run(as_qrels(qrels), as_run(run), Joining(**options))
    return dict(zip(judged.queries, measure.values(judged).tolist(), strict=True))


@pytest.mark.parametrize(
    ("measure", "expected"),
    [
        ("Compat", 0.458198),
        ("Compat(p=0.8)", 0.402492),
        ("Compat(depth='longest')", 0.405770),
        ("Compat(p=0.8,depth='longest')", 0.366757),
        ("Accuracy", 0.75),
        ("Accuracy@3", 0.5),
    ],
)
def test_the_worked_example(measure, expected):
    found = evaluate(QRELS, RUN, [measure], ties="doc-ascending").mean(measure)
    assert found == pytest.approx(expected, abs=5e-7)


def test_compatibility_is_explained_depth_by_depth():
    explanation = explain("Compat", QRELS, RUN, "q", ties="doc-ascending")
    by_rank = [(row["ideal"], row["in common"], row["weight"]) for row in explanation.rows if "rank" in row]
    assert by_rank == [("a", 0, 1), ("c", 1, 0.95 / 2), ("b", 2, 0.95**2 / 3), ("e", 2, pytest.approx(0.95**3 / 4))]
    (rest,) = [row for row in explanation.rows if "rank" not in row]
    assert (rest["what"], rest["in common"]) == ("depths 5 to 1000", 2)
    assert sum(row["term"] for row in explanation.rows) / explanation.normaliser == pytest.approx(explanation.value)


def compatibility(ranking, ideal, p, depth):
    """RBO as Clarke's program adds it up."""
    score = total = 0.0
    for k in range(1, depth + 1):
        score += p ** (k - 1) * len(set(ranking[:k]) & set(ideal[:k])) / k
        total += p ** (k - 1)
    return score / total


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("normalize", [True, False])
def test_compatibility_is_the_overlap_added_up(seed, normalize):
    qrels, run = random_case(seed, grades=(-1, 0, 0.25, 1, 1, 2, 3.5))
    for depth in (3, 40):
        found = values(Compat(p=0.9, normalize=normalize, depth=depth), qrels, run)
        for query, scores in run.items():
            ranking = sorted(scores, key=lambda doc: -scores[doc])
            rank = {doc: i for i, doc in enumerate(ranking)}
            positive = [doc for doc, grade in qrels[query].items() if grade > 0]
            ideal = sorted(positive, key=lambda doc: (-qrels[query][doc], rank.get(doc, 99)))
            expected = compatibility(ranking, ideal, 0.9, depth)
            best = compatibility(ideal, ideal, 0.9, depth) if normalize else 1.0
            assert found[query] == pytest.approx(expected / best if best else 0.0, abs=1e-12)


def test_how_much_better_a_grade_is_does_not_matter():
    order = {"q": {"a": 1, "b": 2, "c": 3}}
    wide = {"q": {"a": 0.1, "b": 7, "c": 900}}
    run = {"q": {"b": 3.0, "c": 2.0, "a": 1.0}}
    assert values(Compat(), order, run) == values(Compat(), wide, run)


def test_cutting_a_run_changes_its_normaliser_only_with_the_depth_of_the_lists():
    qrels = {"q": {"a": 1}}
    short, long = {"q": {"a": 2.0}}, {"q": {"a": 200.0, **{f"x{i}": 100.0 - i for i in range(50)}}}
    assert values(Compat(normalize=False), qrels, short) == values(Compat(normalize=False), qrels, long)
    measure = Compat(normalize=False, depth="longest")
    assert values(measure, qrels, short)["q"] == 1 > values(measure, qrels, long)["q"]


def test_a_query_without_a_positive_grade_is_worth_0():
    for measure in (Compat(), Compat(normalize=False), Compat(depth="longest"), CompatByScore(depth="longest")):
        assert values(measure, {"q": {"a": 0, "b": -1}}, {"q": {"a": 1.0}}) == {"q": 0}


def test_a_duplicate_stands_for_the_best_of_its_group():
    qrels, run = {"q": {"a": 2, "a2": 1, "b": 1}}, {"q": {"a2": 3.0, "a": 2.0, "b": 1.0}}
    extras = Extras(duplicates={"a": "A", "a2": "A"})
    judged = join_run(as_qrels(qrels), as_run(run), extras=extras)
    alone = values(Compat(), {"q": {"a": 2, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}})
    assert Compat(repeats=False).values(judged).tolist() == [alone["q"]]


def test_a_depth_is_a_number_or_the_longer_list():
    assert parse_measure("Compat(depth=100)") == Compat(depth=100)
    with pytest.raises(CranfieldError, match="'longest'"):
        Compat(depth="lists")
    with pytest.raises(CranfieldError, match="depth=0 is out of range"):
        Compat(depth=0)


# ir_measures


def ir_values(name, qrels, run):
    ir_measures = pytest.importorskip("ir_measures")
    measure = ir_measures.parse_measure(name)
    return {metric.query_id: metric.value for metric in ir_measures.iter_calc([measure], qrels, run)}


def random_order(nested, rng):
    return {query: dict(rng.sample(list(docs.items()), len(docs))) for query, docs in nested.items()}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["Compat", "Compat(p=0.8)", "Compat(normalize=False)"])
def test_compatibility_by_score_is_that_of_ir_measures(seed, name):
    qrels, run = random_case(seed, docs=15, scores=None if seed % 2 else 5, least=1)
    rng = random.Random(seed)
    qrels = random_order(qrels, rng)
    # scores of 0 and below, which ir_measures puts among and behind the documents that were not retrieved
    run = {query: {doc: score - 1 for doc, score in docs.items()} for query, docs in random_order(run, rng).items()}
    ours = replace(parse_measure(name), depth="longest")
    as_theirs = CompatByScore(judged_only=ours.judged_only, p=ours.p, normalize=ours.normalize, depth=ours.depth)
    found = values(as_theirs, qrels, run, ties="doc-ascending")
    assert found == pytest.approx(ir_values(name, qrels, run), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_with_positive_untied_scores_only_the_depth_differs_from_ir_measures(seed):
    qrels, run = random_case(seed, docs=15, least=1)
    found = values(Compat(depth="longest"), qrels, run)
    assert found == pytest.approx(ir_values("Compat", qrels, run), abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("name", ["Accuracy", "Accuracy@3", "Accuracy(rel=2)@5"])
def test_accuracy_is_that_of_ir_measures_where_it_is_defined_there(seed, name):
    qrels, run = random_case(seed, docs=15)
    measure = parse_measure(name)
    found = values(measure, qrels, run)
    compared = 0
    for query in qrels:
        top = sorted(run[query], key=lambda doc: -run[query][doc])[: measure.cutoff]
        relevant = [qrels[query].get(doc, 0) >= measure.lowest_relevant for doc in top]
        if not any(relevant):
            assert found[query] == 0
        elif all(relevant):
            assert found[query] == 1
        else:
            theirs = ir_values(name, {query: qrels[query]}, {query: run[query]})
            assert found[query] == pytest.approx(theirs[query], abs=1e-12)
            compared += 1
    assert compared


def test_ir_measures_divides_by_zero_if_all_retrieved_are_relevant():
    qrels, run = ranked("RR")
    assert values(Accuracy(), qrels, run) == {"q": 1}
    with pytest.raises(ZeroDivisionError):
        ir_values("Accuracy", qrels, run)


@pytest.mark.parametrize(("pattern", "expected"), [("R..", 1), ("..R", 0), (".R.R", 0.25), ("R.R.", 0.75), ("...", 0)])
def test_accuracy_is_the_share_of_pairs_in_the_right_order(pattern, expected):
    qrels, run = ranked(pattern, relevant=5)
    assert values(Accuracy(), qrels, run) == {"q": expected}


def test_accuracy_is_the_area_under_the_roc_curve():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(3)
    relevant = rng.integers(0, 2, 30)
    qrels = {"q": {f"d{i}": int(r) for i, r in enumerate(relevant)}}
    scores = rng.permutation(30).astype(float)
    run = {"q": {f"d{i}": score for i, score in enumerate(scores.tolist())}}
    assert values(Accuracy(), qrels, run)["q"] == pytest.approx(metrics.roc_auc_score(relevant, scores))


# preference graphs


def test_the_worked_example_of_a_preference_graph():
    qrels, run = preferences(PAIRS), {"q": {"b": 4.0, "a": 3.0, "x": 2.0, "d": 1.0}}
    judged = join_run(qrels, as_run(run))
    assert [judged.judged_docs(0)[doc] for doc in PGC().ideal(judged, 0)] == ["a", "b", "c", "e", "d"]
    assert PGC().values(judged).tolist() == pytest.approx([0.458812], abs=5e-7)


def test_the_worked_example_from_a_file_of_pairs(tmp_path):
    (tmp_path / "pairs").write_text("".join(f"q {winner} {loser}\n" for winner, loser in PAIRS))
    qrels, run = read_qrels(tmp_path / "pairs"), {"q": {"b": 4.0, "a": 3.0, "x": 2.0, "d": 1.0}}
    assert (
        values(PGC(), qrels, run) == values(PGC(), preferences(PAIRS), run) == {"q": pytest.approx(0.458812, abs=5e-7)}
    )
    # of the six preferences b > c, c not being retrieved, and a > d are fulfilled; nothing follows from two of them
    assert values(parse_measure("Prefs(mean='preferences')"), qrels, run)["q"] == pytest.approx(2 / 6)


def test_preferences_that_do_not_contradict_each_other_are_followed():
    rng = random.Random(5)
    items = list("abcdefgh")
    for _ in range(20):
        order = rng.sample(items, len(items))
        pairs = [(order[i], order[j]) for i in range(8) for j in range(i + 1, 8)]
        wins = np.zeros((8, 8), dtype=np.int64)
        for winner, loser in pairs:
            wins[items.index(winner), items.index(loser)] += 1
        assert [items[i] for i in preferred_order(wins)] == order


def test_levels_of_ordinary_qrels_are_preferences_too():
    qrels = {"q": {"a": 2, "b": 1, "c": 0}}
    pairs = preferences([("a", "b"), ("a", "c"), ("b", "c")])
    run = {"q": {"b": 3.0, "a": 2.0, "c": 1.0}}
    assert values(PGC(), qrels, run) == values(PGC(), pairs, run)
    assert values(PGC(normalize=True), qrels, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}})["q"] == pytest.approx(1)


def test_where_nothing_is_preferred_to_anything_the_value_is_0():
    assert values(PGC(), {"q": {"a": 1, "b": 1}}, {"q": {"a": 1.0}}) == {"q": 0}


# diversity


def diverse_list(subtopics, ranking):
    """The ideal list as it is defined, with two plain sorts a round."""
    everything = {name for names in subtopics.values() for name in names}
    available = {name: sum(name in names for names in subtopics.values()) for name in everything}
    covered, left, ideal = dict.fromkeys(everything, 0), list(subtopics), []
    while left:
        least = min(covered[name] for name in everything if covered[name] < available[name])
        wanted = {name for name in everything if least == covered[name] < available[name]}
        left.sort(key=lambda doc: ranking.index(doc) if doc in ranking else len(ranking))
        left.sort(key=lambda doc: -len(subtopics[doc] & wanted))
        ideal.append(left.pop(0))
        for name in subtopics[ideal[-1]]:
            covered[name] += 1
    return ideal


def in_order(docs):
    return {"q": {doc: -float(rank) for rank, doc in enumerate(docs)}}


def of_subtopics(rows):
    names, docs, grades = zip(*rows, strict=True)
    return Qrels.from_rows(["q"] * len(rows), docs, grades, subtopics=names)


@pytest.mark.parametrize("seed", range(20))
def test_compatibility_with_a_diverse_list_by_plain_loops(seed):
    rng = random.Random(seed)
    docs = [f"d{i:02}" for i in range(14)]
    rows = [(s, doc, rng.choice((0, 1, 2))) for doc in rng.sample(docs, 9) for s in "stuv" if rng.random() < 0.6]
    subtopics = {}
    for name, doc, grade in rows:
        if grade > 0:
            subtopics.setdefault(doc, set()).add(name)
    ranking, p = rng.sample(docs, rng.randint(1, 14)), rng.choice((0.95, 0.8))
    ideal = diverse_list(subtopics, ranking)
    depth = max(len(ranking), len(ideal))
    found = values(DivCompat(p=p), of_subtopics(rows), in_order(ranking))["q"]
    assert found == pytest.approx(compatibility(ranking, ideal, p, depth))


def test_a_diverse_list_by_hand():
    # a covers two subtopics and comes first; u is the only one then not covered, so d; then b before c, as in the run
    rows = [("s", "a", 1), ("t", "a", 1), ("s", "c", 1), ("s", "b", 1), ("u", "d", 1), ("u", "x", 0)]
    qrels, run = of_subtopics(rows), as_run({"q": {"b": 3.0, "x": 2.0, "c": 1.0}})
    judged = join_run(qrels, run)
    assert [judged.judged_docs(0)[doc] for doc in DivCompat().ideal(judged, 0)] == ["a", "d", "b", "c"]
    # in common: nothing, nothing, b, b and c
    weights = [0.95**d for d in range(4)]
    expected = (weights[2] / 3 + weights[3] * 2 / 4) / sum(weights)
    assert DivCompat().values(judged).tolist() == pytest.approx([expected])
    assert values(DivCompat(normalize=True), qrels, in_order("adbc")) == {"q": pytest.approx(1)}


def test_a_diverse_list_is_compared_to_depth_100_at_most():
    rows = [("s", f"d{i}", 1) for i in range(150)]
    run = {"q": {f"d{i}": float(-i) for i in range(150)}}
    assert values(DivCompat(), of_subtopics(rows), run) == {"q": pytest.approx(1)}
    late = {"q": {f"{'x' if i < 100 else 'd'}{i}": float(-i) for i in range(150)}}
    assert values(DivCompat(), of_subtopics(rows), late) == {"q": 0}
    assert values(DivCompat(depth="longest"), of_subtopics(rows), late)["q"] > 0
