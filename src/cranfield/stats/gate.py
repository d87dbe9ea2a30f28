"""Decide whether a candidate is worse than a baseline by more than is allowed, for continuous integration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, join_names, pluralize, sort_naturally
from cranfield.data import Origin
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import JUDGED_DEPTH, Evaluator, RunScores, Scores
from cranfield.io import parse_id
from cranfield.measures import Measure, parse_measures
from cranfield.stats.comparison_warnings import FEW_TOPICS, JUDGED_GAP
from cranfield.stats.multiple import adjust
from cranfield.stats.paired import PairedTest, t_test
from cranfield.stats.paired_scores import PairedScores, pair_scores, win_tie_loss
from cranfield.stats.power import TARGET_POWER, smallest_difference, topics_needed
from cranfield.stats.score_table import ScoredMeasure, find_measure, is_mean_over_queries
from cranfield.tables import state_p

Verdict = Literal["worse", "not worse", "undecided"]
Correction = Literal["none", "holm"]
GATE_MEASURE = "nDCG@10"
GATE_CORRECTIONS: tuple[str, ...] = get_args(Correction)
WORST = 5  # topics that are named
_ROLES = ("baseline", "candidate")


class GateRule(Record):
    """How large a drop is allowed, at which level, and whether an undecided candidate passes."""

    max_drop: float = 0.01
    alpha: float = 0.05
    require_proof: bool = False
    correction: Correction = "none"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.max_drop) and self.max_drop >= 0):
            raise CranfieldError(f"max_drop={self.max_drop:g} is out of range: expected a number of at least 0.")
        # from 0.5, the same scores could be both worse and not worse
        if not 0 < self.alpha < 0.5:
            raise CranfieldError(f"alpha={self.alpha:g} is out of range: expected a number between 0 and 0.5.")
        if self.correction not in GATE_CORRECTIONS:
            known = ", ".join(GATE_CORRECTIONS)
            raise CranfieldError(f"unknown correction {self.correction!r}: expected one of {known}.")

    @property
    def level(self) -> float:
        """The confidence level of a one-sided bound."""
        return 1 - self.alpha

    def passes(self, verdict: Verdict) -> bool:
        return verdict == "not worse" or (verdict == "undecided" and not self.require_proof)


class Loss(Record):
    """A topic on which the candidate is worse."""

    query: str
    baseline: float
    candidate: float


class GateDecision(Record):
    """The decision on one measure. Differences are candidate − baseline; wins are topics the candidate is better on."""

    measure: str
    more_is_better: bool
    rule: GateRule
    verdict: Verdict
    n: int
    baseline_mean: float
    candidate_mean: float
    difference: float
    low: float | None  # lower bound of the difference at the level of the rule; None where nothing is known
    high: float | None  # upper bound at the same level, by itself
    sd: float | None  # of the differences; None for one topic
    t: float | None  # of the difference beyond the allowed drop; None without variance
    p_worse: float  # of the test that the drop is larger than allowed
    p_worse_corrected: float  # corrected for the number of measures, if the rule says so
    p_not_worse: float  # of the test that the drop is not larger than allowed
    wins: int
    ties: int
    losses: int
    worst: tuple[Loss, ...]
    identical: bool  # whether every topic has the same score
    topics_needed: int | None  # to decide an undecided measure, if the true difference is the observed one
    noticed_drop: float | None  # the true drop that these topics would detect with power .8
    only_baseline: tuple[str, ...] = ()  # topics left out because the other has no score for them
    only_candidate: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.rule.passes(self.verdict)

    @property
    def drop(self) -> float:
        """How much worse the candidate is (a rise where less is better); negative if it is better."""
        return (-self.difference if self.more_is_better else self.difference) or 0.0

    @property
    def allowed(self) -> float:
        """The lowest difference that is allowed (the highest, where less is better)."""
        return (-self.rule.max_drop if self.more_is_better else self.rule.max_drop) or 0.0

    @property
    def sentence(self) -> str:
        """The decision with its numbers."""
        more = f" by more than the {self.rule.max_drop:g} allowed" if self.rule.max_drop else ""
        if self.verdict == "worse":
            than = f"more than the {self.rule.max_drop:g} allowed" if more else "where no drop is allowed"
            return f"{self.measure} {self._moved}, {than} ({state_p(self.p_worse_corrected)}, n = {self.n:,})."
        if self.identical:
            return f"{self.measure} is the same on {'the one topic' if self.n == 1 else f'all {self.n:,} topics'}."
        if self.verdict == "not worse":
            fall = "fall" if self.more_is_better else "rise"
            p = state_p(self.p_not_worse)
            return f"{self.measure} did not {fall}{more}: it {self._moved} ({p}, n = {self.n:,})."
        tests = f"{state_p(self.p_worse_corrected)} for worse, {state_p(self.p_not_worse)} for not worse"
        proof = ", and proof is required" if self.rule.require_proof else ""
        on = f"{self.measure} {self._moved} on {pluralize(self.n, 'topic')}"
        return f"{on}; whether it is worse{more} is undecided ({tests}){proof}."

    @property
    def _moved(self) -> str:
        if not self.difference:
            return "stayed the same on average"
        return f"{'rose' if self.difference > 0 else 'fell'} by {abs(self.difference):,.4f}"


class GatedRun(Record):
    """A baseline or a candidate: its scores by measure and topic, and what is known about the run."""

    name: str
    values: Mapping[str, Mapping[str, float]]
    unjudged: float | None = None  # the share of the first ten documents
    missing: int = 0  # judged queries that the run lacks
    origin: Origin | None = None


class Gate(Record):
    """A decision for each measure, and whether the candidate passes. True if it does."""

    baseline: GatedRun
    candidate: GatedRun
    rule: GateRule
    decisions: tuple[GateDecision, ...]
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    conventions: Mapping[str, Any] | None = None
    qrels: Origin | None = None

    @property
    def passed(self) -> bool:
        """Whether every measure passes."""
        return all(decision.passed for decision in self.decisions)

    @property
    def verdict(self) -> Verdict:
        """The worst of the measures' verdicts."""
        verdicts = {decision.verdict for decision in self.decisions}
        return "worse" if "worse" in verdicts else "undecided" if "undecided" in verdicts else "not worse"

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return "\n".join(decision.sentence for decision in self.decisions)


def gate(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: Any = GATE_MEASURE,
    *,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    require_proof: bool = False,
    correction: Correction = "none",
    **options: Any,
) -> Gate:
    """Decide whether a candidate is worse than a baseline by more than `max_drop`, on every measure.

    The one-sided paired t-test decides. A candidate fails if the drop is significantly larger; with `require_proof`, it
    also fails unless the drop is significantly smaller. A run is anything `evaluate` accepts, and options are those of
    `Evaluator`. Instead of a run there may be its scores, {query: score} or a Scores; qrels are needed only for runs.

    >>> before = {"q1": 0.50, "q2": 0.70, "q3": 0.90, "q4": 0.60}
    >>> print(gate(None, before, {"q1": 0.20, "q2": 0.45, "q3": 0.50, "q4": 0.35}))
    nDCG@10 fell by 0.3000, more than the 0.01 allowed (p = .002, n = 4).
    >>> gate(None, before, before, require_proof=True).passed
    True
    """
    rule = GateRule(max_drop, alpha, require_proof, correction)
    given = {"baseline": baseline, "candidate": candidate}
    runs = {role: run for role, run in given.items() if not _are_scores(run)}
    if options and not runs:
        raise CranfieldError(
            f"{join_names(options)} would have no effect: both sides are scores, so no run is evaluated."
        )
    scores = _evaluate(qrels, runs, measures, options) if runs else None
    scored = _parse_measures(measures) if scores is None else _measures_of(scores)
    evaluated = iter(() if scores is None else scores.runs)
    sides = [
        _run_from_scores(scores, next(evaluated), scored)
        if scores is not None and role in runs
        else _run_from_values(role, given[role], scored)
        for role in _ROLES
    ]
    unused = () if scores is not None or qrels is None else ("Both sides are scores: the qrels were not used.",)
    return _decide_all(sides[0], sides[1], scored, rule, scores, unused)


def gate_scores(scores: Scores, rule: GateRule) -> Gate:
    """Decide on two runs that were evaluated together; the first is the baseline."""
    if len(scores.runs) != 2:
        raise CranfieldError(f"expected the scores of two runs, a baseline and a candidate, found {len(scores.runs)}.")
    scored = _measures_of(scores)
    baseline, candidate = (_run_from_scores(scores, run, scored) for run in scores.runs)
    return _decide_all(baseline, candidate, scored, rule, scores)


def decide(
    measure: ScoredMeasure,
    baseline: Mapping[str, float],
    candidate: Mapping[str, float],
    rule: GateRule,
    family: int = 1,
) -> GateDecision:
    """Decide on one of a family of measures, from the scores of both by topic; the family matters only to Holm."""
    tests = _Tests.of(measure, baseline, candidate, rule)
    return _make_decision(tests, rule, tests.worse.pvalue, family)


class _Tests(Record, eq=False):
    """Both tests of one measure, with the sign of differences such that more is better."""

    measure: ScoredMeasure
    pairs: PairedScores
    worse: PairedTest
    not_worse: PairedTest
    losses: tuple[Loss, ...]

    @staticmethod
    def of(
        measure: ScoredMeasure, baseline: Mapping[str, float], candidate: Mapping[str, float], rule: GateRule
    ) -> _Tests:
        sign = measure.direction
        ours = {query: sign * value for query, value in candidate.items()}
        theirs = {query: sign * value for query, value in baseline.items()}
        pairs = pair_scores(ours, theirs)
        shared = [query for query in ours if query in theirs]
        lost = {q: float(d) for q, d in zip(shared, pairs.differences.tolist(), strict=True) if d < 0}
        by_loss = sorted(sort_naturally(lost), key=lost.__getitem__)
        return _Tests(
            measure,
            pairs,
            worse=t_test(ours, theirs, alternative="less", level=rule.level, mu=-rule.max_drop),
            not_worse=t_test(ours, theirs, alternative="greater", level=rule.level, mu=-rule.max_drop),
            losses=tuple(Loss(q, float(baseline[q]), float(candidate[q])) for q in by_loss),
        )


def _decide_all(
    baseline: GatedRun,
    candidate: GatedRun,
    measures: Sequence[ScoredMeasure],
    rule: GateRule,
    scores: Scores | None = None,
    notes: Sequence[str] = (),
) -> Gate:
    tests = [_Tests.of(m, baseline.values[m.label], candidate.values[m.label], rule) for m in measures]
    p = [test.worse.pvalue for test in tests]
    corrected = p if rule.correction == "none" else adjust(p, rule.correction).tolist()
    decisions = tuple(_make_decision(test, rule, own, len(tests)) for test, own in zip(tests, corrected, strict=True))
    conventions = None if scores is None else scores.conventions
    return Gate(
        baseline,
        candidate,
        rule,
        decisions,
        warnings=tuple(_warnings(baseline, candidate, decisions, conventions)),
        notes=(*notes, *_notes(measures), *(() if scores is None else scores.notes)),
        conventions=conventions,
        qrels=None if scores is None else scores.qrels,
    )


def _make_decision(tests: _Tests, rule: GateRule, p_worse: float, family: int) -> GateDecision:
    pairs, sign = tests.pairs, tests.measure.direction
    verdict = _verdict(pairs, p_worse, tests.not_worse.pvalue, rule)
    bounds = [None if end is None else sign * end + 0.0 for end in (tests.not_worse.low, tests.worse.high)]
    wins, ties, losses = win_tie_loss(pairs.differences)
    return GateDecision(
        measure=tests.measure.label,
        more_is_better=tests.measure.more_is_better,
        rule=rule,
        verdict=verdict,
        n=pairs.n,
        baseline_mean=_mean(sign * pairs.b),
        candidate_mean=_mean(sign * pairs.a),
        difference=sign * pairs.mean + 0.0,
        low=bounds[0] if sign > 0 else bounds[1],
        high=bounds[1] if sign > 0 else bounds[0],
        sd=pairs.sd if pairs.n > 1 else None,
        t=sign * tests.worse.statistic if "df" in tests.worse.details else None,
        p_worse=tests.worse.pvalue,
        p_worse_corrected=p_worse,
        p_not_worse=tests.not_worse.pvalue,
        wins=wins,
        ties=ties,
        losses=losses,
        worst=tests.losses[:WORST],
        identical=pairs.identical,
        topics_needed=_topics_needed(pairs, rule, family) if verdict == "undecided" else None,
        noticed_drop=_noticed_drop(pairs, rule, family),
        only_baseline=pairs.only_b,
        only_candidate=pairs.only_a,
    )


def _verdict(pairs: PairedScores, p_worse: float, p_not_worse: float, rule: GateRule) -> Verdict:
    if pairs.identical:  # nothing to infer: no topic has a drop of any size
        return "not worse"
    if p_worse <= rule.alpha:
        return "worse"
    return "not worse" if p_not_worse <= rule.alpha else "undecided"


def _topics_needed(pairs: PairedScores, rule: GateRule, family: int) -> int | None:
    """How many topics would decide, if the true mean and spread of the differences are the observed ones."""
    beyond = pairs.mean + rule.max_drop
    alpha = _level_of_one(rule, family) if beyond < 0 else rule.alpha
    if pairs.n == 1 or not beyond:
        return None
    if not pairs.sd:  # without variance, p is 1 in 2^n
        return math.ceil(-math.log2(alpha))
    return topics_needed(beyond, pairs.sd, TARGET_POWER, alpha, "one-sided")


def _noticed_drop(pairs: PairedScores, rule: GateRule, family: int) -> float | None:
    if not pairs.sd:
        return None
    beyond = smallest_difference(pairs.n, pairs.sd, TARGET_POWER, _level_of_one(rule, family), "one-sided")
    return None if beyond is None else rule.max_drop + beyond


def _level_of_one(rule: GateRule, family: int) -> float:
    """The level at which the first of several measures is called worse."""
    return rule.alpha if rule.correction == "none" else rule.alpha / family


def _mean(values: Any) -> float:
    return math.fsum(values.tolist()) / len(values) + 0.0


def _are_scores(given: Any) -> bool:
    """Whether these are scores rather than a run: a Scores, or {query: number}, maybe as a data frame's column."""
    if isinstance(given, Scores):
        return True
    if not (hasattr(given, "keys") and hasattr(given, "items")):
        return False
    values = [value for _, value in given.items()]
    return bool(values) and all(isinstance(value, (int, float, np.number)) for value in values)


def _evaluate(qrels: Any, runs: Mapping[str, Any], measures: Any, options: Mapping[str, Any]) -> Scores:
    if qrels is None:
        raise EvaluationError(
            f"the {' and the '.join(runs)} must be evaluated: pass the qrels as well, or scores of topics."
        )
    evaluator = Evaluator(qrels, measures, **options)
    return evaluator.scores([evaluator.score(run, _name(role, run)) for role, run in runs.items()])


def _name(role: str, run: Any) -> str | None:
    """The name of a run that has none of its own: its role."""
    has_own = isinstance(run, str) or hasattr(run, "__fspath__") or hasattr(run, "renamed")
    return None if has_own else role


def _parse_measures(measures: Any) -> tuple[ScoredMeasure, ...]:
    """The measures of scores; names that are not in the catalogue are allowed."""
    names = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not all(isinstance(name, Measure) or find_measure(str(name)) for name in names):
        return tuple(ScoredMeasure(str(name), find_measure(str(name))) for name in names)
    return tuple(_require_mean(label, measure) for label, measure in parse_measures(names))


def _measures_of(scores: Scores) -> tuple[ScoredMeasure, ...]:
    _require_plain_means(scores)
    return tuple(
        _require_mean(label, measure)
        for i, (label, measure) in enumerate(zip(scores.labels, scores.measures, strict=True))
        if not scores.part(i)
    )


def _require_mean(label: str, measure: Measure) -> ScoredMeasure:
    if not is_mean_over_queries(measure):
        raise EvaluationError(f"{label} is not a mean over queries, so a t-test cannot decide on it: leave it out.")
    return ScoredMeasure(label, measure)


def _require_plain_means(scores: Scores) -> None:
    if scores.how != "arithmetic" or scores.weights is not None:
        raise EvaluationError(
            "a gate compares plain means over queries: evaluate with mean='arithmetic' and without weights."
        )


def _run_from_scores(scores: Scores, run: RunScores, measures: Sequence[ScoredMeasure]) -> GatedRun:
    unjudged = scores.unjudged(JUDGED_DEPTH, run.name)
    return GatedRun(
        run.name,
        {m.label: scores.per_query(m.label if m.measure is None else m.measure, run.name) for m in measures},
        unjudged=None if math.isnan(unjudged) else unjudged,
        missing=int(np.count_nonzero(run.judged.missing)) + len(scores.queries) - run.judged.n,
        origin=run.origin,
    )


def _run_from_values(role: str, given: Any, measures: Sequence[ScoredMeasure]) -> GatedRun:
    if isinstance(given, Scores):
        _require_plain_means(given)
        if len(given.runs) != 1:
            names = join_names(run.name for run in given.runs)
            raise CranfieldError(f"expected one run as {role}, found the scores of {names}: pass the per_query of one.")
        return _run_from_scores(given, given.runs[0], measures)
    if len(measures) > 1:
        names = join_names(measure.label for measure in measures)
        raise CranfieldError(f"the {role} has the scores of one measure, expected those of {names}: pass a Scores.")
    return GatedRun(role, {measures[0].label: {parse_id(query, "query"): value for query, value in given.items()}})


def _warnings(
    baseline: GatedRun, candidate: GatedRun, decisions: Sequence[GateDecision], conventions: Mapping[str, Any] | None
) -> Iterator[str]:
    yield from _unjudged_warning(baseline, candidate)
    counted_as = "are left out" if conventions and conventions["missing"] == "skip" else "count as 0"
    for side in (baseline, candidate):
        if side.missing:
            yield f"{side.name} lacks {pluralize(side.missing, 'query')} with judgments, which {counted_as}."
    for decision in decisions:
        for side, only in ((baseline, decision.only_baseline), (candidate, decision.only_candidate)):
            # queries that a run lacks have a warning already
            if only and not (baseline.missing or candidate.missing):
                yield (
                    f"{decision.measure}: only {side.name} has a score for {pluralize(len(only), 'topic')} "
                    f"({join_names(only, 3)}), left out."
                )
    few = {decision.n for decision in decisions if decision.n < FEW_TOPICS and not decision.identical}
    if few:
        yield f"{pluralize(min(few), 'topic')}: so few can detect only large drops, and a handful of them decide."


def _unjudged_warning(baseline: GatedRun, candidate: GatedRun) -> Iterator[str]:
    if baseline.unjudged is None or candidate.unjudged is None:
        return
    more = candidate.unjudged - baseline.unjudged
    if abs(more) < JUDGED_GAP:
        return
    shares = f"{candidate.unjudged:.1%} unjudged, that of {baseline.name} {baseline.unjudged:.1%}"
    what = "a drop may be due to missing judgments" if more > 0 else "a drop may be hidden"
    top = f"The top {JUDGED_DEPTH} of {candidate.name}"
    yield f"{top} is {shares}: {what}, as unjudged documents count as not relevant."


def _notes(measures: Sequence[ScoredMeasure]) -> Iterator[str]:
    for scored in measures:
        measure = scored.measure
        if measure is None:
            yield f"{scored.label} is not in the catalogue of measures: more is assumed to be better."
        elif measure.aggregate == "sum":
            yield f"{scored.label} is a count: its mean over topics is compared."
        elif not measure.is_quality:
            better = "more" if measure.more_is_better else "less"
            yield f"{scored.label} does not measure quality by itself: {better} is assumed to be better."
