"""A judging session in a terminal: what each key does, on a screen or in plain lines."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from cranfield.annotation.assessor_session import AssessorSession, Item, SaveResult
from cranfield.annotation.database import JudgingError
from cranfield.annotation.documents import TextLookup
from cranfield.annotation.grades import Grade, format_grade
from cranfield.annotation.terminal.session import TerminalSession
from cranfield.base import pluralize


class JudgingSession(TerminalSession):
    """One assessor judging documents."""

    def __init__(
        self, session: AssessorSession, texts: TextLookup, method: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(session.settings, texts, method, clock)
        self.session = session
        self._query: str | None = None
        self._topics: list[str] = []
        self._trail: list[int] = []  # the places of this topic in the order in which they were seen
        self._at = 0  # the position of this document in the trail
        self._show_next(session.next())
        if self.item is None:
            self._report_nothing_left()

    def grade(self, grade: Grade) -> None:
        if self.item is not None:
            self._continue(self._save("judge", grade.value), f"{format_grade(grade.value)} {grade.label}")

    def skip(self) -> None:
        if self.item is None:
            return
        before = self.item
        self._continue(self._save("skip"), "Skipped")
        if self.item is not None and (self.item.query, self.item.place) == (before.query, before.place):
            self.message = "This is the only document left for this topic."

    def cannot(self, reason: str = "") -> None:
        if self.item is not None:
            self._continue(self._save("cannot", note=reason or None), "Cannot be judged")

    def note(self, text: str) -> None:
        if self.item is not None:
            self.item = self._save("note", note=text).next
            self.message = "Note saved." if text else "Note removed."

    def undo(self) -> None:
        item = self.session.undo(self._submission())
        if item is None:
            self.message = "There is nothing to undo."
            return
        self._forget_last((item.query, item.place))
        self._query = None  # the trail is rebuilt, as the order in which documents were seen has changed
        self._show_next(item)
        self.message = "Undone."

    def back(self) -> None:
        at = self._at if self.item is not None else len(self._trail)
        if not at or self._query is None:
            self.message = "This is the first document of the topic."
            return
        self._show_seen(at - 1)

    def forward(self) -> None:
        """Go to the next document; after the last one seen, to the next one to judge."""
        item = self.item
        if item is None:
            return
        if self._at + 1 < len(self._trail):
            self._show_seen(self._at + 1)
            return
        following = self.session.next(item.query) if item.kind in ("judge", "cannot") else None
        self._show_or_report(following, "This is the last document of the topic.")

    def next_topic(self) -> None:
        topic = self.session.next_topic(self._query) if self._query is not None else None
        item = self.session.next(topic) if topic is not None else None
        self._show_or_report(item, "No other topic has documents left.")

    def close(self) -> None:
        with suppress(JudgingError):  # holds expire anyway
            self.session.release_holds()

    def state(self) -> str:
        item = self.item
        if item is None or not item.kind:
            return ""
        if item.kind == "judge" and item.grade is not None:
            return f"You gave it {format_grade(item.grade)} ({self.scale.grade(item.grade).label})."
        return "You skipped it." if item.kind == "skip" else "You could not judge it."

    def topic_number(self) -> str:
        topics = self._topics
        if self.item is None or self.item.query not in topics or len(topics) < 2:
            return ""
        return f"topic {topics.index(self.item.query) + 1} of {len(topics)}"

    def _show_or_report(self, item: Item | None, otherwise: str) -> None:
        self.message = "" if item is not None else otherwise
        if item is not None:
            self._show_next(item)

    def _show_next(self, item: Item | None) -> None:
        """Show the next document."""
        self._show_item(item)
        if item is None:
            return
        if item.query != self._query:
            self._topics = [topic.query for topic in self.session.topics()]
            self._query = item.query
            self._trail = [place for place in self.session.seen_places(item.query) if place != item.place]
        if self._trail[-1:] != [item.place]:
            self._trail.append(item.place)
        self._at = len(self._trail) - 1

    def _show_seen(self, at: int) -> None:
        """Show a document of the trail."""
        assert self._query is not None
        self._show_item(self.session.item_at(self._query, self._trail[at]))
        self._at, self.message = at, ""

    def _save(self, kind: str, grade: float | None = None, note: str | None = None) -> SaveResult:
        assert self.item is not None
        document = self.item.query, self.item.place
        saved = self.session.save(kind, *document, grade, note, self._submission())
        self._done.append((document, kind))
        return saved

    def _continue(self, saved: SaveResult, what: str) -> None:
        self.message = f"Saved: {what}."
        query = saved.event.query
        self._show_next(saved.next)
        if self.item is None and query is not None:
            self._show_next(self.session.next())
            if self.item is not None:
                end = "is done" if not saved.left else "has only documents left that others are viewing"
                self.message += f" Topic {query} {end}; this is topic {self.item.query}."
            else:
                self._report_nothing_left()

    def _report_nothing_left(self) -> None:
        topics = self.session.topics()
        left = sum(topic.left for topic in topics)
        if not topics:
            self.message = f"Nothing is assigned to {self.session.assessor}."
        elif left:
            self.message = f"{pluralize(left, 'document')} left, which others are viewing right now."
        else:
            self.message = f"{self.message} Everything is judged.".strip()
