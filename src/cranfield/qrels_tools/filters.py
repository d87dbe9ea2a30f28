"""Judgments filtered, binarised, mapped to other grades, or sampled."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterator, Mapping

import numpy as np

from cranfield.base import Record, encode_id, join_names, pluralize, replace
from cranfield.data import Bools, Floats, Ints, Qrels
from cranfield.errors import CranfieldError, InputError

UNSAMPLED = -1.0  # the grade of a document in the pool but not in the sample


class FilteredQrels(Record, eq=False):
    """Judgments made from others, with notes."""

    qrels: Qrels
    notes: tuple[str, ...]


def filter_qrels(
    qrels: Qrels,
    *,
    topics: Collection[str] | None = None,
    grades: Callable[[Floats], Bools] | None = None,
    docs: Collection[str] | None = None,
    others: bool = False,
) -> FilteredQrels:
    """Keep the judgments that match all of these topics, grades and documents; with `others`, all the rest.

    >>> from cranfield.io import as_qrels
    >>> filter_qrels(as_qrels({"1": {"a": 2, "b": 0}, "2": {"a": 1}}), docs=["a"], topics=["1"]).qrels.to_dict()
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
        raise CranfieldError(f"nothing remains of {qrels.name}: no judgment matches.")
    kept = rows_of(qrels, rows, qrels.grades[rows])
    gone = [query for query in qrels.queries if query not in set(kept.queries)]
    if gone and topics is None:
        notes.append(f"{pluralize(len(gone), 'topic')} without any remaining judgment: {join_names(gone, 3)}.")
    return FilteredQrels(kept, tuple(notes))


def binarize_grades(qrels: Qrels, rel: float = 1) -> FilteredQrels:
    """Turn grades of at least `rel` into 1, others into 0; negative grades (pooled but not judged) are kept.

    >>> from cranfield.io import as_qrels
    >>> binarize_grades(as_qrels({"1": {"a": 2, "b": 1, "c": 0}}), rel=2).qrels.to_dict()
    {'1': {'a': 1.0, 'b': 0.0, 'c': 0.0}}
    """
    if rel <= 0:
        raise CranfieldError(f"rel={rel:g} is out of range: expected a grade above 0.")
    unjudged = qrels.grades < 0
    grades = np.where(unjudged, qrels.grades, (qrels.grades >= rel).astype(np.float64))
    relevant, others = (int((grades == grade).sum()) for grade in (1, 0))
    notes = [f"{pluralize(relevant, 'judgment')} relevant (grade {rel:g} or more), {others:,} not."]
    if unjudged.any():
        notes.append(
            f"{pluralize(int(unjudged.sum()), 'negative grade')} kept as pooled but not judged. If they are "
            "judgments, map them first: cranfield qrels map."
        )
    return FilteredQrels(replace(qrels, grades=grades), tuple(notes))


def map_grades(qrels: Qrels, new: Mapping[float, float]) -> FilteredQrels:
    """Map grades to other values; grades that are not named are kept and noted.

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
        notes.append(f"{old:g} to {value:g}: {pluralize(number, 'judgment')}.")
    left = qrels.grades[~np.isin(qrels.grades, list(new))]
    if len(left):
        found = ", ".join(f"{grade:g}" for grade in np.unique(left))
        notes.append(f"unchanged: {pluralize(len(left), 'judgment')} with grade {found}, for which there is no rule.")
    return FilteredQrels(replace(qrels, grades=grades), tuple(notes))


class QrelsSampling(Record):
    """How much is drawn from each topic, or from each grade of each topic."""

    per_topic: int | None = None  # documents
    rate: float | None = None  # or a share of them
    by_grade: bool = False
    seed: int = 1

    def __post_init__(self) -> None:
        if (self.per_topic is None) == (self.rate is None):
            raise CranfieldError("expected either a number of judgments per topic or a rate.")
        if self.per_topic is not None and self.per_topic < 1:
            raise CranfieldError(f"per_topic={self.per_topic} is out of range: expected at least 1.")
        if self.rate is not None and not 0 < self.rate <= 1:
            raise CranfieldError(f"rate={self.rate:g} is out of range: expected a share above 0, at most 1.")

    def number(self, size: int) -> int:
        """How many to draw from a stratum of this size; at least one, so that every stratum contributes."""
        wanted = self.per_topic if self.rate is None else max(1, int(self.rate * size + 0.5))
        assert wanted is not None
        return min(size, wanted)

    @property
    def description(self) -> str:
        how = f"{self.per_topic:,}" if self.rate is None else f"{100 * self.rate:g} %"
        return f"{how} of the judgments of each {'grade of each topic' if self.by_grade else 'topic'}, at random"


def sample_qrels(qrels: Qrels, sampling: QrelsSampling, five_columns: bool = False) -> FilteredQrels:
    """Draw judgments at random, topic by topic; the sample of a topic depends only on the topic and the seed.

    With `five_columns` all judgments are kept, with their stratum, and those not drawn get grade −1: sampled qrels,
    for estimators such as xinfAP. Strata are numbered from 1; with `by_grade`, the highest grade is stratum 1.

    >>> from cranfield.io import as_qrels
    >>> qrels = as_qrels({"1": {"a": 1, "b": 1, "c": 0, "d": 0, "e": 0}})
    >>> len(sample_qrels(qrels, QrelsSampling(per_topic=2)).qrels)
    2
    """
    if qrels.extra:
        raise InputError(
            f"{qrels.name} has {', '.join(qrels.extra)} already: a sample of a sample would need the inclusion "
            "probabilities of both."
        )
    if qrels.has_subtopics:
        raise InputError(f"{qrels.name} has subtopics: a document may have several judgments, expected one.")
    strata = _strata(qrels, sampling)
    drawn = np.zeros(len(qrels), dtype=bool)
    for i, query in enumerate(qrels.queries):
        _draw(qrels, i, query, strata, sampling, drawn)
    notes = [f"{pluralize(int(drawn.sum()), 'judgment')} of {len(qrels):,} drawn: {sampling.description}."]
    if five_columns:
        columns = {"stratum": np.array(list(map(str, strata.tolist())), dtype=object)}
        made = replace(qrels, grades=np.where(drawn, qrels.grades, UNSAMPLED), extra=columns)
        notes += _about_strata(qrels, strata, sampling)
        return FilteredQrels(made, tuple(notes))
    rows = np.flatnonzero(drawn)
    return FilteredQrels(rows_of(qrels, rows, qrels.grades[rows]), tuple(notes))


def _strata(qrels: Qrels, sampling: QrelsSampling) -> Ints:
    """The stratum of every row: that of its grade, 1 for the highest, or always 1."""
    if not sampling.by_grade:
        return np.ones(len(qrels), dtype=np.int64)
    values, place = np.unique(-qrels.grades, return_inverse=True)
    assert len(values)
    return np.asarray(place, dtype=np.int64).ravel() + 1


def _draw(qrels: Qrels, i: int, query: str, strata: Ints, sampling: QrelsSampling, drawn: Bools) -> None:
    rows = range(int(qrels.starts[i]), int(qrels.starts[i + 1]))
    rng = np.random.default_rng([sampling.seed, zlib.crc32(encode_id(query))])
    by_id = sorted(rows, key=lambda row: encode_id(str(qrels.docs[row])))
    for stratum in sorted({int(strata[row]) for row in rows}):
        members = [row for row in by_id if strata[row] == stratum]
        chosen = rng.choice(len(members), size=sampling.number(len(members)), replace=False)
        drawn[[members[j] for j in chosen.tolist()]] = True


def _about_strata(qrels: Qrels, strata: Ints, sampling: QrelsSampling) -> Iterator[str]:
    if sampling.by_grade:
        named = (f"{k} grade {qrels.grades[strata == k][0]:g}" for k in np.unique(strata))
        yield f"strata: {', '.join(named)}."
    yield "judgments that were not drawn have grade -1: in the pool, but not judged."


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
