"""Topic by topic, measure by measure: values, sums in trec_eval's order, and the lines it prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from cranfield.base import Record
from cranfield.data import Bools, Floats, Qrels, Run
from cranfield.evaluation.tools.trec_eval.arguments import Options, read_arguments
from cranfield.evaluation.tools.trec_eval.joining import Topics, first_problem, join, labelled
from cranfield.evaluation.tools.trec_eval.outcome import Outcome, Stop
from cranfield.evaluation.tools.trec_eval.reading import COLUMNS, Reader, read_zscores
from cranfield.evaluation.tools.trec_eval.table import (
    AnyPoints,
    AnyRecall,
    Wanted,
    WrongUtility,
    as_trec_eval_sorts,
    wanted,
)
from cranfield.joining import JudgedRun
from cranfield.measures import Rndcg

LEAST = 0.00001  # what a geometric mean takes in place of less
MISSING_ZSCORE = -1000000.0
NO_NUMBER = "-nan is printed as 0.0000"
FRACTIONS = "gains less than 1 apart are sorted as the numbers they are; trec_eval takes them as equal"
ZScores = Mapping[tuple[str, str], tuple[float, float]]


def trec_eval(arguments: Sequence[str]) -> Outcome:
    """What trec_eval prints for a command line, and its exit code.

    >>> trec_eval(["-m", "foo", "qrels", "run"])
    Outcome(out='', err="trec_eval: illegal measure 'foo'\\n", code=1, help_for=None)
    """
    notes, out = _Notes(), []
    try:
        options = read_arguments(arguments)
        if options.help:
            return Outcome(help_for=tuple(options.measures if options.names else ()))
        for line in _prepared(options, notes).lines():
            out.append(line)
    except Stop as stop:
        # what a program has not yet written is lost when it is killed
        return Outcome("" if stop.is_crash else "".join(out), notes.text + stop.err, stop.code)
    return Outcome("".join(out), notes.text)


class _Notes:
    """What was repaired, each said once."""

    def __init__(self) -> None:
        self.said: dict[str, None] = {}

    def __call__(self, text: str) -> None:
        self.said[text] = None

    @property
    def text(self) -> str:
        return "".join(f"cranfield trec_eval: {text} (--strict undoes this).\n" for text in self.said)


def _prepared(options: Options, notes: _Notes) -> Evaluation:
    """Files and measures, read in the order in which trec_eval reports errors."""
    reader = Reader(options.version, options.strict, notes)
    if options.judgments not in COLUMNS:
        raise Stop(2, f"trec_eval: Illegal rel_format '{options.judgments}'\n")
    qrels = reader.judgments(options.files[0], options.judgments)
    if options.results != "trec_results":
        raise Stop(2, f"trec_eval: Illegal retrieval results format '{options.results}'\n")
    run, tag = reader.results(options.files[1])
    zscores = None if options.zscores is None else read_zscores(options.zscores)
    return Evaluation(options, notes, qrels, run, tag, zscores, wanted(options, notes))


class Evaluation(Record, eq=False):
    """Everything that is needed to print."""

    options: Options
    note: Callable[[str], None]
    qrels: Qrels
    run: Run
    tag: str
    zscores: ZScores | None
    wanted: list[Wanted]

    def lines(self) -> Iterator[str]:
        """What is printed, up to the first topic that cannot be evaluated."""
        wrong = [line.family for line in self.wanted if isinstance(line.measure, WrongUtility)]
        problem = first_problem(self.topics, self.options, [line.family for line in self.wanted], wrong)
        good = self.topics.n if problem is None else problem.topic
        values = self._all_values() if good and (problem is None or self.options.per_query) else {}
        if self.options.per_query:
            for i in range(good):
                yield from self._of_topic(i, values)
        if problem is not None:
            raise problem.stop
        if not self.topics.n:
            raise Stop(7, "trec_eval: No queries with both results and relevance info\n")
        if self.options.summary:
            for line in self.wanted:
                yield from self._summary(line, values.get(line.label))

    @cached_property
    def topics(self) -> Topics:
        return join(self.qrels, self.run, self.options)

    @cached_property
    def judged(self) -> JudgedRun:
        """The lists that measures look at."""
        judged = self.topics.judged
        assert judged is not None, "there are no topics"
        by_group = self.options.judgments == "qrels_jg"  # condensed for each group there
        return judged.condensed if self.options.judged_only and not by_group else judged

    # values

    def _all_values(self) -> dict[str, Floats]:
        measured = [line for line in self.wanted if line.measure is not None]
        return {line.label: self._as_zscores(line, self._values(line)) for line in measured}

    def _values(self, line: Wanted) -> Floats:
        """The value of each topic; its logarithm where the mean is geometric."""
        measure, judged = line.measure, self.judged
        assert measure is not None, f"{line.label} is a text"
        gain = getattr(measure, "gain", None)
        if self.options.level < 0 or (isinstance(gain, Mapping) and any(level < 0 for level in gain)):
            judged = labelled(judged)
        values = measure.values(judged)
        unrepaired = as_trec_eval_sorts(measure)
        if unrepaired is not None and not np.allclose(unrepaired.values(judged), values, rtol=1e-12, atol=0):
            self.note(FRACTIONS)
        undefined = self._undefined(line, judged)
        if undefined.any():
            values = np.where(undefined, np.nan if self.options.strict else 0.0, values)
            if not self.options.strict:
                self.note(NO_NUMBER)
        if measure.aggregate == "geometric":
            values = np.array([math.log(max(value, LEAST)) for value in values.tolist()])
        return np.where(self._is_reset(line.label), 0.0, values)

    def _undefined(self, line: Wanted, judged: JudgedRun) -> Bools:
        """Where trec_eval divides 0 by 0."""
        measure = line.measure
        if isinstance(measure, (AnyRecall, AnyPoints)):
            return measure.undefined(judged)
        if isinstance(measure, Rndcg):
            return np.asarray((measure.gaining(judged) == 0) & (judged.count_relevant(measure.lowest_relevant) > 0))
        return np.zeros(judged.n, dtype=bool)

    def _is_reset(self, label: str) -> Bools:
        """Which values version 10 sets to 0 since the list is a stand-in: only those of default names."""
        resets = label in ("num_ret", "utility", "rbp_resid") or label.startswith("unj")
        return np.array([resets and query in self.topics.stand_ins for query in self.topics.queries])

    def _as_zscores(self, line: Wanted, values: Floats) -> Floats:
        if self.zscores is None:
            return values
        known = [self.zscores.get((query, line.label)) for query in self.topics.queries]
        return np.array([_zscore(value, entry) for value, entry in zip(values.tolist(), known, strict=True)])

    # lines

    def _of_topic(self, i: int, values: Mapping[str, Floats]) -> Iterator[str]:
        query = self.topics.queries[i]
        for line in self.wanted:
            if line.family == "relstring":
                yield f"{line.label:<22}\t{query}\t'{self._relstring(i, line)}'\n"
            elif line.family not in ("runid", "num_q") and line.measure and line.measure.aggregate != "geometric":
                yield self._line(line, query, float(values[line.label][i]))

    def _relstring(self, i: int, line: Wanted) -> str:
        if self.topics.queries[i] in self.topics.stand_ins and line.label == "relstring":
            return ""
        judged = self.judged
        grades = judged.grade[int(judged.starts[i]) : int(judged.starts[i + 1])][: line.length]
        return "".join(_mark(grade) for grade in grades.tolist())

    def _summary(self, line: Wanted, values: Floats | None) -> Iterator[str]:
        if line.family == "runid":
            yield f"{line.label:<22}\tall\t{self.tag}\n"
        elif line.family == "num_q":
            yield self._line(line, "all", float(self._averaged_over))
        elif values is not None:
            yield self._line(line, "all", self._aggregate(line, values))

    def _aggregate(self, line: Wanted, values: Floats) -> float:
        """One number for all topics, added one after the other as doubles."""
        assert line.measure is not None, f"{line.label} is a text"
        total = 0.0
        for value in values.tolist():
            total += value
        if line.family == "num_rel" and self.options.complete:
            # recounted from all judgments, whatever the level of relevance (m_num_rel.c)
            return float(np.count_nonzero(self.qrels.grades > 0))
        if line.measure.aggregate == "sum":
            return total
        if line.measure.aggregate == "geometric":
            total += (self._averaged_over - self.topics.n) * math.log(LEAST)
            return float(np.exp(total / self._averaged_over))
        return total / self._averaged_over

    @property
    def _averaged_over(self) -> int:
        return len(self.qrels.queries) if self.options.complete else self.topics.n

    def _line(self, line: Wanted, query: str, value: float) -> str:
        assert line.measure is not None, f"{line.label} is a text"
        prefix = "" if self.zscores is None else "Z"
        is_count = line.measure.aggregate == "sum" and not prefix
        return f"{prefix}{line.label:<22}\t{query}\t{int(value) if is_count else _decimals(value)}\n"


def _decimals(value: float) -> str:
    return f"{value:6.4f}" if not math.isnan(value) else f"{'-nan':>6}"


def _zscore(value: float, known: tuple[float, float] | None) -> float:
    if known is None:
        return MISSING_ZSCORE
    mean, deviation = known
    if deviation:
        return (value - mean) / deviation
    return 0.0 if value == mean else MISSING_ZSCORE


def _mark(grade: float) -> str:
    """A grade as one character."""
    if math.isnan(grade):
        return "-"
    return "." if grade < 0 else str(int(grade)) if grade <= 9 else ">"
