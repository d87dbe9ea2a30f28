"""What the figures rest on: files and their digests, versions, conventions, queries left out; and what checks found."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from cranfield.base import describe_core, join_names, pluralize
from cranfield.data import Origin
from cranfield.io import Input
from cranfield.reporting.page.context import FEW, ReportContext
from cranfield.reporting.page.html import (
    Content,
    Html,
    bullets,
    definition_list,
    escape,
    join_html,
    paragraphs,
    table,
    tag,
)
from cranfield.validation import CheckedFile, FilePair, Finding, check_file, compare_files

FINDINGS = 5  # of one kind that are shown for a file
LARGE = 50_000_000  # bytes of a file of texts that is not checked


# Checks


def check_files(context: ReportContext, texts: Sequence[str]) -> list[CheckedFile]:
    """The files looked at once more, unless they are too large; `texts` are those of topics and documents."""
    origins = _files(context)
    if not origins or context.retrieved > FEW:
        return []
    small = [file for file in texts if os.path.getsize(file) <= LARGE]
    return [*(_checked(context, origin) for origin in origins), *map(check_file, small)]


def checks_section(context: ReportContext, checked: Sequence[CheckedFile], texts: Sequence[str]) -> Html:
    """What `cranfield check` says of the files."""
    if not _files(context):
        return paragraphs(["Judgments and runs were not read from files, so that no file was checked."])
    if not checked:
        return paragraphs(
            [
                f"The files were not checked, since they hold more than {FEW:,} documents; "
                "cranfield check QRELS RUN... does that."
            ]
        )
    pairs = compare_files(checked)
    known = {one.file for one in checked}
    left = [file for file in (*(origin.file for origin in _origins(context)), *texts) if file not in known]
    said = [_overall(checked, pairs)]
    said += [f"Not checked, being too large or not to be read twice: {join_names(left)}."] if left else []
    found = [_findings(one.file, one.findings) for one in checked]
    found += [_findings(" with ".join(pair.files), pair.findings) for pair in pairs]
    return join_html([paragraphs(said), *found], "\n")


def _files(context: ReportContext) -> list[Origin]:
    """The files of judgments and runs, as far as they can be read once more."""
    return [origin for origin in _origins(context) if os.path.isfile(origin.file)]


def _checked(context: ReportContext, origin: Origin) -> CheckedFile:
    is_qrels = origin is context.scores.qrels
    return check_file(
        origin.file,
        "qrels" if is_qrels else "run",
        run_format=None if is_qrels else origin.format,
        qrels_format=origin.format if is_qrels else None,
        grade_words=context.grade_words,
    )


def _overall(checked: Sequence[CheckedFile], pairs: Sequence[FilePair]) -> str:
    found = [one.findings for one in checked] + [pair.findings for pair in pairs]
    levels = [finding.level for findings in found for finding in findings]
    errors, warned = levels.count("error"), levels.count("warning")
    n = pluralize(len(checked), "file")
    if not errors and not warned:
        return f"Nothing suspicious in {n}."
    parts = [pluralize(errors, "error")] if errors else []
    parts += [pluralize(warned, "warning")] if warned else []
    return f"{' and '.join(parts)} in {n}."


def _findings(what: str, findings: Sequence[Finding]) -> Html | None:
    """What was found in a file; information alone is not worth a heading."""
    told = [finding for finding in findings if finding.level != "info"]
    if not told:
        return None
    shown: list[Content] = []
    seen: dict[tuple[str, str], int] = {}
    for finding in told:
        kind = (finding.level, finding.about)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= FINDINGS:
            shown.append(join_html([tag("b", finding.level, class_=finding.level), f" {finding}"]))
    more = [f"… and {count - FINDINGS:,} more ({about})." for (_, about), count in seen.items() if count > FINDINGS]
    return join_html([tag("h3", what), bullets([*shown, *more])])


# Provenance


def provenance_section(context: ReportContext, texts: Sequence[str], date: str) -> Html:
    """Everything needed to make the same report again; without a date, nothing that changes from one to the next."""
    scores = context.scores
    parts = [_files_table(context, texts)]
    parts.append(tag("h3", "Queries left out"))
    parts.append(bullets(_coverage(context)))
    parts.append(tag("h3", "Conventions"))
    parts.append(definition_list([(name.replace("_", " "), str(value)) for name, value in scores.conventions.items()]))
    if scores.notes:
        parts += [tag("h3", "Notes"), bullets(scores.notes)]
    parts += [tag("h3", "Made by"), _facts(context, date)]
    return join_html(parts, "\n")


def _files_table(context: ReportContext, texts: Sequence[str]) -> Html:
    origins = list(_origins(context))
    what = ["judgments" if origin is context.scores.qrels else "run" for origin in origins]
    rows: list[list[Content]] = [
        [escape(origin.file), kind, origin.format, tag("code", origin.sha256)]
        for origin, kind in zip(origins, what, strict=True)
    ]
    rows += [[escape(file), "texts", "", tag("code", compute_digest(file))] for file in texts]
    costs = context.costs.file if context.costs is not None else ""
    rows += [[escape(costs), "costs", "json", tag("code", compute_digest(costs))]] if os.path.isfile(costs) else []
    if not rows:
        return paragraphs(["Judgments and runs were given from memory, not from files."])
    return table("Files", ["File", "What", "Format", "SHA-256"], rows, texts=(1, 2, 3), class_="files")


def compute_digest(file: str) -> str:
    """The SHA-256 of a file as it is on disk."""
    with Input(file) as source:
        found = source.sha256
        return found if isinstance(found, str) else found()


def _coverage(context: ReportContext) -> Iterator[str]:
    """Which queries a run lacks, and which of its queries nobody judged."""
    runs = context.scores.runs
    whole = [run for run in runs if not run.judged.has_missing and run.judged.n == len(context.scores.queries)]
    none_left = [run for run in whole if not run.judged.only_in_run]
    if len(none_left) == len(runs):
        yield f"None: every run has all of the {pluralize(len(context.scores.queries), 'query')}, and no other."
        return
    for run in runs:
        if run in none_left:
            continue
        judged = run.judged
        missing = [query for query, gone in zip(judged.queries, judged.missing.tolist(), strict=True) if gone]
        there = set(judged.queries)
        skipped = [query for query in context.scores.queries if query not in there]
        parts = [f"{pluralize(len(missing), 'query')} missing, counted as 0 ({join_names(missing)})"] if missing else []
        parts += [f"{pluralize(len(skipped), 'query')} missing, skipped ({join_names(skipped)})"] if skipped else []
        parts += [f"{pluralize(judged.only_in_run, 'query')} without judgments, left out"] if judged.only_in_run else []
        yield f"{run.name}: {'; '.join(parts)}."


def _facts(context: ReportContext, date: str) -> Html:
    design = None if isinstance(context.comparison, str) else context.comparison.design
    facts: list[tuple[str, Content]] = [("Command", tag("code", context.command))] if context.command else []
    facts += [("Date", date)] if date else []
    facts.append(("Versions", ", ".join(f"{name} {number}" for name, number in versions().items())))
    facts.append(("Seed", str(context.seed)))
    if design is not None:
        facts.append(("Comparisons", f"{design.method}, {design.resamples:,} resamples, seed {design.seed}"))
    return definition_list(facts)


def format_now() -> str:
    """The date and time, or that of SOURCE_DATE_EPOCH where builds are to be the same again."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    moment = datetime.fromtimestamp(int(given), UTC) if given.isdigit() else datetime.now(UTC)
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def versions() -> dict[str, str]:
    found = {"cranfield": f"{version('cranfield')} ({describe_core()})"}
    for name in ("numpy", "scipy", "vl-convert-python"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found | {"Python": platform.python_version()}


def _origins(context: ReportContext) -> Iterator[Origin]:
    """The files that were read: judgments, runs, and the run to compare with."""
    scores = context.scores
    against = scores.runs[0].judged.sources.extras.against if scores.runs else None
    origins: tuple[Any, ...] = (scores.qrels, *(run.origin for run in scores.runs), against.origin if against else None)
    return (origin for origin in origins if origin is not None)
