"""What a gate decided and why: as text for people, JSON for programs, and JUnit XML for continuous integration."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from cranfield.base import pluralize
from cranfield.data import Origin
from cranfield.evaluation import JUDGED_DEPTH
from cranfield.stats import Gate, GateDecision, GatedRun
from cranfield.tables import dumped, state_p, versions

WIDTH = 100  # of lines that go to a file or a log
_COLOURS = {"FAILED": "\x1b[1;31m", "PASSED": "\x1b[1;32m"}


def as_text(gate: Gate, width: int = WIDTH, styled: bool = False, reasons: bool = True) -> str:
    """The verdict first, then each measure with its figures, then what one must know to trust them."""
    lines = [_headline(gate)]
    for decision in gate.decisions:
        if reasons:
            lines.append("")
        lines += _wrapped("", f"{_outcome(decision)}: {decision.sentence}", width)
        if reasons:
            for name, text in _figures(decision, gate):
                lines += _wrapped(f"  {name:<12}", text, width)
    if reasons:
        lines.append("")
        lines += [line for remark in _remarks(gate) for line in _wrapped("", remark, width)]
    text = "\n".join(map(_printable, lines)) + "\n"
    word = _word(gate)
    return f"{_COLOURS[word]}{word}\x1b[0m{text.removeprefix(word)}" if styled else text


def as_json(gate: Gate) -> str:
    """Everything in full precision; what there is no number for is null."""

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
        "versions": versions("numpy", "scipy"),
    }
    return dumped(content)


def as_junit(gate: Gate) -> str:
    """A test suite with one test case for each measure; it says why it failed, or in its output why not."""
    from xml.etree import ElementTree as xml

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
    told = [f"{failed} of {number} measures failed"] if number > 1 and failed else []
    if undecided:
        told.append("undecided" if number == 1 else f"{undecided} of {number} undecided")
    details = f" ({', '.join(told)})" if told else ""
    return f"{_word(gate)}: {gate.candidate.name} against {gate.baseline.name}{details}."


def _outcome(decision: GateDecision) -> str:
    outcome = "Passed" if decision.passed else "Failed"
    return f"{outcome}, undecided" if decision.verdict == "undecided" else outcome


def _figures(decision: GateDecision, gate: Gate) -> Iterator[tuple[str, str]]:
    """Why: means, difference with bounds, tests, topics, and what more of them would do."""
    means = f"{gate.baseline.name} {_number(decision.baseline_mean)}, "
    means += f"{gate.candidate.name} {_number(decision.candidate_mean)}"
    yield "Mean", f"{means}{'' if decision.more_is_better else ' (less is better)'}"
    if not decision.identical:
        yield "Difference", _difference(decision)
        yield "Worse", _worse(decision)
        yield "Not worse", _not_worse(decision)
    topics = f"{decision.wins:,} better, {decision.ties:,} the same, {decision.losses:,} worse"
    yield "Topics", f"{topics}, of {decision.n:,}"
    if decision.worst:
        lost = (f"{loss.query} ({_number(loss.baseline)} to {_number(loss.candidate)})" for loss in decision.worst)
        yield "Worst", ", ".join(lost)
    if decision.noticed_drop is not None:
        large = f"a true {_fall(decision)} of {_number(decision.noticed_drop)}"
        yield "Power", f"{large} would be found too large 4 times in 5 with so many topics"
    if decision.verdict == "undecided":
        yield "Needed", _needed(decision)


def _difference(decision: GateDecision) -> str:
    ends = ((decision.low, "not below"), (decision.high, "not above"))
    bounds = " and ".join(f"{word} {_signed(end)}" for end, word in ends if end is not None)
    level = f"{100 * decision.rule.level:g} %"
    known = f"{bounds} (one-sided bounds, {level} each)" if bounds else f"no bound can be given at {level}"
    return f"{_signed(decision.difference)}, {known}; allowed: {_signed(decision.allowed)}"


def _worse(decision: GateDecision) -> str:
    test = "by flipping signs, as all differences are the same"
    if decision.t is not None:
        test = f"paired t-test, t = {_signed(decision.t, 2)}, df = {decision.n - 1:,}"
    p = state_p(decision.p_worse)
    if decision.rule.correction != "none":
        p = f"{state_p(decision.p_worse_corrected)} by Holm's correction, {p} without,"
    return f"{p} for a {_fall(decision)} of more than {decision.rule.max_drop:g} ({test})"


def _not_worse(decision: GateDecision) -> str:
    return f"{state_p(decision.p_not_worse)} for a {_fall(decision)} of no more than {decision.rule.max_drop:g}"


def _needed(decision: GateDecision) -> str:
    if decision.topics_needed is not None:
        what = "worse" if decision.drop > decision.rule.max_drop else "not worse"
        topics = pluralize(decision.topics_needed, "topic")
        return f"about {topics} to show that it is {what}, if the difference and its spread are what was found here"
    if decision.n == 1:
        return "more topics: one says nothing about the spread of differences"
    return f"no number of topics would decide: the {_fall(decision)} found is just what is allowed"


def _fall(decision: GateDecision) -> str:
    return "drop" if decision.more_is_better else "rise"


def _remarks(gate: Gate) -> Iterator[str]:
    """The rule, the judged share, warnings and notes."""
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
        return " for each measure, not corrected for their number"
    # showing that none of several is worse needs no correction: each must be shown (Berger, Technometrics 24, 1982)
    return " over all measures by Holm's correction, where a measure is shown to be worse"


def _reasons(decision: GateDecision, gate: Gate) -> str:
    """Everything about one measure, as lines."""
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
        "baseline_mean": _finite(decision.baseline_mean),
        "candidate_mean": _finite(decision.candidate_mean),
        "difference": _finite(decision.difference),
        "drop": _finite(decision.drop),
        "low": _finite(decision.low),
        "high": _finite(decision.high),
        "level": decision.rule.level,
        "sd": _finite(decision.sd),
        "t": _finite(decision.t),
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
        "noticed_drop": _finite(decision.noticed_drop),
        "only_baseline": list(decision.only_baseline),
        "only_candidate": list(decision.only_candidate),
    }


def _side_record(side: GatedRun) -> dict[str, Any]:
    return {"name": side.name, "unjudged_top_10": side.unjudged, "missing": side.missing}


def _origins(gate: Gate) -> Sequence[Origin]:
    found = (gate.qrels, gate.baseline.origin, gate.candidate.origin)
    return [origin for origin in found if origin is not None]


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _number(value: float) -> str:
    return f"{value:,.4f}"


def _signed(value: float, places: int = 4) -> str:
    """A number with its sign, as it is printed.

    >>> _signed(-0.0512), _signed(0.01), _signed(0.0)
    ('−0.0512', '+0.0100', '0.0000')
    """
    shown = f"{abs(value):,.{places}f}"
    return ("−" if value < 0 else "+" if value > 0 else "") + shown


def _wrapped(start: str, text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text,
        width,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_on_hyphens=False,
        break_long_words=False,
    )


def _printable(text: str) -> str:
    """Text without the characters that would steer a terminal."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", "\N{REPLACEMENT CHARACTER}", text)


def _xml_text(text: str) -> str:
    """Text without the characters that XML 1.0 has no way to write, nor the bytes of ids that are not UTF-8."""
    return re.sub("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\N{REPLACEMENT CHARACTER}", text)
