"""cranfield fuse: several runs made one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from cranfield.base import QRELS_FORMATS, RUN_FORMATS, join_names, pluralize, replace
from cranfield.cli.options import judgments_of, split_measures
from cranfield.errors import CranfieldError, InputError, MeasureError
from cranfield.fusion import METHODS, NORMS, CrossFit, Fit, as_runs, cross_fuse, fit, fuse, recipe_of
from cranfield.io import parse_decimal, read_run, write_run

_KINDS = {
    "scores": "Methods, by scores:",
    "ranks": "Methods, by ranks:",
    "training": "Methods, by what judgments say of each run (--qrels):",
}


def _catalogue() -> str:
    """The methods and normalisations, a line each."""
    parts = []
    for kind, heading in _KINDS.items():
        rows = [f"  {m.name:<16} {m.title}" for m in METHODS.values() if m.kind == kind]
        parts.append("\n".join(["\b", heading, *rows]))
    rows = [f"  {norm.name:<16} {norm.title}" for norm in NORMS.values()]
    parts.append("\n".join(["\b", "Normalisations:", *rows]))
    return "\n\n".join(parts)


@click.command(name="fuse", epilog=_catalogue())
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--method", metavar="METHOD", default="rrf", show_default=True, help="How to fuse; listed below.")
@click.option(
    "--norm", metavar="NORM", help="How scores are made comparable. [default: min-max; none for methods by ranks]"
)
@click.option("--weights", metavar="W,W,…", help="A weight for each run, in their order.")
@click.option("--params", metavar="NAME=VALUE,…", help="Parameters: k (rrf), phi (rbc), gamma, sigma, w, segments.")
@click.option(
    "--depth",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Documents a query, at most, in the output.",
)
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write the run. [default: standard output]")
@click.option("--tag", metavar="NAME", help="The last column of the run. [default: the method]")
@click.option("--qrels", metavar="QRELS", help="Judgments to learn from: weights, a parameter, chances of relevance.")
@click.option("-m", "--measure", metavar="MEASURE", default="nDCG@10", show_default=True, help="What to learn by.")
@click.option("--step", type=float, default=0.1, show_default=True, help="Weights tried are multiples of it.")
@click.option("--folds", type=click.IntRange(2), help="Fuse each topic as learned from the other folds of topics.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="Which topics are in which fold.")
@click.option("--rel", type=float, default=1, show_default=True, help="Lowest relevant grade, to learn chances from.")
@click.option(
    "--on-duplicate",
    type=click.Choice(["error", "first", "last", "max"]),
    default="error",
    show_default=True,
    help="A document twice for the same query.",
)
@click.option("--run-format", type=click.Choice(list(RUN_FORMATS)), help="Format of the runs, if not recognised.")
@click.option("--qrels-format", type=click.Choice(list(QRELS_FORMATS)), help="Format of the qrels, if not recognised.")
@click.option("--quiet", is_flag=True, help="Nothing on standard error but errors.")
def command(
    runs: tuple[str, ...],
    method: str,
    norm: str | None,
    weights: str | None,
    params: str | None,
    depth: int,
    output: str,
    tag: str | None,
    qrels: str | None,
    measure: str,
    step: float,
    folds: int | None,
    seed: int,
    rel: float,
    on_duplicate: Any,
    run_format: str | None,
    qrels_format: str | None,
    quiet: bool,
) -> None:
    """Make one run of several.

    Documents that a run lacks and queries that it lacks are no error: what the others have is fused. Equal scores are
    ordered by document id, as in an evaluation. With --qrels the method learns what it can; with --folds too, no
    topic is fused with what was learned from it.

    \b
    Example:
      cranfield fuse bm25.run lm.run -o fused.run
      cranfield fuse bm25.run lm.run --method wsum --weights 0.3,0.7 -o fused.run
      cranfield fuse bm25.run lm.run --method wsum --qrels qrels.txt --folds 5 -o fused.run
    """
    if [*runs, qrels].count("-") > 1:
        raise InputError("'-' is named twice, but there is only one standard input.")
    if folds and qrels is None:
        raise CranfieldError("--folds is for learning: name judgments with --qrels.")
    chosen: dict[str, Any] = {"norm": norm, "weights": _weights(weights), "depth": depth, **_params(params)}
    # a wrong method or weight is told before large files are read
    named = recipe_of(
        method, len(runs), norm=norm, weights=chosen["weights"], learning=qrels is not None, params=_params(params)
    )
    given = as_runs([read_run(path, run_format, on_duplicate=on_duplicate) for path in runs])
    said: list[str] = []
    if qrels is None:
        fused = fuse(given, named.method.name, **chosen)
    else:
        judged = judgments_of(qrels, qrels_format, on_duplicate=on_duplicate)
        how = {**chosen, "measure": _measure(measure), "step": step, "rel": rel}
        if folds is None:
            learned = fit(judged, given, named.method.name, **how)
            fused = learned.fuse(given, depth=depth)
            said += _about_fit(learned)
        else:
            crossed = cross_fuse(judged, given, named.method.name, folds=folds, seed=seed, **how)
            fused = crossed.run
            said += _about_folds(crossed)
    lost = write_run(replace(fused, tag=tag or fused.tag), output)
    if not quiet:
        about = (
            f"{pluralize(len(given), 'run')} fused: {pluralize(len(fused.queries), 'query')}, {len(fused):,} documents."
        )
        click.echo(
            "\n".join([about, *said, *fused.notes, *(note for run in given for note in _told(run)), *lost]), err=True
        )


def _told(run: Any) -> Iterator[str]:
    return (f"{run.name}: {note}" for note in run.notes)


def _about_fit(learned: Fit) -> Iterator[str]:
    """What was learned, and that its score flatters it."""
    yield f"Learned from {pluralize(len(learned.queries), 'topic')}: {_recipe(learned)}."
    yield (
        f"{learned.measure} {learned.score:.4f} on the topics learned from, which flatters it; {_best_run(learned)}. "
        "What to expect on others: --folds 5."
    )


def _about_folds(crossed: CrossFit) -> Iterator[str]:
    measure = crossed.whole.measure
    for i, learned in enumerate(crossed.folds):
        topics = pluralize(len(crossed.held_out[i]), "topic")
        yield f"Fold {i + 1}, {topics} held out: {_recipe(learned)}; {measure} {crossed.fold_score(i):.4f}."
    yield (
        f"{measure} {crossed.score:.4f} on held-out topics, {crossed.whole.score:.4f} if learned from all of them, "
        f"which flatters; {_best_run(crossed.whole)}."
    )
    unjudged = len(crossed.run.queries) - len(crossed.values)
    if unjudged:
        yield f"{pluralize(unjudged, 'query')} without judgments fused as learned from all that have some."


def _recipe(learned: Fit) -> str:
    """What was chosen, out of how much."""
    recipe = learned.recipe
    parts = []
    if recipe.weights is not None:
        weights = zip(learned.runs, recipe.weights, strict=True)
        parts.append("weights " + ", ".join(f"{name} {weight:g}" for name, weight in weights))
    parts += [f"{name} {value:g}" for name, value in (recipe.params or {}).items()]
    if recipe.method.learn:
        parts.append(f"of each run {recipe.method.learn}")
    tried = f", best of {learned.tried:,} tried" if learned.tried > 1 else ""
    return ", ".join(parts) + tried


def _best_run(learned: Fit) -> str:
    name, score = learned.best_run
    return f"the best run by itself, {name}, has {score:.4f}"


def _weights(given: str | None) -> list[float] | None:
    if given is None:
        return None
    return [parse_decimal(token.strip().encode(), "--weights: the weight") for token in given.split(",")]


def _params(given: str | None) -> dict[str, float]:
    """Parameters by name.

    >>> _params("k=10")
    {'k': 10.0}
    """
    params: dict[str, float] = {}
    for part in given.split(",") if given is not None else ():
        name, sign, value = (text.strip() for text in part.partition("="))
        if not name or not sign:
            raise CranfieldError(f"--params: expected name=value, parted by commas, found {part.strip()!r}.")
        if name in params:
            raise CranfieldError(f"--params: {name} is given twice.")
        params[name] = parse_decimal(value.encode(), f"--params: the value of {name},")
    return params


def _measure(given: str) -> str:
    names = split_measures([given])
    if len(names) != 1:
        raise MeasureError(f"--measure: expected one measure to learn by, found {join_names(names)}.")
    return names[0]
