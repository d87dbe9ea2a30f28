"""Reading single keys from a terminal, on a screen of its own."""

from __future__ import annotations

import os
import re
import select
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

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
_NAMES = {"\r": "Enter", "\n": "Enter", "\x7f": "Backspace", "\b": "Backspace", "\x1b": "Escape"}
_KEY = re.compile(r"\x1b(\[[0-9;]*[A-Za-z~]|O[A-D])|.", re.DOTALL)


@contextmanager
def open_screen(keyboard: int, out: TextIO, draw: Callable[[], None]) -> Iterator[None]:
    """Switch to single keys and an alternate screen. However it ends, the terminal is restored."""
    import termios  # not on Windows
    import tty

    before = termios.tcgetattr(keyboard)

    def enter() -> None:
        tty.setcbreak(keyboard)
        out.write("\x1b[?1049h\x1b[?25l\x1b[2J")
        out.flush()

    def leave() -> None:
        out.write("\x1b[0m\x1b[?25h\x1b[?1049l")
        out.flush()
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)

    def stop(*_: Any) -> None:
        raise SystemExit(143)

    def pause(*_: Any) -> None:
        leave()
        os.kill(os.getpid(), signal.SIGSTOP)  # continues here
        enter()
        draw()

    handlers = {signal.SIGTERM: stop, signal.SIGHUP: stop, signal.SIGTSTP: pause}
    previous = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        enter()
        yield
    finally:
        leave()
        for number, handler in previous.items():
            signal.signal(number, handler)


def read_keys(keyboard: int, redraw: Callable[[], None]) -> Iterator[str]:
    """Keys as they are pressed, named as in browsers. If the terminal is resized meanwhile, it is redrawn."""
    pending, size = b"", shutil.get_terminal_size()
    while True:
        ready, _, _ = select.select([keyboard], [], [], 0.3)
        if not ready:
            if shutil.get_terminal_size() != size:
                size = shutil.get_terminal_size()
                redraw()
            if pending:  # an escape without anything after it
                pending, content = b"", pending
                yield from _name_keys(content.decode("utf-8", "replace"))
            continue
        content = os.read(keyboard, 1024)
        if not content:
            return
        text, pending = _split_complete(pending + content)
        yield from _name_keys(text)


def _split_complete(content: bytes) -> tuple[str, bytes]:
    """The complete part of some bytes, and an incomplete character or escape sequence at the end."""
    end = len(content)
    if content.endswith((b"\x1b", b"\x1b[", b"\x1bO")):
        end = content.rindex(b"\x1b")
    try:
        return content[:end].decode(), content[end:]
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":
            return content[: error.start].decode("utf-8", "replace"), content[error.start :]
        return content[:end].decode("utf-8", "replace"), content[end:]


def _name_keys(text: str) -> Iterator[str]:
    for match in _KEY.finditer(text):
        if match[1]:
            if match[1] in _SEQUENCES:
                yield _SEQUENCES[match[1]]
        else:
            yield _NAMES.get(match[0], match[0])
