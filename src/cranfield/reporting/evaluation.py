"""The scores of an evaluation in every form that `cranfield eval` prints."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from operator import add
from typing import Any

from cranfield.base import Record, fields, pluralize
from cranfield.data import Origin
from cranfield.evaluation import RunScores, Scores
from cranfield.tables import Cell, Table, number, render

Row = tuple[str, str, str, float]
PLACES = 4


class Block(Record):
    """The values of one measure and one run: of queries, of groups of queries (`all:GROUP`), and of all."""

    run: str
    label: str
    queries: Sequence[str]
    values: Sequence[float]


def blocks(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None) -> Iterator[Block]:
    """All values, run by run and measure by measure."""
    parts = {group: scores.select(queries) for group, queries in (groups or {}).items()}
    for run in scores.runs:
        for i, label in enumerate(scores.labels):
            if per_query:
                queries, values = scores.evaluated(label, run.name)
                counts = scores.measures[i].aggregate == "sum" and all(map(float.is_integer, values))
                yield Block(run.name, label, queries, list(map(int, values)) if counts else values)
            means = [(f"all:{group}", part.mean(label, run.name)) for group, part in parts.items()]
            means.append(("all", scores.mean(label, run.name)))
            # there is no TRisk of a single query, say
            kept = [(query, mean) for query, mean in means if not (scores.part(i) and math.isnan(mean))]
            yield Block(run.name, label, [query for query, _ in kept], [mean for _, mean in kept])


def rows(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None) -> Iterator[Row]:
    """(run, measure, query, value); the mean of a group of queries has the query `all:GROUP`."""
    for block in blocks(scores, per_query, groups):
        for query, value in zip(block.queries, block.values, strict=True):
            yield block.run, block.label, query, value


class _Texts(dict[float, str]):
    """Numbers as they are printed: many values of many queries are the same."""

    def __init__(self, places: int | None) -> None:
        self.places = places

    def __missing__(self, value: float) -> str:
        self[value] = text = _plain(value, self.places)
        return text


def as_tsv(found: Iterator[Block], places: int | None) -> Iterator[str]:
    """`run⇥measure⇥query⇥value`, no header; a block at a time, as there may be millions of values."""
    floats, counts = _Texts(places), _Texts(places)
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
        # each line is put together by the end of the one before it
        yield front + f"\n{front}".join(map(add, here, map(known.__getitem__, block.values))) + "\n"


def as_csv(lines: Iterator[Row], places: int | None) -> str:
    """The same with commas and a header."""
    import csv

    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["run", "measure", "query", "value"])
    writer.writerows([run, label, query, _plain(value, places)] for run, label, query, value in lines)
    return out.getvalue()


def as_jsonl(lines: Iterator[Row], places: int | None) -> str:
    """One JSON record a row."""
    from cranfield.tables import dumped

    return "".join(
        dumped({"run": run, "measure": label, "query": query, "value": _rounded(value, places)}, indent=None)
        for run, label, query, value in lines
    )


def as_json(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None, places: int | None) -> str:
    """Everything: scores, intervals, coverage, conventions, versions, and the SHA-256 of the inputs."""
    from cranfield.tables import dumped, versions

    content: dict[str, Any] = {
        "runs": [_run_record(scores, run, per_query, places) for run in scores.runs],
        "measures": [_measure_record(scores, i) for i in range(len(scores.labels))],
        "conventions": dict(scores.conventions),
        "notes": list(scores.notes),
        "inputs": [origin.as_record() for origin in _origins(scores)],
        "versions": versions("numpy"),
    }
    if groups:
        content["groups"] = {
            group: {
                "queries": list(queries),
                "runs": [_run_record(scores.select(queries), run, False, places) for run in scores.runs],
            }
            for group, queries in groups.items()
        }
    return dumped(content)


def as_table(
    scores: Scores,
    per_query: bool,
    groups: Mapping[str, Sequence[str]] | None,
    places: int | None,
    width: int,
    styled: bool,
) -> str:
    """For people: means with intervals, then what one must know to read them."""
    shown = PLACES if places is None else places
    parts = list(_all_tables(scores, per_query, groups, shown))
    import textwrap

    lines = (line for remark in remarks(scores) for line in textwrap.wrap(remark, width, break_on_hyphens=False))
    return render.terminal(parts, width, styled) + "\n" + "\n".join(lines) + "\n"


def as_markdown(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None, places: int | None) -> str:
    shown = PLACES if places is None else places
    body = "\n".join(render.markdown(t) for t in _all_tables(scores, per_query, groups, shown, small=False))
    return body + "\n" + "\n".join(f"- {remark}" for remark in remarks(scores)) + "\n"


def as_latex(scores: Scores, per_query: bool, groups: Mapping[str, Sequence[str]] | None, places: int | None) -> str:
    shown = PLACES if places is None else places
    body = "\n".join(render.latex(t) for t in _all_tables(scores, per_query, groups, shown, small=False))
    return body + "".join(f"% {remark}\n" for remark in remarks(scores))


def remarks(scores: Scores) -> list[str]:
    """Coverage, unjudged share and conventions in sentences, and whatever else must be known."""
    coverage: dict[str, list[str]] = {}
    for run in scores.runs:
        coverage.setdefault(run.coverage, []).append(run.name)
    several = len(coverage) > 1
    lines = [f"{_names(names)}: {text}." if several else f"{text}." for text, names in coverage.items()]
    lines.append(_unjudged(scores))
    lines.append(f"Conventions: {conventions(scores)}.")
    return [*lines, *scores.notes]


def conventions(scores: Scores) -> str:
    """The conventions in force, on one line."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in scores.conventions.items())


def _all_tables(
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
    """A run a row; with one run only, a measure a row."""
    if len(scores.runs) == 1:
        return _single_table(scores, title, places)
    columns = [_mean_column(scores, i, places, small) for i in range(len(scores.labels))]
    body = tuple((Cell(run.name), *(column[row] for column in columns)) for row, run in enumerate(scores.runs))
    return Table(title, ("Run", *scores.labels), body)


def _single_table(scores: Scores, title: str, places: int) -> Table:
    run = scores.runs[0]
    body = tuple(
        (Cell(label), Cell(_figure(scores, i, run, places)), Cell(_interval(scores, i, run, places)))
        for i, label in enumerate(scores.labels)
    )
    header = ("Measure", _figure_name(scores), "95 % interval")
    return Table(f"{run.name}{f', {title}' if title else ''}", header, body)


def _figure_name(scores: Scores) -> str:
    """What the figures are, as the head of their column."""
    name = {"arithmetic": "Mean", "geometric": "Geometric mean", "median": "Median"}[scores.how]
    if scores.weights is not None:
        name = f"Weighted {name.lower()}"
    summed = any(measure.aggregate == "sum" for measure in scores.measures)
    return f"{name} or sum" if summed else name


def _mean_column(scores: Scores, i: int, places: int, small: bool) -> list[Cell]:
    texts = [_figure(scores, i, run, places) for run in scores.runs]
    best = _best(scores, i, texts)
    below = [_half_width(scores, i, run, places) if small else "" for run in scores.runs]
    return [Cell(text, text in best, under) for text, under in zip(texts, below, strict=True)]


def _best(scores: Scores, i: int, texts: Sequence[str]) -> set[str]:
    """The figure or figures to mark: as shown, so that what looks equal is marked alike."""
    measure = scores.measures[i]
    present = [text for text in texts if text != render.MISSING]
    part = scores.part(i)
    if part in ("low", "high") or len(texts) < 2 or not measure.is_quality or not present:
        return set()
    pick = max if part or measure.more_is_better else min
    return {pick(present, key=lambda text: float(text.replace(",", "")))}


def _figure(scores: Scores, i: int, run: RunScores, places: int) -> str:
    value = scores.mean(scores.labels[i], run.name)
    counted = scores.measures[i].aggregate == "sum" or isinstance(value, int)
    return number(value, 0 if counted else places)


def _interval(scores: Scores, i: int, run: RunScores, places: int) -> str:
    """An interval; a dash where there are too few queries, nothing for what has none."""
    interval = scores.interval(scores.labels[i], run.name)
    if interval is None:
        return "" if scores.part(i) or scores.measures[i].aggregate in ("sum", "run") else render.MISSING
    return f"[{number(interval.low, places)}, {number(interval.high, places)}]"


def _half_width(scores: Scores, i: int, run: RunScores, places: int) -> str:
    if scores.averaging(i) != "arithmetic":
        return _interval(scores, i, run, places)
    interval = scores.interval(scores.labels[i], run.name)
    return "" if interval is None else f"±{number((interval.high - interval.low) / 2, places)}"


def _query_table(scores: Scores, run: RunScores, places: int) -> Table:
    at = [i for i in range(len(scores.labels)) if scores.part(i) not in ("trisk", "georisk")]
    columns = [scores.values(scores.labels[i], run.name).tolist() for i in at]
    whole = [scores.measures[i].aggregate == "sum" for i in at]
    body = tuple(
        (Cell(query), *(Cell(number(c[i], 0 if w else places)) for c, w in zip(columns, whole, strict=True)))
        for i, query in enumerate(scores.queries)
    )
    return Table(f"{run.name}, query by query", ("Query", *(scores.labels[i] for i in at)), body)


def _unjudged(scores: Scores, k: int = 10) -> str:
    shares = {run.name: scores.unjudged(k, run.name) for run in scores.runs}
    if len(shares) == 1:
        return f"Unjudged in the top {k}: {next(iter(shares.values())):.1%}."
    return f"Unjudged in the top {k}: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()) + "."


def _names(names: Sequence[str]) -> str:
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
    """The name of what makes one number of a row's values."""
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
        "range": [_finite(measure.low), _finite(measure.high)],
        "more_is_better": measure.more_is_better,
    }
    return {**record, "part": part} if part else record


def _parameter(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {f"{key:g}": gain for key, gain in value.items()}
    return list(value) if isinstance(value, tuple) else value


def _origins(scores: Scores) -> Iterator[Origin]:
    """The files that were read: judgments, runs, and the run to compare with."""
    against = scores.runs[0].judged.sources.extras.against if scores.runs else None
    origins = (scores.qrels, *(run.origin for run in scores.runs), against.origin if against else None)
    return (origin for origin in origins if origin is not None)


def _plain(value: float, places: int | None) -> str:
    if math.isnan(value):
        return render.MISSING
    value = value or abs(value)  # -0.0 is 0.0
    return repr(value) if places is None or isinstance(value, int) else f"{value:.{places}f}"


def _rounded(value: float, places: int | None) -> float | None:
    if not math.isfinite(value):
        return None
    return value if places is None else round(value, places)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
