"""Any search over HTTP, by template: `http-get:https://host/search?q={query}&k={depth}`, `http-post:` with a body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import urlsplit

from cranfield.data import Document, Run
from cranfield.errors import InputError
from cranfield.lab.engines import DEPTH, FIELDS, About, Answered, EngineError, Hits, Indexed, Options, ask_each
from cranfield.lab.engines.response_parser import hits_in_json
from cranfield.lab.engines.templates import filled_json, filled_url, has_query
from cranfield.lab.http import Client, RetryPolicy
from cranfield.lab.secrets import mask_url, parse_header

BODY = '{"query": "{query}", "k": {depth}}'


def opened(kind: str, place: str, options: Options) -> Endpoint:
    return Endpoint(kind.removeprefix("http-").upper(), place, options)


class Endpoint:
    """A URL that answers queries in JSON."""

    def __init__(self, method: str, url: str, options: Options | None = None, retry: RetryPolicy | None = None) -> None:
        self.method = method
        self.url = url
        self.options = options or Options()
        self.body = (self.options.body or BODY) if method == "POST" else ""
        if not has_query(url + self.body):
            raise InputError(f"{mask_url(url)}: there is no {{query}} in it, so every query would ask the same.")
        if self.options.body and method == "GET":
            raise InputError("--body is for http-post:, http-get: sends none.")
        headers = dict(parse_header(text) for text in self.options.headers)
        self.client = Client(url, headers, retry or RetryPolicy(self.options.timeout, self.options.retries))

    @property
    def about(self) -> About:
        return About("http")

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        raise EngineError(f"{mask_url(self.url)}: a template can only be searched; index with the engine itself.")

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        return ask_each("http", queries, lambda text: self._found(text, depth), answered)

    def size(self) -> int | None:
        return None

    def close(self) -> None:
        self.client.close()

    def _found(self, text: str, depth: int) -> Hits:
        parts = urlsplit(filled_url(self.url, text, depth))
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        body = filled_json(self.body, text, depth) if self.body else None
        response = self.client.request(self.method, target, body)
        return hits_in_json(response, self.options.ids, self.options.scores)[:depth]
