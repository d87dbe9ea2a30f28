"""The names in `base.options`, which commands know before anything is loaded, are those of the tables behind them."""

from __future__ import annotations

from cranfield.base.options import QRELS_FORMATS, RUN_FORMATS, TOOL_NAMES
from cranfield.evaluation import TOOLS
from cranfield.io import QRELS_READERS, QRELS_WRITERS, RUN_READERS, RUN_WRITERS


def test_formats_are_those_that_can_be_read_and_written() -> None:
    assert set(RUN_FORMATS) == set(RUN_READERS) == set(RUN_WRITERS)
    assert set(QRELS_FORMATS) == set(QRELS_READERS) == set(QRELS_WRITERS)


def test_tools_are_those_whose_conventions_are_known() -> None:
    assert tuple(TOOLS) == TOOL_NAMES
