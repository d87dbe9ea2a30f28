"""An adjudication session in a terminal: disagreements one by one, and a grade that overrides the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from cranfield.annotation.adjudication import Dispute, adjudicate, list_disputes, undo_adjudication
from cranfield.annotation.assessor_session import Item
from cranfield.annotation.documents import TextLookup
from cranfield.annotation.grades import Grade, format_grade
from cranfield.annotation.keybindings import JUDGING_ACTIONS
from cranfield.annotation.log import JudgmentLog
from cranfield.annotation.terminal.session import TerminalSession
from cranfield.base import pluralize, replace

_DESCRIPTIONS = {
    "back": "go to the previous disagreement; a new grade replaces the old one",
    "forward": "go to the next disagreement",
    "undo": "revert your last decision, and show it",
    "skip": "leave it undecided and continue",
    "note": "give a reason; it is saved with your decision",
    "topic": "continue with the next topic that has disagreements",
}


class AdjudicationSession(TerminalSession):
    """One person deciding disagreements.

    The assessors are not shown unless `names` is set: a grade should be chosen for what the document says.
    """

    actions = tuple(
        replace(one, about=_DESCRIPTIONS.get(one.name, one.about)) for one in JUDGING_ACTIONS if one.name != "cannot"
    )

    def __init__(
        self,
        log: JudgmentLog,
        by: str,
        texts: TextLookup,
        method: str,
        *,
        names: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(log.settings, texts, method, clock)
        self.log = log
        self.by = log.add_assessor(by)
        self._names = names
        self._queue = [(one.query, one.doc) for one in list_disputes(log)]
        self._at = -1
        self._dispute: Dispute | None = None
        self._continue()
        if self.item is None:
            self.message = "There are no disagreements to decide."

    def grade(self, grade: Grade) -> None:
        item = self.item
        if item is None:
            return
        adjudicate(self.log, self.by, item.query, item.doc, grade.value, item.note or None, self._submission())
        self._done.append(((item.query, item.doc), "judge"))
        self.message = f"Decided: {format_grade(grade.value)} {grade.label}."
        self._continue()

    def skip(self) -> None:
        self.message = "Left undecided."
        self._continue()

    def cannot(self, reason: str = "") -> None:
        self.message = "A decision must be a grade; s leaves it undecided."

    def note(self, text: str) -> None:
        if self.item is not None:
            self.item = replace(self.item, note=text)
            self.message = "The note will be saved with your decision." if text else "Note removed."

    def undo(self) -> None:
        undone = undo_adjudication(self.log, self.by, self._submission())
        if undone is None or undone.query is None or undone.doc is None:
            self.message = "There is nothing to undo."
            return
        pair = (undone.query, undone.doc)
        self._forget_last(pair)
        if pair not in self._queue:
            self._queue.append(pair)
        self._show_dispute(self._queue.index(pair))
        self.message = "Undone."

    def back(self) -> None:
        self._move(range(self._at - 1, -1, -1), "This is the first disagreement.")

    def forward(self) -> None:
        self._move(range(self._at + 1, len(self._queue)), "This is the last disagreement.")

    def next_topic(self) -> None:
        here = self.item.query if self.item is not None else None
        others = [n for n in range(self._at + 1, len(self._queue)) if self._queue[n][0] != here]
        self._move(others, "No later topic has disagreements.")

    def state(self) -> str:
        item = self.item
        if item is None or item.grade is None:
            return ""
        return f"Decided: {format_grade(item.grade)} ({self.scale.grade(item.grade).label})."

    def opinions(self) -> list[str]:
        if self._dispute is None:
            return []
        lines = []
        for one in self._dispute.opinions:
            who = f", {one.assessor}" if one.assessor is not None else ""
            note = f": {one.note}" if one.note else ""
            lines.append(f"Judged {format_grade(one.grade)} {self.scale.grade(one.grade).label}{who}{note}")
        return lines

    def progress(self) -> str:
        item = self.item
        return "" if item is None else f"disagreement {item.place:,} of {item.places:,}, {item.left:,} undecided"

    def _continue(self) -> None:
        """Show the next undecided pair, or report that there is none."""
        undecided = dict.fromkeys((one.query, one.doc) for one in list_disputes(self.log))
        self._queue += [pair for pair in undecided if pair not in self._queue]  # new disagreements
        for at in range(self._at + 1, len(self._queue)):
            if self._queue[at] in undecided and self._show_dispute(at):
                return
        self._at, self._dispute = len(self._queue), None
        self._show_item(None)
        rest = f"{pluralize(len(undecided), 'pair')} left undecided." if undecided else "All are decided."
        self.message = f"{self.message} {rest}".strip()

    def _move(self, positions: Iterable[int], otherwise: str) -> None:
        message, self.message = self.message, ""
        if not any(self._show_dispute(at) for at in positions):
            self.message = otherwise if self.item is not None else message

    def _show_dispute(self, at: int) -> bool:
        """Show a pair of the queue; False if its assessors agree by now."""
        query, doc = self._queue[at]
        disputes = list_disputes(self.log, blind=not self._names, settled=True, query=query)
        dispute = next((one for one in disputes if one.doc == doc), None)
        if dispute is None:
            return False
        left = len(list_disputes(self.log))
        kind = "" if dispute.adjudicated is None else "judge"
        self._at, self._dispute = at, dispute
        self._show_item(Item(query, doc, at + 1, len(self._queue), left, kind, dispute.adjudicated))
        return True
