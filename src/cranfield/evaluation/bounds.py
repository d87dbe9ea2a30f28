"""How far the unjudged documents could move a value: the lowest and the highest that complete judgments could give.

A retrieved document without a judgment, or with a negative grade, could have any grade from 0 up that occurs in the
qrels; 0 always, for whatever the qrels say a document may be not relevant. Each such filling-in is a candidate.

Where the candidates are few, all of them are measured: as ranks and grades, many at once, or, if the measure looks at
more than those, joined as `evaluate` would join the completed qrels. Where they are many, those that can be extreme
are made, if it is known of the measure which ones can. What is left is an outer bound: the range of the measure.
"""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import chain, combinations_with_replacement, product
from typing import Any, TypeGuard, cast

import numpy as np

from cranfield.base import Record, Ties, encode_id, replace
from cranfield.data import Bools, Floats, Ints, Qrels, Run
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.joining import TIE_RULES, Extras, JudgedRun, Sources, join_run
from cranfield.measures import AP, CG, NCG, REGISTRY, YAAP, Bpref, Gained, Measure, is_built_in, nDCG

MOST_CANDIDATES = 20_000  # for one query
MOST_DOCUMENTS = 20_000_000  # in all candidates of a query
MOST_JOINED = 5_000  # candidates of a query that are joined one by one
MOST_JUDGMENTS = 1_000_000  # in these
MOST_SAMPLED = 4_000_000  # documents in all candidates, in all orders of ties that are drawn
AT_ONCE = 1_000_000  # documents in memory at a time
_BY_GRADE = {name for name, rule in TIE_RULES.items() if rule.by_grade}
_NOT_FIXED = _BY_GRADE | {"expected"}  # tie rules that do not give a document one rank whatever the grades are


class Bounds(Record, eq=False):
    """The lowest and the highest value of each query; where `outer`, they enclose these but may not be reached."""

    low: Floats
    high: Floats
    outer: Bools


def possible_grades(qrels: Qrels) -> Floats:
    """The grades that an unjudged document could have: those from 0 up that occur, and always 0.

    Not relevant is what most unjudged documents are, whether or not the qrels bother to list such documents.

    >>> possible_grades(Qrels.from_rows(["q"] * 3, ["a", "b", "c"], [-1, 2, 1]))
    array([0., 1., 2.])
    """
    return np.unique(np.append(qrels.grades[qrels.grades >= 0], 0.0))


def unjudged(qrels: Qrels, run: Run) -> dict[str, set[str]]:
    """For each judged query the documents of the run that could have any grade.

    >>> unjudged(Qrels.from_rows(["q"] * 2, ["a", "b"], [1, 2]), Run.from_rows(["q"] * 3, ["a", "b", "c"], [3, 2, 1]))
    {'q': {'c'}}
    """
    lists = {query: run.docs[run.rows_of(i)].tolist() for i, query in enumerate(run.queries)}
    return {
        query: {doc for doc in lists.get(query, ()) if not judged.get(doc, -1.0) >= 0}
        for query, judged in zip(qrels.queries, qrels.judged, strict=True)
    }


class Sampling(Record):
    """How orders of tied documents are drawn where there is no closed form of the mean over them."""

    samples: int = 200
    seed: int = 1

    def rng(self, query: str) -> np.random.Generator:
        """A generator for each query, so results do not depend on other queries."""
        return np.random.default_rng([self.seed, *encode_id(query)])


DEFAULT_SAMPLING = Sampling()


class Completions:
    """A run and every way in which its unjudged documents could be judged.

    These are `unjudged`, or else all that have no grade from 0 up: what a tool adds to a run is not to be judged anew,
    and what it takes out of the run, or no longer knows there, may be judged all the same.
    """

    def __init__(
        self,
        dense: JudgedRun,
        grades: Floats,
        sampling: Sampling = DEFAULT_SAMPLING,
        unjudged: Mapping[str, Set[str]] | None = None,
    ) -> None:
        self.dense, self.grades, self.sampling, self.unjudged = dense, grades, sampling, unjudged
        self._rankings: dict[int, _Ranking] = {}
        self._joins: OrderedDict[tuple[Any, ...], JudgedRun] = OrderedDict()

    def bounds(self, measure: Measure, values: Floats) -> Bounds:
        """The bounds of a measure for each query, whose values as judged are known."""
        found = Bounds(values.copy(), values.copy(), np.zeros(self.dense.n, dtype=bool))
        for i in range(self.dense.n):
            ranking = self.ranking(i)
            # a query without a value, which a tool leaves out, has no bounds either
            if ranking.places and _can_change(measure, ranking.ties) and not math.isnan(values[i]):
                found.low[i], found.high[i], found.outer[i] = _OfQuery(self, measure, ranking).bounds(float(values[i]))
        return found

    def ranking(self, i: int) -> _Ranking:
        if i not in self._rankings:
            open_ones = None if self.unjudged is None else self.unjudged[self.dense.queries[i]]
            self._rankings[i] = _Ranking.of(self.dense, i, open_ones)
        return self._rankings[i]

    def joined(self, ranking: _Ranking, levels: Floats, by_subtopic: bool) -> JudgedRun:
        """All candidates of a query, each a query of a join; the last few are kept for the next measure."""
        key = (ranking.at, by_subtopic, *levels.tolist())
        if key not in self._joins:
            fillings = every_filling(levels, _Rows.of(ranking, by_subtopic).columns)
            self._joins[key] = _Rows.of(ranking, by_subtopic).joined(fillings)
            while len(self._joins) > 1 and sum(map(_size, self._joins.values())) > MOST_JUDGMENTS:
                self._joins.popitem(last=False)
        return self._joins[key]


def _can_change(measure: Measure, ties: Ties) -> bool:
    """Whether judgments can: by what they say of documents, or by the order they give to ties."""
    return measure.judgments_matter or measure.judged_only or ties in _BY_GRADE


def _size(judged: JudgedRun) -> int:
    return len(judged.rank) + len(judged.ideal)


def every_filling(levels: Floats, places: int) -> Floats:
    """Every way to put one of the levels at each place, one row each."""
    return np.array(list(product(levels.tolist(), repeat=places)), dtype=np.float64).reshape(-1, places)


class _NeedsMore(CranfieldError):
    """A measure looks at more than ranks and grades."""


class _NoSources(Record):
    """Stands for the sources of candidates, which have no qrels and no run."""

    extras: Extras
    qrels: None = None
    run: None = None

    def __getattribute__(self, name: str) -> Any:
        if name in ("qrels", "run"):
            raise _NeedsMore(name)
        return super().__getattribute__(name)


class _Ranking(Record, eq=False):
    """The ranking of one query, with holes where documents have no judgment."""

    dense: JudgedRun
    at: int
    grade: Floats
    doc: Ints
    tie_first: Ints
    tie_size: Ints
    holes: Ints  # where in the ranking
    rest: Floats  # the grades of the judged documents that stay as they are, retrieved or not
    elsewhere: tuple[str, ...] = ()  # documents that could be judged but that the ranking does not have, or not by name

    @classmethod
    def of(cls, dense: JudgedRun, i: int, unjudged: Set[str] | None = None) -> _Ranking:
        rows = slice(int(dense.starts[i]), int(dense.starts[i + 1]))
        grade, doc = dense.grade[rows], dense.doc[rows].copy()
        ideal = dense.ideal[int(dense.ideal_starts[i]) : int(dense.ideal_starts[i + 1])]
        doc[doc < 0] = len(ideal) + np.arange(np.count_nonzero(doc < 0))
        holes, elsewhere = np.flatnonzero(~(grade >= 0)), list[str]()
        if unjudged is not None:
            names = dense.ranking(i)
            holes = np.flatnonzero([name in unjudged for name in names])
            elsewhere = sorted(unjudged - set(names))
        replaced = Counter(grade[holes][~np.isnan(grade[holes])].tolist())
        rest = np.array(sorted((Counter(ideal.tolist()) - replaced).elements(), reverse=True), dtype=np.float64)
        return cls(dense, i, grade, doc, dense.tie_first[rows], dense.tie_size[rows], holes, rest, tuple(elsewhere))

    @property
    def places(self) -> int:
        """How many documents could have any grade."""
        return len(self.holes) + len(self.elsewhere)

    @property
    def ties(self) -> Ties:
        return self.dense.joining.ties

    @property
    def size(self) -> int:
        """How many documents a candidate has."""
        return len(self.grade) + len(self.rest) + len(self.holes)

    def filled(self, candidates: Floats, ties: Ties) -> JudgedRun:
        """Candidates, one row of grades for the holes each, as the queries of a join."""
        n, length = len(candidates), len(self.grade)
        grade = np.tile(self.grade, (n, 1))
        grade[:, self.holes] = candidates
        doc = np.tile(self.doc, (n, 1))
        if ties in _BY_GRADE:
            first = np.broadcast_to(self.tie_first, grade.shape)
            order = np.lexsort((-grade if ties == "best" else grade, first))
            grade, doc = np.take_along_axis(grade, order, 1), np.take_along_axis(doc, order, 1)
        ideal = -np.sort(-np.hstack([np.tile(self.rest, (n, 1)), candidates]), axis=1)
        return replace(
            self.dense,
            queries=(self.dense.queries[self.at],) * n,
            starts=np.arange(n + 1) * length,
            rank=np.tile(np.arange(1, length + 1), n),
            grade=grade.ravel(),
            doc=doc.ravel(),
            tie_first=np.tile(self.tie_first, n),
            tie_size=np.tile(self.tie_size, n),
            retrieved=np.full(n, length),
            missing=np.zeros(n, dtype=bool),
            ideal=ideal.ravel(),
            ideal_starts=np.arange(n + 1) * ideal.shape[1],
            sources=cast(Sources, _NoSources(self.dense.sources.extras)),
            qrels_at=np.full(n, self.dense.qrels_at[self.at]),
            tied_docs=np.zeros(n, dtype=np.int64),
            float32_tied_docs=np.zeros(n, dtype=np.int64),
        )


class _Rows(Record, eq=False):
    """The qrels of one query with rows for its unjudged documents, to be joined as any qrels are."""

    ranking: _Ranking
    qrels: Qrels  # of the query alone
    owner: Ints  # for each row the column of a candidate that has its grade, -1 if it keeps its own
    columns: int
    all_had_rows: bool  # whether every unjudged document had a row already, with a negative grade

    @classmethod
    def of(cls, ranking: _Ranking, by_subtopic: bool) -> _Rows:
        """With a grade for each unjudged document, or for each of the query's subtopics it could be relevant to."""
        dense, qrels = ranking.dense, ranking.dense.sources.qrels
        rows = qrels.rows_of(int(dense.qrels_at[ranking.at]))
        docs, subtopics = qrels.docs[rows].tolist(), qrels.subtopics[rows].tolist()
        names = dense.ranking(ranking.at)
        unjudged = {*(names[place] for place in ranking.holes.tolist()), *ranking.elsewhere}
        run = dense.sources.run
        # in the order of the run, for some measures look at that of the qrels
        listed = run.docs[run.rows_of(run.position[dense.queries[ranking.at]])].tolist()
        holes = [*(doc for doc in listed if doc in unjudged), *ranking.elsewhere]
        known = list(dict.fromkeys(subtopics)) or ["0"]
        each = known if by_subtopic else known[:1]
        column = {pair: k for k, pair in enumerate(product(holes, each))}
        pairs = zip(docs, subtopics if by_subtopic else each * len(docs), strict=True)
        owner = [column.get(pair, -1) for pair in pairs]
        owned = set(owner)
        new = [pair for pair, k in column.items() if k not in owned]
        more = {"docs": [doc for doc, _ in new], "subtopics": [subtopic for _, subtopic in new]}
        nothing = [0] * len(new)
        query = replace(
            qrels,
            queries=(dense.queries[ranking.at],),
            starts=np.array([0, len(owner) + len(new)]),
            extra={name: _longer(cells[rows], [""] * len(new)) for name, cells in qrels.extra.items()},
            **{name: _longer(getattr(qrels, name)[rows], more.get(name, nothing)) for name in Qrels.row_columns},
        )
        owners = np.array([*owner, *(column[pair] for pair in new)], dtype=np.int64)
        return cls(ranking, query, owners, len(column), set(holes) <= set(docs))

    def joined(self, candidates: Floats) -> JudgedRun:
        """Candidates, one row of grades each, as `judge` joins them if each is a query of its own."""
        n, rows = len(candidates), len(self.owner)
        filled = np.where(self.owner >= 0, candidates[:, self.owner], self.qrels.grades)
        qrels = replace(
            self.qrels,
            queries=self.qrels.queries * n,
            starts=np.arange(n + 1) * rows,
            docs=np.tile(self.qrels.docs, n),
            grades=filled.ravel(),
            subtopics=np.tile(self.qrels.subtopics, n),
            lines=np.tile(self.qrels.lines, n),
            extra={name: np.tile(column, n) for name, column in self.qrels.extra.items()},
        )
        dense = self.ranking.dense
        return join_run(qrels, dense.sources.run, dense.joining, dense.sources.extras)


class _OfQuery(Record, eq=False):
    """The search for the bounds of a measure for one query."""

    completions: Completions
    measure: Measure
    ranking: _Ranking

    def bounds(self, value: float) -> tuple[float, float, bool]:
        """Lowest, highest, and whether these are only outer bounds; the value as judged is known."""
        ways = (self._of_alike, self._of_all, self._of_all_joined, self._of_extremes)
        # all others look at the documents of the ranking only
        for values in ways if not self.ranking.elsewhere else (self._of_all_joined,):
            try:
                found = values()
            except _NeedsMore:
                continue
            if found is not None and not np.isnan(found).all():
                # NaN is for what a tool gives no value
                return float(np.nanmin(found)), float(np.nanmax(found)), False
        try:
            between = self._between_orders_of_ties()
        except _NeedsMore:
            between = None
        return (*(between or self._range(value)), True)

    @property
    def _ties(self) -> Ties:
        return self.ranking.ties

    @property
    def _is_known(self) -> bool:
        # a user's own measure need not say what does not hold for it
        return is_built_in(type(self.measure))

    @cached_property
    def _worth(self) -> Floats:
        """What the measure makes of each possible grade."""
        measure, grades = self.measure, self.completions.grades
        if isinstance(measure, Gained):
            return measure.gains(grades)
        values = measure.gain if isinstance(measure.gain, Mapping) else {}
        return np.array([values.get(grade, grade) for grade in grades.tolist()])

    @property
    def _kept_gains(self) -> Floats:
        """The gains of the retrieved documents that keep their grade; of a tool's own measure, they may be negative."""
        kept = np.delete(self.ranking.grade, self.ranking.holes)
        return self.measure.gains(kept) if isinstance(self.measure, Gained) else kept

    @cached_property
    def _rising(self) -> bool:
        """Whether a higher grade is worth as much or more, and no judgment is taken for none."""
        judged = isinstance(self.measure, Gained) or bool(self._worth[0] >= 0)
        return judged and bool((np.diff(self._worth) >= 0).all())

    @cached_property
    def _levels(self) -> Floats:
        """The grades that make a difference, lowest first: two for a measure that knows relevant and not relevant."""
        measure, grades = self.measure, self.completions.grades
        orders = self._ties in _BY_GRADE and not self._rising
        if not (measure.is_binary and self._is_known) or measure.beyond_rel or not measure.repeats or orders:
            return grades
        kinds = np.stack([self._worth >= measure.lowest_relevant, self._worth >= 0])
        return grades[np.sort(np.unique(kinds, axis=1, return_index=True)[1])]

    @property
    def _joined_levels(self) -> Floats:
        # which of two documents comes first may matter, and so even grades that are worth the same
        return self.completions.grades if self._ties in _BY_GRADE else self._levels

    @property
    def _by_subtopic(self) -> bool:
        return "subtopic" in self.measure.reads_columns

    def _of_alike(self) -> Floats | None:
        """All lowest and all highest, if a better grade never hurts."""
        measure, worth = self.measure, self._worth
        matters_not = not measure.judgments_matter and self._ties not in _BY_GRADE
        # a tool's variant of a measure may inherit what does not hold for it
        helps = matters_not or (measure.grades_help and self._is_known and REGISTRY.get(measure.name) is type(measure))
        if not helps or not measure.repeats or worth.min() < 0:
            return None
        grades = self.completions.grades
        alike = np.tile(grades[[int(worth.argmin()), int(worth.argmax())], None], (1, len(self.ranking.holes)))
        try:
            if self._rising or self._ties not in _NOT_FIXED:
                return self._measured(alike)
        except _NeedsMore:
            # under the other rules a better document would change places with one that is not like it otherwise
            if self._ties not in _BY_GRADE:
                return self._values(_Rows.of(self.ranking, False).joined(alike))
        return None

    def _of_all(self) -> Floats | None:
        """All candidates, as ranks and grades."""
        holes, levels = len(self.ranking.holes), self._levels
        if not _are_few(levels, holes, min(MOST_CANDIDATES, MOST_DOCUMENTS // self.ranking.size)):
            return None
        return self._measured(every_filling(levels, holes))

    def _of_all_joined(self) -> Floats | None:
        """All candidates, joined one by one, for a measure that looks at more than ranks and grades."""
        rows = _Rows.of(self.ranking, self._by_subtopic)
        most = min(MOST_JOINED, MOST_JUDGMENTS // (len(rows.owner) + len(self.ranking.grade)))
        if not self._has_columns(rows) or not _are_few(self._joined_levels, rows.columns, most):
            return None
        try:
            return self._values(self.completions.joined(self.ranking, self._joined_levels, self._by_subtopic))
        except CranfieldError:
            if self.measure.qrels_columns or rows.qrels.extra:
                return None  # such as a document that was drawn although its probability is 0
            raise

    def _has_columns(self, rows: _Rows) -> bool:
        """Whether each unjudged document has all that the measure looks at, such as a stratum."""
        wanted = {*self.measure.qrels_columns, *self.measure.reads_columns} & set(rows.qrels.extra)
        return rows.all_had_rows or not wanted

    def _of_extremes(self) -> Floats | None:
        """The candidates that can be extreme, where it is known which."""
        for choose in (_of_cumulated_gain, _of_average_precision, _of_bpref):
            if self._rising and (chosen := choose(self.measure, self.ranking, self._levels)) is not None:
                return self._measured(chosen)
        ordered = self._ordered
        return None if ordered is None else self._measured(ordered)

    @cached_property
    def _ordered(self) -> Floats | None:
        if not (self._rising and self._is_known) or "swap" in self.measure.lacks:
            return None
        return _ordered_fillings(self.measure, self.ranking, self._levels)

    def _between_orders_of_ties(self) -> tuple[float, float] | None:
        """Where the mean over the orders of ties has no closed form: it is between the worst and the best order."""
        if self._ties != "expected" or self.ranking.elsewhere or self._ordered is None:
            return None
        both = [self._measured(self._ordered, ties) for ties in ("worst", "best")]
        values = np.concatenate([side for side in both if side is not None])
        return float(values.min()), float(values.max())

    def _range(self, value: float) -> tuple[float, float]:
        # a gain map may go below the range that the measure has otherwise
        below = isinstance(self.measure, Gained) and bool((self._worth < 0).any() or (self._kept_gains < 0).any())
        unbounded = below or "range" in self.measure.lacks
        low = -math.inf if below else self.measure.low
        high = math.inf if unbounded else self.measure.high
        # a user's own measure that goes beyond the range it has by default has one that is not known
        return (low if value >= low - 1e-9 else -math.inf), (high if value <= high + 1e-9 else math.inf)

    def _measured(self, candidates: Floats, ties: Ties | None = None) -> Floats | None:
        """The values of candidates by their ranks and grades alone; None where ties would take too long to sample."""
        step = max(1, AT_ONCE // self.ranking.size)
        parts = []
        for start in range(0, len(candidates), step):
            values = self._values_of_some(candidates[start : start + step], ties)
            if values is None:
                return None
            parts.append(values)
        return np.concatenate(parts)

    def _values_of_some(self, candidates: Floats, ties: Ties | None) -> Floats | None:
        try:
            return self._values(self.ranking.filled(candidates, ties or self._ties), ties)
        except EvaluationError:
            if REGISTRY.get(self.measure.name) is type(self.measure) or not self._is_known:
                raise
        # a tool stops at some of them, for which it has no value
        if len(candidates) == 1:
            return np.array([np.nan])
        each = [self._values_of_some(one[None], ties) for one in candidates]
        known = [values for values in each if values is not None]
        return np.concatenate(known) if len(known) == len(each) else None

    def _values(self, judged: JudgedRun, ties: Ties | None = None) -> Floats | None:
        """The values of candidates as `evaluate` has them; None where ties would take too long to sample."""
        if (ties or self._ties) != "expected":
            return self.measure.values(judged)
        closed = self.measure.expected_values(judged)
        sampling = self.completions.sampling
        if closed is not None or sampling.samples * len(judged.rank) > MOST_SAMPLED:
            return closed
        drawn = [self.measure.values(order) for order in _orders(judged, sampling)]
        return np.asarray(np.mean(drawn, axis=0))


def _are_few(levels: Floats, places: int, most: int) -> bool:
    return places * math.log(len(levels)) <= math.log(max(most, 1)) + 1e-9


def _orders(judged: JudgedRun, sampling: Sampling) -> Iterator[JudgedRun]:
    """Candidates of one query in each order of ties that is drawn for it: the same for all, as all is judged."""
    n, length = judged.n, int(judged.starts[1])
    one = replace(
        judged,
        queries=judged.queries[:1],
        starts=judged.starts[:2],
        **{name: getattr(judged, name)[:length] for name in ("rank", "grade", "tie_first", "tie_size")},
        doc=np.arange(length),
    )
    rngs = [sampling.rng(judged.queries[0])]
    for _ in range(sampling.samples):
        order = (one.shuffle_ties(rngs).doc + (np.arange(n) * length)[:, None]).ravel()
        shuffled = {name: getattr(judged, name)[order] for name in ("grade", "doc", "tie_first", "tie_size")}
        yield replace(judged, **shuffled)


def _ordered_fillings(measure: Measure, ranking: _Ranking, levels: Floats) -> Floats | None:
    """Every multiset of grades, best first and worst first; None if they are too many.

    Of all orders of the same grades these are the extreme ones, as a better document that moves up never hurts.
    Below the cutoff a document only counts as one that was not shown, so the better it is, the worse.
    """
    shown = _shown_holes(measure, ranking)
    number = int(np.count_nonzero(shown))
    count = math.comb(number + len(levels) - 1, number)
    if count > MOST_CANDIDATES or 4 * count * ranking.size > MOST_DOCUMENTS:
        return None
    picked = chain.from_iterable(combinations_with_replacement(levels.tolist(), number))
    rising = np.fromiter(picked, dtype=np.float64, count=count * number).reshape(count, number)
    below = (levels[0], levels[-1]) if not shown.all() else (0.0,)
    parts = []
    for order, unseen in product((rising, rising[:, ::-1]), below):
        part = np.full((count, len(shown)), unseen)
        part[:, shown] = order
        parts.append(part)
    return np.concatenate(parts)


def _shown_holes(measure: Measure, ranking: _Ranking) -> Bools:
    """Which holes are within the cutoff, or may get there as they are tied with a document that is."""
    cutoff = getattr(measure, "cutoff", None)
    first = ranking.tie_first[ranking.holes] if ranking.ties in _NOT_FIXED else ranking.holes + 1
    return np.asarray(first <= (math.inf if cutoff is None else cutoff))


def _of_average_precision(measure: Measure, ranking: _Ranking, levels: Floats) -> Floats | None:
    """Extreme candidates of AP and YAAP: of those with r relevant holes, best or worst first, as `_ordered_fillings`.

    From r − 1 to r the sum of precisions grows by the precision at the new document, and by 1/i for each relevant
    document below it.
    """
    kind = type(measure)
    known = (kind.terms, kind.normaliser, kind.per_query) in (
        (AP.terms, AP.normaliser, Measure.per_query),
        (YAAP.terms, YAAP.normaliser, YAAP.per_query),
    )
    if not known or getattr(measure, "ties", None) or not _is_plain_binary(measure, ranking, levels):
        return None
    shown = _shown_holes(measure, ranking)
    rank = ranking.holes[shown] + 1.0
    relevant = ranking.grade >= measure.lowest_relevant
    cutoff = getattr(measure, "cutoff", None)
    places = np.arange(1, len(relevant) + 1)
    inside = relevant & (places <= (math.inf if cutoff is None else cutoff))
    above = np.concatenate(([0], np.cumsum(inside)))[ranking.holes[shown]]
    shares = np.where(inside, 1.0 / places, 0.0)
    below = (shares.sum() - np.cumsum(shares))[ranking.holes[shown]]
    start = float((np.cumsum(inside) * shares).sum())
    number = np.arange(1, len(rank) + 1)
    best_first = (above + number) / rank + below
    behind = np.cumsum(1 / rank[::-1]) - 1 / rank[::-1]
    worst_first = (above[::-1] + 1) / rank[::-1] + below[::-1] + behind
    sums = start + np.stack([np.concatenate(([0.0], np.cumsum(steps))) for steps in (best_first, worst_first)])
    found = np.count_nonzero(ranking.rest >= measure.lowest_relevant) + np.arange(len(rank) + 1)
    extremes = []
    for unseen in (0, 1) if not shown.all() else (0,):
        total = found + unseen * np.count_nonzero(~shown)
        if getattr(measure, "denominator", "R") != "R" and cutoff is not None:
            total = np.minimum(total, cutoff)
        values = (1 + sums) / (1 + total - sums) if isinstance(measure, YAAP) else sums / np.maximum(total, 1)
        extremes += [(*choice, unseen) for choice in _extreme_places(values)]
    return _filled_in_order(extremes, shown, levels)


def _of_bpref(measure: Measure, ranking: _Ranking, levels: Floats) -> Floats | None:
    """Extreme candidates of Bpref: those with r relevant holes, best or worst first, all counted at once."""
    kind = type(measure)
    known = (kind.terms, kind.normaliser, kind.per_query) == (Bpref.terms, Bpref.normaliser, Measure.per_query)
    if not known or not _is_plain_binary(measure, ranking, levels):
        return None
    rel, holes = measure.lowest_relevant, len(ranking.holes)
    is_hole = np.zeros(len(ranking.grade), dtype=bool)
    is_hole[ranking.holes] = True
    relevant = ranking.grade >= rel
    matters = is_hole | relevant
    refused = np.cumsum((ranking.grade >= 0) & ~matters)[matters]
    holes_above = (np.cumsum(is_hole) - is_hole)[matters]
    is_hole = is_hole[matters]
    filled = np.arange(holes + 1)[:, None]
    all_relevant = np.count_nonzero(ranking.rest >= rel) + filled
    others = np.count_nonzero((ranking.rest >= 0) & (ranking.rest < rel)) + holes - filled
    most = np.minimum(others, all_relevant)
    values = []
    for unfilled, counted in (
        (np.maximum(holes_above - filled, 0), ~is_hole | (holes_above < filled)),
        (np.minimum(holes_above, holes - filled), ~is_hole | (holes_above >= holes - filled)),
    ):
        lost = np.minimum(refused + unfilled, all_relevant) / np.maximum(most, 1) * (most > 0)
        values.append((counted * (1 - lost)).sum(axis=1) / np.maximum(all_relevant[:, 0], 1))
    extremes = [(*choice, 0) for choice in _extreme_places(np.stack(values))]
    return _filled_in_order(extremes, np.ones(holes, dtype=bool), levels)


def _is_plain_binary(measure: Measure, ranking: _Ranking, levels: Floats) -> bool:
    """Whether a hole is relevant or not, and the order of the ranking does not depend on it."""
    rel = measure.lowest_relevant
    two = len(levels) == 2 and bool(levels[0] < rel <= levels[1])
    return two and measure.gain is None and ranking.ties not in _NOT_FIXED


def _extreme_places(values: Floats) -> list[tuple[int, int]]:
    """Row and column of the lowest and of the highest value."""
    at = [np.unravel_index(int(place), values.shape) for place in (values.argmin(), values.argmax())]
    return [(int(row), int(column)) for row, column in at]


def _filled_in_order(chosen: list[tuple[int, int, int]], shown: Bools, levels: Floats) -> Floats:
    """Candidates: the first (order 0) or last (1) so many of the holes that are shown filled, and the others or not."""
    candidates = np.zeros((len(chosen), len(shown)), dtype=np.int64)
    for candidate, (order, number, unseen) in zip(candidates, chosen, strict=True):
        places = np.flatnonzero(shown)
        candidate[places[len(places) - number :] if order else places[:number]] = 1
        candidate[~shown] = unseen
    return levels[candidates]


def _of_cumulated_gain(measure: Measure, ranking: _Ranking, grades: Floats) -> Floats | None:
    """Extreme candidates of (n)DCG and (N)CG, whatever the number of holes; None if it is another measure."""
    if not _is_cumulated_gain(measure) or ranking.ties in _NOT_FIXED:
        return None
    gains, first = np.unique(measure.gains(grades), return_index=True)
    fixed = measure.gains(ranking.rest)
    if gains[0] < 0 or not np.isin(fixed[fixed > 0], gains).all():
        return None
    levels = grades[first]
    holes = len(ranking.holes)
    alike = np.tile(levels[[0, -1], None], (1, holes))
    if len(gains) == 1 or type(measure).normaliser is Measure.normaliser:
        return alike
    ratio = _GainRatio(measure, ranking, gains, fixed)
    best = levels[ratio.extreme(1, ratio.weight)]
    worst = levels[ratio.extreme(-1, ratio.weight[::-1])][::-1]
    return np.vstack([alike, best, worst])


def _is_cumulated_gain(measure: Measure) -> TypeGuard[CG]:
    if not isinstance(measure, CG):
        return False
    kind = type(measure)
    normalisers: tuple[Callable[..., Any], ...] = (Measure.normaliser, NCG.normaliser, nDCG.normaliser)
    return (
        kind.terms is CG.terms
        and (kind.ideal, kind.ideal_terms, kind.ideal_gains) == (CG.ideal, CG.ideal_terms, CG.ideal_gains)
        and kind.per_query is Measure.per_query
        and kind.normaliser in normalisers
    )


class _GainRatio:
    """DCG over ideal DCG as a function of how many holes have at least each gain.

    With the gains in falling order over the holes, and m(j) holes with at least the j-th gain, both are sums over j of
    the step from one gain to the next times a function of m(j) alone. Such a ratio is made extreme by Dinkelbach's
    method (Management Science 13, 1967), each step of which is a chain m(1) ≥ m(2) ≥ … found by dynamic programming.
    """

    def __init__(self, measure: CG, ranking: _Ranking, gains: Floats, fixed: Floats) -> None:
        def weight(rank: Ints) -> Floats:
            inside = rank <= (math.inf if measure.cutoff is None else measure.cutoff)
            return np.where(inside, 1 / measure.divisor(rank), 0.0)

        rank = np.arange(1, len(ranking.grade) + 1)
        kept = np.ones(len(rank), dtype=bool)
        kept[ranking.holes] = False
        own = measure.gains(ranking.grade[kept]) / gains[-1] * weight(rank[kept])
        fixed, gains = fixed / gains[-1], gains / gains[-1]  # gains of at most 1, that small steps are small
        self.weight = weight(rank[ranking.holes])
        self.step = np.diff(gains)
        self.fixed = float(own.sum() + gains[0] * self.weight.sum())
        holes = len(self.weight)
        ideal = np.concatenate(([0.0], np.cumsum(weight(np.arange(1, len(fixed) + holes + 1)))))
        at_least = np.array([np.count_nonzero(fixed >= gain) for gain in gains])
        self.ideal = ideal[at_least[1:, None] + np.arange(holes + 1)]  # one row a gain, one column a value of m
        self.fixed_ideal = float(gains[0] * ideal[at_least[0] + holes])

    def extreme(self, sign: int, weight: Floats) -> Ints:
        """For each hole, in the order of the weights, the number of its gain: highest ratio, or lowest for −1."""
        reached = np.concatenate(([0.0], np.cumsum(weight)))
        rows = np.arange(len(self.step))
        counts = np.full(len(rows), len(weight))
        for _ in range(100):
            total = self.fixed + float((self.step * reached[counts]).sum())
            ratio = total / (self.fixed_ideal + float((self.step * self.ideal[rows, counts]).sum()))
            worth = sign * self.step[:, None] * (reached - ratio * self.ideal)
            better = _best_chain(worth)
            if worth[rows, better].sum() <= worth[rows, counts].sum() + 1e-12:
                break
            counts = better
        return np.asarray((counts[:, None] > np.arange(len(weight))).sum(axis=0))


def _best_chain(worth: Floats) -> Ints:
    """m(1) ≥ m(2) ≥ … that make the sum of worth[j, m(j)] highest."""
    choices: list[Ints] = []
    later = np.zeros(worth.shape[1])
    for row in worth[::-1]:
        total = row + later
        later = np.maximum.accumulate(total)
        # the last place at which the running maximum was reached
        choices.append(np.maximum.accumulate(np.where(total == later, np.arange(len(total)), 0)))
    chain_: list[int] = []
    most = worth.shape[1] - 1
    for places in reversed(choices):
        most = int(places[most])
        chain_.append(most)
    return np.array(chain_)


def _longer(column: Any, more: Sequence[Any]) -> Any:
    """A column with some more entries."""
    longer = np.empty(len(column) + len(more), dtype=column.dtype)
    longer[: len(column)] = column
    longer[len(column) :] = more
    return longer
