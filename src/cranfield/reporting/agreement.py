"""Agreement between assessors, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from cranfield.base import pluralize
from cranfield.data import Floats, Ints
from cranfield.qrels_tools import (
    Agreement,
    AgreementDesign,
    AssessorGroup,
    AssessorPair,
    AssessorSummary,
    ModelAgainstPeople,
    RankingComparison,
    SystemRankings,
)
from cranfield.stats import AGREEMENT_TITLES, ALL_ASSESSOR_COEFFICIENTS, Estimate
from cranfield.tables import (
    MISSING,
    Cell,
    Table,
    dump_json,
    format_interval,
    format_number,
    format_signed,
    package_versions,
    render_text,
    wrap_sentences,
)

WIDTH = 100  # of lines in a file or a log
MOST_COUPLES = 3  # pairs of assessors whose confusion matrix is shown
MOST_TOPICS = 25  # topics shown with intervals; more are shown without
MOST_TOPIC_LINES = 60
MOST_FLIPPED = 10
MOST_SENTENCES = 3  # about rankings; more are summarized
_SHORT: Mapping[str, str] = {
    "percent": "Same grade",
    "overlap": "Overlap",
    "kappa": "κ",
    "kappa_linear": "κ linear",
    "kappa_quadratic": "κ quadratic",
    "fleiss_kappa": "Fleiss κ",
    "alpha_nominal": "α nominal",
    "alpha_ordinal": "α ordinal",
    "alpha_interval": "α interval",
    "ac1": "AC1",
    "ac2_linear": "AC2 linear",
    "ac2_quadratic": "AC2 quadratic",
}
_BY_TOPIC = ("percent", "overlap", "kappa_quadratic", "alpha_ordinal", "ac1")
_OF_SEVERAL_BY_TOPIC = ("percent", "overlap", "fleiss_kappa", "alpha_ordinal", "ac1")


def as_text(found: Agreement, width: int = WIDTH, styled: bool = False, full: bool = False) -> str:
    """A summary, then tables of coefficients, and notes on how they were computed."""
    parts = [wrap_sentences([sentence], width) for sentence in _headline(found)]
    parts += [render_text([_assessors(found)], width, styled)]
    if found.overall is not None and found.overall.pairs:
        parts.append(render_text([_coefficients(found)], width, styled))
        if len(found.assessor_pairs) > 1:
            parts.append(render_text([_couples(found)], width, styled))
        parts += _differences(found, width, styled, full)
        parts += _models(found, width, styled)
        parts.append(_topics(found, width, styled, full))
    if found.system_rankings is not None:
        parts += _systems(found.system_rankings, found.labels, width, styled, full)
    parts.append(wrap_sentences(_remarks(found), width))
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part)


def _headline(found: Agreement) -> Iterator[str]:
    group = found.overall
    if group is None or not group.pairs:
        yield "No pair was judged by two assessors." if group else "One assessor: nothing to compare."
        return
    known = group.coefficients
    who, both = ("They", "both") if len(group.names) == 2 else (f"{len(group.names)} assessors", "at least two")
    names = " and ".join(found.labels[name] for name in group.names) if len(group.names) == 2 else who
    of = pluralize(group.pairs, "pair") + f" that {both} judged ({pluralize(group.topics, 'topic')})"
    yield (
        f"{names} agree on {_percent(known['percent'].value)} of the {of}; "
        f"α (ordinal) {_with_interval(known['alpha_ordinal'])}, "
        f"AC2 (quadratic) {_with_interval(known['ac2_quadratic'])}."
    )
    for one in found.models:
        if one.judgments:
            yield _model_sentence(one, found)
    rankings = found.system_rankings.comparisons if found.system_rankings else ()
    if len(rankings) <= MOST_SENTENCES:
        yield from (_ranking_sentence(one, found.labels) for one in rankings)
    else:
        yield from _summarize_rankings(rankings, found.labels)


def _interval(figure: Estimate) -> str:
    return format_interval(figure.low, figure.high)


def _percent(value: float | None) -> str:
    return MISSING if value is None else f"{100 * value:.0f} %"


def _with_interval(found: Estimate) -> str:
    return format_number(found.value) if found.low is None else f"{format_number(found.value)} {_interval(found)}"


def _model_sentence(one: ModelAgainstPeople, found: Agreement) -> str:
    share = {what: f"{100 * getattr(one, what) / one.judgments:.0f} %" for what in ("higher", "lower")}
    gap = one.difference
    sign = "+" if gap.value is not None and gap.value > 0 else ""
    text = (
        f"{found.labels[one.model]} gives a higher grade than people in {share['higher']} and a lower one in "
        f"{share['lower']} of {pluralize(one.judgments, 'judgment')}: {sign}{_with_interval(gap)} on average."
    )
    if found.people is not None and found.people.pairs:
        text += f" People among themselves: α (ordinal) {_with_interval(found.people.coefficients['alpha_ordinal'])}."
    return text


def _summarize_rankings(rankings: Sequence[RankingComparison], labels: Mapping[str, str]) -> Iterator[str]:
    """The rankings of many pairs of assessors, one sentence per measure."""
    for measure in dict.fromkeys(one.measure for one in rankings):
        own = [one for one in rankings if one.measure == measure and one.correlation is not None]
        taus = [one.correlation.tau for one in own if one.correlation is not None]
        if own:
            flipped, single, reversed_ = (sum(numbers) for numbers in zip(*map(_flips, own), strict=True))
            lowest = min(own, key=lambda one: one.correlation.tau if one.correlation is not None else 1)
            yield (
                f"By {measure}, pairs of assessors rank the systems with τ from {format_number(min(taus))} "
                f"({labels[lowest.first]} and {labels[lowest.second]}) to {format_number(max(taus))}; "
                f"{pluralize(flipped, 'significant pair')} of systems flipped in {pluralize(len(own), 'comparison')} "
                f"({single:,} significant for one only, {reversed_:,} reversed)."
            )


def _flips(one: RankingComparison) -> tuple[int, int, int]:
    """The number of flipped pairs of systems; of these, those significant for one assessor only, and those reversed."""
    reversed_ = one.counts["reversed"]
    return len(one.flipped), len(one.flipped) - reversed_, reversed_


def _ranking_sentence(one: RankingComparison, labels: Mapping[str, str]) -> str:
    if one.correlation is None:
        return one.note[0].upper() + one.note[1:]
    counts, number = one.counts, len(one.pairs)
    alike = one.correlation
    first, second, flipped = labels[one.first], labels[one.second], len(one.flipped)
    text = (
        f"By {one.measure}, {first} and {second} rank {pluralize(alike.systems, 'system')} with "
        f"τ {format_number(alike.tau)}, τ_AP {format_number(alike.tau_ap)}: of {pluralize(number, 'pair')} of systems "
        f"{counts['same'] + flipped:,} differ significantly for at least one, {counts['same']:,} for both in the same "
        f"direction, {flipped:,} flipped ({counts['first only']:,} for {first} only, {counts['second only']:,} for "
        f"{second} only, "
        f"{counts['reversed']:,} reversed)."
    )
    return f"{text} {one.note[0].upper() + one.note[1:]}" if one.note else text


def _assessors(found: Agreement) -> Table:
    grades = (f"Grade {grade:g}" for grade in found.scale)
    header = ("Assessor", "Pairs", "Topics", "Mean", "Relevant", *grades)
    return Table("Assessors", header, tuple(_assessor(one, found.scale) for one in found.assessors))


def _assessor(one: AssessorSummary, scale: Floats) -> tuple[Cell, ...]:
    share = MISSING if not one.pairs else f"{100 * one.relevant / one.pairs:.1f} %"
    grades = (f"{one.grades.get(float(grade), 0):,}" for grade in scale)
    return tuple(map(Cell, (one.label, f"{one.pairs:,}", f"{one.topics:,}", format_number(one.mean), share, *grades)))


def _coefficients(found: Agreement) -> Table:
    """One row per coefficient: for everyone and, if there are models, for people alone."""
    groups = [group for group in (found.overall, found.people) if group is not None]
    heads = ("All",) if len(groups) == 1 else ("All", "People")
    titles = (f"{100 * found.design.level:g} % interval", "Pairs")
    rows = []
    for name in groups[0].coefficients:
        cells = [Cell(AGREEMENT_TITLES[name])]
        for group in groups:
            one = group.coefficients.get(name)
            shown = (format_number(one.value), _interval(one), f"{one.n:,}") if one else (MISSING,) * 3
            cells += map(Cell, shown)
        rows.append(tuple(cells))
    several = len(groups) > 1
    header = ("", *(head for what in heads for head in (what if several else "Value", *titles)))
    return Table("Agreement", header, tuple(rows))


def _couples(found: Agreement) -> Table:
    names = tuple(found.assessor_pairs[0].coefficients)
    rows = []
    for couple in (couple for couple in found.assessor_pairs if couple.pairs):
        figures = (_cell(couple.coefficients[name]) for name in names)
        rows.append((Cell(" – ".join(couple.labels)), Cell(f"{couple.pairs:,}"), *figures))
    return Table("Pairs of assessors", ("Assessors", "Pairs", *(_SHORT[name] for name in names)), tuple(rows))


def _cell(one: Estimate, small: bool = True) -> Cell:
    return Cell(format_number(one.value), below=_interval(one) if small and one.low is not None else "")


def _differences(found: Agreement, width: int, styled: bool, full: bool) -> Iterator[str]:
    """Who is stricter, and which grades are confused."""
    shown = [couple for couple in found.assessor_pairs if couple.pairs]
    cut = len(shown) if full else MOST_COUPLES
    for couple in shown[:cut]:
        assert couple.confusion is not None
        title = f"Grades by {couple.labels[0]} (rows) and {couple.labels[1]} (columns)"
        yield render_text([_matrix(title, couple.confusion, found.scale)], width, styled)
        yield wrap_sentences([_stricter(couple)], width)
    if len(shown) > cut:
        yield f"{len(shown) - cut} more pairs of assessors; see --full or --format json.\n"


def _stricter(couple: AssessorPair) -> str:
    assert couple.means is not None and couple.difference is not None
    first, second = couple.labels
    higher, lower = (f"{100 * n / couple.pairs:.1f} %" for n in (couple.higher, couple.lower))
    gap = couple.difference
    sign = "+" if gap.value is not None and gap.value > 0 else ""
    text = (
        f"{second} gives a higher grade than {first} in {higher} and a lower one in {lower} of the pairs: mean grades "
        f"{format_number(couple.means[0])} and {format_number(couple.means[1])}, {sign}{_with_interval(gap)}."
    )
    if any(couple.only):
        text += f" Not compared: {couple.only[0]:,} judged by {first} only, {couple.only[1]:,} by {second} only."
    return text


def _matrix(title: str, counts: Ints, scale: Floats) -> Table:
    grades = [f"{grade:g}" for grade in scale]
    rows = tuple(
        tuple(map(Cell, (grade, *(f"{n:,}" for n in row), f"{sum(row):,}")))
        for grade, row in zip(grades, counts.tolist(), strict=True)
    )
    columns = [sum(column) for column in counts.T.tolist()]
    last = tuple(map(Cell, ("All", *(f"{n:,}" for n in columns), f"{sum(columns):,}")))
    return Table(title, ("Grade", *grades, "All"), (*rows, last))


def _models(found: Agreement, width: int, styled: bool) -> Iterator[str]:
    for one in found.models if len(found.assessors) > 2 else ():
        if one.judgments:
            title = f"Grades by people (rows) and {found.labels[one.model]} (columns), per judgment by a person"
            yield render_text([_matrix(title, one.confusion, found.scale)], width, styled)


def _topics(found: Agreement, width: int, styled: bool, full: bool) -> str:
    usual = _BY_TOPIC if len(found.assessors) == 2 else _OF_SEVERAL_BY_TOPIC
    groups = found.topics.values()
    wanted = [name for name in usual if any(group.coefficients[name].value is not None for group in groups)]
    small = full or len(found.topics) <= MOST_TOPICS
    lines = list(found.topics.items())
    cut = len(lines) if full else MOST_TOPIC_LINES
    rows = [
        (Cell(query), Cell(f"{group.pairs:,}"), *(_cell(group.coefficients[name], small) for name in wanted))
        for query, group in lines[:cut]
    ]
    if len(lines) > 1:
        means = (_mean(group.coefficients[name].value for group in groups) for name in wanted)
        rows.append((Cell("Mean"), Cell(""), *map(Cell, map(format_number, means))))
    table = Table("By topic", ("Topic", "Pairs", *(_SHORT[name] for name in wanted)), tuple(rows))
    more = f"{len(lines) - cut:,} more topics; see --full or --format json.\n" if len(lines) > cut else ""
    return render_text([table], width, styled) + more


def _mean(values: Iterable[float | None]) -> float | None:
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None


def _systems(found: SystemRankings, labels: Mapping[str, str], width: int, styled: bool, full: bool) -> Iterator[str]:
    for measure in found.measures:
        yield render_text([_means(found, measure, labels)], width, styled)
    if any(one.correlation for one in found.comparisons):
        yield render_text([_rankings(found, labels)], width, styled)
    for one in found.comparisons:
        cut = len(one.flipped) if full else MOST_FLIPPED
        first, second = labels[one.first], labels[one.second]
        by = {"reversed": "for both", "first only": f"for {first} only", "second only": f"for {second} only"}
        lines = [
            f"Flipped: {pair.system} − {pair.reference} is {format_signed(pair.first, 4)} by {first}, "
            f"{format_signed(pair.second, 4)} by {second} ({one.measure}), significant {by[pair.verdict]}."
            for pair in one.flipped[:cut]
        ]
        if len(one.flipped) > cut:
            more = pluralize(len(one.flipped) - cut, "more flipped pair")
            lines.append(f"{more} by {first} and {second} ({one.measure}); see --full or --format json.")
        yield wrap_sentences(lines, width)


def _means(found: SystemRankings, measure: str, labels: Mapping[str, str]) -> Table:
    """Systems ordered by the first assessor's means, with the rank for each assessor."""
    own = [one for one in found.by_assessor if one.measure == measure]
    systems = sorted(found.systems, key=lambda system: -own[0].means[system])
    rows = []
    for system in systems:
        cells = [Cell(system)]
        for one in own:
            top = max(one.means.values())
            rank = 1 + sum(round(mean - one.means[system], 12) > 0 for mean in one.means.values())
            cells.append(
                Cell(
                    format_number(one.means[system], 4),
                    best=len(systems) > 1 and one.means[system] == top,
                    mark=f"({rank})",
                )
            )
        rows.append(tuple(cells))
    header = ("System", *(labels[one.assessor] for one in own))
    last = (Cell("Topics"), *(Cell(f"{one.topics:,}") for one in own))
    return Table(f"{measure} with each assessor's judgments (rank)", header, (*rows, last))


def _rankings(found: SystemRankings, labels: Mapping[str, str]) -> Table:
    verdicts = ("Both", "Flipped", "1st only", "2nd only", "Reversed", "Neither")
    header = ("Assessors", "Measure", "Topics", "τ", "τ_AP", *verdicts)
    rows = []
    for one in found.comparisons:
        if one.correlation is not None:
            names, alike = f"{labels[one.first]} – {labels[one.second]}", (one.correlation.tau, one.correlation.tau_ap)
            numbers = (f"{n:,}" for n in _numbers(one).values())
            rows.append(tuple(map(Cell, (names, one.measure, f"{one.topics:,}", *map(format_number, alike), *numbers))))
    title = "Rankings of systems and significant differences, on pairs that both judged"
    return Table(title, header, tuple(rows), names=2)


def _numbers(one: RankingComparison) -> dict[str, int]:
    """Numbers of pairs of systems by verdict: same for both, flipped in all and in each way, neither."""
    numbers = {verdict.replace(" ", "_"): number for verdict, number in one.counts.items()}
    return {"same": numbers.pop("same"), "flipped": len(one.flipped), **numbers}


def _remarks(found: Agreement) -> Iterator[str]:
    group = found.overall
    if group is not None and group.pairs:
        yield _how(found.design, found.scale)
        by_note: dict[str, list[str]] = {}
        for name, one in group.coefficients.items():
            if one.note:
                by_note.setdefault(one.note, []).append(_SHORT[name])
        yield from (f"{', '.join(names)}: {note}" for note, names in by_note.items())
        if len(group.names) > 2 and 0 < group.full < group.pairs:
            names = " and ".join(AGREEMENT_TITLES[name] for name in ALL_ASSESSOR_COEFFICIENTS)
            yield f"{names} use the {pluralize(group.full, 'pair')} that all {len(group.names)} judged."
        if apart := [" – ".join(couple.labels) for couple in found.assessor_pairs if not couple.pairs]:
            yield f"No judged pair in common: {', '.join(apart)}."
        if len(found.assessor_pairs) > 1:
            constant = [c for c in found.assessor_pairs if c.coefficients["kappa"].note and c.pairs]
            yield from (f"{' – '.join(c.labels)}: {c.coefficients['kappa'].note}" for c in constant)
    if found.system_rankings is not None:
        tests = dict.fromkeys(one.test for one in found.system_rankings.comparisons if one.test)
        yield from (f"Significant: {test}, α = .05." for test in tests)
        yield from found.system_rankings.notes
    yield from found.notes


def _how(design: AgreementDesign, scale: Floats) -> str:
    grades = " ".join(f"{grade:g}" for grade in scale)
    what = f"Scale {grades}, relevant from {design.rel:g}."
    if not design.resamples:
        return what
    return (
        f"{what} Intervals: {100 * design.level:g} %, percentile bootstrap, "
        f"{pluralize(design.resamples, 'resample')} of "
        f"{design.resample} (of pairs, for one topic), seed {design.seed}."
    )


def as_json(found: Agreement) -> str:
    """All results in full precision; missing numbers are null."""
    design = found.design
    content = {
        "assessors": [_assessor_record(one) for one in found.assessors],
        "scale": found.scale.tolist(),
        "rel": design.rel,
        "intervals": {
            "level": design.level,
            "method": "percentile bootstrap",
            "resample": design.resample,
            "resamples": design.resamples,
            "seed": design.seed,
        },
        "overall": _group_record(found.overall),
        "people": _group_record(found.people),
        "pairs": [_couple_record(couple) for couple in found.assessor_pairs],
        "topics": {query: _group_record(group) for query, group in found.topics.items()},
        "models": [_model_record(one) for one in found.models],
        "systems": None if found.system_rankings is None else _standings_record(found.system_rankings),
        "notes": [*found.notes, *(found.system_rankings.notes if found.system_rankings else ())],
        "versions": package_versions("numpy"),
    }
    return dump_json(content)


def _assessor_record(one: AssessorSummary) -> dict[str, Any]:
    return {
        "name": one.name,
        "model": one.is_model,
        "pairs": one.pairs,
        "topics": one.topics,
        "relevant": one.relevant,
        "mean_grade": one.mean,
        "grades": {f"{grade:g}": number for grade, number in one.grades.items()},
        "file": one.file,
        "sha256": one.sha256,
    }


def _figure_record(one: Estimate) -> dict[str, Any]:
    return {"value": one.value, "low": one.low, "high": one.high, "pairs": one.n, "note": one.note}


def _figures_record(coefficients: Mapping[str, Estimate]) -> dict[str, Any]:
    return {name: _figure_record(one) for name, one in coefficients.items()}


def _group_record(group: AssessorGroup | None) -> dict[str, Any] | None:
    if group is None:
        return None
    return {
        "assessors": list(group.names),
        "pairs": group.pairs,
        "judged_by_all": group.full,
        "topics": group.topics,
        "figures": _figures_record(group.coefficients),
    }


def _couple_record(couple: AssessorPair) -> dict[str, Any]:
    assert couple.confusion is not None and couple.difference is not None
    return {
        "first": couple.names[0],
        "second": couple.names[1],
        "kind": couple.kind,
        "pairs": couple.pairs,
        "topics": couple.topics,
        "only_first": couple.only[0],
        "only_second": couple.only[1],
        "confusion": couple.confusion.tolist(),
        "second_lower": couple.lower,
        "second_higher": couple.higher,
        "mean_grades": None if couple.means is None else list(couple.means),
        "difference": _figure_record(couple.difference),
        "figures": _figures_record(couple.coefficients),
        "by_topic": {query: dict(values) for query, values in (couple.by_topic or {}).items()},
    }


def _model_record(one: ModelAgainstPeople) -> dict[str, Any]:
    return {
        "model": one.model,
        "judgments": one.judgments,
        "lower": one.lower,
        "same": one.same,
        "higher": one.higher,
        "difference": _figure_record(one.difference),
        "confusion": one.confusion.tolist(),
    }


def _standings_record(found: SystemRankings) -> dict[str, Any]:
    return {
        "systems": list(found.systems),
        "measures": list(found.measures),
        "by_assessor": [
            {"assessor": one.assessor, "measure": one.measure, "topics": one.topics, "means": dict(one.means)}
            for one in found.by_assessor
        ],
        "rankings": [_rankings_record(one) for one in found.comparisons],
    }


def _rankings_record(one: RankingComparison) -> dict[str, Any]:
    alike = one.correlation
    return {
        "first": one.first,
        "second": one.second,
        "measure": one.measure,
        "topics": one.topics,
        "means": [dict(means) for means in one.means],
        "tau": alike.tau if alike else None,
        "tau_ap": alike.tau_ap if alike else None,
        "pearson": alike.pearson if alike else None,
        "rbo": alike.rbo.ext if alike else None,
        "test": one.test,
        "significant": _numbers(one),
        "flipped": [[pair.system, pair.reference] for pair in one.flipped],
        "pairs": [
            {
                "system": pair.system,
                "reference": pair.reference,
                "first": pair.first,
                "second": pair.second,
                "verdict": pair.verdict,
            }
            for pair in one.pairs
        ],
        "note": one.note,
    }
