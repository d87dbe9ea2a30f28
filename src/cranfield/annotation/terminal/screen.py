"""A session on a full screen, where keys act at once."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from typing import TextIO

from cranfield.annotation.documents import Highlighter, find_phrase
from cranfield.annotation.keybindings import ACTIONS_BY_KEY
from cranfield.annotation.terminal.keyboard import open_screen, read_keys
from cranfield.annotation.terminal.session import TerminalSession
from cranfield.annotation.terminal.text_layout import (
    count_columns,
    count_times,
    describe_document,
    list_keys,
    locate_spans,
    make_printable,
    truncate,
    wrap_text,
)

_SCROLL = {" ": 1, "ArrowDown": 0.2, "PageDown": 1, "ArrowUp": -0.2, "PageUp": -1, "Home": -1e9, "End": 1e9}
_BOLD, _DIM, _MARK, _FIND, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[1;4m", "\x1b[7m", "\x1b[0m"
# actions in the last line of the screen
_HINTS = {
    "back": "back",
    "undo": "undo",
    "skip": "skip",
    "cannot": "cannot judge",
    "note": "note",
    "topic": "topic",
    "find": "find",
    "help": "help",
}


def run_on_screen(session: TerminalSession, keyboard: int, out: TextIO, styled: bool = True) -> None:
    """Run a session on a full screen. However it ends, the terminal is restored."""
    if session.item is not None:
        screen = _Screen(session, out, styled)
        with open_screen(keyboard, out, screen.draw):
            screen.run(keyboard)
    if session.item is None and session.message:  # the reason why it ended; after q there is none
        out.write(session.message + "\n")
        out.flush()


class _Screen:
    """What is on the screen, and what keys do."""

    def __init__(self, session: TerminalSession, out: TextIO, styled: bool) -> None:
        self._session = session
        self._out = out
        self._styled = styled
        self._highlight = True
        self._top = 0  # the first visible line of the document
        self._page = 1
        self._phrase = ""  # to find
        self._hit = 0  # the number of the current occurrence
        self._prompt: str | None = None  # note or find, while a line is being typed
        self._line = ""
        self._overlay: list[str] = []  # guidelines or help, in place of the document
        self._fits = True  # whether all of it is visible

    def run(self, keyboard: int) -> None:
        session = self._session
        self.draw()
        for key in read_keys(keyboard, self.draw):
            session.record_key()
            self.press(key)
            if session.is_over or session.item is None:
                return
            self.draw()

    def press(self, key: str) -> None:
        session = self._session
        if self._prompt is not None:
            self._type(key)
        elif self._overlay:
            if key in _SCROLL and not self._fits:
                self._scroll(key)
            else:
                self._overlay, self._top = [], 0
        elif (grade := session.scale.by_key(key)) is not None:
            session.grade(grade)
            self._reset()
        elif key in _SCROLL:
            self._scroll(key)
        elif key in ("q", "Q"):
            session.is_over = True
        elif (action := ACTIONS_BY_KEY.get(key if len(key) > 1 else key.lower())) is not None:
            self._act(action.name)
        else:
            session.message = "? shows all keys."

    def _act(self, name: str) -> None:
        session = self._session
        if session.act(name):
            self._reset()
        elif name in ("note", "find"):
            self._prompt, session.message = name, ""
            item = session.item
            self._line = item.note if name == "note" and item is not None else ""
        elif name == "highlight":
            self._highlight = not self._highlight
            session.message = f"Highlighting is {'on' if self._highlight else 'off'}."
        else:
            self._overlay = list_keys(session) if name == "help" else session.guidelines.split("\n")
            self._top = 0

    def _type(self, key: str) -> None:
        """Edit the line being typed: return saves it, escape discards it."""
        if key == "Escape":
            self._prompt = None
        elif key == "Enter":
            prompt, self._prompt = self._prompt, None
            if prompt == "note":
                self._session.note(self._line.strip())
            else:
                self._find(self._line.strip() or self._phrase)
        elif key == "Backspace":
            self._line = self._line[:-1]
        elif len(key) == 1 and key.isprintable():
            self._line += key

    def _find(self, phrase: str) -> None:
        """Go to the next occurrence of a phrase; after the last one, to the first."""
        self._hit = self._hit + 1 if phrase == self._phrase else 0
        self._phrase = phrase
        spans = find_phrase(self._text(), phrase)
        self._session.message = f"Found {count_times(len(spans))}: {make_printable(phrase)}" if phrase else ""
        if spans:
            self._hit %= len(spans)
            lines = self._document_lines(self._size()[0])
            self._top = min(locate_spans(self._text(), lines, [spans[self._hit]]))

    def _reset(self) -> None:
        """Show another document from its start."""
        self._top, self._phrase, self._hit = 0, "", 0

    def _scroll(self, key: str) -> None:
        part = _SCROLL[key] * self._page
        self._top = max(0, self._top + (int(part) or (1 if part > 0 else -1)))
        self._session.message = ""

    def draw(self) -> None:
        """Draw the whole screen."""
        width, height = self._size()
        head, foot = self._head(width, height), self._foot(width)
        overlay = self._overlay and [part for line in self._overlay for part in wrap_text(line, width) or [""]]
        lines = overlay or self._document_lines(width)
        self._page = max(1, height - len(head) - len(foot) - 1)
        self._top = min(self._top, max(0, len(lines) - self._page))
        self._fits = len(lines) <= self._page
        visible = lines[self._top : self._top + self._page]
        if not overlay:
            found = locate_spans(self._text(), lines, find_phrase(self._text(), self._phrase))
            visible = [self._mark(line, found.get(number, [])) for number, line in enumerate(visible, self._top)]
        more = len(lines) - self._top - len(visible)
        if more:
            visible[-1] = self._style(f"… {more + 1:,} more lines: space", _DIM)
        visible += [""] * (self._page - len(visible))
        rows = [*head, *visible, *foot, self._hint(width)][:height]
        # from the top, clearing each line to its end, which avoids flicker
        self._out.write("\x1b[H" + "\r\n".join(row + "\x1b[K" for row in rows) + "\x1b[J")
        self._out.flush()

    def _head(self, width: int, height: int) -> list[str]:
        session, item = self._session, self._session.item
        assert item is not None
        topic = session.texts.topic(item.query)
        number = " · ".join(text for text in (session.topic_number(), session.progress()) if text)
        room = width - count_columns(number) - 2
        title = truncate(make_printable(f"{item.query}  {topic.title}").replace("\n", " "), room)
        head = [self._style(title, _BOLD) + " " * (room - count_columns(title) + 2) + number]
        about = [line for text in (topic.description, topic.narrative) for line in wrap_text(text, width)]
        most = max(3, height // 3)
        if len(about) > most:
            about = [*about[: most - 1], truncate(about[most - 1], width - 2) + " …"]
        return [*head, *about, self._style("─" * width, _DIM)]

    def _foot(self, width: int) -> list[str]:
        session, item = self._session, self._session.item
        assert item is not None
        grades = []
        for grade in session.scale.grades:
            key, definition = self._style(grade.key, _BOLD), f": {grade.definition}" if grade.definition else ""
            chosen = "✓" if item.kind == "judge" and item.grade == grade.value else " "
            grades.append(f"{key} {chosen} {truncate(grade.label + definition, width - 4)}")
        status = session.message or " ".join(
            text for text in (session.state(), f"Note: {make_printable(item.note)}" if item.note else "") if text
        )
        if self._prompt is not None:
            label = "Note (return saves, escape cancels): " if self._prompt == "note" else "Find: "
            status = label + self._line[-max(8, width - len(label) - 1) :] + "▏"
        rule = self._style("─" * width, _DIM)
        opinions = [line for one in session.opinions() for line in wrap_text(one, width)[:2]]
        return [rule, *opinions, *grades, truncate(status, width)]

    def _hint(self, width: int) -> str:
        """The last line: what keys do here."""
        actions = [action for action in self._session.actions if action.name in _HINTS]
        keys = "  ".join(f"{action.key} {_HINTS[action.name]}" for action in actions)
        closing = "any key continues" if self._fits else "space, ↑, ↓ and page keys scroll, any other key continues"
        return self._style(truncate(closing if self._overlay else f"{keys}  q quit", width), _DIM)

    def _document_lines(self, width: int) -> list[str]:
        *above, text = self._parts() or [""]
        return [*(line for part in above for line in wrap_text(part, width)), "", *wrap_text(text, width)]

    def _parts(self) -> list[str]:
        """The parts of the document: id and title, other fields, text."""
        item = self._session.item
        if item is None:
            return []
        document = self._session.texts.document(item.doc)
        title = "" if document is None else make_printable(document.title).strip()
        *fields, text = describe_document(self._session, item.doc)
        return [f"{make_printable(item.doc)}  {title}", *(field for field in fields if field != title), text]

    def _text(self) -> str:
        """The document as one text, before it is broken into lines."""
        return "\n".join(self._parts())

    def _mark(self, line: str, found: Sequence[tuple[int, int]]) -> str:
        """A line with occurrences of the phrase and words of the topic highlighted."""
        item = self._session.item
        if not self._styled or item is None:
            return line
        spans = [(first, last, _FIND) for first, last in found]
        if self._highlight:
            words = Highlighter(self._session.texts.topic(item.query)).spans(line)
            spans += [(a, b, _MARK) for a, b in words if not any(a < last and b > first for first, last, _ in spans)]
        for first, last, style in sorted(spans, reverse=True):
            line = f"{line[:first]}{style}{line[first:last]}{_PLAIN}{line[last:]}"
        return line

    def _style(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._styled else text

    def _size(self) -> tuple[int, int]:
        size = shutil.get_terminal_size()
        return max(20, size.columns), max(10, size.lines)
