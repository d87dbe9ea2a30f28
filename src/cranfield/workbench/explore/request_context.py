"""The context of a request: the collection, systems and measures it is about, and the scores and rankings to show."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.requests import Request

from cranfield.base import count_cores, map_in_threads, replace
from cranfield.data import Document, Qrels, Topic
from cranfield.evaluation import Scores
from cranfield.io import read_plain_run, read_run
from cranfield.joining import Joining, join_run
from cranfield.measures import Measure, parse_measures, parse_user_name
from cranfield.workbench.app_state import DATA_FOLDER, DataSource, get_app_state
from cranfield.workbench.document_store import DocumentSource
from cranfield.workbench.explore.cache import Cache, cache_key
from cranfield.workbench.explore.collection_view import (
    CollectionLoader,
    CollectionView,
    LiveLog,
    System,
    is_judged_here,
)
from cranfield.workbench.explore.jobs import Job, Jobs, StillRunning
from cranfield.workbench.explore.rankings import (
    GRADE_TIES,
    TIE_ORDERS,
    Ranking,
    Rankings,
    RetrievedDoc,
    pack_plain_run,
    pack_run,
)
from cranfield.workbench.explore.score_cache import Evaluation, evaluate_systems
from cranfield.workbench.pages import build_url
from cranfield.workbench.params import Params, bad_request, not_found, parse_params

MAX_MEASURES = 20
PAGE_TIMEOUT, JSON_TIMEOUT = 2.0, 60.0  # seconds to wait for a result: people see the progress, programs wait
PARTIAL_TIMEOUT = 0.5  # seconds, if a page can be shown without the result
READERS = 2  # runs read at a time: each takes memory
MAX_READ_AHEAD = 2 << 30  # bytes of runs to read before they are needed


class Explorer:
    """What all requests share: the data and the results computed from them."""

    def __init__(self, source: DataSource) -> None:
        self.source = source
        self.jobs = Jobs()
        self._is_idle = threading.Event()  # no request waits for a computation
        self._is_idle.set()

    @cached_property
    def cache(self) -> Cache:
        workspace = self.source.workspace
        return Cache(None if workspace is None else Path(workspace.folder) / DATA_FOLDER / "explore")

    @cached_property
    def loader(self) -> CollectionLoader:
        return CollectionLoader(self.source, self.cache)

    @cached_property
    def rankings(self) -> Rankings:
        return Rankings(self.cache.rankings)

    def evaluate(self, collection: CollectionView, measures: Sequence[str], timeout: float) -> Evaluation:
        """The scores of all systems."""

        def work(job: Job) -> Evaluation:
            job.of, job.what = len(collection.systems), "runs evaluated"
            evaluation = evaluate_systems(collection, measures, self.cache, job)
            problems = evaluation.problems
            self._read_ahead(collection, [system for system in collection.systems if system.name not in problems])
            return evaluation

        return self.jobs.result(("scores", collection.tag, tuple(measures)), work, timeout)

    def ranking(self, collection: CollectionView, system: System) -> Ranking:
        """The ranking of a system, from disk if it was read before."""
        joining = joining_options(collection)

        def make() -> bytes:
            plain = read_plain_run(system.file, system.format)
            content = None if plain is None else pack_plain_run(plain, joining)
            if content is not None:
                return content
            return pack_run(read_run(system.file, system.format, name=system.name), joining, collection.qrels)

        return self.rankings.get(ranking_key(collection, system), make)

    def read_rankings(
        self, collection: CollectionView, systems: Sequence[System], timeout: float
    ) -> Iterator[tuple[str, Ranking]]:
        """The rankings of some systems, one by one, after all runs that were not read before are read."""
        reading = self._reading_job(collection, systems)
        if reading is not None:
            self.jobs.result(*reading, timeout)
        return ((system.name, self.ranking(collection, system)) for system in systems)

    def scan_runs(self, collection: CollectionView, doc: str, timeout: float) -> list[tuple[str, RetrievedDoc]]:
        """The systems that retrieved a document, with its rank, found by scanning all runs.

        This is much faster than reading and writing all rankings. It finds no scores, and nothing for topics that have
        neither judgments nor a text.
        """

        def work(job: Job) -> list[tuple[str, RetrievedDoc]]:
            systems = collection.systems
            with self.prioritized():
                scans = map_in_threads(_make_scanner(collection, doc), systems, count_cores())
                parts = list(job.watch(scans, len(systems), "runs searched"))
            return [(system.name, one) for system, part in zip(systems, parts, strict=True) for one in part]

        return self.jobs.result(("search", collection.tag, doc), work, timeout)

    def _reading_job(
        self, collection: CollectionView, systems: Sequence[System], is_ahead: bool = False
    ) -> tuple[Any, Callable[[Job], None]] | None:
        """The key and work of a job that reads the runs that were not read before; None if there are none."""
        unread = [system for system in systems if not self.rankings.has(ranking_key(collection, system))]
        if not unread:
            return None

        def read_one(system: System) -> None:
            if is_ahead:
                self._is_idle.wait(JSON_TIMEOUT)
            self.ranking(collection, system)

        def work(job: Job) -> None:
            read = map_in_threads(read_one, unread, READERS)
            for _ in job.watch(read, len(unread), "runs read"):
                pass

        return ("rankings", collection.qrels_digest, tuple(ranking_key(collection, one) for one in systems)), work

    @contextmanager
    def prioritized(self) -> Iterator[None]:
        """Pause reading ahead during a computation that a request waits for."""
        self._is_idle.clear()
        try:
            yield
        finally:
            self._is_idle.set()

    def _read_ahead(self, collection: CollectionView, systems: Sequence[System]) -> None:
        """Start reading the runs, which the pages of topics, documents and the pool need."""
        with suppress(OSError):  # a missing file is reported when it is needed
            if sum(os.path.getsize(system.file) for system in systems) > MAX_READ_AHEAD:
                return
            reading = self._reading_job(collection, systems, is_ahead=True)
            if reading is not None:
                self.jobs.start(*reading)


def joining_options(collection: CollectionView) -> Joining:
    """How runs are ranked and joined."""
    return Joining(**{name: collection.options[name] for name in ("ties", "missing") if name in collection.options})


def _make_scanner(collection: CollectionView, doc: str) -> Callable[[System], list[RetrievedDoc]]:
    """A function that finds a document in a run: by a join with qrels that contain this document for every topic."""
    queries = list(dict.fromkeys((*collection.qrels.queries, *collection.topics)))
    qrels = Qrels.from_rows(queries, [doc] * len(queries), [1.0] * len(queries))
    joining = replace(joining_options(collection), missing="zero")

    def scan(system: System) -> list[RetrievedDoc]:
        join = join_run(qrels, system.file, joining, name=system.name, format=system.format)
        hits = zip(join.query.tolist(), join.rank.tolist(), strict=True)
        return [RetrievedDoc(join.queries[i], doc, rank, None) for i, rank in hits]

    return scan


def ranking_key(collection: CollectionView, system: System) -> str:
    joining = joining_options(collection)
    judged = collection.qrels_digest if joining.ties in GRADE_TIES else ""
    return cache_key("ranking", system.digest, system.format, joining.ties, judged)[:40]


class RequestContext:
    """One request, its parameters, and the data it is about."""

    def __init__(self, explorer: Explorer, request: Request) -> None:
        self.explorer = explorer
        self.request = request
        self.params = Params(request)
        self.use_default_measures = False  # whatever measures the parameters name
        self.lacks_texts = False  # while documents are being copied
        self.pending: StillRunning | None = None  # a result that the page is shown without

    @property
    def timeout(self) -> float:
        """Seconds to wait for a computation."""
        return JSON_TIMEOUT if self.request.state.as_json else PAGE_TIMEOUT

    @cached_property
    def _whole_collection(self) -> CollectionView:
        """The collection with all systems, as it is now."""
        name = self.params.text("collection")
        judging, loader = get_app_state(self.request).judging, self.explorer.loader
        if loader.log is None and judging is not None:
            loader.log = LiveLog(judging.log)
        try:
            return loader.load(name)
        except KeyError:
            raise not_found(f"There is no collection {name!r:.80}.") from None

    @cached_property
    def evaluation(self) -> Evaluation:
        assert self.measures
        return self.explorer.evaluate(self._whole_collection, self.names, self.timeout)

    @cached_property
    def collection(self) -> CollectionView:
        """The collection with the systems that can be evaluated; notes say why others cannot."""
        whole, problems = self._whole_collection, self.evaluation.problems
        if not problems:
            return whole
        systems = tuple(system for system in whole.systems if system.name not in problems)
        notes = (*whole.notes, *(f"{name} cannot be evaluated: {error}" for name, error in problems.items()))
        baseline = None if whole.baseline in problems else whole.baseline
        return replace(whole, systems=systems, notes=notes, baseline=baseline, tag=cache_key(whole.tag, list(problems)))

    @property
    def scores(self) -> Scores:
        """The scores of all systems."""
        return self.evaluation.scores

    @property
    def requested_measures(self) -> list[str]:
        """The measures that the URL names: as several parameters, or as one with several names."""
        return list(dict.fromkeys(name for text in self.params.many("measure") for name in split_measures(text)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the measures: those requested, or the defaults of the collection."""
        names = [] if self.use_default_measures else self.requested_measures
        if not names:
            return tuple(name for name in self._whole_collection.measures if _has_topic_values(name)) or ("nDCG@10",)
        own = {
            parts[1]: name for name in self._whole_collection.measures if (parts := parse_user_name(name)) is not None
        }
        return tuple(own.get(name) or check_measure(name) for name in names)

    @cached_property
    def measures(self) -> list[tuple[str, Measure]]:
        """The labels and measures."""
        measures = parse_measures(list(self.names))
        if len(measures) > MAX_MEASURES:
            raise bad_request(f"found {len(measures)} measures, expected at most {MAX_MEASURES}.")
        for label, measure in measures:
            if measure.aggregate == "run":
                raise bad_request(f"{label} has no values by topic, only one of the whole run: use cranfield eval.")
        return measures

    @cached_property
    def main(self) -> str:
        """The label of the main measure: the first one that measures quality."""
        return next((label for label, measure in self.measures if measure.is_quality), self.measures[0][0])

    def measure(self, label: str) -> Measure:
        return dict(self.measures)[label]

    def system(self, name: str) -> System:
        system = self.collection.by_name.get(name)
        if system is not None:
            return system
        if name in self.evaluation.problems:
            raise bad_request(f"{name} cannot be evaluated: {self.evaluation.problems[name]}")
        raise not_found(f"There is no system {name!r:.80}.")

    def query(self) -> str:
        """The requested topic, which must be judged."""
        query = self.params.required("query")
        if query not in self.query_index:
            raise not_found(f"There is no judged topic {query!r:.80}.")
        return query

    @cached_property
    def query_index(self) -> dict[str, int]:
        """The position of each judged topic."""
        return {query: i for i, query in enumerate(self.collection.qrels.queries)}

    def rankings(self, names: Sequence[str] | None = None) -> Iterator[tuple[str, Ranking]]:
        """The rankings of some systems, by default of all, one by one."""
        systems = self.collection.systems if names is None else [self.system(name) for name in names]
        return self.explorer.read_rankings(self.collection, systems, self.timeout)

    def retrieved(self, doc: str) -> list[tuple[str, RetrievedDoc]]:
        """The systems that retrieved a document; pages show only ranks while rankings are being read."""
        collection, explorer = self.collection, self.explorer
        if joining_options(collection).ties not in TIE_ORDERS:
            return [(name, one) for name, ranking in self.rankings() for one in ranking.find(doc)]
        with self.optional() as timeout:
            rankings = explorer.read_rankings(collection, collection.systems, timeout)
            return [(name, one) for name, ranking in rankings for one in ranking.find(doc)]
        return explorer.scan_runs(collection, doc, self.timeout)

    @contextmanager
    def optional(self) -> Iterator[float]:
        """A computation that pages can be shown without, while JSON waits for it. Yields the timeout."""
        try:
            yield self.timeout if self.request.state.as_json else PARTIAL_TIMEOUT
        except StillRunning as error:
            if self.request.state.as_json:
                raise
            self.pending = error

    def ranking(self, name: str) -> Ranking:
        return next(self.rankings([name]))[1]

    def topic(self, query: str) -> Topic | None:
        return self.collection.topics.get(query)

    def title_of(self, query: str) -> str:
        topic = self.topic(query)
        return "" if topic is None else " ".join((topic.title or topic.description).split())[:300]

    def document(self, doc: str) -> Document | None:
        """The text of a document, if the collection has texts."""
        return None if self.documents is None else self.documents.get(doc)

    @cached_property
    def documents(self) -> DocumentSource | None:
        judging = get_app_state(self.request).judging
        loader, name = self.explorer.loader, self.collection.name
        already_open = judging.documents if judging is not None and self.is_judged_here else None

        def work(job: Job) -> DocumentSource | None:
            job.what = "documents are being copied"
            return loader.documents(name, already_open)

        with self.optional() as timeout:
            return self.explorer.jobs.result(("documents", name, already_open is None), work, timeout)
        self.lacks_texts = True
        return None

    @property
    def is_judged_here(self) -> bool:
        """Whether documents of this collection are judged in the workbench."""
        workspace = self.explorer.source.workspace
        return workspace is not None and is_judged_here(workspace, self.collection.name)

    # URLs

    @cached_property
    def url_params(self) -> dict[str, list[str]]:
        """All values of all parameters in the URL."""
        values: dict[str, list[str]] = {}
        for name, value in parse_params(self.request.scope["query_string"].decode("latin-1")):
            if value:
                values.setdefault(name, []).append(value)
        return values

    def url_here(self, **changes: Any) -> str:
        """The URL of this page with other parameters; None leaves one out."""
        return build_url(self.path, **(self.url_params | {name.rstrip("_"): value for name, value in changes.items()}))

    @property
    def path(self) -> str:
        """The path of the page, also if its JSON was requested."""
        return self.request.url.path.removesuffix(".json")

    def url_to(self, path: str, **parameters: Any) -> str:
        """The URL of another page, for the same collection and measures."""
        carried = {name: self.url_params[name] for name in ("collection", "measure") if name in self.url_params}
        return build_url(path, **(carried | {name.rstrip("_"): value for name, value in parameters.items()}))

    @property
    def form_state(self) -> str:
        """The parameters of the URL as one text, for forms."""
        return build_url("", **self.url_params).removeprefix("?")

    @property
    def json_url(self) -> str:
        """The URL of the JSON version of this page."""
        return build_url(f"{self.path}.json", **self.url_params)

    @cached_property
    def collections(self) -> list[tuple[str, str]]:
        return self.explorer.loader.collections

    def tag(self, name: str) -> str:
        """Identifies the content of a page."""
        return cache_key(self.collection.tag, self.request.url.query, name)


def _has_topic_values(name: str) -> bool:
    return all(measure.aggregate != "run" for _, measure in parse_measures([name]))


def split_measures(text: str) -> list[str]:
    """Split measures at blanks and commas, except within parentheses and cutoffs of trec_eval.

    >>> split_measures("nDCG@10  AP(rel=2, judged_only=True)@5")
    ['nDCG@10', 'AP(rel=2, judged_only=True)@5']
    >>> split_measures("AP,RR, P.5,10")
    ['AP', 'RR', 'P.5,10']
    """
    return re.findall(r"(?:\([^()]*\)|,(?=\d)|[^\s,])+", text)


def check_measure(name: str) -> str:
    """Return the name of a measure in a URL. Measures in user files would run code: only a workspace may name them."""
    if parse_user_name(name) is not None or len(name) > 200:
        raise bad_request(f"measure {name!r:.80}: expected a name join_names by `cranfield measures`.")
    return name
