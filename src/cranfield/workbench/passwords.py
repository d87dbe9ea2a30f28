"""Password hashing with scrypt, and rate limiting of attempts.

scrypt (RFC 7914) with the parameters of the OWASP password storage cheat sheet for 32 MB.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import threading
import time
import unicodedata
from collections.abc import Callable

from cranfield.base import Record
from cranfield.errors import InputError

MIN_LENGTH, MAX_LENGTH = 8, 1000  # characters
MAX_CONCURRENT = 2  # hashes computed at a time: each takes 32 MB


class Cost(Record):
    """Cost parameters of scrypt."""

    log_n: int = 15
    r: int = 8
    p: int = 3


_slots = threading.BoundedSemaphore(MAX_CONCURRENT)


def hash_password(password: str, cost: Cost | None = None) -> str:
    """The hash of a password, with salt and cost.

    >>> text = hash_password("correct horse", Cost(4, 8, 1))
    >>> text[:12], verify_password("correct horse", text), verify_password("wrong horse", text)
    ('scrypt$4$8$1', True, False)
    """
    cost = cost or Cost()
    salt = secrets.token_bytes(16)
    digest = _digest(password, salt, cost)
    return "$".join(["scrypt", str(cost.log_n), str(cost.r), str(cost.p), _text(salt), _text(digest)])


def verify_password(password: str, stored: str) -> bool:
    """Whether a password matches a stored hash."""
    _, log_n, r, p, salt, digest = stored.split("$")
    actual = _digest(password, base64.b64decode(salt), Cost(int(log_n), int(r), int(p)))
    return hmac.compare_digest(actual, base64.b64decode(digest))


def check_password(password: str, name: str) -> str:
    """Return the password if it may be used; raise an error that says why not."""
    if len(password) < MIN_LENGTH:
        raise InputError(f"a password needs at least {MIN_LENGTH} characters, found {len(password)}.")
    if len(password) > MAX_LENGTH:
        raise InputError(f"a password may have at most {MAX_LENGTH:,} characters, found {len(password):,}.")
    if password.strip().lower() == name.strip().lower() or len(set(password)) < 3:
        raise InputError("this password is too easy to guess.")
    return password


def _digest(password: str, salt: bytes, cost: Cost) -> bytes:
    # keyboards may produce the same characters in several encodings
    content = unicodedata.normalize("NFKC", password).encode("utf-8", "backslashreplace")
    with _slots:
        return hashlib.scrypt(content, salt=salt, n=1 << cost.log_n, r=cost.r, p=cost.p, maxmem=256 << 20, dklen=32)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


class RateLimiter:
    """Limits the failed attempts within a time window.

    >>> clock = iter([0.0, 1.0, 2.0, 3.0]).__next__
    >>> limiter = RateLimiter(2, 60.0, clock)
    >>> limiter.attempt("ada"), limiter.attempt("ada"), limiter.attempt("ada"), limiter.attempt("grace")
    (0.0, 0.0, 58.0, 0.0)
    """

    def __init__(self, attempts: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._attempts, self._seconds, self._clock = attempts, seconds, clock
        self._times: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def attempt(self, key: str) -> float:
        """Count an attempt. Returns 0, or the seconds to wait if there were too many."""
        with self._lock:
            now = self._clock()
            if len(self._times) > 10_000:
                self._drop_old(now)
            recent = [time for time in self._times.get(key, ()) if now - time < self._seconds]
            if len(recent) >= self._attempts:
                self._times[key] = recent
                return recent[0] + self._seconds - now
            self._times[key] = [*recent, now]
            return 0.0

    def uncount(self, key: str) -> None:
        """Remove the last attempt from the count."""
        with self._lock:
            if times := self._times.get(key):
                times.pop()
                if not times:
                    del self._times[key]

    def reset(self, key: str) -> None:
        """Remove all attempts from the count."""
        with self._lock:
            self._times.pop(key, None)

    def _drop_old(self, now: float) -> None:
        self._times = {key: times for key, times in self._times.items() if now - times[-1] < self._seconds}
