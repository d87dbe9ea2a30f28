"""What a measure is: a class that holds its definition, its computation and its documentation.

A measure is added in one place, by subclassing `Measure`. From the class come the parser, the docs page and the
common tests. Its fields are its parameters; `per_query` computes one value per query of a JudgedRun.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np

from cranfield.collection import Floats
from cranfield.errors import MeasureError
from cranfield.judged import JudgedRun

Aggregate = Literal["mean", "sum"]
REGISTRY: dict[str, type[Measure]] = {}


@dataclass(frozen=True)
class Parameter:
    """What a parameter may be, and what it is for."""

    what: str
    least: float | None = None
    most: float | None = None
    choices: tuple[str, ...] = ()
    whole: bool = False

    def check(self, name: str, value: Any) -> Any:
        """The value, made the right type, or a MeasureError that says what is allowed."""
        if isinstance(value, Mapping):
            return self._map(name, value)
        if self.choices:
            if isinstance(value, str) and value in self.choices:
                return value
            raise MeasureError(f"{name}={value!r} is unknown: expected {self.range()}.")
        number = self._number(name, value)
        if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
            raise MeasureError(f"{name}={value} is out of range: expected {self.range()}.")
        return number

    def range(self) -> str:
        """The range in words."""
        kind = "a whole number" if self.whole else "a number"
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.least is not None and self.most is not None:
            return f"{kind} from {self.least:.12g} to {self.most:,.12g}"
        return f"{kind} of at least {self.least:.12g}" if self.least is not None else kind

    def _number(self, name: str, value: Any) -> float | int:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise MeasureError(f"{name}={value!r}: expected {self.range()}.")
        if not _is_finite(value) or (self.whole and value != int(value)):
            raise MeasureError(f"{name}={value!r:.40}: expected {self.range()}.")
        return int(value) if self.whole else float(value)

    def _map(self, name: str, value: Mapping[Any, Any]) -> Mapping[float, float]:
        raise MeasureError(f"{name}={value!r}: expected {self.range()}.")


class Flag(Parameter):
    """A parameter that is True or False."""

    def check(self, name: str, value: Any) -> Any:
        if not isinstance(value, bool):
            raise MeasureError(f"{name}={value!r}: expected True or False.")
        return value

    def range(self) -> str:
        return "True or False"


MANY = 10**9  # more documents than any ranking has
_NEEDS = {
    "against": "another run to compare with: --against RUN",
    "doc_lengths": "the lengths of documents: --doc-lengths FILE",
    "duplicates": "the groups of duplicate documents: --duplicates FILE",
    "facts": "the facts or entities in documents: --facts FILE",
}
CUTOFF = Parameter("how many documents from the top count", least=1, most=MANY, whole=True)
REL = Parameter("the lowest grade that counts as relevant")
JUDGED_ONLY = Flag("leave documents without a judgment out of the ranking first")


@dataclass(frozen=True)
class Measure:
    """Base of all measures.

    Subclasses are frozen dataclasses whose fields are the parameters. A parameter that is None is not given.
    A value is a sum of terms, one for each hit, divided by a normaliser: a measure gives these two, and so is
    explained by the same numbers that compute it.
    """

    judged_only: bool = False

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    formula: ClassVar[str] = ""  # LaTeX, shown as MathML in the docs
    about: ClassVar[str] = ""  # the user model in a sentence, and what the measure ignores
    reference: ClassVar[str] = ""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    more_is_better: ClassVar[bool] = True
    is_quality: ClassVar[bool] = True  # whether a best run can be named by it
    nothing_found: ClassVar[str] = "0"  # the value when nothing relevant is retrieved
    tasks: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[Aggregate] = "mean"
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    required: ClassVar[tuple[str, ...]] = ()
    at: ClassVar[str] = "cutoff"  # the parameter that `@` sets
    synonyms: ClassVar[Mapping[str, Mapping[Any, tuple[str, Any]]]] = {}  # other tools' parameters
    needs: ClassVar[tuple[str, ...]] = ()  # which Extras it cannot do without
    rule: ClassVar[str] = "sum of the terms / normaliser"  # how the value comes from terms and normaliser

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.parameters = {**cls.parameters, "judged_only": JUDGED_ONLY}
        if cls.__dict__.get("name"):
            for name in (cls.name, *cls.aliases):
                REGISTRY[name] = cls

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                if field.name in self.required:
                    raise MeasureError(self._requires(field.name))
                continue
            checked = self.parameters[field.name].check(field.name, value)
            object.__setattr__(self, field.name, checked)

    def _requires(self, parameter: str) -> str:
        how = f"{self.name}@10" if parameter == self.at else f"{self.name}({parameter}=…)"
        return f"{self.name} needs {parameter} ({self.parameters[parameter].what}), e.g. {how}."

    def __str__(self) -> str:
        given = [
            (f.name, getattr(self, f.name))
            for f in dataclasses.fields(self)
            if f.name != self.at and getattr(self, f.name) != f.default
        ]
        inner = ",".join(f"{name}={_shown(value)}" for name, value in given)
        at = getattr(self, self.at, None)
        return f"{self.name}{f'({inner})' if inner else ''}{'' if at is None else f'@{_shown(at)}'}"

    def __repr__(self) -> str:
        return str(self)

    @property
    def is_binary(self) -> bool:
        """Whether the measure needs a lowest relevant grade."""
        return "rel" in self.parameters

    def with_defaults(self, **defaults: Any) -> Self:
        """The same with parameters that it has but that were not given."""
        open_ones = {k: v for k, v in defaults.items() if k in self.parameters and getattr(self, k) is None}
        return dataclasses.replace(self, **open_ones) if open_ones else self

    @property
    def lowest_relevant(self) -> float:
        rel = getattr(self, "rel", None)
        return 1.0 if rel is None else float(rel)

    def values(self, judged: JudgedRun) -> Floats:
        """One value per query, from the ranks as they stand."""
        return self.per_query(self.shown_list(judged))

    def expected_values(self, judged: JudgedRun) -> Floats | None:
        """The mean over all orders of documents with equal scores; None where no closed form is known."""
        return self.expected(self.shown_list(judged))

    def shown_list(self, judged: JudgedRun) -> JudgedRun:
        """The ranking that the measure looks at: condensed if it is for judged documents only."""
        for need in self.needs:
            if getattr(judged.sources.extras, need) is None:
                raise MeasureError(f"{self.name} needs {_NEEDS[need]}.")
        return judged.condensed if self.judged_only else judged

    def per_query(self, judged: JudgedRun) -> Floats:
        """The computation: one value per query, in the order of `judged.queries`."""
        return share(judged.total(self.terms(judged)), self.normaliser(judged))

    def terms(self, judged: JudgedRun) -> Floats:
        """What each hit contributes. Must also do for a dense join, where unjudged documents have grade NaN."""
        raise AssertionError(f"{type(self).__name__} computes nothing")

    def normaliser(self, judged: JudgedRun) -> Floats:
        """What the sum of the terms of each query is divided by; a value is 0 where this is 0."""
        return np.ones(judged.n)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        """The running quantities that lead to the terms, one array each, for the explanation."""
        return {}

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """Terms that belong to no retrieved document, as rows with at least `what` and `term`, for the explanation."""
        return []

    def expected(self, judged: JudgedRun) -> Floats | None:
        """The closed form of the mean over the orders of tied documents, where there is one."""
        return None if judged.has_ties else self.per_query(judged)


def all_measures() -> list[type[Measure]]:
    """Every measure once, in the order of definition."""
    return list(dict.fromkeys(REGISTRY.values()))


def share(part: Floats, whole: Floats | float) -> Floats:
    """part / whole, and 0 where there is nothing to divide by."""
    whole = np.broadcast_to(np.asarray(whole, dtype=np.float64), part.shape)
    return np.divide(part, whole, out=np.zeros_like(part), where=whole != 0)


def unknown_measure(name: str) -> MeasureError:
    """An error for a name that no measure has, with the nearest one that is there."""
    folded = {known.lower(): cls.name for known, cls in REGISTRY.items()}
    near = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    hint = f" Did you mean {folded[near[0]]}?" if near else ""
    return MeasureError(f"unknown measure {name!r}.{hint} Known: {', '.join(_known())}.")


def _known() -> Iterator[str]:
    return (cls.name for cls in all_measures())


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except (OverflowError, TypeError):  # a whole number beyond all doubles, a complex one
        return False


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_shown(k)}:{_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_shown, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
