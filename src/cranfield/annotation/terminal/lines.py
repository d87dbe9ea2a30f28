"""A session in plain lines, for pipes and screen readers: each line of input is a key, with text if one is needed."""

from __future__ import annotations

from typing import TextIO

from cranfield.annotation.documents import Highlighter, find_phrase
from cranfield.annotation.keybindings import ACTIONS_BY_KEY
from cranfield.annotation.terminal.session import TerminalSession
from cranfield.annotation.terminal.text_layout import (
    count_times,
    describe_document,
    list_keys,
    make_printable,
    wrap_text,
)

WIDTH = 78


def run_in_lines(session: TerminalSession, read: TextIO, out: TextIO) -> None:
    """Run a session in plain lines, until q or the end of input."""
    lines = _Lines(session, out)
    lines.show()
    while not session.is_over and session.item is not None:
        out.write("> ")
        out.flush()
        line = read.readline()
        if not line:
            out.write("\n")
            return
        session.record_key()
        lines.handle(line.strip())


class _Lines:
    """Handles lines of input."""

    def __init__(self, session: TerminalSession, out: TextIO) -> None:
        self._session = session
        self._out = out
        self._highlight = False  # in plain text, marks are noise

    def handle(self, line: str) -> None:
        key, text = line[:1], line[1:].strip()
        session = self._session
        grade = session.scale.by_key(line)
        action = ACTIONS_BY_KEY.get(key.lower())
        if grade is not None:
            session.grade(grade)
            self.show()
        elif key.lower() == "q" and not text:
            session.is_over = True
        elif action is None or (text and action.name not in ("note", "find", "cannot")):
            self._print(f"{make_printable(line)!r} is not a key; ? shows all keys." if line else "? shows all keys.")
        else:
            self._act(action.name, text)

    def _act(self, name: str, text: str) -> None:
        session = self._session
        if session.act(name, text):
            self.show()
        elif name == "note":
            session.note(text)
            self._print(session.message)
        elif name == "highlight":
            self._highlight = not self._highlight
            state = "on: words of the topic are marked *like this*" if self._highlight else "off"
            session.message = f"Highlighting is {state}."
            self.show()
        elif name == "find":
            self._print(*self._find(text))
        elif name == "guidelines":
            self._print(*wrap_text(session.guidelines, WIDTH))
        else:
            self._print(*list_keys(session))

    def show(self) -> None:
        """Print message, topic, document and grades."""
        session, item = self._session, self._session.item
        if session.message:
            self._print(session.message)
        if item is None:
            return
        topic = session.texts.topic(item.query)
        number = session.topic_number()
        title = make_printable(topic.title)
        self._print("", f"Topic {make_printable(item.query)}{f' ({number})' if number else ''}: {title}")
        for text in (topic.description, topic.narrative):
            self._print(*wrap_text(text, WIDTH, "  "))
        self._print("", f"{session.progress().capitalize()}: {make_printable(item.doc)}")
        for text in describe_document(session, item.doc):
            self._print(*wrap_text(self._mark(text), WIDTH, "  "))
        self._print("")
        for opinion in session.opinions():
            self._print(*wrap_text(opinion, WIDTH))
        for grade in session.scale.grades:
            self._print(f"{grade.key}  {grade.label}{': ' + grade.definition if grade.definition else ''}")
        state = [session.state(), f"Your note: {make_printable(item.note)}" if item.note else ""]
        self._print(*(text for text in state if text))

    def _mark(self, text: str) -> str:
        item = self._session.item
        if not self._highlight or item is None:
            return text
        for first, last in reversed(Highlighter(self._session.texts.topic(item.query)).spans(text)):
            text = f"{text[:first]}*{text[first:last]}*{text[last:]}"
        return text

    def _find(self, words: str) -> list[str]:
        item = self._session.item
        if item is None or not words:
            return ["Write what to find after the /, as in /puncture."]
        text = " ".join(" ".join(describe_document(self._session, item.doc)).split())
        spans = find_phrase(text, words)
        snippets = [f"… {text[max(0, first - 30) : last + 30]} …" for first, last in spans[:10]]
        return [f"Found {count_times(len(spans))}.", *snippets]

    def _print(self, *lines: str) -> None:
        for line in lines:
            self._out.write(line.rstrip() + "\n")
