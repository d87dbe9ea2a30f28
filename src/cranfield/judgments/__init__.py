"""Judgments as the subject: several assessors' merged and compared, what changed, what there is, parts, clicks."""
