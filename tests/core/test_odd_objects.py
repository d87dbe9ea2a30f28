"""Odd things in dictionaries and arrays that are handed to the compiled core: none of them may do harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield.base.compiled
import cranfield.joining.streaming
from cranfield import Evaluator, InputError, Qrels

core = cranfield.base.compiled.core
if core is None:
    pytest.skip("the compiled core is not in use", allow_module_level=True)


class Another(str):
    """Equal to nothing, so that a dictionary holds it beside the same text."""

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__


class Four(float):
    def __float__(self) -> float:
        return 4.0


@pytest.mark.parametrize("id", ["a\n", "\r", "12345678\r", "1234567\n8", "\xe9\n", "\u4e2d\r", "\U0001d11e\n"])
def test_an_id_with_a_line_break_is_an_error(id: str) -> None:
    evaluator = Evaluator({"q": {"a": 1}}, ["AP"])
    for run in ({"q": {id: 1.0}}, {id: {"a": 1.0}, "q": {"a": 1.0}}):
        with pytest.raises(InputError, match="holds a line break"):
            evaluator.score(run)


def test_a_number_that_converts_itself_counts_as_what_it_says() -> None:
    evaluator = Evaluator({"q": {"a": 1}}, ["RR"])
    assert evaluator.evaluate({"q": {"a": Four(1.0), "b": 2.0}}).mean("RR") == 1


def test_numbers_of_numpy_count_as_they_are() -> None:
    for kind in (np.float64, np.float32, np.float16, np.int64, np.int32):
        found = core.join_dict(core.Judgments(("q",), ({"a": 1.0},)), {"q": {"a": kind(1), "b": kind(2)}}, 0, False)
        assert found is not None


def test_an_object_that_calls_itself_a_number_of_numpy_is_left_to_python() -> None:
    run: dict[str, dict[str, Any]] = {"q": {f"d{i}": float(i) for i in range(9)}}

    def meddle(self: object) -> float:
        raise AssertionError("it was asked")

    run["q"]["a"] = type("numpy.float32", (), {"__float__": meddle})()
    assert core.join_dict(core.Judgments(("q",), ({"a": 1.0},)), run, 0, False) is None


def test_two_spellings_of_the_same_bytes_are_one_document(tmp_path: Path) -> None:
    qrels = Qrels.from_rows(["q", "q"], ["\xe9", "\udcc3\udca9"], [1.0, 2.0])
    run = tmp_path / "run"
    run.write_bytes("q Q0 é 1 2 t\nq Q0 x 2 1 t\n".encode())
    assert Evaluator(qrels, ["RR"]).score(run).judged.rank.tolist() == [1]


def test_the_same_text_twice_is_no_second_hit() -> None:
    judgments = core.Judgments(("q",), ({Another("a"): 1.0, Another("a"): 2.0},))
    assert len(judgments) == 2
    # few documents are looked up by their bytes, of which the first counts; many as strings, which is not plain
    found = core.join_dict(judgments, {"q": {"a": 1.0}}, 0, False)
    assert np.frombuffer(found[6]).tolist() == [1.0]
    assert core.join_dict(judgments, {"q": {"a": 1.0, **{f"b{i}": 0.5 - i for i in range(9)}}}, 0, False) is None


@pytest.mark.parametrize("grade", [float("nan"), float("inf"), 10**400, "1", None, True, np.array(1.0)])
def test_judgments_take_nothing_but_finite_numbers(grade: object) -> None:
    with pytest.raises((TypeError, ValueError, OverflowError)):
        core.Judgments(("q",), ({"a": grade},))


def test_arrays_that_do_not_fit_are_refused() -> None:
    starts, values, result = np.array([0, 1, 2]), np.ones(2), np.empty(2)
    unaligned = np.zeros(17, dtype=np.int8)[1:]
    for wrong in (
        (starts, values, starts.view(np.float64)[:2]),
        (starts, values, unaligned),
        (np.array([0, 3, 2]), values, result),
        (np.array([0, -1, 2]), values, result),
        (np.array([1, 1, 2]), values, result),
        (starts, np.ones(3), result),
        (starts, values, np.empty(3)),
        (b"", values, result),
    ):
        with pytest.raises(ValueError, match="do not fit together"):
            core.sums(*wrong)
        with pytest.raises(ValueError, match="do not fit together"):
            core.quotients(*wrong[:2], np.ones(len(wrong[2])), wrong[2])
    with pytest.raises(ValueError, match="do not fit together"):
        core.quotients(starts, values, np.ones(len(result) + 1), result)
