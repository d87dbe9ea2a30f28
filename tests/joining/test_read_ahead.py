"""Reading ahead changes nothing but the time."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cranfield.cli import main
from cranfield.io import read_qrels
from cranfield.joining import join_run, read_ahead, streaming
from cranfield.joining.read_ahead import ReadAhead

QRELS = "10 0 a 1\n10 0 b 0\n2 0 a 2\n2 0 c 1\nq 0 z 1\n"
RUN = "2 Q0 a 1 3 t\n2 Q0 x 2 2 t\n2 Q0 c 3 2 t\n10 Q0 b 1 9 t\n10 Q0 a 2 8 t\nnone Q0 a 1 1 t\n"
APART = RUN + "2 Q0 y 4 1 t\n"
CASES = {
    "plain": (QRELS, RUN),
    "apart": (QRELS, APART),
    "qrels with a comment": ("# judged\n" + QRELS, RUN),
    "qrels with subtopics": (QRELS.replace(" 0 a", " 1 a"), RUN),
    "qrels with an error": (QRELS + "2 0 d\n", RUN),
    "run with an error": (QRELS, RUN + "10 Q0 e 3 x t\n"),
    "document twice": (QRELS, RUN + "none Q0 a 2 0.5 t\n"),
    "empty run": (QRELS, ""),
    "no query in common": (QRELS, "z Q0 a 1 1 t\n"),
    "rows": ("query,doc,grade\n2,a,1\n", "query,doc,score\n2,a,1.5\n"),
}
OPTIONS = [[], ["--ties", "doc-ascending"], ["--ties", "rank-column"], ["--score-type", "float32"], ["--as", "ranx"]]


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str, str], list[str]]:
    def write(qrels: str, run: str) -> list[str]:
        for name, text in (("qrels", qrels), ("run", run)):
            (tmp_path / name).write_text(text)
        return [str(tmp_path / "qrels"), str(tmp_path / "run")]

    return write


def printed(args: list[str], capfd: pytest.CaptureFixture[str]) -> tuple[object, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["eval", *args])
    return ended.value.code, *capfd.readouterr()


@pytest.mark.parametrize("options", OPTIONS, ids=" ".join)
@pytest.mark.parametrize("case", CASES)
def test_output_is_the_same_as_without(
    case: str,
    options: list[str],
    files: Callable[[str, str], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    args = [*files(*CASES[case]), "-q", "--format", "json", *options]
    with_it = printed(args, capfd)
    monkeypatch.setattr(ReadAhead, "start", lambda *_: None)
    assert printed(args, capfd) == with_it


def test_what_was_read_ahead_is_used(files: Callable[[str, str], list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    if read_ahead.core is None:
        pytest.skip("only the compiled core reads ahead")
    qrels, run = files(QRELS, RUN)
    options = {"ties": "trec", "rank_by": "score", "score_type": "float64"}
    ahead = ReadAhead.start(qrels, [run], options, 1)
    assert ahead is not None
    judged = read_qrels(qrels, read_ahead=ahead.judgments)
    assert judged.index is ahead.judgments() and judged.queries == ("q", "2", "10")
    parts = ahead.parts(judged.index)
    assert parts is not None and sorted(query for part in parts for query in part.queries) == [1, 2]
    monkeypatch.setattr(streaming, "join_parts", None)
    assert join_run(judged, run, read_ahead=ahead).rank.tolist() == [1, 3, 1, 2]
    assert ahead.parts(read_qrels(qrels).index) is None


@pytest.mark.parametrize("options", [{"rank_by": "rank"}, {"ties": "rank-column"}])
def test_a_run_that_the_core_cannot_rank_is_not_read_ahead(
    options: dict[str, str], files: Callable[[str, str], list[str]]
) -> None:
    if read_ahead.core is None:
        pytest.skip("only the compiled core reads ahead")
    qrels, run = files(QRELS, RUN)
    usual = {"ties": "trec", "rank_by": "score", "score_type": "float64"}
    ahead = ReadAhead.start(qrels, [run], usual | options, 1)
    assert ahead is not None and ahead.parts(ahead.judgments()) is None


def test_a_command_knows_its_options_before_numpy_is_loaded() -> None:
    program = "import sys, cranfield.cli.eval; print({'numpy', 'scipy', 'rich'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True).strip() == "set()"
