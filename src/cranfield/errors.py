"""The exceptions, as one tree.

CranfieldError
├── InputError          a file or an object cannot be used (names file and line)
│   ├── DuplicateError  a document occurs twice where it may occur once
│   └── FormatError     the format of a file cannot be detected, or is not the requested one
├── MeasureError        the name or a parameter of a measure is invalid
├── EvaluationError     qrels and run are valid but cannot be evaluated together
└── MissingExtra        an optional dependency is not installed

Errors that only one package raises are defined there: PreferenceConflict (measures), EngineError, SearchFailed and
ServerError (lab), Busy (experiment).
"""


class CranfieldError(Exception):
    """Base class of all errors that a user can cause and fix."""


class InputError(CranfieldError):
    """A file or an object cannot be used."""

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.file = file
        self.line = line
        super().__init__(f"{format_location(file, line)}{message}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.message, self.file, self.line)


class DuplicateError(InputError):
    """A document occurs twice where it may occur once."""


class FormatError(InputError):
    """The format of a file cannot be detected, or is not the requested one."""


class MeasureError(CranfieldError):
    """The name or a parameter of a measure is invalid."""


class EvaluationError(CranfieldError):
    """Qrels and run are valid but cannot be evaluated together."""


class MissingExtra(CranfieldError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'cranfield[{extra}]'")


def format_location(file: str | None, line: int | None) -> str:
    """The location of a problem, as the start of a message.

    >>> format_location("bm25.run", 812)
    'bm25.run, line 812: '
    """
    if file is None:
        return "" if line is None else f"record {line:,}: "
    return f"{file}: " if line is None else f"{file}, line {line}: "
