"""What commands tell people to type next: it works when it is pasted."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cranfield.cli.output import program_name


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command in a virtual environment of this folder, which PATH does not lead to."""
    own = tmp_path / ".venv" / "bin" / "cranfield"
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setattr(sys, "argv", [".venv/bin/cranfield"])
    return own


def test_where_path_does_not_lead_to_it_the_command_is_named_by_its_place(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert program_name() == ".venv/bin/cranfield"
    monkeypatch.setattr(sys, "argv", [str(installed)])
    assert program_name() == ".venv/bin/cranfield"
    monkeypatch.chdir("/")
    assert program_name() == os.path.relpath(installed, "/")
    monkeypatch.chdir(installed.parent)
    assert program_name() == "./cranfield"
    elsewhere = installed.parent.parent.parent / "else where"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert program_name() == str(installed)
    spaced = shutil.copy(installed, elsewhere / "cranfield")
    monkeypatch.chdir(installed.parent)
    monkeypatch.setattr(sys, "argv", [spaced])
    assert shlex.split(program_name()) == [str(spaced)]


def test_where_path_leads_to_it_its_name_is_enough_and_to_another_it_is_not(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(installed.parent))
    assert program_name() == "cranfield"
    monkeypatch.setenv("PATH", f"{tmp_path}:{installed.parent}")
    shutil.copy(installed, tmp_path / "cranfield")
    assert program_name() == ".venv/bin/cranfield"


def test_a_python_without_the_command_is_named_itself(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/cranfield/__main__.py"])
    monkeypatch.setattr(sys, "executable", str(installed.parent / "python"))
    assert program_name() == ".venv/bin/cranfield"
    installed.unlink()
    assert program_name() == ".venv/bin/python -m cranfield"


def test_what_is_told_to_type_next_can_be_pasted(tmp_path: Path) -> None:
    (tmp_path / "my docs.jsonl").write_text('{"id": "a", "text": "b"}\n')
    (tmp_path / "t.tsv").write_text("1\tb\n")
    command = [sys.executable, "-m", "cranfield", "init", "a b", "--documents", "my docs.jsonl", "--topics", "t.tsv"]
    bare = {**os.environ, "PATH": "/usr/bin:/bin"}
    done = subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, text=True)
    told = done.stderr.removeprefix("Next: ").partition(", then ")[0]
    pasted = subprocess.run(["sh", "-c", f"{told} --dry-run"], cwd=tmp_path, env=bare, capture_output=True, text=True)
    assert pasted.returncode == 0 and "index: to be made" in pasted.stdout, (done.stderr, pasted.stderr)
