"""The names of the measures in each family, so a family is imported only when one of its measures is used.

A test compares this table with the classes.
"""

FAMILIES = {
    "graded": "BinG CG DCG G IdealDCG NCG NDCG nDCG nDCG_rel Rndcg",
    "rank_similarity": "KendallTau Overlap RBO Tau TauAP",
    "binary": (
        "AP Breakeven IAP InterpolatedAP IPrec LRAP MAP MRR P Precision R Recall RPrec Rprec RR SearchLength Success"
    ),
    "counts": "NumNonrelJudgedRet NumQ NumRel NumRelRet NumRet",
    "diversity": "alpha_DCG alpha_nDCG AP_IA ERR_IA MAP_IA nERR_IA nNRBP NRBP P_IA StRecall α_DCG α_nDCG",
    "incomplete": "BPref Bpref InfAP infAP Judged Unjudged",
    "trec_only": "GMAP GMBpref R_cap RelativeP RprecMult TrecRBP TrecRBPResidual YAAP",
    "judgment_groups": "GroupAP GroupP GroupRprecMult",
    "trec_prefs": "NumPrefs Prefs PrefsRnonrel",
    "sets": "FallOut Fallout SetAccuracy SetAP SetF SetP SetR SetRelP Utility",
    "preferences": "Accuracy Compat Compatibility DivCompat PGC",
    "recommender": "Coverage Gini HitRate HR MAPk mapk Novelty",
    "redundancy": "EntityRecall FactRecall",
    "sampled": "infIPrec infNDCG inum_rel inum_rel_ret iP statAP statNDCG statP statRprec varAP xinfAP",
    "user_models": (
        "BPM BPMD CWL_AP CWL_P CWL_RR ERR IFT INSQ INST NERR10 NERR11 NERR8 NERR9 NPV RBP SDCG SET TBG TrAP U UMeasure"
    ),
}
FAMILY_OF = {name: family for family, names in FAMILIES.items() for name in names.split()}
