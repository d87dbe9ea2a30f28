"""Whether files belong together: the ids of qrels compared with those of runs, topics and documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from cranfield.base import Record, join_names, pluralize
from cranfield.data import Qrels, Run
from cranfield.validation.findings import CheckedFile, Finding


class FilePair(Record):
    """Two files, and what was found when comparing them."""

    files: tuple[str, str]
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)

    def record(self) -> dict[str, Any]:
        return {"files": list(self.files), "findings": [finding.record() for finding in self.findings]}


def compare_files(checked: Iterable[CheckedFile]) -> list[FilePair]:
    """Compare each qrels file with every run, topic and document file."""
    everything = list(checked)
    judgments = [one for one in everything if isinstance(one.value, Qrels)]
    others = [one for one in everything if one.identity and not isinstance(one.value, Qrels)]
    pairs = [FilePair((q.file, o.file), tuple(_compare(q, o))) for q in judgments for o in others]
    return [pair for pair in pairs if pair.findings]  # none where a run could not be read


def _compare(judged: CheckedFile, other: CheckedFile) -> Iterator[Finding]:
    assert isinstance(judged.value, Qrels) and other.identity
    if isinstance(other.value, Run):
        yield from _compare_run(judged, judged.value, other, other.value)
    elif other.identity.kind == "topics" and _numbers_by_place(judged, other.ids):
        yield _cranfield_numbers(judged, list(other.ids), "topics")
    elif other.identity.kind == "topics":
        yield from _compare_ids("query", judged, set(judged.value.queries), "topics", set(other.ids))
    elif other.identity.kind == "documents":
        yield from _compare_ids("document", judged, set(judged.value.docs), "documents", set(other.ids))


def _compare_run(judged: CheckedFile, qrels: Qrels, other: CheckedFile, run: Run) -> Iterator[Finding]:
    docs_judged: set[str] = set(qrels.docs.tolist())
    retrieved: set[str] = set(run.docs.tolist())
    if _numbers_by_place(judged, run.queries):
        yield _overlap("query", set(qrels.queries), "run", set(run.queries))
        yield _cranfield_numbers(judged, [], "run")
    else:
        yield from _compare_ids("query", judged, set(qrels.queries), "run", set(run.queries))
    if _queries_and_docs_swapped(qrels, run, docs_judged, retrieved):
        message = "queries of the qrels are documents of the run and vice versa: its two columns are swapped."
        line = None if run.lines is None else int(run.lines.min())
        yield Finding("warning", "swapped columns", message, line, unit=other.unit, file=other.file)
        return
    if docs_judged and retrieved and not docs_judged & retrieved:
        message = "no judged document was retrieved: do the doc ids refer to the same documents?"
        yield Finding("warning", "doc ids", message)
    differing = _look_alike(docs_judged - retrieved, retrieved - docs_judged)
    if differing:
        yield _similar_ids("document", judged, "run", differing, about="doc ids")


def _queries_and_docs_swapped(qrels: Qrels, run: Run, judged: set[str], retrieved: set[str]) -> bool:
    queries = set(qrels.queries)
    most = 2 * len(queries & retrieved) >= min(len(queries), len(retrieved)) > 0
    return most and not judged.isdisjoint(run.queries) and queries.isdisjoint(run.queries)


def _compare_ids(what: str, judged: CheckedFile, ours: set[str], right: str, theirs: set[str]) -> Iterator[Finding]:
    """The overlap of two sets of ids, and ids that are probably meant to be the same."""
    yield _overlap(what, ours, right, theirs)
    differing = _look_alike(ours - theirs, theirs - ours)
    if not differing and not ours & theirs and what == "query":
        differing = _look_alike(ours, theirs, any_prefix=True)
    if differing:
        yield _similar_ids(what, judged, right, differing, about=f"{what} ids")


def _overlap(what: str, ours: set[str], right: str, theirs: set[str]) -> Finding:
    common = ours & theirs
    message = (
        f"{pluralize(len(common), what)} in common, {len(ours - theirs):,} only in the qrels, "
        f"{len(theirs - ours):,} only in the {right}."
    )
    if common:
        return Finding("info", f"{what} ids", message)
    # without a query in common nothing can be evaluated
    return Finding("error" if right == "run" else "warning", f"{what} ids", message)


def _similar_ids(what: str, judged: CheckedFile, right: str, pairs: list[tuple[str, str]], about: str) -> Finding:
    """A finding about similar ids, with the line of the first in the qrels."""
    lines = _first_lines(judged.value, what, {ours for ours, _ in pairs})
    pairs = sorted(pairs, key=lambda pair: lines.get(pair[0], 0))
    one, other = pairs[0]
    examples = join_names([a for a, _ in pairs[1:]], most=3)
    more = f" ({len(pairs):,} such ids: {examples})" if len(pairs) > 1 else ""
    message = (
        f"{what} {one!r} in the qrels looks like {other!r} in the {right}, but ids are compared byte by byte{more}."
    )
    return Finding("warning", about, message, lines.get(one), len(pairs), judged.unit, judged.file)


def _first_lines(qrels: Any, what: str, wanted: set[str]) -> dict[str, int]:
    """The first line of each id, of a query or of a document."""
    lines: dict[str, int] = {}
    for id, line in zip(qrels.row_queries() if what == "query" else qrels.docs, qrels.lines.tolist(), strict=True):
        if id in wanted:
            lines[id] = min(line, lines.get(id, line))
    return lines


def _numbers_by_place(judged: CheckedFile, theirs: Iterable[str]) -> bool:
    """Whether these are Cranfield's qrels, which number the queries, while the other file has ids of another kind."""
    assert isinstance(judged.value, Qrels) and judged.identity
    queries = set(judged.value.queries)
    return judged.identity.format == "cranfield" and bool(queries) and not set(theirs) <= queries


def _cranfield_numbers(judged: CheckedFile, topics: list[str], right: str) -> Finding:
    """The meaning of Cranfield's numbers: cran.qry has ids of its own, 001, 002, 004, 008 …"""
    assert isinstance(judged.value, Qrels)
    queries = judged.value.queries
    places = {str(place): id for place, id in enumerate(topics, 1)}
    example = next((query for query in queries if places.get(query, query).lstrip("0") != query), None)
    for_example = f" Query {example!r} of the qrels is the one with id {places[example]!r}." if example else ""
    message = (
        f"Cranfield's qrels number the queries from {queries[0]} to {queries[-1]} in the order of the query file, "
        f"whatever their ids in the {right}.{for_example} Use these numbers in runs."
    )
    return Finding("warning", "query ids", message)


def _look_alike(ours: set[str], theirs: set[str], any_prefix: bool = False) -> list[tuple[str, str]]:
    """Ids that differ only in leading zeros, case, or (with `any_prefix`) a prefix such as `wt09-`."""
    wanted = dict(zip(ours, _simplify(ours, any_prefix), strict=True))
    simple = set(wanted.values())
    known: dict[str, str] = {}
    for one, plain in zip(theirs, _simplify(theirs, any_prefix), strict=True):
        if plain in simple:
            known[plain] = max(one, known.get(plain, one))
    return [(one, known[wanted[one]]) for one in sorted(ours) if wanted[one] in known]


def _simplify(texts: set[str], any_prefix: bool) -> list[str]:
    """Ids in lower case, without leading zeros of numbers.

    >>> _simplify({"WT09-007"}, False), _simplify({"WT09-007"}, True)
    (['wt9-7'], ['7'])
    """
    bare = [_PREFIX.sub("", text) for text in texts] if any_prefix else list(texts)
    joined = "\n".join(bare)
    if joined.count("\n") < len(bare):
        # runs have 100,000 ids: one substitution in all of them takes a tenth of the time
        return [text.strip() for text in _ZEROS.sub("", joined.lower()).split("\n")]
    return [_ZEROS.sub("", text.strip().lower()) for text in bare]


_PREFIX = re.compile(r"^.*[^0-9](?=[0-9]+$)")
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
