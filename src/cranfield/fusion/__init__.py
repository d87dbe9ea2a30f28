"""Fusion: several runs made one, by scores, by ranks, by votes, or as learned from judgments."""

from cranfield.fusion.learning import CrossFit, Fit, cross_fuse, fit
from cranfield.fusion.methods import METHODS, Method
from cranfield.fusion.norms import NORMS, Norm
from cranfield.fusion.recipe import Recipe, fuse

__all__ = ["METHODS", "NORMS", "CrossFit", "Fit", "Method", "Norm", "Recipe", "cross_fuse", "fit", "fuse"]
