"""The pooling strategies by name, with their parameters and what they need besides the runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from importlib import import_module
from typing import Any, Literal

from cranfield.base import Parameter, Record, check_parameters, suggest
from cranfield.errors import CranfieldError
from cranfield.pooling.ranked_lists import RankedLists
from cranfield.pooling.sampling import parse_strata
from cranfield.pooling.selector import PoolingContext, Selector

# order: best first, as many as the budget allows · sample: drawn at random · adaptive: guided by the judgments so far
Kind = Literal["order", "sample", "adaptive"]


class Strata(Parameter):
    """Strata of a sample, as `last rank:rate` of each."""

    def check(self, name: str, value: Any) -> Any:
        try:
            return parse_strata(value)
        except (TypeError, ValueError) as error:
            raise CranfieldError(f"{name}={value!r}: expected {error}.") from None

    def parse(self, name: str, text: str) -> Any:
        return self.check(name, text)


class Strategy(Record, eq=False):
    """A way to choose the documents to judge."""

    name: str
    title: str
    kind: Kind
    home: str  # module and class of its selector
    reference: str = ""
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    needs: tuple[str, ...] = ()  # fields of the PoolingContext

    def selector(
        self, lists: RankedLists, context: PoolingContext, params: Mapping[str, Any] | None = None
    ) -> Selector:
        """The selector of one topic."""
        module, name = self.home.split(".")
        selector_class = getattr(import_module(f"cranfield.pooling.{module}"), name)
        selector: Selector = selector_class(lists, context, **self.check(params or {}))
        return selector

    def check(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Values for all parameters: those given, checked, and the defaults of the others."""
        return check_parameters(self.name, self.parameters, params)

    def require(self, context: PoolingContext) -> None:
        """Raise an error if something it needs is missing."""
        for need in self.needs:
            if getattr(context, need) is None:
                raise CranfieldError(f"{self.name} needs {_NEEDS[need]}.")

    def require_texts(self, context: PoolingContext, lists: Iterable[RankedLists]) -> None:
        """Raise an error if it learns from texts, but none of them is of a document of the runs."""
        if "documents" in self.needs and not any(doc in context.vectors.numbers for one in lists for doc in one.ranks):
            raise CranfieldError(f"{self.name}: no document of the runs has a text. Are the ids the same?")


_NEEDS = {
    "documents": "the texts of documents: --documents FILE",
    "topics": "the texts of topics: --topics FILE",
    "search": "an index to search: --index INDEX",
}


def find_strategy(name: str) -> Strategy:
    """The strategy of that name.

    >>> find_strategy("Thompson").name
    'ts'
    """
    plain = name.strip().lower().replace("_", "-")
    strategy = STRATEGIES.get(_ALIASES.get(plain, plain))
    if strategy is None:
        hint = suggest(plain, [*STRATEGIES, *_ALIASES])
        raise CranfieldError(f"unknown strategy {name!r}.{hint} Strategies: {', '.join(STRATEGIES)}.")
    return strategy


def _bandit(name: str, title: str, selector: str, memory: float, update: str = "all") -> Strategy:
    """The bandits have the same parameters, with different defaults."""
    parameters = {
        "memory": Parameter("weight of earlier judgments at each new one", memory, low=0, high=1),
        "update": Parameter(
            "runs that a judgment updates: all with the document, or its own", update, choices=("all", "own")
        ),
        "seed_depth": Parameter("depth to which everything is judged first", 1, low=0, whole=True),
    }
    reference = "Losada, Parapar & Barreiro, IPM 2017"
    return Strategy(name, title, "adaptive", f"bandits.{selector}", reference, parameters)


_STRATEGIES = (
    Strategy("depth", "the first k documents of each run, best ranks first", "order", "static_orders.Depth"),
    Strategy(
        "mnz",
        "by CombMNZ: the sum of the scores, times the number of runs",
        "order",
        "static_orders.CombMNZ",
        "Fox & Shaw, TREC-2 1993",
    ),
    Strategy("borda", "by Borda count", "order", "static_orders.Borda", "Aslam & Montague, SIGIR 2001"),
    Strategy(
        "rrf",
        "by reciprocal ranks, Σ1/(k + rank)",
        "order",
        "static_orders.RRF",
        "Cormack, Clarke & Büttcher, SIGIR 2009",
        {"k": Parameter("how little the first ranks stand out", 60, low=0, high=1e9)},
    ),
    Strategy(
        "rbp",
        "by rank-biased precision, Σ(1 − p)p^(rank − 1)",
        "order",
        "static_orders.RBP",
        "Moffat, Webber & Zobel, SIGIR 2007",
        {"p": Parameter("probability that a user goes on to the next rank", 0.8, low=0.0001, high=0.9999)},
    ),
    Strategy(
        "uniform",
        "a random sample; every document has the same probability",
        "sample",
        "sampling.Uniform",
        parameters={"rate": Parameter("share of a topic's documents", None, low=0, high=1, above_low=True)},
    ),
    Strategy(
        "stratified",
        "a random sample; the share depends on the best rank",
        "sample",
        "sampling.Stratified",
        "Yilmaz, Kanoulas & Aslam, SIGIR 2008",
        {"strata": Strata("last rank and rate of each stratum", "10:1,50:0.4,100:0.1")},
    ),
    Strategy(
        "mtf",
        "move-to-front: stay with a run while its documents are relevant",
        "adaptive",
        "move_to_front.MoveToFront",
        "Cormack, Palmer & Clarke, SIGIR 1998",
    ),
    _bandit("mm", "bandit: the run with the most relevant documents so far", "MaxMean", 1.0),
    _bandit("mm-ns", "bandit: a run whose last judged document was relevant", "MaxMean", 0.0),
    _bandit("ts", "bandit: Thompson sampling", "Thompson", 1.0),
    _bandit("ts-ns", "bandit: Thompson sampling by the last judgments", "Thompson", 0.0),
    _bandit("ucb", "bandit: upper confidence bounds", "UCB", 1.0, "own"),
    Strategy(
        "hedge",
        "a vote of the runs, weighted by how relevant their documents were",
        "adaptive",
        "hedge.Hedge",
        "Aslam, Pavlu & Savell, SIGIR 2003",
        {"beta": Parameter("how much weight a loss costs", 0.1, low=0, high=1, above_low=True)},
    ),
    Strategy(
        "active",
        "active sampling, with the probabilities that estimates need",
        "adaptive",
        "active.ActiveSampling",
        "Li & Kanoulas, CIKM 2017",
        {
            "draws": Parameter("draws per round, after which runs are weighted again", 10, low=1, whole=True),
            "explore": Parameter("share of the draws spread evenly over all runs", 0.1, low=0, high=1, above_low=True),
        },
    ),
    Strategy(
        "autotar",
        "active learning from the texts of documents",
        "adaptive",
        "autotar.AutoTAR",
        "Cormack & Grossman, SIGIR 2015",
        {
            "negatives": Parameter("random documents presumed not relevant", 100, low=1, whole=True),
            "penalty": Parameter("strength of the regularisation", 0.1, low=0, high=1e9, above_low=True),
        },
        needs=("documents", "topics"),
    ),
    Strategy(
        "expansion",
        "the first k, then the results of searches with the relevant ones",
        "adaptive",
        "expansion.Expansion",
        parameters={"found": Parameter("new documents taken from each search", 10, low=1, whole=True)},
        needs=("search",),
    ),
)
STRATEGIES: Mapping[str, Strategy] = {strategy.name: strategy for strategy in _STRATEGIES}
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
