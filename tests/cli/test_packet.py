"""cranfield packet: one file to judge with."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import open_log
from cranfield.pooling.pool import Pool, write_pool
from tests.cli.conftest import Cranfield, Outcome


@pytest.fixture
def call(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cranfield: Cranfield) -> Any:
    monkeypatch.chdir(tmp_path)
    write_pool(Pool({"1": ("b003", "b050", "b040"), "2": ("b001", "b002")}), "pool.jsonl")

    def packet(*more: str) -> Outcome:
        texts = ("--topics", str(example / "topics.xml"), "--documents", str(example / "documents.jsonl"))
        return cranfield("packet", "pool.jsonl", *texts, "-o", "packet.html", *more)

    return packet


def data() -> dict[str, Any]:
    found = re.search(r'id="data">(.*?)</script>', Path("packet.html").read_text(), re.S)
    assert found is not None
    content: dict[str, Any] = json.loads(found[1])
    return content


def test_a_packet_holds_the_pool(call: Any) -> None:
    done = call()
    assert done.code == 0 and re.fullmatch(r"packet.html: 2 topics, 5 documents, \d+ kB\.\n", done.err)
    assert data()["assessor"] is None and [topic["query"] for topic in data()["topics"]] == ["1", "2"]
    assert {doc for doc, _ in data()["documents"]} == {"b003", "b050", "b040", "b001", "b002"}
    assert data()["topics"][0]["narrative"].startswith("Instructions for finding the leak")


def test_some_topics_for_somebody(call: Any) -> None:
    assert call("--topic", "2", "--assessor", "ada", "--title", "Bikes").code == 0
    assert (data()["assessor"], data()["title"], len(data()["topics"])) == ("ada", "Bikes", 1)
    assert "nothing to judge for topic '9'" in call("--topic", "9").err


def test_a_packet_of_a_log_has_its_order_and_its_grades(call: Any, tmp_path: Path) -> None:
    (tmp_path / "grades.tsv").write_text("0\tno\n1\tyes\n")
    assert "--log needs --assessor" in call("--log", "log.db").err
    from cranfield.annotation import AssessorSession, Settings, read_scale

    with open_log("log.db") as log:
        log.configure(Settings(scale=read_scale("grades.tsv"), guidelines="As before."))
        log.add_pool("pool.jsonl")
        item = AssessorSession(log, "ada").next("1")
        assert item is not None
        AssessorSession(log, "ada").save("judge", "1", item.place, 1)
    assert call("--log", "log.db", "--assessor", "ada").code == 0
    assert [grade["label"] for grade in data()["grades"]] == ["no", "yes"] and data()["guidelines"] == "As before."
    assert [place for place, _ in data()["topics"][0]["places"]] == [2, 3]
    assert "the log has its own grades" in call("--log", "log.db", "--assessor", "ada", "--grades", "grades.tsv").err
