"""What a strategy does for one topic: select one document after another, given the grades of those it has selected.

`Selector.select` is a generator. It yields a document and is sent its grade, so it cannot see the grade of a document
it has not selected. Selectors keep no state between calls: to find the next documents, the selection is replayed from
the start with the judgments made so far. So the order in which judgments were made does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

import numpy as np

from cranfield.base import Record, encode_id
from cranfield.data import Bools, Document, Floats
from cranfield.errors import CranfieldError
from cranfield.pooling.ranked_lists import RankedLists

if TYPE_CHECKING:
    from cranfield.pooling.text_classifier import DocumentVectors

Selection = Generator[str, float, None]
Search = Callable[[str, Sequence[str], int], Sequence[str]]  # (query, relevant documents, depth) -> documents
GradeLookup = Callable[[str], float | None]
TieRule = Literal["chance", "input"]
BATCH = 10  # documents per topic
_NOT_JUDGED_YET = -math.inf  # counts as not relevant, which spreads a batch over the systems


class PoolingContext(Record, eq=False):
    """What strategies may use besides the ranked lists."""

    seed: int = 1
    rel: float = 1.0  # the lowest relevant grade
    ties: TieRule = "chance"  # between equally good systems: pick one at random (seeded), or the first
    topics: Mapping[str, str] | None = None  # query -> text
    documents: Iterable[Document] | None = None
    search: Search | None = None

    @cached_property
    def vectors(self) -> DocumentVectors:
        """The documents as vectors, computed once for all topics."""
        from cranfield.pooling.text_classifier import DocumentVectors  # imports scipy

        assert self.documents is not None
        return DocumentVectors.of(self.documents)

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise CranfieldError(f"seed {self.seed!r}: expected a whole number from 0.")
        if not math.isfinite(self.rel):
            raise CranfieldError(f"rel {self.rel}: expected the lowest relevant grade.")


class Selector:
    """Selects the documents of one topic to judge."""

    def __init__(self, lists: RankedLists, context: PoolingContext) -> None:
        self.lists = lists
        self.context = context

    def select(self) -> Selection:
        """Yield documents, each once, in the order in which to judge them. Each is answered with its grade."""
        raise NotImplementedError

    def batch(self, judged: int) -> int:
        """How many documents to select at a time when this many are judged."""
        return BATCH

    def next(self, judged: Mapping[str, float], n: int = 1) -> list[str]:
        """The next documents to judge, at most n; an empty list when nothing is left.

        Documents of the batch that are not judged yet count as not relevant.
        """
        docs: list[str] = []
        selection = self.select()
        doc = next(selection, None)
        while doc is not None and len(docs) < n:
            if doc not in judged:
                docs.append(doc)
            doc = _send_grade(selection, judged.get(doc, _NOT_JUDGED_YET))
        return docs

    def replay(self, grade_of: GradeLookup, budget: int | None = None) -> Iterator[str]:
        """The documents selected when every grade is known at once.

        A document without a grade (None) is passed over. It does not use up the budget, and counts as not relevant.
        """
        selection = self.select()
        doc = next(selection, None)
        judged = 0
        while doc is not None and (budget is None or judged < budget):
            grade = grade_of(doc)
            if grade is not None:
                yield doc
                judged += 1
            doc = _send_grade(selection, _NOT_JUDGED_YET if grade is None else grade)

    def notes(self) -> Iterator[str]:
        """What a user should know about how this strategy treats the lists."""
        return iter(())

    def is_relevant(self, grade: float) -> bool:
        return grade >= self.context.rel

    def rng(self, purpose: str = "") -> np.random.Generator:
        """A random generator that depends on nothing but the seed, the purpose and the query."""
        return seeded_generator(self.context.seed, purpose, self.lists.query)


def _send_grade(selection: Selection, grade: float) -> str | None:
    try:
        return selection.send(grade)
    except StopIteration:
        return None


class StaticSelector(Selector):
    """A selector whose order does not depend on judgments."""

    def order(self) -> Sequence[str]:
        raise NotImplementedError

    def select(self) -> Selection:
        for doc in self.order():
            _ = yield doc


class Cursors:
    """For each list, the next document that has not been selected yet."""

    def __init__(self, lists: RankedLists) -> None:
        self._docs = lists.docs
        self._at = [0] * len(lists.docs)
        self._selected: set[str] = set()
        self.has_more = np.array([bool(docs) for docs in lists.docs], dtype=bool)

    def take(self, system: int) -> str:
        """Select the best remaining document of a list, which must have one."""
        doc = self._docs[system][self._at[system]]
        self.mark(doc)
        return doc

    def mark(self, doc: str) -> None:
        """Note that a document has been selected."""
        self._selected.add(doc)
        for system, docs in enumerate(self._docs):
            at = self._at[system]
            while at < len(docs) and docs[at] in self._selected:
                at += 1
            self._at[system] = at
            self.has_more[system] = at < len(docs)


def choose_best(values: Floats, among: Bools, ties: TieRule, rng: np.random.Generator) -> int:
    """The position of the highest value; of several equal ones the first, or a random one."""
    allowed = np.where(among, values, -np.inf)
    best = np.flatnonzero(allowed >= allowed.max() - 1e-12)
    return int(best[0] if ties == "input" or len(best) == 1 else rng.choice(best))


def seeded_generator(seed: int, purpose: str, query: str) -> np.random.Generator:
    """A random generator for one query and purpose. Adding or removing other queries does not change it."""
    return np.random.default_rng(int.from_bytes(sha256(_hash_prefix(seed, purpose, query)).digest()[:16], "big"))


def shuffle_by_hash(docs: Iterable[str], query: str, seed: int, purpose: str = "") -> list[str]:
    """Documents in a random order that depends only on ids and seed, and stays the same when documents are added.

    >>> shuffle_by_hash("abcd", "1", 1) == [d for d in shuffle_by_hash("abcde", "1", 1) if d != "e"]
    True
    """
    prefix = _hash_prefix(seed, purpose, query)
    return sorted(docs, key=lambda doc: sha256(prefix + encode_id(doc)).digest())


def _hash_prefix(seed: int, purpose: str, query: str) -> bytes:
    return b"%b\0%b\0" % (f"{seed}{' ' if purpose else ''}{purpose}".encode(), encode_id(query))
