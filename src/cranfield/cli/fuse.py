"""cranfield fuse: combine several runs into one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from cranfield.base import join_names, pluralize, replace
from cranfield.cli.inputs import read_judgments, require_one_stdin
from cranfield.cli.options import (
    depth_option,
    on_duplicate_option,
    qrels_format_option,
    quiet_option,
    rel_option,
    run_format_option,
    seed_option,
    split_measures,
)
from cranfield.data import Run
from cranfield.errors import CranfieldError, MeasureError
from cranfield.fusion import FUSION_METHODS, NORMS, CrossFit, Fit, as_runs, cross_fuse, fit, fuse, make_recipe
from cranfield.io import parse_decimal, read_run, write_run

_KINDS = {
    "scores": "Methods based on scores:",
    "ranks": "Methods based on ranks:",
    "training": "Methods that learn from judgments (--qrels):",
}


def _list_methods() -> str:
    """The methods and normalisations, one per line."""
    parts = []
    for kind, heading in _KINDS.items():
        rows = [f"  {m.name:<16} {m.title}" for m in FUSION_METHODS.values() if m.kind == kind]
        parts.append("\n".join(["\b", heading, *rows]))
    rows = [f"  {norm.name:<16} {norm.title}" for norm in NORMS.values()]
    parts.append("\n".join(["\b", "Normalisations:", *rows]))
    return "\n\n".join(parts)


@click.command(name="fuse", epilog=_list_methods())
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--method", metavar="METHOD", default="rrf", show_default=True, help="How to fuse; listed below.")
@click.option("--norm", metavar="NORM", help="How to normalise scores. [default: min-max; none for rank-based methods]")
@click.option("--weights", metavar="W,W,…", help="One weight per run, in their order.")
@click.option("--params", metavar="NAME=VALUE,…", help="Parameters: k (rrf), phi (rbc), gamma, sigma, w, segments.")
@depth_option(1000, "Most documents per query in the output.")
@click.option("-o", "--output", metavar="FILE", default="-", help="Where to write the run. [default: standard output]")
@click.option("--tag", metavar="NAME", help="The last column of the run. [default: the method]")
@click.option("--qrels", metavar="QRELS", help="Judgments to learn weights, a parameter or probabilities from.")
@click.option("-m", "--measure", metavar="MEASURE", default="nDCG@10", show_default=True, help="What to optimise.")
@click.option("--step", type=float, default=0.1, show_default=True, help="Weights tried are multiples of this.")
@click.option("--folds", type=click.IntRange(2), help="Cross-validate: learn for each topic from the other folds.")
@seed_option("Seed that assigns topics to folds.")
@rel_option
@on_duplicate_option()
@run_format_option
@qrels_format_option
@quiet_option
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
    on_duplicate: Any,
    run_format: str | None,
    qrels_format: str | None,
    quiet: bool,
    **learning: Any,
) -> None:
    """Combine several runs into one.

    Runs may lack documents or queries; what the others have is fused. Documents with equal scores are ordered by id,
    as in an evaluation. With --qrels, the method learns what it can; with --folds as well, no topic is fused with what
    was learned from it.

    \b
    Example:
      cranfield fuse bm25.run lm.run -o fused.run
      cranfield fuse bm25.run lm.run --method wsum --weights 0.3,0.7 -o fused.run
      cranfield fuse bm25.run lm.run --method wsum --qrels qrels.txt --folds 5 -o fused.run
    """
    require_one_stdin(*runs, qrels)
    if learning["folds"] and qrels is None:
        raise CranfieldError("--folds needs judgments to learn from: --qrels QRELS.")
    values, by_run = _parse_params(params), _parse_weights(weights)
    # an unknown method or a wrong weight is reported before large files are read
    recipe = make_recipe(method, len(runs), norm=norm, weights=by_run, learning=qrels is not None, params=values)
    settings: dict[str, Any] = {"norm": norm, "weights": by_run, "depth": depth, **values}
    inputs = as_runs([read_run(path, run_format, on_duplicate=on_duplicate) for path in runs])
    notes: list[str] = []
    if qrels is None:
        fused = fuse(inputs, recipe.method.name, **settings)
    else:
        judgments = read_judgments(qrels, qrels_format, on_duplicate=on_duplicate)
        fused, notes = _learn(judgments, inputs, recipe.method.name, settings, **learning)
    losses = write_run(replace(fused, tag=tag or fused.tag), output)
    if not quiet:
        queries = pluralize(len(fused.queries), "query")
        summary = f"Fused {pluralize(len(inputs), 'run')}: {queries}, {len(fused):,} documents."
        of_runs = [f"{run.name}: {note}" for run in inputs for note in run.notes]
        click.echo("\n".join([summary, *notes, *fused.notes, *of_runs, *losses]), err=True)


def _learn(
    judgments: Any,
    runs: Sequence[Run],
    method: str,
    settings: dict[str, Any],
    measure: str,
    step: float,
    folds: int | None,
    seed: int,
    rel: float,
) -> tuple[Run, list[str]]:
    """Runs fused as learned from judgments, and what to say about it."""
    learning = {**settings, "measure": _parse_measure(measure), "step": step, "rel": rel}
    if folds is None:
        learned = fit(judgments, runs, method, **learning)
        return learned.fuse(runs, depth=settings["depth"]), _describe_fit(learned)
    crossed = cross_fuse(judgments, runs, method, folds=folds, seed=seed, **learning)
    return crossed.run, _describe_folds(crossed)


def _describe_fit(learned: Fit) -> list[str]:
    """What was learned, with a warning that its score is optimistic."""
    return [
        f"Learned from {pluralize(len(learned.queries), 'topic')}: {_describe_recipe(learned)}.",
        f"{learned.measure} {learned.score:.4f} on the training topics, which is optimistic; "
        f"{_describe_best_run(learned)}. Use --folds 5 to estimate the score on new topics.",
    ]


def _describe_folds(crossed: CrossFit) -> list[str]:
    measure = crossed.whole.measure
    notes = []
    for i, learned in enumerate(crossed.folds):
        topics = pluralize(len(crossed.held_out[i]), "topic")
        score = f"{measure} {crossed.fold_score(i):.4f}"
        notes.append(f"Fold {i + 1}, {topics} held out: {_describe_recipe(learned)}; {score}.")
    notes.append(
        f"{measure} {crossed.score:.4f} on held-out topics, {crossed.whole.score:.4f} if learned from all of them, "
        f"which is optimistic; {_describe_best_run(crossed.whole)}."
    )
    unjudged = len(crossed.run.queries) - len(crossed.values)
    if unjudged:
        notes.append(f"{pluralize(unjudged, 'query')} without judgments fused as learned from all judged topics.")
    return notes


def _describe_recipe(learned: Fit) -> str:
    """What was chosen, out of how many settings."""
    recipe = learned.recipe
    parts = []
    if recipe.weights is not None:
        weights = zip(learned.runs, recipe.weights, strict=True)
        parts.append("weights " + ", ".join(f"{name} {weight:g}" for name, weight in weights))
    parts += [f"{name} {value:g}" for name, value in (recipe.params or {}).items()]
    if recipe.method.learn:
        parts.append(f"{recipe.method.learn} of each run")
    tried = f", best of {learned.tried:,} tried" if learned.tried > 1 else ""
    return ", ".join(parts) + tried


def _describe_best_run(learned: Fit) -> str:
    name, score = learned.best_run
    return f"the best single run, {name}, has {score:.4f}"


def _parse_weights(text: str | None) -> list[float] | None:
    if text is None:
        return None
    return [parse_decimal(token.strip().encode(), "--weights: the weight") for token in text.split(",")]


def _parse_params(text: str | None) -> dict[str, float]:
    """Parameters by name.

    >>> _parse_params("k=10")
    {'k': 10.0}
    """
    params: dict[str, float] = {}
    for part in text.split(",") if text is not None else ():
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not name or not sign:
            raise CranfieldError(f"--params: expected comma-separated NAME=VALUE, found {part.strip()!r}.")
        if name in params:
            raise CranfieldError(f"--params: {name} is given twice.")
        params[name] = parse_decimal(value.encode(), f"--params: the value of {name},")
    return params


def _parse_measure(text: str) -> str:
    names = split_measures([text])
    if len(names) != 1:
        raise MeasureError(f"--measure: expected one measure, found {join_names(names)}.")
    return names[0]
