"""Some queries with all their documents: what was retrieved for them, and what was judged, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats, Ints, LazyQrels, Qrels
from cranfield.evaluation import Evaluator
from cranfield.spark.arrays import Lists, are_ids, likely, numbers_among, objects, sorted_within, taken, texts, within


class Retrieved(Record, eq=False):
    """The rows of one run in a block, query after query."""

    query: Ints  # the row of the block
    doc: Any
    score: Floats
    rank: Ints | None

    def only(self, at: Ints) -> Retrieved:
        rank = None if self.rank is None else self.rank[at]
        return Retrieved(self.query[at], taken(self.doc, at), self.score[at], rank)


@dataclass(eq=False)
class Block:
    """Some queries with all their documents."""

    batch: Any
    evaluator: Evaluator  # its qrels are those of no query
    extra: tuple[str, ...] = ()  # columns of the qrels beyond query, doc and grade

    @cached_property
    def queries(self) -> list[str]:
        return texts(self.batch["query"])

    @cached_property
    def n_judged(self) -> Ints:
        return self.columns["qrels_doc"].sizes

    @cached_property
    def columns(self) -> dict[str, Lists]:
        names = self.batch.schema.names
        return {name: Lists.of(self.batch[name]) for name in names if name.startswith(("run_", "qrels_"))}

    @property
    def problem(self) -> str | None:
        """What cannot be used, in a few words; None if all can."""
        for name in ("run_score", "qrels_grade"):
            if not np.isfinite(self.columns[name].flat).all():
                return f"a {name.rpartition('_')[2]} that is not a finite number"
        if not all(map(are_ids, (self.batch["query"], self.columns["run_doc"].flat, self.columns["qrels_doc"].flat))):
            return "an id that is empty or holds a line break"
        return None

    # judgments

    @cached_property
    def _in_place(self) -> Ints:
        """The order of the judgments: query by query, as they stood in the qrels."""
        places = self.columns.get("qrels_place")
        if places is None:
            return np.arange(int(self.n_judged.sum()))
        return np.lexsort((places.flat, np.repeat(np.arange(len(self.n_judged)), places.sizes)))

    @cached_property
    def _judged_docs(self) -> Any:
        return taken(self.columns["qrels_doc"].flat, self._in_place)

    @cached_property
    def _doc_names(self) -> Any:
        return objects(texts(self._judged_docs))

    @cached_property
    def grades(self) -> Floats:
        return np.asarray(self.columns["qrels_grade"].flat, dtype=np.float64)[self._in_place]

    @cached_property
    def _judged_query(self) -> Ints:
        return np.repeat(np.arange(len(self.n_judged)), self.n_judged)

    @cached_property
    def _codes(self) -> tuple[Any, Ints]:
        """The judged documents of all queries, and the place of each, the first if it is judged for several."""
        return self._judged_docs, numbers_among(self._judged_docs, self._judged_docs)

    @cached_property
    def _keys(self) -> tuple[Ints, Ints]:
        """Judged documents by query and number, in ascending order, and where each stands."""
        known, code = self._codes
        key = self._judged_query * max(len(known), 1) + code
        order = np.argsort(key, kind="stable")
        return key[order], order

    @cached_property
    def judgments_repeat(self) -> Bools:
        """Which queries have a document judged more than once."""
        key, order = self._keys
        twice = np.flatnonzero(key[1:] == key[:-1])
        flags = np.zeros(len(self.n_judged), dtype=bool)
        flags[self._judged_query[order[twice]]] = True
        return flags

    @property
    def merged(self) -> int:
        """How many documents have several judgments, of which the highest counts."""
        return self._repeated_qrels.merged if self.judgments_repeat.any() else 0

    @property
    def repeated_judgments(self) -> int:
        """How many judgments were left out, as they repeat others."""
        if not self.judgments_repeat.any():
            return 0
        return int(self.n_judged[self.judgments_repeat].sum()) - len(self._repeated_qrels)

    @cached_property
    def _repeated_qrels(self) -> Qrels:
        return self.qrels(np.flatnonzero(self.judgments_repeat))

    def qrels(self, rows: Ints) -> Qrels:
        """The judgments of some queries, told by their rows."""
        key = rows.tobytes()
        if key not in self._made:
            self._made[key] = self._made_qrels(rows)
        return self._made[key]

    @cached_property
    def _made(self) -> dict[bytes, Qrels]:
        return {}

    def _made_qrels(self, rows: Ints) -> Qrels:
        at = within(np.concatenate(([0], np.cumsum(self.n_judged))), rows)
        names = [self.queries[k] for k in rows.tolist()]
        if self.judgments_repeat[rows].any():
            return self._careful_qrels(names, rows, at)
        grades, sizes = self.grades[at], self.n_judged[rows]
        starts = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        # no document is judged twice, so that the ideal is the grades, sorted
        ideal = grades[sorted_within(np.repeat(np.arange(len(rows)), sizes), grades)]
        for column in (grades, starts, ideal):
            column.flags.writeable = False

        def load() -> dict[str, Any]:
            return {"docs": self._doc_names[at], "subtopics": self._text_column("subtopic", at), "lines": at + 1}

        return LazyQrels(
            load,
            queries=tuple(names),
            starts=starts,
            grades=grades,
            extra={name: self._text_column(name, at) for name in self.extra if name != "subtopic"},
            ideal=ideal,
            starts_of_ideal=starts,
        )

    def _careful_qrels(self, names: list[str], rows: Ints, at: Ints) -> Qrels:
        queries = [name for name, n in zip(names, self.n_judged[rows].tolist(), strict=True) for _ in range(n)]
        extra = {name: self._text_column(name, at) for name in self.extra if name != "subtopic"}
        return Qrels.from_rows(
            queries,
            self._doc_names[at],
            self.grades[at],
            subtopics=self._text_column("subtopic", at),
            extra=extra,
            on_duplicate=self.evaluator.on_duplicate,
        )

    def _text_column(self, name: str, at: Ints) -> Any:
        if name not in self.extra:
            return np.full(len(at), "0", dtype=object)
        return objects(texts(taken(self.columns[f"qrels_{name}"].flat, self._in_place[at])))

    def matches(self, rows: Retrieved) -> tuple[Ints, Ints]:
        """Which rows are of judged documents, and which judgment is of each."""
        known, _ = self._codes
        some = likely(rows.doc, known)
        code = numbers_among(taken(rows.doc, some), known)
        some, code = some[code >= 0], code[code >= 0]
        keys, order = self._keys
        key = rows.query[some] * max(len(known), 1) + code
        place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
        found = keys[place] == key
        return some[found], order[place[found]]

    # runs

    def of_run(self, i: int) -> Retrieved:
        """The rows of a run."""
        docs, scores = self.columns["run_doc"], self.columns["run_score"]
        ranks = self.columns.get("run_rank")
        rows = Retrieved(
            np.repeat(np.arange(len(docs.sizes)), docs.sizes),
            docs.flat,
            scores.flat,
            None if ranks is None else ranks.flat,
        )
        codes = self.columns.get("run_code")
        return rows if codes is None else rows.only(np.flatnonzero(codes.flat == i))

    def unjudged(self, i: int) -> Ints:
        """The queries that a run has and nobody judged."""
        if self.n_judged.all():
            return np.empty(0, dtype=np.int64)
        there = np.bincount(self.of_run(i).query, minlength=len(self.n_judged)) > 0
        return np.flatnonzero(there & (self.n_judged == 0))
