"""The documentation is true: its examples run and print what they say, it is complete, and its site works offline.

A block of `console` holds commands after `$ ` and what they print, `…` standing for what is left out. It must
succeed, or end with 2 after `<!-- exit 2 -->`. A block of `python` is run in its page's folder and prints the
block of `text` that follows it, if one does; after `<!-- file NAME -->` it is also a file for the commands.
A page with `<!-- needs java -->` is left out where there is none.
"""

from __future__ import annotations

import html.parser
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args
from urllib.parse import unquote

import click
import pytest

import cranfield
from cranfield.base.options import QRELS_FORMATS, RUN_FORMATS, Missing, RankBy, ScoreType, Ties
from cranfield.cli import commands
from cranfield.measures import all_measures
from tests.spark.spark_frames import require_spark
from tests.waiting import TIMEOUT

ROOT = Path(__file__).parent.parent
PAGES = [
    page
    for page in (*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md")
    if page.exists()
]
NOT_RUN = re.compile(r"(make|pip|git)\b|.*# not run$", re.DOTALL)
BLOCK = re.compile(
    r"(?P<exit><!-- exit (?P<code>\d) -->\n+)?(?:<!-- file (?P<file>[\w.]+) -->\n+)?"
    r"^```(?P<kind>console|python|text)\n(?P<body>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True)
class Command:
    """A command of a console block, and what it prints according to the page."""

    text: str
    output: str


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    kind: str
    body: str
    exit_code: int
    line: int
    follows: str  # the text between the block before and this one
    file: str | None = None  # what it is saved as before the next command runs

    def commands(self) -> Iterator[Command]:
        for part in re.split(r"^\$ ", self.body, flags=re.M)[1:]:
            match = re.match(r"((?:.*\\\n)*.*)\n", part)
            assert match is not None
            yield Command(match[1], part[match.end() :])


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found, end = [], 0
    for match in BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("kind")) + 1
        code, before = int(match["code"] or 0), text[end : match.start()]
        found.append(Block(match["kind"], match["body"], code, line, before, match["file"]))
        end = match.end()
    return found


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example collection to be in, and the commands of this installation first in the path."""
    folder = tmp_path / "example"
    shutil.copytree(ROOT / "src/cranfield/example", folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    # a Java that lives for a minute has no time to optimise
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    return folder


def needs_spark(page: Path) -> bool:
    return "<!-- needs java -->" in page.read_text()


PAGES_RUN = [pytest.param(page, marks=pytest.mark.spark if needs_spark(page) else (), id=page.name) for page in PAGES]


def matches(actual: str, shown: str) -> bool:
    """Whether output is what a page shows; `…` stands for any lines, or for any part of its line."""
    pattern = re.escape(shown)
    pattern = re.sub(r"^…\\\n", r"(?:.*\\n)*", pattern, flags=re.M)
    return re.fullmatch(pattern.replace("…", ".*"), actual) is not None


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_RUN)
def test_commands_of_the_docs_print_what_they_show(page: Path, example: Path) -> None:
    if needs_spark(page):
        require_spark()
    for block in blocks(page):
        if block.file:
            Path(block.file).write_text(block.body)
        if block.kind == "console":
            run_commands(block, page)


def run_commands(block: Block, page: Path) -> None:
    ran = [command for command in block.commands() if not NOT_RUN.match(command.text)]
    for command in ran:
        done = subprocess.run(
            ["bash", "-c", command.text], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=TIMEOUT
        )
        where = f"{page.name}, line {block.line}: {command.text}\n{done.stdout}"
        # a block that fails does so in its last command
        assert done.returncode == (block.exit_code if command == ran[-1] else 0), where
        if command.output:
            assert matches(done.stdout, command.output), f"{where}\nwhere the page has\n{command.output}"


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES_RUN)
def test_python_of_the_docs_prints_what_it_shows(page: Path, example: Path) -> None:
    if needs_spark(page):
        require_spark()
    here = blocks(page)
    printed = iter(run_python(page, [block for block in here if block.kind == "python"]))
    for block, after in zip(here, [*here[1:], None], strict=True):
        if block.kind == "python":
            output = next(printed)
            if after is not None and after.kind == "text" and not after.follows.strip():
                assert matches(output, after.body), f"{page.name}, line {block.line} prints\n{output}"


def run_python(page: Path, parts: list[Block]) -> list[str]:
    """What each block prints when all of a page are run in order, in a process of their own."""
    # every block stands at its line of the page, so that a traceback names it, and ends with a mark
    lines = [""] * (len(page.read_text().split("\n")) + 1)
    for block in parts:
        body = block.body.split("\n")
        lines[block.line : block.line + len(body)] = [*body[:-1], r"print(end='\f')"]
    Path("page.py").write_text("\n".join(lines))
    done = subprocess.run([sys.executable, "-W", "error", "page.py"], text=True, capture_output=True, timeout=TIMEOUT)
    if missing_module := re.search(r"ModuleNotFoundError: No module named '(\w+)'", done.stderr):
        pytest.skip(f"{missing_module[1]} is not installed")
    assert done.returncode == 0, f"{page.name}\n{done.stderr}"
    return done.stdout.split("\f")


def written() -> str:
    """All that was written by hand for the site."""
    return "\n".join(page.read_text() for page in PAGES if page.parent.name == "docs")


def missing(names: Any) -> list[str]:
    text = written()
    return [name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is None]


def test_the_docs_mention_every_public_name() -> None:
    assert missing(cranfield.__all__) == []


def test_the_docs_mention_every_command() -> None:
    names = commands.list_commands(click.Context(commands))
    assert missing(f"cranfield {name}" for name in names) == []


def test_the_docs_mention_every_rule_of_the_join() -> None:
    assert missing(f"`{rule}`" for kind in (Ties, RankBy, Missing) for rule in get_args(kind)) == []
    assert missing(f"--{name}" for name in ("ties", "rank-by", "score-type", "missing", "on-duplicate")) == []
    assert missing(get_args(ScoreType)[1:]) == []


class Links(html.parser.HTMLParser):
    """What a page links to and loads, the ids it has, and the elements it uses."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.add(tag)
        self.ids |= {given["id"]} if "id" in given else set()
        to = [given[name] for name in ("href", "src", "srcset", "data") if name in given]
        (self.links if tag == "a" else self.loads).extend(to)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Links]:
    """The pages of the site, built."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("latex2mathml")
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(build, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return {page: Links(page) for page in sorted(folder.rglob("*.html"))}


def test_the_site_loads_nothing_from_elsewhere(site: dict[Path, Links]) -> None:
    folder = min(site, key=lambda page: len(page.parts)).parent
    for page, links in site.items():
        assert not [url for url in links.loads if re.match(r"(\w+:)?//", url)], page
        assert "script" not in links.tags, page
    for sheet in folder.rglob("*.css"):
        assert not re.search(r"url\(|@import|https?:", sheet.read_text()), sheet


def test_every_link_of_the_site_leads_somewhere(site: dict[Path, Links]) -> None:
    for page, links in site.items():
        for url in links.links + links.loads:
            if re.match(r"\w+:", url):
                continue
            path, _, anchor = unquote(url).partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{page.name}: {url}"
            assert not anchor or anchor in site[target].ids, f"{page.name}: {url}"


def test_every_measure_has_a_page_with_its_formula(site: dict[Path, Links]) -> None:
    pages = {page.name: links for page, links in site.items() if page.parent.name == "measures"}
    for kind in (kind for kind in all_measures() if kind.__module__.startswith("cranfield.")):
        assert "math" in pages[f"{kind.name}.html"].tags, kind.name
        assert f"{kind.name}.html" in pages["index.html"].links


def test_every_format_is_in_the_tables(site: dict[Path, Links]) -> None:
    text = next(page for page in site if page.name == "formats.html").read_text()
    assert [name for name in (*RUN_FORMATS, *QRELS_FORMATS) if f"<td><code>{name}</code></td>" not in text] == []


def test_every_command_is_listed_with_its_options(site: dict[Path, Links]) -> None:
    text = next(page for page in site if page.name == "commands.html").read_text()
    context = click.Context(commands)
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        assert command is not None and f'id="{name}"' in text
        options = [opt for parameter in command.params for opt in parameter.opts if opt.startswith("--")]
        assert [opt for opt in options if opt not in text] == []


@pytest.mark.docs
def test_formulas_are_made_outside_code_only() -> None:
    pytest.importorskip("mkdocs")
    pytest.importorskip("latex2mathml")
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import hooks
    finally:
        sys.path.pop(0)
    text = "$x$ and `$y$`, costs 5$ or 6$\n\n```console\n$ echo $HOME$\n```\n"
    changed, formulas = hooks.set_aside(text)
    assert len(formulas) == 1 and "<mi>x</mi>" in formulas[0]
    assert changed == text.replace("$x$", "FORMULA-0-HERE", 1)
    assert hooks.put_back("<p>FORMULA-0-HERE</p>", formulas) == f'<div class="formula">{formulas[0]}</div>'
