"""The tables of the benchmark: medians, ranges, ratios, targets; and the picture of them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.contenders import MEASURES, cranfield, sums_of_trec_eval, sums_of_tsv
from benchmarks.measuring import Measurement
from benchmarks.plot import COLOURS, finding, svg
from benchmarks.results import (
    DICTS,
    FILES,
    TARGETS,
    Row,
    check_agreement,
    figures_of,
    in_unit,
    markdown,
    row_of,
    targets_table,
    times,
    times_table,
    unit_of,
)
from benchmarks.workloads import WORKLOADS, write_workload

ROWS = [
    Row(FILES, "A", "cranfield", (0.3, 0.2, 0.25), 260_000_000),
    Row(FILES, "A", "cranfield, all_trec", (0.5,), 261_000_000),
    Row(FILES, "A", "wc -l", (0.1,), 2_000_000),
    Row(FILES, "A", "pytrec_eval", (7.5, 8.0), 1_500_000_000),
    Row(DICTS, "D", "cranfield", (30e-6,)),
    Row(DICTS, "D", "pytrec_eval", (10e-6,)),
]
SIZES = {"A": 250_000_000}


def test_a_row_has_the_median_of_the_times_and_the_most_memory() -> None:
    row = row_of(FILES, "B", "ranx", [Measurement(3, 10), Measurement(1, 30), Measurement(2, 20)])
    assert (row.median, row.seconds, row.memory) == (2, (3, 1, 2), 30)
    assert row_of(DICTS, "B", "ranx", [Measurement(3)]).memory is None


def test_times_have_range_memory_and_ratio() -> None:
    lines = times_table(ROWS[:4]).splitlines()
    assert lines[2] == "| A | cranfield | 250 ms | 200–300 | 3 | 260 MB | 1.00× |"
    assert lines[5] == "|  | pytrec_eval | 7,750 ms | 7,500–8,000 | 2 | 1,500 MB | 31.0× |"


def test_a_column_of_memory_is_there_only_if_it_was_measured() -> None:
    assert times_table(ROWS[4:]).splitlines()[2:] == [
        "| D | cranfield | 30.0 µs | 30.0–30.0 | 1 | 1.00× |",
        "|  | pytrec_eval | 10.0 µs | 10.0–10.0 | 1 | 0.33× |",
    ]


@pytest.mark.parametrize("seconds, unit", [(20e-6, "µs"), (0.002, "ms"), (9.0, "ms"), (11.0, "s")])
def test_the_unit_is_that_of_the_fastest(seconds: float, unit: str) -> None:
    assert unit_of([Row(FILES, "A", "x", (seconds,)), Row(FILES, "A", "y", (100.0,))]) == unit


def test_numbers_have_as_many_decimals_as_they_bear() -> None:
    assert [in_unit(x, "ms") for x in (0.0012345, 0.0994, 0.1234, 12.345)] == ["1.2", "99.4", "123", "12,345"]
    assert [times(x) for x in (0.423, 1.999, 2.04, 99.94, 100.4, 1234.5)] == [
        "0.42×",
        "2.00×",
        "2.0×",
        "99.9×",
        "100×",
        "1,234×",
    ]


def test_targets_are_those_of_the_issue() -> None:
    asked = [(target.work[0], target.at_least, target.at_most) for target in TARGETS]
    assert asked == [
        ("A", 20, None),
        ("A", None, 5),
        ("B", 2.5, None),
        ("C", 1.3, None),
        ("E", 15, None),
        ("A", 8, None),
        ("B", 4, None),
        ("C", 4, None),
        ("D", None, 10),
        ("A", None, 1.2),
        ("A", None, 1.5),
    ]


def test_targets_say_what_was_reached_and_whether_it_is_enough() -> None:
    lines = [line.split(" | ")[2:] for line in targets_table(figures_of(ROWS, SIZES)).splitlines()[2:]]
    assert lines[0] == ["at least 20×", "31.0×", "yes |"]
    assert lines[1] == ["at most 5×", "2.5×", "yes |"]
    assert lines[2] == ["at least 2.5×", "–", "not measured |"]
    assert lines[8] == ["at most 10×", "3.0×", "yes |"]
    assert lines[9] == ["at most 1.2×", "1.04×", "yes |"]
    assert lines[10] == ["at most 1.5×", "2.0×", "**no** |"]


def test_everything_is_told_under_its_heading() -> None:
    told = markdown(ROWS, SIZES, "A machine.")
    assert [line for line in told.splitlines() if line.startswith("#")] == [
        "## From files",
        "## From dicts",
        "## Targets",
    ]
    assert told.startswith("A machine.\n\n## From files")


def test_tools_that_disagree_stop_the_benchmark() -> None:
    sums = dict.fromkeys(MEASURES, 10.0)
    check_agreement("B", {"cranfield": sums, "pytrec_eval": {**sums, "AP": 10.0 + 1e-9}})
    check_agreement("B", {"cranfield": sums, "trec_eval": {**sums, "AP": 10.01}})
    for wrong in (10.01, float("nan")):
        with pytest.raises(SystemExit, match="workload B: AP is 10.0 in all"):
            check_agreement("B", {"cranfield": sums, "pytrec_eval": {**sums, "AP": wrong}})


def test_ranx_has_no_bpref_where_nothing_is_judged_not_relevant() -> None:
    sums = dict.fromkeys(MEASURES, 10.0)
    other = {**sums, "Bpref": float("nan")}
    check_agreement("A", {"cranfield": sums, "ranx": other})
    with pytest.raises(SystemExit, match="Bpref"):
        check_agreement("B", {"cranfield": sums, "ranx": other})


def test_values_of_all_queries_are_added_and_means_are_not() -> None:
    assert sums_of_tsv("r\tAP\t1\t0.5\nr\tAP\t2\t0.25\nr\tAP\tall\t0.375\n") == {"AP": 0.75}
    printed = "map                   \t1\t0.5000\nmap                   \t2\t0.2500\nmap\tall\t0.3750\n"
    assert sums_of_trec_eval(printed) == {"AP": 0.75}


def test_our_command_prints_what_is_read(tmp_path: Path) -> None:
    files = write_workload(replace(WORKLOADS["C"], queries=2, depth=50), tmp_path)
    contender = cranfield("cranfield", files, list(MEASURES))
    if not Path(contender.command[0]).exists():
        pytest.skip("the command is not installed beside Python")
    contender.measure()
    assert list(contender.sums) == list(MEASURES)


def test_the_picture_has_a_bar_for_each_tool_and_says_what_it_shows() -> None:
    picture = svg(ROWS)
    tree = ElementTree.fromstring(picture)
    bars = [rect for rect in tree.iter("{http://www.w3.org/2000/svg}rect") if rect.get("fill")]
    assert [bar.get("fill") for bar in bars] == [COLOURS["cranfield"], COLOURS["pytrec_eval"]] * 2
    assert [bar.get("width") for bar in bars] == ["4.4", "136.0", "136.0", "45.3"]
    assert "7,750 ms · 31.0×" in picture and "A: 6,980 queries × 1,000 documents" in picture
    assert finding(ROWS) in picture
    assert finding(ROWS).startswith("pytrec_eval takes 31.0–31.0× as long as cranfield from files, 0.33–")


def test_colours_stand_out_from_the_ground() -> None:
    def light(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for colour in COLOURS.values():
        assert 1.05 / (light(colour) + 0.05) >= 3 and (light(colour) + 0.05) / (light("#16181b") + 0.05) >= 3, colour
