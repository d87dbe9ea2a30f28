"""Passwords: kept as hashes that are slow to try, and asked for no more often than a person would.

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

LEAST, MOST = 8, 1000  # characters
AT_ONCE = 2  # hashes that are computed at a time, for the sake of memory


class Cost(Record):
    """How much work a hash is."""

    log_n: int = 15
    r: int = 8
    p: int = 3


_turns = threading.BoundedSemaphore(AT_ONCE)


def hashed(password: str, cost: Cost | None = None) -> str:
    """A password as it is kept.

    >>> text = hashed("correct horse", Cost(4, 8, 1))
    >>> text[:12], is_right("correct horse", text), is_right("wrong horse", text)
    ('scrypt$4$8$1', True, False)
    """
    cost = cost or Cost()
    salt = secrets.token_bytes(16)
    digest = _digest(password, salt, cost)
    return "$".join(["scrypt", str(cost.log_n), str(cost.r), str(cost.p), _text(salt), _text(digest)])


def is_right(password: str, kept: str) -> bool:
    """Whether a password is the one that is kept."""
    _, log_n, r, p, salt, digest = kept.split("$")
    found = _digest(password, base64.b64decode(salt), Cost(int(log_n), int(r), int(p)))
    return hmac.compare_digest(found, base64.b64decode(digest))


def checked(password: str, name: str) -> str:
    """A password that may be used, or an error that says why not."""
    if len(password) < LEAST:
        raise InputError(f"a password has {LEAST} characters at least, found {len(password)}.")
    if len(password) > MOST:
        raise InputError(f"a password has {MOST:,} characters at most, found {len(password):,}.")
    if password.strip().lower() == name.strip().lower() or len(set(password)) < 3:
        raise InputError("this password is too easy to guess.")
    return password


def _digest(password: str, salt: bytes, cost: Cost) -> bytes:
    # the same characters may be typed in several ways
    content = unicodedata.normalize("NFKC", password).encode("utf-8", "backslashreplace")
    with _turns:
        return hashlib.scrypt(content, salt=salt, n=1 << cost.log_n, r=cost.r, p=cost.p, maxmem=256 << 20, dklen=32)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()


class Patience:
    """Counts attempts that failed, and says how long to wait for the next one.

    >>> clock = iter([0.0, 1.0, 2.0, 3.0]).__next__
    >>> patience = Patience(2, 60.0, clock)
    >>> patience.wait("ada"), patience.wait("ada"), patience.wait("ada"), patience.wait("grace")
    (0.0, 0.0, 58.0, 0.0)
    """

    def __init__(self, attempts: int, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._attempts, self._seconds, self._clock = attempts, seconds, clock
        self._times: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def wait(self, key: str) -> float:
        """Seconds to wait; 0 if an attempt may be made now, which is counted at once: others may be on their way."""
        with self._lock:
            now = self._clock()
            if len(self._times) > 10_000:
                self._forget(now)
            recent = [time for time in self._times.get(key, ()) if now - time < self._seconds]
            if len(recent) >= self._attempts:
                self._times[key] = recent
                return recent[0] + self._seconds - now
            self._times[key] = [*recent, now]
            return 0.0

    def take_back(self, key: str) -> None:
        """Do not count the last attempt: it was right. Those before it still count."""
        with self._lock:
            if times := self._times.get(key):
                times.pop()
                if not times:
                    del self._times[key]

    def forgive(self, key: str) -> None:
        """Forget the attempts, after one that was right."""
        with self._lock:
            self._times.pop(key, None)

    def _forget(self, now: float) -> None:
        self._times = {key: times for key, times in self._times.items() if now - times[-1] < self._seconds}
