"""Everything that can go wrong, as one tree.

CranfieldError
├── InputError          a file or an object we were given cannot be used (names file and line)
│   ├── DuplicateError  the same document twice where once was expected
│   └── FormatError     the format of a file cannot be told, or is not the one asked for
├── MeasureError        a measure's name or a parameter is wrong
├── EvaluationError     qrels and run are fine by themselves but cannot be evaluated together
└── MissingExtra        an optional dependency is not installed

Where only one part can raise it, an error lives there: PreferenceConflict (measures.prefs), EngineError and, below it,
SearchFailed with what was found (lab.engines), ServerError (lab.http), Busy (experiment.stamps).
"""


class CranfieldError(Exception):
    """Base of all errors that a user can cause and can mend."""


class InputError(CranfieldError):
    """A file or an object we were given cannot be used."""

    def __init__(self, message: str, file: str | None = None, line: int | None = None) -> None:
        self.message = message
        self.file = file
        self.line = line
        super().__init__(f"{place(file, line)}{message}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.message, self.file, self.line)


class DuplicateError(InputError):
    """The same document twice where once was expected."""


class FormatError(InputError):
    """The format of a file cannot be told, or is not the one asked for."""


class MeasureError(CranfieldError):
    """A measure's name or a parameter is wrong."""


class EvaluationError(CranfieldError):
    """Qrels and run are fine by themselves but cannot be evaluated together."""


class MissingExtra(CranfieldError):
    """An optional dependency is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an extra: pip install 'cranfield[{extra}]'")


def place(file: str | None, line: int | None) -> str:
    """Where something was found, as the opening of a message.

    >>> place("bm25.run", 812)
    'bm25.run, line 812: '
    """
    if file is None:
        return "" if line is None else f"record {line:,}: "
    return f"{file}: " if line is None else f"{file}, line {line}: "
