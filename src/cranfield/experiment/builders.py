"""How each kind of output is made; by files alone, in a process whose folder is that of the experiment."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from cranfield import pooling
from cranfield.base import field_names, join_names, pluralize, replace
from cranfield.data import Run
from cranfield.errors import CranfieldError
from cranfield.experiment.efficiency import make_efficiency
from cranfield.experiment.ir_metadata import header
from cranfield.experiment.resumable_search import Progress
from cranfield.experiment.step_inputs import (
    HERE,
    engine_options,
    index_in,
    learned_from,
    read_queries,
    scores_of,
    space_of,
)
from cranfield.experiment.summary import compared, summary
from cranfield.experiment.workspace import Collection
from cranfield.fusion import fuse, make_recipe
from cranfield.io import RUN_WRITERS, open_output, read_run
from cranfield.lab import Again, built, mask_url, open_engine, system_named, with_fields
from cranfield.reporting import comparison as comparing
from cranfield.reporting import evaluation, report
from cranfield.text import Analysis

Task = Mapping[str, Any]
Notes = list[str]  # what a user should know of what was made
WIDTH = 100


# Indexes and runs


def make_index(task: Task, into: Path) -> Notes:
    """The index of a collection."""
    settings = task["settings"]
    collection = Collection(**settings["source"])
    analysis = Analysis(settings["stemmer"], settings["stop_words"])
    source, fields = str(collection.documents), settings["fields"]
    made = built(with_fields(HERE.documents(collection), fields, source), analysis, fields, source)
    if not made.docs:
        raise CranfieldError(f"{collection.documents}: there is no document.")
    made.save(into / "index")
    return []


def make_search(task: Task, into: Path) -> Notes:
    """The run of a system of ours."""
    settings = task["settings"]
    system, index, queries = system_named(settings["system"]), index_in(settings["index"]), read_queries(settings)
    space = space_of(settings, index, queries if system.is_dense else None)
    run = system.search(index, queries, settings["depth"], learned_from(settings), space)
    chain = [{"name": system.model.name, "method": settings["system"], **_parameters(system.model)}]
    after = [stage for stage in (system.feedback, system.diversity) if stage is not None]
    chain += [{"name": stage.name, **_parameters(stage)} for stage in after]
    indexing = {
        "tokenizer": "words of two or more letters or digits, in lower case",
        "stemmer": index.analysis.stemmer,
        "stopwords": index.analysis.stop_words,
        "fields": list(index.about["fields"]),
    }
    ties = {"score ties": "order of the collection"}
    method = {**ties, "indexing": indexing, "query fields": settings["fields"], "retrieval": chain}
    if space is not None:
        chain[0] |= {key: settings[key] for key in ("vectors", "query_vectors") if settings[key] is not None}
    _write(task, run, into, method)
    return [*run.notes, *_nothing_found(queries, run)]


def make_engine(task: Task, into: Path) -> Notes:
    """The run of an engine, which indexes the documents first if it is to."""
    settings = task["settings"]
    queries, progress = read_queries(settings), Progress.of(task)
    engine = open_engine(settings["url"], engine_options(settings))
    notes: Notes = []
    try:
        if settings["indexed"] and not progress.indexed:
            collection, fields = Collection(**settings["documents"]), settings["indexed"]
            source = str(collection.documents)
            done = engine.index(Again(lambda: with_fields(HERE.documents(collection), fields, source)), fields)
            notes = [f"{doc!r} refused by the engine: {why}." for doc, why in done.failed[:1]]
            notes += [f"{pluralize(len(done.failed), 'document')} refused in all."] if len(done.failed) > 1 else []
            if done.dropped:
                was = f"{pluralize(done.dropped, 'document')} of an interrupted attempt"
                notes.append(f"begun anew, since {was} are no longer so in the collection.")
            progress.keep(indexed=True)
        run = progress.answered(engine, queries, settings["depth"], settings["tag"])
        about = engine.about
    finally:
        engine.close()
    chain = [{"name": about.name, "version": about.version, "method": mask_url(settings["url"])}]
    _write(
        task, run, into, {"score ties": "order of the engine", "query fields": settings["fields"], "retrieval": chain}
    )
    return [*notes, *run.notes, *_nothing_found(queries, run)]


def make_check(task: Task, into: Path) -> Notes:
    """Whether a run that is there already can be read, so that one that cannot does not keep others from anything."""
    settings = task["settings"]
    run = read_run(settings["run"], settings["format"])
    about = {"queries": len(run.queries), "documents": len(run)}
    with open_output(into / Path(task["outputs"][0]).name) as out:
        out.write(_line(about))
    return list(run.notes)


def make_fusion(task: Task, into: Path) -> Notes:
    """One run of several."""
    settings = task["settings"]
    runs = {name: read_run(file, settings["formats"].get(name), name=name) for name, file in settings["runs"].items()}
    how = {"norm": settings["norm"], "weights": settings["weights"]}
    fused = fuse(runs, settings["method"], depth=settings["depth"], **how, **settings["params"])
    recipe = make_recipe(settings["method"], len(runs), **how, params=settings["params"])
    chain = [{"name": recipe.method.name, "method": recipe.description, "interpolates": list(runs)}]
    _write(task, fused, into, {"score ties": "reverse alphabetical order", "retrieval": chain})
    return list(fused.notes)


def _parameters(part: Any) -> dict[str, Any]:
    # a name that Python has taken ends with an underscore
    return {name.rstrip("_"): getattr(part, name) for name in field_names(part)}


def _write(task: Task, run: Run, into: Path, method: Mapping[str, Any]) -> None:
    """Write a run under its system's name, after its header."""
    if not len(run):
        raise CranfieldError("nothing was found for any topic, so that there is no run.")
    tag = task["settings"]["tag"]
    with open_output(into / f"{tag}.run") as out:
        out.write(header(task, method))
        RUN_WRITERS["trec"](replace(run, name=tag, tag=tag), out)


def _nothing_found(queries: Iterable[str], run: Run) -> Notes:
    empty = [query for query in queries if query not in run.position or not len(run.of(query))]
    return [f"nothing found for {pluralize(len(empty), 'topic')}: {join_names(empty)}."] if empty else []


# The pool


def make_pool(task: Task, into: Path) -> Notes:
    """The documents to be judged: the first ones of each run; and beside them where they come from."""
    settings = task["settings"]
    runs = {name: read_run(file, settings["formats"].get(name), name=name) for name, file in settings["runs"].items()}
    pool = pooling.make_pool(runs, depth=settings["depth"], seed=settings["seed"])
    pooling.write_pool(pool, into / "pool.jsonl")
    return list(pool.notes)


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogateescape") + b"\n"


# Scores and what follows from them


def make_scores(task: Task, into: Path) -> Notes:
    """The value of every system, measure and topic, as `cranfield eval -q --format tsv` prints them."""
    scores = scores_of(task["settings"])
    with open_output(into / "scores.tsv") as out:
        for text in evaluation.as_tsv(evaluation.collect_blocks(scores, True, None), None):
            out.write(text.encode("utf-8", "surrogateescape"))
    return list(scores.notes)


def make_comparison(task: Task, into: Path) -> Notes:
    """Which system is better, by how much and how sure, on all collections; as data and as text."""
    settings = task["settings"]
    tables = {name: scores_of(own) for name, own in settings["collections"].items()}
    found = compared(tables if len(tables) > 1 else next(iter(tables.values())), settings)
    for file, text in (
        ("comparison.json", comparing.as_text(found, "json", comparing.View(False, None, True), WIDTH, False)),
        ("comparison.txt", comparing.as_text(found, "table", comparing.View(False, None, False), WIDTH, False)),
    ):
        with open_output(into / file) as out:
            out.write(text.encode("utf-8", "surrogateescape"))
    return []


def make_report(task: Task, into: Path) -> Notes:
    """The page about one collection."""
    settings = task["settings"]
    scores = scores_of(settings)
    texts = Collection(**settings["texts"])
    page = report(
        scores,
        settings["baseline"],
        topics=_file_or(texts.topics, lambda: HERE.topics(texts)),
        documents=_file_or(texts.documents, lambda: HERE.documents(texts)),
        alpha=settings["alpha"],
        seed=settings["options"]["seed"],
        command="cranfield experiment",
        costs=settings.get("costs"),
        date="",  # so that the same experiment always gives the same page
    )
    page.save(into / Path(task["outputs"][0]).name)
    return []


def make_summary(task: Task, into: Path) -> Notes:
    """What was found, in three sentences."""
    settings = task["settings"]
    scores = scores_of(settings)
    with open_output(into / "summary.txt") as out:
        for sentence in summary(scores, settings):
            out.write(f"{sentence}\n".encode("utf-8", "surrogateescape"))
    return []


def _file_or(text: str | None, read: Callable[[], Any]) -> Any:
    """A file by its name, which a report then shows; what is no single file as it is read."""
    if text is None:
        return None
    return text if Path(text).is_file() else read()


MAKERS: Mapping[str, Callable[[Task, Path], Notes]] = {
    "index": make_index,
    "check": make_check,
    "search": make_search,
    "engine": make_engine,
    "fuse": make_fusion,
    "pool": make_pool,
    "efficiency": make_efficiency,
    "scores": make_scores,
    "comparison": make_comparison,
    "report": make_report,
    "summary": make_summary,
}
