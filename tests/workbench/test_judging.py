"""The API of the judging page: order, undo, skip, notes, search, adaptive pools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from cranfield.annotation import export_qrels, open_log
from cranfield.cli import commands
from cranfield.errors import InputError
from cranfield.experiment.workspace import Adaptive, open_workspace
from cranfield.lab.index import build
from cranfield.workbench.app import make_app
from cranfield.workbench.judge.judging_service import JudgingService
from cranfield.workbench.server import open_workbench
from tests.waiting import TIMEOUT
from tests.workbench.conftest import DOCUMENTS, client_of, judge_all, make_folder, open_service, signed_in, with_token


def go_on(client: Any, query: str | None = None) -> Any:
    return client.post("/api/judging/next", json={"query": query}).json()["item"]


def save(client: Any, item: Any, kind: str = "judge", **more: Any) -> Any:
    given = {"kind": kind, "query": item["query"], "place": item["place"], **more}
    answer = client.post("/api/judging/save", json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_the_order_is_by_chance_and_stays(folder: Path, alone: Any) -> None:
    first = go_on(alone)
    assert go_on(alone)["doc"] == first["doc"]  # as on reload
    docs = [
        alone.get("/api/judging/item", params={"query": "1", "place": p}).json()["item"]["doc"] for p in range(1, 7)
    ]
    assert sorted(docs) == [f"d{i}" for i in range(6)] and docs != sorted(docs)
    seen = judge_all(alone)
    assert seen[:6] == docs
    again = open_service(folder)
    client = with_token(client_of(make_app(judging=again, local_user="ada")))
    found = [client.get("/api/judging/item", params={"query": "1", "place": p}).json()["item"] for p in range(1, 7)]
    assert [item["doc"] for item in found] == docs and all(item["grade"] == 1 for item in found)
    again.close()


def test_an_item_has_all_that_the_page_shows(alone: Any) -> None:
    item = go_on(alone)
    assert set(item) == {"query", "doc", "place", "places", "left", "kind", "grade", "note", "document", "words"}
    assert item["document"]["title"].startswith("Title") and item["words"] == ["tyres"]
    assert item["document"]["fields"] == [["url", "http://h/"]]
    (topic, other) = alone.get("/api/judging/topics").json()["topics"]
    assert (topic["title"], topic["description"]) == ("flat tyres", "How do I mend a flat tyre?")
    assert topic["narrative"] == "Repair is relevant." and (other["places"], other["left"]) == (3, 3)
    about = alone.get("/api/judging").json()
    assert [grade["key"] for grade in about["grades"]] == ["0", "1", "2", "3"]
    assert all(grade["definition"] for grade in about["grades"])


def test_a_key_that_comes_twice_is_one_judgment(alone: Any, service: Any) -> None:
    item = go_on(alone)
    answers = [save(alone, item, grade=2, key="once") for _ in range(3)]
    assert {answer["saved"] for answer in answers} == {"once"}
    assert len({answer["next"]["place"] for answer in answers}) == 1
    assert sum(event.kind == "judge" for event in service.log.events()) == 1


def test_what_was_done_can_be_undone_and_is_still_in_the_log(alone: Any, service: Any) -> None:
    item = go_on(alone)
    save(alone, item, grade=3)
    back = alone.post("/api/judging/undo", json={"key": "u"}).json()["item"]
    assert (back["doc"], back["kind"], back["grade"]) == (item["doc"], "", None)
    assert alone.post("/api/judging/undo", json={"key": "u"}).json()["item"]["doc"] == item["doc"]  # sent again
    assert [event.kind for event in service.log.events()] == ["judge", "undo"]
    assert alone.post("/api/judging/undo", json={}).json()["item"] is None


def test_where_there_are_no_guidelines_the_usual_ones_are_shown(alone: Any, service: Any) -> None:
    assert service.log.settings.guidelines == ""
    assert "you are writing a report on the topic" in alone.get("/api/judging").json()["guidelines"]


def test_what_was_done_tells_how_much_is_left_as_what_comes_does(alone: Any) -> None:
    item = go_on(alone)
    left = save(alone, item, grade=2)["left"]
    assert left > 0 and [one["left"] for one in alone.get("/api/judging/own").json()["items"]] == [left]


def test_cannot_judge_is_no_zero_and_skip_comes_again(alone: Any, service: Any) -> None:
    first = go_on(alone)
    second = save(alone, first, "cannot", note="broken")["next"]
    third = save(alone, second, "skip")["next"]
    rest = [third["doc"]]
    while third["doc"] != second["doc"]:
        third = save(alone, third, grade=0)["next"]
        rest.append(third["doc"])
    save(alone, third, grade=1)
    assert len(rest) == 5 and first["doc"] not in rest
    assert first["doc"] not in export_qrels(service.log).qrels.to_dict()["1"]
    places = alone.get("/api/judging/seen", params={"query": "1"}).json()["places"]
    assert sorted(places) == [1, 2, 3, 4, 5, 6]


def test_notes_are_kept_and_taken_away(alone: Any) -> None:
    item = go_on(alone)
    assert save(alone, item, "note", note="short")["next"]["note"] == "short"
    assert save(alone, item, "note", note="")["next"]["note"] == ""


def test_how_a_judgment_came_about_is_recorded(alone: Any, service: Any) -> None:
    shown = {
        "shown_at": "2026-03-01T10:00:00Z",
        "judged_at": "2026-03-01T10:00:09Z",
        "active_ms": 8500,
        "method": "key",
    }
    save(alone, go_on(alone), grade=1, **shown)
    (event,) = service.log.events()
    assert (event.shown_at, event.active_ms, event.method) == ("2026-03-01T10:00:00.000000Z", 8500, "key")
    assert event.judged_at == "2026-03-01T10:00:09.000000Z" and event.version.startswith("web ")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"kind": "judge", "query": "1", "place": 1},
        {"kind": "judge", "query": "1", "place": 1, "grade": 7},
        {"kind": "judge", "query": "1", "place": 1, "grade": True},
        {"kind": "judge", "query": "1", "place": 1, "grade": "1"},
        {"kind": "judge", "query": "1", "place": "1", "grade": 1},
        {"kind": "skip", "query": "1", "place": 1, "grade": 1},
        {"kind": "adjudicate", "query": "1", "place": 1, "grade": 1},
        {"kind": "judge", "query": "1", "place": 1, "grade": 1, "active_ms": -1},
        {"kind": "judge", "query": "1", "place": 1, "grade": 1, "shown_at": "yesterday"},
        {"kind": "judge", "query": "1", "place": 1, "grade": 1, "key": ""},
        {"kind": "judge", "query": "1", "place": 99, "grade": 1},
        {"kind": "judge", "query": "9", "place": 1, "grade": 1},
    ],
)
def test_what_makes_no_sense_is_refused_and_not_recorded(alone: Any, service: Any, given: dict[str, Any]) -> None:
    go_on(alone)
    answer = alone.post("/api/judging/save", json=given)
    assert answer.status_code in (400, 409), answer.text
    assert list(answer.json()) == ["error"]
    assert list(service.log.events()) == []


def test_two_people_never_hold_the_same_pair(app: Any) -> None:
    ada, grace = signed_in(app, "ada"), signed_in(app, "grace")
    mine = [go_on(ada)["doc"], go_on(grace)["doc"]]
    assert mine[0] != mine[1]
    assert go_on(ada)["doc"] == mine[0]
    seen = judge_all(ada) + judge_all(grace)
    assert sorted(seen) == sorted(f"d{i}" for i in range(9))


def test_what_somebody_takes_back_is_still_on_that_desk(app: Any) -> None:
    ada, grace = signed_in(app, "ada"), signed_in(app, "grace")
    item = go_on(ada)
    save(ada, item, grade=1)
    assert ada.post("/api/judging/undo", json={}).json()["item"]["doc"] == item["doc"]
    assert item["doc"] not in judge_all(grace)
    save(ada, item, grade=2)


def test_by_the_key_of_another_everybody_takes_back_what_is_theirs(app: Any) -> None:
    ada, grace = signed_in(app, "ada"), signed_in(app, "grace")
    done = []
    for client in (ada, grace):
        done.append(go_on(client))
        save(client, done[-1], grade=1)
    for client, item in zip((ada, grace), done, strict=True):
        for _ in range(2):  # sent once more, nothing else is taken back
            undone = client.post("/api/judging/undo", json={"key": "k"})
            assert (undone.status_code, undone.json()["item"]["doc"]) == (200, item["doc"])


def test_what_comes_next_can_be_had_ahead(alone: Any) -> None:
    item = go_on(alone)
    ahead = alone.get("/api/judging/ahead", params={"query": "1", "place": item["place"]}).json()["items"]
    seen = []
    for coming in ahead:
        item = save(alone, item, grade=0)["next"]
        seen.append((item["doc"], coming["doc"]))
    assert len(seen) == 3 and all(one == other for one, other in seen)


def test_a_judge_searches_for_more_and_it_is_recorded(folder: Path) -> None:
    workspace = open_workspace(folder)
    build(workspace.documents(workspace.collections[0])).save(folder / "index")
    service = open_service(folder)
    alone = with_token(client_of(make_app(judging=service, local_user="ada")))
    assert alone.get("/api/judging").json()["search"]
    go_on(alone)
    found = alone.post("/api/judging/search", json={"query": "1", "words": "big tyre"}).json()["found"]
    assert found[0]["doc"] == "page" and "score" not in found[0]
    taken = {"query": "1", "doc": "page", "words": "big tyre"}
    item = alone.post("/api/judging/found", json=taken).json()["item"]
    assert (item["doc"], item["place"]) == ("page", 7)
    save(alone, item, grade=3)
    kinds = [(event.kind, event.doc, event.note) for event in service.log.events()]
    assert kinds[:2] == [("search", None, "big tyre"), ("found", "page", "big tyre")]
    assert [pair.source for pair in service.log.pairs() if pair.doc == "page"] == ["search"]
    found = alone.post("/api/judging/search", json={"query": "1", "words": "big tyre"}).json()["found"]
    assert (found[0]["kind"], found[0]["grade"]) == ("judge", 3)
    # nothing but documents of the collection can be taken up
    assert alone.post("/api/judging/found", json=taken | {"doc": "no such"}).status_code == 404
    assert alone.post("/api/judging/search", json={"query": "1", "words": " "}).status_code == 400
    service.close()


def test_without_an_index_one_is_made_to_search_in(folder: Path) -> None:
    with opened_room(folder) as (service, alone):
        assert alone.get("/api/judging").json()["search"]
        early = alone.post("/api/judging/search", json={"query": "1", "words": "big tyre"})
        assert early.status_code == 503 and "still being built" in early.json()["error"]
        search_of(service).wait(TIMEOUT)
        assert search_for(alone, "big tyre")[0] == "page"
        assert [event.kind for event in service.log.events()] == ["search"]  # what found nothing yet is none
        assert service.notes == []
    (made,) = (folder / ".cranfield" / "search").iterdir()
    assert (made / "index.json").exists() and not (folder / "index").exists()
    with opened_room(folder) as (_, alone):  # the next time it is there
        assert search_for(alone, "big tyre")[0] == "page"
    (folder / "documents.jsonl").write_text(json.dumps({"id": "new", "text": "zebra crossing"}) + "\n")
    with opened_room(folder) as (service, alone):  # other documents, another index, and the old one goes
        search_of(service).start()
        search_of(service).wait(TIMEOUT)
        assert search_for(alone, "zebra") == ["new"]
    assert len(list((folder / ".cranfield" / "search").iterdir())) == 1


def test_a_served_workbench_begins_to_make_the_index_by_itself(folder: Path) -> None:
    service = open_service(folder)
    with client_of(make_app(judging=service, local_user="ada")):
        search_of(service).wait(TIMEOUT)
    assert [(place / "index.json").exists() for place in (folder / ".cranfield" / "search").iterdir()] == [True]


def test_a_server_that_ends_leaves_no_half_made_index(folder: Path) -> None:
    with opened_room(folder) as (service, _):
        search_of(service).start()
    search_of(service).wait(TIMEOUT)
    assert all((place / "index.json").exists() for place in (folder / ".cranfield" / "search").glob("*"))


def test_of_many_documents_no_index_is_made_and_the_command_that_makes_it_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cranfield.workbench.judge.search.MAX_DOCUMENTS", len(DOCUMENTS) - 1)
    bench = open_workbench(str(folder), assessor="ada")
    (note,) = bench.notes
    command = note.partition("cranfield index ")[2].split()
    with client_of(bench.app) as client:
        alone = with_token(client)
        assert not alone.get("/api/judging").json()["search"]
        assert note in alone.get("/plan.json").json()["notes"]
        told = alone.post("/api/judging/search", json={"query": "1", "words": "tyre"})
        assert told.status_code == 404 and "cranfield index" in told.json()["error"]
        assert not (folder / ".cranfield" / "search").exists()
        done = CliRunner().invoke(commands, ["index", *command])  # as it is named, it works, and at once
        assert done.exit_code == 0, done.output
        assert alone.get("/api/judging").json()["search"] and search_for(alone, "big tyre")[0] == "page"
        assert alone.get("/plan.json").json()["notes"] == []


def test_an_index_that_cannot_be_made_or_read_says_so(folder: Path) -> None:
    with opened_room(folder) as (service, alone):
        (folder / "documents.jsonl").unlink()  # after its texts were taken up
        search_of(service).start()
        search_of(service).wait(TIMEOUT)
        assert not alone.get("/api/judging").json()["search"]
        assert "could not be built" in service.notes[0] and "documents.jsonl" in service.notes[0]


def test_a_damaged_index_is_made_anew(folder: Path) -> None:
    for _ in range(2):
        with opened_room(folder) as (service, alone):
            search_of(service).start()
            search_of(service).wait(TIMEOUT)
            assert search_for(alone, "big tyre")[0] == "page"
        (made,) = (folder / ".cranfield" / "search").iterdir()
        (made / "lengths.npy").write_bytes(b"")


@pytest.mark.parametrize("judging", ["search = false", ""])
def test_where_there_is_nothing_to_search_there_is_no_search(tmp_path: Path, judging: str) -> None:
    folder = make_folder(tmp_path / "w", judging)
    if not judging:
        text = (folder / "cranfield.toml").read_text()
        (folder / "cranfield.toml").write_text(text.replace('documents = "documents.jsonl"\n', ""))
    with opened_room(folder) as (service, alone):
        service.start_indexing()
        assert not alone.get("/api/judging").json()["search"] and service.notes == []
        assert alone.post("/api/judging/search", json={"query": "1", "words": "tyre"}).status_code == 404
    assert not (folder / ".cranfield" / "search").exists()


@contextmanager
def opened_room(folder: Path) -> Iterator[tuple[JudgingService, Any]]:
    service = open_service(folder)
    yield service, with_token(client_of(make_app(judging=service, local_user="ada")))
    service.close()


def search_of(service: JudgingService) -> Any:
    return service._search


def search_for(client: Any, words: str) -> list[str]:
    answer = client.post("/api/judging/search", json={"query": "1", "words": words})
    assert answer.status_code == 200, answer.text
    return [one["doc"] for one in answer.json()["found"]]


def test_a_growing_pool_extends_the_queue_as_judgments_arrive(tmp_path: Path) -> None:
    systems = "[systems]\na = {run = 'a.run'}\nb = {run = 'b.run'}\n"
    judging = "adaptive = {strategy = 'mtf', batch = 2, budget = 8}"
    folder = make_folder(tmp_path / "w", judging, {"1": ["d0"]}, systems=systems)
    for name, order in (("a", range(12)), ("b", reversed(range(12)))):
        rows = [f"1 Q0 d{i} {rank} {20 - rank} {name}\n" for rank, i in enumerate(order, 1)]
        (folder / f"{name}.run").write_text("".join(rows))
    service = open_service(folder)
    alone = with_token(client_of(make_app(judging=service, local_user="ada")))
    lengths = []
    item = go_on(alone)
    while item is not None:
        lengths.append(item["places"])
        item = save(alone, item, grade=int(item["doc"] == "d0"))["next"]
    assert lengths == [1, 3, 3, 5, 5, 7, 7, 8]
    service.close()


def test_a_server_lets_a_pool_grow_by_an_option_even_if_there_is_none_yet(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w", systems="[systems]\na = {run = 'a.run'}\n")
    (folder / "cranfield.toml").write_text((folder / "cranfield.toml").read_text().replace("[judging]", ""))
    (folder / "pool.jsonl").unlink()
    (folder / "a.run").write_text("".join(f"1 Q0 d{i} {i + 1} {20 - i} a\n" for i in range(12)))
    assert not open_workbench(str(folder)).app.state.workbench.judging
    bench = open_workbench(str(folder), adaptive=Adaptive("mtf", depth=5, budget=4, batch=2), assessor="ada")
    assert bench.app.state.workbench.judging
    assert len(judge_all(with_token(client_of(bench.app)))) == 4
    with open_log(folder / "judgments.db", create=False) as log:
        assert {pair.doc for pair in log.pairs()} <= {f"d{i}" for i in range(5)}


def test_a_pool_cannot_grow_without_runs(folder: Path) -> None:
    with pytest.raises(InputError, match="needs runs, but there are none"):
        open_workbench(str(folder), adaptive=Adaptive("mtf"))
    done = CliRunner().invoke(commands, ["serve", "--qrels", "q", "a.run", "--adaptive", "mtf"])
    assert "needs the pool of a workspace" in f"{done.output}{done.exception}"


def test_a_grade_for_another_document_than_the_one_at_its_place_is_refused(service: Any, alone: Any) -> None:
    item = go_on(alone)
    given = {"kind": "judge", "query": "1", "place": item["place"], "grade": 2}
    answer = alone.post("/api/judging/save", json=given | {"doc": "d11"})
    assert answer.status_code == 409 and "not 'd11': nothing was recorded" in answer.json()["error"]
    assert list(service.log.events()) == []
    save(alone, item, doc=item["doc"], grade=2)
    assert [event.doc for event in service.log.events()] == [item["doc"]]


def test_what_is_said_for_somebody_else_or_another_log_is_refused(app: Any, service: Any, tmp_path: Path) -> None:
    ada, grace = signed_in(app, "ada"), signed_in(app, "grace")
    about = ada.get("/api/judging").json()
    assert about["assessor"] == "ada" and about["log"] == grace.get("/api/judging").json()["log"]
    other = open_service(make_folder(tmp_path / "other"))
    elsewhere = with_token(client_of(make_app(judging=other, local_user="ada")))
    assert elsewhere.get("/api/judging").json()["log"] != about["log"]
    at = {"query": "1", "place": 1}
    for seat, client, told in (
        ({"who": "ada"}, grace, "This page belongs to another user: grace is signed in now."),
        ({"log": about["log"], "who": "ada"}, elsewhere, "belongs to another judgment log"),
    ):
        item = go_on(client)
        given = {"kind": "judge", "query": item["query"], "place": item["place"], "grade": 1, **seat}
        answers = [
            client.post("/api/judging/save", json=given),
            client.post("/api/judging/undo", json=seat),
            client.post("/api/judging/next", json=seat),
            client.post("/api/judging/search", json={"query": "1", "words": "tyre", **seat}),
            *(client.get(f"/api/judging/{name}", params=at | seat) for name in ("item", "ahead", "seen", "after")),
            client.get("/api/judging/topics", params=seat),
            client.get("/judge/document", params=at | seat),
        ]
        assert {answer.status_code for answer in answers} == {409}
        assert all(told in answer.text for answer in answers)
    assert list(service.log.events()) == list(other.log.events()) == []
    item = go_on(ada)
    save(ada, item, grade=1, doc=item["doc"], log=about["log"], who="ada")
    assert [event.assessor for event in service.log.events()] == ["ada"]
    other.close()


def test_a_log_is_known_again_when_the_server_is_started_anew(folder: Path) -> None:
    found = set()
    for _ in range(2):
        service = open_service(folder)
        found.add(client_of(make_app(judging=service, local_user="ada")).get("/api/judging").json()["log"])
        service.close()
    assert len(found) == 1


def test_an_undo_that_says_what_it_takes_back_takes_back_nothing_else(service: Any, alone: Any) -> None:
    item = go_on(alone)
    save(alone, item, grade=1, key="one")
    answer = alone.post("/api/judging/undo", json={"key": "u", "undoes": "another"})
    assert answer.status_code == 409 and "nothing was undone" in answer.json()["error"]
    for _ in range(2):  # the same once more
        answer = alone.post("/api/judging/undo", json={"key": "u", "undoes": "one"})
        assert answer.json()["item"]["doc"] == item["doc"]
    assert [event.kind for event in service.log.events()] == ["judge", "undo"]


def test_ids_that_are_no_utf_8_can_be_judged(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "w", pairs={"q\udcff": ["d\udc80", "d1"]})
    text = (folder / "pool.jsonl").read_bytes().replace(b"\\udcff", b"\xff").replace(b"\\udc80", b"\x80")
    (folder / "pool.jsonl").write_bytes(text)
    service = open_service(folder)
    alone = with_token(client_of(make_app(judging=service, local_user="ada")))
    assert set(judge_all(alone)) == {"d\udc80", "d1"}
    assert alone.get("/progress").status_code == alone.get("/plan").status_code == 200
    assert b"d\x80 1\n" in alone.get("/api/judgments/qrels").content
    service.close()


def test_the_settings_of_the_workspace_are_taken_up(tmp_path: Path) -> None:
    judging = """
guidelines = "how.txt"
assessors = ["ada", "grace"]
judgments = 1
overlap = 0.5
hold = 60
[[judging.grades]]
value = 0
label = "No"
[[judging.grades]]
value = 1
label = "Yes"
definition = "It helps."
"""
    folder = make_folder(tmp_path / "w", judging)
    (folder / "how.txt").write_text("Judge well.\n")
    service = open_service(folder)
    settings = service.log.settings
    assert (settings.guidelines, settings.overlap, settings.hold) == ("Judge well.", 0.5, 60)
    assert [(grade.label, grade.definition) for grade in settings.scale.grades] == [("No", ""), ("Yes", "It helps.")]
    ada = with_token(client_of(make_app(judging=service, local_user="ada")))
    assert len(ada.get("/api/judging/topics").json()["topics"]) == 2
    stranger = with_token(client_of(make_app(judging=service, local_user="kay")))
    assert go_on(stranger) is None
    assert stranger.post("/api/judging/next", json={"query": "1"}).status_code == 409
    service.close()
