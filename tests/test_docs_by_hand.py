"""The commands that the docs mark `# not run` are run here: servers, terminals, engines on hosts, real collections.

Each is taken by one recipe, which runs it as the page has it, but with hosts and ports of its own. A command without
a recipe fails, so that none can escape. What `make` and `pip` would do is looked up, not done.
"""

from __future__ import annotations

import csv
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from cranfield import Run, read_documents, read_qrels, read_run
from cranfield.annotation import AssessorSession, open_log
from tests.annotation.test_screen import Terminal
from tests.lab import servers
from tests.lab.test_embeddings import Server
from tests.soak import PARTS
from tests.test_docs import NOT_RUN, PAGES, ROOT, Block, blocks, matches
from tests.waiting import TIMEOUT, wait_until

EXAMPLE = ROOT / "src/cranfield/example"
DEMO = "cranfield demo -o bicycles --quiet"
MARK = re.compile(r"\s*# not run$")
SHOWN_PORT = "127.0.0.1:8000"
EXTRAS = {
    "lab": ("tantivy", "snowballstemmer"),
    "plots": ("vl_convert",),
    "web": ("starlette", "uvicorn", "jinja2", "nh3", "sqlalchemy"),
}


@dataclass(frozen=True)
class ByHand:
    """A command that the other test leaves out, where it stands, and what it prints according to the page."""

    page: Path
    block: Block
    text: str
    output: str

    @property
    def is_marked(self) -> bool:
        return MARK.search(self.text) is not None

    @property
    def call(self) -> str:
        return MARK.sub("", self.text)

    def __str__(self) -> str:
        return f"{self.page.stem}: {' '.join(self.call.split()[:4])[:50]}"


def left_out() -> Iterator[ByHand]:
    for page in PAGES:
        for block in blocks(page):
            if block.kind == "console":
                for command in block.commands():
                    if NOT_RUN.match(command.text):
                        yield ByHand(page, block, command.text, command.output)


LEFT_OUT = list(left_out())
MARKED = [command for command in LEFT_OUT if command.is_marked]
Recipe = Callable[[ByHand, pytest.FixtureRequest], None]
RECIPES: dict[re.Pattern[str], Recipe] = {}


def takes(pattern: str) -> Callable[[Recipe], Recipe]:
    """Let a recipe take the commands that begin like this."""

    def keep(recipe: Recipe) -> Recipe:
        RECIPES[re.compile(pattern)] = recipe
        return recipe

    return keep


def needs(command: ByHand) -> Any:
    return pytest.mark.postgres if "postgresql:" in command.call else ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [pytest.param(command, marks=needs(command), id=str(command)) for command in MARKED]
)
def test_commands_marked_as_not_run_do_what_the_page_says(
    command: ByHand, folder: Path, request: pytest.FixtureRequest
) -> None:
    found = [recipe for pattern, recipe in RECIPES.items() if pattern.match(command.call)]
    assert len(found) == 1, f"{command.page.name}: expected one recipe, found {len(found)}, for\n{command.text}"
    found[0](command, request)


def test_every_recipe_takes_a_command() -> None:
    assert [one.pattern for one in RECIPES if not any(one.match(command.call) for command in MARKED)] == []


# Where commands are run, and how


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example collection to be in, and the commands of this installation first in the path."""
    place = tmp_path / "example"
    shutil.copytree(EXAMPLE, place, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(place)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return place


def run(call: str, **environment: str) -> str:
    """All that a command prints, which must end with 0; nothing that it started outlives it."""
    process = subprocess.Popen(
        ["bash", "-c", call],
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **environment},
        start_new_session=True,
    )
    with process:
        try:
            printed, _ = process.communicate(timeout=TIMEOUT)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0 and "Traceback" not in printed, f"{call}\n{printed}"
    return printed


def run_as_shown(command: ByHand, call: str | None = None, **environment: str) -> str:
    printed = run(call or command.call, **environment)
    if command.output:
        assert matches(printed, command.output), f"{command}\n{printed}\nwhere the page has\n{command.output}"
    return printed


def do_what_is_told(command: ByHand, pattern: str) -> None:
    """Run the commands of the page that make what this one needs: those like the pattern that come before it."""
    before = [block for block in blocks(command.page) if block.line <= command.block.line]
    calls = [one.text for block in before if block.kind == "console" for one in block.commands()]
    calls = calls[: next(i for i, text in enumerate(calls) if text == command.text)]
    wanted = [text for text in calls if re.match(pattern, text) and not NOT_RUN.match(text)]
    assert wanted, f"{command.page.name} does not tell how to make what {command.call!r} needs"
    for text in wanted:
        run(text)


def need(*extras: str) -> None:
    lacking = [name for extra in extras for name in EXTRAS[extra] if find_spec(name) is None]
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not installed")


def found_for_topics(path: str, at_least: int = 30) -> Run:
    """A run of the example's topics, which has documents of the example's for all of them, or most."""
    found = read_run(path)
    assert set(found.to_dict()) <= {str(number) for number in range(1, 31)} and len(found.to_dict()) >= at_least
    assert set(found.docs) <= {document.id for document in read_documents(EXAMPLE / "documents.jsonl")}
    return found


# Servers


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `cranfield demo` makes."""
    need("lab", "plots")
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        run(DEMO)
    return folder / "bicycles"


@takes("cranfield demo ")
def the_demo_is_made(command: ByHand, request: pytest.FixtureRequest) -> None:
    assert command.call == DEMO
    made = request.getfixturevalue("demo")
    assert {"cranfield.toml", "pool.jsonl", "qrels.txt", "report.html"} <= {path.name for path in made.iterdir()}


def make_workspaces(command: ByHand, request: pytest.FixtureRequest) -> None:
    """Make the workspace that a command names."""
    need("web")
    if re.search(r"serve tyres\b", command.call):
        do_what_is_told(command, r"cranfield (init tyres |pool .*-o tyres/)")
    elif "--qrels" not in command.call:
        for place in ("bicycles", "build/demo"):  # where `make demo` leaves it
            shutil.copytree(request.getfixturevalue("demo"), place)
        os.makedirs(".venv")
        os.symlink(Path(sys.executable).parent.absolute(), ".venv/bin")  # as `make demo` does


@contextmanager
def served(call: str, lines: int = 1) -> Iterator[str]:
    """What a server prints before it answers, while it runs; then it is interrupted, which must end it well."""
    with open("printed", "w") as printed, open("said", "w") as said:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {call} --port 0"], stdin=subprocess.DEVNULL, stdout=printed, stderr=said
        )
    with process:
        try:
            wait_until(lambda: Path("printed").read_text().count("\n") >= lines or process.poll() is not None)
            assert process.poll() is None, f"{call}\n{Path('said').read_text()}"
            yield Path("printed").read_text()
            process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT)
        finally:
            process.kill()
    said_last = Path("said").read_text()
    assert process.returncode == 0 and "Traceback" not in said_last, f"{call}\n{process.returncode}: {said_last}"


def fetched(url: str) -> str:
    with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
        assert answer.status == 200 and answer.headers.get_content_type() == "text/html"
        return str(answer.read().decode())


@takes(r"(\.venv/bin/)?cranfield serve ")
def a_server_answers_until_it_is_interrupted(command: ByHand, request: pytest.FixtureRequest) -> None:
    make_workspaces(command, request)
    with served(command.call, max(command.output.count("\n"), 1)) as printed:
        address = printed.split("\n")[0]
        port = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/", address)
        assert port is not None, printed
        if command.output:
            assert matches(printed.replace(f"127.0.0.1:{port[1]}", SHOWN_PORT), command.output), printed
        first = fetched(address)
        if "--coordinator" in command.call:
            assert "password" in first
            assert "password" in fetched(printed.split()[-1])
        else:
            assert "bm25" in first and "lm" in first
            assert re.search(r"/judge\b", first) or "--qrels" in command.call


@takes("curl ")
def a_server_answers_curl(command: ByHand, request: pytest.FixtureRequest) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    make_workspaces(command, request)
    judge_one("bicycles/pool.judgments.db", "bicycles/pool.jsonl")
    with served("cranfield serve bicycles") as printed:
        assert SHOWN_PORT in command.call
        call = command.call.replace(f"http://{SHOWN_PORT}/", printed.split()[0])
        told = run(f"{call} --silent --output answer --write-out '%{{http_code}} %{{content_type}}'")
    kind = told.removeprefix("200 ").partition(";")[0]
    answer = Path("answer").read_text()
    if ".json?" in call:
        content = json.loads(answer)
        assert (kind, content["system"], content["baseline"]) == ("application/json", "lsi", "bm25"), told
        assert [pair["measure"] for pair in content["pairs"]] == ["AP"]
    elif "format=csv" in call:
        (row,) = csv.DictReader(answer.splitlines())
        assert (kind, row["kind"], row["assessor"], row["grade"]) == ("text/csv", "judge", "ada", "2"), told
    else:
        assert kind == "text/plain" and list(read_qrels("answer").grades) == [2.0], told


# Judging


def judge_one(log: str, pool: str) -> None:
    with open_log(log) as opened:
        opened.add_pool(pool)
        session = AssessorSession(opened, "ada")
        item = session.next(None)
        assert item is not None
        session.save("judge", item.query, item.place, 2)


@takes("cranfield judge ")
def a_document_is_judged_on_a_terminal(command: ByHand, request: pytest.FixtureRequest) -> None:
    do_what_is_told(command, r"cranfield pool .*-o pool.jsonl$")
    with closing(Shell(command.call)) as terminal:
        terminal.wait("q quit")
        terminal.press("2", "Saved: 2 Relevant.")
        terminal.press("q", "judged")
        assert terminal.ended() == 0 and b"Traceback" not in terminal.read
    with open_log("pool.judgments.db") as log:
        (event,) = log.events()
        assert (event.kind, event.grade, event.method) == ("judge", 2, "key")
        assert "--assessor" not in command.call or event.assessor == "ada"


class Shell(Terminal):
    """A terminal in which a command runs as it is written."""

    def __init__(self, call: str) -> None:
        self.read = b""
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ.update(TERM="xterm", COLUMNS="80", LINES="24")
            os.execvp("bash", ["bash", "-c", f"stty rows 24 cols 80; exec {call}"])


@takes("cranfield judgments import ")
def what_a_packet_exports_is_imported(command: ByHand, request: pytest.FixtureRequest) -> None:
    do_what_is_told(command, r"cranfield (pool|packet) .*-o (pool.jsonl|packet.html)$")
    judge_one("pool.judgments.db", "pool.jsonl")
    Path("judgments-grace-1f2e3d4c.jsonl").write_text(exported_by(Path("packet.html"), "grace"))
    for new in (2, 0):  # as often as it comes
        assert f"2 events by 'grace', {new} of them new" in run_as_shown(command)
    with open_log("pool.judgments.db") as log:
        assert sorted((one.assessor, one.grade) for one in log.judgments()) == [("ada", 2), ("grace", 0), ("grace", 3)]


def exported_by(packet: Path, assessor: str) -> str:
    """What the page of a packet saves when its first topic's first documents got 3 and 0 (lines of packet.js)."""
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', packet.read_text(), re.S)
    assert data is not None
    content = json.loads(data[1])
    topic = content["topics"][0]
    lines: list[dict[str, Any]] = [
        {"judgments": {"version": 1, "packet": content["packet"], "grades": content["grades"]}}
    ]
    for (place, number), grade in zip(topic["places"], (3, 0), strict=False):
        moment = f"2024-05-01T10:00:0{place}.000Z"
        lines.append(
            {
                "key": str(uuid4()),
                "shown_at": moment,
                "judged_at": moment,
                "active_ms": 900,
                "method": "key",
                "kind": "judge",
                "assessor": assessor,
                "query": topic["query"],
                "doc": content["documents"][number][0],
                "place": place,
                "grade": grade,
                "note": None,
                "recorded_at": moment,
                "version": content["version"],
            }
        )
    return "".join(json.dumps(line) + "\n" for line in lines)


# Real collections


@takes(r"cranfield (index|search cran\.index|eval) cranfield:data/cran\b")
def cranfields_own_collection_is_searched(command: ByHand, request: pytest.FixtureRequest) -> None:
    need("lab")
    Path("data").mkdir()
    Path("data/cran").symlink_to(request.getfixturevalue("shared_data") / "classic/cran")
    Path("bm25.run").unlink()  # what is evaluated is what was found
    for before in command.block.commands():
        if before.text == command.text:
            break
        run(MARK.sub("", before.text))
    printed = run_as_shown(command)
    expected = {"index": "1,400 documents", "search": "225 topics", "eval": "225 queries evaluated"}
    assert expected[command.call.split()[1]] in printed


@takes(r"cranfield pool dl19/")
def strategies_are_replayed_on_judgments_of_trec(command: ByHand, request: pytest.FixtureRequest) -> None:
    need("plots")
    data = request.getfixturevalue("shared_data") / "dl19"
    Path("dl19").mkdir()
    Path("dl19/runs").symlink_to(data / "runs")
    Path("dl19/qrels.txt").symlink_to(data / "qrels.dl19-passage.txt")
    assert command.output
    run_as_shown(command)
    assert "</svg>" in Path("replay.svg").read_text()


# Engines and embeddings on hosts


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = servers.self_signed(tmp_path_factory.mktemp("certificate"))
    if made is None:
        pytest.skip("openssl is not installed")
    return made


@takes("cranfield index documents.jsonl --engine 'opensearch")
def documents_are_sent_to_opensearch(command: ByHand, request: pytest.FixtureRequest) -> None:
    trusted = request.getfixturevalue("certificate")
    server = servers.FakeElastic("lab", "s3cret")
    with servers.serving(server, trusted) as host:
        call = with_host(command, "host:9200", host)
        printed = run_as_shown(command, call, LAB_PASSWORD="s3cret", SSL_CERT_FILE=str(trusted))
    assert "223 documents" in printed and "s3cret" not in printed
    assert len(server.indexes["bicycles"]["docs"]) == 223


@takes("cranfield search 'elasticsearch")
def an_index_of_elasticsearch_is_searched(command: ByHand, request: pytest.FixtureRequest) -> None:
    trusted = request.getfixturevalue("certificate")
    server = servers.FakeElastic(api_key="s3cret")
    # the field `text` is what this server searches, whatever fields it is asked for
    docs = {
        document.id: {"title": document.title, "body": document.text, "text": f"{document.title} {document.text}"}
        for document in read_documents("documents.jsonl")
    }
    server.indexes["articles"] = {"mappings": {}, "docs": docs}
    with servers.serving(server, trusted) as host:
        call = with_host(command, "host:9200", host)
        run_as_shown(command, call, LAB_KEY="s3cret", SSL_CERT_FILE=str(trusted))
    asked = [json.loads(one.body)["query"]["multi_match"]["fields"] for one in server.requests if "_search" in one.path]
    assert asked and all(fields == ["title^2", "body"] for fields in asked)
    found_for_topics("ours.run", at_least=25)  # a server that knows no stems


@pytest.fixture(scope="module")
def database(postgres: str) -> str:
    """Host and port of PostgreSQL with the databases of docs/engines.md, one of which has a table of somebody."""
    import psycopg

    url = postgres.removesuffix("/postgres")
    with psycopg.connect(postgres, autocommit=True) as server:
        for name in ("lab", "shop"):
            server.execute(f"CREATE DATABASE {name}")
    with psycopg.connect(f"{url}/shop") as shop:
        shop.execute("CREATE TABLE public.items (sku text PRIMARY KEY, price int, tsv tsvector)")
        for document in read_documents(EXAMPLE / "documents.jsonl"):
            row = (document.id, f"{document.title} {document.text}")
            shop.execute("INSERT INTO public.items VALUES (%s, 5, to_tsvector('english', %s))", row)
    return url.rpartition("@")[2]


@takes("cranfield index documents.jsonl --engine 'postgresql:")
def documents_are_copied_to_postgresql(command: ByHand, request: pytest.FixtureRequest) -> None:
    place = request.getfixturevalue("database")
    assert "223 documents" in run_as_shown(command, with_host(command, "host", place), PGPASSWORD="s3cret")
    url = with_host(command, "host", place).split("'")[1]
    run(f"cranfield search '{url}' topics.xml -o ours.run", PGPASSWORD="s3cret")
    found_for_topics("ours.run")


@takes("cranfield search 'postgresql:")
def a_table_of_postgresql_is_searched(command: ByHand, request: pytest.FixtureRequest) -> None:
    place = request.getfixturevalue("database")
    run_as_shown(command, with_host(command, "host", place), PGPASSWORD="s3cret")
    found_for_topics("ours.run")


@takes("cranfield search 'http-get:")
def an_endpoint_is_searched(command: ByHand, request: pytest.FixtureRequest) -> None:
    trusted = request.getfixturevalue("certificate")
    asked: list[str] = []

    def answer(given: servers.Request) -> servers.Response:
        if given.path != "/search" or given.headers.get("authorization") != "Bearer s3cret":
            return servers.Response.of({"error": "who are you?"}, 401)
        assert int(given.query["k"][0]) > 1
        asked.extend(given.query["q"])
        return servers.Response.of({"hits": [{"id": "b003", "score": 2.5}, {"id": "b001", "score": 1}]})

    with servers.serving(answer, trusted) as host:
        run_as_shown(command, with_host(command, "host", host), TOKEN="s3cret", SSL_CERT_FILE=str(trusted))
    assert len(set(asked)) == 30
    assert all(docs == {"b003": 2.5, "b001": 1.0} for docs in found_for_topics("ours.run").to_dict().values())


@takes(r"cranfield search bicycles\.index topics\.xml --system dense \\\n +--embeddings ")
def vectors_come_from_an_endpoint(command: ByHand, request: pytest.FixtureRequest) -> None:
    need("lab")
    trusted = request.getfixturevalue("certificate") if "https://" in command.call else None
    do_what_is_told(command, r"cranfield index documents.jsonl -o bicycles.index")
    server = Server()
    with servers.serving(server, trusted) as host:
        call = with_host(command, "host" if trusted else "localhost:8080", host)
        run_as_shown(command, call, LAB_KEY="s3cret", SSL_CERT_FILE=str(trusted or ""))
    model, path = re.findall(r"--model (\w+) .*-o (\S+)", call)[0]
    assert Path(f"bicycles.index.{model}.npy").exists()
    assert sum(map(len, server.asked)) == 223 + 30 and {one.path for one in server.requests} == {"/v1/embeddings"}
    assert {json.loads(one.body)["model"] for one in server.requests} == {model}
    keys = {one.headers.get("authorization") for one in server.requests}
    assert keys == ({"Bearer s3cret"} if "--api-key-env" in call else {None})
    found_for_topics(path)


def with_host(command: ByHand, shown: str, host: str) -> str:
    """The command with our own host for the one of the page, and nothing else changed."""
    changed, number = re.subn(rf"(//(?:\w+@)?){re.escape(shown)}/", rf"\g<1>{host}/", command.call)
    assert number == 1, command.call
    return changed


# What make and pip are asked for


def test_commands_of_other_programs_are_looked_up_and_no_others() -> None:
    others = [command.call for command in LEFT_OUT if not command.is_marked]
    assert [call for call in others if not re.match(r"make [a-z-]+( [A-Z]+=\w+)*$|pip install \S+$", call)] == []


def written() -> str:
    return "\n".join(page.read_text() for page in (*PAGES, ROOT / "ARCHITECTURE.md") if page.exists())


def asked_of_make() -> list[str]:
    """What is given to make on a line of its own or in backquotes."""
    return sorted({found.strip() for found in re.findall(r"(?:^\$ |`)make ([a-z-]+(?: [A-Z]+=\w+)*)", written(), re.M)})


@pytest.mark.parametrize("asked", asked_of_make())
def test_what_is_asked_of_make_is_in_the_makefile(asked: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    target, *settings = asked.split()
    rule = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.M)
    assert rule is not None and re.search(rf"^\.PHONY:.* {target}\b", makefile, re.M)
    for setting in settings:
        name, _, value = setting.partition("=")
        usual = re.search(rf"^{name} \?= (\w+)$", makefile, re.M)
        assert usual is not None and f"$({name})" in rule[1]
        if name == "PART":
            assert value in ("list", *PARTS)
        else:
            assert value.isdigit() if usual[1].isdigit() else set(value) <= set(usual[1])


@pytest.mark.parametrize("asked", sorted(set(re.findall(r"pip install ('[^']+'|[^\s`]+)", written()))))
def test_what_is_asked_of_pip_is_this_package_and_its_extras(asked: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    parts = re.fullmatch(r"(\.|[\w-]+)(?:\[([\w,]+)\])?", asked.strip("'"))
    assert parts is not None and parts[1] in (".", project["name"])
    assert set((parts[2] or "all").split(",")) <= set(project["optional-dependencies"])
    assert "[" not in asked or asked.startswith("'")  # or some shells take it for a pattern
