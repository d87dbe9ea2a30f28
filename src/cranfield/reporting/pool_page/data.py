"""A pool for programs: everything in full precision, what there is no number for being null."""

from __future__ import annotations

from typing import Any

from cranfield.base import as_dict
from cranfield.data import Origin
from cranfield.pooling import Contribution, Diagnosis, LeaveOutEffect, LeaveOutResult, LeaveOutSummary, TopicPool
from cranfield.reporting.pool_page.findings import list_findings
from cranfield.tables import dump_json, package_versions


def pool_report_as_json(diagnosis: Diagnosis, seed: int = 1, command: str = "") -> str:
    """The whole as JSON."""
    return dump_json(pool_report_as_dict(diagnosis, seed, command))


def pool_report_as_dict(diagnosis: Diagnosis, seed: int = 1, command: str = "") -> dict[str, Any]:
    pooled = diagnosis.pooled
    return {
        "depth": pooled.depth,
        "depth_is": pooled.depth_is,
        "rel": pooled.rel,
        "measures": list(diagnosis.measures),
        "findings": {finding.about.lower(): finding.text for finding in list_findings(diagnosis)},
        "pool": {
            "documents": diagnosis.pool_size,
            "judged": diagnosis.judged_size,
            "relevant": diagnosis.relevant,
            "grades": {f"{grade:g}": n for grade, n in diagnosis.grades.items()},
            "topics_without_relevant": diagnosis.without_relevant,
            "topics_over_a_third_relevant": diagnosis.with_many,
        },
        "topics": [_topic(topic) for topic in diagnosis.topics],
        "runs": [_run(diagnosis, r, one) for r, one in enumerate(diagnosis.runs)],
        "groups": [_contribution(one) for one in diagnosis.groups],
        "overlap": {"runs": list(pooled.names), "jaccard": diagnosis.overlap.tolist()},
        "bounds": [as_dict(bound) for bound in diagnosis.bounds],
        "leave_one_out": _leave_one_out(diagnosis),
        "budgets": _budgets(diagnosis),
        "new_relevant": _new_relevant(diagnosis),
        "notes": list(diagnosis.notes),
        "seed": seed,
        "command": command or None,
        "inputs": [origin.as_record() for origin in list_origins(diagnosis)],
        "versions": package_versions("numpy", "scipy"),
    }


def _topic(topic: TopicPool) -> dict[str, Any]:
    return {
        "topic": topic.query,
        "pooled": topic.pooled,
        "pooled_unjudged": topic.pooled_unjudged,
        "judged": topic.judged,
        "judged_outside_pool": topic.outside,
        "relevant": topic.relevant,
        "share_relevant": topic.share,
        "none_relevant": topic.has_none,
        "over_a_third_relevant": topic.has_many,
        "grades": {f"{grade:g}": n for grade, n in topic.grades.items()},
    }


def _run(diagnosis: Diagnosis, r: int, one: Contribution) -> dict[str, Any]:
    pooled = diagnosis.pooled
    means = {label: float(diagnosis.reusability.full.means[m, r]) for m, label in enumerate(diagnosis.measures)}
    return {
        **_contribution(one),
        "group": pooled.groups[r],
        "is_pooled": pooled.pooled[r],
        "judged_at": {str(k): shares[r] for k, shares in diagnosis.judged.items()},
        "means": means,
    }


def _contribution(one: Contribution) -> dict[str, Any]:
    return {**as_dict(one), "runs": list(one.runs)}


def _leave_one_out(diagnosis: Diagnosis) -> dict[str, Any]:
    found = diagnosis.reusability
    return {
        "alpha": found.alpha,
        "test": "paired t-test of all pairs of runs",
        "correction": found.correction,
        "runs": [_side(side) for side in found.runs],
        "groups": [_side(side) for side in found.groups],
        "all_runs_left_out": [_standing(standing) for standing in found.of_runs],
        "all_groups_left_out": [_standing(standing) for standing in found.of_groups],
    }


def _side(side: LeaveOutResult) -> dict[str, Any]:
    return {
        "name": side.name,
        "runs": list(side.runs),
        "judgments_removed": side.judgments,
        "relevant_removed": side.relevant,
        "measures": [_effect(effect) for effect in side.effects],
    }


def _effect(effect: LeaveOutEffect) -> dict[str, Any]:
    return {
        "measure": effect.measure,
        "changes": [
            {
                **as_dict(change),
                "delta": change.delta,
                "delta_percent": change.percent,
                "delta_rank": change.delta_rank,
            }
            for change in effect.changes
        ],
        "tau": effect.tau,
        "tau_ap": effect.tau_ap,
        "significant_pairs": {**as_dict(effect.flips), "flipped": effect.flips.flipped},
    }


def _standing(standing: LeaveOutSummary) -> dict[str, Any]:
    return {**as_dict(standing), "worst": {**as_dict(standing.worst), "delta": standing.worst.delta}}


def _budgets(diagnosis: Diagnosis) -> dict[str, Any]:
    found = diagnosis.budgets
    return {
        "judgments": found.judgments,
        "relevant": found.relevant,
        "relevant_in_pool": found.relevant_in_pool,
        "curves": [
            {
                "strategy": curve.strategy,
                "title": curve.title,
                "points": [
                    {
                        "depth": point.depth,
                        "judgments": point.judgments,
                        "relevant": point.relevant,
                        "measures": [as_dict(one) for one in point.fidelity],
                    }
                    for point in curve.points
                ],
                "relevant_found": [as_dict(one) for one in curve.found],
            }
            for curve in found.curves
        ],
    }


def _new_relevant(diagnosis: Diagnosis) -> dict[str, Any]:
    new = diagnosis.new_relevant
    law = new.law
    return {
        "mean_by_depth": new.by_depth.tolist(),
        "fit": None if law is None else {"form": "n = C * d**s - 1", "C": law.scale, "s": law.exponent},
        "to_depth": new.to,
        "expected_beyond": new.beyond,
    }


def list_origins(diagnosis: Diagnosis) -> list[Origin]:
    """The files that were read: judgments, then runs."""
    found = (diagnosis.pooled.qrels.origin, *(run.origin for run in diagnosis.pooled.runs))
    return [origin for origin in found if origin is not None]
