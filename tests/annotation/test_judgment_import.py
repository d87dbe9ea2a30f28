"""Judgments in: histories, packets and qrels; twice is once."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from cranfield.annotation import (
    AssessorSession,
    JudgmentLog,
    Settings,
    adjudicate,
    export_qrels,
    import_judgments,
    open_log,
    write_history,
)
from cranfield.errors import InputError
from tests.annotation.conftest import judge_all, with_pairs
from tests.annotation.test_log import at_random


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_history_makes_the_same_log_elsewhere_and_twice_is_once(
    log: JudgmentLog, tmp_path: Path, format: str
) -> None:
    with_pairs(log, 2, 8, judgments=2, repeats=0.3)
    log.add_gold({"1": {"gold": 2.0}})
    at_random(log, random.Random(5), 80)
    file = tmp_path / f"history.{format}"
    write_history(log, file, format, all_events=True)
    with open_log(tmp_path / "other.db") as other:
        first = import_judgments(other, file, decisions=True)
        assert (first.events, first.new, first.format) == (len(list(log.events())), first.events, format)
        assert list(other.events()) == list(log.events())
        assert sorted(map(repr, other.judgments())) == sorted(map(repr, log.judgments()))
        assert export_qrels(other).qrels.to_dict() == export_qrels(log).qrels.to_dict()
        before = sorted(map(repr, other.judgments()))
        second = import_judgments(other, file, decisions=True)
        assert (second.new, second.pairs) == (0, 0) and len(list(other.events())) == first.events
        assert sorted(map(repr, other.judgments())) == before


def test_a_file_with_its_own_undo_is_not_outdated_when_it_comes_again(log: JudgmentLog, tmp_path: Path) -> None:
    with_pairs(log, 1, 3)
    session = AssessorSession(log, "ada")
    session.save("judge", "1", session.next("1").place, 2)  # type: ignore[union-attr]
    item = session.undo()
    assert item is not None
    session.save("judge", "1", item.place, 1)
    write_history(log, tmp_path / "h.jsonl")
    with open_log(tmp_path / "other.db") as other:
        import_judgments(other, tmp_path / "h.jsonl")
        again = import_judgments(other, tmp_path / "h.jsonl")
        assert (again.new, again.outdated) == (0, 0)
        (one,) = other.judgments()
        later = AssessorSession(other, "ada")
        later.save("judge", "1", later.add_found("1", one.doc, "").place, 3)
        assert import_judgments(other, tmp_path / "h.jsonl").outdated > 0


def test_two_logs_of_the_same_people_are_joined_by_time(tmp_path: Path) -> None:
    with open_log(tmp_path / "one.db") as one, open_log(tmp_path / "two.db") as two:
        for log, grade in ((one, 1), (two, 3)):
            judge_all(AssessorSession(with_pairs(log, 1, 3), "ada"), grade)
        write_history(one, tmp_path / "one.jsonl")
        # what was judged in `two` is later, though it is in the log before
        import_judgments(two, tmp_path / "one.jsonl")
        assert set(export_qrels(two).qrels.to_dict()["1"].values()) == {3.0}
        write_history(two, tmp_path / "two.jsonl")
        import_judgments(one, tmp_path / "two.jsonl")
        assert set(export_qrels(one).qrels.to_dict()["1"].values()) == {3.0}


def test_an_undo_may_come_before_what_it_takes_back(tmp_path: Path) -> None:
    lines = [
        {"key": "u", "kind": "undo", "assessor": "ada", "undoes": "j", "query": "1", "doc": "a"},
        {"key": "j", "kind": "judge", "assessor": "ada", "query": "1", "doc": "a", "grade": 2},
        {"key": "k", "kind": "judge", "assessor": "ada", "query": "1", "doc": "b", "grade": 1},
        {"key": "v", "kind": "undo", "assessor": "ada", "undoes": "k"},
    ]
    (tmp_path / "h.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with open_log(tmp_path / "log.db") as log:
        import_judgments(log, tmp_path / "h.jsonl")
        assert log.judgments() == []


def test_qrels_are_one_assessors_judgments(log: JudgmentLog, tmp_path: Path) -> None:
    (tmp_path / "nist.qrels").write_text("1 0 a 2\n1 0 b 0\n2 0 a 1\n2 0 c -1\n")
    with pytest.raises(InputError, match="qrels do not say who judged"):
        import_judgments(log, tmp_path / "nist.qrels")
    first = import_judgments(log, tmp_path / "nist.qrels", "nist")
    assert (first.events, first.new, first.pairs, first.unjudged, first.format) == (3, 3, 3, 1, "qrels")
    assert import_judgments(log, tmp_path / "nist.qrels", "nist").new == 0
    assert export_qrels(log).qrels.to_dict() == {"1": {"a": 2, "b": 0}, "2": {"a": 1}}
    assert {event.method for event in log.events()} == {"import"}


def test_qrels_that_are_imported_again_do_not_undo_what_was_judged_since(log: JudgmentLog, tmp_path: Path) -> None:
    (tmp_path / "old.qrels").write_text("1 0 a 2\n1 0 b 0\n")
    import_judgments(log, tmp_path / "old.qrels", "ada")
    session = AssessorSession(log, "ada")
    session.save("judge", "1", session.add_found("1", "a", "").place, 3)
    again = import_judgments(log, tmp_path / "old.qrels", "ada")
    assert (again.new, again.outdated) == (0, 1)
    assert export_qrels(log).qrels.to_dict()["1"] == {"a": 3, "b": 0}


def test_judgments_by_a_model_are_marked(log: JudgmentLog, tmp_path: Path) -> None:
    (tmp_path / "gpt.qrels").write_text("1 0 a 2\n")
    import_judgments(log, tmp_path / "gpt.qrels", "gpt", is_model=True)
    assert log.models() == {"gpt"}


def test_other_grades_are_taken_over_by_a_new_log_and_refused_by_one_that_has_its_own(tmp_path: Path) -> None:
    (tmp_path / "odd.qrels").write_text("1 0 a 4\n1 0 b 0.5\n")
    with open_log(tmp_path / "new.db") as log:
        import_judgments(log, tmp_path / "odd.qrels", "ada")
        assert log.settings.scale.values == (0.5, 4.0)
    with open_log(tmp_path / "old.db") as log:
        with_pairs(log, 1, 1)
        with pytest.raises(InputError, match=r"odd.qrels: grade 0.5 is not one of the grades of .*, 0, 1, 2, 3"):
            import_judgments(log, tmp_path / "odd.qrels", "ada")
        assert list(log.events()) == []


def test_a_history_of_ones_own_needs_little(tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_text("assessor,query,doc,grade\nada,1,a,2\nbob,1,a,0\n")
    with open_log(tmp_path / "log.db") as log:
        assert import_judgments(log, tmp_path / "mine.csv").new == 2
        assert import_judgments(log, tmp_path / "mine.csv").new == 0
        assert {one.assessor: one.grade for one in log.judgments()} == {"ada": 2, "bob": 0}


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("h.jsonl", '{"judgments": {}}\n{"kind": "judge"', "h.jsonl, line 2: invalid JSON"),
        ("h.jsonl", '{"judgments": {}}\n[1]\n', "line 2: expected a JSON object, found list"),
        ("h.jsonl", '{"assessor": "a", "query": "1", "doc": "d"}\n', "line 1: an event of kind 'judge' needs a grade"),
        ("h.jsonl", '{"judgments": {}}\n{"query": "1", "doc": "d", "grade": 1}\n', "line 2: the assessor is missing"),
        (
            "h.jsonl",
            '{"assessor": "a", "query": "1", "doc": "d", "grade": 9}\n',
            "'d' of query '1': grade 9 is not one of",
        ),
        (
            "h.jsonl",
            '{"assessor": "a", "query": "1", "doc": "d", "grade": 1, "judged_at": "noon"}\n',
            "not an ISO 8601 time",
        ),
        ("h.jsonl", '{"judgments": {"grades": [1]}}\n', "line 1: grades: expected"),
        ("h.csv", "assessor,query,doc,grade\na,1,d\n", "line 2: expected 4 columns, found 3"),
        ("h.csv", "assessor,query,doc,grade\na,1,d,much\n", "line 2: grade 'much' is not a decimal number"),
        ("h.txt", "", "the file is empty"),
    ],
)
def test_bad_files_are_said_with_their_line(tmp_path: Path, name: str, content: str, told: str) -> None:
    (tmp_path / name).write_text(content)
    with open_log(tmp_path / "log.db") as log:
        with_pairs(log, 1, 1)
        with pytest.raises(InputError, match=told):
            import_judgments(log, tmp_path / name)
        assert list(log.events()) == []


def test_no_event_is_from_tomorrow(tmp_path: Path) -> None:
    line = {"assessor": "ada", "query": "1", "doc": "a", "grade": 1, "judged_at": "2999-01-01T00:00:00Z"}
    (tmp_path / "h.jsonl").write_text(json.dumps(line) + "\n")
    with open_log(tmp_path / "log.db") as log:
        import_judgments(log, tmp_path / "h.jsonl")
        (event,) = log.events()
        assert event.recorded_at < "2999" < event.judged_at


def test_real_assessors_are_exported_as_they_were(shared_data: Path, tmp_path: Path) -> None:
    from cranfield.io import read_qrels

    with open_log(tmp_path / "log.db") as log:
        for number in (1, 2):
            import_judgments(log, shared_data / f"agreement/dl19.assessor{number}.qrels", f"assessor{number}")
        for number in (1, 2):
            expected = read_qrels(shared_data / f"agreement/dl19.assessor{number}.qrels").to_dict()
            assert export_qrels(log, assessors=[f"assessor{number}"]).qrels.to_dict() == expected
        from cranfield.annotation import measure_agreement

        assert measure_agreement(log)["percent"].n == 1111  # pairs in common, of 1,115 each


LINE = {"key": "n", "kind": "judge", "assessor": "ada", "query": "1", "doc": "a", "grade": 3}


def written(folder: Path, *lines: Mapping[str, object]) -> Path:
    file = folder / "sent.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in ({"judgments": {"version": 1}}, *lines)))
    return file


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ({"active_ms": 1e300}, "line 2: active_ms: expected milliseconds"),
        ({"active_ms": -1}, "line 2: active_ms: expected milliseconds"),
        ({"place": 10**40}, "line 2: place 1e\\+40: expected a whole number"),
        ({"place": 1.5}, "line 2: place 1.5: expected a whole number"),
        ({"place": "x"}, "line 2: place 'x' is not a decimal number"),
        ({"doc": "a b"}, "doc id 'a b' cannot be written to qrels"),
        ({"query": "# 1"}, "query id '# 1' cannot be written to qrels"),
        ({"kind": "adjudicate"}, "line 2: an adjudication is imported only .* --decisions"),
        ({"gold": 0}, "line 2: a gold grade is imported only .* --decisions"),
    ],
)
def test_what_no_assessor_sends_is_refused(tmp_path: Path, line: dict[str, object], told: str) -> None:
    with open_log(tmp_path / "log.db") as log:
        with pytest.raises(InputError, match=told):
            import_judgments(log, written(tmp_path, LINE | line))
        assert list(log.events()) == [] and log.pairs() == []


def test_an_assessor_neither_decides_nor_takes_decisions_back(log: JudgmentLog, tmp_path: Path) -> None:
    log.configure(Settings(judgments=2))
    log.add_pairs({"1": ["a"]})
    for name, grade in (("ada", 0), ("grace", 3)):
        judge_all(AssessorSession(log, name), grade)
    decision = adjudicate(log, "cora", "1", "a", 2)
    undo = {"key": "u", "kind": "undo", "assessor": "cora", "undoes": decision.key, "query": "1", "doc": "a"}
    with pytest.raises(InputError, match="an adjudication is undone only"):
        import_judgments(log, written(tmp_path, undo))
    # to take back what another decided is to take back nothing
    import_judgments(log, written(tmp_path, undo | {"assessor": "ada"}))
    assert export_qrels(log).qrels.to_dict() == {"1": {"a": 2}}
    # a history of one's own has everything
    write_history(log, tmp_path / "own.jsonl")
    with open_log(tmp_path / "copy.db") as copy:
        import_judgments(copy, tmp_path / "own.jsonl", decisions=True)
        assert export_qrels(copy).qrels.to_dict() == {"1": {"a": 2}}
    import_judgments(log, written(tmp_path, undo), decisions=True)
    assert export_qrels(log, "max").qrels.to_dict() == {"1": {"a": 3}}


def test_a_file_of_somebody_who_is_named_holds_nothing_of_others(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        with pytest.raises(InputError, match="line 3: this event is by 'grace', expected only events by 'ada'"):
            import_judgments(log, written(tmp_path, LINE, LINE | {"assessor": "grace"}), "ada")
        assert list(log.events()) == []
        assert import_judgments(log, written(tmp_path, LINE, {**LINE, "assessor": "", "key": "m"}), "ada").new == 2


@pytest.mark.parametrize(
    ("last", "told"),
    [
        ({"doc": "y", "grade": 7}, "line 1502: document 'y' of query '1': grade 7 is not one of"),
        ({"doc": "y z", "grade": 1}, "line 1502: .*cannot be written to qrels"),
        ({"doc": "y", "grade": 1, "key": "k"}, "line 1502: the key 'k' is used by another event"),
    ],
)
def test_of_a_file_with_a_bad_line_nothing_is_taken_up(
    log: JudgmentLog, tmp_path: Path, last: dict[str, object], told: str
) -> None:
    lines: list[dict[str, object]] = [{"doc": f"x{i}", "grade": 1} for i in range(1500)]
    lines += [{"doc": "x", "grade": 1, "key": "k"}, last]
    file = tmp_path / "h.jsonl"
    file.write_text("\n".join(json.dumps({"assessor": "ada", "query": "1"} | line) for line in lines))
    with pytest.raises(InputError, match=told):
        import_judgments(log, file)
    assert list(log.events()) == [] and log.pairs() == [] and log.assessors() == ()


def test_qrels_are_told_by_line_too(tmp_path: Path) -> None:
    (tmp_path / "q.qrels").write_text("1 0 a 1\n1 0 b 0\n1 0 c 9\n")
    with open_log(tmp_path / "log.db") as log:
        log.configure(Settings())
        log.add_pairs({"1": ["a"]})
        with pytest.raises(InputError, match="grade 9 is not one of"):
            import_judgments(log, tmp_path / "q.qrels", "nist")
        assert list(log.events()) == [] and len(log.pairs()) == 1
