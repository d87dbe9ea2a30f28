"""Adjudicating in a terminal: disagreements one after the other, without names, and a grade that counts."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.annotation import AssessorSession, JudgmentLog, adjudicate, export_qrels, list_disputes, open_log
from cranfield.annotation.documents import TextLookup
from cranfield.annotation.terminal.adjudication_session import AdjudicationSession
from cranfield.annotation.terminal.lines import run_in_lines
from cranfield.cli import commands
from cranfield.data.collection import Document, Topic
from cranfield.pooling.pool import Pool, write_pool
from tests.annotation.test_screen import Terminal

GRADES = {"ada": {"a": 0, "b": 1, "c": 3}, "grace": {"a": 3, "b": 1, "c": 1}}
TOPICS = [Topic("1", "flat tyres", "How do I mend a flat tyre?", ""), Topic("2", "bells", "", "")]
DOCUMENTS = [Document(doc, f"Text of {doc} about tyres.", f"Title {doc}") for doc in "abc"]


@pytest.fixture
def disputed(tmp_path: Path) -> Iterator[JudgmentLog]:
    """Two judges differ on a and c, of each of two topics."""
    with open_log(tmp_path / "pool.judgments.db") as log:
        from cranfield.base import replace

        log.configure(replace(log.settings, judgments=2))
        log.add_pairs({"1": ["a", "b", "c"], "2": ["a", "b", "c"]})
        for name, grades in GRADES.items():
            session = AssessorSession(log, name)
            while (item := session.next()) is not None:
                session.save("judge", item.query, item.place, grades[item.doc], note=f"{item.doc} seen")
        yield log


def said(log: JudgmentLog, *lines: str, names: bool = False) -> str:
    out = io.StringIO()
    texts = TextLookup.of(TOPICS, DOCUMENTS, "abc")
    settling = AdjudicationSession(log, "eve", texts, "line", names=names)
    run_in_lines(settling, io.StringIO("".join(f"{line}\n" for line in lines)), out)
    return out.getvalue()


def test_a_digit_decides_and_goes_on(disputed: JudgmentLog) -> None:
    text = said(disputed, "n read twice", "2", "1", "0", "3")
    assert "Topic 1: flat tyres" in text and "Text of a about tyres." in text
    assert "Disagreement 1 of 4, 4 undecided: a" in text
    assert "Judged 0 Not relevant: a seen\nJudged 3 Highly relevant: a seen\n" in text
    assert "Decided: 2 Relevant." in text and text.endswith("Decided: 3 Highly relevant. All are decided.\n")
    decided = [event for event in disputed.events() if event.kind == "adjudicate"]
    assert [(one.query, one.doc, one.grade, one.note) for one in decided] == [
        ("1", "a", 2, "read twice"),
        ("1", "c", 1, None),
        ("2", "a", 0, None),
        ("2", "c", 3, None),
    ]
    assert {(one.assessor, one.method) for one in decided} == {("eve", "line")} and list_disputes(disputed) == []
    assert export_qrels(disputed, "max").qrels.to_dict()["1"] == {"a": 2, "b": 1, "c": 1}
    assert said(disputed) == "There are no disagreements to decide.\n"


def test_who_gave_which_grade_is_told_only_if_asked_for(disputed: JudgmentLog) -> None:
    blind = said(disputed, "?", "s", "b", "g")
    assert "ada" not in blind and "grace" not in blind
    assert "Judged 0 Not relevant, ada: a seen" in said(disputed, names=True)


def test_every_key_does_what_it_says(disputed: JudgmentLog) -> None:
    text = said(disputed, "s", "b", "b", "f", "x", "t", "1", "u", "q")
    for expected in (
        "Left undecided.",
        "This is the first disagreement.",
        "A decision must be a grade; s leaves it undecided.",
        "Topic 2: bells",
        "Decided: 1 Related.",
        "Undone.",
    ):
        assert expected in text, expected
    kinds = [event.kind for event in disputed.events() if event.assessor == "eve"]
    assert kinds == ["adjudicate", "undo"] and len(list_disputes(disputed)) == 4
    assert "cannot" not in said(disputed, "?").lower() and "leave it undecided" in said(disputed, "?")
    assert "There is nothing to undo." in said(disputed, "u")
    assert said(disputed, *"ssss").endswith("Left undecided. 4 pairs left undecided.\n")


def test_going_back_shows_what_was_decided_and_another_grade_replaces_it(disputed: JudgmentLog) -> None:
    text = said(disputed, "2", "b", "3")
    assert "Decided: 2 (Relevant)." in text
    assert export_qrels(disputed).qrels.to_dict()["1"]["a"] == 3


def test_what_others_decided_meanwhile_is_not_asked_for(disputed: JudgmentLog) -> None:
    settling = AdjudicationSession(disputed, "eve", TextLookup({}, {}), "key")
    adjudicate(disputed, "mary", "1", "c", 2)
    settling.grade(settling.scale.grades[0])
    assert settling.item is not None and (settling.item.query, settling.item.doc) == ("2", "a")
    session = AssessorSession(disputed, "grace")
    place = next(item.place for item in session.own_items() if (item.query, item.doc) == ("2", "c"))
    session.save("judge", "2", place, GRADES["ada"]["c"])  # they agree now
    settling.grade(settling.scale.grades[0])
    assert settling.item is None and "All are decided." in settling.message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_pool(Pool({"1": ("a", "b", "c"), "2": ("a", "b", "c")}), tmp_path / "pool.jsonl")
    (tmp_path / "topics.tsv").write_text("1\tflat tyres\n2\tbells\n")
    (tmp_path / "documents.jsonl").write_text("".join(f'{{"id": "{d}", "text": "tyres"}}\n' for d in "abc"))
    return tmp_path


def test_on_a_screen_the_opinions_stand_above_the_grades(disputed: JudgmentLog, folder: Path) -> None:
    terminal = Terminal(folder, "--assessor", "eve", "--adjudicate")
    try:
        shown = terminal.wait("q quit")
        assert shown.index("Judged 3 Highly relevant: a seen") < shown.index("0   Not relevant")
        assert "disagreement 1 of 4, 4 undecided" in shown and "cannot" not in shown and "ada" not in shown
        terminal.press("2", "Decided: 2 Relevant.")
        terminal.press("u", "Undone.")
        terminal.press("q", "left to adjudicate")
        assert terminal.ended() == 0
    finally:
        terminal.close()


def test_the_command_adjudicates_with_the_log_beside_the_pool(
    disputed: JudgmentLog, folder: Path, tmp_path: Path
) -> None:
    files = ["--topics", str(tmp_path / "topics.tsv"), "--documents", str(tmp_path / "documents.jsonl")]
    judge = ["judge", str(tmp_path / "pool.jsonl"), *files, "--assessor", "eve"]
    done = CliRunner().invoke(commands, [*judge, "--adjudicate"], input="2\ns\nq\n")
    assert done.exit_code == 0, done.output
    assert "Decided: 2 Relevant." in done.output and "1 pair decided, 3 left to adjudicate" in done.output
    assert [one.kind for one in disputed.events()][-1] == "adjudicate"
    refused = CliRunner().invoke(commands, [*judge, "--names"])
    assert refused.exit_code != 0 and "--names needs --adjudicate" in str(refused.output) + str(refused.exception)
