"""Parts and changes of judgments: filtered, binarised, mapped to other grades, sampled."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from cranfield.base import Record, encode_id, join_names, pluralize, replace
from cranfield.data import Bools, Floats, Ints, Qrels
from cranfield.errors import CranfieldError, InputError

UNSAMPLED = -1.0  # the grade of what is in the pool, but not in the sample


class Selected(Record, eq=False):
    """Judgments made of others, and what is to be said of it."""

    qrels: Qrels
    notes: tuple[str, ...]


def keep(
    qrels: Qrels,
    *,
    topics: Collection[str] | None = None,
    grades: Callable[[Floats], Bools] | None = None,
    docs: Collection[str] | None = None,
    others: bool = False,
) -> Selected:
    """Keep the judgments of these topics, grades and documents, all at once; with `others`, all but those.

    >>> from cranfield.io import as_qrels
    >>> keep(as_qrels({"1": {"a": 2, "b": 0}, "2": {"a": 1}}), docs=["a"], topics=["1"]).qrels.to_dict()
    {'1': {'a': 2.0}}
    """
    fits = np.ones(len(qrels), dtype=bool)
    notes = list[str]()
    if topics is not None:
        fits &= _among(qrels.row_queries(), topics)
        notes += _absent(topics, qrels.queries, "topic")
    if docs is not None:
        fits &= _among(qrels.docs.tolist(), docs)
        notes += _absent(docs, qrels.docs.tolist(), "document")
    if grades is not None:
        fits &= grades(qrels.grades)
    rows = np.flatnonzero(~fits if others else fits)
    if not len(rows):
        raise CranfieldError(f"nothing is left of {qrels.name}: no judgment fits.")
    kept = rows_of(qrels, rows, qrels.grades[rows])
    gone = [query for query in qrels.queries if query not in set(kept.queries)]
    if gone and topics is None:
        notes.append(f"{pluralize(len(gone), 'topic')} without any judgment left: {join_names(gone, 3)}.")
    return Selected(kept, tuple(notes))


def binarize(qrels: Qrels, rel: float = 1) -> Selected:
    """Grades of at least `rel` become 1, others 0; negative ones, pooled but not judged, stay as they are.

    >>> from cranfield.io import as_qrels
    >>> binarize(as_qrels({"1": {"a": 2, "b": 1, "c": 0}}), rel=2).qrels.to_dict()
    {'1': {'a': 1.0, 'b': 0.0, 'c': 0.0}}
    """
    if rel <= 0:
        raise CranfieldError(f"rel={rel:g} is out of range: expected a grade above 0.")
    unjudged = qrels.grades < 0
    grades = np.where(unjudged, qrels.grades, (qrels.grades >= rel).astype(np.float64))
    notes = [
        f"{pluralize(int((grades == 1).sum()), 'judgment')} relevant (grade {rel:g} or more), {_zeros(grades)} not."
    ]
    if unjudged.any():
        notes.append(
            f"{pluralize(int(unjudged.sum()), 'negative grade')} left as found: pooled but not judged. If they are "
            "judgments, map them first: cranfield qrels map."
        )
    return Selected(replace(qrels, grades=grades), tuple(notes))


def _zeros(grades: Floats) -> str:
    return f"{int((grades == 0).sum()):,}"


def map_grades(qrels: Qrels, new: Mapping[float, float]) -> Selected:
    """Give grades other values; those that are not named stay as they are, and are told.

    >>> from cranfield.io import as_qrels
    >>> map_grades(as_qrels({"1": {"a": 2, "b": 1, "c": 0}}), {1: 0, 2: 1}).qrels.to_dict()
    {'1': {'a': 1.0, 'b': 0.0, 'c': 0.0}}
    """
    grades = np.array(qrels.grades)
    notes = []
    for old, value in new.items():
        where = qrels.grades == old
        grades[where] = value
        number = int(where.sum())
        notes.append(f"{old:g} became {value:g}: {pluralize(number, 'judgment')}.")
    left = qrels.grades[~np.isin(qrels.grades, list(new))]
    if len(left):
        found = ", ".join(f"{grade:g}" for grade in np.unique(left))
        notes.append(f"left as found: {pluralize(len(left), 'judgment')} with grade {found}, which no rule names.")
    return Selected(replace(qrels, grades=grades), tuple(notes))


class Sampling(Record):
    """How much is drawn: of each topic, or of each grade of each topic."""

    per_topic: int | None = None  # documents
    rate: float | None = None  # or a share of them
    by_grade: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        if (self.per_topic is None) == (self.rate is None):
            raise CranfieldError("how much to draw? Expected either a number for each topic or a rate.")
        if self.per_topic is not None and self.per_topic < 1:
            raise CranfieldError(f"per_topic={self.per_topic} is out of range: expected a number from 1.")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise CranfieldError(f"rate={self.rate:g} is out of range: expected a share above 0, at most 1.")

    def number(self, size: int) -> int:
        """How many of so many; at least one, so that every stratum says something."""
        wanted = self.per_topic if self.rate is None else max(1, int(self.rate * size + 0.5))
        assert wanted is not None
        return min(size, wanted)

    @property
    def described(self) -> str:
        how = f"{self.per_topic:,}" if self.rate is None else f"{100 * self.rate:g} %"
        return f"{how} of the judgments of each {'grade of each topic' if self.by_grade else 'topic'}, by chance"


def sample(qrels: Qrels, sampling: Sampling, five_columns: bool = False) -> Selected:
    """Draw judgments by chance, topic by topic; what is drawn for a topic depends on it and the seed alone.

    With `five_columns` everything stays, with its stratum, and what was not drawn has grade −1: sampled qrels, for
    estimators such as xinfAP. Strata are numbered from 1, by grade from the highest down if it is drawn by grade.

    >>> from cranfield.io import as_qrels
    >>> qrels = as_qrels({"1": {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}})
    >>> len(sample(qrels, Sampling(per_topic=2)).qrels)
    2
    """
    if qrels.extra:
        raise InputError(
            f"{qrels.name} has {', '.join(qrels.extra)} already: a sample of a sample would need the chances of both."
        )
    if qrels.has_subtopics:
        raise InputError(f"{qrels.name} tells subtopics apart: a document has several judgments, expected one to draw.")
    strata = _strata(qrels, sampling)
    drawn = np.zeros(len(qrels), dtype=bool)
    for i, query in enumerate(qrels.queries):
        _draw(qrels, i, query, strata, sampling, drawn)
    notes = [f"{pluralize(int(drawn.sum()), 'judgment')} of {len(qrels):,} drawn: {sampling.described}."]
    if five_columns:
        columns = {"stratum": np.array(list(map(str, strata.tolist())), dtype=object)}
        made = replace(qrels, grades=np.where(drawn, qrels.grades, UNSAMPLED), extra=columns)
        notes += _about_strata(qrels, strata, sampling)
        return Selected(made, tuple(notes))
    rows = np.flatnonzero(drawn)
    return Selected(rows_of(qrels, rows, qrels.grades[rows]), tuple(notes))


def _strata(qrels: Qrels, sampling: Sampling) -> Ints:
    """The stratum of every row: that of its grade, the highest being 1, or 1 throughout."""
    if not sampling.by_grade:
        return np.ones(len(qrels), dtype=np.int64)
    values, place = np.unique(-qrels.grades, return_inverse=True)
    assert len(values)
    return np.asarray(place, dtype=np.int64).ravel() + 1


def _draw(qrels: Qrels, i: int, query: str, strata: Ints, sampling: Sampling, drawn: Bools) -> None:
    rows = range(int(qrels.starts[i]), int(qrels.starts[i + 1]))
    rng = np.random.default_rng([sampling.seed, zlib.crc32(encode_id(query))])
    by_id = sorted(rows, key=lambda row: encode_id(str(qrels.docs[row])))
    for stratum in sorted({int(strata[row]) for row in rows}):
        members = [row for row in by_id if strata[row] == stratum]
        chosen = rng.choice(len(members), size=sampling.number(len(members)), replace=False)
        drawn[[members[j] for j in chosen.tolist()]] = True


def _about_strata(qrels: Qrels, strata: Ints, sampling: Sampling) -> Iterator[str]:
    if sampling.by_grade:
        named = (f"{k} grade {qrels.grades[strata == k][0]:g}" for k in np.unique(strata))
        yield f"strata: {', '.join(named)}."
    yield "what was not drawn has grade -1: in the pool, but not judged."


def rows_of(qrels: Qrels, rows: Ints, grades: Floats) -> Qrels:
    """Some of the rows, with these grades."""
    queries = qrels.row_queries()
    return Qrels.from_rows(
        [queries[i] for i in rows.tolist()],
        qrels.docs[rows],
        grades,
        subtopics=qrels.subtopics[rows],
        extra={key: column[rows] for key, column in qrels.extra.items()},
        name=qrels.name,
    )


def _among(values: list[str], wanted: Collection[str]) -> Bools:
    known = set(wanted)
    return np.fromiter((value in known for value in values), dtype=bool, count=len(values))


def _absent(wanted: Collection[str], there: Collection[str], noun: str) -> list[str]:
    known = set(there)
    absent = [one for one in wanted if one not in known]
    if not absent:
        return []
    return [f"{pluralize(len(absent), noun)} not in the judgments: {join_names(absent, 3)}."]
