"""The description of the API: complete, and true whatever is sent."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from starlette.routing import Route

from tests.web.conftest import signed_in

EXAMPLES = 100 if os.environ.get("CRANFIELD_SOAK") else 8


def test_every_route_is_described(app: Any) -> None:
    described = signed_in(app, "cora").get("/openapi.json").json()["paths"]
    told = {(path, method.upper()) for path, methods in described.items() for method in methods}
    pages = {path.removesuffix(".json") for path in described}
    for route in app.routes:
        assert isinstance(route, Route)
        if route.path in ("/openapi.json", "/static/{name:path}", "/", "/index.json"):
            continue
        if route.path in ("/sign-in", "/sign-in.json", "/invitation", "/invitation.json", "/account"):
            continue
        for method in (route.methods or set()) - {"HEAD"}:
            assert (route.path, method) in told or (method == "GET" and route.path in pages), (method, route.path)


def test_nothing_that_is_sent_is_a_mistake_of_ours(app: Any) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    client = signed_in(app, "cora")
    headers = {
        "x-csrf-token": client.headers["x-csrf-token"],
        "cookie": f"cranfield_session={client.cookies['cranfield_session']}",
    }
    headers["host"] = "127.0.0.1:8000"
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    schema.app = app
    operations = [found.ok() for found in schema.get_all_operations()]
    wait = ("/sign-out", "/people/change", "/account", "/sign-in", "/invitation")  # would sign us out, or make us wait
    chosen = [operation for operation in operations if operation.path not in wait]
    assert len(chosen) > 25
    for operation in chosen:
        attempts(operation, client, headers)


def attempts(operation: Any, client: Any, headers: dict[str, str]) -> None:
    """Send what the description allows, and see that what comes back is described."""

    @seed(1)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def attempt(case: Any) -> None:
        sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8000")
        given_headers = {name: value for name, value in dict(sent.get("headers") or {}).items()}
        wanted = {"method", "url", "params", "json", "data"}
        sent = {name: value for name, value in sent.items() if name in wanted} | {"headers": given_headers | headers}
        if isinstance(sent.get("data"), bytes):
            sent["content"] = sent.pop("data")
        answer = client.request(follow_redirects=False, **sent)
        assert answer.status_code < 500, (case.path, sent, answer.text)
        assert str(answer.status_code) in operation.definition.raw["responses"], (case.path, answer.text)

    attempt()


def test_statuses_are_described_as_they_are(app: Any) -> None:
    described = signed_in(app, "cora").get("/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    assert all(re.fullmatch(r"/[\w./{}-]*", path) for path in described["paths"])
