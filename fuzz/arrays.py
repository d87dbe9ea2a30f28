"""Bytes as three arrays, which may not fit together: sums and counts query by query."""

from __future__ import annotations

import numpy as np
from checks import attempt, core


def execute(view: memoryview) -> None:
    """One execution: sizes and offsets, where queries start, then the values."""
    data = bytes(view)
    if len(data) < 6:
        return
    queries, hits, results, shift, overlapping, steps = data[:6]
    sizes = np.frombuffer(data[6:], dtype=np.int8)[: queries % 16].astype(np.int64)
    starts = np.concatenate(([steps % 2 and steps], np.cumsum(sizes))).astype(np.int64)
    values = np.resize(np.frombuffer(data, dtype=np.int8).astype(np.float64), hits % 64)
    if hits % 2:
        starts, values = _fitting(starts, values)
    result = np.frombuffer(bytearray(8 * (results % 64) + 8), dtype=np.int8)[shift % 9 :]
    if results % 2:
        result = np.empty(len(starts) - 1)
    if overlapping == 1:
        result = starts.view(np.float64)[: len(starts) - 1]
    attempt(0, core.shares, values, values[::-1].copy(), np.empty(len(values) if steps < 99 else steps))
    attempt(0, core.running, starts, values != 0, np.empty(len(values)))
    attempt(0, core.quotients, starts, values, np.resize(values, results % 16), np.empty(results % 16))
    if attempt(0, core.sums, starts, values, result) is None and len(result) == len(starts) - 1 and results % 2:
        _check(starts, values, result)


def _fitting(starts: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same sizes, made to start at 0, rise, and end with the last value."""
    starts = np.concatenate(([0], np.cumsum(np.abs(np.diff(starts)) % 8)))
    return starts, np.resize(values, int(starts[-1]))


def _check(starts: np.ndarray, values: np.ndarray, result: np.ndarray) -> None:
    fits = starts[0] == 0 and starts[-1] == len(values) and bool((np.diff(starts) >= 0).all())
    if fits and result.dtype == np.float64 and not np.shares_memory(starts, result):
        query = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        expected = np.bincount(query, weights=values, minlength=len(starts) - 1).astype(np.float64)
        assert result.tobytes() == expected.tobytes(), (result, expected)
        whole, quotients = np.resize(np.append(values, 2.0), len(result)), np.empty(len(result))
        core.quotients(starts, values, whole, quotients)
        core.shares(expected, whole, result)
        assert quotients.tobytes() == result.tobytes(), (quotients, result)
        counts, shares = np.empty(len(values)), np.empty(len(values))
        core.shares(values, values[::-1].copy(), shares)
        with np.errstate(invalid="ignore", divide="ignore"):
            assert np.array_equal(shares, np.where(values[::-1] == 0, 0, values / values[::-1]))
        core.count_running(starts, values > 0, counts)
        for start, stop in zip(starts, starts[1:], strict=False):
            assert counts[start:stop].tolist() == np.cumsum(values[start:stop] > 0).tolist()
