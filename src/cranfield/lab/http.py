"""Asking a server over HTTP: one connection that is kept, time limits, tries with growing pauses, TLS that is checked.

Nothing that is secret comes into a message: neither what stands before the @ of a URL, nor headers, nor what a server
repeats of them.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

from cranfield.errors import CranfieldError, InputError
from cranfield.records import record

AGAIN = (408, 429, 500, 502, 503, 504)  # answers that may differ next time
FIRST_PAUSE = 0.5  # seconds, then twice as long each time
LONGEST_PAUSE = 30.0
MOST_SAID = 200  # characters of an answer in a message
MOST_READ = 100_000  # bytes of an answer that are looked at for a message
SECRET_NAMES = r"key|token|secret|passw\w*|pwd|auth|signature|sig"
_SECRETS: set[str] = set()  # what must be in no message, whoever says it


class ServerError(CranfieldError):
    """A server that cannot be reached, or answers with something else than was asked for."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(without_secrets(message))
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.status)


@record
class Answer:
    """What a server said."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def said(self) -> str:
        """The beginning of the answer on one line, for a message."""
        # before it is cut, or half a secret would be left
        text = without_secrets(self.body[:MOST_READ].decode("utf-8", "replace"))
        text = " ".join(text.split())
        return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


@record
class Patience:
    """How long to wait for an answer, and how often to try again."""

    timeout: float = 30.0
    retries: int = 5
    first_pause: float = FIRST_PAUSE
    sleep: Callable[[float], None] = time.sleep

    def pause(self, tried: int, wish: str | None = None) -> None:
        """Wait before the next try: longer each time, not all clients alike, and no less than the server wishes."""
        wished = float(wish) if wish and re.fullmatch(r"\d{1,6}(\.\d+)?", wish) else 0.0
        grown = self.first_pause * 2**tried
        self.sleep(min(LONGEST_PAUSE, max(wished, random.uniform(grown / 2, grown))))


class Client:
    """A connection to one server; made when it is first needed, and anew when it breaks."""

    def __init__(
        self,
        base: str,
        headers: Mapping[str, str] | None = None,
        patience: Patience | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.place = _checked(base)
        self.headers = {**_basic(self.place), **(headers or {})}
        keep_secret(*_secrets_of(self.place, self.headers))
        self.patience = patience or Patience()
        self._tls = tls
        self._connection: http.client.HTTPConnection | None = None

    @property
    def name(self) -> str:
        """The server as messages name it."""
        host = self.place.hostname or ""
        host = f"[{host}]" if ":" in host else host
        return f"{self.place.scheme}://{host}{f':{self.place.port}' if self.place.port else ''}"

    def ask(
        self, method: str, target: str, body: bytes | None = None, kind: str = "application/json", quiet: bool = False
    ) -> Answer:
        """The answer to a request, tried again while that may help; an error unless it is a success.

        `quiet` gives back any answer that would not differ next time.
        """
        for tried in range(self.patience.retries + 1):
            last = tried == self.patience.retries
            try:
                answer = self._once(method, target, body, kind)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if last or isinstance(error, ssl.SSLCertVerificationError):
                    raise self._unreachable(error, tried + 1) from None
                self.patience.pause(tried)
                continue
            if answer.status in AGAIN and not last:
                self.patience.pause(tried, answer.headers.get("retry-after"))
                continue
            if 200 <= answer.status < 300 or (quiet and answer.status not in AGAIN):
                return answer
            raise self.refusal(answer, tried + 1)
        raise AssertionError("the last try either answers or raises")

    def json(self, method: str, target: str, body: Any = None, kind: str = "application/json") -> Any:
        """The answer in JSON; one that is broken is asked for again."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        for tried in range(self.patience.retries + 1):
            answer = self.ask(method, target, sent, kind)
            try:
                return parsed(answer)
            except ValueError as error:
                if tried == self.patience.retries:
                    what = f"{self.name}: the answer is no JSON ({error}): {answer.said!r}."
                    raise ServerError(what, answer.status) from None
                self.patience.pause(tried)
        raise AssertionError("the last try either answers or raises")

    def refusal(self, answer: Answer, tries: int = 1) -> ServerError:
        """The error that an answer is."""
        reason = http.client.responses.get(answer.status, "")
        what = f"{self.name}: answered {answer.status} {reason}".rstrip() + _times(tries)
        if answer.status in (401, 403):
            what += " (check user, password or key)"
        if 300 <= answer.status < 400:
            what += f", which leads elsewhere: {without_secrets(masked_path(answer.headers.get('location', '')))}"
        said = answer.said
        return ServerError(f"{what}: {said}" if said else f"{what}.", answer.status)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _once(self, method: str, target: str, body: bytes | None, kind: str) -> Answer:
        if self._connection is not None:
            try:
                return self._exchange(method, target, body, kind)
            except ConnectionError:  # a server may close a connection that was idle; that is no failure
                self.close()
        return self._exchange(method, target, body, kind)

    def _exchange(self, method: str, target: str, body: bytes | None, kind: str) -> Answer:
        connection = self._connection = self._connection or self._connected()
        headers = {"Accept": "application/json", **({"Content-Type": kind} if body is not None else {}), **self.headers}
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        content = response.read()
        found = {name.lower(): value for name, value in response.getheaders()}
        if response.will_close:
            self.close()
        return Answer(response.status, content, found)

    def _connected(self) -> http.client.HTTPConnection:
        host, port, timeout = self.place.hostname or "", self.place.port, self.patience.timeout
        if self.place.scheme == "https":
            tls = self._tls or ssl.create_default_context()
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=tls)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _unreachable(self, error: Exception, tries: int) -> ServerError:
        if isinstance(error, ssl.SSLCertVerificationError):
            why = f"its certificate is not trusted ({error.verify_message}); give ca=FILE if it is yours"
            return ServerError(f"{self.name}: {why}.")
        if isinstance(error, TimeoutError):
            why = f"no answer within {self.patience.timeout:g} s"
        elif isinstance(error, socket.gaierror):
            why = "there is no such host"
        elif isinstance(error, ConnectionError):
            why = f"the connection broke ({error.strerror or error})"
        elif isinstance(error, http.client.IncompleteRead):
            why = "the connection broke in the middle of an answer"
        else:
            why = f"cannot be reached ({error or type(error).__name__})"
        return ServerError(f"{self.name}: {why}{_times(tries)}.")


def parsed(answer: Answer) -> Any:
    """What an answer says in JSON; ValueError if it is none."""
    return json.loads(answer.body.decode("utf-8"))


def tls_context(verify: bool = True, ca: str | None = None) -> ssl.SSLContext:
    """How servers are trusted: by the system's authorities, by those in a file, or blindly."""
    try:
        context = ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as error:
        raise InputError(f"certificates cannot be read: {getattr(error, 'strerror', '') or error}.", ca) from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def from_environment(name: str) -> str:
    """A secret out of the environment."""
    value = os.environ.get(name)
    if not value:
        raise InputError(f"there is no {name} in the environment, or it is empty.")
    keep_secret(value)
    return value


def keep_secret(*texts: str) -> None:
    """Have no message show these texts."""
    _SECRETS.update(text for text in texts if text)


def without_secrets(text: str) -> str:
    """A text as a message may show it, with *** for every secret in it, also as URLs and JSON would write it.

    >>> keep_secret("sk-5a7d")
    >>> without_secrets('{"error": "no such key: SK-5A7D"}')
    '{"error": "no such key: ***"}'
    """
    forms = {form for secret in _SECRETS for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])}
    if not forms:
        return text
    # a short one is hidden as a word only, or half of every message would be
    parts = (re.escape(one) if len(one) > 5 else rf"(?<!\w){re.escape(one)}(?!\w)" for one in _longest_first(forms))
    return re.sub("|".join(parts), "***", text, flags=re.I)


def quoted(value: Any) -> str:
    """The beginning of what a server said, for a message.

    >>> quoted("none"), quoted(None)
    ("'none'", 'None')
    """
    text = repr(without_secrets(value) if isinstance(value, str) else value)
    return f"{without_secrets(text):.80}"


def _longest_first(texts: Iterable[str]) -> list[str]:
    return sorted(texts, key=lambda text: (-len(text), text))


def filled_header(text: str) -> tuple[str, str]:
    """A header given as `Name: value`; `$NAME` in it comes from the environment, so that no command line shows it.

    >>> filled_header("X-Tenant: lab")
    ('X-Tenant', 'lab')
    """
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[\w!#$%&'*+.^`|~-]+", name.strip()):
        raise InputError(f"expected a header as 'Name: value', found {name!r}.")
    value = re.sub(r"\$(\w+)|\$\{(\w+)\}", lambda match: from_environment(match[1] or match[2]), value.strip())
    if re.search(r"[\r\n]", value):
        raise InputError(f"header {name!r} must be on one line.")
    return name.strip(), value


def masked_path(url: str) -> str:
    return re.sub(r"//[^/?#]*@", "//***@", url).partition("?")[0]


def _checked(base: str) -> SplitResult:
    try:
        place = urlsplit(base)
        port = place.port
    except ValueError:
        raise InputError(f"not a URL: {masked_path(base)!r}.") from None
    if place.scheme not in ("http", "https") or not place.hostname or port == 0:
        raise InputError(f"not a URL of a server: {masked_path(base)!r}, expected http://host:port or https://host.")
    return place


def _basic(place: SplitResult) -> dict[str, str]:
    if place.username is None:
        return {}
    pair = f"{unquote(place.username)}:{unquote(place.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def _secrets_of(place: SplitResult, headers: Mapping[str, str]) -> Iterator[str]:
    """What is secret in a URL and in headers: passwords, and what has a telling name."""
    yield unquote(place.password or "")
    for name, value in parse_qsl(place.query):
        if re.search(rf"(?:{SECRET_NAMES})$", name, re.I):
            yield value
    for name, value in headers.items():
        if re.search(rf"{SECRET_NAMES}|cookie", name, re.I):
            # without 'Bearer' too
            yield from (value, value.rpartition(" ")[2])


def _times(tries: int) -> str:
    return "" if tries == 1 else f" (tried {tries} times)"
