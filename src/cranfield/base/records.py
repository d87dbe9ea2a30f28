"""Value objects: frozen classes whose fields are their annotations.

A dataclass compiles five functions for every class, which takes half a millisecond: for the sixty classes that every
evaluation loads, a quarter of its start-up. Records share their methods instead, and subclasses need no decorator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, field
from typing import Any, ClassVar, TypeVar, dataclass_transform

R = TypeVar("R", bound="Record")


class _Signature:
    """The signature of a record's class, for `help` and notebooks; made when it is asked for."""

    def __get__(self, record: object, kind: type[Record]) -> Any:
        from inspect import Parameter, Signature

        parameters = []
        for one in fields(kind):
            default = one.default if one.default is not MISSING else one.default_factory
            default = Parameter.empty if default is MISSING else default
            parameters.append(Parameter(one.name, Parameter.POSITIONAL_OR_KEYWORD, default=default))
        return Signature(parameters)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Record:
    """Base of all value objects: frozen, and equal to another if all fields are.

    With `eq=False` an object equals only itself, which suits objects that hold arrays. `field(default_factory=…)` and
    `__post_init__` work as in a dataclass.

    >>> class Point(Record):
    ...     x: int
    ...     y: int = 0
    >>> Point(1), Point(1) == Point(1, y=0), replace(Point(1), y=2)
    (Point(x=1, y=0), True, Point(x=1, y=2))
    """

    _fields: ClassVar[dict[str, Field[Any]]] = {}
    __signature__: ClassVar[Any] = _Signature()

    def __init_subclass__(cls, eq: bool | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = cls.__dict__.get("__annotations__", {})
        new = {name: _make_field(cls, name) for name, hint in own.items() if "ClassVar" not in str(hint)}
        inherited = {name: one for base in cls.__mro__[:0:-1] for name, one in base.__dict__.get("_fields", {}).items()}
        cls._fields = inherited | new
        if eq is False:
            cls.__eq__, cls.__hash__ = object.__eq__, object.__hash__  # type: ignore[method-assign]

    def __init__(self, *args: Any, **values: Any) -> None:
        known = self._fields
        if len(args) > len(known):
            raise TypeError(f"{type(self).__qualname__}() takes {len(known)} arguments, {len(args)} were given")
        for name, value in zip(known, args, strict=False):
            if name in values:
                raise TypeError(f"{type(self).__qualname__}() got multiple values for argument {name!r}")
            values[name] = value
        state = self.__dict__
        for name, one in known.items():
            if name in values:
                state[name] = values.pop(name)
            elif one.default is not MISSING:
                state[name] = one.default
            elif one.default_factory is not MISSING:
                state[name] = one.default_factory()
            else:
                raise TypeError(f"{type(self).__qualname__}() is missing the argument {name!r}")
        if values:
            raise TypeError(f"{type(self).__qualname__}() got an unexpected keyword argument {next(iter(values))!r}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Check the fields; subclasses override it."""

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name, one in self._fields.items() if one.repr)
        return f"{type(self).__qualname__}({', '.join(shown)})"

    def __eq__(self, other: object) -> bool:
        return _key(self) == _key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self) -> int:
        return hash(_key(self))

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot change {name!r} of a {type(self).__qualname__}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete {name!r} of a {type(self).__qualname__}")


def fields(record: Record | type[Record]) -> tuple[Field[Any], ...]:
    """The fields of a record or of its class, each with name and default."""
    return tuple(record._fields.values())


def field_names(record: Record | type[Record]) -> tuple[str, ...]:
    """The names of the fields of a record or of its class."""
    return tuple(record._fields)


def replace(record: R, **changes: Any) -> R:
    """The same record with some fields changed."""
    return type(record)(**{name: getattr(record, name) for name in record._fields} | changes)


def as_dict(value: Any) -> Any:
    """A record as a dictionary, with the records inside it.

    >>> class Point(Record):
    ...     x: int
    >>> as_dict({"points": [Point(1)]})
    {'points': [{'x': 1}]}
    """
    if isinstance(value, Record):
        return {name: as_dict(getattr(value, name)) for name in value._fields}
    if isinstance(value, Mapping):
        return {key: as_dict(one) for key, one in value.items()}
    return type(value)(map(as_dict, value)) if isinstance(value, (list, tuple)) else value


def _make_field(cls: type, name: str) -> Field[Any]:
    """The field that an annotation declares; as in a dataclass, the class keeps the default, if any."""
    value = cls.__dict__.get(name, MISSING)
    declared: Field[Any] = value if isinstance(value, Field) else field(default=value)
    if declared is value:
        delattr(cls, name)
        if declared.default is not MISSING:
            setattr(cls, name, declared.default)
    declared.name = name
    return declared


def _key(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, name) for name, one in record._fields.items() if one.compare)
