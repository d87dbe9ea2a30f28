"""Judgments of several assessors made one: by vote, by order, or by how far each can be trusted; conflicts listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Bools, Floats, Ints, Qrels
from cranfield.errors import CranfieldError
from cranfield.qrels_tools.assessor_matrix import Panel, side_by_side
from cranfield.qrels_tools.assessors import Assessor
from cranfield.qrels_tools.provenance import CLICKS, JUDGMENTS, Provenance, described, is_clicks, source_of
from cranfield.stats import NO_GRADE, DawidSkene, Ratings, dawid_skene

Ties = Literal["lower", "higher", "first", "drop"]

RULES: Mapping[str, str] = {
    "majority": "the grade that most assessors gave",
    "median": "the middle grade",
    "mean": "the mean of the grades",
    "max": "the highest grade",
    "min": "the lowest grade",
    "primary": "the grade of the primary assessor, or of the first other in the order given",
    "dawid-skene": "the most likely grade by Dawid & Skene's model of assessors who err",
}
TIES: Mapping[str, str] = {
    "lower": "the lower grade of those that tie",
    "higher": "the higher grade of those that tie",
    "first": "of the grades that tie the one of the assessor named first",
    "drop": "left out, to be settled by people",
}
_MAY_TIE = ("majority", "median", "dawid-skene")
_EVEN = 1e-9  # chances as close as this are equal


class Conflict(Record):
    """A pair on which assessors differ, or were overruled, with what was made of it: None if it was left out."""

    query: str
    doc: str
    subtopic: str
    grades: tuple[float | None, ...]  # of each assessor
    merged: float | None
    is_tie: bool


class Merged(Record, eq=False):
    """Judgments made one, with what was settled on the way."""

    qrels: Qrels
    panel: Panel
    rule: str
    ties: Ties
    conflicts: tuple[Conflict, ...]
    overruled: tuple[Conflict, ...]  # pairs on which those who judged agree, with another grade all the same
    several: int  # pairs that two or more judged
    tied: int
    dropped: int  # ties left out
    too_few: int  # pairs left out since fewer judged them than was asked for
    not_primary: int  # pairs that the primary assessor did not judge
    model: DawidSkene | None
    notes: tuple[str, ...]

    @property
    def described(self) -> str:
        """The rule in a sentence."""
        text = RULES[self.rule]
        return f"{text}; {TIES[self.ties]}" if self.rule in _MAY_TIE else text

    def provenance(self, made_by: str = "cranfield qrels merge") -> Provenance:
        """What to keep beside the file."""
        sources = tuple(source_of(one.qrels, one.is_model, one.name) for one in self.panel.assessors)
        kind = CLICKS if all(is_clicks(one.qrels) for one in self.panel.assessors) else JUDGMENTS
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
            errors = zip(self.panel.names, self.model.errors.tolist(), strict=True)
            settings["errors"] = dict(errors)  # true grade × grade given
        return Provenance(made_by, kind, self.described, sources, settings, self.notes)


def merge(
    assessors: Sequence[Assessor],
    rule: str = "majority",
    *,
    ties: Ties = "lower",
    primary: str | None = None,
    with_models: bool = False,
    scale: Sequence[float] | None = None,
    least: int = 1,
    rounded: bool = False,
) -> Merged:
    """Make one set of judgments of several assessors'. A pair that one of them judged keeps that grade.

    Judgments by a model are refused unless `with_models` asks for them. `least` is how many must have judged a pair,
    `rounded` takes means to the nearest grade. No rule changes the grade of a pair that one assessor alone judged; by
    Dawid & Skene's model the pair counts for the estimate, and it is told how many would change. Pairs pooled but
    judged by nobody keep their negative grade; one that is on the `scale` is a judgment like any other.

    >>> from cranfield.io import as_qrels
    >>> judged = {"anna": {"q": {"a": 2, "b": 0}}, "ben": {"q": {"a": 1, "b": 0}}, "eva": {"q": {"a": 2}}}
    >>> merged = merge([Assessor(name, as_qrels(grades)) for name, grades in judged.items()])
    >>> merged.qrels.to_dict(), len(merged.conflicts)
    ({'q': {'a': 2.0, 'b': 0.0}}, 1)
    """
    _require(assessors, rule, ties, with_models, least)
    panel = side_by_side(_in_order(assessors, rule, primary), with_strata=True, scale=scale)
    ratings = panel.ratings(scale)
    enough = panel.judged >= least
    rows = np.flatnonzero(enough & (panel.judged > 0))
    model: DawidSkene | None = None
    chosen = _Choice(np.empty(0), np.empty(0, dtype=bool))
    if len(rows):
        chosen, model = _choose(rule, Ratings(ratings.codes[rows], ratings.scale), ties, rounded)
    tied = np.zeros(len(panel), dtype=bool)
    tied[rows] = chosen.tied
    apart = _apart(panel)
    merged = np.full(len(panel), np.nan)
    merged[rows] = chosen.grades
    doubted = 0
    if model is not None:
        alone = enough & (panel.judged == 1)
        own = np.where(np.isnan(panel.grades), -np.inf, panel.grades).max(axis=1)
        doubted = int(np.count_nonzero(alone & ~tied & (merged != own)))
        merged, tied = np.where(alone, own, merged), tied & ~alone
    merged = np.where((panel.judged == 0) & (least <= 1), panel.unjudged, merged)
    nobodys = (panel.judged > 0) & ~np.isnan(merged) & ~_given(panel, merged)
    kept = np.flatnonzero(~np.isnan(merged))
    if not len(kept):
        why = "every pair is a tie" if tied.any() else f"no pair was judged by {pluralize(least, 'assessor')} or more"
        raise CranfieldError(f"nothing is left: {why}.")
    settled = Merged(
        qrels=panel.qrels(kept, merged[kept], "merged"),
        panel=panel,
        rule=rule,
        ties=ties,
        conflicts=tuple(_conflicts(panel, merged, tied, apart)),
        overruled=tuple(_conflicts(panel, merged, tied, nobodys & ~apart)),
        several=int(np.count_nonzero(panel.judged > 1)),
        tied=int(np.count_nonzero(tied)),
        dropped=int(np.count_nonzero(tied & np.isnan(merged))),
        too_few=int(np.count_nonzero(~enough & (panel.judged > 0))),
        not_primary=int(np.count_nonzero(~panel.common(0) & (panel.judged > 0))) if rule == "primary" else 0,
        model=model,
        notes=(
            *panel.notes,
            *_changed(nobodys, nobodys & ~apart, doubted),
            *_notes(panel, merged, model, ratings),
        ),
    )
    return settled


class _Choice(Record):
    grades: Floats  # NaN where a tie is left out
    tied: Any  # where grades tied


def _require(assessors: Sequence[Assessor], rule: str, ties: str, with_models: bool, least: int) -> None:
    if rule not in RULES:
        raise CranfieldError(f"rule {rule!r} is unknown: expected one of {', '.join(RULES)}.")
    if ties not in TIES:
        raise CranfieldError(f"ties {ties!r} is unknown: expected one of {', '.join(TIES)}.")
    if least < 1:
        raise CranfieldError(f"least={least} is out of range: expected a number from 1.")
    models = [assessor for assessor in assessors if assessor.is_model]
    if models and not with_models:
        made = (f" {one.name} was {described(one.provenance)}" for one in models if one.provenance is not None)
        others = " with people's" if len(models) < len(assessors) else ""
        raise CranfieldError(
            f"{join_names([one.name for one in models])}: judgments by a model are not merged{others} unless you ask "
            f"for it, with --with-models. 'cranfield agree' shows how they differ.{''.join(made)}"
        )


def _in_order(assessors: Sequence[Assessor], rule: str, primary: str | None) -> list[Assessor]:
    """The primary assessor first, the others as given."""
    if primary is None:
        if rule == "primary":
            raise CranfieldError("the rule 'primary' needs to know who is: --primary NAME.")
        return list(assessors)
    names = [assessor.name for assessor in assessors]
    if primary not in names:
        raise CranfieldError(f"the primary assessor {primary!r} is none of {join_names(names)}.")
    return sorted(assessors, key=lambda assessor: assessor.name != primary)


def _choose(rule: str, ratings: Ratings, ties: Ties, rounded: bool) -> tuple[_Choice, DawidSkene | None]:
    grades = np.append(ratings.scale, np.nan)[ratings.codes]
    untied = np.zeros(len(grades), dtype=bool)
    if rule == "dawid-skene":
        found = dawid_skene(ratings)
        best = found.posterior >= found.posterior.max(axis=1, keepdims=True) - _EVEN
        return _settled(ratings, best, ties), found
    if rule == "majority":
        votes = _votes(ratings)
        return _settled(ratings, votes == votes.max(axis=1, keepdims=True), ties), None
    if rule == "median":
        return _settled(ratings, _middle(ratings), ties), None
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
    """Where the middle grade is, or the two in the middle of an even number: items × grades."""
    # what is missing goes to the end
    ordered = np.sort(np.where(ratings.codes == NO_GRADE, ratings.grades, ratings.codes), axis=1)
    item, n = np.arange(len(ordered)), ratings.judged
    middle = np.zeros((len(ordered), ratings.grades), dtype=bool)
    middle[item, ordered[item, (n - 1) // 2]] = True
    middle[item, ordered[item, n // 2]] = True
    return middle


def _settled(ratings: Ratings, best: Any, ties: Ties) -> _Choice:
    """One grade of those that are equally good."""
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


def _nearest(means: Floats, scale: Floats, ties: Ties) -> Floats:
    """The grade of the scale next to each mean; halfway the lower, or the higher if that is asked for."""
    distance = np.round(np.abs(means[:, None] - scale[None, :]), 9)
    lower, higher = distance.argmin(axis=1), len(scale) - 1 - distance[:, ::-1].argmin(axis=1)
    nearest: Floats = scale[higher if ties == "higher" else lower]
    return nearest


def _apart(panel: Panel) -> Bools:
    """On which pairs assessors differ."""
    lowest = np.where(np.isnan(panel.grades), np.inf, panel.grades).min(axis=1)
    highest = np.where(np.isnan(panel.grades), -np.inf, panel.grades).max(axis=1)
    return np.asarray((panel.judged > 1) & (lowest < highest))


def _given(panel: Panel, merged: Floats) -> Bools:
    """Where somebody gave the grade; means of the same grade may differ from it in the last digit."""
    same: Bools = np.abs(panel.grades - merged[:, None]) <= _EVEN
    return np.asarray(same.any(axis=1))


def _changed(nobodys: Bools, overruled: Bools, doubted: int) -> Iterator[str]:
    """What is to be said of grades that nobody gave, and of those that the model would have changed."""
    if number := int(np.count_nonzero(nobodys)):
        against = int(np.count_nonzero(overruled))
        agreed = f", on {against:,} of which assessors agree" if against else ""
        yield f"{pluralize(number, 'pair')} with a grade that none of their assessors gave{agreed}."
    if doubted:
        yield (
            f"{pluralize(doubted, 'pair')} judged by one assessor only, whose grade is kept, though another is more "
            "likely by Dawid & Skene's estimate."
        )


def _conflicts(panel: Panel, merged: Floats, tied: Bools, where: Bools) -> Iterator[Conflict]:
    for i in np.flatnonzero(where).tolist():
        grades = tuple(None if grade != grade else grade for grade in panel.grades[i].tolist())
        value = float(merged[i])
        yield Conflict(
            panel.queries[panel.query[i]],
            panel.docs[i],
            panel.subtopics[i],
            grades,
            None if value != value else value,
            bool(tied[i]),
        )


def _notes(panel: Panel, merged: Floats, model: DawidSkene | None, ratings: Ratings) -> Iterator[str]:
    if not (panel.judged > 1).any():
        yield "no pair was judged by two assessors: there was nothing to settle."
    kept = merged[~np.isnan(merged)]
    if (kept != np.floor(kept)).any():
        yield "some grades are fractions, which trec_eval would cut off; --round takes the nearest grade."
    if model is not None:
        if not model.has_converged:
            yield f"Dawid & Skene's estimate still changed after {model.iterations} iterations."
        votes, likely = _votes(ratings), np.full(len(panel), NO_GRADE)
        likely[panel.judged > 0] = np.searchsorted(ratings.scale, merged[panel.judged > 0])
        clear = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
        against = clear & (panel.judged > 1) & ~np.isnan(merged) & (likely != votes.argmax(axis=1))
        if 2 * np.count_nonzero(against) > np.count_nonzero(clear & (panel.judged > 1)) > 0:
            yield (
                "Dawid & Skene's estimate goes against the majority on most pairs: if most assessors err more often "
                "than not, grades come out exchanged. Look at the conflicts before using it."
            )
