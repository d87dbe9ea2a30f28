"""OpenSearch and Elasticsearch over HTTP: `opensearch+https://user:password@host:9200/INDEX`.

Settings follow a question mark: `verify=false` or `ca=FILE` (TLS), `api_key_env=NAME` or `password_env=NAME` (secrets
in the environment), `fields=title^2,body` (what is searched), `tie=FIELD` (orders equal scores), `id=FIELD` (what the
judgments call a document, if not `_id`). What we index has one field of text, analysed as English, on one shard, so
that scores are those of the whole collection.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit, urlunsplit

from cranfield.base import join_names, pluralize
from cranfield.data import Document, Run
from cranfield.errors import InputError
from cranfield.lab.engines import (
    DEPTH,
    FIELDS,
    About,
    Answered,
    EngineError,
    Hits,
    Indexed,
    Options,
    ask_each,
    plain_id,
    text_of,
    unique,
)
from cranfield.lab.engines.templates import filled_json
from cranfield.lab.http import Client, RetryPolicy, ServerError
from cranfield.lab.secrets import mask_secrets, mask_url, parse_header, read_key, read_secret

PAGE = 1000  # hits in an answer
MOST_DOCUMENTS = 1000  # in a request of _bulk
MOST_BYTES = 5_000_000
NDJSON = "application/x-ndjson"
SETTINGS = ("verify", "ca", "api_key_env", "password_env", "fields", "tie", "id")
_AGAIN = "The index is not complete; index again, which sends all documents."
MAPPING = {
    "doc": {"type": "keyword"},  # _id once more: sorting by _id is switched off on many servers
    "text": {"type": "text", "analyzer": "english"},
}


def opened(kind: str, place: str, options: Options) -> Elastic:
    engine, _, scheme = kind.partition("+")
    return Elastic(engine, f"{scheme}:{place}", options)


class Elastic:
    """An index of a server that speaks Elasticsearch's language."""

    def __init__(self, engine: str, url: str, options: Options | None = None, retry: RetryPolicy | None = None) -> None:
        self.engine = engine
        self.options = options or Options()
        parts = urlsplit(url)
        self.settings = _settings(parts.query, mask_url(url))
        *base, self.name = parts.path.strip("/").split("/")
        if not self.name or self.name[0] in "_-+":
            raise InputError(f"{mask_url(url)}: expected the name of an index after the host, as in //host:9200/docs.")
        self.base = "".join(f"/{part}" for part in base)
        retry = retry or RetryPolicy(self.options.timeout, self.options.retries)
        server = urlunsplit((parts.scheme, _with_password(parts.netloc, self.settings), "", "", ""))
        tls = _tls_context(self.settings) if parts.scheme == "https" else None
        self.client = Client(server, self._headers(), retry, tls)

    @cached_property
    def about(self) -> About:
        version = self.client.request("GET", f"{self.base}/").get("version", {})
        return About(version.get("distribution", self.engine), str(version.get("number", "")))

    def index(self, documents: Iterable[Document], fields: Sequence[str] = FIELDS) -> Indexed:
        start = time.perf_counter()
        self.__dict__.pop("tie", None)
        self._begin(list(fields))
        total, failed = 0, list[tuple[str, str]]()
        entries = (self._entry(document, fields) for document in unique(documents, self.options.source))
        for some in _bulks(entries):
            refused = self._send(some)
            total += len(some) - len(refused)
            failed += refused
        self._call("PUT", "_settings", {"index": {"refresh_interval": None}})
        self._mark(list(fields), complete=True)
        self._call("POST", "_refresh")
        return Indexed(total, time.perf_counter() - start, self.size(), tuple(failed))

    def search(self, queries: Mapping[str, str], depth: int = DEPTH, answered: Answered | None = None) -> Run:
        tie = self.tie
        return ask_each(self.engine, queries, lambda text: self._found(text, depth, tie), answered)

    def size(self) -> int | None:
        stats = self._call("GET", "_stats/store")
        size = stats.get("_all", {}).get("primaries", {}).get("store", {}).get("size_in_bytes")
        return None if size is None else int(size)

    def close(self) -> None:
        self.client.close()

    def _headers(self) -> dict[str, str]:
        headers = dict(parse_header(text) for text in self.options.headers)
        if key := self.settings.get("api_key_env"):
            headers["Authorization"] = f"ApiKey {read_key(key)}"
        return headers

    def _call(self, method: str, action: str = "", body: Any = None) -> Any:
        target = f"{self.base}/{quote(self.name, safe='')}" + (f"/{action}" if action else "")
        return self.client.request(method, target, body)

    def _begin(self, fields: list[str]) -> None:
        """Make the index, in place of one of ours. What an interrupted attempt left may be of other documents."""
        wanted = _mark(fields, complete=False)
        there = self._there()
        if there is not None:
            if there.get("made_by") != "cranfield":
                what = f"index {self.name!r} is there and was not made by 'cranfield index'; give another name"
                raise InputError(f"{self.client.name}: {what}.")
            with _settled(404):
                self._call("DELETE")
        settings = {"number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"}
        mappings = {"_meta": wanted, "dynamic": False, "properties": MAPPING}
        with _settled(400):
            self._call("PUT", "", {"settings": {"index": settings}, "mappings": mappings})
            return
        if self._there() != wanted:
            raise EngineError(f"{self.client.name}: index {self.name!r} cannot be made; is its name in lower case?")

    def _there(self) -> dict[str, Any] | None:
        """The mark of the index: empty if somebody else made it, None if there is no index."""
        try:
            return _mark_in(self._call("GET", "_mapping")) or {}
        except ServerError as error:
            if error.status == 404:
                return None
            raise

    def _mark(self, fields: list[str], complete: bool) -> None:
        self._call("PUT", "_mapping", {"_meta": _mark(fields, complete)})

    @cached_property
    def tie(self) -> str:
        """The field that orders documents with equal scores."""
        if "tie" in self.settings:
            return self.settings["tie"]
        try:
            mark = self._there()
        except ServerError as error:
            if error.status == 403:  # who may search need not be allowed to see the mapping
                return "_id"
            raise
        if mark is None:
            raise InputError(f"{self.client.name}: there is no index {self.name!r}.")
        if mark and not mark["complete"]:
            raise EngineError(f"index {self.name!r} is not complete; run 'cranfield index' again.")
        return "doc" if mark else "_id"

    def _entry(self, document: Document, fields: Sequence[str]) -> tuple[str, bytes]:
        doc = plain_id(document.id, self.engine)
        # 'index' may be sent twice without harm, if a connection breaks before the answer comes
        lines = ({"index": {"_id": doc}}, {"doc": doc, "text": text_of(document, fields)})
        return doc, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines).encode()

    def _send(self, entries: list[tuple[str, bytes]]) -> list[tuple[str, str]]:
        """Index some documents; those that the server has no time for are sent again. Which were refused, and why."""
        refused: list[tuple[str, str]] = []
        retry = self.client.retry
        for tried in range(retry.retries + 1):
            later: list[tuple[str, bytes]] = []
            reasons: list[str] = []
            for entry, (status, why) in zip(entries, self._bulk(entries), strict=True):
                if status == 429 or status >= 500:
                    later.append(entry)
                    reasons.append(f"{status} {why}".strip())
                elif status >= 300:
                    refused.append((entry[0], f"{status} {why}".strip()))
            if not later:
                return refused
            entries = later
            if tried < retry.retries:
                retry.pause(tried)
        docs = join_names([doc for doc, _ in entries], 3)
        what = f"{pluralize(len(entries), 'document')} ({docs}) refused {retry.retries + 1} times: {reasons[0]}"
        raise EngineError(f"{self.client.name}: {what}. {_AGAIN}")

    def _bulk(self, entries: list[tuple[str, bytes]]) -> list[tuple[int, str]]:
        """What became of each document of a request, as a status and a reason."""
        target = f"{self.base}/{quote(self.name, safe='')}/_bulk"
        body = b"".join(lines for _, lines in entries)
        try:
            answer = self.client.request("POST", target, body, NDJSON)
        except ServerError as error:
            if error.status != 413:
                raise
            if len(entries) == 1:
                return [(413, "too large for this server")]
            half = len(entries) // 2
            return self._bulk(entries[:half]) + self._bulk(entries[half:])
        items = answer.get("items") if isinstance(answer, dict) else None
        if not isinstance(items, list) or len(items) != len(entries):
            found = f"{len(items):,}" if isinstance(items, list) else "no"
            what = f"expected an answer for each of {pluralize(len(entries), 'document')}, found {found}"
            raise EngineError(f"{self.client.name}: {what}. {_AGAIN}")
        return [_outcome(item) for item in items]

    def _found(self, text: str, depth: int, tie: str) -> Hits:
        hits: list[tuple[str, float]] = []
        after: list[Any] | None = None
        while len(hits) < depth:
            size = min(PAGE, depth - len(hits))
            page = self._page(self._query(text, depth), size, tie, after)
            hits += [(self._id(hit), _score(hit)) for hit in page]
            if len(page) < size:
                break
            after = page[-1]["sort"]
        return hits

    def _page(self, query: dict[str, Any], size: int, tie: str, after: list[Any] | None) -> list[dict[str, Any]]:
        """The next hits, in the order of scores; what only some shards or some of the time has found is no answer."""
        body = {
            "_source": [self.settings["id"]] if "id" in self.settings else False,
            **query,
            "size": size,
            "sort": [{"_score": "desc"}, {tie: "asc"}],
            "track_scores": True,
            "track_total_hits": False,
        }
        answer = self._call("POST", "_search", body if after is None else {**body, "search_after": after})
        try:
            shards = answer.get("_shards", {})
            if answer.get("timed_out") or shards.get("failed"):
                what = "the time was up" if answer.get("timed_out") else f"{shards['failed']} shards failed"
                raise ServerError(f"{self.client.name}: a search is not complete, {what}.")
            hits: list[dict[str, Any]] = answer["hits"]["hits"]
            if not all(isinstance(hit.get("sort"), list) for hit in hits):
                raise KeyError("sort")
        except (AttributeError, KeyError, TypeError):
            raise ServerError(f"{self.client.name}: the answer has no hits with 'sort' in it.") from None
        return hits

    def _query(self, text: str, depth: int) -> dict[str, Any]:
        if self.options.body:
            query = filled_json(self.options.body, text, depth)
            if not isinstance(query, dict) or "query" not in query:
                raise InputError('--body: expected a search, as {"query": {"match": {"title": "{query}"}}}.')
            return query
        fields = self.settings.get("fields", "text").split(",")
        return {"query": {"multi_match": {"query": text, "fields": fields}}}

    def _id(self, hit: dict[str, Any]) -> str:
        if "id" not in self.settings:
            return str(hit.get("_id"))
        value: Any = hit.get("_source", {})
        for part in self.settings["id"].split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None or isinstance(value, dict | list):
            raise ServerError(f"document {hit.get('_id')!r} has no field {self.settings['id']!r} with an id.")
        return str(value)


def _bulks(entries: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    """Documents in requests that are neither too many nor too long."""
    some: list[tuple[str, bytes]] = []
    length = 0
    for entry in entries:
        if some and (len(some) == MOST_DOCUMENTS or length + len(entry[1]) > MOST_BYTES):
            yield some
            some, length = [], 0
        some.append(entry)
        length += len(entry[1])
    if some:
        yield some


def _outcome(item: Any) -> tuple[int, str]:
    """The status of an item of a bulk answer, and the reason."""
    result: Any = next(iter(item.values()), {}) if isinstance(item, dict) else {}
    status = result.get("status") if isinstance(result, dict) else None
    if not isinstance(status, int):
        return 500, "an answer without a status"
    error = result.get("error", "")
    if isinstance(error, dict):
        error = ": ".join(str(error[key]) for key in ("type", "reason") if error.get(key))
    return status, mask_secrets(str(error))


def _score(hit: dict[str, Any]) -> float:
    score = hit["sort"][0] if hit.get("_score") is None else hit["_score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise ServerError(f"document {hit.get('_id')!r} has no score but {score!r}.")
    return float(score)


@contextmanager
def _settled(status: int) -> Iterator[None]:
    """Let an answer pass that a request gets when it was carried out before, and the connection broke then."""
    try:
        yield
    except ServerError as error:
        if error.status != status:
            raise


def _mark(fields: list[str], complete: bool) -> dict[str, Any]:
    return {"made_by": "cranfield", "fields": fields, "complete": complete}


def _mark_in(mappings: Any) -> dict[str, Any] | None:
    """The mark of an index of ours, None for one of somebody else."""
    for found in mappings.values() if isinstance(mappings, dict) else ():
        mark = found.get("mappings", {}).get("_meta", {}) if isinstance(found, dict) else {}
        if isinstance(mark, dict) and mark.get("made_by") == "cranfield":
            return mark
    return None


def _settings(query: str, url: str) -> dict[str, str]:
    settings = dict(parse_qsl(query, keep_blank_values=True))
    for name in settings:
        if name not in SETTINGS:
            raise InputError(f"{url}: there is no setting {name!r}, expected one of {', '.join(SETTINGS)}.")
    return settings


def _tls_context(settings: Mapping[str, str]) -> ssl.SSLContext:
    """Which certificates are trusted: those the system trusts, those of the authorities in a file, or all."""
    verify, ca = settings.get("verify", "true").lower(), settings.get("ca")
    if verify not in ("true", "false"):
        raise InputError(f"verify={verify}: expected true or false.")
    try:
        context = ssl.create_default_context(cafile=ca)
    except OSError as error:
        raise InputError(f"certificates cannot be read: {error.strerror or error}.", ca) from None
    if verify == "false":
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _with_password(host: str, settings: Mapping[str, str]) -> str:
    if "password_env" not in settings:
        return host
    user, at, rest = host.rpartition("@")
    if not at:
        raise InputError("password_env needs a user, as in //user@host:9200/docs?password_env=NAME.")
    return f"{user.partition(':')[0]}:{quote(read_secret(settings['password_env']), safe='')}@{rest}"
