"""Servers for tests, on this machine and in this process: any answers at all, and one that speaks Elasticsearch."""

from __future__ import annotations

import base64
import glob
import json
import os
import pwd
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.waiting import TIMEOUT


@dataclass(frozen=True)
class Request:
    """What a client sent."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    port: int = 0  # of the client, another one for each connection


@dataclass(frozen=True)
class Response:
    """What it gets; `fault` may be drop (the connection is cut), cut (in the middle of the answer) or slow (no answer
    before the client gives up)."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    fault: str = ""

    @classmethod
    def of(cls, data: Any, status: int = 200) -> Response:
        return cls(status, json.dumps(data).encode())


Answering = Callable[[Request], Response]


@contextmanager
def serving(answer: Answering, certificate: Path | None = None) -> Iterator[str]:
    """Answer requests in threads of this process; gives host and port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet, or each answer waits for an acknowledgement

        def handle_one(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            parts = urlsplit(self.path)
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(length)
            request = Request(
                self.command, unquote(parts.path), parse_qs(parts.query), headers, body, self.client_address[1]
            )
            response = answer(request)
            if response.fault == "drop":
                # closed without a word, and without the niceties of TCP
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.close_connection = True
                return
            if response.fault == "slow":
                self.connection.settimeout(TIMEOUT)
                self.connection.recv(1)  # nothing: the client has closed the connection
                self.close_connection = True
                return
            self.send_response(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(response.body) + (9 if response.fault == "cut" else 0)))
            self.end_headers()
            self.wfile.write(response.body)
            self.close_connection = response.fault == "cut"

        do_GET = do_POST = do_PUT = do_DELETE = handle_one

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on the terminal."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that went away is what some tests are about."""

    server = Quiet(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def self_signed(folder: Path) -> Path | None:
    """A certificate for this machine, with its key in the same file; None where there is no openssl."""
    openssl = shutil.which("openssl")
    if openssl is None:
        return None
    key, certificate, both = (folder / name for name in ("key.pem", "cert.pem", "both.pem"))
    wanted = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    more = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run([openssl, "req", *wanted, *more], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + certificate.read_bytes())
    return both


class NoPostgres(Exception):
    """Why no server can be started."""


@contextmanager
def postgres() -> Iterator[str]:
    """A server of PostgreSQL of our own, in a folder of its own; gives host and port of user lab, password s3cret."""
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))[::-1]), None)
    if found is None:
        raise NoPostgres("PostgreSQL is not installed (initdb was not found)")
    programs = Path(found).parent
    as_user = _as_user()
    folder = Path(tempfile.mkdtemp(prefix="cranfield-pg."))
    try:
        (folder / "word").write_text("s3cret")
        for path in (folder, folder / "word"):
            if as_user:
                shutil.chown(path, as_user[1].partition("=")[2], -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        data = ["-D", str(folder / "data")]
        secret = ["-A", "scram-sha-256", "--pwfile", str(folder / "word")]
        _quietly([*as_user, str(programs / "initdb"), *data, "-U", "lab", *secret, "-E", "UTF8", "--no-sync"], folder)
        settings = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        log = ["-l", str(folder / "log")]
        control = [*as_user, str(programs / "pg_ctl"), *data]
        _quietly([*control, *log, "-w", "-o", settings, "start"], folder)
        try:
            yield f"127.0.0.1:{port}"
        finally:
            _quietly([*control, "-w", "-m", "immediate", "stop"], folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _as_user() -> list[str]:
    """What starts a program as somebody else, where we are root, whom PostgreSQL does not serve."""
    if os.geteuid() != 0:
        return []
    setpriv = shutil.which("setpriv")
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            if setpriv is not None:
                return [setpriv, f"--reuid={name}", f"--regid={user.pw_gid}", "--clear-groups"]
    raise NoPostgres("PostgreSQL does not run as root, and there is no setpriv or no other user")


def _quietly(call: list[str], folder: Path) -> None:
    # a server that was started keeps a pipe open, a file does no harm
    with (folder / "said").open("a+") as said:
        done = subprocess.run(call, stdout=said, stderr=said, stdin=subprocess.DEVNULL, cwd=folder, timeout=TIMEOUT)
        said.seek(0)
        if done.returncode:
            raise NoPostgres(f"{Path(call[-1]).name}: {said.read()[-500:]}")


class FakeElastic:
    """As much of Elasticsearch as engines use: it is strict, gets overloaded, and breaks connections when told to."""

    def __init__(self, user: str = "", password: str = "", api_key: str = "") -> None:
        self.indexes: dict[str, dict[str, Any]] = {}
        self.requests: list[Request] = []
        self.faults: deque[str] = deque()  # for the requests that come next; '' for none
        self.busy: Counter[str] = Counter()  # how often a document gets 429 before it is taken
        self.wrong: set[str] = set()  # documents that are refused for good
        self.most_bytes = 10_000_000
        pair = base64.b64encode(f"{user}:{password}".encode()).decode()
        self.authorization = f"ApiKey {api_key}" if api_key else f"Basic {pair}" if user else ""
        self.lock = threading.Lock()

    def __call__(self, request: Request) -> Response:
        with self.lock:
            self.requests.append(request)
            fault = self.faults.popleft() if self.faults else ""
            if fault == "late":  # it is done, but nobody hears of it
                self._answer(request)
                return Response(fault="drop")
            if fault in ("drop", "slow", "cut"):
                return Response(body=b"{}", fault=fault)
            if fault == "broken":
                return Response(body=b'{"hits": {"hits": [')
            if fault.isdecimal():
                return Response(int(fault), b'{"error": "told to"}', {"Retry-After": "0"})
            return self._answer(request)

    def _answer(self, request: Request) -> Response:
        if self.authorization and request.headers.get("authorization") != self.authorization:
            return Response.of({"error": "missing authentication credentials"}, 401)
        if request.path == "/":
            return Response.of({"version": {"number": "2.11.0", "distribution": "opensearch"}})
        name, _, action = request.path.strip("/").partition("/")
        if request.method == "PUT" and not action:
            return self._create(name, json.loads(request.body))
        if name not in self.indexes:
            return Response.of({"error": {"type": "index_not_found_exception"}}, 404)
        index = self.indexes[name]
        if request.method == "DELETE":
            del self.indexes[name]
            return Response.of({"acknowledged": True})
        if action == "_bulk":
            return self._bulk(index, request)
        if action == "_search":
            return self._search(index, json.loads(request.body))
        if action == "_mapping" and request.method == "PUT":
            index["mappings"].update(json.loads(request.body))
        answers = {
            "_mapping": {name: {"mappings": index["mappings"]}},
            "_count": {"count": len(index["docs"])},
            "_stats/store": {"_all": {"primaries": {"store": {"size_in_bytes": 100 * len(index["docs"])}}}},
            "_settings": {"acknowledged": True},
            "_refresh": {"_shards": {"failed": 0}},
        }
        return Response.of(answers[action]) if action in answers else Response.of({"error": action}, 400)

    def _create(self, name: str, body: dict[str, Any]) -> Response:
        if name in self.indexes or name != name.lower():
            return Response.of({"error": {"type": "resource_already_exists_exception"}}, 400)
        self.indexes[name] = {"mappings": body["mappings"], "docs": {}}
        return Response.of({"acknowledged": True})

    def _bulk(self, index: dict[str, Any], request: Request) -> Response:
        if request.headers.get("content-type") != "application/x-ndjson":
            return Response.of({"error": "Content-Type header is not supported"}, 406)
        if not request.body.endswith(b"\n"):
            return Response.of({"error": "The bulk request must be terminated by a newline"}, 400)
        if len(request.body) > self.most_bytes:
            return Response.of({"error": "too large"}, 413)
        lines = [json.loads(line) for line in request.body.splitlines()]
        items = [self._take(index, a["index"]["_id"], d) for a, d in zip(lines[::2], lines[1::2], strict=True)]
        return Response.of({"errors": any(item["index"]["status"] >= 300 for item in items), "items": items})

    def _take(self, index: dict[str, Any], doc: str, source: dict[str, Any]) -> dict[str, Any]:
        if self.busy[doc] > 0:
            self.busy[doc] -= 1
            error = {"type": "es_rejected_execution_exception", "reason": "queue is full"}
            return {"index": {"_id": doc, "status": 429, "error": error}}
        if doc in self.wrong:
            error = {"type": "mapper_parsing_exception", "reason": "failed to parse"}
            return {"index": {"_id": doc, "status": 400, "error": error}}
        status = 200 if doc in index["docs"] else 201
        index["docs"][doc] = source
        return {"index": {"_id": doc, "status": status}}

    def _search(self, index: dict[str, Any], body: dict[str, Any]) -> Response:
        if body["size"] > 10_000 or "from" in body:
            return Response.of({"error": "Result window is too large"}, 400)
        by_score, by_tie = body["sort"]
        ((field_of_tie, direction),) = by_tie.items()
        if by_score != {"_score": "desc"} or direction != "asc":
            return Response.of({"error": "sorted otherwise than engines should"}, 400)
        asked = Counter(_query_text(body["query"]).lower().split())
        hits = []
        for doc, source in index["docs"].items():
            words = str(source.get("text", "")).lower().split()
            score = float(sum(words.count(word) for word in asked))
            if score:
                order = doc if field_of_tie == "_id" else source[field_of_tie]
                hits.append({"_id": doc, "_score": score, "sort": [score, order], "_source": source})
        hits.sort(key=lambda hit: (-hit["sort"][0], hit["sort"][1]))
        if after := body.get("search_after"):
            hits = [hit for hit in hits if (-hit["sort"][0], hit["sort"][1]) > (-after[0], after[1])]
        return Response.of({"timed_out": False, "_shards": {"failed": 0}, "hits": {"hits": hits[: body["size"]]}})


def _query_text(query: dict[str, Any]) -> str:
    if "multi_match" in query:
        return str(query["multi_match"]["query"])
    return str(next(iter(query["match"].values())))
