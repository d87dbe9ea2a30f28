"""Frozen dataclasses that are quick to define.

`dataclass` compiles five functions for every class, which takes half a millisecond: for the thirty classes that every
evaluation loads, as long as a small evaluation itself. A record shares its methods with all others instead. It is a
dataclass to `dataclasses.fields` and `replace`, to type checkers, and to dataclasses that extend it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import TypeVar, dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
    def record(cls: type[T]) -> type[T]: ...

    @dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(dataclasses.field,))
    def entity(cls: type[T]) -> type[T]: ...

else:

    def record(cls: type) -> type:
        """A frozen dataclass: equal to another if all fields are.

        >>> @record
        ... class Point:
        ...     "A place."
        ...     x: int
        ...     y: int = 0
        >>> Point(1), Point(1) == Point(1, y=0)
        (Point(x=1, y=0), True)
        """
        return _defined(cls, __eq__=_equal, __hash__=_hash)

    def entity(cls: type) -> type:
        """A frozen dataclass that is equal to itself only."""
        return _defined(cls)


@dataclasses.dataclass(frozen=True)
class _Model:
    """What dataclasses expect to find in a class and its fields."""

    field: Any = None


_PARAMS = _Model.__dataclass_params__  # type: ignore[attr-defined]
_KIND = dataclasses.fields(_Model)[0]._field_type  # type: ignore[attr-defined]


def _defined(cls: Any, **methods: Callable[..., Any]) -> Any:
    define_fields(cls)
    shared = {"__init__": _init, "__repr__": _repr, "__setattr__": _frozen, "__delattr__": _frozen, **methods}
    for name, method in shared.items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    return cls


def define_fields(cls: Any) -> None:
    """Make fields of the annotations of a class, after those of the records that it extends."""
    fields: dict[str, Any] = {}
    for base in cls.__mro__[:0:-1]:
        fields.update(base.__dict__.get("__dataclass_fields__", {}))
    for name, hint in cls.__dict__.get("__annotations__", {}).items():
        if "ClassVar" not in str(hint):
            fields[name] = _field(cls, name, hint)
    cls.__dataclass_fields__, cls.__dataclass_params__ = fields, _PARAMS
    cls._names, cls._is_checked = tuple(fields), hasattr(cls, "__post_init__")
    cls._defaults = {f.name: f.default for f in fields.values() if f.default is not dataclasses.MISSING}
    cls._factories = {
        f.name: f.default_factory for f in fields.values() if f.default_factory is not dataclasses.MISSING
    }


def _field(cls: Any, name: str, hint: object) -> Any:
    given = cls.__dict__.get(name, dataclasses.MISSING)
    field: Any = given if isinstance(given, dataclasses.Field) else dataclasses.field(default=given)
    field.name, field.type, field.kw_only, field._field_type = name, hint, False, _KIND
    if given is field:
        # as in a dataclass, the class has the default, if any
        delattr(cls, name)
        if field.default is not dataclasses.MISSING:
            setattr(cls, name, field.default)
    return field


def _init(self: Any, *args: Any, **given: Any) -> None:
    kind = type(self)
    values = self.__dict__
    values.update(kind._defaults)
    if args:
        values.update(zip(kind._names, args, strict=False))
    values.update(given)
    for name, factory in kind._factories.items():
        if name not in values:
            values[name] = factory()
    if values.keys() != kind.__dataclass_fields__.keys() or args:
        _check(kind, args, given)
    if kind._is_checked:
        self.__post_init__()


def _check(kind: Any, args: tuple[Any, ...], given: dict[str, Any]) -> None:
    """Refuse arguments as a function with these parameters would."""
    names, title = kind._names, kind.__qualname__
    if len(args) == len(names) and not given:
        return
    if len(args) > len(names):
        raise TypeError(f"{title}() takes {len(names)} arguments but {len(args)} were given")
    for name in given:
        if name not in names:
            raise TypeError(f"{title}() got an unexpected keyword argument {name!r}")
        if name in names[: len(args)]:
            raise TypeError(f"{title}() got multiple values for argument {name!r}")
    missing = [n for n in names[len(args) :] if not (n in given or n in kind._defaults or n in kind._factories)]
    if missing:
        raise TypeError(f"{title}() misses {', '.join(map(repr, missing))}")


def _repr(self: Any) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in dataclasses.fields(self) if f.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _values(self: Any) -> tuple[Any, ...]:
    values = self.__dict__
    return tuple(values[name] for name in self._names)


def _equal(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _frozen(self: Any, name: str, *value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r} of a {type(self).__qualname__}")
