"""Measures for several assessors: computed with the judgments of each group, then averaged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Record, encode_id, replace
from cranfield.data import Floats, Ints
from cranfield.joining import JudgedRun
from cranfield.measures.base import Measure
from cranfield.measures.binary import AP, P
from cranfield.measures.parameters import CUTOFF, REL
from cranfield.measures.trec_only import MULTIPLE, RprecMult

_TREC_EVAL = "Buckley, trec_eval 9 (-R qrels_jg), 2008"


class OfGroup(Record, eq=False):
    """One query judged by one group: its join, and which hits of the whole join that has."""

    query: int
    name: str
    hits: Ints
    judged: JudgedRun


def by_group(judged: JudgedRun) -> Iterator[OfGroup]:
    """The join of every query with the judgments of each of its groups in turn, by query and group."""
    qrels = judged.sources.qrels
    for i in range(judged.n):
        rows = qrels.rows_of(int(judged.qrels_at[i]))
        grades: dict[str, dict[str, float]] = {}
        for group, doc, grade in zip(qrels.subtopics[rows], qrels.docs[rows], qrels.grades[rows], strict=True):
            grades.setdefault(str(group), {})[str(doc)] = float(grade)
        for group in sorted(grades, key=encode_id):
            yield _of_group(judged, i, group, grades[group])


def _of_group(judged: JudgedRun, i: int, group: str, grades: dict[str, float]) -> OfGroup:
    docs = judged.judged_docs(i)
    first, last = int(judged.starts[i]), int(judged.starts[i + 1])
    names = [docs[number] if number >= 0 else None for number in judged.doc[first:last].tolist()]
    hits = np.array([first + k for k, doc in enumerate(names) if doc in grades], dtype=np.int64)
    ideal = np.array(sorted(grades.values(), reverse=True), dtype=np.float64)
    part = replace(
        judged,
        queries=(judged.queries[i],),
        starts=np.array([0, len(hits)]),
        rank=judged.rank[hits],
        grade=np.array([grades[doc] for doc in names if doc in grades], dtype=np.float64),
        doc=judged.doc[hits],
        tie_first=judged.tie_first[hits],
        tie_size=judged.tie_size[hits],
        retrieved=judged.retrieved[i : i + 1],
        missing=judged.missing[i : i + 1],
        ideal=ideal,
        ideal_starts=np.array([0, len(ideal)]),
        qrels_at=judged.qrels_at[i : i + 1],
    )
    return OfGroup(i, group, hits, part)


class _OverGroups(Measure):
    """The mean of a measure over judgment groups."""

    reference: ClassVar = _TREC_EVAL
    tasks: ClassVar = ("several assessors",)
    reads_columns: ClassVar = ("subtopic",)
    lacks: ClassVar = {
        "perfect": "What one group finds relevant stands below what another does.",
        "swap": "A document may be better for one group and unjudged by another.",
    }

    def of_group(self) -> Measure:
        """The measure to compute with the judgments of one group."""
        raise AssertionError(f"{type(self).__name__} averages nothing")

    def shown_list(self, judged: JudgedRun) -> JudgedRun:
        # what is judged differs from group to group, so the list is condensed for each
        return Measure.shown_list(replace(self, judged_only=False), judged)

    def per_query(self, judged: JudgedRun) -> Floats:
        return self._mean(judged, [(part, float(self.of_group().values(part.judged)[0])) for part in by_group(judged)])

    def terms(self, judged: JudgedRun) -> Floats:
        measure, parts = self.of_group(), list(by_group(judged))
        groups = np.bincount([part.query for part in parts], minlength=judged.n)
        terms = np.zeros(len(judged.rank))
        for part in parts:
            shown = measure.shown_list(part.judged)
            hits = part.hits[part.judged.grade >= 0] if self.judged_only else part.hits
            whole = float(measure.normaliser(shown)[0]) * groups[part.query]
            if whole:
                terms[hits] += measure.terms(shown) / whole
        return terms

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        """Whom each document is relevant to, and what it adds to the measure of each of these groups."""
        measure = self.of_group()
        groups: list[list[str]] = [[] for _ in judged.rank]
        added: list[list[str]] = [[] for _ in judged.rank]
        for part in by_group(judged):
            shown = measure.shown_list(part.judged)
            hits = part.hits[part.judged.grade >= 0] if self.judged_only else part.hits
            whole = float(measure.normaliser(shown)[0])
            for hit, term, grade in zip(hits.tolist(), measure.terms(shown).tolist(), shown.grade, strict=True):
                if grade >= measure.lowest_relevant:
                    groups[hit].append(part.name)
                    added[hit].append(f"{term / whole if whole else 0.0:.4g}")
        columns = {"relevant to": groups, f"added to {measure.name}_j": added}
        return {name: np.array([", ".join(cell) for cell in column], dtype=object) for name, column in columns.items()}

    def expected(self, judged: JudgedRun) -> Floats | None:
        values = [(part, self.of_group().expected_values(part.judged)) for part in by_group(judged)]
        known = [(part, float(value[0])) for part, value in values if value is not None]
        return self._mean(judged, known) if len(known) == len(values) else None

    def _mean(self, judged: JudgedRun, values: list[tuple[OfGroup, float]]) -> Floats:
        sums, groups = np.zeros(judged.n), np.zeros(judged.n)
        for part, value in values:
            sums[part.query] += value
            groups[part.query] += 1
        return sums / np.maximum(groups, 1)


class GroupAP(_OverGroups):
    """The mean of average precision over the assessors (or groups of them) of a query."""

    rel: float | None = None

    name: ClassVar = "GroupAP"
    title: ClassVar = "Average precision over judgment groups"
    formula: ClassVar = r"\frac{1}{|J|} \sum_{j \in J} \mathrm{AP}_j"
    weighting: ClassVar = "depends on the ranking: for each group of judges as in AP, the mean over groups"
    about: ClassVar = (
        "Users disagree on what is relevant: each group of judgments (the second column of the qrels) is a user, and "
        "all users of a query count alike. A group that found nothing relevant contributes 0."
    )
    user: ClassVar = (
        "A user drawn from the groups of judges looks for a random document relevant to them and reads down to it."
    )
    ignores: ClassVar = (
        "Ignores degrees of relevance, how many judges a group has, and everything below the last document relevant "
        "to a group."
    )
    parameters: ClassVar = {"rel": REL}

    def of_group(self) -> Measure:
        return AP(rel=self.rel, judged_only=self.judged_only)


class GroupP(_OverGroups):
    """The mean of precision at k over the assessors (or groups of them) of a query."""

    rel: float | None = None
    cutoff: int | None = None

    name: ClassVar = "GroupP"
    title: ClassVar = "Precision at k over judgment groups"
    formula: ClassVar = r"\frac{1}{|J|} \sum_{j \in J} P_j@k"
    weighting: ClassVar = "1/k down to rank k, 0 below"
    about: ClassVar = (
        "Users disagree on what is relevant: the share of the first k documents that a user, drawn from the groups of "
        "judgments (the second column of the qrels), finds relevant."
    )
    user: ClassVar = "A user drawn from the groups of judges reads k documents and counts those relevant to them."
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, degrees of relevance, and how many judges a group has."
    )
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {"rel": REL, "cutoff": CUTOFF}

    def of_group(self) -> Measure:
        return P(rel=self.rel, cutoff=self.cutoff, judged_only=self.judged_only)

    def rank_weights(self, n: int) -> Floats | None:
        return self.of_group().rank_weights(n)


class GroupRprecMult(_OverGroups):
    """The mean of precision at a multiple of R over the assessors (or groups of them) of a query."""

    rel: float | None = None
    multiple: float | None = None

    name: ClassVar = "GroupRprecMult"
    title: ClassVar = "Precision at a multiple of R over judgment groups"
    formula: ClassVar = r"\frac{1}{|J|} \sum_{j \in J} P_j@\lfloor x R_j + 0.9 \rfloor"
    weighting: ClassVar = (
        "for each group of judges 1/k down to rank k = ⌊xR + 0.9⌋, R being what is relevant to it; the mean over groups"
    )
    about: ClassVar = (
        "Users disagree on what is relevant: each reads in proportion to what there is to find for them. Groups are "
        "those of the second column of the qrels."
    )
    user: ClassVar = (
        "A user drawn from the groups of judges reads a multiple of as many documents as are relevant to them and "
        "counts those that are."
    )
    ignores: ClassVar = (
        "Ignores the order within the documents read, everything below, degrees of relevance, and how many judges a "
        "group has."
    )
    required: ClassVar = ("multiple",)
    at: ClassVar = "multiple"
    parameters: ClassVar = {"rel": REL, "multiple": MULTIPLE}

    def of_group(self) -> Measure:
        return RprecMult(rel=self.rel, multiple=self.multiple, judged_only=self.judged_only)
