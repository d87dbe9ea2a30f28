"""Timestamps of the log: UTC, to the microsecond, and sorted as text in chronological order."""

from __future__ import annotations

from datetime import UTC, datetime

from cranfield.errors import InputError


def utc_now() -> str:
    """The current time."""
    return _format(datetime.now(UTC))


def parse_timestamp(text: str, what: str = "time") -> str:
    """An ISO 8601 time in the form of the log; without a zone it is UTC.

    >>> parse_timestamp("2026-03-01T10:00:00+01:00")
    '2026-03-01T09:00:00.000000Z'
    """
    try:
        time = datetime.fromisoformat(text)
        return _format(time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC))
    except (ValueError, TypeError, OverflowError):
        raise InputError(f"{what} {text!r:.60} is not an ISO 8601 time, such as {utc_now()}.") from None


def _format(time: datetime) -> str:
    return time.isoformat(timespec="microseconds").replace("+00:00", "Z")
