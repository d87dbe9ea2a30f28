"""Evaluating as another tool would, and saying which of its conventions makes a value differ from ours."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import DEFAULT_MEASURES, OnDuplicate, Record, pluralize
from cranfield.data import Qrels, Run
from cranfield.errors import DuplicateError, EvaluationError
from cranfield.evaluation.bounds import possible_grades, unjudged
from cranfield.evaluation.evaluator import Evaluator
from cranfield.evaluation.scores import RunScores, drop_zero_fraction
from cranfield.evaluation.tools.conventions import TOOLS, find_tool
from cranfield.evaluation.tools.inputs import only_queries
from cranfield.evaluation.tools.tool import Difference, Setting, Tool, named_parameters
from cranfield.io import as_qrels, as_run
from cranfield.joining import JOIN_OPTIONS, Joining, join_run
from cranfield.measures import NICKNAMES, Measure, parse_measure, parse_measures

SAME = 1e-9  # values nearer than this are the same: tools add up in different orders

OF_MEANS = ("mean", "weights", "risk")  # options that concern means, which only the whole evaluation has
OF_MEASURES = ("rel", "docs")  # what measures have already been told
Read = Callable[[OnDuplicate], tuple[Qrels, Run]]  # judgments and run, given what to do with a document twice
Values = tuple[dict[str, float], float]  # of the queries that count, and of all


class ToolEvaluator(Evaluator):
    """Qrels and measures ready to evaluate runs as another tool would; what is given explicitly overrules the tool.

    >>> evaluator = ToolEvaluator("spark", {"q": {"a": 1, "b": 1, "c": 1}}, ["AP@1"])
    >>> evaluator.evaluate({"q": {"a": 1.0}}).mean("AP@1")
    1.0
    """

    def __init__(self, name: str, qrels: Any, measures: Any = None, **options: Any) -> None:
        self.tool = find_tool(name)
        self.explicit = {key: options.pop(key) for key in JOIN_OPTIONS if options.get(key) is not None}
        if options.get("on_duplicate") is not None:
            self.explicit["on_duplicate"] = options["on_duplicate"]
        options["on_duplicate"] = self.explicit.get("on_duplicate", self.tool.on_duplicate)
        asked = usual_measures(self.tool) if measures is None else self._expanded(measures)
        super().__init__(qrels, asked, **options)
        self.options = {key: value for key, value in options.items() if key not in (*OF_MEANS, *OF_MEASURES)}
        self.asked = self.measures
        self.settings = tuple(
            self.tool.understood(label, measure, self.rel, self.explicit)
            for label, measure in zip(self.labels, self.measures, strict=True)
        )
        self.joining = self.settings[0].joining
        self.measures = tuple(setting.measure for setting in self.settings)
        rows = [
            (i, row)
            for i, (label, measure) in enumerate(zip(self.labels, self.measures, strict=True))
            for row in self._rows(label, measure)
        ]
        self.rows = tuple(row for _, row in rows)
        self.setting_of = tuple(self.settings[i] for i, _ in rows)

    def _expanded(self, measures: Any) -> Any:
        """The measures requested; a nickname such as all_trec means those of its measures that the tool has."""
        if isinstance(measures, str) or not isinstance(measures, Iterable):
            measures = [measures]
        return [name for measure in measures for name in self._of_nickname(measure)]

    def _of_nickname(self, measure: Any) -> list[Any]:
        if measure not in NICKNAMES:
            return [measure]
        return [label for label, each in parse_measures([measure]) if self.tool.differences(each) is not None]

    @property
    def only_hits_matter(self) -> bool:
        """Never: each measure may want another join, and the tool may prepare the run."""
        return False

    def _scored(self, run: Run, bounds: bool) -> RunScores:
        """One run, every measure under the join that the tool gives it."""
        groups: dict[tuple[Joining, Hashable], list[int]] = {}
        for i, setting in enumerate(self.setting_of):
            groups.setdefault((setting.joining, setting.data), []).append(i)
        values = np.full((len(self.rows), len(self.qrels.queries)), np.nan)
        errors: list[Any] = [None] * len(self.rows)
        outer: list[Any] = [None] * len(self.rows)
        joins: list[Any] = [None] * len(self.rows)
        parts = [self._part(run, rows, bounds) for rows in groups.values()]
        for rows, (evaluator, scored) in zip(groups.values(), parts, strict=True):
            at = np.flatnonzero(np.isin(self.qrels.queries, evaluator.qrels.queries))
            place = {(row.measure, row.part): i for i, row in enumerate(evaluator.rows)}
            for i in rows:
                joins[i] = scored.judged
                j = place.get((self.rows[i].measure, self.rows[i].part))
                if j is not None:
                    values[i, at] = scored.values[j]
                    errors[i] = scored.query_errors[j]
                    outer[i] = _spread(scored.outer[j], at, values.shape[1])
        # coverage is that of the first measure, told of the data as they are
        evaluated = only_queries(self.qrels, parts[0][0].qrels.queries)
        judged = join_run(evaluated, run, self.joining, self.extras)
        return RunScores(run.name, values, judged, tuple(errors), run.origin, run.notes, tuple(outer), tuple(joins))

    def _part(self, run: Run, rows: Sequence[int], bounds: bool) -> tuple[Evaluator, RunScores]:
        """The measures that share a join."""
        setting = self.setting_of[rows[0]]
        qrels, prepared = setting.prepared(self.qrels, run)
        measures = list(dict.fromkeys(self.rows[i].measure for i in rows))
        evaluator = _evaluator(setting, qrels, measures, {**self.options, "bounds": bounds})
        if bounds:
            evaluator.grades = np.unique(setting.read(possible_grades(self.qrels)))
            evaluator.unjudged = unjudged(setting.settled(self.qrels, run), run)
        return evaluator, evaluator.score(prepared)

    def _conventions(self) -> dict[str, Any]:
        return {"as": self.tool.name, **super()._conventions()}

    @property
    def takes_highest_grade(self) -> bool:
        """Whether, of the grades for several subtopics, the highest counts for some measure."""
        return any(setting.settle is None for setting in self.settings)

    def _notes(self, runs: Sequence[RunScores]) -> Iterator[str]:
        yield from super()._notes(runs)
        hows: dict[tuple[str, ...], list[str]] = {}
        for label, asked in zip(self.labels, self.asked, strict=True):
            given = {*self.explicit, *named_parameters(label, asked)}
            own = self.tool.differences(asked, self.rel, given) or ()
            hows.setdefault(tuple(difference.how for difference in own), []).append(label)
        for how, labels in hows.items():
            if how:
                yield f"{', '.join(labels)} as in {self.tool.title}: {'; '.join(how)}."


def usual_measures(of: Tool) -> list[str]:
    """The default measures for a tool: ours, as far as it has them, or its own."""
    ours = [name for name in DEFAULT_MEASURES if of.differences(parse_measure(name)) is not None]
    return ours or [name for name in of.usual if name.partition("@")[0] in of.has()]


class Reason(Record):
    """A convention that makes a tool's value differ from ours."""

    what: str
    how: str
    queries: int  # how many queries have another value, or are left out, by this convention alone; 0 if by several only


class ToolValue(Record):
    """What a tool says."""

    tool: str
    title: str
    measure: str | None  # as the tool understands the name; None if it has no such measure
    value: float | None
    per_query: Mapping[str, float]
    reasons: tuple[Reason, ...] = ()
    no_matter: tuple[str, ...] = ()  # what it does otherwise without effect here
    stops: str | None = None  # why the tool gives no value


class Comparison(Record):
    """A measure's value by our definition and as each tool has it."""

    measure: str
    run: str
    queries: tuple[str, ...]
    value: float
    per_query: Mapping[str, float]
    tools: tuple[ToolValue, ...]
    stops: str | None = None  # why we give no value

    @property
    def differing(self) -> dict[str, list[str]]:
        """The queries for which some tool has another value than ours or none, with these tools."""
        found = {query: [t.tool for t in self.tools if self.differs(t, query)] for query in self.queries}
        return {query: tools for query, tools in found.items() if tools}

    def differs(self, other: ToolValue, query: str) -> bool:
        """Whether a tool has another value than ours, or leaves the query out."""
        if other.measure is None or (other.stops is not None and not other.per_query):
            return False
        return not _same(self.per_query.get(query), other.per_query.get(query))

    def record(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        stops = {} if self.stops is None else {"stops": self.stops}
        return {
            "measure": self.measure,
            "run": self.run,
            "value": _finite(self.value),
            **stops,
            "per_query": dict(self.per_query),
            "tools": [_tool_record(each) for each in self.tools],
            "differing": self.differing,
        }


def compare_tools(
    measure: str | Measure,
    qrels: Any,
    run: Any,
    *,
    tools: Iterable[str] = tuple(TOOLS),
    query: str | None = None,
    rel: float | None = None,
    on_duplicate: OnDuplicate | None = None,
    **extras: Any,
) -> Comparison:
    """A measure's value as each tool has it, beside the conventions responsible; `extras` are what Evaluator takes.

    A document that is there twice stops us and most tools, unless `on_duplicate` says what to do with it.

    >>> found = compare_tools("nDCG@2", {"q": {"a": 2, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, tools=["gdeval"])
    >>> round(found.value, 4), round(found.tools[0].value, 4), [reason.what for reason in found.tools[0].reasons]
    (0.8597, 0.7967, ['gain'])
    """

    def read(rule: OnDuplicate) -> tuple[Qrels, Run]:
        return as_qrels(qrels, on_duplicate=rule), as_run(run, on_duplicate=rule)

    return compare_tools_on(read, measure, tools=tools, query=query, rel=rel, on_duplicate=on_duplicate, **extras)


def compare_tools_on(
    read: Read,
    measure: str | Measure,
    *,
    tools: Iterable[str] = tuple(TOOLS),
    query: str | None = None,
    rel: float | None = None,
    on_duplicate: OnDuplicate | None = None,
    can_be_read_again: bool = True,
    **extras: Any,
) -> Comparison:
    """The same for judgments and a run that are yet to be read."""
    label = str(measure)
    asked = parse_measure(measure) if isinstance(measure, str) else measure
    if rel is not None:
        asked = asked.with_defaults(rel=rel)
    judgments, ranking, repeated = _read(read, on_duplicate, can_be_read_again)
    if query is not None:
        judgments = judgments.of(query)
        ranking = ranking.of(query) if query in ranking.position else ranking
    bench = _Bench(judgments, ranking, Setting(asked), extras, repeated, on_duplicate)
    return Comparison(
        measure=label,
        run=ranking.name,
        queries=judgments.queries,
        value=math.nan if repeated else bench.ours[1],
        per_query={} if repeated else bench.ours[0],
        tools=tuple(bench.tool_value(find_tool(name), label, asked, rel) for name in tools),
        stops=repeated,
    )


def _read(read: Read, on_duplicate: OnDuplicate | None, again: bool) -> tuple[Qrels, Run, str | None]:
    """Judgments and run as the tools that give a value read them, and the error for a repeated document."""
    try:
        return *read(on_duplicate or "error"), None
    except DuplicateError as error:
        if on_duplicate is not None or not again:
            raise
        # the only way in which a tool goes on
        return *read("last"), str(error)


class _Bench:
    """Qrels and a run on which settings are tried; `repeated` says why we and most tools refuse them."""

    def __init__(
        self,
        qrels: Qrels,
        run: Run,
        start: Setting,
        options: Mapping[str, Any],
        repeated: str | None = None,
        on_duplicate: OnDuplicate | None = None,
    ) -> None:
        self.options = options
        self.explicit = {} if on_duplicate is None else {"on_duplicate": on_duplicate}
        self.qrels = qrels
        self.run = run
        self.start = start
        self.repeated = repeated
        self._given: dict[Hashable, tuple[Qrels, Run]] = {}
        self._known: dict[Any, Values] = {}
        self.ours = self.values(start)

    def values(self, setting: Setting) -> Values:
        """{query: value} of the queries that count, and their mean; many settings come to the same."""
        if setting.data not in self._given:
            self._given[setting.data] = setting.prepared(self.qrels, self.run)
        qrels, run = self._given[setting.data]
        key = (setting.measure, setting.joining, id(qrels), id(run))
        if key not in self._known:
            self._known[key] = self._evaluated(setting, qrels, run)
        return self._known[key]

    def _evaluated(self, setting: Setting, qrels: Qrels, run: Run) -> Values:
        scores = _evaluator(setting, qrels, [setting.measure], self.options).evaluate(run)
        values, mean = scores.per_query(scores.labels[0]), scores.mean(scores.labels[0])
        counts = isinstance(mean, int)  # as a count does in scores
        return {query: drop_zero_fraction(value) for query, value in values.items()} if counts else values, mean

    def tool_value(self, of: Tool, label: str, asked: Measure, rel: float | None) -> ToolValue:
        """What a tool says, and why it is not what we say."""
        named = {*self.explicit, *named_parameters(label, asked)}
        differences = of.differences(asked, rel, named)
        if differences is None:
            return ToolValue(of.name, of.title, None, None, {})
        setting = of.understood(label, asked, rel, self.explicit)
        if self.repeated and setting.on_duplicate == "error":
            return ToolValue(of.name, of.title, str(setting.measure), None, {}, stops=self.repeated)
        try:
            found, stops = self.values(setting), None
        except EvaluationError as error:
            refused = self._refused(of, setting, differences, str(error))
            if setting.joining.missing != "error":
                return refused
            # what the tool would say if missing queries counted as zero, as they do for us
            differences = of.differences(asked, rel, {*named, "missing"}) or ()
            try:
                found = self.values(of.understood(label, asked, rel, {**self.explicit, "missing": "zero"}))
            except EvaluationError:
                return refused
            stops = self._stops(found[1])
        reasons = self._reasons(differences, found)
        blamed = {reason.what for reason in reasons}
        others = tuple(d.how for d in differences if d.what not in blamed)
        value = found[1] if stops is None else None
        return ToolValue(of.name, of.title, str(setting.measure), value, found[0], reasons, others, stops)

    def _refused(self, of: Tool, setting: Setting, differences: Sequence[Difference], why: str) -> ToolValue:
        """A tool that gives no value, with the conventions that make it stop by themselves."""
        reasons = tuple(Reason(d.what, d.how, 0) for d in differences if self._tried([d]) is None)
        return ToolValue(of.name, of.title, str(setting.measure), None, {}, reasons, stops=why)

    def _reasons(self, differences: Sequence[Difference], found: Values) -> tuple[Reason, ...]:
        """The fewest conventions that make the tool's values of ours."""
        alone = {difference.what: self._tried([difference]) for difference in differences}
        needed = self._needed(differences, found, alone)
        reasons = tuple(Reason(d.what, d.how, self._changed(alone[d.what])) for d in needed)
        twice = [d for d in differences if self.repeated and d.what == "duplicates"]
        return (*(Reason(d.what, d.how, 0) for d in twice), *reasons)

    def _needed(
        self, differences: Sequence[Difference], found: Values, alone: Mapping[str, Values | None]
    ) -> list[Difference]:
        """One convention that does it, or what is left after leaving out one by one all that make no difference."""
        if self._agree(self.ours, found):
            return []
        single = next((d for d in differences if self._agree(alone[d.what], found)), None)
        if single is not None:
            return [single]
        needed = list(differences)
        # first those that do nothing by themselves, and last what the tool does to all measures
        for difference in sorted(reversed(differences), key=lambda d: self._changed(alone[d.what]) > 0):
            fewer = [other for other in needed if other is not difference]
            if self._agree(self._tried(fewer), found):
                needed = fewer
        return needed

    def _tried(self, differences: Iterable[Difference]) -> Values | None:
        """The values under some conventions only; None where they make a tool stop."""
        setting = self.start
        for difference in differences:
            setting = difference.change(setting)
        try:
            return self.values(setting)
        except EvaluationError:
            return None

    def _agree(self, one: Values | None, other: Values) -> bool:
        if one is None:
            return False
        return _same(one[1], other[1]) and all(_same(one[0].get(q), other[0].get(q)) for q in self.qrels.queries)

    def _changed(self, found: Values | None) -> int:
        """How many queries have another value than ours."""
        if found is None:
            return 0
        return sum(not _same(found[0].get(query), self.ours[0].get(query)) for query in self.qrels.queries)

    def _stops(self, lenient: float) -> str:
        """Why the tool stops, and what it would say if missing queries counted as zero, and others not at all."""
        judged = set(self.qrels.queries)
        absent = sum(query not in self.run.position for query in judged)
        unjudged = sum(query not in judged for query in self.run.queries)
        lacks = [f"the run lacks {absent:,} of {len(judged):,} judged queries"] if absent else []
        more = [f"the run has {pluralize(unjudged, 'query')} without judgments"] if unjudged and not absent else []
        how = "with these as 0 it has" if absent else "without these the value is"
        return f"stops: {'; '.join([*lacks, *more])}; {how} {lenient:.4f}"


def _evaluator(setting: Setting, qrels: Qrels, measures: list[Measure], options: Mapping[str, Any]) -> Evaluator:
    joining = {name: getattr(setting.joining, name) for name in JOIN_OPTIONS}
    return Evaluator(qrels, measures, **{**options, **joining})


def _spread(some: Any, at: Any, n: int) -> Any:
    """Flags of some queries as flags of all n."""
    if some is None:
        return None
    flags = np.zeros(n, dtype=bool)
    flags[at] = some
    return flags


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return math.isclose(one, other, rel_tol=SAME, abs_tol=SAME)


def _finite(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _tool_record(each: ToolValue) -> dict[str, Any]:
    if each.measure is None:
        return {"tool": each.tool, "measure": None}
    record: dict[str, Any] = {"tool": each.tool, "measure": each.measure, "value": _finite(each.value)}
    if each.stops is not None:
        record["stops"] = each.stops
    return {
        **record,
        "because": [vars(reason) for reason in each.reasons],
        "without_effect": list(each.no_matter),
        "per_query": dict(each.per_query),
    }
