"""Measures: a family is a file, a measure is a class. Families are imported when one of their measures is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from cranfield.measures.base import REGISTRY, Measure, Parameter, all_measures
from cranfield.measures.homes import HOME
from cranfield.measures.names import parse_measure, parse_measures

if TYPE_CHECKING:
    from cranfield.measures.between import RBO, Overlap, Tau, TauAP
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
    from cranfield.measures.counts import NumNonrelJudgedRet, NumQ, NumRel, NumRelRet, NumRet
    from cranfield.measures.diversity import AP_IA, ERR_IA, NRBP, P_IA, StRecall, alpha_DCG, alpha_nDCG, nERR_IA, nNRBP
    from cranfield.measures.graded import CG, DCG, NCG, BinG, G, IdealDCG, Rndcg, nDCG, nDCG_rel
    from cranfield.measures.incomplete import Bpref, InfAP, Judged, Unjudged
    from cranfield.measures.judgment_groups import GroupAP, GroupP, GroupRprecMult
    from cranfield.measures.preferences import PGC, Accuracy, Compat, DivCompat
    from cranfield.measures.prefs import NumPrefs, Prefs, PrefsRnonrel
    from cranfield.measures.recommender import Coverage, Gini, HitRate, MAPk, Novelty
    from cranfield.measures.redundancy import FactRecall
    from cranfield.measures.sampled import (
        infIPrec,
        infNDCG,
        inum_rel,
        inum_rel_ret,
        iP,
        statAP,
        statNDCG,
        statP,
        statRprec,
        varAP,
        xinfAP,
    )
    from cranfield.measures.sets import Fallout, SetAccuracy, SetAP, SetF, SetP, SetR, SetRelP, Utility
    from cranfield.measures.trec import GMAP, YAAP, GMBpref, RelativeP, RprecMult, TrecRBP, TrecRBPResidual
    from cranfield.measures.user_models import (
        BPM,
        BPMD,
        CWL_AP,
        CWL_P,
        CWL_RR,
        ERR,
        IFT,
        INSQ,
        INST,
        NERR8,
        NERR9,
        NERR10,
        NERR11,
        NPV,
        RBP,
        SDCG,
        SET,
        TBG,
        TrAP,
        U,
        UserModel,
    )

__all__ = [
    "AP",
    "AP_IA",
    "Accuracy",
    "BPM",
    "BPMD",
    "BinG",
    "Bpref",
    "Breakeven",
    "CG",
    "CWL_AP",
    "CWL_P",
    "CWL_RR",
    "Compat",
    "Coverage",
    "DCG",
    "DivCompat",
    "ERR",
    "ERR_IA",
    "FactRecall",
    "Fallout",
    "G",
    "GMAP",
    "GMBpref",
    "Gini",
    "GroupAP",
    "GroupP",
    "GroupRprecMult",
    "HitRate",
    "IFT",
    "INSQ",
    "INST",
    "IPrec",
    "IdealDCG",
    "InfAP",
    "InterpolatedAP",
    "Judged",
    "LRAP",
    "MAPk",
    "Measure",
    "NCG",
    "NERR10",
    "NERR11",
    "NERR8",
    "NERR9",
    "NPV",
    "NRBP",
    "Novelty",
    "NumNonrelJudgedRet",
    "NumPrefs",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "Overlap",
    "P",
    "PGC",
    "P_IA",
    "Parameter",
    "Prefs",
    "PrefsRnonrel",
    "R",
    "RBO",
    "RBP",
    "REGISTRY",
    "RR",
    "RelativeP",
    "Rndcg",
    "Rprec",
    "RprecMult",
    "SDCG",
    "SET",
    "SearchLength",
    "SetAP",
    "SetAccuracy",
    "SetF",
    "SetP",
    "SetR",
    "SetRelP",
    "StRecall",
    "Success",
    "TBG",
    "Tau",
    "TauAP",
    "TrAP",
    "TrecRBP",
    "TrecRBPResidual",
    "U",
    "Unjudged",
    "UserModel",
    "Utility",
    "YAAP",
    "all_measures",
    "alpha_DCG",
    "alpha_nDCG",
    "iP",
    "infIPrec",
    "infNDCG",
    "inum_rel",
    "inum_rel_ret",
    "nDCG",
    "nDCG_rel",
    "nERR_IA",
    "nNRBP",
    "parse_measure",
    "parse_measures",
    "statAP",
    "statNDCG",
    "statP",
    "statRprec",
    "varAP",
    "xinfAP",
]


def __getattr__(name: str) -> Any:
    if name not in HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{HOME[name]}"), name)
    globals()[name] = value
    return value
