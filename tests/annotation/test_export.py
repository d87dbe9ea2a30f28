"""Judgments out: by a rule, of a sample, the whole history; gold pairs, repeats and "cannot judge" stay out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cranfield.annotation import (
    AssessorSession,
    Event,
    JudgingError,
    JudgmentLog,
    Scale,
    Settings,
    export_qrels,
    import_judgments,
    open_log,
    write_history,
)
from cranfield.annotation.export import count_events
from cranfield.data.collection import Qrels
from cranfield.errors import InputError
from cranfield.io import read_qrels, write_qrels
from cranfield.reporting.annotation import describe_export
from tests.annotation.conftest import judge_all, with_pairs

GRADES: dict[str, dict[str, float | None]] = {
    "ada": {"a": 0, "b": 1, "c": 3, "d": None},
    "bob": {"a": 0, "b": 2, "c": 2},
    "cyd": {"a": 1, "b": 2, "c": 0},
}


@pytest.fixture
def judged(log: JudgmentLog) -> JudgmentLog:
    """Three assessors; nobody can judge d, nobody has come to e."""
    log.configure(Settings(judgments=3))
    log.add_pairs({"1": ["a", "b", "c", "d", "e"]})
    for name, own in GRADES.items():
        session = AssessorSession(log, name)
        session.next("1")
        for place in range(1, 6):
            item = session.item_at("1", place)
            if item.doc in own:
                grade = own[item.doc]
                session.save("cannot" if grade is None else "judge", "1", place, grade)
    return log


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("majority", {"a": 0, "b": 2, "c": 0}),  # c has three grades: the lowest of those that tie
        ("median", {"a": 0, "b": 2, "c": 2}),
        ("mean", {"a": 1 / 3, "b": 5 / 3, "c": 5 / 3}),
        ("max", {"a": 1, "b": 2, "c": 3}),
        ("min", {"a": 0, "b": 1, "c": 0}),
    ],
)
def test_rules_make_one_grade_of_several(judged: JudgmentLog, rule: str, expected: dict[str, float]) -> None:
    assert export_qrels(judged, rule).qrels.to_dict()["1"] == pytest.approx(expected)


def test_the_primary_assessor_counts_first(judged: JudgmentLog) -> None:
    assert export_qrels(judged, "primary", primary="cyd").qrels.to_dict()["1"] == {"a": 1, "b": 2, "c": 0}
    assert export_qrels(judged, assessors=["bob"]).qrels.to_dict()["1"] == {"a": 0, "b": 2, "c": 2}
    with pytest.raises(InputError, match="unknown assessor 'zoe'"):
        export_qrels(judged, assessors=["zoe"])


def test_conflicts_are_listed(judged: JudgmentLog) -> None:
    found = export_qrels(judged)
    assert [(one.doc, dict(one.grades), one.grade, one.adjudicated) for one in found.disagreements] == [
        ("a", {"ada": 0, "bob": 0, "cyd": 1}, 0, False),
        ("b", {"ada": 1, "bob": 2, "cyd": 2}, 2, False),
        ("c", {"ada": 3, "bob": 2, "cyd": 0}, 0, False),
    ] or {one.doc for one in found.disagreements} == {"a", "b", "c"}
    assert "the grade that most assessors gave" in found.rule


def test_what_cannot_be_judged_is_no_grade_and_certainly_no_0(judged: JudgmentLog) -> None:
    found = export_qrels(judged)
    assert set(found.qrels.to_dict()["1"]) == {"a", "b", "c"}
    notes = " ".join(found.notes)
    assert "1 pair that nobody could judge: no grade, not 0" in notes and "1 pair without a judgment" in notes
    marked = export_qrels(judged, unjudged=True).qrels.to_dict()["1"]
    assert (marked["d"], marked["e"]) == (-1, -1)


def test_models_are_left_out_unless_asked_for(judged: JudgmentLog) -> None:
    judged.mark_model("bob")
    found = export_qrels(judged, "max")
    assert found.assessors == ("ada", "cyd") or set(found.assessors) == {"ada", "cyd"}
    assert any("by a model left out ('bob')" in note for note in found.notes)
    assert not found.provenance.is_model
    assert set(export_qrels(judged, with_models=True).assessors) == {"ada", "bob", "cyd"}
    assert export_qrels(judged, with_models=True).provenance.is_model


def test_gold_pairs_and_repeats_are_in_no_export(log: JudgmentLog) -> None:
    with_pairs(log, 1, 6, repeats=0.5)
    log.add_gold({"1": {"g1": 2.0}})
    session, seen = AssessorSession(log, "ada"), set()
    while (item := session.next()) is not None:
        session.save("judge", "1", item.place, 3 if item.doc in seen else 1)
        seen.add(item.doc)
    found = export_qrels(log)
    assert found.qrels.to_dict()["1"] == {f"d1-{i}": 1.0 for i in range(6)}
    assert {"1 gold pair left out.", "3 repeats left out."} <= set(found.notes)
    assert "g1" not in export_qrels(log, unjudged=True).qrels.to_dict()["1"]


def test_a_sample_gives_five_columns(tmp_path: Path, log: JudgmentLog) -> None:
    form = Qrels.from_rows(["1"] * 4, ["a", "b", "c", "d"], [-1] * 4, extra={"stratum": ["1", "1", "2", "2"]})
    log.add_pairs({"1": ["a", "c"]})
    session = AssessorSession(log, "ada")
    judge_all(session, 2)
    session.save("judge", "1", session.add_found("1", "elsewhere", "words").place, 3)
    found = export_qrels(log, sample=form)
    write_qrels(found.qrels, tmp_path / "sample.qrels", "sampled")
    rows = [line.split() for line in (tmp_path / "sample.qrels").read_text().splitlines()]
    assert [(row[0], row[2], row[3], row[4]) for row in rows] == [
        ("1", "a", "1", "2"),
        ("1", "b", "1", "-1"),
        ("1", "c", "2", "2"),
        ("1", "d", "2", "-1"),
    ]
    assert any("1 judged document not in the sample" in note for note in found.notes)
    assert read_qrels(tmp_path / "sample.qrels", "sampled").extra["stratum"].tolist() == ["1", "1", "2", "2"]
    with pytest.raises(InputError, match="five columns"):
        export_qrels(log, sample=Qrels.from_rows(["1"], ["a"], [1]))


def test_nothing_judged_is_said(log: JudgmentLog) -> None:
    with pytest.raises(JudgingError, match="nothing is judged yet"):
        export_qrels(with_pairs(log, 1, 2))
    with pytest.raises(InputError, match="unknown rule 'guess': expected one of majority"):
        export_qrels(log, "guess")


def test_the_history_holds_every_event(judged: JudgmentLog, tmp_path: Path) -> None:
    AssessorSession(judged, "ada").undo()
    n = write_history(judged, tmp_path / "history.jsonl")
    header, *lines = [json.loads(line) for line in (tmp_path / "history.jsonl").read_text().splitlines()]
    assert len(lines) == n == len(list(judged.events())) and header["judgments"]["grades"][0]["value"] == 0
    assert [line["kind"] for line in lines].count("undo") == 1
    zero = next(line for line in lines if line["kind"] == "judge" and line["doc"] == "a" and line["assessor"] == "ada")
    assert zero["grade"] == 0  # a 0 is a grade, and is written
    assert write_history(judged, tmp_path / "history.csv", "csv") == n
    assert len((tmp_path / "history.csv").read_text().splitlines()) == n + 1
    with pytest.raises(InputError, match="expected jsonl or csv"):
        write_history(judged, tmp_path / "x", "xml")


def test_a_history_has_gold_pairs_and_repeats_only_if_asked_and_marked(log: JudgmentLog, tmp_path: Path) -> None:
    with_pairs(log, 1, 6, repeats=0.5)
    log.add_gold({"1": {"g1": 2.0}})
    judge_all(AssessorSession(log, "ada"))
    assert write_history(log, tmp_path / "h.jsonl") == 6
    lines = [json.loads(line) for line in (tmp_path / "h.jsonl").read_text().splitlines()[1:]]
    assert all("gold" not in line and "again" not in line and line["doc"] != "g1" for line in lines)
    assert write_history(log, tmp_path / "h.csv", "csv") == 6 and "g1" not in (tmp_path / "h.csv").read_text()
    assert write_history(log, tmp_path / "all.jsonl", all_events=True) == count_events(log) == 10
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()[1:]]
    assert sum("gold" in line for line in lines) == 1 and sum("again" in line for line in lines) == 3


def test_a_single_assessor_needs_no_rule(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        judge_all(AssessorSession(with_pairs(log, 1, 3), "ada"), 0)
        found = export_qrels(log)
        assert found.qrels.to_dict()["1"] == {"d1-0": 0, "d1-1": 0, "d1-2": 0} and found.notes == ()


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_whatever_is_in_a_log_can_be_written_and_comes_back(log: JudgmentLog, tmp_path: Path, format: str) -> None:
    notes = ["\ud800x", "nul\0", "\udcff", "a\r\nb\rc", '=HYPERLINK("http://evil")', "\\ud800", "C:\\new", "'=1", '"']
    docs = [f"d{i}" for i in range(len(notes) - 1)] + ["=doc\udcff"]
    log.add_pairs({"1": docs})
    for number, (doc, note) in enumerate(zip(docs, notes, strict=True)):
        db = f"2026-01-01T00:00:{number:02}Z"
        log.append(
            Event(
                f"key\udfff{number}", "judge", "ada", "1", doc, 1.0, note, judged_at=db, recorded_at=db, method="\udc00"
            )
        )
    file = tmp_path / f"history.{format}"
    assert write_history(log, file, format) == len(docs)
    file.read_bytes().decode()  # valid Unicode
    with open_log(tmp_path / "other.db") as other:
        assert import_judgments(other, file).new == len(docs)
        assert [one.note for one in other.judgments()] == notes
        assert [(event.key, event.doc, event.method) for event in other.events()] == [
            (event.key, event.doc, event.method) for event in log.events()
        ]
        assert import_judgments(other, file).new == 0


def test_of_a_sample_only_what_was_judged_is_counted_as_judged(tmp_path: Path) -> None:
    form = Qrels.from_rows(["1"] * 3, ["a", "b", "c"], [-1.0] * 3, extra={"stratum": ["1", "1", "2"]}, name="form")
    with open_log(tmp_path / "log.db") as log:
        log.add_pairs({"1": ["a", "b"]})
        session = AssessorSession(log, "ada")
        session.next()
        session.save("judge", "1", 1, 2)
        exported = export_qrels(log, sample=form)
        assert (len(exported.qrels), exported.judgments) == (3, 1)
        assert describe_export(exported, log.settings.scale).splitlines()[:2] == [
            "1 judgment of 1 topic by 1 assessor: 1 × 2.",
            "These include 2 documents without a grade, as -1.",
        ]
        every = export_qrels(log, unjudged=True)
        assert (len(every.qrels), every.judgments) == (2, 1)


def test_what_is_in_the_pool_is_exported_though_it_was_to_be_gold(log: JudgmentLog) -> None:
    log.add_pairs({"1": ["a", "b"]})
    log.add_gold({"1": {"b": 2.0, "g": 1.0, "later": 0.0}})
    assert log.find_not_gold({"1": {"b": 2.0, "g": 1.0, "later": 0.0}}) == [("1", "b")]
    judge_all(AssessorSession(log, "ada"), 1)
    assert export_qrels(log).qrels.to_dict() == {"1": {"a": 1, "b": 1}}
    assert log.add_pairs({"1": ["b", "later"]}) == 1  # a pool that comes later makes an ordinary pair of a gold one
    assert export_qrels(log).qrels.to_dict() == {"1": {"a": 1, "b": 1, "later": 1}}
    log.add_gold({"1": {"b": 2.0, "g": 1.0, "later": 0.0}})  # a workspace says so at every start
    assert export_qrels(log).qrels.to_dict() == {"1": {"a": 1, "b": 1, "later": 1}}
    assert {pair.doc: pair.gold for pair in log.pairs()} == {"a": None, "b": None, "g": 1.0, "later": None}
    assert AssessorSession(log, "grace").next() is not None  # gold is for everybody
    assert judge_all(AssessorSession(log, "grace"), 1) == ["g"]


def by_names(log: JudgmentLog, path: Path, grades: dict[str, dict[str, float]]) -> None:
    """Judgments of several people, by way of a file."""
    lines = [
        json.dumps({"assessor": name, "query": "1", "doc": doc, "grade": grade})
        for name, own in grades.items()
        for doc, grade in own.items()
    ]
    path.write_text("\n".join(lines))
    import_judgments(log, path)


@pytest.mark.parametrize(
    ("rule", "grade"), [("majority", -2), ("median", -2), ("mean", -1), ("max", 1), ("min", -2), ("dawid-skene", -2)]
)
def test_a_negative_grade_of_the_scale_is_a_judgment_to_every_rule(
    log: JudgmentLog, tmp_path: Path, rule: str, grade: float
) -> None:
    log.configure(Settings(scale=Scale.of([(-2, "Junk"), (0, "No"), (1, "Yes")]), judgments=3))
    junk = {"ada": {"a": -2, "b": -2}, "bob": {"a": -2, "b": -2}, "cyd": {"a": 1, "b": -2}}
    by_names(log, tmp_path / "j.jsonl", junk)
    exported = export_qrels(log, rule)
    assert exported.qrels.to_dict() == {"1": {"a": grade, "b": -2}}
    assert len(exported.disagreements) == 1 and not any("nothing to settle" in note for note in exported.notes)


def test_minus_1_is_not_both_a_grade_and_none(log: JudgmentLog, tmp_path: Path) -> None:
    log.configure(Settings(scale=Scale.of([(-1, "Junk"), (0, "No"), (1, "Yes")])))
    by_names(log, tmp_path / "j.jsonl", {"ada": {"a": -1}})
    with pytest.raises(InputError, match="-1 is a grade"):
        export_qrels(log, unjudged=True)


def test_why_pairs_have_no_grade_is_told(log: JudgmentLog, tmp_path: Path) -> None:
    log.configure(Settings(judgments=2))
    log.add_pairs({"1": ["a", "b", "c", "d"]})
    by_names(log, tmp_path / "j.jsonl", {"ada": {"a": 0, "b": 1, "c": 1}, "bob": {"a": 3, "c": 1}})
    assert export_qrels(log, least=2).notes == (
        "1 pair judged by fewer than 2 not in the output.",
        "1 pair without a judgment not in the output.",
    )
    assert "1 pair with tied grades not in the output." in export_qrels(log, ties="drop").notes
    told = export_qrels(log, assessors=["bob"], unjudged=True)
    assert told.notes == (
        "1 pair judged by assessors other than 'bob' only, as -1.",
        "1 pair without a judgment, as -1.",
    )
    assert told.qrels.to_dict()["1"] == {"a": 3, "b": -1, "c": 1, "d": -1}


@pytest.mark.parametrize("format", ["jsonl", "csv"])
def test_a_note_that_was_taken_away_stays_away(log: JudgmentLog, tmp_path: Path, format: str) -> None:
    log.add_pairs({"1": ["a", "b"]})
    session = AssessorSession(log, "ada")
    for place, last in ((1, ""), (2, None)):
        session.next("1")
        session.save("note", "1", place, note="first thoughts")
        session.save("judge", "1", place, 2, note=last)
    file = tmp_path / f"h.{format}"
    write_history(log, file, format)
    with open_log(tmp_path / "copy.db") as copy:
        import_judgments(copy, file)
        assert sorted(one.note for one in copy.judgments()) == ["", "first thoughts"]
        assert [event.note for event in copy.events()] == [event.note for event in log.events()]
