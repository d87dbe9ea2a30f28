"""Running the command line inside the test process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

from cranfield.cli import main
from cranfield.measures import REGISTRY


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def table(self) -> list[list[str]]:
        return [line.split("\t") for line in self.out.splitlines()]


Cranfield = Callable[..., Outcome]


@pytest.fixture
def cranfield(capfdbinary: pytest.CaptureFixture[bytes]) -> Cranfield:
    """Call the command line; a traceback would fail the test."""

    def call(*args: object) -> Outcome:
        capfdbinary.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main([str(arg) for arg in args])
        out, err = capfdbinary.readouterr()
        code = stopped.value.code
        assert isinstance(code, int)
        return Outcome(code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape"))

    return call


@pytest.fixture(autouse=True)
def own_measures_are_forgotten() -> Iterator[None]:
    """What a test registers is in no list of another."""
    before = dict(REGISTRY)
    yield
    REGISTRY.clear()
    REGISTRY.update(before)


@pytest.fixture
def example() -> Path:
    return Path(str(files("cranfield") / "example"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A folder with small qrels and two runs."""
    (tmp_path / "qrels").write_text("1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n")
    (tmp_path / "one.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 x 3 1 t\n2 Q0 b 1 9 t\n2 Q0 a 2 8 t\n")
    (tmp_path / "two.run").write_text("1 Q0 b 1 3 t\n1 Q0 c 2 2 t\n9 Q0 c 2 2 t\n")
    return tmp_path
