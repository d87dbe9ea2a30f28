"""The numbers of a picture: from scores to short rows, the same numbers that tables print."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import Record, join_names
from cranfield.data import Floats
from cranfield.errors import CranfieldError, EvaluationError
from cranfield.evaluation import JUDGED_DEPTH, RunScores, Scores, average
from cranfield.joining import JudgedRun, join_run
from cranfield.measures import Measure, parse_measure

MOST = 60_000  # numbers in a picture; more are put together, so that a specification stays below a megabyte
MARKS = 4_000  # bars or dots in a picture; more are put together, so that an SVG stays below a megabyte
LABELLED = 60  # topics that are named along an axis; of more the names are told on hover
DIGITS = 6  # that a picture keeps of a number
_PROPERTIES = {"constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString"}
_PROPERTIES |= {
    "valueOf",
    "__proto__",
    *(f"__{do}{what}__" for do in ("define", "lookup") for what in ("Getter", "Setter")),
}
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def format_label(name: str) -> str:
    """An id as it can be drawn: bytes that are no text, signs that XML forbids or that turn text round are written out.

    >>> format_label("a\\udcff\\x01")
    'a\\\\xff\\\\x01'
    """
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return _UNPRINTABLE.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def round_number(value: float | None) -> float | None:
    """A number as a picture keeps it; null where there is none.

    >>> round_number(2 / 3), round_number(float("nan"))
    (0.666667, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{DIGITS}g}")


def round_numbers(values: Iterable[float]) -> list[float | None]:
    return [round_number(value) for value in values]


def join_systems(texts: Sequence[str], most: int = 4) -> str:
    """A few names in a sentence, or how many systems they are.

    >>> join_systems(["bm25", "lm", "rm3"]), join_systems(["x"] * 12)
    ('bm25, lm and rm3', '12 systems')
    """
    if len(texts) > most:
        return f"{len(texts)} systems"
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def find_leaders(worth: Mapping[str, float]) -> list[str]:
    """Who has the highest value; several if they tie.

    >>> find_leaders({"bm25": 0.4, "lm": 0.5, "rm3": 0.5})
    ['lm', 'rm3']
    """
    best = max(worth.values())
    return [name for name, value in worth.items() if value >= best - 1e-12]


def label_systems(scores: Scores) -> list[str]:
    """The systems as they can be drawn, told apart."""
    return make_distinct([_keyed(format_label(run.name)) for run in scores.runs])


def label_topics(scores: Scores) -> list[str]:
    """The queries as they can be drawn, told apart."""
    return make_distinct([_keyed(format_label(query)) for query in scores.queries])


def _keyed(text: str) -> str:
    """A name that is no property of every object in JavaScript, where Vega looks names up; it looks the same."""
    return f"{text}\u200b" if text in _PROPERTIES else text


def make_distinct(texts: Sequence[str]) -> list[str]:
    """Texts with a mark behind those that are there already.

    >>> make_distinct(["a", "b", "a"])
    ['a', 'b', "a'"]
    """
    found: dict[str, None] = {}
    for text in texts:
        while text in found:
            text += "'"
        found[text] = None
    return list(found)


class MeasureColumn(Record, eq=False):
    """A measure of a picture: its name, what it is, and a row of values for each system, a column for each query."""

    label: str
    measure: Measure
    values: Floats
    place: int | None = None  # which row of the scores it is, if they have it

    @property
    def domain(self) -> list[float] | None:
        """The range of an axis: that of the measure, or None if it has none."""
        low, high = self.measure.low, self.measure.high
        if not (math.isfinite(low) and math.isfinite(high)):
            return None
        # a normaliser that is only near the best ranking may let values above 1 happen, which they hardly do
        return [low, 1.0 if 1 < high < 2 and not (self.values > 1).any() else high]

    @property
    def of_all(self) -> str:
        """What the value of a system is called."""
        return {"sum": f"total {self.label}", "run": self.label}.get(self.measure.aggregate, f"mean {self.label}")

    @property
    def reach(self) -> list[float]:
        """The range of the measure, or that of the values and 0 if it has none."""
        if self.domain is not None:
            return self.domain
        low, high = min(0.0, float(np.nanmin(self.values))), max(0.0, float(np.nanmax(self.values)))
        return [low, high if high > low else low + 1.0]

    @property
    def scale(self) -> dict[str, Any]:
        """The scale of an axis of values."""
        return {"zero": True} if self.domain is None else {"domain": self.domain, "nice": False}

    @property
    def sign(self) -> int:
        """1 where more is better, −1 where less is."""
        return 1 if self.measure.more_is_better else -1


def choose_measures(
    asked: str | Measure | Sequence[str | Measure] | None, usual: Sequence[str | Measure]
) -> list[str | Measure]:
    """The measures that are asked for, whether one or several, or the usual ones.

    >>> choose_measures("AP", ["nDCG@10"]), choose_measures(None, ["nDCG@10"])
    (['AP'], ['nDCG@10'])
    """
    if isinstance(asked, (str, Measure)):
        return [asked]
    return list(asked or usual)


def measure_column(scores: Scores, measure: str | Measure | None) -> MeasureColumn:
    """The values of every query for a measure: the first of the scores if none is named.

    A measure that the scores do not have is computed from the joined runs that they hold.
    """
    label = scores.labels[0] if measure is None else str(measure)
    i = _place(scores, label, measure)
    if i is not None:
        return MeasureColumn(
            format_label(label), scores.measures[i], np.array([run.values[i] for run in scores.runs]), i
        )
    kind = resolve_measure(scores, measure)
    rows = [
        align_to_queries(scores, run, compute_from_hits(run, lambda judged: compute_measure(kind, judged)))
        for run in scores.runs
    ]
    return MeasureColumn(format_label(label), kind, np.array(rows))


def query_column(scores: Scores, measure: str | Measure | None) -> MeasureColumn:
    """The same for a picture of queries, of which some measures have no values."""
    label = scores.labels[0] if measure is None else str(measure)
    i = _place(scores, label, measure)
    kind = scores.measures[i] if i is not None else resolve_measure(scores, measure)
    if kind.aggregate == "run":
        raise EvaluationError(f"{label} is a value of the run as a whole: there are none of queries to be drawn.")
    return measure_column(scores, measure)


def _place(scores: Scores, label: str, measure: str | Measure | None) -> int | None:
    """Which row of the scores a measure is, if they have it."""
    if label in scores.labels:
        return scores.labels.index(label)
    return scores.measures.index(measure) if isinstance(measure, Measure) and measure in scores.measures else None


def resolve_measure(scores: Scores, measure: str | Measure | None) -> Measure:
    """A measure by its name, with the lowest relevant grade that the scores were made with."""
    kind = measure if isinstance(measure, Measure) else parse_measure(str(measure))
    rel = float(scores.conventions.get("rel", 1))
    return kind if rel == 1 else kind.with_defaults(rel=rel)


def compute_measure(measure: Measure, judged: JudgedRun) -> Floats:
    """The values of a measure, over all orders of tied documents if the join says so."""
    if judged.joining.ties != "expected":
        return measure.values(judged)
    values = measure.expected_values(judged)
    if values is None:
        raise EvaluationError(
            f"{measure} over all orders of ties is not known exactly: choose other ties than expected."
        )
    return values


def compute_from_hits(run: RunScores, compute: Callable[[JudgedRun], Floats]) -> Floats:
    """What follows from all hits of a run, its last axis being `run.judged.queries`.

    Scores of many files keep the first ranks only: then the run is read and joined once more.
    """
    judged = run.judged
    if judged.depth > JUDGED_DEPTH or not (judged.retrieved > JUDGED_DEPTH).any():
        return compute(judged)
    sources = judged.sources
    whole = join_run(sources.qrels, sources.run, judged.joining, sources.extras)
    at = {query: i for i, query in enumerate(whole.queries)}
    return compute(whole)[..., [at[query] for query in judged.queries]]


def align_to_queries(scores: Scores, run: RunScores, values: Floats) -> Floats:
    """Values of the queries of a join among all queries of the scores, NaN for those that were skipped."""
    if run.judged.queries == scores.queries:
        return values
    at = {query: i for i, query in enumerate(scores.queries)}
    whole = np.full((*values.shape[:-1], len(scores.queries)), np.nan)
    whole[..., [at[query] for query in run.judged.queries]] = values
    return whole


def compute_mean(scores: Scores, values: Floats) -> float:
    """The mean of the queries that were not skipped, as the scores average; NaN if there are none."""
    there = ~np.isnan(values)
    weights = None
    if scores.weights is not None:
        weights = [scores.weights[query] for query, is_there in zip(scores.queries, there, strict=True) if is_there]
    return average(values[there].tolist(), weights, scores.how)


def compute_means(scores: Scores, col: MeasureColumn) -> Floats:
    """The mean of each system."""
    if col.place is not None:
        return np.array([scores.mean(scores.labels[col.place], run.name) for run in scores.runs], dtype=np.float64)
    return np.array([compute_mean(scores, row) for row in col.values])


def find_system(scores: Scores, name: str | None) -> int:
    """Which of the systems has a name; the first if none is given."""
    known = [run.name for run in scores.runs]
    if name is None:
        return 0
    if name not in known:
        raise CranfieldError(f"no run {name!r} among these: they are {join_names(known)}.")
    return known.index(name)


def find_query(scores: Scores, query: str) -> int:
    """Which of the queries has an id."""
    if query not in scores.queries:
        import difflib

        near = difflib.get_close_matches(query, scores.queries, n=3, cutoff=0.6)
        first = [*near, *(other for other in scores.queries if other not in near)]
        raise EvaluationError(f"no query {query!r} is judged: there are {join_names(first)}.")
    return scores.queries.index(query)


def rank_by_mean(col: MeasureColumn, means: Floats) -> list[int]:
    """Systems from the best to the worst; those without a mean last, equal ones in the order they came in."""
    worth = np.where(np.isnan(means), -np.inf, col.sign * means)
    return sorted(range(len(means)), key=lambda i: -worth[i])


def split_into_groups(n: int, most: int) -> list[slice]:
    """Places of n neighbours, as many together as it takes for at most so many groups.

    >>> split_into_groups(5, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    size = max(1, math.ceil(n / most))
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def label_group(queries: Sequence[str]) -> str:
    """The name of one topic, or of several that are drawn as one.

    >>> label_group(["7"]), label_group(["7", "3", "12"])
    ('7', '7 … 12 (3)')
    """
    return queries[0] if len(queries) == 1 else f"{queries[0]} … {queries[-1]} ({len(queries):,})"


def require_room(numbers: int, how: str) -> None:
    """An error if a picture would hold more numbers than can be looked at."""
    if numbers > MOST // 5:
        raise CranfieldError(f"{how} are too much for one picture: take fewer of either.")
