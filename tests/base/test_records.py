"""Records do what frozen dataclasses do."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from cranfield.base.records import entity, record


@record
class Ours:
    """A record."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=0.5, repr=False)
    e: ClassVar[int] = 7


@dataclass(frozen=True)
class Theirs:
    """A dataclass."""

    a: int
    b: str = "b"
    c: list[int] = field(default_factory=list)
    d: float = field(default=0.5, repr=False)
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


def outcome(kind: Any, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    try:
        made = kind(*args, **given)
    except TypeError:
        return TypeError
    return repr(made).replace(kind.__name__, ""), dataclasses.asdict(made)


@pytest.mark.parametrize("args, given", CALLS)
def test_the_same_arguments_make_the_same_fields(args: tuple[Any, ...], given: dict[str, Any]) -> None:
    assert outcome(Ours, args, given) == outcome(Theirs, args, given)


def test_fields_and_defaults_are_those_of_a_dataclass() -> None:
    for ours, theirs in zip(dataclasses.fields(Ours), dataclasses.fields(Theirs), strict=True):
        assert (ours.name, ours.default, ours.default_factory, ours.type) == (
            theirs.name,
            theirs.default,
            theirs.default_factory,
            theirs.type,
        )
    assert Ours.b == "b" and not hasattr(Ours, "c") and Ours.e == 7
    assert Ours(1).c is not Ours(1).c


def test_records_are_replaced_in_part_and_never_changed() -> None:
    one = Ours(1)
    assert dataclasses.replace(one, b="z") == Ours(1, "z")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.a = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError):
        del one.a


def test_equality_goes_by_fields_for_records_and_by_identity_for_entities() -> None:
    @record
    class Point:
        x: int

    @entity
    class Thing:
        x: int

    thing = Thing(1)
    assert Point(1) == Point(1) != Point(2) and hash(Point(1)) == hash(Point(1))
    assert Point(1) != (1,) and Thing(1) != Thing(1) and thing == thing and len({thing, Thing(1)}) == 2


def test_records_and_dataclasses_can_extend_a_record() -> None:
    @record
    class Base:
        x: int
        seen: ClassVar[list[int]] = []

        def __post_init__(self) -> None:
            self.seen.append(self.x)

    @record
    class More(Base):
        y: int = 2

    @dataclass(frozen=True)
    class Other(Base):
        y: int = 3

    assert More(1) == More(x=1, y=2) and Other(1) == Other(1, 3)
    assert [f.name for f in dataclasses.fields(More)] == [f.name for f in dataclasses.fields(Other)] == ["x", "y"]
    assert Base.seen == [1, 1, 1, 1]
