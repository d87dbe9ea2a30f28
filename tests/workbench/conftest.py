"""Workspaces, applications, clients and servers for the tests of the workbench."""

from __future__ import annotations

import json
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cranfield.experiment.workspace import open_workspace
from cranfield.workbench.passwords import Cost

NEEDED = ("starlette", "jinja2", "uvicorn", "nh3", "sqlalchemy", "httpx")
if any(find_spec(name) is None for name in NEEDED):  # a smaller installation
    collect_ignore_glob = ["test_*.py", "explore/*.py"]
else:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # starlette would rather have httpx2
        from starlette.testclient import TestClient

    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.app import make_app
    from cranfield.workbench.judge.judging_service import JudgingService, open_judging

HOST = "http://127.0.0.1:8000"
QUICK = Cost(4, 8, 1)
PASSWORD = "correct horse"
EVIL = """</script><script>window.hit=1</script><img/src="x"onerror="window.hit=1">{{7*7}}'"<svg/onload=window.hit=1>"""
TOPICS = [
    {"id": "1", "title": "flat tyres", "description": "How do I mend a flat tyre?", "narrative": "Repair is relevant."},
    {"id": "2", "title": "brakes", "description": "Why do brakes squeal?", "narrative": "Noises of brakes."},
]
DOCUMENTS = [
    *({"id": f"d{i}", "title": f"Title {i}", "text": f"Text {i} about tyres.", "url": "http://h/"} for i in range(12)),
    {"id": "page", "text": "<html><h1>Big</h1><script>window.hit=1</script><p onclick=x()>small tyre</p></html>"},
]
PAIRS = {"1": [f"d{i}" for i in range(6)], "2": ["d6", "d7", "d8"]}


def client_of(app: Any, **given: Any) -> TestClient:
    """A client of an application, like a browser on this machine."""
    return TestClient(app, base_url=HOST, **given)


def with_token(client: TestClient) -> TestClient:
    """A client that sends the CSRF token, as our pages do."""
    client.headers["x-csrf-token"] = client.get("/api/session").json()["csrf"]
    return client


def make_folder(
    folder: Path,
    judging: str = "",
    pairs: Mapping[str, Sequence[str]] = PAIRS,
    documents: Sequence[Mapping[str, Any]] = DOCUMENTS,
    topics: Sequence[Mapping[str, Any]] = TOPICS,
    systems: str = "",
) -> Path:
    """A workspace with documents, topics and a pool."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("documents.jsonl", documents), ("topics.jsonl", topics)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_pairs(folder / "pool.jsonl", pairs)
    (folder / "cranfield.toml").write_text(
        'title = "Bicycles"\n[collection]\ndocuments = "documents.jsonl"\ntopics = "topics.jsonl"\n'
        f"{systems}\n[judging]\n{judging}\n"
    )
    return folder


def write_pairs(file: Path, pairs: Mapping[str, Sequence[str]]) -> Path:
    rows: list[dict[str, Any]] = [{"pool": {"documents": sum(map(len, pairs.values()))}}]
    rows += [{"query": query, "doc": doc} for query, docs in pairs.items() for doc in docs]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def open_service(folder: Path, log: str | None = None) -> JudgingService:
    service = open_judging(open_workspace(folder), log)
    assert service is not None
    return service


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "bicycles")


@pytest.fixture
def service(folder: Path) -> Iterator[JudgingService]:
    found = open_service(folder)
    yield found
    found.close()


@pytest.fixture
def alone(folder: Path, service: JudgingService) -> TestClient:
    """A client of the local user."""
    return with_token(
        client_of(make_app(open_workspace(folder), judging=service, local_user="ada", with_explore=False))
    )


@pytest.fixture
def accounts(service: JudgingService) -> Accounts:
    return Accounts(service.log.database, QUICK)


@pytest.fixture
def app(folder: Path, service: JudgingService, accounts: Accounts) -> Any:
    """An application where people sign in: cora coordinates, ada and grace judge."""
    for name, role in (("cora", "coordinator"), ("ada", "assessor"), ("grace", "assessor")):
        accounts.accept(accounts.invite(name, role), PASSWORD)
    return make_app(open_workspace(folder), judging=service, accounts=accounts, with_explore=False)


def signed_in(app: Any, name: str) -> TestClient:
    """A client that has signed in with the form."""
    client = client_of(app)
    sign_in(client, name)
    return with_token(client)


def sign_in(client: TestClient, name: str, password: str = PASSWORD) -> Any:
    token = token_in(client.get("/sign-in").text)
    given = {"name": name, "password": password, "csrf": token}
    return client.post("/sign-in", data=given, follow_redirects=False)


def token_in(html: str) -> str:
    return html.partition('name="csrf" content="')[2].partition('"')[0]


def judge_all(client: TestClient, grade: float = 1) -> list[str]:
    """Give every document the same grade; returns the documents in the order in which they were shown."""
    seen = []
    item = client.post("/api/judging/next", json={}).json()["item"]
    while item is not None:
        seen.append(item["doc"])
        given = {"kind": "judge", "query": item["query"], "place": item["place"], "grade": grade}
        # httpx would choke on ids that are no UTF-8
        headers = {"content-type": "application/json"}
        answer = client.post("/api/judging/save", content=json.dumps(given), headers=headers)
        assert answer.status_code == 200, answer.text
        item = answer.json()["next"] or client.post("/api/judging/next", json={}).json()["item"]
    return seen


@contextmanager
def serving(app: Any) -> Iterator[str]:
    """Serve an application in a thread; yields its URL."""
    import uvicorn

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join()
