"""What a measure is: a class that holds its definition, its computation and its documentation.

A measure is added in one place, by subclassing `Measure`. From the class come the parser, the docs page and the
common tests. Its fields are its parameters; `per_query` computes one value per query of a JudgedRun.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, ClassVar, Literal, Self

import numpy as np

from cranfield.base import Parameter, Record, fields, replace, suggest
from cranfield.data import Floats
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.joining import JudgedRun
from cranfield.measures.parameters import GAIN, JUDGED_ONLY, REPEATS
from cranfield.measures.registry import FAMILIES, FAMILY_OF

Aggregate = Literal["mean", "geometric", "sum", "run"]
# What the common tests (tests/measures/test_every_measure.py) expect of a measure unless its `lacks` says why not:
#   range    values are from `low` to `high`
#   swap     a better document that changes places with a worse one above it never makes the value worse
#   cutoff   an unjudged document below the cutoff changes nothing
#   perfect  if exactly the relevant documents are retrieved, best first, the value is `high` (tested where it is 1)
#   empty    retrieving nothing is worth 0, like a missing query
#   scores   only the order of the scores matters, not the scores
#   unjudged documents without a judgment do not matter once they are left out (judged_only)
#   columns  an explanation shows how each term is computed, in columns between grade and term
Property = Literal["range", "swap", "cutoff", "perfect", "empty", "scores", "unjudged", "columns"]


class Registry(dict[str, "type[Measure]"]):
    """Measures by name. A family is imported when one of its measures is used."""

    def __missing__(self, name: str) -> type[Measure]:
        if name in FAMILY_OF:
            self._import(FAMILY_OF[name])
        if not super().__contains__(name):
            raise KeyError(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in FAMILY_OF

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def import_all(self) -> None:
        """Import every family."""
        for family in FAMILIES:
            self._import(family)

    def _import(self, family: str) -> None:
        module = import_module(f"{__package__}.{family}")
        for kind in vars(module).values():
            # the measures defined there, not those it imports; again if they were removed from the registry
            if isinstance(kind, type) and issubclass(kind, Measure) and kind.__module__ == module.__name__:
                for name in (kind.name, *kind.aliases) if kind.__dict__.get("name") else ():
                    self.setdefault(name, kind)


REGISTRY = Registry()


_NEEDS = {
    "against": "another run to compare with: --against RUN",
    "doc_lengths": "the lengths of documents: --doc-lengths FILE",
    "duplicates": "the groups of duplicate documents: --duplicates FILE",
    "facts": "the facts or entities in documents: --facts FILE",
}
_QRELS_COLUMNS = {
    "stratum": "judgments of a stratified sample, in five columns: query iter doc stratum grade",
    "method": "prels, in five columns: query doc grade method probability",
    "probability": "prels, in five columns: query doc grade method probability",
}


class Measure(Record):
    """Base of all measures.

    The fields of a subclass are its parameters; None means that one was not set. A value is a sum of terms, one for
    each hit, divided by a normaliser. A measure defines these two, so the numbers that explain it are those that
    compute it.
    """

    gain: Any = None
    judged_only: bool = False
    repeats: bool = True

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    formula: ClassVar[str] = ""  # LaTeX, shown as MathML in the docs; of the mean, if that is not arithmetic
    about: ClassVar[str] = ""  # the user model in a sentence, and what the measure ignores
    user: ClassVar[str] = ""  # who reads how, or whose question it answers, in a sentence
    ignores: ClassVar[str] = ""  # what makes no difference to it, in a sentence
    weighting: ClassVar[str] = ""  # what a rank weighs, as a formula or in words; needed where rank_weights has none
    reference: ClassVar[str] = ""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    more_is_better: ClassVar[bool] = True
    is_quality: ClassVar[bool] = True  # whether a higher (or lower) value means a better run
    nothing_found: ClassVar[str] = "0"  # the value when nothing relevant is retrieved
    tasks: ClassVar[tuple[str, ...]] = ()
    aggregate: ClassVar[Aggregate] = "mean"
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    required: ClassVar[tuple[str, ...]] = ()
    at: ClassVar[str] = "cutoff"  # the parameter that `@` sets
    synonyms: ClassVar[Mapping[str, Mapping[Any, tuple[str, Any]]]] = {  # other tools' parameters
        "gains": {None: ("gain", None)}
    }
    has_own_gains: ClassVar[bool] = False  # whether it maps grades to gains itself
    reads_run: ClassVar[bool] = False  # whether it looks at documents beyond the judged ones
    judgments_matter: ClassVar[bool] = True  # whether the grade of a document can change the value
    grades_help: ClassVar[bool] = False  # whether a better grade of a retrieved document never makes the value worse
    beyond_rel: ClassVar[bool] = False  # whether grades matter beyond reaching the lowest relevant one
    reads_columns: ClassVar[tuple[str, ...]] = ()  # columns of the qrels it uses if present: subtopic, …
    needs: ClassVar[tuple[str, ...]] = ()  # the Extras it requires
    qrels_columns: ClassVar[tuple[str, ...]] = ()  # further columns of the qrels it requires
    # how the value follows from the sum of the terms and the normaliser, as a Python expression (with abs, min, max,
    # exp, log, sqrt); where it divides by 0 the value is 0
    rule: ClassVar[str] = "sum / normaliser"
    example: ClassVar[Mapping[str, Any]] = {}  # parameters to show and test it with, beside the required ones
    lacks: ClassVar[Mapping[Property, str]] = {}  # the common properties it does not have, and why, in a sentence
    normaliser_is: ClassVar[str] = ""  # what the normaliser is, in a few words, for the explanation
    source: ClassVar[str] = ""  # the file of a user's own measure that was named as file.py:Name

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        gain = cls.parameters.get("gain", GAIN)
        cls.parameters = {**cls.parameters, "gain": gain, "judged_only": JUDGED_ONLY, "repeats": REPEATS}
        if cls.__dict__.get("name"):
            cls.register()

    def __post_init__(self) -> None:
        if is_dataclass(self):
            raise MeasureError(f"{type(self).__name__}: remove the @dataclass decorator; a measure needs none.")
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                if field.name in self.required:
                    raise MeasureError(self._requires(field.name))
                continue
            try:
                checked = self.parameters[field.name].check(field.name, value)
            except CranfieldError as error:
                raise MeasureError(f"{self.name}: {error}") from None
            self.__dict__[field.name] = checked

    def _requires(self, parameter: str) -> str:
        at = {"cutoff": "@10", "recall": "@0.1"}.get(parameter)
        how = f"{self.name}{at}" if at and parameter == self.at else f"{self.name}({parameter}=…)"
        return f"{self.name} needs {parameter} ({self.parameters[parameter].help}), e.g. {how}."

    def __str__(self) -> str:
        given = [
            (f.name, getattr(self, f.name))
            for f in fields(self)
            if f.name != self.at and getattr(self, f.name) != f.default
        ]
        inner = ",".join(f"{name}={_shown(value)}" for name, value in given)
        at = getattr(self, self.at, None)
        return f"{self.name}{f'({inner})' if inner else ''}{'' if at is None else f'@{_shown(at)}'}"

    def __repr__(self) -> str:
        return str(self)

    @classmethod
    def register(cls) -> None:
        """Register the measure under its names. Names of built-in measures are taken; users may redefine their own."""
        cls.aliases = cls.__dict__.get("aliases", ())  # those of a base are not its own
        for name in (cls.name, *cls.aliases):
            known = REGISTRY.get(name) if not is_built_in(cls) else None
            if known is not None and is_built_in(known) and not is_built_in(cls):
                raise MeasureError(
                    f"{cls.__name__} cannot be called {name}: that is the name of {known.title} ({known.name})."
                )
            REGISTRY[name] = cls

    @classmethod
    def plain(cls) -> Self:
        """The measure with its required parameters alone, for docs and tests."""
        needed = {name: cls.parameters[name].example_values()[0] for name in cls.required}
        return cls(**{**needed, **cls.example})

    @property
    def shown_formula(self) -> str:
        """The formula of a query's value for these parameters."""
        return self.formula

    @property
    def shown_normaliser(self) -> str:
        """What the normaliser is for these parameters, in a few words."""
        return self.normaliser_is

    @property
    def shown_weighting(self) -> str:
        """The weight of a rank for these parameters, as a formula or in words."""
        return self.weighting

    @property
    def shown_summary(self) -> str:
        """What the measure is for these parameters, in a sentence."""
        text = (type(self).__doc__ or "").strip()
        # the docstring that a dataclass generates
        return self.title if not text or text.startswith(f"{type(self).__name__}(") else text.splitlines()[0]

    @property
    def is_binary(self) -> bool:
        """Whether the measure needs a lowest relevant grade."""
        return "rel" in self.parameters

    def with_defaults(self, **defaults: Any) -> Self:
        """The same with values for parameters that were not set."""
        open_ones = {k: v for k, v in defaults.items() if k in self.parameters and getattr(self, k) is None}
        return replace(self, **open_ones) if open_ones else self

    @cached_property
    def lowest_relevant(self) -> float:
        rel = getattr(self, "rel", None)
        return 1.0 if rel is None else float(rel)

    def values(self, judged: JudgedRun) -> Floats:
        """One value per query, from the ranks as they are."""
        shown = judged if self._takes_list_as_is else self.shown_list(judged)
        if not self.source:
            return self.per_query(shown)
        with report_user_errors(self):
            return self._checked(self.per_query(shown), shown)

    @cached_property
    def _takes_list_as_is(self) -> bool:
        """Whether `shown_list` has nothing to do."""
        if type(self).shown_list is not Measure.shown_list:
            return False
        regrades = isinstance(self.gain, Mapping) and not self.has_own_gains
        return not (self.needed or self.qrels_columns or regrades or self.judged_only)

    @cached_property
    def key(self) -> tuple[type[Measure], str]:
        """A key for results that follow from the judgments alone."""
        return type(self), str(self)

    def expected_values(self, judged: JudgedRun) -> Floats | None:
        """The mean over all orders of documents with equal scores; None where no closed form is known."""
        if not self.repeats and judged.has_ties:
            return None  # which document of a group comes first, and so what each earns, depends on the order
        shown = self.shown_list(judged)
        with report_user_errors(self):
            return self.expected(shown)

    def shown_list(self, judged: JudgedRun) -> JudgedRun:
        """The ranking that the measure looks at: condensed if it is for judged documents only, or without repeats."""
        extras = judged.sources.extras
        for need in self.needed:
            if getattr(extras, need) is None:
                raise MeasureError(f"{self} needs {_NEEDS[need]}.")
        for column in self.qrels_columns:
            if column not in judged.sources.qrels.extra:
                raise MeasureError(f"{self} needs {_QRELS_COLUMNS.get(column, f'qrels with a column {column}')}.")
        if isinstance(self.gain, Mapping) and not self.has_own_gains:
            judged = judged.regrade(self.gain)
        shown = judged.condensed if self.judged_only else judged
        return shown if self.repeats else shown.drop_repeats(extras.duplicates or {})

    @property
    def needed(self) -> tuple[str, ...]:
        """The Extras it requires for these parameters."""
        return self.needs if self.repeats else (*dict.fromkeys((*self.needs, "duplicates")),)

    def _checked(self, values: Floats, judged: JudgedRun) -> Floats:
        """The values, checked if the measure is a user's own."""
        if self.source and np.shape(values) != (judged.n,):
            raise MeasureError(
                f"{self.source}: {self} gives an array of shape {np.shape(values)}, "
                f"expected one value for each of {judged.n} queries."
            )
        if self.source and not np.isfinite(values).all():
            query = judged.queries[int(np.argmin(np.isfinite(values)))]
            raise MeasureError(f"{self.source}: {self} gives no finite number for query {query!r}.")
        return values

    def per_query(self, judged: JudgedRun) -> Floats:
        """The computation: one value per query, in the order of `judged.queries`."""
        judged = judged.cut(getattr(self, "cutoff", None))  # terms are 0 below
        return judged.quotient(self.terms(judged), self.normaliser(judged))

    def run_value(self, judged: JudgedRun) -> float:
        """The value of the run as a whole, for a measure (aggregate "run") whose value is not a mean over queries."""
        raise NotImplementedError(f"{type(self).__name__} has values of queries only")

    def run_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The terms of the run's value as a whole: rows with `term`, and `query` or `what`, for the explanation."""
        return []

    def run_normaliser(self, judged: JudgedRun) -> float:
        """What the sum of the terms of the run as a whole is divided by, for the explanation."""
        return 1.0

    def mean_value(self, judged: JudgedRun) -> float | None:
        """The mean over queries, where the measure defines it differently from the mean of its values."""
        return None

    def terms(self, judged: JudgedRun) -> Floats:
        """What each hit contributes. Must also work for a dense join, where unjudged documents have grade NaN."""
        raise NotImplementedError(f"{type(self).__name__} defines no terms")

    def normaliser(self, judged: JudgedRun) -> Floats:
        """What the sum of the terms of each query is divided by; a value is 0 where this is 0."""
        return np.ones(judged.n)

    def columns(self, judged: JudgedRun) -> dict[str, Any]:
        """The running quantities that lead to the terms, one array each, for the explanation."""
        return {}

    def query_columns(self, judged: JudgedRun) -> dict[str, Floats]:
        """Quantities whose means over queries matter too, one number a query, for the explanation of a mean."""
        return {}

    def expected_terms(self, judged: JudgedRun) -> Floats | None:
        """What each hit contributes in the mean over the orders of tied documents, for the explanation."""
        return None

    def expected_columns(self, judged: JudgedRun) -> dict[str, Any]:
        """The quantities that lead to the expected terms."""
        return {}

    def other_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """Terms that belong to no retrieved document, as rows with at least `what` and `term`, for the explanation."""
        return []

    def rank_weights(self, n: int) -> Floats | None:
        """The weight of each of the first n ranks; None where it depends on the ranking."""
        return None

    def expected(self, judged: JudgedRun) -> Floats | None:
        """The closed form of the mean over the orders of tied documents, where there is one."""
        return None if judged.has_ties else self.per_query(judged)


@contextmanager
def report_user_errors(measure: Measure) -> Iterator[None]:
    """Report an exception in a user's own measure with its file and line."""
    try:
        yield
    except CranfieldError:
        raise
    except Exception as error:
        if not measure.source:
            raise
        raise user_error(error, measure.source) from error


def user_error(error: BaseException, file: str) -> InputError:
    """An error for an exception in a user's file, with the last line reached."""
    import traceback

    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        line = frame.lineno if frame.filename == file else line
    what = (error.msg if isinstance(error, SyntaxError) else str(error)).rstrip(".")
    kind = "" if isinstance(error, CranfieldError) else f"{type(error).__name__}: "
    return InputError(f"{kind}{what or 'no further message'}.", file, line)


def is_built_in(kind: type[Measure]) -> bool:
    """Whether a measure is built in; the properties that these declare are tested."""
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def all_measures() -> list[type[Measure]]:
    """Every measure once: the built-in ones family by family, then a user's own."""
    REGISTRY.import_all()
    families = list(FAMILIES)
    kinds = list(dict.fromkeys(REGISTRY.values()))
    homes = {kind: FAMILY_OF.get(kind.name, "") if is_built_in(kind) else "" for kind in kinds}
    return sorted(kinds, key=lambda kind: families.index(homes[kind]) if homes[kind] else len(families))


def unknown_measure(name: str) -> MeasureError:
    """The error for an unknown name, with the nearest known one."""
    names = [*FAMILY_OF, *(kind.name for kind in all_measures())]
    return MeasureError(f"unknown measure {name!r}.{suggest(name, names)} See 'cranfield measures'.")


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_shown(k)}:{_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_shown, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
