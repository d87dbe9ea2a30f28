"""The join: rank a run, break ties, look up judgments, settle missing queries. Nothing else does that."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import Any, get_args

import numpy as np

from cranfield.base import Missing, RankBy, Record, ScoreType, Ties, core, encode_id, replace
from cranfield.data import Bools as Bools
from cranfield.data import Floats, Ints, Qrels, Run
from cranfield.errors import CranfieldError, EvaluationError


class Joining(Record):
    """The conventions of the join, each a choice that the output names."""

    ties: Ties = "trec"
    rank_by: RankBy = "score"
    score_type: ScoreType = "float64"
    missing: Missing = "zero"

    def __post_init__(self) -> None:
        for name, choices in JOIN_OPTIONS.items():
            if getattr(self, name) not in choices:
                given, expected = getattr(self, name), ", ".join(choices)
                raise CranfieldError(f"{name.replace('_', ' ')} {given!r} is unknown: expected one of {expected}.")


JOIN_OPTIONS = {
    "ties": get_args(Ties),
    "rank_by": get_args(RankBy),
    "score_type": get_args(ScoreType),
    "missing": get_args(Missing),
}
DEFAULT = Joining()


class Extras(Record, eq=False):
    """What some measures need beyond run and qrels; each is None where it was not given."""

    against: Run | None = None  # another run, to compare rankings with
    doc_lengths: Mapping[str, float] | None = None  # doc -> length
    duplicates: Mapping[str, str] | None = None  # doc -> the group of documents that say the same
    facts: Mapping[str, Mapping[str, frozenset[str]]] | None = None  # query -> doc -> facts or entities in it


NOTHING = Extras()


class Sources(Record, eq=False):
    """What a join was made of, for the measures that need more than ranks and grades."""

    qrels: Qrels
    run: Run
    extras: Extras

    @classmethod
    def on_demand(cls, qrels: Qrels, load: Callable[[], Run], extras: Extras) -> Sources:
        """Sources whose run is read only if it is asked for, as ranks and grades rarely need it."""
        sources = object.__new__(cls)
        sources.__dict__.update(qrels=qrels, extras=extras, load=load)
        return sources

    def __getattr__(self, name: str) -> Any:
        if name != "run" or "load" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__["run"] = self.load()
        return self.__dict__["run"]


class Hits(Record, eq=False):
    """The judged documents that were retrieved for some queries: columns as in `JudgedRun`, query after query."""

    at: Ints  # per query: where it stands in the qrels
    retrieved: Ints
    tied_docs: Ints
    float32_tied_docs: Ints
    starts: Ints  # where the hits of each query start, and the end of the last one's
    rank: Ints
    grade: Floats
    doc: Ints
    tie_first: Ints | None  # None where no two documents have equal scores
    tie_size: Ints | None


class JudgedRun(Record, eq=False):
    """The judged documents that were retrieved, with rank and grade: all that most measures need.

    `rank`, `grade`, `doc`, `tie_first` and `tie_size` have one entry per retrieved judged document (a hit),
    ordered by query and rank; hits of query i are `starts[i]:starts[i+1]`. `ideal` holds the grades of all judged
    documents of each query, best first, from `ideal_starts`. In a `dense` join every retrieved document is a hit,
    those without a judgment with grade NaN.
    """

    run: str
    queries: tuple[str, ...]
    starts: Ints
    rank: Ints
    grade: Floats
    doc: Ints  # which of the query's judged documents the hit is, as an index into `judged_docs`; -1 if unjudged
    tie_first: Ints  # the first rank of the hit's group of equal scores
    tie_size: Ints  # and how many documents are in it
    retrieved: Ints  # per query
    missing: Bools  # per query: not in the run at all
    ideal: Floats
    ideal_starts: Ints
    joining: Joining
    sources: Sources
    qrels_at: Ints  # per query: where it stands in the qrels
    tied_docs: Ints  # per query: documents that share their score with another
    float32_tied_docs: Ints  # per query: documents that do so in float32 but not in float64
    only_in_run: int = 0  # queries of the run that have no judgments

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.queries)

    @property
    def tied(self) -> int:
        """How many documents share their score with another."""
        return int(self.tied_docs.sum())

    @property
    def float32_tied(self) -> int:
        """How many documents share their score with another in float32 but not in float64."""
        return int(self.float32_tied_docs.sum())

    @cached_property
    def has_missing(self) -> bool:
        """Whether some query is not in the run at all."""
        return bool(self.missing.any())

    @cached_property
    def query(self) -> Ints:
        """The query of each hit, as an index."""
        if len(self.queries) == 1:
            return np.zeros(len(self.rank), dtype=np.int64)
        return np.repeat(np.arange(self.n), self._sizes)

    def spread(self, values: Any) -> Any:
        """What each query has, for each of its hits."""
        return values.repeat(self._sizes)

    @cached_property
    def _sizes(self) -> Ints:
        """The number of hits of each query."""
        return self.starts[1:] - self.starts[:-1]

    @cached_property
    def ideal_query(self) -> Ints:
        """The query of each judged document, as an index."""
        return np.repeat(np.arange(self.n), np.diff(self.ideal_starts))

    def total(self, weights: Any) -> Floats:
        """The sum over the hits of each query, added in rank order as a plain loop would."""
        if core is None or not are_doubles(weights):
            return _sums(self.query, weights, self.n)
        sums = np.empty(len(self.queries))
        core.sums(self.starts, weights, sums)
        return sums

    def quotient(self, weights: Any, whole: Floats) -> Floats:
        """The sum over the hits of each query divided by what is whole for it, and 0 where that is 0."""
        if core is None or not are_doubles(weights, whole):
            return share(self.total(weights), whole)
        shares = np.empty(len(self.queries))
        core.quotients(self.starts, weights, whole, shares)
        return shares

    def count(self, where: Bools) -> Floats:
        """How many hits of each query satisfy a condition."""
        return self.total(where.astype(np.float64))

    def relevant(self, rel: float) -> Floats:
        """How many documents of each query are judged relevant, retrieved or not."""
        return self.of_judgments(("relevant", rel), lambda: self.ideal_total(self.ideal >= rel))

    def ideal_total(self, weights: Any) -> Floats:
        """The sum over the judged documents of each query, retrieved or not."""
        return _sums(self.ideal_query, weights, self.n)

    def of_judgments(self, key: Hashable, find: Callable[[], Floats]) -> Floats:
        """What follows from the judgments alone, found once for all runs; `key` tells what it is."""
        known = self._known
        if known is None:
            return find()
        if key not in known:
            found = find()
            found.flags.writeable = False
            known[key] = found
        return known[key]

    @cached_property
    def _known(self) -> dict[Hashable, Floats] | None:
        """Where to keep what is known of the judgments: with them, if they are those of the qrels as they are."""
        if not isinstance(self.sources, Sources):  # candidates for bounds have none
            return None
        return self.sources.qrels.known if self.ideal is self.sources.qrels.ideal else None

    def of_join(self, key: Hashable, find: Callable[[], Floats]) -> Floats:
        """What follows from ranks and grades, found once for all measures; `key` tells what it is."""
        if key not in self._found:
            found = find()
            found.flags.writeable = False
            self._found[key] = found
        return self._found[key]

    @cached_property
    def _found(self) -> dict[Hashable, Floats]:
        return {}

    @cached_property
    def depth(self) -> int:
        """The rank of the last hit of all."""
        if not len(self.rank):
            return 0
        return int(self.rank[-1] if len(self.queries) == 1 else self.rank.max())

    def down_to(self, cutoff: int | None) -> JudgedRun:
        """The same without the hits below a cutoff."""
        if cutoff is None or cutoff >= self.depth:
            return self
        if cutoff not in self._cut:
            self._cut[cutoff] = self.only(self.rank <= cutoff)
        return self._cut[cutoff]

    @cached_property
    def _cut(self) -> dict[int, JudgedRun]:
        return {}

    def running(self, where: Bools) -> Floats:
        """For each hit how many of its query's hits up to and with it satisfy a condition."""
        if core is None:
            so_far = np.cumsum(where)
            before = np.concatenate(([0], so_far))[self.starts[:-1]]
            return (so_far - before[self.query]).astype(np.float64)
        counts = np.empty(len(where))
        core.running(self.starts, np.ascontiguousarray(where, dtype=bool), counts)
        return counts

    def judged_docs(self, i: int) -> list[str]:
        """The judged documents of query i, in the order that `doc` counts them."""
        return list(self.sources.qrels.judged[int(self.qrels_at[i])])

    def ranking(self, i: int) -> list[str]:
        """The retrieved documents of query i in rank order, judged or not."""
        return self._rankings.docs_of(i, self.sources.qrels.judged[int(self.qrels_at[i])])

    @cached_property
    def _rankings(self) -> _Ranking:
        run = self.sources.run
        return _Ranking(run, [run.position.get(query) for query in self.queries], self.joining)

    def only(self, where: Bools) -> JudgedRun:
        """The same with some hits only; ranks stay as they are."""
        at = np.flatnonzero(where)
        return replace(
            self,
            starts=np.searchsorted(at, self.starts),
            rank=self.rank[at],
            grade=self.grade[at],
            doc=self.doc[at],
            tie_first=self.tie_first[at],
            tie_size=self.tie_size[at],
        )

    @cached_property
    def condensed(self) -> JudgedRun:
        """The list that remains when documents without a judgment (or with a negative one) are left out."""
        kept = self.only(self.grade >= 0)
        rank = kept.running(np.ones(len(kept.rank), dtype=bool)).astype(np.int64)
        first, size = _groups(kept.query, kept.tie_first, rank)
        return replace(kept, rank=rank, tie_first=first, tie_size=size, retrieved=np.diff(kept.starts).astype(np.int64))

    def regraded(self, values: Mapping[float, float]) -> JudgedRun:
        """The same with other values in place of some grades."""
        ideal = _mapped(self.ideal, values)
        ideal = ideal[np.lexsort((-ideal, self.ideal_query))]
        sources = self.sources
        if isinstance(sources, Sources):  # candidates for bounds have none
            sources = replace(sources, qrels=replace(sources.qrels, grades=_mapped(sources.qrels.grades, values)))
        return replace(self, grade=_mapped(self.grade, values), ideal=ideal, sources=sources)

    def without_repeats(self, duplicates: Mapping[str, str]) -> JudgedRun:
        """The same with grade 0 for every hit that repeats an earlier one: both of one group and graded above 0.

        `duplicates` gives doc -> group. The ideal counts a group once too: its highest grade stays, the others that
        are above 0 become 0.
        """
        grade, ideal = self.grade.copy(), self.ideal.copy()
        for i in range(self.n):
            hits = slice(int(self.starts[i]), int(self.starts[i + 1]))
            names = self.judged_docs(i)
            docs = ["" if number < 0 else names[number] for number in self.doc[hits]]
            grade[hits] = np.where(_repeated(docs, grade[hits], duplicates), 0.0, grade[hits])
            grades = once_each(self.sources.qrels.judged[int(self.qrels_at[i])], duplicates)
            ideal[int(self.ideal_starts[i]) : int(self.ideal_starts[i + 1])] = sorted(grades.values(), reverse=True)
        return replace(self, grade=grade, ideal=ideal)

    @property
    def has_ties(self) -> bool:
        """Whether some hit could stand at another rank."""
        return bool((self.tie_size > 1).any())

    def shuffled(self, rngs: Sequence[np.random.Generator]) -> JudgedRun:
        """The same hits with every group of equal scores in a random order, drawn from its query's generator."""
        place = np.array(self.rank)
        loose = np.flatnonzero(self.tie_size > 1)
        if len(loose):
            keys = np.stack([self.query[loose], self.tie_first[loose]])
            change = np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1
            for group in np.split(loose, change):
                drawn = rngs[self.query[group[0]]].choice(self.tie_size[group[0]], size=len(group), replace=False)
                place[group] = self.tie_first[group[0]] + drawn
        order = np.lexsort((place, self.query))
        return replace(
            self,
            rank=place[order],
            grade=self.grade[order],
            doc=self.doc[order],
            tie_first=self.tie_first[order],
            tie_size=self.tie_size[order],
        )


def judge(
    qrels: Qrels,
    run: Run,
    joining: Joining = DEFAULT,
    extras: Extras = NOTHING,
    dense: bool = False,
    **rules: Any,
) -> JudgedRun:
    """Rank the run's documents and keep the judged ones (all of them, if `dense`), with rank and grade.

    >>> qrels = Qrels.from_rows(["q1", "q1"], ["a", "b"], [1, 0])
    >>> run = Run.from_rows(["q1"] * 3, ["b", "x", "a"], [3.0, 2.0, 1.0])
    >>> judge(qrels, run, missing="error").rank
    array([1, 3])
    """
    joining = replace(joining, **rules)
    at = np.array([i for i, query in enumerate(qrels.queries) if query in run.position], dtype=np.int64)
    _require_common_queries(qrels, run, at, joining)
    only_in_run = len(set(run.queries) - set(qrels.queries))
    return assemble(
        find_hits(qrels, run, at, joining, dense), joining, Sources(qrels, run, extras), run.name, only_in_run
    )


def find_hits(qrels: Qrels, run: Run, at: Ints, joining: Joining, dense: bool = False) -> Hits:
    """Rank the documents of some queries, told by where they stand in the qrels, and look up their judgments."""
    ranking = _Ranking(run, [run.position[qrels.queries[i]] for i in at.tolist()], joining)
    hits = [ranking.hits(j, qrels.judged[i], dense) for j, i in enumerate(at.tolist())]
    columns = np.concatenate(hits, axis=1) if hits else np.empty((5, 0))
    return Hits(
        at=at,
        retrieved=ranking.sizes,
        tied_docs=ranking.tied,
        float32_tied_docs=ranking.float32_tied,
        starts=_starts([part.shape[1] for part in hits]),
        rank=columns[0].astype(np.int64),
        grade=columns[1],
        doc=columns[2].astype(np.int64),
        tie_first=columns[3].astype(np.int64),
        tie_size=columns[4].astype(np.int64),
    )


_ONE = np.ones(1, dtype=np.int64)


def assemble(hits: Hits, joining: Joining, sources: Sources, name: str, only_in_run: int) -> JudgedRun:
    """A join out of the hits of all queries that a run has in common with the qrels."""
    qrels = sources.qrels
    if joining.missing == "skip":
        kept, queries, ideal, ideal_starts = _only_queries(qrels, hits.at)
    else:
        kept, queries, ideal, ideal_starts = qrels.everywhere, qrels.queries, qrels.ideal, qrels.starts_of_ideal
    n = len(kept)
    if len(hits.at) == n:
        retrieved, tied, single, starts = hits.retrieved, hits.tied_docs, hits.float32_tied_docs, hits.starts
        missing = np.zeros(n, dtype=bool)
    else:
        retrieved, tied, single, number = (
            _placed(column, hits.at, n)
            for column in (hits.retrieved, hits.tied_docs, hits.float32_tied_docs, np.diff(hits.starts))
        )
        starts = _starts(number)
        missing = np.ones(n, dtype=bool)
        missing[hits.at] = False
    return JudgedRun(
        run=name,
        queries=queries,
        starts=starts,
        rank=hits.rank,
        grade=hits.grade,
        doc=hits.doc,
        tie_first=hits.rank if hits.tie_first is None else hits.tie_first,
        tie_size=np.broadcast_to(_ONE, len(hits.rank)) if hits.tie_size is None else hits.tie_size,
        retrieved=retrieved,
        missing=missing,
        ideal=ideal,
        ideal_starts=ideal_starts,
        joining=joining,
        sources=sources,
        qrels_at=kept,
        tied_docs=tied,
        float32_tied_docs=single,
        only_in_run=only_in_run,
    )


def _only_queries(qrels: Qrels, at: Ints) -> tuple[Ints, tuple[str, ...], Floats, Ints]:
    """Where some queries stand in the qrels, with their names and the grades of their judged documents."""
    parts = [slice(int(qrels.starts_of_ideal[i]), int(qrels.starts_of_ideal[i + 1])) for i in at]
    ideal = np.concatenate([qrels.ideal[part] for part in parts] or [np.empty(0)])
    return at, tuple(qrels.queries[i] for i in at), ideal, _starts([part.stop - part.start for part in parts])


def _placed(column: Ints, at: Ints, n: int) -> Ints:
    """Numbers of some queries among those of all, 0 for the others."""
    placed = np.zeros(n, dtype=np.int64)
    placed[at] = column
    return placed


def _mapped(grades: Floats, values: Mapping[float, float]) -> Floats:
    mapped = grades.copy()
    for grade, value in values.items():
        mapped[grades == grade] = value
    return mapped


def once_each(grade_of: Mapping[str, float], duplicates: Mapping[str, str]) -> dict[str, float]:
    """Grades by document, with 0 for what is graded above 0 in a duplicate group but the highest of it.

    >>> once_each({"a": 1, "b": 2, "c": 1}, {"a": "x", "b": "x"})
    {'a': 0.0, 'b': 2, 'c': 1}
    """
    best_first = sorted(grade_of, key=lambda doc: -grade_of[doc])
    repeated = _repeated(best_first, np.array([grade_of[doc] for doc in best_first], dtype=np.float64), duplicates)
    repeats = {doc for doc, again in zip(best_first, repeated, strict=True) if again}
    return {doc: 0.0 if doc in repeats else grade for doc, grade in grade_of.items()}


def _repeated(docs: Sequence[str], grades: Floats, duplicates: Mapping[str, str]) -> list[bool]:
    """Which documents of a list are graded above 0 and of the same group as an earlier one that is."""
    seen: set[str] = set()
    repeated = []
    for doc, grade in zip(docs, grades.tolist(), strict=True):
        group = duplicates.get(doc) if grade > 0 else None  # what earned nothing is not repeated
        repeated.append(group in seen)
        if group is not None:
            seen.add(group)
    return repeated


class _Ranking:
    """The rows of the evaluated queries in rank order, with their groups of equal scores."""

    def __init__(self, run: Run, positions: list[int | None], joining: Joining) -> None:
        parts = [slice(0, 0) if p is None else run.rows_of(p) for p in positions]
        self.sizes = np.array([part.stop - part.start for part in parts], dtype=np.int64)
        self.starts = _starts(self.sizes)
        rows = np.concatenate([np.arange(part.start, part.stop) for part in parts] or [np.empty(0)])
        query = np.repeat(np.arange(len(parts)), self.sizes)
        rows = rows.astype(np.int64)
        self.joining = joining
        key = self._sort_key(run, rows)
        order = np.lexsort((key, query))
        rows, key = rows[order], key[order]
        rank = np.arange(len(rows)) - self.starts[query] + 1
        self.first, self.size = _groups(query, key, rank)
        self.tied = _per_query(query, self.size > 1, len(parts))
        self.float32_tied = np.zeros(len(parts), dtype=np.int64)
        if joining.rank_by == "score":
            self.float32_tied = _float32_tied(run.scores[rows], query, len(parts))
        rows = self._break_ties(run, rows, rank)
        self.docs = run.docs[rows].tolist()

    def _sort_key(self, run: Run, rows: Ints) -> Floats:
        """What to sort by, ascending."""
        if self.joining.rank_by == "input":
            return np.arange(len(rows), dtype=np.float64)
        if self.joining.rank_by == "rank":
            return _rank_column(run)[rows].astype(np.float64)
        return -_rounded(run.scores[rows], self.joining.score_type)

    def _break_ties(self, run: Run, rows: Ints, rank: Ints) -> Ints:
        """Order each group of equal scores; lexsort has left it in the input's order."""
        rule = self.joining.ties
        if rule == "input-order" or not self.tied.any():
            return rows
        order = _TIE_ORDERS.get(rule, _doc_descending)
        rows = rows.copy()
        for start in np.flatnonzero((self.first == rank) & (self.size > 1)).tolist():
            group = slice(start, start + int(self.size[start]))
            rows[group] = order(run, rows[group].tolist())
        return rows

    def docs_of(self, j: int, grade_of: Mapping[str, float]) -> list[str]:
        """The documents of a query in rank order."""
        start, stop = int(self.starts[j]), int(self.starts[j + 1])
        docs: list[str] = self.docs[start:stop]
        if self.joining.ties in ("best", "worst"):
            # a stable sort within each group of equal scores; unjudged documents count as the worst
            sign = -1 if self.joining.ties == "best" else 1
            first = self.first[start:stop].tolist()
            order = sorted(range(len(docs)), key=lambda i: (first[i], sign * grade_of.get(docs[i], -np.inf)))
            docs = [docs[i] for i in order]
        return docs

    def hits(self, j: int, grade_of: Mapping[str, float], dense: bool) -> Floats:
        """Rank, grade, judged document, first rank and size of the tie group of each hit of a query."""
        docs = self.docs_of(j, grade_of)
        number = {doc: k for k, doc in enumerate(grade_of)}
        places = np.array([i for i, doc in enumerate(docs) if dense or doc in grade_of], dtype=np.int64)
        which = np.array([number.get(docs[i], -1) for i in places], dtype=np.float64)
        grades = np.array([grade_of.get(docs[i], np.nan) for i in places], dtype=np.float64)
        rows = slice(int(self.starts[j]), int(self.starts[j + 1]))
        first, size = self.first[rows][places], self.size[rows][places]
        return np.stack([places + 1.0, grades, which, first.astype(np.float64), size.astype(np.float64)])


def _groups(query: Ints, key: Any, rank: Ints) -> tuple[Ints, Ints]:
    """For each row the rank at which its run of equal keys starts, and the length of that run."""
    n = len(rank)
    if not n:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    new = np.ones(n, dtype=bool)
    new[1:] = (query[1:] != query[:-1]) | (key[1:] != key[:-1])
    heads = np.flatnonzero(new)
    lengths = np.diff(np.append(heads, n))
    return np.repeat(rank[heads], lengths), np.repeat(lengths, lengths)


def _rounded(scores: Floats, score_type: ScoreType | str) -> Floats:
    if score_type == "float64":
        return scores
    with np.errstate(over="ignore"):  # what does not fit is infinite, as for a C cast
        return scores.astype(np.float32).astype(np.float64)


def _float32_tied(scores: Floats, query: Ints, n: int) -> Ints:
    """How many documents of each query share their score with another in float32 but not in float64."""
    scores = scores[np.lexsort((-scores, query))]
    place = np.arange(len(scores))
    single, double = (
        _per_query(query, _groups(query, _rounded(scores, kind), place)[1] > 1, n) for kind in ("float32", "float64")
    )
    return single - double


def _per_query(query: Ints, where: Bools, n: int) -> Ints:
    return np.bincount(query[where], minlength=n).astype(np.int64)


def _doc_descending(run: Run, rows: list[int]) -> list[int]:
    # trec_eval breaks ties by doc id, descending (form_res_rels.c)
    return sorted(rows, key=lambda row: encode_id(str(run.docs[row])), reverse=True)


def _doc_ascending(run: Run, rows: list[int]) -> list[int]:
    return sorted(rows, key=lambda row: encode_id(str(run.docs[row])))


def _by_rank_column(run: Run, rows: list[int]) -> list[int]:
    ranks = _rank_column(run)
    return sorted(_doc_descending(run, rows), key=lambda row: int(ranks[row]))


_TIE_ORDERS: dict[str, Callable[[Run, list[int]], list[int]]] = {
    "doc-ascending": _doc_ascending,
    "rank-column": _by_rank_column,
}


def _rank_column(run: Run) -> Ints:
    if run.ranks is None:
        why = next((note for note in run.notes if "rank column" in note), "it has none.")
        raise EvaluationError(f"the rank column of {run.name!r} is asked for: {why}")
    return run.ranks


def _require_common_queries(qrels: Qrels, run: Run, at: Ints, joining: Joining) -> None:
    if not len(at):
        mine, theirs = ", ".join(qrels.queries[:3]), ", ".join(run.queries[:3])
        raise EvaluationError(
            f"qrels {qrels.name!r} and run {run.name!r} have no query in common: "
            f"the qrels have {mine or 'none'} …, the run has {theirs or 'none'} …. See 'cranfield check'."
        )
    if joining.missing == "error" and len(at) < len(qrels.queries):
        which = [query for query in qrels.queries if query not in run.position]
        raise EvaluationError(
            f"run {run.name!r} lacks {len(which):,} of {len(qrels.queries):,} judged queries "
            f"({', '.join(which[:5])}{' …' if len(which) > 5 else ''}). "
            "Count them as zero or skip them with --missing."
        )


_DOUBLE = np.dtype(np.float64)


def are_doubles(*columns: Any) -> bool:
    """Whether the core can take these as they are: arrays of doubles, one behind the other."""
    for column in columns:
        if type(column) is not np.ndarray or column.dtype is not _DOUBLE or not column.flags.forc or column.ndim != 1:
            return False
    return True


def share(part: Floats, whole: Floats | float) -> Floats:
    """part / whole, and 0 where there is nothing to divide by."""
    if core is not None and are_doubles(part, whole) and len(part) == len(whole):  # type: ignore[arg-type]
        shares = np.empty(len(part))
        core.shares(part, whole, shares)
        return shares
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


def accumulated(step: np.ufunc, values: Floats, starts: Ints) -> Floats:
    """`step.accumulate` within each part of the values, in the order of a plain loop.

    >>> accumulated(np.add, np.array([1.0, 2.0, 3.0, 4.0]), np.array([0, 1, 4]))
    array([1., 2., 5., 9.])
    """
    reached = np.array(values, dtype=np.float64)
    at, ends = starts[:-1], starts[1:]
    if len(at) <= np.max(ends - at, initial=0):  # few long parts: one after the other
        for start, end in zip(at.tolist(), ends.tolist(), strict=True):
            step.accumulate(reached[start:end], out=reached[start:end])
        return reached
    while len(at):  # many short ones: the next value of all of them at once
        more = at + 1 < ends
        at, ends = at[more] + 1, ends[more]
        reached[at] = step(reached[at - 1], reached[at])
    return reached


def _sums(query: Ints, weights: Any, n: int) -> Floats:
    # bincount adds in order, so that a sum does not depend on what else is in the batch
    return np.asarray(np.bincount(query, weights=weights, minlength=n), dtype=np.float64)


def _starts(sizes: Any) -> Ints:
    return np.concatenate(([0], np.cumsum(np.asarray(sizes, dtype=np.int64)))).astype(np.int64)
