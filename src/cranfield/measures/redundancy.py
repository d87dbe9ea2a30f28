"""Measures in which saying the same thing again earns nothing: recall over facts or entities.

That a document which repeats another earns nothing is a parameter of every measure, `repeats=False`: see
`JudgedRun.without_repeats`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from cranfield.data import Floats
from cranfield.joining import JudgedRun, join_run, share
from cranfield.measures.base import Measure
from cranfield.measures.graded import running_sum
from cranfield.measures.parameters import CUTOFF
from cranfield.measures.ties import none_in_top

FactsOf = Mapping[str, frozenset[str]]


class FactRecall(Measure):
    """The share of a query's facts (or entities) that are in one of the first k documents."""

    cutoff: int | None = None

    judgments_matter: ClassVar = False
    name: ClassVar = "FactRecall"
    aliases: ClassVar = ("EntityRecall",)
    title: ClassVar = "Recall over facts or entities"
    formula: ClassVar = r"\frac{\left| \bigcup_{i=1}^{k} F(d_i) \right|}{\left| \bigcup_d F(d) \right|}"
    normaliser_is: ClassVar[str] = "facts of the query"
    weighting: ClassVar = (
        "depends on the ranking: for each fact that a document within k is the first to have, 1 out of all facts"
    )
    about: ClassVar = (
        "A user, or the prompt of a language model, needs each fact once, in whatever document. A fact counts for the "
        "first document that has it. Judgments do not matter, only the file of facts: query, document, fact. 0 where a "
        "query has no facts."
    )
    user: ClassVar = "A user reads k documents and needs each fact once, in whatever document."
    ignores: ClassVar = (
        "Ignores judgments, the order within the first k, everything below, and further documents with the same fact."
    )
    reference: ClassVar = "Voorhees, Overview of the TREC 2003 question answering track (nugget recall), 2003"
    tasks: ClassVar = ("recall", "rag")
    needs: ClassVar = ("facts",)
    parameters: ClassVar = {"cutoff": CUTOFF}
    lacks: ClassVar = {
        "swap": "A better grade does not mean more facts.",
        "perfect": "It goes by facts, not by grades.",
    }

    def per_query(self, judged: JudgedRun) -> Floats:
        # a document without a judgment may have facts too, and the sparse join has not got it
        found = [sum(self._new(self._docs(judged, i), self._facts(judged, i))) for i in range(judged.n)]
        return share(np.array(found, dtype=np.float64), self.normaliser(judged))

    def terms(self, judged: JudgedRun) -> Floats:
        """How many facts each document is the first to have; only a dense join has all documents."""
        terms = np.zeros(len(judged.rank))
        for i in range(judged.n):
            hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
            new = np.array(self._new(self._docs(judged, i), self._facts(judged, i)), dtype=np.float64)
            terms[hits] = new[judged.rank[hits] - 1]
        return terms

    def normaliser(self, judged: JudgedRun) -> Floats:
        all_of = (frozenset().union(*self._facts(judged, i).values()) for i in range(judged.n))
        return np.array([len(facts) for facts in all_of], dtype=np.float64)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        shown = []
        for i in range(judged.n):
            docs, facts = self._docs(judged, i), self._facts(judged, i)
            hits = judged.rank[int(judged.starts[i]) : int(judged.starts[i + 1])]
            shown += [", ".join(sorted(facts.get(docs[rank - 1], ()))) for rank in hits]
        return {"facts": np.array(shown, dtype=object), "facts so far": running_sum(judged, self.terms(judged))}

    def expected(self, judged: JudgedRun) -> Floats:
        return share(np.array([self._expected(judged, i) for i in range(judged.n)]), self.normaliser(judged))

    def _facts(self, judged: JudgedRun, i: int) -> FactsOf:
        return (judged.sources.extras.facts or {}).get(judged.queries[i], {})

    def _docs(self, judged: JudgedRun, i: int) -> list[str]:
        """The documents of query i by rank."""
        if not self.judged_only:
            return judged.ranking(i)
        names = judged.judged_docs(i)
        return [names[number] for number in judged.doc[int(judged.starts[i]) : int(judged.starts[i + 1])]]

    def _new(self, docs: Sequence[str], facts: FactsOf) -> list[int]:
        """How many facts each document is the first to have, within the cutoff."""
        seen: set[str] = set()
        new = []
        for rank, doc in enumerate(docs, 1):
            inside = self.cutoff is None or rank <= self.cutoff
            mine = facts.get(doc, frozenset()) - seen if inside else frozenset()
            seen |= mine
            new.append(len(mine))
        return new

    def _expected(self, judged: JudgedRun, i: int) -> float:
        """The number of facts to expect in the first k documents over all orders of documents with equal scores."""
        facts = self._facts(judged, i)
        having: dict[str, Counter[tuple[int, int]]] = {}
        for doc, first, size in self._tie_groups(judged, i):
            for fact in facts.get(doc, ()):
                having.setdefault(fact, Counter())[first, size] += 1
        return float(sum(1 - self._absent(having[fact]) for fact in sorted(having)))

    def _absent(self, groups: Mapping[tuple[int, int], int]) -> float:
        """The chance that no document with a fact is in the top, if so many of each group of equal scores have it."""
        chance = 1.0
        for (first, size), relevant in sorted(groups.items()):
            places = size if self.cutoff is None else min(size, self.cutoff - first + 1)
            chance *= none_in_top(size, relevant, places) if places > 0 else 1.0
        return chance

    def _tie_groups(self, judged: JudgedRun, i: int) -> list[tuple[str, int, int]]:
        """The documents of query i, each with the first rank and the size of its group of equal scores."""
        if judged.missing[i]:
            return []
        hits = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
        first, size = judged.tie_first[hits], judged.tie_size[hits]
        if not self.judged_only:
            sources, query = judged.sources, judged.queries[i]
            dense = join_run(sources.qrels.of(query), sources.run.of(query), judged.joining, sources.extras, dense=True)
            first, size = dense.tie_first, dense.tie_size
        return list(zip(self._docs(judged, i), first.tolist(), size.tolist(), strict=True))
