"""What a report is made of: scores, what they are held against, texts, and what several sections need to know."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from cranfield.base import GRADE_WORDS, Record
from cranfield.data import Floats, Run
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import RunScores, Scores
from cranfield.joining import JudgedRun
from cranfield.reporting.costs import Costs
from cranfield.reporting.plots.plot_data import (
    MeasureColumn,
    compute_means,
    label_systems,
    label_topics,
    measure_column,
    rank_by_mean,
)
from cranfield.reporting.plots.theme import Palette, assign_colours
from cranfield.stats import Comparison, compare

FEW = 5_000_000  # retrieved documents up to which files are looked at once more: for checks and bounds


class ReportContext(Record, eq=False):
    """Scores with all their hits, and everything that sections share."""

    scores: Scores
    baselines: tuple[str, ...] = ()  # names of runs
    command: str = ""
    alpha: float = 0.05
    seed: int = 1
    grade_words: Mapping[str, float] = field(default_factory=lambda: GRADE_WORDS)
    costs: Costs | None = None

    def __post_init__(self) -> None:
        known = [run.name for run in self.scores.runs]
        for name in self.baselines:
            if name not in known:
                raise CranfieldError(f"the baseline {name!r} is none of the runs: {', '.join(known)}.")

    # Systems

    @cached_property
    def systems(self) -> list[str]:
        """The runs as they are shown, in the order given."""
        return label_systems(self.scores)

    @cached_property
    def palette(self) -> Palette:
        """The colours of systems, the same in all pictures."""
        return assign_colours(self.systems)

    @cached_property
    def ranked(self) -> list[int]:
        """The systems by the main measure, best first."""
        return rank_by_mean(self.main, self.means)

    @cached_property
    def base(self) -> int:
        """What others are held against: the first baseline, or the first run."""
        return self._place(self.baselines[0]) if self.baselines else 0

    @cached_property
    def rival(self) -> int | None:
        """The best of the other systems; None if there is only one."""
        return next((i for i in self.ranked if i != self.base), None)

    def _place(self, run: str) -> int:
        return [one.name for one in self.scores.runs].index(run)

    # Measures

    @cached_property
    def rows(self) -> list[int]:
        """The rows of scores that are measures, rather than something said of one."""
        return [i for i in range(len(self.scores.labels)) if not self.scores.part(i)]

    @cached_property
    def main(self) -> MeasureColumn:
        """The measure that systems are ranked by: the first that tells good ones from bad ones query by query."""
        measures = self.scores.measures
        of_queries = [i for i in self.rows if measures[i].aggregate != "run"]
        if not of_queries:
            raise EvaluationError("a report needs a measure that has a value for each query, e.g. -m nDCG@10.")
        first = next((i for i in of_queries if measures[i].is_quality), of_queries[0])
        return measure_column(self.scores, self.scores.labels[first])

    @cached_property
    def main_label(self) -> str:
        """The main measure by the name that scores know it by."""
        assert self.main.place is not None
        return self.scores.labels[self.main.place]

    @cached_property
    def means(self) -> Floats:
        """The main measure's mean of each system."""
        return compute_means(self.scores, self.main)

    @cached_property
    def rel(self) -> float:
        """The lowest relevant grade."""
        return float(self.scores.conventions.get("rel", 1))

    # Topics

    @cached_property
    def topics(self) -> list[str]:
        """The queries as they are shown."""
        return label_topics(self.scores)

    @cached_property
    def difficulty(self) -> Floats:
        """The mean of each query over the systems, NaN where none has it."""
        there = ~np.isnan(self.main.values)
        sums = np.where(there, self.main.values, 0.0).sum(axis=0)
        found: Floats = np.where(there.any(axis=0), sums / np.maximum(there.sum(axis=0), 1), np.nan)
        return found

    @cached_property
    def by_difficulty(self) -> list[int]:
        """The queries from the hardest to the easiest."""
        known = [j for j in range(len(self.topics)) if not math.isnan(self.difficulty[j])]
        return sorted(known, key=lambda j: self.main.sign * float(self.difficulty[j]))

    def gains(self, system: int, base: int) -> Floats:
        """How much better a system is than another on each query; NaN where one of them lacks it."""
        found: Floats = self.main.sign * (self.main.values[system] - self.main.values[base])
        return np.where(np.abs(found) < 1e-9, 0.0, found)

    # What the runs hold

    @cached_property
    def retrieved(self) -> int:
        """How many documents all runs retrieved for judged queries."""
        return sum(int(run.judged.retrieved.sum()) for run in self.scores.runs)

    def read_whole_runs(self, known: Mapping[str, Run] = MappingProxyType({})) -> Iterator[tuple[RunScores, Run]]:
        """Each run with all its documents; where they were not kept, from the files known, or read and then let go."""
        for run in self.scores.runs:
            sources = run.judged.sources
            if run.origin is not None and run.origin.file in known:
                yield run, known[run.origin.file]
            else:
                yield run, sources.load_run()

    def judged(self, system: int) -> JudgedRun:
        return self.scores.runs[system].judged

    # Comparisons

    @cached_property
    def comparison(self) -> Comparison | str:
        """Systems compared by the measures that say which is better, or why they cannot be."""
        measures = [self.scores.labels[i] for i in self.rows if self._can_be_compared(i)]
        if not measures:
            return "No measure asked for says which system is better, topic by topic."
        if len(self.systems) < 2:
            return "There is one system: name a second run to have it compared."
        try:
            return compare(self.scores, self.baselines or None, measures=measures, alpha=self.alpha, seed=self.seed)
        except CranfieldError as error:
            return f"Systems were not compared: {error}"

    def _can_be_compared(self, i: int) -> bool:
        measure = self.scores.measures[i]
        return measure.is_quality and measure.aggregate == "mean"


def list_baselines(baseline: str | Sequence[str] | None) -> tuple[str, ...]:
    """Baselines as a tuple, whether one, several or none was given."""
    if baseline is None:
        return ()
    return (baseline,) if isinstance(baseline, str) else tuple(dict.fromkeys(baseline))
