"""What several steps read, in a process whose folder is that of the experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from cranfield.evaluation import Evaluator, Scores
from cranfield.experiment.workspace import Collection, Workspace
from cranfield.io import read_qrels
from cranfield.lab import Index, Options, Sources, Space, queries_of, relevant_documents

Settings = Mapping[str, Any]
HERE = Workspace(Path(), (), ())


@lru_cache(maxsize=1)
def index_in(folder: str) -> Index:
    """An index, opened once for all systems; it is made once at most, and before."""
    return Index.open(folder)


def read_queries(settings: Settings) -> dict[str, str]:
    """The topics, each as the text that a system searches with."""
    return queries_of(HERE.topics(Collection(**settings["source"])), settings["fields"])


def learned_from(settings: Settings) -> dict[str, Sequence[str]] | None:
    """The documents of each topic that are judged relevant, where a system learns from them."""
    return None if settings["feedback"] is None else {**relevant_documents(read_qrels(settings["feedback"]))}


def space_of(settings: Settings, index: Index, queries: Mapping[str, str] | None) -> Space | None:
    """The vectors that a system compares, where it compares vectors; queries are those that need one too."""
    if settings["vectors"] is None:
        return None
    return Sources(settings["vectors"], settings["query_vectors"]).space(queries, index, settings["index"])


def engine_options(settings: Settings) -> Options:
    """What an engine is told beside its URL."""
    given = {name: tuple(value) if isinstance(value, list) else value for name, value in settings["options"].items()}
    options: Any = {"source": str(settings["documents"].get("documents", "")), **given}
    return Options(**options)


def scores_of(settings: Settings) -> Scores:
    """The runs, evaluated."""
    evaluator = Evaluator(HERE.qrels(Collection(**settings["source"])), settings["measures"], **settings["options"])
    formats = settings["formats"]
    scored = [evaluator.score(file, name, formats.get(name)) for name, file in settings["runs"].items()]
    return evaluator.scores(scored)
