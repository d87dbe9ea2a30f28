"""What was measured, the tables that tell it, and whether it is enough."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.measuring import Measurement, Sums
from benchmarks.workloads import WORKLOADS

FILES, MANY, DICTS, START = "From files", "Many runs", "From dicts", "Start-up"
ABOUT = {
    FILES: "One run, from its file to every per-query value of the six measures, in a fresh process.",
    MANY: "All runs of one collection in one command; the peer reads the qrels once.",
    DICTS: "From dicts of Python to every per-query value, in one warm process in which the tools take turns; "
    "each keeps its evaluator, and ranx its qrels.",
    START: "What is spent before there is anything to do: `cranfield eval` and pytrec_eval read one query of ten "
    "documents.",
}
US = "cranfield"
UNITS = (("µs", 1e-3, 1e6), ("ms", 10.0, 1e3), ("s", math.inf, 1.0))  # up to so many seconds, and how many a second has
# ranx divides by the number of documents judged not relevant, and has no value where there are none
KNOWN_TO_DIFFER = {("A", "ranx", "Bpref")}


@dataclass(frozen=True)
class Row:
    """What a tool took for a workload."""

    group: str
    workload: str
    tool: str
    seconds: tuple[float, ...]
    memory: int | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


def row_of(group: str, workload: str, tool: str, measurements: Sequence[Measurement]) -> Row:
    """A row of what was measured; the memory is the most that any of them had."""
    memory = [one.memory for one in measurements if one.memory is not None]
    return Row(group, workload, tool, tuple(one.seconds for one in measurements), max(memory, default=None))


def check_agreement(workload: str, found: Mapping[str, Sums]) -> None:
    """Stop if tools do not find the same values; trec_eval prints four decimals of each."""
    rounding = 5e-5 * WORKLOADS[workload].queries * WORKLOADS[workload].runs
    for tool, sums in found.items():
        for measure, expected in found[US].items():
            apart = abs(sums[measure] - expected)
            near = apart <= (rounding if tool == "trec_eval" else 1e-6 * max(1.0, expected))
            if not near and (workload, tool, measure) not in KNOWN_TO_DIFFER:
                raise SystemExit(f"workload {workload}: {measure} is {expected} in all, and {sums[measure]} by {tool}.")


# Targets


@dataclass(frozen=True)
class Target:
    """A ratio of two figures that must be reached, or must not be passed."""

    work: str
    ratio: str  # in words
    over: str
    under: str
    at_least: float | None = None
    at_most: float | None = None

    def reached(self, figures: Mapping[str, float]) -> float | None:
        """The ratio, unless one of the figures was not measured."""
        if self.over not in figures or self.under not in figures:
            return None
        return figures[self.over] / figures[self.under]

    def is_met(self, ratio: float) -> bool:
        return (self.at_least is None or ratio >= self.at_least) and (self.at_most is None or ratio <= self.at_most)

    @property
    def asked(self) -> str:
        return f"at least {self.at_least:g}×" if self.at_least is not None else f"at most {self.at_most:g}×"


def _faster(group: str, workload: str, at_least: float) -> Target:
    work = f"{workload}, {WORKLOADS[workload].runs} runs" if group == MANY else f"{workload} {group.lower()}"
    return Target(
        work,
        "time of pytrec_eval to ours",
        f"{group} {workload} pytrec_eval",
        f"{group} {workload} {US}",
        at_least=at_least,
    )


TARGETS = (
    _faster(FILES, "A", 20),
    Target("A from files", "our time to that of `wc -l`", f"{FILES} A {US}", f"{FILES} A wc -l", at_most=5),
    _faster(FILES, "B", 2.5),
    _faster(FILES, "C", 1.3),
    _faster(MANY, "E", 15),
    _faster(DICTS, "A", 8),
    _faster(DICTS, "B", 4),
    _faster(DICTS, "C", 4),
    Target("D from dicts", "our time to that of pytrec_eval", f"{DICTS} D {US}", f"{DICTS} D pytrec_eval", at_most=10),
    Target("A from files", "peak memory to size of the file", f"{FILES} A {US} memory", "A size", at_most=1.2),
    Target(
        "A from files",
        "time of all_trec to that of the six",
        f"{FILES} A {US}, all_trec",
        f"{FILES} A {US}",
        at_most=1.5,
    ),
)


def figures_of(rows: Iterable[Row], sizes: Mapping[str, int]) -> dict[str, float]:
    """The figures that targets speak of, by name: seconds, and bytes of memory and of files."""
    figures: dict[str, float] = {f"{workload} size": size for workload, size in sizes.items()}
    for row in rows:
        name = f"{row.group} {row.workload} {row.tool}"
        figures[name] = row.median
        if row.memory is not None:
            figures[f"{name} memory"] = row.memory
    return figures


# Markdown


def markdown(rows: Sequence[Row], sizes: Mapping[str, int], machine: str) -> str:
    """All tables, each under a heading."""
    parts = [machine]
    for group, about in ABOUT.items():
        if of_group := [row for row in rows if row.group == group]:
            parts += [f"## {group}", about, times_table(of_group)]
    if any(row.workload == "A" and row.tool == "ranx" for row in rows):
        parts.append(
            "Every tool reads all six values of each query, and their sums agree; ranx alone has no Bpref on A, "
            "where no document is judged not relevant."
        )
    parts += ["## Targets", targets_table(figures_of(rows, sizes))]
    return "\n\n".join(parts) + "\n"


def times_table(rows: Sequence[Row]) -> str:
    """Median and range of the times, the most memory, and the ratio to ours within a workload."""
    memory = any(row.memory is not None for row in rows)
    head = ["", "Tool", "Median", "Range", "Turns", *(["Memory"] if memory else []), "Times ours"]
    lines = []
    for workload, of_workload in _by_workload(rows):
        ours = next((row.median for row in of_workload if row.tool == US), None)
        unit = unit_of(of_workload)
        for i, row in enumerate(of_workload):
            low, high = (in_unit(seconds, unit) for seconds in (min(row.seconds), max(row.seconds)))
            lines.append(
                [
                    workload if i == 0 else "",
                    row.tool,
                    f"{in_unit(row.median, unit)} {unit}",
                    f"{low}–{high}",
                    str(len(row.seconds)),
                    *([megabytes(row.memory)] if memory else []),
                    "–" if ours is None else times(row.median / ours),
                ]
            )
    return _table(head, lines, texts=2)


def targets_table(figures: Mapping[str, float], targets: Sequence[Target] = TARGETS) -> str:
    """What was asked for, what was reached, and whether it is enough."""
    lines = []
    for target in targets:
        ratio = target.reached(figures)
        reached = (
            ["–", "not measured"] if ratio is None else [times(ratio), "yes" if target.is_met(ratio) else "**no**"]
        )
        lines.append([target.work, target.ratio, target.asked, *reached])
    return _table(["Work", "Ratio", "Target", "Reached", "Met"], lines, texts=2)


def unit_of(rows: Sequence[Row]) -> str:
    """The unit for the times of one workload: that of the fastest tool."""
    fastest = min(row.median for row in rows)
    return next(unit for unit, below, _ in UNITS if fastest < below)


def in_unit(seconds: float, unit: str) -> str:
    """A time as a number of that unit.

    >>> in_unit(0.01234, "ms"), in_unit(7.7754, "ms")
    ('12.3', '7,775')
    """
    number = seconds * next(per_second for name, _, per_second in UNITS if name == unit)
    return f"{number:,.1f}" if number < 100 else f"{number:,.0f}"


def times(ratio: float) -> str:
    """A ratio, to one decimal below a hundred and to two below two.

    >>> times(1.2345), times(25.61), times(123.4)
    ('1.23×', '25.6×', '123×')
    """
    return f"{ratio:,.{2 if ratio < 2 else 1 if ratio < 100 else 0}f}×"


def megabytes(size: int | None) -> str:
    return "–" if size is None else f"{size / 1e6:,.0f} MB"


def _by_workload(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    for workload in dict.fromkeys(row.workload for row in rows):
        yield workload, [row for row in rows if row.workload == workload]


def _table(head: Sequence[str], lines: Iterable[Sequence[str]], texts: int) -> str:
    """A Markdown table; all columns but the first few are numbers, set flush right."""
    rule = ["---"] * texts + ["---:"] * (len(head) - texts)
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, rule, *lines])
