"""What systems cost: latency, throughput, indexing; measured while no other step is taken."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cranfield.base import pluralize, replace
from cranfield.experiment.step_inputs import HERE, Settings, engine_options, learned_from, read_queries
from cranfield.experiment.workspace import Collection
from cranfield.io import open_output
from cranfield.lab import (
    Bench,
    Index,
    Indexing,
    Load,
    Searcher,
    Subject,
    VectorFiles,
    embedded_subject,
    engine_subject,
    measure_indexing,
    run_bench,
    system_named,
    write_latencies,
)
from cranfield.reporting import efficiency


def make_efficiency(task: Mapping[str, Any], into: Path) -> list[str]:
    """The costs of the systems that search, and every latency."""
    settings = task["settings"]
    with _room(into):
        subjects, texts = {}, {}
        for name, own in settings["systems"].items():
            texts[name] = read_queries(own)
            subjects[name] = _subject(name, own, settings["depth"], texts[name])
        # fields of topics may differ from system to system: each has its own text for a query
        queries = {query: query for query in next(iter(texts.values()))}
        load = Load(clients=tuple(settings["clients"]), seed=settings["seed"], **settings["load"])
        indexing = None if settings["index"] is None else _indexing(settings["index"])
        found = run_bench(subjects, queries, load, settings["baseline"], indexing)
    content = {**json.loads(efficiency.as_json(found)), "unmeasured": settings["unmeasured"]}
    with open_output(into / "efficiency.json") as out:
        out.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
    write_latencies(found.latencies, into / "latencies.tsv")
    return list(_notes(found, settings))


def _subject(name: str, own: Settings, depth: int, texts: Mapping[str, str]) -> Subject:
    """A system that is asked for a topic, and searches with its text."""
    if own["kind"] == "engine":
        return _asked_by_topic(engine_subject(name, own["url"], depth, replace(engine_options(own), retries=0)), texts)
    vectors = None if own["vectors"] is None else VectorFiles(own["vectors"], own["query_vectors"], texts)
    subject = embedded_subject(name, own["index"], own["system"], depth, vectors)
    learned = learned_from(own)
    if learned is None:
        return _asked_by_topic(subject, texts)
    system = system_named(own["system"])

    def start() -> Searcher:
        opened = Index.open(own["index"])
        return lambda query: system.search(opened, {query: texts[query]}, depth, learned)

    return replace(subject, start=start)


def _asked_by_topic(subject: Subject, texts: Mapping[str, str]) -> Subject:
    return replace(subject, start=lambda: _Asked(subject.start(), texts))


class _Asked:
    """A searcher that knows the texts of topics."""

    def __init__(self, search: Searcher, texts: Mapping[str, str]) -> None:
        self.search = search
        self.texts = texts

    def __call__(self, query: str) -> Any:
        return self.search(self.texts[query])

    def close(self) -> None:
        close: Callable[[], None] | None = getattr(self.search, "close", None)
        if close is not None:
            close()


def _indexing(settings: Settings) -> Indexing | None:
    """What it takes to index the collection once more; a format that only the workspace names cannot be passed on."""
    collection = Collection(**settings["source"])
    if collection.formats:
        return None
    options = ["--stemmer", settings["stemmer"], "--stop-words", settings["stop_words"]]
    return measure_indexing(str(collection.documents), HERE.documents(collection), settings["fields"], options)


@contextmanager
def _room(into: Path) -> Iterator[None]:
    """What is made meanwhile goes where it is swept up if this is killed."""
    before, tempfile.tempdir = tempfile.tempdir, str(into.resolve())
    try:
        yield
    finally:
        tempfile.tempdir = before


def _notes(found: Bench, settings: Settings) -> Iterator[str]:
    """Whose costs are lacking, and why."""
    if settings["unmeasured"]:
        yield f"no costs of {', '.join(f'{name} ({why})' for name, why in settings['unmeasured'].items())}."
    if settings["index"] is not None and found.indexing is None:
        yield "indexing was not measured, as the format of the documents is named in the workspace only."
    for account in found.systems:
        if account.errors:
            yield f"{account.system}: {pluralize(account.errors, 'query')} without an answer: {account.first_error}."
    yield from found.notes
