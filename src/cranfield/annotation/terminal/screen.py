"""Judging in a terminal: a screen with keys, or plain lines for pipes and screen readers."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
import sys
import textwrap
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from cranfield.annotation.documents import Marker, matches, other_fields
from cranfield.annotation.keybindings import BY_KEY
from cranfield.annotation.terminal.seat import Seat

WIDTH = 78  # of plain lines
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_SCROLL = {" ": 1, "ArrowDown": 0.2, "PageDown": 1, "ArrowUp": -0.2, "PageUp": -1, "Home": -1e9, "End": 1e9}
_SEQUENCES = {
    "[A": "ArrowUp",
    "[B": "ArrowDown",
    "[C": "ArrowRight",
    "[D": "ArrowLeft",
    "OA": "ArrowUp",
    "OB": "ArrowDown",
    "OC": "ArrowRight",
    "OD": "ArrowLeft",
    "[5~": "PageUp",
    "[6~": "PageDown",
    "[H": "Home",
    "[F": "End",
}
_BOLD, _DIM, _MARK, _FIND, _PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[1;4m", "\x1b[7m", "\x1b[0m"


def safe(text: str) -> str:
    """Text without what would steer a terminal, whatever a document holds.

    >>> safe("a\\x1b[2Jb\\tc")
    'a\ufffd[2Jb    c'
    """
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4))


def help_lines(sitting: Seat) -> list[str]:
    """All keys, one a line."""
    grades = [f"{grade.key}  {grade.label}: save it and go on" for grade in sitting.scale.grades]
    others = [f"{action.key}  {action.label}: {action.about}" for action in sitting.actions]
    return [*grades, *others, "q  Quit: everything is saved already"]


# Plain lines


def judge_by_lines(sitting: Seat, read: TextIO, out: TextIO) -> None:
    """Judge by lines: each is a key, with a text behind it where one is needed. Ends with q or the end of input."""
    lines = _Lines(sitting, out)
    lines.show()
    while not sitting.is_over and sitting.item is not None:
        out.write("> ")
        out.flush()
        line = read.readline()
        if not line:
            out.write("\n")
            return
        sitting.touch()
        lines.do(line.strip())


class _Lines:
    """What is said for each line of input."""

    def __init__(self, sitting: Seat, out: TextIO) -> None:
        self._sitting = sitting
        self._out = out
        self._highlight = False  # in plain text, marks are noise until they are asked for

    def do(self, line: str) -> None:
        key, text = line[:1], line[1:].strip()
        sitting = self._sitting
        grade = sitting.scale.by_key(line)
        action = BY_KEY.get(key.lower())
        if grade is not None:
            sitting.grade(grade)
            self.show()
        elif key.lower() == "q" and not text:
            sitting.is_over = True
        elif action is None or (text and action.name not in ("note", "find", "cannot")):
            self._say(f"{safe(line)!r} is no key here; ? shows all keys." if line else "? shows all keys.")
        else:
            self._act(action.name, text)

    def _act(self, name: str, text: str) -> None:
        sitting = self._sitting
        moves: dict[str, Callable[[], None]] = {
            "back": sitting.back,
            "forward": sitting.forward,
            "undo": sitting.undo,
            "skip": sitting.skip,
            "cannot": lambda: sitting.cannot(text),
            "topic": sitting.next_topic,
        }
        if name in moves:
            moves[name]()
            self.show()
        elif name == "note":
            sitting.note(text)
            self._say(sitting.message)
        elif name == "highlight":
            self._highlight = not self._highlight
            sitting.message = "Words of the topic are marked *so*." if self._highlight else "Nothing is marked."
            self.show()
        elif name == "find":
            self._say(*self._found(text))
        elif name == "guidelines":
            self._say(*_wrapped(sitting.guidelines, WIDTH))
        else:
            self._say(*help_lines(sitting))

    def show(self) -> None:
        """Message, topic, document, grades."""
        sitting, item = self._sitting, self._sitting.item
        if sitting.message:
            self._say(sitting.message)
        if item is None:
            return
        topic = sitting.texts.topic(item.query)
        number = sitting.topic_number()
        self._say("", f"Topic {safe(item.query)}{f' ({number})' if number else ''}: {safe(topic.title)}")
        for text in (topic.description, topic.narrative):
            self._say(*_wrapped(text, WIDTH, "  "))
        self._say("", f"{sitting.progress().capitalize()}: {safe(item.doc)}")
        for text in _document(sitting, item.doc):
            self._say(*_wrapped(self._marked(text), WIDTH, "  "))
        self._say("")
        for opinion in sitting.opinions():
            self._say(*_wrapped(opinion, WIDTH))
        for grade in sitting.scale.grades:
            self._say(f"{grade.key}  {grade.label}{': ' + grade.definition if grade.definition else ''}")
        state = [sitting.state(), f"Your note: {safe(item.note)}" if item.note else ""]
        self._say(*(text for text in state if text))

    def _marked(self, text: str) -> str:
        item = self._sitting.item
        if not self._highlight or item is None:
            return text
        for first, last in reversed(Marker(self._sitting.texts.topic(item.query)).spans(text)):
            text = f"{text[:first]}*{text[first:last]}*{text[last:]}"
        return text

    def _found(self, words: str) -> list[str]:
        item = self._sitting.item
        if item is None or not words:
            return ["Write what to look for behind the /, as in /puncture."]
        text = " ".join(" ".join(_document(self._sitting, item.doc)).split())
        found = matches(text, words)
        around = [f"… {text[max(0, first - 30) : last + 30]} …" for first, last in found[:10]]
        return [f"Found {_times(len(found))}.", *around]

    def _say(self, *lines: str) -> None:
        for line in lines:
            self._out.write(line.rstrip() + "\n")


def _document(sitting: Seat, doc: str) -> list[str]:
    """The parts of a document as text: title, address and other fields, text."""
    document = sitting.texts.document(doc)
    if document is None:
        return ["(There is no text of this document.)"]
    fields = [f"{name}: {value}" for name, value in other_fields(document)]
    parts = [document.title, *fields, document.text if document.text.strip() else "(This document is empty.)"]
    return [safe(part).strip() for part in parts if part.strip()]


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines no wider than `width`; line ends of the text stay."""
    lines = []
    for paragraph in safe(text).strip().split("\n"):
        lines += _filled(paragraph, width - len(indent)) or [""]
    return [indent + line for line in lines] if text.strip() else []


def _filled(paragraph: str, width: int) -> list[str]:
    if paragraph.isascii():
        return textwrap.wrap(paragraph, width, break_on_hyphens=False) or [""]
    # words of scripts without spaces, and signs that are two columns wide
    lines, line, used = [], "", 0
    for word in re.findall(r"\s+|\S+", paragraph):
        size = columns(word)
        if used + size > width and not word.isspace():
            for char in word if size > width else [word]:
                wide = columns(char)
                if used and used + wide > width:
                    lines.append(line.rstrip())
                    line, used = "", 0
                line, used = line + char, used + wide
            continue
        line, used = line + word, used + size
    return [*lines, line.rstrip()]


def laid_out(text: str, lines: Sequence[str], spans: Sequence[tuple[int, int]]) -> dict[int, list[tuple[int, int]]]:
    """Where spans of a text stand in the lines that it was broken into: the spans in each line, by its number.

    Breaking changes white space and nothing else, so that all other characters are counted.

    >>> laid_out("a flat tyre", ["a flat", "tyre"], [(2, 11)])
    {0: [(2, 6)], 1: [(0, 4)]}
    """
    if not spans:
        return {}
    before = [0, *accumulate(not char.isspace() for char in text)]
    ends = list(accumulate(len("".join(line.split())) for line in lines))
    found: dict[int, list[tuple[int, int]]] = {}
    for first, last in spans:
        start, end = before[first], before[last]
        number = bisect_right(ends, start)
        while start < end:
            offset = ends[number - 1] if number else 0
            inside = [column for column, char in enumerate(lines[number]) if not char.isspace()]
            stop = min(end, ends[number])
            if start < stop:
                found.setdefault(number, []).append((inside[start - offset], inside[stop - offset - 1] + 1))
            start, number = stop, number + 1
    return found


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"


def columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text)


# A screen


def judge_on_screen(sitting: Seat, keyboard: int, out: TextIO, styled: bool = True) -> None:
    """Judge on a terminal: keys act at once. However it ends, the terminal is left as it was."""
    if sitting.item is not None:
        _show_screen(sitting, keyboard, out, styled)
    if sitting.item is None and sitting.message:  # why it ended; after q, what was said last concerns nobody
        out.write(sitting.message + "\n")
        out.flush()


def _show_screen(sitting: Seat, keyboard: int, out: TextIO, styled: bool) -> None:
    screen = _Screen(sitting, out, styled)
    with _raw(keyboard, out, screen.draw):
        screen.draw()
        for key in _keys(keyboard, screen.draw):
            sitting.touch()
            screen.press(key)
            if sitting.is_over or sitting.item is None:
                return
            screen.draw()


class _Screen:
    """What stands on the screen, and what keys do."""

    def __init__(self, sitting: Seat, out: TextIO, styled: bool) -> None:
        self._sitting = sitting
        self._out = out
        self._styled = styled
        self._highlight = True
        self._top = 0  # the first line of the document in sight
        self._page = 1
        self._sought = ""
        self._hit = 0  # which of the places that have it
        self._asking: str | None = None  # note or find, while a line is written
        self._line = ""
        self._sheet: list[str] = []  # guidelines or help, over the document
        self._fits = True  # whether all of it is in sight

    def press(self, key: str) -> None:
        sitting = self._sitting
        if self._asking is not None:
            self._write(key)
        elif self._sheet:
            if key in _SCROLL and not self._fits:
                self._scroll(key)
            else:
                self._sheet, self._top = [], 0
        elif (grade := sitting.scale.by_key(key)) is not None:
            sitting.grade(grade)
            self._turn()
        elif key in _SCROLL:
            self._scroll(key)
        elif key in ("q", "Q"):
            sitting.is_over = True
        elif (action := BY_KEY.get(key if len(key) > 1 else key.lower())) is not None:
            self._act(action.name)
        else:
            sitting.message = "? shows all keys."

    def _act(self, name: str) -> None:
        sitting = self._sitting
        moves = {
            "back": sitting.back,
            "forward": sitting.forward,
            "undo": sitting.undo,
            "skip": sitting.skip,
            "cannot": sitting.cannot,
            "topic": sitting.next_topic,
        }
        if name in moves:
            moves[name]()
            self._turn()
        elif name in ("note", "find"):
            self._asking, sitting.message = name, ""
            item = sitting.item
            self._line = item.note if name == "note" and item is not None else ""
        elif name == "highlight":
            self._highlight = not self._highlight
            sitting.message = "Words of the topic are marked." if self._highlight else "Nothing is marked."
        else:
            self._sheet = help_lines(sitting) if name == "help" else sitting.guidelines.split("\n")
            self._top = 0

    def _write(self, key: str) -> None:
        """A line is being written: return keeps it, escape does not."""
        if key == "Escape":
            self._asking = None
        elif key == "Enter":
            asked, self._asking = self._asking, None
            if asked == "note":
                self._sitting.note(self._line.strip())
            else:
                self._find(self._line.strip() or self._sought)
        elif key == "Backspace":
            self._line = self._line[:-1]
        elif len(key) == 1 and key.isprintable():
            self._line += key

    def _find(self, words: str) -> None:
        """Go to the next place that has the words; from the last one, to the first."""
        self._hit = self._hit + 1 if words == self._sought else 0
        self._sought = words
        found = matches(self._text(), words)
        self._sitting.message = f"Found {_times(len(found))}: {safe(words)}" if words else ""
        if found:
            self._hit %= len(found)
            lines = self._document_lines(self._size()[0])
            self._top = min(laid_out(self._text(), lines, [found[self._hit]]))

    def _turn(self) -> None:
        """Another document: from its beginning."""
        self._top, self._sought, self._hit = 0, "", 0

    def _scroll(self, key: str) -> None:
        part = _SCROLL[key] * self._page
        self._top = max(0, self._top + (int(part) or (1 if part > 0 else -1)))
        self._sitting.message = ""

    def draw(self) -> None:
        """Everything anew."""
        width, height = self._size()
        head, foot = self._head(width, height), self._foot(width)
        body = self._sheet and [part for line in self._sheet for part in _wrapped(line, width) or [""]]
        lines = body or self._document_lines(width)
        self._page = max(1, height - len(head) - len(foot) - 1)
        self._top = min(self._top, max(0, len(lines) - self._page))
        self._fits = len(lines) <= self._page
        seen = lines[self._top : self._top + self._page]
        found = {} if body else laid_out(self._text(), lines, matches(self._text(), self._sought))
        shown = [
            line if body else self._marked(line, found.get(number, [])) for number, line in enumerate(seen, self._top)
        ]
        more = len(lines) - self._top - len(seen)
        if more:
            shown[-1] = self._style(f"… {more + 1:,} more lines: space", _DIM)
        shown += [""] * (self._page - len(shown))
        rows = [*head, *shown, *foot, self._hint(width)][:height]
        # from the top, each line cleared to its end: nothing flickers
        self._out.write("\x1b[H" + "\r\n".join(row + "\x1b[K" for row in rows) + "\x1b[J")
        self._out.flush()

    def _head(self, width: int, height: int) -> list[str]:
        sitting, item = self._sitting, self._sitting.item
        assert item is not None
        topic = sitting.texts.topic(item.query)
        number = " · ".join(text for text in (sitting.topic_number(), sitting.progress()) if text)
        title = safe(f"{item.query}  {topic.title}").replace("\n", " ")
        room = width - columns(number) - 2
        head = [self._style(_cut(title, room), _BOLD) + " " * (room - columns(_cut(title, room)) + 2) + number]
        about = [line for text in (topic.description, topic.narrative) for line in _wrapped(text, width)]
        most = max(3, height // 3)
        if len(about) > most:
            about = [*about[: most - 1], _cut(about[most - 1], width - 2) + " …"]
        return [*head, *about, self._style("─" * width, _DIM)]

    def _foot(self, width: int) -> list[str]:
        sitting, item = self._sitting, self._sitting.item
        assert item is not None
        grades = []
        for grade in sitting.scale.grades:
            key, definition = self._style(grade.key, _BOLD), f": {grade.definition}" if grade.definition else ""
            chosen = "✓" if item.kind == "judge" and item.grade == grade.value else " "
            grades.append(f"{key} {chosen} {_cut(grade.label + definition, width - 4)}")
        said = sitting.message or " ".join(
            text for text in (sitting.state(), f"Note: {safe(item.note)}" if item.note else "") if text
        )
        if self._asking is not None:
            label = "Note (return saves, escape does not): " if self._asking == "note" else "Find: "
            said = label + self._line[-max(8, width - len(label) - 1) :] + "▏"
        rule = self._style("─" * width, _DIM)
        opinions = [line for one in sitting.opinions() for line in _wrapped(one, width)[:2]]
        return [rule, *opinions, *grades, _cut(said, width)]

    def _hint(self, width: int) -> str:
        """The last line: what keys do here."""
        actions = [action for action in self._sitting.actions if action.name in _SHORT]
        keys = "  ".join(f"{action.key} {_SHORT[action.name]}" for action in actions)
        closing = "any key goes on" if self._fits else "space, ↑, ↓ and page keys scroll, any other key goes on"
        return self._style(_cut(closing if self._sheet else f"{keys}  q quit", width), _DIM)

    def _document_lines(self, width: int) -> list[str]:
        *above, text = self._parts() or [""]
        return [*(line for part in above for line in _wrapped(part, width)), "", *_wrapped(text, width)]

    def _parts(self) -> list[str]:
        """What is shown of the document: its id and title, other fields, its text."""
        item = self._sitting.item
        if item is None:
            return []
        document = self._sitting.texts.document(item.doc)
        title = "" if document is None else safe(document.title).strip()
        *fields, text = _document(self._sitting, item.doc)
        return [f"{safe(item.doc)}  {title}", *(field for field in fields if field != title), text]

    def _text(self) -> str:
        """The same in one, as it is before it is broken into lines."""
        return "\n".join(self._parts())

    def _marked(self, line: str, found: Sequence[tuple[int, int]]) -> str:
        """A line with what is looked for, and the words of the topic."""
        item = self._sitting.item
        if not self._styled or item is None:
            return line
        spans = [(first, last, _FIND) for first, last in found]
        if self._highlight:
            known = Marker(self._sitting.texts.topic(item.query)).spans(line)
            spans += [(a, b, _MARK) for a, b in known if not any(a < last and b > first for first, last, _ in spans)]
        for first, last, style in sorted(spans, reverse=True):
            line = f"{line[:first]}{style}{line[first:last]}{_PLAIN}{line[last:]}"
        return line

    def _style(self, text: str, style: str) -> str:
        return f"{style}{text}{_PLAIN}" if self._styled else text

    def _size(self) -> tuple[int, int]:
        size = shutil.get_terminal_size()
        return max(20, size.columns), max(10, size.lines)


# what the last line has room for
_SHORT = {
    "back": "back",
    "undo": "undo",
    "skip": "skip",
    "cannot": "cannot judge",
    "note": "note",
    "topic": "topic",
    "find": "find",
    "help": "help",
}


def _cut(text: str, width: int) -> str:
    """As much of a text as fits."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[:-1]
    return text + "…"


@contextmanager
def _raw(keyboard: int, out: TextIO, draw: Callable[[], None]) -> Iterator[None]:
    """Keys without return, on a screen of their own; however it ends, the terminal is as it was."""
    import termios
    import tty

    before = termios.tcgetattr(keyboard)

    def enter() -> None:
        tty.setcbreak(keyboard)
        out.write("\x1b[?1049h\x1b[?25l\x1b[2J")
        out.flush()

    def leave() -> None:
        out.write(_PLAIN + "\x1b[?25h\x1b[?1049l")
        out.flush()
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)

    def stop(*_: Any) -> None:
        raise SystemExit(143)

    def pause(*_: Any) -> None:
        leave()
        os.kill(os.getpid(), signal.SIGSTOP)  # goes on here when it is continued
        enter()
        draw()

    handlers = {signal.SIGTERM: stop, signal.SIGHUP: stop, signal.SIGTSTP: pause}
    known = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        enter()
        yield
    finally:
        leave()
        for number, handler in known.items():
            signal.signal(number, handler)


def _keys(keyboard: int, redraw: Callable[[], None]) -> Iterator[str]:
    """Keys as they are pressed, named as in browsers; if the terminal changes its size meanwhile, it is drawn anew."""
    rest, size = b"", shutil.get_terminal_size()
    while True:
        ready, _, _ = select.select([keyboard], [], [], 0.3)
        if not ready:
            if shutil.get_terminal_size() != size:
                size = shutil.get_terminal_size()
                redraw()
            if rest:  # an escape that nothing followed
                rest, found = b"", rest
                yield from _named(found.decode("utf-8", "replace"))
            continue
        more = os.read(keyboard, 1024)
        if not more:
            return
        rest += more
        text, rest = _whole(rest)
        yield from _named(text)


def _whole(content: bytes) -> tuple[str, bytes]:
    """What is complete of some bytes: neither half a character nor half a sequence at the end."""
    cut = len(content)
    if content.endswith((b"\x1b", b"\x1b[", b"\x1bO")):
        cut = content.rindex(b"\x1b")
    try:
        return content[:cut].decode(), content[cut:]
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return content[: error.start].decode("utf-8", "replace"), content[error.start :]
        return content[:cut].decode("utf-8", "replace"), content[cut:]


_KEY = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O[A-D])|.", re.DOTALL)
_NAMES = {"\r": "Enter", "\n": "Enter", "\x7f": "Backspace", "\b": "Backspace", "\x1b": "Escape"}


def _named(text: str) -> Iterator[str]:
    for match in _KEY.finditer(text):
        if match[1]:
            if match[1] in _SEQUENCES:
                yield _SEQUENCES[match[1]]
        else:
            yield _NAMES.get(match[0], match[0])


def has_screen(read: TextIO, out: TextIO) -> bool:
    """Whether keys can be read one by one and a screen can be drawn."""
    return os.name == "posix" and read.isatty() and out.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def run(sitting: Seat, plain: bool = False, styled: bool = True) -> None:
    """Judge on the screen where there is one, else by lines."""
    if not plain and has_screen(sys.stdin, sys.stdout):
        judge_on_screen(sitting, sys.stdin.fileno(), sys.stdout, styled)
    else:
        judge_by_lines(sitting, sys.stdin, sys.stdout)


__all__: Sequence[str] = ["has_screen", "help_lines", "judge_by_lines", "judge_on_screen", "run", "safe"]
