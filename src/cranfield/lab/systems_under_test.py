"""Systems under test, by name or by URL: how each is started, and what is known of it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from cranfield.base import Record, replace
from cranfield.errors import CranfieldError, InputError
from cranfield.lab.engines import LOCAL, Engine, Options, engine_url, is_url, open_engine
from cranfield.lab.index import Index
from cranfield.lab.latency import Searcher, Starter
from cranfield.lab.secrets import mask_url
from cranfield.lab.systems import System, system_named
from cranfield.lab.vector_sources import Sources

DEPTH = 10
FRESH = "index opened anew, its files first dropped from the page cache"
KEPT = "index opened anew, its files may still have been in memory"
COLD = {
    **dict.fromkeys(LOCAL, KEPT),
    "command": "the program is started for every search, warm ones too",
    "shell": "the program is started for every search, warm ones too",
    "function": "started anew",
    "vectors": f"{KEPT}; queries come as vectors, so that to make these is in no latency",
}
CONNECTED = "a new connection, whatever the server still has in memory"
ONCE = Options(retries=0)  # what fails has failed: a second try would be part of the latency of the first


class Facts(Record):
    """What an engine says of itself, as far as it does."""

    version: str = ""
    index_bytes: int | None = None
    documents: int | None = None


class Subject(Record, eq=False):
    """A system under test. `start` opens or connects; what it gives is one client's own."""

    name: str
    kind: str
    start: Starter
    facts: Callable[[], Facts] = Facts
    shared: bool = False  # whether clients have nothing to connect, and can share one searcher
    place: Path | None = None  # of an index on this machine

    def forget(self) -> bool:
        """Ask the system to drop the files of the index from memory; whether it has."""
        return self.place is not None and dropped(self.place)


class VectorFiles(Record):
    """Vectors for systems that compare them, and the queries that they belong to."""

    docs: str
    queries: str | None  # for mmr those of documents are enough
    texts: Mapping[str, str]  # of the queries, by id

    def searcher(self, system: System, place: str, depth: int) -> Searcher:
        """What is asked by the text of a query and searches with its vector."""
        index = Index.open(place)
        space = Sources(self.docs, self.queries).space(self.texts if system.is_dense else None, index, place)
        if not system.is_dense:
            return lambda text: system.search(index, {"": text}, depth, space=space)
        ids = {text: query for query, text in self.texts.items()}
        spaces = space.each(list(self.texts))
        return lambda text: system.search(index, {ids[text]: text}, depth, space=spaces[ids[text]])


class Given(Record):
    """Options for engines: for all of them, or for some by name; and vectors for our own systems."""

    common: Options = ONCE
    named: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    vectors: VectorFiles | None = None

    def of(self, name: str, kind: str) -> Options:
        # a search by GET sends no body, so that one for all is none for it
        common = replace(self.common, body="") if kind == "http-get" else self.common
        return replace(common, **self.named.get(name, {}))


def given_options(texts: Iterable[str], common: Options, values: Mapping[str, Iterable[str]]) -> Given:
    """Options as a user gives them: `VALUE` for all systems, `NAME=VALUE` for the system of that name.

    >>> found = given_options(["ours=command:./s {query}"], ONCE, {"ids": ["$.a", "ours=$.b"]})
    >>> found.common.ids, found.named
    ('$.a', {'ours': {'ids': '$.b'}})
    """
    names = {name for name, _ in map(parted, texts) if name}
    named: dict[str, dict[str, Any]] = {}
    for option, each in values.items():
        for value in each:
            name, sign, rest = value.partition("=")
            if not sign or name not in names:
                common = replace(common, **{option: _added(option, common.headers, value)})
                continue
            mine = named.setdefault(name, {})
            mine[option] = _added(option, mine.get("headers", common.headers), rest)
    return Given(common, named)


def _added(option: str, headers: tuple[str, ...], value: str) -> Any:
    """What an option is with one more value: headers are several, of the others the last counts."""
    return (*headers, value) if option == "headers" else value


def with_index(texts: Iterable[str], index: str | None) -> list[str]:
    """The systems to measure, with the index itself if it is given and none of them is of it."""
    found = list(texts)
    if index is None or any(_is_system(what) for _, what in map(parted, found)):
        return found
    return ["bm25" if engine_url(index).startswith("embedded:") else index, *found]


def subjects_named(
    texts: Iterable[str], index: str | None = None, depth: int = DEPTH, given: Given | None = None
) -> dict[str, Subject]:
    """Systems under test by what a user calls them.

    `bm25:k1=0.9` is a system of the index, `lm@other.index` one of another index, `tantivy:DIR`, `http-get:https://…`
    and the like are engines; `NAME=` before any of them gives it a name of its own.
    """
    found: dict[str, Subject] = {}
    for name, what in map(parted, texts):
        one = _subject(name, what, index, depth, given or Given())
        if one.name in found:
            raise InputError(f"two systems are called {one.name!r}: give one another name, as in NAME={mask_url(what)}")
        found[one.name] = one
    return found


def parted(text: str) -> tuple[str, str]:
    """The name that a system is given, if any, and what it is.

    >>> parted("ours=http-get:https://host?q={query}"), parted("bm25:k1=0.9")
    (('ours', 'http-get:https://host?q={query}'), ('', 'bm25:k1=0.9'))
    """
    name, sign, what = text.partition("=")
    if not sign or not {":", "+", "(", "@", "/"}.isdisjoint(name):
        return "", text
    if not name.strip() or not what.strip():
        raise InputError(f"--system {text}: expected NAME=SYSTEM or NAME=URL.")
    return name.strip(), what.strip()


def function_subject(name: str, start: Starter) -> Subject:
    """A function of Python's as a system under test."""
    return Subject(name, "function", start)


def engine_subject(name: str, url: str, depth: int = DEPTH, options: Options = ONCE) -> Subject:
    """An engine as a system under test; without a name it goes by its kind."""
    url = engine_url(url)
    kind, _, place = url.partition(":")
    if kind == "embedded":
        return embedded_subject(name or options.system, place, options.system, depth)
    open_engine(url, options).close()  # what is wrong with the URL is said before anything is measured
    path = Path(place) if kind in LOCAL else None
    return Subject(
        name or kind.partition("+")[0],
        kind.partition("+")[0],
        lambda: Asking(open_engine(url, options), depth),
        lambda: _facts(open_engine(url, options)),
        shared=kind in ("command", "shell"),
        place=path,
    )


def embedded_subject(
    name: str, index: str, system: str = "bm25", depth: int = DEPTH, vectors: VectorFiles | None = None
) -> Subject:
    """A system of our own index as a system under test."""
    searcher = system_named(system)
    by_vectors = searcher.is_dense or searcher.diversity is not None
    if searcher.is_dense and (vectors is None or vectors.queries is None):
        raise InputError(f"{system} compares vectors: name the files with --vectors and --query-vectors.")

    def start() -> Searcher:
        if vectors is not None and by_vectors:
            return vectors.searcher(searcher, index, depth)
        opened = Index.open(index)
        return lambda text: searcher.search(opened, {"": text}, depth)

    def facts() -> Facts:
        with closing(open_engine(f"embedded:{index}")) as engine:
            size = os.path.getsize(vectors.docs) if vectors is not None and searcher.is_dense else engine.size()
            return Facts(engine.about.version, size, len(Index.open(index).docs))

    kind = "vectors" if searcher.is_dense else "embedded"
    return Subject(name, kind, start, facts, shared=True, place=Path(index))


class Asking:
    """An engine that is asked one query at a time."""

    def __init__(self, engine: Engine, depth: int) -> None:
        self.engine = engine
        self.depth = depth

    def __call__(self, text: str) -> Any:
        return self.engine.search({"query": text}, self.depth)

    def close(self) -> None:
        self.engine.close()


def dropped(place: Path) -> bool:
    """Drop files from the system's page cache; whether they are gone. What a program has mapped stays."""
    if not hasattr(os, "posix_fadvise"):
        return False
    gc.collect()  # an index that nobody uses any more may still be mapped
    files = [place] if place.is_file() else [path for path in place.rglob("*") if path.is_file()]
    return bool(files) and all([_dropped(file) for file in files])


def _dropped(file: Path) -> bool:
    try:
        number = os.open(file, os.O_RDONLY)
    except OSError:
        return False
    try:
        os.fsync(number)  # what is not yet written cannot be dropped
        os.posix_fadvise(number, 0, 0, os.POSIX_FADV_DONTNEED)
        return not _is_cached(number)
    except OSError:
        return False
    finally:
        os.close(number)


def _is_cached(file: int) -> bool:
    """Whether the beginning of a file is in memory; an empty one is nowhere."""
    if not os.fstat(file).st_size:
        return False
    try:
        return os.preadv(file, [bytearray(1)], 0, os.RWF_NOWAIT) > 0
    except BlockingIOError:
        return False


def _subject(name: str, what: str, index: str | None, depth: int, given: Given) -> Subject:
    if is_url(what) or "://" in what:
        kind = what.partition(":")[0].lower()
        known = name or kind.partition("+")[0]
        return engine_subject(name, what, depth, given.of(known, kind))
    system, at, place = what.partition("@")
    if at:
        return embedded_subject(name or what, place, system, depth, given.vectors)
    try:
        system_named(what)
    except CranfieldError as error:
        if os.path.exists(what):
            return engine_subject(name, what, depth, given.of(name, ""))
        raise InputError(f"{mask_url(what)!r} is neither an engine's URL nor an index, and {error}") from None
    if index is None:
        raise InputError(f"system {what!r} of which index? Give INDEX before TOPICS, or {what}@INDEX.")
    return embedded_subject(name or what, _own(index, what), what, depth, given.vectors)


def _is_system(what: str) -> bool:
    """Whether this is the name of a system, rather than an engine or a place."""
    try:
        system_named(what)
    except CranfieldError:
        return False
    return True


def _own(index: str, system: str) -> str:
    """The folder of an index of ours."""
    kind, _, place = engine_url(index).partition(":")
    if kind != "embedded":
        raise InputError(f"{system!r} is a system of our own index, but {mask_url(index)} ranks by itself.")
    return place


def _facts(engine: Engine) -> Facts:
    """What can be had without an error."""
    version, size, documents = "", None, None
    with closing(engine):
        with suppress(CranfieldError):
            version = engine.about.version
        with suppress(CranfieldError):
            size = engine.size()
        with suppress(CranfieldError):
            documents = _documents(engine)
    return Facts(version, size, documents)


def _documents(engine: Any) -> int | None:
    if engine.about.name == "tantivy":
        return int(engine.reader.searcher().num_docs)
    if engine.about.name == "sqlite":
        return int(engine.reader.execute("SELECT count(*) FROM docs").fetchone()[0])
    return None
