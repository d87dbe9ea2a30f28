"""The verdict of a gate and its reasons, as text, JSON, and JUnit XML for continuous integration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from cranfield.base import pluralize
from cranfield.data import Origin
from cranfield.evaluation import JUDGED_DEPTH
from cranfield.stats import Gate, GateDecision, GatedRun
from cranfield.tables import (
    dump_json,
    finite_or_none,
    format_number,
    format_signed,
    package_versions,
    replace_controls,
    state_p,
    wrap_text,
)

WIDTH = 100  # of lines in a file or a log
_COLOURS = {"FAILED": "\x1b[1;31m", "PASSED": "\x1b[1;32m"}


def as_text(gate: Gate, width: int = WIDTH, styled: bool = False, reasons: bool = True) -> str:
    """The verdict, then each measure with its numbers, then the rule, conventions and notes."""
    lines = [_headline(gate)]
    for decision in gate.decisions:
        if reasons:
            lines.append("")
        lines += wrap_text(f"{_outcome(decision)}: {decision.sentence}", width)
        if reasons:
            for name, text in _figures(decision, gate):
                lines += wrap_text(text, width, f"  {name:<12}")
    if reasons:
        lines.append("")
        lines += [line for remark in _remarks(gate) for line in wrap_text(remark, width)]
    text = "\n".join(map(replace_controls, lines)) + "\n"
    word = _word(gate)
    return f"{_COLOURS[word]}{word}\x1b[0m{text.removeprefix(word)}" if styled else text


def as_json(gate: Gate) -> str:
    """All results in full precision; missing numbers are null."""
    rule = gate.rule
    content = {
        "passed": gate.passed,
        "verdict": gate.verdict,
        "baseline": _side_record(gate.baseline),
        "candidate": _side_record(gate.candidate),
        "max_drop": rule.max_drop,
        "alpha": rule.alpha,
        "require_proof": rule.require_proof,
        "correction": rule.correction,
        "test": "one-sided paired t-test",
        "measures": [_record(decision) for decision in gate.decisions],
        "warnings": list(gate.warnings),
        "notes": list(gate.notes),
        "conventions": dict(gate.conventions or {}),
        "inputs": [origin.as_record() for origin in _origins(gate)],
        "versions": package_versions("numpy", "scipy"),
    }
    return dump_json(content)


def as_junit(gate: Gate) -> str:
    """A test suite with one test case per measure, with its reasons as failure message or output."""
    from xml.etree import ElementTree as xml  # slow, and only for this format

    failed = sum(not decision.passed for decision in gate.decisions)
    counts = {"tests": str(len(gate.decisions)), "failures": str(failed), "errors": "0", "skipped": "0", "time": "0"}
    suites = xml.Element("testsuites", {"name": "cranfield gate", **counts})
    title = f"{gate.candidate.name} against {gate.baseline.name}"
    suite = xml.SubElement(suites, "testsuite", {"name": _xml_text(title), **counts})
    for decision in gate.decisions:
        name = f"{decision.measure}: {title}"
        given = {"classname": "cranfield.gate", "name": _xml_text(name), "time": "0"}
        case = xml.SubElement(suite, "testcase", given)
        why = _xml_text(_reasons(decision, gate))
        if not decision.passed:
            what = {"message": _xml_text(decision.sentence), "type": decision.verdict}
            xml.SubElement(case, "failure", what).text = why
        else:
            xml.SubElement(case, "system-out").text = why
    xml.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{xml.tostring(suites, encoding="unicode")}\n'


def _word(gate: Gate) -> str:
    return "PASSED" if gate.passed else "FAILED"


def _headline(gate: Gate) -> str:
    failed = sum(not decision.passed for decision in gate.decisions)
    undecided = sum(decision.verdict == "undecided" for decision in gate.decisions)
    number = len(gate.decisions)
    details = [f"{failed} of {number} measures failed"] if number > 1 and failed else []
    if undecided:
        details.append("undecided" if number == 1 else f"{undecided} of {number} undecided")
    note = f" ({', '.join(details)})" if details else ""
    return f"{_word(gate)}: {gate.candidate.name} against {gate.baseline.name}{note}."


def _outcome(decision: GateDecision) -> str:
    outcome = "Passed" if decision.passed else "Failed"
    return f"{outcome}, undecided" if decision.verdict == "undecided" else outcome


def _figures(decision: GateDecision, gate: Gate) -> Iterator[tuple[str, str]]:
    """Means, difference with bounds, tests, topics, and how many topics a decision would need."""
    means = f"{gate.baseline.name} {format_number(decision.baseline_mean, 4)}, "
    means += f"{gate.candidate.name} {format_number(decision.candidate_mean, 4)}"
    yield "Mean", f"{means}{'' if decision.more_is_better else ' (lower is better)'}"
    if not decision.identical:
        yield "Difference", _difference(decision)
        yield "Worse", _worse(decision)
        yield "Not worse", _not_worse(decision)
    topics = f"{decision.wins:,} better, {decision.ties:,} the same, {decision.losses:,} worse"
    yield "Topics", f"{topics}, of {decision.n:,}"
    if decision.worst:
        yield (
            "Worst",
            ", ".join(
                f"{loss.query} ({format_number(loss.baseline, 4)} to {format_number(loss.candidate, 4)})"
                for loss in decision.worst
            ),
        )
    if decision.noticed_drop is not None:
        large = f"a true {_direction(decision)} of {format_number(decision.noticed_drop, 4)}"
        yield "Power", f"{large} would be detected 4 times in 5 with this many topics"
    if decision.verdict == "undecided":
        yield "Needed", _needed(decision)


def _difference(decision: GateDecision) -> str:
    ends = ((decision.low, "not below"), (decision.high, "not above"))
    bounds = " and ".join(f"{word} {format_signed(end, 4)}" for end, word in ends if end is not None)
    level = f"{100 * decision.rule.level:g} %"
    known = f"{bounds} (one-sided bounds, {level} each)" if bounds else f"no bounds at {level}"
    return f"{format_signed(decision.difference, 4)}, {known}; allowed: {format_signed(decision.allowed, 4)}"


def _worse(decision: GateDecision) -> str:
    test = "sign flips, since all differences are equal"
    if decision.t is not None:
        test = f"paired t-test, t = {format_signed(decision.t, 2)}, df = {decision.n - 1:,}"
    p = state_p(decision.p_worse)
    if decision.rule.correction != "none":
        p = f"{state_p(decision.p_worse_corrected)} by Holm's correction, {p} without,"
    return f"{p} for a {_direction(decision)} of more than {decision.rule.max_drop:g} ({test})"


def _not_worse(decision: GateDecision) -> str:
    return f"{state_p(decision.p_not_worse)} for a {_direction(decision)} of no more than {decision.rule.max_drop:g}"


def _needed(decision: GateDecision) -> str:
    if decision.topics_needed is not None:
        what = "worse" if decision.drop > decision.rule.max_drop else "not worse"
        topics = pluralize(decision.topics_needed, "topic")
        return f"about {topics} to show that it is {what}, if the difference and its spread stay as they are here"
    if decision.n == 1:
        return "more topics: a single one says nothing about the spread of differences"
    return f"no number of topics would decide: the observed {_direction(decision)} equals what is allowed"


def _direction(decision: GateDecision) -> str:
    return "drop" if decision.more_is_better else "rise"


def _remarks(gate: Gate) -> Iterator[str]:
    """The rule, the unjudged share, conventions, notes and warnings."""
    rule, number = gate.rule, len(gate.decisions)
    proof = "fails unless it is shown not to be worse" if rule.require_proof else "fails if it is shown to be worse"
    each = " on any of the measures" if number > 1 else ""
    yield f"Rule: a candidate {proof} by more than {rule.max_drop:g}{each}; α = {rule.alpha:g}{_corrected(gate)}."
    shares = [f"{s.name} {s.unjudged:.1%}" for s in (gate.baseline, gate.candidate) if s.unjudged is not None]
    if shares:
        yield f"Unjudged in the top {JUDGED_DEPTH}: {', '.join(shares)}."
    if gate.conventions:
        named = (f"{name.replace('_', ' ')} {value}" for name, value in gate.conventions.items())
        yield f"Conventions: {', '.join(named)}."
    yield from gate.notes
    yield from (f"Warning: {warning}" for warning in gate.warnings)


def _corrected(gate: Gate) -> str:
    if len(gate.decisions) == 1:
        return ""
    if gate.rule.correction == "none":
        return " for each measure, without correction for their number"
    # showing that none of several is worse needs no correction: each must be shown (Berger, Technometrics 24, 1982)
    return " over all measures, with Holm's correction of the tests for a drop"


def _reasons(decision: GateDecision, gate: Gate) -> str:
    """All about one measure, as lines."""
    figures = (f"{name}: {text}" for name, text in _figures(decision, gate))
    return "\n".join([decision.sentence, *figures, *_remarks(gate)])


def _record(decision: GateDecision) -> dict[str, Any]:
    return {
        "measure": decision.measure,
        "more_is_better": decision.more_is_better,
        "verdict": decision.verdict,
        "passed": decision.passed,
        "sentence": decision.sentence,
        "n": decision.n,
        "baseline_mean": finite_or_none(decision.baseline_mean),
        "candidate_mean": finite_or_none(decision.candidate_mean),
        "difference": finite_or_none(decision.difference),
        "drop": finite_or_none(decision.drop),
        "low": finite_or_none(decision.low),
        "high": finite_or_none(decision.high),
        "level": decision.rule.level,
        "sd": finite_or_none(decision.sd),
        "t": finite_or_none(decision.t),
        "df": decision.n - 1,
        "p_worse": decision.p_worse,
        "p_worse_corrected": decision.p_worse_corrected,
        "p_not_worse": decision.p_not_worse,
        "identical": decision.identical,
        "wins": decision.wins,
        "ties": decision.ties,
        "losses": decision.losses,
        "worst": [
            {"query": loss.query, "baseline": loss.baseline, "candidate": loss.candidate} for loss in decision.worst
        ],
        "topics_needed": decision.topics_needed,
        "noticed_drop": finite_or_none(decision.noticed_drop),
        "only_baseline": list(decision.only_baseline),
        "only_candidate": list(decision.only_candidate),
    }


def _side_record(side: GatedRun) -> dict[str, Any]:
    return {"name": side.name, "unjudged_top_10": side.unjudged, "missing": side.missing}


def _origins(gate: Gate) -> Sequence[Origin]:
    found = (gate.qrels, gate.baseline.origin, gate.candidate.origin)
    return [origin for origin in found if origin is not None]


def _xml_text(text: str) -> str:
    """Text without characters that XML 1.0 cannot represent, and without bytes of ids that are not UTF-8."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text)
