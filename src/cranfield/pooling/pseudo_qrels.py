"""Systems ranked without judgments: what many systems have is taken for relevant. A guess, and marked as one.

Agreement is not relevance. A system that finds what others miss is punished for it, so that the best ones are ranked
worst; a ranking like this says who is usual, not who is good.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats, Ints
from cranfield.errors import CranfieldError
from cranfield.pooling.lists import Lists
from cranfield.pooling.strategy import seeded

TRIALS = 50
SHARE, SPREAD = 0.1, 0.05  # of a pool that is relevant, where no judgments say it


class Votes(Record, eq=False):
    """What systems are worth by each other's votes: no judgment was looked at."""

    systems: tuple[str, ...]
    counts: Floats  # per system: mean over topics of the votes that others give its documents
    pseudo: Floats  # per system: mean AP by pseudo-qrels drawn from the pool
    error: Floats  # the standard error of that by the number of trials
    trials: int
    share: float  # of a pool that is drawn as relevant, on average
    spread: float

    def ranking(self) -> list[int]:
        """Systems from the most usual down, by pseudo-qrels, then votes, then name."""
        return sorted(range(len(self.systems)), key=lambda i: (-self.pseudo[i], -self.counts[i], self.systems[i]))


def votes(
    lists: Mapping[str, Lists],
    depth: int,
    trials: int = TRIALS,
    share: float = SHARE,
    spread: float = SPREAD,
    seed: int = 1,
) -> Votes:
    """Rank systems without judgments, by reference counts (Wu & Crestani 2003) and pseudo-qrels (Soboroff et al. 2001).

    Reference counts: a document has a vote from every other system that has it too. Pseudo-qrels: of each topic's pool,
    in which a document stands as often as systems have it, a random share is taken for relevant; the mean AP over many
    trials. The share is normal with a mean and a spread, which earlier judgments may tell.

    >>> lists = Lists("1", ("a", "b", "c"), (("x", "y"), ("y", "x"), ("z", "x")))
    >>> votes({"1": lists}, 2).counts.tolist()
    [3.0, 3.0, 2.0]
    """
    if trials < 1 or not 0 < share <= 1 or not 0 <= spread <= 1:
        raise CranfieldError(
            f"votes: trials {trials}, share {share:g} and spread {spread:g}, expected trials from 1, a share above 0 "
            "and at most 1, and a spread from 0 to 1."
        )
    systems = next(iter(lists.values())).systems if lists else ()
    counts, values, seen = np.zeros(len(systems)), np.zeros((trials, len(systems))), 0
    for query, own in lists.items():
        table = _Table(own, depth)
        if not table.docs:
            continue
        seen += 1
        counts += table.counts()
        chance = seeded(seed, "votes", query)
        for trial in range(trials):
            values[trial] += table.average_precision(table.drawn(chance, share, spread))
    means = values / max(seen, 1)
    error = means.std(axis=0, ddof=1) / math.sqrt(trials) if trials > 1 else np.zeros(len(systems))
    return Votes(systems, counts / max(seen, 1), means.mean(axis=0), error, trials, share, spread)


def relevant_shares(
    lists: Mapping[str, Lists], judged: Mapping[str, Mapping[str, float]], rel: float
) -> Sequence[float]:
    """For each judged topic the share of its judged documents that are relevant."""
    known = [judged[query] for query in lists if judged.get(query)]
    return [sum(grade >= rel for grade in grades.values()) / len(grades) for grades in known]


class _Table:
    """The lists of a topic as numbers."""

    def __init__(self, lists: Lists, depth: int) -> None:
        number: dict[str, int] = {}
        places = [[number.setdefault(doc, len(number)) for doc in docs[:depth]] for docs in lists.docs]
        self.docs = len(number)
        self.places: Ints = np.full((len(places), max(map(len, places), default=0)), self.docs, dtype=np.int64)
        for system, at in enumerate(places):
            self.places[system, : len(at)] = at
        self.held: Ints = np.bincount(self.places.ravel(), minlength=self.docs + 1)[: self.docs]

    def counts(self) -> Floats:
        """For each system the votes of others for its documents."""
        others = np.append(self.held - 1, 0)
        counts: Floats = others[self.places].sum(axis=1).astype(np.float64)
        return counts

    def drawn(self, chance: np.random.Generator, share: float, spread: float) -> Ints:
        """Documents taken for relevant, those that more systems have with the better chance."""
        wanted = round(chance.normal(share, spread) * self.docs)
        number = min(max(wanted, 1), self.docs)
        # the first of the pool with repeats, shuffled: keys of -ln(u)/n draw without replacement in proportion to n
        keys = chance.exponential(size=self.docs) / self.held
        return np.argpartition(keys, number - 1)[:number]

    def average_precision(self, relevant: Ints) -> Floats:
        """The AP of each system if these were the relevant documents."""
        hit = np.zeros(self.docs + 1, dtype=bool)
        hit[relevant] = True
        found = hit[self.places]
        precision = np.cumsum(found, axis=1) / np.arange(1, found.shape[1] + 1)
        value: Floats = (precision * found).sum(axis=1) / len(relevant)
        return value
