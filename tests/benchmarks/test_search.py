"""Searching beside bm25s: the same work from a seed, scores that must agree, and tables that say what was reached."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.results import Row
from benchmarks.search import INDEX, ONE, WORKS, tell
from benchmarks.searches import Bm25s, Cranfield, Tool, check, indexing, searching
from benchmarks.texts import make_texts


def test_texts_come_from_their_seed_and_have_the_sizes_that_are_told() -> None:
    texts = make_texts(documents=50, queries=20, vocabulary=6000)
    assert texts == make_texts(documents=50, queries=20, vocabulary=6000)
    assert texts != make_texts(documents=50, queries=20, vocabulary=6000, seed=2)
    assert len(texts.documents) == 50 and all(60 <= len(text.split()) <= 100 for text in texts.documents)
    for queries in texts.queries.values():
        assert len(queries) == 20 and all(2 <= len(text.split()) <= 6 for text in queries)


def test_few_words_are_common() -> None:
    words = " ".join(make_texts(documents=2000, queries=1, vocabulary=6000).documents).split()
    counts = np.sort(np.unique(words, return_counts=True)[1])[::-1]
    assert counts[0] / counts[9] == pytest.approx(10, rel=0.3) and counts[0] / counts[99] == pytest.approx(100, rel=0.5)


@pytest.mark.slow
def test_every_tool_finds_the_same_scores() -> None:
    pytest.importorskip("bm25s")
    texts = make_texts(documents=3000, queries=30, vocabulary=6000)
    tools: dict[str, Tool] = {
        "cranfield": Cranfield(),
        "cranfield, first time": Cranfield(keep=False),
        "cranfield, no core": Cranfield(with_core=False),
        "bm25s": Bm25s(threads=1),
    }
    for tool in tools.values():
        tool.index(texts.documents)
    for work in ("middling:10", "common:1000", "middling:10:terms"):
        seconds = searching(texts, tools, work, repeat=1, patience=9)
        assert seconds.keys() == tools.keys() and all(one > 0 for of_tool in seconds.values() for one in of_tool)


def test_indexing_is_measured_in_memory_and_with_saving() -> None:
    pytest.importorskip("snowballstemmer")
    seconds = indexing(make_texts(documents=50, queries=1, vocabulary=6000), threads=1, repeat=1, patience=0)
    assert {"cranfield", "cranfield, saved"} <= seconds.keys()


def test_other_scores_stop_the_measurement() -> None:
    ours = [np.array([2.2, 1.1])]
    check("work", "bm25s", ours, [np.array([1.0, 0.5, 0.0])])
    for theirs in ([1.0, 0.6, 0.0], [1.0], [1.0, 0.5, 0.1]):
        with pytest.raises(SystemExit, match="work: the scores of query 0"):
            check("work", "bm25s", ours, [np.array(theirs)])


def test_tables_say_what_was_reached_and_what_was_not_measured() -> None:
    best_10 = WORKS["middling:10"]
    told = tell(
        [
            Row(INDEX, WORKS["index"], "cranfield", (4.0, 5.0, 6.0)),
            Row(INDEX, WORKS["index"], "bm25s", (8.0,)),
            Row(ONE, best_10, "cranfield", (0.5,)),
            Row(ONE, best_10, "bm25s", (1.0,)),
            Row(ONE, best_10, "bm25s, numba", (2.0,)),
        ]
    )
    assert "Other work" not in told and "Other work was going on (load 3.2)" in tell([], 3.21)
    assert "| Indexing: 100,000 documents | time of bm25s to ours | at least 1× | 1.60× | yes |" in told
    assert f"| {ONE}: {best_10} | time of bm25s to ours | at least 3× | 2.0× | **no** |" in told
    assert f"| {ONE}: {best_10} | time of bm25s, numba to ours | at least 3× | 4.0× | yes |" in told
    assert f"| {ONE}: best 1,000 | time of bm25s to ours | at least 3× | – | not measured |" in told
