"""Which measures a command line asks for, with their parameters and printed names, as trec_eval computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar

import numpy as np

from cranfield.base import Record, fields, replace
from cranfield.data import Bools, Floats, Ints
from cranfield.evaluation.tools.trec_eval.arguments import Options
from cranfield.evaluation.tools.trec_eval.numbers import atof, atol
from cranfield.evaluation.tools.trec_eval.outcome import Stop, crash
from cranfield.joining import JudgedRun
from cranfield.measures import (
    DCG,
    ELEVEN,
    FAMILIES,
    Family,
    G,
    Gain,
    Gained,
    GainMap,
    GroupRprecMult,
    IdealDCG,
    InterpolatedAP,
    IPrec,
    Measure,
    NumNonrelJudgedRet,
    NumRel,
    NumRelRet,
    Parameter,
    Rndcg,
    RprecMult,
    SetAP,
    SetF,
    SetP,
    SetR,
    TrecRBP,
    TrecRBPResidual,
    Utility,
    interpolated,
    nDCG,
    nDCG_rel,
)

REPEATED = "the parameters of every -m {name}.… are used; trec_eval uses the first only"


class Wanted(Record):
    """One line of output: the family it belongs to, its printed name, and the measure; relstring has a length only."""

    family: str
    label: str
    measure: Measure | None = None
    length: int = 0


def wanted(options: Options, note: Callable[[str], None]) -> list[Wanted]:
    """All lines requested, in the order of trec_eval's table."""
    _refuse_shared_parameters(options)
    found = []
    for name in options.measures:
        given = options.parameters.get(name, [])
        takes = FAMILIES[name].takes
        if len(given) > 1 and takes != "nothing":
            if options.strict:
                given = given[:1]
            else:
                note(REPEATED.format(name=name))
        found += _lines(name, FAMILIES[name], given, options)
    return found


def _lines(name: str, family: Family, given: list[str], options: Options) -> list[Wanted]:
    """The lines of one family; `given` are its parameter lists."""
    if family.takes in ("cutoffs", "points"):
        read = _cutoffs if family.takes == "cutoffs" else _points
        several = [read(text, name) for text in given]
        steps = sorted({step for part in several for step in part}) if several else family.usual
        form = "{}_{}" if family.takes == "cutoffs" else "{}_{:3.2f}"
        return [Wanted(name, form.format(name, step), _measure(name, step, options)) for step in steps]
    if not given or family.takes == "nothing":
        return [_single(name, name, None, options)]
    if family.takes == "pairs":
        return [_single(name, f"{name}_{text}", _pairs(text, name, options.version), options) for text in given]
    return [_single(name, f"{name}_{text}", tuple(map(atof, text.split(","))), options) for text in given]


def _single(name: str, label: str, parameters: Any, options: Options) -> Wanted:
    if name == "relstring":
        return Wanted(name, label, length=max(0, int((parameters or FAMILIES[name].usual)[0])))
    return Wanted(name, label, None if name == "runid" else _measure(name, parameters, options))


def _measure(name: str, parameters: Any, options: Options) -> Measure:
    """A family's measure under trec_eval's conventions."""
    measure = _made(name, parameters, options)
    changes: dict[str, Any] = {}
    if "rel" in measure.parameters and measure.is_binary:
        # sets are counted among documents that are judged at all, whatever the level
        changes["rel"] = float(max(options.level, 0) if isinstance(measure, _COUNTED) else options.level)
    if isinstance(measure, Rndcg):
        changes["end"] = "trec_eval"
    if FAMILIES[name].judgments == "qrels_jg":
        # the list is condensed for each group of judgments
        changes["judged_only"] = options.judged_only
    measure = replace(measure, **changes)
    if type(measure) in _PAIRED and isinstance(getattr(measure, "gain", None), Mapping):
        pairs = [(int(level), gain) for level, gain in parameters if level != "p"]
        values = {f.name: getattr(measure, f.name) for f in fields(measure)}
        return _PAIRED[type(measure)](**{**values, "gain": PairedGains(pairs, exact=not options.strict)})
    return measure


_COUNTED = (NumRel, NumRelRet, NumNonrelJudgedRet, SetP, SetR, SetF, SetAP, Utility)


def _made(name: str, parameters: Any, options: Options) -> Measure:
    rounding = f"trec_eval-{options.version}"
    make: Callable[..., Measure] | None = FAMILIES[name].make
    assert make is not None, f"{name} is a text"
    if name == "iprec_at_recall":
        return AnyRecall(recall=parameters, rounding=rounding)  # type: ignore[arg-type]
    if name == "11pt_avg":
        return AnyPoints(points=parameters or ELEVEN, rounding=rounding)  # type: ignore[arg-type]
    if name == "set_F":
        return WeightedF(squared=parameters[0] if parameters else 1.0)
    if name == "utility":
        coefficients = parameters or (1.0, -1.0, 0.0, 0.0)
        if len(coefficients) != 4:
            return WrongUtility()
        return AnyUtility(coefficients=coefficients, docs=options.docs)
    if name in ("Rprec_mult", "Rprec_mult_avgjg"):
        return (AnyMultiple if name == "Rprec_mult" else AnyGroupMultiple)(multiple=parameters)
    if name in ("rbp", "rbp_resid"):
        return _persistent(name, dict(parameters or ()))
    if parameters is None:
        return make()
    if FAMILIES[name].takes == "pairs":
        return make([(str(level), gain) for level, gain in parameters if level != "p"])
    return make(parameters)


def _persistent(name: str, given: dict[Any, float]) -> Measure:
    p = given.get("p", 0.9)
    gains = {level: gain for level, gain in given.items() if level != "p"}
    if name == "rbp_resid":
        return AnyResidual(p=p)
    return AnyRBP(p=p, gain=gains or "linear")


# parameters


def _cutoffs(text: str, name: str) -> list[int]:
    cutoffs = sorted(atol(part) for part in text.split(","))
    if cutoffs[0] <= 0:
        raise _not_initialised(name, "trec_eval: Negative cutoff detected\n")
    return _distinct(cutoffs, name)


def _points(text: str, name: str) -> list[float]:
    return _distinct(sorted(map(atof, text.split(","))), name)


def _distinct(cutoffs: list[Any], name: str) -> list[Any]:
    if len(set(cutoffs)) < len(cutoffs):
        raise _not_initialised(name, "trec_eval: duplicate cutoffs detected\n")
    return cutoffs


def _pairs(text: str, name: str, version: int) -> list[tuple[int | str, float]]:
    """Gains by level; `p` is kept as it is."""
    parts = [part.split("=") for part in text.split(",")]
    if any(len(part) != 2 for part in parts):
        raise _not_initialised(name, f"trec_eval: malformed pair parameters in '{text}'\n")
    named = [(level, atof(gain)) for level, gain in parts]
    # version 10 passes over what is no whole number, version 9 reads as much of it as is one
    whole = [(level, gain) for level, gain in named if version < 10 or level.lstrip("+-").isdigit()]
    return [("p", gain) for level, gain in named if level == "p"] + [
        (atol(level), gain) for level, gain in whole if level != "p"
    ]


def _not_initialised(name: str, message: str) -> Stop:
    return Stop(2, f"{message}trec_eval: Cannot initialize measure '{name}'\n")


def _refuse_shared_parameters(options: Options) -> None:
    shared = {"dcg", "ideal_dcg", "ndcg"} & set(options.measures)
    if options.version >= 10 and len(shared) > 1 and shared & set(options.parameters):
        raise crash("dcg, ideal_dcg and ndcg share their parameters, and two of them free them")


# measures as only trec_eval has them: subclasses without a name, so they are in no list


class AnyRecall(IPrec):
    """Interpolated precision at any recall point, below 0 and above 1 too."""

    parameters: ClassVar = {**IPrec.parameters, "recall": Parameter("the recall point")}

    def undefined(self, judged: JudgedRun) -> Bools:
        """Where trec_eval divides 0 by 0: an empty list, and a point that needs no relevant document."""
        return np.asarray((judged.retrieved == 0) & (_needed(self.recall or 0.0, judged, self) <= 0))


class _AnyTuple(Parameter):
    def check(self, name: str, value: Any) -> Any:
        return tuple(value)


class AnyPoints(InterpolatedAP):
    """The mean of interpolated precision at any points, in any order: trec_eval expects them to rise."""

    parameters: ClassVar = {**InterpolatedAP.parameters, "points": _AnyTuple("the recall points")}

    def per_query(self, judged: JudgedRun) -> Floats:
        points = [float(point) for point in self.recall_points()]
        curve = interpolated(judged, self.hits(judged), self.lowest_relevant, [*points, 0.0], self.rounding)
        found = judged.count(self.hits(judged))
        values = np.zeros(judged.n)
        for i in range(judged.n):
            values[i] = self._sum(curve[:, i], found[i], [_needed(point, judged, self)[i] for point in points])
        return values / len(points)

    def _sum(self, curve: Floats, found: float, needed: list[float]) -> float:
        """From the last point to the first, going down the list's relevant documents from the last one."""
        total, left, started = 0.0, found, False
        for j in reversed(range(len(needed))):
            if not started and needed[j] > found:
                continue
            # a point that needs more than is left is never reached: it and all before it get the best precision
            total += float(curve[-1] if started and needed[j] > left else curve[j])
            left = -np.inf if started and needed[j] > left else needed[j]
            started = True
        return total

    def undefined(self, judged: JudgedRun) -> Bools:
        reached = [_needed(float(point), judged, self) <= 0 for point in self.recall_points()]
        return np.asarray((judged.retrieved == 0) & np.any(reached, axis=0))


def _needed(point: float, judged: JudgedRun, measure: IPrec | InterpolatedAP) -> Floats:
    """How many relevant documents a recall point needs."""
    more = 0.9 if measure.rounding == "trec_eval-9" else 0.5
    needed: Floats = np.floor(point * judged.count_relevant(measure.lowest_relevant) + more)
    return needed


class WeightedF(SetF):
    """F with β² as it was given, whose root squared may be another number."""

    squared: float = 1.0

    parameters: ClassVar = {**SetF.parameters, "squared": Parameter("β²")}

    @property
    def weight(self) -> float:
        return self.squared


class AnyMultiple(RprecMult):
    """Precision at any multiple of R; 0 where no document would be read."""

    parameters: ClassVar = {**RprecMult.parameters, "multiple": Parameter("how many times R documents are read")}

    def normaliser(self, judged: JudgedRun) -> Floats:
        return np.maximum(super().normaliser(judged), 0.0)


class AnyGroupMultiple(GroupRprecMult):
    """The same over judgment groups."""

    parameters: ClassVar = {**GroupRprecMult.parameters, "multiple": AnyMultiple.parameters["multiple"]}

    def of_group(self) -> Measure:
        return AnyMultiple(rel=self.rel, multiple=self.multiple, judged_only=self.judged_only)


class AnyUtility(Utility):
    """A utility for a collection of any size."""

    parameters: ClassVar = {**Utility.parameters, "docs": Parameter("how many documents there are", whole=True)}


class WrongUtility(Utility):
    """A utility with another number of coefficients than four: cannot be computed."""


class AnyRBP(TrecRBP):
    """Rank-biased precision with any p."""

    parameters: ClassVar = {**TrecRBP.parameters, "p": Parameter("the chance to go on")}


class AnyResidual(TrecRBPResidual):
    """The residual of rank-biased precision with any p."""

    parameters: ClassVar = {"p": Parameter("the chance to go on")}


class PairedGains(GainMap):
    """Gains by level as trec_eval keeps them; `exact` if sorted as the numbers they are.

    A level may be given twice. What a document gains is then the first of its pairs after sorting; the best ranking
    has the first as given.
    """

    def __init__(self, pairs: Iterable[tuple[int, float]], exact: bool) -> None:
        self.pairs, self.exact = tuple(pairs), exact
        worth = np.array([gain for _, gain in self.pairs], dtype=np.float64)
        # of equal keys a dict keeps the last
        backwards = reversed(_sorted(worth, len(worth), exact).tolist())
        super().__init__({float(self.pairs[i][0]): self.pairs[i][1] for i in backwards})

    def __hash__(self) -> int:  # type: ignore[override]
        return hash((self.pairs, self.exact))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairedGains) and (self.pairs, self.exact) == (other.pairs, other.exact)


class _AnyGain(Gain):
    def check(self, name: str, value: Any) -> Any:
        return value


class _Paired(Gained):
    """A measure with gains as trec_eval keeps them."""

    def ideal_gains(self, judged: JudgedRun) -> Floats:
        assert isinstance(self.gain, PairedGains)
        parts = []
        for i in range(judged.n):
            grades = judged.ideal[int(judged.ideal_starts[i]) : int(judged.ideal_starts[i + 1])]
            gains = best_gains(self.gain, grades)
            parts.append(np.concatenate((gains, np.zeros(len(grades) - len(gains)))))
        return np.concatenate(parts) if parts else np.zeros(0)


_PAIRED: dict[type[Measure], type[Measure]] = {
    kind: type(kind.__name__, (_Paired, kind), {"parameters": {**kind.parameters, "gain": _AnyGain("gains by level")}})
    for kind in (G, DCG, nDCG, nDCG_rel, Rndcg, IdealDCG)
}


def as_trec_eval_sorts(measure: Measure) -> Measure | None:
    """The measure with gains less than 1 apart taken as equal; None where nothing is repaired."""
    gain = getattr(measure, "gain", None)
    if not isinstance(gain, PairedGains) or not gain.exact:
        return None
    return replace(measure, gain=PairedGains(gain.pairs, exact=False))


def best_gains(gain: PairedGains, grades: Floats) -> Floats:
    """The gains of the best ranking as trec_eval makes it: its sort takes gains less than 1 apart as equal.

    >>> best_gains(PairedGains([(1, 0.2), (2, 0.5), (3, 0.9)], exact=False), np.array([3.0, 2.0, 1.0]))
    array([], dtype=float64)
    """
    known, numbers = np.unique(grades[grades >= 0].astype(np.int64), return_counts=True)
    number = dict(zip(known.tolist(), numbers.tolist(), strict=True))
    named = [level for level, _ in gain.pairs]
    # first the levels as given, then the others (gain_init.c); those without documents may matter for the order
    highest = int(known.max(initial=-1))
    others = known if gain.exact or highest > _MOST_LEVELS else np.arange(highest + 1)
    others = others[~np.isin(others, named)]
    worth = np.concatenate(([value for _, value in gain.pairs], others)).astype(np.float64)
    has = np.zeros(len(worth), dtype=np.int64)
    has[: len(named)] = [0 if level in named[:i] else number.get(level, 0) for i, level in enumerate(named)]
    has[len(named) :][np.isin(others, known)] = numbers[np.isin(known, others)]
    order = _sorted(worth, len(named), gain.exact)[::-1]
    # a level without documents is passed over, but for the first: it must be worth something (m_ndcg.c)
    if not len(order) or worth[order[0]] <= 0:
        return np.zeros(0)
    order = order[has[order] > 0]
    ends = np.flatnonzero(worth[order] <= 0)
    order = order[: ends[0]] if len(ends) else order
    return np.repeat(worth[order], has[order])


def _sorted(worth: Floats, given: int, exact: bool) -> Ints:
    """In which order they come by rising worth; from `given` on they are rising whole numbers already."""
    if exact:
        return np.argsort(worth, kind="stable")
    return _merge_sorted(worth, 0, len(worth), given)


def _merge_sorted(worth: Floats, start: int, stop: int, given: int) -> Ints:
    """The C library's merge sort; which order comes out matters, since the comparison is not transitive."""
    if start >= given or stop - start < 2:
        return np.arange(start, stop)
    half = start + (stop - start) // 2
    left, right = _merge_sorted(worth, start, half, given), _merge_sorted(worth, half, stop, given)
    if half >= given and np.abs(worth[left]).max() < _MOST_INT:
        # the right side is rising whole numbers: those up to ⌊worth⌋ − 1 go before each of the left side
        before = np.searchsorted(worth[right], np.floor(worth[left]) - 1, side="right")
        return np.insert(right, np.maximum.accumulate(before), left)
    merged: list[int] = []
    waiting = right.tolist()[::-1]
    for i in left.tolist():
        # a difference that is no int becomes the lowest one
        while waiting and 1 <= worth[i] - worth[waiting[-1]] < _MOST_INT:
            merged.append(waiting.pop())
        merged.append(i)
    return np.array(merged + waiting[::-1], dtype=np.int64)


_MOST_INT = 2.0**31
_MOST_LEVELS = 10**7
