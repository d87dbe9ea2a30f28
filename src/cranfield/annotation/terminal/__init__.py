"""Judging and adjudicating in a terminal: on a full screen with keys, or in lines for pipes and screen readers."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from cranfield.annotation.terminal.adjudication_session import AdjudicationSession
from cranfield.annotation.terminal.judging_session import JudgingSession
from cranfield.annotation.terminal.lines import run_in_lines
from cranfield.annotation.terminal.screen import run_on_screen
from cranfield.annotation.terminal.session import TerminalSession

__all__ = ["AdjudicationSession", "JudgingSession", "TerminalSession", "has_screen", "run_in_terminal"]


def has_screen(read: TextIO, out: TextIO) -> bool:
    """Whether single keys can be read and a screen can be drawn."""
    return os.name == "posix" and read.isatty() and out.isatty() and os.environ.get("TERM", "dumb") != "dumb"


def run_in_terminal(session: TerminalSession, plain: bool = False, styled: bool = True) -> None:
    """Run a session on a full screen if there is one, otherwise in plain lines."""
    if not plain and has_screen(sys.stdin, sys.stdout):
        run_on_screen(session, sys.stdin.fileno(), sys.stdout, styled)
    else:
        run_in_lines(session, sys.stdin, sys.stdout)
