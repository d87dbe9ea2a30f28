"""Fusion: several runs made one, by scores, by ranks, by votes, or as learned from judgments."""

from cranfield.fusion.candidates import all_queries, gather
from cranfield.fusion.learning import CrossFit, Fit, cross_fuse, fit, split
from cranfield.fusion.methods import METHODS, Method
from cranfield.fusion.norms import NORMS, Norm
from cranfield.fusion.recipe import Recipe, as_runs, fuse, recipe_of

__all__ = [
    "CrossFit",
    "Fit",
    "METHODS",
    "Method",
    "NORMS",
    "Norm",
    "Recipe",
    "all_queries",
    "as_runs",
    "cross_fuse",
    "fit",
    "fuse",
    "gather",
    "recipe_of",
    "split",
]
