"""What `cranfield eval --engine spark` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from cranfield.base import GRADE_WORDS
from cranfield.errors import CranfieldError
from cranfield.measures import parse_measures
from cranfield.spark.api import evaluate, require_order_free
from cranfield.spark.local_scores import ScoresFromSpark
from cranfield.spark.reading import read_judgments, read_runs, require_files
from cranfield.spark.session import opened, ticking

Progress = Callable[[Iterator[int], int | None, str], Iterator[int]]
_ELSEWHERE = {"bounds": "--bounds", "risk": "--risk"}


@contextmanager
def evaluated(
    master: str | None,
    qrels: str,
    runs: Sequence[str],
    measures: Sequence[str],
    progress: Progress,
    tell: Callable[[str], None],
    per_query: bool = False,
    run_format: str | None = None,
    qrels_format: str | None = None,
    grade_words: Mapping[str, float] = GRADE_WORDS,
    jobs: int | None = None,
    **conventions: Any,
) -> Iterator[ScoresFromSpark]:
    """The scores of runs in paths that Spark can read; they last as long as the session behind them."""
    options = _known(conventions)
    parse_measures(measures)  # errors that need no Spark come first
    require_order_free(options["ties"], options["rank_by"], options["on_duplicate"])
    require_files(runs, run_format)
    require_files([qrels], qrels_format)
    with opened(master, jobs) as session:
        with_ranks = options["rank_by"] == "rank" or options["ties"] == "rank-column"

        def work() -> ScoresFromSpark:
            read = read_runs(session, runs, run_format, with_ranks)
            judged, origin = read_judgments(session, qrels, qrels_format, grade_words)
            scores = evaluate(read.frame, judged, measures, runs=read.names, **options).persist()
            scores.evaluation.qrels_origin, scores.evaluation.origin_of = origin, read.origin_of
            found = ScoresFromSpark.of(scores, per_query)
            for run in found.runs:  # all figures, while there is something to show
                for label in found.labels:
                    found.mean(label, run.name), found.interval(label, run.name)
            return found

        done: list[ScoresFromSpark] = []
        for _ in progress(ticking(session, work, done, tell), None, "tasks done on Spark:"):
            pass
        yield done[0]


def _known(conventions: Mapping[str, Any]) -> dict[str, Any]:
    """The conventions that hold on Spark, or an error for one that does not."""
    for name, option in _ELSEWHERE.items():
        if conventions.get(name):
            raise CranfieldError(f"{option} needs all of a run in one place: leave out --engine spark.")
    return {name: value for name, value in conventions.items() if name not in _ELSEWHERE}
