"""What systems cost: reading it, finding the runs it belongs to, the front, the picture and the page."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Run
from cranfield.errors import CranfieldError, EvaluationError, InputError
from cranfield.evaluation import Scores, evaluate
from cranfield.evaluation.averages import interval
from cranfield.lab.latency import Figure
from cranfield.reporting.costs import (
    Cost,
    Costs,
    describe_indexing,
    describe_machine,
    describe_method,
    describe_missing_costs,
    read_costs,
)
from cranfield.reporting.page import report
from cranfield.reporting.pareto import ParetoFront, SystemPoint, compare_effectiveness, compare_latency, describe_steps
from cranfield.reporting.plots import pareto
from cranfield.reporting.plots.efficiency import _overlap, beside, ticks
from cranfield.reporting.plots.plot_data import measure_column

EXAMPLE = Path(str(files("cranfield") / "example"))
LATENCY = {"bm25": 0.2, "lm": 0.5, "tfidf": 0.3, "lsi": 0.4, "rm3": 2.0}
drawn = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl-convert-python is not installed")


def figure(ms: float, spread: float = 0.1) -> dict[str, float]:
    return {"value": ms, "low": ms * (1 - spread), "high": ms * (1 + spread)}


def content(latency: dict[str, float] = LATENCY, **more: Any) -> dict[str, Any]:
    """What `cranfield bench --format json` writes, more or less."""
    return {
        "machine": {"processor": "Abacus", "cores": 2, "memory_bytes": 8_000_000_000, "python": "3.11"},
        "load": {"repetitions": 5, "warm_up": 1, "clients": [1, 2], "seconds": 2.0, "rate": None, "seed": 1},
        "queries": 30,
        "latency": [{"system": s, "p50": figure(ms), "p95": figure(2 * ms)} for s, ms in latency.items()],
        "latency_at_rate": [],
        "throughput": [
            {"system": s, "clients": n, "queries_per_second": 900 * n / (ms or 1)}
            for s, ms in latency.items()
            for n in (1, 2)
        ],
        "ratios": [],
        "indexing": None,
        **more,
    }


def written(folder: Path, given: Any) -> Path:
    (folder / "bench.json").write_text(given if isinstance(given, str) else json.dumps(given))
    return folder / "bench.json"


@pytest.fixture(scope="module")
def scores() -> Scores:
    return evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / f"{name}.run" for name in LATENCY], ["nDCG@10"])


# Reading


def test_everything_that_was_measured_is_read(tmp_path: Path) -> None:
    about = [{"system": "bm25", "kind": "embedded", "index_bytes": 1000, "documents": 10, "errors": 2}]
    found = read_costs(written(tmp_path, content({"bm25": 0.5}, systems=about)))
    (cost,) = found.systems
    assert cost.latency == {50: Figure(0.5, 0.45, 0.55), 95: Figure(1.0, 0.9, 1.1)}
    assert cost.best_throughput == (3600.0, 2) and cost.errors == 2
    assert (cost.index_bytes, cost.documents, cost.kind) == (1000, 10, "embedded")
    assert found.queries == 30 and ("Memory", "8 GB") in describe_machine(found)


def test_where_systems_are_not_told_apart_they_share_the_index_that_was_measured(tmp_path: Path) -> None:
    cost = {"wall": 0.5, "cpu": 0.4, "memory": 60_000_000, "disk": 1}
    indexing = {"documents": 2, "index_bytes": 5_000, "cost": cost, "documents_per_second": 4.0, "ratio_to_text": 0.5}
    found = read_costs(written(tmp_path, content(indexing=indexing)))
    assert {each.index_bytes for each in found.systems} == {5_000}
    (said,) = describe_indexing(found)
    assert said.startswith("Indexing 2 documents took 0.50 s (0.40 s of CPU, 4 documents per second) and 60 MB of")
    assert said.endswith("; the index has 5 kB, 0.50 times the text.")
    two = [{**indexing, "engine": "embedded"}, {**indexing, "engine": "x", "index_bytes": None, "ratio_to_text": None}]
    said, other = describe_indexing(read_costs(written(tmp_path, content(indexings=two))))
    assert "2 documents by embedded took" in said and "by x took" in other and other.endswith("60 MB of memory.")


def test_what_a_system_failed_at_and_energy_are_told(tmp_path: Path) -> None:
    about = [
        {"system": "bm25", "kind": "", "index_bytes": None, "documents": 1, "errors": 1200, "first_error": "HTTP 500"}
    ]
    energy = {
        "counters": True,
        "note": "Of the whole machine.",
        "systems": [{"system": "bm25", "joules_per_search": 0.25}],
    }
    found = read_costs(written(tmp_path, content({"bm25": 1.0}, systems=about, energy=energy, notes=["It lags."])))
    assert found.systems[0].joules == 0.25 and found.energy == "Of the whole machine." and found.notes == ("It lags.",)
    scores = runs(bm25="")
    assert describe_missing_costs(found, scores, ["bm25"]) == ["1,200 searches of bm25 failed: HTTP 500."]


@pytest.mark.parametrize(
    "given, says",
    [
        ("bm25 0.5", "not JSON: expected the output of `cranfield bench --format json`."),
        ("[]", "no list of latencies"),
        ({"queries": 3}, "no list of latencies"),
        (content({}), "no systems"),
        ({"latency": ["bm25"]}, "'latency' is not a list of systems"),
        ({"latency": [{"system": "a", "p50": {"low": 1}}]}, "p50 of 'a' has no value"),
        ({"latency": [{"system": "a", "p50": "1"}]}, "'value' is '1', not a number of at least 0"),
        ({"latency": [{"system": "a", "p50": -1}]}, "'value' is -1, not a number of at least 0"),
        ('{"latency": [{"system": "a", "p50": NaN}]}', "'value' is nan, not a number of at least 0"),
        (content(machine="fast"), "'machine' is not an object"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_was_expected(tmp_path: Path, given: Any, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)) as error:
        read_costs(written(tmp_path, given))
    assert str(error.value).startswith(str(tmp_path / "bench.json"))


# Which run is which system


def runs(**tags: str) -> Scores:
    given = {}
    for name, tag in tags.items():
        run = Run.from_rows(["q"], np.array(["a"], dtype=object), np.array([1.0]), name=name, tag=tag)
        given[name] = run
    return evaluate({"q": {"a": 1}}, given, ["RR"])


def costs(*systems: str, **more: Any) -> Costs:
    return Costs(tuple(Cost(system, latency={50: Figure(1.0)}) for system in systems), **more)


def names(found: list[Cost | None]) -> list[str | None]:
    return [None if cost is None else cost.system for cost in found]


def test_a_run_is_found_by_its_name_with_or_without_an_ending_or_by_its_tag() -> None:
    scores = runs(**{"bm25": "x", "lm.run": "y", "mine.run.gz": "z", "best.run": "lsi:k=60", "other.run": "other"})
    found = costs("bm25", "lm", "mine", "lsi:k=60", "away")
    assert names(found.of_runs(scores)) == ["bm25", "lm", "mine", "lsi:k=60", None]
    assert found.without_run(scores) == ["away"]
    said = describe_missing_costs(found, scores, [run.name for run in scores.runs])
    assert said[0] == "No costs were measured for other.run."
    assert said[1] == "Measured, but matching no run by name or tag: away."


def test_a_system_belongs_to_one_run_only() -> None:
    # the tag of a run on another index, a name beside its own ending, two runs that could both be meant
    assert names(costs("tfidf").of_runs(runs(**{"tfidf.run": "tfidf", "titles.run": "tfidf"}))) == ["tfidf", None]
    assert names(costs("a").of_runs(runs(**{"a": "", "a.run": ""}))) == ["a", None]
    assert names(costs("a").of_runs(runs(**{"a.txt": "", "a.run": ""}))) == [None, None]
    assert names(costs("t").of_runs(runs(**{"a": "t", "b": "t"}))) == [None, None]


def test_reasons_for_having_no_costs_are_given() -> None:
    found = costs("bm25", unmeasured={"rrf": "a fusion of runs"})
    scores = runs(bm25="", rrf="")
    assert describe_missing_costs(found, scores, ["bm25", "rrf"]) == [
        "No costs were measured for rrf (a fusion of runs)."
    ]


# The front


def front_of(*systems: tuple[list[float], float, float], sign: int = 1) -> ParetoFront:
    """Systems by values of queries, latency, and how far its interval reaches to each side."""
    points = []
    for i, (values, ms, error) in enumerate(systems):
        latency = Figure(ms, ms - error, ms + error) if error else Figure(ms)
        mean = float(np.mean(values))
        points.append(
            SystemPoint(i, "abcdefgh"[i], mean, interval(values), sign * np.array(values), Cost("x"), latency)
        )
    return ParetoFront(tuple(points), sign)


def members(front: ParetoFront) -> str:
    return "".join(point.system for point in front.members)


def test_a_front_worked_by_hand() -> None:
    # a is the fastest, c the best; b is beaten by c in nothing but is by d, e by all
    front = front_of(
        ([0.2] * 3, 1, 0.1), ([0.4] * 3, 3, 0.1), ([0.9] * 3, 4, 0.1), ([0.5] * 3, 2, 0.1), ([0.1] * 3, 9, 0.1)
    )
    assert members(front) == "adc"
    assert [front.describe(point) for point in front.points] == [
        "",
        "d is better and faster",
        "",
        "",
        "c is better and faster",
    ]
    assert describe_steps(front) == [
        "d has 0.300 more than a for 2.0 times the latency",
        "c has 0.400 more than d for 2.0 times the latency",
    ]


def test_equal_systems_are_both_on_the_front_and_a_tie_in_one_of_the_two_is_no_win_there() -> None:
    assert members(front_of(([0.5, 0.6], 1, 0.1), ([0.5, 0.6], 1, 0.1))) == "ab"
    front = front_of(([0.5, 0.6], 1, 0.1), ([0.5, 0.6], 2, 0.1))
    assert members(front) == "a" and front.describe(front.points[1]) == "a is as good and faster"


def test_a_difference_within_error_is_said() -> None:
    unsure = [0.1, 0.9, 0.4, 0.6], [0.9, 0.1, 0.5, 0.6]  # differ by -0.025 in the mean, by up to 0.8 in a topic
    front = front_of((unsure[0], 1, 0.1), (unsure[1], 5, 0.1))
    assert members(front) == "ab" and front.describe(front.points[0]) == ""
    assert front.describe(front.points[1]) == "but a is worse within error and faster"
    assert describe_steps(front) == ["b has 0.025 more than a, which is within error, for 5.0 times the latency"]
    near = front_of(([0.5] * 3, 1.0, 0.3), ([0.1] * 3, 1.2, 0.3))
    assert near.describe(near.points[1]) == "a is better and faster within error"


def test_without_intervals_nothing_is_told_apart() -> None:
    one = front_of(([0.5], 1, 0), ([0.1], 2, 0))
    assert compare_effectiveness(one.points[0], one.points[1]) == compare_latency(one.points[0], one.points[1]) == 0
    assert one.describe(one.points[1]) == "a is better within error and faster within error"


def test_less_may_be_better() -> None:
    front = front_of(([9.0] * 2, 1, 0.1), ([3.0] * 2, 2, 0.1), ([5.0] * 2, 3, 0.1), sign=-1)
    assert members(front) == "ab" and front.describe(front.points[2]) == "b is better and faster"
    assert describe_steps(front) == ["b has 6.000 less than a for 2.0 times the latency"]


def test_a_smaller_index_speaks_for_a_system_that_is_beaten_in_the_rest() -> None:
    one, other = front_of(([0.9] * 2, 1, 0.1), ([0.1] * 2, 2, 0.1)).points
    sized = [SystemPoint(**{**point.__dict__, "cost": Cost("x", index_bytes=n)}) for point, n in ((one, 9), (other, 5))]
    front = ParetoFront(tuple(sized))
    assert front.describe(front.points[1]) == "a is better and faster, with a larger index"


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=8))
def test_the_front_is_what_nobody_beats(places: list[tuple[int, int]]) -> None:
    front = front_of(*(([float(mean)] * 2, float(ms), 0.0) for mean, ms in places))
    for i, point in enumerate(front.points):
        mean, ms = places[i]
        beaten = any(m >= mean and t <= ms and (m, t) != (mean, ms) for m, t in places)
        assert front.has(point) != beaten
        assert not beaten or re.fullmatch(
            "[a-h] is (better|as good)[a-z ]* and (faster|as fast).*", front.describe(point)
        )
    # along the front both rise; every system is behind or beside a member
    kept = [places[point.place] for point in front.members]
    assert kept == sorted(kept, key=lambda place: (place[1], -place[0]))
    assert all(any(m >= mean and t <= ms for m, t in kept) for mean, ms in places)


# The picture


def test_the_picture_says_who_is_on_the_front_and_whose_costs_are_lacking(scores: Scores, tmp_path: Path) -> None:
    given = {**LATENCY, "sqlite": 1.0}
    given.pop("rm3")
    found = read_costs(written(tmp_path, content(given)))
    plot = pareto(scores, found)
    assert plot.title == "bm25.run, tfidf.run and lsi.run are on the Pareto front: no other is both better and faster"
    assert "lm.run 0.6364 in 0.500 ms (not on the front)" in plot.alt
    subtitle = " ".join(plot.spec["title"]["subtitle"])
    assert "No costs were measured for rm3.run." in subtitle and "by name or tag: sqlite." in subtitle
    points = next(layer for layer in plot.spec["layer"] if layer["mark"]["type"] == "point")["data"]["values"]
    assert {row["s"]: (row["x"], row["y"]) for row in points}["lsi.run"] == (0.4, pytest.approx(0.6875, abs=1e-4))
    line = next(layer for layer in plot.spec["layer"] if layer["mark"]["type"] == "line")
    assert [row["x"] for row in line["data"]["values"]] == [0.2, 0.3, 0.4]


def test_marks_are_as_large_as_the_index_and_hollow_where_it_is_not_known(scores: Scores, tmp_path: Path) -> None:
    sizes = {"bm25": 1000, "lm": 4000, "tfidf": None, "lsi": 4000, "rm3": 2000}
    about = [{"system": s, "kind": "", "index_bytes": n, "documents": 1, "errors": 0} for s, n in sizes.items()]
    plot = pareto(scores, read_costs(written(tmp_path, content(systems=about))))
    full, hollow = (layer for layer in plot.spec["layer"] if layer["mark"]["type"] == "point")
    area = {row["s"]: row["a"] for row in full["data"]["values"]}
    assert area["lm.run"] == area["lsi.run"] == 2 * area["rm3.run"] == 4 * area["bm25.run"]
    assert full["mark"]["filled"] and not hollow["mark"]["filled"]
    assert [row["s"] for row in full["data"]["values"] if not row["k"]] == ["tfidf.run"]
    assert "hollow: not known (tfidf.run)" in " ".join(plot.spec["title"]["subtitle"])


def test_other_percentiles_and_other_measures_are_drawn(scores: Scores, tmp_path: Path) -> None:
    found = read_costs(written(tmp_path, content()))
    plot = pareto(scores, found, "AP", 95)
    assert "Mean AP against latency" in plot.alt and "bm25.run 0.3350 in 0.400 ms" in plot.alt
    with pytest.raises(CranfieldError, match="percentile 42: expected one of 50, 90, 95, 99"):
        pareto(scores, found, percentile=42)
    with pytest.raises(EvaluationError, match="NumRet does not say which system is better"):
        pareto(scores, found, "NumRet")
    with pytest.raises(EvaluationError, match="no run has costs. No costs were measured for bm25.run, lm.run"):
        pareto(scores, read_costs(written(tmp_path, content({"x": 1.0}))))


@pytest.mark.parametrize(
    "latency", [dict.fromkeys(LATENCY, 0.0), dict.fromkeys(LATENCY, 3.0), {"bm25": 1e-6, "lm": 1e6}]
)
@drawn
def test_odd_latencies_can_be_drawn(scores: Scores, tmp_path: Path, latency: dict[str, float]) -> None:
    svg = pareto(scores, read_costs(written(tmp_path, content(latency)))).svg()
    assert svg.count("bm25.run") >= 2 and "NaN" not in svg and "Infinity" not in svg


@given(
    st.lists(st.tuples(st.floats(0, 500), st.floats(40, 300)), min_size=1, max_size=8, unique=True),
    st.floats(10, 80),
)
def test_names_stay_in_the_picture_and_do_not_cover_each_other_where_there_is_room(
    marks: list[tuple[float, float]], width: float
) -> None:
    taken = [(x - 8, y - 8, x + 8, y + 8) for x, y in marks]
    placed = beside(marks, [8.0] * len(marks), [width] * len(marks), (520, 340), taken)
    boxes = []
    for (x, y), (across, down, side) in zip(marks, placed, strict=True):
        left = across if side == "left" else across - width
        boxes.append((left, down - 7, left + width, down + 7))
        assert abs(down - y) < 28.1 and abs(across - x) == pytest.approx(12)
    if len(marks) <= 2:
        assert sum(_overlap(boxes[0], box) for box in boxes[1:]) == 0


@given(st.floats(1e-3, 1e5), st.floats(1.1, 1e5))
def test_ticks_are_within_the_axis_and_not_too_many(low: float, times: float) -> None:
    found = ticks(low, low * times)
    assert 2 <= len(found) <= 28 and found == sorted(found)
    assert all(low * 0.99 <= tick <= low * times * 1.01 for tick in found)


# The page


@drawn
def test_the_page_has_the_table_the_picture_the_machine_and_how_it_was_measured(scores: Scores, tmp_path: Path) -> None:
    page = report(scores, costs=written(tmp_path, content())).html
    section = re.search(r'<section id="efficiency".*?</section>', page, re.S)
    assert section is not None
    rows = re.findall(r'<tr data-system="([^"]+)">(.*?)</tr>', section[0])
    assert [name for name, _ in rows] == ["lsi.run", "tfidf.run", "lm.run", "rm3.run", "bm25.run"]
    texts = {name: re.sub("<[^>]*>", " ", row).split() for name, row in rows}
    assert texts["tfidf.run"][:4] == ["tfidf.run", "0.6416", "[0.564,", "0.720]"]
    assert "0.300" in texts["tfidf.run"] and "0.600" in texts["tfidf.run"] and "6,000" in texts["tfidf.run"]
    assert " ".join(texts["lm.run"]).endswith("behind lsi.run is better within error and faster")
    assert " ".join(texts["bm25.run"]).endswith("on it")
    assert 'data-kind="pareto"' in section[0] and "<dt>Processor</dt><dd>Abacus</dd>" in section[0]
    assert "Each of 30 queries was run 5 times" in section[0]
    assert "lsi.run takes 0.400 ms a query (p50); bm25.run, the fastest, takes 0.200 ms" in page
    assert "bench.json" in page and '"pareto":' in page


@drawn
def test_a_page_without_anything_in_common_with_the_costs_says_so(scores: Scores, tmp_path: Path) -> None:
    page = report(scores, costs=written(tmp_path, content({"x": 1.0}))).html
    assert "None of these runs has latencies" in page and "No costs were measured for bm25.run, lm.run" in page
    counts = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / "bm25.run"], ["NumRet"])
    assert "NumRet does not say which system is better" in report(counts, costs=written(tmp_path, content())).html


@drawn
def test_a_page_bears_the_date_it_is_given(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    assert "cranfield report, 1970-01-01 00:00 UTC" in report(scores).html
    dated = report(scores, date="2024-05-06").html
    assert "cranfield report, 2024-05-06" in dated and "<dt>Date</dt><dd>2024-05-06</dd>" in dated
    without = report(scores, date="", command="cranfield experiment").html
    assert "<dt>Date</dt>" not in without and '<p class="quiet">cranfield experiment</p>' in without


def test_how_it_was_measured_is_told_as_far_as_it_is_known() -> None:
    assert describe_method(costs("a")) == ["The 95 % intervals come from resampling queries."]
    elsewhere = costs("a", queries=3, load={"repetitions": 5, "warm_up": 1})
    assert describe_method(elsewhere)[0] == "Latencies of 3 queries, measured elsewhere."


def test_scores_of_a_column_that_scores_lack_are_computed(scores: Scores) -> None:
    front = ParetoFront.of(scores, measure_column(scores, "RR"), Costs((Cost("lm", latency={50: Figure(1.0)}),)))
    (point,) = front.points
    assert point.system == "lm.run" and point.within is None and len(point.values) == 30
