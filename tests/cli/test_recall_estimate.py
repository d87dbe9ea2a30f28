"""cranfield recall-estimate."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cranfield


def test_the_sample_size_comes_first(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("recall-estimate", small / "qrels", "--docs", 1000, "--plan")
    assert result.code == 0 and result.err == ""
    first, _, rest = result.out.partition("\n\n")
    assert first == "4 judgments of 2 topics include 3 relevant documents (grade 1 or higher)."
    assert "a collection of 1,000 documents, 1,996 pairs of topic and document), at 95 %" in rest.replace("\n  ", " ")
    assert "show a recall of 80.0 % or more" in rest.replace("\n  ", " ")
    assert "Chapman" not in rest


def test_the_plan_follows_margin_share_level_and_interval(cranfield: Cranfield, small: Path) -> None:
    def size(*more: object) -> int:
        result = cranfield("recall-estimate", small / "qrels", "--plan", "--format", "json", *more)
        needed: int = json.loads(result.out)["plan"]["overall"]["by_margin"]
        return needed

    assert size() == 402
    assert size("--interval", "wilson") == 381
    assert size("--margin", 0.1) < 150 and size("--level", 0.99) > 402 and size("--expected", 0.01) < 100


def test_every_method_is_told_with_its_assumption_or_why_it_is_not(cranfield: Cranfield, small: Path) -> None:
    alone = cranfield("recall-estimate", small / "qrels").out
    assert alone.count("not estimated") == 4
    (small / "sample").write_text("1 0 s1 1\n1 0 s2 0\n2 0 s1 0\n")
    (small / "external").write_text("1 0 a 1\n1 0 e 1\n")
    runs = [small / "one.run", small / "two.run"]
    more = ["--sample", small / "sample", "--external", small / "external", "--docs", 100, "--per-topic"]
    more += ["--depth", 2]
    text = cranfield("recall-estimate", small / "qrels", *runs, *more).out
    told = ("drawn at random", "lower bound", "not estimated, needs new relevant", "known from elsewhere")
    for part in (*told, "Recall of the runs", "Documents to sample for each topic"):
        assert part in text.replace("\n", " ")
    found = json.loads(cranfield("recall-estimate", small / "qrels", *runs, *more, "--format", "json").out)
    assert [method["method"] for method in found["methods"]] == ["sampling", "recapture", "extrapolation", "external"]
    assert all(method["assumption"] for method in found["methods"])
    assert [len(method["topics"]) for method in found["methods"]] == [2, 2, 0, 2]
    assert found["methods"][2]["not_estimated_because"].startswith("needs new relevant documents to become fewer")
    assert found["methods"][3]["overall"]["details"]["known_here"] == 1


def test_groups_of_runs_are_finders(cranfield: Cranfield, small: Path) -> None:
    (small / "three.run").write_text((small / "two.run").read_text())
    runs = [small / f"{name}.run" for name in ("one", "two", "three")]
    result = cranfield("recall-estimate", small / "qrels", *runs, "--group-by", "^t", "--format", "json")
    details = json.loads(result.out)["methods"][1]["overall"]["details"]
    assert details["finders"] == ["one.run", "t"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--docs", 2], "a topic has 3 judged documents"),
        (["--external", "{small}/other"], "have no topic in common"),
        (["{small}/one.run", "--to", 2], "expected more than the depth of the pool"),
        (["--sample", "nowhere"], "nowhere"),
    ],
)
def test_what_cannot_be_used_is_one_message(cranfield: Cranfield, small: Path, more: list[object], said: str) -> None:
    (small / "other").write_text("77 0 a 1\n")
    result = cranfield("recall-estimate", small / "qrels", *(str(one).format(small=small) for one in more))
    assert result.code == 2 and said in result.err and result.out == "" and result.err.count("\n") == 1


def test_a_margin_of_a_half_or_more_is_refused(cranfield: Cranfield, small: Path) -> None:
    result = cranfield("recall-estimate", small / "qrels", "--margin", 0.5)
    assert result.code == 2 and "margin 0.5" in result.err


def test_a_document_that_stands_twice_is_as_asked(cranfield: Cranfield, small: Path) -> None:
    (small / "twice").write_text("1 0 a 1\n1 0 a 0\n")
    (small / "twice.run").write_text("1 Q0 a 1 3 t\n1 Q0 a 2 2 t\n")
    asked = ["recall-estimate", small / "twice", small / "twice.run"]
    refused = cranfield(*asked)
    assert refused.code == 2 and "--on-duplicate" in refused.err
    done = cranfield(*asked, "--on-duplicate", "first")
    assert done.code == 0 and "1 judgment of 1 topic include" in done.out
