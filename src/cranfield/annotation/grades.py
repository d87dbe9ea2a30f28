"""Grades: what an assessor may choose, each with a label, a definition and a key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cranfield.base import Record
from cranfield.errors import InputError
from cranfield.io import Input, PathLike, parse_decimal, parse_number

MAX_GRADES = 10  # one per digit key


class Grade(Record):
    """A grade with its label, and the definition of when to give it."""

    value: float
    label: str
    definition: str = ""
    key: str = ""


class Scale(Record):
    """All grades, lowest first.

    >>> [(grade.key, grade.label) for grade in Scale.of([(0, "no"), (1, "yes")]).grades]
    [('0', 'no'), ('1', 'yes')]
    """

    grades: tuple[Grade, ...]

    def __post_init__(self) -> None:
        values = [grade.value for grade in self.grades]
        if len(values) < 2:
            raise InputError(f"a scale needs at least two grades, found {len(values)}.")
        if len(values) > MAX_GRADES:
            raise InputError(f"a scale can have at most {MAX_GRADES} grades, one per digit key; found {len(values)}.")
        if len(set(values)) < len(values):
            raise InputError(f"duplicate grade in {', '.join(map(format_grade, values))}.")

    @classmethod
    def of(cls, grades: Iterable[tuple[Any, ...]]) -> Scale:
        """A scale from tuples (value, label, definition); label and definition are optional."""
        rows = sorted(
            (parse_number(value, "grade"), str((*rest, "", "")[0]), str((*rest, "", "")[1])) for value, *rest in grades
        )
        # if all grades are digits, each is its own key
        is_digit = all(value in range(MAX_GRADES) for value, _, _ in rows)
        return cls(
            tuple(
                Grade(
                    value,
                    label or f"grade {format_grade(value)}",
                    definition,
                    f"{value:g}" if is_digit else str(number),
                )
                for number, (value, label, definition) in enumerate(rows)
            )
        )

    @property
    def values(self) -> tuple[float, ...]:
        return tuple(grade.value for grade in self.grades)

    def grade(self, value: float) -> Grade:
        """The grade with a value; raise an error if there is none."""
        for grade in self.grades:
            if grade.value == value:
                return grade
        raise InputError(f"grade {format_grade(value)} is not one of {', '.join(map(format_grade, self.values))}.")

    def by_key(self, key: str) -> Grade | None:
        """The grade of a key, if any."""
        return next((grade for grade in self.grades if grade.key == key), None)

    def to_dicts(self) -> list[dict[str, Any]]:
        """The grades as JSON."""
        return [
            {"value": simplify_grade(g.value), "label": g.label, "definition": g.definition, "key": g.key}
            for g in self.grades
        ]

    @classmethod
    def from_dicts(cls, grades: Iterable[Mapping[str, Any]]) -> Scale:
        """The grades from JSON."""
        try:
            return cls.of((one["value"], one.get("label", ""), one.get("definition", "")) for one in grades)
        except (KeyError, TypeError, AttributeError):
            raise InputError('grades: expected [{"value", "label", "definition"}, …].') from None


def read_scale(path: PathLike) -> Scale:
    """Read grades from a file: lines `grade⇥label⇥definition`."""
    rows = []
    with Input(path) as source:
        for line, content in source.lines():
            if not content.strip() or content.startswith(b"#"):
                continue
            value, *rest = content.decode("utf-8", "replace").split("\t")
            if len(rest) not in (1, 2):
                found = len(rest) + 1
                raise InputError(f"expected grade<TAB>label<TAB>definition, found {found} columns.", source.name, line)
            try:
                rows.append((parse_decimal(value.strip().encode(), "grade"), *(text.strip() for text in rest)))
            except InputError as error:
                raise InputError(error.message, source.name, line) from None
        try:
            return Scale.of(rows)
        except InputError as error:
            raise InputError(error.message, source.name) from None


def simplify_grade(value: float) -> int | float:
    """A grade as an integer if it is whole."""
    return int(value) if float(value).is_integer() else value


def format_grade(value: float) -> str:
    """A grade as text.

    >>> format_grade(2.0), format_grade(0.5)
    ('2', '0.5')
    """
    return str(simplify_grade(value))


# the four grades of the TREC deep learning tracks, in our own words
DEFAULT_SCALE = Scale.of(
    [
        (0, "Not relevant", "Nothing in it answers the topic."),
        (1, "Related", "On the subject, but it does not answer the topic."),
        (2, "Relevant", "It answers the topic in part, or among much else."),
        (3, "Highly relevant", "It is about the topic and answers it fully."),
    ]
)
