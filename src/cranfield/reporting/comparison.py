"""A comparison of systems in all formats of `cranfield compare` and `cranfield leaderboard`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from cranfield.base import Record, as_dict, pluralize, replace
from cranfield.stats import (
    CORRECTIONS,
    TARGET_POWER,
    Comparison,
    Leaderboard,
    LeaderboardEntry,
    MeasureComparison,
    PairComparison,
    SystemScore,
    find_claims,
    find_warnings,
    generate_letters,
)
from cranfield.tables import (
    MISSING,
    Cell,
    Table,
    dump_json,
    escape_html,
    format_number,
    format_p,
    format_signed,
    package_versions,
    render_html,
    render_latex,
    render_markdown,
    render_text,
    wrap_sentences,
)

MOST_SYSTEMS = 20  # with more, intervals would make a table too long to read
MOST_DIFFERENCES = 40  # comparisons listed one by one
MOST_CLAIMS = 12  # sentences printed; JSON has all
FORMATS = ("table", "markdown", "latex", "html", "csv", "json")


class View(Record):
    """How numbers are shown."""

    percent: bool = False
    places: int | None = None
    full: bool = False  # all intervals, comparisons and sentences, however many
    sentences: bool = True

    def scale(self, column: MeasureComparison) -> int:
        return 100 if self.percent and column.is_share else 1

    def decimals(self, column: MeasureComparison) -> int:
        if self.places is not None:
            return self.places
        return 2 if self.scale(column) == 100 else 4

    def figure(self, column: MeasureComparison, value: float | None) -> str:
        return format_number(None if value is None else value * self.scale(column), self.decimals(column))

    def signed(self, column: MeasureComparison, value: float) -> str:
        return format_signed(value * self.scale(column), self.decimals(column))

    def interval(self, column: MeasureComparison, low: float | None, high: float | None) -> str:
        if low is None or high is None:
            return MISSING
        return f"[{self.figure(column, low)}, {self.figure(column, high)}]"


def as_text(comparison: Comparison, format: str, view: View, width: int, styled: bool) -> str:
    """A comparison in one of FORMATS."""
    if format == "table":
        return as_table(comparison, view, width, styled)
    by_name = {"markdown": as_markdown, "latex": as_latex, "html": as_html}
    return by_name[format](comparison, view) if format in by_name else _DATA[format](comparison)


def as_table(comparison: Comparison, view: View, width: int, styled: bool) -> str:
    """Tables of means and differences with a legend, and the conclusions that may be drawn."""
    parts = [
        render_text([mean_table(comparison, view)], width, styled),
        wrap_sentences([_legend(comparison, view, "text")], width),
        render_text(found, width, styled) if (found := difference_tables(comparison, view)) else "",
        *(wrap_sentences(lines, width) for lines in _remarks(comparison, view).values()),
    ]
    return "\n".join(part for part in parts if part)


def as_markdown(comparison: Comparison, view: View) -> str:
    parts = [render_markdown(mean_table(comparison, view)), _legend(comparison, view, "text") + "\n"]
    parts += [render_markdown(table) for table in difference_tables(comparison, view)]
    for title, lines in _remarks(comparison, view).items():
        parts.append(f"**{title}**\n\n" + "".join(f"- {line}\n" for line in lines))
    return "\n".join(parts)


def as_latex(comparison: Comparison, view: View) -> str:
    parts = [render_latex(mean_table(comparison, view), _legend(comparison, view, "raised"), "tab:comparison")]
    for i, table in enumerate(difference_tables(comparison, view), 1):
        # the title goes into the caption
        parts.append(render_latex(replace(table, title=""), f"{table.title}.", f"tab:differences-{i}"))
    lines = (line for remarks in _remarks(comparison, view).values() for line in remarks)
    return "\n".join([*parts, "".join(f"% {line}\n" for line in lines)])


def as_html(comparison: Comparison, view: View) -> str:
    """A complete page that needs no network."""
    return page("Comparison of systems", html_parts(comparison, view))


def html_parts(comparison: Comparison, view: View) -> str:
    """The tables and sentences, for inclusion in a page."""
    parts = [render_html(mean_table(comparison, view), _legend(comparison, view, "raised"))]
    parts += [render_html(table) for table in difference_tables(comparison, view)]
    for title, lines in _remarks(comparison, view).items():
        items = "\n".join(f"<li>{escape_html(line)}</li>" for line in lines)
        parts.append(f"<h2>{escape_html(title)}</h2>\n<ul>\n{items}\n</ul>\n")
    return "\n".join(parts)


def page(title: str, body: str) -> str:
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape_html(title)}</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{_STYLE}</style>\n</head>\n<body>\n'
        f"<h1>{escape_html(title)}</h1>\n{body}</body>\n</html>\n"
    )


_STYLE = (
    ":root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:75rem;"
    "padding:0 1rem}table{border-collapse:collapse;display:block;overflow-x:auto;font-variant-numeric:tabular-nums;"
    "margin:1.5rem 0}caption{text-align:left;caption-side:bottom;max-width:70ch;padding-top:.5rem}"
    "th,td{padding:.2rem .75rem;text-align:right;vertical-align:top}th[scope=row],th:first-child{text-align:left}"
    "thead{border-bottom:1px solid}tbody tr{border-top:1px solid #8884}small{opacity:.8}"
    "sup,sub{line-height:0}li{max-width:75ch}"
)


def remarks(comparison: Comparison, view: View) -> list[str]:
    """The legend, conclusions, warnings and notes, as lines."""
    found = [line for lines in _remarks(comparison, view).values() for line in lines]
    return [_legend(comparison, view, "text"), *found]


def _remarks(comparison: Comparison, view: View) -> dict[str, list[str]]:
    """Sentences by kind: conclusions, warnings, notes."""
    said = sentences(comparison, view) if view.sentences else []
    warned = [f"Warning: {warning}" for warning in _warnings(comparison, view)]
    kinds = {"Conclusions": said, "Warnings": warned, "Notes": list(comparison.notes)}
    return {title: lines for title, lines in kinds.items() if lines}


def _warnings(comparison: Comparison, view: View) -> list[str]:
    """Warnings, with numbers as the table shows them."""
    if not view.percent:
        return list(comparison.warnings)
    return list(find_warnings(comparison.tables, comparison.columns, comparison.references, percent=True))


def sentences(comparison: Comparison, view: View) -> list[str]:
    """The conclusions; if they are many, those about the first measure of each collection."""
    found = list(find_claims(comparison.tables, comparison.columns, comparison.references, view.percent))
    if view.full or len(found) <= MOST_CLAIMS:
        return [claim.text for claim in found]
    first = {column.collection: column.label for column in reversed(comparison.columns) if column.scored.is_quality}
    kept = [claim for claim in found if claim.measure in ("", first.get(claim.collection, ""))]
    shown = [claim.text for claim in kept[:MOST_CLAIMS]]
    return [*shown, f"{pluralize(len(found) - len(shown), 'more sentence')} with --full or --format json."]


def mean_table(comparison: Comparison, view: View) -> Table:
    """Means, one row per system and one column per measure, with marks for significant differences."""
    small = view.full or len(comparison.systems) <= MOST_SYSTEMS
    columns = [_mean_column(comparison, column, view, small) for column in comparison.columns]
    header = [column.label for column in comparison.columns]
    groups = [column.collection for column in comparison.columns]
    several = len(comparison.collections) > 1
    if several:
        for label in comparison.measures:
            columns.append(_collection_column(comparison, label, view))
            header.append(label)
            groups.append("mean of collections")
    for collection, shares in _judged_columns(comparison).items():
        columns.append(shares)
        header.append("Judged@10")
        groups.append(collection)
    names = [Cell(_name(comparison, system)) for system in comparison.systems]
    rows = tuple((name, *(column[i] for column in columns)) for i, name in enumerate(names))
    return Table("", ("System", *header), rows, ("", *groups) if several else ())


def _name(comparison: Comparison, system: str) -> str:
    """A system, with its letter if it is a reference."""
    letter = _letters(comparison).get(system)
    return f"{system} ({letter})" if letter else system


def _letters(comparison: Comparison) -> dict[str, str]:
    """The letter of each reference."""
    return dict(zip(comparison.references, generate_letters(len(comparison.references)), strict=True))


def _mean_column(comparison: Comparison, column: MeasureComparison, view: View, small: bool) -> list[Cell]:
    texts = {score.name: view.figure(column, score.mean) for score in column.systems}
    # means that print the same are marked the same
    best = {texts[score.name] for score in column.systems if score.is_best}
    cells = []
    for system in comparison.systems:
        if system not in texts:
            cells.append(Cell(MISSING))
            continue
        score = column.systems[column.names.index(system)]
        up, down = _marks(comparison, column, score)
        plain = up if not comparison.references else f"{'↑' if up else ''}{up}{'↓' if down else ''}{down}"
        below = _small(comparison, column, score, view) if small else ""
        cells.append(Cell(texts[system], texts[system] in best, below, plain, up, down))
    return cells


def _marks(comparison: Comparison, column: MeasureComparison, score: SystemScore) -> tuple[str, str]:
    """Letters of the references that a system is better than, and of those it is worse than."""
    if not comparison.references:
        return _join_letters(score.letters), ""
    found: dict[str, list[str]] = {"better": [], "worse": [], "undecided": []}
    letters = _letters(comparison)
    for reference, letter in letters.items():
        if reference != score.name and column.has(score.name, reference):
            found[column.pair(score.name, reference).verdict].append(letter)
    # aa must not look like a and a
    between = "," if any(len(letter) > 1 for letter in letters.values()) else ""
    return between.join(found["better"]), between.join(found["worse"])


def _join_letters(letters: str) -> str:
    """Letters separated by commas instead of spaces, which vanish in superscripts.

    >>> _join_letters("a aa"), _join_letters("ab")
    ('a,aa', 'ab')
    """
    return letters.replace(" ", ",")


def _small(comparison: Comparison, column: MeasureComparison, score: SystemScore, view: View) -> str:
    """Half the interval of a mean; effect size and W/T/L against each reference or the best."""
    lines = []
    if score.low is not None and score.high is not None:
        lines.append(f"±{view.figure(column, (score.high - score.low) / 2)}")
    letters = _letters(comparison)
    others = comparison.references or ((column.names[column.best[0]],) if column.best else ())
    for other in others:
        if other != score.name and column.has(score.name, other):
            who = f"{letters[other]}: " if len(others) > 1 else ""
            lines.append(who + _effect(column.pair(score.name, other)))
        elif len(others) > 1:
            lines.append(f"{letters[other]}: {MISSING}")
    return "\n".join(lines)


def _effect(pair: PairComparison) -> str:
    effect = pair.effect
    return f"g {format_number(effect.hedges_g, 2)}, {_wins(pair)}"


def _wins(pair: PairComparison) -> str:
    """Topics won, tied and lost."""
    counts = (pair.effect.wins, pair.effect.ties, pair.effect.losses)
    return "/".join(f"{n:,}" if n >= 10_000 else str(n) for n in counts)


def _collection_column(comparison: Comparison, label: str, view: View) -> list[Cell]:
    """The mean over collections of each system; the best of those evaluated on all of them is bold."""
    column = comparison.column(label)
    found = [comparison.collection_mean(system, label) for system in comparison.systems]
    texts = [view.figure(column, None if one is None else one.mean) for one in found]
    whole = [(one.mean, text) for one, text in zip(found, texts, strict=True) if one and one.present == one.collections]
    pick = max if column.scored.more_is_better else min
    best = pick(whole)[1] if len(whole) > 1 and column.scored.is_quality else None
    return [
        Cell(text, one is not None and one.present == one.collections and text == best, _present(one))
        for one, text in zip(found, texts, strict=True)
    ]


def _present(mean: Any) -> str:
    return "" if mean is None or mean.present == mean.collections else f"{mean.present} of {mean.collections}"


def _judged_columns(comparison: Comparison) -> dict[str, list[Cell]]:
    """The judged share of the top ten of each system, for each collection whose runs are known."""
    found = {}
    for collection, table in comparison.tables.items():
        if table.has_runs:
            shares = {run: table.judged_share(run) for run in table.runs}
            found[collection] = [Cell(_format_share(shares.get(system))) for system in comparison.systems]
    return found


def _format_share(share: float | None) -> str:
    return MISSING if share is None else f"{100 * share:.1f} %"


def _legend(comparison: Comparison, view: View, marks: str) -> str:
    """The caption, and what the marks of a table mean."""
    said = [comparison.caption, "Best in bold." if marks == "raised" else "Best in bold or with *."]
    if comparison.references and any(column.tested for column in comparison.columns):
        letters = _letters(comparison)
        first = next(iter(letters.values()))
        raised = (f"Superscript {first}", f"subscript {first}")
        up, down = raised if marks == "raised" else (f"↑{first}", f"↓{first}")
        of = ", ".join(f"{letter} = {name}" for name, letter in letters.items())
        said.append(f"{up} marks a significant gain over {first}, {down} a significant loss, by this test ({of}).")
        against = "each of them" if len(letters) > 1 else next(iter(letters))
    else:
        against = "the best"
        if any(column.letters for column in comparison.columns):
            said.append("Systems that share a letter do not differ significantly by this test.")
    if view.full or len(comparison.systems) <= MOST_SYSTEMS:
        said.append(f"Below: ± half an interval; Hedges' g and W/T/L against {against}.")
    said += _scale(comparison, view)
    if len(comparison.collections) > 1:
        said.append("Means of collections are over the collections that a system was evaluated on.")
    return " ".join(said)


def _scale(comparison: Comparison, view: View) -> list[str]:
    return ["Shares × 100."] if any(view.scale(column) == 100 for column in comparison.columns) else []


def difference_tables(comparison: Comparison, view: View) -> list[Table]:
    """Each difference with its interval and p, measure by measure; none if there are too many to read."""
    listed = [(column, column.reported_pairs(comparison.references)) for column in comparison.columns]
    if not view.full and sum(len(pairs) for _, pairs in listed) > MOST_DIFFERENCES:
        return []
    return [
        _difference_table(comparison, column, system, others, view)
        for column, pairs in listed
        for system, others in _by_reference(comparison, pairs).items()
    ]


def _by_reference(comparison: Comparison, pairs: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """The systems compared with each reference, or with the best system if all pairs are compared."""
    found: dict[str, list[str]] = {}
    for system, reference in pairs:
        one, other = (reference, system) if comparison.references else (system, reference)
        found.setdefault(one, []).append(other)
    return found


def _difference_table(
    comparison: Comparison, column: MeasureComparison, reference: str, systems: Sequence[str], view: View
) -> Table:
    design = column.design
    corrected = "p" if column.family <= 1 or design.is_tukey else f"p ({CORRECTIONS[design.correction].title})"
    beside = {"tukey": "randomised", "tukey-two-way": "two-way"}.get(design.beside, design.beside)
    header = (
        "System",
        "Difference",
        f"{100 * design.level:g} % interval",
        "d_z",
        "g",
        "W/T/L",
        corrected,
        f"({beside})",
        "Relative",
    )
    rows = tuple(_difference_row(column, column.pair(system, reference), view) for system in systems)
    mean = view.figure(column, column.means[column.names.index(reference)])
    best = "" if comparison.references else ", the best,"
    return Table(f"{column.title} against {_name(comparison, reference)}{best} with {mean}", header, rows)


def _difference_row(column: MeasureComparison, pair: PairComparison, view: View) -> tuple[Cell, ...]:
    effect = pair.effect
    relative = effect.relative_change
    return (
        Cell(pair.system),
        Cell(view.signed(column, pair.difference)),
        Cell(view.interval(column, pair.low, pair.high)),
        Cell(format_number(effect.d_z, 2)),
        Cell(format_number(effect.hedges_g, 2)),
        Cell(_wins(pair)),
        Cell(format_p(pair.p_adjusted)),
        Cell(format_p(pair.p_beside_adjusted)),
        Cell(MISSING if relative is None else _relative(relative)),
    )


def _relative(share: float) -> str:
    return f"{format_signed(100 * share, 1)} %"


def as_csv(comparison: Comparison) -> str:
    """One row per system and measure, then one per comparison, in full precision."""
    fields = ("collection", "measure", "system", "n", "mean", "low", "high", "judged_top_10", "best", "letters")
    lines = (
        {"collection": column.collection, "measure": column.label} | _system_record(score)
        for column in comparison.columns
        for score in column.systems
    )
    pairs = [{k: v for k, v in _pair_record(pair).items() if k != "note"} for pair in comparison.pairs]
    names = [*fields, *(name for name in (pairs[0] if pairs else {}) if name not in fields)]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, lineterminator="\n", restval="")
    writer.writeheader()
    for line in (*lines, *pairs):
        writer.writerow({name: "" if value is None else value for name, value in _finite(line).items()})
    return out.getvalue()


def as_json(comparison: Comparison) -> str:
    """All results in full precision."""
    design = comparison.design
    content: dict[str, Any] = {
        "caption": comparison.caption,
        "design": as_dict(design) | {"method": design.method, "level": design.level, "power": TARGET_POWER},
        "references": list(comparison.references),
        "systems": list(comparison.systems),
        "collections": [_collection_record(comparison, name) for name in comparison.collections],
        "columns": [_column_record(column) for column in comparison.columns],
        "claims": [as_dict(claim) for claim in comparison.claims],
        "warnings": list(comparison.warnings),
        "notes": list(comparison.notes),
        "versions": package_versions("numpy", "scipy"),
    }
    if len(comparison.collections) > 1:
        content["means_of_collections"] = [
            as_dict(mean)
            for label in comparison.measures
            for system in comparison.systems
            if (mean := comparison.collection_mean(system, label)) is not None
        ]
    return dump_json(_finite(content))


def _finite(value: Any) -> Any:
    """The same with None for numbers that JSON lacks: t is infinite if differences do not vary."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(own) for key, own in value.items()}
    return [_finite(own) for own in value] if isinstance(value, (list, tuple)) else value


_DATA: dict[str, Callable[[Comparison], str]] = {"csv": as_csv, "json": as_json}


def _collection_record(comparison: Comparison, name: str) -> dict[str, Any]:
    table = comparison.tables[name]
    return {
        "name": name,
        "systems": list(table.runs),
        "topics": len(table.queries),
        "conventions": {} if table.scores is None else dict(table.scores.conventions),
        "inputs": [origin.as_record() for origin in table.origins],
    }


def _column_record(column: MeasureComparison) -> dict[str, Any]:
    return {
        "collection": column.collection,
        "measure": column.label,
        "more_is_better": column.scored.more_is_better,
        "n": column.n,
        "topics": list(column.queries),
        "left_out": list(column.dropped),
        "method_note": " ".join(text for text in (column.note, column.remark) if text),
        "family": column.family,
        **_done_record(column),
        "systems": [_system_record(score) for score in column.systems],
        "pairs": [_pair_record(pair) for pair in column.pairs],
    }


def _done_record(column: MeasureComparison) -> dict[str, Any]:
    """Details of the method; None for those it does not have."""
    return {name: column.details.get(name) for name in ("exact", "resamples", "seed", "V_E", "df", "critical")}


def _system_record(score: SystemScore) -> dict[str, Any]:
    found = as_dict(score)
    renamed = {"name": "system", "judged": "judged_top_10", "is_best": "best"}
    return {renamed.get(name, name): value for name, value in found.items()}


def _pair_record(pair: PairComparison) -> dict[str, Any]:
    """A comparison on one level, with the names of machine-readable output."""
    design, effect = pair.design, pair.effect
    return {
        "collection": pair.collection,
        "measure": pair.measure,
        "system": pair.system,
        "reference": pair.reference,
        "n": pair.n,
        "test": design.method,
        "statistic": pair.statistic,
        "p": pair.p,
        "correction": design.correction,
        "family": pair.family,
        "p_adjusted": pair.p_adjusted,
        "beside": design.beside_name,
        "p_beside": pair.p_beside,
        "p_beside_adjusted": pair.p_beside_adjusted,
        "alpha": design.alpha,
        "difference": pair.difference,
        "difference_low": pair.low,
        "difference_high": pair.high,
        "residual_effect": pair.residual_effect,
        "direction": pair.scored.direction,
        "exact": pair.details.get("exact"),
        "resamples": pair.details.get("resamples"),
        "beside_exact": pair.beside_details.get("exact"),
        "beside_resamples": pair.beside_details.get("resamples"),
        "df": pair.details.get("df"),
        "note": pair.note,
        "significant": pair.is_significant,
        "verdict": pair.verdict,
        "topics_needed": pair.topics_needed,
        "smallest_difference": pair.smallest_difference,
        "mean": effect.mean_a,
        "reference_mean": effect.mean_b,
        "t_low": effect.low,  # Student's interval, whatever the test
        "t_high": effect.high,
        "level": effect.level,
        "sd_of_differences": effect.sd,
        "d_z": effect.d_z,
        "d_z_low": effect.d_z_low,
        "d_z_high": effect.d_z_high,
        "hedges_g": effect.hedges_g,
        "hedges_g_approximate": effect.hedges_g_approximate,
        "glass_delta": effect.glass_delta,
        "d_av": effect.d_av,
        "superiority": effect.superiority,
        "wins": effect.wins,
        "ties": effect.ties,
        "losses": effect.losses,
        "tolerance": effect.tolerance,
        "relative_change": effect.relative_change,
    }


def leaderboard_table(board: Leaderboard, view: View) -> Table:
    """One row per system, best first: its rank, and its mean with interval and rank on each split."""
    splits = board.comparison.columns
    several = len(splits) > 1
    header = ["Rank", "System"]
    header += ["Mean"] if several else []
    header += [column.collection or column.label for column in splits]
    rows = tuple(tuple(_entry_cells(board, entry, view)) for entry in board.entries)
    return Table("", tuple(header), rows, names=2)


def _entry_cells(board: Leaderboard, entry: LeaderboardEntry, view: View) -> Iterator[Cell]:
    splits = board.comparison.columns
    yield Cell(MISSING if entry.rank is None else str(entry.rank))
    yield Cell(entry.system)
    if len(splits) > 1:
        present = "" if entry.present == len(splits) else f"{entry.present} of {len(splits)}"
        yield Cell(view.figure(splits[0], entry.mean), entry.rank == 1 and board.by is None, present)
    for column, rank in zip(splits, entry.ranks, strict=True):
        if rank is None:
            yield Cell(MISSING)
            continue
        score = column.systems[column.names.index(entry.system)]
        half = (
            "" if score.low is None or score.high is None else f"±{view.figure(column, (score.high - score.low) / 2)}"
        )
        place = f"{half} #{rank}".strip() if len(splits) > 1 else half
        letters = _join_letters(score.letters)
        yield Cell(view.figure(column, score.mean), score.is_best, place, letters, letters)


def leaderboard_text(board: Leaderboard, format: str, view: View, width: int, styled: bool) -> str:
    """A leaderboard in one of FORMATS."""
    if format == "csv":
        return _leaderboard_csv(board)
    if format == "json":
        return _leaderboard_json(board)
    table, legend = leaderboard_table(board, view), _board_legend(board, view, format)
    lines = [*(f"Warning: {warning}" for warning in _warnings(board.comparison, view)), *board.comparison.notes]
    if format == "table":
        return render_text([table], width, styled) + "\n" + wrap_sentences([legend, *lines], width)
    if format == "markdown":
        return render_markdown(table) + f"\n{legend}\n\n" + "".join(f"- {line}\n" for line in lines)
    if format == "latex":
        return render_latex(table, legend, "tab:leaderboard") + "".join(f"% {line}\n" for line in lines)
    items = "\n".join(f"<li>{escape_html(line)}</li>" for line in lines)
    return page(f"Leaderboard by {board.measure}", render_html(table, legend) + f"<ul>\n{items}\n</ul>\n")


def _board_legend(board: Leaderboard, view: View, format: str) -> str:
    splits = board.comparison.columns
    by = f"on {board.by}" if board.by else "of the means over all splits" if len(splits) > 1 else "of the mean"
    order = "highest first" if splits[0].scored.more_is_better else "lowest first"
    best = "Best in bold." if format in ("latex", "html") else "Best in bold or with *."
    said = [f"{board.measure}: rank {by}, {order}; equal means share a rank.", board.comparison.board_caption, best]
    if any(column.letters for column in splits):
        said.append("Systems that share a letter do not differ significantly by this test.")
    if any(entry.rank is None for entry in board.entries):
        said.append("A system that lacks a split has no rank; its mean is over the splits that it has.")
    return " ".join([*said, *_scale(board.comparison, view)])


def _entry_record(board: Leaderboard, entry: LeaderboardEntry) -> dict[str, Any]:
    splits = []
    for column, rank in zip(board.comparison.columns, entry.ranks, strict=True):
        if rank is not None:
            score = column.systems[column.names.index(entry.system)]
            splits.append({"split": column.collection, "rank": rank} | _system_record(score))
    return {"rank": entry.rank, "system": entry.system, "mean": entry.mean, "splits": splits}


def _leaderboard_json(board: Leaderboard) -> str:
    comparison = board.comparison
    content = {
        "measure": board.measure,
        "ranked_by": board.by,
        "caption": comparison.board_caption,
        "leaderboard": [_entry_record(board, entry) for entry in board.entries],
        "collections": [_collection_record(comparison, name) for name in comparison.collections],
        "warnings": list(comparison.warnings),
        "notes": list(comparison.notes),
        "versions": package_versions("numpy", "scipy"),
    }
    return dump_json(_finite(content))


def _leaderboard_csv(board: Leaderboard) -> str:
    """One row per system and split."""
    names = [
        "rank",
        "system",
        "mean",
        "split",
        "split_rank",
        "split_mean",
        "low",
        "high",
        "n",
        "judged_top_10",
        "letters",
    ]
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, names, lineterminator="\n", restval="", extrasaction="ignore")
    writer.writeheader()
    for entry in board.entries:
        record = _entry_record(board, entry)
        for split in record["splits"]:
            line = split | {"split_rank": split["rank"], "split_mean": split["mean"]}
            line |= {"rank": record["rank"], "system": record["system"], "mean": record["mean"]}
            writer.writerow({name: "" if value is None else value for name, value in line.items()})
    return out.getvalue()
