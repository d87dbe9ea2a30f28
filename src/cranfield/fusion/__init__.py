"""Fusion of several runs into one: by scores, by ranks, by votes, or with weights learned from judgments."""

from cranfield.fusion.candidates import all_queries, gather_candidates
from cranfield.fusion.learning import CrossFit, Fit, cross_fuse, fit, split_folds
from cranfield.fusion.methods import FUSION_METHODS, FusionMethod
from cranfield.fusion.norms import NORMS, Norm
from cranfield.fusion.recipe import Recipe, as_runs, fuse, make_recipe

__all__ = [
    "CrossFit",
    "Fit",
    "FUSION_METHODS",
    "FusionMethod",
    "NORMS",
    "Norm",
    "Recipe",
    "all_queries",
    "as_runs",
    "cross_fuse",
    "fit",
    "fuse",
    "gather_candidates",
    "make_recipe",
    "split_folds",
]
