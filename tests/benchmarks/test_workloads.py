"""The workloads of the benchmark are what they are said to be, and the same every time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from benchmarks.workloads import STAMP, WORKLOADS, files_of, make_workloads, qrels_lines, run_lines, write_workload

SMALL = replace(WORKLOADS["E"], queries=3, depth=20, judged=25, runs=2)


@pytest.mark.parametrize(
    "name, queries, depth, runs", [("A", 6980, 1000, 1), ("B", 250, 1000, 1), ("C", 54, 1000, 1), ("D", 1, 10, 1)]
)
def test_sizes_are_those_of_the_issue(name: str, queries: int, depth: int, runs: int) -> None:
    workload = WORKLOADS[name]
    assert (workload.queries, workload.depth, workload.runs) == (queries, depth, runs)
    lines = [line.split() for line in islice(run_lines(workload), 2 * depth)]
    assert [int(line[3]) for line in lines] == list(range(1, depth + 1)) * min(2, queries)


def test_a_has_one_relevant_document_and_in_a_tenth_of_the_queries_two() -> None:
    lines = [line.split() for line in qrels_lines(replace(WORKLOADS["A"], depth=10))]
    per_query = Counter(line[0] for line in lines)
    assert set(per_query.values()) == {1, 2} and {line[3] for line in lines} == {"1"}
    assert len(lines) / len(per_query) == pytest.approx(1.1, abs=0.02)


def test_b_has_1250_judgments_of_three_grades() -> None:
    lines = [line.split() for line in qrels_lines(replace(WORKLOADS["B"], queries=3))]
    assert Counter(line[0] for line in lines) == {"1": 1250, "2": 1250, "3": 1250}
    assert {line[3] for line in lines} == {"0", "1", "2"}


def test_e_is_a_hundred_runs_of_b_that_differ() -> None:
    b, e = replace(WORKLOADS["B"], queries=2), replace(WORKLOADS["E"], queries=2)
    assert WORKLOADS["E"].runs == 100
    assert list(qrels_lines(e)) == list(qrels_lines(b))
    assert list(run_lines(e, 0)) == list(run_lines(b))
    scores = [[line.split()[4] for line in run_lines(e, run)] for run in range(3)]
    assert scores[0] != scores[1] != scores[2] != scores[0]


def test_scores_fall_and_are_distinct_in_float32() -> None:
    scores = np.array([line.split()[4] for line in islice(run_lines(WORKLOADS["B"]), 1000)], dtype=np.float32)
    assert (np.diff(scores) < 0).all()


def test_documents_are_retrieved_once_and_partly_judged() -> None:
    workload = replace(WORKLOADS["B"], queries=1)
    retrieved = [line.split()[2] for line in run_lines(workload)]
    judged = {line.split()[2] for line in qrels_lines(workload)}
    assert len(set(retrieved)) == 1000 and len(judged) == 1250
    assert 850 <= len(judged & set(retrieved)) < 1000


def test_the_same_files_are_made_every_time(tmp_path: Path) -> None:
    made = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        folder.mkdir()
        files = write_workload(SMALL, folder)
        assert files == files_of(SMALL, folder) and len(files.runs) == 2
        assert sorted(folder.iterdir()) == sorted([files.qrels, *files.runs])
        made.append([path.read_bytes() for path in (files.qrels, *files.runs)])
    assert made[0] == made[1]
    assert files.size == sum(map(len, made[0][1:]))


def test_files_are_kept_until_the_generator_changes(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    make_workloads(folder, ["D"])
    qrels = files_of(WORKLOADS["D"], folder).qrels
    made = qrels.read_text()
    assert len(made.splitlines()) == 10
    qrels.write_text("kept")
    make_workloads(folder, ["D"])
    assert qrels.read_text() == "kept"
    (folder / STAMP).write_text("another version")
    make_workloads(folder, ["D"])
    assert qrels.read_text() == made
