"""What the tests of formats share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """Put content into a file and give its path."""

    def put_(content: str | bytes, name: str = "input.txt") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return put_
