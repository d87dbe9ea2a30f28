"""The sections of a page about a pool."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from cranfield.base import pluralize
from cranfield.pooling import Contribution, Diagnosis, LeaveOutResult, ScoreChange
from cranfield.reporting.page.html import Content, Html, bullets, join_html, paragraphs, table, tag
from cranfield.reporting.page.pictures import DrawnPictures, Picture, figures_section
from cranfield.reporting.page.provenance import format_now, versions
from cranfield.reporting.plots.plot import Plot
from cranfield.reporting.plots.pool_curves import TITLES, budget_curves, new_relevant, relevant_found
from cranfield.reporting.plots.pool_runs import contributions, leave_out, overlap
from cranfield.reporting.plots.pool_topics import grade_distribution, pool_topics
from cranfield.reporting.pool_page.data import list_origins
from cranfield.tables import MISSING, format_number, format_percent, format_signed

FOLDED = 20  # rows from which a table is folded


@dataclass
class Drawn:
    """The pictures of a page, gathered while its sections are made."""

    pictures: list[Picture] = field(default_factory=list)

    def figure(self, kind: str, plot: Plot) -> Html:
        """A place for a picture, which the script of the page draws."""
        picture = Picture(kind, plot, plot.title, has_systems=False)
        self.pictures.append(picture)
        return figures_section(DrawnPictures((picture,), ()))


def sections(diagnosis: Diagnosis, drawn: Drawn, seed: int, command: str) -> list[tuple[str, str, Html]]:
    """Place, name and content of each section."""
    made: list[tuple[str, str, Callable[[], Html]]] = [
        ("contributions", "Contributions", partial(_contributions, diagnosis, drawn)),
        ("topics", "Topics", partial(_topics, diagnosis, drawn)),
        ("overlap", "Overlap", partial(_overlap, diagnosis, drawn)),
        ("judged", "Judged and bounds", partial(_judged, diagnosis)),
        ("left-out", "Left out", partial(_left_out, diagnosis, drawn)),
        ("budget", "Budget", partial(_budget, diagnosis, drawn)),
        ("deeper", "Deeper pools", partial(_deeper, diagnosis, drawn)),
        ("provenance", "Provenance", partial(_provenance, diagnosis, seed, command)),
    ]
    return [(place, name, make()) for place, name, make in made]


def _folded(rows: int, summary: str, made: Html) -> Html:
    return tag("details", tag("summary", summary), made) if rows > FOLDED else made


# Contributions


def _contributions(diagnosis: Diagnosis, drawn: Drawn) -> Html:
    depth = diagnosis.pooled.depth
    parts = [
        paragraphs(
            [
                f"What each run has among its first {depth:,} documents of every topic is its contribution. A document "
                "is unique to a run if no other run has it that far up."
            ]
        ),
        _folded(len(diagnosis.runs), pluralize(len(diagnosis.runs), "run"), _contribution_table(diagnosis.runs, "Run")),
        drawn.figure("contributions", contributions(diagnosis)),
    ]
    if diagnosis.groups:
        parts += [
            tag("h3", "Groups"),
            _contribution_table(diagnosis.groups, "Group"),
            drawn.figure("contributions-of-groups", contributions(diagnosis, groups=True)),
        ]
    return join_html(parts, "\n")


def _contribution_table(found: Sequence[Contribution], what: str) -> Html:
    header = [what, "Pooled", "Judged", "Relevant", "Unique", "Unique relevant", "Share of relevant"]
    header[1:1] = ["Runs"] if what == "Group" else []
    rows: list[list[Content]] = []
    for one in found:
        share = format_percent(one.unique_relevant / one.relevant) if one.relevant else MISSING
        figures_ = [one.pooled, one.judged, one.relevant, one.unique, one.unique_relevant]
        rows.append(
            [one.name, *([", ".join(one.runs)] if what == "Group" else []), *(f"{n:,}" for n in figures_), share]
        )
    caption = "Documents in the pool; the last column is how many of its relevant documents are unique"
    return table(caption, header, rows, sortable=True, texts=(1,) if what == "Group" else ())


# Topics


def _topics(diagnosis: Diagnosis, drawn: Drawn) -> Html:
    grades = list(diagnosis.grades)
    header = ["Topic", "Pooled", "not judged", "Judged", "Outside the pool", "Relevant", "Share", ""]
    header[-1:-1] = [f"Grade {grade:g}" for grade in grades]
    rows: list[list[Content]] = []
    for topic in diagnosis.topics:
        counts = [topic.pooled, topic.pooled_unjudged, topic.judged, topic.outside, topic.relevant]
        flag = "none relevant" if topic.has_none else "over a third" if topic.has_many else ""
        by_grade = [f"{topic.grades[grade]:,}" for grade in grades]
        rows.append([topic.query, *(f"{n:,}" for n in counts), format_percent(topic.share), *by_grade, flag])
    caption = "Pool and judgments of each topic; the share is that of relevant documents among the judged"
    made = table(caption, header, rows, sortable=True, texts=(len(header) - 1,))
    parts = [drawn.figure("pool-topics", pool_topics(diagnosis))]
    if diagnosis.grades:
        parts.append(drawn.figure("grades", grade_distribution(diagnosis)))
    parts += [_flagged(diagnosis), _folded(len(rows), f"Table of {pluralize(len(rows), 'topic')}", made)]
    return join_html(parts, "\n")


def _flagged(diagnosis: Diagnosis) -> Html:
    many, none = diagnosis.with_many, diagnosis.without_relevant
    said = []
    if many:
        said.append(
            f"More than a third of the judged documents is relevant: {', '.join(many)}. Where that is so, judging "
            "further would probably find more, and recall is overestimated (Voorhees, CIKM 2018)."
        )
    if none:
        said.append(f"No relevant document: {', '.join(none)}. Such topics give every run the same score, mostly 0.")
    return paragraphs(said)


# Overlap


def _overlap(diagnosis: Diagnosis, drawn: Drawn) -> Html:
    if len(diagnosis.runs) < 2:
        return paragraphs(["There is one run, so that there is nothing to compare it with."])
    names = diagnosis.pooled.names
    rows: list[list[Content]] = [
        [name, *(format_number(float(value), 3) for value in diagnosis.overlap[i])] for i, name in enumerate(names)
    ]
    made = table("Overlap of the first documents (Jaccard), mean over topics", ["Run", *names], rows, sortable=True)
    figure = drawn.figure("overlap", overlap(diagnosis))
    return join_html([figure, tag("details", tag("summary", "As a table"), made)], "\n")


# Judged and bounds


def _judged(diagnosis: Diagnosis) -> Html:
    depths = list(diagnosis.judged)
    names = diagnosis.pooled.names
    rows: list[list[Content]] = [
        [name, *(_share(diagnosis.judged[k][r]) for k in depths)] for r, name in enumerate(names)
    ]
    caption = "Documents with a judgment among the first k of all topics"
    parts = [table(caption, ["Run", *(f"Judged@{k:,}" for k in depths)], rows, sortable=True)]
    if not diagnosis.bounds:
        parts.append(paragraphs(["How far unjudged documents could move the measures was not worked out."]))
        return join_html(parts, "\n")
    parts.append(
        paragraphs(
            [
                "A retrieved document without a judgment could have any grade that occurs, wherever it is ranked. "
                "Between these ends the mean of a measure must lie, were everything judged."
            ]
        )
    )
    parts.append(_bounds_table(diagnosis))
    if any(bound.is_outer for bound in diagnosis.bounds):
        parts.append(paragraphs(["With an asterisk: it lies within these ends, but may not reach them."]))
    return join_html(parts, "\n")


def _share(share: float | None) -> str:
    return MISSING if share is None else format_percent(share)


def _bounds_table(diagnosis: Diagnosis) -> Html:
    found = {(bound.run, bound.measure): bound for bound in diagnosis.bounds}
    header = ["Run"]
    for label in diagnosis.measures:
        header += [label, "lowest", "highest"]
    rows: list[list[Content]] = []
    for name in diagnosis.pooled.names:
        row: list[Content] = [name]
        for label in diagnosis.measures:
            bound = found[name, label]
            mark = "*" if bound.is_outer else ""
            row += [
                format_number(bound.mean, 4),
                f"{format_number(bound.low, 4)}{mark}",
                f"{format_number(bound.high, 4)}{mark}",
            ]
        rows.append(row)
    return table("Means, and what they could be with every document judged", header, rows, sortable=True)


# Left out


def _left_out(diagnosis: Diagnosis, drawn: Drawn) -> Html:
    found = diagnosis.reusability
    if len(diagnosis.runs) < 2:
        return paragraphs(["There is one run: left out, nothing remains to hold it against."])
    said = (
        "What if a run had not been pooled? The judgments of documents that it alone brought in are taken away (they "
        "become unjudged, not non-relevant), and all runs are evaluated again. Change and rank are those of the run "
        "left out; tau, tau_AP and flips tell how far the order of all runs is another one then. A flip is a pair of "
        f"runs of which the paired t-test (α = {found.alpha:g}, correction {found.correction}) says something else: a "
        "significant difference lost, gained or reversed."
    )
    parts: list[Content] = [paragraphs([said]), drawn.figure("left-out", leave_out(diagnosis)), _standings(diagnosis)]
    for label in diagnosis.measures:
        parts += [tag("h3", f"Each run left out, {label}"), _side_table(found.runs, label, "Run")]
    if found.groups:
        for label in diagnosis.measures:
            parts += [tag("h3", f"Each group left out, {label}"), _side_table(found.groups, label, "Group")]
    else:
        parts.append(paragraphs(["No runs were named as a group; --groups and --group-by do that."], class_="quiet"))
    return join_html(parts, "\n")


def _standings(diagnosis: Diagnosis) -> Html:
    found = diagnosis.reusability
    rows: list[list[Content]] = []
    for what, standings in (("run", found.of_runs), ("group", found.of_groups)):
        for one in standings:
            rows.append(
                [
                    f"{one.measure}, each {what} left out",
                    format_number(one.mean_change, 4),
                    f"{format_signed(one.worst.delta, 4)} ({one.worst.run})",
                    f"{one.largest_fall:,}",
                    _tau(one.tau),
                    _tau(one.tau_ap),
                    _tau(one.lowest_tau),
                    _tau(one.lowest_tau_ap),
                    f"{one.most_flips:,}",
                ]
            )
    header = ["", "Mean change", "Largest loss", "Places lost", "tau", "tau_AP", "lowest tau", "lowest tau_AP", "Flips"]
    caption = (
        "All together: tau and tau_AP are of every run scored without what its own side brought in; the lowest tau, "
        "tau_AP and the most flips and places lost are of any one left out"
    )
    return table(caption, header, rows)


def _tau(value: float | None) -> str:
    return MISSING if value is None else format_number(value)


def _side_table(sides: Sequence[LeaveOutResult], label: str, what: str) -> Html:
    header = [what, "Judgments", "relevant", label, "left out", "Change", "%", "Rank"]
    header += ["tau", "tau_AP", "Flips"]
    rows = [row for side in sides for row in _side_rows(side, label)]
    caption = "Judgments taken away, and what that changes; flips as lost + gained + reversed"
    made = table(caption, header, rows, sortable=True)
    return _folded(len(rows), pluralize(len(rows), "run"), made)


def _side_rows(side: LeaveOutResult, label: str) -> Iterator[list[Content]]:
    effect = side.effect(label)
    flips = effect.flips
    for change in effect.changes:
        yield [
            side.name if change.run == side.name else f"{side.name}: {change.run}",
            f"{side.judgments:,}",
            f"{side.relevant:,}",
            *_change(change),
            _tau(effect.tau),
            _tau(effect.tau_ap),
            f"{flips.lost:,} + {flips.gained:,} + {flips.reversed:,}",
        ]


def _change(change: ScoreChange) -> list[Content]:
    share = MISSING if change.percent is None else f"{format_signed(change.percent, 1)}"
    moved = change.delta_rank
    rank = f"{change.rank_before} → {change.rank_after}"
    shown = rank if not moved else tag("span", rank, class_=f"verdict {'worse' if moved > 0 else 'better'}")
    return [
        format_number(change.before, 4),
        format_number(change.after, 4),
        format_signed(change.delta, 4),
        share,
        shown,
    ]


# Budget


def _budget(diagnosis: Diagnosis, drawn: Drawn) -> Html:
    found = diagnosis.budgets
    said = (
        "What if fewer documents had been judged? Each strategy is replayed on the judgments there are, seeing a grade "
        "only when it has asked for it; runs are evaluated with what it would have by then, and held against all "
        f"{pluralize(found.judgments, 'judgment')}."
    )
    parts: list[Content] = [paragraphs([said])]
    if len(diagnosis.runs) > 1:
        parts += [
            drawn.figure("budget-tau", budget_curves(diagnosis, "tau")),
            drawn.figure("budget-rmse", budget_curves(diagnosis, "rmse")),
        ]
    else:
        parts += [drawn.figure("budget-rmse", budget_curves(diagnosis, "rmse"))]
    parts.append(drawn.figure("relevant-found", relevant_found(diagnosis)))
    strategies = [join_html([tag("b", curve.strategy), f": {curve.title}"]) for curve in found.curves]
    parts.append(bullets(strategies))
    for label in diagnosis.measures:
        parts.append(tag("details", tag("summary", f"{label} as a table"), _budget_table(diagnosis, label)))
    return join_html(parts, "\n")


def _budget_table(diagnosis: Diagnosis, label: str) -> Html:
    header = ["Strategy", "As many as at depth", "Judgments", "Relevant", *TITLES.values()]
    rows: list[list[Content]] = []
    for curve in diagnosis.budgets.curves:
        for point in curve.points:
            one = next(found for found in point.fidelity if found.measure == label)
            counts = [point.depth, point.judgments, point.relevant]
            rows.append(
                [
                    curve.strategy,
                    *(f"{n:,}" for n in counts),
                    _tau(one.tau),
                    _tau(one.tau_ap),
                    format_number(one.rmse, 4),
                ]
            )
    return table(f"{label} of all runs, against all judgments", header, rows, sortable=True)


# Deeper pools


def _deeper(diagnosis: Diagnosis, drawn: Drawn) -> Html:
    said = (
        "Relevant documents that come up at each depth, fitted by n = C · d^s − 1 (Zobel, SIGIR 1998). The fit takes "
        "new relevant documents to go on falling as they did, says nothing of what no run retrieves, and must not be "
        "drawn out to any depth. cranfield recall-estimate has other ways to tell what is missing."
    )
    return join_html([drawn.figure("new-relevant", new_relevant(diagnosis)), paragraphs([said])], "\n")


# Provenance


def _provenance(diagnosis: Diagnosis, seed: int, command: str) -> Html:
    parts: list[Content] = []
    found = list_origins(diagnosis)
    if found:
        rows: list[list[Content]] = [
            [
                origin.file,
                "judgments" if origin is diagnosis.pooled.qrels.origin else "run",
                origin.format,
                tag("code", origin.sha256),
            ]
            for origin in found
        ]
        parts.append(table("Files", ["File", "What", "Format", "SHA-256"], rows, texts=(1, 2, 3), class_="files"))
    facts: list[tuple[str, Content]] = [("Command", tag("code", command))] if command else []
    facts += [
        ("Depth", f"{diagnosis.pooled.depth:,}, {diagnosis.pooled.depth_is}"),
        ("Relevant", f"grade {diagnosis.pooled.rel:g} or higher"),
        ("Measures", ", ".join(diagnosis.measures)),
        ("Seed", str(seed)),
        ("Date", format_now()),
        ("Versions", ", ".join(f"{name} {text}" for name, text in versions().items())),
    ]
    parts.append(tag("dl", *(join_html([tag("dt", name), tag("dd", content)]) for name, content in facts)))
    if diagnosis.notes:
        parts += [tag("h3", "Notes"), bullets(diagnosis.notes)]
    return join_html(parts, "\n")
