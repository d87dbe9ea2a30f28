"""The table of tie rules is complete, and what cannot import it agrees with it."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click
import pytest

from cranfield import CranfieldError, join_run
from cranfield.base import Ties
from cranfield.cli.eval import command
from cranfield.io import as_qrels
from cranfield.joining import TIE_RULES, Joining

DOCS = Path(__file__).parents[2] / "docs" / "join.md"


def test_type_and_option_name_every_rule() -> None:
    option = next(parameter for parameter in command.params if parameter.name == "ties")
    assert isinstance(option.type, click.Choice)
    assert get_args(Ties) == tuple(TIE_RULES) == tuple(option.type.choices)


def test_the_documentation_describes_every_rule() -> None:
    rows = [line for line in DOCS.read_text("utf-8").splitlines() if line.startswith("| `")]
    for rule in TIE_RULES.values():
        assert f"| `{rule.name}` | {rule.description} |" in rows


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(CranfieldError, match="ties 'by-length' is unknown: expected one of trec, doc-ascending"):
        join_run(as_qrels({"q": {"a": 1}}), {"q": {"a": 1.0}}, ties="by-length")
    assert [rule for rule in TIE_RULES if not Joining(rule).is_streamable] == ["rank-column"]  # type: ignore[arg-type]
