"""The steps of an experiment: what is to be made, out of what, by which settings."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterator, Mapping
from typing import Any

from cranfield.base import Record
from cranfield.experiment.workspace import Collection, Engine, Fusion, Given, Search, Workspace

Settings = Mapping[str, Any]
POOL = ("pool.jsonl", "pool.provenance.jsonl")


class Step(Record):
    """One thing to be made; everything that it depends on is in its settings, inputs and uses."""

    kind: str
    outputs: tuple[str, ...]
    settings: Settings
    inputs: tuple[str, ...] = ()  # files and collections, as the workspace names them
    uses: tuple[str, ...] = ()  # outputs of other steps, or runs
    alone: str = ""  # of the steps with the same word only one is taken at a time
    optional: bool = False  # whether it is no failure if an extra is missing
    vouches: str = ""  # a file that may be used once this step is taken

    @property
    def name(self) -> str:
        return self.outputs[0]

    @property
    def shown(self) -> str:
        """What it is called in messages."""
        return self.vouches or self.name


def searching(workspace: Workspace) -> list[Step]:
    """Indexes and runs."""
    return [step for collection in workspace.collections for step in _searching(workspace, collection)]


def measuring(workspace: Workspace, there: Container[str]) -> list[Step]:
    """What systems cost, where that is asked for: steps to be taken while no other is."""
    if workspace.efficiency is None:
        return []
    return [step for collection in workspace.collections for step in _measuring(workspace, collection, there)]


def evaluating(workspace: Workspace, there: Container[str]) -> list[Step]:
    """What is made of the runs that are there: pools, scores, summaries, the comparison, reports."""
    steps = [step for collection in workspace.collections for step in _evaluating(workspace, collection, there)]
    return [*steps, *_comparing(workspace, there)]


def usable(steps: list[Step]) -> set[str]:
    """The files that are there once steps are taken."""
    return {file for step in steps for file in (*step.outputs, step.vouches)}


def without_baseline(workspace: Workspace, there: Container[str]) -> list[str]:
    """The baselines whose runs are lacking, so that nothing can be compared with them."""
    return [
        name
        for name in workspace.evaluation.baseline
        if any(workspace.run_file(workspace.system(name), c) not in there for c in workspace.collections)
    ]


def _searching(workspace: Workspace, collection: Collection) -> Iterator[Step]:
    index = collection.path("index")
    if any(isinstance(system, Search) for system in workspace.systems):
        yield Step("index", (index,), index_settings(collection), _source(collection, "documents")[1])
    for system in workspace.systems:
        output = workspace.run_file(system, collection)
        about = {"tag": system.name, "about": _about(workspace, collection)}
        if isinstance(system, Given):
            checked = {"run": output, "format": system.format}
            name = f".cranfield/checked/{system.name}{f'-{collection.name}' if collection.name else ''}.json"
            yield Step("check", (name,), checked, (output,), vouches=output)
        elif isinstance(system, Search):
            yield _search(workspace, collection, system, output, index, about)
        elif isinstance(system, Fusion):
            yield _fusion(workspace, collection, system, output, about)
        elif isinstance(system, Engine):
            yield _engine(workspace, collection, system, output, about)


def index_settings(collection: Collection) -> dict[str, Any]:
    """What an index is made of, and how."""
    return {
        "source": _source(collection, "documents")[0],
        "fields": list(collection.index.fields),
        "stemmer": collection.index.stemmer,
        "stop_words": collection.index.stop_words,
    }


def _search(
    workspace: Workspace, collection: Collection, system: Search, output: str, index: str, about: Settings
) -> Step:
    source, inputs = _source(collection, "topics")
    documents, topics = system.vector_files(collection)
    settings = {
        **about,
        "index": index,
        "source": source,
        "system": system.system,
        "fields": list(system.fields),
        "depth": system.depth or workspace.evaluation.depth,
        "feedback": system.feedback,
        "vectors": documents,
        "query_vectors": topics,
    }
    learned = [file for file in (system.feedback, documents, topics) if file is not None]
    return Step("search", (output,), settings, (*inputs, *learned), (index,))


def _fusion(workspace: Workspace, collection: Collection, system: Fusion, output: str, about: Settings) -> Step:
    settings = {
        **about,
        "runs": _runs(workspace, collection, system.uses),
        "formats": _formats(workspace, system.uses),
        "method": system.method,
        "norm": system.norm,
        "weights": None if system.weights is None else list(system.weights),
        "params": dict(system.params),
        "depth": system.depth or workspace.evaluation.depth,
    }
    return Step("fuse", (output,), settings, (), _files(settings["runs"]))


def _engine(workspace: Workspace, collection: Collection, system: Engine, output: str, about: Settings) -> Step:
    topics, inputs = _source(collection, "topics")
    documents, texts = _source(collection, "documents") if system.index else ({}, ())
    settings = {
        **about,
        "url": system.url.replace("{collection}", collection.name),
        "source": topics,
        "documents": documents,
        "indexed": list(collection.index.fields) if system.index else None,
        "fields": list(system.fields),
        "depth": system.depth or workspace.evaluation.depth,
        "options": dict(system.options),
    }
    return Step("engine", (output,), settings, tuple(dict.fromkeys((*inputs, *texts))), alone=str(settings["url"]))


def _measuring(workspace: Workspace, collection: Collection, there: Container[str]) -> Iterator[Step]:
    """Latencies and indexing of the systems that search, as far as their runs could be made."""
    load = workspace.efficiency
    assert load is not None
    runs = _runs_there(workspace, collection, there)
    own = [step for step in _searching(workspace, collection) if step.kind in ("search", "engine")]
    measured = {str(step.settings["tag"]): step for step in own if step.name in runs.values()}
    if not measured:
        return
    indexes = [step for step in _searching(workspace, collection) if step.kind == "index"]
    settings = {
        "systems": {
            name: {"kind": step.kind, **_less(step.settings, "about", "depth")} for name, step in measured.items()
        },
        "unmeasured": dict(_unmeasured(workspace, runs)),
        "load": {part: getattr(load, part) for part in ("repetitions", "warm_up", "seconds", "rate")},
        "clients": list(load.clients),
        "depth": load.depth,
        "seed": workspace.seed,
        "baseline": next((name for name in workspace.evaluation.baseline if name in measured), None),
        "index": indexes[0].settings if indexes and load.indexing else None,
    }
    inputs = tuple(dict.fromkeys(file for step in (*indexes, *measured.values()) for file in step.inputs))
    uses = tuple(dict.fromkeys((*(step.name for step in indexes), *(step.name for step in measured.values()))))
    outputs = (collection.path("efficiency.json"), collection.path("latencies.tsv"))
    yield Step("efficiency", outputs, settings, inputs, uses, alone="this machine")


def _unmeasured(workspace: Workspace, runs: Container[str]) -> Iterator[tuple[str, str]]:
    """The systems that have no costs of their own, and why."""
    for system in workspace.systems:
        if isinstance(system, Given):
            yield system.name, "a run that was given"
        elif isinstance(system, Fusion):
            yield system.name, "a fusion of runs"
        elif system.name not in runs:
            yield system.name, "its run could not be made"


def _less(settings: Settings, *names: str) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in names}


def _evaluating(workspace: Workspace, collection: Collection, there: Container[str]) -> Iterator[Step]:
    runs = _runs_there(workspace, collection, there)
    pooled = [name for name in workspace.pool.systems or runs if name in runs]
    if workspace.pool.depth and pooled:
        pool = {
            "runs": {name: runs[name] for name in pooled},
            "formats": _formats(workspace, pooled),
            "depth": workspace.pool.depth,
            "seed": workspace.seed,
        }
        yield Step("pool", tuple(map(collection.path, POOL)), pool, (), _files(pool["runs"]))
    if not collection.has_qrels or not runs:
        return
    scoring, inputs = _scoring(workspace, collection, runs)
    uses = _files(scoring["runs"])
    yield Step("scores", (collection.path("scores.tsv"),), scoring, inputs, uses)
    if without_baseline(workspace, there):
        return
    comparing = {**scoring, **_design(workspace)}
    costs = collection.path("efficiency.json")
    if workspace.efficiency is not None and costs in there:
        comparing, uses = {**comparing, "costs": costs}, (*uses, costs)
    what = {"title": collection.title or collection.name}
    yield Step("summary", (collection.path("summary.txt"),), {**comparing, **what}, inputs, uses)
    if workspace.report.file:
        texts, more = _texts(collection)
        optional = not workspace.report.asked
        output = collection.path(workspace.report.file)
        inputs = tuple(dict.fromkeys((*inputs, *more)))
        yield Step("report", (output,), {**comparing, "texts": texts}, inputs, uses, optional=optional)


def _comparing(workspace: Workspace, there: Container[str]) -> Iterator[Step]:
    """One comparison over all collections; two systems at least."""
    judged = [collection for collection in workspace.collections if collection.has_qrels]
    runs = {collection.name: _runs_there(workspace, collection, there) for collection in judged}
    if len({name for own in runs.values() for name in own}) < 2 or without_baseline(workspace, there):
        return
    parts = {c.name: _scoring(workspace, c, runs[c.name]) for c in judged if runs[c.name]}
    settings = {"collections": {name: scoring for name, (scoring, _) in parts.items()}, **_design(workspace)}
    inputs = tuple(dict.fromkeys(file for _, own in parts.values() for file in own))
    uses = tuple(file for scoring, _ in parts.values() for file in _files(scoring["runs"]))
    yield Step("comparison", ("comparison.json", "comparison.txt"), settings, inputs, uses)


def _scoring(workspace: Workspace, collection: Collection, runs: Settings) -> tuple[dict[str, Any], tuple[str, ...]]:
    """How runs are evaluated, and what the judgments are read from."""
    source, inputs = _source(collection, "qrels")
    evaluation = workspace.evaluation
    settings = {
        "source": source,
        "runs": dict(runs),
        "formats": _formats(workspace, runs),
        "measures": list(evaluation.measures),
        "options": {
            "rel": evaluation.rel,
            "ties": evaluation.ties,
            "missing": evaluation.missing,
            "seed": workspace.seed,
        },
    }
    return settings, inputs


def _design(workspace: Workspace) -> dict[str, Any]:
    """How systems are compared."""
    evaluation = workspace.evaluation
    return {
        "baseline": list(evaluation.baseline),
        "test": evaluation.test,
        "correction": evaluation.correction,
        "alpha": evaluation.alpha,
        "resamples": evaluation.resamples,
    }


def _source(collection: Collection, part: str) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Where documents, topics or judgments are read from."""
    own = getattr(collection, part)
    name, text = (part, own) if own is not None else ("documents", collection.documents)
    formats = {part: collection.formats[part]} if part in collection.formats else {}
    return {name: text, "formats": formats}, (str(text),)


def _texts(collection: Collection) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The texts that a report shows, as far as there are any."""
    there = [part for part in ("documents", "topics") if getattr(collection, part) is not None]
    texts: dict[str, Any] = {part: getattr(collection, part) for part in there}
    texts["formats"] = {part: collection.formats[part] for part in there if part in collection.formats}
    return texts, tuple(texts[part] for part in there)


def _about(workspace: Workspace, collection: Collection) -> dict[str, Any]:
    """What the header of a run says of the experiment."""
    return {
        "title": workspace.title,
        "actor": dict(workspace.actor),
        "collection": collection.title or collection.name,
        "documents": collection.documents,
        "topics": collection.topics,
    }


def _runs(workspace: Workspace, collection: Collection, names: tuple[str, ...]) -> dict[str, str]:
    return {name: workspace.run_file(workspace.system(name), collection) for name in names}


def _runs_there(workspace: Workspace, collection: Collection, there: Container[str]) -> dict[str, str]:
    """The runs that are there, in the order of the systems."""
    runs = _runs(workspace, collection, tuple(system.name for system in workspace.systems))
    return {name: file for name, file in runs.items() if file in there}


def _files(runs: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(runs.values()))


def _formats(workspace: Workspace, names: Container[str]) -> dict[str, str]:
    """The formats of runs that are there already, where they are named."""
    return {s.name: s.format for s in workspace.systems if isinstance(s, Given) and s.format and s.name in names}
