"""Assessors see no ranks, scores, runs or judgments of others: not in HTML, JSON or headers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route

from cranfield.annotation import AssessorSession, import_judgments
from cranfield.annotation.events import derive_key
from cranfield.experiment.workspace import open_workspace
from cranfield.workbench.accounts import Accounts
from cranfield.workbench.app import make_app
from tests.workbench.conftest import PAIRS, PASSWORD, QUICK, judge_all, make_folder, open_service, signed_in

# words that stand for what must not be seen: a run's name, its tag, scores, notes and names of others
RUN, SCORE, OTHER, NOTE, COORDINATOR = "zebrarun", "17.2501", "mallory", "xylophone", "cordelia"
KEYS = ("rank", "ranks", "score", "run", "runs", "gold", "again", "seat", "source", "wanted", "judged", "agreement")
FORBIDDEN = (RUN, SCORE, OTHER, NOTE, COORDINATOR, *(f'"{key}":' for key in KEYS))


@pytest.fixture
def ada(tmp_path: Path) -> Any:
    """Ada, in a workspace with a run, gold pairs and repeats, where Mallory has judged everything before her."""
    folder = make_folder(
        tmp_path / "w",
        "judgments = 3\nrepeats = 0.5\ngold = 'gold.qrels'",
        systems=f"[systems]\n{RUN} = {{run = 'a.run'}}",
    )
    lines = [f"{q} Q0 {doc} {rank} {SCORE} {RUN}\n" for q, docs in PAIRS.items() for rank, doc in enumerate(docs, 1)]
    (folder / "a.run").write_text("".join(lines))
    (folder / "gold.qrels").write_text("1 0 d10 3\n2 0 d11 0\n")
    (folder / "pool.provenance.jsonl").write_text(json.dumps({"provenance": {"runs": [RUN]}}) + "\n")
    service = open_service(folder)
    mallory = AssessorSession(service.log, OTHER)
    item = mallory.next()
    while item is not None:
        item = mallory.save("judge", item.query, item.place, 3, note=NOTE).next or mallory.next()
    accounts = Accounts(service.log.database, QUICK)
    for name, role in ((COORDINATOR, "coordinator"), ("ada", "assessor")):
        accounts.accept(accounts.invite(name, role), PASSWORD)
    yield signed_in(make_app(open_workspace(folder), judging=service, accounts=accounts), "ada")
    service.close()


def everything(client: Any) -> list[tuple[str, Any]]:
    """Every response that an assessor can get, requested in many ways."""
    answers = []
    item = client.post("/api/judging/next", json={}).json()["item"]
    at = {"query": item["query"], "place": item["place"]}
    for route in client.app.routes:
        if not isinstance(route, Route):
            continue
        path = route.path.replace("{name:path}", "judge.js")
        if "GET" in (route.methods or ()):
            for more in ("", "?names=1&settled=1&blind=0&fields=rank,score", f"?query={item['query']}&place=1"):
                answers.append((path, client.get(path + more)))
        if "POST" in (route.methods or ()) and path.startswith("/api/judging"):
            saving = at | {"kind": "judge", "grade": 1, "words": "tyres", "doc": "d3"}
            for body in ({}, saving, saving | {"assessor": OTHER, "user": OTHER, "name": OTHER}):
                answers.append((path, client.post(path, json=body)))
    return answers


def test_no_answer_holds_what_a_judge_must_not_see(ada: Any) -> None:
    allowed = 0
    for path, answer in everything(ada):
        told = answer.text + json.dumps(dict(answer.headers))
        if path == "/openapi.json" or path.startswith("/static/"):
            assert not any(word in told for word in (RUN, SCORE, OTHER, NOTE, COORDINATOR)), path
            continue
        allowed += answer.status_code == 200
        for word in FORBIDDEN:
            assert word not in told, (path, word)
    assert allowed > 15


def test_the_order_is_neither_that_of_the_run_nor_that_of_another_judge(ada: Any) -> None:
    seen = judge_all(ada)
    pooled = [doc for docs in PAIRS.values() for doc in docs]
    assert [doc for doc in dict.fromkeys(seen) if doc in pooled] != pooled
    assert len(seen) > len(set(seen)) >= len(pooled) + 2  # with repeats, and gold pairs that look like any other


def test_gold_pairs_and_repeats_look_like_any_other_document(ada: Any) -> None:
    keys = set()
    item = ada.post("/api/judging/next", json={}).json()["item"]
    while item is not None:
        keys.add(frozenset(item) | frozenset(item["document"]))
        given = {"kind": "judge", "query": item["query"], "place": item["place"], "grade": 1}
        saved = ada.post("/api/judging/save", json=given).json()
        assert set(saved) == {"saved", "next", "left"}
        item = saved["next"] or ada.post("/api/judging/next", json={}).json()["item"]
    assert len(keys) == 1


def test_nobody_judges_in_the_name_of_another(ada: Any) -> None:
    item = ada.post("/api/judging/next", json={"assessor": OTHER}).json()["item"]
    given = {"kind": "judge", "query": item["query"], "place": item["place"], "grade": 0, "assessor": OTHER}
    ada.post("/api/judging/save", json=given)
    log = ada.app.state.workbench.judging.log
    assert [event.assessor for event in log.events()][-1] == "ada"


def test_nobody_undoes_what_another_did(ada: Any) -> None:
    assert ada.post("/api/judging/undo", json={}).json()["item"] is None


@pytest.mark.parametrize("kind", ["judge", "note", "skip", "cannot"])
def test_a_key_of_another_is_answered_as_any_that_nobody_used(ada: Any, kind: str) -> None:
    log = ada.app.state.workbench.judging.log
    theirs = next(event for event in log.events() if event.assessor == OTHER)
    item = ada.post("/api/judging/next", json={}).json()["item"]
    more = {"grade": 0} if kind == "judge" else {"note": "n"}
    given = {"kind": kind, "query": item["query"], "place": item["place"], **more}
    answers = []
    for key in (theirs.key, "f" * len(theirs.key)):
        answer = ada.post("/api/judging/save", json=given | {"key": key})
        ada.post("/api/judging/undo", json={})
        said = {name: value for name, value in answer.json().items() if name != "saved"}
        answers.append((answer.status_code, said, answer.json()["saved"] == key, dict(answer.headers)))
    assert answers[0] == answers[1] and answers[0][0] == 200


def test_nobody_learns_by_keys_what_qrels_that_were_imported_say(ada: Any, tmp_path: Path) -> None:
    (tmp_path / "nist.qrels").write_text("1 0 d1 2\n")
    import_judgments(ada.app.state.workbench.judging.log, tmp_path / "nist.qrels", "nist")
    item = ada.post("/api/judging/next", json={}).json()["item"]
    given = {"kind": "note", "query": item["query"], "place": item["place"], "note": ""}
    keys = [derive_key("qrels", "nist", "1", "d1", str(grade)) for grade in range(4)]
    answers = [ada.post("/api/judging/save", json=given | {"key": key}) for key in keys]
    assert [answer.status_code for answer in answers] == [200] * 4
    assert len({answer.text.replace(key, "") for answer, key in zip(answers, keys, strict=True)}) == 1
    undone = [ada.post("/api/judging/undo", json={"undoes": key}) for key in keys[:3]]
    assert len({answer.status_code for answer in undone}) == 1
