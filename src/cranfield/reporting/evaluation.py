"""The scores of an evaluation in all formats of `cranfield eval`."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Any

from cranfield.base import Record, fields, pluralize
from cranfield.data import Origin
from cranfield.evaluation import RunScores, Scores
from cranfield.tables import (
    MISSING,
    Cell,
    Table,
    dump_json,
    finite_or_none,
    format_interval,
    format_number,
    package_versions,
    render_latex,
    render_markdown,
    render_text,
    wrap_sentences,
)

Row = tuple[str, str, str, float]
PLACES = 4


class Block(Record):
    """The values of one measure and one run: per query, per group of queries (`all:GROUP`), and overall."""

    run: str
    label: str
    queries: Sequence[str]
    values: Sequence[float]


def collect_blocks(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None) -> Iterator[Block]:
    """All values, by run and measure."""
    parts = {group: scores.select(queries) for group, queries in (groups or {}).items()}
    for run in scores.runs:
        for i, label in enumerate(scores.labels):
            if per_query:
                queries, values = scores.evaluated(label, run.name)
                counts = scores.measures[i].aggregate == "sum" and all(map(float.is_integer, values))
                yield Block(run.name, label, queries, list(map(int, values)) if counts else values)
            means = [(f"all:{group}", part.mean(label, run.name)) for group, part in parts.items()]
            means.append(("all", scores.mean(label, run.name)))
            # TRisk, for one, is undefined for a single query
            known = [(query, mean) for query, mean in means if not (scores.part(i) and math.isnan(mean))]
            yield Block(run.name, label, [query for query, _ in known], [mean for _, mean in known])


def collect_rows(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None) -> Iterator[Row]:
    """(run, measure, query, value); the mean of a group of queries has the query `all:GROUP`."""
    for block in collect_blocks(scores, per_query, groups):
        for query, value in zip(block.queries, block.values, strict=True):
            yield block.run, block.label, query, value


class _NumberCache(dict[float, str]):
    """A cache of formatted numbers: many queries have the same values."""

    def __init__(self, places: int | None) -> None:
        self.places = places

    def __missing__(self, value: float) -> str:
        self[value] = text = _plain(value, self.places)
        return text


def as_tsv(found: Iterator[Block], places: int | None) -> Iterator[str]:
    """Lines of `run⇥measure⇥query⇥value` without a header; one block at a time, as there may be millions."""
    floats, counts = _NumberCache(places), _NumberCache(places)
    queries: Sequence[str] = ()
    starts: list[str] = []
    for block in found:
        if not block.queries:
            continue
        if block.queries is not queries and len(block.queries) > 1:
            queries, starts = block.queries, [f"{query}\t" for query in block.queries]
        here = starts if block.queries is queries else [f"{query}\t" for query in block.queries]
        known = counts if isinstance(block.values[0], int) else floats
        front = f"{block.run}\t{block.label}\t"
        # the text between two values is the end of one line and the start of the next
        yield front + f"\n{front}".join(map(add, here, map(known.__getitem__, block.values))) + "\n"


def as_csv(lines: Iterator[Row], places: int | None) -> str:
    """The same as CSV with a header."""
    import csv

    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", "measure", "query", "value"])
    writer.writerows([run, label, query, _plain(value, places)] for run, label, query, value in lines)
    return out.getvalue()


def as_jsonl(lines: Iterator[Row], places: int | None) -> str:
    """One JSON object per row."""

    return "".join(
        dump_json({"run": run, "measure": label, "query": query, "value": _rounded(value, places)}, indent=None)
        for run, label, query, value in lines
    )


def as_json(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None, places: int | None) -> str:
    """All results: scores, intervals, coverage, conventions, versions, and the SHA-256 of the inputs."""

    content: dict[str, Any] = {
        "runs": [_run_record(scores, run, per_query, places) for run in scores.runs],
        "measures": [_measure_record(scores, i) for i in range(len(scores.labels))],
        "conventions": dict(scores.conventions),
        "notes": list(scores.notes),
        "inputs": [origin.as_record() for origin in _origins(scores)],
        "versions": package_versions("numpy"),
    }
    if groups:
        content["groups"] = {
            group: {
                "queries": list(queries),
                "runs": [_run_record(scores.select(queries), run, False, places) for run in scores.runs],
            }
            for group, queries in groups.items()
        }
    return dump_json(content)


def as_table(
    scores: Scores,
    per_query: bool,
    groups: Mapping[str, Sequence[str]] | None,
    places: int | None,
    width: int,
    styled: bool,
) -> str:
    """Means with intervals, then coverage, conventions and notes."""
    tables = list(_list_tables(scores, per_query, groups, PLACES if places is None else places))
    return render_text(tables, width, styled) + "\n" + wrap_sentences(describe_evaluation(scores), width)


def as_markdown(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None, places: int | None) -> str:
    shown = PLACES if places is None else places
    body = "\n".join(render_markdown(t) for t in _list_tables(scores, per_query, groups, shown, small=False))
    return body + "\n" + "\n".join(f"- {remark}" for remark in describe_evaluation(scores)) + "\n"


def as_latex(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None, places: int | None) -> str:
    shown = PLACES if places is None else places
    body = "\n".join(render_latex(t) for t in _list_tables(scores, per_query, groups, shown, small=False))
    return body + "".join(f"% {remark}\n" for remark in describe_evaluation(scores))


def describe_evaluation(scores: Scores) -> list[str]:
    """Sentences on coverage, unjudged documents and conventions, and notes."""
    coverage: dict[str, list[str]] = {}
    for run in scores.runs:
        coverage.setdefault(run.coverage, []).append(run.name)
    several = len(coverage) > 1
    lines = [f"{_join_runs(names)}: {text}." if several else f"{text}." for text, names in coverage.items()]
    lines.append(_unjudged(scores))
    lines.append(f"Conventions: {describe_conventions(scores)}.")
    return [*lines, *scores.notes]


def describe_conventions(scores: Scores) -> str:
    """The conventions, on one line."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in scores.conventions.items())


def _list_tables(
    scores: Scores,
    per_query: bool,
    groups: Mapping[str, Sequence[str]] | None,
    places: int,
    small: bool = True,
) -> Iterator[Table]:
    if per_query:
        for run in scores.runs:
            yield _query_table(scores, run, places)
    for group, queries in (groups or {}).items():
        part = scores.select(queries)
        yield _mean_table(part, f"{group} ({pluralize(len(part.queries), 'query')})", places, small)
    yield _mean_table(scores, "all queries" if groups or per_query else "", places, small)


def _mean_table(scores: Scores, title: str, places: int, small: bool) -> Table:
    """One row per run; if there is only one run, one row per measure."""
    if len(scores.runs) == 1:
        return _single_table(scores, title, places)
    columns = [_mean_column(scores, i, places, small) for i in range(len(scores.labels))]
    body = tuple((Cell(run.name), *(column[row] for column in columns)) for row, run in enumerate(scores.runs))
    return Table(title, ("Run", *scores.labels), body)


def _single_table(scores: Scores, title: str, places: int) -> Table:
    run = scores.runs[0]
    body = tuple(
        (Cell(label), Cell(_format_mean(scores, i, run, places)), Cell(_interval(scores, i, run, places)))
        for i, label in enumerate(scores.labels)
    )
    header = ("Measure", _column_heading(scores), "95 % interval")
    return Table(f"{run.name}{f', {title}' if title else ''}", header, body)


def _column_heading(scores: Scores) -> str:
    """The heading of the column of values."""
    name = {"arithmetic": "Mean", "geometric": "Geometric mean", "median": "Median"}[scores.how]
    if scores.weights is not None:
        name = f"Weighted {name.lower()}"
    summed = any(measure.aggregate == "sum" for measure in scores.measures)
    return f"{name} or sum" if summed else name


def _mean_column(scores: Scores, i: int, places: int, small: bool) -> list[Cell]:
    texts = [_format_mean(scores, i, run, places) for run in scores.runs]
    best = _best(scores, i, texts)
    below = [_half_width(scores, i, run, places) if small else "" for run in scores.runs]
    return [Cell(text, text in best, under) for text, under in zip(texts, below, strict=True)]


def _best(scores: Scores, i: int, texts: Sequence[str]) -> set[str]:
    """The values to mark, as printed: those that print the same are marked the same."""
    measure = scores.measures[i]
    present = [text for text in texts if text != MISSING]
    part = scores.part(i)
    if part in ("low", "high") or len(texts) < 2 or not measure.is_quality or not present:
        return set()
    pick = max if part or measure.more_is_better else min
    return {pick(present, key=lambda text: float(text.replace(",", "").replace("−", "-")))}


def _format_mean(scores: Scores, i: int, run: RunScores, places: int) -> str:
    value = scores.mean(scores.labels[i], run.name)
    counted = scores.measures[i].aggregate == "sum" or isinstance(value, int)
    return format_number(value, 0 if counted else places)


def _interval(scores: Scores, i: int, run: RunScores, places: int) -> str:
    """An interval; a dash if there are too few queries, nothing for values that have none."""
    interval = scores.interval(scores.labels[i], run.name)
    if interval is None:
        return "" if scores.part(i) or scores.measures[i].aggregate in ("sum", "run") else MISSING
    return format_interval(interval.low, interval.high, places)


def _half_width(scores: Scores, i: int, run: RunScores, places: int) -> str:
    if scores.averaging(i) != "arithmetic":
        return _interval(scores, i, run, places)
    interval = scores.interval(scores.labels[i], run.name)
    return "" if interval is None else f"±{format_number((interval.high - interval.low) / 2, places)}"


def _query_table(scores: Scores, run: RunScores, places: int) -> Table:
    at = [i for i in range(len(scores.labels)) if scores.part(i) not in ("trisk", "georisk")]
    columns = [scores.values(scores.labels[i], run.name).tolist() for i in at]
    whole = [scores.measures[i].aggregate == "sum" for i in at]
    body = tuple(
        (Cell(query), *(Cell(format_number(c[i], 0 if w else places)) for c, w in zip(columns, whole, strict=True)))
        for i, query in enumerate(scores.queries)
    )
    return Table(f"{run.name}, per query", ("Query", *(scores.labels[i] for i in at)), body)


def _unjudged(scores: Scores, k: int = 10) -> str:
    shares = {run.name: scores.unjudged(k, run.name) for run in scores.runs}
    if len(shares) == 1:
        return f"Unjudged in the top {k}: {next(iter(shares.values())):.1%}."
    return f"Unjudged in the top {k}: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()) + "."


def _join_runs(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:2])} and {len(names) - 2} more"


def _run_record(scores: Scores, run: RunScores, per_query: bool, places: int | None) -> dict[str, Any]:
    judged = next(r.judged for r in scores.runs if r.name == run.name)
    record: dict[str, Any] = {
        "run": run.name,
        "queries": {
            "evaluated": judged.n,
            "only_in_run": judged.only_in_run,
            "missing": int(judged.missing.sum()) + len(scores.queries) - judged.n,
        },
        "unjudged_top_10": _rounded(scores.unjudged(10, run.name), places),
        "ties": {"documents": judged.tied, "float32_only": judged.float32_tied},
        "scores": {label: _score_record(scores, i, run, per_query, places) for i, label in enumerate(scores.labels)},
    }
    return record


def _score_record(scores: Scores, i: int, run: RunScores, per_query: bool, places: int | None) -> dict[str, Any]:
    label = scores.labels[i]
    interval = scores.interval(label, run.name)
    record: dict[str, Any] = {_aggregate(scores, i): _rounded(scores.mean(label, run.name), places)}
    if interval is not None:
        record["interval"] = [_rounded(interval.low, places), _rounded(interval.high, places)]
        record["level"] = interval.level
    if run.sampling_errors[i] is not None:
        record["sampling_error"] = run.sampling_errors[i]
    if outer := scores.outer(label, run.name):
        record["outer"] = {"queries": len(outer)} | ({"which": outer} if per_query else {})
    if per_query:
        values = scores.per_query(label, run.name)
        record["per_query"] = {query: _rounded(value, places) for query, value in values.items()}
    return record


def _aggregate(scores: Scores, i: int) -> str:
    """The key under which the aggregate of a measure is written."""
    how = scores.averaging(i)
    if how == "run" or scores.part(i) in ("trisk", "georisk"):
        return "value"
    return "mean" if how == "arithmetic" else how


def _measure_record(scores: Scores, i: int) -> dict[str, Any]:
    measure, part = scores.measures[i], scores.part(i)
    record = {
        "name": scores.labels[i],
        "measure": str(measure),
        "title": measure.title,
        "parameters": {f.name: _parameter(getattr(measure, f.name)) for f in fields(measure)},
        "range": [finite_or_none(measure.low), finite_or_none(measure.high)],
        "more_is_better": measure.more_is_better,
    }
    return {**record, "part": part} if part else record


def _parameter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {f"{key:g}": gain for key, gain in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _origins(scores: Scores) -> Iterator[Origin]:
    """The input files: judgments, runs, and the run of --against."""
    against = scores.runs[0].judged.sources.extras.against if scores.runs else None
    origins = (scores.qrels, *(run.origin for run in scores.runs), against.origin if against else None)
    return (origin for origin in origins if origin is not None)


def _plain(value: float, places: int | None) -> str:
    if math.isnan(value):
        return MISSING
    value = value or abs(value)  # -0.0 is 0.0
    return repr(value) if places is None or isinstance(value, int) else f"{value:.{places}f}"


def _rounded(value: float, places: int | None) -> float | None:
    if not math.isfinite(value):
        return None
    return value if places is None else round(value, places)
