"""Rankings for tests: from strings like `R.R.R`, from grades, and at random; and figures as a slide prints them."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from cranfield import evaluate

Grades = dict[str, dict[str, float]]
Retrieved = dict[str, dict[str, float]]


def ranked(pattern: str, relevant: int | None = None, query: str = "q") -> tuple[Grades, Retrieved]:
    """Qrels and a run of one query: `R` a relevant document, `.` one that is not; `relevant` counts all there are.

    >>> ranked("R.", 2)
    ({'q': {'d001': 1, 'd002': 0, 'missed1': 1}}, {'q': {'d001': 2.0, 'd002': 1.0}})
    """
    found = pattern.count("R")
    return graded([int(mark == "R") for mark in pattern], [1] * ((relevant or found) - found), query)


def relevant_at(ranks: Iterable[int], length: int, query: str = "q") -> tuple[Grades, Retrieved]:
    """Qrels and a run of one query, with the relevant documents at the ranks given."""
    places = set(ranks)
    return ranked("".join("R" if rank in places else "." for rank in range(1, length + 1)), query=query)


def graded(grades: Sequence[float], missed: Sequence[float] = (), query: str = "q") -> tuple[Grades, Retrieved]:
    """Qrels and a run of one query, with grades in rank order and those of documents that were not retrieved."""
    judged = {f"d{rank:03}": grade for rank, grade in enumerate(grades, 1)}
    unseen = {f"missed{i}": grade for i, grade in enumerate(missed, 1)}
    scores = {doc: float(len(judged) - i) for i, doc in enumerate(judged)}
    return {query: judged | unseen}, {query: scores}


def together(*parts: tuple[Grades, Retrieved]) -> tuple[Grades, Retrieved]:
    """Several queries as one collection; they are called 1, 2, …"""
    qrels = {str(i): judged for i, (part, _) in enumerate(parts, 1) for judged in part.values()}
    run = {str(i): scores for i, (_, part) in enumerate(parts, 1) for scores in part.values()}
    return qrels, run


def value(measure: Any, case: tuple[Any, Any], **options: Any) -> float:
    """The mean of one measure."""
    return evaluate(*case, [measure], **options).mean(measure)


def curve(measure: str, cutoffs: Iterable[object], case: tuple[Grades, Retrieved]) -> list[float]:
    """A measure's mean at each of several cutoffs."""
    names = [f"{measure}@{cutoff}" for cutoff in cutoffs]
    scores = evaluate(*case, names)
    return [scores.mean(name) for name in names]


def prints_as(number: float, figure: str) -> bool:
    """Whether a number is within half a unit of the last digit that a slide prints, halves rounded either way.

    >>> prints_as(0.625, ".63"), prints_as(0.62, ".63")
    (True, False)
    """
    digits = len(figure.partition(".")[2])
    return abs(number - float(figure)) <= 0.5 * 10.0**-digits + 1e-9


def assert_prints(numbers: Iterable[float], figures: str) -> None:
    """Each number agrees with its figure; `figures` are separated by spaces."""
    pairs = list(zip(numbers, figures.split(), strict=True))
    assert [pair for pair in pairs if not prints_as(*pair)] == []


def random_case(
    seed: int,
    queries: int = 6,
    docs: int = 12,
    scores: int | None = None,
    grades: Sequence[int] = (-1, 0, 0, 1, 2, 3),
    least: int = 0,
) -> tuple[Grades, Retrieved]:
    """A random collection: some documents without judgment, some judged but not retrieved, some queries empty.

    With `scores` there are only so many distinct scores, so that documents are tied. Lists have `least` documents.
    """
    rng = random.Random(seed)
    qrels, run = {}, {}
    for q in range(queries):
        names = [f"d{i}" for i in range(docs)]
        judged = rng.sample(names, rng.randint(1, docs))
        retrieved = rng.sample(names, rng.randint(least if q else max(least, 1), docs))
        qrels[f"q{q}"] = {doc: float(rng.choice(grades)) for doc in judged}
        run[f"q{q}"] = {doc: float(rng.randrange(scores)) if scores else rng.random() for doc in retrieved}
    return qrels, run
