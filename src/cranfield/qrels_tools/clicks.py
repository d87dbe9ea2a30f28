"""Qrels from click logs by a stated rule, marked as such: nobody judged anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Origin, Qrels
from cranfield.errors import CranfieldError, InputError
from cranfield.io import (
    DOC_COLUMNS,
    QUERY_COLUMNS,
    Input,
    JsonObject,
    PathLike,
    display_name,
    find_column,
    get_required,
    parse_id,
    parse_json,
    parse_number,
    read_delimited,
)
from cranfield.qrels_tools.provenance import CLICKS, Provenance, ProvenanceSource
from cranfield.stats import wilson_interval

Rule = Literal["wilson", "ctr"]
CLICK_THRESHOLDS = (0.1, 0.3)
MIN_IMPRESSIONS = 10
CLICK_CAUTION = (
    "Clicks are not judgments: people click what they are shown, and see more of what is ranked high. A system that "
    "finds other documents than those that were shown gains nothing with these qrels."
)
_CLICKS = ("clicks", "click", "click_count", "clicked", "n_clicks", "num_clicks", "total_clicks")
_IMPRESSIONS = (
    "impressions",
    "impression",
    "impression_count",
    "n_impressions",
    "num_impressions",
    "views",
    "view_count",
    "shown",
    "exposures",
)
_TEXT = ("query_text", "querytext", "search_term", "search_terms", "keywords", "q")


class ClickRule(Record):
    """How clicks become grades: a grade for each threshold that the click-through rate reaches."""

    rule: Rule = "wilson"
    thresholds: tuple[float, ...] = CLICK_THRESHOLDS
    least: int = MIN_IMPRESSIONS  # impressions
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.rule not in ("wilson", "ctr"):
            raise CranfieldError(f"unknown rule {self.rule!r}: expected wilson or ctr.")
        rising = all(a < b for a, b in zip(self.thresholds, self.thresholds[1:], strict=False))
        if not self.thresholds or not rising or not all(0 < t <= 1 for t in self.thresholds):
            shown = ", ".join(f"{t:g}" for t in self.thresholds)
            raise CranfieldError(f"thresholds {shown}: expected rates above 0 and at most 1, in ascending order.")
        if self.least < 1:
            raise CranfieldError(f"least={self.least} is out of range: expected at least 1 impression.")
        if not 0 < self.level < 1:
            raise CranfieldError(f"level={self.level:g} is out of range: expected a number between 0 and 1.")

    @property
    def description(self) -> str:
        """The rule in a phrase."""
        grades = ", ".join(f"{grade} from {t:g}" for grade, t in enumerate(self.thresholds, 1))
        few = f"pairs with fewer than {pluralize(self.least, 'impression')}"
        if self.rule == "ctr":
            return f"grade {grades} by the share of impressions that were clicked, else 0; {few} are left out"
        interval = f"{100 * self.level:g} % Wilson interval"
        return (
            f"grade {grades} by the lower end of the {interval} of the share of impressions that were clicked; 0 if "
            f"the upper end is below {self.thresholds[0]:g}; pairs in between are left out, and so are {few}"
        )

    def grade(self, clicks: float, impressions: float) -> float | None:
        """The grade of a pair with enough impressions; None if it is undecided.

        >>> ClickRule().grade(60, 100), ClickRule().grade(0, 100), ClickRule().grade(1, 12)
        (2.0, 0.0, None)
        """
        low = high = clicks / impressions
        if self.rule == "wilson":
            low, high = wilson_interval(clicks, impressions, self.level)
        reached = sum(low >= threshold for threshold in self.thresholds)
        return None if not reached and high >= self.thresholds[0] else float(reached)


class ClickQrels(Record, eq=False):
    """Qrels from clicks, with what was left out and why."""

    qrels: Qrels
    rule: ClickRule
    source: ProvenanceSource
    pairs: int  # in the log
    few: int  # with too few impressions
    undecided: int
    notes: tuple[str, ...]

    def provenance(self) -> Provenance:
        settings = {
            "rule": self.rule.rule,
            "thresholds": list(self.rule.thresholds),
            "least_impressions": self.rule.least,
            "level": self.rule.level,
            "pairs": self.pairs,
            "too_few_impressions": self.few,
            "undecided": self.undecided,
        }
        made_by = "cranfield qrels clicks"
        return Provenance(
            made_by, "clicks", self.rule.description, (self.source,), settings, (CLICK_CAUTION, *self.notes)
        )


def make_click_qrels(
    log: PathLike, rule: ClickRule | None = None, topics: Mapping[str, str] | None = None
) -> ClickQrels:
    """Make qrels from a click log: CSV or TSV with a header, or JSON lines, with query, doc, clicks and impressions.

    Rows of the same query and document are added up. If the log has texts instead of query ids, `topics` maps ids to
    texts; other queries are left out and noted.
    """
    rule = rule or ClickRule()
    with Input(log) as source:
        rows = _Rows(topics)
        for line, record_ in _records(source):
            rows.add(record_, source.name, line)
        origin = Origin(source.name, "clicks", "as requested", source.sha256)
    rows.check(origin.file)
    few = undecided = 0
    queries, docs, grades = list[str](), list[str](), list[float]()
    for (query, doc), (clicks, impressions) in rows.counts.items():
        if impressions < rule.least:
            few += 1
            continue
        grade = rule.grade(clicks, impressions)
        if grade is None:
            undecided += 1
            continue
        queries.append(query)
        docs.append(doc)
        grades.append(grade)
    if not grades:
        raise InputError(
            f"no pair remains: {few:,} of {len(rows.counts):,} have fewer than {pluralize(rule.least, 'impression')}, "
            f"{undecided:,} are undecided. Lower --min-impressions, or choose --rule ctr.",
            origin.file,
        )
    made = Qrels.from_rows(queries, docs, grades, subtopics=[CLICKS] * len(docs), name=display_name(log), origin=origin)
    of = ProvenanceSource(display_name(log), origin.file, origin.sha256)
    return ClickQrels(made, rule, of, len(rows.counts), few, undecided, tuple(rows.notes()))


class _Rows:
    """Clicks and impressions of every pair, added up."""

    def __init__(self, topics: Mapping[str, str] | None) -> None:
        self.topics = None if topics is None else _by_text(topics)
        self.counts: dict[tuple[str, str], tuple[float, float]] = {}
        self.rows = self.repeated = self.too_many = 0
        self.unused: dict[str, None] = {}
        self.unknown: dict[str, int] = {}

    def add(self, row: Mapping[str, Any], file: str, line: int) -> None:
        try:
            query = parse_id(get_required(row, (*QUERY_COLUMNS, *_TEXT), "query"), "query")
            doc = parse_id(get_required(row, (*DOC_COLUMNS, "url"), "document"), "document")
            clicks = _number(get_required(row, _CLICKS, "number of clicks"), "clicks")
            impressions = _number(get_required(row, _IMPRESSIONS, "number of impressions"), "impressions")
        except InputError as error:
            raise InputError(error.message, file, line) from None
        self.rows += 1
        used = {
            find_column(row, names)
            for names in ((*QUERY_COLUMNS, *_TEXT), (*DOC_COLUMNS, "url"), _CLICKS, _IMPRESSIONS)
        }
        self.unused |= dict.fromkeys(name for name in row if name not in used)
        if self.topics is not None:
            known = self.topics.get(_plain(query))
            if known is None:
                self.unknown[query] = self.unknown.get(query, 0) + 1
                return
            query = known
        if clicks > impressions:
            self.too_many += 1
            clicks = impressions
        before = self.counts.get((query, doc))
        self.repeated += before is not None
        had = before or (0.0, 0.0)
        self.counts[query, doc] = (had[0] + clicks, had[1] + impressions)

    def check(self, file: str) -> None:
        if not self.rows:
            raise InputError("the log has no rows: expected query, doc, clicks and impressions.", file)
        if not self.counts:
            raise InputError(
                f"none of the queries in the log is among the topics; the log has {join_names(self.unknown, 3)}.", file
            )
        if 2 * self.too_many > self.rows:
            raise InputError(
                f"{self.too_many:,} of {pluralize(self.rows, 'row')} have more clicks than impressions: are the two "
                "columns swapped?",
                file,
            )

    def notes(self) -> Iterator[str]:
        if self.repeated:
            yield f"{pluralize(self.repeated, 'row')} added to an earlier one of the same query and document."
        if self.too_many:
            yield f"{pluralize(self.too_many, 'row')} with more clicks than impressions: clicks are capped."
        if self.unknown:
            number = pluralize(len(self.unknown), "query")
            yield f"{number} of the log left out, not among the topics: {join_names(self.unknown, 3)}."
        if self.unused:
            yield f"unused columns: {', '.join(self.unused)}."


def _by_text(topics: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for id, text in topics.items():
        if found.setdefault(_plain(text), id) != id:
            raise InputError(
                f"topics {found[_plain(text)]!r} and {id!r} have the same text: which do the clicks belong to?"
            )
    return found


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def _number(value: Any, what: str) -> float:
    number = parse_number(value, what)
    if number < 0 or not number.is_integer():
        raise InputError(f"{what} {number:g}: expected a whole number from 0.")
    return number


def _records(source: Input) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows as mappings, with their line numbers: JSON lines, or columns below a header."""
    lines = [line for line in source.head.split(b"\n") if line.strip() and not line.startswith(b"#")]
    if not lines:
        raise InputError("the file is empty, expected a click log: query, doc, clicks, impressions.", source.name)
    if lines[0].lstrip().startswith(b"{"):
        yield from _json_lines(source)
        return
    yield from read_delimited(source, "\t" if b"\t" in lines[0] else ",")


def _json_lines(source: Input) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in source.lines():
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            found = parse_json(line)
            if not isinstance(found, JsonObject):
                raise InputError("expected a JSON object on each line.")
            yield number, found.record()
        except InputError as error:
            raise InputError(error.message, source.name, number) from None
