"""One person adjudicating, by keys: disagreements one after the other, and a grade that wins."""

from __future__ import annotations

import time
from collections.abc import Callable

from cranfield.annotation.adjudication import Dispute, adjudicate, disputes, undo_adjudication
from cranfield.annotation.assessor_session import Item
from cranfield.annotation.documents import Texts
from cranfield.annotation.grades import Grade, written
from cranfield.annotation.keybindings import ACTIONS, Action
from cranfield.annotation.log import JudgmentLog
from cranfield.annotation.terminal.seat import Seat
from cranfield.base import pluralize, replace

_OTHERWISE = {
    "back": "to the disagreement before; a grade given there replaces the old one",
    "forward": "to the disagreement after",
    "undo": "take back what you decided last, and show it",
    "skip": "leave it undecided, and go on",
    "note": "say why; it goes with your decision",
    "topic": "go on with the next topic that has disagreements",
}


class Settling(Seat):
    """A pair whose grades are too far apart, and what can be done about it.

    Who gave which grade is not told unless it `names` them: a grade should win for what the document says.
    """

    actions = tuple(
        Action(one.name, one.keys, one.label, _OTHERWISE.get(one.name, one.about))
        for one in ACTIONS
        if one.name != "cannot"
    )

    def __init__(
        self,
        log: JudgmentLog,
        by: str,
        texts: Texts,
        method: str,
        *,
        names: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(log.settings, texts, method, clock)
        self.log = log
        self.by = log.add_assessor(by)
        self._names = names
        self._queue = [(one.query, one.doc) for one in disputes(log)]
        self._at = -1
        self._dispute: Dispute | None = None
        self._go_on()
        if self.item is None:
            self.message = "No disagreement waits for a decision."

    def grade(self, grade: Grade) -> None:
        item = self.item
        if item is None:
            return
        adjudicate(self.log, self.by, item.query, item.doc, grade.value, item.note or None, self._trace())
        self._acts.append(((item.query, item.doc), "judge"))
        self.message = f"Decided: {written(grade.value)} {grade.label}."
        self._go_on()

    def skip(self) -> None:
        self.message = "Left undecided."
        self._go_on()

    def cannot(self, reason: str = "") -> None:
        self.message = "A decision is a grade; s leaves it undecided."

    def note(self, text: str) -> None:
        if self.item is not None:
            self.item = replace(self.item, note=text)
            self.message = "It goes with your decision." if text else "Note taken away."

    def undo(self) -> None:
        undone = undo_adjudication(self.log, self.by, self._trace())
        if undone is None or undone.query is None or undone.doc is None:
            self.message = "There is nothing to undo."
            return
        pair = (undone.query, undone.doc)
        self._undid(pair)
        if pair not in self._queue:
            self._queue.append(pair)
        self._look_at(self._queue.index(pair))
        self.message = "Undone."

    def back(self) -> None:
        self._step(range(self._at - 1, -1, -1), "This is the first disagreement.")

    def forward(self) -> None:
        self._step(range(self._at + 1, len(self._queue)), "This is the last disagreement.")

    def next_topic(self) -> None:
        here = self.item.query if self.item is not None else None
        others = [n for n in range(self._at + 1, len(self._queue)) if self._queue[n][0] != here]
        self._step(others, "No topic after this one has disagreements.")

    def state(self) -> str:
        item = self.item
        if item is None or item.grade is None:
            return ""
        return f"Decided: {written(item.grade)} ({self.scale.grade(item.grade).label})."

    def opinions(self) -> list[str]:
        found = self._dispute
        if found is None:
            return []
        lines = []
        for one in found.opinions:
            who = f", {one.assessor}" if one.assessor is not None else ""
            note = f": {one.note}" if one.note else ""
            lines.append(f"Judged {written(one.grade)} {self.scale.grade(one.grade).label}{who}{note}")
        return lines

    def progress(self) -> str:
        item = self.item
        return "" if item is None else f"disagreement {item.place:,} of {item.places:,}, {item.left:,} undecided"

    def _go_on(self) -> None:
        """Show the next pair that nobody has decided, or say that there is none."""
        waiting = dict.fromkeys((one.query, one.doc) for one in disputes(self.log))
        self._queue += [pair for pair in waiting if pair not in self._queue]  # judged differently since
        for at in range(self._at + 1, len(self._queue)):
            if self._queue[at] in waiting and self._look_at(at):
                return
        self._at, self._dispute = len(self._queue), None
        self._begin(None)
        rest = f"{pluralize(len(waiting), 'pair')} left undecided." if waiting else "All are decided."
        self.message = f"{self.message} {rest}".strip()

    def _step(self, places: range | list[int], otherwise: str) -> None:
        message, self.message = self.message, ""
        if not any(self._look_at(at) for at in places):
            self.message = otherwise if self.item is not None else message

    def _look_at(self, at: int) -> bool:
        """Show a pair of the queue, unless its judges have come to agree."""
        query, doc = self._queue[at]
        known = disputes(self.log, blind=not self._names, settled=True, query=query)
        found = next((one for one in known if one.doc == doc), None)
        if found is None:
            return False
        left = len(disputes(self.log))
        kind = "" if found.adjudicated is None else "judge"
        self._at, self._dispute = at, found
        self._begin(Item(query, doc, at + 1, len(self._queue), left, kind, found.adjudicated))
        return True
