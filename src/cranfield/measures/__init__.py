"""Measures: a family is a file, a measure is a class. Families are imported when one of their measures is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cranfield.base import Parameter, lazy_exports
from cranfield.measures.base import REGISTRY, Measure, all_measures, is_built_in, report_user_errors, unknown_measure
from cranfield.measures.parameters import CUTOFF, REL, Gain, GainMap
from cranfield.measures.parser import parse_measure, parse_measures
from cranfield.measures.registry import FAMILY_OF

if TYPE_CHECKING:
    from cranfield.measures.advice import ADVICE
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
        interpolated,
    )
    from cranfield.measures.counts import NumNonrelJudgedRet, NumQ, NumRel, NumRelRet, NumRet
    from cranfield.measures.diversity import AP_IA, ERR_IA, NRBP, P_IA, StRecall, alpha_DCG, alpha_nDCG, nERR_IA, nNRBP
    from cranfield.measures.graded import CG, DCG, NCG, BinG, G, Gained, IdealDCG, Rndcg, nDCG, nDCG_rel
    from cranfield.measures.incomplete import Bpref, InfAP, Judged, Unjudged
    from cranfield.measures.judgment_groups import GroupAP, GroupP, GroupRprecMult
    from cranfield.measures.list_similarity import (
        VARIANTS,
        Variant,
        agreements,
        kendall_pairs,
        overlap_share,
        places,
        tau_ap_terms,
    )
    from cranfield.measures.preferences import LONGEST, PGC, Accuracy, Compat, CompatByScore, DivCompat
    from cranfield.measures.rank_similarity import RBO, Overlap, Tau, TauAP
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
    from cranfield.measures.sets import RETRIEVED, Fallout, SetAccuracy, SetAP, SetF, SetP, SetR, SetRelP, Utility
    from cranfield.measures.trec_names import ELEVEN, FAMILIES, NICKNAMES, Family, parse_trec_name
    from cranfield.measures.trec_only import GMAP, YAAP, GMBpref, RelativeP, RprecMult, TrecRBP, TrecRBPResidual
    from cranfield.measures.trec_prefs import (
        NumPrefs,
        PreferenceConflict,
        Prefs,
        PrefsRnonrel,
        positions,
        preferences_of,
    )
    from cranfield.measures.user_measures import load_user_measure, parse_user_name
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

_EAGER = (
    "CUTOFF Gain GainMap Measure Parameter REGISTRY REL all_measures is_built_in parse_measure parse_measures "
    "report_user_errors unknown_measure"
)
_lazy, _load = lazy_exports(
    __name__,
    {
        "advice": "ADVICE",
        "binary": "interpolated",
        "graded": "Gained",
        "list_similarity": "VARIANTS Variant agreements kendall_pairs overlap_share places tau_ap_terms",
        "preferences": "CompatByScore LONGEST",
        "sets": "RETRIEVED",
        "trec_names": "ELEVEN FAMILIES Family NICKNAMES parse_trec_name",
        "trec_prefs": "PreferenceConflict positions preferences_of",
        "user_measures": "load_user_measure parse_user_name",
        "user_models": "UserModel",
    },
)
__all__ = [*_EAGER.split(), *_lazy, *FAMILY_OF]


def __getattr__(name: str) -> Any:
    return REGISTRY[name] if name in FAMILY_OF else _load(name)
