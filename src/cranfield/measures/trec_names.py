"""trec_eval's names for measures: `map`, `ndcg_cut_10`, `P.5,10`, `iprec_at_recall_0.10`, …"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from cranfield.errors import MeasureError
from cranfield.measures.base import Measure
from cranfield.measures.binary import AP, RR, InterpolatedAP, IPrec, P, R, Rprec, Success
from cranfield.measures.counts import NumQ, NumRel, NumRelRet, NumRet
from cranfield.measures.graded import nDCG
from cranfield.measures.incomplete import Bpref
from cranfield.measures.sets import SetF, SetP, SetR

Named = tuple[str, Measure]
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
ELEVEN = tuple(i / 10 for i in range(11))

_PLAIN: dict[str, Callable[[], Measure]] = {
    "map": AP,
    "recip_rank": RR,
    "Rprec": Rprec,
    "bpref": Bpref,
    "ndcg": nDCG,
    "11pt_avg": InterpolatedAP,
    "num_q": NumQ,
    "num_ret": NumRet,
    "num_rel": NumRel,
    "num_rel_ret": NumRelRet,
    "set_P": SetP,
    "set_recall": SetR,
    "set_F": SetF,
}
_AT_CUTOFF: dict[str, tuple[Callable[..., Measure], tuple[int, ...]]] = {
    "P": (P, CUTOFFS),
    "recall": (R, CUTOFFS),
    "ndcg_cut": (nDCG, CUTOFFS),
    "map_cut": (AP, CUTOFFS),
    "success": (Success, (1, 5, 10)),
}
_WITH_PARAMETERS: dict[str, Callable[[str], Measure]] = {
    "ndcg": lambda text: nDCG(gain=dict(_pair(part) for part in text.split(","))),
    "11pt_avg": lambda text: InterpolatedAP(points=tuple(_number(part) for part in text.split(","))),
    "set_F": lambda text: SetF(beta=_beta(text)),
}
_FAMILIES = sorted({*_PLAIN, *_AT_CUTOFF, "iprec_at_recall"}, key=len, reverse=True)
_NAME = re.compile(rf"(?P<name>{'|'.join(map(re.escape, _FAMILIES))})(?:(?P<by>[._])(?P<rest>.+))?")


def parse_trec_name(text: str) -> list[Named] | None:
    """The measures a trec_eval name stands for, each under its printed name; None if it is no such name.

    >>> [label for label, _ in parse_trec_name("P.5,10")]
    ['P_5', 'P_10']
    """
    match = _NAME.fullmatch(text)
    if match is None:
        return None
    name, rest = match["name"], match["rest"]
    if name in _AT_CUTOFF:
        return _at_cutoffs(name, rest)
    if name == "iprec_at_recall":
        points = ELEVEN if rest is None else tuple(_number(part) for part in rest.split(","))
        return [(f"iprec_at_recall_{point:3.2f}", IPrec(recall=point)) for point in points]
    if rest is None:
        return [(name, _PLAIN[name]())]
    if name not in _WITH_PARAMETERS:
        raise MeasureError(f"{name} takes no parameters, found {rest!r}.")
    return [(f"{name}_{rest}", _WITH_PARAMETERS[name](rest))]


def _at_cutoffs(name: str, rest: str | None) -> list[Named]:
    make, cutoffs = _AT_CUTOFF[name]
    if rest is not None:
        cutoffs = tuple(_cutoff(part, name) for part in rest.split(","))
    return [(f"{name}_{k}", make(cutoff=k)) for k in cutoffs]


def _cutoff(text: str, name: str) -> int:
    if not re.fullmatch(r"\d{1,12}", text) or int(text) < 1:
        raise MeasureError(f"{name}: cutoff {text!r} is not a whole number of at least 1.")
    return int(text)


def _pair(text: str) -> tuple[float, float]:
    level, sign, gain = text.partition("=")
    if not sign:
        raise MeasureError(f"expected level=gain, found {text!r}.")
    return _number(level), _number(gain)


def _beta(text: str) -> float:
    # trec_eval's parameter is β²
    squared = _number(text)
    if squared < 0:
        raise MeasureError(f"set_F: β² = {text} is out of range: expected a number of at least 0.")
    return math.sqrt(squared)


def _number(text: str) -> float:
    if not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text):
        raise MeasureError(f"{text!r} is not a number.")
    return float(text)
