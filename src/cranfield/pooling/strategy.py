"""What next? A strategy asks for one document after another, and knows the grades of those it has asked for.

An asker is made for one topic. What it asks for is a generator: it yields a document and is sent its grade, so that it
cannot see a grade it has not asked for. What to ask next, given judgments, is found by going through the questions
from the first one, answering those whose answers are known. So there is nothing to be lost between two sittings, and
the order in which judgments were made does not matter.
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
from cranfield.pooling.lists import Lists

if TYPE_CHECKING:
    from cranfield.pooling.text_classifier import Texts

Asks = Generator[str, float, None]
Search = Callable[[str, Sequence[str], int], Sequence[str]]  # query, relevant documents, how many: documents found
Answer = Callable[[str], float | None]  # the grade of a document
TieRule = Literal["chance", "input"]
BATCH = 10  # documents of a topic that are asked for at a time
_NOT_JUDGED_YET = -math.inf  # counts as not relevant, so that a batch is spread over systems


class Setting(Record, eq=False):
    """What strategies are told beyond the lists."""

    seed: int = 1
    rel: float = 1.0  # the lowest grade that is relevant
    ties: TieRule = "chance"  # between systems that are as good: by a seeded chance, or as they come
    topics: Mapping[str, str] | None = None  # query -> its words
    documents: Iterable[Document] | None = None
    search: Search | None = None

    @cached_property
    def texts(self) -> Texts:
        """The documents as vectors, made once for all topics."""
        from cranfield.pooling.text_classifier import Texts

        assert self.documents is not None
        return Texts.of(self.documents)

    def __post_init__(self) -> None:
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise CranfieldError(f"seed {self.seed!r}: expected a whole number from 0.")
        if not math.isfinite(self.rel):
            raise CranfieldError(f"rel {self.rel}: expected the lowest grade that is relevant.")


class Asker:
    """What a strategy asks for one topic."""

    def __init__(self, lists: Lists, setting: Setting) -> None:
        self.lists = lists
        self.setting = setting

    def asks(self) -> Asks:
        """Documents, each once, in the order in which they are to be judged; each is answered with its grade."""
        raise NotImplementedError

    def batch(self, judged: int) -> int:
        """How many documents to ask for at a time when so many are judged."""
        return BATCH

    def next(self, judged: Mapping[str, float], n: int = 1) -> list[str]:
        """The next documents to judge, at most n; none when there is nothing left to ask.

        Documents of a batch that wait for their grades count as not relevant until they have them.
        """
        wanted: list[str] = []
        asking = self.asks()
        doc = next(asking, None)
        while doc is not None and len(wanted) < n:
            if doc not in judged:
                wanted.append(doc)
            doc = _answered(asking, judged.get(doc, _NOT_JUDGED_YET))
        return wanted

    def replay(self, grade_of: Answer, budget: int | None = None) -> Iterator[str]:
        """The documents asked for, one after the other, when every question is answered at once.

        What has no answer, None, is passed over: it costs nothing, and counts as not relevant.
        """
        asking = self.asks()
        doc = next(asking, None)
        asked = 0
        while doc is not None and (budget is None or asked < budget):
            grade = grade_of(doc)
            if grade is not None:
                yield doc
                asked += 1
            doc = _answered(asking, _NOT_JUDGED_YET if grade is None else grade)

    def notes(self) -> Iterator[str]:
        """What a user should know of how this strategy takes its lists."""
        return iter(())

    def relevant(self, grade: float) -> bool:
        return grade >= self.setting.rel

    def chance(self, what: str = "") -> np.random.Generator:
        """Chance that depends on seed and query alone."""
        return seeded(self.setting.seed, what, self.lists.query)


def _answered(asking: Asks, grade: float) -> str | None:
    try:
        return asking.send(grade)
    except StopIteration:
        return None


class Fixed(Asker):
    """One whose order depends on no judgment."""

    def order(self) -> Sequence[str]:
        raise NotImplementedError

    def asks(self) -> Asks:
        for doc in self.order():
            _ = yield doc


class Pointers:
    """The next document of each list that was not asked for yet."""

    def __init__(self, lists: Lists) -> None:
        self._docs = lists.docs
        self._at = [0] * len(lists.docs)
        self._asked: set[str] = set()
        self.has_more = np.array([bool(docs) for docs in lists.docs], dtype=bool)

    def take(self, system: int) -> str:
        """The best document of a list that was not asked for; it must have one."""
        doc = self._docs[system][self._at[system]]
        self.ask(doc)
        return doc

    def ask(self, doc: str) -> None:
        """Take note that a document was asked for."""
        self._asked.add(doc)
        for system, docs in enumerate(self._docs):
            at = self._at[system]
            while at < len(docs) and docs[at] in self._asked:
                at += 1
            self._at[system] = at
            self.has_more[system] = at < len(docs)


def chosen(values: Floats, among: Bools, ties: TieRule, chance: np.random.Generator) -> int:
    """Where the highest value stands; of several that are equal the first, or one by chance."""
    allowed = np.where(among, values, -np.inf)
    best = np.flatnonzero(allowed >= allowed.max() - 1e-12)
    return int(best[0] if ties == "input" or len(best) == 1 else chance.choice(best))


def seeded(seed: int, what: str, query: str) -> np.random.Generator:
    """Chance that depends on a seed, what it is for, and a query, but on no other query."""
    return np.random.default_rng(int.from_bytes(sha256(_start(seed, what, query)).digest()[:16], "big"))


def scattered(docs: Iterable[str], query: str, seed: int, what: str = "") -> list[str]:
    """Documents in an order that looks like chance, depends on nothing but ids and seed, and stays when others join.

    >>> scattered("abcd", "1", 1) == [d for d in scattered("abcde", "1", 1) if d != "e"]
    True
    """
    start = _start(seed, what, query)
    return sorted(docs, key=lambda doc: sha256(start + encode_id(doc)).digest())


def _start(seed: int, what: str, query: str) -> bytes:
    return b"%b\0%b\0" % (f"{seed}{' ' if what else ''}{what}".encode(), encode_id(query))
