"""Qrels of click logs."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.errors import CranfieldError, InputError
from cranfield.qrels_tools.clicks import CLICK_CAUTION, ClickQrels, ClickRule, make_click_qrels
from cranfield.qrels_tools.provenance import is_clicks
from cranfield.stats.proportions import wilson_interval

LOG = "query\tdoc\tclicks\timpressions\n1\ta\t60\t100\n1\tb\t0\t100\n1\tc\t5\t50\n2\ta\t1\t3\n2\tc\t20\t100\n"


def clicked(tmp_path: Path, text: str, rule: ClickRule | None = None, name: str = "log.tsv") -> ClickQrels:
    (tmp_path / name).write_text(text)
    return make_click_qrels(tmp_path / name, rule)


def test_grades_follow_the_stated_rule(tmp_path: Path) -> None:
    found = clicked(tmp_path, LOG)
    # the lower ends are .502 and .133, the upper end of 0 in 100 is .037; 5 in 50 is between .043 and .214
    assert found.qrels.to_dict() == {"1": {"a": 2, "b": 0}, "2": {"c": 1}}
    assert (found.pairs, found.few, found.undecided) == (5, 1, 1)


def test_the_rate_itself_may_decide(tmp_path: Path) -> None:
    found = clicked(tmp_path, LOG, ClickRule("ctr", (0.1, 0.2, 0.5), least=3))
    assert found.qrels.to_dict() == {"1": {"a": 3, "b": 0, "c": 1}, "2": {"a": 2, "c": 2}}
    assert "by the share of impressions that were clicked, else 0" in found.rule.description


def test_they_are_marked_as_clicks(tmp_path: Path) -> None:
    found = clicked(tmp_path, LOG)
    assert is_clicks(found.qrels) and set(found.qrels.subtopics) == {"clicks"}
    known = found.provenance()
    assert known.kind == "clicks" and CLICK_CAUTION in known.notes and known.rule == found.rule.description
    assert known.settings["undecided"] == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("log.csv", "Query ID, Doc ID, Clicks, Impressions\n1, a, 60, 100\n"),
        ("log.tsv", "# made on a Monday\nqid\tdocno\tclick_count\tviews\n1\ta\t60\t100\n"),
        ("log.jsonl", '{"query": "1", "url": "a", "clicks": 60, "impressions": 100, "day": 3}\n\n'),
        ("log.jsonl", '{"q": 1, "doc_id": "a", "clicks": 60.0, "shown": "100"}\n'),
    ],
)
def test_logs_of_several_formats(tmp_path: Path, name: str, text: str) -> None:
    assert clicked(tmp_path, text, name=name).qrels.to_dict() == {"1": {"a": 2}}


def test_rows_of_the_same_pair_are_added_up(tmp_path: Path) -> None:
    rows = "".join(f"1\ta\t{clicks}\t25\n" for clicks in (10, 20, 15, 15))
    found = clicked(tmp_path, "query\tdoc\tclicks\timpressions\n" + rows)
    assert found.qrels.to_dict() == {"1": {"a": 2}} and "3 rows added" in found.notes[0]


def test_more_clicks_than_impressions_are_told_or_refused(tmp_path: Path) -> None:
    head = "query\tdoc\tclicks\timpressions\n"
    found = clicked(tmp_path, head + "1\ta\t200\t100\n1\tb\t0\t100\n")
    assert found.qrels.to_dict() == {"1": {"a": 2, "b": 0}} and "more clicks than impressions" in found.notes[0]
    with pytest.raises(InputError, match="are the two columns swapped"):
        clicked(tmp_path, head + "1\ta\t200\t100\n1\tb\t50\t20\n")


def test_queries_may_be_texts_of_topics(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("query,doc,clicks,impressions\nFlat  tyre,a,50,60\nno topic,a,50,60\n")
    found = make_click_qrels(log, topics={"7": "flat tyre", "8": "chain"})
    assert found.qrels.to_dict() == {"7": {"a": 2}}
    assert found.notes == ("1 query of the log left out, not among the topics: 'no topic'.",)
    with pytest.raises(InputError, match="none of the queries in the log is among the topics"):
        make_click_qrels(log, topics={"8": "chain"})
    with pytest.raises(InputError, match="topics '7' and '8' have the same text"):
        make_click_qrels(log, topics={"7": "Flat tyre", "8": "flat tyre"})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("query\tdoc\tclicks\timpressions\n", "the log has no rows"),
        ("query\tdoc\tclicks\n1\ta\t3\n", "line 2: no number of impressions"),
        ("query\tdoc\tclicks\timpressions\n1\ta\t-3\t4\n", "clicks -3: expected a whole number from 0"),
        ("query\tdoc\tclicks\timpressions\n1\ta\t2.5\t4\n", "clicks 2.5: expected a whole number"),
        ("query\tdoc\tclicks\timpressions\n1\ta\tmany\t4\n", "'many' is not a decimal number"),
        ("query\tdoc\tclicks\timpressions\n1\ta\t2\n", "line 2: expected 4 columns"),
        ('{"query": "1"}\n', "line 1: no document"),
        ('{"query": \n', "not JSON"),
        ("query\tdoc\tclicks\timpressions\n1\ta\t2\t4\n", "no pair remains: 1 of 1 have fewer than 10 impressions"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        clicked(tmp_path, text)


def test_rules_are_checked() -> None:
    for wrong in ({"rule": "best"}, {"thresholds": ()}, {"thresholds": (0.3, 0.1)}, {"thresholds": (0.0,)}):
        with pytest.raises(CranfieldError, match="unknown|thresholds"):
            ClickRule(**wrong)  # type: ignore[arg-type]
    for wrong in ({"least": 0}, {"level": 1.0}):
        with pytest.raises(CranfieldError, match="out of range"):
            ClickRule(**wrong)  # type: ignore[arg-type]


def test_wilsons_interval_is_that_of_statsmodels() -> None:
    proportion = pytest.importorskip("statsmodels.stats.proportion")
    for hits, n in ((0, 10), (3, 17), (50, 50), (1, 1000)):
        expected = proportion.proportion_confint(hits, n, 0.05, method="wilson")
        assert wilson_interval(hits, n) == pytest.approx(expected, abs=1e-12)
