"""Files of columns separated by white space: TREC runs and qrels and their relatives.

Runs: TREC `query Q0 doc rank score tag`, MS MARCO `query doc rank`.
Qrels: TREC and diversity `query subtopic doc grade`, sampled `query iter doc stratum grade`, preferences
`query group subgroup doc level`, prels `query doc grade method probability`, plain `query doc grade`, and the
classic collections' `query doc code` (Cranfield) and `query doc 0 0` (CACM, CISI). Pairs `query winner loser`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import BinaryIO

from cranfield.base import encode_id, format_id, pluralize
from cranfield.data import Qrels, Run
from cranfield.errors import InputError
from cranfield.io.files import UTF8_BOM, Input
from cranfield.io.parse_values import (
    OnProblem,
    decode_id,
    parse_decimal,
    parse_decimals,
    parse_grade_token,
    parse_integer,
)
from cranfield.io.rows import Note, QrelsRows, RunRows, scores_from_ranks

Fields = list[bytes]
Column = Sequence[bytes]

LAYOUTS: Mapping[str, str] = {
    "trec-run": "query Q0 doc rank score tag",
    "msmarco": "query doc rank",
    "trec": "query subtopic doc grade",
    "sampled": "query iter doc stratum grade",
    "prefs": "query group subgroup doc level",
    "prels": "query doc grade method probability",
    "plain": "query doc grade",
    "cranfield": "query doc code",
    "cacm": "query doc 0 0",
}


def read_trec_run(source: Input, problem: OnProblem) -> RunRows:
    """A TREC run; the second and the last column are kept only as a tag."""
    rows, long = RunRows(), list[int]()
    for numbers, columns in _table(source, LAYOUTS["trec-run"], problem, long):
        queries, _, docs, ranks, scores, tags = columns
        values = parse_decimals(scores)
        if values is None:
            _add_one_by_one(rows, numbers, columns, source.name, problem)
        else:
            rows.queries.extend(_decoded_runs(queries))
            rows.docs.extend(map(decode_id, docs))
            rows.scores.extend(values)
            rows.lines.extend(numbers)
            _add_ranks(rows, ranks, numbers)
        rows.tag = rows.tag or decode_id(tags[0])
    if long:
        message = f"{pluralize(len(long), 'line')} with words after the tag, which are left out."
        rows.notes.append(Note(message, long[0], len(long)))
    return rows


def read_msmarco_run(source: Input, problem: OnProblem) -> RunRows:
    """An MS MARCO run: `query doc rank`; the order of ranks becomes a score."""
    rows, ranks = RunRows(ranks=None), []
    for number, (query, doc, token) in _lines(source, "msmarco", problem):
        rank = parse_integer(token)
        if rank is None or rank < 0:
            problem(_at(source, number, f"rank {format_id(decode_id(token))} is not a whole number from 0."))
            continue
        ranks.append(rank)
        rows.add(decode_id(query), decode_id(doc), 0.0, number)
    rows.ranks = ranks
    rows.scores = scores_from_ranks(ranks)
    return rows


def read_graded(source: Input, problem: OnProblem, words: Mapping[str, float], layout: str) -> QrelsRows:
    """Any of the layouts that hold grades: TREC, plain, sampled, preferences."""
    names = _meanings(layout)
    rows = QrelsRows()
    for numbers, tokens in _table(source, LAYOUTS[layout], problem):
        columns = dict(zip(names, tokens, strict=True))
        grades = parse_decimals(columns["grade"])
        if grades is None:
            numbers, columns, grades = _graded_rows(numbers, columns, words, source, problem)
        rows.queries.extend(_decoded_runs(columns.pop("query")))
        rows.docs.extend(map(decode_id, columns.pop("doc")))
        rows.grades.extend(grades)
        rows.lines.extend(numbers)
        del columns["grade"]
        rows.subtopics.extend(_decoded_runs(columns.pop("subtopic", (b"0",) * len(grades))))
        for name, values in columns.items():
            rows.extra.setdefault(name, []).extend(map(decode_id, values))
    return rows


def read_prels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """Sampled judgments with inclusion probabilities: `query doc grade method probability`."""
    rows = QrelsRows()
    for number, (query, doc, token, method, chance) in _lines(source, "prels", problem):
        value = _graded(token, words, source, number, problem)
        if value is None:
            continue
        if chance != b"NA" and not _is_probability(chance):
            problem(_at(source, number, f"probability {format_id(decode_id(chance))} is not in 0–1 or NA."))
            continue
        rows.add(
            decode_id(query), decode_id(doc), value, number, method=decode_id(method), probability=decode_id(chance)
        )
    return rows


def read_pairs(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """Preferences between two documents: `query winner loser`, or `query doc doc winner`. A repeated pair counts again.

    Each line is a group of judgments by itself, so that lines may contradict each other.
    """
    rows = QrelsRows()
    for number_, line in source.lines():
        fields = [decode_id(field) for field in line.split()]
        if not fields or fields[0].startswith("#"):
            continue
        if len(fields) not in (3, 4):
            message = f"expected {_PAIR}, found {pluralize(len(fields), 'column')}."
            problem(_at(source, number_, message))
            continue
        query, winner, loser = fields[:3]
        if fields[3:] == [loser]:
            winner, loser = loser, winner
        if winner == loser:
            problem(_at(source, number_, f"document {format_id(winner)} is preferred to itself."))
        elif fields[3:] not in ([], [winner]):
            message = f"winner {format_id(fields[3])} is neither {format_id(winner)} nor {format_id(loser)}."
            problem(_at(source, number_, message))
        else:
            for doc, level in ((winner, 1.0), (loser, 0.0)):
                rows.add(query, doc, level, number_, subtopic=str(number_), subgroup="0")
    return rows


_PAIR = "three columns (query winner loser) or four (query doc doc winner)"


def read_cranfield_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """Cranfield's own: code 1 is the best and 4 the least, so the grade is 5 − code; −1 is left out."""
    rows, left_out = QrelsRows(), list[int]()
    for number, (query, doc, token) in _lines(source, "cranfield", problem):
        code = parse_integer(token)
        if code == -1:
            left_out.append(number)
        elif code is None or not 1 <= code <= 5:
            problem(_at(source, number, f"code {format_id(decode_id(token))}, expected 1 to 5, or -1."))
        else:
            rows.add(decode_id(query), decode_id(doc), 5.0 - code, number)
    rows.notes.append(Note("grades are 5 − code (code 1 is the best)."))
    if left_out:
        message = (
            f"{pluralize(len(left_out), 'row')} with code -1 left out (the document that the question was taken from)."
        )
        rows.notes.append(Note(message, left_out[0], len(left_out)))
    return rows


def read_cacm_qrels(source: Input, problem: OnProblem, words: Mapping[str, float]) -> QrelsRows:
    """CACM's and CISI's own: every pair listed is relevant, although the last column says 0."""
    rows, padded = QrelsRows(), list[int]()
    for number, (query, doc, *zeros) in _lines(source, "cacm", problem):
        if any(re.fullmatch(rb"0(\.0*)?", zero) is None for zero in zeros):
            found = " ".join(map(decode_id, zeros))
            problem(_at(source, number, f"expected two zeros after query and document, found {found!r}."))
            continue
        if query.startswith(b"0") or doc.startswith(b"0"):
            padded.append(number)
        rows.add(_unpadded(query), _unpadded(doc), 1.0, number)
    rows.notes.append(Note("every pair listed counts as relevant (grade 1), although the last column is 0."))
    if padded:
        message = (
            f"{pluralize(len(padded), 'row')} with ids padded with zeros ('01', '0756'), read as '1', '756', "
            "as in the collection's documents and queries."
        )
        rows.notes.append(Note(message, padded[0], len(padded)))
    return rows


def write_trec_run(run: Run, out: BinaryIO) -> None:
    """Best first within each query; ranks count from 1 unless the run has its own."""
    tag = format_column(run.tag or re.sub(r"\s+", "_", run.name) or "run", "tag")
    for i, query in enumerate(run.queries):
        rows = run.rows_of(i)
        scores, docs = run.scores[rows].tolist(), run.docs[rows].tolist()
        ranks = None if run.ranks is None else run.ranks[rows].tolist()
        order = sorted(range(len(docs)), key=lambda j: -scores[j])
        for place, j in enumerate(order, 1):
            rank = place if ranks is None else ranks[j]
            doc = format_column(docs[j], "document id")
            out.write(
                b"%b Q0 %b %d %b %b\n" % (format_column(query, "query id"), doc, rank, format_number(scores[j]), tag)
            )


def write_msmarco_run(run: Run, out: BinaryIO) -> None:
    """`query doc rank`, ranks from 1 in order of score; scores themselves are not in this format."""
    for i, query in enumerate(run.queries):
        rows = run.rows_of(i)
        scores, docs = run.scores[rows].tolist(), run.docs[rows].tolist()
        order = sorted(range(len(docs)), key=lambda j: (-scores[j], descending_key(docs[j])))
        for rank, j in enumerate(order, 1):
            out.write(b"%b\t%b\t%d\n" % (format_column(query, "query id"), format_column(docs[j], "document id"), rank))


def write_qrels(qrels: Qrels, out: BinaryIO, layout: str) -> None:
    """Any of the layouts of `LAYOUTS` that hold grades."""
    columns: dict[str, list[bytes]] = {
        "query": [format_column(q, "query id") for q in qrels.row_queries()],
        "doc": [format_column(d, "document id") for d in qrels.docs],
        "grade": [format_number(g) for g in qrels.grades.tolist()],
        "subtopic": [format_column(s, "subtopic") for s in qrels.subtopics],
    }
    columns |= {key: [format_column(v, key) for v in values] for key, values in qrels.extra.items()}
    wanted = _meanings(layout)
    missing = [name for name in wanted if name not in columns]
    if missing:
        raise InputError(f"these judgments have no {' and no '.join(missing)}: the {layout} format needs it.")
    for i in select_rows(qrels, layout):
        out.write(b" ".join(columns[name][i] for name in wanted) + b"\n")


def write_pairs(qrels: Qrels, out: BinaryIO) -> None:
    """A line `query winner loser` for every two documents of which a group prefers one."""
    queries = qrels.row_queries()
    for members in group_preferences(qrels):
        for winner in members:
            for loser in members:
                if qrels.grades[winner] > qrels.grades[loser]:
                    docs = (format_column(qrels.docs[i], "document id") for i in (winner, loser))
                    out.write(b"%b %b %b\n" % (format_column(queries[winner], "query id"), *docs))


def group_preferences(qrels: Qrels) -> list[list[int]]:
    """The rows whose grades compare: those of the same query, group and subgroup."""
    subgroups = qrels.extra["subgroup"].tolist() if "subgroup" in qrels.extra else ["0"] * len(qrels)
    groups: dict[tuple[str, str, str], list[int]] = {}
    for i, key in enumerate(zip(qrels.row_queries(), qrels.subtopics.tolist(), subgroups, strict=True)):
        groups.setdefault(key, []).append(i)
    return list(groups.values())


def write_cranfield_qrels(qrels: Qrels, out: BinaryIO) -> None:
    """Cranfield's own: the code is 5 − grade, so that only the whole grades 0 to 4 have one."""
    queries = qrels.row_queries()
    for i in select_rows(qrels, "cranfield"):
        grade_ = float(qrels.grades[i])
        if grade_ not in (0, 1, 2, 3, 4):
            message = (
                f"query {format_id(queries[i])}, document {format_id(qrels.docs[i])}: grade "
                f"{format_number(grade_).decode()} has no "
                "code in the cranfield format, which holds the whole grades 0 to 4 (as code 5 to 1)."
            )
            raise InputError(message)
        ids = format_column(queries[i], "query id"), format_column(qrels.docs[i], "document id")
        out.write(b"%b %b %d\n" % (*ids, 5 - grade_))


def write_cacm_qrels(qrels: Qrels, out: BinaryIO) -> None:
    """CACM's and CISI's own: the relevant pairs and nothing else."""
    queries = qrels.row_queries()
    for i in find_relevant_rows(qrels):
        out.write(b"%b %b 0 0\n" % (format_column(queries[i], "query id"), format_column(qrels.docs[i], "document id")))


def find_relevant_rows(qrels: Qrels) -> list[int]:
    """The rows that a list of relevant pairs holds: of each document the highest grade, if that is at least 1."""
    return [i for i in select_rows(qrels, "cacm") if qrels.grades[i] >= 1]


def select_rows(qrels: Qrels, layout: str) -> list[int]:
    """The rows that a layout can tell apart; of those it cannot, the one with the highest grade."""
    names = LAYOUTS[layout].split()
    keys: list[list[str]] = [qrels.row_queries(), qrels.docs.tolist()]
    if not {"subtopic", "iter", "group"}.isdisjoint(names):
        keys.append(qrels.subtopics.tolist())
    if "subgroup" in names and "subgroup" in qrels.extra:
        keys.append(qrels.extra["subgroup"].tolist())
    best: dict[tuple[str, ...], int] = {}
    for i, key in enumerate(zip(*keys, strict=True)):
        if key not in best or qrels.grades[i] > qrels.grades[best[key]]:
            best[key] = i
    return list(best.values())


def format_number(value: float) -> bytes:
    """A number as it is written: whole ones without a point, others so that they read back exactly.

    >>> format_number(2.0), format_number(0.1)
    (b'2', b'0.1')
    """
    whole_one = value.is_integer() and abs(value) < 1e15
    return (str(int(value)) if whole_one else repr(value)).encode()


def descending_key(doc: str) -> tuple[int, ...]:
    """A key that puts ids in descending order of bytes."""
    return (*(-byte for byte in encode_id(doc)), 1)


def _table(
    source: Input, layout: str, problem: OnProblem, long: list[int] | None = None
) -> Iterator[tuple[Sequence[int], list[Column]]]:
    """Blocks of (line numbers, columns) without blank lines and comments, all of the layout's width.

    Where `long` is given, a line may go on for a few words, and its number is put there.
    """
    width = len(layout.split())
    for first, block in source.blocks():
        columns = _regular(block, width)
        if columns is not None:
            yield range(first, first + len(columns[0])), columns
            continue
        lines = [line.split() for line in block.split(b"\n")]
        numbers, lines = _of_width(range(first, first + len(lines)), lines, layout, source, problem, long)
        if lines:
            yield numbers, list(zip(*lines, strict=True))


def _regular(block: bytes, width: int) -> list[Column] | None:
    """The columns of a block in which every line has the width, found in one go; None if some line has not."""
    if b"\0" in block or b"#" in block or not block.endswith(b"\n"):
        return None
    # a mark for every line end: if each row is followed by one, each line had the right number of columns
    tokens = block.replace(b"\n", b" \0 ").split()
    lines = block.count(b"\n")
    if len(tokens) != lines * (width + 1) or tokens[width :: width + 1].count(b"\0") != lines:
        return None
    return [tokens[i :: width + 1] for i in range(width)]


def _of_width(
    numbers: Sequence[int],
    lines: list[Fields],
    layout: str,
    source: Input,
    problem: OnProblem,
    long: list[int] | None,
) -> tuple[list[int], list[Fields]]:
    """Leave out blank lines and comments; lines of another width are a problem."""
    width = len(layout.split())
    kept_numbers, kept = [], []
    for number_, line in zip(numbers, lines, strict=True):
        if not line or line[0].startswith(b"#"):
            continue
        # a second row glued to the first would make at least 2 · width − 1 columns
        if long is not None and width < len(line) < 2 * width - 1:
            long.append(number_)
            line = line[:width]
        if len(line) != width:
            problem(_at(source, number_, f"expected {width} columns ({layout}), found {len(line)}."))
            continue
        kept_numbers.append(number_)
        kept.append(line)
    return kept_numbers, kept


def _lines(source: Input, layout: str, problem: OnProblem) -> Iterator[tuple[int, tuple[bytes, ...]]]:
    for numbers, columns in _table(source, LAYOUTS[layout], problem):
        yield from zip(numbers, zip(*columns, strict=True), strict=True)


def _add_one_by_one(
    rows: RunRows, numbers: Sequence[int], columns: list[Column], file: str, problem: OnProblem
) -> None:
    """The slow way for a block in which some score is wrong, to say which."""
    for number_, (query, _, doc, rank, score, _) in zip(numbers, zip(*columns, strict=True), strict=True):
        try:
            value = parse_decimal(score, "score")
        except InputError as error:
            problem(InputError(error.message, file, number_))
            continue
        rows.queries.append(decode_id(query))
        rows.docs.append(decode_id(doc))
        rows.scores.append(value)
        rows.lines.append(number_)
        _add_ranks(rows, [rank], [number_])


def _add_ranks(rows: RunRows, tokens: Sequence[bytes], numbers: Sequence[int]) -> None:
    """Ranks are used only on request, so that an unusable one is noted and no error."""
    if rows.ranks is None:
        return
    ranks = [parse_integer(token) for token in tokens]
    if None in ranks:
        at = ranks.index(None)
        rows.ranks = None
        rows.odd_rank = numbers[at], decode_id(tokens[at])
        message = f"the rank column is not used: {format_id(rows.odd_rank[1]):.80} is no whole number."
        rows.notes.append(Note(message, numbers[at]))
    else:
        rows.ranks.extend(rank for rank in ranks if rank is not None)


def _decoded_runs(tokens: Sequence[bytes]) -> Iterator[str]:
    """Decode ids that mostly repeat the one before."""
    last, decoded = b"", ""
    for token in tokens:
        if token != last:
            last, decoded = token, decode_id(token)
        yield decoded


def _graded_rows(
    numbers: Sequence[int], columns: dict[str, Column], words: Mapping[str, float], source: Input, problem: OnProblem
) -> tuple[list[int], dict[str, Column], list[float]]:
    """The slow way for a block in which some grade is a word, or wrong."""
    values = [
        _graded(token, words, source, number_, problem)
        for number_, token in zip(numbers, columns["grade"], strict=True)
    ]
    kept = [i for i, value in enumerate(values) if value is not None]
    chosen: dict[str, Column] = {name: [column[i] for i in kept] for name, column in columns.items()}
    return [numbers[i] for i in kept], chosen, [value for value in values if value is not None]


def _meanings(layout: str) -> list[str]:
    """The columns of a layout under the names they have in Qrels."""
    same = {"iter": "subtopic", "group": "subtopic", "level": "grade"}
    return [same.get(name, name) for name in LAYOUTS[layout].split()]


def _graded(token: bytes, words: Mapping[str, float], source: Input, number_: int, problem: OnProblem) -> float | None:
    try:
        return parse_grade_token(token, words)
    except InputError as error:
        problem(_at(source, number_, error.message))
        return None


def _is_probability(token: bytes) -> bool:
    try:
        return 0 <= parse_decimal(token, "probability") <= 1
    except InputError:
        return False


def _at(source: Input, number_: int, message: str) -> InputError:
    return InputError(message, source.name, number_)


def is_padded(id: str) -> bool:
    """Whether CACM's and CISI's reader would drop zeros from the id.

    >>> is_padded("0756"), is_padded("0")
    (True, False)
    """
    token = encode_id(id)
    return _unpadded(token) != decode_id(token)


def _unpadded(token: bytes) -> str:
    return decode_id(token.lstrip(b"0") or b"0") if token.isdigit() else decode_id(token)


def format_column(value: str, what: str) -> bytes:
    """An id as one column, or an error if white space would split it."""
    encoded = encode_id(value)
    if encoded.split() != [encoded]:
        raise InputError(f"{what} {format_id(value)} holds white space and cannot be a column of this format.")
    if what == "query id" and encoded.startswith(b"#"):
        raise InputError(f"{what} {format_id(value)} would make its line a comment in this format.")
    if what == "query id" and encoded.startswith(UTF8_BOM):
        raise InputError(
            f"{what} {format_id(value)} begins with a byte order mark, which would be lost in this format."
        )
    return encoded
