"""What the stages of a search system have in common: a name, and parameters that are checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cranfield.base import Parameter, Record, check_value


class Stage(Record):
    """Base of models, feedback and diversification. The fields are the parameters."""

    name: ClassVar[str] = ""
    about: ClassVar[str] = ""
    parameters: ClassVar[Mapping[str, Parameter]] = {}  # by the name of the field

    def __post_init__(self) -> None:
        for name, parameter in self.parameters.items():
            check_value(self.name, parameter, spell_parameter(name), getattr(self, name))


def spell_parameter(field: str) -> str:
    """The name that users write: `lambda` is a keyword of Python, so the field is called `lambda_`."""
    return field.rstrip("_")
