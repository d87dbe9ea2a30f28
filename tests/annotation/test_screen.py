"""Judging in a terminal: by lines in a pipe, by keys on a screen, which is left as it was."""

from __future__ import annotations

import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import sys
import termios
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.annotation import AssessorSession, JudgmentLog, Settings, export_qrels, open_log
from cranfield.annotation.documents import Highlighter, TextLookup, find_phrase
from cranfield.annotation.keybindings import ACTIONS_BY_KEY, JUDGING_ACTIONS
from cranfield.annotation.terminal.judging_session import JudgingSession
from cranfield.annotation.terminal.lines import run_in_lines
from cranfield.annotation.terminal.session import MAX_IDLE
from cranfield.annotation.terminal.text_layout import (
    count_columns,
    locate_spans,
    make_printable,
    wrap_paragraph,
    wrap_text,
)
from cranfield.data.collection import Document, Topic
from cranfield.pooling.pool import Pool, write_pool
from tests.waiting import wait_until

TOPICS = [
    Topic("1", "flat tyres", "How do I mend a flat tyre?", "Repair is relevant.\nRacing is not."),
    Topic("2", "bells", "Which bell is loudest?", ""),
]
DOCUMENTS = [
    Document("a", "Pull the tyre off. " * 80, "Mending a flat", {"url": "http://host/a"}),
    Document("b", "Tyres are round.", "Round things"),
    Document("c", "\x1b[2J\x1b]0;gotcha\x07 evil", "Evil"),
    Document("d", ""),
]


def sitting(log: JudgmentLog, assessor: str = "ada") -> JudgingSession:
    texts = TextLookup.of(TOPICS, DOCUMENTS, [pair.doc for pair in log.pairs()])
    return JudgingSession(AssessorSession(log, assessor), texts, "line")


def said(log: JudgmentLog, *lines: str) -> str:
    """What is printed for some lines of input."""
    out = io.StringIO()
    run_in_lines(sitting(log), io.StringIO("".join(f"{line}\n" for line in lines)), out)
    return out.getvalue()


@pytest.fixture
def two_topics(tmp_path: Path) -> Iterator[JudgmentLog]:
    with open_log(tmp_path / "log.db") as log:
        log.add_pairs({"1": ["a", "b", "c", "d", "missing"], "2": ["a", "b"]})
        yield log


def test_a_digit_saves_and_goes_on(two_topics: JudgmentLog) -> None:
    text = said(two_topics, "2", "0")
    assert "Saved: 2 Relevant." in text and "Saved: 0 Not relevant." in text
    assert [event.grade for event in two_topics.events()] == [2, 0]
    assert {event.method for event in two_topics.events()} == {"line"}
    assert "Document 3 of 5, 3 left" in text


def test_the_topic_and_the_grades_are_always_in_sight(two_topics: JudgmentLog) -> None:
    for shown in said(two_topics, "2", "1").split("> ")[:3]:
        assert "Topic 1 (topic 1 of 2): flat tyres" in shown and "How do I mend a flat tyre?" in shown
        assert "Racing is not." in shown
        assert "3  Highly relevant: It is about the topic and answers it fully." in shown


def test_every_key_does_what_it_says(two_topics: JudgmentLog) -> None:
    text = said(
        two_topics, "n too short", "x broken", "s", "b", "u", "2", "t", "3", "1", "g", "h", "?", "/tyre", "zz", "q", "3"
    )
    kinds = [(event.kind, event.note) for event in two_topics.events()]
    assert kinds[:3] == [("note", "too short"), ("cannot", "broken"), ("skip", None)]
    assert kinds[3][0] == "undo" and [kind for kind, _ in kinds[4:]] == ["judge", "judge", "judge"]
    for expected in (
        "Note saved.",
        "Saved: Cannot be judged.",
        "You skipped it.",
        "Undone.",
        "Topic 2 (topic 2 of 2): bells",
        "Imagine that you are writing a report on the topic.",
        "'zz' is not a key",
        "u  Undo: revert your last action",
        "Topic 2 is done; this is topic 1.",
    ):
        assert expected in text, expected
    assert text.rstrip().endswith(">")  # q ends it: the 3 behind it judges nothing


def test_guidelines_are_one_key_away_and_words_are_marked_when_asked_for(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        log.configure(Settings(guidelines="Read it all.\n\nThen judge."))
        log.add_pairs({"1": ["b"]})
        text = said(log, "g", "h", "h", "/are round", "/zebra", "/")
    assert "Read it all.\n\nThen judge." in text
    assert text.count("*Tyres* are round.") == 1
    assert "Found once." in text and "Found 0 times." in text and "after the /" in text


def test_a_document_cannot_steer_the_terminal(two_topics: JudgmentLog) -> None:
    text = said(two_topics, "0", "0", "0", "0", "0")
    assert "\x1b" not in text and "\x07" not in text and "evil" in text
    assert "(The text of this document is missing.)" in text and "(This document is empty.)" in text
    assert make_printable("a\u202eb\udcffc") == "a\ufffdb\ufffdc"


def test_the_end_of_input_ends_it_and_the_next_sitting_goes_on(two_topics: JudgmentLog) -> None:
    first = said(two_topics, "2")
    second = said(two_topics)
    assert "Document 2 of 5, 4 left" in first and "Document 2 of 5, 4 left" in second
    assert second.split("Document")[1].split("\n")[1] == first.split("Document")[2].split("\n")[1]


def test_everything_judged_is_said(two_topics: JudgmentLog) -> None:
    assert "Everything is judged." in said(two_topics, *"1111111")
    assert said(two_topics) == "Everything is judged.\n"
    assert "Nothing is assigned" not in said(two_topics)


def test_time_away_does_not_count(two_topics: JudgmentLog) -> None:
    moment = 100.0
    db = JudgingSession(AssessorSession(two_topics, "ada"), TextLookup({}, {}), "key", clock=lambda: moment)
    moment += 3
    db.record_key()
    moment += 10_000
    db.record_key()
    db.grade(db.scale.grades[1])
    (event,) = two_topics.events()
    assert event.active_ms == 3000 + MAX_IDLE * 1000 and event.shown_at is not None


def test_what_was_taken_back_is_not_counted_and_what_was_judged_again_counts_once(two_topics: JudgmentLog) -> None:
    db = sitting(two_topics)
    low, *_, high = db.scale.grades
    db.grade(high)
    assert db.judged == 1
    db.undo()
    assert db.judged == 0
    db.cannot()
    db.skip()
    assert db.judged == 0
    db.grade(high)
    db.back()
    db.grade(low)
    db.back()
    db.note("hm")
    assert db.judged == 1
    db.undo()
    db.undo()
    assert db.judged == 1  # the first grade holds again
    db.cannot()
    assert db.judged == 0
    db.undo()
    assert db.judged == 1
    db.undo()
    assert db.judged == 0


def test_to_take_back_what_an_earlier_sitting_did_counts_nothing(two_topics: JudgmentLog) -> None:
    said(two_topics, "3", "3")
    db = sitting(two_topics)
    db.undo()
    assert db.judged == 0
    db.grade(db.scale.grades[0])
    db.back()
    db.grade(db.scale.grades[1])
    assert db.judged == 1


def test_words_are_found_whatever_their_endings() -> None:
    assert Highlighter(Topic("1", "the repair of tyres")).words(["Repaired tyre, the repairing of TYRES"]) == [
        "repaired",
        "repairing",
        "tyre",
        "tyres",
    ]
    assert find_phrase("a.b axb", "a.b") == [(0, 3)] and find_phrase("abc", " ") == []
    assert find_phrase("a flat\n tyre", "flat  tyre") == [(2, 12)]


def test_wide_characters_are_wrapped_by_their_width() -> None:
    lines = wrap_paragraph("検索エンジンの評価は難しい and so on", 10)
    assert all(count_columns(line) <= 10 for line in lines)
    assert "".join(lines).replace(" ", "") == "検索エンジンの評価は難しいandsoon"


@given(
    text=st.text("ab \n\u3042\u00a0", max_size=60),
    words=st.text("ab\u3042 ", min_size=1, max_size=5),
    width=st.integers(2, 9),
)
def test_what_is_found_is_marked_wherever_lines_are_broken(text: str, words: str, width: int) -> None:
    lines = wrap_text(text, width)
    spans = find_phrase(text, words)
    found = locate_spans(text, lines, spans)
    marked = "".join(lines[number][first:last] for number in sorted(found) for first, last in found[number])
    expected = "".join(text[first:last] for first, last in spans)
    assert "".join(marked.split()) == "".join(expected.split())
    assert bool(found) == bool(spans)


def test_no_key_has_two_meanings() -> None:
    keys = [key for action in JUDGING_ACTIONS for key in action.keys]
    assert len(keys) == len(set(keys)) == len(ACTIONS_BY_KEY) and not any(key.isdigit() or key == "q" for key in keys)


# On a screen


class Terminal:
    """A terminal of its own that a command runs in."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.read = b""
        call = ["judge", "pool.jsonl", "--topics", "topics.tsv", "--documents", "documents.jsonl", *more]
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.chdir(folder)
            os.environ.update(TERM="xterm", COLUMNS="80", LINES="24")
            os.environ.pop("NO_COLOR", None)
            os.execv(sys.executable, [sys.executable, "-m", "cranfield", *call])
        self.before = termios.tcgetattr(self.fd)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def press(self, keys: str, until: str) -> str:
        """Press keys and wait for a text to be shown; all that was shown since."""
        os.write(self.fd, keys.encode())
        return self.wait(until)

    def wait(self, until: str) -> str:
        start = len(self.read)

        def is_shown() -> bool:
            self._take()
            return until in plain(self.read[start:])

        wait_until(is_shown, lambda: f"{until!r} did not come:\n{plain(self.read[start:])}")
        return plain(self.read[start:])

    def ended(self) -> int:
        """The exit code."""
        wait_until(lambda: not self._take(), lambda: f"it does not end:\n{plain(self.read[-2000:])}")
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        self.pid = 0
        return code

    def close(self) -> None:
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)

    def _take(self) -> bool:
        if select.select([self.fd], [], [], 0.05)[0]:
            try:
                self.read += os.read(self.fd, 65536)
            except OSError:
                return False
        return True


def plain(content: bytes) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", content.decode("utf-8", "replace"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "topics.tsv").write_text("1\tflat tyres\n2\tbells\n")
    (tmp_path / "documents.jsonl").write_text('{"_id": "a", "text": "A tyre."}\n{"_id": "b", "text": "A bell."}\n')
    write_pool(Pool({"1": ("a", "b"), "2": ("a",)}), tmp_path / "pool.jsonl")
    return tmp_path


@pytest.fixture
def terminal(folder: Path) -> Iterator[Terminal]:
    opened = Terminal(folder, "--assessor", "ada")
    yield opened
    opened.close()


def test_keys_act_at_once_on_a_screen(folder: Path, terminal: Terminal) -> None:
    first = terminal.wait("q quit")
    assert "flat tyres" in first and "document 1 of 2, 2 left" in first and "3   Highly relevant" in first
    assert terminal.press("2", "Saved: 2 Relevant.").count("document 2 of 2") == 1
    terminal.press("u", "Undone.")
    terminal.press("n", "Note (return saves")
    terminal.press("hm2\x7f \u00e9\r", "Note saved.")
    terminal.press("/", "Find: ")
    terminal.press("tyre\x1b", "Note: hm")
    terminal.press("?", "any other key continues")
    terminal.press(" ", "any other key continues")
    terminal.press("g", "q quit")  # it closes the sheet, and does nothing else
    terminal.press("\x1b[D", "This is the first document")
    terminal.press("x", "Saved: Cannot be judged.")
    terminal.press("0", "Topic 1 is done; this is topic 2.")
    terminal.press("q", "judged")
    assert terminal.ended() == 0
    with open_log(folder / "pool.judgments.db") as log:
        assert [event.kind for event in log.events()] == ["judge", "undo", "note", "cannot", "judge"]
        assert [one.note for one in log.judgments() if one.kind == "cannot"] == ["hm \u00e9"]
        assert {event.method for event in log.events()} == {"key"}
        assert set(export_qrels(log).qrels.to_dict()["1"].values()) == {0.0}


def test_a_sheet_that_is_all_in_sight_is_closed_by_any_key(folder: Path) -> None:
    (folder / "guidelines.txt").write_text("Read all of it.")
    terminal = Terminal(folder, "--guidelines", "guidelines.txt")
    try:
        terminal.wait("q quit")
        for key in (" ", "\x1b[B", "z"):
            assert "scroll" not in terminal.press("g", "any key continues")
            terminal.press(key, "q quit")
    finally:
        terminal.close()


def test_who_quits_is_told_of_the_end_only(terminal: Terminal) -> None:
    terminal.wait("q quit")
    terminal.press("h", "Highlighting is off.")
    terminal.press("h", "Highlighting is on.")
    terminal.press("3", "Saved: 3")
    terminal.press("u", "Undone.")
    os.write(terminal.fd, b"q")
    assert terminal.ended() == 0
    end = plain(terminal.read[terminal.read.rindex(b"\x1b[?1049l") :])
    assert end.strip() == "0 documents judged; to write qrels: cranfield judgments export pool.judgments.db"


def test_who_comes_when_everything_is_judged_is_told_so(folder: Path) -> None:
    with open_log(folder / "pool.judgments.db") as log:
        log.add_pool(folder / "pool.jsonl")
        judge_everything(log, "ada")
    terminal = Terminal(folder, "--assessor", "ada")
    try:
        assert terminal.ended() == 0
        assert plain(terminal.read).startswith("Everything is judged.\r\n") and b"\x1b[?1049h" not in terminal.read
    finally:
        terminal.close()


def test_a_phrase_is_found_where_the_screen_breaks_it(folder: Path) -> None:
    text = "Pull the tyre off the rim. " * 40 + "\n" + "x" * 73 + " inner\ttube" + " y" * 400 + "検索" * 60
    (folder / "documents.jsonl").write_text("".join(json.dumps({"_id": d, "text": text}) + "\n" for d in "ab"))
    terminal = Terminal(folder)
    try:
        terminal.wait("q quit")
        for words, said in (
            ("pull  the", "Found 40 times: pull  the"),
            ("inner tube", "Found once: inner tube"),
            ("y検", "Found once: y検"),
            ("zebra", "Found 0 times: zebra"),
        ):
            terminal.press("/", "Find: ")
            terminal.press(f"{words}\r", said)
        terminal.press("/", "Find: ")
        start = len(terminal.read)
        terminal.press("inner tube\r", "Found once")
        marked = terminal.read[start:].decode()
        assert "\x1b[7minner\x1b[0m" in marked and "\x1b[7mtube\x1b[0m" in marked
    finally:
        terminal.close()


@pytest.mark.parametrize("ending", ["q", "\x03", "TERM", "HUP"])
def test_the_terminal_is_left_as_it_was_however_it_ends(terminal: Terminal, ending: str) -> None:
    terminal.wait("q quit")
    assert termios.tcgetattr(terminal.fd)[3] & termios.ICANON == 0
    if ending in ("TERM", "HUP"):
        os.kill(terminal.pid, getattr(signal, f"SIG{ending}"))
    else:
        os.write(terminal.fd, ending.encode())
    assert terminal.ended() == {"q": 0, "\x03": 130}.get(ending, 143)
    assert terminal.read.count(b"\x1b[?25l") == terminal.read.count(b"\x1b[?25h") == 1
    assert b"Traceback" not in terminal.read


def test_the_terminal_is_left_as_it_was_when_something_breaks(folder: Path, terminal: Terminal) -> None:
    terminal.wait("q quit")
    with closing(sqlite3.connect(folder / "pool.judgments.db")) as other:
        other.execute("DROP TABLE places")
    os.write(terminal.fd, b"2")
    assert terminal.ended() == 2
    assert terminal.read.count(b"\x1b[?1049l") == 1 and b"Traceback" not in terminal.read
    assert "SQLite says: no such table" in plain(terminal.read).rpartition("q quit")[2]


def test_who_quits_lets_others_have_the_document(two_topics: JudgmentLog, tmp_path: Path) -> None:
    first = sitting(two_topics)
    assert first.item is not None
    others = judge_everything(two_topics, "grace")
    assert (first.item.query, first.item.doc) not in others
    first.close()
    assert judge_everything(two_topics, "grace") == {(first.item.query, first.item.doc)}


def judge_everything(log: JudgmentLog, name: str) -> set[tuple[str, str]]:
    session, seen = AssessorSession(log, name), set()
    while (item := session.next()) is not None:
        seen.add((item.query, item.doc))
        session.save("judge", item.query, item.place, 1)
    return seen
