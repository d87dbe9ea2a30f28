"""Ranking systems without judgments: documents that many systems retrieve are presumed relevant.

Agreement is not relevance. A system that finds what others miss is penalised, so the best systems may be ranked last.
Such a ranking shows which systems are typical, not which are good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.selector import seeded_generator

TRIALS = 50
SHARE, SPREAD = 0.1, 0.05  # of relevant documents in a pool, without judgments to estimate them from


class JudgmentFreeScores(Record, eq=False):
    """How much the systems agree with each other; no judgments are used."""

    systems: tuple[str, ...]
    counts: Floats  # per system: mean over topics of how often other systems have its documents
    pseudo: Floats  # per system: mean AP with pseudo-qrels drawn from the pool
    error: Floats  # the standard error of `pseudo`
    trials: int
    share: float  # of the pool that is drawn as relevant, on average
    spread: float

    def ranking(self) -> list[int]:
        """Systems from the most typical down: by pseudo-AP, then reference counts, then name."""
        return sorted(range(len(self.systems)), key=lambda i: (-self.pseudo[i], -self.counts[i], self.systems[i]))


def score_without_judgments(
    lists: Mapping[str, RankedLists],
    depth: int,
    trials: int = TRIALS,
    share: float = SHARE,
    spread: float = SPREAD,
    seed: int = 1,
) -> JudgmentFreeScores:
    """Score systems by reference counts (Wu & Crestani 2003) and pseudo-qrels (Soboroff et al. 2001).

    Reference counts: a document gets a vote from every other system that has it. Pseudo-qrels: a random share of each
    topic's pool, with one entry per system and document, is presumed relevant; AP is averaged over many trials. The
    share is drawn from a normal distribution; its mean and spread may come from earlier judgments.

    >>> lists = RankedLists("1", ("a", "b", "c"), (("x", "y"), ("y", "x"), ("z", "x")))
    >>> score_without_judgments({"1": lists}, 2).counts.tolist()
    [3.0, 3.0, 2.0]
    """
    if trials < 1 or not 0 < share <= 1 or not 0 <= spread <= 1:
        raise CranfieldError(
            f"trials {trials}, share {share:g}, spread {spread:g}: expected at least 1 trial, a share above 0 and up "
            "to 1, and a spread from 0 to 1."
        )
    systems = next(iter(lists.values())).systems if lists else ()
    counts, values, seen = np.zeros(len(systems)), np.zeros((trials, len(systems))), 0
    for query, topic_lists in lists.items():
        table = _RankTable(topic_lists, depth)
        if not table.docs:
            continue
        seen += 1
        counts += table.counts()
        rng = seeded_generator(seed, "votes", query)
        for trial in range(trials):
            values[trial] += table.average_precision(table.draw_relevant(rng, share, spread))
    means = values / max(seen, 1)
    error = means.std(axis=0, ddof=1) / math.sqrt(trials) if trials > 1 else np.zeros(len(systems))
    return JudgmentFreeScores(systems, counts / max(seen, 1), means.mean(axis=0), error, trials, share, spread)


def relevant_shares(
    lists: Mapping[str, RankedLists], judged: Mapping[str, Mapping[str, float]], rel: float
) -> Sequence[float]:
    """For each judged topic the share of relevant documents among the judged ones."""
    known = [judged[query] for query in lists if judged.get(query)]
    return [sum(grade >= rel for grade in grades.values()) / len(grades) for grades in known]


class _RankTable:
    """The lists of a topic as a table of document numbers, systems × ranks."""

    def __init__(self, lists: RankedLists, depth: int) -> None:
        numbered, self.docs = lists.number_documents(depth)
        self.numbers: Ints = np.full((len(numbered), max(map(len, numbered), default=0)), self.docs, dtype=np.int64)
        for system, numbers in enumerate(numbered):
            self.numbers[system, : len(numbers)] = numbers
        self.systems_with: Ints = np.bincount(self.numbers.ravel(), minlength=self.docs + 1)[: self.docs]

    def counts(self) -> Floats:
        """For each system, how often other systems have its documents."""
        others = np.append(self.systems_with - 1, 0)
        counts: Floats = others[self.numbers].sum(axis=1).astype(np.float64)
        return counts

    def draw_relevant(self, rng: np.random.Generator, share: float, spread: float) -> Ints:
        """Draw the documents presumed relevant; those that more systems have are more likely."""
        number = min(max(round(rng.normal(share, spread) * self.docs), 1), self.docs)
        # keys of -ln(u)/n draw without replacement in proportion to n, the number of systems
        keys = rng.exponential(size=self.docs) / self.systems_with
        return np.argpartition(keys, number - 1)[:number]

    def average_precision(self, relevant: Ints) -> Floats:
        """The AP of each system if these were the relevant documents."""
        hit = np.zeros(self.docs + 1, dtype=bool)
        hit[relevant] = True
        found = hit[self.numbers]
        precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
        value: Floats = (precision * found).sum(axis=1) / len(relevant)
        return value
