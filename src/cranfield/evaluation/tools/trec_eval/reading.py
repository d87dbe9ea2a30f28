"""trec_eval's files, read as leniently and as strictly as it does.

Columns are separated by ASCII white space, numbers are read by atol and atof. A results file has at least six columns
and may have blank lines; judgments have exactly as many as their format says. Version 10 knows comments (`#`), with
defects.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from cranfield.base import Record, encode_id
from cranfield.data import Qrels, Run
from cranfield.evaluation.tools.trec_eval.numbers import atof, atol
from cranfield.evaluation.tools.trec_eval.outcome import Stop, crash

Note = Callable[[str], None]
COLUMNS = {"qrels": 4, "qrels_jg": 4, "qrels_prefs": 4, "prefs": 5}
SKIPPED = "a comment that trec_eval calls malformed or crashes at was skipped"
# the name of what reads, and of what is read, in messages
_NAMES = {
    "qrels": ("get_qrels", "get_qrels", "qrels"),
    "qrels_jg": ("get_qrels_jg", "get_qrels_jg", "qrels"),
    "qrels_prefs": ("get_prefs", "get_qrels_prefs", "prefs"),
    "prefs": ("get_prefs", "get_prefs", "prefs"),
}


class Reader(Record):
    """How to read: as which version, repaired or not, and whom to tell of a repair."""

    version: int
    strict: bool
    note: Note

    def results(self, path: str) -> tuple[Run, str]:
        """The run by topic, documents that occur twice included, and the tag of the last line."""
        data = self._data(path, "trec_eval.get_results: Cannot read results file", stdin=self.version >= 10)
        rows: list[list[bytes]] = []
        for line in _lines(data):
            fields = line.split()
            if not fields or (self.version >= 10 and fields[0].startswith(b"#")):
                continue
            if len(fields) >= 6:
                rows.append(fields)
            elif not self._is_skipped(line):
                raise _malformed("get_results", len(rows) + 1, path)
        if not rows:
            raise crash("no line of results")
        scores = [atof(fields[4].decode("latin-1")) for fields in rows]
        queries, starts, order = _grouped([_text(fields[0]) for fields in rows])
        docs = np.array([_text(rows[i][2]) for i in order], dtype=object)
        return Run(path, queries, starts, docs, np.array([scores[i] for i in order])), _text(rows[-1][5])

    def judgments(self, path: str, kind: str) -> Qrels:
        """The judgments by topic, documents that occur twice included."""
        reads, parses, what = _NAMES[kind]
        data = self._data(path, f"trec_eval.{reads}: Cannot read {what} file")
        rows = self._judgment_rows(path, data, COLUMNS[kind], parses)
        if not rows:
            raise crash("no line of judgments")
        grades = [self._grade(fields[-1].decode("latin-1"), kind) for fields in rows]
        queries, starts, order = _grouped([_text(fields[0]) for fields in rows])
        columns = {
            name: np.array([_text(rows[i][at]) for i in order], dtype=object)
            for name, at in (("doc", -2), ("group", 1), ("subgroup", 2))
        }
        qrels = Qrels(
            queries=queries,
            starts=starts,
            docs=columns["doc"],
            grades=np.array([grades[i] for i in order], dtype=np.float64),
            subtopics=columns["group"],
            lines=np.array(order) + 1,
            extra={"subgroup": columns["subgroup"]} if kind == "prefs" else {},
            name=path,
        )
        if kind == "qrels_jg":
            _refuse_repeats(qrels, path)
        return qrels

    def _judgment_rows(self, path: str, data: bytes, columns: int, parses: str) -> list[list[bytes]]:
        rows: list[list[bytes]] = []
        lines = iter(_lines(data))
        for line in lines:
            if self.version >= 10 and line.startswith(b"#"):
                # version 10 takes the line after a comment for data, whatever it is, and reads on after the last
                following = next(lines, None)
                if following is None:
                    if self.strict:
                        raise crash("a comment is the last line")
                    self.note(SKIPPED)
                    break
                line = following
            fields = line.split()
            if len(fields) == columns:
                rows.append(fields)
            elif not self._is_skipped(line):
                raise _malformed(parses, len(rows) + 1, path)
        return rows

    def _is_skipped(self, line: bytes) -> bool:
        """Whether a line that trec_eval calls malformed is a comment, and comments are repaired."""
        if self.strict or not line.lstrip().startswith(b"#"):
            return False
        self.note(SKIPPED)
        return True

    def _grade(self, text: str, kind: str) -> float:
        if kind in ("qrels", "qrels_jg"):
            return float(atol(text))
        # a preference's level is a float in version 9, a double in version 10
        return atof(text) if self.version >= 10 else float(np.float32(atof(text)))

    def _data(self, path: str, complaint: str, stdin: bool = False) -> bytes:
        try:
            if stdin and path.startswith("-"):
                data = sys.stdin.buffer.read()
            else:
                with open(path, "rb") as file:
                    data = file.read()
        except OSError:
            data = b""
        if not data:
            raise Stop(2, f"{complaint} '{path}'\ntrec_eval: Quit in file '{path}'\n")
        return data


def read_zscores(path: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Mean and standard deviation by query and measure."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        data = b""
    if not data:
        raise Stop(255, f"trec_eval.get_prefs: Cannot read zscores file '{path}'\n")
    found: dict[tuple[str, str], tuple[float, float]] = {}
    for number, line in enumerate(_lines(data), 1):
        fields = [_text(part) for part in line.split()]
        if len(fields) != 4:
            raise Stop(255, f"trec_eval.get_zscores: Malformed line {number}\n")
        found.setdefault((fields[0], fields[1]), (atof(fields[2]), atof(fields[3])))
    return found


def _lines(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def _text(field: bytes) -> str:
    return field.decode("utf-8", "surrogateescape")


def _grouped(queries: list[str]) -> tuple[tuple[str, ...], np.ndarray[tuple[int], np.dtype[np.int64]], list[int]]:
    """The queries in the order of their bytes, where their rows start, and the rows in that order."""
    order = sorted(range(len(queries)), key=lambda i: encode_id(queries[i]))
    ids = list(dict.fromkeys(queries[i] for i in order))
    number = {query: i for i, query in enumerate(ids)}
    sizes = np.bincount([number[query] for query in queries], minlength=len(ids))
    return tuple(ids), np.concatenate(([0], np.cumsum(sizes))).astype(np.int64), order


def _malformed(reads: str, line: int, path: str) -> Stop:
    return Stop(2, f"trec_eval.{reads}: Malformed line {line}\ntrec_eval: Quit in file '{path}'\n")


def _refuse_repeats(qrels: Qrels, path: str) -> None:
    """Only judgments by group are checked when they are read."""
    rows = list(zip(qrels.row_queries(), qrels.subtopics.tolist(), qrels.docs.tolist(), strict=True))
    if len(set(rows)) < len(rows):
        seen: set[tuple[str, str, str]] = set()
        twice = [row for row in rows if row in seen or seen.add(row)]  # type: ignore[func-returns-value]
        doc = min(twice, key=lambda row: tuple(encode_id(part) for part in row))[2]
        raise Stop(2, f"trec_eval.get_qrels: duplicate docs {doc}\ntrec_eval: Quit in file '{path}'\n")
