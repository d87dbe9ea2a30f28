"""What each tool does differently from us, measure by measure.

What is said of a tool is said of the version in its title, after its source and observed behaviour.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from cranfield.base import OnDuplicate, fields, replace
from cranfield.errors import CranfieldError
from cranfield.evaluation.tools.inputs import (
    Prepare,
    every_positive_row,
    everything_scored,
    gdeval_refuses_subtopics,
    last_row_counts,
    only_grades_up_to_four,
    only_natural_grades,
    only_positive_scores,
    only_retrieved,
    only_with_relevant,
    refuse_fractions,
    refuse_negative_grades,
    refuse_nothing_relevant,
    refuse_single_documents,
    refuse_two_judgments,
    refuse_two_judgments_anywhere,
    refuse_unjudged_queries,
    whole_grades,
    without_the_query_itself,
)
from cranfield.evaluation.tools.tool import (
    Difference,
    Rule,
    Tool,
    change_inputs,
    change_join,
    change_measure,
    change_parameters,
    reinterpret_parameters,
)
from cranfield.evaluation.tools.variants import (
    AccuracyWhereRelevant,
    FalloutOfAny,
    Hole,
    IdealAsGiven,
    JudgedAtAll,
    LeveledDCG,
    LeveledNDCG,
    NumPrefsMet,
    NumQMet,
    NumRelMet,
    OverFound,
    RanxBpref,
    RawRBP,
    RecountedRel,
    SignedDCG,
    SignedNDCG,
)
from cranfield.measures import (
    LONGEST,
    RETRIEVED,
    CompatByScore,
    Measure,
    Success,
    TrecRBP,
    TrecRBPResidual,
    Utility,
)


def _as_it_is(_: Any, __: float | None) -> Iterable[Difference]:
    return ()


def _all(*names: str) -> dict[str, Rule]:
    """Measures that the tool has as we do."""
    return dict.fromkeys(names, _as_it_is)


def _if(condition: Callable[[Any], bool], *differences: Difference) -> Rule:
    """A measure that the tool has in some forms only."""
    return lambda measure, _: differences if condition(measure) else None


def _is_plain(measure: Any) -> bool:
    """Whether (n)DCG has the usual discount log2(1 + i)."""
    return bool(measure.discount == "log(1+i)" and measure.base == 2)


def _is_linear(measure: Any) -> bool:
    return _is_plain(measure) and measure.gain == "linear"


def _is_usual(measure: Any, *but: str) -> bool:
    """Whether all parameters but some are what they are if not given."""
    return all(getattr(measure, f.name) == f.default for f in fields(measure) if f.name not in but)


def _has_a_cutoff(measure: Any) -> bool:
    return getattr(measure, "cutoff", None) is not None


def _over_all(measure: Any) -> bool:
    """Whether AP is the usual one, over R and rank by rank."""
    return bool(measure.denominator == "R" and measure.ties is None)


FLOAT32 = change_join("score precision", "scores in single precision (float32)", score_type="float32")
FLOAT64 = change_join("score precision", "scores in double precision", score_type="float64")
DOC_ASCENDING = change_join("ties", "ties by doc id, ascending", ties="doc-ascending")
DOC_DESCENDING = change_join("ties", "ties by doc id, descending", ties="trec")
INPUT_ORDER = change_join("ties", "ties in the order of the input", ties="input-order")
UNSTABLE = change_join("ties", "ties in the order of an unstable sort, here that of the input", ties="input-order")
AVERAGED = change_join("ties", "the mean over all orders of tied documents", ties="expected")
RANK_COLUMN = change_join("ranking", "ranked by the rank column, not by score", rank_by="rank")
SKIPPED = change_join("missing queries", "queries that the run lacks are left out", missing="skip")
AS_ZERO = change_join("missing queries", "queries that the run lacks count as 0", missing="zero")
REFUSED = change_join("missing queries", "stops if the run lacks a query", missing="error")
RETRIEVED_ONLY = change_inputs("ideal", "knows the judgments of retrieved documents only", only_retrieved)
NO_UNJUDGED_QUERIES = change_inputs(
    "queries", "stops at queries without judgments", partial(refuse_unjudged_queries, "ranx"), {"missing"}
)
WHOLE_GRADES = change_inputs("grades", "grades lose what is behind the point", whole_grades)
GRADES_AS_THEY_ARE = Difference("grades", "grades as they are", lambda setting: setting)


def _twice(how: str, settle: Prepare | None, on_duplicate: OnDuplicate = "error") -> Difference:
    """What counts where a document is there twice, or judged for several subtopics."""
    return Difference(
        "duplicates",
        how,
        lambda setting: replace(setting, on_duplicate=on_duplicate, settle=settle),
        frozenset({"on_duplicate"}),
    )


LAST_WINS = _twice("of a document that is there twice the last row counts", last_row_counts, "last")
_ONE_JUDGMENT = "stops at a document judged twice, even for two subtopics"
ONE_JUDGMENT = {
    9: _twice(_ONE_JUDGMENT, refuse_two_judgments),
    10: _twice(_ONE_JUDGMENT, refuse_two_judgments_anywhere),
}
NO_SUBTOPICS = _twice("stops at a document judged for several subtopics", gdeval_refuses_subtopics)
# how ir_measures has measures by other providers than pytrec_eval
ANY_ROW = _twice(
    "of a document retrieved twice the last row counts, of one judged for several subtopics the highest", None, "last"
)
LOWEST_ROW = _twice(
    "of a document retrieved twice the last row counts; of one judged for several subtopics the lowest positive grade, "
    "and all of them in the ideal ranking",
    every_positive_row,
    "last",
)
EXPONENTIAL = change_parameters("gain", "the gain of a grade is 2^grade − 1", gain="exp")


def _cut_at(k: int) -> Difference:
    return change_parameters("cutoff", f"the cutoff is {k} unless one is given", cutoff=k)


STANDS_IN = Difference(
    "stand-in",
    "a query that the run lacks has a list of one unknown document, if it counts as zero",
    lambda setting: replace(setting, stands_in=True),
)


_ONLY_IN_10: dict[str, Rule] = {
    **_all("TrecRBP", "Unjudged"),
    "TrecRBPResidual": lambda measure, _: () if measure.p == TrecRBPResidual().p else (STANDS_IN,),
    # version 10 sets to 0 what a missing query has, but for these, and only under the default name
    "IdealDCG": lambda *_: (STANDS_IN,),
    "YAAP": lambda *_: (STANDS_IN,),
    "Utility": lambda measure, _: () if measure.coefficients == Utility().coefficients else (STANDS_IN,),
    "DCG": _if(lambda m: m.cutoff is None and _is_plain(m) and m.gain != "exp"),
    "RBP": _if(
        lambda m: _is_usual(m, "p", "gain", "judged_only"),
        change_measure("gain", "the gain is the grade; scaled to 0…1 query by query where it is not within", TrecRBP),
        change_parameters("p", "p is 0.9 unless given", p=0.9),
    ),
}

_ONLY_IN_9: dict[str, Rule] = {
    "NumPrefs": lambda *_: (
        DOC_ASCENDING,
        GRADES_AS_THEY_ARE,
        change_measure("queries", "the preferences of queries that the run lacks are not counted", NumPrefsMet),
    ),
}
RECOUNTED = change_measure(
    "sum",
    "if missing queries count, the sum is of all documents with a grade above 0, whatever the level",
    RecountedRel,
)
NO_END = change_parameters(
    "end", "the end of a list just one longer than the best ranking is left out", end="trec_eval"
)


def _trec_eval(version: int, *always: Difference) -> Tool:
    how = {9: "⌊rR + 0.9⌋ relevant documents reach recall r", 10: "rR relevant documents, rounded, reach recall r"}
    rounded = change_parameters("rounding", how[version], rounding=f"trec_eval-{version}")
    return Tool(
        name=f"trec_eval-{version}",
        title=f"trec_eval {version}",
        always=(*always, ONE_JUDGMENT[version], WHOLE_GRADES),
        rules={
            **_all("P", "R", "Success", "HitRate", "Rprec", "Bpref", "RR", "SetP", "SetR", "SetF", "SetRelP", "SetAP"),
            **_all("NumQ", "NumRet", "NumRelRet", "NumNonrelJudgedRet", "RelativeP", "RprecMult", "YAAP"),
            **_all("GMBpref", "infAP", "BinG", "G", "nDCG_rel", "Utility"),
            "NumRel": lambda measure, _: () if measure.lowest_relevant == 1 else (RECOUNTED,),
            "Rndcg": lambda *_: (NO_END,),
            **_all("GroupAP", "GroupP", "GroupRprecMult"),
            # trec_eval orders documents for preferences the other way round
            **dict.fromkeys(("Prefs", "PrefsRnonrel", "NumPrefs"), lambda *_: (DOC_ASCENDING, GRADES_AS_THEY_ARE)),
            **(_ONLY_IN_10 if version == 10 else _ONLY_IN_9),
            "AP": _if(_over_all),
            "GMAP": _if(lambda m: _over_all(m) and m.cutoff is None),
            "nDCG": _if(lambda m: _is_linear(m) or (_is_plain(m) and not isinstance(m.gain, str) and not m.cutoff)),
            "IPrec": lambda *_: (rounded,),
            "InterpolatedAP": lambda *_: (rounded,),
        },
        judged_only=True,
    )


def _ir_measures_set_f(measure: Any, _: float | None) -> Iterable[Difference]:
    return (reinterpret_parameters("beta", "the parameter beta is β²", beta=math.sqrt(measure.beta)),)


def _ir_measures_iprec(measure: Any, _: float | None) -> Iterable[Difference]:
    return (
        change_parameters("rounding", "⌊rR + 0.9⌋ relevant documents reach recall r", rounding="trec_eval-9"),
        reinterpret_parameters("recall", "a recall point has two decimals", recall=float(f"{measure.recall:.2f}")),
    )


def _by_cwl(_: Any, __: float | None) -> Iterable[Difference]:
    """cwl_eval gets documents sorted by score with Python's stable sort."""
    return (INPUT_ORDER, FLOAT64)


def _ndeval(measure: Any, _: float | None) -> Iterable[Difference] | None:
    # AP-IA and NRBP look at the whole list, all others at the first k
    if "cutoff" in measure.parameters and (measure.cutoff is None) != (measure.name == "AP_IA"):
        return None
    if "raw_at_1" not in measure.parameters:
        return ()
    return (change_parameters("denominator", "divided by nothing at cutoff 1", raw_at_1=True),)


def _by_pyndeval(measure: Any, rel: float | None) -> Iterable[Difference] | None:
    if measure.judged_only or (getattr(measure, "cutoff", None) or 1) > 20:
        return None
    own = _ndeval(measure, rel)
    return None if own is None else (DOC_ASCENDING, FLOAT64, *own)


def _ir_measures_rr(measure: Any, _: float | None) -> Iterable[Difference] | None:
    # pytrec_eval has no cutoff, so RR@k comes from another provider than RR
    if measure.cutoff is None:
        return ()
    return None if measure.judged_only else (DOC_ASCENDING, FLOAT64, ANY_ROW)


def _ir_measures_ndcg(measure: Any, _: float | None) -> Iterable[Difference] | None:
    if not _is_plain(measure):
        return None
    if measure.gain != "exp":
        return ()
    if measure.judged_only:
        return None
    # by gdeval with a cutoff, by ranx without
    by_gdeval, by_ranx = (FLOAT64, LOWEST_ROW), (FLOAT64, UNSTABLE, REFUSED, NO_UNJUDGED_QUERIES)
    return by_gdeval if measure.cutoff is not None else by_ranx


def _ir_measures_rbp(measure: Any, rel: float | None) -> Iterable[Difference] | None:
    if (measure.rel is None and rel is None) or not _is_usual(measure, "p", "rel", "depth", "gain"):
        return None
    level = () if measure.rel is not None else (change_parameters("rel", f"relevant from grade {rel:g} on", rel=rel),)
    return (INPUT_ORDER, FLOAT64, change_parameters("depth", "a ranking ends at 1000", depth=1000), *level)


_DIVERSITY = ("ERR_IA", "nERR_IA", "alpha_DCG", "alpha_nDCG", "NRBP", "nNRBP", "AP_IA", "P_IA", "StRecall")
_COUNTED_AT_ALL = change_measure("denominator", "a document with a negative grade is judged", JudgedAtAll)
IR_MEASURES = Tool(
    name="ir_measures",
    title="ir_measures 0.4",
    always=(
        FLOAT32,
        AS_ZERO,
        LAST_WINS,
        change_inputs("grades", "stops at grades that are not whole numbers", partial(refuse_fractions, "ir_measures")),
    ),
    rules={
        **_all("P", "R", "Success", "Rprec", "Bpref", "SetP", "SetR", "SetAP", "infAP", "NumRet", "NumRelRet"),
        # even what does not depend on the run is 0 for a query that it lacks
        "NumQ": lambda *_: (change_measure("queries", "0 for queries that the run lacks", NumQMet),),
        "NumRel": _if(
            lambda m: m.lowest_relevant == 1, change_measure("queries", "0 for queries that the run lacks", NumRelMet)
        ),
        "AP": _if(_over_all),
        "RR": _ir_measures_rr,
        "nDCG": _ir_measures_ndcg,
        "IPrec": _ir_measures_iprec,
        "SetF": _ir_measures_set_f,
        "Judged": _if(lambda m: not m.judged_only, DOC_ASCENDING, FLOAT64, _COUNTED_AT_ALL),
        "ERR": _if(_has_a_cutoff, FLOAT64, LOWEST_ROW),
        "SetRelP": _as_it_is,
        "Compat": _if(
            lambda m: not m.judged_only,
            DOC_ASCENDING,
            FLOAT64,
            change_measure("ideal", "equal grades are ordered by score in the ideal ranking", CompatByScore),
            change_parameters("depth", "compared as deep as the longer list is", depth=LONGEST),
        ),
        "Accuracy": _if(
            lambda m: not m.judged_only,
            INPUT_ORDER,
            FLOAT64,
            SKIPPED,
            change_measure(
                "queries", "queries without a relevant document retrieved are left out", AccuracyWhereRelevant
            ),
        ),
        "RBP": _ir_measures_rbp,
        **dict.fromkeys(("BPM", "SDCG", "INST", "INSQ", "NERR8", "NERR9", "NERR10", "NERR11"), _by_cwl),
        **dict.fromkeys(_DIVERSITY, _by_pyndeval),
    },
    judged_only=True,
)


def _ranx_gain(kind: type[Measure]) -> Rule:
    def rule(measure: Any, rel: float | None) -> Iterable[Difference] | None:
        if not _is_plain(measure) or not isinstance(measure.gain, str):
            return None
        level = change_measure("gain", f"grades below {rel or 1:g} gain nothing", kind, least=float(rel or 1))
        return (level,)

    return rule


def _ranx_rbp(measure: Any, rel: float | None) -> Iterable[Difference] | None:
    if measure.residual or measure.value != "EU" or measure.depth is not None or measure.cost is not None:
        return None
    level = rel if measure.rel is None else measure.rel
    return (change_measure("gain", "the gain is the grade itself", RawRBP, ("max_rel", "min_rel"), rel=level),)


RANX = Tool(
    name="ranx",
    title="ranx 0.3",
    always=(
        UNSTABLE,
        REFUSED,
        LAST_WINS,
        WHOLE_GRADES,
        NO_UNJUDGED_QUERIES,
    ),
    rules={
        **_all("P", "R", "Success", "HitRate", "RR", "Rprec", "SetP", "SetR", "NumRelRet"),
        "AP": _if(_over_all),
        "SetF": _if(lambda m: m.beta == 1),
        "DCG": _ranx_gain(LeveledDCG),
        "nDCG": _ranx_gain(LeveledNDCG),
        "Bpref": lambda *_: (
            change_measure(
                "denominator", "negative grades are judgments; no value where N is 0 and some found", RanxBpref
            ),
        ),
        "RBP": _ranx_rbp,
    },
)

_NO_NEGATIVES = change_inputs(
    "grades", "stops at negative grades", partial(refuse_negative_grades, "scikit-learn's ndcg_score")
)
_NO_SINGLES = change_inputs("lists", "stops at lists of one document", refuse_single_documents)
SKLEARN = Tool(
    name="sklearn",
    title="scikit-learn 1.4 and later",
    always=(
        AVERAGED,
        SKIPPED,
        change_inputs("documents", "judged documents that were not retrieved come last, tied", everything_scored),
    ),
    rules={
        "nDCG": _if(_is_linear, _NO_NEGATIVES, _NO_SINGLES),
        "DCG": _if(
            lambda m: m.discount == "log(1+i)" and m.gain == "linear",
            _NO_SINGLES,
            change_measure("gain", "a negative grade is a loss", SignedDCG),
        ),
        "AP": _if(
            lambda m: m.cutoff is None and m.denominator == "R",
            change_parameters("ties", "documents of equal score are one step", ties="group"),
        ),
        "LRAP": _as_it_is,
    },
)


def _gdeval(measure: Any, _: float | None) -> Iterable[Difference] | None:
    if measure.name == "nDCG" and not _is_plain(measure):
        return None
    gain = (EXPONENTIAL,) if measure.name == "nDCG" else ()
    return gain if measure.cutoff is not None else (*gain, _cut_at(20))


GDEVAL = Tool(
    name="gdeval",
    title="gdeval 1.3",
    always=(
        SKIPPED,
        NO_SUBTOPICS,
        change_inputs("queries", "queries without a positive grade are left out", only_with_relevant),
        change_inputs("grades", "stops at grades above 4 and at fractions", only_grades_up_to_four),
    ),
    rules={"nDCG": _gdeval, "ERR": _gdeval},
    usual=("nDCG@20", "ERR@20"),
)

NDEVAL = Tool(
    name="ndeval",
    title="ndeval 4.5",
    always=(
        RANK_COLUMN,
        SKIPPED,
        change_inputs("grades", "stops at negative grades and at fractions", only_natural_grades),
    ),
    rules=dict.fromkeys(_DIVERSITY, _ndeval),
    usual=("ERR_IA@20", "alpha_nDCG@20", "NRBP", "AP_IA", "P_IA@20", "StRecall@20"),
)


def _spark_ndcg(measure: Any, _: float | None) -> Iterable[Difference] | None:
    if not _is_plain(measure):
        return None
    ideal = change_measure(
        "ideal", "the ideal ranking is the relevant documents in the order of the qrels", IdealAsGiven
    )
    return (ideal, EXPONENTIAL, *(() if measure.cutoff else (_cut_at(10),)))


SPARK = Tool(
    name="spark",
    title="Spark 3.4's RankingMetrics",
    always=(SKIPPED,),
    rules={
        **_all("P", "R", "MAPk"),
        "AP": _if(
            lambda m: m.ties is None,
            change_parameters("denominator", "divided by min(R, k)", denominator="min(R,k)"),
        ),
        "nDCG": _spark_ndcg,
    },
)

_UNPOSITIVE = change_inputs("scores", "documents with a score of 0 or less count as not relevant", only_positive_scores)
TORCHMETRICS = Tool(
    name="torchmetrics",
    title="torchmetrics 1.9",
    always=(FLOAT32, UNSTABLE, SKIPPED, RETRIEVED_ONLY),
    rules={
        **_all("Success", "HitRate", "Rprec"),
        **dict.fromkeys(("P", "R", "RR"), lambda *_: (_UNPOSITIVE,)),
        "AP": _if(
            _over_all,
            _UNPOSITIVE,
            change_measure(
                "denominator", "divided by the relevant documents found in the top k", OverFound, {"denominator"}
            ),
        ),
        "nDCG": _if(_is_linear, AVERAGED, change_measure("gain", "a negative grade is a loss", SignedNDCG)),
        # empty_target_action is "pos" for this one and "neg" for all others, which is 0 as for us
        "Fallout": lambda measure, _: (
            *(
                ()
                if measure.docs
                else (change_parameters("documents", "the collection is what was retrieved", docs=RETRIEVED),)
            ),
            change_measure("denominator", "1 where all documents are relevant", FalloutOfAny),
        ),
    },
)


def _beir_accuracy(measure: Any, _: float | None) -> Iterable[Difference] | None:
    """BEIR calls by this name what others call success."""
    if measure.cutoff is None:
        return None
    return (*_BEIR_OWN, change_measure("name", "Accuracy@k is success at k", Success))


_BEIR_HOLE = (INPUT_ORDER, AS_ZERO)
_BEIR_OWN = (
    *_BEIR_HOLE,
    change_inputs("unjudged queries", "stops at queries without judgments", partial(refuse_unjudged_queries, "BEIR")),
)
_BEIR_TREC = (
    FLOAT32,
    DOC_DESCENDING,
    SKIPPED,
    change_inputs("documents", "a document with the query's id is left out", without_the_query_itself),
)
BEIR = Tool(
    name="beir",
    title="BEIR 2.2",
    always=(
        LAST_WINS,
        change_inputs("grades", "stops at grades that are not whole numbers", partial(refuse_fractions, "BEIR")),
    ),
    rules={
        "nDCG": _if(lambda m: _has_a_cutoff(m) and _is_linear(m), *_BEIR_TREC),
        "AP": _if(lambda m: _has_a_cutoff(m) and _over_all(m), *_BEIR_TREC),
        "R": _if(_has_a_cutoff, *_BEIR_TREC),
        "P": _if(_has_a_cutoff, *_BEIR_TREC),
        "RR": _if(_has_a_cutoff, *_BEIR_OWN),
        "RelativeP": _if(
            _has_a_cutoff,
            *_BEIR_OWN,
            change_inputs("queries", "stops at queries with nothing relevant", refuse_nothing_relevant),
        ),
        "Success": _if(_has_a_cutoff, *_BEIR_OWN),
        "HitRate": _if(_has_a_cutoff, *_BEIR_OWN),
        "Unjudged": _if(
            _has_a_cutoff,
            *_BEIR_HOLE,
            change_measure(
                "denominator",
                "a document judged for some query is judged for all; lists of queries without judgments count (Hole)",
                Hole,
            ),
        ),
        "Accuracy": _beir_accuracy,
    },
)

TOOLS = {
    each.name: each
    for each in (
        _trec_eval(9, FLOAT32, SKIPPED),
        _trec_eval(10, REFUSED),
        IR_MEASURES,
        RANX,
        SKLEARN,
        GDEVAL,
        NDEVAL,
        SPARK,
        TORCHMETRICS,
        BEIR,
    )
}


def find_tool(name: str) -> Tool:
    """The tool of that name."""
    if name not in TOOLS:
        raise CranfieldError(f"tool {name!r} is unknown: expected one of {', '.join(TOOLS)}.")
    return TOOLS[name]
