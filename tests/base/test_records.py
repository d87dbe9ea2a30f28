"""Records do what frozen dataclasses do."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from cranfield.base.records import Record, as_dict, field_names, fields, replace


class Ours(Record):
    """A record."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=0.5, repr=False, compare=False)
    e: ClassVar[int] = 7


@dataclass(frozen=True)
class Theirs:
    """A dataclass."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=0.5, repr=False, compare=False)
    e: ClassVar[int] = 7


CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1,), {}),
    ((1, "x"), {}),
    ((1,), {"b": "y", "d": 2.0}),
    ((), {"a": 3, "c": [1]}),
    ((), {}),
    ((1, "x", [], 0.0, 5), {}),
    ((1,), {"a": 2}),
    ((1,), {"f": 2}),
    ((), {"f": 2}),
]


def outcome(kind: Any, args: tuple[Any, ...], values: dict[str, Any]) -> Any:
    try:
        made = kind(*args, **values)
    except TypeError:
        return TypeError
    return repr(made).replace(kind.__name__, ""), as_dict(made) if kind is Ours else dataclasses.asdict(made)


@pytest.mark.parametrize("args, values", CALLS)
def test_the_same_arguments_make_the_same_fields(args: tuple[Any, ...], values: dict[str, Any]) -> None:
    assert outcome(Ours, args, values) == outcome(Theirs, args, values)


def test_fields_and_defaults_are_those_of_a_dataclass() -> None:
    for ours, theirs in zip(fields(Ours), dataclasses.fields(Theirs), strict=True):
        assert (ours.name, ours.default, ours.default_factory) == (theirs.name, theirs.default, theirs.default_factory)
    assert field_names(Ours) == ("a", "b", "c", "d")
    assert Ours.b == "b" and not hasattr(Ours, "c") and Ours.e == 7
    assert Ours(1).c is not Ours(1).c


def test_records_are_replaced_in_part_and_never_changed() -> None:
    one = Ours(1)
    assert replace(one, b="z") == Ours(1, "z")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.a = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.a


def test_records_are_equal_by_their_fields_unless_they_say_otherwise() -> None:
    class Point(Record):
        x: int

    class Thing(Record, eq=False):
        x: int

    class Part(Thing):
        y: int = 0

    thing = Thing(1)
    assert Point(1) == Point(1) != Point(2) and hash(Point(1)) == hash(Point(1))
    assert Point(1) != (1,) and Thing(1) != Thing(1) and thing == thing and len({thing, Thing(1)}) == 2
    assert Part(1) != Part(1) and Ours(1, d=1.0) == Ours(1, d=2.0)


def test_records_extend_records() -> None:
    class Base(Record):
        x: int
        seen: ClassVar[list[int]] = []

        def __post_init__(self) -> None:
            self.seen.append(self.x)

    class More(Base):
        y: int = 2

    assert More(1) == More(x=1, y=2) and field_names(More) == ("x", "y") and Base.seen == [1, 1]


def test_signatures_name_the_fields() -> None:
    assert list(inspect.signature(Ours).parameters) == ["a", "b", "c", "d"]
    assert inspect.signature(Ours).parameters["b"].default == "b"


def test_fields_are_kept_in_the_order_of_the_class() -> None:
    assert list(vars(Ours(b="x", a=1))) == ["a", "b", "c", "d"]


def test_records_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Ours(1, c=[2]))) == Ours(1, c=[2])
