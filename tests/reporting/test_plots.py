"""Pictures: they hold the library's numbers, draw without a complaint, keep colours, and need no network."""

from __future__ import annotations

import html.parser
import json
import math
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.errors import CranfieldError, EvaluationError, MeasureError, MissingExtra
from cranfield.evaluation import Evaluator, Scores, evaluate
from cranfield.lab.latency import Figure
from cranfield.measures import parse_measure
from cranfield.reporting import plots
from cranfield.reporting.catalogue import compute_rank_weights
from cranfield.reporting.costs import Cost, Costs
from cranfield.reporting.plots import PLOT_KINDS, Palette, Plot, assign_colours, find_plot
from cranfield.reporting.plots.curves import precision_curves
from cranfield.reporting.plots.depth import cutoffs_to
from cranfield.reporting.plots.plot import PLOT_FORMATS, load_vega
from cranfield.reporting.plots.plot_data import format_label, round_number
from cranfield.reporting.plots.theme import COLOURS, GROUND, INK, QUIET, wrap_title
from cranfield.reporting.plots.vega_parts import space_out
from cranfield.stats.correlation import kendall_tau
from tests.soak import SOAK, examples

EXAMPLE = Path(plots.__file__).parents[2] / "example"
DOCS = Path(__file__).parents[2] / "docs"
CLOSE = {"rel": 1e-5, "abs": 1e-9}  # six digits are kept


def example(*names: str, measures: tuple[str, ...] = ("nDCG@10", "AP", "RR"), **options: Any) -> Scores:
    runs = [EXAMPLE / f"{name}.run" for name in names or ("bm25", "lm", "lsi", "titles")]
    return evaluate(EXAMPLE / "qrels.txt", runs, measures, **options)


def synthetic(systems: int, topics: int, seed: int = 1, docs: int = 12) -> Scores:
    """Systems of growing skill on topics of differing difficulty."""
    rng = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {f"system{i:02}": {} for i in range(systems)}
    for j in range(topics):
        grades = rng.choice([0, 0, 0, 1, 2, 3], size=docs)
        grades[0] = 1
        qrels[f"t{j}"] = {f"d{d}": int(grade) for d, grade in enumerate(grades)}
        ease = rng.normal(0.6, 0.4)
        for i, run in enumerate(runs.values()):
            scores = grades * (ease + i / systems) + rng.normal(0, 1.5, docs)
            run[f"t{j}"] = {f"d{d}": float(score) for d, score in enumerate(scores)}
    return evaluate(qrels, runs, ("nDCG@10", "AP", "RR"))


def all_kinds(scores: Scores) -> dict[str, Plot]:
    """Every kind of picture that can be made of some scores."""
    several = len(scores.runs) > 1
    return {
        "precision-recall": plots.precision_recall(scores),
        "precision-recall, one topic": plots.precision_recall(scores, query=scores.queries[0]),
        "plane": plots.plane(scores),
        "cutoffs": plots.cutoffs(scores, depth=30),
        "cutoffs, one measure": plots.cutoffs(scores, ["RR"], depth=30),
        "weights": plots.weights(),
        "heatmap": plots.heatmap(scores),
        "boxes": plots.boxes(scores),
        "means": plots.means(scores),
        "means, several measures": plots.means(scores, ["AP", "RR"]),
        "gain": plots.gain(scores, query=scores.queries[0]),
        "pareto": plots.pareto(scores, costs_of(scores)),
        **({"differences": plots.differences(scores)} if several else {}),
        **({"scatter": plots.scatter(scores)} if several else {}),
        **({"correlation": plots.correlation(scores)} if several else {}),
        **({"critical-difference": plots.critical_difference(scores)} if several else {}),
    }


def costs_of(scores: Scores) -> Costs:
    """Some latency of each system, and some size of its index."""
    systems = [
        Cost(run.name, latency={50: Figure(0.3 * (i % 5 + 1), 0.25, 2.0)}, index_bytes=1000 * (i % 3 + 1))
        for i, run in enumerate(scores.runs)
    ]
    return Costs(tuple(systems), queries=3)


def views(view: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A view and all views in it."""
    yield view
    for part in ("layer", "concat", "vconcat"):
        for one in view.get(part, ()):
            yield from views(one)
    if "spec" in view:
        yield from views(view["spec"])


def data_of(plot: Plot, *fields: str) -> list[dict[str, Any]]:
    """The first rows of data that have these fields."""
    for view in views(plot.spec):
        values = view.get("data", {}).get("values", [])
        if values and all(field in values[0] for field in fields):
            return [row for row in values if all(field in row for field in fields)]
    raise AssertionError(f"no data with {fields}")


def constant(plot: Plot, field: str) -> list[Any]:
    """An array that is the same for all rows."""
    for view in views(plot.spec):
        for step in view.get("transform", ()):
            if step.get("as") == field and step["calculate"].startswith("["):
                found: list[Any] = json.loads(step["calculate"].replace("'", '"'))
                return found
    raise AssertionError(f"no constant {field}")


def subtitle(plot: Plot) -> str:
    return " ".join(plot.spec["title"]["subtitle"])


def by_system(plot: Plot, *fields: str) -> dict[str, Any]:
    rows = data_of(plot, "s", *fields)
    return {row["s"]: row[fields[0]] if len(fields) == 1 else tuple(row[field] for field in fields) for row in rows}


# Every kind


@pytest.fixture(scope="module")
def vl_convert() -> Any:
    return pytest.importorskip("vl_convert")


SETS: dict[str, Callable[[], Scores]] = {
    "one system": lambda: example("lm"),
    "two systems": lambda: example("bm25", "lm"),
    "missing topics": lambda: example(missing="skip"),
    "twelve systems": lambda: synthetic(12, 20),
    "one topic": lambda: synthetic(3, 1),
    "one system, one topic": lambda: synthetic(1, 1),
    "many systems": lambda: synthetic(60, 50),
    "many topics": lambda: synthetic(2, 7000, docs=5),
    "many systems and topics": lambda: synthetic(24, 600, docs=5),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_every_kind_is_drawn_without_a_warning_and_is_small(
    name: str, vl_convert: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    for kind, plot in all_kinds(SETS[name]()).items():
        assert len(plot.json()) < 1_000_000, kind
        assert plot.title and plot.title in plot.alt and not re.search(r"\bnan\b|None", plot.alt), kind
        capfd.readouterr()
        drawn = vl_convert.vegalite_to_svg(plot.spec, show_warnings=True)
        assert capfd.readouterr().err == "", kind
        assert "NaN" not in drawn and "undefined" not in drawn, kind
        assert len(drawn) < 1_000_000, kind


def test_a_pdf_of_many_systems_is_small(vl_convert: Any) -> None:
    # each faint mark was a transparency group of its own once, of 700 bytes
    scores = synthetic(60, 50)
    for draw in (plots.boxes, plots.scatter, plots.plane, plots.precision_recall):
        assert len(draw(scores).pdf()) < 600_000


def test_one_measure_may_be_named_without_a_list() -> None:
    scores = example("bm25", "lm")
    for draw in (plots.means, plots.cutoffs):
        assert draw(scores, "nDCG@10").spec == draw(scores, ["nDCG@10"]).spec
    assert plots.weights("P@10").spec == plots.weights(["P@10"]).spec
    assert plots.means(scores, parse_measure("AP")).spec == plots.means(scores, [parse_measure("AP")]).spec
    with pytest.raises(CranfieldError, match="two measures or more are needed"):
        plots.correlation(scores, "nDCG@10")
    with pytest.raises(CranfieldError, match="takes two measures.*found 1"):
        plots.plane(scores, "P@10")


def test_every_kind_has_a_function_and_is_named_in_its_line() -> None:
    assert all(find_plot(kind).__name__ == kind.replace("-", "_") for kind in PLOT_KINDS)
    assert {kind.partition(",")[0] for kind in all_kinds(synthetic(2, 3))} == set(PLOT_KINDS)


def test_a_heat_map_of_60_systems_and_50_topics_is_compact() -> None:
    assert len(plots.heatmap(synthetic(60, 50)).json()) < 60_000


def test_an_unknown_kind_is_told_with_the_nearest_one() -> None:
    with pytest.raises(CranfieldError, match=r"'heatmp'. Did you mean heatmap\? Choose from precision-recall, plane"):
        find_plot("heatmp")


def test_numbers_are_kept_with_six_digits() -> None:
    for plot in all_kinds(synthetic(3, 10)).values():
        for token in re.findall(r"(?<=[\[:,])-?\d+\.\d+(?=[\],}])", plot.json()):
            assert len(token.replace("-", "").replace(".", "").lstrip("0")) <= 6, token


def test_specs_of_two_pictures_share_nothing_that_can_be_changed() -> None:
    one, other = plots.means(synthetic(2, 3)), plots.means(synthetic(2, 3))
    one.spec["config"]["axis"]["labelColor"] = "red"
    assert other.spec["config"]["axis"]["labelColor"] == INK


# Precision and recall


SMALL_QRELS = {"q1": {"a": 1, "b": 1, "c": 1, "x": 0}, "q2": {"a": 1}}
SMALL_RUN = {"q1": {"a": 9.0, "x": 8.0, "b": 7.0, "y": 6.0}, "q2": {"x": 2.0, "a": 1.0}}


def test_one_topic_is_a_step_function_worked_by_hand() -> None:
    # relevant at ranks 1 and 3 of 3 relevant: precision 1, then 2/3, then none
    plot = plots.precision_recall(evaluate(SMALL_QRELS, SMALL_RUN, ["AP"]), query="q1")
    assert by_system(plot, "r", "p") == {"run": ([0, 0.333333, 0.666667, 1], [1, 1, 0.666667, 0])}
    marks = [view["mark"] for view in views(plot.spec) if isinstance(view.get("mark"), dict)]
    assert {"type": "line", "interpolate": "step-before"} in marks


def test_the_mean_curve_worked_by_hand() -> None:
    plot = plots.precision_recall(evaluate(SMALL_QRELS, SMALL_RUN, ["AP"]), points=3)
    # at recall 0, 1/2 and 1: q1 has 1, 2/3, 0 and q2 1/2, 1/2, 1/2
    assert constant(plot, "r") == [0, 0.5, 1]
    assert by_system(plot, "q", "p") == {"run": ("q2", [0.5, 0.5, 0.5])}
    assert data_of(plot, "q")[0] == {"s": "run", "q": "q1", "p": [1, 0.666667, 0]}
    means = next(view["data"]["values"] for view in views(plot.spec) if "data" in view and "q" not in str(view["data"]))
    assert means == [{"s": "run", "p": [0.75, 0.583333, 0.25]}]


@pytest.mark.parametrize("points", [11, 100, 101])
def test_curves_are_interpolated_precision_at_every_point(points: int) -> None:
    scores = example("bm25", "lm", "titles")
    plot = plots.precision_recall(scores, points=points)
    assert constant(plot, "r") == [round_number(j / (points - 1)) for j in range(points)]
    for j in (0, points // 3, points - 1):
        at = parse_measure(f"IPrec@{j / (points - 1)!r}")
        expected = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / f"{n}.run" for n in ("bm25", "lm", "titles")], [at])
        for row in data_of(plot, "q"):
            assert row["p"][j] == pytest.approx(expected.per_query(at, row["s"])[row["q"]], **CLOSE)
        lines = [view for view in views(plot.spec) if "data" in view and set(view["data"]["values"][0]) == {"s", "p"}]
        for row in lines[0]["data"]["values"]:
            assert row["p"][j] == pytest.approx(expected.mean(at, row["s"]), **CLOSE)


@given(st.integers(0, 10_000))
@examples(20)
def test_no_curve_ever_rises(seed: int) -> None:
    scores = synthetic(2, 4, seed)
    for plot in (plots.precision_recall(scores), plots.precision_recall(scores, query="t0")):
        for view in views(plot.spec):
            for row in view.get("data", {}).get("values", []):
                if isinstance(row.get("p"), list):
                    assert all(a >= b for a, b in zip(row["p"], row["p"][1:], strict=False))


def test_every_topic_of_every_system_is_behind_the_means() -> None:
    scores = example()
    drawn = {(row["s"], row["q"]) for row in data_of(plots.precision_recall(scores), "q")}
    assert drawn == {(run.name, query) for run in scores.runs for query in scores.queries}


def test_what_is_behind_the_means_is_said_as_it_is() -> None:
    assert "; behind it every topic's curve." in subtitle(plots.precision_recall(synthetic(3, 5)))
    four, many = plots.precision_recall(synthetic(4, 5)), plots.precision_recall(synthetic(21, 5))
    assert "each system by itself: its mean in front of the curves of its topics, and the other means in grey." in (
        subtitle(four)
    )
    assert "its mean in front of bands that hold the middle half and 90% of its topics, and the range of all" in (
        subtitle(many)
    )
    assert data_of(four, "q") and data_of(many, *"abcd") and '"q"' not in many.json()


def test_of_very_many_systems_the_plane_shows_the_best_six_in_colour() -> None:
    plot = plots.plane(synthetic(21, 5))
    greys = [view for view in views(plot.spec) if view.get("encoding", {}).get("detail", {}).get("field") == "s"]
    assert len(greys) == 1 and len(greys[0]["data"]["values"]) == 15
    assert len(data_of(plot, "l")) == 6
    assert len({row["s"] for row in data_of(plot, "q")}) == 6
    assert subtitle(plot).startswith("The best 6 of 21 systems are in colour, with 5 topics, each a faint mark")


def test_of_very_many_topics_bands_are_drawn() -> None:
    scores = synthetic(2, 3100, docs=5)
    plot = plots.precision_recall(scores)
    curves = precision_curves(scores, [0.5])[0, 0]
    low, high = (by_system(plot, field)["system00"][5] for field in "bc")
    assert low == pytest.approx(np.quantile(curves, 0.25), **CLOSE)
    assert high == pytest.approx(np.quantile(curves, 0.75), **CLOSE)
    assert "behind it bands that hold the middle half" in subtitle(plot)


def test_hits_that_were_forgotten_are_read_again() -> None:
    files = [EXAMPLE / "bm25.run", EXAMPLE / "lm.run"]
    evaluator = Evaluator(EXAMPLE / "qrels.txt", ["AP"])
    forgotten = evaluator.scores(list(evaluator.score_files(files)))
    complete = evaluator.evaluate(files)
    assert forgotten.runs[0].judged.depth < complete.runs[0].judged.depth
    some = complete.queries[3:9]
    for one, other in ((forgotten, complete), (forgotten.select(some), complete.select(some))):
        assert plots.precision_recall(one).spec == plots.precision_recall(other).spec
        assert plots.cutoffs(one).spec == plots.cutoffs(other).spec
        assert plots.gain(one, some[0]).spec == plots.gain(other, some[0]).spec


def test_who_is_more_precise_and_where_is_told() -> None:
    qrels = {"q": {"a": 1, "b": 1}}
    first = {"q": {"a": 9.0, **{f"x{i}": 8.0 - i for i in range(8)}, "b": -9.0}}  # 1 at once, 2 of 10
    second = {"q": {"x": 9.0, "a": 8.0, "b": 7.0}}  # 2 of 3
    scores = evaluate(qrels, {"quick": first, "thorough": second}, ["AP"])
    title = plots.precision_recall(scores).title
    assert title == "quick is more precise up to recall 0.5, thorough beyond"
    same = evaluate(qrels, {"one": second, "two": second}, ["AP"])
    assert plots.precision_recall(same).title == "one has the higher mean precision at every recall level"


def test_a_lower_grade_is_relevant_only_where_the_scores_say_so() -> None:
    strict = example("lm", rel=3)
    plain = example("lm")
    assert by_system(plots.precision_recall(strict), "q", "p") != by_system(plots.precision_recall(plain), "q", "p")
    at = evaluate(EXAMPLE / "qrels.txt", EXAMPLE / "lm.run", ["IPrec(rel=3)@0.5"])
    row = data_of(plots.precision_recall(strict), "q")[4]
    assert row["p"][5] == pytest.approx(at.per_query("IPrec(rel=3)@0.5")[row["q"]], **CLOSE)


def test_curves_need_an_order_of_ties_and_a_relevant_document() -> None:
    with pytest.raises(EvaluationError, match="needs one order of tied documents"):
        plots.precision_recall(example("lm", ties="expected"))
    with pytest.raises(EvaluationError, match="query 'q' has no relevant document"):
        plots.precision_recall(evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, ["P@1"]), query="q")
    with pytest.raises(CranfieldError, match="10,001 recall points of 60 systems are too much"):
        plots.precision_recall(synthetic(60, 1), points=10_001)


def test_the_plane_has_means_of_precision_and_recall() -> None:
    scores = example()
    expected = example(measures=("P@5", "R@5"))
    found = {row["s"]: row for row in data_of(plots.plane(scores, depth=5), "s", "p", "f")}
    for name, row in found.items():
        p, r = expected.mean("P@5", name), expected.mean("R@5", name)
        assert (row["p"], row["r"]) == pytest.approx((p, r), **CLOSE)
        assert row["f"] == pytest.approx(2 * p * r / (p + r), **CLOSE)
    assert sum(row["n"] for row in data_of(plots.plane(scores), "n") if row["s"] == "lm.run") == 30


def test_lines_of_equal_f_are_that() -> None:
    for row in data_of(plots.plane(example("lm")), "f", "r", "p")[:9]:
        for p, r in zip(row["p"], row["r"], strict=True):
            assert 2 * p * r / (p + r) == pytest.approx(row["f"], rel=1e-5)
        assert max(row["p"]) == pytest.approx(1, abs=1e-5) and max(row["r"]) == pytest.approx(1, abs=1e-5)


def test_the_plane_takes_two_shares() -> None:
    with pytest.raises(MeasureError, match="takes two measures, a precision and a recall"):
        plots.plane(example("lm"), ["P@5"])
    with pytest.raises(MeasureError, match="DCG is no share from 0 to 1"):
        plots.plane(example("lm"), ["DCG", "R@5"])


# Down the ranking


def test_values_over_k_are_those_of_the_measures() -> None:
    scores = example()
    plot = plots.cutoffs(scores, depth=30)
    ks = constant(plot, "k")
    assert ks == cutoffs_to(30)
    panels = plot.spec["concat"]
    for name, panel in zip(("nDCG", "P", "R"), panels, strict=True):
        found = {row["s"]: row["v"] for row in panel["layer"][0]["data"]["values"]}
        for k in (1, 10, 30):
            expected = example(measures=(f"{name}@{k}",)).summary()
            for run, values in found.items():
                assert values[ks.index(k)] == pytest.approx(expected[run][f"{name}@{k}"], **CLOSE)


@pytest.mark.parametrize("measure", ["ndcg_cut_10", "RR@3", "Success", "SDCG(max_rel=3)", "nDCG(gain='exp')"])
def test_any_measure_with_a_cutoff_goes_over_k(measure: str) -> None:
    plot = plots.cutoffs(example("lm"), [measure], depth=5)
    assert plot.spec["layer"][0]["layer"][0]["encoding"]["y"]["title"].endswith("@k")


def test_a_measure_without_a_cutoff_does_not() -> None:
    with pytest.raises(MeasureError, match="Bpref has no values over k"):
        plots.cutoffs(example("lm"), ["Bpref"])
    with pytest.raises(MeasureError, match="unknown measure 'nDGC'"):
        plots.cutoffs(example("lm"), ["nDGC"])


def test_values_over_k_are_expected_ones_where_ties_are() -> None:
    plot = plots.cutoffs(example("bm25", ties="expected"), ["nDCG"], depth=10)
    expected = example("bm25", ties="expected", measures=("nDCG@10",)).mean("nDCG@10")
    assert by_system(plot, "v")["bm25.run"][-1] == pytest.approx(expected, **CLOSE)
    with pytest.raises(EvaluationError, match="choose other ties than expected"):
        plots.cutoffs(example("bm25", ties="expected"), ["ERR"], depth=10)


def test_weights_are_shares_of_those_that_the_catalogue_tells() -> None:
    plot = plots.weights(["P@3", "DCG", "AP"], depth=5)
    for name in ("P@3", "DCG"):
        weights = compute_rank_weights(parse_measure(name), 5)
        assert weights is not None
        share, own = by_system(plot, "v", "w")[name]
        assert own == pytest.approx(weights, **CLOSE)
        assert share == pytest.approx([weight / sum(weights) for weight in weights], **CLOSE)
    assert plot.title == "The first 3 ranks carry 100% of the weight of P@3, 72% of that of DCG"
    assert "Not drawn, since theirs do: AP." in subtitle(plot)
    with pytest.raises(MeasureError, match="AP gives ranks no weight of their own: depends on the ranking"):
        plots.weights(["AP"])


def test_gain_adds_up_to_dcg_and_the_ideal() -> None:
    scores = example("bm25", "lm")
    plot = plots.gain(scores, "7", depth=15)
    ideal = [row["v"] for row in data_of(plot, "i", "v") if "s" not in row]
    for k in (1, 4, 15):
        expected = example("bm25", "lm", measures=(f"DCG@{k}", f"nDCG@{k}"))
        for name, (values, share) in by_system(plot, "v", "z").items():
            dcg, ndcg = (expected.per_query(f"{m}@{k}", name)["7"] for m in ("DCG", "nDCG"))
            assert (values[k - 1], share[k - 1]) == pytest.approx((dcg, ndcg), **CLOSE)
            assert ideal[k - 1] == pytest.approx(dcg / ndcg, **CLOSE)


def test_the_grades_below_are_those_that_were_found() -> None:
    qrels = {"q": {"a": 3, "b": 0, "c": 1}}
    run = {"q": {"b": 9.0, "x": 8.0, "a": 7.0}}
    plot = plots.gain(evaluate(qrels, {"lm": run, "none": {"q2": {"a": 1.0}, "q": {}}}, ["nDCG"]), depth=5)
    assert by_system(plot, "g", "i") == {"lm": ([0, None, 3], [1, 2, 3]), "none": ([], [])}


def test_gain_takes_gains_and_discounts_but_no_other_measure() -> None:
    plot = plots.gain(example("lm"), "1", "nDCG(gain='exp')@5", depth=5)
    expected = example("lm", measures=("DCG(gain='exp')@5",)).per_query("DCG(gain='exp')@5")["1"]
    assert by_system(plot, "v", "z")["lm.run"][0][-1] == pytest.approx(expected, **CLOSE)
    with pytest.raises(MeasureError, match="AP does not add up gains"):
        plots.gain(example("lm"), "1", "AP")


def test_gain_wants_a_topic_that_has_something_to_gain() -> None:
    with pytest.raises(EvaluationError, match="name it with --query, e.g. '1', '2', '3' and 27 more"):
        plots.gain(example("lm"))
    with pytest.raises(
        EvaluationError, match=r"no query '2x' is judged: there are '2', '1', '3', '4', '5' and 25 more"
    ):
        plots.gain(example("lm"), "2x")
    with pytest.raises(EvaluationError, match="no document that gains anything"):
        plots.gain(evaluate({"q": {"a": 0}}, {"q": {"a": 1.0}}, ["P@1"]))


# Topic by topic


def test_differences_are_sorted_and_those_of_the_scores() -> None:
    scores = example("bm25", "lm")
    (row,) = data_of(plots.differences(scores), "q", "d")
    ours, theirs = (scores.per_query("nDCG@10", name) for name in ("lm.run", "bm25.run"))
    assert row["d"] == pytest.approx([ours[q] - theirs[q] for q in row["q"]], rel=1e-5, abs=1e-6)
    assert row["a"] == pytest.approx([ours[q] for q in row["q"]], **CLOSE)
    assert row["d"] == sorted(row["d"], reverse=True) and sorted(row["q"]) == sorted(scores.queries)
    assert row["c"] == [(d > 0) - (d < 0) for d in row["d"]]


def test_the_baseline_is_the_first_run_or_the_one_that_is_named() -> None:
    scores = example("bm25", "lm")
    (plain,), (turned,) = (data_of(plots.differences(scores, "AP", base), "d") for base in (None, "lm.run"))
    assert turned["s"] == "bm25.run" and turned["d"] == [-d for d in reversed(plain["d"])]
    with pytest.raises(CranfieldError, match="no run 'rm3' among these: they are 'bm25.run', 'lm.run'"):
        plots.differences(scores, baseline="rm3")


def test_wins_ties_and_losses_are_told_and_zero_is_drawn() -> None:
    plot = plots.differences(example("bm25", "lm"), "AP")
    assert plot.title == "lm.run is better than bm25.run on 23 of 30 topics, worse on 6, the same on 1"
    assert {"d": 0} in [row for view in views(plot.spec) for row in view.get("data", {}).get("values", [])]


def test_less_is_better_where_the_measure_says_so() -> None:
    scores = example("bm25", "lm", measures=("SearchLength",))
    (row,) = data_of(plots.differences(scores), "d")
    assert row["d"] == sorted(row["d"]) and row["c"][0] == 1 and row["d"][0] < 0
    assert plots.means(scores).title.startswith("lm.run has the lowest mean SearchLength")
    assert plots.boxes(scores).title == "lm.run and bm25.run have the lowest median SearchLength, 0.000"
    assert data_of(plots.critical_difference(scores), "s", "r")[0]["s"] == "lm.run"


def test_topics_that_a_run_lacks_are_left_out_and_told() -> None:
    scores = example("bm25", "titles", missing="skip")
    (row,) = data_of(plots.differences(scores), "d")
    assert len(row["q"]) == 23
    assert "7 topics that a run lacks left out" in subtitle(plots.differences(scores))
    assert "7 topics that a run lacks left out" in subtitle(plots.critical_difference(scores))
    heat = plots.heatmap(scores)
    assert [v for row in data_of(heat, "v") for v in row["v"]].count(None) == 7
    assert any(isinstance(view.get("mark"), dict) and view["mark"].get("text") == "–" for view in views(heat.spec))


def test_neighbours_are_put_together_where_bars_are_too_many() -> None:
    scores = synthetic(2, 1000, docs=5)
    (row,) = data_of(plots.differences(scores), "d")
    moved = np.sort(scores.values("nDCG@10", "system01") - scores.values("nDCG@10", "system00"))[::-1]
    assert len(row["d"]) == math.ceil(1000 / 3) and row["q"][0].endswith("(3)")
    assert row["d"][0] == pytest.approx(moved[:3].mean(), **CLOSE)
    assert row["d"][-1] == pytest.approx(moved[-1:].mean(), **CLOSE)


def test_dots_of_a_scatter_are_the_values_or_count_all_of_them() -> None:
    scores = example("bm25", "lm")
    (row,) = data_of(plots.scatter(scores, "AP"), "a", "b", "q")
    ours, theirs = (scores.per_query("AP", name) for name in ("lm.run", "bm25.run"))
    assert row["a"] == pytest.approx([ours[q] for q in row["q"]], **CLOSE)
    assert row["b"] == pytest.approx([theirs[q] for q in row["q"]], **CLOSE)
    many = synthetic(2, 2500, docs=5)
    (row,) = data_of(plots.scatter(many), "a", "b", "q")
    assert sum(row["n"]) == 2500 and len(row["n"]) < 2000
    wins = sum(n for n, c in zip(row["n"], row["c"], strict=True) if c == 1)
    assert plots.scatter(many).title.startswith(f"system01 is better than system00 on {wins:,} of 2,500 topics")


def test_a_heat_map_has_the_best_system_on_top_and_the_easiest_topic_first() -> None:
    scores = example()
    plot = plots.heatmap(scores, "AP")
    queries, table = constant(plot, "q"), by_system(plot, "v")
    assert list(table) == sorted(table, key=lambda name: -scores.mean("AP", name))
    for name, values in table.items():
        assert values == pytest.approx([scores.per_query("AP", name)[q] for q in queries], **CLOSE)
    means = np.array(list(table.values())).mean(axis=0)
    assert (np.diff(means) <= 1e-6).all()
    assert plot.title.startswith(f"Topic {queries[-1]} is the hardest, mean AP {means[-1]:.3f}")


def test_boxes_have_the_quartiles_of_the_values() -> None:
    scores = example()
    plot = plots.boxes(scores)
    for row in data_of(plot, "q1"):
        values = scores.values("nDCG@10", row["s"])
        q1, median, q3 = np.quantile(values, (0.25, 0.5, 0.75))
        assert (row["q1"], row["m"], row["q3"]) == pytest.approx((q1, median, q3), **CLOSE)
        assert row["mean"] == pytest.approx(scores.mean("nDCG@10", row["s"]), **CLOSE)
        assert (row["low"], row["high"]) == pytest.approx((values.min(), values.max()), **CLOSE)
        assert row["w1"] <= row["q1"] <= row["m"] <= row["q3"] <= row["w2"]
    dots = by_system(plot, "v")
    assert dots["lm.run"] == pytest.approx(scores.values("nDCG@10", "lm.run").tolist(), **CLOSE)


# Systems


def test_means_and_intervals_are_those_of_the_scores() -> None:
    scores = example()
    for level in (0.95, 0.8):
        for row in data_of(plots.means(scores, ["RR"], level), "lo"):
            interval = scores.interval("RR", row["s"], level)
            assert interval is not None
            assert row["v"] == pytest.approx(scores.mean("RR", row["s"]), **CLOSE)
            assert (row["lo"], row["hi"]) == pytest.approx((interval.low, interval.high), **CLOSE)
    with pytest.raises(CranfieldError, match="level 95 is out of range"):
        plots.means(scores, level=95)


def test_a_mean_without_an_interval_has_none() -> None:
    assert data_of(plots.means(synthetic(2, 1)), "lo")[0]["lo"] is None
    counts = plots.means(example(measures=("NumRelRet",)))
    assert data_of(counts, "lo")[0] == {"s": "bm25.run", "v": 135, "lo": None, "hi": None, "t": "135"}
    of_run = plots.means(example(measures=("Gini(docs=223)",)))
    assert re.fullmatch(r"\w+\.run has the lowest Gini\(docs=223\), 0\.\d{4}", of_run.title)
    assert counts.title == "lsi.run has the highest total NumRelRet, 242"


def test_a_value_of_the_run_as_a_whole_has_no_topics() -> None:
    scores = example(measures=("Gini(docs=223)",))
    for kind in (plots.heatmap, plots.boxes, plots.differences, plots.scatter, plots.critical_difference):
        with pytest.raises(EvaluationError, match="is a value of the run as a whole"):
            kind(scores)


def test_correlation_is_kendalls_tau_of_the_means() -> None:
    scores = synthetic(9, 12)
    for row in data_of(plots.correlation(scores), "a", "b"):
        means = [[scores.mean(row[side], run.name) for run in scores.runs] for side in "ab"]
        assert row["v"] == pytest.approx(kendall_tau(*means), **CLOSE)
    with pytest.raises(EvaluationError, match="two measures or more"):
        plots.correlation(scores, ["AP"])
    with pytest.raises(EvaluationError, match="two runs or more"):
        plots.correlation(example("lm"))


def test_ranks_are_averaged_over_topics_and_bars_join_what_is_near() -> None:
    stats = pytest.importorskip("scipy.stats")
    scores = synthetic(6, 25)
    plot = plots.critical_difference(scores)
    table = np.array([run.values[0] for run in scores.runs])
    expected = (7 - np.array([stats.rankdata(topic) for topic in table.T])).mean(axis=0)
    found = {
        row["s"]: row["r"]
        for view in views(plot.spec)
        for row in view.get("data", {}).get("values", [])
        if "r" in row and "s" in row
    }
    assert found == {run.name: pytest.approx(rank, **CLOSE) for run, rank in zip(scores.runs, expected, strict=True)}
    # Demšar's q.05 for 6 systems is 2.850
    difference = 2.850 * math.sqrt(6 * 7 / (6 * 25))
    assert f"critical difference {difference:.2f}" in plot.json()
    with pytest.raises(CranfieldError, match="alpha 0 is out of range"):
        plots.critical_difference(scores, alpha=0)


def test_one_run_cannot_be_compared() -> None:
    for kind in (plots.differences, plots.scatter, plots.critical_difference):
        with pytest.raises(EvaluationError, match="two runs or more are needed"):
            kind(example("lm"))


def test_identical_systems_have_defined_pictures() -> None:
    run = {"q1": {"a": 1.0, "b": 2.0}, "q2": {"a": 1.0}}
    scores = evaluate({"q1": {"a": 1}, "q2": {"a": 2}}, {"one": run, "two": run}, ["nDCG@10", "AP", "RR"])
    found = all_kinds(scores)
    assert found["differences"].title == "two is better than one on 0 of 2 topics, worse on 0, the same on 2"
    assert found["means"].title.startswith("one and two have the highest mean nDCG@10")
    assert "no two systems can be told apart" in found["critical-difference"].title
    assert "no ranking, so no correlation" in subtitle(found["correlation"])


# Names


ODD = [
    "it's",
    'quo"te',
    "back\\slash",
    "</script><script>alert(1)</script>",
    "new\nline",
    "nul\x00",
    "é😀",
    "byte\udcff",
    "[a].b",
    "x" * 300,
    "&amp;<b>",
    "\ufffe",
    "${y}",
]


def test_ids_with_odd_characters_are_drawn(vl_convert: Any) -> None:
    docs = {f"d{i}": i % 3 for i in range(6)}
    queries = [name for name in ODD if "\n" not in name]
    rng = np.random.default_rng(3)
    runs = {name: {q: {d: float(rng.random()) for d in docs} for q in queries} for name in ODD}
    qrels = {query: docs for query in queries}
    scores = evaluate(qrels, runs, ["nDCG@10", "AP", "RR"])
    for kind, plot in all_kinds(scores).items():
        minidom.parseString(plot.svg())
        json.loads(plot.json().encode())
        assert json.loads(plot.json()) == plot.spec, kind
    assert "</script><script>alert" not in plots.differences(scores).html()
    assert plots.precision_recall(scores, query="nul\x00").title.startswith(r"Topic nul\x00: ")


def test_ids_that_look_the_same_stay_apart() -> None:
    qrels = {"q\udcff": {"a": 1}, "q\\xff": {"a": 1}}
    run = {query: {"a": 1.0} for query in qrels}
    table = plots.heatmap(evaluate(qrels, {"r\x01": run, "r\\x01": run}, ["AP"]))
    assert len(set(by_system(table, "v"))) == 2
    assert (
        len(
            set(
                re.findall(
                    r"'q[^']*'?'",
                    next(
                        s["calculate"] for v in views(table.spec) for s in v.get("transform", []) if s.get("as") == "q"
                    ),
                )
            )
        )
        == 2
    )


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for folder, name in (("one", "bm25"), ("two", "lm")):
        (tmp_path / folder).mkdir()
        shutil.copy(EXAMPLE / f"{name}.run", tmp_path / folder / "my.run")
    scores = evaluate(EXAMPLE / "qrels.txt", [tmp_path / "one/my.run", tmp_path / "two/my.run"], ["AP"])
    assert plots.means(scores).title.startswith("two/my.run has the highest mean AP")
    assert set(by_system(plots.boxes(scores), "v")) == {"one/my.run", "two/my.run"}


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("bm25", "bm25"), ("a\udcff", "a\\xff"), ("a\nb\x7f", "a\\nb\\x7f"), ("a\u202eb", "a\\u202eb"), ("é😀", "é😀")],
)
def test_what_cannot_be_drawn_is_written_out(name: str, drawn: str) -> None:
    assert format_label(name) == drawn


# Look


def luminance(colour: str) -> float:
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_marks_and_text_stand_out_from_the_ground() -> None:
    assert all(contrast(colour, GROUND) >= 3 for colour in COLOURS)
    assert contrast(INK, GROUND) >= 4.5 and contrast(QUIET, GROUND) >= 4.5


def test_60_systems_have_60_looks() -> None:
    palette = assign_colours(f"s{i}" for i in range(60))
    assert len({(palette[s].colour, palette[s].dash) for s in palette.systems}) == 60
    assert len({(palette[s].colour, palette[s].shape) for s in palette.systems}) == 60
    assert [palette[s].colour for s in palette.systems[:8]] == list(COLOURS)
    assert len({palette[s].shape for s in palette.systems[:8]}) == 8


def test_a_system_keeps_its_colour_in_all_pictures() -> None:
    scores = synthetic(12, 10)
    expected = {
        system: assign_colours(run.name for run in scores.runs)[system].colour
        for system in (r.name for r in scores.runs)
    }
    for kind, plot in all_kinds(scores).items():
        for view in views(plot.spec):
            for channel in ("color", "stroke"):
                scale = view.get("encoding", {}).get(channel, {}).get("scale") or {}
                pairs = dict(zip(scale.get("domain", []), scale.get("range", []), strict=False))
                assert {s: c for s, c in pairs.items() if s in expected}.items() <= expected.items(), kind


def test_a_palette_keeps_colours_where_systems_are_left_out() -> None:
    palette = assign_colours(["bm25.run", "lm.run", "lsi.run"])
    plot = plots.boxes(example("lsi"), palette=palette)
    assert palette["lsi.run"].colour in plot.json() and COLOURS[0] not in plot.json()
    with pytest.raises(CranfieldError, match="the palette has no colour for 'lm.run'"):
        plots.boxes(example("lm"), palette=Palette(("bm25",)))


def test_measures_keep_their_range_so_that_pictures_compare() -> None:
    scores = example("bm25", "lm")
    for plot in (plots.boxes(scores), plots.means(scores), plots.scatter(scores), plots.cutoffs(scores)):
        domains = [
            view["encoding"][axis]["scale"].get("domain")
            for view in views(plot.spec)
            for axis in "xy"
            if view.get("encoding", {}).get(axis, {}).get("title") and "scale" in view["encoding"][axis]
        ]
        assert [0.0, 1.0] in domains


def test_few_lines_are_named_where_they_end_and_more_in_a_legend() -> None:
    def legends(plot: Plot) -> list[Any]:
        channels = [
            view["encoding"]["strokeDash"] for view in views(plot.spec) if "strokeDash" in view.get("encoding", {})
        ]
        return [channel["legend"] for channel in channels]

    assert legends(plots.cutoffs(synthetic(6, 3), ["nDCG"])) == [None]
    assert data_of(plots.cutoffs(synthetic(6, 3), ["nDCG"]), "l")
    assert legends(plots.cutoffs(synthetic(7, 3), ["nDCG"]))[0]["orient"] == "right"
    many = plots.cutoffs(synthetic(21, 3), ["nDCG"])
    assert legends(many) == [None] and len(data_of(many, "l")) == 6
    assert "The best 6 of 21 systems are in colour." in subtitle(many)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12), st.floats(0.1, 8))
def test_labels_are_apart_in_the_order_of_what_they_name(places: list[float], least: float) -> None:
    moved = space_out(places, least, 0, 100)
    order = sorted(range(len(places)), key=lambda i: (places[i], -i))
    for i, j in zip(order, order[1:], strict=False):
        assert moved[j] - moved[i] >= least - 1e-5
    if len(places) * least <= 100:
        assert min(moved) >= -1e-5 and max(moved) <= 100 + 1e-5


def test_a_long_name_does_not_make_a_title_wide() -> None:
    assert max(map(len, wrap_title("x" * 300 + " is best", 520, 15))) < 80


# Forms


def test_a_picture_is_saved_as_its_name_says(tmp_path: Path, vl_convert: Any) -> None:
    plot = plots.means(example("lm"))
    for form in PLOT_FORMATS:
        plot.save(tmp_path / f"picture.{form.upper()}")
    content = {form: (tmp_path / f"picture.{form.upper()}").read_bytes() for form in PLOT_FORMATS}
    assert content["svg"].startswith(b"<svg") and content["html"].startswith(b"<!doctype html>")
    assert content["png"].startswith(b"\x89PNG") and content["pdf"].startswith(b"%PDF")
    assert json.loads(content["json"]) == plot.spec
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        f"picture.{form.upper()}" for form in PLOT_FORMATS
    )


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(
        CranfieldError, match=r"x.gif: unknown suffix for a plot: expected one of .svg, .png, .pdf, .html, .json"
    ):
        plots.means(example("lm")).save(tmp_path / "x.gif")
    with pytest.raises(CranfieldError, match="cannot be made as 'gif': expected one of svg, png"):
        plots.means(example("lm")).save(tmp_path / "x", format="gif")
    assert list(tmp_path.iterdir()) == []


def test_png_has_the_resolution_asked_for(vl_convert: Any) -> None:
    plot = plots.means(example("lm"))
    width = {dpi: int.from_bytes(plot.png(dpi)[16:20], "big") for dpi in (72, 144, 300)}
    assert width[144] == pytest.approx(2 * width[72], abs=2)
    assert int.from_bytes(plot.png()[16:20], "big") == width[300]


def test_pdf_has_its_fonts_embedded(vl_convert: Any) -> None:
    assert b"/FontFile" in plots.means(example("lm")).pdf()


def test_svg_says_what_it_shows_and_follows_the_dark_scheme(vl_convert: Any) -> None:
    plot = plots.means(example("lm"))
    root = minidom.parseString(plot.svg()).documentElement
    assert root is not None
    assert root.getAttribute("role") == "img" and root.getAttribute("aria-label") == plot.alt
    assert root.getElementsByTagName("title")[0].firstChild.data == plot.title  # type: ignore[union-attr]
    assert "prefers-color-scheme: dark" in plot.svg()


def test_shades_are_turned_round_in_the_dark(vl_convert: Any) -> None:
    scores = example()
    for plot in (plots.heatmap(scores), plots.gain(scores, "1"), plots.correlation(scores, ["AP", "RR", "P@10"])):
        drawn = plot.svg()
        style = drawn.partition("<style>")[2].partition("</style>")[0]
        assert "filter: invert(1)" in style and re.search(r'class="mark-rect role-mark ramp\w*_marks"', drawn)
    assert "ramp" not in plots.means(scores).svg().partition("</style>")[2]


def test_what_is_only_hovered_over_is_not_in_still_pictures(vl_convert: Any) -> None:
    plot = plots.cutoffs(example("lm"))
    assert '"opacity":0}' in plot.json() and 'opacity="0"' not in plot.svg()


def test_a_notebook_shows_it(vl_convert: Any) -> None:
    plot = plots.means(example("lm"))
    bundle = plot._repr_mimebundle_()
    assert bundle["application/vnd.vegalite.v5+json"] == plot.spec
    assert bundle["image/svg+xml"] == plot.svg() and bundle["text/plain"] == plot.alt
    assert repr(plot) == f"<Plot: {plot.title}>"


def test_without_the_extra_there_is_still_vega_lite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    plot = plots.means(example("lm"))
    for form in ("svg", "png", "pdf", "html"):
        with pytest.raises(MissingExtra, match=r"pip install 'cranfield\[plots\]'"):
            plot.save(tmp_path / f"x.{form}")
    plot.save(tmp_path / "x.json")
    assert set(plot._repr_mimebundle_()) == {"application/vnd.vegalite.v5+json", "text/plain"}
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


class Loaded(html.parser.HTMLParser):
    """What a page would load, and the policy it sets."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.policy = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.loads += [str(given[name]) for name in ("src", "href", "data", "srcset", "action") if name in given]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"] or ""


def test_a_page_loads_nothing(vl_convert: Any) -> None:
    page = plots.differences(example("bm25", "lm")).html()
    found = Loaded(page)
    assert found.loads == [] and found.policy.startswith("default-src 'none';") and "http" not in found.policy
    assert "import(" not in re.sub(r'"[^"]*"', "", page[: page.index("<body>")]) or "cdn" not in page
    assert page.count("</script>") == 2 and "</script" not in load_vega().lower()


@pytest.mark.soak("pages")
@pytest.mark.parametrize("kind", list(PLOT_KINDS) if SOAK else ["differences"])
def test_a_page_draws_in_a_browser_without_a_network(chromium: Any, kind: str, tmp_path: Path, vl_convert: Any) -> None:
    plot = next(plot for name, plot in all_kinds(synthetic(8, 6)).items() if name == kind)
    plot.save(tmp_path / "page.html")
    context = chromium.new_context(offline=True)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector(".marks")
    context.close()
    assert complaints == []


# The documentation and real runs


@pytest.mark.parametrize("image", sorted(path.name for path in (DOCS / "images").glob("plot-*.svg")))
def test_the_pictures_of_the_docs_are_those_of_their_commands(image: str, cranfield_titles: dict[str, str]) -> None:
    title = re.search("<title>(.*?)</title>", (DOCS / "images" / image).read_text())
    assert title is not None and title[1] == cranfield_titles[image]


@pytest.fixture(scope="module")
def cranfield_titles(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The titles that the commands of the docs make, without drawing them."""
    import shlex

    from click.testing import CliRunner

    from cranfield.cli import commands

    folder = tmp_path_factory.mktemp("docs")
    page = (DOCS / "plots.md").read_text()
    for name, body in re.findall(r"<!-- file (\S+) -->\n+```text\n(.*?)^```", page, re.M | re.S):
        (folder / name).write_text(body)
    found = {}
    for line in re.findall(r"^\$ cranfield (plot .*)$", page, re.M):
        words = [
            next((str(f / word) for f in (EXAMPLE, folder) if (f / word).is_file()), word) for word in shlex.split(line)
        ]
        at = words.index("-o") + 1
        name, words[at] = words[at], str(folder / "spec.json")
        assert CliRunner().invoke(commands, words, catch_exceptions=False).exit_code == 0
        found[name] = html.escape(" ".join(json.loads((folder / "spec.json").read_text())["title"]["text"]))
    return found


@pytest.mark.slow
def test_the_runs_of_dl19_are_drawn_with_their_published_figures(shared_data: Path, vl_convert: Any) -> None:
    folder = shared_data / "dl19"
    runs = sorted((folder / "runs").iterdir())
    scores = evaluate(folder / "qrels.dl19-passage.txt", runs, ["nDCG@10", "AP", "RR"], rel=2)
    found = all_kinds(scores)
    assert found["means"].title == "idst_bert_p1 has the highest mean nDCG@10, 0.7645"
    eleven = evaluate(folder / "qrels.dl19-passage.txt", runs, ["InterpolatedAP(rel=2)"])
    for name, curve in by_system(found["precision-recall"], "p").items():
        assert np.mean(curve) == pytest.approx(eleven.mean("InterpolatedAP(rel=2)", name), abs=1e-5)
    for plot in found.values():
        minidom.parseString(plot.svg())
