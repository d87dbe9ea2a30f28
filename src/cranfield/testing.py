"""Helpers for test suites: a search system must not get worse."""

from __future__ import annotations

from typing import Any

from cranfield.reporting import gate as gate_report
from cranfield.stats import GATE_MEASURE, Gate, gate


def assert_not_worse(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measure: Any = GATE_MEASURE,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    require_proof: bool = False,
    **options: Any,
) -> Gate:
    """Fail the test, with reasons, if a candidate is worse than a baseline by more than `max_drop`.

    Runs are files, dicts, frames or Run objects; instead of a run you may give its scores, {query: score} or a Scores.
    `measure` may be a list. Options are those of `evaluate`, and `correction`. With `require_proof`, the test also
    fails if the result is undecided. Returns the verdict.

    >>> assert_not_worse(None, {"q1": 0.5, "q2": 0.75}, {"q1": 0.5, "q2": 0.75}, require_proof=True).verdict
    'not worse'
    """
    __tracebackhide__ = True  # pytest then shows the test that failed, not this function
    result = gate(
        qrels, baseline, candidate, measure, max_drop=max_drop, alpha=alpha, require_proof=require_proof, **options
    )
    if not result.passed:
        raise AssertionError(gate_report.as_text(result))
    return result
