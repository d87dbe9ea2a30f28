"""Progress, plan, adjudication, imports and exports."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from cranfield.annotation import AssessorSession, Settings, Submission
from cranfield.workbench.app import make_app
from tests.workbench.conftest import client_of, judge_all, make_folder, open_service, signed_in, with_token, write_pairs


@pytest.fixture
def cora(app: Any, service: Any) -> Any:
    """A coordinator, after Ada and Grace have judged all pairs, Grace one grade higher on topic 1."""
    service.log.configure(Settings(judgments=2))
    judge_all(signed_in(app, "ada"), 1)
    session = AssessorSession(service.log, "grace")
    item = session.next()
    while item is not None:
        item = session.save("judge", item.query, item.place, 2 if item.query == "1" else 1).next or session.next()
    return signed_in(app, "cora")


def post(client: Any, path: str, **data: Any) -> Any:
    given = {"csrf": client.headers["x-csrf-token"], **data}
    return client.post(path, data=given, follow_redirects=False)


def test_progress_counts_and_agreement_is_there_for_coordinators(cora: Any) -> None:
    found = cora.get("/progress.json").json()
    assert (found["pairs"], found["judged"], found["complete"], found["to_adjudicate"]) == (9, 9, 9, 6)
    assert {one["assessor"]: one["judged"] for one in found["assessors"]} == {"ada": 9, "grace": 9}
    assert found["agreement"]["percent"]["value"] == pytest.approx(3 / 9)
    html = cora.get("/progress").text
    assert "9 of 9 pairs judged" in html and "Same grade" in html and "6 to adjudicate" in html


def test_pace_is_there_by_topic_and_by_assessor_on_a_topic(app: Any, service: Any) -> None:
    session = AssessorSession(service.log, "ada")
    for seconds in (10, 20, 30, 40, 50):
        item = session.next("1")
        assert item is not None
        session.save("judge", "1", item.place, 1, submission=Submission(active_ms=1000 * seconds))
    cora = signed_in(app, "cora")
    found = cora.get("/progress.json").json()
    one, two = found["topics"]
    assert (one["left"], one["timed"], one["seconds"], one["per_hour"]) == (1, 5, 30.0, 120.0)
    assert one["hours_left"] == pytest.approx(30 / 3600) and two["seconds"] is two["hours_left"] is None
    (work,) = found["work"]
    assert (work["assessor"], work["query"], work["judged"], work["left"], work["seconds"]) == ("ada", "1", 5, 1, 30.0)
    html = cora.get("/progress").text
    topics, works = (html.split(f'id="{name}"')[1].split("</table>")[0] for name in ("topics", "work"))
    for table in (topics, works):
        assert "Seconds each" in table and ">30.0</td>" in table and "Hours left" in table and ">&lt; 0.1</td>" in table
    assert ">120</td>" in works  # an hour
    assert signed_in(app, "ada").get("/progress.json").status_code == 403


def test_agreement_is_worked_out_anew_when_something_was_judged(cora: Any, service: Any) -> None:
    before = cora.get("/progress.json").json()["agreement"]["percent"]["value"]
    place = next(p for p in range(1, 7) if AssessorSession(service.log, "grace").item_at("1", p))
    AssessorSession(service.log, "grace").save("judge", "1", place, 1)
    assert cora.get("/progress.json").json()["agreement"]["percent"]["value"] > before


def test_settings_are_changed_and_nonsense_is_told(cora: Any, service: Any) -> None:
    given = {"judgments": "3", "overlap": "20", "repeats": "5", "hold": "2", "dispute": "2", "guidelines": "a\r\nb"}
    assert post(cora, "/plan/settings", **given).status_code == 303
    settings = service.log.settings
    assert (settings.judgments, settings.overlap, settings.repeats) == (3, 0.2, 0.05)
    assert (settings.hold, settings.dispute, settings.guidelines) == (120, 2, "a\nb")
    for bad in ({"judgments": "0"}, {"overlap": "101"}, {"overlap": "nan"}, {"hold": "-1"}, {"judgments": "x"}):
        assert post(cora, "/plan/settings", **bad).status_code == 400
    assert service.log.settings == settings


def test_topics_are_dealt_given_and_taken(cora: Any) -> None:
    assert post(cora, "/plan/deal", names="ada, grace").status_code == 303
    given = cora.get("/plan.json").json()["assignments"]
    assert {(one["query"], one["seat"]) for one in given} == {("1", 0), ("1", 1), ("2", 0), ("2", 1)}
    assert post(cora, "/plan/deal", names="ada").status_code == 400  # two are needed
    assert post(cora, "/plan/give", query="1", assessor="kay", seat="0").status_code == 303
    assert any(one["assessor"] == "kay" for one in cora.get("/plan.json").json()["assignments"])
    assert post(cora, "/plan/take", query="1", assessor="kay").status_code == 303
    assert not any(one["assessor"] == "kay" for one in cora.get("/plan.json").json()["assignments"])
    assert post(cora, "/plan/give", query="9", assessor="kay").status_code == 400


# Adjudication


def test_disagreements_are_decided_one_after_the_other(cora: Any, service: Any) -> None:
    found = cora.get("/adjudicate.json").json()
    assert len(found["disputes"]) == 6
    first = found["here"]["dispute"]
    assert [(one["grade"], one["assessor"]) for one in first["opinions"]] == [(1, None), (2, None)]  # blind
    html = cora.get("/adjudicate").text
    assert "ada" not in html.partition("Opinions")[2].partition("</ul>")[0]
    assert "ada" in cora.get("/adjudicate?names=1").text.partition("Opinions")[2].partition("</ul>")[0]
    assert post(cora, "/adjudicate", query=first["query"], doc=first["doc"], grade="3").status_code == 303
    found = cora.get("/adjudicate.json").json()
    assert len(found["disputes"]) == 5 and found["here"]["dispute"]["doc"] != first["doc"]
    assert f"1 0 {first['doc']} 3\n" in cora.get("/api/judgments/qrels").text
    answer = post(cora, "/adjudicate/undo")
    assert f"doc={first['doc']}" in answer.headers["location"]
    assert cora.get(answer.headers["location"]).status_code == 200
    assert len(cora.get("/adjudicate.json").json()["disputes"]) == 6


def test_disagreements_are_decided_by_json_once_for_each_key(cora: Any, service: Any) -> None:
    given = {"query": "1", "doc": "d0", "grade": 0, "note": "off", "key": "k"}
    for _ in range(2):
        assert cora.post("/api/adjudication", json=given).json()["grade"] == 0
    assert sum(event.kind == "adjudicate" for event in service.log.events()) == 1
    assert len(cora.get("/adjudicate.json?settled=1").json()["disputes"]) == 6
    assert cora.post("/api/adjudication/undo", json={}).json()["undone"] == {"query": "1", "doc": "d0"}
    assert cora.post("/api/adjudication", json=given | {"grade": 9, "key": "x"}).status_code == 400
    assert cora.post("/api/adjudication", json=given | {"doc": "no", "key": "x"}).status_code == 409
    assert cora.get("/adjudicate?query=1&doc=no").status_code == 404


# In and out


def test_qrels_come_by_rule(cora: Any) -> None:
    for rule, grade in (("max", "2"), ("min", "1"), ("mean", "1.5"), ("primary&primary=grace", "2")):
        text = cora.get(f"/api/judgments/qrels?rule={rule}").text
        rows = [line.split() for line in text.splitlines()]
        assert {row[3] for row in rows if row[0] == "1"} == {grade}, rule
        assert len(rows) == 9
    assert cora.get("/api/judgments/qrels?rule=best").status_code == 400
    assert cora.get("/api/judgments/qrels?rule=primary&primary=nobody").status_code == 400
    page = cora.get("/export?rule=max").text
    assert "9 judgments of 2 topics by 2 people" in page and "rule=max" in page
    assert 'attachment; filename="qrels.txt"' == cora.get("/api/judgments/qrels").headers["content-disposition"]


def test_before_anything_is_judged_the_page_says_so(app: Any) -> None:
    cora = signed_in(app, "cora")
    assert "nothing is judged yet" in cora.get("/export").text
    assert cora.get("/api/judgments/qrels").status_code == 409


def test_the_whole_history_comes_as_lines_and_as_csv_and_goes_in_again(cora: Any, tmp_path: Path) -> None:
    lines = cora.get("/api/judgments/history").text.splitlines()
    assert len(lines) == 1 + 18 and json.loads(lines[1])["assessor"] == "ada"
    rows = list(csv.DictReader(io.StringIO(cora.get("/api/judgments/history?format=csv").text)))
    assert len(rows) == 18 and {row["assessor"] for row in rows} == {"ada", "grace"}
    other = open_service(make_folder(tmp_path / "other"))
    client = with_token(client_of(make_app(judging=other)))
    for new in (18, 0):  # twice does no harm
        answer = client.post("/api/judgments/import", content="\n".join(lines).encode())
        assert answer.status_code == 200 and answer.json()["new"] == new, answer.text
    assert client.get("/api/judgments/qrels").text == cora.get("/api/judgments/qrels").text
    other.close()


def test_qrels_go_in_as_somebodys(cora: Any) -> None:
    content = b"1 0 d0 3\n1 0 new 0\n"
    refused = cora.post("/api/judgments/import", content=content)
    assert refused.status_code == 400 and "qrels do not say who judged" in refused.json()["error"]
    assert "/tmp" not in refused.text
    done = cora.post("/api/judgments/import?assessor=nist", content=content).json()
    assert (done["events"], done["new"], done["pairs"]) == (2, 2, 1)


def test_pools_and_topics_go_in(cora: Any, tmp_path: Path) -> None:
    pool = write_pairs(tmp_path / "more.jsonl", {"3": ["d0", "d1"], "1": ["d0"]}).read_bytes()
    assert cora.post("/api/judgments/pool", content=pool).json()["new"] == 2
    topics = b"<top>\n<num> Number: 3\n<title> bells\n<desc> Description:\nLoud bells?\n</top>\n"
    assert cora.post("/api/judgments/topics", content=topics).json()["topics"] == 1
    found = cora.get("/api/judging/topics").json()["topics"][-1]
    assert (found["query"], found["title"], found["description"]) == ("3", "bells", "Loud bells?")
    for path in ("pool", "topics", "import"):
        for content in (b"", b"\0\xff", b"{}", b"<a>", b"[1"):
            answer = cora.post(f"/api/judgments/{path}", content=content)
            assert answer.status_code in (200, 400) and "/tmp" not in answer.text, (path, content, answer.text)


def test_topics_that_were_added_are_there_after_a_new_start(folder: Path) -> None:
    for _ in range(2):
        service = open_service(folder)
        client = with_token(client_of(make_app(judging=service)))
        if service.topic("1").title == "flat tyres":
            content = b'{"id": "1", "title": "round tyres"}\n'
            assert client.post("/api/judgments/topics", content=content).status_code == 200
        assert client.get("/api/judging/topics").json()["topics"][0]["title"] == "round tyres"
        service.close()


def test_a_sampled_pool_gives_five_columns(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w", 'sample = "form.txt"', {"1": ["d0", "d1"]})
    (folder / "form.txt").write_text("1 0 d0 1 -1\n1 0 d1 1 -1\n1 0 d2 1 -1\n")
    service = open_service(folder)
    client = with_token(client_of(make_app(judging=service)))
    judge_all(client, 2)
    rows = [line.split() for line in client.get("/api/judgments/qrels").text.splitlines()]
    assert sorted(rows) == [["1", "0", "d0", "1", "2"], ["1", "0", "d1", "1", "2"], ["1", "0", "d2", "1", "-1"]]
    assert "five columns" in client.get("/export").text
    assert len(client.get("/api/judgments/qrels?format=trec").text.splitlines()[0].split()) == 4
    service.close()


def test_gold_pairs_and_repeats_are_in_no_qrels(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w", "repeats = 0.5\ngold = 'gold.txt'")
    (folder / "gold.txt").write_text("1 0 d10 3\n1 0 d11 0\n")
    service = open_service(folder)
    client = with_token(client_of(make_app(judging=service)))
    seen = judge_all(client, 1)
    assert len(seen) > 11
    rows = [line.split() for line in client.get("/api/judgments/qrels").text.splitlines()]
    assert sorted(row[2] for row in rows) == sorted(f"d{i}" for i in range(9))
    (one,) = client.get("/progress.json").json()["assessors"]
    assert one["gold"] == [0, 2] and one["repeats"][0] == one["repeats"][1] > 0
    service.close()


def test_a_deal_that_fails_leaves_the_plan_as_it_was(cora: Any) -> None:
    assert post(cora, "/plan/deal", names="ada, grace").status_code == 303
    before = cora.get("/plan.json").json()["assignments"]
    assert len(before) == 4
    for names in ("ada", "", "ada, \x01"):
        assert post(cora, "/plan/deal", names=names).status_code == 400
        assert cora.get("/plan.json").json()["assignments"] == before
    assert post(cora, "/plan/deal", names="kay, grace").status_code == 303
    assert {one["assessor"] for one in cora.get("/plan.json").json()["assignments"]} == {"kay", "grace"}


def test_what_a_file_decides_is_taken_up_only_if_a_coordinator_says_so(cora: Any, service: Any) -> None:
    line = {"key": "n", "kind": "adjudicate", "assessor": "ada", "query": "1", "doc": "d0", "grade": 3}
    content = '{"judgments": {}}\n' + json.dumps(line)
    headers = {"content-type": "application/octet-stream"}
    refused = cora.post("/api/judgments/import", content=content, headers=headers)
    assert refused.status_code == 400 and "check the box" in refused.json()["error"]
    assert not any(pair.adjudicated for pair in service.log.pairs())
    assert cora.post("/api/judgments/import?decisions=1", content=content, headers=headers).status_code == 200
    assert [pair.doc for pair in service.log.pairs() if pair.adjudicated] == ["d0"]


def test_ids_that_no_qrels_can_hold_are_refused_at_the_door(alone: Any, service: Any, tmp_path: Path) -> None:
    headers = {"content-type": "application/octet-stream"}
    content = write_pairs(tmp_path / "p.jsonl", {"1": ["two words"]}).read_bytes()
    refused = alone.post("/api/judgments/pool", content=content, headers=headers)
    assert refused.status_code == 400 and "'two words' cannot be written to qrels" in refused.json()["error"]
    assert len(service.log.pairs()) == 9


def test_the_export_page_does_not_promise_what_cannot_be_written(alone: Any, service: Any) -> None:
    judge_all(alone)
    assert "9 judgments" in alone.get("/export").text
    # as a log of an earlier version may have it
    service.log.write(lambda at: at.run("UPDATE pairs SET doc = 'two words' WHERE doc = 'd0'"))
    assert alone.get("/api/judgments/qrels").status_code == 400
    html = alone.get("/export").text
    assert "holds white space" in html and "Qrels, four columns" not in html and "9 judgments" not in html
    assert alone.get("/api/judgments/history").status_code == 200


def test_gold_that_is_in_the_pool_is_told(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "gold.qrels").write_text("1 0 d0 2\n1 0 d10 3\n")
    service = open_service(make_folder(tmp_path / "w", 'gold = "gold.qrels"'))
    client = with_token(client_of(make_app(judging=service)))
    (note,) = client.get("/plan.json").json()["notes"]
    assert "1 gold pair also in the pool, so judged and exported like any other: 'd0 of topic 1'" in note
    assert "d0 of topic 1" in client.get("/plan").text
    judge_all(client)
    assert " d0 " in client.get("/api/judgments/qrels").text and " d10 " not in client.get("/api/judgments/qrels").text
    service.close()


def test_the_form_of_an_export_stays_whatever_is_chosen(cora: Any) -> None:
    page = cora.get("/export?rule=primary")
    assert page.status_code == 200 and 'name="primary"' in page.text and "Choose the primary assessor" in page.text
    assert "differ on" in cora.get("/export?rule=primary&primary=ada").text
    few = cora.get("/export?least=3")
    assert few.status_code == 200 and 'name="rule"' in few.text and "nothing remains" in few.text
    found = cora.get("/export.json?least=3").json()
    assert found["judgments"] == 0 and "nothing remains" in found["problem"]


def test_judgments_that_no_assigned_assessor_can_make_are_reported(app: Any, service: Any) -> None:
    cora = signed_in(app, "cora")
    assert post(cora, "/plan/deal", names="ada, grace").status_code == 303
    assert cora.get("/progress.json").json()["notes"] == []
    post(cora, "/plan/settings", judgments="2")
    for page in ("/plan", "/progress"):
        (note,) = [one for one in cora.get(f"{page}.json").json()["notes"] if "cannot be made" in one]
        assert note.startswith("9 judgments cannot be made by the assessors assigned (topics '1', '2')")
        assert "9 judgments cannot be made" in cora.get(page).text


def test_a_hold_of_seconds_is_saved_with_the_form_and_nonsense_keeps_it(cora: Any, service: Any) -> None:
    service.log.configure(Settings(judgments=2, hold=3))
    assert 'value="0.05"' in cora.get("/plan").text
    assert post(cora, "/plan/settings", judgments="2", hold="0.05").status_code == 303
    assert service.log.settings.hold == 3
    refused = post(cora, "/plan/settings", judgments="2", hold="-1")
    assert refused.status_code == 400 and 'name="hold"' in refused.text
