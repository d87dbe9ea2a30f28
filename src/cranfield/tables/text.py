"""Text for a terminal: wrapped lines, and no characters that would control it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from textwrap import wrap

_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def replace_controls(text: str) -> str:
    """Text without characters that would control a terminal or break a line."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


def wrap_text(text: str, width: int, head: str = "") -> list[str]:
    """The lines of a text; the first line starts with `head`, the others are indented by its width."""
    return wrap(
        text,
        width,
        initial_indent=head,
        subsequent_indent=" " * len(head),
        break_on_hyphens=False,
        break_long_words=False,
    )


def wrap_sentences(sentences: Iterable[str], width: int) -> str:
    """Sentences wrapped to a width, each on a line of its own."""
    return "".join(f"{line}\n" for sentence in sentences for line in wrap_text(sentence, width) or [""])
