"""Evaluating as another tool would, and saying which of its conventions makes a value differ from ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.collection import Qrels, Run
from cranfield.conventions import TOOLS, Difference, Prepare, Setting, Tool, named_parameters, only_queries, tool
from cranfield.errors import EvaluationError
from cranfield.formats import as_qrels, as_run
from cranfield.judged import Joining, judge
from cranfield.measures import Measure, parse_measure, parse_measures
from cranfield.measures.trec_names import NICKNAMES
from cranfield.scores import DEFAULT_MEASURES, Evaluator, RunScores

SAME = 1e-9  # values nearer than this are the same: tools add up in different orders
JOINING = ("ties", "rank_by", "score_type", "missing")
OF_MEANS = ("mean", "weights", "risk")  # what concerns means, of which only the whole evaluation has some


class ToolEvaluator(Evaluator):
    """Qrels and measures ready to evaluate runs as another tool would; what is given explicitly overrules the tool.

    >>> evaluator = ToolEvaluator("spark", {"q": {"a": 1, "b": 1, "c": 1}}, ["AP@1"])
    >>> evaluator.evaluate({"q": {"a": 1.0}}).mean("AP@1")
    1.0
    """

    def __init__(self, name: str, qrels: Any, measures: Any = None, **options: Any) -> None:
        self.tool = tool(name)
        self.explicit = {key: options.pop(key) for key in JOINING if options.get(key) is not None}
        asked = usual_measures(self.tool) if measures is None else self._expanded(measures)
        super().__init__(qrels, asked, **options)
        self.options = {key: value for key, value in options.items() if key not in OF_MEANS}
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
        """Measures as asked for; a nickname such as all_trec stands for those of its measures that the tool has."""
        if isinstance(measures, str) or not isinstance(measures, Iterable):
            measures = [measures]
        return [name for measure in measures for name in self._of_nickname(measure)]

    def _of_nickname(self, measure: Any) -> list[Any]:
        if measure not in NICKNAMES:
            return [measure]
        return [label for label, each in parse_measures([measure]) if self.tool.differences(each) is not None]

    def _scored(self, run: Run, bounds: bool) -> RunScores:
        """One run, every measure under the join that the tool gives it."""
        groups: dict[tuple[Joining, tuple[Prepare, ...]], list[int]] = {}
        for i, setting in enumerate(self.setting_of):
            groups.setdefault((setting.joining, setting.prepare), []).append(i)
        values = np.full((len(self.rows), len(self.qrels.queries)), np.nan)
        errors: list[Any] = [None] * len(self.rows)
        outer: list[Any] = [None] * len(self.rows)
        parts = [self._part(run, rows, bounds) for rows in groups.values()]
        for rows, (evaluator, scored) in zip(groups.values(), parts, strict=True):
            at = np.flatnonzero(np.isin(self.qrels.queries, evaluator.qrels.queries))
            place = {(row.measure, row.part): i for i, row in enumerate(evaluator.rows)}
            for i in rows:
                j = place.get((self.rows[i].measure, self.rows[i].part))
                if j is not None:
                    values[i, at] = scored.values[j]
                    errors[i] = scored.query_errors[j]
                    outer[i] = _spread(scored.outer[j], at, values.shape[1])
        # coverage is that of the first measure, told of the data as they are
        counted = only_queries(self.qrels, parts[0][0].qrels.queries)
        judged = judge(counted, run, self.joining, self.extras)
        return RunScores(run.name, values, judged, tuple(errors), run.origin, run.notes, tuple(outer))

    def _part(self, run: Run, rows: Sequence[int], bounds: bool) -> tuple[Evaluator, RunScores]:
        """The measures that share a join."""
        setting = self.setting_of[rows[0]]
        qrels, prepared = setting.prepared(self.qrels, run)
        measures = list(dict.fromkeys(self.rows[i].measure for i in rows))
        evaluator = _evaluator(setting, qrels, measures, {**self.options, "bounds": bounds})
        return evaluator, evaluator.score(prepared)

    def _conventions(self) -> dict[str, Any]:
        return {"as": self.tool.name, **super()._conventions()}

    def _notes(self, runs: Sequence[RunScores]) -> Iterator[str]:
        yield from super()._notes(runs)
        hows: dict[tuple[str, ...], list[str]] = {}
        for label, asked in zip(self.labels, self.asked, strict=True):
            given = {*self.explicit, *named_parameters(label)}
            own = self.tool.differences(asked, self.rel, given) or ()
            hows.setdefault(tuple(difference.how for difference in own), []).append(label)
        for how, labels in hows.items():
            if how:
                yield f"{', '.join(labels)} as in {self.tool.title}: {'; '.join(how)}."


def usual_measures(of: Tool) -> list[str]:
    """What to evaluate as a tool if nothing is asked for: our usual measures, as far as it has them, or its own."""
    ours = [name for name in DEFAULT_MEASURES if of.differences(parse_measure(name)) is not None]
    return ours or [name for name in of.usual if name.partition("@")[0] in of.has()]


@dataclass(frozen=True)
class Reason:
    """A convention that makes a tool's value differ from ours."""

    what: str
    how: str
    queries: int  # how many queries have another value, or are left out, by this convention alone


@dataclass(frozen=True)
class ToolValue:
    """What a tool says."""

    tool: str
    title: str
    measure: str | None  # as the tool understands the name; None if it has no such measure
    value: float | None
    per_query: Mapping[str, float]
    reasons: tuple[Reason, ...] = ()
    no_matter: tuple[str, ...] = ()  # what it does otherwise without effect here
    stops: str | None = None  # why the tool gives no value


@dataclass(frozen=True)
class Comparison:
    """A measure's value by our definition and as each tool has it."""

    measure: str
    run: str
    queries: tuple[str, ...]
    value: float
    per_query: Mapping[str, float]
    tools: tuple[ToolValue, ...]

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
        return {
            "measure": self.measure,
            "run": self.run,
            "value": _finite(self.value),
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
    **extras: Any,
) -> Comparison:
    """A measure's value as each tool has it, beside the conventions responsible; `extras` are what Evaluator takes.

    >>> found = compare_tools("nDCG@2", {"q": {"a": 2, "b": 1}}, {"q": {"b": 2.0, "a": 1.0}}, tools=["gdeval"])
    >>> round(found.value, 4), round(found.tools[0].value, 4), [reason.what for reason in found.tools[0].reasons]
    (0.8597, 0.7967, ['gain'])
    """
    label = str(measure)
    asked = parse_measure(measure) if isinstance(measure, str) else measure
    if rel is not None:
        asked = asked.with_defaults(rel=rel)
    judgments, ranking = as_qrels(qrels), as_run(run)
    if query is not None:
        judgments = judgments.of(query)
    bench = _Bench(judgments, ranking, Setting(asked), extras)
    return Comparison(
        measure=label,
        run=ranking.name,
        queries=judgments.queries,
        value=bench.mean,
        per_query=bench.ours,
        tools=tuple(bench.tool_value(tool(name), label, asked, rel) for name in tools),
    )


class _Bench:
    """Qrels and a run on which settings are tried."""

    def __init__(self, qrels: Qrels, run: Run, start: Setting, options: Mapping[str, Any]) -> None:
        self.options = options
        self.qrels = qrels
        self.run = run
        self.start = start
        self.ours, self.mean = self.values(start)

    def values(self, setting: Setting) -> tuple[dict[str, float], float]:
        """{query: value} of the queries that count, and their mean."""
        qrels, run = setting.prepared(self.qrels, self.run)
        scores = _evaluator(setting, qrels, [setting.measure], self.options).evaluate(run)
        return scores.per_query(scores.labels[0]), scores.mean(scores.labels[0])

    def tool_value(self, of: Tool, label: str, asked: Measure, rel: float | None) -> ToolValue:
        """What a tool says, and why it is not what we say."""
        differences = of.differences(asked, rel, named_parameters(label))
        if differences is None:
            return ToolValue(of.name, of.title, None, None, {})
        setting = of.understood(label, asked, rel)
        stops = None
        try:
            values, mean = self.values(setting)
        except EvaluationError as error:
            stops = str(error)
            if setting.joining.missing != "error":
                return ToolValue(of.name, of.title, str(setting.measure), None, {}, stops=stops)
            # what the tool would say if missing queries counted as zero, as they do for us
            values, mean = self.values(replace(setting, joining=replace(setting.joining, missing="zero")))
            stops = self._stops(mean)
        reasons = self._reasons(differences, values)
        blamed = {reason.what for reason in reasons}
        others = tuple(d.how for d in differences if d.what not in blamed)
        value = mean if stops is None else None
        return ToolValue(of.name, of.title, str(setting.measure), value, values, reasons, others, stops)

    def _reasons(self, differences: Sequence[Difference], values: Mapping[str, float]) -> tuple[Reason, ...]:
        """The conventions that change a value by themselves; all of them if only together they do."""
        if not self._changed(values):
            return ()
        tried = [(difference, self._alone(difference)) for difference in differences]
        alone = tuple(Reason(difference.what, difference.how, n) for difference, n in tried if n)
        return alone or tuple(Reason(difference.what, difference.how, 0) for difference in differences)

    def _alone(self, difference: Difference) -> int:
        try:
            return self._changed(self.values(difference.change(self.start))[0])
        except EvaluationError:
            return 0

    def _changed(self, values: Mapping[str, float]) -> int:
        return sum(not _same(values.get(query), self.ours.get(query)) for query in self.qrels.queries)

    def _stops(self, lenient: float) -> str:
        """Why the tool stops, and what it would say if missing queries counted as zero."""
        absent = sum(query not in self.run.position for query in self.qrels.queries)
        how = f"stops: the run lacks {absent:,} of {len(self.qrels.queries):,} judged queries"
        return f"{how}; with these as 0 it has {lenient:.4f}"


def _evaluator(setting: Setting, qrels: Qrels, measures: list[Measure], options: Mapping[str, Any]) -> Evaluator:
    joining = {name: getattr(setting.joining, name) for name in JOINING}
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
