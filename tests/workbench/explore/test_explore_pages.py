"""Every page and its JSON: the numbers are those of the library, and links lead to where numbers come from."""

from __future__ import annotations

import math
import re
import threading
from html import unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from cranfield.evaluation import evaluate
from cranfield.evaluation.explanation import explain
from cranfield.experiment.workspace import open_workspace
from cranfield.io import read_qrels, read_run
from cranfield.pooling.diagnosis import diagnose
from cranfield.reporting.catalogue import measure_to_dict
from cranfield.stats.comparison import compare
from cranfield.workbench import make_app
from cranfield.workbench.app_state import DataSource, User
from cranfield.workbench.explore import NAV, PAGES, pooling, request_context, schemas
from cranfield.workbench.explore.request_context import Explorer
from tests.soak import SOAK
from tests.waiting import TIMEOUT, wait_until
from tests.workbench.conftest import client_of
from tests.workbench.explore.conftest import EXAMPLE, RUNS, lay_out

MEASURES = ["nDCG@10", "AP", "P@10"]
ADDRESSES = (
    "/leaderboard",
    "/leaderboard?measure=RR+P@5&sort=-RR&filter=l&rows=2&page=2",
    "/system?system=lsi",
    "/compare",
    "/compare?system=lsi&baseline=lm&test=wilcoxon&by=AP&sort=query",
    "/topics?sort=-mean",
    "/topic?query=5",
    "/topic?query=5&system=lsi&system=bm25&system=rm3&from=11&depth=20&show=b003&sort=system&relevant_sort=doc",
    "/explain?query=5&system=bm25",
    "/explain?query=5&system=bm25&measure=RBP(p=0.8)&top=3",
    "/document",
    "/document?doc=b003",
    "/document?doc=b003&query=1",
    "/pool",
    "/pool?depth=5&by=AP",
    "/measures?filter=gain",
    "/measure?name=nDCG@20",
    "/efficiency",
)


def twin(address: str) -> str:
    path, mark, query = address.partition("?")
    return f"{path}.json{mark}{query}"


@pytest.fixture(scope="module")
def scores() -> Any:
    return evaluate(EXAMPLE / "qrels.txt", {run: EXAMPLE / f"{run}.run" for run in RUNS}, MEASURES)


@pytest.mark.parametrize("address", ADDRESSES)
def test_every_page_is_there_and_so_is_its_twin(client: Any, address: str) -> None:
    page, data = client.get(address), client.get(twin(address))
    assert page.status_code == data.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert isinstance(data.json(), dict)
    assert "NaN" not in data.text and "nan" not in re.sub(r"<[^>]*>", "", page.text).split()
    assert "<script>" not in page.text and " style=" not in page.text and "onclick" not in page.text


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_link_of_a_page_leads_nowhere(client: Any, address: str) -> None:
    page = client.get(address).text
    links = {unescape(link).partition("#")[0] for link in re.findall(r'href="([^"]+)"', page)}
    inside = sorted(link for link in links if link.startswith(tuple(PAGES)))
    assert all(link.startswith("/") for link in links if link)
    for link in inside[:: max(1, len(inside) // 12)]:
        assert client.get(link).status_code == 200, link


def test_pages_that_the_navigation_names_are_there(client: Any) -> None:
    for _, path in NAV:
        assert client.get(path).status_code == 200


def test_the_description_tells_of_every_page(client: Any) -> None:
    assert {f"{path}.json" for path in PAGES} == set(schemas.paths())
    assert set(schemas.paths()) <= set(client.get("/openapi.json").json()["paths"])


# Numbers


def test_the_leaderboard_has_the_means_and_intervals_of_an_evaluation(client: Any, scores: Any) -> None:
    found = client.get("/leaderboard.json").json()
    assert found["measures"] == MEASURES and found["topics"] == len(scores.queries)
    for row in found["rows"]:
        for cell in row["measures"]:
            within = scores.interval(cell["measure"], row["system"])
            assert cell["mean"] == scores.mean(cell["measure"], row["system"])
            assert (cell["low"], cell["high"]) == (within.low, within.high)
        assert row["judged"] == 1 - scores.unjudged(10, row["system"])
    order = [row["system"] for row in found["rows"]]
    assert order == sorted(RUNS, key=lambda run: -scores.mean("nDCG@10", run))
    assert [row["rank"] for row in found["rows"]] == [1, 2, 3, 4, 5, 6]
    best = max(RUNS, key=lambda run: scores.mean("AP", run))
    assert [row["system"] for row in found["rows"] if row["measures"][1]["is_best"]] == [best]
    assert f"{scores.mean('AP', best):.4f}" in client.get("/leaderboard").text


@pytest.mark.parametrize("test", ["t", "permutation", "wilcoxon"])
def test_a_comparison_is_that_of_the_library(client: Any, scores: Any, test: str) -> None:
    found = client.get(f"/compare.json?system=lsi&baseline=bm25&test={test}").json()
    expected = compare(
        evaluate(EXAMPLE / "qrels.txt", {run: EXAMPLE / f"{run}.run" for run in ("bm25", "lsi")}, MEASURES),
        "bm25",
        test=test,
    )
    assert [pair["measure"] for pair in found["pairs"]] == MEASURES
    for pair in found["pairs"]:
        own = expected.pair("lsi", "bm25", pair["measure"])
        assert pair["difference"] == own.difference and pair["p"] == own.p and pair["statistic"] == own.statistic
        assert (pair["low"], pair["high"], pair["d_z"]) == (own.low, own.high, own.effect.d_z)
        assert (pair["wins"], pair["ties"], pair["losses"]) == (own.effect.wins, own.effect.ties, own.effect.losses)
    claim = next(claim.text for claim in expected.claims if claim.measure == "nDCG@10")
    assert found["claims"][0] == claim
    assert found["warnings"] == list(expected.warnings)
    for row in found["rows"]:
        difference = (
            scores.per_query("nDCG@10", "lsi")[row["query"]] - scores.per_query("nDCG@10", "bm25")[row["query"]]
        )
        assert math.isclose(row["difference"], difference, abs_tol=1e-12)


def test_the_bars_of_a_comparison_open_topics_with_both_rankings(client: Any) -> None:
    page = client.get("/compare?system=lsi&baseline=bm25").text
    chart = page[page.index('class="chart bars"') : page.index("</svg>", page.index('class="chart bars"'))]
    links = [urlsplit(unescape(link)) for link in re.findall(r'<a href="([^"]+)"', chart)]
    assert len(links) == 30 and {link.path for link in links} == {"/topic"}
    asked = [parse_qs(link.query) for link in links]
    assert all(one["system"] == ["lsi", "bm25"] for one in asked)
    rows = client.get("/compare.json?system=lsi&baseline=bm25&sort=-difference&rows=1000").json()["rows"]
    gains = {row["query"]: row["difference"] for row in rows}
    drawn = [gains[one["query"][0]] for one in asked]
    assert drawn == sorted(drawn, reverse=True)
    kinds = re.findall(r'<rect class="(better|worse|same)"', chart)
    assert kinds.count("better") == sum(gain > 0 for gain in drawn)
    assert kinds.count("worse") == sum(gain < 0 for gain in drawn)


def test_identical_systems_have_a_defined_comparison(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    (place / "lm.run").write_text((place / "bm25.run").read_text())
    with client_of(make_app(open_workspace(place))) as client:
        found = client.get("/compare.json?system=lm&baseline=bm25").json()
        assert client.get("/compare?system=lm&baseline=bm25").status_code == 200
    assert all(pair["p"] == 1 and pair["difference"] == 0 for pair in found["pairs"])


def test_topics_tell_how_hard_they_are(client: Any, scores: Any) -> None:
    found = client.get("/topics.json?rows=1000").json()["rows"]
    qrels = read_qrels(EXAMPLE / "qrels.txt").to_dict()
    for row in found:
        values = [scores.per_query("nDCG@10", run)[row["query"]] for run in RUNS]
        assert math.isclose(row["mean"], sum(values) / len(values))
        assert (row["low"], row["high"]) == (min(values), max(values))
        assert row["relevant"] == sum(grade >= 1 for grade in qrels[row["query"]].values())


def test_a_topic_has_all_systems_values_and_rankings_with_grades(client: Any, scores: Any) -> None:
    found = client.get("/topic.json?query=5&system=lsi&system=bm25&from=3&depth=7").json()
    assert [one["system"] for one in found["systems"]["rows"]] == sorted(
        RUNS, key=lambda run: -scores.per_query("nDCG@10", run)["5"]
    )
    for row in found["systems"]["rows"]:
        assert row["values"] == [scores.per_query(label, row["system"])["5"] for label in MEASURES]
    grades = read_qrels(EXAMPLE / "qrels.txt").to_dict()["5"]
    for ranking, name in zip(found["rankings"], ("lsi", "bm25"), strict=True):
        order = read_run(EXAMPLE / f"{name}.run").to_dict()["5"]
        ranked = sorted(order, key=lambda doc: (order[doc], doc.encode()), reverse=True)
        assert [one["doc"] for one in ranking["documents"]] == ranked[2:9]
        assert [one["rank"] for one in ranking["documents"]] == list(range(3, 10))
        assert [one["grade"] for one in ranking["documents"]] == [grades.get(doc) for doc in ranked[2:9]]
        assert all(one["title"] for one in ranking["documents"])
    assert found["relevant"]["total"] == sum(grade >= 1 for grade in grades.values())


def test_moves_are_drawn_between_rankings(client: Any) -> None:
    address = "/topic?query=5&system=lsi&system=bm25&depth=10"
    page, found = client.get(address).text, client.get(twin(address)).json()
    first, second = ({one["doc"]: one["rank"] for one in side["documents"]} for side in found["rankings"])
    told = re.findall(r'<path class="move[^>]*><title>(\S+): rank (\d+) → (\d+)</title>', page)
    assert {(doc, int(a), int(b)) for doc, a, b in told} == {(d, first[d], second[d]) for d in first if d in second}
    stubs = re.findall(r'<text class="stub[^>]*><title>(\S+): rank', page)
    everything = read_run(EXAMPLE / "bm25.run").to_dict()["5"]
    assert set(stubs) >= {doc for doc in first if doc not in second and doc in everything}


def test_the_text_of_a_document_is_shown_where_it_is_asked_for(client: Any) -> None:
    without, shown = client.get("/topic?query=5").text, client.get("/topic?query=5&show=b003").text
    words = "Take the wheel out and run the tyre levers"
    assert words not in without and words in shown
    assert client.get("/topic.json?query=5&show=b003").json()["show"]["document"]["text"].startswith(words)


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RBP(p=0.8)", "ERR@20", "Bpref", "map"])
def test_an_explanation_is_that_of_the_library(client: Any, measure: str) -> None:
    found = client.get("/explain.json", params={"query": "5", "system": "lsi", "measure": measure, "top": 1000}).json()
    expected = explain(measure, EXAMPLE / "qrels.txt", EXAMPLE / "lsi.run", "5")
    assert found["value"] == expected.value and found["with_numbers"] == expected.with_numbers
    assert [row["term"] for row in found["rows"]] == [
        row["term"] for row in expected.down_to_the_cutoff().rows if row["term"] is not None
    ]


@pytest.mark.soak("pages")
def test_every_measure_is_explained_or_it_is_said_what_it_lacks(client: Any) -> None:
    from cranfield.reporting.catalogue import group_by_family, make_default_measure

    kinds = [kind for family in group_by_family().values() for kind in family]
    names = {str(make_default_measure(kind)) for kind in kinds}
    values = [0, 1, 0.5, "x"] if SOAK else [0]
    usual_ones = () if SOAK else ("gain", "judged_only", "repeats")
    parameters = [(kind.name, own) for kind in kinds for own in kind.parameters if own not in usual_ones]
    names |= {f"{name}({own}={value})" for name, own in parameters for value in values}
    explained = set()
    for name in sorted(names):
        answer = client.get("/explain.json", params={"query": "5", "system": "lsi", "measure": name})
        assert answer.status_code in (200, 400), name
        explained |= {name} if answer.status_code == 200 else set()
        assert answer.status_code == 200 or len(answer.json()["error"]) > 10
    # all but those that need another run, facts, lengths, or judgments of another kind
    assert len(explained & {str(make_default_measure(kind)) for kind in kinds}) >= len(kinds) - 25
    page = client.get("/explain", params={"query": "5", "system": "lsi", "measure": "GroupRprecMult(multiple=0)"})
    assert page.status_code == 200


def test_a_document_tells_who_retrieved_it_where(client: Any) -> None:
    found = client.get("/document.json?doc=b003&query=1&rows=1000").json()
    runs = {name: read_run(EXAMPLE / f"{name}.run").to_dict() for name in RUNS}
    topics = {query for run in runs.values() for query, docs in run.items() if "b003" in docs}
    judged = {query for query, docs in read_qrels(EXAMPLE / "qrels.txt").to_dict().items() if "b003" in docs}
    assert {row["query"] for row in found["topics"]["rows"]} == topics | judged
    for row in found["systems"]["rows"]:
        own = runs[row["system"]].get("1", {})
        ranked = sorted(own, key=lambda doc: (own[doc], doc.encode()), reverse=True)
        assert row["rank"] == (ranked.index("b003") + 1 if "b003" in own else None)
        assert row["score"] == own.get("b003")
    assert found["document"]["title"] == "Mending a flat at the roadside"


def test_a_document_is_found_in_all_runs_before_any_is_read(place: Path) -> None:
    explorer = Explorer(DataSource(open_workspace(place)))
    found = explorer.loader.load()
    read = dict(explorer.read_rankings(found, found.systems, 30))
    for doc in ("b003", "b120", "nowhere"):
        known = [(name, one.query, one.rank) for name, ranking in read.items() for one in ranking.find(doc)]
        searched = explorer.scan_runs(found, doc, 30)
        assert sorted(known) == sorted((name, one.query, one.rank) for name, one in searched)
        assert all(one.score is None for _, one in searched)


def test_runs_are_read_as_soon_as_they_are_evaluated(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    with client_of(make_app(open_workspace(place))) as client:
        assert client.get("/leaderboard").status_code == 200
        rankings = place / ".cranfield" / "explore" / "rankings"
        wait_until(lambda: len(list(rankings.glob("*.rank"))) == len(RUNS))


def test_a_document_has_its_page_while_runs_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    going, read = threading.Event(), request_context.read_plain_run

    def slowly(*given: Any) -> Any:
        going.wait(TIMEOUT)
        return read(*given)

    monkeypatch.setattr(request_context, "read_plain_run", slowly)
    monkeypatch.setattr(request_context, "PARTIAL_TIMEOUT", 0.05)
    monkeypatch.setattr(request_context, "PAGE_TIMEOUT", TIMEOUT)
    with client_of(make_app(open_workspace(lay_out(tmp_path)))) as client:
        early = client.get("/document?doc=b003&query=1").text
        going.set()
        complete = client.get("/document.json?doc=b003&query=1").json()
        late = client.get("/document?doc=b003&query=1").text
    assert "data-unfinished" in early and "data-unfinished" not in late
    cells = re.compile(r'<tr><th scope="row"><a href="[^"]*">([^<]*)</a></th><td class="figure">([^<]*)</td>')
    assert cells.findall(early) == cells.findall(late)  # ranks are there already
    assert {row["system"]: str(row["rank"] or "–") for row in complete["systems"]["rows"]} == dict(cells.findall(late))


def test_what_is_known_of_the_pool_is_shown_while_systems_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    going, leave_out = threading.Event(), pooling.leave_out

    def slowly(*given: Any, watch: Any, **options: Any) -> Any:
        list(watch(iter([1]), 3, "leaving out"))
        going.wait(TIMEOUT)
        return leave_out(*given, watch=watch, **options)

    monkeypatch.setattr(pooling, "leave_out", slowly)
    with client_of(make_app(open_workspace(lay_out(tmp_path)))) as client:
        assert client.get("/leaderboard").status_code == 200
        monkeypatch.setattr(request_context, "PAGE_TIMEOUT", 0.2)
        wait_until(lambda: client.get("/pool?sort=tau").status_code != 202)
        early = client.get("/pool?sort=tau")
        going.set()
        monkeypatch.setattr(request_context, "PAGE_TIMEOUT", TIMEOUT)
        late = client.get("/pool?sort=tau").text
    assert "data-unfinished" in early.text and "etag" not in early.headers
    assert re.search(r"1 of\s+3\s+systems left out", re.sub(r"<[^>]*>", "", early.text))
    assert "data-unfinished" not in late and 'id="standings"' in late and 'id="standings"' not in early.text
    assert early.text.partition('id="pool-topics"')[2] == late.partition('id="pool-topics"')[2]


def test_the_pool_is_that_of_a_pool_report(client: Any) -> None:
    found = client.get("/pool.json?rows=1000&topic_rows=1000").json()
    expected = diagnose(
        EXAMPLE / "qrels.txt",
        [read_run(EXAMPLE / f"{run}.run", name=run) for run in RUNS],
        ["nDCG@10", "AP"],
        strategies=["depth"],
        bounds=False,
    )
    assert found["depth"] == expected.pooled.depth and found["depth_is"] == expected.pooled.depth_is
    assert found["pool"]["documents"] == expected.pool_size and found["pool"]["judged"] == expected.judged_size
    assert found["depths"] == list(expected.judged)
    rows = {row["name"]: row for row in found["systems"]["rows"]}
    for r, one in enumerate(expected.runs):
        row, change = rows[one.name], expected.reusability.runs[r].effect("nDCG@10").changes[0]
        assert (row["pooled"], row["relevant"], row["unique"]) == (one.pooled, one.relevant, one.unique)
        assert row["unique_relevant"] == one.unique_relevant
        assert row["judged_at"] == [shares[r] for shares in expected.judged.values()]
        assert (row["left_out"]["before"], row["left_out"]["after"]) == (change.before, change.after)
        assert row["left_out"]["tau"] == expected.reusability.runs[r].effect("nDCG@10").tau
    for row, topic in zip(found["topics"]["rows"], expected.topics, strict=True):
        assert (row["query"], row["pooled"], row["relevant"]) == (topic.query, topic.pooled, topic.relevant)
    for own, one in zip(found["standings"], expected.reusability.of_runs, strict=True):
        assert (own["tau"], own["mean_change"]) == (one.tau, one.mean_change)


def test_with_very_many_hits_only_first_ranks_are_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cranfield.workbench.explore.pooling as pooling

    place = lay_out(tmp_path)
    with client_of(make_app(open_workspace(place))) as client:
        whole = client.get("/pool.json").json()
    monkeypatch.setattr(pooling, "MAX_HITS", 100)
    monkeypatch.setattr(pooling, "CUTOFF", 10)
    for file in (place / ".cranfield" / "explore").glob("kept.db*"):
        file.unlink()
    with client_of(make_app(open_workspace(place))) as client:
        cut = client.get("/pool.json").json()
    assert "AP" in cut["notes"][-1] and [one["measure"] for one in cut["standings"]] == ["nDCG@10"]
    for row, other in zip(cut["systems"]["rows"], whole["systems"]["rows"], strict=True):
        assert row == other | {"left_out": row["left_out"]} and row["left_out"] == other["left_out"]


def test_a_measure_page_says_what_the_registry_says(client: Any) -> None:
    from cranfield.reporting.catalogue import find_measure

    found = client.get("/measure.json?name=ERR@20").json()
    assert found["name"] == "ERR" and found["formula"] == measure_to_dict(find_measure("ERR@20"))["formula"]
    page = client.get("/measure?name=ERR@20").text
    assert "Chapelle" in page and ("<math" in page) == (find_spec("latex2mathml") is not None)
    names = {row["name"] for row in client.get("/measures.json").json()["rows"]}
    assert {"nDCG", "AP", "RBP", "infAP"} <= names or {"nDCG", "AP", "RBP", "InfAP"} <= names
    for name in names:
        assert client.get("/measure", params={"name": name}).status_code == 200, name


def test_costs_stand_beside_how_good_systems_are(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    (place / "efficiency.json").write_text(
        '{"latency": [{"system": "bm25", "p50": {"value": 1.0, "low": 0.9, "high": 1.1}, "p95": 2.0},'
        ' {"system": "lsi", "p50": 3.5, "p95": 4.0}], "queries": 30,'
        ' "throughput": [{"system": "lsi", "clients": 2, "queries_per_second": 200}]}'
    )
    with client_of(make_app(open_workspace(place))) as client:
        found, page = client.get("/efficiency.json").json(), client.get("/efficiency").text
    rows = {row["system"]: row for row in found["rows"]}
    assert set(rows) == {"bm25", "lsi"}
    assert rows["lsi"]["latency"]["p50"]["value"] == 3.5 and rows["lsi"]["throughput"] == 200
    assert rows["lsi"]["is_on_front"] and rows["bm25"]["is_on_front"]
    assert "are on the Pareto front" in page and "polyline" in page


# State, tables


def test_tables_sort_filter_and_turn_pages_by_their_address(client: Any) -> None:
    down = client.get("/leaderboard.json?sort=-AP").json()["rows"]
    up = client.get("/leaderboard.json?sort=AP").json()["rows"]
    assert [row["system"] for row in up] == [row["system"] for row in down][::-1]
    some = client.get("/leaderboard.json?filter=L").json()
    assert {row["system"] for row in some["rows"]} == {"lm", "lsi", "titles"} and some["total"] == 6
    pages = [client.get(f"/leaderboard.json?rows=4&page={page}").json() for page in (1, 2, 3)]
    assert [len(page["rows"]) for page in pages] == [4, 2, 0] and pages[0]["pages"] == 2
    topics = [row["query"] for row in client.get("/topics.json?rows=1000").json()["rows"]]
    assert topics == [str(i) for i in range(1, 31)]


def test_links_of_a_page_keep_its_state(client: Any) -> None:
    page = client.get("/leaderboard?measure=RR+AP&filter=l&sort=-AP").text
    sort = next(unescape(link) for link in re.findall(r'href="([^"]+)"', page) if "sort=-RR" in link)
    assert parse_qs(urlsplit(sort).query) == {"measure": ["RR AP"], "filter": ["l"], "sort": ["-RR"]}
    system = next(unescape(link) for link in re.findall(r'href="([^"]+)"', page) if link.startswith("/system"))
    assert parse_qs(urlsplit(system).query)["measure"] == ["RR AP"]


def test_a_form_leads_to_an_address_with_the_whole_state(client: Any) -> None:
    state = "measure=RR&sort=-RR&page=2&system=a%FF"
    answer = client.get("/leaderboard", params={"state": state, "filter": "lm", "page": ""}, follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/leaderboard?measure=RR&sort=-RR&system=a%FF&filter=lm"


def test_a_page_that_a_browser_has_is_not_sent_again(client: Any) -> None:
    first = client.get("/leaderboard")
    again = client.get("/leaderboard", headers={"if-none-match": first.headers["etag"]})
    assert again.status_code == 304 and not again.content
    assert client.get("/leaderboard?sort=AP").headers["etag"] != first.headers["etag"]


def test_measures_that_are_not_compared_are_named(client: Any) -> None:
    found = client.get("/compare.json?system=lsi&baseline=bm25&measure=AP+Judged%4010").json()
    why = "Not compared, as not a measure of quality by topic: Judged@10."
    assert [pair["measure"] for pair in found["pairs"]] == ["AP"] and found["not_compared"] == why
    assert why in client.get("/compare?system=lsi&baseline=bm25&measure=AP+Judged%4010").text
    found = client.get("/compare.json?system=lsi&baseline=bm25").json()  # the usual ones
    field = client.get("/leaderboard.json").json()["measures"]
    told = [pair["measure"] for pair in found["pairs"]]
    assert all(label in told or label in (found["not_compared"] or "") for label in field)
    assert client.get("/compare.json?system=lsi&baseline=bm25&measure=AP").json()["not_compared"] is None


def test_names_of_measures_may_be_parted_by_commas(client: Any) -> None:
    for asked in ("AP,RR,P.5,10", "AP, RR, P.5,10", "AP RR P.5,10", "AP,,RR , P.5,10,"):
        found = client.get("/leaderboard.json", params={"measure": asked})
        assert found.status_code == 200, found.text
        assert found.json()["measures"] == ["AP", "RR", "P_5", "P_10"]


def test_several_collections_are_told_apart(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    (place / "some.txt").write_text("".join((place / "qrels.txt").read_text().splitlines(True)[:300]))
    for name in ("all", "some"):
        for run in ("bm25", "lm"):
            (place / f"{name}-{run}.run").write_bytes((place / f"{run}.run").read_bytes())
    (place / "cranfield.toml").write_text(
        '[collections.all]\nqrels = "qrels.txt"\n[collections.some]\nqrels = "some.txt"\n[systems]\n'
        'bm25 = { run = "{collection}-bm25.run" }\nlm = { run = "{collection}-lm.run" }\n'
    )
    with client_of(make_app(open_workspace(place))) as client:
        first, second = client.get("/topics.json").json(), client.get("/topics.json?collection=some").json()
        assert first["total"] == 30 and second["total"] < 30
        assert client.get("/leaderboard?collection=some").status_code == 200
        assert client.get("/topics?collection=none").status_code == 404
        system = next(
            link for link in re.findall(r'href="(/system[^"]+)"', client.get("/leaderboard?collection=some").text)
        )
        assert "collection=some" in system


# Without a workspace, and for whom


def test_judgments_and_runs_are_explored_without_a_workspace() -> None:
    runs = [str(EXAMPLE / f"{run}.run") for run in ("bm25", "lm")]
    with client_of(make_app(qrels=str(EXAMPLE / "qrels.txt"), runs=runs)) as client:
        found = client.get("/leaderboard.json").json()
        assert {row["system"] for row in found["rows"]} == {"bm25.run", "lm.run"}
        for address in ("/compare", "/topics", "/topic?query=1", "/pool", "/efficiency", "/document?doc=b003"):
            assert client.get(address).status_code == 200, address
        assert "text is not available" in client.get("/topic?query=1&show=b003").text


def test_one_system_and_one_topic_have_defined_pages(tmp_path: Path) -> None:
    (tmp_path / "q").write_text("1 0 a 1\n")
    (tmp_path / "r").write_text("1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n")
    with client_of(make_app(qrels=str(tmp_path / "q"), runs=[str(tmp_path / "r")])) as client:
        for address in ("/leaderboard", "/compare", "/topics", "/topic?query=1", "/pool", "/system?system=r"):
            answer = client.get(address)
            assert answer.status_code == 200, address
            assert "nan" not in answer.text.lower().replace("nan.", "")
        cell = client.get("/leaderboard.json").json()["rows"][0]["measures"][0]
        assert cell["mean"] == 1.0 and cell["low"] is None


def test_who_judges_is_not_let_in(client: Any) -> None:
    app_state = client.app.state.workbench
    before = app_state.local_user
    object.__setattr__(app_state, "local_user", User("ada", "assessor"))
    try:
        for path in PAGES:
            for address in (path, f"{path}.json"):
                assert client.get(address).status_code == 403, address
    finally:
        object.__setattr__(app_state, "local_user", before)
    assert client.get("/leaderboard").status_code == 200


def test_who_judged_a_document_is_told(tmp_path: Path) -> None:
    from cranfield.annotation import AssessorSession, adjudicate
    from cranfield.workbench.judge.judging_service import open_judging

    place = lay_out(tmp_path)
    (place / "pool.jsonl").write_text('{"pool": {"strategy": "depth"}}\n{"query": "1", "doc": "b003"}\n')
    with (place / "cranfield.toml").open("a") as out:
        out.write("[judging]\njudgments = 2\n")
    workspace = open_workspace(place)
    service = open_judging(workspace)
    assert service is not None
    for who, grade in (("ada", 2), ("grace", 0)):
        session = AssessorSession(service.log, who)
        item = session.next()
        assert item is not None
        session.save("judge", item.query, item.place, grade=grade, note=f"said {who} <b>")
    adjudicate(service.log, "chief", "1", "b003", 3)
    with client_of(make_app(workspace, judging=service)) as client:
        found = client.get("/document.json?doc=b003").json()["judgments"]
        page = client.get("/document?doc=b003").text
    assert [(one["assessor"], one["grade"], one["adjudicated"]) for one in found] == [("ada", 2, 3), ("grace", 0, 3)]
    assert "said ada &lt;b&gt;" in page and "<b>" not in page
    assert "Nobody has judged it" not in page


def test_grades_in_a_file_are_told_apart_from_judgments_in_a_log(tmp_path: Path) -> None:
    from cranfield.workbench.judge.judging_service import open_judging

    place = lay_out(tmp_path)
    with client_of(make_app(open_workspace(place))) as client:
        without_log = client.get("/document?doc=b003&query=1").text
    (place / "pool.jsonl").write_text('{"pool": {"strategy": "depth"}}\n{"query": "1", "doc": "b003"}\n')
    with (place / "cranfield.toml").open("a") as out:
        out.write("[judging]\n")
    workspace = open_workspace(place)
    with client_of(make_app(workspace, judging=open_judging(workspace))) as client:
        judged = client.get("/document?doc=b003&query=1").text
        not_judged = client.get("/document?doc=b003&query=5").text
        everywhere = client.get("/document?doc=b003").text
        found = client.get("/document.json?doc=b003&query=1").json()["qrels"]
    topics = sum("b003" in docs for docs in read_qrels(EXAMPLE / "qrels.txt").to_dict().values())
    assert found == {"file": "qrels.txt", "grade": 3.0, "topics": topics}
    assert "Graded 3 for topic 1 in qrels.txt. No judgment log says by whom." in words(without_log)
    assert "Graded 3 for topic 1 in qrels.txt. Nobody has judged it in this workspace’s log." in words(judged)
    assert f"Not graded for topic 5 in qrels.txt, but for {topics} other topics." in words(not_judged)
    assert f"Graded for {topics} topics in qrels.txt, which are listed below." in words(everywhere)


def words(page: str) -> str:
    """The text of a page, without its tags."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", page)).split())


def test_without_qrels_systems_are_evaluated_by_the_judgments_being_made(tmp_path: Path) -> None:
    from cranfield.annotation import AssessorSession
    from cranfield.workbench.judge.judging_service import open_judging

    place = lay_out(tmp_path)
    (place / "pool.jsonl").write_text('{"pool": {}}\n{"query": "1", "doc": "b003"}\n{"query": "1", "doc": "b001"}\n')
    toml = (place / "cranfield.toml").read_text().replace('qrels = "qrels.txt"\n', "")
    (place / "cranfield.toml").write_text(toml)
    workspace = open_workspace(place)
    service = open_judging(workspace)
    assert service is not None
    with client_of(make_app(workspace, judging=service)) as client:
        assert client.get("/leaderboard").status_code == 409
        session = AssessorSession(service.log, "ada")
        grades = {"b003": 3, "b001": 0}
        for judged in (1, 2):
            item = session.next()
            assert item is not None
            session.save("judge", item.query, item.place, grade=grades[item.doc])
            answer = client.get("/topics.json")
            assert answer.status_code == 200, answer.text
            found = answer.json()["rows"]
            assert [(row["query"], row["judged"]) for row in found] == [("1", judged)]
        board = client.get("/leaderboard.json").json()
        expected = evaluate({"1": grades}, EXAMPLE / "lsi.run", ["AP"]).mean("AP")
        row = next(row for row in board["rows"] if row["system"] == "lsi")
        assert row["measures"][1]["mean"] == expected and "made in this workbench" in board["notes"][0]


def test_a_run_that_cannot_be_read_keeps_no_other_from_the_board(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    (place / "lm.run").write_text("1 Q0 b003 1\n")
    (place / "rm3.run").write_text("900 Q0 b003 1 2.5 rm3\n")
    with client_of(make_app(open_workspace(place))) as client:
        board = client.get("/leaderboard.json").json()
        assert {row["system"] for row in board["rows"]} == set(RUNS) - {"lm", "rm3"}
        told = " ".join(board["notes"])
        assert "lm cannot be evaluated" in told and "four columns" in told and "no query in common" in told
        answer = client.get("/system.json?system=lm")
        assert answer.status_code == 400 and "cannot be evaluated" in answer.json()["error"]
        for address in (
            "/topics",
            "/topic?query=1",
            "/compare",
            "/pool",
            "/document?doc=b003",
            "/explain?query=1&system=lsi",
        ):
            assert client.get(address).status_code == 200, address
        for run in RUNS:
            (place / f"{run}.run").write_text("1 Q0 b003 1\n")
        answer = client.get("/leaderboard.json")
        assert answer.status_code == 400 and "four columns" in answer.json()["error"]


def test_what_is_missing_is_said_on_the_page(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    for run in RUNS:
        (place / f"{run}.run").unlink()
    with client_of(make_app(open_workspace(place))) as client:
        answer = client.get("/leaderboard")
        assert answer.status_code == 409 and "cranfield experiment" in answer.text
        assert client.get("/measures").status_code == 200
