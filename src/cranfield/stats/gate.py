"""Is a candidate worse than a baseline by more than is allowed? Yes, no, or undecided: for continuous integration."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from cranfield.base import Record, join_names, pluralize, sort_naturally
from cranfield.data import Origin
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import TOP, Evaluator, RunScores, Scores
from cranfield.io import parse_id
from cranfield.measures import Measure, parse_measures
from cranfield.stats.claims import FEW_TOPICS, JUDGED_APART, POWER, p_text
from cranfield.stats.multiple import adjust
from cranfield.stats.paired import PairedTest, t_test
from cranfield.stats.paired_scores import Pairs, pair, win_tie_loss
from cranfield.stats.power import smallest_difference, topics_needed
from cranfield.stats.score_table import Scored, known_measure

Verdict = Literal["worse", "not worse", "undecided"]
Correction = Literal["none", "holm"]
MEASURE = "nDCG@10"
WORST = 5  # topics that are named
_ROLES = ("baseline", "candidate")


class Rule(Record):
    """What is allowed, how sure one must be, and who bears the doubt: the baseline unless proof is required."""

    max_drop: float = 0.01
    alpha: float = 0.05
    require_proof: bool = False
    correction: Correction = "none"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.max_drop) and self.max_drop >= 0):
            raise CranfieldError(f"max_drop={self.max_drop:g} is out of range: expected a number of at least 0.")
        # from one half on, the same scores could be both worse and not worse
        if not 0 < self.alpha < 0.5:
            raise CranfieldError(f"alpha={self.alpha:g} is out of range: expected a number between 0 and 0.5.")
        if self.correction not in get_args(Correction):
            known = ", ".join(get_args(Correction))
            raise CranfieldError(f"correction {self.correction!r} is unknown: expected one of {known}.")

    @property
    def level(self) -> float:
        """The confidence of a bound on one side."""
        return 1 - self.alpha

    def passes(self, verdict: Verdict) -> bool:
        return verdict == "not worse" or (verdict == "undecided" and not self.require_proof)


class Loss(Record):
    """A topic on which the candidate is worse."""

    query: str
    baseline: float
    candidate: float


class Decision(Record):
    """What is decided on one measure. Differences are candidate − baseline; topics are won by the candidate."""

    measure: str
    more_is_better: bool
    rule: Rule
    verdict: Verdict
    n: int
    baseline_mean: float
    candidate_mean: float
    difference: float
    low: float | None  # the difference is not below this, with the confidence of the rule; None where nothing is known
    high: float | None  # nor above this, with the same confidence by itself
    sd: float | None  # of the differences; None for one topic
    t: float | None  # of the difference beyond what is allowed; None without variance
    p_worse: float  # that such a drop is found by chance where none is
    p_worse_corrected: float  # the same, corrected for the number of measures if the rule says so
    p_not_worse: float  # that a drop this small is found by chance where it is more than allowed
    wins: int
    ties: int
    losses: int
    worst: tuple[Loss, ...]
    identical: bool  # whether every topic has the same score
    topics_needed: int | None  # to decide what is undecided, if the difference is what it was found to be
    noticed_drop: float | None  # the true drop that these topics would show to be too large, 4 times in 5
    only_baseline: tuple[str, ...] = ()  # topics left out, as the other has no score for them
    only_candidate: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.rule.passes(self.verdict)

    @property
    def drop(self) -> float:
        """How much worse the candidate is, which is a rise where less is better; negative if it is better."""
        return (-self.difference if self.more_is_better else self.difference) or 0.0

    @property
    def allowed(self) -> float:
        """The difference down to which (or up to which, where less is better) a candidate may go."""
        return (-self.rule.max_drop if self.more_is_better else self.rule.max_drop) or 0.0

    @property
    def sentence(self) -> str:
        """What was decided, with its figures."""
        more = f" by more than the {self.rule.max_drop:g} allowed" if self.rule.max_drop else ""
        if self.verdict == "worse":
            than = f"which is more than the {self.rule.max_drop:g} allowed" if more else "where no loss is allowed"
            return f"{self.measure} {self._moved}, {than} ({p_text(self.p_worse_corrected)}, n = {self.n:,})."
        if self.identical:
            return f"{self.measure} is the same on {'the one topic' if self.n == 1 else f'all {self.n:,} topics'}."
        if self.verdict == "not worse":
            fall = "fall" if self.more_is_better else "rise"
            p = p_text(self.p_not_worse)
            return f"{self.measure} did not {fall}{more}: it {self._moved} ({p}, n = {self.n:,})."
        tests = f"{p_text(self.p_worse_corrected)} for worse, {p_text(self.p_not_worse)} for not worse"
        proof = ", and proof is required" if self.rule.require_proof else ""
        on = f"{self.measure} {self._moved} on {pluralize(self.n, 'topic')}"
        return f"{on}; whether it is worse{more} is undecided ({tests}){proof}."

    @property
    def _moved(self) -> str:
        if not self.difference:
            return "stayed the same on average"
        return f"{'rose' if self.difference > 0 else 'fell'} by {abs(self.difference):,.4f}"


class Side(Record):
    """A baseline or a candidate: its scores by measure and topic, and what is known of the run."""

    name: str
    values: Mapping[str, Mapping[str, float]]
    unjudged: float | None = None  # the share of the first ten documents
    missing: int = 0  # judged queries that it has nothing for
    origin: Origin | None = None


class Gate(Record):
    """What `gate` gives: a decision for each measure, and whether the candidate may pass. True if it may."""

    baseline: Side
    candidate: Side
    rule: Rule
    decisions: tuple[Decision, ...]
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
        found = {decision.verdict for decision in self.decisions}
        return "worse" if "worse" in found else "undecided" if "undecided" in found else "not worse"

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return "\n".join(decision.sentence for decision in self.decisions)


def gate(
    qrels: Any,
    baseline: Any,
    candidate: Any,
    measures: Any = MEASURE,
    *,
    max_drop: float = 0.01,
    alpha: float = 0.05,
    require_proof: bool = False,
    correction: Correction = "none",
    **options: Any,
) -> Gate:
    """Decide whether a candidate is worse than a baseline by more than `max_drop`, on every measure.

    The one-sided paired t-test decides. A candidate fails if a larger drop is shown; with `require_proof`, unless it is
    shown that there is none. A run is whatever `evaluate` takes, and options are those of `Evaluator`. In the place of
    a run there may be its scores, {query: score} or a Scores; qrels are needed for runs only, and may be None.

    >>> before = {"q1": 0.50, "q2": 0.70, "q3": 0.90, "q4": 0.60}
    >>> print(gate(None, before, {"q1": 0.20, "q2": 0.45, "q3": 0.50, "q4": 0.35}))
    nDCG@10 fell by 0.3000, which is more than the 0.01 allowed (p = .002, n = 4).
    >>> gate(None, before, before, require_proof=True).passed
    True
    """
    rule = Rule(max_drop, alpha, require_proof, correction)
    given = {"baseline": baseline, "candidate": candidate}
    runs = {role: run for role, run in given.items() if not _are_scores(run)}
    if options and not runs:
        raise CranfieldError(
            f"{join_names(options)} would change nothing: the scores are given, and no run is evaluated."
        )
    scores = _evaluated(qrels, runs, measures, options) if runs else None
    scored = _named(measures) if scores is None else _scored(scores)
    evaluated = iter(() if scores is None else scores.runs)
    sides = [
        _evaluated_side(scores, next(evaluated), scored)
        if scores is not None and role in runs
        else _given_side(role, given[role], scored)
        for role in _ROLES
    ]
    unused = () if scores is not None or qrels is None else ("The scores were given: the qrels were not used.",)
    return _decided(sides[0], sides[1], scored, rule, scores, unused)


def gate_scores(scores: Scores, rule: Rule) -> Gate:
    """The same for two runs that were evaluated together, the first being the baseline."""
    if len(scores.runs) != 2:
        raise CranfieldError(f"a gate is between two runs, a baseline and a candidate; found {len(scores.runs)}.")
    scored = _scored(scores)
    baseline, candidate = (_evaluated_side(scores, run, scored) for run in scores.runs)
    return _decided(baseline, candidate, scored, rule, scores)


def decide(
    measure: Scored, baseline: Mapping[str, float], candidate: Mapping[str, float], rule: Rule, family: int = 1
) -> Decision:
    """One measure by itself, from the scores of both by topic; of how many measures it is one matters to Holm only."""
    tests = _Tests.of(measure, baseline, candidate, rule)
    return _decision(tests, rule, tests.worse.pvalue, family)


class _Tests(Record, eq=False):
    """Both tests of one measure, of differences turned so that more is better."""

    measure: Scored
    pairs: Pairs
    worse: PairedTest
    not_worse: PairedTest
    losses: tuple[Loss, ...]

    @staticmethod
    def of(measure: Scored, baseline: Mapping[str, float], candidate: Mapping[str, float], rule: Rule) -> _Tests:
        sign = measure.direction
        ours = {query: sign * value for query, value in candidate.items()}
        theirs = {query: sign * value for query, value in baseline.items()}
        pairs = pair(ours, theirs)
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


def _decided(
    baseline: Side,
    candidate: Side,
    measures: Sequence[Scored],
    rule: Rule,
    scores: Scores | None = None,
    notes: Sequence[str] = (),
) -> Gate:
    tests = [_Tests.of(m, baseline.values[m.label], candidate.values[m.label], rule) for m in measures]
    p = [test.worse.pvalue for test in tests]
    corrected = p if rule.correction == "none" else adjust(p, rule.correction).tolist()
    decisions = tuple(_decision(test, rule, own, len(tests)) for test, own in zip(tests, corrected, strict=True))
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


def _decision(tests: _Tests, rule: Rule, p_worse: float, family: int) -> Decision:
    pairs, sign = tests.pairs, tests.measure.direction
    verdict = _verdict(pairs, p_worse, tests.not_worse.pvalue, rule)
    bounds = [None if end is None else sign * end + 0.0 for end in (tests.not_worse.low, tests.worse.high)]
    wins, ties, losses = win_tie_loss(pairs.differences)
    return Decision(
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


def _verdict(pairs: Pairs, p_worse: float, p_not_worse: float, rule: Rule) -> Verdict:
    if pairs.identical:  # there is nothing to infer: no topic has a drop of any size
        return "not worse"
    if p_worse <= rule.alpha:
        return "worse"
    return "not worse" if p_not_worse <= rule.alpha else "undecided"


def _topics_needed(pairs: Pairs, rule: Rule, family: int) -> int | None:
    """How many topics would decide, if mean and spread of the differences are what they were found to be."""
    beyond = pairs.mean + rule.max_drop
    alpha = _level_of_one(rule, family) if beyond < 0 else rule.alpha
    if pairs.n == 1 or not beyond:
        return None
    if not pairs.sd:  # without variance p is 1 in 2^n
        return math.ceil(-math.log2(alpha))
    return topics_needed(beyond, pairs.sd, POWER, alpha, "one-sided")


def _noticed_drop(pairs: Pairs, rule: Rule, family: int) -> float | None:
    if not pairs.sd:
        return None
    beyond = smallest_difference(pairs.n, pairs.sd, POWER, _level_of_one(rule, family), "one-sided")
    return None if beyond is None else rule.max_drop + beyond


def _level_of_one(rule: Rule, family: int) -> float:
    """The level at which the first of several measures is found to be worse."""
    return rule.alpha if rule.correction == "none" else rule.alpha / family


def _mean(values: Any) -> float:
    return math.fsum(values.tolist()) / len(values) + 0.0


def _are_scores(given: Any) -> bool:
    """Whether something is scores rather than a run: a Scores, or {query: number}, maybe as a data frame's column."""
    if isinstance(given, Scores):
        return True
    if not (hasattr(given, "keys") and hasattr(given, "items")):
        return False
    values = [value for _, value in given.items()]
    return bool(values) and all(isinstance(value, (int, float, np.number)) for value in values)


def _evaluated(qrels: Any, runs: Mapping[str, Any], measures: Any, options: Mapping[str, Any]) -> Scores:
    if qrels is None:
        raise EvaluationError(
            f"the {' and the '.join(runs)} must be evaluated: give the qrels too, or scores of topics."
        )
    evaluator = Evaluator(qrels, measures, **options)
    return evaluator.scores([evaluator.score(run, _name(role, run)) for role, run in runs.items()])


def _name(role: str, run: Any) -> str | None:
    """What a run is called: as its file, by its own name, or for what it is here."""
    has_own = isinstance(run, str) or hasattr(run, "__fspath__") or hasattr(run, "renamed")
    return None if has_own else role


def _named(measures: Any) -> tuple[Scored, ...]:
    """Measures of scores that are given; a name that is none of ours will do."""
    names = [measures] if isinstance(measures, (str, Measure)) else list(measures)
    if not all(isinstance(name, Measure) or known_measure(str(name)) for name in names):
        return tuple(Scored(str(name), known_measure(str(name))) for name in names)
    return tuple(_comparable(label, measure) for label, measure in parse_measures(names))


def _scored(scores: Scores) -> tuple[Scored, ...]:
    _require_plain_means(scores)
    return tuple(
        _comparable(label, measure)
        for i, (label, measure) in enumerate(zip(scores.labels, scores.measures, strict=True))
        if not scores.part(i)
    )


def _comparable(label: str, measure: Measure) -> Scored:
    if measure.aggregate not in ("mean", "sum"):
        raise EvaluationError(f"{label} is no plain mean over queries, so that no t-test decides on it: leave it out.")
    return Scored(label, measure)


def _require_plain_means(scores: Scores) -> None:
    if scores.how != "arithmetic" or scores.weights is not None:
        raise EvaluationError(
            "a gate is on plain means over queries: evaluate with mean='arithmetic' and without weights."
        )


def _evaluated_side(scores: Scores, run: RunScores, measures: Sequence[Scored]) -> Side:
    unjudged = scores.unjudged(TOP, run.name)
    return Side(
        run.name,
        {m.label: scores.per_query(m.label if m.measure is None else m.measure, run.name) for m in measures},
        unjudged=None if math.isnan(unjudged) else unjudged,
        missing=int(np.count_nonzero(run.judged.missing)) + len(scores.queries) - run.judged.n,
        origin=run.origin,
    )


def _given_side(role: str, given: Any, measures: Sequence[Scored]) -> Side:
    if isinstance(given, Scores):
        _require_plain_means(given)
        if len(given.runs) != 1:
            names = join_names(run.name for run in given.runs)
            raise CranfieldError(f"the {role} is to be one run, found the scores of {names}: take one's per_query.")
        return _evaluated_side(given, given.runs[0], measures)
    if len(measures) > 1:
        names = join_names(measure.label for measure in measures)
        raise CranfieldError(f"the scores of the {role} are of one measure, and {names} were asked for: give Scores.")
    return Side(role, {measures[0].label: {parse_id(query, "query"): value for query, value in given.items()}})


def _warnings(
    baseline: Side, candidate: Side, decisions: Sequence[Decision], conventions: Mapping[str, Any] | None
) -> Iterator[str]:
    yield from _unjudged_warning(baseline, candidate)
    counted_as = "are left out" if conventions and conventions["missing"] == "skip" else "count as 0"
    for side in (baseline, candidate):
        if side.missing:
            yield f"{side.name} has nothing for {pluralize(side.missing, 'query')} with judgments, which {counted_as}."
    for decision in decisions:
        for side, only in ((baseline, decision.only_baseline), (candidate, decision.only_candidate)):
            # those that a run lacks have been counted
            if only and not (baseline.missing or candidate.missing):
                yield (
                    f"{decision.measure}: only {side.name} has a score for {pluralize(len(only), 'topic')} "
                    f"({join_names(only, 3)}), left out."
                )
    few = {decision.n for decision in decisions if decision.n < FEW_TOPICS and not decision.identical}
    if few:
        topics = pluralize(min(few), "topic")
        yield f"{topics}: so few show large drops only, and a handful of them make the difference."


def _unjudged_warning(baseline: Side, candidate: Side) -> Iterator[str]:
    if baseline.unjudged is None or candidate.unjudged is None:
        return
    more = candidate.unjudged - baseline.unjudged
    if abs(more) < JUDGED_APART:
        return
    shares = f"{candidate.unjudged:.1%} unjudged, that of {baseline.name} {baseline.unjudged:.1%}"
    what = "a drop may be for want of judgments" if more > 0 else "a drop may be hidden"
    yield f"The top {TOP} of {candidate.name} is {shares}: {what}, as unjudged documents count as not relevant."


def _notes(measures: Sequence[Scored]) -> Iterator[str]:
    for scored in measures:
        measure = scored.measure
        if measure is None:
            yield f"{scored.label} is no measure known here: more is taken to be better."
        elif measure.aggregate == "sum":
            yield f"{scored.label} is a count: its mean over topics is compared."
        elif not measure.is_quality:
            better = "more" if measure.more_is_better else "less"
            yield f"{scored.label} does not say by itself how good a run is: {better} is taken to be better."
