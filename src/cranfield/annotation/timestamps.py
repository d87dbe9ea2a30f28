"""Points in time as they stand in the log: UTC, to the microsecond, in an order that is that of their text."""

from __future__ import annotations

from datetime import UTC, datetime

from cranfield.errors import InputError


def now() -> str:
    """This moment."""
    return _written(datetime.now(UTC))


def moment(text: str, what: str = "time") -> str:
    """A time of ISO 8601 as the log has it; without a zone it is UTC.

    >>> moment("2026-03-01T10:00:00+01:00")
    '2026-03-01T09:00:00.000000Z'
    """
    try:
        given = datetime.fromisoformat(text)
        return _written(given.replace(tzinfo=UTC) if given.tzinfo is None else given.astimezone(UTC))
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{what} {text!r:.60} is no time of ISO 8601, such as {now()}.") from None


def seconds(text: str) -> float:
    """A time of the log in seconds since 1970."""
    return datetime.fromisoformat(text).timestamp()


def _written(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
