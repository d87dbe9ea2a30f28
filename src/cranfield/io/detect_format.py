"""Telling formats by looking at the beginning of a file, and saying why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from cranfield.base import GRADE_WORDS, QRELS_FORMATS, RUN_FORMATS, Record, format_id
from cranfield.errors import FormatError
from cranfield.io.files import BLOCK, UTF8_BOM
from cranfield.io.parse_values import decode_id
from cranfield.io.rows import (
    DOC_COLUMNS,
    GRADE_COLUMNS,
    QUERY_COLUMNS,
    RANK_COLUMNS,
    RELEVANT,
    RETRIEVED,
    SCORE_COLUMNS,
    find_column,
)

AS_REQUESTED = "as asked for"
MOST_GRADES = 6  # more are no scale of grades
MOST_ROWS = 200  # that are looked at for the number of columns
Row = list[bytes]


class DetectedFormat(Record):
    """A format and the reason to think so."""

    format: str
    why: str


def detect_run_format(head: bytes, file: str) -> DetectedFormat:
    """The format of a run, or a FormatError that says what was seen."""
    found = _structured(head, file, "run", RETRIEVED, (*SCORE_COLUMNS, *RANK_COLUMNS))
    if found:
        return found
    beginning = data_rows(b"\n".join(head.split(b"\n", 2 * MOST_ROWS)[: 2 * MOST_ROWS]))
    if len(beginning) > MOST_ROWS and most_common_width(beginning) == 6:
        return DetectedFormat("trec", "six columns")  # no need to look at the rest
    rows = _rows(head, file)
    width = most_common_width(rows)
    if width == 6:
        return DetectedFormat("trec", "six columns")
    if width == 3:
        return _three_of_run(rows, file)
    if 6 < width < 11 and all(_is_long_run_row(row) for row in rows if len(row) == width):
        return DetectedFormat("trec", "six columns and words after the tag")
    if width == 5 and (_is_tagless_run(rows) or all(row[1] == b"Q0" for row in rows if len(row) == width)):
        raise FormatError("five columns, expected six (query Q0 doc rank score tag). Is the tag missing?", file)
    if width in (4, 5):
        kind = "four columns look like qrels" if width == 4 else "five columns look like sampled qrels"
        raise FormatError(f"{kind}, expected a run. Are the files in the order QRELS RUN...?", file)
    raise _unknown(rows, file, "run", "--run-format", RUN_FORMATS)


def detect_qrels_format(head: bytes, file: str) -> DetectedFormat:
    """The format of a qrels file, or a FormatError that says what was seen or asks which it is."""
    found = _structured(head, file, "qrels", RELEVANT, GRADE_COLUMNS)
    if found:
        return found
    rows = _rows(head, file)
    if is_letor(rows[0]):
        return DetectedFormat("letor", "'qid:' in the second column")
    width = most_common_width(rows)
    by_width: dict[int, Callable[[list[Row], str], DetectedFormat]] = {3: _three, 4: _four, 5: _five}
    if width in by_width:
        return by_width[width](rows, file)
    if width == 6:
        raise FormatError("six columns look like a run, expected qrels. Are the files in the order QRELS RUN...?", file)
    raise _unknown(rows, file, "qrels", "--qrels-format", QRELS_FORMATS)


def data_rows(head: bytes) -> list[Row]:
    """The split lines at the beginning of a file, without comments, blank lines and a cut last line."""
    lines = head.split(b"\n")
    if len(lines) > 1 and len(head) + len(UTF8_BOM) >= BLOCK:
        lines.pop()
    rows = (line.split() for line in lines)
    return [row for row in rows if row and not row[0].startswith(b"#")]


def is_letor(row: Row) -> bool:
    """Whether a line names its query as SVMlight and LETOR do: `2 qid:10 …`."""
    return len(row) > 1 and re.fullmatch(rb"qid:.+", row[1], re.DOTALL) is not None


def has_ranks(rows: list[Row]) -> bool:
    """Whether the third column differs within each query and in most of them begins with 0 or 1, as ranks do."""
    values = _by_query(rows)
    distinct = all(len(set(own)) == len(own) for own in values.values())
    from_one = sum(1 for own in values.values() if b"0" in own or b"1" in own)
    return distinct and 2 * from_one >= len(values)


def has_plausible_ranks(rows: list[Row]) -> bool:
    """Whether the third column tells the rows of a query apart, further than any scale of grades goes."""
    values = _by_query(rows)
    distinct = all(len(set(own)) == len(own) for own in values.values())
    return (
        distinct
        and max(map(len, values.values())) > MOST_GRADES
        and all(row[2].isdigit() for row in rows if len(row) == 3)
    )


def has_counting_column(rows: list[Row], at: int = 2) -> bool:
    """Whether a column counts 1, 2, 3 … (or from 0) within each query, as ranks do."""
    last: dict[bytes, int] = {}
    for row in rows:
        if not re.fullmatch(rb"\d{1,9}", row[at]):
            return False
        rank = int(row[at])
        if rank != last.get(row[0], rank - 1 if rank in (0, 1) else -2) + 1:
            return False
        last[row[0]] = rank
    return True


def is_parquet(head: bytes) -> bool:
    """Whether a file is Parquet; without a NUL byte it begins with an id that looks so."""
    return head.startswith(b"PAR1") and b"\0" in head


def _rows(head: bytes, file: str) -> list[Row]:
    rows = data_rows(head)
    if not rows:
        raise FormatError("the file holds only comments." if head.strip() else "the file is empty.", file)
    return rows


def most_common_width(rows: list[Row]) -> int:
    """The number of columns most lines have: one bad line must not change what a file is."""
    widths = [len(row) for row in rows[:MOST_ROWS]]
    return max(dict.fromkeys(widths), key=widths.count)  # the first one where two are as frequent


def _structured(
    head: bytes, file: str, kind: str, lists: Iterable[str], values: Iterable[str]
) -> DetectedFormat | None:
    """Parquet, JSON and tables with a header tell themselves."""
    if is_parquet(head):
        return DetectedFormat("parquet", "Parquet's first four bytes")
    start = head.lstrip()
    if start.startswith(b"["):
        return DetectedFormat("json", "a JSON array")
    if start.startswith(b"{"):
        return _json_kind(start, tuple(lists))
    return _table_kind(head, file, kind, tuple(values))


def _json_kind(start: bytes, lists: tuple[str, ...]) -> DetectedFormat:
    import json

    first, line_end, _ = start.partition(b"\n")
    try:
        record = json.loads(first.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return DetectedFormat("json", "a JSON object over several lines") if line_end else _long_json_kind(start)
    if isinstance(record, dict) and not all(isinstance(value, dict) for value in record.values()):
        if find_column(record, (*RETRIEVED, *RELEVANT)) is not None:
            return DetectedFormat("rag", f"JSON lines with {find_column(record, (*lists, *RETRIEVED, *RELEVANT))!r}")
        if find_column(record, QUERY_COLUMNS) is not None:
            return DetectedFormat("jsonl", f"JSON lines with {find_column(record, QUERY_COLUMNS)!r}")
    return DetectedFormat("json", "one JSON object")


def _long_json_kind(start: bytes) -> DetectedFormat:
    """The kind of a first line that goes on after the head, by the keys seen in it."""
    if not re.match(rb'\{\s*"[^"]*"\s*:\s*\{', start):
        keys = [key.decode("ascii") for key in re.findall(rb'"(\w+)"\s*:', start)]
        if find_column(keys, QUERY_COLUMNS) is not None:
            kind = (
                "rag" if find_column(keys, (*RETRIEVED, *RELEVANT)) or not find_column(keys, DOC_COLUMNS) else "jsonl"
            )
            return DetectedFormat(kind, f"long JSON lines with {find_column(keys, QUERY_COLUMNS)!r}")
    return DetectedFormat("json", "one JSON object")


def _table_kind(head: bytes, file: str, kind: str, values: tuple[str, ...]) -> DetectedFormat | None:
    found = re.search(rb"^(?!#)(?=.*\S).*", head, re.MULTILINE)
    first = (found[0] if found else b"").decode("utf-8", "surrogateescape").strip("\r")
    for name, delimiter in (("tsv", "\t"), ("csv", ",")):
        header = [cell.strip().strip('"') for cell in first.split(delimiter)]
        if (
            len(header) > 1
            and find_column(header, QUERY_COLUMNS)
            and find_column(header, DOC_COLUMNS)
            and find_column(header, values)
        ):
            beir = name == "tsv" and header == ["query-id", "corpus-id", "score"]
            if beir and kind == "run":
                raise FormatError(
                    "the header is that of BEIR's qrels, expected a run. Are the files in the order QRELS RUN...? "
                    "If it is a run, say so: --run-format tsv.",
                    file,
                )
            return DetectedFormat("beir" if beir else name, f"a header: {', '.join(header)}")
    return None


def _three_of_run(rows: list[Row], file: str) -> DetectedFormat:
    if has_ranks(rows):
        return DetectedFormat(
            "msmarco", "three columns, the third differing within each query and beginning with 0 or 1"
        )
    values = _by_query(rows)
    distinct = all(len(set(own)) == len(own) for own in values.values())
    found = "begins with neither 0 nor 1 in most queries" if distinct else "repeats within a query"
    raise FormatError(
        f"three columns, but the third {found}: it looks like a grade or a score, expected "
        "MS MARCO's 'query doc rank'. If it is a rank, say so: --run-format msmarco.",
        file,
    )


def _is_long_run_row(row: Row) -> bool:
    return row[1] in (b"Q0", b"0") and _is_number(row[3]) and _is_number(row[4])


def _three(rows: list[Row], file: str) -> DetectedFormat:
    rows = [row for row in rows if len(row) == 3]
    codes = {row[2] for row in rows}
    words = {code for code in codes if decode_id(code).lower() in GRADE_WORDS}
    if words and all(code in words or _is_number(code) for code in codes):
        return DetectedFormat("plain", f"three columns, with {format_id(decode_id(min(words)))} and such in the last")
    if not words and not any(map(_is_number, codes)):
        return _pairs_of_three(rows, file)
    if has_plausible_ranks(rows):
        raise FormatError(
            "three columns with the third counting up in each query look like an MS MARCO run, expected qrels. "
            "Are the files in the order QRELS RUN...? If it is a grade, say so: --qrels-format plain.",
            file,
        )
    if b"0" in codes or b"0.0" in codes:
        return DetectedFormat("plain", "three columns, with zeros in the last")
    unusual = [row[0] for row in rows if row[2] == b"-1"]
    queries = {row[0] for row in rows}
    # Cranfield lists with -1 the one document that each question was taken from
    once_per_query = len(set(unusual)) == len(unusual) and 2 * len(unusual) > len(queries)
    if codes <= {b"-1", b"1", b"2", b"3", b"4", b"5"} and once_per_query:
        return DetectedFormat("cranfield", "three columns, the last being 1 to 5, and -1 once per query, never 0")
    raise _asking({name: what for name, what in _THREE.items() if name == "plain" or _may_be(name, rows)}, file)


# what three columns may be
_THREE = {
    "plain": "'query doc grade'",
    "cranfield": "Cranfield's 'query doc code' with 1 as the best",
    "pairs": "preferences, 'query winner loser'",
}


def _may_be(name: str, rows: list[Row]) -> bool:
    """Whether three columns can be Cranfield's codes, which are numbers, or preferences, between ids of a kind."""
    are_numbers = all(_is_number(row[2]) for row in rows)
    return are_numbers if name == "cranfield" else not are_numbers or any(_is_number(row[1]) for row in rows)


def _asking(readings: dict[str, str], file: str) -> FormatError:
    *some, last = readings.values()
    *names, final = readings
    return FormatError(
        f"three columns could be {', '.join(some)} or {last}. Say which: --qrels-format {', '.join(names)} or {final}.",
        file,
    )


def _pairs_of_three(rows: list[Row], file: str) -> DetectedFormat:
    """Preferences, if the third column holds documents rather than words for grades."""
    second, third = {row[1] for row in rows}, {row[2] for row in rows}
    if second & third:
        return DetectedFormat("pairs", "three columns, the third holding documents of the second: 'query winner loser'")
    shapes = {_shape(doc) for doc in second}
    if all(b"0" in _shape(doc) and _shape(doc) in shapes for doc in third):
        return DetectedFormat(
            "pairs", "three columns, the third holding ids like those of the second: 'query winner loser'"
        )
    if len(third) > MOST_GRADES:
        return DetectedFormat("pairs", "three columns, the third being too various for grades: 'query winner loser'")
    example = format_id(decode_id(min(third)))
    words = f"'query doc grade' with words such as {example} (--grade-words says what they stand for)"
    raise _asking({"plain": words, "pairs": _THREE["pairs"]}, file)


def _shape(doc: bytes) -> bytes:
    """An id with 0 for each of its numbers, to see whether two were made in the same way."""
    return re.sub(rb"\d+", b"0", doc)


def _by_query(rows: list[Row]) -> dict[bytes, list[bytes]]:
    """The third columns of each query."""
    values: dict[bytes, list[bytes]] = {}
    for row in rows:
        if len(row) == 3:
            values.setdefault(row[0], []).append(row[2])
    return values


def _four(rows: list[Row], file: str) -> DetectedFormat:
    rows = [row for row in rows if len(row) == 4]
    zeros = [row for row in rows if row[2] == b"0" and re.fullmatch(rb"0(\.0*)?", row[3])]
    # most rows, not all: one bad line must not change what a file is
    has_docs_second = not {row[1] for row in zeros} <= {b"0", b"Q0"}
    if 2 * len(zeros) > len(rows) and has_docs_second:
        return DetectedFormat(
            "cacm",
            "four columns, but the third and fourth are always 0: 'query doc 0 0', "
            "the classic collections' list of relevant pairs, not TREC qrels",
        )
    if all(row[3] in row[1:3] and not _is_number(row[3]) for row in rows):
        return DetectedFormat(
            "pairs", "four columns, the fourth being one of the two documents: 'query doc doc winner'"
        )
    if _has_iteration_third(rows):
        raise FormatError(
            f"four columns, but the third is always {format_id(decode_id(rows[0][2]))} while the second varies: the "
            "iteration and doc columns are swapped, expected 'query iteration doc grade'. "
            "If it is the document, say so: --qrels-format trec.",
            file,
        )
    several: dict[bytes, set[bytes]] = {}
    for query, subtopic, _, _ in rows:
        several.setdefault(query, set()).add(subtopic)
    if any(len(subtopics) > 1 for subtopics in several.values()):
        return DetectedFormat("diversity", "four columns, the second telling subtopics or groups apart")
    return DetectedFormat("trec", "four columns")


def _has_iteration_third(rows: list[Row]) -> bool:
    third = {row[2] for row in rows}
    judged = third == {b"Q0"} or any(_is_number(row[3]) and float(row[3]) != 0 for row in rows)
    return third in ({b"0"}, {b"Q0"}) and len({row[1] for row in rows}) > 1 and judged


def _five(rows: list[Row], file: str) -> DetectedFormat:
    """Three formats have five columns; the one under whose reading the documents make sense is it."""
    rows = [row for row in rows if len(row) == 5]
    if _is_tagless_run(rows):
        raise FormatError(
            "five columns with the fourth counting up and the fifth falling in each query look like a run whose tag "
            "is missing (query Q0 doc rank score tag), expected qrels. "
            "If the fourth is a stratum, say so: --qrels-format sampled.",
            file,
        )
    fits = {
        "sampled": ("a document once per query in the third", _is_sampled),
        "prefs": ("groups in the third, documents in the fourth", _is_prefs),
        "prels": ("a document once per query in the second, a probability in the fifth", _is_prels),
    }
    found = [DetectedFormat(name, f"five columns: {why}") for name, (why, test) in fits.items() if test(rows)]
    if len(found) == 1:
        return found[0]
    raise FormatError(
        "five columns could be sampled qrels (query iter doc stratum grade), preferences "
        "(query group subgroup doc level) or prels (query doc grade method probability). "
        "Say which: --qrels-format sampled, prefs or prels.",
        file,
    )


def _is_tagless_run(rows: list[Row]) -> bool:
    """Whether five columns are those of a run but for the tag: ranks that count, scores that do not rise."""
    rows = [row for row in rows if len(row) == 5]
    if not all(row[1] in (b"Q0", b"0") and _is_number(row[4]) for row in rows) or not has_counting_column(rows, 3):
        return False
    scores: dict[bytes, list[float]] = {}
    for row in rows:
        scores.setdefault(row[0], []).append(float(row[4]))
    # one or two strata that begin with 1 are no ranking yet
    long_enough = rows[0][1] == b"Q0" or max(map(len, scores.values())) > 2
    return long_enough and all(own == sorted(own, reverse=True) for own in scores.values())


def _is_sampled(rows: list[Row]) -> bool:
    return _unique(rows, 2) and _numeric(rows, 4)


def _is_prefs(rows: list[Row]) -> bool:
    # a subgroup with one document prefers nothing: a file of many such subgroups is something else
    subgroups = {tuple(row[:3]) for row in rows}
    distinct = len({tuple(row[:4]) for row in rows}) == len(rows)
    return 2 * len(subgroups) <= len(rows) and distinct and _numeric(rows, 4)


def _is_prels(rows: list[Row]) -> bool:
    chances = all(row[4] == b"NA" or (_is_number(row[4]) and 0 <= float(row[4]) <= 1) for row in rows)
    methods = all(row[3] in (b"0", b"1", b"2", b"3", b"4") for row in rows)
    return _unique(rows, 1) and _numeric(rows, 2) and methods and chances


def _unique(rows: list[Row], at: int) -> bool:
    return len({(row[0], row[at]) for row in rows}) == len(rows) and len({row[at] for row in rows}) > 1


def _numeric(rows: list[Row], at: int) -> bool:
    return all(_is_number(row[at]) for row in rows)


def _is_number(token: bytes) -> bool:
    return re.fullmatch(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", token) is not None


def _unknown(rows: list[Row], file: str, kind: str, option: str, formats: dict[str, str]) -> FormatError:
    seen = b" ".join(rows[0])[:60].decode("utf-8", "backslashreplace")
    return FormatError(
        f"cannot tell the format of this {kind}: the first line is {seen!r}, {len(rows[0])} columns. "
        f"Name it with {option} ({', '.join(formats)}).",
        file,
    )
