"""The package as a whole: what it exports and what it imports."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import cranfield
from cranfield.measures.registry import FAMILY_OF

ROOT = Path(__file__).parent.parent
PACKAGES = {path.parent.name: path.parent for path in (ROOT / "src" / "cranfield").glob("*/__init__.py")}
LAZY = [name for name, folder in PACKAGES.items() if "lazy_exports(" in (folder / "__init__.py").read_text()]


def test_every_public_name_is_there_and_listed_in_order() -> None:
    assert sorted(cranfield.__all__) == cranfield.__all__
    for name in cranfield.__all__:
        assert hasattr(cranfield, name)


def test_no_package_has_the_name_of_a_public_function() -> None:
    assert set(PACKAGES) & set(cranfield.__all__) == set()


@pytest.mark.parametrize("package", ["", *LAZY])
def test_what_is_imported_late_is_what_type_checkers_see(package: str) -> None:
    module = import_module(f"cranfield.{package}".rstrip("."))
    seen = {
        name.asname or name.name: found.module
        for block in ast.parse(inspect.getsource(module)).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for found in ast.walk(block)
        if isinstance(found, ast.ImportFrom)
        for name in found.names
    }
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    modules = {name for name in module.__all__ if find_spec(f"{module.__name__}.{name}")}
    # a function with the name of a module would be hidden by it
    assert [name for name in modules if not isinstance(getattr(module, name), ModuleType)] == []
    for name, home in seen.items():
        assert home is not None and getattr(import_module(home), name) is getattr(module, name), name
    eager = {name for name in module.__all__ if name in seen_at_once(module)}
    aliases = set(FAMILY_OF) if package == "measures" else set()
    assert set(module.__all__) - eager - aliases - modules <= set(seen) <= set(module.__all__)


def seen_at_once(module: ModuleType) -> set[str]:
    """The names that a module imports or defines when it is imported."""
    body = ast.parse(inspect.getsource(module)).body
    imported = {name.name for found in body if isinstance(found, ast.ImportFrom) for name in found.names}
    return imported | {found.name for found in body if isinstance(found, ast.FunctionDef)}


def test_packages_use_of_each_other_what_their_init_names() -> None:
    wrong = []
    for file in sorted((ROOT / "src" / "cranfield").rglob("*.py")):
        own = file.relative_to(ROOT / "src" / "cranfield").parts[0]
        for found in ast.walk(ast.parse(file.read_text())):
            if isinstance(found, ast.Import):
                wrong += [f"{file}: import {name.name}" for name in found.names if name.name.startswith("cranfield.")]
            if not isinstance(found, ast.ImportFrom) or not (found.module or "").startswith("cranfield."):
                continue
            _, package, *inner = str(found.module).split(".")
            if package == own or package not in PACKAGES:
                continue
            exported = getattr(import_module(f"cranfield.{package}"), "__all__", ())
            names = [name.name for name in found.names]
            if inner or not set(names) <= set(exported) or any(name.startswith("_") for name in names):
                wrong.append(f"{file.relative_to(ROOT)}: from {found.module} import {', '.join(names)}")
    assert wrong == []


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
