"""Exports of qrels and of the whole history; imports of judgments, pools and topics."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.annotation import (
    QrelsExport,
    export_qrels,
    find_sampling_strategy,
    import_judgments,
    list_exported_assessors,
    write_history,
)
from cranfield.base import pluralize
from cranfield.errors import CranfieldError, InputError
from cranfield.io import format_column, read_qrels, read_topics, write_qrels
from cranfield.pooling import read_pool
from cranfield.qrels_tools import MERGE_RULES, MERGE_TIES, MergeTies
from cranfield.reporting import annotation as annotation_report
from cranfield.workbench.app_state import get_judging
from cranfield.workbench.judge.judging_service import JudgingService
from cranfield.workbench.pages import Page, endpoint, page_routes
from cranfield.workbench.params import Params, read_body

_FIELDS = {  # of the form, by option of the command line
    "--with-models includes them": "check \u201cInclude judgments by models\u201d to include them",
    "--round takes the nearest grade": "check \u201cRound means to the nearest grade\u201d to round them",
    "--primary NAME": "choose one",
}
MAX_FILE = 200_000_000  # bytes of an import


def routes() -> list[Route]:
    return [
        *page_routes("/export", export_page, role="coordinator"),
        endpoint("/api/judgments/qrels", download_qrels, role="coordinator"),
        endpoint("/api/judgments/history", download_history, role="coordinator"),
        endpoint("/api/judgments/import", add_judgments, role="coordinator", methods=["POST"]),
        endpoint("/api/judgments/pool", add_pool, role="coordinator", methods=["POST"]),
        endpoint("/api/judgments/topics", add_topics, role="coordinator", methods=["POST"]),
    ]


def export_page(request: Request) -> Page:
    """Downloads and imports, with a summary of the qrels that a rule makes of the judgments so far."""
    judging = get_judging(request)
    params = Params(request)
    value: dict[str, Any] = {"rule": params.choice("rule", list(MERGE_RULES), "majority"), "judgments": 0, "notes": []}
    value |= {"unjudged": 0, "problem": ""}
    try:
        if value["rule"] == "primary" and not params.text("primary"):
            raise InputError("Choose the primary assessor, whose grades take precedence.")
        done = _export(judging, params)
        _check_writable(done)
        value |= {
            "judgments": done.judgments,
            "unjudged": len(done.qrels) - done.judgments,
            "topics": len(done.qrels.queries),
            "assessors": done.assessors,
            "described": done.rule,
            "disagreements": len(done.disagreements),
            "notes": [_name_fields(note) for note in done.notes],
        }
    except CranfieldError as error:
        value["problem"] = _name_fields(str(error))
    extra = {
        "rules": MERGE_RULES,
        "ties": MERGE_TIES,
        "chosen": {name: params.text(name) or None for name in ("ties", "primary")}
        | {name: "1" if params.flag(name) else None for name in ("models", "round", "unjudged")},
        "names": list_exported_assessors(judging.log, params.flag("models")),
        "sample": judging.sample,
        "strategy": find_sampling_strategy(judging.log),
    }
    return Page("export.html", value, "Export", extra)


def _name_fields(text: str) -> str:
    """A message that names the fields of the form instead of command line options."""
    for option, field in _FIELDS.items():
        text = text.replace(option, field)
    return text


def download_qrels(request: Request) -> Response:
    """The judgments as qrels, combined by a rule."""
    judging = get_judging(request)
    params = Params(request)
    kind = params.choice("format", ("trec", "sampled"), "sampled" if judging.sample else "trec")
    if kind == "sampled" and judging.sample is None:
        raise InputError("qrels with five columns need the sample file: name it as 'sample' in the table [judging].")
    done = _export(judging, params, is_sampled=kind == "sampled")
    return _download(lambda path: write_qrels(done.qrels, path, kind), "qrels.txt", "text/plain; charset=utf-8")


def _export(judging: JudgingService, params: Params, is_sampled: bool = False) -> QrelsExport:
    return export_qrels(
        judging.log,
        params.choice("rule", list(MERGE_RULES), "majority"),
        ties=params.choice("ties", get_args(MergeTies), "lower"),  # type: ignore[arg-type]
        primary=params.text("primary") or None,
        assessors=params.many("assessor") or None,
        with_models=params.flag("models"),
        least=params.integer("least", 1, 1, 1000),
        rounded=params.flag("round"),
        unjudged=params.flag("unjudged"),
        sample=read_qrels(judging.sample, "sampled") if is_sampled and judging.sample is not None else None,
    )


def _check_writable(done: QrelsExport) -> None:
    """Raise an error if qrels files cannot represent the ids, as in logs of older versions."""
    for query, docs in done.qrels.to_dict().items():
        for name, what in ((query, "query id"), *((doc, "doc id") for doc in docs)):
            try:
                format_column(name, what)
            except InputError as error:
                raise InputError(f"{error.message} The history below contains everything.") from None


def download_history(request: Request) -> Response:
    """Every event with assessor, times and notes, as JSON lines or CSV. It can be imported again."""
    params = Params(request)
    kind, every = params.choice("format", ("jsonl", "csv"), "jsonl"), params.flag("all_events")
    media_type = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}[kind]
    return _download(
        lambda path: write_history(get_judging(request).log, path, kind, every), f"history.{kind}", media_type
    )


async def add_judgments(request: Request) -> dict[str, Any]:
    """Import judgments: a history, the file of a packet, or qrels of one assessor."""
    params = Params(request)

    def work(file: str) -> dict[str, Any]:
        try:
            done = import_judgments(
                get_judging(request).log,
                file,
                params.text("assessor").strip() or None,
                format=params.text("format") or None,
                is_model=params.flag("model"),
                decisions=params.flag("decisions"),
            )
        except InputError as error:
            message = error.message.replace("--assessor NAME", "name the assessor")
            raise InputError(message.replace("--decisions", "check the box"), None, error.line) from None
        return {
            "said": annotation_report.describe_import(done).removeprefix(f"{done.file}: "),
            "events": done.events,
            "new": done.new,
            "pairs": done.pairs,
            "assessors": done.assessors,
        }

    return await _with_file(request, work)


async def add_pool(request: Request) -> dict[str, Any]:
    """Import the pairs of a pool, as `cranfield pool` writes it."""

    def work(file: str) -> dict[str, Any]:
        pool = _read_upload(lambda: read_pool(file))
        new = get_judging(request).log.add_pairs(pool.pairs)
        return {"said": f"{pluralize(len(pool), 'pair')}, {new:,} of them new.", "pairs": len(pool), "new": new}

    return await _with_file(request, work)


async def add_topics(request: Request) -> dict[str, Any]:
    """Import the texts of topics, in any supported format."""

    def work(file: str) -> dict[str, Any]:
        n = get_judging(request).add_topics(_read_upload(lambda: read_topics(file)))
        return {"said": f"{pluralize(n, 'topic')}.", "topics": n}

    return await _with_file(request, work)


def _read_upload(read: Callable[[], Any]) -> Any:
    """The content of an upload; errors do not name the temporary file."""
    try:
        return read()
    except InputError as error:
        raise InputError(error.message, None, error.line) from None


async def _with_file(request: Request, work: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Save the body of a request to a temporary file and process it."""
    body = await read_body(request, MAX_FILE)
    if not body.strip():
        raise InputError("the file is empty.")

    def run() -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
            file = Path(folder, "file")
            file.write_bytes(body)
            return work(str(file))

    return await run_in_threadpool(run)


def _download(write: Callable[[str], Any], name: str, media_type: str) -> Response:
    """A download of the file that `write` writes."""
    with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
        file = Path(folder, "file")
        write(str(file))
        headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
        return Response(file.read_bytes(), 200, headers, media_type)
