"""Lists are ranked as in an evaluation."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield import Run, join_run
from cranfield.data.collection import Qrels
from cranfield.errors import CranfieldError, InputError
from cranfield.pooling import load_runs
from cranfield.pooling.load_runs import read_runs
from cranfield.pooling.ranked_lists import as_sorted_runs, collect_ranked_lists, rank_documents

scores = st.dictionaries(st.sampled_from([f"d{i}" for i in range(12)]), st.integers(0, 4), min_size=1)


@given(scores, st.integers(1, 13))
def test_the_first_documents_are_those_of_an_evaluation_ties_and_all(found: dict[str, int], depth: int) -> None:
    run = Run.from_rows(["1"] * len(found), list(found), [float(score) for score in found.values()])
    ranking = join_run(Qrels.from_rows(["1"], ["d0"], [1]), run).ranking(0)
    assert list(rank_documents(run, 0, depth)) == ranking[:depth]
    assert list(rank_documents(run, 0)) == ranking


def test_topics_come_in_natural_order_and_a_run_may_lack_some() -> None:
    runs = as_sorted_runs({"b": {"10": {"x": 1}, "9": {"y": 1}}, "a": {"9": {"x": 1.5, "z": 1}}})
    lists = collect_ranked_lists(runs, 1)
    assert list(lists) == ["9", "10"]
    assert lists["9"].systems == ("a", "b") and lists["9"].docs == (("x",), ("y",)) and lists["10"].docs == ((), ("x",))
    assert [own.tolist() for own in lists["9"].scores] == [[1.5], [1.0]]


def test_documents_left_out_make_others_move_up() -> None:
    lists = collect_ranked_lists(as_sorted_runs({"a": {"1": {"x": 3, "y": 2, "z": 1}}}))["1"].restrict_to({"x", "z"})
    assert lists.docs == (("x", "z"),) and lists.scores[0].tolist() == [3, 1] and lists.best_rank == {"x": 1, "z": 2}


def test_no_run_and_no_depth_are_errors() -> None:
    with pytest.raises(CranfieldError, match="no run to pool"):
        as_sorted_runs([])
    with pytest.raises(CranfieldError, match="depth 0"):
        collect_ranked_lists(as_sorted_runs({"a": {"1": {"x": 1}}}), 0)


def test_many_runs_are_read_by_several_processes_as_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = []
    for number in range(3):
        files.append(str(tmp_path / f"{number}.run"))
        Path(files[-1]).write_text(f"1 Q0 a 1 {number + 2} t\n1 Q0 b 2 1 t\n")
    one = [run.to_dict() for run in read_runs(files)]
    monkeypatch.setattr(load_runs, "LARGE", 0)
    several = list(read_runs(files, jobs=2))
    assert [run.to_dict() for run in several] == one and [run.name for run in several] == ["0.run", "1.run", "2.run"]
    assert several[0].origin is not None and len(several[0].origin.sha256) == 64
    Path(files[1]).write_text("1 Q0 a 1\n")
    with pytest.raises(InputError, match="1.run: four columns look like qrels"):
        list(read_runs(files, jobs=2))
