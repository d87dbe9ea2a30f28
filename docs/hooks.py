"""What mkdocs cannot do by itself: formulas as MathML, pages made from the code, and a look for commands.

The pages of measures come from the measure classes, the tables of formats from the readers and writers, and the
list of options from the command line, so that none of them can be forgotten here.
"""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path

import click
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from cranfield.base import replace
from cranfield.base.options import QRELS_FORMATS, RUN_FORMATS
from cranfield.data.collection import Qrels, Run
from cranfield.evaluation import Scores, evaluate
from cranfield.io.runs_qrels import QRELS_WRITERS, RUN_WRITERS, read_qrels, read_run
from cranfield.io.topics_documents import DOCUMENT_FORMATS, TOPIC_FORMATS
from cranfield.measures import Measure, all_measures
from cranfield.reporting.catalogue import (
    collect_trec_names,
    describe_aggregate,
    describe_default,
    describe_direction,
    describe_range,
    describe_weights,
    group_by_family,
    make_default_measure,
    sort_parameters,
)
from cranfield.reporting.mathml import convert_latex

MEASURES = "measures/index.md"
TAB = "\ue009"  # stands for a tab while Markdown, which would make spaces of it, is at work
RUNS = ("bm25", "lm", "tfidf", "lsi", "rm3", "titles")


# Events of mkdocs


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of measures where the navigation has a place for them."""
    for entry in config.nav or []:
        if "Measures" in entry:
            entry["Measures"] = [{"All measures": MEASURES}, *({kind.name: _page_of(kind)} for kind in all_measures())]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages made from the code."""
    for path, text in _generated():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the tables of formats, and put formulas aside."""
    markdown = re.sub(r"^<!-- formats: (\w+) -->$", lambda match: format_table(match[1]), markdown, flags=re.MULTILINE)
    markdown, formulas = set_aside(markdown)
    page.meta["formulas"] = formulas
    return markdown.replace("\t", TAB)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Put the formulas back as MathML, make tables scroll by themselves and commands stand out."""
    content = put_back(content, page.meta["formulas"]).replace(TAB, "\t")
    content = content.replace("<table>", '<div class="table"><table>').replace("</table>", "</table></div>")
    return re.sub(r'(?s)(?<=<code class="language-console">).*?(?=</code>)', _emphasised, content)


# Formulas


_CODE_OR_FORMULA = re.compile(
    r"""(?P<code>^(?P<fence>```+|~~~+).*?^(?P=fence)[ ]*$|(?P<ticks>`+).+?(?P=ticks))
      | \$\$(?P<block>.+?)\$\$
      | (?<![\\\w$])\$(?P<inline>[^\s$](?:[^$\n]*[^\s$])?)\$(?!\w)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def set_aside(markdown: str) -> tuple[str, list[str]]:
    """The text with a placeholder for each formula outside code, and the formulas as MathML."""
    formulas: list[str] = []

    def placeholder(match: re.Match[str]) -> str:
        if match["code"]:
            return match[0]
        formulas.append(convert_latex(match["block"] or match["inline"], is_block=match["block"] is not None))
        return _placeholder(len(formulas) - 1)

    return _CODE_OR_FORMULA.sub(placeholder, markdown), formulas


def put_back(page: str, formulas: Sequence[str]) -> str:
    """The page with its formulas in place of the placeholders."""
    for i, formula in enumerate(formulas):
        page = page.replace(f"<p>{_placeholder(i)}</p>", f'<div class="formula">{formula}</div>')
        page = page.replace(_placeholder(i), formula)
    return page


def _placeholder(i: int) -> str:
    return f"FORMULA-{i}-HERE"


# Commands


def _emphasised(match: re.Match[str]) -> str:
    """A console block with the commands in bold and the output in normal type."""
    return re.sub(r"^(\$ )((?:.*\\\n)*.*)$", r'<span class="prompt">\1</span><b>\2</b>', match[0], flags=re.MULTILINE)


# Pages made from the code


def _generated() -> Iterator[tuple[str, str]]:
    yield MEASURES, measures_page()
    for kind in all_measures():
        yield _page_of(kind), measure_page(kind)
    yield "commands.md", commands_page()


def _page_of(kind: type[Measure]) -> str:
    return f"measures/{kind.name}.md"


def measures_page() -> str:
    """The index of all measures, by family."""
    parts = [
        "# Measures",
        "What the names may look like is said in [Naming measures](../notation.md). "
        "The formulas and the words on each page are those of the code that computes the measure.",
    ]
    for family, kinds in group_by_family().items():
        rows = [
            (
                f"[{kind.name}]({kind.name}.md)",
                kind.title,
                describe_range(make_default_measure(kind)),
                describe_direction(make_default_measure(kind)),
            )
            for kind in kinds
        ]
        parts += [f"## {family}", _table(("Measure", "Title", "Values", "Better"), rows)]
    return _page(parts)


def measure_page(kind: type[Measure]) -> str:
    """All that there is to say of one measure."""
    parts = [
        f"# {kind.name}: {kind.title}",
        kind.__doc__ or "",
        kind.about,
        f"$${kind.formula}$$",
        "## At a glance",
        _table(("", ""), _facts(kind)),
        "## Parameters",
        _parameters(kind),
        "## Example",
        *_example(kind),
    ]
    return _page(parts)


def _facts(kind: type[Measure]) -> Iterator[tuple[str, str]]:
    yield "User", html.escape(kind.user)
    yield "Rank weights", html.escape(describe_weights(make_default_measure(kind)))
    yield "Ignores", html.escape(kind.ignores)
    yield "Name", f"`{kind.name}`"
    if kind.aliases:
        yield "Also called", _codes(kind.aliases)
    if names := collect_trec_names().get(kind):
        yield "In trec_eval", _codes(names)
    yield "Values", describe_range(make_default_measure(kind))
    yield "Better", describe_direction(make_default_measure(kind))
    yield "If nothing relevant is found", kind.nothing_found
    yield "Over all queries", describe_aggregate(kind)
    if kind.tasks:
        yield "Tasks", ", ".join(kind.tasks)
    if kind.reference:
        yield "Reference", kind.reference
    yield "Symbols", "see [Naming measures](../notation.md#symbols)"


def _parameters(kind: type[Measure]) -> str:
    rows = []
    for name in sort_parameters(kind):
        parameter = kind.parameters[name]
        how = f"`@` or `{name}`" if name == kind.at else f"`{name}`"
        rows.append(
            (
                how,
                html.escape(describe_default(kind, name)),
                html.escape(parameter.range()),
                html.escape(parameter.help),
            )
        )
    return _table(("Name", "Default", "May be", "What it is"), rows) if rows else "None."


def _example(kind: type[Measure]) -> Iterator[str]:
    names = example_names(kind)
    yield f"These are names of it: {_codes(names)}."
    if kind.needs or kind.qrels_columns:
        return  # the example collection has nothing of the kind
    yield "On the example collection (`cranfield demo --path` says where it is):"
    scores = _example_scores(names)
    columns = [[_value(scores, name, run) for run in RUNS] for name in names]
    yield _table(("Run", *map(_code, names)), zip(RUNS, *columns, strict=True), numbers=len(names))


def example_names(kind: type[Measure]) -> list[str]:
    """The plainest name of a measure, and a few with parameters."""
    plain = kind.plain()
    names = [plain]
    for name in sort_parameters(kind):
        if name not in ("repeats", "judged_only", *kind.required, *kind.example) and len(names) < 4:
            value = next((v for v in kind.parameters[name].example_values() if v != getattr(plain, name)), None)
            names += [] if value is None else [replace(plain, **{name: value})]
    return [str(name) for name in names]


def _example_scores(names: Sequence[str]) -> Scores:
    qrels, runs = _example_files()
    return evaluate(qrels, runs, names)


@cache
def _example_files() -> tuple[Qrels, dict[str, Run]]:
    folder = Path(str(package_files("cranfield") / "example"))
    return read_qrels(folder / "qrels.txt"), {name: read_run(folder / f"{name}.run") for name in RUNS}


def _value(scores: Scores, name: str, run: str) -> str:
    value = scores.mean(name, run)
    is_count = scores.measures[scores.labels.index(name)].aggregate == "sum"
    return f"{value:,.0f}" if is_count else f"{value:.4f}"


def format_table(kind: str) -> str:
    """The table of the formats of runs, qrels, topics or documents."""
    known: dict[str, tuple[Mapping[str, str], Iterable[str]]] = {
        "run": (RUN_FORMATS, RUN_WRITERS),
        "qrels": (QRELS_FORMATS, QRELS_WRITERS),
        "topics": (TOPIC_FORMATS, TOPIC_FORMATS),
        "documents": (DOCUMENT_FORMATS, DOCUMENT_FORMATS),
    }
    formats, written = known[kind]
    rows = [(_code(name), html.escape(about), "yes" if name in written else "–") for name, about in formats.items()]
    return _table(("Format", "What it looks like", "Written too"), rows)


def commands_page() -> str:
    """Every command with its options, as the command line says itself."""
    from cranfield.cli import commands

    parts = ["# Commands", "Each command says the same with `--help`.", (commands.help or "").split("\b")[0]]
    context = click.Context(commands, info_name="cranfield")
    for name in commands.list_commands(context):
        command = commands.get_command(context, name)
        if command is not None and not command.hidden:
            parts += _command(name, command)
    return _page(parts)


def _command(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"cranfield {name}")
    yield f"## {name}"
    yield _pre(" ".join([context.command_path, *command.collect_usage_pieces(context)]))
    # click marks with \b what is not to be filled: there it is an example
    about, *examples = inspect.cleandoc(command.help or "").split("\b\n")
    yield about.strip()
    yield from map(_pre, examples)
    yield f"<dl>{''.join(_options(command, context))}</dl>"
    if isinstance(command, click.Group):
        for part in command.list_commands(context):
            within = command.get_command(context, part)
            if within is not None and not within.hidden:
                yield from _command(f"{name} {part}", within)


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    for parameter in command.get_params(context):
        names, about = parameter.get_help_record(context) or ("", "")
        if isinstance(parameter, click.Option) and names:
            names = names.replace("|", " | ")
            yield f"<dt><code>{html.escape(names)}</code></dt><dd>{html.escape(about)}</dd>\n"


# Markdown


def _page(parts: Iterable[str]) -> str:
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], numbers: int = 0) -> str:
    """A Markdown table; the last columns may be numbers, to be set flush right."""
    rule = ["---"] * (len(head) - numbers) + ["---:"] * numbers
    lines = [head, rule, *(map(_piped, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _piped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def _pre(text: str) -> str:
    return f"<pre><code>{html.escape(text.strip())}</code></pre>"


def _code(text: str) -> str:
    return f"`{text}`"


def _codes(texts: Iterable[str]) -> str:
    return ", ".join(map(_code, texts))
