"""cranfield check: validate files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from cranfield.cli.options import format_option, input_format_options
from cranfield.cli.output import echo, has_styles, show_progress
from cranfield.io import Kind
from cranfield.tables import dump_json
from cranfield.validation import CheckedFile, FilePair, Finding, check_file, compare_files

COLOURS = {"error": "red", "warning": "yellow", "info": None}
MOST = 5  # findings of one kind that text output shows


@click.command(name="check")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--kind",
    type=click.Choice(["run", "qrels", "topics", "documents"]),
    help="What the files are, if not detected.",
)
@format_option()
@click.option("--all", "all_", is_flag=True, help=f"Print every finding, not only the first {MOST} of each kind.")
@input_format_options
def command(
    files: tuple[str, ...],
    kind: Kind | None,
    format_: str,
    all_: bool,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
) -> None:
    """Detect what each file is, and report everything wrong or suspicious in it.

    Checks runs, qrels, topics and documents; the ids of files given together are compared. The exit code is 2 if a
    file cannot be used, or if qrels and a run have no query in common.

    \b
    Example:
      cranfield check qrels.txt bm25.run
    """
    checks = (check_file(file, kind, run_format, qrels_format, grade_words) for file in files)
    checked = list(show_progress(checks, len(files), "checking"))
    pairs = compare_files(checked)
    if format_ == "json":
        content = {"files": [one.record() for one in checked], "pairs": [pair.record() for pair in pairs]}
        echo(dump_json(content))
    else:
        echo("\n".join(_text(checked, pairs, len(files) * 10**9 if all_ else MOST)) + "\n")
    if not (all(one.usable for one in checked) and all(pair.usable for pair in pairs)):
        raise SystemExit(2)


def _text(checked: Sequence[CheckedFile], pairs: Sequence[FilePair], most: int) -> Iterator[str]:
    for one in checked:
        identity = one.identity
        what = f"{identity.kind}, read as {identity.format} ({identity.why})" if identity else "format not detected"
        yield _styled(f"{one.file}: {what}{f': {one.counts}' if one.counts else ''}.", bold=True)
        yield from _findings(one.findings, most)
        if not one.findings:
            yield "  no problems found."
    for pair in pairs:
        yield _styled(f"{pair.files[0]} with {pair.files[1]}:", bold=True)
        yield from _findings(pair.findings, most)


def _findings(findings: Sequence[Finding], most: int) -> Iterator[str]:
    seen: dict[tuple[str, str], int] = {}
    for finding in findings:
        kind = (finding.level, finding.about)
        seen[kind] = seen.get(kind, 0) + 1
        if seen[kind] <= most:
            yield f"  {_styled(f'{finding.level:<8}', fg=COLOURS[finding.level])}{finding}"
    for (level, about), count in seen.items():
        if count > most:
            yield f"  {level:<8}… and {count - most:,} more of this kind ({about}); see --all."


def _styled(text: str, **style: Any) -> str:
    return click.style(text, **style) if has_styles() else text
