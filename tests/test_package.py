"""The package as a whole: what it exports, what it imports, that it installs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
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
    users = set(extras) - {"all", "spark", "docs", "test", "dev"}
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


def test_a_plain_install_into_an_empty_environment_evaluates(tmp_path: Path) -> None:
    """No compiler is needed, and no extra; the bundled example is there."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    subprocess.run(["cp", "-r", str(ROOT / "src"), str(source / "src")], check=True)
    venv.create(tmp_path / "env", with_pip=True)
    python = tmp_path / "env" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(source)]
    done = subprocess.run(install, capture_output=True, text=True, check=False, env=_without_compiler())
    assert done.returncode == 0, done.stderr
    cranfield_command = str(python.parent / "cranfield")
    folder = subprocess.run(
        [cranfield_command, "demo", "--path"], capture_output=True, text=True, check=True
    ).stdout.strip()
    evaluated = subprocess.run(
        [cranfield_command, "eval", f"{folder}/qrels.txt", f"{folder}/bm25.run", "-m", "AP", "--format", "tsv"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert evaluated.stdout.startswith("bm25.run\tAP\tall\t0.334")
    converted = subprocess.run(
        [cranfield_command, "convert", f"{folder}/bm25.run", str(tmp_path / "x.parquet")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert converted.returncode == 2
    assert "pip install 'cranfield[arrow]'" in converted.stderr


def _without_compiler() -> dict[str, str]:
    import os

    return {**os.environ, "CC": "/bin/false", "CXX": "/bin/false"}
