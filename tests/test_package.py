"""The package as a whole: what it exports and what it imports."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import cranfield

ROOT = Path(__file__).parent.parent


def test_every_public_name_is_there_and_listed_in_order() -> None:
    assert sorted(cranfield.__all__) == cranfield.__all__
    for name in cranfield.__all__:
        assert hasattr(cranfield, name)


def test_the_version_is_said_once() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == cranfield.__version__


def test_all_is_every_extra_but_spark_and_the_developers() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    users = set(extras) - {"all", "spark", "docs", "check", "test", "test-all", "dev"}
    assert extras["all"] == [f"cranfield[{','.join(sorted(users))}]"]


def test_evaluating_imports_nothing_it_does_not_need() -> None:
    program = (
        "import sys, cranfield\n"
        "cranfield.evaluate({'q': {'d': 1}}, {'q': {'d': 1.0}}, ['AP']).mean('AP')\n"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'scipy', 'rich', 'click'} & set(sys.modules)))"
    )
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "[]"


def test_no_file_names_this_machine() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False).stdout.split()
    if not tracked:
        pytest.skip("this is no git checkout")
    home = str(Path.home())
    texts = {name: (ROOT / name).read_bytes() for name in tracked if (ROOT / name).is_file()}
    assert [name for name, text in texts.items() if home.encode() + b"/" in text or str(ROOT).encode() in text] == []


def test_no_test_asserts_how_long_something_takes() -> None:
    clock = re.compile(r"^\s*assert .*\b(perf_counter|monotonic|process_time|time\.time)\b", re.M)
    timed = [file.name for file in sorted(ROOT.glob("tests/**/*.py")) if clock.search(file.read_text())]
    assert timed == ["waiting.py"]
