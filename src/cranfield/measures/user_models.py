"""Measures that spell out what a user does: RBP, ERR, and those of the C/W/L framework (INST, BPM, TBG, IFT, …).

In that framework a user at rank i goes on to rank i + 1 with probability C_i. From C follow the chance to reach each
rank, the share W of attention it gets and the chance L that the user stops there, and from these five values: the
expected utility per document (EU) and in all (ETU), the expected cost per document (EC) and in all (ETC), and the
expected depth (ED).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from cranfield.base import Flag, Parameter, Record
from cranfield.data import Bools, Floats, Ints, Qrels
from cranfield.errors import MeasureError
from cranfield.joining import Extras, JudgedRun, share
from cranfield.measures.base import Measure
from cranfield.measures.parameters import CUTOFF, MANY, REL
from cranfield.measures.ties import mean_weight

VALUES = ("EU", "ETU", "EC", "ETC", "ED")
_AT_ONCE = 100_000  # ranks that are looked at together, of as many queries as have so many in all
_AZZOPARDI = "Azzopardi, Thomas & Moffat, cwl_eval: An evaluation tool for information retrieval, SIGIR 2019"
_NERR = "Azzopardi, Mackenzie & Moffat, ERR is not C/W/L, ICTIR 2021"
_BPM = "Zhang et al., Evaluating web search with a Bejeweled player model, SIGIR 2017"
_SCALE = (
    " A grade gains (grade − min_rel) / (max_rel − min_rel), cut to 0 and 1. Unless max_rel is given, grades of 1 and"
    " more gain 1; give the highest grade of the scale to tell them apart (ir_measures wants it given)."
)
# what each rank adds to a value, in terms of weight, stopping, gain, cost and continuation
_SUMS = {"EU": "W_i g_i", "ETU": "L_i G_i", "EC": "W_i c_i", "ETC": "L_i K_i", "ED": r"\prod_{j<i} C_j"}
_MEANING = {  # symbols of the formulas above and of the models, where these do not say what they are
    "W_i": r"W_i \propto \prod_{j<i} C_j",
    "L_i": r"L_i = (1 - C_i) \prod_{j<i} C_j",
    "G_i": r"G_i = \sum_{j=1}^{i} g_j",
    "K_i": r"K_i = \sum_{j=1}^{i} c_j",
}
_BY_WEIGHTS = r", \quad C_i = W_{i+1} / W_i"
# of the other values than EU: what they are, and what ranks weigh in them
_EXPECTED = {
    "EU": "The gain per document that the user described here expects.",
    "ETU": "The gain in all that the user described here expects.",
    "EC": "The cost per document that the user described here expects.",
    "ETC": "The cost in all that the user described here expects.",
    "ED": "The number of documents that the user described here is expected to read.",
}
_DEPENDS = "depends on the ranking: "
_READ = "the chance that the user reads rank i and stops there or later, before the ranking ends"
_LONGER = "A better document may be longer and cost more than the one it changes places with."
_BINARY = " With rel a document gains 1 or 0."


class Lists(Record):
    """What some rankings offer: one row a query, one column a rank, filled up to the same depth."""

    gain: Floats
    cost: Floats
    length: Ints  # how many documents each query retrieved
    relevant: Floats  # how many documents that gain something each query has, retrieved or not

    @cached_property
    def rank(self) -> Floats:
        return np.arange(1.0, self.gain.shape[1] + 1)

    @cached_property
    def gain_so_far(self) -> Floats:
        return np.cumsum(self.gain, axis=1)

    @cached_property
    def cost_so_far(self) -> Floats:
        return np.cumsum(self.cost, axis=1)


class Walk(Record):
    """What users do with the rankings, in the same rows and columns."""

    go_on: Floats  # C: the chance to go on to the next rank
    reach: Floats  # the chance to reach a rank
    weight: Floats  # W: the share of attention a rank gets
    stop: Floats  # L: the chance that it is the last one read


class UserModel(Measure):
    """A measure of the C/W/L framework; a subclass says with what chance a user goes on from each rank."""

    max_rel: float = 1.0
    min_rel: float = 0.0
    value: str = "EU"
    residual: bool = False
    depth: int | None = 1000
    cost: str | None = None

    reference: ClassVar[str] = _AZZOPARDI
    tasks: ClassVar[tuple[str, ...]] = ("graded",)
    parameters: ClassVar = {
        "max_rel": Parameter("the grade that gains 1, as do higher ones", examples=(2,)),
        "min_rel": Parameter("the grade that gains 0, as do all below it", examples=(1,)),
        "value": Parameter(
            "expected utility per document (EU) or in all (ETU), cost per document (EC) or in all (ETC), depth (ED)",
            choices=VALUES,
        ),
        "residual": Flag("by how much the value would be higher if all unjudged documents and ranks gained 1"),
        "depth": Parameter(
            "the rank at which every ranking ends", low=1, high=10**6, whole=True, examples=(20, 2), symbol="n"
        ),
        "cost": Parameter(
            "what a document costs: 1 (rank), or its length (--doc-lengths; the mean of all where it is unknown)",
            choices=("rank", "length"),
            symbol="c K",
        ),
    }
    example: ClassVar = {"max_rel": 3}
    lacks: ClassVar = {"perfect": "The value is 1 only if documents that gain 1 never end."}
    length_is_cost: ClassVar[bool] = False  # whether lengths are the costs, where they are known, unless told otherwise
    weights_are_given: ClassVar[bool] = False  # whether what users find does not change how far they go

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_rel <= self.min_rel:
            raise MeasureError(f"max_rel={self.max_rel:g} must be greater than min_rel={self.min_rel:g}.")
        for name, attribute in self._changed_by_parameters().items():
            object.__setattr__(self, name, attribute)

    def _changed_by_parameters(self) -> dict[str, Any]:
        """What is not as the class says, which is meant for the expected utility with costs of 1."""
        changed: dict[str, Any] = {}
        if self.cost == "length":
            changed["lacks"] = {**self.lacks, "swap": _LONGER}
        if self.value != "EU" or self.residual:
            why = "Only the expected utility per document is a measure of quality."
            changed |= {"is_quality": False, "lacks": {**self.lacks, "swap": why}}
        if self.value not in ("EU", "ETU") or self.residual:
            changed["grades_help"] = self.weights_are_given
        if self.value != "EU":
            changed["high"] = math.inf
        if self.residual and not self.weights_are_given:  # of a user who adapts it may be negative
            changed["low"] = -1.0 if self.value == "EU" else -float(MANY)
        if self.residual:
            changed["nothing_found"] = "what unjudged documents and ranks could add"
        elif not self._weighs_gains:
            changed["nothing_found"] = "what is spent while nothing is found"
        if not self._weighs_gains and self.weights_are_given:
            costs = self.value != "ED" and (self.cost == "length" or self.length_is_cost)
            changed["ignores"] = f"Ignores what is relevant{'' if costs else ', and which documents are retrieved'}."
        return changed

    @property
    def shown_summary(self) -> str:
        if self.value == "EU" and not self.residual:
            return super().shown_summary
        whole = _EXPECTED[self.value]
        if not self.residual:
            return whole
        return f"By how much this would be higher if all that is unjudged gained 1: {whole[0].lower()}{whole[1:]}"

    @property
    def shown_weighting(self) -> str:
        weights = self._expected_weighting().removeprefix(_DEPENDS)
        if self.value in ("EC", "ETC"):
            weights = f"of costs, not of gains: {weights}"
        if not self.weights_are_given:
            more = ", with and without a gain of 1 for all that is unjudged" if self.residual else ""
            return f"{_DEPENDS}{weights}{more}"
        if not self.residual:
            return weights
        return f"{weights}, for what is unjudged" if self._weighs_gains else "none: what is unjudged changes nothing"

    @property
    def _weighs_gains(self) -> bool:
        return self.value in ("EU", "ETU")

    def _expected_weighting(self) -> str:
        """The weights of ranks in the chosen value."""
        if self.value in ("EU", "EC"):
            return self.weighting
        if self.value == "ED":
            return "no gain weighs anything; each rank counts with the chance that the user reaches it"
        return _READ

    @property
    def model(self) -> str:
        """How users go on, or what weight they give each rank, as a formula."""
        return self.formula.partition(r", \quad ")[2]

    @property
    def shown_formula(self) -> str:
        parts = [*self._value_formula(), *self._gain_formula()]
        known = " ".join(parts)
        for symbol, meaning in _MEANING.items():
            if symbol in known and not any(f"{symbol} {sign}" in known for sign in ("=", r"\propto")):
                parts.append(meaning)
                known += meaning
        return r", \quad ".join(parts)

    def _value_formula(self) -> list[str]:
        """The value, and how users go on."""
        if self.value == "EU" and not self.residual:
            return self._utility_formula()
        last = "n" if self.depth else r"\infty"
        whole = rf"\sum_{{i=1}}^{{{last}}} {_SUMS[self.value]}"
        if self.residual:
            # all that is unjudged gains 1 in the one and nothing in the other
            whole = rf"\Big[ {whole} \Big]_{{g_? = 1}} - \Big[ {whole} \Big]_{{g_? = 0}}"
        return [whole, *filter(None, self.model.split(r", \quad "))]

    def _utility_formula(self) -> list[str]:
        return self.formula.split(r", \quad ")

    def _gain_formula(self) -> Iterator[str]:
        """What a document gains, where that is not as by default."""
        rel = getattr(self, "rel", None)
        if rel is not None:
            yield rf"g_i = [\, \mathrm{{grade}}_i \ge {rel:g} \,]"
        elif (self.min_rel, self.max_rel) != (0, 1):
            above = r"\mathrm{grade}_i" + (f" - {self.min_rel:g}" if self.min_rel > 0 else "")
            above += f" + {-self.min_rel:g}" if self.min_rel < 0 else ""
            scaled = rf"\frac{{{above}}}{{{self.max_rel - self.min_rel:g}}}"
            yield rf"g_i = \max\left(0, \min\left(1, {scaled}\right)\right)"

    @property
    def is_binary(self) -> bool:
        return getattr(self, "rel", None) is not None

    def with_defaults(self, **defaults: Any) -> Self:
        # without rel it is graded: a default must not make it binary
        return super().with_defaults(**{name: value for name, value in defaults.items() if name != "rel"})

    @property
    def needed(self) -> tuple[str, ...]:
        return (*super().needed, "doc_lengths") if self.cost == "length" else super().needed

    def continuation(self, lists: Lists) -> Floats:
        """C: the chance to go on from each rank, one row a query (or one row for all)."""
        raise AssertionError(f"{type(self).__name__} does not say when users go on")

    def walk(self, lists: Lists) -> Walk:
        """What users do with these rankings."""
        go_on = np.broadcast_to(self.continuation(lists), lists.gain.shape)
        reach = _reach(go_on)
        return Walk(go_on, reach, reach / _totals(reach)[:, None], reach * (1 - go_on))

    def rank_terms(self, lists: Lists) -> Floats:
        """What each rank adds to the value."""
        walk = self.walk(lists)
        if self.value == "EU":
            return walk.weight * lists.gain
        if self.value == "ETU":
            return walk.stop * lists.gain_so_far
        if self.value == "EC":
            return walk.weight * lists.cost
        if self.value == "ETC":
            return walk.stop * lists.cost_so_far
        # 1/W_1; the weights of TrAP are the only ones that do not add up to 1
        return share(walk.reach, _totals(walk.weight)[:, None])

    def gains(self, judged: JudgedRun, grades: Floats) -> Floats:
        """What documents of these grades gain, from 0 to 1; NaN where the grade is."""
        rel = getattr(self, "rel", None)
        if rel is not None:
            return np.where(np.isnan(grades), np.nan, grades >= rel)
        gains: Floats = (np.clip(grades, self.min_rel, self.max_rel) - self.min_rel) / (self.max_rel - self.min_rel)
        return gains

    def per_query(self, judged: JudgedRun) -> Floats:
        return np.concatenate([np.empty(0), *(_totals(table) for _, table in self._tables(judged))])

    def terms(self, judged: JudgedRun) -> Floats:
        tables = ((at, self._without_noise(table)) for at, table in self._tables(judged))
        return np.concatenate([np.empty(0), *(_at_hits(judged, at, table) for at, table in tables)])

    def _without_noise(self, table: Floats) -> Floats:
        # where the two values that a residual parts are the same, rounding may leave something
        return np.where(np.abs(table) < 1e-13, 0.0, table) if self.residual else table

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        ((_, table),) = self._tables(judged)
        length = int(judged.retrieved[0])
        rest = math.fsum(self._without_noise(table)[0, length:])
        last = "on" if self.depth is None else f"to {self.depth:,}"
        return [{"what": f"ranks {length + 1:,} {last}, beyond the list", "term": rest}] if rest else []

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        at, relevant = slice(0, judged.n), self._relevant(judged)
        lists = self._lists(judged, at, relevant, unknown=0.0)
        tables = {"gain": lists.gain, **self._walk_columns(lists)}
        if self.residual:
            highest = self._lists(judged, at, relevant, unknown=1.0)
            most = {"gain": highest.gain, **self._walk_columns(highest)}
            tables |= {f"{name} at most": table for name, table in most.items()}
        return {name: _at_hits(judged, at, table) for name, table in tables.items()}

    def _walk_columns(self, lists: Lists) -> dict[str, Floats]:
        walk = self.walk(lists)
        columns = {"reach": walk.reach, "continue": walk.go_on, "weight": walk.weight}
        if self.value in ("EC", "ETC"):
            columns["cost"] = lists.cost
        if self.value == "ETU":
            columns |= {"stop": walk.stop, "gain so far": lists.gain_so_far}
        if self.value == "ETC":
            columns |= {"stop": walk.stop, "cost so far": lists.cost_so_far}
        return columns

    def _tables(self, judged: JudgedRun) -> Iterator[tuple[slice, Floats]]:
        """What each rank adds, some queries at a time."""
        relevant = self._relevant(judged)
        step = max(_AT_ONCE // self._width(judged, slice(0, judged.n)), 1)
        for start in range(0, judged.n, step):
            at = slice(start, min(start + step, judged.n))
            table = self.rank_terms(self._lists(judged, at, relevant, unknown=0.0))
            if self.residual:
                table = self.rank_terms(self._lists(judged, at, relevant, unknown=1.0)) - table
            yield at, table

    def _relevant(self, judged: JudgedRun) -> Floats:
        return judged.ideal_total(self.gains(judged, judged.ideal) > 0)

    def _lists(self, judged: JudgedRun, at: slice, relevant: Floats, unknown: float) -> Lists:
        """The rankings of some queries, with `unknown` as the gain of all that is not judged or not retrieved."""
        row, rank, grade = _hits(judged, at)
        gain = np.full((at.stop - at.start, self._width(judged, at)), unknown)
        seen = (rank <= self._last_rank) & ~(self.unknown(judged, grade) if unknown else np.isnan(grade))
        gain[row[seen], rank[seen] - 1] = self.gains(judged, grade[seen])
        # what is not judged may be relevant too
        known = np.maximum(relevant[at], np.count_nonzero(gain, axis=1)) if unknown else relevant[at]
        return Lists(gain, self._costs(judged, at, gain.shape), judged.retrieved[at], known)

    def unknown(self, judged: JudgedRun, grades: Floats) -> Bools:
        """Which of these grades are no judgment: none at all, or negative ones that gain nothing."""
        return np.isnan(grades) | ((grades < 0) & ~(self.gains(judged, grades) > 0))

    def _width(self, judged: JudgedRun, at: slice) -> int:
        return self.depth or 1

    @property
    def _last_rank(self) -> int:
        """The last rank whose document is looked at."""
        return self.depth or MANY

    def _blank_walk(self) -> Walk:
        """What users do where nothing is gained and every document costs 1."""
        nothing = np.zeros((1, self.depth or 1))
        return self.walk(Lists(nothing, nothing + 1, np.zeros(1, dtype=np.int64), np.zeros(1)))

    def _blank_weights(self, n: int) -> Floats:
        """The weights of the first ranks in the chosen value, where nothing is gained and every document costs 1."""
        walk = self._blank_walk()
        if self.residual and not self._weighs_gains:
            return np.zeros(n)
        if self.value in ("EU", "EC"):
            return _cut_or_filled(walk.weight[0], n)
        if self.value == "ED":
            return _cut_or_filled(walk.reach[0], n)
        return _cut_or_filled(_read(walk), n)

    def _by_length(self, judged: JudgedRun) -> bool:
        known = judged.sources.extras.doc_lengths is not None
        return self.cost == "length" or (self.cost is None and self.length_is_cost and known)

    def _costs(self, judged: JudgedRun, at: slice, shape: tuple[int, ...]) -> Floats:
        if not self._by_length(judged):
            return np.ones(shape)
        lengths = judged.sources.extras.doc_lengths or {}
        mean = _mean_length(judged.sources.extras)
        costs = np.full(shape, mean)
        for row, i in enumerate(range(at.start, at.stop)):
            docs = _docs_by_rank(judged, i)[: shape[1]]
            costs[row, : len(docs)] = [lengths.get(doc, mean) for doc in docs]
        return costs


class _FixedWeights(UserModel):
    """A user model in which the chance to go on depends on the rank alone."""

    grades_help: ClassVar[bool] = True
    weights_are_given: ClassVar[bool] = True

    def rank_weights(self, n: int) -> Floats | None:
        return self._blank_weights(n)

    def expected(self, judged: JudgedRun) -> Floats | None:
        if self.value not in ("EU", "ETU"):
            # the costs of unjudged documents change with the order too
            costs_change = judged.has_ties and self._by_length(judged) and self.value != "ED"
            return None if costs_change else self.per_query(judged)
        worth = mean_weight(judged, self.worth)
        if self.residual:
            return self.worth_of_all() - judged.total(np.where(self.unknown(judged, judged.grade), 0.0, worth))
        return judged.total(np.nan_to_num(self.gains(judged, judged.grade)) * worth)

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        if self.value not in ("EU", "ETU") or self.residual:
            return None
        return np.nan_to_num(self.gains(judged, judged.grade)) * mean_weight(judged, self.worth)

    def expected_columns(self, judged: JudgedRun) -> dict[str, Any]:
        if self.value not in ("EU", "ETU") or self.residual:
            return {}
        gains = np.nan_to_num(self.gains(judged, judged.grade))
        return {"gain": gains, "mean weight": mean_weight(judged, self.worth)}

    def worth(self, rank: Ints) -> Floats:
        """What a gain of 1 at a rank adds to EU or ETU."""
        worth = np.append(self._worth_by_rank(), 0.0)
        return np.where(rank <= self._last_rank, worth[np.minimum(rank, len(worth)) - 1], 0.0)

    def worth_of_all(self) -> float:
        """What a gain of 1 at every rank adds up to."""
        return math.fsum(self._worth_by_rank())

    def _worth_by_rank(self) -> Floats:
        walk = self._blank_walk()
        return np.asarray(walk.weight[0] if self.value == "EU" else _read(walk))


class RBP(_FixedWeights):
    """The gain per document of a user who goes on from each document with the same probability p."""

    cutoff: int | None = None
    p: float = 0.8
    rel: float | None = None
    depth: int | None = None

    name: ClassVar = "RBP"
    title: ClassVar = "Rank-biased precision"
    formula: ClassVar = r"(1 - p) \sum_{i=1}^{k} p^{i-1} g_i"
    weighting: ClassVar = "(1 − p)·p^(i−1)"
    about: ClassVar = (
        "A user goes on to the next document with probability p, whatever was found. Ignores how many relevant "
        "documents there are." + _SCALE + _BINARY + " With residual=True: the weight of all that is unjudged, not "
        "retrieved or below the cutoff, so the value with all judgments is between RBP and RBP + residual. A "
        "ranking has no end unless depth is given: cwl_eval and ir_measures end it at 1000 and divide by the weight "
        "there is until then. p is 0.8 as in ir_measures; trec_eval and cwl_eval have 0.9."
    )
    user: ClassVar = (
        "A user reads the first document and goes on from each to the next with probability p, whatever was found."
    )
    ignores: ClassVar = "Ignores how many relevant documents there are, and what was found before a document."
    reference: ClassVar = (
        "Moffat & Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 27, 2008"
    )
    tasks: ClassVar = ("graded", "web", "incomplete")
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "p": Parameter("the probability of going on", low=0, high=0.999999, examples=(0.5, 0.95)),
        "rel": REL,
        **UserModel.parameters,
    }

    @property
    def _is_cut(self) -> bool:
        """Whether ranks below the cutoff weigh nothing; users read them, and they may hold gains not judged."""
        return self.cutoff is not None and self._weighs_gains and not self.residual

    def _expected_weighting(self) -> str:
        end = " down to rank k, 0 below" if self._is_cut else ""
        if self.depth is not None and self.value in ("EU", "EC"):
            return f"{self.weighting}/(1 − p^n){end}"
        if self.depth is None and self.value in ("ETU", "ETC"):
            return f"p^(i−1){end}"
        return super()._expected_weighting() + end

    @property
    def model(self) -> str:
        return "C_i = p" + (r", \quad g_i = 0 \text{ for } i > k" if self.cutoff else "")

    def _utility_formula(self) -> list[str]:
        if self.depth is None:
            return [self.formula]
        last = r"\min(k, n)" if self.cutoff else "n"
        return [rf"\frac{{1 - p}}{{1 - p^n}} \sum_{{i=1}}^{{{last}}} p^{{i-1}} g_i"]

    def continuation(self, lists: Lists) -> Floats:
        return np.full(len(lists.rank), self.p)

    def walk(self, lists: Lists) -> Walk:
        if self.depth is not None:
            return super().walk(lists)
        go_on = np.full(lists.gain.shape, self.p)
        reach = np.broadcast_to(self.p ** (lists.rank - 1), lists.gain.shape)
        return Walk(go_on, reach, (1 - self.p) * reach, (1 - self.p) * reach)

    def rank_terms(self, lists: Lists) -> Floats:
        if self.depth is not None:
            return super().rank_terms(lists)
        # the rank after the list stands for all that follow; the sum of L·G is then that of reach·g
        end = lists.length[:, None] + 1
        rest = np.where(lists.rank == end, self.p ** (end - 1.0) / (1 - self.p), 0.0)
        reach = np.where(lists.rank < end, self.p ** (lists.rank - 1), rest)
        of_each = {"EU": lists.gain, "ETU": lists.gain, "EC": lists.cost, "ETC": lists.cost}.get(self.value)
        terms = reach if of_each is None else reach * of_each
        return terms * (1 - self.p) if self.value in ("EU", "EC") else terms

    def rank_weights(self, n: int) -> Floats | None:
        weights = self._blank_weights(n)
        return np.where(np.arange(n) < self._last_rank, weights, 0.0) if self._is_cut else weights

    def _blank_weights(self, n: int) -> Floats:
        if self.depth is not None or (self.residual and not self._weighs_gains):
            return super()._blank_weights(n)
        weights: Floats = self.p ** np.arange(float(n)) * (1 - self.p if self.value in ("EU", "EC") else 1)
        return weights

    def worth(self, rank: Ints) -> Floats:
        if self.depth is not None:
            return super().worth(rank)
        worth = self.p ** (rank - 1.0) * (1 - self.p if self.value == "EU" else 1)
        return np.where(rank <= self._last_rank, worth, 0.0)

    def worth_of_all(self) -> float:
        if self.depth is not None:
            return super().worth_of_all()
        return 1.0 if self.value == "EU" else 1 / (1 - self.p)

    def _width(self, judged: JudgedRun, at: slice) -> int:
        return self.depth or int(judged.retrieved[at].max(initial=0)) + 1

    @property
    def _last_rank(self) -> int:
        return min(super()._last_rank, self.cutoff or MANY)


class ERR(Measure):
    """The expected reciprocal of the rank at which a user is satisfied; the better a document, the likelier it is."""

    cutoff: int | None = None
    max_grade: float = 4.0

    name: ClassVar = "ERR"
    title: ClassVar = "Expected reciprocal rank"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = (
        r"\sum_{i=1}^{k} \frac{R_i}{i} \prod_{j=1}^{i-1} (1 - R_j), \quad R_i = \frac{2^{g_i} - 1}{2^{\max}}"
    )
    weighting: ClassVar = (
        "depends on the ranking: (1/i)·(1 − R_1)·…·(1 − R_(i−1)), R being the chance that a document satisfies"
    )
    about: ClassVar = (
        "A user reads down and stops, satisfied, with a probability that grows with the grade: a relevant document "
        "is worth less after other relevant ones. Ignores how many relevant documents there are. The probability is "
        "(2^grade − 1) / 2^max_grade; max_grade is 4 whatever the qrels hold, as in gdeval, and higher grades count "
        "as max_grade (gdeval refuses them). gdeval leaves out queries without relevant documents; here they count 0."
    )
    user: ClassVar = (
        "A user reads down and stops, satisfied, with a probability that grows with the grade of each document."
    )
    ignores: ClassVar = "Ignores how many relevant documents there are, and everything below the cutoff."
    reference: ClassVar = (
        "Chapelle, Metzler, Zhang & Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009"
    )
    tasks: ClassVar = ("graded", "web")
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "max_grade": Parameter("the grade of a perfect document", low=0, high=1000, examples=(3, 1), symbol=r"\max"),
    }
    lacks: ClassVar = {"perfect": "Even the best grade satisfies only (2^max − 1) of 2^max users."}

    def terms(self, judged: JudgedRun) -> Floats:
        satisfied = self._satisfied(judged)
        inside = judged.rank <= (self.cutoff or MANY)
        return np.where(inside, self._reach(judged, satisfied) * satisfied / judged.rank, 0.0)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        satisfied = self._satisfied(judged)
        return {"satisfied": satisfied, "reach": self._reach(judged, satisfied), "1/rank": 1 / judged.rank}

    def _satisfied(self, judged: JudgedRun) -> Floats:
        """The probability that a user who reads a document is satisfied by it."""
        grades = np.minimum(np.fmax(judged.grade, 0.0), self.max_grade)
        chances: Floats = (np.exp2(grades) - 1) / 2.0**self.max_grade
        return chances

    def _reach(self, judged: JudgedRun, satisfied: Floats) -> Floats:
        """The probability that a user gets to a document: no earlier one has satisfied."""
        reach = np.ones(len(satisfied))
        for i in range(judged.n):
            start, stop = int(judged.starts[i]), int(judged.starts[i + 1])
            reach[start + 1 : stop] = np.cumprod(1 - satisfied[start : max(stop - 1, start)])
        return reach


class SDCG(_FixedWeights):
    """The discounted cumulated gain of the first k documents, as a share of what k documents that gain 1 would have."""

    cutoff: int | None = None
    dcg: str = "log2"

    name: ClassVar = "SDCG"
    title: ClassVar = "Scaled discounted cumulated gain"
    formula: ClassVar = r"\sum_{i=1}^{k} \frac{g_i}{\log_2(1+i)} \Big/ \sum_{i=1}^{k} \frac{1}{\log_2(1+i)}"
    weighting: ClassVar = "in proportion to 1/log2(1 + i) down to rank k, 0 below"
    about: ClassVar = (
        "A user reads k documents and gets tired as in DCG; cwl_eval calls it NDCG. There is no ideal ranking: it is "
        "divided by the weights, as if there were always k perfect documents." + _SCALE
    )
    user: ClassVar = "A user reads k documents and gets tired on the way as in DCG."
    ignores: ClassVar = (
        "Ignores everything below k, what was found before a document, and how many relevant documents there are."
    )
    reference: ClassVar = "Järvelin & Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 20, 2002"
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "dcg": Parameter("the discount of a rank i: log2(1+i)", choices=("log2",)),
        **UserModel.parameters,
    }

    @property
    def model(self) -> str:
        return r"C_i = \frac{\log(1+i)}{\log(2+i)} \text{ for } i < k \text{, else } 0"

    def _utility_formula(self) -> list[str]:
        last = "k" if (self.depth or MANY) >= (self.cutoff or 1) else "n"
        return [self.formula.replace("{k}", f"{{{last}}}")]

    def continuation(self, lists: Lists) -> Floats:
        return np.where(lists.rank < (self.cutoff or 1), np.log(lists.rank + 1) / np.log(lists.rank + 2), 0.0)


class INST(UserModel):
    """The gain per document of a user who wants T documents' worth of gain and adapts to what was found."""

    T: float = 1.0

    name: ClassVar = "INST"
    title: ClassVar = "INST"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = (
        r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \left( \frac{i + 2T - G_i - 1}{i + 2T - G_i} \right)^2, \quad "
        r"G_i = \sum_{j=1}^{i} g_j"
    )
    weighting: ClassVar = (
        "depends on the ranking: in proportion to C_1·…·C_(i−1), with C_i = ((i + 2T − G_i − 1)/(i + 2T − G_i))² where "
        "G_i was gained down to rank i"
    )
    about: ClassVar = (
        "A user wants a gain of T in all. The further down, the likelier to go on, for the effort made; the more was "
        "found, the likelier to stop." + _SCALE
    )
    user: ClassVar = (
        "A user wants a gain of T in all, and is the likelier to go on the further down and the less was found."
    )
    ignores: ClassVar = "Ignores how many relevant documents there are."
    reference: ClassVar = "Moffat, Bailey, Scholer & Thomas, INST: An adaptive metric for IR evaluation, ADCS 2015"
    tasks: ClassVar = ("graded", "web")
    parameters: ClassVar = {
        "T": Parameter("the gain that the user wants in all", low=0.5, examples=(2.5,)),
        **UserModel.parameters,
    }

    def continuation(self, lists: Lists) -> Floats:
        return _growing(lists.rank + 2 * self.T - lists.gain_so_far)


class INSQ(_FixedWeights):
    """The gain per document of a user who wants T documents and is likelier to go on the further down."""

    T: float = 1.0

    name: ClassVar = "INSQ"
    title: ClassVar = "Inverse squares"
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \left( \frac{i + 2T - 1}{i + 2T} \right)^2"
    weighting: ClassVar = "in proportion to 1/(i + 2T − 1)²"
    about: ClassVar = (
        "A user wants T documents, and is the likelier to go on the further down, whatever was found: rank i gets "
        "attention in proportion to 1 / (i + 2T − 1)²." + _SCALE
    )
    user: ClassVar = "A user wants T documents, and is the likelier to go on the further down, whatever was found."
    ignores: ClassVar = "Ignores what was found before a document, and how many relevant documents there are."
    reference: ClassVar = "Moffat, Scholer & Thomas, Models and metrics: IR evaluation as a user process, ADCS 2012"
    parameters: ClassVar = {
        "T": Parameter("how many documents the user wants", low=0, examples=(2.5, 0)),
        **UserModel.parameters,
    }

    def continuation(self, lists: Lists) -> Floats:
        return _growing(lists.rank + 2 * self.T)


class BPM(UserModel):
    """The gain per document of a user who reads until the gain reaches T or k documents are read."""

    cutoff: int | None = None
    T: float = 1.0

    name: ClassVar = "BPM"
    title: ClassVar = "Bejeweled player model"
    formula: ClassVar = r"\frac{G_m}{m}, \quad m = \min \{\, i \le n : G_i \ge T \text{ or } K_i \ge k \,\}"
    weighting: ClassVar[str] = "depends on the ranking: 1/m down to the rank m at which the user stops, 0 below"
    about: ClassVar = (
        "A user stops as soon as the gain reaches T, or what was read has cost k (with costs of 1: after k "
        "documents). The static form: T and k do not change on the way; cwl_eval calls k K." + _SCALE
    )
    user: ClassVar = "A user reads until the gain reaches T or k documents are read."
    ignores: ClassVar = "Ignores everything after that, and how many relevant documents there are."
    reference: ClassVar = _BPM
    lacks: ClassVar = {**UserModel.lacks, "swap": "A gain of T that is reached sooner may be smaller."}
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "T": Parameter("the gain that the user wants in all", low=0, examples=(2.5,)),
        **UserModel.parameters,
    }

    @property
    def model(self) -> str:
        return r"C_i = 1 \text{ while } G_i < T \text{ and } K_i < k \text{, else } 0"

    def continuation(self, lists: Lists) -> Floats:
        goes_on = (lists.gain_so_far < self.T) & (lists.cost_so_far < (self.cutoff or 1))
        return goes_on.astype(np.float64)


class BPMD(BPM):
    """The gain per document of a user who reads until enough was gained, where good documents raise what is enough."""

    hb: float = 1.0
    gain_med: float = 0.5

    name: ClassVar = "BPMD"
    title: ClassVar = "Bejeweled player model, dynamic"
    formula: ClassVar = (
        r"\frac{G_m}{m}, \quad m = \min \{\, i \le n : G_i \ge T_i \text{ or } K_i \ge k \,\}, \quad "
        r"T_{i+1} = T_i + h_b (g_i - \mathrm{med}), \quad T_1 = T"
    )
    about: ClassVar = (
        "As BPM, but a document that gains more than gain_med makes the user want more, one that gains less makes "
        "them want less. In the paper the cost k the user is ready to pay changes too (by hc); as in cwl_eval, where "
        "hc has no effect, it stays as it is." + _SCALE
    )
    user: ClassVar = (
        "A user reads until enough was gained or k documents are read, and wants more after good documents and less "
        "after bad ones."
    )
    ignores: ClassVar = "Ignores everything after that, and how many relevant documents there are."
    parameters: ClassVar = {
        **BPM.parameters,
        "hb": Parameter("how strongly a gain changes what is wanted", examples=(0.3,), symbol="h_b"),
        "gain_med": Parameter("the gain that leaves what is wanted as it is", examples=(0.25,), symbol=r"\mathrm{med}"),
    }

    @property
    def model(self) -> str:
        return (
            r"C_i = 1 \text{ while } G_i < T_i \text{ and } K_i < k \text{, else } 0, \quad "
            r"T_{i+1} = T_i + h_b (g_i - \mathrm{med}), \quad T_1 = T"
        )

    def continuation(self, lists: Lists) -> Floats:
        before = lists.gain_so_far - lists.gain
        wanted = self.T + self.hb * (before - self.gain_med * (lists.rank - 1))
        wants_more = np.logical_and.accumulate(lists.gain_so_far < wanted, axis=1)
        return (wants_more & (lists.cost_so_far < (self.cutoff or 1))).astype(np.float64)


class NPV(_FixedWeights):
    """The gain per document where each rank's gain is discounted at a rate, as money to be had later is."""

    r: float = 0.1

    name: ClassVar = "NPV"
    title: ClassVar = "Net present value"
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \frac{1}{1 + r}"
    weighting: ClassVar = "in proportion to 1/(1 + r)^(i−1)"
    about: ClassVar = (
        "A user values the next document at 1/(1 + r) of this one. The same as RBP with p = 1/(1 + r) and a ranking "
        "that ends at depth." + _SCALE
    )
    user: ClassVar = (
        "A user reads down and values each next document at 1/(1 + r) of the one before, as money to be had later."
    )
    ignores: ClassVar = "Ignores what was found before a document, and how many relevant documents there are."
    parameters: ClassVar = {
        "r": Parameter("the rate of discount", low=0, examples=(0.5, 0)),
        **UserModel.parameters,
    }

    def continuation(self, lists: Lists) -> Floats:
        return np.full(len(lists.rank), 1 / (1 + self.r))


class SET(_FixedWeights):
    """The gain per document of the first k, each rank weighing what it adds to a benefit that grows as rank^β."""

    cutoff: int | None = None
    beta: float = 0.5

    name: ClassVar = "SET"
    title: ClassVar = "Search economic theory"
    formula: ClassVar = (
        r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \frac{\omega(i+1)}{\omega(i)} \text{ for } i < k \text{, else } 0, \quad "
        r"\omega(i) = (i+1)^\beta - i^\beta"
    )
    weighting: ClassVar = "in proportion to (i + 1)^β − i^β down to rank k, 0 below"
    about: ClassVar = (
        "The benefit of reading i documents grows as i^β: with β < 1 each further one adds less. As in cwl_eval the "
        "weights are shifted by one rank: rank 1 has 2^β − 1, not 1." + _SCALE
    )
    user: ClassVar = "A user reads k documents, each of which adds to a benefit that grows as rank^β."
    ignores: ClassVar = (
        "Ignores everything below k, what was found before a document, and how many relevant documents there are."
    )
    reference: ClassVar = "Azzopardi, Modelling interaction with economic models of search, SIGIR 2014"
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {
        "cutoff": CUTOFF,
        "beta": Parameter("how fast the benefit grows", low=0.001, high=1, examples=(0.25, 1), symbol=r"\beta"),
        **UserModel.parameters,
    }

    def continuation(self, lists: Lists) -> Floats:
        steps = np.arange(1.0, len(lists.rank) + 3) ** self.beta
        added = np.diff(steps)
        return np.where(lists.rank < (self.cutoff or 1), added[1:] / added[:-1], 0.0)


class _ByCost(UserModel):
    """A user model given by weights that depend on what has been read before."""

    length_is_cost: ClassVar[bool] = True
    grades_help: ClassVar[bool] = True
    weights_are_given: ClassVar[bool] = True

    def weights(self, lists: Lists) -> Floats:
        """W, up to a factor for each query."""
        raise AssertionError(f"{type(self).__name__} does not say what ranks weigh")

    @property
    def model(self) -> str:
        return super().model + _BY_WEIGHTS

    def walk(self, lists: Lists) -> Walk:
        weights = self.weights(lists)
        return _walk_by(weights / _totals(weights)[:, None])

    def rank_weights(self, n: int) -> Floats | None:
        return self._blank_weights(n)


class TBG(_ByCost):
    """The gain per document of users half of whom are gone after each half-life of reading."""

    halflife: float = 224.0

    name: ClassVar = "TBG"
    title: ClassVar = "Time-biased gain"
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad W_i \propto 2^{-K_{i-1}/h}, \quad K_i = \sum_{j=1}^{i} c_j"
    weighting: ClassVar = "in proportion to 2^(−K/h), K being what the documents above cost, i − 1 if each costs 1"
    about: ClassVar = (
        "Users give up as time goes by: after every half-life there are half as many. Time is what the documents "
        "read so far cost: their lengths where these are known (--doc-lengths), else 1 each. The form of cwl_eval: "
        "documents are read in full, the value is a gain per document; value='ETU' is closest to the paper." + _SCALE
    )
    user: ClassVar = (
        "A user reads documents in full, one after the other, and after each half-life of reading has given up with "
        "chance one half."
    )
    ignores: ClassVar = (
        "Ignores what was found before a document, how many relevant documents there are, and that documents may be "
        "skipped or skimmed."
    )
    reference: ClassVar = "Smucker & Clarke, Time-based calibration of effectiveness measures, SIGIR 2012"
    lacks: ClassVar = {**UserModel.lacks, "swap": _LONGER}
    parameters: ClassVar = {
        "halflife": Parameter("after what cost half of the users are gone", low=0.001, examples=(22, 3000), symbol="h"),
        **UserModel.parameters,
    }

    def weights(self, lists: Lists) -> Floats:
        return np.exp2(-(lists.cost_so_far - lists.cost) / self.halflife)


class U(_ByCost):
    """The gain per document of users whose attention falls in a line to nothing after L characters of reading."""

    L: float = 1000.0

    name: ClassVar = "U"
    aliases: ClassVar = ("UMeasure",)
    title: ClassVar = "U-measure"
    formula: ClassVar = (
        r"\sum_{i=1}^{n-1} W_i g_i, \quad W_i \propto \max(0, 1 - K_{i-1}/L), \quad K_i = \sum_{j=1}^{i} c_j"
    )
    weighting: ClassVar = "in proportion to 1 − K/L, K being what the documents above cost, i − 1 if each costs 1"
    about: ClassVar = (
        "Text is worth less the more was read before it, and nothing after L. What was read is what the documents so "
        "far cost: their lengths where these are known (--doc-lengths), else 1 each. As in cwl_eval the value is a "
        "gain per document and the rank at depth weighs nothing." + _SCALE
    )
    user: ClassVar = (
        "A user reads documents in full, one after the other, with attention that falls in a line to nothing after L "
        "characters."
    )
    ignores: ClassVar = (
        "Ignores what was found before a document, how many relevant documents there are, and everything after L."
    )
    reference: ClassVar = "Sakai & Dou, Summaries, ranked retrieval and sessions, SIGIR 2013"
    lacks: ClassVar = {**UserModel.lacks, "swap": _LONGER}
    parameters: ClassVar = {
        "L": Parameter("after what cost attention is gone", low=0.001, examples=(50, 30_000)),
        **UserModel.parameters,
    }

    def weights(self, lists: Lists) -> Floats:
        weights: Floats = np.maximum(0.0, 1 - (lists.cost_so_far - lists.cost) / self.L)
        return np.where((lists.rank < len(lists.rank)) | (len(lists.rank) == 1), weights, 0.0)


class IFT(UserModel):
    """The gain per document of a forager, who leaves when enough was found or it comes too slowly."""

    stop: str = "both"
    T: float = 2.0
    b1: float = 0.9
    R1: float = 10.0
    A: float = 0.2
    b2: float = 0.9
    R2: float = 10.0

    name: ClassVar = "IFT"
    title: ClassVar = "Information foraging theory"
    formula: ClassVar = (
        r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \left( 1 - \frac{1}{1 + b_1 e^{(T - G_i) R_1}} \right) "
        r"\cdot \frac{1}{1 + b_2 e^{(A - G_i/K_i) R_2}}"
    )
    weighting: ClassVar = (
        "depends on the ranking: in proportion to C_1·…·C_(i−1), where the chance C to go on falls as the gain had so "
        "far passes T and rises as the gain per cost passes A"
    )
    about: ClassVar = (
        "A user leaves a patch of food, or a list of results, when a gain of T was had (stop='goal': the first "
        "factor), when gain per cost falls below A (stop='rate': the second), or for either reason (stop='both'). "
        "b and R say how sharply." + _SCALE
    )
    user: ClassVar = (
        "A user reads down like a forager and is likelier to leave once enough was found or when gain comes too slowly."
    )
    ignores: ClassVar = "Ignores how many relevant documents there are."
    reference: ClassVar = (
        "Azzopardi, Thomas & Craswell, Measuring the utility of search engine result pages, SIGIR 2018"
    )
    lacks: ClassVar = {
        **UserModel.lacks,
        "swap": "What is found sooner changes when the user leaves, and so what is missed.",
    }
    parameters: ClassVar = {
        "stop": Parameter("what makes the user leave", choices=("goal", "rate", "both")),
        "T": Parameter("the gain that the user wants in all", low=0, examples=(1,)),
        "b1": Parameter("how ready the user is to go on at the goal", low=0, examples=(0.5,), symbol="b_1"),
        "R1": Parameter("how sharply the goal counts", low=0, examples=(1,), symbol="R_1"),
        "A": Parameter("the gain per cost that the user expects", low=0, examples=(0.4,)),
        "b2": Parameter("how ready the user is to leave at that rate", low=0, examples=(0.5,), symbol="b_2"),
        "R2": Parameter("how sharply the rate counts", low=0, examples=(1,), symbol="R_2"),
        **UserModel.parameters,
    }

    @property
    def model(self) -> str:
        if self.stop == "goal":
            return r"C_i = 1 - \frac{1}{1 + b_1 e^{(T - G_i) R_1}}"
        if self.stop == "rate":
            return r"C_i = \frac{1}{1 + b_2 e^{(A - G_i/K_i) R_2}}"
        return super().model

    def _utility_formula(self) -> list[str]:
        return [r"\sum_{i=1}^{n} W_i g_i", self.model]

    def _expected_weighting(self) -> str:
        text = super()._expected_weighting()
        left_out = {
            "goal": " and rises as the gain per cost passes A",
            "rate": "falls as the gain had so far passes T and ",
        }
        return text.replace(left_out.get(self.stop, ""), "") if self.stop != "both" else text

    def continuation(self, lists: Lists) -> Floats:
        goal = 1 - _logistic(self.b1, (self.T - lists.gain_so_far) * self.R1)
        rate = _logistic(self.b2, (self.A - share(lists.gain_so_far, lists.cost_so_far)) * self.R2)
        return {"goal": goal, "rate": rate, "both": goal * rate}[self.stop]


class NERR8(UserModel):
    """The gain per document of a user who stops with the gain of each document as probability, and at rank k."""

    cutoff: int | None = None

    name: ClassVar = "NERR8"
    title: ClassVar = "Nearly expected reciprocal rank, eq. 8"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = 1 - g_i \text{ for } i < k \text{, else } 0"
    weighting: ClassVar[str] = (
        "depends on the ranking: in proportion to (1 − g_1)·…·(1 − g_(i−1)) down to rank k, 0 below"
    )
    about: ClassVar = (
        "ERR is not a measure of the C/W/L framework; this is the nearest one: a document satisfies with its gain as "
        "probability, and then the user stops, at the latest after k." + _SCALE
    )
    user: ClassVar = (
        "A user reads down and stops with the gain of each document as probability, at the latest after k documents."
    )
    ignores: ClassVar = "Ignores everything below k, and how many relevant documents there are."
    reference: ClassVar = _NERR
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {"cutoff": CUTOFF, **UserModel.parameters}

    def continuation(self, lists: Lists) -> Floats:
        return np.where(lists.rank < (self.cutoff or 1), 1 - lists.gain, 0.0)


class NERR9(NERR8):
    """As NERR8, of a user who also gets tired as 1/rank does."""

    name: ClassVar = "NERR9"
    title: ClassVar = "Nearly expected reciprocal rank, eq. 9"
    formula: ClassVar = (
        r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \frac{i}{i + 1} (1 - g_i) \text{ for } i < k \text{, else } 0"
    )
    weighting: ClassVar = (
        "depends on the ranking: in proportion to (1/i)·(1 − g_1)·…·(1 − g_(i−1)) down to rank k, 0 below"
    )
    about: ClassVar = (
        "A document satisfies with its gain as probability; if it does not, the user at rank i goes on with "
        "probability i/(i + 1), and not beyond k." + _SCALE
    )
    user: ClassVar = (
        "A user reads at most k documents, stops with the gain of each as probability, and else goes on from rank i "
        "with probability i/(i + 1)."
    )
    ignores: ClassVar = "Ignores everything below k, and how many relevant documents there are."

    def continuation(self, lists: Lists) -> Floats:
        return super().continuation(lists) * (lists.rank / (lists.rank + 1))


class NERR10(UserModel):
    """The gain per document of a user who stops with a document's gain as probability, or else goes on with p."""

    p: float = 0.9

    name: ClassVar = "NERR10"
    title: ClassVar = "Nearly expected reciprocal rank, eq. 10"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = p \, (1 - g_i)"
    weighting: ClassVar = "depends on the ranking: in proportion to p^(i−1)·(1 − g_1)·…·(1 − g_(i−1))"
    about: ClassVar = (
        "A document satisfies with its gain as probability; if it does not, the user goes on with probability p, as "
        "in RBP." + _SCALE
    )
    user: ClassVar = (
        "A user reads down, stops with the gain of each document as probability, and else goes on with probability p."
    )
    ignores: ClassVar = "Ignores how many relevant documents there are."
    reference: ClassVar = _NERR
    parameters: ClassVar = {
        "p": Parameter("the probability of going on", low=0, high=1, examples=(0.5, 1)),
        **UserModel.parameters,
    }

    def continuation(self, lists: Lists) -> Floats:
        return self.p * (1 - lists.gain)


class NERR11(UserModel):
    """The gain per document of a user who stops with the gain of each document as probability, or else as in INSQ."""

    T: float = 1.0

    name: ClassVar = "NERR11"
    title: ClassVar = "Nearly expected reciprocal rank, eq. 11"
    grades_help: ClassVar[bool] = True
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = \left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)"
    weighting: ClassVar = "depends on the ranking: in proportion to (1 − g_1)·…·(1 − g_(i−1))/(i + 2T − 1)²"
    about: ClassVar = (
        "A document satisfies with its gain as probability; if it does not, the user goes on as in INSQ, the likelier "
        "the further down." + _SCALE
    )
    user: ClassVar = (
        "A user reads down, stops with the gain of each document as probability, and else goes on the likelier the "
        "further down."
    )
    ignores: ClassVar = "Ignores how many relevant documents there are."
    reference: ClassVar = _NERR
    parameters: ClassVar = {
        "T": Parameter("how many documents the user wants", low=0, examples=(2.5, 0)),
        **UserModel.parameters,
    }

    def continuation(self, lists: Lists) -> Floats:
        return _growing(lists.rank + 2 * self.T) * (1 - lists.gain)


class CWL_P(_FixedWeights):
    """The gain per document of the first k: precision with graded gains, and with the framework's other values."""

    cutoff: int | None = None
    rel: float | None = None

    name: ClassVar = "CWL_P"
    title: ClassVar = "Precision at k, in the C/W/L framework"
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = 1 \text{ for } i < k \text{, else } 0"
    weighting: ClassVar = "1/k down to rank k, 0 below"
    about: ClassVar = "A user reads exactly k documents. P@k where documents gain 1 or 0." + _SCALE + _BINARY
    user: ClassVar = "A user reads k documents and counts what they gain."
    ignores: ClassVar = (
        "Ignores the order within the first k, everything below, and how many relevant documents there are."
    )
    required: ClassVar = ("cutoff",)
    parameters: ClassVar = {"cutoff": CUTOFF, "rel": REL, **UserModel.parameters}

    def continuation(self, lists: Lists) -> Floats:
        return (lists.rank < (self.cutoff or 1)).astype(np.float64)


class CWL_RR(UserModel):
    """The gain per document of a user who stops at the first document that gains anything."""

    rel: float | None = None

    name: ClassVar = "CWL_RR"
    title: ClassVar = "Reciprocal rank, in the C/W/L framework"
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad C_i = 1 \text{ while } G_i = 0 \text{, else } 0"
    weighting: ClassVar = (
        "depends on the ranking: 1/m down to the first document that gains anything, at rank m, 0 below"
    )
    about: ClassVar = (
        "A user stops at the first document that gains anything, or reads on to the depth. RR where documents gain 1 "
        "or 0." + _SCALE + _BINARY
    )
    user: ClassVar = "A user reads down to the first document that gains anything and stops there."
    ignores: ClassVar = "Ignores everything after that document, and how many relevant documents there are."
    lacks: ClassVar = {
        **UserModel.lacks,
        "swap": "The user stops at the first gain, however small, and never sees a better document below it.",
    }
    tasks: ClassVar = ("known-item",)
    parameters: ClassVar = {"rel": REL, **UserModel.parameters}

    def continuation(self, lists: Lists) -> Floats:
        return np.where(lists.gain_so_far == 0, 1.0, 0.0)


class CWL_AP(UserModel):
    """Average precision over the gain that was retrieved, which cwl_eval calls AP."""

    rel: float | None = None

    name: ClassVar = "CWL_AP"
    title: ClassVar = "Average precision over what was retrieved"
    formula: ClassVar = (
        r"\frac{1}{G_n} \sum_{i=1}^{n} g_i \frac{G_i}{i}, \quad C_i = \frac{S_{i+1}}{S_i}, \quad "
        r"S_i = \sum_{j=i}^{n} \frac{g_j}{j}"
    )
    weighting: ClassVar = (
        "depends on the ranking: in proportion to the sum of g_j/j over the documents from rank i down"
    )
    lacks: ClassVar = {
        **UserModel.lacks,
        "swap": "A better document that comes in from beyond the depth is one more to look for.",
    }
    about: ClassVar = (
        "A user wants a random one of the relevant documents in the list and reads down to it. Divided by the gain "
        "retrieved, not by that of all relevant documents as AP is: what was missed does not matter. cwl_eval and "
        "ir_measures' cwl_eval provider call this AP; see TrAP." + _SCALE + _BINARY
    )
    user: ClassVar = "A user looks for a random one of the relevant documents in the list and reads down to it."
    ignores: ClassVar = (
        "Ignores relevant documents that were not retrieved, and everything below the last one that was."
    )
    reference: ClassVar = "Harman, Evaluation issues in information retrieval, IP&M 28, 1992"
    tasks: ClassVar = ()
    parameters: ClassVar = {"rel": REL, **UserModel.parameters}

    def continuation(self, lists: Lists) -> Floats:
        ahead = np.cumsum((lists.gain / lists.rank)[:, ::-1], axis=1)[:, ::-1]
        after = np.append(ahead[:, 1:], np.zeros((len(ahead), 1)), axis=1)
        return share(after, ahead)


class TrAP(UserModel):
    """Average precision over all relevant documents, with graded gains, which cwl_eval calls TrAP."""

    rel: float | None = None

    name: ClassVar = "TrAP"
    title: ClassVar = "Average precision, in the C/W/L framework"
    formula: ClassVar = r"\sum_{i=1}^{n} W_i g_i, \quad W_i = \frac{1}{R} \frac{G_i}{K_i}"
    weighting: ClassVar = (
        "depends on the ranking: G_i/(iR) where G_i was gained down to rank i, which costs 1 a document"
    )
    about: ClassVar = (
        "A user wants a random one of the relevant documents and reads down to it; R counts all documents that gain "
        "anything. AP where documents gain 1 or 0. The weights depend on what was found and do not add up to 1; at "
        "ranks before the first gain G_i counts as 1." + _SCALE + _BINARY
    )
    user: ClassVar = "A user looks for a random one of all relevant documents and reads down to it."
    ignores: ClassVar = "Ignores everything below the last document that gains anything."
    reference: ClassVar = "Robertson, Kanoulas & Yilmaz, Extending average precision to graded judgments, SIGIR 2010"
    tasks: ClassVar = ("recall",)
    parameters: ClassVar = {"rel": REL, **UserModel.parameters}

    @property
    def model(self) -> str:
        return super().model + _BY_WEIGHTS

    def _value_formula(self) -> list[str]:
        whole, *model = super()._value_formula()
        # weights that do not add up to 1
        return [whole.replace(_SUMS["ED"], r"\frac{\prod_{j<i} C_j}{\sum_l W_l}"), *model]

    def walk(self, lists: Lists) -> Walk:
        # cwl_eval leaves the last rank as it is
        nothing_yet = (lists.gain_so_far == 0) & (lists.rank < len(lists.rank))
        precision = share(np.where(nothing_yet, 1.0, lists.gain_so_far), lists.cost_so_far)
        return _walk_by(precision / np.maximum(lists.relevant, 1)[:, None])


def _read(walk: Walk) -> Floats:
    """The chance that each rank counts in the total: the user gets there, and stops before the ranking ends."""
    read: Floats = walk.reach[0] - walk.reach[0, -1] * walk.go_on[0, -1]
    return read


def _walk_by(weight: Floats) -> Walk:
    """What users do who give each rank a weight: they go on with the chance that leads to it."""
    after = np.append(weight[:, 1:], np.zeros((len(weight), 1)), axis=1)
    go_on = share(after, weight)
    reach = _reach(go_on)
    return Walk(go_on, reach, weight, reach * (1 - go_on))


def _reach(go_on: Floats) -> Floats:
    return np.cumprod(np.append(np.ones((len(go_on), 1)), go_on[:, :-1], axis=1), axis=1)


def _growing(x: Floats) -> Floats:
    """((x − 1) / x)²: the chance to go on of a user who is the likelier to do so the further down."""
    chance: Floats = ((x - 1) / x) ** 2
    return chance


def _logistic(b: float, x: Floats) -> Floats:
    with np.errstate(over="ignore"):  # beyond all doubles: the chance is 0
        chance: Floats = 1 / (1 + b * np.exp(x))
    return chance


def _totals(table: Floats) -> Floats:
    """The sum of each row, added in rank order, so no other row changes a bit."""
    sums: Floats = np.cumsum(table, axis=1)[:, -1]
    return sums


def _hits(judged: JudgedRun, at: slice) -> tuple[Ints, Ints, Floats]:
    """Row, rank and grade of the hits of some queries."""
    part = slice(int(judged.starts[at.start]), int(judged.starts[at.stop]))
    return judged.query[part] - at.start, judged.rank[part], judged.grade[part]


def _at_hits(judged: JudgedRun, at: slice, table: Floats) -> Floats:
    """What a table of some queries has at the ranks of their hits; 0 beyond its end."""
    row, rank, _ = _hits(judged, at)
    width = table.shape[1]
    return np.where(rank <= width, table[row, np.minimum(rank, width) - 1], 0.0)


def _cut_or_filled(weights: Floats, n: int) -> Floats:
    return np.append(weights[:n], np.zeros(max(n - len(weights), 0)))


def _docs_by_rank(judged: JudgedRun, i: int) -> list[str]:
    """The documents of a ranking in the order of the hits' ranks, which may be condensed or shuffled."""
    part = slice(int(judged.starts[i]), int(judged.starts[i + 1]))
    names = judged.judged_docs(i)
    known = zip(judged.rank[part].tolist(), judged.doc[part].tolist(), strict=True)
    at = {rank: names[doc] for rank, doc in known if doc >= 0}
    held = set(at.values())
    others = (doc for doc in judged.ranking(i) if doc not in held)
    return [at[rank] if rank in at else next(others) for rank in range(1, int(judged.retrieved[i]) + 1)]


@lru_cache(maxsize=8)
def _mean_length(extras: Extras) -> float:
    lengths = (extras.doc_lengths or {}).values()
    return math.fsum(lengths) / len(lengths) if lengths else 1.0


def _highest(qrels: Qrels) -> float:
    return float(qrels.grades.max(initial=-math.inf))
