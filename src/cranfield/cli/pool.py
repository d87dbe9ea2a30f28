"""cranfield pool: which documents of which runs to judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from cranfield.base import QRELS_FORMATS, RUN_FORMATS
from cranfield.cli.options import echo, grade_words_option, on_terminal, progress, width
from cranfield.errors import CranfieldError, InputError
from cranfield.pooling import STRATEGIES, find_strategy

if TYPE_CHECKING:
    from cranfield.pooling import PoolOverview

_KINDS = {
    "order": "Strategies, best first (with --budget or --total; all alike without):",
    "sample": "Strategies, by chance:",
    "adaptive": "Strategies that are guided by judgments (--judged), a batch at a time:",
}


def _catalogue() -> str:
    """The strategies, a line each."""
    parts = []
    for kind, heading in _KINDS.items():
        lines = [f"  {one.name:<12} {one.title}" for one in STRATEGIES.values() if one.kind == kind]
        parts.append("\n".join(["\b", heading, *lines]))
    return "\n\n".join(parts)


@click.command(name="pool", epilog=_catalogue())
@click.argument("runs", metavar="RUN...", nargs=-1)
@click.option("--strategy", "strategies", metavar="NAME", multiple=True, help="Listed below. [default: depth]")
@click.option("--depth", type=click.IntRange(1), default=100, show_default=True, help="Documents of each run's list.")
@click.option("--budget", type=click.IntRange(1), metavar="N", help="Documents of each topic to judge.")
@click.option(
    "--total", type=click.IntRange(1), metavar="N", help="Documents of all topics to judge, shared out evenly."
)
@click.option("--judged", metavar="QRELS", help="Judgments so far: not asked again, and the guide of some strategies.")
@click.option("--judged-topics", is_flag=True, help="Only topics that --judged has.")
@click.option("--rel", type=float, default=1.0, show_default=True, help="Lowest relevant grade.")
@click.option("--batch", type=click.IntRange(1), metavar="N", help="Documents of each topic at a time. [default: 10]")
@click.option("--complete", metavar="RUN", multiple=True, help="List what is missing to judge RUN to --depth.")
@click.option("--rate", metavar="SHARE", help="Share of the documents that uniform draws.")
@click.option("--strata", metavar="RANK:RATE,…", help="Of stratified. [default: 10:1,50:0.4,100:0.1]")
@click.option("--seed-depth", metavar="K", help="Depth to which bandits have all judged first. [default: 1]")
@click.option("--params", metavar="NAME=VALUE,…", help="Other parameters: k, p, memory, update, beta, draws, …")
@click.option("--sample", metavar="FILE", help="Write the qrels that estimates are made from: strata, or chances.")
@click.option("--documents", metavar="FILE", help="Texts that autotar learns from.")
@click.option("--topics", metavar="TOPICS", help="The words of topics, for autotar and expansion.")
@click.option("--fields", default="title", show_default=True, help="Which fields of a topic.")
@click.option("--index", metavar="INDEX", help="What expansion searches; made by cranfield index.")
@click.option("--system", default="bm25+rm3", show_default=True, help="What expansion searches with.")
@click.option("--votes", is_flag=True, help="Rank the runs without judgments, by each other's votes.")
@click.option("--replay", metavar="QRELS", help="Say how fast strategies would have found what is relevant.")
@click.option("--curve", metavar="FILE", help="A picture of that: svg, png, pdf, html or json.")
@click.option("--dendrogram", metavar="FILE", help="A picture of how alike the runs are.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Of all that is left to chance.")
@click.option("-o", "--output", metavar="POOL", help="Where to write the pool. [default: standard output]")
@click.option("--provenance", metavar="FILE", help="Where to write what it is made of. [default: beside POOL]")
@click.option("--format", "format_", type=click.Choice(["text", "json"]), default="text", help="How to tell of it.")
@click.option(
    "--on-duplicate",
    type=click.Choice(["error", "first", "last", "max"]),
    default="error",
    show_default=True,
    help="A document twice for the same query.",
)
@click.option("--run-format", type=click.Choice(list(RUN_FORMATS)), help="Format of the runs, if not recognised.")
@click.option("--qrels-format", type=click.Choice(list(QRELS_FORMATS)), help="Format of the qrels, if not recognised.")
@grade_words_option
@click.option("--jobs", type=click.IntRange(1), help="How many processes to read with. [default: one a core]")
@click.option("--quiet", is_flag=True, help="Nothing but the pool and errors.")
def command(
    runs: tuple[str, ...],
    complete: tuple[str, ...],
    strategies: tuple[str, ...],
    depth: int,
    seed: int,
    rel: float,
    judged: str | None,
    replay: str | None,
    votes: bool,
    output: str | None,
    provenance: str | None,
    sample: str | None,
    curve: str | None,
    dendrogram: str | None,
    format_: str,
    on_duplicate: Any,
    run_format: str | None,
    qrels_format: str | None,
    grade_words: Mapping[str, float],
    jobs: int | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Choose the documents to judge out of several runs.

    POOL has a line for every document to judge, in an order that tells nothing of ranks; which run had it at which rank
    is in a file beside it. The runs are compared, as a pool should come from systems that differ.

    \b
    Example:
      cranfield pool bm25.run lm.run lsi.run --depth 20 -o pool.jsonl
      cranfield pool *.run --strategy stratified --strata 10:1,100:0.1 -o pool.jsonl --sample sample.qrels
      cranfield pool *.run --strategy mm-ns --judged qrels.txt --batch 5 -o next.jsonl
      cranfield pool --complete new.run --depth 10 --judged qrels.txt -o missing.jsonl
    """
    from cranfield.io import read_qrels
    from cranfield.pooling import build_overview, provenance_path, read_runs, refuse_overwriting_inputs

    if [*runs, *complete, judged, replay].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    _require(runs, complete, strategies, replay, output)
    _require_pictures(curve, dendrogram, replay, complete or runs)
    beside = provenance_path(output) if output is not None and provenance is None else provenance
    texts = (given[name] for name in ("documents", "topics"))
    refuse_overwriting_inputs((output, beside, sample, curve, dendrogram), (*runs, *complete, judged, replay, *texts))
    qrels = partial(read_qrels, format=qrels_format, on_duplicate=on_duplicate, grade_words=grade_words)
    files = [*(complete or runs)]
    found = build_overview(
        list(progress(read_runs(files, run_format, on_duplicate, jobs), len(files), "reading")),
        strategies or ("depth",),
        depth,
        seed,
        judged=None if judged is None else qrels(judged),
        replayed=None if replay is None else qrels(replay),
        with_votes=votes,
        with_pool=output is not None or sample is not None or not (votes or replay),
        complete=bool(complete),
        rel=rel,
        pooling={name: given[name] for name in ("budget", "total", "batch", "judged_topics")} | _watched(quiet),
        **_params(given),
        **_texts(given),
    )
    _write(found, output or "-", provenance, sample)
    for picture, file in _pictures(found, curve, dendrogram):
        picture.save(file)
    if not quiet:
        for note in _unused(runs, complete, strategies, given):
            click.echo(note, err=True)
        _tell(found, output, format_)


def _require(
    runs: Sequence[str], complete: Sequence[str], strategies: Sequence[str], replay: str | None, output: str | None
) -> None:
    """What does not go together is refused before anything is read."""
    if not runs and not complete:
        raise click.UsageError("name the runs to pool: cranfield pool RUN... -o POOL.")
    for name in strategies:
        find_strategy(name)
    if len(strategies) > 1 and (replay is None or output is not None):
        raise click.UsageError("a pool has one strategy; several are for --replay QRELS without -o.")
    if complete and list(strategies) not in ([], ["depth"]):
        raise click.UsageError("--complete takes the first documents of a run, and no --strategy.")


def _require_pictures(curve: str | None, dendrogram: str | None, replay: str | None, files: Sequence[str]) -> None:
    """Pictures that cannot be drawn are refused before any work is done."""
    from cranfield.reporting import format_of, require_format

    if curve is not None and replay is None:
        raise click.UsageError("--curve is of strategies replayed: --replay QRELS.")
    if dendrogram is not None and len(files) < 2:
        raise click.UsageError("--dendrogram compares runs: name several.")
    for file in (curve, dendrogram):
        if file is not None:
            require_format(format_of(file))


def _params(given: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of strategies: those with options of their own, and others by name."""
    params = {name: given[name] for name in ("rate", "strata", "seed_depth") if given[name] is not None}
    for part in (given["params"] or "").split(",") if given["params"] is not None else ():
        name, sign, value = (text.strip() for text in part.partition("="))
        if not name or not sign or name in params:
            raise CranfieldError(f"--params: expected name=value once each, parted by commas, found {part.strip()!r}.")
        if not any(name in strategy.parameters for strategy in STRATEGIES.values()):
            known = dict.fromkeys(name for strategy in STRATEGIES.values() for name in strategy.parameters)
            raise CranfieldError(f"--params: no strategy has {name!r}; there are {', '.join(known)}.")
        params[name] = value
    return params


def _texts(given: Mapping[str, Any]) -> dict[str, Any]:
    """The words of topics and documents, and what searches, for strategies that look at texts."""
    found: dict[str, Any] = {}
    if given["topics"] is not None:
        from cranfield.lab import queries_of, topics_from

        found["topics"] = queries_of(topics_from(given["topics"]), given["fields"], given["topics"])
    if given["documents"] is not None:
        from cranfield.lab import open_collection

        found["documents"] = list(open_collection(given["documents"]).documents())
    if given["index"] is not None:
        from cranfield.lab import Index, system_named

        if "topics" not in found:
            raise CranfieldError("expansion searches with the words of the topics: --topics TOPICS.")
        system, index = system_named(given["system"]), Index.open(given["index"])
        found["search"] = partial(_search, system, index, found["topics"])
    return found


def _search(
    system: Any, index: Any, topics: Mapping[str, str], query: str, relevant: Sequence[str], depth: int
) -> list[str]:
    """The documents that a system finds for a topic, given those that are known to be relevant."""
    found: list[str] = system.search(index, {query: topics.get(query, "")}, depth, {query: relevant}).docs.tolist()
    return found


def _watched(quiet: bool) -> dict[str, Any]:
    return {} if quiet else {"progress": lambda queries, total: progress(queries, total, "pooling")}


def _write(found: PoolOverview, output: str, provenance: str | None, sample: str | None) -> None:
    from cranfield.io import write_qrels
    from cranfield.pooling import write_pool

    if found.pool is None:
        return
    if sample is not None:
        if found.pool.sample is None:
            raise CranfieldError("--sample is for strategies that draw by chance: uniform, stratified, active.")
        write_qrels(found.pool.sample, sample)
    write_pool(found.pool, output, provenance)


def _pictures(found: PoolOverview, curve: str | None, dendrogram: str | None) -> list[tuple[Any, str]]:
    from cranfield.reporting import curves_plot, dendrogram_plot

    pictures = [(curves_plot(found.curves), curve)] if curve is not None else []
    if dendrogram is not None and found.similarity is not None:
        pictures.append((dendrogram_plot(found.similarity), dendrogram))
    return pictures


def _unused(
    runs: Sequence[str], complete: Sequence[str], strategies: Sequence[str], given: Mapping[str, Any]
) -> Iterator[str]:
    """What was named for nothing."""
    if runs and complete:
        yield "The runs beside --complete add nothing: only what it names is completed."
    chosen = {find_strategy(name).name for name in strategies}
    for option, users in (("documents", ["autotar"]), ("index", ["expansion"]), ("topics", ["autotar", "expansion"])):
        if given[option] is not None and not chosen.intersection(users):
            looks = "looks" if len(users) == 1 else "look"
            yield f"--{option} changes nothing: only {' and '.join(users)} {looks} at it."


def _tell(found: PoolOverview, output: str | None, format_: str) -> None:
    """Tell of the pool: where that is on standard output itself, on standard error."""
    from cranfield.reporting import pooling as report

    piped = found.pool is not None and output in (None, "-")
    text = report.as_json(found, output) if format_ == "json" else ""
    text = text or report.as_text(found, output, width(), on_terminal() and not piped)
    click.echo(text, err=True, nl=False) if piped else echo(text)
