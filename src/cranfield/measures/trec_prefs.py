"""Measures of preferences: how many of the judges' "this rather than that" a ranking fulfils, as in trec_eval.

The second column of the judgments is the group (one user), a column `subgroup` the part of it within which grades
compare; without one, all grades of a group do. A document is preferred to another of lower grade; what follows by
transitivity counts too. Negative grades are grades like others.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np

from cranfield.base import Parameter, Record, encode_id
from cranfield.data import Bools, Floats, Ints
from cranfield.errors import EvaluationError
from cranfield.joining import JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.graded import running_sum

_TREC_EVAL = "Carterette, Bennett, Chickering & Dumais, Here or there: preference judgments for relevance, ECIR 2008"
_NONE_AT_ALL = "Documents of the same grade express no preference, and without one the value is 0."
WHICH = Parameter(
    "which preferences count: all, those with at least one document retrieved (imp), with both (ret)",
    choices=("all", "imp", "ret"),
)


_COUNTED = {"all": "", "imp": r",\ x \text{ or } y \text{ retrieved}", "ret": r",\ x, y \text{ retrieved}"}


class PreferenceConflict(EvaluationError):
    """A group of judgments prefers two documents to each other."""

    def __init__(self, x: int, y: int) -> None:
        super().__init__("a group of judgments prefers, directly or by transitivity, two documents to each other.")
        self.positions = x, y


class Preferences(Record, eq=False):
    """What one group prefers among the judged documents of a query, which are numbered by position.

    Those retrieved come first, in rank order, then the others by id.
    """

    better: Bools  # better[x, y]: x is preferred to y
    level: Floats  # the grade given; NaN if the group has none
    retrieved: int
    partial: bool  # whether grades compare within subgroups only

    @property
    def fulfilled(self) -> Bools:
        """Those with the better one above, or alone retrieved."""
        position = np.arange(len(self.level))
        return self.better & (position[:, None] < position) & (position[:, None] < self.retrieved)

    def among(self, which: str) -> Bools:
        """Those that count: `all`, with at least one document retrieved, or with both."""
        return self.better & counting(len(self.level), self.retrieved, which)


def counting(documents: int, retrieved: int, which: str) -> Bools:
    """Which pairs of positions count."""
    found = np.arange(documents) < retrieved
    if which == "all":
        return np.ones((documents, documents), dtype=bool)
    return found[:, None] | found if which == "imp" else found[:, None] & found


class Preferring(Record, eq=False):
    """The preferences of a query: those of each group, and the hit at each position of a retrieved one."""

    hits: Ints
    groups: tuple[Preferences, ...]

    @property
    def retrieved(self) -> int:
        return len(self.hits)

    @property
    def counts(self) -> Ints:
        """How many groups prefer each document to each other."""
        total: Ints = np.sum([group.better for group in self.groups], axis=0, dtype=np.int64)
        return total


def preferring(judged: JudgedRun) -> Iterator[Preferring]:
    """The preferences of every query."""
    return (preferences_of(judged, i) for i in range(judged.n))


def preferences_of(judged: JudgedRun, i: int) -> Preferring:
    """The preferences of query i."""
    position, hits = positions(judged, i), _judged_hits(judged, i)
    qrels = judged.sources.qrels
    rows = qrels.rows_of(int(judged.qrels_at[i]))
    subgroups = qrels.extra["subgroup"][rows] if "subgroup" in qrels.extra else ["0"] * (rows.stop - rows.start)
    at = [position[doc] for doc in qrels.docs[rows].tolist()]
    groups: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for group, subgroup, place, grade in zip(qrels.subtopics[rows], subgroups, at, qrels.grades[rows], strict=True):
        groups.setdefault(str(group), {}).setdefault(str(subgroup), []).append((place, float(grade)))
    parts = [groups[group] for group in sorted(groups, key=encode_id)]
    return Preferring(hits, tuple(_of_group(part, len(position), len(hits)) for part in parts))


def positions(judged: JudgedRun, i: int) -> dict[str, int]:
    """The judged documents of query i by position: those retrieved in rank order, then the others by id."""
    docs = judged.judged_docs(i)
    found = [docs[number] for number in judged.doc[_judged_hits(judged, i)].tolist()]
    missed = sorted(set(docs) - set(found), key=encode_id)
    return {doc: number for number, doc in enumerate([*found, *missed])}


def _judged_hits(judged: JudgedRun, i: int) -> Ints:
    first, last = int(judged.starts[i]), int(judged.starts[i + 1])
    hits: Ints = first + np.flatnonzero(judged.doc[first:last] >= 0)
    return hits


def _of_group(subgroups: dict[str, list[tuple[int, float]]], documents: int, retrieved: int) -> Preferences:
    level = np.full(documents, np.nan)
    better = np.zeros((documents, documents), dtype=bool)
    for subgroup in sorted(subgroups, key=encode_id):
        own = np.full(documents, np.nan)
        for place, grade in subgroups[subgroup]:
            own[place] = grade
        better |= own[:, None] > own  # NaN is preferred to nothing
        level = np.where(np.isnan(own), level, own)
    partial = len(subgroups) > 1
    return Preferences(_closed(better) if partial else better, level, retrieved, partial)


def _closed(better: Bools) -> Bools:
    """With what follows by transitivity."""
    for k in np.flatnonzero(better.any(axis=0) & better.any(axis=1)).tolist():
        better = better | (better[:, k, None] & better[k])
    both = np.argwhere(better & better.T)
    if len(both):
        # a document that is preferred to itself stands between two that conflict
        x, y = next((pair for pair in both.tolist() if pair[0] != pair[1]), both[0].tolist())
        raise PreferenceConflict(x, y)
    return better


class _OfPreferences(Measure):
    """A measure of preferences."""

    reference: ClassVar = _TREC_EVAL
    tasks: ClassVar[tuple[str, ...]] = ("preferences",)
    reads_columns: ClassVar = ("subtopic", "subgroup")

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.array([self.value(query) for query in preferring(judged)], dtype=np.float64)

    def terms(self, judged: JudgedRun) -> Floats:
        """What each document contributes by being preferred, and being above."""
        terms = np.zeros(len(judged.rank))
        for query in preferring(judged):
            terms[query.hits] = self.weights(query)
        return terms

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        """How many preferences there are for each document in all groups, and how many of them are fulfilled."""
        wanted, fulfilled = np.zeros(len(judged.rank)), np.zeros(len(judged.rank))
        for query in preferring(judged):
            for group in query.groups:
                wanted[query.hits] += _won(group.better, query)
                fulfilled[query.hits] += _won(group.fulfilled, query)
        return {
            "preferred to": wanted,
            "of these below": fulfilled,
            "fulfilled so far": running_sum(judged, fulfilled),
        }

    def value(self, query: Preferring) -> float:
        raise AssertionError(f"{type(self).__name__} computes nothing")

    def weights(self, query: Preferring) -> Floats:
        """The part of the sum that belongs to each document retrieved."""
        raise AssertionError(f"{type(self).__name__} explains nothing")


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _won(fulfilled: Any, query: Preferring) -> Floats:
    """For each document retrieved how many of these it wins."""
    won: Floats = fulfilled.sum(axis=1).astype(np.float64)[: query.retrieved]
    return won


class Prefs(_OfPreferences):
    """The share of the judges' preferences that the ranking fulfils."""

    mean: Literal["preferences", "pairs", "groups"] = "preferences"
    which: Literal["all", "imp", "ret"] = "all"

    name: ClassVar = "Prefs"
    title: ClassVar = "Preferences fulfilled"
    normaliser_is: ClassVar[str] = "preferences that count, |P|"
    formula: ClassVar = (
        r"\frac{|\{\, (x, y) \in P : x \text{ above } y \,\}|}{|P|},\quad P = \{\, (x, y) : x \succ y \,\}"
    )
    weighting: ClassVar = (
        "depends on the ranking: a document weighs as many preferences as there are worse ones below it, wherever"
    )
    about: ClassVar = (
        "Judges say which of two documents they would rather have; a ranking fulfils that if it has the better one "
        "above, or alone. Every preference counts alike, or every pair of documents (mean='pairs'), or every group "
        "of judges (mean='groups'). trec_eval breaks ties by doc id ascending here, everywhere else descending."
    )
    user: ClassVar = (
        "A judge who would rather have one of two documents reads down and is content if that one comes first."
    )
    ignores: ClassVar = (
        "Ignores how far apart the two stand, by how much one is better, and documents that are in no preference."
    )
    parameters: ClassVar = {
        "mean": Parameter("what counts alike", choices=("preferences", "pairs", "groups")),
        "which": WHICH,
    }
    lacks: ClassVar = {
        "perfect": _NONE_AT_ALL,
        "swap": "A document that one group would rather have is the worse one for another group.",
    }

    @property
    def shown_formula(self) -> str:
        those = r"\{\, (x, y) : x \succ%s y" + _COUNTED[self.which] + r" \,\}"
        if self.mean == "pairs":
            return (
                r"\frac{1}{|P|} \sum_{(x, y) \in P} \frac{|\{\, j : x \succ_j y \,\}|}{|\{\, j : x \succ_j y \,\}| + "
                r"|\{\, j : y \succ_j x \,\}|},\quad P = \{\, (x, y) : x \text{ above } y,\ \text{compared}"
                rf"{_COUNTED[self.which]} \,\}}"
            )
        fulfilled = r"\frac{|\{\, (x, y) \in P%s : x \text{ above } y \,\}|}{|P%s|}"
        if self.mean == "groups":
            whole = rf"\frac{{1}}{{|J|}} \sum_{{j \in J}} {fulfilled % ('_j', '_j')}"
            return rf"{whole},\quad P_j = {those % '_j'}"
        return rf"{fulfilled % ('', '')},\quad P = {those % ''}"

    @property
    def shown_normaliser(self) -> str:
        return self.normaliser_is if self.mean == "preferences" else ""

    def normaliser(self, judged: JudgedRun) -> Floats:
        if self.mean != "preferences":
            return np.ones(judged.n)
        return np.array([self._possible(query) for query in preferring(judged)], dtype=np.float64)

    def value(self, query: Preferring) -> float:
        if self.mean == "pairs":
            ratios = self._pairs(query)
            # one after the other, as trec_eval adds them; np.sum would not
            return float(np.cumsum(ratios)[-1] / len(ratios)) if len(ratios) else 0.0
        if self.mean == "groups":
            return sum(_ratio(*self._of_group(group)) for group in query.groups) / max(len(query.groups), 1)
        won = sum(self._of_group(group)[0] for group in query.groups)
        return _ratio(won, self._possible(query))

    def weights(self, query: Preferring) -> Floats:
        sums = np.zeros(query.retrieved)
        if self.mean == "pairs":
            counts, ratios = query.counts, self._pairs(query)
            upper = np.triu(np.ones_like(counts), 1) * counts
            each = share(upper.astype(np.float64), (counts + counts.T).astype(np.float64))
            each = np.where(counting(len(counts), query.retrieved, self.which), each, 0.0)
            won: Floats = each.sum(axis=1)[: query.retrieved] / max(len(ratios), 1)
            return won
        for group in query.groups:
            wins = _won(group.fulfilled & group.among(self.which), query)
            possible = self._of_group(group)[1]
            sums += wins if self.mean == "preferences" else wins / max(possible, 1) / len(query.groups)
        return sums

    def _of_group(self, group: Preferences) -> tuple[int, int]:
        """How many preferences are fulfilled, and how many count."""
        counted = group.among(self.which)
        return int((group.fulfilled & counted).sum()), int(counted.sum())

    def _possible(self, query: Preferring) -> int:
        return sum(self._of_group(group)[1] for group in query.groups)

    def _pairs(self, query: Preferring) -> Floats:
        """For each pair of documents the share of groups it satisfies, in trec_eval's order of pairs."""
        counts, found = query.counts, query.retrieved
        x, y = np.nonzero(np.triu((counts + counts.T) > 0, 1) & counting(len(counts), found, self.which))
        one = np.lexsort((y, x, y >= found))  # both retrieved first, then the others
        x, y = x[one], y[one]
        ratios: Floats = np.where(x < found, counts[x, y], 0) / (counts[x, y] + counts[y, x])
        return ratios


class PrefsRnonrel(_OfPreferences):
    """The share of preferences fulfilled if each group had as many documents that are not relevant as relevant ones."""

    which: Literal["all", "ret"] = "all"

    name: ClassVar = "PrefsRnonrel"
    title: ClassVar = "Preferences fulfilled, with R non-relevant documents"
    formula: ClassVar = r"\frac{1}{|J|} \sum_{j \in J} \frac{\mathrm{fulfilled}_j}{\mathrm{possible}_j}"
    weighting: ClassVar = (
        "depends on the ranking: a document weighs as many preferences as there are worse ones below it, of those not "
        "relevant only the first R"
    )
    about: ClassVar = (
        "As Prefs(mean='groups'), but how many non-relevant documents (grade 0) were judged does not matter: of more "
        "than R only the first R count, and missing ones are taken as beaten. Akin to bpref, and of little use: "
        "trec_eval compares non-relevant documents with themselves, so a perfect ranking may have 0.25."
    )
    user: ClassVar = (
        "A group of judges reads down and wants the better of two documents first, with as many non-relevant "
        "documents as relevant ones."
    )
    ignores: ClassVar = (
        "Ignores how many non-relevant documents were judged, how far apart two documents stand, and documents that "
        "are in no preference."
    )
    parameters: ClassVar = {"which": Parameter(WHICH.help, choices=("all", "ret"))}
    lacks: ClassVar = {
        "swap": "Non-relevant documents are compared with themselves, and only the first R of them count."
    }

    @property
    def shown_formula(self) -> str:
        return self.formula + (r"\text{, of documents retrieved}" if self.which == "ret" else "")

    def value(self, query: Preferring) -> float:
        ratios = [self._counted(group) for group in query.groups]
        total = sum(fulfilled / possible for fulfilled, possible, _ in ratios) if self._is_defined(ratios) else 0.0
        return total / max(len(ratios), 1)

    def weights(self, query: Preferring) -> Floats:
        ratios = [self._counted(group) for group in query.groups]
        if not self._is_defined(ratios):
            return np.zeros(query.retrieved)
        parts = [won[: query.retrieved] / possible / len(ratios) for _, possible, won in ratios]
        return sum(parts, np.zeros(query.retrieved))

    def _is_defined(self, ratios: list[tuple[float, float, Floats]]) -> bool:
        # one group without anything to compare is NaN in trec_eval, and makes the whole 0
        return bool(ratios) and all(possible for _, possible, _ in ratios)

    def _counted(self, group: Preferences) -> tuple[float, float, Floats]:
        """Preferences fulfilled, preferences possible, and by each document how many are fulfilled."""
        found = np.arange(len(group.level)) < group.retrieved
        relevant, others = group.level > 0, (group.level == 0) if group.partial else (group.level <= 0)
        seen = found if self.which == "ret" else np.ones_like(found)
        surplus = int((relevant & seen).sum()) - int((others & seen).sum())
        if surplus >= 0:
            counted, fulfilled = group.among(self.which), group.fulfilled & group.among(self.which)
            won = fulfilled.sum(axis=1) + np.where(relevant & found, surplus, 0)
            return float(won.sum()), float(counted.sum() + relevant.sum() * surplus), won
        counted = self._first_of_others(group, others) if group.partial else self._classes(group, found)
        position = np.arange(len(found))
        fulfilled = counted & (position[:, None] < position) & found[:, None]
        return float(fulfilled.sum()), float(counted.sum()), fulfilled.sum(axis=1)

    def _first_of_others(self, group: Preferences, others: Bools) -> Bools:
        """The preferences without the non-relevant documents after the first R."""
        kept = ~others | (np.cumsum(others) <= int((group.level > 0).sum()))
        return group.among(self.which) & kept[:, None] & kept

    def _classes(self, group: Preferences, found: Bools) -> Bools:
        """All pairs of grades but the lowest, and every document over the first R of the lowest grade."""
        limit = int(((group.level > 0) & (found if self.which == "ret" else True)).sum())
        lowest = group.level == np.nanmin(group.level)
        first = lowest & (np.cumsum(lowest) <= limit)
        judged = ~np.isnan(group.level)
        pairs = (group.better & ~lowest[:, None] & ~lowest) | (judged[:, None] & first)
        return np.asarray(pairs & counting(len(found), group.retrieved, self.which))


class NumPrefs(_OfPreferences):
    """How many preferences the judges have expressed, or how many of them the ranking fulfils."""

    of: Literal["possible", "fulfilled", "fulfilled-ret"] = "possible"

    name: ClassVar = "NumPrefs"
    title: ClassVar = "Number of preferences"
    formula: ClassVar = r"|\{\, (x, y) : x \succ y \,\}|"
    weighting: ClassVar = "the same for every rank: each preference counts 1"
    about: ClassVar = (
        "Counts the preferences of all groups of judges; of='fulfilled' those that the ranking fulfils, "
        "'fulfilled-ret' those of them with both documents retrieved."
    )
    user: ClassVar = "An experimenter asks how many preferences there are, or how many of them the ranking fulfils."
    ignores: ClassVar = (
        "Ignores how far apart two documents stand, by how much one is better, and documents that are in no preference."
    )
    high: ClassVar = np.inf
    aggregate: ClassVar = "sum"
    is_quality: ClassVar = False
    nothing_found: ClassVar = "the number of preferences"
    parameters: ClassVar = {
        "of": Parameter("which preferences to count", choices=("possible", "fulfilled", "fulfilled-ret"))
    }
    lacks: ClassVar = {"swap": "A number of preferences is no measure of quality."}

    @property
    def shown_formula(self) -> str:
        if self.of == "possible":
            return self.formula
        both = _COUNTED["ret"] if self.of == "fulfilled-ret" else ""
        return rf"|\{{\, (x, y) : x \succ y,\ x \text{{ above }} y{both} \,\}}|"

    def value(self, query: Preferring) -> float:
        return float(sum(self._those(group).sum() for group in query.groups))

    def weights(self, query: Preferring) -> Floats:
        return sum((_won(self._those(group), query) for group in query.groups), np.zeros(query.retrieved))

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The preferences for a document that was not retrieved."""
        query = next(preferring(judged))
        missed = self.value(query) - float(self.weights(query).sum())
        return [{"what": "preferences for documents not retrieved", "term": missed}] if missed else []

    def _those(self, group: Preferences) -> Bools:
        if self.of == "possible":
            return group.better
        return group.fulfilled & group.among("ret" if self.of == "fulfilled-ret" else "all")
