"""Measures are read when they are asked for, and what says where they are is right."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from cranfield import Evaluator, MeasureError
from cranfield.data import Run
from cranfield.joining import join
from cranfield.measures import Measure, all_measures
from cranfield.measures.registry import FAMILIES, FAMILY_OF


def test_every_name_of_every_measure_has_its_family() -> None:
    names = {name: kind.__module__ for kind in all_measures() for name in (kind.name, *kind.aliases)}
    assert {name: f"cranfield.measures.{FAMILY_OF[name]}" for name in names} == names
    assert set(FAMILY_OF) == set(names)
    assert sum(len(family.split()) for family in FAMILIES.values()) == len(FAMILY_OF)


@pytest.mark.parametrize(("measures", "families"), [("nDCG@10", {"graded"}), ("map P.5", {"binary"})])
def test_only_the_families_asked_for_are_read(measures: str, families: set[str]) -> None:
    program = (
        "import sys; from cranfield.measures import parse_measures; parse_measures(sys.argv[1].split())\n"
        "from cranfield.measures.registry import FAMILIES\n"
        "print(*(family for family in FAMILIES if f'cranfield.measures.{family}' in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", program, measures], check=True, capture_output=True, text=True)
    assert set(out.stdout.split()) == families


@pytest.mark.parametrize("kind", all_measures(), ids=lambda kind: kind.name)
def test_a_measure_that_does_not_say_so_does_not_read_the_run(
    kind: type[Measure], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(run: Any, *_: object) -> Run:
        assert isinstance(run, Run), "the run is read"
        return run

    monkeypatch.setattr(join, "_load_run", refuse)
    qrels = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 2, "d": 0}}
    run = {"1": {"x": 3.0, "a": 2.0, "b": 1.0}, "2": {"d": 1.0, "a": 1.0, "z": 0.5}}
    evaluate: Callable[[], Any] = lambda: Evaluator(qrels, [kind.plain()]).evaluate(run)  # noqa: E731
    try:
        scores = evaluate()
    except MeasureError as error:
        assert "needs" in str(error)  # other qrels, or another file: with those, runs are read as a whole
        return
    assert scores.mean(scores.labels[0]) is not None and scores.notes is not None
