"""Hostile ids, odd URLs and random URLs: never a script, never a file, never a 500."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.experiment.workspace import open_workspace
from cranfield.workbench import make_app
from cranfield.workbench.explore import PAGES, schemas
from cranfield.workbench.pages import build_url
from tests.soak import examples
from tests.workbench.conftest import client_of

SCRIPT = "<script>alert(1)</script>"
QUERIES = [SCRIPT, '"><svg/onload=alert(1)>', "../../etc/passwd", "a\udcff", "{{7*7}}", "javascript:alert(1)"]
DOCS = [f"{SCRIPT}{i}" for i in range(3)] + ["'onmouseover='alert(1)", "..%2f..%2fetc", "d\udcfe", "&lt;b&gt;", "☃"]
NAME = "<img src=x onerror=alert(1)>.run"
TOPIC = "<script>alert(2)</script> {{ 7*7 }} </textarea>"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A workspace in which all names are hostile."""
    place = tmp_path_factory.mktemp("hostile")

    def write(name: str, lines: list[str]) -> None:
        (place / name).write_bytes("\n".join(lines).encode("utf-8", "surrogateescape") + b"\n")

    write("qrels.txt", [f"{q} 0 {d} {i % 3}" for q in QUERIES for i, d in enumerate(DOCS[:6])])
    for run, order in ((NAME, DOCS), ("other.run", DOCS[::-1])):
        write(run, [f"{q} Q0 {d} {i} {20 - i} {SCRIPT}" for q in QUERIES for i, d in enumerate(order)])
    write("topics.jsonl", [json.dumps({"_id": q, "text": TOPIC}) for q in QUERIES if "\udcff" not in q])
    write(
        "docs.jsonl",
        [json.dumps({"_id": d, "title": TOPIC, "text": TOPIC + SCRIPT}) for d in DOCS if "\udcfe" not in d],
    )
    write(
        "cranfield.toml",
        [
            f"title = '{SCRIPT}'",
            "[collection]",
            'qrels = "qrels.txt"',
            'topics = "topics.jsonl"',
            'documents = "docs.jsonl"',
            "[systems]",
            f"bad = {{ run = '{NAME}' }}",
            'other = { run = "other.run" }',
        ],
    )
    with client_of(make_app(open_workspace(place))) as client:
        yield client


class _Elements(HTMLParser):
    """The elements of a page, as a browser parses them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def addresses() -> Iterator[str]:
    yield from ("/leaderboard", "/compare", "/topics", "/pool", "/efficiency", "/measures")
    yield build_url("/leaderboard", filter=SCRIPT)
    yield build_url("/measures", filter='"><script>')
    yield build_url("/system", system="bad")
    for query in QUERIES:
        yield build_url("/topic", query=query, system=["bad", "other"], show=DOCS[0])
        yield build_url("/explain", query=query, system="bad", measure="AP")
    for doc in DOCS:
        yield build_url("/document", doc=doc)
        yield build_url("/document", doc=doc, query=QUERIES[3])
    yield build_url("/topic", query=SCRIPT, show="<b>not there</b>")
    # what is refused is told, and escaped as well
    yield build_url("/topic", query="<b>nothing</b>")
    yield build_url("/system", system="<b>nobody</b>")
    yield build_url("/leaderboard", measure="<b>none</b>", sort="<i>")
    yield build_url("/measure", name="<b>none</b>")
    yield build_url("/document", doc="<b>nowhere</b>")


@pytest.mark.parametrize("where", list(addresses()))
def test_nothing_that_has_a_name_gets_into_a_page_as_anything_but_text(hostile: Any, where: str) -> None:
    answer = hostile.get(where)
    assert answer.status_code in (200, 400, 404)
    parsed = _Elements()
    parsed.feed(answer.text)
    for tag, attributes in parsed.found:
        assert tag not in ("img", "iframe", "object", "embed", "b", "i")
        assert tag != "script" or str(attributes.get("src", "")).startswith("/static/")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        href = attributes.get("href")
        assert href is None or href.startswith(("/", "#")) or not href
    assert ">49<" not in answer.text and "root:" not in answer.text
    assert "default-src 'none'" in answer.headers["content-security-policy"]


def test_ids_of_any_bytes_have_their_pages(hostile: Any) -> None:
    for query in QUERIES:
        found = hostile.get(build_url("/topic.json", query=query, system="bad"))
        assert found.status_code == 200 and found.json()["query"] == query
        assert [one["doc"] for one in found.json()["rankings"][0]["documents"]] == DOCS
    for doc in DOCS:
        assert hostile.get(build_url("/document.json", doc=doc)).json()["doc"] == doc
    links = re.findall(r'href="(/topic\?[^"]+)"', hostile.get("/topics").text)
    assert len(links) == len(QUERIES)
    assert all(hostile.get(link.replace("&amp;", "&")).status_code == 200 for link in links)


@pytest.mark.parametrize(
    ("where", "status"),
    [
        ("/topic", 400),
        ("/topic?query=nowhere", 404),
        ("/topic?query=5&system=nobody", 404),
        ("/topic?query=5&depth=0", 400),
        ("/topic?query=5&depth=201", 400),
        ("/topic?query=5&from=-1", 400),
        ("/topic?query=5&from=999999", 200),
        ("/topic?query=5&from=99999999999999999999", 400),
        (
            "/topic?query=5&" + "&".join(f"system={name}" for name in ("bm25", "lm", "lsi", "rm3", "tfidf", "titles")),
            200,
        ),
        ("/topic?query=5&show=nothing", 200),
        ("/system", 400),
        ("/system?system=nobody", 404),
        ("/compare?system=lsi&baseline=lsi", 400),
        ("/compare?system=nobody", 404),
        ("/compare?test=guess", 400),
        ("/compare?by=nothing", 400),
        ("/compare?system=lsi&system=lm", 200),
        ("/compare?system=lsi&system=lm&baseline=bm25", 400),
        ("/leaderboard?measure=nothing", 400),
        ("/leaderboard?measure=nDCG@x", 400),
        ("/leaderboard?measure=Gini(docs=300)@10", 400),
        ("/leaderboard?measure=all_trec", 400),
        ("/leaderboard?measure=RBO", 400),
        ("/leaderboard?measure=alpha_nDCG@10", 200),
        ("/leaderboard?measure=NumRet", 200),
        ("/leaderboard?sort=nothing", 400),
        ("/leaderboard?page=0", 400),
        ("/leaderboard?page=999999", 200),
        ("/leaderboard?rows=1001", 400),
        ("/leaderboard?collection=nothing", 404),
        ("/leaderboard?measure=" + "+".join(f"P@{k}" for k in range(1, 22)), 400),
        ("/explain?query=5&system=lsi&measure=AP+RR", 400),
        ("/explain?query=5&system=lsi&measure=nothing", 400),
        ("/explain?query=5&system=lsi&measure=Gini(docs=300)@10", 200),
        ("/explain?query=5", 400),
        ("/document?doc=nowhere", 404),
        ("/document?doc=b003&query=nowhere", 404),
        ("/pool?depth=x", 400),
        ("/measure", 400),
        ("/measure?name=nothing", 404),
        ("/leaderboard.json?sort=%FF", 400),
        ("/leaderboard?state=%00%FF%3D&x=%", 200),
        ("/leaderboard?" + "&".join("a=1" for _ in range(6000)), 400),
    ],
)
def test_odd_addresses_are_answered_with_what_is_wrong(client: Any, where: str, status: int) -> None:
    path, mark, query = where.partition("?")
    for asked in {where, f"{path.removesuffix('.json')}.json{mark}{query}"}:
        answer = client.get(asked)
        assert answer.status_code == status, (asked, answer.text[-500:])
        if status >= 400 and ".json" in asked:
            assert answer.json()["error"]


def test_no_address_makes_the_server_run_or_read_a_file(client: Any, tmp_path: Path) -> None:
    program = tmp_path / "own.py"
    program.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for where in ("/leaderboard", "/explain", "/measure", "/compare", "/pool"):
        for name in (f"{program}:Mine", f"  {program}:Mine@10", f"AP {program}:Mine"):
            asked = {"measure": name, "name": name, "query": "5", "system": "lsi"}
            answer = client.get(f"{where}.json", params=asked)
            assert answer.status_code in (400, 404), (where, name)
    assert not (tmp_path / "ran").exists()
    for doc in ("../cranfield.toml", "/etc/passwd", "qrels.txt", "file:///etc/passwd"):
        answer = client.get("/document.json", params={"doc": doc})
        assert answer.status_code == 404 and "root:" not in answer.text


def test_own_measures_of_a_workspace_are_shown(tmp_path: Path) -> None:
    from tests.workbench.explore.conftest import lay_out

    place = lay_out(tmp_path)
    (place / "mine.py").write_text(
        "from typing import ClassVar\nimport numpy as np\nfrom cranfield import Measure\n\n"
        "class Found(Measure):\n    name: ClassVar = 'FoundHere'\n\n"
        "    def terms(self, judged):\n        return (judged.grade > 0).astype(float)\n"
    )
    toml = (place / "cranfield.toml").read_text()
    (place / "cranfield.toml").write_text(toml.replace('"P@10"]', '"mine.py:FoundHere"]'))
    with client_of(make_app(open_workspace(place))) as client:
        found = client.get("/leaderboard.json").json()
        assert found["measures"] == ["nDCG@10", "AP", "FoundHere"]
        assert client.get("/leaderboard.json?measure=FoundHere").status_code == 200
        assert client.get("/topic?query=5").status_code == 200
        answer = client.get("/explain.json?query=5&system=lsi&measure=FoundHere")
        assert answer.status_code == 200 and answer.json()["value"] > 0


# Addresses made up by a machine

VALUES = st.one_of(
    st.sampled_from(["5", "lsi", "bm25", "nDCG@10", "AP", "-AP", "query", "b003", "t", "10", "1", "0", "-1", ""]),
    st.text(max_size=20).filter(lambda text: text.isprintable()),
)
PARAMETERS = sorted(
    {one["name"] for path in schemas.paths().values() for one in path["get"]["parameters"]} | {"state", "x"}
)


@examples(150)
@given(
    path=st.sampled_from(sorted(PAGES)),
    asked=st.lists(st.tuples(st.sampled_from(PARAMETERS), VALUES), max_size=6),
    twin=st.booleans(),
)
def test_no_combination_of_parameters_is_a_mistake_of_ours(
    client: Any, path: str, asked: list[tuple[str, str]], twin: bool
) -> None:
    answer = client.get(f"{path}.json" if twin else path, params=asked)
    assert answer.status_code in (200, 400, 404), answer.text


@pytest.mark.slow
@pytest.mark.soak("pages")
def test_schemathesis_finds_no_mistake_in_the_description(client: Any) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    description = client.get("/openapi.json").json()
    description["paths"] = schemas.paths()
    schema = schemathesis.openapi.from_dict(description)
    operations = [result.ok() for result in schema.get_all_operations()]
    assert {operation.path for operation in operations} == set(schemas.paths())
    for operation in operations:
        assert _attempts(operation, client) > 5


def _attempts(operation: Any, client: Any) -> int:
    """Send requests that the description allows, and check that it names the responses; returns how many."""
    declared, seen = operation.definition.raw["responses"], []

    @examples(12)
    @given(case=operation.as_strategy())
    def holds(case: Any) -> None:
        asked = {name: value for name, value in (case.query or {}).items() if value is not None}
        answer = client.get(case.path, params=asked)
        assert str(answer.status_code) in declared, (case.path, asked, answer.status_code, answer.text[:300])
        assert answer.headers["content-type"].startswith("application/json")
        seen.append(case.path)

    holds()
    return len(seen)
