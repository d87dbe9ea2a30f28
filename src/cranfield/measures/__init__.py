"""Measures: a family is a file, a measure is a class."""

from cranfield.measures.base import REGISTRY, Measure, Parameter, all_measures
from cranfield.measures.binary import (
    AP,
    LRAP,
    RR,
    Breakeven,
    InterpolatedAP,
    IPrec,
    P,
    R,
    Rprec,
    SearchLength,
    Success,
)
from cranfield.measures.counts import NumQ, NumRel, NumRelRet, NumRet
from cranfield.measures.graded import CG, DCG, NCG, nDCG
from cranfield.measures.incomplete import Bpref, Judged
from cranfield.measures.names import parse_measure, parse_measures
from cranfield.measures.sets import Fallout, SetAccuracy, SetF, SetP, SetR

__all__ = [
    "AP",
    "Bpref",
    "Breakeven",
    "CG",
    "DCG",
    "Fallout",
    "IPrec",
    "InterpolatedAP",
    "Judged",
    "LRAP",
    "Measure",
    "NCG",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "P",
    "Parameter",
    "R",
    "REGISTRY",
    "RR",
    "Rprec",
    "SearchLength",
    "SetAccuracy",
    "SetF",
    "SetP",
    "SetR",
    "Success",
    "all_measures",
    "nDCG",
    "parse_measure",
    "parse_measures",
]
