"""JSON over HTTP with httpx (extra: lab): time-outs, retries with back-off, errors that name the server.

No message contains a secret, not even one that a server repeats: see `cranfield.lab.secrets`.
"""

from __future__ import annotations

import base64
import json
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from cranfield.base import Record
from cranfield.errors import CranfieldError, InputError, MissingExtra
from cranfield.lab.secrets import mask_secrets, register_credentials, strip_query

if TYPE_CHECKING:
    import httpx

RETRYABLE = (408, 429, 500, 502, 503, 504)  # statuses that may be temporary
LONGEST_PAUSE = 30.0  # seconds
EXCERPT = 200  # characters of a response in a message


class ServerError(CranfieldError):
    """A server cannot be reached, or does not respond as expected."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(mask_secrets(message))
        self.status = status

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (str(self), self.status)


class RetryPolicy(Record):
    """How long to wait for a response, and how often to try again."""

    timeout: float = 30.0  # seconds
    retries: int = 5
    first_pause: float = 0.5  # seconds, doubled for each retry
    sleep: Callable[[float], None] = time.sleep

    def pause(self, attempt: int, retry_after: str = "") -> None:
        """Wait before the next attempt: exponential back-off with jitter, and at least as long as the server asks."""
        requested = float(retry_after) if re.fullmatch(r"\d{1,6}(\.\d+)?", retry_after) else 0.0
        longest = self.first_pause * 2**attempt
        self.sleep(min(LONGEST_PAUSE, max(requested, random.uniform(longest / 2, longest))))


class Client:
    """A client of one server, which keeps its connection open."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        retry: RetryPolicy | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtra("HTTP", "lab") from None
        server = _parse_url(url)
        self.name = f"{server.scheme}://{server.netloc.decode()}"
        self.retry = retry or RetryPolicy()
        defaults = {"Accept": "application/json", "Accept-Encoding": "identity", **_basic_auth(server)}
        self._headers = httpx.Headers(defaults, encoding="latin-1")
        self._headers.update(httpx.Headers(headers, encoding="latin-1"))
        register_credentials(url, self._headers)
        # not httpx.Client: its cookies, redirects and proxies are unwanted, and take time where latency is measured
        self._transport = httpx.HTTPTransport(
            verify=tls or (ssl.create_default_context() if server.scheme == "https" else False),
            trust_env=False,
            limits=httpx.Limits(keepalive_expiry=None),
        )

    def request(self, method: str, target: str, body: Any = None, content_type: str = "application/json") -> Any:
        """Send a body (bytes, or a value for JSON) and parse the response as JSON. Temporary failures are retried."""
        import httpx

        content = body if body is None or isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        for attempt in range(self.retry.retries + 1):
            status, retry_after, is_temporary = None, "", True
            try:
                response = self._send(method, target, content, content_type)
                status, retry_after = response.status_code, response.headers.get("retry-after", "")
                if response.is_success:
                    return response.json()
                problem, is_temporary = _describe_refusal(response), status in RETRYABLE
            except httpx.TimeoutException:
                problem = f"no answer within {self.retry.timeout:g} s"
            except httpx.HTTPError as error:
                problem, is_temporary = _describe_failure(error)
            except httpx.InvalidURL as error:
                problem, is_temporary = f"the request failed: {error}", False
            except ValueError as error:
                problem = f"the answer is not JSON ({error}): {_excerpt(response)!r}"
            if not is_temporary or attempt == self.retry.retries:
                break
            self.retry.pause(attempt, retry_after)
        attempts = f" (tried {attempt + 1} times)" if attempt else ""
        raise ServerError(f"{self.name}: {problem}{attempts}.", status)

    def close(self) -> None:
        self._transport.close()

    def _send(self, method: str, target: str, content: bytes | None, content_type: str) -> httpx.Response:
        import httpx

        headers = self._headers.copy()
        if content is not None:
            headers.setdefault("Content-Type", content_type)
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), self.retry.timeout)
        url = f"{self.name}{target}"
        request = httpx.Request(method, url, headers=headers, content=content, extensions={"timeout": timeout})
        with closing(self._transport.handle_request(request)) as response:
            response.read()
        return response


def _parse_url(url: str) -> httpx.URL:
    import httpx

    with suppress(httpx.InvalidURL):
        server = httpx.URL(url)
        if server.scheme in ("http", "https") and server.host and server.port != 0:
            return server
    raise InputError(f"not a URL of a server: {strip_query(url)!r}, expected http://host:port or https://host.")


def _basic_auth(server: httpx.URL) -> dict[str, str]:
    credentials = base64.b64encode(f"{server.username}:{server.password}".encode()).decode()
    return {"Authorization": f"Basic {credentials}"} if server.userinfo else {}


def _describe_refusal(response: httpx.Response) -> str:
    """The status of a response, what to do about it, and how its body begins."""
    problem = f"answered {response.status_code} {response.reason_phrase}".rstrip()
    if response.status_code in (401, 403):
        problem += " (check user, password or key)"
    if response.has_redirect_location:
        problem += f", a redirect to {mask_secrets(strip_query(response.headers['location']))}"
    text = _excerpt(response)
    return f"{problem}: {text}" if text else problem


def _describe_failure(error: Exception) -> tuple[str, bool]:
    """Why there is no response, and whether another attempt may help."""
    cause: BaseException = error
    while cause.__context__ is not None:  # httpx wraps the error of the socket
        cause = cause.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted ({cause.verify_message}); give ca=FILE if it is yours", False
    reason = getattr(cause, "strerror", None) or str(error).rstrip(".")
    return f"the request failed: {reason}", True


def _excerpt(response: httpx.Response) -> str:
    # masked before it is cut, or half a secret would remain
    text = " ".join(mask_secrets(response.content[:100_000].decode("utf-8", "replace")).split())
    return text if len(text) <= EXCERPT else f"{text[:EXCERPT]}…"
