"""Our own index and systems as an engine: `embedded:DIR`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path

from cranfield.base import replace
from cranfield.data import Document, Run
from cranfield.lab.engines import DEPTH, FIELDS, About, Answered, Indexed, Options, Passing, folder_size, hits_of
from cranfield.lab.index import Index, build
from cranfield.lab.systems import system_named
from cranfield.text import Analysis


def built(documents: Iterable[Document], analysis: Analysis, fields: Sequence[str], source: str = "") -> Index:
    """An index that knows the digest of its texts, by which vectors of other texts are told."""
    passing = Passing(documents, fields)
    made = build(passing, analysis, fields, source)
    return replace(made, about={**made.about, "texts": passing.digest.hex()})


def opened(kind: str, place: str, options: Options) -> Embedded:
    return Embedded(Path(place), options)


class Embedded:
    """An index in a folder, mapped into memory when it is searched."""

    def __init__(self, folder: Path, options: Options | None = None) -> None:
        self.folder = folder
        self.options = options or Options()

    @property
    def about(self) -> About:
        return About("embedded", version("cranfield"))

    @cached_property
    def opened_index(self) -> Index:
        return Index.open(self.folder)

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        start = time.perf_counter()
        analysis = Analysis(self.options.stemmer, self.options.stop_words)
        made = built(documents, analysis, fields, self.options.source)
        made.save(self.folder)
        self.__dict__.pop("opened_index", None)
        return Indexed(len(made.docs), time.perf_counter() - start, self.size())

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        run = system_named(self.options.system).search(self.opened_index, queries, depth)
        if answered is not None:
            for query, hits in hits_of(run).items():
                answered(query, hits)
        return run

    def size(self) -> int | None:
        return folder_size(self.folder) if self.folder.exists() else None

    def close(self) -> None:
        self.__dict__.pop("opened_index", None)
