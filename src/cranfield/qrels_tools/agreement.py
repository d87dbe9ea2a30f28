"""Assessors compared: how far they agree, on the whole, by pairs and by topic, and what it does to rankings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, pluralize
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.qrels_tools.assessor_matrix import Panel, side_by_side
from cranfield.qrels_tools.assessors import Assessor
from cranfield.qrels_tools.provenance import label
from cranfield.qrels_tools.system_rankings import Each, Standings, stand
from cranfield.stats import (
    AGREEMENT_RESAMPLES,
    Estimate,
    Ratings,
    compute_agreement,
    compute_agreement_by_unit,
    confusion_matrix,
)

Resample = Literal["topics", "pairs"]
FEW_TOPICS = 10  # with fewer, intervals by topic are too narrow
_RANGE = range(2, 8)  # whole grades on a scale without gaps


class Design(Record):
    """How figures and intervals are made."""

    rel: float = 1
    resample: Resample = "topics"
    resamples: int = AGREEMENT_RESAMPLES
    seed: int = 1
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.resample not in ("topics", "pairs"):
            raise CranfieldError(f"resample {self.resample!r} is unknown: expected topics or pairs.")


class Judged(Record):
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
        """The name, marked if it is a model's."""
        return label(self.name, self.is_model)


class Group(Record, eq=False):
    """Two assessors or more, and how far they agree on what at least two of them judged."""

    names: tuple[str, ...]
    pairs: int  # judged by two or more
    full: int  # judged by all
    topics: int  # with such pairs
    figures: Mapping[str, Estimate]


class Couple(Group, eq=False):
    """Two assessors, on the pairs that both judged."""

    models: tuple[bool, bool] = (False, False)
    confusion: Ints | None = None  # grades by the first × grades by the second
    only: tuple[int, int] = (0, 0)  # pairs that the other did not judge
    lower: int = 0  # the second gave a lower grade
    higher: int = 0
    means: tuple[float, float] | None = None
    difference: Estimate | None = None  # of mean grades, second − first
    by_topic: Mapping[str, Mapping[str, float | None]] | None = None  # figures, of topics with pairs in common

    @property
    def labels(self) -> tuple[str, str]:
        """Both names, models marked."""
        first, second = (label(name, is_model) for name, is_model in zip(self.names, self.models, strict=True))
        return first, second

    @property
    def kind(self) -> str:
        return ("people", "person and model", "models")[sum(self.models)]


class ModelAgainstPeople(Record, eq=False):
    """A model's grades beside those of all people, pair by pair of judgments."""

    model: str
    judgments: int  # of people that the model has an answer to
    lower: int
    same: int
    higher: int
    difference: Estimate  # of grades, model − person
    confusion: Ints  # grades by people × grades by the model


class Agreement(Record, eq=False):
    """Everything about the agreement of assessors."""

    assessors: tuple[Judged, ...]
    design: Design
    scale: Floats
    overall: Group | None  # None of one assessor
    people: Group | None  # where there are models too, and several people
    couples: tuple[Couple, ...]
    topics: Mapping[str, Group]
    models: tuple[ModelAgainstPeople, ...]
    standings: Standings | None
    notes: tuple[str, ...]

    @property
    def labels(self) -> Mapping[str, str]:
        """What each assessor is called where people read it, by name."""
        return {one.name: one.label for one in self.assessors}


def agree(
    assessors: Sequence[Assessor],
    design: Design | None = None,
    *,
    scale: Sequence[float] | None = None,
    runs: Sequence[Any] = (),
    measures: Sequence[str] = ("nDCG@10",),
    run_format: str | None = None,
    each: Each = lambda items, total: items,
) -> Agreement:
    """Compare assessors' judgments, and with `runs` how they rank systems.

    >>> from cranfield.io import as_qrels
    >>> judged = {"anna": {"1": {"a": 2, "b": 0, "c": 1}}, "ben": {"1": {"a": 1, "b": 0, "c": 1}}}
    >>> found = agree([Assessor(name, as_qrels(grades)) for name, grades in judged.items()])
    >>> round(found.overall.figures["percent"].value, 4), found.couples[0].lower
    (0.6667, 1)
    """
    design = design or Design()
    panel = side_by_side(assessors, scale=scale)
    ratings = panel.ratings(scale)
    several = len(panel.assessors) > 1
    couples = tuple(_couple(panel, ratings, i, j, design) for i, j in combinations(range(len(panel.assessors)), 2))
    overall = (
        (couples[0] if len(couples) == 1 else _group(panel, ratings, panel_all(panel), design)) if several else None
    )
    people = _group(panel, ratings, panel.people, design) if panel.models and len(panel.people) > 1 else None
    return Agreement(
        assessors=tuple(_judged(panel, i, design.rel) for i in range(len(panel.assessors))),
        design=design,
        scale=ratings.scale,
        overall=overall,
        people=people,
        couples=couples,
        topics=dict(_topics(panel, ratings, panel_all(panel), design)) if several else {},
        models=tuple(_against_people(panel, ratings, k, design) for k in panel.models if panel.people),
        standings=stand(panel, runs, measures, rel=design.rel, run_format=run_format, seed=design.seed, each=each)
        if len(runs)
        else None,
        notes=(*panel.notes, *_notes(panel, scale, overall, design)),
    )


def panel_all(panel: Panel) -> tuple[int, ...]:
    """Where all assessors stand."""
    return tuple(range(len(panel.assessors)))


def _judged(panel: Panel, i: int, rel: float) -> Judged:
    there, origin = ~np.isnan(panel.grades[:, i]), panel.assessors[i].qrels.origin
    grades = panel.grades[there, i]
    found = {float(g): int(n) for g, n in zip(*np.unique(grades, return_counts=True), strict=True)}
    return Judged(
        name=panel.names[i],
        is_model=panel.assessors[i].is_model,
        pairs=len(grades),
        topics=len(np.unique(panel.query[there])),
        grades=found,
        mean=float(grades.mean()) if len(grades) else None,
        relevant=int(np.count_nonzero(grades >= rel)),
        file=origin.file if origin else None,
        sha256=origin.sha256 if origin else None,
    )


def _group(panel: Panel, ratings: Ratings, members: Sequence[int], design: Design) -> Group:
    """Several assessors on all that any two of them judged; of two, on what both did."""
    part, query = _of_members(panel, ratings, members)
    units = query if design.resample == "topics" else None
    several = part.judged > 1
    return Group(
        names=tuple(panel.names[i] for i in members),
        pairs=int(np.count_nonzero(several)),
        full=int(np.count_nonzero(part.judged == part.assessors)),
        topics=len(np.unique(query[several])),
        figures=_figures(part, units, design),
    )


def _of_members(panel: Panel, ratings: Ratings, members: Sequence[int]) -> tuple[Ratings, Ints]:
    part = ratings.of(*members)
    used = part.judged > (1 if len(members) == 2 else 0)
    return part.where(used), panel.query[used]


def _figures(ratings: Ratings, units: Ints | None, design: Design) -> dict[str, Estimate]:
    drawn = design.resamples
    return compute_agreement(ratings, units, rel=design.rel, resamples=drawn, seed=design.seed, level=design.level)


def _topics(panel: Panel, ratings: Ratings, members: Sequence[int], design: Design) -> Iterator[tuple[str, Group]]:
    """The same for each topic with something to compare, resampling its pairs."""
    part, query = _of_members(panel, ratings, members)
    starts = np.searchsorted(query, np.arange(len(panel.queries) + 1))
    for i, name in enumerate(panel.queries):
        own = Ratings(part.codes[starts[i] : starts[i + 1]], part.scale)
        several = int(np.count_nonzero(own.judged > 1))
        if several:
            full = int(np.count_nonzero(own.judged == own.assessors))
            found = _figures(own, None, design)
            yield name, Group(tuple(panel.names[k] for k in members), several, full, 1, found)


def _topic_values(
    panel: Panel, ratings: Ratings, members: Sequence[int], rel: float
) -> Iterator[tuple[str, dict[str, float | None]]]:
    """The figures of each topic with something to compare, without intervals, and how many pairs they rest on."""
    part, query = _of_members(panel, ratings, members)
    topics, units, number = np.unique(query, return_inverse=True, return_counts=True)
    if not len(topics):
        return
    columns = {"pairs": number.tolist(), **compute_agreement_by_unit(part, units, rel)}
    for i, topic in enumerate(topics.tolist()):
        yield panel.queries[topic], {name: values[i] for name, values in columns.items()}


def _couple(panel: Panel, ratings: Ratings, i: int, j: int, design: Design) -> Couple:
    group = _group(panel, ratings, (i, j), design)
    both = panel.common(i, j)
    first, second = panel.grades[both, i], panel.grades[both, j]
    return Couple(
        names=group.names,
        pairs=group.pairs,
        full=group.full,
        topics=group.topics,
        figures=group.figures,
        models=(panel.assessors[i].is_model, panel.assessors[j].is_model),
        confusion=confusion_matrix(ratings.of(i, j)),
        only=(_only(panel, i, both), _only(panel, j, both)),
        lower=int(np.count_nonzero(second < first)),
        higher=int(np.count_nonzero(second > first)),
        means=(float(first.mean()), float(second.mean())) if len(first) else None,
        difference=_mean_figure(second - first, panel.query[both], design),
        by_topic=dict(_topic_values(panel, ratings, (i, j), design.rel)),
    )


def _only(panel: Panel, i: int, both: Bools) -> int:
    return int(np.count_nonzero(~np.isnan(panel.grades[:, i]) & ~both))


def _mean_figure(values: Floats, query: Ints, design: Design) -> Estimate:
    """A mean over judgments, with a bootstrap interval by topic, or by judgment."""
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


def _against_people(panel: Panel, ratings: Ratings, k: int, design: Design) -> ModelAgainstPeople:
    """Each judgment of a person beside the model's of the same pair."""
    rows, people = np.nonzero(~np.isnan(panel.grades[:, list(panel.people)]) & panel.common(k)[:, None])
    columns = np.array(panel.people)[people]
    theirs, own = panel.grades[rows, columns], panel.grades[rows, k]
    codes = np.column_stack([ratings.codes[rows, columns], ratings.codes[rows, k]])
    return ModelAgainstPeople(
        model=panel.names[k],
        judgments=len(rows),
        lower=int(np.count_nonzero(own < theirs)),
        same=int(np.count_nonzero(own == theirs)),
        higher=int(np.count_nonzero(own > theirs)),
        difference=_mean_figure(own - theirs, panel.query[rows], design),
        confusion=confusion_matrix(Ratings(codes.reshape(-1, 2), ratings.scale)),
    )


def _notes(panel: Panel, scale: Sequence[float] | None, overall: Group | None, design: Design) -> Iterator[str]:
    if overall is None:
        yield "There is one assessor: nobody to agree with. Name the judgments of another."
        return
    if not overall.pairs:
        yield "No pair of query and document was judged by two assessors: there is no agreement to speak of."
        return
    yield from _gaps(panel.observed, scale)
    if design.resamples and design.resample == "topics":
        if overall.topics < 2:
            yield "All pairs in common belong to one topic: intervals resample pairs, not topics."
        elif overall.topics < FEW_TOPICS:
            number = pluralize(overall.topics, "topic")
            yield f"Intervals rest on {number}: with so few they are too narrow."
    if panel.models and not panel.people:
        yield "All assessors are models: there is nobody to compare them with."


def _gaps(observed: Floats, scale: Sequence[float] | None) -> Iterator[str]:
    """Whole grades that nobody gave, between some that were."""
    if scale is not None or not all(grade.is_integer() for grade in observed.tolist()):
        return
    low, high = int(observed[0]), int(observed[-1])
    if high - low + 1 in _RANGE and len(observed) < high - low + 1:
        absent = ", ".join(str(g) for g in range(low, high + 1) if g not in observed)
        yield f"Nobody gave grade {absent}: if it is on the scale, say so, since it counts: --scale {low}-{high}."
