"""Cached scores and rankings, and the jobs that compute them."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.data.collection import Qrels, Run
from cranfield.evaluation import evaluate
from cranfield.experiment.workspace import open_workspace
from cranfield.io import as_qrels, as_run, read_qrels, read_run, write_run
from cranfield.io.plain_runs import read_plain_run
from cranfield.joining import Joining, join_run
from cranfield.workbench.app_state import DataSource
from cranfield.workbench.explore.cache import Cache, cache_key
from cranfield.workbench.explore.collection_view import CollectionLoader, NothingToExplore
from cranfield.workbench.explore.column_codec import pack, unpack
from cranfield.workbench.explore.jobs import Job, Jobs, StillRunning
from cranfield.workbench.explore.rankings import Ranking, Rankings, pack_plain_run, pack_run
from cranfield.workbench.explore.score_cache import evaluate_systems, select_systems
from tests.soak import examples
from tests.waiting import TIMEOUT
from tests.workbench.explore.conftest import EXAMPLE, RUNS, lay_out

IDS = st.text(alphabet="abc/<é \udcff", min_size=1, max_size=6).filter(lambda text: text.strip() == text)
LISTS = st.dictionaries(
    IDS, st.dictionaries(IDS, st.integers(0, 4).map(float), min_size=1, max_size=8), min_size=1, max_size=4
)
FILES = DataSource(None, str(EXAMPLE / "qrels.txt"), tuple(str(EXAMPLE / f"{run}.run") for run in RUNS))


def test_columns_come_back_as_they_were() -> None:
    columns = {
        "a": np.arange(3),
        "b": np.array([0.5, np.nan]),
        "c": np.array([True]),
        "d": np.array([], dtype=np.uint8),
    }
    about, found = unpack(pack({"x": "\udcff", "n": [1]}, **columns))
    assert about == {"x": "\udcff", "n": [1]}
    for name, column in columns.items():
        np.testing.assert_array_equal(found[name], column)
        assert found[name].dtype == column.dtype


@examples(60)
@given(LISTS, st.sampled_from(["trec", "doc-ascending", "input-order"]))
def test_a_ranking_is_that_of_the_join(lists: dict[str, dict[str, float]], ties: str) -> None:
    run = as_run(lists)
    qrels = as_qrels({query: {"a": 1} for query in lists})
    ranking = Ranking(pack_run(run, Joining(ties=ties), qrels))  # type: ignore[arg-type]
    join = join_run(qrels, run, ties=ties)
    for i, query in enumerate(join.queries):
        part = ranking.list_docs(query)
        assert [one.doc for one in part] == join.ranking(i)
        assert [one.score for one in part] == [lists[query][one.doc] for one in part]
        assert ranking.size(query) == len(lists[query])
        assert [one.rank for one in ranking.list_docs(query, 2, 2)] == [2, 3][: max(0, len(part) - 1)]
        assert ranking.ranks(query) == {one.doc: one.rank for one in part}
    docs = {doc for own in lists.values() for doc in own}
    for doc in docs:
        found = {one.query: one.rank for one in ranking.find(doc)}
        assert found == {query: ranking.ranks(query)[doc] for query in lists if doc in lists[query]}
    assert ranking.find("nowhere") == []
    assert ranking.list_docs("nothing") == [] and ranking.size("nothing") == 0


@pytest.mark.parametrize("ties", ["best", "worst"])
def test_rules_for_ties_that_look_at_judgments_do_so_here(ties: str) -> None:
    run = as_run({"q": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 2.0}})
    qrels = as_qrels({"q": {"b": 2, "a": 1}})
    ranking = Ranking(pack_run(run, Joining(ties=ties), qrels))  # type: ignore[arg-type]
    assert [one.doc for one in ranking.list_docs("q")] == join_run(qrels, run, ties=ties).ranking(0)


PLAIN_IDS = st.text(alphabet="abc/<é\udcff", min_size=1, max_size=6)
PLAIN = st.dictionaries(
    PLAIN_IDS, st.dictionaries(PLAIN_IDS, st.integers(0, 4).map(float), min_size=1, max_size=8), min_size=1, max_size=4
)


@examples(60)
@given(PLAIN, st.sampled_from(["trec", "expected", "doc-ascending", "input-order"]))
def test_a_plain_run_is_packed_to_the_same_ranking(
    tmp_path_factory: pytest.TempPathFactory, lists: dict[str, dict[str, float]], ties: str
) -> None:
    place = tmp_path_factory.mktemp("plain") / "a.run"
    write_run(as_run(lists), place, "trec")
    plain, joining = read_plain_run(place, "trec"), Joining(ties=ties)  # type: ignore[arg-type]
    assert plain is not None
    content = pack_plain_run(plain, joining)
    assert content is not None
    quick = Ranking(content)
    careful = Ranking(pack_run(read_run(place, "trec"), joining, Qrels.from_rows([], [], [])))
    assert quick.queries.keys() == careful.queries.keys() and quick.tag == careful.tag
    for query, docs in lists.items():
        assert quick.list_docs(query) == careful.list_docs(query) and quick.docs(query, 3) == careful.docs(query, 3)
        for doc in docs:
            assert sorted(map(repr, quick.find(doc))) == sorted(map(repr, careful.find(doc)))


def test_rules_for_ties_that_ask_for_more_are_left_to_the_join() -> None:
    plain = read_plain_run(EXAMPLE / "bm25.run")
    assert plain is not None
    assert all(pack_plain_run(plain, Joining(ties=ties)) is None for ties in ("rank-column", "best", "worst"))


def test_the_run_of_a_topic_is_evaluated_like_the_whole_run() -> None:
    qrels, run = read_qrels(EXAMPLE / "qrels.txt"), read_run(EXAMPLE / "bm25.run")
    ranking = Ranking(pack_run(run, Joining(), qrels))
    whole = evaluate(qrels, run, ["AP"]).per_query("AP")
    for query in qrels.queries[:5]:
        part = ranking.run(query, "bm25")
        assert isinstance(part, Run)
        assert evaluate(qrels.of(query), part, ["AP"]).per_query("AP")[query] == whole[query]


def test_a_damaged_ranking_is_made_anew(tmp_path: Path) -> None:
    content = pack_run(as_run({"q": {"a": 1.0}}), Joining(), Qrels.from_rows([], [], []))
    (tmp_path / "k.rank").write_bytes(content[: len(content) // 2])
    assert [one.doc for one in Rankings(tmp_path).get("k", lambda: content).list_docs("q")] == ["a"]
    assert (tmp_path / "k.rank").read_bytes() == content


def test_a_ranking_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    content = pack_run(as_run({"q": {"a": 1.0}}), Joining(), Qrels.from_rows([], [], []))
    Rankings(tmp_path).get("k", lambda: content)

    def never() -> bytes:
        raise AssertionError("it is there")

    assert Rankings(tmp_path).get("k", never).size("q") == 1


def test_what_is_kept_is_there_for_the_next_server_and_a_damaged_file_costs_nothing(tmp_path: Path) -> None:
    key = cache_key("x", 1)
    first = Cache(tmp_path)
    first.put({key: b"content"})
    assert Cache(tmp_path).get(key) == b"content"
    assert first.get(cache_key("x", 2)) is None
    for file in tmp_path.glob("kept.db*"):
        file.write_bytes(b"no database" * 1000)
    again = Cache(tmp_path)
    again.put({key: b"more"})
    assert again.get(key) == b"more"


def test_without_a_place_to_keep_things_there_is_a_temporary_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert Cache(tmp_path / "file" / "below").folder.is_dir()


def test_scores_from_disk_are_those_of_an_evaluation(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    view = CollectionLoader(FILES, cache).load()
    direct = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / f"{run}.run" for run in RUNS], ["nDCG@10", "RR", "Judged@10"])
    for _ in range(2):  # worked out, then read
        scores = evaluate_systems(view, ["nDCG@10", "RR", "Judged@10"], cache, Job()).scores
        assert [run.name for run in scores.runs] == [run.name for run in direct.runs]
        for run in direct.runs:
            for label in direct.labels:
                assert scores.mean(label, run.name) == direct.mean(label, run.name)
                assert scores.interval(label, run.name) == direct.interval(label, run.name)
                np.testing.assert_array_equal(scores.values(label, run.name), direct.values(label, run.name))
            assert scores.unjudged(10, run.name) == direct.unjudged(10, run.name)
        assert scores.notes == direct.notes and dict(scores.conventions) == dict(direct.conventions)


def test_a_measure_that_is_added_is_all_that_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import cranfield.workbench.explore.score_cache as module

    cache = Cache(tmp_path)
    view = CollectionLoader(FILES, cache).load()
    evaluate_systems(view, ["AP"], cache, Job())
    asked = []
    own = module.Evaluator

    def counted(*args: object, **given: object) -> object:
        asked.append([str(measure) for measure in args[1]])  # type: ignore[attr-defined]
        return own(*args, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "Evaluator", counted)
    evaluate_systems(view, ["AP", "RR"], cache, Job())
    assert asked == [["AP", "RR"], ["RR"]]
    asked.clear()
    evaluate_systems(view, ["RR", "AP"], cache, Job())
    assert asked == [["RR", "AP"]]


def test_topics_that_a_run_lacks_are_skipped_if_the_workspace_says_so(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    lines = (place / "bm25.run").read_text().splitlines(True)
    (place / "bm25.run").write_text("".join(line for line in lines if line.split()[0] not in ("1", "2")))
    toml = (place / "cranfield.toml").read_text()
    (place / "cranfield.toml").write_text(toml.replace("[evaluation]", '[evaluation]\nmissing = "skip"'))
    cache = Cache(None)
    view = CollectionLoader(DataSource(open_workspace(place)), cache).load()
    direct = evaluate(place / "qrels.txt", place / "bm25.run", ["AP", "nDCG@10"], missing="skip")
    for _ in range(2):
        scores = evaluate_systems(view, ["AP", "nDCG@10"], cache, Job()).scores
        assert scores.mean("AP", "bm25") == direct.mean("AP")
        assert scores.unjudged(10, "bm25") == direct.unjudged(10)


def test_another_content_is_another_collection_and_the_same_content_the_same(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    loader = CollectionLoader(DataSource(open_workspace(place)), Cache(None))
    first = loader.load()
    assert loader.load() is first
    (place / "lm.run").touch()
    assert loader.load() is first
    shutil.copy(EXAMPLE / "lsi.run", place / "lm.run")
    changed = loader.load()
    assert changed.tag != first.tag and changed.by_name["lm"].digest == first.by_name["lsi"].digest
    with (place / "qrels.txt").open("a") as out:
        out.write("1 0 new 1\n")
    assert loader.load().qrels_digest != first.qrels_digest


def test_what_is_missing_is_said_with_what_to_do(tmp_path: Path) -> None:
    place = lay_out(tmp_path)
    (place / "lm.run").unlink()
    view = CollectionLoader(DataSource(open_workspace(place)), Cache(None)).load()
    assert "lm" not in view.by_name and "cranfield experiment" in view.notes[0]
    for run in RUNS:
        (place / f"{run}.run").unlink(missing_ok=True)
    with pytest.raises(NothingToExplore, match="cranfield experiment"):
        CollectionLoader(DataSource(open_workspace(place)), Cache(None)).load()
    lay_out(tmp_path)
    toml = (place / "cranfield.toml").read_text()
    (place / "cranfield.toml").write_text(toml.replace('qrels = "qrels.txt"\n', ""))
    with pytest.raises(NothingToExplore, match="no judgments"):
        CollectionLoader(DataSource(open_workspace(place)), Cache(None)).load()


def test_runs_that_are_read_for_a_comparison_are_not_held(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    scores = evaluate_systems(CollectionLoader(FILES, cache).load(), ["AP"], cache, Job()).scores
    loose = select_systems(scores, ["lm.run", "bm25.run"])
    assert [run.name for run in loose.runs] == ["lm.run", "bm25.run"]
    assert len(loose.runs[0].judged.sources.run)
    assert all("run" not in run.judged.sources.__dict__ for run in scores.runs)


def test_the_same_work_is_done_once_and_who_is_impatient_is_told_how_far_it_is() -> None:
    jobs, going, times = Jobs(), threading.Event(), []

    def work(job: Job) -> str:
        for _ in job.watch(range(3), 3, "things"):
            times.append(1)
            if len(times) == 2:
                job.partial = "two of three"
                going.wait(TIMEOUT)
        return "done"

    with pytest.raises(StillRunning) as told:
        jobs.result("key", work, 0.05)
    assert told.value.of == 3 and told.value.what == "things" and told.value.partial == "two of three"
    going.set()
    assert jobs.result("key", work, TIMEOUT) == "done" and len(times) == 3


def test_work_that_fails_is_tried_again() -> None:
    jobs, times = Jobs(), []

    def work(job: Job) -> None:
        times.append(1)
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            jobs.result("key", work, TIMEOUT)
    assert len(times) == 2
