"""cranfield pool: which documents of which runs to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import click

from cranfield.cli.inputs import require_one_stdin
from cranfield.cli.options import (
    TEXT_FORMATS,
    depth_option,
    fields_option,
    input_format_options,
    on_duplicate_option,
    rel_option,
    seed_option,
)
from cranfield.cli.output import echo, has_styles, show_progress, terminal_width
from cranfield.errors import CranfieldError
from cranfield.io import read_qrels, write_qrels
from cranfield.lab import Index, open_collection, queries_of, system_named, topics_from
from cranfield.pooling import (
    STRATEGIES,
    PoolOverview,
    build_overview,
    find_strategy,
    provenance_path,
    read_runs,
    refuse_overwriting_inputs,
    write_pool,
)
from cranfield.reporting import detect_plot_format, plot_curves, plot_dendrogram, require_plot_format
from cranfield.reporting import pooling as report

_KINDS = {
    "order": "Strategies that rank documents (with --budget or --total; without, all are the same):",
    "sample": "Strategies that draw a random sample:",
    "adaptive": "Strategies guided by judgments (--judged), one batch at a time:",
}


def _list_strategies() -> str:
    """The strategies, one per line."""
    parts = []
    for kind, heading in _KINDS.items():
        lines = [f"  {one.name:<12} {one.title}" for one in STRATEGIES.values() if one.kind == kind]
        parts.append("\n".join(["\b", heading, *lines]))
    return "\n\n".join(parts)


@click.command(name="pool", epilog=_list_strategies())
@click.argument("runs", metavar="RUN...", nargs=-1)
@click.option("--strategy", "strategies", metavar="NAME", multiple=True, help="Listed below. [default: depth]")
@depth_option(100, "Documents taken from the top of each run.")
@click.option("--budget", type=click.IntRange(1), metavar="N", help="Documents to judge per topic.")
@click.option("--total", type=click.IntRange(1), metavar="N", help="Documents to judge in total, shared evenly.")
@click.option("--judged", metavar="QRELS", help="Judgments so far: left out of the pool, and used by some strategies.")
@click.option("--judged-topics", is_flag=True, help="Only topics that --judged has.")
@rel_option
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Documents of each topic at a time. [default: 10]")
@click.option("--complete", metavar="RUN", multiple=True, help="List the documents that RUN lacks judgments for.")
@click.option("--rate", metavar="SHARE", help="Share of the documents that uniform draws.")
@click.option("--strata", metavar="RANK:RATE,…", help="Strata of stratified. [default: 10:1,50:0.4,100:0.1]")
@click.option("--seed-depth", metavar="K", help="Depth that bandits have judged completely first. [default: 1]")
@click.option("--params", metavar="NAME=VALUE,…", help="Other parameters: k, p, memory, update, beta, draws, …")
@click.option("--sample", metavar="FILE", help="Write qrels for estimation, with strata or inclusion probabilities.")
@click.option("--documents", metavar="FILE", help="Documents that autotar learns from.")
@click.option("--topics", metavar="TOPICS", help="Topics, for autotar and expansion.")
@fields_option("Fields of a topic to use.")
@click.option("--index", metavar="INDEX", help="The index that expansion searches; see cranfield index.")
@click.option("--system", default="bm25+rm3", show_default=True, help="The system that expansion searches with.")
@click.option("--votes", is_flag=True, help="Rank the runs without judgments, by the agreement among them.")
@click.option("--replay", metavar="QRELS", help="Simulate how fast strategies would have found relevant documents.")
@click.option("--curve", metavar="FILE", help="Plot the result of --replay: svg, png, pdf, html or json.")
@click.option("--dendrogram", metavar="FILE", help="Plot the similarity of the runs.")
@seed_option("Seed of everything random.")
@click.option("-o", "--output", metavar="POOL", help="Where to write the pool. [default: standard output]")
@click.option("--provenance", metavar="FILE", help="Where to write its provenance. [default: beside POOL]")
@click.option(
    "--format", "format_", type=click.Choice(TEXT_FORMATS), default="text", help="Output format of the summary."
)
@on_duplicate_option()
@input_format_options
@click.option("--jobs", type=click.IntRange(1), help="Number of processes that read runs. [default: one per core]")
@click.option("--quiet", is_flag=True, help="Print nothing but the pool and errors.")
def command(
    runs: tuple[str, ...],
    complete: tuple[str, ...],
    strategies: tuple[str, ...],
    judged: str | None,
    replay: str | None,
    votes: bool,
    output: str | None,
    provenance: str | None,
    sample: str | None,
    curve: str | None,
    dendrogram: str | None,
    format_: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Choose the documents of several runs to judge.

    POOL has one line for every document to judge, in an order that reveals nothing about ranks. A file beside it
    records which run retrieved it at which rank. The runs are also compared, since a pool should come from different
    systems.

    \b
    Example:
      cranfield pool bm25.run lm.run lsi.run --depth 20 -o pool.jsonl
      cranfield pool *.run --strategy stratified --strata 10:1,100:0.1 -o pool.jsonl --sample sample.qrels
      cranfield pool *.run --strategy mm-ns --judged qrels.txt --batch 5 -o next.jsonl
      cranfield pool --complete new.run --depth 10 --judged qrels.txt -o missing.jsonl
    """
    inputs = (*runs, *complete, judged, replay, options["documents"], options["topics"])
    require_one_stdin(*inputs)
    _require_consistent(runs, complete, strategies, replay, output)
    _require_plots(curve, dendrogram, replay, complete or runs)
    beside = provenance_path(output) if output is not None and provenance is None else provenance
    refuse_overwriting_inputs(
        (output, beside, sample, curve, dendrogram), (*inputs, options["documents"], options["topics"])
    )
    result = build_overview(
        _read_runs(complete or runs, options),
        strategies or ("depth",),
        options["depth"],
        options["seed"],
        judged=_read_qrels(judged, options),
        replayed=_read_qrels(replay, options),
        with_votes=votes,
        with_pool=output is not None or sample is not None or not (votes or replay),
        complete=bool(complete),
        rel=options["rel"],
        pooling=_pooling_options(options, quiet),
        **_strategy_parameters(options),
        **_read_texts(options),
    )
    _write(result, output or "-", provenance, sample)
    _save_plots(result, curve, dendrogram)
    if not quiet:
        for note in _unused_options(runs, complete, strategies, options):
            click.echo(note, err=True)
        _print_summary(result, output, format_)


def _read_runs(files: Sequence[str], options: Mapping[str, Any]) -> list[Any]:
    runs = read_runs([*files], options["run_format"], options["on_duplicate"], options["jobs"])
    return list(show_progress(runs, len(files), "reading"))


def _read_qrels(file: str | None, options: Mapping[str, Any]) -> Any:
    if file is None:
        return None
    names = ("on_duplicate", "grade_words")
    return read_qrels(file, options["qrels_format"], **{name: options[name] for name in names})


def _require_consistent(
    runs: Sequence[str], complete: Sequence[str], strategies: Sequence[str], replay: str | None, output: str | None
) -> None:
    """Refuse options that exclude each other before anything is read."""
    if not runs and not complete:
        raise click.UsageError("name the runs to pool: cranfield pool RUN... -o POOL.")
    for name in strategies:
        find_strategy(name)
    if len(strategies) > 1 and (replay is None or output is not None):
        raise click.UsageError("a pool has one strategy; use several only with --replay QRELS and without -o.")
    if complete and list(strategies) not in ([], ["depth"]):
        raise click.UsageError("--complete takes the top documents of a run: it cannot be used with --strategy.")


def _require_plots(curve: str | None, dendrogram: str | None, replay: str | None, files: Sequence[str]) -> None:
    """Refuse plots that cannot be drawn before any work is done."""
    if curve is not None and replay is None:
        raise click.UsageError("--curve plots the result of --replay QRELS, which is missing.")
    if dendrogram is not None and len(files) < 2:
        raise click.UsageError("--dendrogram compares runs: name at least two.")
    for file in (curve, dendrogram):
        if file is not None:
            require_plot_format(detect_plot_format(file))


def _pooling_options(options: Mapping[str, Any], quiet: bool) -> dict[str, Any]:
    chosen = {name: options[name] for name in ("budget", "total", "batch", "judged_topics")}
    if not quiet:
        chosen["progress"] = lambda queries, total: show_progress(queries, total, "pooling")
    return chosen


def _strategy_parameters(options: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of strategies: those with options of their own, and others from --params."""
    params = {name: options[name] for name in ("rate", "strata", "seed_depth") if options[name] is not None}
    for part in options["params"].split(",") if options["params"] is not None else ():
        name, sign, value = (text.strip() for text in part.partition("="))
        if not name or not sign or name in params:
            raise CranfieldError(
                f"--params: expected comma-separated NAME=VALUE, each name once, found {part.strip()!r}."
            )
        known = dict.fromkeys(name for strategy in STRATEGIES.values() for name in strategy.parameters)
        if name not in known:
            raise CranfieldError(f"--params: no strategy has a parameter {name!r}; there are {', '.join(known)}.")
        params[name] = value
    return params


def _read_texts(options: Mapping[str, Any]) -> dict[str, Any]:
    """The topics, the documents and the search function, for strategies that use texts."""
    texts: dict[str, Any] = {}
    if options["topics"] is not None:
        texts["topics"] = queries_of(topics_from(options["topics"]), options["fields"], options["topics"])
    if options["documents"] is not None:
        texts["documents"] = list(open_collection(options["documents"]).documents())
    if options["index"] is not None:
        if "topics" not in texts:
            raise CranfieldError("--index is searched with the texts of the topics: add --topics TOPICS.")
        system, index = system_named(options["system"]), Index.open(options["index"])
        texts["search"] = partial(_search, system, index, texts["topics"])
    return texts


def _search(
    system: Any, index: Any, topics: Mapping[str, str], query: str, relevant: Sequence[str], depth: int
) -> list[str]:
    """The documents that a system retrieves for a topic, with feedback from those known to be relevant."""
    docs: list[str] = system.search(index, {query: topics.get(query, "")}, depth, {query: relevant}).docs.tolist()
    return docs


def _write(result: PoolOverview, output: str, provenance: str | None, sample: str | None) -> None:
    if result.pool is None:
        return
    if sample is not None:
        if result.pool.sample is None:
            raise CranfieldError("--sample is for strategies that draw a sample: uniform, stratified, active.")
        write_qrels(result.pool.sample, sample)
    write_pool(result.pool, output, provenance)


def _save_plots(result: PoolOverview, curve: str | None, dendrogram: str | None) -> None:
    if curve is not None:
        plot_curves(result.curves).save(curve)
    if dendrogram is not None and result.similarity is not None:
        plot_dendrogram(result.similarity).save(dendrogram)


def _unused_options(
    runs: Sequence[str], complete: Sequence[str], strategies: Sequence[str], options: Mapping[str, Any]
) -> Iterator[str]:
    """Notes on arguments that have no effect."""
    if runs and complete:
        yield "The other runs have no effect: only the runs of --complete are completed."
    chosen = {find_strategy(name).name for name in strategies}
    for option, users in (("documents", ["autotar"]), ("index", ["expansion"]), ("topics", ["autotar", "expansion"])):
        if options[option] is not None and not chosen.intersection(users):
            yield f"--{option} has no effect: only {' and '.join(users)} use{'s' if len(users) == 1 else ''} it."


def _print_summary(result: PoolOverview, output: str | None, format_: str) -> None:
    """Describe the pool; on standard error if the pool itself is on standard output."""
    piped = result.pool is not None and output in (None, "-")
    if format_ == "json":
        text = report.as_json(result, output)
    else:
        text = report.as_text(result, output, terminal_width(), has_styles() and not piped)
    click.echo(text, err=True, nl=False) if piped else echo(text)
