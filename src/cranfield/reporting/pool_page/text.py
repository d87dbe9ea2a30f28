"""A pool on the terminal: what matters in sentences, then the runs one by one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cranfield.pooling import Contribution, Diagnosis, LeaveOutResult
from cranfield.reporting.pool_page.findings import TOP, list_findings, make_heading
from cranfield.tables import MISSING, Cell, Table, format_number, format_percent, format_signed, render_text, wrap_text

WIDTH = 100  # of sentences, at most


def pool_report_as_text(diagnosis: Diagnosis, width: int, styled: bool) -> str:
    """The whole for people."""
    lines = [f"{make_heading(diagnosis)}.", ""]
    for finding in list_findings(diagnosis):
        lines += wrap_text(finding.text, min(width, WIDTH), f"{finding.about:<10}")
    found = diagnosis.reusability
    tables = [_contributed(diagnosis, diagnosis.runs, "Run"), _left_out(found.runs, diagnosis.measures[0], "Run")]
    if diagnosis.groups:
        tables += [
            _contributed(diagnosis, diagnosis.groups, "Group"),
            _left_out(found.groups, diagnosis.measures[0], "Group"),
        ]
    text = "\n".join(lines) + "\n\n" + render_text(tables, width, styled)
    remarks = [line for note in _remarks(diagnosis) for line in wrap_text(note, min(width, WIDTH))]
    return _replace_controls(text + "\n" + "\n".join(remarks) + "\n")


def _contributed(diagnosis: Diagnosis, found: Sequence[Contribution], what: str) -> Table:
    k = min(TOP, max(diagnosis.judged))
    judged = dict(zip(diagnosis.pooled.names, diagnosis.judged.get(k, ()), strict=False)) if what == "Run" else {}
    header = (what, "Pooled", "Judged", "Relevant", "Unique", "Unique relevant", *([f"Judged@{k}"] if judged else []))
    rows = []
    for one in found:
        counts = (one.pooled, one.judged, one.relevant, one.unique, one.unique_relevant)
        share = [_share(judged[one.name])] if judged else []
        rows.append(tuple(map(Cell, [one.name, *(f"{n:,}" for n in counts), *share])))
    return Table("", header, tuple(rows))


def _share(share: float | None) -> str:
    return MISSING if share is None else format_percent(share)


def _left_out(sides: Sequence[LeaveOutResult], label: str, what: str) -> Table:
    header = (what, label, "left out", "Change", "Rank", "tau", "tau_AP", "Flips")
    rows = []
    for side in sides:
        effect = side.effect(label)
        order = (_tau(effect.tau), _tau(effect.tau_ap), f"{effect.flips.flipped:,}")
        for change in effect.changes:
            name = side.name if change.run == side.name else f"{side.name}: {change.run}"
            figures = (format_number(change.before, 4), format_number(change.after, 4), format_signed(change.delta, 4))
            rows.append(tuple(map(Cell, [name, *figures, f"{change.rank_before} → {change.rank_after}", *order])))
    return Table("", header, tuple(rows))


def _tau(tau: float | None) -> str:
    return MISSING if tau is None else format_number(tau)


def _remarks(diagnosis: Diagnosis) -> Iterator[str]:
    found = diagnosis.reusability
    yield (
        "Unique: no other run has it down to the depth. Left out: without the judgments of its unique documents; tau, "
        "tau_AP and flips tell how all runs are ranked then, against all judgments (flips: pairs of which the paired "
        f"t-test says something else at {found.alpha:g}, correction {found.correction})."
    )
    yield from diagnosis.notes


def _replace_controls(text: str) -> str:
    """Text without the characters that would steer a terminal, its own styles apart."""
    return re.sub(r"[\x00-\x09\x0b-\x1a\x1c-\x1f\x7f-\x9f\u2028\u2029]", "\N{REPLACEMENT CHARACTER}", text)
