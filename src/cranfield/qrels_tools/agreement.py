"""Agreement between assessors: overall, by pairs of assessors and by topic, and its effect on rankings of systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.qrels_tools.assessor_matrix import AssessorMatrix, build_matrix
from cranfield.qrels_tools.assessors import Assessor
from cranfield.qrels_tools.provenance import label_assessor
from cranfield.qrels_tools.system_rankings import Each, SystemRankings, rank_by_assessor
from cranfield.stats import (
    AGREEMENT_RESAMPLES,
    Estimate,
    Ratings,
    compute_agreement,
    compute_agreement_by_unit,
    confusion_matrix,
)

Resample = Literal["topics", "pairs"]
FEW_TOPICS = 10  # with fewer, intervals from resampled topics are too narrow
_RANGE = range(2, 8)  # sizes of scales in which gaps are noted


class AgreementDesign(Record):
    """How coefficients and intervals are computed."""

    rel: float = 1
    resample: Resample = "topics"
    resamples: int = AGREEMENT_RESAMPLES
    seed: int = 1
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resample not in ("topics", "pairs"):
            raise CranfieldError(f"unknown resample {self.resample!r}: expected topics or pairs.")


class AssessorSummary(Record):
    """What one assessor judged."""

    name: str
    is_model: bool
    pairs: int
    topics: int
    grades: Mapping[float, int]
    mean: float | None
    relevant: int
    file: str | None
    sha256: str | None

    @property
    def label(self) -> str:
        """The name, marked if it is a model."""
        return label_assessor(self.name, self.is_model)


class AssessorGroup(Record, eq=False):
    """Two or more assessors, and their agreement on what at least two of them judged."""

    names: tuple[str, ...]
    pairs: int  # judged by two or more
    full: int  # judged by all
    topics: int  # with such pairs
    coefficients: Mapping[str, Estimate]


class AssessorPair(AssessorGroup, eq=False):
    """Two assessors, on the pairs that both judged."""

    models: tuple[bool, bool] = (False, False)
    confusion: Ints | None = None  # grades by the first × grades by the second
    only: tuple[int, int] = (0, 0)  # pairs that only one of them judged
    lower: int = 0  # the second gave a lower grade
    higher: int = 0
    means: tuple[float, float] | None = None
    difference: Estimate | None = None  # of mean grades, second − first
    by_topic: Mapping[str, Mapping[str, float | None]] | None = None  # coefficients of topics with common pairs

    @property
    def labels(self) -> tuple[str, str]:
        """Both names, models marked."""
        first, second = (label_assessor(name, is_model) for name, is_model in zip(self.names, self.models, strict=True))
        return first, second

    @property
    def kind(self) -> str:
        return ("people", "person and model", "models")[sum(self.models)]


class ModelAgainstPeople(Record, eq=False):
    """A model's grades compared with those of all people, judgment by judgment."""

    model: str
    judgments: int  # of people, for pairs that the model judged too
    lower: int
    same: int
    higher: int
    difference: Estimate  # of grades, model − person
    confusion: Ints  # grades by people × grades by the model


class Agreement(Record, eq=False):
    """The agreement of assessors, in all respects."""

    assessors: tuple[AssessorSummary, ...]
    design: AgreementDesign
    scale: Floats
    overall: AssessorGroup | None  # None for a single assessor
    people: AssessorGroup | None  # if there are models and several people
    assessor_pairs: tuple[AssessorPair, ...]
    topics: Mapping[str, AssessorGroup]
    models: tuple[ModelAgainstPeople, ...]
    system_rankings: SystemRankings | None
    notes: tuple[str, ...]

    @property
    def labels(self) -> Mapping[str, str]:
        """The label of each assessor, by name."""
        return {one.name: one.label for one in self.assessors}


def agree(
    assessors: Sequence[Assessor],
    design: AgreementDesign | None = None,
    *,
    scale: Sequence[float] | None = None,
    runs: Sequence[Any] = (),
    measures: Sequence[str] = ("nDCG@10",),
    run_format: str | None = None,
    each: Each = lambda items, total: items,
) -> Agreement:
    """Measure the agreement of assessors and, with `runs`, how their judgments rank systems.

    >>> from cranfield.io import as_qrels
    >>> judged = {"anna": {"1": {"a": 2, "b": 0, "c": 1}}, "ben": {"1": {"a": 1, "b": 0, "c": 1}}}
    >>> found = agree([Assessor(name, as_qrels(grades)) for name, grades in judged.items()])
    >>> round(found.overall.coefficients["percent"].value, 4), found.assessor_pairs[0].lower
    (0.6667, 1)
    """
    design = design or AgreementDesign()
    matrix = build_matrix(assessors, scale=scale)
    ratings = matrix.ratings(scale)
    everyone = range(len(matrix.assessors))
    several = len(everyone) > 1
    pairs = tuple(_compare_pair(matrix, ratings, i, j, design) for i, j in combinations(everyone, 2))
    overall = (pairs[0] if len(pairs) == 1 else _group(matrix, ratings, everyone, design)) if several else None
    people = _group(matrix, ratings, matrix.people, design) if matrix.models and len(matrix.people) > 1 else None
    return Agreement(
        assessors=tuple(_summarize_assessor(matrix, i, design.rel) for i in everyone),
        design=design,
        scale=ratings.scale,
        overall=overall,
        people=people,
        assessor_pairs=pairs,
        topics=dict(_topics(matrix, ratings, everyone, design)) if several else {},
        models=tuple(_compare_model(matrix, ratings, k, design) for k in matrix.models if matrix.people),
        system_rankings=rank_by_assessor(
            matrix, runs, measures, rel=design.rel, run_format=run_format, seed=design.seed, each=each
        )
        if len(runs)
        else None,
        notes=(*matrix.notes, *_notes(matrix, scale, overall, design)),
    )


def _summarize_assessor(matrix: AssessorMatrix, i: int, rel: float) -> AssessorSummary:
    there, origin = ~np.isnan(matrix.grades[:, i]), matrix.assessors[i].qrels.origin
    grades = matrix.grades[there, i]
    found = {float(g): int(n) for g, n in zip(*np.unique(grades, return_counts=True), strict=True)}
    return AssessorSummary(
        name=matrix.names[i],
        is_model=matrix.assessors[i].is_model,
        pairs=len(grades),
        topics=len(np.unique(matrix.query[there])),
        grades=found,
        mean=float(grades.mean()) if len(grades) else None,
        relevant=int(np.count_nonzero(grades >= rel)),
        file=origin.file if origin else None,
        sha256=origin.sha256 if origin else None,
    )


def _group(matrix: AssessorMatrix, ratings: Ratings, members: Sequence[int], design: AgreementDesign) -> AssessorGroup:
    """Several assessors on the pairs that any two of them judged; two on the pairs that both judged."""
    part, query = _of_members(matrix, ratings, members)
    units = query if design.resample == "topics" else None
    several = part.judged > 1
    return AssessorGroup(
        names=tuple(matrix.names[i] for i in members),
        pairs=int(np.count_nonzero(several)),
        full=int(np.count_nonzero(part.judged == part.assessors)),
        topics=len(np.unique(query[several])),
        coefficients=_coefficients(part, units, design),
    )


def _of_members(matrix: AssessorMatrix, ratings: Ratings, members: Sequence[int]) -> tuple[Ratings, Ints]:
    part = ratings.of(*members)
    used = part.judged > (1 if len(members) == 2 else 0)
    return part.where(used), matrix.query[used]


def _coefficients(ratings: Ratings, units: Ints | None, design: AgreementDesign) -> dict[str, Estimate]:
    drawn = design.resamples
    return compute_agreement(ratings, units, rel=design.rel, resamples=drawn, seed=design.seed, level=design.level)


def _topics(
    matrix: AssessorMatrix, ratings: Ratings, members: Sequence[int], design: AgreementDesign
) -> Iterator[tuple[str, AssessorGroup]]:
    """Each topic with something to compare; intervals resample its pairs."""
    part, query = _of_members(matrix, ratings, members)
    starts = np.searchsorted(query, np.arange(len(matrix.queries) + 1))
    for i, name in enumerate(matrix.queries):
        own = Ratings(part.codes[starts[i] : starts[i + 1]], part.scale)
        several = int(np.count_nonzero(own.judged > 1))
        if several:
            full = int(np.count_nonzero(own.judged == own.assessors))
            found = _coefficients(own, None, design)
            yield name, AssessorGroup(tuple(matrix.names[k] for k in members), several, full, 1, found)


def _topic_values(
    matrix: AssessorMatrix, ratings: Ratings, members: Sequence[int], rel: float
) -> Iterator[tuple[str, dict[str, float | None]]]:
    """The coefficients of each topic with something to compare, without intervals, and their number of pairs."""
    part, query = _of_members(matrix, ratings, members)
    topics, units, number = np.unique(query, return_inverse=True, return_counts=True)
    if not len(topics):
        return
    columns = {"pairs": number.tolist(), **compute_agreement_by_unit(part, units, rel)}
    for i, topic in enumerate(topics.tolist()):
        yield matrix.queries[topic], {name: values[i] for name, values in columns.items()}


def _compare_pair(matrix: AssessorMatrix, ratings: Ratings, i: int, j: int, design: AgreementDesign) -> AssessorPair:
    group = _group(matrix, ratings, (i, j), design)
    both = matrix.common(i, j)
    first, second = matrix.grades[both, i], matrix.grades[both, j]
    return AssessorPair(
        names=group.names,
        pairs=group.pairs,
        full=group.full,
        topics=group.topics,
        coefficients=group.coefficients,
        models=(matrix.assessors[i].is_model, matrix.assessors[j].is_model),
        confusion=confusion_matrix(ratings.of(i, j)),
        only=(_only(matrix, i, both), _only(matrix, j, both)),
        lower=int(np.count_nonzero(second < first)),
        higher=int(np.count_nonzero(second > first)),
        means=(float(first.mean()), float(second.mean())) if len(first) else None,
        difference=_estimate_mean(second - first, matrix.query[both], design),
        by_topic=dict(_topic_values(matrix, ratings, (i, j), design.rel)),
    )


def _only(matrix: AssessorMatrix, i: int, both: Bools) -> int:
    return int(np.count_nonzero(~np.isnan(matrix.grades[:, i]) & ~both))


def _estimate_mean(values: Floats, query: Ints, design: AgreementDesign) -> Estimate:
    """A mean over judgments, with a bootstrap interval that resamples topics or judgments."""
    if not len(values):
        return Estimate(None, 0, note="no pair in common.")
    mean = float(values.mean())
    units = np.unique(query, return_inverse=True)[1] if design.resample == "topics" else np.arange(len(values))
    if units.max() < 1:
        units = np.arange(len(values))
    number = int(units.max()) + 1
    if number < 2 or not design.resamples:
        return Estimate(mean, len(values))
    sums, sizes = np.bincount(units, values, number), np.bincount(units, minlength=number)
    rng = np.random.default_rng(design.seed)
    means = np.empty(design.resamples)
    for b in range(design.resamples):
        drawn = rng.integers(0, number, number)
        means[b] = sums[drawn].sum() / sizes[drawn].sum()
    low, high = np.quantile(means, [(1 - design.level) / 2, (1 + design.level) / 2])
    return Estimate(mean, len(values), float(low), float(high))


def _compare_model(matrix: AssessorMatrix, ratings: Ratings, k: int, design: AgreementDesign) -> ModelAgainstPeople:
    """Each judgment of a person compared with the model's judgment of the same pair."""
    rows, people = np.nonzero(~np.isnan(matrix.grades[:, list(matrix.people)]) & matrix.common(k)[:, None])
    columns = np.array(matrix.people)[people]
    theirs, own = matrix.grades[rows, columns], matrix.grades[rows, k]
    codes = np.column_stack([ratings.codes[rows, columns], ratings.codes[rows, k]])
    return ModelAgainstPeople(
        model=matrix.names[k],
        judgments=len(rows),
        lower=int(np.count_nonzero(own < theirs)),
        same=int(np.count_nonzero(own == theirs)),
        higher=int(np.count_nonzero(own > theirs)),
        difference=_estimate_mean(own - theirs, matrix.query[rows], design),
        confusion=confusion_matrix(Ratings(codes.reshape(-1, 2), ratings.scale)),
    )


def _notes(
    matrix: AssessorMatrix, scale: Sequence[float] | None, overall: AssessorGroup | None, design: AgreementDesign
) -> Iterator[str]:
    if overall is None:
        yield "There is only one assessor: agreement needs the judgments of another."
        return
    if not overall.pairs:
        yield "No pair of query and document was judged by two assessors: agreement cannot be measured."
        return
    yield from _gaps(matrix.observed, scale)
    if design.resamples and design.resample == "topics":
        if overall.topics < 2:
            yield "All pairs in common belong to one topic: intervals resample pairs, not topics."
        elif overall.topics < FEW_TOPICS:
            number = pluralize(overall.topics, "topic")
            yield f"Intervals are computed from {number}: with so few they are too narrow."
    if matrix.models and not matrix.people:
        yield "All assessors are models: there are no people to compare them with."


def _gaps(observed: Floats, scale: Sequence[float] | None) -> Iterator[str]:
    """Grades that nobody gave, between others that were given."""
    if scale is not None or not all(grade.is_integer() for grade in observed.tolist()):
        return
    low, high = int(observed[0]), int(observed[-1])
    if high - low + 1 in _RANGE and len(observed) < high - low + 1:
        absent = ", ".join(str(g) for g in range(low, high + 1) if g not in observed)
        yield f"Nobody gave grade {absent}: if it is on the scale, coefficients change: add --scale {low}-{high}."
