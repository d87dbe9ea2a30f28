"""Any program by template: arguments reach it unharmed, and it cannot hang or fail unnoticed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cranfield.errors import InputError
from cranfield.lab.engines import EngineError, Options, SearchFailed, open_engine

ECHO = "import sys; print(sys.argv[1].replace(' ', '_'), sys.argv[2])"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script(folder: Path, text: str) -> str:
    (folder / "search.py").write_text(text)
    return f"{sys.executable} search.py"


def test_a_query_is_one_argument_whatever_is_in_it(folder: Path) -> None:
    program = script(folder, ECHO)
    queries = {"1": "$(touch harm); `touch harm`", "2": 'it\'s "so" \\ {depth}', "3": "two\nlines\0"}
    for kind in ("command", "shell"):
        found = open_engine(f"{kind}:{program} {{query}} {{depth}}").search(queries, depth=7).to_dict()
        assert found["1"] == {"$(touch_harm);_`touch_harm`": 7.0}
        assert found["2"] == {'it\'s_"so"_\\_{depth}': 7.0} and found["3"] == {"two_lines": 7.0}
    assert not (folder / "harm").exists()


def test_only_a_shell_that_is_asked_for_knows_pipes(folder: Path) -> None:
    program = script(folder, "import sys; print('\\n'.join(sys.argv[1:]))")
    assert open_engine(f"command:{program} {{query}} | head").search({"1": "x"}).to_dict()["1"].keys() == {
        "x",
        "|",
        "head",
    }
    assert open_engine(f"shell:{program} {{query}} a b | head -n 2").search({"1": "x"}).to_dict()["1"].keys() == {
        "x",
        "a",
    }


def test_a_template_without_a_query_gets_it_on_standard_input(folder: Path) -> None:
    program = script(folder, "import json, sys; print(json.dumps({'r': [{'n': sys.stdin.read(), 's': 2}]}))")
    engine = open_engine(f"command:{program}", Options(ids="$.r[*].n", scores="$.r[*].s"))
    assert engine.search({"1": "red lamp"}).to_dict() == {"1": {"red lamp": 2.0}}
    assert engine.size() is None and engine.about.name == "command"


def test_a_program_that_fails_is_quoted_with_its_last_lines_but_not_its_arguments(folder: Path) -> None:
    program = script(folder, "import sys; print('1\\n2\\n3\\n4\\n5\\n6\\nno index', file=sys.stderr); sys.exit(3)")
    with pytest.raises(SearchFailed, match="ended with 3: 3\n4\n5\n6\nno index") as caught:
        open_engine(f"command:{program} --key=s3cret {{query}}").search({"1": "x"})
    assert "s3cret" not in str(caught.value)
    silent = script(folder, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(SearchFailed, match="was ended by SIGKILL, without a word"):
        open_engine(f"command:{silent} {{query}}").search({"1": "x"})


def test_a_program_that_hangs_is_ended_with_all_that_it_started(folder: Path) -> None:
    with pytest.raises(SearchFailed, match="sleep: no answer within 0.2 s"):
        open_engine("command:sleep {query}", Options(timeout=0.2)).search({"1": "3600"})
    with pytest.raises(SearchFailed, match="no answer within 0.2 s"):
        open_engine("shell:sleep {query} | cat", Options(timeout=0.2)).search({"1": "3600"})


def test_output_that_cannot_be_read_is_shown(folder: Path) -> None:
    program = script(folder, "print('a b c')")
    with pytest.raises(SearchFailed, match="python.*: line 1 of the output: expected 'doc score'.*found 'a b c'"):
        open_engine(f"command:{program} {{query}}").search({"1": "x"})


def test_what_cannot_be_started_is_said(folder: Path) -> None:
    with pytest.raises(InputError, match="nothing-there: cannot be started: No such file"):
        open_engine("command:./nothing-there {query}").search({"1": "x"})
    with pytest.raises(EngineError, match="a command can only be searched"):
        open_engine("command:./x {query}").index([])


def test_ids_that_are_not_unicode_survive(folder: Path) -> None:
    program = script(folder, "import sys; sys.stdout.buffer.write(b'd\\xff 1\\n')")
    assert open_engine(f"command:{program} {{query}}").search({"1": "x"}).to_dict() == {"1": {"d\udcff": 1.0}}
