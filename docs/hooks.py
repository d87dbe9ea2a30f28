"""What mkdocs cannot do by itself: formulas as MathML, pages made from the code, and a look for commands.

The pages of measures come from the measure classes, the tables of formats from the readers and writers, and the
list of options from the command line, so that none of them can be forgotten here.
"""

from __future__ import annotations

import dataclasses
import html
import inspect
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import click
from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from cranfield.collection import Qrels, Run
from cranfield.errors import MeasureError
from cranfield.formats.files import QRELS_WRITERS, RUN_WRITERS, read_qrels, read_run
from cranfield.formats.recognise import QRELS_FORMATS, RUN_FORMATS
from cranfield.formats.texts import DOCUMENT_FORMATS, TOPIC_FORMATS
from cranfield.measures import Measure, Parameter, all_measures
from cranfield.measures.trec_names import parse_trec_name
from cranfield.scores import Scores, evaluate

MEASURES = "measures/index.md"
TAB = "\ue009"  # stands for a tab while Markdown, which would make spaces of it, is at work
RUNS = ("bm25", "lm", "titles", "trigrams")
# what a parameter is set to in an example; docs is the size of the example collection
EXAMPLE_VALUES: Mapping[str, Any] = {
    "cutoff": 10,
    "recall": 0.5,
    "rel": 2,
    "docs": 85,
    "beta": 2,
    "wanted": 3,
    "points": 3,
    "gain": "exp",
    "judged_only": True,
}
# as trec_eval -m all_trec prints them; those we do not have are passed over
TREC_NAMES = (
    "map gm_map Rprec bpref recip_rank iprec_at_recall_0.50 P_10 recall_10 relstring_10 utility ndcg ndcg_cut_10 "
    "ndcg_rel Rndcg map_cut_10 success_10 set_P set_recall set_F set_map set_relative_P 11pt_avg infAP binG G "
    "relative_P_10 num_q num_ret num_rel num_rel_ret runid"
).split()


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
        formulas.append(mathml(match["block"] or match["inline"], is_block=match["block"] is not None))
        return _placeholder(len(formulas) - 1)

    return _CODE_OR_FORMULA.sub(placeholder, markdown), formulas


def put_back(page: str, formulas: Sequence[str]) -> str:
    """The page with its formulas in place of the placeholders."""
    for i, formula in enumerate(formulas):
        page = page.replace(f"<p>{_placeholder(i)}</p>", f'<div class="formula">{formula}</div>')
        page = page.replace(_placeholder(i), formula)
    return page


def mathml(latex: str, is_block: bool) -> str:
    """A formula as MathML.

    >>> mathml("R", is_block=False)
    '<math display="inline"><mrow><mi>R</mi></mrow></math>'
    """
    math = ElementTree.fromstring(convert(latex.strip(), display="block" if is_block else "inline"))
    for element in list(math.iter()):
        element.tag = element.tag.rpartition("}")[2]
        _join_letters(element)
        _set_below(element, is_block)
        if element.tag == "mi" and element.text == ":":
            element.tag = "mo"
    return ElementTree.tostring(math, encoding="unicode")


def _join_letters(row: ElementTree.Element) -> None:
    """Upright letters side by side are a word: one element, without the gaps between variables."""
    last = None
    for child in list(row):
        if child.get("mathvariant") != "normal":
            last = None
        elif last is None:
            last = child
        else:
            last.text = (last.text or "") + (child.text or "")
            row.remove(child)


def _set_below(element: ElementTree.Element, is_block: bool) -> None:
    """What max and min range over belongs below them in a formula of its own."""
    if is_block and element.tag == "msub" and element[0].text in ("max", "min"):
        element.tag = "munder"


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
    for family, kinds in _families().items():
        rows = [(f"[{kind.name}]({kind.name}.md)", kind.title, _range(kind), _direction(kind)) for kind in kinds]
        parts += [f"## {family}", _table(("Measure", "Title", "Values", "Better"), rows)]
    return _page(parts)


def _families() -> dict[str, list[type[Measure]]]:
    """Measures by family: a family is a module, and its docstring says what it holds."""
    families: dict[str, list[type[Measure]]] = {}
    for kind in all_measures():
        about = sys.modules[kind.__module__].__doc__ or kind.__module__
        families.setdefault(re.split(r"[:.\n]", about)[0], []).append(kind)
    # counts are no measures of quality: they come last
    return dict(sorted(families.items(), key=lambda family: family[1][0].aggregate == "sum"))


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
    yield "Name", f"`{kind.name}`"
    if kind.aliases:
        yield "Also called", _codes(kind.aliases)
    if names := _trec_names().get(kind):
        yield "In trec_eval", _codes(names)
    yield "Values", _range(kind)
    yield "Better", _direction(kind)
    yield "If nothing relevant is found", kind.nothing_found
    yield "Over all queries", "the sum" if kind.aggregate == "sum" else "the mean"
    if kind.tasks:
        yield "Tasks", ", ".join(kind.tasks)
    if kind.reference:
        yield "Reference", kind.reference
    yield "Symbols", "see [Naming measures](../notation.md#symbols)"


def _parameters(kind: type[Measure]) -> str:
    fields = [field for field in dataclasses.fields(kind) if field.name in kind.parameters]
    fields.sort(key=lambda field: field.name != kind.at)
    rows = []
    for field in fields:
        parameter = kind.parameters[field.name]
        how = f"`@` or `{field.name}`" if field.name == kind.at else f"`{field.name}`"
        rows.append((how, _default(kind, field.name, field.default), parameter.range(), parameter.what))
    return _table(("Name", "Default", "May be", "What it is"), rows) if rows else "None."


def _default(kind: type[Measure], name: str, default: Any) -> str:
    if name in kind.required:
        return "must be given"
    if default is None:
        return {"rel": "1", "cutoff": "the whole ranking", "docs": "`--docs`"}.get(name, "–")
    return _code(f"{default:g}" if isinstance(default, float) else str(default))


def _example(kind: type[Measure]) -> Iterator[str]:
    names = example_names(kind)
    yield f"These are names of it: {_codes(names)}."
    yield "On the example collection (`cranfield demo --path` says where it is):"
    scores = _example_scores(names)
    columns = [[_value(scores, name, run) for run in RUNS] for name in names]
    yield _table(("Run", *map(_code, names)), zip(RUNS, *columns, strict=True), numbers=len(names))


def example_names(kind: type[Measure]) -> list[str]:
    """The plainest name of a measure, and a few with parameters."""
    needed = {name: _example_value(name, kind) for name in kind.parameters if name in (*kind.required, "docs")}
    names = [kind(**needed)]
    if "cutoff" in kind.parameters and "cutoff" not in needed:
        names.append(kind(**needed, cutoff=10))  # type: ignore[call-arg]
    for name in ("gain", "discount", "beta", "wanted", "points", "denominator", "rel"):
        if name in kind.parameters and len(names) < 4:
            cutoff = {"cutoff": 10} if name in ("gain", "discount", "denominator") else {}
            names.append(kind(**{**needed, **cutoff, name: _example_value(name, kind)}))
    return [str(name) for name in names]


def _example_value(name: str, kind: type[Measure]) -> Any:
    parameter: Parameter = kind.parameters[name]
    fallback = parameter.choices[-1] if parameter.choices else parameter.least or 1
    return EXAMPLE_VALUES.get(name, fallback)


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


@cache
def _trec_names() -> dict[type[Measure], list[str]]:
    """trec_eval's names of each measure."""
    names: dict[type[Measure], list[str]] = {}
    for name in TREC_NAMES:
        try:
            found = parse_trec_name(name) or []
        except MeasureError:
            continue
        for _, measure in found:
            names.setdefault(type(measure), []).append(name)
    return names


def _range(kind: type[Measure]) -> str:
    return f"{_number(kind.low)} to {_number(kind.high)}"


def _direction(kind: type[Measure]) -> str:
    """Which values are better; a count or a share of judged documents is neither good nor bad."""
    if not kind.is_quality:
        return "–"
    return "more" if kind.more_is_better else "less"


def _number(value: float) -> str:
    return ("∞" if value > 0 else "−∞") if math.isinf(value) else f"{value:g}"


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
