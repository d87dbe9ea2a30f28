"""Judgments of several assessors merged into one set: by vote, by priority, or by estimated reliability."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Bools, Floats, Ints, Qrels
from cranfield.errors import CranfieldError
from cranfield.qrels_tools.assessor_matrix import AssessorMatrix, build_matrix
from cranfield.qrels_tools.assessors import Assessor
from cranfield.qrels_tools.provenance import Kind, Provenance, describe_provenance, is_clicks, source_of
from cranfield.stats import NO_GRADE, DawidSkene, Ratings, dawid_skene

MergeTies = Literal["lower", "higher", "first", "drop"]

MERGE_RULES: Mapping[str, str] = {
    "majority": "the grade that most assessors gave",
    "median": "the middle grade",
    "mean": "the mean of the grades",
    "max": "the highest grade",
    "min": "the lowest grade",
    "primary": "the grade of the primary assessor, or else of the first other in order",
    "dawid-skene": "the most likely grade in Dawid & Skene's model of assessor errors",
}
MERGE_TIES: Mapping[str, str] = {
    "lower": "the lower of the tied grades",
    "higher": "the higher of the tied grades",
    "first": "the tied grade of the assessor named first",
    "drop": "left out, for people to decide",
}
_MAY_TIE = ("majority", "median", "dawid-skene")
_EVEN = 1e-9  # probabilities as close as this are equal


class Conflict(Record):
    """A pair on which assessors differ, or were overruled, with its merged grade: None if it was left out."""

    query: str
    doc: str
    subtopic: str
    grades: tuple[float | None, ...]  # of each assessor
    merged: float | None
    is_tie: bool


class MergedQrels(Record, eq=False):
    """Judgments of several assessors merged into one set, with the conflicts and how they were resolved."""

    qrels: Qrels
    matrix: AssessorMatrix
    rule: str
    ties: MergeTies
    conflicts: tuple[Conflict, ...]
    overruled: tuple[Conflict, ...]  # pairs whose assessors agree but which got another grade
    several: int  # pairs that two or more assessors judged
    tied: int
    dropped: int  # ties left out
    too_few: int  # pairs left out because too few assessors judged them
    not_primary: int  # pairs that the primary assessor did not judge
    model: DawidSkene | None
    notes: tuple[str, ...]

    @property
    def description(self) -> str:
        """The rule in a phrase."""
        text = MERGE_RULES[self.rule]
        return f"{text}; {MERGE_TIES[self.ties]}" if self.rule in _MAY_TIE else text

    def provenance(self, made_by: str = "cranfield qrels merge") -> Provenance:
        """What to write next to the file."""
        sources = tuple(source_of(one.qrels, one.is_model, one.name) for one in self.matrix.assessors)
        kind: Kind = "clicks" if all(is_clicks(one.qrels) for one in self.matrix.assessors) else "judgments"
        settings: dict[str, Any] = {
            "rule": self.rule,
            "ties": self.ties,
            "pairs": len(self.qrels),
            "judged_by_several": self.several,
            "conflicts": len(self.conflicts),
            "tied": self.tied,
            "dropped": self.dropped,
            "overruled": len(self.overruled),
        }
        if self.model is not None:
            settings["prior"] = self.model.prior.tolist()
            errors = zip(self.matrix.names, self.model.errors.tolist(), strict=True)
            settings["errors"] = dict(errors)  # true grade × grade given
        return Provenance(made_by, kind, self.description, sources, settings, self.notes)


def merge_qrels(
    assessors: Sequence[Assessor],
    rule: str = "majority",
    *,
    ties: MergeTies = "lower",
    primary: str | None = None,
    with_models: bool = False,
    scale: Sequence[float] | None = None,
    least: int = 1,
    rounded: bool = False,
) -> MergedQrels:
    """Merge the judgments of several assessors. A pair that only one of them judged keeps that grade.

    Judgments by a model are refused unless `with_models` is set. `least` is the number of assessors who must have
    judged a pair; `rounded` rounds means to the nearest grade. Dawid & Skene's model uses pairs that only one assessor
    judged for its estimates, and a note says how many of them would change. Pairs that were pooled but judged by
    nobody keep their negative grade; a negative grade that is on the `scale` is a judgment like any other.

    >>> from cranfield.io import as_qrels
    >>> judged = {"anna": {"q": {"a": 2, "b": 0}}, "ben": {"q": {"a": 1, "b": 0}}, "eva": {"q": {"a": 2}}}
    >>> merged = merge_qrels([Assessor(name, as_qrels(grades)) for name, grades in judged.items()])
    >>> merged.qrels.to_dict(), len(merged.conflicts)
    ({'q': {'a': 2.0, 'b': 0.0}}, 1)
    """
    _check_options(assessors, rule, ties, with_models, least)
    matrix = build_matrix(_in_order(assessors, rule, primary), with_strata=True, scale=scale)
    ratings = matrix.ratings(scale)
    enough = matrix.judged >= least
    rows = np.flatnonzero(enough & (matrix.judged > 0))
    model: DawidSkene | None = None
    chosen = _Choice(np.empty(0), np.empty(0, dtype=bool))
    if len(rows):
        chosen, model = _choose(rule, Ratings(ratings.codes[rows], ratings.scale), ties, rounded)
    tied = np.zeros(len(matrix), dtype=bool)
    tied[rows] = chosen.tied
    apart = _differ(matrix)
    merged = np.full(len(matrix), np.nan)
    merged[rows] = chosen.grades
    doubted = 0
    if model is not None:
        alone = enough & (matrix.judged == 1)
        own = np.where(np.isnan(matrix.grades), -np.inf, matrix.grades).max(axis=1)
        doubted = int(np.count_nonzero(alone & ~tied & (merged != own)))
        merged, tied = np.where(alone, own, merged), tied & ~alone
    merged = np.where((matrix.judged == 0) & (least <= 1), matrix.unjudged, merged)
    nobodys = (matrix.judged > 0) & ~np.isnan(merged) & ~_is_given(matrix, merged)
    kept = np.flatnonzero(~np.isnan(merged))
    if not len(kept):
        why = "every pair is a tie" if tied.any() else f"no pair was judged by {pluralize(least, 'assessor')} or more"
        raise CranfieldError(f"nothing remains: {why}.")
    return MergedQrels(
        qrels=matrix.qrels(kept, merged[kept], "merged"),
        matrix=matrix,
        rule=rule,
        ties=ties,
        conflicts=tuple(_conflicts(matrix, merged, tied, apart)),
        overruled=tuple(_conflicts(matrix, merged, tied, nobodys & ~apart)),
        several=int(np.count_nonzero(matrix.judged > 1)),
        tied=int(np.count_nonzero(tied)),
        dropped=int(np.count_nonzero(tied & np.isnan(merged))),
        too_few=int(np.count_nonzero(~enough & (matrix.judged > 0))),
        not_primary=int(np.count_nonzero(~matrix.common(0) & (matrix.judged > 0))) if rule == "primary" else 0,
        model=model,
        notes=(
            *matrix.notes,
            *_changed_grades(nobodys, nobodys & ~apart, doubted),
            *_notes(matrix, merged, model, ratings),
        ),
    )


class _Choice(Record):
    grades: Floats  # NaN where a tie is left out
    tied: Any  # where grades tied


def _check_options(assessors: Sequence[Assessor], rule: str, ties: str, with_models: bool, least: int) -> None:
    if rule not in MERGE_RULES:
        raise CranfieldError(f"unknown rule {rule!r}: expected one of {', '.join(MERGE_RULES)}.")
    if ties not in MERGE_TIES:
        raise CranfieldError(f"unknown ties {ties!r}: expected one of {', '.join(MERGE_TIES)}.")
    if least < 1:
        raise CranfieldError(f"least={least} is out of range: expected at least 1.")
    models = [assessor for assessor in assessors if assessor.is_model]
    if models and not with_models:
        made = (
            f" {one.name} was {describe_provenance(one.provenance)}" for one in models if one.provenance is not None
        )
        others = " with people's" if len(models) < len(assessors) else ""
        raise CranfieldError(
            f"{join_names([one.name for one in models])}: judgments by a model are not merged{others} unless you add "
            f"--with-models. 'cranfield agree' shows how they differ.{''.join(made)}"
        )


def _in_order(assessors: Sequence[Assessor], rule: str, primary: str | None) -> list[Assessor]:
    """The primary assessor first, the others in their order."""
    if primary is None:
        if rule == "primary":
            raise CranfieldError("the rule 'primary' needs the name of the primary assessor: --primary NAME.")
        return list(assessors)
    names = [assessor.name for assessor in assessors]
    if primary not in names:
        raise CranfieldError(f"the primary assessor {primary!r} is not among {join_names(names)}.")
    return sorted(assessors, key=lambda assessor: assessor.name != primary)


def _choose(rule: str, ratings: Ratings, ties: MergeTies, rounded: bool) -> tuple[_Choice, DawidSkene | None]:
    grades = np.append(ratings.scale, np.nan)[ratings.codes]
    untied = np.zeros(len(grades), dtype=bool)
    if rule == "dawid-skene":
        found = dawid_skene(ratings)
        best = found.posterior >= found.posterior.max(axis=1, keepdims=True) - _EVEN
        return _resolve_ties(ratings, best, ties), found
    if rule == "majority":
        votes = _votes(ratings)
        return _resolve_ties(ratings, votes == votes.max(axis=1, keepdims=True), ties), None
    if rule == "median":
        return _resolve_ties(ratings, _middle(ratings), ties), None
    if rule == "primary":
        first = np.argmax(~np.isnan(grades), axis=1)
        return _Choice(grades[np.arange(len(grades)), first], untied), None
    if rule == "mean":
        means = np.nanmean(grades, axis=1)
        return _Choice(_nearest(means, ratings.scale, ties) if rounded else means, untied), None
    return _Choice(np.nanmax(grades, axis=1) if rule == "max" else np.nanmin(grades, axis=1), untied), None


def _votes(ratings: Ratings) -> Ints:
    """How many assessors gave each grade: items × grades."""
    votes = np.zeros((len(ratings.codes), ratings.grades), dtype=np.int64)
    for column in ratings.codes.T:
        there = np.flatnonzero(column != NO_GRADE)
        votes[there, column[there]] += 1
    return votes


def _middle(ratings: Ratings) -> Any:
    """The middle grade, or the two in the middle of an even number, as a mask: items × grades."""
    # missing grades go to the end
    ordered = np.sort(np.where(ratings.codes == NO_GRADE, ratings.grades, ratings.codes), axis=1)
    item, n = np.arange(len(ordered)), ratings.judged
    middle = np.zeros((len(ordered), ratings.grades), dtype=bool)
    middle[item, ordered[item, (n - 1) // 2]] = True
    middle[item, ordered[item, n // 2]] = True
    return middle


def _resolve_ties(ratings: Ratings, best: Any, ties: MergeTies) -> _Choice:
    """One of the grades that are equally good."""
    tied = best.sum(axis=1) > 1
    lowest, highest = best.argmax(axis=1), ratings.grades - 1 - best[:, ::-1].argmax(axis=1)
    place = highest if ties == "higher" else lowest
    if ties == "first":
        for column in reversed(ratings.codes.T):
            there = column != NO_GRADE
            is_best = there & best[np.arange(len(best)), np.where(there, column, 0)]
            place = np.where(tied & is_best, column, place)
    grades = ratings.scale[place]
    return _Choice(np.where(tied, np.nan, grades) if ties == "drop" else grades, tied)


def _nearest(means: Floats, scale: Floats, ties: MergeTies) -> Floats:
    """The grade of the scale nearest to each mean; halfway the lower, or with ties='higher' the higher."""
    distance = np.round(np.abs(means[:, None] - scale[None, :]), 9)
    lower, higher = distance.argmin(axis=1), len(scale) - 1 - distance[:, ::-1].argmin(axis=1)
    nearest: Floats = scale[higher if ties == "higher" else lower]
    return nearest


def _differ(matrix: AssessorMatrix) -> Bools:
    """The pairs on which assessors differ."""
    lowest = np.where(np.isnan(matrix.grades), np.inf, matrix.grades).min(axis=1)
    highest = np.where(np.isnan(matrix.grades), -np.inf, matrix.grades).max(axis=1)
    return np.asarray((matrix.judged > 1) & (lowest < highest))


def _is_given(matrix: AssessorMatrix, merged: Floats) -> Bools:
    """The pairs whose merged grade somebody gave; a mean of equal grades may differ in the last digit."""
    same: Bools = np.abs(matrix.grades - merged[:, None]) <= _EVEN
    return np.asarray(same.any(axis=1))


def _changed_grades(nobodys: Bools, overruled: Bools, doubted: int) -> Iterator[str]:
    """Notes on grades that nobody gave, and on those that the model would have changed."""
    if number := int(np.count_nonzero(nobodys)):
        against = int(np.count_nonzero(overruled))
        agreed = f", on {against:,} of which assessors agree" if against else ""
        yield f"{pluralize(number, 'pair')} with a grade that none of their assessors gave{agreed}."
    if doubted:
        yield (
            f"{pluralize(doubted, 'pair')} judged by one assessor only: the grade is kept although another is more "
            "likely by Dawid & Skene's estimate."
        )


def _conflicts(matrix: AssessorMatrix, merged: Floats, tied: Bools, where: Bools) -> Iterator[Conflict]:
    for i in np.flatnonzero(where).tolist():
        grades = tuple(None if grade != grade else grade for grade in matrix.grades[i].tolist())
        value = float(merged[i])
        yield Conflict(
            matrix.queries[matrix.query[i]],
            matrix.docs[i],
            matrix.subtopics[i],
            grades,
            None if value != value else value,
            bool(tied[i]),
        )


def _notes(matrix: AssessorMatrix, merged: Floats, model: DawidSkene | None, ratings: Ratings) -> Iterator[str]:
    if not (matrix.judged > 1).any():
        yield "no pair was judged by two assessors: there were no conflicts to resolve."
    kept = merged[~np.isnan(merged)]
    if (kept != np.floor(kept)).any():
        yield "some grades are fractions, which trec_eval would truncate; --round takes the nearest grade."
    if model is not None:
        if not model.has_converged:
            yield f"Dawid & Skene's estimate still changed after {model.iterations} iterations."
        votes, likely = _votes(ratings), np.full(len(matrix), NO_GRADE)
        likely[matrix.judged > 0] = np.searchsorted(ratings.scale, merged[matrix.judged > 0])
        clear = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        against = clear & (matrix.judged > 1) & ~np.isnan(merged) & (likely != votes.argmax(axis=1))
        if 2 * np.count_nonzero(against) > np.count_nonzero(clear & (matrix.judged > 1)) > 0:
            yield (
                "Dawid & Skene's estimate contradicts the majority on most pairs: if most assessors err more often "
                "than not, grades come out swapped. Check the conflicts before using it."
            )
