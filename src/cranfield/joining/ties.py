"""The rules that order documents with equal scores: one table, read by the join, the options and the documentation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from cranfield.base import Record, encode_id
from cranfield.errors import EvaluationError

if TYPE_CHECKING:
    from cranfield.data import Ints, Run

# rows of a run that have the same query and score, in the order of the input, and the grade of each judged document
Order = Callable[["Run", list[int], Mapping[str, float]], list[int]]


class TieRule(Record):
    """How documents with equal scores are ordered."""

    name: str
    description: str
    order: Order
    core_code: int | None  # the rule's number in the compiled core; None if the core cannot apply it
    by_grade: bool = False  # whether the order depends on the judgments


def _doc_descending(run: Run, rows: list[int], grade_of: Mapping[str, float]) -> list[int]:
    return sorted(rows, key=lambda row: encode_id(str(run.docs[row])), reverse=True)


def _doc_ascending(run: Run, rows: list[int], grade_of: Mapping[str, float]) -> list[int]:
    return sorted(rows, key=lambda row: encode_id(str(run.docs[row])))


def _input_order(run: Run, rows: list[int], grade_of: Mapping[str, float]) -> list[int]:
    return rows


def _by_rank_column(run: Run, rows: list[int], grade_of: Mapping[str, float]) -> list[int]:
    ranks = rank_column(run)
    return sorted(_doc_descending(run, rows, grade_of), key=lambda row: int(ranks[row]))


def _best_first(run: Run, rows: list[int], grade_of: Mapping[str, float]) -> list[int]:
    unjudged = float("-inf")
    return sorted(_doc_descending(run, rows, grade_of), key=lambda row: -grade_of.get(str(run.docs[row]), unjudged))


def _worst_first(run: Run, rows: list[int], grade_of: Mapping[str, float]) -> list[int]:
    unjudged = float("-inf")
    return sorted(_doc_descending(run, rows, grade_of), key=lambda row: grade_of.get(str(run.docs[row]), unjudged))


TIE_RULES: Mapping[str, TieRule] = {
    rule.name: rule
    for rule in (
        TieRule("trec", "by document id, descending, as in `trec_eval` (default)", _doc_descending, core_code=0),
        TieRule("doc-ascending", "by document id, ascending", _doc_ascending, core_code=1),
        TieRule("input-order", "as in the file", _input_order, core_code=2),
        TieRule("rank-column", "by the rank column; then by id, descending", _by_rank_column, core_code=None),
        # ranks as under trec; the evaluation then averages over all orders
        TieRule("expected", "in no way: the value is the mean over all orders", _doc_descending, core_code=0),
        TieRule("best", "higher grades first: the best value that the scores allow", _best_first, 3, by_grade=True),
        TieRule("worst", "higher grades last: the worst value that the scores allow", _worst_first, 4, by_grade=True),
    )
}


def rank_column(run: Run) -> Ints:
    """The rank column of a run, or an error that says why it cannot be used."""
    if run.ranks is None:
        why = next((note for note in run.notes if "rank column" in note), "it has none.")
        raise EvaluationError(f"run {run.name!r} cannot be ranked by its rank column: {why}")
    return run.ranks
