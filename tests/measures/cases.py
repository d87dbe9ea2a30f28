"""Random collections that have all that any measure asks for: subtopics, strata, probabilities, and the extras."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence

from cranfield import JudgedRun, Measure, Qrels, as_run, join_run
from cranfield.base import Record, replace
from cranfield.joining import Extras, Joining
from tests.measures.rankings import random_case

COLUMNS = ("query", "doc", "grade", "subtopic", "stratum", "subgroup", "method", "probability")
EXTRA = COLUMNS[4:]
Row = tuple[str, str, float, str, str, str, str, str]


class Case(Record):
    """Judgments as rows of COLUMNS, a run, and what some measures need beyond them."""

    rows: tuple[Row, ...]
    run: dict[str, dict[str, float]]
    extras: Extras

    def qrels(self) -> Qrels:
        columns = dict(zip(COLUMNS, zip(*self.rows, strict=True), strict=True))
        return Qrels.from_rows(
            columns["query"],
            columns["doc"],
            columns["grade"],
            subtopics=columns["subtopic"],
            extra={name: columns[name] for name in EXTRA},
        )

    def join(self, ties: str = "trec") -> JudgedRun:
        return join_run(self.qrels(), as_run(self.run), Joining(ties=ties), self.extras)

    def of(self, queries: Collection[str]) -> Case:
        """The part that concerns some queries."""
        rows = tuple(row for row in self.rows if row[0] in queries)
        return replace(self, rows=rows, run={query: self.run[query] for query in queries if query in self.run})

    def values(
        self, measures: Sequence[Measure], ties: str = "trec", missing_is_zero: bool = True
    ) -> dict[str, dict[str, float]]:
        """{query: {measure: value}}; under ties='expected' without those that have to be sampled."""
        judged = self.join(ties)
        found: dict[str, dict[str, float]] = {query: {} for query in judged.queries}
        for measure in measures:
            if ties == "expected" and (type(measure).expected is Measure.expected or not measure.repeats):
                continue
            column = measure.expected_values(judged) if ties == "expected" else measure.values(judged)
            if column is None:
                continue
            assert column.shape == (judged.n,), measure
            for query, value, missing in zip(judged.queries, column.tolist(), judged.missing, strict=True):
                zero = missing_is_zero and missing and measure.aggregate == "mean"
                found[query][str(measure)] = 0.0 if zero else value
        return found


def full_case(seed: int, with_subtopics: bool | None = None, **options: object) -> Case:
    """A random collection as that of `random_case`, with all columns and extras.

    With subtopics (by default for even seeds) a document has several rows: its grade is the highest of them.
    """
    qrels, run = random_case(seed, **options)
    rng = random.Random(seed)
    several = seed % 2 == 0 if with_subtopics is None else with_subtopics
    rows = [
        (query, doc, *judgment)
        for query, grades in qrels.items()
        for doc, grade in grades.items()
        for judgment in _judgments(grade, several, rng)
    ]
    return Case(tuple(rows), run, extras_of(qrels, run, rng))


def plain_case(qrels: dict[str, dict[str, float]], run: dict[str, dict[str, float]]) -> Case:
    """A collection given in full, with all columns and extras; each document has a subtopic of its own."""
    rows = tuple(
        (query, doc, grade, str(i), "1", "1", "1", "1")
        for query, grades in qrels.items()
        for i, (doc, grade) in enumerate(grades.items(), 1)
    )
    return Case(rows, run, extras_of(qrels, run, random.Random(1)))


def extras_of(qrels: dict[str, dict[str, float]], run: dict[str, dict[str, float]], rng: random.Random) -> Extras:
    """Another run, lengths of documents, pairs of duplicates, and facts."""
    docs = sorted({doc for part in (*qrels.values(), *run.values()) for doc in part})
    against = {query: {doc: rng.random() for doc in rng.sample(docs, rng.randint(1, len(docs)))} for query in qrels}
    facts = {
        query: {doc: frozenset(rng.sample("abcde", rng.randint(0, 3))) for doc, grade in grades.items() if grade > 0}
        for query, grades in qrels.items()
    }
    return Extras(
        against=as_run(against),
        doc_lengths={doc: float(rng.randint(10, 2000)) for doc in [*docs, "unjudged", *(f"x{i}" for i in range(5))]},
        duplicates={doc: f"g{rng.randrange(len(docs))}" for doc in rng.sample(docs, len(docs) // 2)},
        facts=facts,
    )


def _judgments(grade: float, several: bool, rng: random.Random) -> list[tuple[float, str, str, str, str, str]]:
    """Grade, subtopic and further columns of the rows of a document, the highest grade first."""
    stratum = str(rng.randint(1, 2))
    # what was not judged (grade −1) was not drawn; what was, had a chance
    probability = str(rng.choice([0.25, 0.5, 1]))
    subtopics = rng.sample("123", rng.randint(1, 3)) if several else ["0"]
    return [
        (grade if i == 0 else min(grade, rng.choice([0.0, 1.0])), subtopic, stratum, "1", "1", probability)
        for i, subtopic in enumerate(subtopics)
    ]
