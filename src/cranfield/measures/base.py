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
from cranfield.measures.registry import FAMILIES, HOME

Aggregate = Literal["mean", "geometric", "sum", "run"]
# What the common tests (tests/measures/test_every_measure.py) expect of a measure unless its `lacks` says why not:
#   range    values are from `low` to `high`
#   swap     a better document that changes places with a worse one above it never makes the value worse
#   cutoff   an unjudged document below the cutoff changes nothing
#   perfect  if all that is relevant is on top and nothing else retrieved, the value is `high` (asked where it is 1)
#   empty    retrieving nothing is worth 0, as a query that is missing
#   scores   only the order of the scores matters, not the scores
#   unjudged documents without a judgment do not matter once they are left out (judged_only)
#   columns  an explanation shows how each term comes about, in columns between grade and term
Property = Literal["range", "swap", "cutoff", "perfect", "empty", "scores", "unjudged", "columns"]


class Registry(dict[str, "type[Measure]"]):
    """Measures by name. A family is read when one of its measures is asked for."""

    def __missing__(self, name: str) -> type[Measure]:
        if name in HOME:
            self._read(HOME[name])
        if not super().__contains__(name):
            raise KeyError(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in HOME

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default

    def read_all(self) -> None:
        """Read every family."""
        for family in FAMILIES:
            self._read(family)

    def _read(self, family: str) -> None:
        module = import_module(f"{__package__}.{family}")
        for kind in vars(module).values():
            # its own measures, not those it imports; again even if they were known and forgotten
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

    Subclasses are records (frozen dataclasses) whose fields are the parameters. A parameter that is None is not given.
    A value is a sum of terms, one for each hit, divided by a normaliser: a measure gives these two, and so is
    explained by the same numbers that compute it.
    """

    gain: Any = None
    judged_only: bool = False
    repeats: bool = True

    name: ClassVar[str] = ""
    aliases: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    formula: ClassVar[str] = ""  # LaTeX, shown as MathML in the docs; of the mean, if that is no arithmetic one
    about: ClassVar[str] = ""  # the user model in a sentence, and what the measure ignores
    user: ClassVar[str] = ""  # who reads how, or whose question it answers, in one sentence
    ignores: ClassVar[str] = ""  # what makes no difference to it, in one sentence
    weighting: ClassVar[str] = ""  # what a rank weighs, as a formula or in words; needed where rank_weights has none
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
    synonyms: ClassVar[Mapping[str, Mapping[Any, tuple[str, Any]]]] = {  # other tools' parameters
        "gains": {None: ("gain", None)}
    }
    has_own_gains: ClassVar[bool] = False  # whether it knows what a gain is, and maps grades itself
    reads_run: ClassVar[bool] = False  # whether it looks at documents beyond the judged ones
    judgments_matter: ClassVar[bool] = True  # whether the grade of a document can change the value
    grades_help: ClassVar[bool] = False  # whether a better grade of a retrieved document never makes the value worse
    beyond_rel: ClassVar[bool] = False  # whether, with a lowest relevant grade, it looks at more than who reaches it
    reads_columns: ClassVar[tuple[str, ...]] = ()  # columns of the qrels it looks at, where there are: subtopic, …
    needs: ClassVar[tuple[str, ...]] = ()  # which Extras it cannot do without
    qrels_columns: ClassVar[tuple[str, ...]] = ()  # which further columns of the qrels it cannot do without
    # how the value comes from the sum of the terms and the normaliser, as an expression that Python can evaluate too
    # (with abs, min, max, exp, log, sqrt); where it divides by 0 the value is 0
    rule: ClassVar[str] = "sum / normaliser"
    example: ClassVar[Mapping[str, Any]] = {}  # parameters to show and test it with, beyond the required ones
    lacks: ClassVar[Mapping[Property, str]] = {}  # which common properties do not hold for it, and why, in a sentence
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
        """Make the measure known by its names. A built-in one keeps its name; a user may define another anew."""
        cls.aliases = cls.__dict__.get("aliases", ())  # those of a base are not its own
        for name in (cls.name, *cls.aliases):
            known = REGISTRY.get(name) if not is_built_in(cls) else None
            if known is not None and is_built_in(known) and not is_built_in(cls):
                raise MeasureError(f"{cls.__name__} cannot be called {name}: {known.title} ({known.name}) is.")
            REGISTRY[name] = cls

    @classmethod
    def plain(cls) -> Self:
        """The measure with what must be given and nothing else, for docs and tests."""
        needed = {name: cls.parameters[name].example_values()[0] for name in cls.required}
        return cls(**{**needed, **cls.example})

    @property
    def shown_formula(self) -> str:
        """The formula of a query's value, as the parameters make it."""
        return self.formula

    @property
    def shown_normaliser(self) -> str:
        """What the normaliser is, as the parameters make it, in a few words."""
        return self.normaliser_is

    @property
    def shown_weighting(self) -> str:
        """What a rank weighs, as the parameters make it, as a formula or in words."""
        return self.weighting

    @property
    def shown_summary(self) -> str:
        """What the measure is, as the parameters make it, in a sentence."""
        text = (type(self).__doc__ or "").strip()
        # what a dataclass writes where nobody has
        return self.title if not text or text.startswith(f"{type(self).__name__}(") else text.splitlines()[0]

    @property
    def is_binary(self) -> bool:
        """Whether the measure needs a lowest relevant grade."""
        return "rel" in self.parameters

    def with_defaults(self, **defaults: Any) -> Self:
        """The same with parameters that it has but that were not given."""
        open_ones = {k: v for k, v in defaults.items() if k in self.parameters and getattr(self, k) is None}
        return replace(self, **open_ones) if open_ones else self

    @cached_property
    def lowest_relevant(self) -> float:
        rel = getattr(self, "rel", None)
        return 1.0 if rel is None else float(rel)

    def values(self, judged: JudgedRun) -> Floats:
        """One value per query, from the ranks as they stand."""
        shown = judged if self._takes_the_list_as_it_is else self.shown_list(judged)
        if not self.source:
            return self.per_query(shown)
        with own_errors(self):
            return self._checked(self.per_query(shown), shown)

    @cached_property
    def _takes_the_list_as_it_is(self) -> bool:
        """Whether `shown_list` has nothing to do."""
        if type(self).shown_list is not Measure.shown_list:
            return False
        regrades = isinstance(self.gain, Mapping) and not self.has_own_gains
        return not (self.needed or self.qrels_columns or regrades or self.judged_only)

    @cached_property
    def key(self) -> tuple[type[Measure], str]:
        """What tells it from others, to keep by what follows from the judgments alone."""
        return type(self), str(self)

    def expected_values(self, judged: JudgedRun) -> Floats | None:
        """The mean over all orders of documents with equal scores; None where no closed form is known."""
        if not self.repeats and judged.has_ties:
            return None  # which document of a group comes first, and so what each earns, depends on the order
        shown = self.shown_list(judged)
        with own_errors(self):
            return self.expected(shown)

    def shown_list(self, judged: JudgedRun) -> JudgedRun:
        """The ranking that the measure looks at: condensed if it is for judged documents only, without repeats."""
        extras = judged.sources.extras
        for need in self.needed:
            if getattr(extras, need) is None:
                raise MeasureError(f"{self} needs {_NEEDS[need]}.")
        for column in self.qrels_columns:
            if column not in judged.sources.qrels.extra:
                raise MeasureError(f"{self} needs {_QRELS_COLUMNS.get(column, f'qrels with a column {column}')}.")
        if isinstance(self.gain, Mapping) and not self.has_own_gains:
            judged = judged.regraded(self.gain)
        shown = judged.condensed if self.judged_only else judged
        return shown if self.repeats else shown.without_repeats(extras.duplicates or {})

    @property
    def needed(self) -> tuple[str, ...]:
        """Which Extras it cannot do without, as its parameters are."""
        return self.needs if self.repeats else (*dict.fromkeys((*self.needs, "duplicates")),)

    def _checked(self, values: Floats, judged: JudgedRun) -> Floats:
        """The values, after a look at those of a user's own measure."""
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
        judged = judged.down_to(getattr(self, "cutoff", None))  # terms are 0 below
        return judged.quotient(self.terms(judged), self.normaliser(judged))

    def run_value(self, judged: JudgedRun) -> float:
        """The value of the run as a whole, for a measure (aggregate "run") of which that is no mean over queries."""
        raise AssertionError(f"{type(self).__name__} has values of queries only")

    def run_rows(self, judged: JudgedRun) -> list[dict[str, Any]]:
        """The terms of the run's value as a whole: rows with `term`, and `query` or `what`, for the explanation."""
        return []

    def run_normaliser(self, judged: JudgedRun) -> float:
        """What the sum of the terms of the run as a whole is divided by, for the explanation."""
        return 1.0

    def mean_value(self, judged: JudgedRun) -> float | None:
        """The mean over queries, where that is by definition another one than of the values of judged queries."""
        return None

    def terms(self, judged: JudgedRun) -> Floats:
        """What each hit contributes. Must also do for a dense join, where unjudged documents have grade NaN."""
        raise AssertionError(f"{type(self).__name__} computes nothing")

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
        """What each of the first n ranks weighs; None where that depends on the ranking."""
        return None

    def expected(self, judged: JudgedRun) -> Floats | None:
        """The closed form of the mean over the orders of tied documents, where there is one."""
        return None if judged.has_ties else self.per_query(judged)


@contextmanager
def own_errors(measure: Measure) -> Iterator[None]:
    """Whatever fails in a user's own measure becomes an error that names its file and line."""
    try:
        yield
    except CranfieldError:
        raise
    except Exception as error:
        if not measure.source:
            raise
        raise own_error(error, measure.source) from error


def own_error(error: BaseException, file: str) -> InputError:
    """What failed in a user's file, with the last line of it that was reached."""
    import traceback

    line = error.lineno if isinstance(error, SyntaxError) else None
    for frame in traceback.extract_tb(error.__traceback__):
        line = frame.lineno if frame.filename == file else line
    what = (error.msg if isinstance(error, SyntaxError) else str(error)).rstrip(".")
    kind = "" if isinstance(error, CranfieldError) else f"{type(error).__name__}: "
    return InputError(f"{kind}{what or 'no further message'}.", file, line)


def is_built_in(kind: type[Measure]) -> bool:
    """Whether a measure is one of ours, of which the properties it declares are tested."""
    return kind.__module__.partition(".")[0] == __name__.partition(".")[0]


def all_measures() -> list[type[Measure]]:
    """Every measure once: the built-in ones family by family, then a user's own."""
    REGISTRY.read_all()
    families = list(FAMILIES)
    kinds = list(dict.fromkeys(REGISTRY.values()))
    homes = {kind: HOME.get(kind.name, "") if is_built_in(kind) else "" for kind in kinds}
    return sorted(kinds, key=lambda kind: families.index(homes[kind]) if homes[kind] else len(families))


def unknown_measure(name: str) -> MeasureError:
    """An error for a name that no measure has, with the nearest one that is there."""
    names = [*HOME, *(kind.name for kind in all_measures())]
    return MeasureError(f"unknown measure {name!r}.{suggest(name, names)} See 'cranfield measures'.")


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{_shown(k)}:{_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ",".join(map(_shown, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
