"""trec_eval's names for measures: `map`, `ndcg_cut_10`, `P.5,10`, `iprec_at_recall_0.10`, `all_trec`, …"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal

from cranfield.base import Record
from cranfield.errors import MeasureError
from cranfield.measures.base import REGISTRY, Measure

Named = tuple[str, Measure]
Pairs = list[tuple[str, float]]
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
ELEVEN = tuple(i / 10 for i in range(11))
MULTIPLES = (0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


class _Later:
    """A measure whose family is read when it is made."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, **given: Any) -> Measure:
        return REGISTRY[self.name](**given)


AP = _Later("AP")
RR = _Later("RR")
InterpolatedAP = _Later("InterpolatedAP")
IPrec = _Later("IPrec")
P = _Later("P")
R = _Later("R")
Rprec = _Later("Rprec")
Success = _Later("Success")
NumNonrelJudgedRet = _Later("NumNonrelJudgedRet")
NumQ = _Later("NumQ")
NumRel = _Later("NumRel")
NumRelRet = _Later("NumRelRet")
NumRet = _Later("NumRet")
DCG = _Later("DCG")
BinG = _Later("BinG")
G = _Later("G")
IdealDCG = _Later("IdealDCG")
Rndcg = _Later("Rndcg")
nDCG = _Later("nDCG")
nDCG_rel = _Later("nDCG_rel")
Bpref = _Later("Bpref")
InfAP = _Later("InfAP")
Unjudged = _Later("Unjudged")
GroupAP = _Later("GroupAP")
GroupP = _Later("GroupP")
GroupRprecMult = _Later("GroupRprecMult")
NumPrefs = _Later("NumPrefs")
Prefs = _Later("Prefs")
PrefsRnonrel = _Later("PrefsRnonrel")
SetAP = _Later("SetAP")
SetF = _Later("SetF")
SetP = _Later("SetP")
SetR = _Later("SetR")
SetRelP = _Later("SetRelP")
Utility = _Later("Utility")
GMAP = _Later("GMAP")
YAAP = _Later("YAAP")
GMBpref = _Later("GMBpref")
RelativeP = _Later("RelativeP")
RprecMult = _Later("RprecMult")
TrecRBP = _Later("TrecRBP")
TrecRBPResidual = _Later("TrecRBPResidual")


class Family(Record):
    """What a trec_eval name denotes: one measure, or one for each of its parameters.

    `make` gives the measure: of nothing; of each cutoff or point; of all numbers; or of all pairs like `1=0.5`. The
    last two also of nothing. It is None for what is printed as text.
    """

    make: Callable[..., Measure] | None
    takes: Literal["nothing", "cutoffs", "points", "numbers", "pairs"] = "nothing"
    usual: tuple[float, ...] = ()
    judgments: Literal["any", "qrels", "qrels_jg", "prefs"] = "qrels"
    since: int = 9  # trec_eval's version


def _prefs(mean: str, which: str = "all") -> Family:
    return Family(lambda: Prefs(mean=mean, which=which), judgments="prefs")


def _count(of: str) -> Family:
    return Family(lambda: NumPrefs(of=of), judgments="prefs")


def _gained(kind: Callable[..., Measure], since: int = 9) -> Family:
    return Family(lambda pairs=(): kind(gain=_gains(pairs)) if pairs else kind(), "pairs", since=since)


def _gains(pairs: Iterable[tuple[str, float]]) -> dict[float, float]:
    return {_number(level): gain for level, gain in pairs}


def _set_f(numbers: tuple[float, ...] = (1.0,)) -> Measure:
    # trec_eval's parameter is β²
    if numbers[0] < 0:
        raise MeasureError(f"set_F: β² = {numbers[0]:g} is out of range: expected a number of at least 0.")
    return SetF(beta=math.sqrt(numbers[0]))


def _rbp(pairs: Pairs | tuple[()] = ()) -> Measure:
    gains = _gains(pair for pair in pairs if pair[0] != "p")
    return TrecRBP(p=dict(pairs).get("p", 0.9), gain=gains or "linear")


def _residual(pairs: Pairs | tuple[()] = ()) -> Measure:
    return TrecRBPResidual(p=dict(pairs).get("p", 0.9))


# in the order in which trec_eval computes and prints them
FAMILIES: dict[str, Family] = {
    "runid": Family(None, judgments="any"),
    "num_q": Family(NumQ, judgments="any"),
    "num_ret": Family(NumRet),
    "num_rel": Family(NumRel),
    "num_rel_ret": Family(NumRelRet),
    "map": Family(AP),
    "gm_map": Family(GMAP),
    "Rprec": Family(Rprec),
    "bpref": Family(Bpref),
    "recip_rank": Family(RR),
    "iprec_at_recall": Family(lambda point: IPrec(recall=point), "points", ELEVEN),
    "P": Family(lambda k: P(cutoff=k), "cutoffs", CUTOFFS),
    "relstring": Family(None, "numbers", (10.0,)),
    "recall": Family(lambda k: R(cutoff=k), "cutoffs", CUTOFFS),
    "infAP": Family(InfAP),
    "gm_bpref": Family(GMBpref),
    "Rprec_mult": Family(lambda x: RprecMult(multiple=x), "points", MULTIPLES),
    "utility": Family(lambda numbers=(1.0, -1.0, 0.0, 0.0): Utility(coefficients=numbers), "numbers"),
    "11pt_avg": Family(lambda points=11: InterpolatedAP(points=points), "numbers"),
    "binG": Family(BinG),
    "G": _gained(G),
    "dcg": _gained(DCG, since=10),
    "ideal_dcg": _gained(IdealDCG, since=10),
    "ndcg": _gained(nDCG),
    "ndcg_rel": _gained(nDCG_rel),
    "Rndcg": _gained(Rndcg),
    "ndcg_cut": Family(lambda k: nDCG(cutoff=k), "cutoffs", CUTOFFS),
    "map_cut": Family(lambda k: AP(cutoff=k), "cutoffs", CUTOFFS),
    "relative_P": Family(lambda k: RelativeP(cutoff=k), "cutoffs", CUTOFFS),
    "success": Family(lambda k: Success(cutoff=k), "cutoffs", (1, 5, 10)),
    "set_P": Family(SetP),
    "set_relative_P": Family(SetRelP),
    "set_recall": Family(SetR),
    "set_map": Family(SetAP),
    "set_F": Family(_set_f, "numbers"),
    "num_nonrel_judged_ret": Family(NumNonrelJudgedRet),
    "prefs_num_prefs_poss": _count("possible"),
    "prefs_num_prefs_ful": _count("fulfilled"),
    "prefs_num_prefs_ful_ret": _count("fulfilled-ret"),
    "prefs_simp": _prefs("preferences"),
    "prefs_pair": _prefs("pairs"),
    "prefs_avgjg": _prefs("groups"),
    "prefs_avgjg_Rnonrel": Family(PrefsRnonrel, judgments="prefs"),
    "prefs_simp_ret": _prefs("preferences", "ret"),
    "prefs_pair_ret": _prefs("pairs", "ret"),
    "prefs_avgjg_ret": _prefs("groups", "ret"),
    "prefs_avgjg_Rnonrel_ret": Family(lambda: PrefsRnonrel(which="ret"), judgments="prefs"),
    "prefs_simp_imp": _prefs("preferences", "imp"),
    "prefs_pair_imp": _prefs("pairs", "imp"),
    "prefs_avgjg_imp": _prefs("groups", "imp"),
    "map_avgjg": Family(GroupAP, judgments="qrels_jg"),
    "P_avgjg": Family(lambda k: GroupP(cutoff=k), "cutoffs", CUTOFFS, "qrels_jg"),
    "Rprec_mult_avgjg": Family(lambda x: GroupRprecMult(multiple=x), "points", MULTIPLES, "qrels_jg"),
    "yaap": Family(YAAP),
    "rbp": Family(_rbp, "pairs", since=10),
    "rbp_resid": Family(_residual, "pairs", since=10),
    "unj": Family(lambda k: Unjudged(cutoff=k), "cutoffs", (5, 10, 20), since=10),
}
_HEAD = ("runid", "num_q")
_COUNTS = (*_HEAD, "num_ret", "num_rel", "num_rel_ret")
_PREFS = tuple(name for name in FAMILIES if name.startswith("prefs"))
_IN_NO_NICKNAME = ("yaap", "dcg", "ideal_dcg")
NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": (*_COUNTS, "map", "gm_map", "Rprec", "bpref", "recip_rank", "iprec_at_recall", "P"),
    "set": (*_COUNTS, "utility", "set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
    "all_trec": tuple(
        name
        for name, family in FAMILIES.items()
        if family.judgments in ("any", "qrels") and name not in _IN_NO_NICKNAME
    ),
    "prefs": (*_HEAD, *_PREFS[:6]),
    "all_prefs": (*_HEAD, *_PREFS),
    "qrels_jg": (*_HEAD, "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
}
_NAME = re.compile(
    rf"(?P<name>{'|'.join(map(re.escape, sorted(FAMILIES, key=len, reverse=True)))})(?:[._](?P<rest>.+))?"
)


def parse_trec_name(text: str) -> list[Named] | None:
    """The measures that a trec_eval name denotes, each under its printed name; None if it is not such a name.

    >>> [label for label, _ in parse_trec_name("P.5,10")]
    ['P_5', 'P_10']
    """
    if text in NICKNAMES:
        numbers = [name for name in NICKNAMES[text] if FAMILIES[name].make is not None]
        return [named for name in numbers for named in _named(name, None)]
    match = _NAME.fullmatch(text)
    bare = re.split(r"[(@]", text)[0]
    if match is None or (bare in REGISTRY and bare not in FAMILIES):
        return None
    return _named(match["name"], match["rest"])


def _named(name: str, rest: str | None) -> list[Named]:
    family = FAMILIES[name]
    if family.make is None:
        per_query = "-q " if name == "relstring" else ""
        raise MeasureError(
            f"{name} is a text, not a number, and only the drop-in has it: "
            f"cranfield trec_eval {per_query}-m {name} QRELS RUN."
        )
    if rest is not None and family.takes == "nothing":
        raise MeasureError(f"{name} takes no parameters, found {rest!r}.")
    parts = None if rest is None else rest.split(",")
    if family.takes == "cutoffs":
        cutoffs = family.usual if parts is None else [_cutoff(part, name) for part in parts]
        return [(f"{name}_{k}", family.make(k)) for k in cutoffs]
    if family.takes == "points":
        points = family.usual if parts is None else [_number(part) for part in parts]
        return [(f"{name}_{_point(point)}", family.make(point)) for point in points]
    if parts is None:
        return [(name, family.make())]
    given = [_pair(part) for part in parts] if family.takes == "pairs" else tuple(_number(part) for part in parts)
    return [(f"{name}_{rest}", family.make(given))]


def _point(point: float) -> str:
    """A point with trec_eval's two decimals, or with all where it has more: two points must not have one name.

    >>> _point(0.1), _point(0.121)
    ('0.10', '0.121')
    """
    short = f"{point:3.2f}"
    return short if float(short) == point else repr(point)


def _cutoff(text: str, name: str) -> int:
    if not re.fullmatch(r"\d{1,12}", text) or int(text) < 1:
        raise MeasureError(f"{name}: cutoff {text!r} is not a whole number of at least 1.")
    return int(text)


def _pair(text: str) -> tuple[str, float]:
    level, sign, gain = text.partition("=")
    if not sign:
        raise MeasureError(f"expected level=gain, found {text!r}.")
    return level, _number(gain)


def _number(text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text):
        raise MeasureError(f"{text!r} is not a number.")
    return float(text)
