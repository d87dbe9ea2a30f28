"""One person judging, by keys: what each key does, whatever shows it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from cranfield.annotation.assessor_session import Desk, Item, Saved
from cranfield.annotation.database import JudgingError
from cranfield.annotation.documents import Texts
from cranfield.annotation.grades import Grade, written
from cranfield.annotation.terminal.seat import Seat
from cranfield.base import pluralize


class Sitting(Seat):
    """The document on the desk, and what can be done with it. `message` says what came of the last act."""

    def __init__(self, desk: Desk, texts: Texts, method: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(desk.settings, texts, method, clock)
        self.desk = desk
        self._query: str | None = None
        self._topics: list[str] = []
        self._trail: list[int] = []  # the places of this topic in the order in which they were seen
        self._at = 0  # where in the trail this document is
        self._show(desk.next())
        if self.item is None:
            self._nothing_left()

    def grade(self, grade: Grade) -> None:
        """Give a grade, and go on."""
        if self.item is not None:
            self._go_on(self._save("judge", grade.value), f"{written(grade.value)} {grade.label}")

    def skip(self) -> None:
        if self.item is None:
            return
        before = self.item
        self._go_on(self._save("skip"), "Skipped")
        if self.item is not None and (self.item.query, self.item.place) == (before.query, before.place):
            self.message = "It is the only document left of this topic."

    def cannot(self, reason: str = "") -> None:
        if self.item is not None:
            self._go_on(self._save("cannot", note=reason or None), "Cannot be judged")

    def note(self, text: str) -> None:
        """Keep a remark; an empty one takes the old one away."""
        if self.item is not None:
            saved = self._save("note", note=text)
            self.item = saved.next
            self.message = "Note saved." if text else "Note taken away."

    def undo(self) -> None:
        item = self.desk.undo(self._trace())
        if item is None:
            self.message = "There is nothing to undo."
            return
        self._undid((item.query, item.place))
        self._query = None  # what was looked at last is no longer behind this document
        self._show(item)
        self.message = "Undone."

    def back(self) -> None:
        """Go to the document before, in the order in which they were seen."""
        at = self._at if self.item is not None else len(self._trail)
        if not at or self._query is None:
            self.message = "This is the first document of the topic."
            return
        self._look_at(at - 1)

    def forward(self) -> None:
        """Go to the document after; behind the last one, to the next to judge."""
        item = self.item
        if item is None:
            return
        if self._at + 1 < len(self._trail):
            self._look_at(self._at + 1)
            return
        after = self.desk.next(item.query) if item.kind in ("judge", "cannot") else None
        if after is None:
            self.message = "This is the last document of the topic."
            return
        self._show(after)
        self.message = ""

    def next_topic(self) -> None:
        here = self._query
        topic = self.desk.after(here) if here is not None else None
        item = self.desk.next(topic) if topic is not None else None
        if item is None:
            self.message = "No other topic has documents left."
            return
        self._show(item)
        self.message = ""

    def leave(self) -> None:
        with suppress(JudgingError):  # it ends by itself after a while
            self.desk.leave()

    def state(self) -> str:
        """Where the judge stands with the document, in words; empty for one that is new."""
        item = self.item
        if item is None or not item.kind:
            return ""
        if item.kind == "judge" and item.grade is not None:
            return f"You gave it {written(item.grade)} ({self.scale.grade(item.grade).label})."
        return "You skipped it." if item.kind == "skip" else "You could not judge it."

    def topic_number(self) -> str:
        """Which topic of how many this is."""
        every = self._topics
        if self.item is None or self.item.query not in every or len(every) < 2:
            return ""
        return f"topic {every.index(self.item.query) + 1} of {len(every)}"

    def _show(self, item: Item | None) -> None:
        """Show a document that comes next."""
        self._begin(item)
        if item is None:
            return
        if item.query != self._query:
            self._topics = [topic.query for topic in self.desk.topics()]
            self._query = item.query
            self._trail = [place for place in self.desk.seen(item.query) if place != item.place]
        if self._trail[-1:] != [item.place]:
            self._trail.append(item.place)
        self._at = len(self._trail) - 1

    def _look_at(self, at: int) -> None:
        """Show a document that was seen before."""
        assert self._query is not None
        item = self.desk.at(self._query, self._trail[at])
        self._begin(item)
        self._at, self.message = at, ""

    def _save(self, kind: str, grade: float | None = None, note: str | None = None) -> Saved:
        assert self.item is not None
        where = self.item.query, self.item.place
        saved = self.desk.save(kind, *where, grade, note, self._trace())
        self._acts.append((where, kind))
        return saved

    def _go_on(self, saved: Saved, what: str) -> None:
        self.message = f"Saved: {what}."
        query = saved.event.query
        self._show(saved.next)
        if self.item is None and query is not None:
            self._show(self.desk.next())
            if self.item is not None:
                end = "is done" if not saved.left else "has nothing left but what others are looking at"
                self.message += f" Topic {query} {end}; this is topic {self.item.query}."
            else:
                self._nothing_left()

    def _nothing_left(self) -> None:
        topics = self.desk.topics()
        left = sum(topic.left for topic in topics)
        if not topics:
            self.message = f"Nothing is assigned to {self.desk.assessor}."
        elif left:
            self.message = f"{pluralize(left, 'document')} left, which others are looking at right now."
        else:
            self.message = f"{self.message} Everything is judged.".strip()
