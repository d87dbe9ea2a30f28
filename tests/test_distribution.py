"""The sdist and the wheel: what they contain, and that they install with and without a compiler."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NOT_SOURCE = shutil.ignore_patterns("__pycache__", "*.egg-info", "*.so", "*.pyd")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a distribution is built from, without anything built before."""
    folder = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "src", folder / "src", ignore=NOT_SOURCE)
    return folder


@pytest.fixture(scope="module")
def distributions(source: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The sdist, and the wheel that is built from it."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, source)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def test_the_wheel_contains_the_package_and_nothing_else(source: Path, distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        names = wheel.namelist()
    (extension,) = [name for name in names if name.endswith((".so", ".pyd"))]
    assert Path(extension).name.startswith("_core.")
    packaged = {name for name in names if ".dist-info/" not in name}
    assert packaged - {extension} == files_below(source / "src", "cranfield")
    assert {name.split("/")[0] for name in names if name not in packaged} == {"cranfield-0.1.0.dist-info"}


def test_the_wheel_names_its_license(distributions: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(distributions[1]) as wheel:
        (metadata,) = [wheel.read(name).decode() for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
        assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    assert "\nLicense-Expression: Apache-2.0\n" in metadata


def test_the_sdist_contains_all_sources(source: Path, distributions: tuple[Path, Path]) -> None:
    with tarfile.open(distributions[0]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {f"src/{name}" for name in files_below(source / "src", ".")} <= names
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE"} <= names


def test_an_install_into_an_empty_environment_evaluates_with_the_compiled_core(
    distributions: tuple[Path, Path], tmp_path: Path
) -> None:
    venv.create(tmp_path / "env", with_pip=True)
    programs = tmp_path / "env" / "bin"
    run(programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", distributions[0])
    cranfield = programs / "cranfield"
    assert run(cranfield, "--version") == "cranfield 0.1.0 (compiled core)\n"
    folder = run(cranfield, "demo", "--path").strip()
    scores = run(cranfield, "eval", f"{folder}/qrels.txt", f"{folder}/bm25.run", "-m", "AP", "--format", "tsv")
    assert scores.startswith("bm25.run\tAP\tall\t0.334")
    refused = execute(cranfield, "convert", f"{folder}/bm25.run", tmp_path / "x.parquet")
    assert refused.returncode == 2
    assert "pip install 'cranfield[arrow]'" in refused.stderr


def test_an_install_without_a_compiler_uses_the_python_core(source: Path, tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--no-deps", "--no-build-isolation", "--target", tmp_path, source, CC="/bin/false", CXX="/bin/false")
    version = run(sys.executable, "-m", "cranfield", "--version", PYTHONPATH=str(tmp_path))
    assert version == "cranfield 0.1.0 (Python core: the compiled core was not built)\n"


def files_below(folder: Path, start: str) -> set[str]:
    """The files below folder/start, as paths relative to the folder."""
    return {path.relative_to(folder).as_posix() for path in (folder / start).rglob("*") if path.is_file()}


def run(*command: str | Path, **environment: str) -> str:
    """What a command prints; fail with its messages unless it succeeds."""
    done = execute(*command, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def execute(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command, without the variables that choose which cranfield is imported."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "CRANFIELD_PURE")}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=inherited | environment)
