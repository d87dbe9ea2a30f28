"""Dawid & Skene's model of assessors: likely grades and error rates, estimated from judgments."""

from __future__ import annotations

import math

import numpy as np

from cranfield.base import Record
from cranfield.data import Floats
from cranfield.errors import CranfieldError
from cranfield.stats.agreement import NO_GRADE, Ratings

ITERATIONS = 100
LEAST_GAIN = 1e-8  # of log-likelihood per judgment: with less, the estimate has converged
_LEAST = 1e-10  # probability of a grade that an assessor never gave: improbable, not impossible


class DawidSkene(Record, eq=False):
    """The probability of every grade for every item, and the error rates of each assessor."""

    posterior: Floats  # items × grades
    prior: Floats  # how frequent each grade is
    errors: Floats  # assessors × true grade × grade given
    log_likelihoods: tuple[float, ...]  # before each iteration, and after the last
    has_converged: bool

    @property
    def iterations(self) -> int:
        return len(self.log_likelihoods) - 1

    @property
    def accuracy(self) -> Floats:
        """How often each assessor is right according to the model, averaged over grades by frequency."""
        right: Floats = np.einsum("k,wkk->w", self.prior, self.errors)
        return right


def dawid_skene(ratings: Ratings, iterations: int | None = None) -> DawidSkene:
    """Estimate true grades and assessors' error rates together, by expectation maximisation.

    Assessors are assumed to err independently, at rates that depend only on the true grade (Dawid & Skene, Applied
    Statistics 28, 1979). The estimate starts from the shares of votes and stops when the log-likelihood gains less
    than 1e-8 per judgment, at most after 100 iterations, or after a given number of iterations.

    >>> from cranfield.stats.agreement import as_ratings
    >>> found = dawid_skene(as_ratings([[1, 1, 0], [0, 0, 1], [1, 1, 0], [0, 0, 0], [1, 1, 0]]))
    >>> found.posterior.argmax(axis=1).tolist()
    [1, 0, 1, 0, 1]
    """
    if iterations is not None and iterations < 0:
        raise CranfieldError(f"iterations={iterations} is out of range: expected a number from 0.")
    if not len(ratings.codes) or (ratings.judged == 0).any():
        raise CranfieldError("an item has no judgment: its grade cannot be estimated.")
    # items with the same judgments have the same probabilities
    codes, place, number = np.unique(ratings.codes, axis=0, return_inverse=True, return_counts=True)
    times = number.astype(np.float64)
    given = np.eye(ratings.grades + 1)[codes][:, :, :-1]  # patterns × assessors × grades; nothing where missing
    votes = given.sum(axis=1)
    posterior = votes / votes.sum(axis=1, keepdims=True)
    judgments = float(np.count_nonzero(ratings.codes != NO_GRADE))
    prior, errors = _rates(posterior, given, times)
    found: list[float] = []
    has_converged = False
    for _ in range(ITERATIONS if iterations is None else iterations):
        likelihood, posterior = _chances(prior, errors, given, times)
        found.append(likelihood)
        prior, errors = _rates(posterior, given, times)
        if len(found) > 1 and found[-1] - found[-2] < LEAST_GAIN * judgments:
            has_converged = True
            if iterations is None:
                break
    likelihood, _ = _chances(prior, errors, given, times)
    return DawidSkene(posterior[place.ravel()], prior, errors, (*found, likelihood), has_converged)


def _rates(posterior: Floats, given: Floats, times: Floats) -> tuple[Floats, Floats]:
    """Frequencies of grades and error rates of assessors, given the probabilities of the grades."""
    weighted = posterior * times[:, None]
    prior = weighted.sum(axis=0) / times.sum()
    errors = np.maximum(np.einsum("pk,pwl->wkl", weighted, given), _LEAST)
    return prior, errors / errors.sum(axis=2, keepdims=True)


def _chances(prior: Floats, errors: Floats, given: Floats, times: Floats) -> tuple[float, Floats]:
    """The log-likelihood of the judgments, and the probabilities of the grades."""
    logs = np.log(np.maximum(prior, 1e-300)) + np.einsum("pwl,wkl->pk", given, np.log(errors))
    top = logs.max(axis=1, keepdims=True)
    chances = np.exp(logs - top)
    total = chances.sum(axis=1, keepdims=True)
    return math.fsum((times * (top + np.log(total))[:, 0]).tolist()), chances / total
