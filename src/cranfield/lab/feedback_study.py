"""Feedback from relevant documents, compared on the documents that are left: all at once, a subset, or many fused.

This is the comparison of Raiber & Kurland (Relevance feedback: the whole is inferior to the sum of its parts, TOIS
2019). For each topic the first relevant documents of a first search are given. What is learned from them is measured
on the residual collection: the documents given are taken out of rankings and judgments, since to find them again is
no merit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from cranfield.base import Record, field_names, join_names, pluralize, replace
from cranfield.data import Floats, Qrels, Run
from cranfield.errors import CranfieldError
from cranfield.evaluation import Evaluator, Interval, average, interval
from cranfield.lab.feedback import RM3, BestSubset, FusedSubsets, SubsetRM3
from cranfield.lab.index import Index
from cranfield.lab.models import DEPTH
from cranfield.lab.systems import Ranked, System, as_run, system_named

GIVEN = 5
MEASURES = ("AP", "nDCG@10")
Given = Mapping[str, Sequence[str]]  # for each topic the documents to learn from


class Way(Record, eq=False):
    """A way to learn, or not to: what is learned from, the run without the documents given, and its scores."""

    name: str
    learns_from: str
    run: Run
    values: Mapping[str, Floats]  # by measure, one a topic
    system: str = ""  # as `cranfield search` knows it, if it does

    def mean(self, measure: str) -> float:
        return average(self.values[measure].tolist())


class Difference(Record, eq=False):
    """How much better one way is than another."""

    mean: float
    interval: Interval | None
    better: int
    worse: int


class Comparison(Record, eq=False):
    """Ways to learn from the same documents, measured on the same others."""

    ways: tuple[Way, ...]
    measures: tuple[str, ...]
    topics: tuple[str, ...]
    given: Given
    qrels: Qrels  # without the documents given
    notes: tuple[str, ...] = ()
    less_is_better: frozenset[str] = frozenset()  # by these measures

    def sign(self, measure: str) -> int:
        """1 for a measure of which more is better, −1 for another."""
        return -1 if measure in self.less_is_better else 1

    def way(self, name: str) -> Way:
        return next(way for way in self.ways if way.name == name)

    def difference(self, name: str, other: str, measure: str) -> Difference:
        """By how much one way is better than the other."""
        # rounded, or noise in the last digit would decide who is better
        values = np.round(self.way(name).values[measure] - self.way(other).values[measure], 12)
        gains = self.sign(measure) * values
        better, worse = int((gains > 0).sum()), int((gains < 0).sum())
        return Difference(average(values.tolist()), interval(values.tolist()), better, worse)


def compare_feedback(
    index: Index,
    queries: Mapping[str, str],
    qrels: Qrels,
    system: str = "bm25+rm3",
    given: int = GIVEN,
    measures: Sequence[str] = MEASURES,
    depth: int = DEPTH,
    rel: float = 1.0,
    passing: Callable[[Iterable[int]], Iterable[int]] = iter,
) -> Comparison:
    """Compare what RM3 makes of all relevant documents given, of a subset, and of many subsets that are fused.

    A topic counts if it has a document to learn from and another one to find. The subset of `best` is chosen by the
    documents given alone. That of `hindsight` is the one with the highest score by the first measure: no system could
    know it, but it tells how much there is to be gained by choosing.
    """
    chosen = system_named(system)
    if not isinstance(chosen.feedback, RM3) or chosen.diversity is not None:
        raise CranfieldError(f"system {system!r}: expected a model with rm3, as in bm25+rm3:terms=20.")
    first = replace(chosen, name=system.partition("+")[0], feedback=None)
    found = first.search(index, queries, depth + given)
    learned = first_relevant(found, qrels, given, rel)
    left = residual(qrels, learned, rel)
    if not left.queries:
        raise CranfieldError("no topic has both a relevant document that is found and another to look for.")
    asked = {query: text for query, text in queries.items() if query in set(left.queries)}
    evaluator = Evaluator(left, measures, rel=rel if rel != 1 else None)

    def way(name: str, learns_from: str, run: Run, system: str = "") -> Way:
        run = replace(without(run, learned, depth), name=name, tag=name)
        scores = evaluator.evaluate(run)
        values = {label: scores.values(label) for label in evaluator.labels}
        for label, found in values.items():
            if not np.isfinite(found).all():
                raise CranfieldError(f"{label} has no value for some topics, and cannot be compared.")
        return Way(name, learns_from, run, values, system)

    def learning(name: str, learns_from: str, kind: type[RM3], relevant: Given | None) -> Way:
        searcher = _with(chosen, kind)
        return way(name, learns_from, searcher.search(index, asked, depth + given, relevant), searcher.name)

    ways = (
        way("none", "nothing", found, first.name),
        learning("blind", "first found", RM3, None),
        learning("all", "all given", RM3, learned),
        learning("best", "a subset chosen", BestSubset, learned),
        learning("fused", "every subset", FusedSubsets, learned),
        way(
            "hindsight",
            "the best subset",
            _hindsight(_with(chosen, BestSubset), index, asked, learned, depth, evaluator, passing),
        ),
    )
    downwards = [n for n, m in zip(evaluator.labels, evaluator.measures, strict=True) if not m.more_is_better]
    return Comparison(
        ways,
        evaluator.labels,
        evaluator.qrels.queries,
        learned,
        left,
        _notes(queries, left),
        frozenset(downwards),
    )


def first_relevant(run: Run, qrels: Qrels, most: int = GIVEN, rel: float = 1.0) -> dict[str, list[str]]:
    """For each topic the relevant documents that a ranking has first."""
    judged = qrels.to_dict()
    found: dict[str, list[str]] = {}
    for i, query in enumerate(run.queries):
        grades = judged.get(query, {})
        ranked = run.docs[run.rows_of(i)].tolist()
        found[query] = [doc for doc in ranked if grades.get(doc, rel - 1) >= rel][:most]
    return found


def residual(qrels: Qrels, given: Given, rel: float = 1.0) -> Qrels:
    """The judgments of documents that were not given, for topics that were given some and have some left to find."""
    rows = [
        (query, doc, grade)
        for query, judged in qrels.to_dict().items()
        if given.get(query) and any(g >= rel for d, g in judged.items() if d not in set(given[query]))
        for doc, grade in judged.items()
        if doc not in set(given[query])
    ]
    return Qrels.from_rows(
        [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows], name="residual"
    )


def without(run: Run, given: Given, depth: int = DEPTH) -> Run:
    """A run without the documents given, at most so deep."""
    rows = [row for i, query in enumerate(run.queries) for row in _left(run, i, set(given.get(query, ())), depth)]
    at = np.array(rows, dtype=np.int64)
    queries = np.array(run.row_queries(), dtype=object)[at]
    return Run.from_rows(queries, run.docs[at], run.scores[at], name=run.name, tag=run.tag, empty_queries=run.queries)


def given_qrels(given: Given) -> Qrels:
    """The documents given, as judgments for `cranfield search --feedback`."""
    pairs = [(query, doc) for query, docs in given.items() for doc in docs]
    return Qrels.from_rows([query for query, _ in pairs], [doc for _, doc in pairs], [1.0] * len(pairs), name="given")


def _left(run: Run, i: int, given: set[str], depth: int) -> list[int]:
    rows = run.rows_of(i)
    return [row for row in range(rows.start, rows.stop) if run.docs[row] not in given][:depth]


def _with(system: System, kind: type[RM3]) -> System:
    """The system with another kind of RM3, and the same parameters."""
    assert isinstance(system.feedback, RM3)
    known = field_names(kind)
    fields = {name: value for name, value in system.feedback.__dict__.items() if name in known}
    base, _, stage = system.name.partition("+")
    shown = [part for part in stage.partition(":")[2].split(",") if part.partition("=")[0] in known]
    name = f"{base}+{kind.name}" + (f":{','.join(shown)}" if shown else "")
    return replace(system, name=name, feedback=kind(**fields))


def _hindsight(
    system: System,
    index: Index,
    queries: Mapping[str, str],
    given: Given,
    depth: int,
    evaluator: Evaluator,
    passing: Callable[[Iterable[int]], Iterable[int]],
) -> Run:
    """For each topic what the subset finds that proves best by the first measure; the first of equals."""
    assert isinstance(system.feedback, SubsetRM3)
    topics = list(queries)
    found = [_rankings(system, index, queries[topics[i]], given[topics[i]], depth) for i in passing(range(len(topics)))]
    best: dict[str, tuple[float, int]] = {}
    sign = 1 if evaluator.measures[0].more_is_better else -1
    for number in range(max(map(len, found))):
        there = [i for i, rankings in enumerate(found) if number < len(rankings)]
        run = as_run(index.docs, [topics[i] for i in there], [found[i][number] for i in there], "subset")
        values = evaluator.evaluate(run).per_query(evaluator.labels[0])
        for i in there:
            value = round(sign * values[topics[i]], 12)
            if topics[i] not in best or value > best[topics[i]][0]:
                best[topics[i]] = (value, number)
    chosen = [rankings[best[topic][1]] for topic, rankings in zip(topics, found, strict=True)]
    return as_run(index.docs, topics, chosen, "hindsight")


def _rankings(system: System, index: Index, text: str, given: Sequence[str], depth: int) -> list[Ranked]:
    """What each subset of the documents given finds, without any of these."""
    assert isinstance(system.feedback, SubsetRM3)
    docs = np.array(sorted(index.doc_numbers[doc] for doc in given), dtype=np.int64)
    deep = depth + len(docs)
    found = system.feedback.rankings(index, system.model, index.query(text), docs, np.ones(len(docs)), deep)
    left = [(ranked, scores, ~np.isin(ranked, docs)) for ranked, scores in found]
    return [(ranked[inside][:depth], scores[inside][:depth]) for ranked, scores, inside in left]


def _notes(queries: Iterable[str], left: Qrels) -> tuple[str, ...]:
    out = [query for query in queries if query not in set(left.queries)]
    if not out:
        return ()
    why = "no relevant document to learn from, or none left to find"
    return (f"{pluralize(len(out), 'topic')} left out: {why}: {join_names(out)}",)
