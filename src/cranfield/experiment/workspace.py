"""A folder whose `cranfield.toml` says what an experiment is made of: found, read and checked here, computed elsewhere.

>>> text = '[collection]\\ndocuments = "docs.jsonl"\\ntopics = "topics.xml"\\n[systems]\\nbm25 = "bm25"\\n'
>>> workspace = parse_workspace(text)
>>> workspace.collections[0].documents, workspace.systems[0].name
('docs.jsonl', 'bm25')
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from difflib import get_close_matches
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar, get_args

from cranfield.base import DEFAULT_MEASURES, QRELS_FORMATS, RUN_FORMATS, Missing, Record, Ties, field_names
from cranfield.data import Document, Qrels, Run, Topic
from cranfield.errors import InputError
from cranfield.io import DOCUMENT_FORMATS, TOPIC_FORMATS, read_documents, read_qrels, read_run, read_topics
from cranfield.lab import LOCAL, is_named, open_collection

T = TypeVar("T")
FILE = "cranfield.toml"
NAME = re.compile(r"\w[\w.+=-]*")  # a file is named after it, and the last column of a run
COLLECTION = "{collection}"  # in the name of a run: the name of the collection
MOST = 2**31 - 1
CLIENTS = 1000  # that may search at a time
KEYS = ("title", "actor", "seed", "jobs")
TABLES = ("collection", "collections", "systems", "evaluation", "pool", "judging", "efficiency", "report")


class Indexing(Record):
    """Which text of documents is indexed, and how."""

    fields: tuple[str, ...] = ("title", "text")
    stemmer: str = "english"
    stop_words: str = "english"


class Collection(Record):
    """Documents, topics and judgments, by file or all in one word, as in `cranfield:DIR`."""

    name: str = ""  # empty where there is only one
    title: str = ""
    documents: str | None = None
    topics: str | None = None
    qrels: str | None = None
    index: Indexing = field(default_factory=Indexing)
    formats: Mapping[str, str] = field(default_factory=dict)  # of documents, topics, qrels

    @property
    def has_topics(self) -> bool:
        """Whether topics are named, or come with the documents."""
        return self.topics is not None or self._is_whole

    @property
    def has_qrels(self) -> bool:
        """Whether judgments are named, or come with the documents."""
        return self.qrels is not None or self._is_whole

    @property
    def _is_whole(self) -> bool:
        return self.documents is not None and is_named(self.documents)

    def path(self, file: str) -> str:
        """Where an output of this collection is, in the folder of the experiment."""
        return f"{self.name}/{file}" if self.name else file


class Search(Record):
    """A system of our own over the collection's index."""

    name: str
    system: str
    fields: tuple[str, ...] = ("title",)  # of a topic
    depth: int | None = None
    feedback: str | None = None  # judgments to learn from
    vectors: str | None = None  # of the documents, for dense retrieval and mmr
    query_vectors: str | None = None

    uses: tuple[str, ...] = ()

    def vector_files(self, collection: Collection) -> tuple[str | None, str | None]:
        """The vectors of documents and of topics for a collection."""
        documents, topics = (
            file and file.replace(COLLECTION, collection.name) for file in (self.vectors, self.query_vectors)
        )
        return documents, topics


class Given(Record):
    """A run that is there already."""

    name: str
    run: str
    format: str | None = None

    uses: tuple[str, ...] = ()

    def file(self, collection: Collection) -> str:
        """The run for a collection."""
        return self.run.replace(COLLECTION, collection.name)


class Fusion(Record):
    """Runs of other systems made one."""

    name: str
    uses: tuple[str, ...]
    method: str = "rrf"
    norm: str | None = None
    weights: tuple[float, ...] | None = None
    params: Mapping[str, float] = field(default_factory=dict)
    depth: int | None = None


class Engine(Record):
    """An engine that indexes the documents and searches them, or only searches what it has."""

    name: str
    url: str
    fields: tuple[str, ...] = ("title",)  # of a topic
    depth: int | None = None
    index: bool = True
    options: Mapping[str, Any] = field(default_factory=dict)  # ids, scores, body, headers, timeout, retries

    uses: tuple[str, ...] = ()


System = Search | Given | Fusion | Engine


class Evaluation(Record):
    """How runs are made comparable, measured and compared."""

    measures: tuple[str, ...] = DEFAULT_MEASURES
    baseline: tuple[str, ...] = ()
    depth: int = 1000  # documents a system is asked for
    rel: float | None = None
    ties: str = "trec"
    missing: str = "zero"
    test: str | None = None
    correction: str | None = None
    alpha: float = 0.05
    resamples: int = 10_000


class Pooling(Record):
    """Which documents are to be judged: the first ones of these systems, or of all."""

    depth: int = 20  # 0 for no pool
    systems: tuple[str, ...] = ()


class Adaptive(Record):
    """A pool that grows while it is judged: a strategy of `cranfield pool` is asked for more, as judgments arrive."""

    strategy: str
    depth: int = 100  # of the runs
    budget: int | None = None  # documents of a topic at most
    batch: int | None = None  # documents at a time


class Judging(Record):
    """What is judged, where judgments are kept, by which grades and by whom; None where the log has it."""

    pools: tuple[str, ...] = ()  # files; else the collection's own
    log: str | None = None  # a file or a URL; else beside the pool
    collection: str = ""  # the first one, unless named
    grades: str | tuple[tuple[float, str, str], ...] | None = None  # a file, or value, label and definition of each
    guidelines: str | None = None  # a file
    assessors: tuple[str, ...] = ()  # topics are dealt to
    judgments: int | None = None
    overlap: float | None = None
    repeats: float | None = None
    gold: str | None = None  # qrels
    hold: float | None = None
    dispute: float | None = None
    sample: str | None = None  # the form of a sampled pool, for qrels with five columns
    search: str | None = "bm25"  # what looks for more documents in the index; None for nothing
    adaptive: Adaptive | None = None


class Efficiency(Record):
    """How the costs of systems are measured, where that is asked for."""

    repetitions: int = 5
    warm_up: int = 1
    clients: tuple[int, ...] = (1, 2)
    seconds: float = 1.0  # for each number of clients, and at the rate
    rate: float | None = None  # queries a second that arrive come what may
    depth: int = 10  # documents a system is asked for
    indexing: bool = True  # whether indexing is measured as well


class Reporting(Record):
    """The page about it all."""

    file: str = "report.html"  # empty for none
    asked: bool = False  # whether the file says so, rather than nothing


class Workspace(Record):
    """What a `cranfield.toml` says."""

    folder: Path
    collections: tuple[Collection, ...]
    systems: tuple[System, ...]
    evaluation: Evaluation = field(default_factory=Evaluation)
    pool: Pooling = field(default_factory=Pooling)
    report: Reporting = field(default_factory=Reporting)
    efficiency: Efficiency | None = None
    judging: Judging | None = None
    title: str = ""
    actor: Mapping[str, str] = field(default_factory=dict)  # who experiments, for the headers of runs
    seed: int = 1
    jobs: int | None = None

    @property
    def file(self) -> str:
        return str(self.folder / FILE)

    def system(self, name: str) -> System:
        """A system by name."""
        return next(system for system in self.systems if system.name == name)

    def run_file(self, system: System, collection: Collection) -> str:
        """Where the run of a system is, in the folder."""
        return system.file(collection) if isinstance(system, Given) else collection.path(f"runs/{system.name}.run")

    # What is there

    def located(self, text: str) -> str:
        """A file or a collection that is named as seen from the folder, as seen from here."""
        if not is_named(text):
            return os.path.normpath(os.path.join(self.folder, text))
        kind, _, where = text.partition(":")
        return text if kind.lower() == "ir_datasets" else f"{kind}:{os.path.normpath(os.path.join(self.folder, where))}"

    def documents(self, collection: Collection) -> Iterator[Document]:
        """The documents of a collection, one by one."""
        text = self.located(_there(collection.documents, "documents", self.file))
        chosen = collection.formats.get("documents")
        return open_collection(text).documents() if chosen is None else read_documents(text, chosen)

    def topics(self, collection: Collection) -> tuple[Topic, ...]:
        """The topics of a collection."""
        if collection.topics is None and collection.has_topics:
            return open_collection(self.located(str(collection.documents))).topics()
        text = self.located(_there(collection.topics, "topics", self.file))
        return open_collection(text).topics() if is_named(text) else read_topics(text, collection.formats.get("topics"))

    def qrels(self, collection: Collection) -> Qrels:
        """The judgments of a collection."""
        if collection.qrels is None and collection.has_qrels:
            return open_collection(self.located(str(collection.documents))).qrels()
        text = self.located(_there(collection.qrels, "qrels", self.file))
        return open_collection(text).qrels() if is_named(text) else read_qrels(text, collection.formats.get("qrels"))

    def run(self, system: System, collection: Collection) -> Run:
        """The run of a system, if it was made."""
        chosen = system.format if isinstance(system, Given) else "trec"
        return read_run(os.path.join(self.folder, self.run_file(system, collection)), chosen, name=system.name)


def open_workspace(folder: str | os.PathLike[str] = ".") -> Workspace:
    """What the `cranfield.toml` of a folder says; the file itself may be named too."""
    path = Path(folder)
    file = path if path.name == FILE and not path.is_dir() else path / FILE
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError("this is not UTF-8, which TOML has to be.", str(file), line) from None
    except FileNotFoundError:
        what = "there is no such file" if file.parent.is_dir() else "there is no such folder"
        raise InputError(f"{what}. An experiment is a folder with a {FILE} in it.", str(file)) from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}.", str(file)) from None
    return parse_workspace(text, file.parent)


def parse_workspace(text: str, folder: str | os.PathLike[str] = ".") -> Workspace:
    """What the text of a `cranfield.toml` says."""
    place = Path(folder)
    file = str(place / FILE)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"this is no TOML: {error}.", file) from None
    top = _Table(content, file)
    top.only(*KEYS, *TABLES)
    workspace = Workspace(
        folder=place,
        collections=tuple(_collections(top)),
        systems=tuple(_systems(top)),
        evaluation=_evaluation(top.table("evaluation")),
        pool=_pool(top.table("pool")),
        report=_report(top.table("report")),
        efficiency=_efficiency(top.table("efficiency")) if "efficiency" in top.content else None,
        judging=_judging(top.table("judging")) if "judging" in top.content else None,
        title=top.text("title") or "",
        actor=_actor(top.table("actor")),
        seed=top.whole("seed", 1, 0),
        jobs=top.whole("jobs", None, 1),
    )
    _check(workspace, top)
    return workspace


class _Table:
    """A table of the file, whose values are asked for by key and type; what is wrong is said with both."""

    def __init__(self, content: Mapping[str, Any], file: str, where: str = "") -> None:
        self.content = content
        self.file = file
        self.where = where

    def key(self, name: str) -> str:
        quoted = name if re.fullmatch(r"[\w-]+", name, re.ASCII) else f'"{name}"'
        return f"{self.where}.{quoted}" if self.where else quoted

    def wrong(self, name: str, expected: str) -> InputError:
        return InputError(f"{self.key(name)} is {_shown(self.content[name])}, expected {expected}.", self.file)

    def error(self, message: str) -> InputError:
        return InputError(message, self.file)

    def only(self, *known: str) -> None:
        """Refuse keys that mean nothing."""
        for name in self.content:
            if name not in known:
                near = get_close_matches(name, known, 1)
                hint = f" Did you mean {near[0]}?" if near else ""
                where = f"[{self.where}]" if self.where else "the file"
                raise self.error(f"{self.key(name)} is unknown.{hint} Expected in {where}: {', '.join(known)}.")

    def text(self, name: str, needed: bool = False) -> str | None:
        value = self._given(name, needed, "text")
        if value is not None and (not isinstance(value, str) or not value.strip() or "\0" in value):
            raise self.wrong(name, "text in quotes")
        return value

    def needed_text(self, name: str) -> str:
        return str(self.text(name, needed=True))

    def choice(self, name: str, choices: Iterable[str], default: T) -> str | T:
        value = self.text(name)
        if value is not None and value not in (known := list(choices)):
            raise self.wrong(name, f"one of {', '.join(known)}")
        return default if value is None else value

    def flag(self, name: str, default: bool) -> bool:
        value = self.content.get(name, default)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def whole(self, name: str, default: T, least: int) -> int | T:
        value = self.content.get(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
            raise self.wrong(name, f"a whole number from {least}")
        return value

    def number(self, name: str, default: T, low: float = 0.0, high: float = float("inf")) -> float | T:
        value = self.content.get(name)
        if value is None:
            return default
        if not _is_number(value) or not low <= value <= high:
            within = f"from {low:g}" if high == float("inf") else f"between {low:g} and {high:g}"
            raise self.wrong(name, f"a number {within}")
        return float(value)

    def texts(self, name: str, default: T, split: bool = False) -> tuple[str, ...] | T:
        """Several texts: a list or, where one cannot hold a comma, texts parted by commas; one text alone will do."""
        value = self.content.get(name)
        if value is None:
            return default
        listed = re.split(r"\s*,\s*", value.strip()) if isinstance(value, str) and split else value
        listed = [listed] if isinstance(listed, str) else listed
        if not isinstance(listed, list) or not listed or not all(isinstance(v, str) and v.strip() for v in listed):
            raise self.wrong(name, "a list of texts")
        return tuple(listed)

    def numbers(self, name: str) -> tuple[float, ...] | None:
        value = self.content.get(name)
        if value is not None and (not isinstance(value, list) or not value or not all(map(_is_number, value))):
            raise self.wrong(name, "a list of numbers")
        return None if value is None else tuple(float(number) for number in value)

    def table(self, name: str, needed: bool = False) -> _Table:
        value = self._given(name, needed, "a table")
        if value is not None and not isinstance(value, dict):
            raise self.wrong(name, "a table")
        return _Table(value or {}, self.file, self.key(name))

    def _given(self, name: str, needed: bool, what: str) -> Any:
        if needed and name not in self.content:
            raise self.error(f"{self.key(name)} is missing, expected {what}.")
        return self.content.get(name)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < float("inf")


def _shown(value: Any) -> str:
    """A value as it stands in the file, more or less; of something long the kind only."""
    kinds: list[tuple[type, str]] = [(bool, str(value).lower()), (dict, "a table"), (list, "a list")]
    for kind, text in kinds:
        if isinstance(value, kind) and (kind is bool or len(repr(value)) > 40):
            return text
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else f"{text[:77]}…"


def _collections(top: _Table) -> Iterator[Collection]:
    if "collection" in top.content and "collections" in top.content:
        raise top.error("there is both [collection] and [collections]: one collection or several by name.")
    if "collections" not in top.content:
        yield _collection(top.table("collection", needed=True), "")
        return
    several = top.table("collections")
    if not several.content:
        raise top.error("[collections] is empty, expected a table for each, as [collections.NAME].")
    for name in several.content:
        _check_name(several, name, "collection")
        if name in _TAKEN:
            raise several.error(f"{several.key(name)}: a collection cannot be called {name}, as a folder of ours is.")
        yield _collection(several.table(name), name)


_TAKEN = ("index", "runs")


def _collection(table: _Table, name: str) -> Collection:
    table.only("title", "documents", "topics", "qrels", "index", "formats")
    formats = table.table("formats")
    formats.only("documents", "topics", "qrels")
    known = {"documents": DOCUMENT_FORMATS, "topics": TOPIC_FORMATS, "qrels": QRELS_FORMATS}
    chosen = {part: formats.choice(part, known[part], "") for part in formats.content}
    return Collection(
        name=name,
        title=table.text("title") or "",
        documents=table.text("documents"),
        topics=table.text("topics"),
        qrels=table.text("qrels"),
        index=_indexing(table.table("index")),
        formats=chosen,
    )


def _indexing(table: _Table) -> Indexing:
    table.only("fields", "stemmer", "stop_words")
    usual = Indexing()
    return Indexing(
        table.texts("fields", usual.fields, split=True),
        table.text("stemmer") or usual.stemmer,
        table.text("stop_words") or usual.stop_words,
    )


def _systems(top: _Table) -> Iterator[System]:
    # where documents are judged and nothing else, no system is needed
    is_needed = "judging" not in top.content
    table = top.table("systems", is_needed)
    if not table.content and is_needed:
        raise table.error('[systems] is empty, expected at least one, as bm25 = "bm25".')
    for name, value in table.content.items():
        _check_name(table, name, "system")
        if isinstance(value, str):
            yield Search(name, table.needed_text(name))
        elif isinstance(value, dict):
            yield _system(_Table(value, table.file, table.key(name)), name)
        else:
            raise table.wrong(name, 'text such as "bm25:k1=0.9", or a table with one of system, run, fuse, engine')


def _system(table: _Table, name: str) -> System:
    kinds: dict[str, Callable[[_Table, str], System]] = {
        "system": _search,
        "run": _given,
        "fuse": _fusion,
        "engine": _engine,
    }
    found = [kind for kind in kinds if kind in table.content]
    if len(found) != 1:
        has = " and ".join(found) or ", ".join(table.content) or "nothing"
        raise table.error(f"{table.where} has {has}, expected exactly one of {', '.join(kinds)}.")
    return kinds[found[0]](table, name)


def _search(table: _Table, name: str) -> System:
    table.only("system", "fields", "depth", "feedback", "vectors", "query_vectors")
    return Search(
        name,
        table.needed_text("system"),
        table.texts("fields", ("title",), split=True),
        table.whole("depth", None, 1),
        table.text("feedback"),
        table.text("vectors"),
        table.text("query_vectors"),
    )


def _given(table: _Table, name: str) -> System:
    table.only("run", "format")
    return Given(name, table.needed_text("run"), table.choice("format", RUN_FORMATS, None))


def _fusion(table: _Table, name: str) -> System:
    table.only("fuse", "method", "norm", "weights", "params", "depth")
    params = table.table("params")
    return Fusion(
        name,
        table.texts("fuse", ()),
        table.text("method") or "rrf",
        table.text("norm"),
        table.numbers("weights"),
        {key: params.number(key, 0.0, low=float("-inf")) for key in params.content},
        table.whole("depth", None, 1),
    )


_ENGINE_TEXTS = ("ids", "scores", "body")


def _engine(table: _Table, name: str) -> System:
    table.only("engine", "fields", "depth", "index", *_ENGINE_TEXTS, "headers", "timeout", "retries")
    options: dict[str, Any] = {key: table.text(key) for key in _ENGINE_TEXTS if key in table.content}
    if headers := table.texts("headers", ()):
        options["headers"] = list(headers)
    if "timeout" in table.content:
        options["timeout"] = table.number("timeout", 30.0)
    if "retries" in table.content:
        options["retries"] = table.whole("retries", 5, 0)
    url = table.needed_text("engine")
    return Engine(
        name,
        url,
        table.texts("fields", ("title",), split=True),
        table.whole("depth", None, 1),
        # what runs elsewhere is searched as it is, unless one says that it is to be filled
        table.flag("index", url.partition(":")[0].lower() in LOCAL),
        options,
    )


def _evaluation(table: _Table) -> Evaluation:
    table.only(*field_names(Evaluation))
    usual = Evaluation()
    return Evaluation(
        measures=table.texts("measures", usual.measures),
        baseline=table.texts("baseline", ()),
        depth=table.whole("depth", usual.depth, 1),
        rel=table.number("rel", None, low=float("-inf")),
        ties=table.choice("ties", get_args(Ties), usual.ties),
        missing=table.choice("missing", get_args(Missing), usual.missing),
        test=table.text("test"),
        correction=table.text("correction"),
        alpha=_share(table, "alpha", usual.alpha),
        resamples=table.whole("resamples", usual.resamples, 1),
    )


def _share(table: _Table, name: str, default: float) -> float:
    value = table.number(name, default, 0, 1)
    if value in (0, 1):
        raise table.wrong(name, "a number between 0 and 1")
    return value


def _pool(table: _Table) -> Pooling:
    table.only("depth", "systems")
    return Pooling(table.whole("depth", Pooling().depth, 0), table.texts("systems", ()))


def _judging(table: _Table) -> Judging:
    renamed = {"pools": "pool"}
    table.only(*(renamed.get(name, name) for name in field_names(Judging)))
    usual = Judging()
    return Judging(
        pools=table.texts("pool", ()),
        log=table.text("log"),
        collection=table.text("collection") or "",
        grades=_grades(table),
        guidelines=table.text("guidelines"),
        assessors=table.texts("assessors", ()),
        judgments=table.whole("judgments", None, 1),
        overlap=table.number("overlap", None, 0, 1),
        repeats=table.number("repeats", None, 0, 1),
        gold=table.text("gold"),
        hold=_more_than_nothing(table, "hold", None),
        dispute=_more_than_nothing(table, "dispute", None),
        sample=table.text("sample"),
        search=None if table.content.get("search") is False else table.text("search") or usual.search,
        adaptive=_adaptive(table.table("adaptive")) if "adaptive" in table.content else None,
    )


def _grades(table: _Table) -> str | tuple[tuple[float, str, str], ...] | None:
    """Grades of judging: a file, or a list of tables, as [[judging.grades]]."""
    value = table.content.get("grades")
    if value is None or isinstance(value, str):
        return table.text("grades")
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise table.wrong("grades", "a file, or tables [[judging.grades]] with value, label and definition")
    found = []
    for number, one in enumerate(value, 1):
        grade = _Table(one, table.file, f"{table.key('grades')}[{number}]")
        grade.only("value", "label", "definition")
        if "value" not in one:
            raise grade.error(f"{grade.where}.value is missing, expected a number.")
        found.append(
            (grade.number("value", 0.0, float("-inf")), grade.text("label") or "", grade.text("definition") or "")
        )
    return tuple(found)


def _adaptive(table: _Table) -> Adaptive:
    table.only(*field_names(Adaptive))
    return Adaptive(
        table.needed_text("strategy"),
        table.whole("depth", 100, 1),
        table.whole("budget", None, 1),
        table.whole("batch", None, 1),
    )


def _efficiency(table: _Table) -> Efficiency:
    table.only(*field_names(Efficiency))
    usual = Efficiency()
    return Efficiency(
        repetitions=table.whole("repetitions", usual.repetitions, 1),
        warm_up=table.whole("warm_up", usual.warm_up, 0),
        clients=_clients(table, usual.clients),
        seconds=_more_than_nothing(table, "seconds", usual.seconds),
        rate=_more_than_nothing(table, "rate", None),
        depth=table.whole("depth", usual.depth, 1),
        indexing=table.flag("indexing", usual.indexing),
    )


def _clients(table: _Table, default: tuple[int, ...]) -> tuple[int, ...]:
    value = table.content.get("clients", list(default))
    given = value if isinstance(value, list) else [value]
    if not all(isinstance(n, int) and not isinstance(n, bool) and 1 <= n <= CLIENTS for n in given):
        raise table.wrong("clients", f"whole numbers from 1 to {CLIENTS:,}, as in [1, 2, 4]")
    return tuple(dict.fromkeys(given))


def _more_than_nothing(table: _Table, name: str, default: T) -> float | T:
    value = table.number(name, default)
    if value == 0:
        raise table.wrong(name, "a number above 0")
    return value


def _report(table: _Table) -> Reporting:
    table.only("file")
    if table.content.get("file") == "":
        return Reporting("", True)
    file = table.text("file") or Reporting().file
    path = PurePosixPath(file)
    if path.is_absolute() or ".." in path.parts or "\\" in file or path.parts[0].startswith("."):
        raise table.wrong("file", "a file within the folder")
    return Reporting(str(path), bool(table.content))


def _actor(table: _Table) -> dict[str, str]:
    return {key: table.needed_text(key) for key in table.content}


def _check_name(table: _Table, name: str, what: str) -> None:
    if not NAME.fullmatch(name):
        raise table.error(f"{table.key(name)}: a {what}'s name has letters, digits and . _ + = - only.")


def _check(workspace: Workspace, top: _Table) -> None:
    """Whether what is named is there, and nothing is in the way of anything."""
    names = [system.name for system in workspace.systems]
    for system in workspace.systems:
        _check_named(system.uses, names, f"systems.{system.name}.fuse", top)
        _check_no_circle(system, workspace, top)
    _check_named(workspace.evaluation.baseline, names, "evaluation.baseline", top)
    _check_named(workspace.pool.systems, names, "pool.systems", top)
    if workspace.judging is not None and workspace.judging.collection:
        known = [collection.name for collection in workspace.collections]
        if workspace.judging.collection not in known:
            given = ", ".join(filter(None, known)) or "none, as there is only one"
            raise top.error(f'judging.collection is "{workspace.judging.collection}", expected {given}.')
    for collection in workspace.collections:
        _check_parts(workspace, collection, top)
    _check_outputs(workspace, top)


def _check_named(given: Sequence[str], names: Sequence[str], key: str, top: _Table) -> None:
    for name in given:
        if name not in names:
            near = get_close_matches(name, names, 1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise top.error(f'{key} has "{name}", expected one of [systems]: {", ".join(names)}.{hint}')


def _check_no_circle(system: System, workspace: Workspace, top: _Table) -> None:
    """A fusion of itself, if only by way of others, can never be made."""
    seen, rest = set[str](), list(system.uses)
    while rest:
        name = rest.pop()
        if name == system.name:
            raise top.error(f"systems.{name}.fuse goes round in a circle: {name} would be made of itself.")
        if name not in seen:
            seen.add(name)
            rest += workspace.system(name).uses


def _check_parts(workspace: Workspace, collection: Collection, top: _Table) -> None:
    """A collection must have what its systems need."""
    where = f"collections.{collection.name}" if collection.name else "collection"
    for system in workspace.systems:
        searches = isinstance(system, Search) or (isinstance(system, Engine) and system.index)
        if searches and collection.documents is None:
            raise top.error(f"{where}.documents is missing: {system.name} searches them.")
        if isinstance(system, Search | Engine) and not collection.has_topics:
            raise top.error(f"{where}.topics is missing: {system.name} searches for them.")
        if isinstance(system, Given) and len(workspace.collections) > 1 and COLLECTION not in system.run:
            raise top.error(
                f'systems.{system.name}.run is "{system.run}", expected {COLLECTION} in it: each of several '
                "collections has its own."
            )


def _check_outputs(workspace: Workspace, top: _Table) -> None:
    """No output may take the place of an input or of another output."""
    inputs: dict[str, str] = {}
    outputs: dict[str, str] = {FILE: "this file"}
    for collection in workspace.collections:
        where = f"collections.{collection.name}" if collection.name else "collection"
        for part in ("documents", "topics", "qrels"):
            file = getattr(collection, part)
            if file is not None and not is_named(file):
                inputs[os.path.normpath(file)] = f"{where}.{part}"
        for system in workspace.systems:
            into = inputs if isinstance(system, Given) else outputs
            into[os.path.normpath(workspace.run_file(system, collection))] = f"the run of systems.{system.name}"
        kept = {
            "index": "the index",
            "pool.jsonl": "the pool",
            "pool.provenance.jsonl": "the pool",
            "scores.tsv": "the scores",
            "summary.txt": "the summary",
        }
        if workspace.efficiency is not None:
            kept |= {"efficiency.json": "the costs", "latencies.tsv": "the latencies"}
        outputs |= {collection.path(name): what for name, what in kept.items()}
    outputs |= {name: "the comparison" for name in ("comparison.json", "comparison.txt")}
    for collection in workspace.collections if workspace.report.file else ():
        file = collection.path(workspace.report.file)
        if file in outputs or file in inputs:
            raise top.error(f'report.file is "{file}", which is {outputs.get(file) or inputs[file]}: choose another.')
        outputs[file] = "the report"
    for file in inputs:
        if file in outputs:
            raise top.error(f"{inputs[file]} is {file}, where {outputs[file]} goes: move it or rename the system.")


def _there(text: str | None, part: str, file: str) -> str:
    if text is None:
        raise InputError(f"this collection has no {part}.", file)
    return text
