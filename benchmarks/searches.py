"""Indexing and searching the same made-up documents, in one process in which the tools take turns.

`python -m benchmarks.searches THREADS REPEAT PATIENCE WORK...` prints the seconds of each tool for each work as JSON. A
work is `index`, or queries and depth as in `middling:10`, with `:terms` after it where the queries are analysed before.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any, Protocol
from unittest import mock

if hasattr(os, "sched_setaffinity") and __name__ == "__main__":
    # before anything is imported that counts processors
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[1])])

import numpy as np

from benchmarks.measuring import Sums, measure_call, take_turns
from benchmarks.texts import Texts, make_texts

K1, B = 1.2, 0.75
NEAR = 2e-5  # bm25s keeps scores of seven digits
Answer = list[Any]  # for each query its scores, best first


class Tool(Protocol):
    """What takes part."""

    def index(self, documents: list[str]) -> None: ...

    def terms(self, queries: list[str]) -> Any: ...

    def search(self, terms: Any, depth: int) -> Answer: ...


class Cranfield:
    """Our index and BM25. Unless it may keep them, the weights of postings are found anew each time."""

    def __init__(self, keep: bool = True, with_core: bool = True, save: bool = False) -> None:
        self.keep, self.with_core, self.save = keep, with_core, save

    def index(self, documents: list[str]) -> None:
        from cranfield.data.collection import Document
        from cranfield.lab.index import build
        from cranfield.text.analysis import stemmer_of

        stemmer_of.cache_clear()  # as if nothing had been indexed before
        self.built = build(Document(str(i), text) for i, text in enumerate(documents))
        if self.save:
            with tempfile.TemporaryDirectory() as folder:
                self.built.save(f"{folder}/index")

    def terms(self, queries: list[str]) -> Any:
        return [self.built.query(text) for text in queries]

    def search(self, terms: Any, depth: int) -> Answer:
        from cranfield.lab import models

        if not self.keep:
            self.built.__dict__.pop("_found", None)
        with mock.patch.object(models, "core", models.__dict__["core"] if self.with_core else None):
            return [scores for _, scores in models.BM25(k1=K1, b=B).search(self.built, terms, depth)]


class Bm25s:
    """bm25s as its README has it; the stemmer is the one that we use."""

    def __init__(self, threads: int, backend: str = "numpy") -> None:
        import snowballstemmer

        self.threads, self.backend = threads if threads > 1 else 0, backend
        self.stemmer = snowballstemmer.stemmer("english")

    def index(self, documents: list[str]) -> None:
        import bm25s

        self.retriever = bm25s.BM25(k1=K1, b=B, method="lucene", backend=self.backend)
        self.retriever.index(self._tokens(documents), show_progress=False)

    def terms(self, queries: list[str]) -> Any:
        return self._tokens(queries)

    def _tokens(self, texts: list[str]) -> Any:
        import bm25s

        return bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def search(self, terms: Any, depth: int) -> Answer:
        found = self.retriever.retrieve(terms, k=depth, n_threads=self.threads, show_progress=False)
        return list(found.scores)


def tools(threads: int) -> dict[str, Tool]:
    """All that are installed."""
    found: dict[str, Tool] = {
        "cranfield": Cranfield(),
        "cranfield, first time": Cranfield(keep=False),
        "cranfield, no core": Cranfield(with_core=False),
    }
    if find_spec("bm25s"):
        found["bm25s"] = Bm25s(threads)
        if find_spec("numba"):
            found["bm25s, numba"] = Bm25s(threads, "numba")
    return found


def main(threads: int, repeat: int, patience: float, works: Sequence[str]) -> None:
    texts = make_texts()
    found = {}
    taking_part = tools(threads)
    if "index" in works:
        found["index"] = indexing(texts, threads, repeat, patience)
    for tool in taking_part.values():
        tool.index(texts.documents)
    for work in works:
        if work != "index":
            found[work] = searching(texts, taking_part, work, repeat, patience)
    print(json.dumps(found))


def indexing(texts: Texts, threads: int, repeat: int, patience: float) -> dict[str, list[float]]:
    """From texts to an index in memory; ours also with what it takes to save it."""
    taking_part = {name: tool for name, tool in tools(threads).items() if name.startswith("bm25s")}
    taking_part = {"cranfield": Cranfield(), "cranfield, saved": Cranfield(save=True), **taking_part}
    return _seconds({name: partial(_index, tool, texts) for name, tool in taking_part.items()}, repeat, patience)


def _index(tool: Tool, texts: Texts) -> Sums:
    tool.index(texts.documents)
    return {}


def searching(
    texts: Texts, taking_part: Mapping[str, Tool], work: str, repeat: int, patience: float
) -> dict[str, list[float]]:
    """All queries at once; the scores that tools find must be the same."""
    name, depth, *given = work.split(":")
    queries, answers = texts.queries[name], dict[str, Answer]()

    def search(tool_name: str, terms: Any) -> Sums:
        tool = taking_part[tool_name]
        answers[tool_name] = tool.search(tool.terms(queries) if terms is None else terms, int(depth))
        return {}

    known = {name: tool.terms(queries) if given else None for name, tool in taking_part.items()}
    seconds = _seconds({name: partial(search, name, terms) for name, terms in known.items()}, repeat, patience)
    for name, answer in answers.items():
        check(work, name, answers["cranfield"], answer)
    return seconds


def check(work: str, name: str, ours: Answer, theirs: Answer) -> None:
    """Stop unless a tool finds our scores; Lucene leaves the factor of k1 + 1 out, which changes no order."""
    factor = K1 + 1 if name.startswith("bm25s") else 1.0
    for query, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        b = factor * np.asarray(b, dtype=np.float64)
        # bm25s goes on with documents that have none of the terms
        if len(b) < len(a) or not np.allclose(a, b[: len(a)], rtol=NEAR, atol=0) or b[len(a) :].any():
            raise SystemExit(f"{work}: the scores of query {query} are {a[:5]} …, and {b[:5]} … by {name}.")


def _seconds(tasks: Mapping[str, Callable[[], Sums]], repeat: int, patience: float) -> dict[str, list[float]]:
    measured = take_turns({name: partial(measure_call, task) for name, task in tasks.items()}, repeat, patience)
    return {name: [one.seconds for one in measurements] for name, measurements in measured.items()}


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:])
