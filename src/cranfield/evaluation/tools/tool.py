"""Another tool, as a list of differences from our conventions.

A tool's value is ours after a few changes to a `Setting`: to the measure, to the join, or to the inputs. Each change is
a `Difference` that names its convention, so it can be made alone and blamed alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from cranfield.base import OnDuplicate, Record, fields, replace
from cranfield.data import Floats, Qrels, Run
from cranfield.errors import MeasureError
from cranfield.evaluation.tools.inputs import SETTLED, Prepare, whole_grades, with_stand_ins
from cranfield.joining import Joining
from cranfield.measures import REGISTRY, Measure, NumQ


class Setting(Record):
    """A measure with all that its value depends on besides qrels and run."""

    measure: Measure
    joining: Joining = Joining()
    prepare: tuple[Prepare, ...] = ()
    settle: Prepare | None = None  # what it does with documents judged for several subtopics; the highest grade if None
    stands_in: bool = False  # whether a missing query that counts as zero is given a list of one unknown document
    on_duplicate: OnDuplicate = "error"  # which row counts where a document is there twice

    @property
    def data(self) -> Hashable:
        """What decides which data the measure is given."""
        settle = None if "subtopic" in self.measure.reads_columns else self.settle
        return settle, self.prepare, self.stands_in and self.joining.missing == "zero"

    def settled(self, qrels: Qrels, run: Run) -> Qrels:
        """Qrels with one row a document, for a measure that does not look at subtopics and a tool that knows none."""
        subtopics_matter = "subtopic" in self.measure.reads_columns
        return qrels if self.settle is None or subtopics_matter or not qrels.merged else self.settle(qrels, run)[0]

    def read(self, grades: Floats) -> Floats:
        """What the tool makes of grades."""
        return np.trunc(grades) + 0.0 if whole_grades in self.prepare else grades

    def prepared(self, qrels: Qrels, run: Run) -> tuple[Qrels, Run]:
        """Qrels and run as the tool would be given them."""
        qrels = self.settled(qrels, run)
        for step in self.prepare:
            qrels, run = step(qrels, run)
        return qrels, with_stand_ins(qrels, run) if self.stands_in and self.joining.missing == "zero" else run


class Difference(Record):
    """One thing that a tool does otherwise: which convention it is, how the tool has it, and the change it makes."""

    what: str
    how: str
    change: Callable[[Setting], Setting]
    sets: frozenset[str] = frozenset()  # the options or parameters it decides; if given explicitly, they stand


Rule = Callable[[Any, float | None], Iterable[Difference] | None]


class Tool(Record):
    """Another tool: what it always does differently, and what it does with each measure it has."""

    name: str
    title: str
    always: tuple[Difference, ...]
    rules: Mapping[str, Rule]  # by our name of the measure; a rule gives None for a form the tool does not have
    usual: tuple[str, ...] = ()  # default measures, if it has none of ours
    judged_only: bool = False  # whether it can leave unjudged documents out

    def differences(
        self, measure: Measure, rel: float | None = None, given: Iterable[str] = ()
    ) -> tuple[Difference, ...] | None:
        """What the tool does otherwise for a measure, except what was given explicitly; None if it lacks the measure.

        >>> from cranfield.evaluation import TOOLS
        >>> from cranfield.measures import nDCG
        >>> [d.how for d in TOOLS["gdeval"].differences(nDCG(cutoff=10))]  # doctest: +ELLIPSIS
        ['queries that the run lacks are left out', ..., 'the gain of a grade is 2^grade − 1']
        """
        rule = self.rules.get(measure.name)
        lacking = rule is None or (measure.judged_only and not self.judged_only) or not measure.repeats
        own = None if rule is None or lacking else rule(measure, rel)
        if own is None:
            return None
        named = {difference.what: difference for difference in (*self.always, *own)}
        start = Setting(measure)
        return tuple(d for d in named.values() if not d.sets & set(given) and d.change(start) != start)

    def understood(
        self, label: str, measure: Measure, rel: float | None = None, options: Mapping[str, Any] | None = None
    ) -> Setting:
        """The measure as the tool understands its name, under the options that were given explicitly.

        >>> from cranfield.evaluation import TOOLS
        >>> from cranfield.measures import AP
        >>> TOOLS["spark"].understood("AP@10", AP(cutoff=10)).measure
        AP(denominator='min(R,k)')@10
        """
        given = dict(options or {})
        differences = self.differences(measure, rel, {*given, *named_parameters(label, measure)})
        if differences is None:
            raise MeasureError(
                f"{self.title} has {measure.name}, but not as {label}: with other parameters, or with a cutoff."
                if measure.name in self.has()
                else f"{self.title} has no {label}. It has {', '.join(self.has())}."
            )
        setting = Setting(measure)
        for difference in differences:
            setting = difference.change(setting)
        rule = given.pop("on_duplicate", None)
        if rule is not None:
            setting = replace(setting, on_duplicate=rule, settle=SETTLED[rule])
        return replace(setting, joining=replace(setting.joining, **given))

    @property
    def on_duplicate(self) -> OnDuplicate:
        """Which row counts for the tool where a document is there twice."""
        setting = Setting(NumQ())
        for difference in self.always:
            setting = difference.change(setting) if "on_duplicate" in difference.sets else setting
        return setting.on_duplicate

    def has(self) -> list[str]:
        """The measures that the tool has, by our names."""
        return [name for name in self.rules if name in REGISTRY]


def named_parameters(label: str, measure: Measure) -> set[str]:
    """The parameters that a measure's name gives a value to, by whatever name.

    >>> from cranfield.measures import nDCG
    >>> named_parameters("nDCG(dcg='log2')@10", nDCG(cutoff=10)) >= {"gain"}
    True
    """
    named = set(re.findall(r"(\w+)\s*=", label))
    meant = {ours for name in named for ours, _ in measure.synonyms.get(name, {}).values()}
    return named | meant | ({"gain"} if isinstance(measure.gain, Mapping) else set())


def change_join(what: str, how: str, **options: Any) -> Difference:
    """Another rule of the join."""
    return Difference(
        what, how, lambda setting: replace(setting, joining=replace(setting.joining, **options)), frozenset(options)
    )


def change_parameters(what: str, how: str, **values: Any) -> Difference:
    """Other values of the measure's parameters."""
    return Difference(
        what, how, lambda setting: replace(setting, measure=replace(setting.measure, **values)), frozenset(values)
    )


def reinterpret_parameters(what: str, how: str, **values: Any) -> Difference:
    """Parameters that mean something else to the tool, so they have another value here even if given."""
    return replace(change_parameters(what, how, **values), sets=frozenset())


def change_measure(
    what: str, how: str, kind: type[Measure], instead_of: Iterable[str] = (), **values: Any
) -> Difference:
    """Another measure with the parameters that both have; `instead_of` are parameters that it does not look at."""

    def change(setting: Setting) -> Setting:
        old = setting.measure
        shared = {f.name: getattr(old, f.name) for f in fields(old) if f.name in kind.parameters}
        # what is not given has another default there
        shared = {name: value for name, value in shared.items() if value is not None}
        return replace(setting, measure=kind(**{**shared, **values}))

    return Difference(what, how, change, frozenset(instead_of))


def change_inputs(what: str, how: str, step: Prepare, unless: Iterable[str] = ()) -> Difference:
    """Other data, unless an option decides that."""
    return Difference(what, how, lambda setting: replace(setting, prepare=(*setting.prepare, step)), frozenset(unless))
