"""The base of sessions in a terminal: the document shown, and the actions on it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import version

from cranfield.annotation.assessor_session import Item
from cranfield.annotation.documents import TextLookup
from cranfield.annotation.events import Submission
from cranfield.annotation.grades import Grade
from cranfield.annotation.keybindings import JUDGING_ACTIONS, Action
from cranfield.annotation.settings import Settings, choose_guidelines
from cranfield.annotation.timestamps import utc_now

MAX_IDLE = 120.0  # seconds without a key that count as viewing the document; the rest of a longer time does not


class TerminalSession(ABC):
    """The document shown, and the actions on it. `message` reports the result of the last action."""

    actions: Sequence[Action] = JUDGING_ACTIONS

    def __init__(self, settings: Settings, texts: TextLookup, method: str, clock: Callable[[], float]) -> None:
        self.texts = texts
        self.scale = settings.scale
        self.guidelines = choose_guidelines(settings.guidelines)
        self.item: Item | None = None
        self.message = ""
        self.is_over = False
        self._done: list[tuple[Hashable, str]] = []  # document and kind of each action in this session, unless undone
        self._method = method
        self._clock = clock
        self._version = f"terminal {version('cranfield')}"
        self._shown_at, self._last_key, self._active = utc_now(), clock(), 0.0

    def record_key(self) -> None:
        """Note that a key was pressed: somebody is there."""
        time = self._clock()
        self._active += min(time - self._last_key, MAX_IDLE)
        self._last_key = time

    @property
    def judged(self) -> int:
        """How many documents have been graded in this session."""
        last = {document: kind for document, kind in self._done if kind != "note"}
        return sum(kind == "judge" for kind in last.values())

    @abstractmethod
    def grade(self, grade: Grade) -> None:
        """Give a grade and continue."""

    @abstractmethod
    def skip(self) -> None:
        """Leave the document for later and continue."""

    @abstractmethod
    def cannot(self, reason: str = "") -> None:
        """Mark the document as impossible to judge and continue."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Save a note; an empty one removes the old one."""

    @abstractmethod
    def undo(self) -> None:
        """Undo the last action."""

    @abstractmethod
    def back(self) -> None:
        """Go to the previous document, in the order in which they were seen."""

    @abstractmethod
    def forward(self) -> None:
        """Go to the next document."""

    @abstractmethod
    def next_topic(self) -> None:
        """Continue with another topic."""

    @abstractmethod
    def state(self) -> str:
        """The state of the document in words; empty for a new one."""

    def act(self, name: str, text: str = "") -> bool:
        """Perform an action by name; False if it is not one of a session but of what shows it, such as help."""
        actions: dict[str, Callable[[], None]] = {
            "back": self.back,
            "forward": self.forward,
            "undo": self.undo,
            "skip": self.skip,
            "cannot": lambda: self.cannot(text),
            "topic": self.next_topic,
        }
        if name in actions:
            actions[name]()
        return name in actions

    def close(self) -> None:
        """End the session; others need not wait for its document."""
        return

    def opinions(self) -> list[str]:
        """The judgments of others, for those who may see them."""
        return []

    def progress(self) -> str:
        """The progress in words."""
        item = self.item
        return "" if item is None else f"document {item.place:,} of {item.places:,}, {item.left:,} left"

    def topic_number(self) -> str:
        """The number of the topic, in words."""
        return ""

    def _forget_last(self, document: Hashable) -> None:
        """The last action on a document was undone; it may be from an earlier session."""
        own = [number for number, (other, _) in enumerate(self._done) if other == document]
        if own:
            del self._done[own[-1]]

    def _show_item(self, item: Item | None) -> None:
        self.item = item
        self._shown_at = utc_now()
        self._last_key, self._active = self._clock(), 0.0

    def _submission(self) -> Submission:
        return Submission(
            shown_at=self._shown_at,
            active_ms=round(self._active * 1000),
            method=self._method,
            version=self._version,
        )
