"""A request for a page of exploring: what it asks for, and what there is to answer it with."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import Any

from starlette.requests import Request

from cranfield.base import count_cores, map_in_threads, replace
from cranfield.data import Document, Qrels, Topic
from cranfield.evaluation import Scores
from cranfield.io import read_plain_run, read_run
from cranfield.joining import Joining, join_run
from cranfield.measures import Measure, own_name, parse_measures
from cranfield.workbench.app_state import Served
from cranfield.workbench.explore.cache import Kept, key_of
from cranfield.workbench.explore.collection_view import Explored, Finder, LiveLog, System, is_judged_here, where
from cranfield.workbench.explore.jobs import Job, Jobs, NotYet
from cranfield.workbench.explore.rankings import BY_GRADE, ORDERS, Ranking, Rankings, Retrieved, packed, packed_plain
from cranfield.workbench.explore.score_cache import Board, evaluated
from cranfield.workbench.pages import address
from cranfield.workbench.params import Asked, bad, missing, split

MOST_MEASURES = 20
PATIENCE, LONG_PATIENCE = 2.0, 60.0  # seconds: of people, and of programs
BRIEFLY = 0.5  # seconds, where a page has something to show already
AT_ONCE = 2  # runs that are read at a time: each takes memory
READ_AHEAD = 2 << 30  # bytes of runs that are read before anybody asks


class Explorer:
    """All that pages of exploring share: what is served, and what was worked out of it."""

    def __init__(self, served: Served) -> None:
        self.served = served
        self.jobs = Jobs()
        self._nobody_waits = threading.Event()
        self._nobody_waits.set()

    @cached_property
    def kept(self) -> Kept:
        return Kept(where(self.served))

    @cached_property
    def finder(self) -> Finder:
        return Finder(self.served, self.kept)

    @cached_property
    def rankings(self) -> Rankings:
        return Rankings(self.kept.rankings)

    def board(self, explored: Explored, measures: Sequence[str], patience: float) -> Board:
        """The scores of all systems."""

        def work(job: Job) -> Board:
            job.of, job.what = len(explored.systems), "runs evaluated"
            board = evaluated(explored, measures, self.kept, job)
            self._read_ahead(explored, [system for system in explored.systems if system.name not in board.problems])
            return board

        return self.jobs.result(("scores", explored.tag, tuple(measures)), work, patience)

    def ranking(self, explored: Explored, system: System) -> Ranking:
        """The ranking of a system, read once."""

        joining = joining_of(explored)

        def make() -> bytes:
            plain = read_plain_run(system.file, system.format)
            found = None if plain is None else packed_plain(plain, joining)
            if found is not None:
                return found
            return packed(read_run(system.file, system.format, name=system.name), joining, explored.qrels)

        return self.rankings.get(ranking_key(explored, system), make)

    def read(self, explored: Explored, systems: Sequence[System], patience: float) -> Iterator[tuple[str, Ranking]]:
        """The rankings of some systems, one by one; those that were never looked at are all read first."""
        reading = self._reading(explored, systems)
        if reading is not None:
            self.jobs.result(*reading, patience)
        return ((system.name, self.ranking(explored, system)) for system in systems)

    def search(self, explored: Explored, doc: str, patience: float) -> list[tuple[str, Retrieved]]:
        """The systems that have a document, with its rank, by going through all runs without keeping anything.

        That takes as long as an evaluation does, and a fraction of the time in which rankings are read and written. Of
        topics that have neither judgments nor a text nothing is found, and of documents no score.
        """

        def work(job: Job) -> list[tuple[str, Retrieved]]:
            systems = explored.systems
            with self.first():
                made = map_in_threads(_searched(explored, doc), systems, count_cores())
                parts = list(job.watch(made, len(systems), "runs searched"))
            return [(system.name, one) for system, part in zip(systems, parts, strict=True) for one in part]

        return self.jobs.result(("search", explored.tag, doc), work, patience)

    def _reading(
        self, explored: Explored, systems: Sequence[System], is_ahead: bool = False
    ) -> tuple[Any, Callable[[Job], None]] | None:
        """The work of reading runs that were never looked at, by a name for it; None where there are none."""
        lacking = [system for system in systems if not self.rankings.has(ranking_key(explored, system))]
        if not lacking:
            return None

        def read_one(system: System) -> None:
            if is_ahead:
                self._nobody_waits.wait(LONG_PATIENCE)
            self.ranking(explored, system)

        def work(job: Job) -> None:
            read = map_in_threads(read_one, lacking, AT_ONCE)
            for _ in job.watch(read, len(lacking), "runs read"):
                pass

        return ("rankings", explored.qrels_digest, tuple(ranking_key(explored, one) for one in systems)), work

    @contextmanager
    def first(self) -> Iterator[None]:
        """Work that somebody waits for: as long as it goes on, no further run is read ahead."""
        self._nobody_waits.clear()
        try:
            yield
        finally:
            self._nobody_waits.set()

    def _read_ahead(self, explored: Explored, systems: Sequence[System]) -> None:
        """Begin to read what a topic, a document or the pool will ask for."""
        with suppress(OSError):  # a file that is gone is told of where it is asked for
            if sum(os.path.getsize(system.file) for system in systems) > READ_AHEAD:
                return
            reading = self._reading(explored, systems, is_ahead=True)
            if reading is not None:
                self.jobs.begin(*reading)


def joining_of(explored: Explored) -> Joining:
    """How runs are ranked and joined."""
    given = {name: explored.options[name] for name in ("ties", "missing") if name in explored.options}
    return Joining(**given)


def _searched(explored: Explored, doc: str) -> Callable[[System], list[Retrieved]]:
    """Where a run has a document: the hits of a join with judgments that name this document for every topic."""
    queries = list(dict.fromkeys((*explored.qrels.queries, *explored.topics)))
    named = Qrels.from_rows(queries, [doc] * len(queries), [1.0] * len(queries))
    joining = replace(joining_of(explored), missing="zero")

    def search(system: System) -> list[Retrieved]:
        join = join_run(named, system.file, joining, name=system.name, format=system.format)
        hits = zip(join.query.tolist(), join.rank.tolist(), strict=True)
        return [Retrieved(join.queries[i], doc, rank, None) for i, rank in hits]

    return search


def ranking_key(explored: Explored, system: System) -> str:
    joining = joining_of(explored)
    judged = explored.qrels_digest if joining.ties in BY_GRADE else ""
    return key_of("ranking", system.digest, system.format, joining.ties, judged)[:40]


class Visit:
    """One request."""

    def __init__(self, explorer: Explorer, request: Request) -> None:
        self.explorer = explorer
        self.request = request
        self.asked = Asked(request)
        self.is_usual = False  # whether the measures asked for are not those to evaluate by
        self.is_without_texts = False  # as long as documents are being copied
        self.unfinished: NotYet | None = None  # what the page goes without as yet

    @property
    def patience(self) -> float:
        """How many seconds to wait for what takes long."""
        return LONG_PATIENCE if self.request.state.as_json else PATIENCE

    # What is asked for

    @cached_property
    def _found(self) -> Explored:
        """The collection that is asked for, as it is now."""
        name = self.asked.text("collection")
        room, finder = self.request.app.state.site.room, self.explorer.finder
        if finder.log is None and room is not None:
            finder.log = LiveLog(room.log)
        try:
            return finder.find(name)
        except KeyError:
            raise missing(f"There is no collection {name!r:.80}.") from None

    @cached_property
    def board(self) -> Board:
        assert self.measures
        return self.explorer.board(self._found, self.names, self.patience)

    @cached_property
    def explored(self) -> Explored:
        """The collection with the systems that can be evaluated; of others it is said why not."""
        found, problems = self._found, self.board.problems
        if not problems:
            return found
        systems = tuple(system for system in found.systems if system.name not in problems)
        notes = (*found.notes, *(f"{name} cannot be evaluated: {error}" for name, error in problems.items()))
        baseline = None if found.baseline in problems else found.baseline
        return replace(found, systems=systems, notes=notes, baseline=baseline, tag=key_of(found.tag, list(problems)))

    @property
    def scores(self) -> Scores:
        """All systems by the measures asked for."""
        return self.board.scores

    @property
    def measures_asked(self) -> list[str]:
        """The measures that the address names: several names, or one text with several in it."""
        return list(dict.fromkeys(name for text in self.asked.many("measure") for name in apart(text)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The measures as an evaluation takes them: those asked for, or the usual ones of the collection."""
        asked = [] if self.is_usual else self.measures_asked
        if not asked:
            return tuple(name for name in self._found.measures if _has_topics(name)) or ("nDCG@10",)
        own = {found[1]: name for name in self._found.measures if (found := own_name(name)) is not None}
        return tuple(own.get(name) or checked_measure(name) for name in asked)

    @cached_property
    def measures(self) -> list[tuple[str, Measure]]:
        """The measures, by the names they go by."""
        found = parse_measures(list(self.names))
        if len(found) > MOST_MEASURES:
            raise bad(f"these are {len(found)} measures, expected {MOST_MEASURES} at most.")
        for label, measure in found:
            if measure.aggregate == "run":
                raise bad(f"{label} has a value of the run as a whole and none of topics: cranfield eval tells it.")
        return found

    @cached_property
    def main(self) -> str:
        """The measure that things are ordered by: the first that tells good from bad, topic by topic."""
        return next((label for label, measure in self.measures if measure.is_quality), self.measures[0][0])

    def measure(self, label: str) -> Measure:
        return dict(self.measures)[label]

    def system(self, name: str) -> System:
        found = self.explored.by_name.get(name)
        if found is not None:
            return found
        if name in self.board.problems:
            raise bad(f"{name} cannot be evaluated: {self.board.problems[name]}")
        raise missing(f"There is no system {name!r:.80}.")

    def query(self) -> str:
        """The topic that is asked for, which must be a judged one."""
        query = self.asked.needed("query")
        if query not in self.places:
            raise missing(f"There is no topic {query!r:.80} among the judged ones.")
        return query

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each topic stands among the judged ones."""
        return {query: i for i, query in enumerate(self.explored.qrels.queries)}

    def rankings(self, names: Sequence[str] | None = None) -> Iterator[tuple[str, Ranking]]:
        """The rankings of some systems, or of all, one by one."""
        systems = self.explored.systems if names is None else [self.system(name) for name in names]
        return self.explorer.read(self.explored, systems, self.patience)

    def retrieved(self, doc: str) -> list[tuple[str, Retrieved]]:
        """The systems that have a document, where; as long as rankings are being read, people are told ranks alone."""
        explored, explorer = self.explored, self.explorer
        if joining_of(explored).ties not in ORDERS:
            return [(name, one) for name, ranking in self.rankings() for one in ranking.find(doc)]
        with self.making_do() as brief:
            read = explorer.read(explored, explored.systems, brief)
            return [(name, one) for name, ranking in read for one in ranking.find(doc)]
        return explorer.search(explored, doc, self.patience)

    @contextmanager
    def making_do(self) -> Iterator[float]:
        """Something that a page for people can be shown without; programs wait for it. Gives the patience to have."""
        try:
            yield self.patience if self.request.state.as_json else BRIEFLY
        except NotYet as error:
            if self.request.state.as_json:
                raise
            self.unfinished = error

    def ranking(self, name: str) -> Ranking:
        return next(self.rankings([name]))[1]

    def topic(self, query: str) -> Topic | None:
        return self.explored.topics.get(query)

    def title_of(self, query: str) -> str:
        topic = self.topic(query)
        return "" if topic is None else " ".join((topic.title or topic.description).split())[:300]

    def document(self, doc: str) -> Document | None:
        """A document's text, where the collection has texts."""
        return None if self.library is None else self.library.get(doc)

    @cached_property
    def library(self) -> Any:
        room = self.request.app.state.site.room
        finder, name = self.explorer.finder, self.explored.name
        beside = room.documents if room is not None and self.is_judged_here else None

        def work(job: Job) -> Any:
            job.what = "documents are being copied"
            return finder.library(name, beside)

        with self.making_do() as brief:
            return self.explorer.jobs.result(("library", name, beside is None), work, brief)
        self.is_without_texts = True
        return None

    @property
    def is_judged_here(self) -> bool:
        """Whether it is this collection whose documents are judged."""
        workspace = self.explorer.served.workspace
        return workspace is not None and is_judged_here(workspace, self.explored.name)

    # Addresses

    @cached_property
    def given(self) -> dict[str, list[str]]:
        """The parameters of the address, as they are."""
        found: dict[str, list[str]] = {}
        for name, value in split(self.request.scope["query_string"].decode("latin-1")):
            if value:
                found.setdefault(name, []).append(value)
        return found

    def here(self, **changes: Any) -> str:
        """This page with other parameters; None leaves one out."""
        return address(self.path, **(self.given | {name.rstrip("_"): value for name, value in changes.items()}))

    @property
    def path(self) -> str:
        """The page itself, also where its JSON twin is asked for."""
        return self.request.url.path.removesuffix(".json")

    def to(self, path: str, **parameters: Any) -> str:
        """Another page on the same collection, by the same measures."""
        carried = {name: self.given[name] for name in ("collection", "measure") if name in self.given}
        return address(path, **(carried | {name.rstrip("_"): value for name, value in parameters.items()}))

    @property
    def state(self) -> str:
        """The parameters of the address as one text, for forms."""
        return address("", **self.given).removeprefix("?")

    @property
    def twin(self) -> str:
        """The same as JSON."""
        return address(f"{self.path}.json", **self.given)

    @cached_property
    def collections(self) -> list[tuple[str, str]]:
        return self.explorer.finder.collections

    def tag(self, *more: Any) -> str:
        """What a page shows, in a word: the same tag means the same page."""
        return key_of(self.explored.tag, self.request.url.query, *more)


def _has_topics(name: str) -> bool:
    return all(measure.aggregate != "run" for _, measure in parse_measures([name]))


def apart(text: str) -> list[str]:
    """Names parted by blanks or commas, which may stand within parentheses as well; trec_eval has commas in cutoffs.

    >>> apart("nDCG@10  AP(rel=2, judged_only=True)@5")
    ['nDCG@10', 'AP(rel=2, judged_only=True)@5']
    >>> apart("AP,RR, P.5,10")
    ['AP', 'RR', 'P.5,10']
    """
    return re.findall(r"(?:\([^()]*\)|,(?=\d)|[^\s,])+", text)


def checked_measure(name: str) -> str:
    """A measure that an address asks for. One in a file of one's own would run that file: only a workspace may."""
    if own_name(name) is not None or len(name) > 200:
        raise bad(f"measure {name!r:.80}: expected the name of one, as `cranfield measures` lists them.")
    return name
