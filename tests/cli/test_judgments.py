"""cranfield judgments: planned, looked at, exported, imported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from cranfield.annotation import AssessorSession, open_log
from cranfield.cli import commands
from cranfield.data.collection import Qrels
from cranfield.errors import CranfieldError
from cranfield.io import read_qrels, write_qrels
from cranfield.pooling.pool import Pool, write_pool
from tests.cli.conftest import Cranfield


@pytest.fixture
def judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log with two assessors who differ on one of two pairs; nobody has come to the third."""
    monkeypatch.chdir(tmp_path)
    write_pool(Pool({"1": ("a", "b", "c")}), "pool.jsonl")
    with open_log("log.db") as log:
        from cranfield.annotation import Settings

        log.configure(Settings(judgments=2))
        log.add_pool("pool.jsonl")
        for name, grades in {"ada": {"a": 2, "b": 0}, "bob": {"a": 2, "b": 1}}.items():
            session = AssessorSession(log, name)
            session.next()
            for place in (1, 2, 3):
                doc = session.item_at("1", place).doc
                if doc in grades:
                    session.save("judge", "1", place, grades[doc])
    return tmp_path


def test_qrels_come_out_by_a_rule_with_conflicts(judged: Path, cranfield: Cranfield) -> None:
    done = cranfield(
        "judgments", "export", "log.db", "--rule", "max", "-o", "qrels.txt", "--conflicts", "conflicts.tsv"
    )
    assert done.code == 0 and read_qrels("qrels.txt").to_dict() == {"1": {"a": 2, "b": 1}}
    assert "2 judgments of 1 topic by 2 assessors: 1 × 1, 1 × 2." in done.err
    assert "Assessors differ on 1 pair, listed in conflicts.tsv." in done.err
    assert "Rule: the highest grade; an adjudicated grade wins." in done.err
    assert Path("conflicts.tsv").read_text() == "query\tdoc\tada\tbob\texported\tadjudicated\n1\tb\t0\t1\t1\tno\n"
    beside = json.loads(Path("qrels.txt.provenance.json").read_text())
    assert beside["made_by"] == "cranfield judgments export"
    assert cranfield("judgments", "export", "log.db", "--quiet").out == "1 0 a 2\n1 0 b 0\n"
    assert cranfield("judgments", "export", "log.db", "--quiet", "--unjudged").out == "1 0 a 2\n1 0 b 0\n1 0 c -1\n"


def test_the_history_goes_out_and_in_and_twice_is_once(judged: Path, cranfield: Cranfield) -> None:
    for name in ("history.jsonl", "history.csv"):
        assert "4 events of log.db." in cranfield("judgments", "export", "log.db", "-o", name).err
    first = cranfield("judgments", "import", "other.db", "history.jsonl")
    assert first.err == "history.jsonl: 4 events by 'ada', 'bob', 4 of them new; 2 pairs new to the pool.\n"
    again = cranfield("judgments", "import", "other.db", "history.jsonl", "history.csv")
    assert again.err.count("0 of them new.") == 2
    out = [cranfield("judgments", "export", log, "--quiet").out for log in ("log.db", "other.db")]
    assert out[0] == out[1]


def test_qrels_come_in_as_one_assessors(judged: Path, cranfield: Cranfield) -> None:
    Path("nist.qrels").write_text("1 0 a 3\n1 0 c 1\n1 0 z -1\n")
    assert "qrels do not say who judged" in cranfield("judgments", "import", "log.db", "nist.qrels").err
    done = cranfield("judgments", "import", "log.db", "nist.qrels", "--assessor", "nist", "--model")
    assert (
        "2 judgments by 'nist', 2 of them new. Left out 1 row with a grade below 0, which is not a judgment."
        in done.err
    )
    assert "by a model left out ('nist')" in cranfield("judgments", "export", "log.db").err
    assert "1 0 c 1" in cranfield("judgments", "export", "log.db", "--with-models", "--rule", "max").out


def test_a_sampled_pool_gives_five_columns(judged: Path, cranfield: Cranfield) -> None:
    form = Qrels.from_rows(["1"] * 4, ["a", "b", "c", "d"], [-1] * 4, extra={"stratum": ["1", "1", "2", "2"]})
    write_qrels(form, "sample.qrels", "sampled")
    done = cranfield("judgments", "export", "log.db", "--sample", "sample.qrels", "--quiet")
    assert done.out == "1 0 a 1 2\n1 0 b 1 0\n1 0 c 2 -1\n1 0 d 2 -1\n"
    asked = cranfield("judgments", "export", "log.db", "--format", "sampled")
    assert asked.code == 2 and "--sample QRELS" in asked.err
    # what lies beside the pool says that it was sampled
    Path("pool.provenance.jsonl").write_text('{"provenance": {"strategy": "stratified"}}\n')
    told = cranfield("judgments", "export", "log.db")
    assert told.code == 2 and "the pool was sampled (stratified)" in told.err
    assert cranfield("judgments", "export", "log.db", "--format", "trec", "--quiet").out == "1 0 a 2\n1 0 b 0\n"


def test_status_says_how_far_it_is(judged: Path, cranfield: Cranfield) -> None:
    text = cranfield("judgments", "status", "log.db").out
    assert "log.db: 2 of 3 pairs judged (67%), 2 complete, 1 topic." in text
    assert "1 pair to adjudicate: grades 1 or more apart." in text
    assert "Agreement on 2 pairs judged by several: Same grade 0.500" in text
    data = json.loads(cranfield("judgments", "status", "log.db", "--format", "json").out)
    assert (data["pairs"], data["judged"], data["to_adjudicate"]) == (3, 2, 1)
    assert [one["assessor"] for one in data["assessors"]] == ["ada", "bob"]
    assert data["agreement"]["percent"]["value"] == 0.5


def test_a_plan_says_who_judges_what(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cranfield: Cranfield) -> None:
    monkeypatch.chdir(tmp_path)
    write_pool(Pool({str(q): tuple(f"d{i}" for i in range(10)) for q in range(1, 5)}), "pool.jsonl")
    Path("gold.qrels").write_text("1 0 known 2\n")
    done = cranfield(
        *("judgments", "plan", "log.db", "--pool", "pool.jsonl", "--assessor", "ada", "--assessor", "bob"),
        *("--overlap", "20", "--repeats", "10", "--gold", "gold.qrels"),
    )
    assert done.code == 0 and "4 topics assigned to 2 assessors." in done.out
    with open_log("log.db") as log:
        assert (log.settings.overlap, log.settings.repeats) == (0.2, 0.1)
        assert sum(pair.wanted == 2 for pair in log.pairs()) == 8
        assert [pair.doc for pair in log.pairs() if pair.gold is not None] == ["known"]
    again = cranfield("judgments", "plan", "log.db", "--topic", "cyd=1, 2")
    assert "4 topics assigned to 3 assessors." in again.out
    assert "expected NAME=TOPIC,TOPIC" in cranfield("judgments", "plan", "log.db", "--topic", "cyd").err
    assert "nothing to judge for query '77'" in cranfield("judgments", "plan", "log.db", "--topic", "cyd=77").err


def test_a_log_that_is_not_there_is_said(tmp_path: Path, cranfield: Cranfield) -> None:
    for command in ("export", "status"):
        done = cranfield("judgments", command, tmp_path / "none.db")
        assert done.code == 2 and "this log of judgments does not exist" in done.err
    assert not (tmp_path / "none.db").exists()
    with open_log(tmp_path / "empty.db"):
        pass
    assert "nothing is judged yet" in cranfield("judgments", "export", tmp_path / "empty.db").err


def test_all_events_is_for_a_history_only(tmp_path: Path) -> None:
    with open_log(tmp_path / "log.db") as log:
        log.add_pairs({"1": ["a"]})
    done = CliRunner().invoke(commands, ["judgments", "export", str(tmp_path / "log.db"), "--all-events"])
    assert isinstance(done.exception, CranfieldError) and "--all-events is for a history" in str(done.exception)


def test_a_history_with_decisions_is_taken_up_only_if_told_so(judged: Path, cranfield: Cranfield) -> None:
    from cranfield.annotation import adjudicate

    with open_log("log.db") as log:
        adjudicate(log, "cora", "1", "b", 3)
    cranfield("judgments", "export", "log.db", "-o", "history.jsonl")
    refused = cranfield("judgments", "import", "other.db", "history.jsonl")
    assert refused.code == 2 and "an adjudication is imported only" in refused.err and "--decisions" in refused.err
    assert cranfield("judgments", "import", "other.db", "history.jsonl", "--decisions").code == 0
    assert "1 0 b 3\n" in cranfield("judgments", "export", "other.db", "--quiet").out
    foreign = cranfield("judgments", "import", "third.db", "history.jsonl", "--decisions", "--assessor", "ada")
    assert foreign.code == 2 and "this event is by 'bob', expected only events by 'ada'" in foreign.err


def test_gold_that_is_to_be_judged_anyway_is_told(judged: Path, cranfield: Cranfield) -> None:
    Path("gold.qrels").write_text("1 0 a 2\n1 0 z 0\n")
    done = cranfield("judgments", "plan", "log.db", "--gold", "gold.qrels")
    assert "Note: 1 gold pair also in the pool, so judged and exported like any other: 'a of topic 1'." in done.err
    assert "1 0 a 2\n" in cranfield("judgments", "export", "log.db", "--quiet").out


def test_gold_that_a_pool_asks_for_later_is_told(tmp_path: Path, cranfield: Cranfield) -> None:
    with open_log(tmp_path / "log.db") as log:
        log.add_gold({"1": {"g": 2, "h": 1}})
        log.add_pairs({"1": ["g", "a"]})
    place = str(tmp_path / "log.db")
    told = "1 gold pair now in the pool, so judged and exported like any other: 'g of topic 1'."
    assert told in " ".join(cranfield("judgments", "status", place).out.split())
    assert json.loads(cranfield("judgments", "status", place, "--format", "json").out)["notes"] == [told]
