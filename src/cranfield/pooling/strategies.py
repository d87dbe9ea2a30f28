"""The strategies by name: what each is, its parameters, and what it needs beyond the lists of the runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any, Literal

from cranfield.base import Parameter, Record, check_parameters, suggest
from cranfield.errors import CranfieldError
from cranfield.pooling.lists import Lists
from cranfield.pooling.sampling import as_strata
from cranfield.pooling.strategy import Asker, Setting

# order: as many as the budget allows, best first · sample: drawn by chance · adaptive: by what was judged so far
Kind = Literal["order", "sample", "adaptive"]


class Strata(Parameter):
    """Strata of a sample, as `last rank:rate` of each."""

    def check(self, name: str, value: Any) -> Any:
        try:
            return as_strata(value)
        except (TypeError, ValueError) as error:
            raise CranfieldError(f"{name}={value!r}: expected {error}.") from None

    def parse(self, name: str, text: str) -> Any:
        return self.check(name, text)


class Strategy(Record, eq=False):
    """A way to choose the documents to judge."""

    name: str
    title: str
    kind: Kind
    home: str  # the module and class that ask
    reference: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)  # what makes it differ from others of its class
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  # of a Setting

    def asker(self, lists: Lists, setting: Setting, params: Mapping[str, Any] | None = None) -> Asker:
        """What it asks for one topic."""
        module, name = self.home.split(".")
        kind = getattr(import_module(f"cranfield.pooling.{module}"), name)
        asker: Asker = kind(lists, setting, **self.fixed, **self.checked(params or {}))
        return asker

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """All parameters, those that are given checked."""
        return check_parameters(self.name, self.parameters, params)

    def require(self, setting: Setting) -> None:
        """An error if something is missing that it cannot do without."""
        for need in self.needs:
            if getattr(setting, need) is None:
                raise CranfieldError(f"{self.name} needs {_NEEDS[need]}.")

    def require_texts(self, setting: Setting, lists: Iterable[Lists]) -> None:
        """An error if it learns from texts and has those of other documents."""
        if "documents" in self.needs and not any(doc in setting.texts.numbers for own in lists for doc in own.ranks):
            raise CranfieldError(f"{self.name}: there is no text of any document of the runs. Are the ids the same?")


_NEEDS = {
    "documents": "the texts of documents: --documents FILE",
    "topics": "the words of the topics: --topics FILE",
    "search": "something to search with: --index INDEX",
}


def strategy_of(name: str) -> Strategy:
    """The strategy of that name.

    >>> strategy_of("Thompson").name
    'ts'
    """
    plain = name.strip().lower().replace("_", "-")
    found = STRATEGIES.get(_ALIASES.get(plain, plain))
    if found is None:
        hint = suggest(plain, [*STRATEGIES, *_ALIASES])
        raise CranfieldError(f"no strategy is called {name!r}.{hint} There are {', '.join(STRATEGIES)}.")
    return found


def _bandit(kind: str, memory: float, update: str = "all") -> tuple[Kind, str, str, dict[str, Any], dict[str, Any]]:
    """What all bandits have in common: kind, home, reference, what is fixed, parameters."""
    parameters = {
        "memory": Parameter("how much of what was judged counts at the next judgment", memory, low=0, high=1),
        "update": Parameter(
            "which runs learn from a document: all that have it, or its own", update, choices=("all", "own")
        ),
        "seed_depth": Parameter("depth to which all is judged first", 1, low=0, whole=True),
    }
    return "adaptive", f"bandits.{kind}", "Losada, Parapar & Barreiro, IPM 2017", {}, parameters


def _one(*args: Any, **more: Any) -> tuple[str, Strategy]:
    strategy = Strategy(*args, **more)
    return strategy.name, strategy


STRATEGIES: Mapping[str, Strategy] = dict(
    [
        _one("depth", "the first k documents of each run, best ranks first", "order", "static_orders.Depth"),
        _one(
            "mnz",
            "by CombMNZ: the sum of the scores, times the number of runs",
            "order",
            "static_orders.CombMNZ",
            "Fox & Shaw, TREC-2 1993",
        ),
        _one("borda", "by Borda's count", "order", "static_orders.Borda", "Aslam & Montague, SIGIR 2001"),
        _one(
            "rrf",
            "by reciprocal ranks, Σ1/(k + rank)",
            "order",
            "static_orders.RRF",
            "Cormack, Clarke & Büttcher, SIGIR 2009",
            parameters={"k": Parameter("how little the first ranks stand out", 60, low=0, high=1e9)},
        ),
        _one(
            "rbp",
            "by rank-biased precision, Σ(1 − p)p^(rank − 1)",
            "order",
            "static_orders.RBP",
            "Moffat, Webber & Zobel, SIGIR 2007",
            parameters={"p": Parameter("how far down a list its reader gets", 0.8, low=0.0001, high=0.9999)},
        ),
        _one(
            "uniform",
            "a random sample; every document has the same chance",
            "sample",
            "sampling.Uniform",
            parameters={"rate": Parameter("share of a topic's documents", None, low=0, high=1, above_low=True)},
        ),
        _one(
            "stratified",
            "a random sample, the share depending on the best rank",
            "sample",
            "sampling.Stratified",
            "Yilmaz, Kanoulas & Aslam, SIGIR 2008",
            parameters={
                "strata": Strata("last rank and rate of each stratum", "10:1,50:0.4,100:0.1"),
            },
        ),
        _one(
            "mtf",
            "move-to-front: stay with a run while its documents are relevant",
            "adaptive",
            "move_to_front.MoveToFront",
            "Cormack, Palmer & Clarke, SIGIR 1998",
        ),
        _one("mm", "bandit: the run with the most relevant so far", *_bandit("MaxMean", 1.0)),
        _one("mm-ns", "bandit: a run whose last judged document was relevant", *_bandit("MaxMean", 0.0)),
        _one("ts", "bandit: Thompson sampling", *_bandit("Thompson", 1.0)),
        _one("ts-ns", "bandit: Thompson sampling by the last judgments", *_bandit("Thompson", 0.0)),
        _one("ucb", "bandit: upper confidence bounds", *_bandit("UCB", 1.0, "own")),
        _one(
            "hedge",
            "a vote of runs, weighted by how their documents did",
            "adaptive",
            "hedge.Hedge",
            "Aslam, Pavlu & Savell, SIGIR 2003",
            parameters={"beta": Parameter("how much weight a loss costs", 0.1, low=0, high=1, above_low=True)},
        ),
        _one(
            "active",
            "active sampling, with the chances that estimates need",
            "adaptive",
            "active.ActiveSampling",
            "Li & Kanoulas, CIKM 2017",
            parameters={
                "draws": Parameter("draws in a round, after which runs are weighed", 10, low=1, whole=True),
                "explore": Parameter(
                    "share of the draws that is left to all runs alike", 0.1, low=0, high=1, above_low=True
                ),
            },
        ),
        _one(
            "autotar",
            "active learning from the texts of documents",
            "adaptive",
            "autotar.AutoTAR",
            "Cormack & Grossman, SIGIR 2015",
            parameters={
                "negatives": Parameter("random documents presumed not relevant", 100, low=1, whole=True),
                "penalty": Parameter("how strongly weights are held down", 0.1, low=0, high=1e9, above_low=True),
            },
            needs=("documents", "topics"),
        ),
        _one(
            "expansion",
            "the first k, then what searching with the relevant ones finds",
            "adaptive",
            "expansion.Expansion",
            parameters={"found": Parameter("new documents taken from each search", 10, low=1, whole=True)},
            needs=("search",),
        ),
    ]
)
_ALIASES = {
    "take": "depth",
    "combmnz": "mnz",
    "bordafuse": "borda",
    "thompson": "ts",
    "bla": "ts",
    "thompson-ns": "ts-ns",
    "move-to-front": "mtf",
    "active-sampling": "active",
    "cal": "autotar",
    "bmi": "autotar",
    "expand": "expansion",
    "strata": "stratified",
    "random": "uniform",
}
