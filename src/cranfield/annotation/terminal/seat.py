"""Where somebody sits with one document at a time: what a terminal shows, and which acts there are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from importlib.metadata import version

from cranfield.annotation.assessor_session import Item
from cranfield.annotation.documents import Texts
from cranfield.annotation.events import Trace
from cranfield.annotation.grades import Grade
from cranfield.annotation.keybindings import ACTIONS, Action
from cranfield.annotation.settings import Settings, shown_guidelines
from cranfield.annotation.timestamps import now

AWAY = 120.0  # seconds without a key, of which no more count as looking at the document


class Seat(ABC):
    """The document in front of somebody, and what can be done with it. `message` says what came of the last act."""

    actions: Sequence[Action] = ACTIONS

    def __init__(self, settings: Settings, texts: Texts, method: str, clock: Callable[[], float]) -> None:
        self.texts = texts
        self.scale = settings.scale
        self.guidelines = shown_guidelines(settings.guidelines)
        self.item: Item | None = None
        self.message = ""
        self.is_over = False
        self._acts: list[tuple[Hashable, str]] = []  # of this sitting, less what was undone: where, and what
        self._method = method
        self._clock = clock
        self._version = f"terminal {version('cranfield')}"
        self._shown_at, self._touched, self._active = now(), clock(), 0.0

    def touch(self) -> None:
        """Somebody is there: a key was pressed."""
        moment = self._clock()
        self._active += min(moment - self._touched, AWAY)
        self._touched = moment

    @property
    def judged(self) -> int:
        """How many documents have a grade of this sitting by now."""
        last = {where: kind for where, kind in self._acts if kind != "note"}
        return sum(kind == "judge" for kind in last.values())

    @abstractmethod
    def grade(self, grade: Grade) -> None:
        """Give a grade, and go on."""

    @abstractmethod
    def skip(self) -> None:
        """Put the document off, and go on."""

    @abstractmethod
    def cannot(self, reason: str = "") -> None:
        """Say that there is no grade to give, and go on."""

    @abstractmethod
    def note(self, text: str) -> None:
        """Keep a remark; an empty one takes the old one away."""

    @abstractmethod
    def undo(self) -> None:
        """Take back what was done last."""

    @abstractmethod
    def back(self) -> None:
        """Go to the document before, in the order in which they were seen."""

    @abstractmethod
    def forward(self) -> None:
        """Go to the document after."""

    @abstractmethod
    def next_topic(self) -> None:
        """Go on with another topic."""

    @abstractmethod
    def state(self) -> str:
        """Where this person stands with the document, in words; empty for one that is new."""

    def leave(self) -> None:
        """Stand up: others need not wait for what was on the desk."""
        return

    def opinions(self) -> list[str]:
        """What others think, for those who may know."""
        return []

    def progress(self) -> str:
        """How far it is."""
        item = self.item
        return "" if item is None else f"document {item.place:,} of {item.places:,}, {item.left:,} left"

    def topic_number(self) -> str:
        """Which topic of how many this is."""
        return ""

    def _undid(self, where: Hashable) -> None:
        """The last act on a document was taken back; it may be one of an earlier sitting."""
        own = [number for number, (place, _) in enumerate(self._acts) if place == where]
        if own:
            del self._acts[own[-1]]

    def _begin(self, item: Item | None) -> None:
        self.item = item
        self._shown_at = now()
        self._touched, self._active = self._clock(), 0.0

    def _trace(self) -> Trace:
        return Trace(
            shown_at=self._shown_at,
            active_ms=round(self._active * 1000),
            method=self._method,
            version=self._version,
        )
