"""Judgments in and out, at any time: qrels by a rule, the whole history; pools, topics and judgments of others."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, get_args

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from cranfield.annotation import Exported, export_qrels, import_judgments, judges, sampled_by, write_history
from cranfield.base import pluralize
from cranfield.errors import CranfieldError, InputError
from cranfield.io import as_column, read_qrels, read_topics, write_qrels
from cranfield.pooling import read_pool
from cranfield.qrels_tools import RULES, TIES, Ties
from cranfield.reporting import imported_text
from cranfield.workbench.judge.coordinator import room_of
from cranfield.workbench.judge.judging_service import Room
from cranfield.workbench.pages import Page, endpoint, twins
from cranfield.workbench.params import Asked, read_body

_FIELDS = {  # of the form, by option
    "--with-models takes them in": "tick \u201cJudgments by models too\u201d to take them in",
    "--round takes the nearest grade": "tick \u201cMeans to the nearest grade\u201d to round them",
    "--primary NAME": "choose one",
}
MOST_FILE = 200_000_000  # bytes that may be sent


def routes() -> list[Route]:
    """What goes in and out."""
    return [
        *twins("/export", export_page, role="coordinator"),
        endpoint("/api/judgments/qrels", qrels, role="coordinator"),
        endpoint("/api/judgments/history", history, role="coordinator"),
        endpoint("/api/judgments/import", take_judgments, role="coordinator", methods=["POST"]),
        endpoint("/api/judgments/pool", take_pool, role="coordinator", methods=["POST"]),
        endpoint("/api/judgments/topics", take_topics, role="coordinator", methods=["POST"]),
    ]


def export_page(request: Request) -> Page:
    """What can be taken out and put in, with what a rule makes of the judgments so far."""
    room = room_of(request)
    asked = Asked(request)
    value: dict[str, Any] = {"rule": asked.choice("rule", list(RULES), "majority"), "judgments": 0, "notes": []}
    value |= {"unjudged": 0, "problem": ""}
    try:
        if value["rule"] == "primary" and not asked.text("primary"):
            raise InputError("Choose the primary assessor, whose grades count first.")
        done = _exported(room, asked)
        _check_writable(done)
        value |= {
            "judgments": done.judgments,
            "unjudged": len(done.qrels) - done.judgments,
            "topics": len(done.qrels.queries),
            "assessors": done.assessors,
            "described": done.rule,
            "disagreements": len(done.disagreements),
            "notes": [_in_browser(note) for note in done.notes],
        }
    except CranfieldError as error:
        value["problem"] = _in_browser(str(error))
    more = {
        "rules": RULES,
        "ties": TIES,
        "chosen": {name: asked.text(name) or None for name in ("ties", "primary")}
        | {name: "1" if asked.flag(name) else None for name in ("models", "round", "unjudged")},
        "names": judges(room.log, asked.flag("models")),
        "sample": room.sample,
        "strategy": sampled_by(room.log),
    }
    return Page("export.html", value, "Export", more)


def _in_browser(text: str) -> str:
    """What is said to those who type commands, for those who fill in the form."""
    for option, field in _FIELDS.items():
        text = text.replace(option, field)
    return text


def qrels(request: Request) -> Response:
    """Judgments as qrels, by a rule."""
    room = room_of(request)
    asked = Asked(request)
    kind = asked.choice("format", ("trec", "sampled"), "sampled" if room.sample else "trec")
    if kind == "sampled" and room.sample is None:
        raise InputError(
            "qrels with five columns need the form of the sample: name it as sample in the table [judging]."
        )
    done = _exported(room, asked, is_sampled=kind == "sampled")
    content = _written(lambda path: write_qrels(done.qrels, path, kind))
    return _download(content, "qrels.txt", "text/plain; charset=utf-8")


def _exported(room: Room, asked: Asked, is_sampled: bool = False) -> Exported:
    return export_qrels(
        room.log,
        asked.choice("rule", list(RULES), "majority"),
        ties=asked.choice("ties", get_args(Ties), "lower"),  # type: ignore[arg-type]
        primary=asked.text("primary") or None,
        assessors=asked.many("assessor") or None,
        with_models=asked.flag("models"),
        least=asked.whole("least", 1, 1, 1000),
        rounded=asked.flag("round"),
        unjudged=asked.flag("unjudged"),
        sample=read_qrels(room.sample, "sampled") if is_sampled and room.sample is not None else None,
    )


def _check_writable(done: Exported) -> None:
    """An error where qrels cannot hold the ids, as in logs of versions that took any."""
    for query, docs in done.qrels.to_dict().items():
        for name, what in ((query, "query id"), *((doc, "doc id") for doc in docs)):
            try:
                as_column(name, what)
            except InputError as error:
                raise InputError(f"{error.message} The history below has everything.") from None


def history(request: Request) -> Response:
    """Every event with assessor, times and notes, as JSON lines or CSV; it can be imported again."""
    asked = Asked(request)
    kind, every = asked.choice("format", ("jsonl", "csv"), "jsonl"), asked.flag("all_events")
    content = _written(lambda path: write_history(room_of(request).log, path, kind, every))
    types = {"jsonl": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
    return _download(content, f"history.{kind}", types[kind])


async def take_judgments(request: Request) -> dict[str, Any]:
    """Take up judgments: a history, what a packet saved, or qrels of one assessor."""
    asked = Asked(request)

    def work(file: str) -> dict[str, Any]:
        try:
            done = import_judgments(
                room_of(request).log,
                file,
                asked.text("assessor").strip() or None,
                format=asked.text("format") or None,
                is_model=asked.flag("model"),
                decisions=asked.flag("decisions"),
            )
        except InputError as error:
            message = error.message.replace("--assessor NAME", "name the assessor")
            raise InputError(message.replace("--decisions", "tick the box"), None, error.line) from None
        return {
            "said": imported_text(done).removeprefix(f"{done.file}: "),
            "events": done.events,
            "new": done.new,
            "pairs": done.pairs,
            "assessors": done.assessors,
        }

    return await _with_file(request, work)


async def take_pool(request: Request) -> dict[str, Any]:
    """Take up the pairs of a pool, as `cranfield pool` writes it."""

    def work(file: str) -> dict[str, Any]:
        pool = _named(lambda: read_pool(file))
        new = room_of(request).log.add_pairs(pool.pairs)
        return {"said": f"{pluralize(len(pool), 'pair')}, {new:,} of them new.", "pairs": len(pool), "new": new}

    return await _with_file(request, work)


async def take_topics(request: Request) -> dict[str, Any]:
    """Take up texts of topics, in any format that is read."""

    def work(file: str) -> dict[str, Any]:
        n = room_of(request).add_topics(_named(lambda: read_topics(file)))
        return {"said": f"{pluralize(n, 'topic')}.", "topics": n}

    return await _with_file(request, work)


def _named(read: Callable[[], Any]) -> Any:
    """What is in a file; an error does not tell where the server keeps it."""
    try:
        return read()
    except InputError as error:
        raise InputError(error.message, None, error.line) from None


async def _with_file(request: Request, work: Callable[[str], dict[str, Any]]) -> dict[str, Any]:
    """Do something with a file that is sent as the body of a request."""
    body = await read_body(request, MOST_FILE)
    if not body.strip():
        raise InputError("the file is empty.")

    def run() -> dict[str, Any]:
        with _beside(body) as file:
            return work(file)

    return await run_in_threadpool(run)


@contextmanager
def _beside(body: bytes) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
        file = os.path.join(folder, "file")
        with open(file, "wb") as out:
            out.write(body)
        yield file


def _written(write: Callable[[str], Any]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="cranfield-") as folder:
        file = os.path.join(folder, "file")
        write(file)
        with open(file, "rb") as made:
            return made.read()


def _download(content: bytes, name: str, kind: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(content, 200, headers, kind)
