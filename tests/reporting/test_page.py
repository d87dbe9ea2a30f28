"""The report: it says what the library computes, opens offline without a complaint, and shows no text as code."""

from __future__ import annotations

import html.parser
import json
import re
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cranfield.data.collection import Document, Topic
from cranfield.errors import CranfieldError, EvaluationError, MissingExtra
from cranfield.evaluation import Evaluator, Scores, evaluate
from cranfield.io import read_run
from cranfield.lab.latency import Figure
from cranfield.measures import parse_measure
from cranfield.reporting import page as page_package
from cranfield.reporting.costs import Cost, Costs
from cranfield.reporting.page import Report, report
from cranfield.reporting.page.context import ReportContext
from cranfield.reporting.page.explorer import (
    DEPTH,
    assign_shades,
    choose_queries,
    compute_contrast,
    find_extremes,
    list_top_documents,
    make_excerpts,
    shorten,
)
from cranfield.reporting.page.html import Name, escape, table, tag
from cranfield.reporting.page.summary import count_relevant, mean_relevant_on_top
from cranfield.reporting.page.ties import order_ties
from cranfield.reporting.page.unjudged import compute_bounds
from cranfield.reporting.plots import PLOT_KINDS
from cranfield.reporting.plots.theme import DARK
from cranfield.stats.comparison import compare

HERE = Path(page_package.__file__).parent
EXAMPLE = HERE.parents[1] / "example"
RUNS = ("bm25", "lm", "lsi", "titles")
SECTIONS = ["leaderboard", "comparisons", "efficiency", "pictures", "topics"]
SECTIONS += ["unjudged", "ties", "checks", "provenance"]
EVIL = "</script><script>alert(1)</script>"

pytestmark = pytest.mark.skipif(find_spec("vl_convert") is None, reason="vl-convert-python is not installed")


def example(*names: str, measures: Any = ("nDCG@10", "AP", "RR"), **options: Any) -> Scores:
    return evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / f"{name}.run" for name in names or RUNS], measures, **options)


def synthetic(systems: int, topics: int, seed: int = 1, docs: int = 30) -> Scores:
    """Systems of growing skill; a few of the documents are not judged."""
    rng = np.random.default_rng(seed)
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, dict[str, float]]] = {f"system{i:02}": {} for i in range(systems)}
    for j in range(topics):
        grades = rng.choice([0, 0, 0, 1, 2, 3], size=docs)
        grades[0] = 1
        qrels[f"t{j}"] = {f"doc{j}-{d}": int(grade) for d, grade in enumerate(grades) if d % 15 != 14}
        for i, run in enumerate(runs.values()):
            scores = grades * (0.5 + i / systems) + rng.normal(0, 1.5, docs)
            run[f"t{j}"] = {f"doc{j}-{d}": float(score) for d, score in enumerate(scores)}
    return evaluate(qrels, runs)


@pytest.fixture(scope="module")
def whole() -> Report:
    """The report of the example, with texts and costs."""
    costs = Costs(tuple(Cost(name, latency={50: Figure(i + 1.0, i + 0.5, i + 1.5)}) for i, name in enumerate(RUNS)))
    texts = {"topics": EXAMPLE / "topics.xml", "documents": EXAMPLE / "documents.jsonl"}
    return report(example(), **texts, command="cranfield x", costs=costs)


@pytest.fixture(scope="module")
def many() -> Report:
    """The report of sixty systems on fifty topics, with texts."""
    texts = (Document(f"doc{j}-{d}", "word " * 200) for j in range(50) for d in range(30))
    return report(synthetic(60, 50), documents=texts)


class Outline(html.parser.HTMLParser):
    """What a page consists of; scripts apart."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.scripts: list[str] = []
        self._in: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag in ("script", "style"):
            self._in.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._in and self._in[-1] == tag:
            self._in.pop()

    def handle_data(self, data: str) -> None:
        if self._in:
            self.scripts.append(data)
        elif data.strip():
            self.text.append(data)

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def having(self, name: str) -> list[dict[str, str]]:
        return [given for tag, given in self.tags if tag == name]


def data_of(made: Report) -> dict[str, Any]:
    """What the script of a page works with."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', made.html, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


# What it says


def test_the_summary_says_who_leads_and_what_was_found(whole: Report) -> None:
    words = Outline(whole.html).words
    assert whole.title == "lsi.run leads with nDCG@10 0.6875"
    assert "lsi.run has the highest mean nDCG@10 of 0.6875" in words
    assert "lsi.run found 242 of 271 relevant documents; 4.3 of its top 10 are relevant, on average." in words


def test_counts_of_relevant_documents_are_those_of_the_measures() -> None:
    scores = example(measures=["NumRelRet", "NumRel", "P@10"])
    material = ReportContext(scores)
    for i, run in enumerate(scores.runs):
        assert count_relevant(material, i) == (scores.mean("NumRelRet", run.name), scores.mean("NumRel", run.name))
        assert mean_relevant_on_top(material, i) == pytest.approx(10 * scores.mean("P@10", run.name))


def test_the_leaderboard_has_every_mean_and_its_interval_with_the_best_in_bold(whole: Report) -> None:
    scores = example()
    rows = re.search(r'id="leaderboard-table".*?</table>', whole.html, re.S)
    assert rows is not None
    for run in scores.runs:
        for label in scores.labels:
            found = scores.interval(label, run.name)
            assert found is not None
            mean = f"{scores.mean(label, run.name):.4f}"
            best = max(scores.mean(label, other.name) for other in scores.runs)
            shown = f"<b>{mean}</b>" if scores.mean(label, run.name) == best else mean
            assert f">{shown}<" in rows[0] and f"[{found.low:.3f}, {found.high:.3f}]" in rows[0]


def test_sections_are_all_there_in_order(whole: Report) -> None:
    assert [given["id"] for given in Outline(whole.html).having("section")] == SECTIONS


def test_comparisons_are_those_of_compare(whole: Report) -> None:
    from cranfield.stats.comparison import compare

    found = compare(example())
    words = Outline(whole.html).words
    for text in (*(claim.text for claim in found.claims), *found.warnings, found.caption):
        assert " ".join(text.split()) in words


def test_a_baseline_is_what_others_are_compared_with() -> None:
    words = Outline(report(example(), "bm25.run").html).words
    assert "Differences from bm25.run" in words and "Biggest wins of lsi.run over bm25.run" in words
    with pytest.raises(CranfieldError, match="the baseline 'bm26' is none of the runs"):
        report(example(), "bm26")


def test_every_kind_of_picture_is_there_with_a_text(whole: Report) -> None:
    outline = Outline(whole.html)
    assert set(data_of(whole)["pictures"]) == set(PLOT_KINDS)
    assert {given["data-kind"] for given in outline.having("div") if "data-kind" in given} == set(PLOT_KINDS)
    images = [given for given in outline.having("div") if given.get("role") == "img"]
    assert len(images) == len(PLOT_KINDS) and all(given["aria-label"] for given in images)


def test_provenance_names_files_digests_versions_command_and_what_was_left_out(whole: Report) -> None:
    import hashlib

    words = Outline(whole.html).words
    for file in ("qrels.txt", "topics.xml", "documents.jsonl", *(f"{name}.run" for name in RUNS)):
        assert hashlib.sha256((EXAMPLE / file).read_bytes()).hexdigest() in words
    assert "cranfield x" in words and f"numpy {np.__version__}" in words and "seed 1" in words
    assert re.search(r"Seed\s*1\b", words)
    assert "titles.run: 7 queries missing, counted as 0 ('1', '12', '16', '23', '24' and 2 more)." in words
    assert "Nothing suspicious in 7 files." in words


def test_the_seed_is_told_where_nothing_is_compared() -> None:
    assert re.search(r"Seed\s*7\b", Outline(report(example("lm"), seed=7).html).words)


def test_figures_are_those_of_eval_and_compare(whole: Report) -> None:
    words = re.sub(r"\s+", " ", Outline(whole.html).words)
    scores = example()
    found = compare(scores, measures=["nDCG@10"], seed=1).column("nDCG@10")
    for run in scores.runs:
        for label in scores.labels:
            assert f"{scores.mean(label, run.name):.4f}" in words
    best = max(scores.runs, key=lambda run: scores.mean("nDCG@10", run.name)).name
    for other in (run.name for run in scores.runs if run.name != best):
        pair = found.pair(best, other)
        effect = pair.effect
        counts = f"{effect.wins} / {effect.ties} / {effect.losses}"
        start = words.index(f"{best} − {other}")
        row = words[start : start + 140]
        assert f"+{pair.difference:.4f}" in row and counts in row and f"{effect.d_z:.2f}" in row
    judged = evaluate(EXAMPLE / "qrels.txt", [EXAMPLE / best], ["NumRelRet", "NumRel", "P@10"])
    ret, rel = (int(judged.mean(label, best)) for label in ("NumRelRet", "NumRel"))
    top = 10 * judged.mean("P@10", best)
    assert f"{best} found {ret} of {rel} relevant documents; {top:.1f} of its top 10 are relevant" in words


def test_runs_that_checks_have_read_are_not_read_again() -> None:
    known = {str(EXAMPLE / f"{name}.run"): read_run(EXAMPLE / f"{name}.run") for name in RUNS}
    taken = [run for _, run in ReportContext(example()).read_whole_runs(known)]
    assert all(one is other for one, other in zip(taken, known.values(), strict=True))
    assert not any(run is one for _, run in ReportContext(example()).read_whole_runs() for one in known.values())


def test_a_page_is_the_same_whether_or_not_runs_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    whole = report(example()).html
    monkeypatch.setattr("cranfield.reporting.page._runs_in", lambda checked: {})
    assert report(example()).html == whole


def test_a_build_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    made = report(example("bm25", "lm"))
    assert "1970-01-01 00:00 UTC" in made.html
    assert made == report(example("bm25", "lm"))


def test_findings_of_checks_are_told(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 a 0\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2 t\n1 Q0 a 2 2 t\n2 Q0 x 1 1 t\n")
    words = Outline(report(evaluate(tmp_path / "qrels", [tmp_path / "run"], ["P@2"])).html).words
    assert "warning" in words.split("Checks", 2)[2]


# Topics


def test_rankings_are_those_of_the_join() -> None:
    scores = example("bm25", "lm")
    for scored in scores.runs:
        assert scored.origin is not None
        run = read_run(scored.origin.file)
        found = list_top_documents(scored, run, scores.queries)
        for i, query in enumerate(scored.judged.queries):
            assert found[query] == scored.judged.ranking(i)[:DEPTH]


def test_wins_and_losses_are_the_largest_differences() -> None:
    scores = example("bm25", "lm")
    ends = find_extremes(ReportContext(scores))
    gains = scores.values("nDCG@10", "lm.run") - scores.values("nDCG@10", "bm25.run")
    order = np.argsort(-gains, kind="stable")
    assert [gains[j] for j in ends.won] == [gains[j] for j in order[:5]]
    assert [gains[j] for j in ends.lost] == [gains[j] for j in order[::-1][:5]]
    means = np.array([run.values[0] for run in scores.runs]).mean(axis=0)
    assert means[list(ends.hardest)].max() <= means[list(ends.easiest)].min()
    assert not set(ends.hardest) & set(ends.easiest)


def test_rankings_stand_side_by_side_with_grades_and_texts(whole: Report) -> None:
    # topic 20, one of the biggest wins: b021 has grade 3 and is first for lsi, seventh for bm25
    part = whole.html.split("Biggest wins")[1].split("<b>Topic 20</b>")[1].split("</details>")[0]
    first, second = part.split('<div class="ranking">')[1:]
    assert "staying upright" in part and "Why a moving bicycle stays up" in first
    assert re.search(r'<li><span class="grade" style="[^"]*">3</span><span class="doc">b021</span>', first)
    assert "bm25.run: 7" in first and "lsi.run: 1" in second


def test_unjudged_documents_are_outlined_and_have_no_shade() -> None:
    made = report(evaluate({"1": {"a": 1, "b": 0}}, {"x": {"1": {"a": 1, "u": 2}}, "y": {"1": {"a": 2, "b": 1}}}))
    assert '<span class="grade unjudged" title="unjudged">?</span><span class="doc">u</span>' in made.html
    topic = data_of(made)["explorer"]["topics"][0]
    assert dict(zip(topic["docs"], topic["grades"], strict=True)) == {"u": None, "a": 1.0, "b": 0.0}


def test_only_texts_that_are_shown_are_in_the_file() -> None:
    documents = [Document(f"d{i}", "word " * 1000, f"title{i}") for i in range(50)]
    scores = evaluate({"1": {"d0": 1}}, {"x": {"1": {"d0": 2.0, "d1": 1.0}}, "y": {"1": {"d1": 1.0}}}, ["RR"])
    made = report(scores, documents=documents, topics=[Topic("1", "what", "why"), Topic("2", "unused")])
    assert sorted(data_of(made)["explorer"]["texts"]) == ["d0", "d1"]
    assert "title2" not in made.html and "unused" not in made.html and "word " * 60 not in made.html


def test_texts_that_are_not_there_are_told() -> None:
    scores = evaluate({"1": {"a": 1}, "2": {"a": 1}}, {"x": {"1": {"a": 1.0}, "2": {"z": 1.0}}}, ["RR"])
    words = Outline(report(scores, documents=[Document("a", "text")], topics=[Topic("1", "one")]).html).words
    assert "1 document shown without a text: 'z'." in words and "1 topic without a text: '2'." in words


def test_a_collection_is_read_only_until_all_texts_are_found() -> None:
    def documents() -> Any:
        yield Document("a", "text")
        raise AssertionError("read too far")

    assert list(make_excerpts(documents(), ["a"])) == ["a"]


def test_long_texts_are_cut_between_words() -> None:
    assert shorten("short", 10) == "short"
    assert shorten("one two three four", 9) == "one two …"
    assert shorten("x" * 100, 9) == "x" * 9 + " …"
    assert len(shorten(" " * 10_000 + "late", 20)) <= 22


def test_grades_are_legible_on_their_shades() -> None:
    for grades in ([0, 1], [0, 1, 2, 3, 4], [-2, 0, 1], list(range(20)), [0, 0.5]):
        found = assign_shades([float(grade) for grade in grades])
        for at in (0, 2):  # on a light page, on a dark one
            assert len({shade[at] for shade in found.values()}) == len(found)
            assert all(compute_contrast(shade[at], shade[at + 1]) >= 4.5 for shade in found.values())


def test_the_highest_grade_stands_out_most_from_either_ground() -> None:
    found = assign_shades([0.0, 1.0, 2.0, 3.0])
    for at, ground in ((0, "#ffffff"), (2, "#16181b")):
        steps = [compute_contrast(shade[at], ground) for shade in found.values()]
        assert steps == sorted(steps) and steps[-1] >= 4.5


# Unjudged documents and ties


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR"])
def test_bounds_are_those_of_eval(measure: str) -> None:
    scores = example(measures=[measure], bounds=True)
    material = ReportContext(example(measures=[measure]))
    for scored, run in material.read_whole_runs():
        found = compute_bounds(material, scored, run)
        assert found.low == pytest.approx(scores.mean(f"{measure}.low", scored.name))
        assert found.high == pytest.approx(scores.mean(f"{measure}.high", scored.name))


@pytest.mark.parametrize("order", ["best", "worst"])
def test_the_order_of_ties_is_that_of_the_tie_rules(order: Any) -> None:
    rng = np.random.default_rng(7)
    qrels = {f"q{j}": {f"d{d}": int(rng.integers(-1, 4)) for d in range(12) if d % 4} for j in range(8)}
    runs = {"x": {q: {f"d{d}": float(rng.integers(3)) for d in range(12)} for q in qrels}}
    measures = ["nDCG@5", "AP", "RR", "P@3", "ERR@10"]
    usual, asked = evaluate(qrels, runs, measures), evaluate(qrels, runs, measures, ties=order)
    found = order_ties(usual.runs[0].judged, order == "best")
    for i, name in enumerate(measures):
        assert parse_measure(name).values(found) == pytest.approx(asked.runs[0].values[i])


def test_judged_shares_are_those_of_the_measure(whole: Report) -> None:
    scores = example(measures=["Judged@50"])
    part = whole.html.split('id="unjudged"')[1].split("</section>")[0]
    share = 1 - scores.unjudged(50, "lm.run")
    assert share < 1 and f"{100 * share:.1f} %" in part


# Cases at the edge


@pytest.mark.parametrize(
    "given",
    [
        {"names": ("bm25",)},
        {"names": ("bm25", "bm25")},
        {"missing": "skip"},
        {"ties": "expected"},
        {"mean": "geometric"},
        {"mean": "median"},
        {"measures": ["NumRelRet"]},
        {"measures": ["Judged@10"]},
        {"measures": ["gm_map"]},
        {"measures": ["SearchLength"]},
        {"weights": {str(i): i for i in range(1, 31)}},
    ],
    ids=str,
)
def test_whatever_is_evaluated_gives_a_page_without_nan(given: dict[str, Any]) -> None:
    options = dict(given)
    made = report(example(*options.pop("names", ()), **options))
    assert not re.search(r"(?i)\b(nan|inf)\b", Outline(made.html).words)


def test_one_topic_and_one_run_are_enough() -> None:
    words = Outline(report(evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["RR"])).html).words
    assert "name a second run to have it compared" in words and "There is only 1 topic." in words


def test_a_measure_of_the_run_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = example(measures=["nDCG@10"])
    monkeypatch.setattr(type(scores.measures[0]), "aggregate", "run")
    with pytest.raises(EvaluationError, match="value for each query"):
        report(scores)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtra, match=r"pip install 'cranfield\[plots\]'"):
        report(example("bm25"))


def test_many_topics_are_limited_and_that_is_said() -> None:
    scores = synthetic(2, 40, docs=12)
    material = ReportContext(scores)
    assert len(choose_queries(material, find_extremes(material))) == 40
    page_package.topics_page.ROOM, usual = 500, page_package.topics_page.ROOM
    try:
        made = report(scores)
    finally:
        page_package.topics_page.ROOM = usual
    kept = data_of(made)["explorer"]["topics"]
    assert 20 <= len(kept) < 40
    assert f"Rankings of {len(kept)} of 40 topics are in this file" in Outline(made.html).words


@pytest.mark.slow
def test_sixty_systems_on_fifty_topics_stay_below_five_megabytes(many: Report) -> None:
    assert len(many.html.encode()) < 5_000_000
    assert len(data_of(many)["explorer"]["topics"]) == 50 and len(data_of(many)["explorer"]["texts"]) > 1400


# HTML


def test_text_is_text_whatever_it_holds() -> None:
    assert tag("p", EVIL) == "<p>&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;</p>"
    assert escape("\x00\udcff\u2028") == "\\x00\\xff\\u2028"
    assert 'data-system="&lt;b&gt;"' in table("x", ["a"], [[Name.of("<b>")]])


def test_hostile_names_and_texts_do_no_harm() -> None:
    names = [EVIL, "<img src=x onerror=alert(1)>", "\"' onload=alert(1)", "${alert(1)}`"]
    qrels = {f"{EVIL}{j}": {f"<b>{EVIL}{d}": d % 3 for d in range(5)} for j in range(3)}
    runs = {
        name: {q: {doc: float((i + k) % 5) for k, doc in enumerate(qrels[q])} for q in qrels}
        for i, name in enumerate(names)
    }
    texts = [Document(f"<b>{EVIL}{d}", EVIL, "<svg onload=alert(1)>") for d in range(5)]
    made = report(evaluate(qrels, runs), topics=[Topic(f"{EVIL}0", EVIL)], documents=texts, command=EVIL)
    outline = Outline(made.html)
    assert not outline.having("img") and not outline.having("svg") and len(outline.having("script")) == 3
    assert not [name for _, given in outline.tags for name in given if name.startswith("on")]
    assert EVIL in outline.words and "alert(1)" in json.dumps(data_of(made))


def test_nothing_is_loaded_from_anywhere(whole: Report) -> None:
    outline = Outline(whole.html)
    policy = next(given["content"] for given in outline.having("meta") if "http-equiv" in given)
    assert "default-src 'none'" in policy and "eval" not in policy and "http" not in policy
    loads = [given.get("src") or given.get("href") for name, given in outline.tags if name in ("script", "link", "img")]
    assert not any(loads)
    own = (HERE / "page.js").read_text() + (HERE / "page.css").read_text()
    assert not re.search(r"https?:|fetch\(|XMLHttpRequest|@import|url\(|eval\(", own)


def test_headings_landmarks_and_tables_are_in_order(whole: Report) -> None:
    outline = Outline(whole.html)
    levels = [int(name[1]) for name, _ in outline.tags if re.fullmatch(r"h[1-6]", name)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in zip(levels, levels[1:], strict=False))
    assert all(outline.having(name) for name in ("main", "nav", "header"))
    assert all(given.get("scope") in ("col", "row") for given in outline.having("th"))
    ids = Counter(given["id"] for _, given in outline.tags if "id" in given)
    assert max(ids.values()) == 1
    anchors = [given["href"][1:] for given in outline.having("a") if not given["href"].startswith("#topic=")]
    assert set(anchors) <= set(ids)


def _colours(block: str) -> dict[str, str]:
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))


def test_text_has_enough_contrast_in_both_schemes() -> None:
    style = (HERE / "page.css").read_text()
    schemes = [_colours(block) for block in re.findall(r":root \{(.*?)\}", style, re.S)[:2]]
    assert len(schemes) == 2
    for scheme in schemes:
        for name in ("text", "quiet", "accent", "better", "worse"):
            assert compute_contrast(scheme[name], scheme["ground"]) >= 4.5, name


def test_names_have_the_colours_of_pictures_in_the_dark() -> None:
    style = (HERE / "page.css").read_text()
    pairs = re.findall(r'\.dot\[data-colour="(#\w+)"\] \{ --dot: (#\w+)', style)
    assert len(pairs) >= 5
    for light, dark in pairs:
        assert f'[fill="{light}"] {{ fill: {dark} }}' in DARK


# In a browser


def opened(chromium: Any, folder: Path, made: Report, act: str = "", until: str = "true") -> tuple[str, list[str]]:
    """A page as it is once everything is drawn, with the network off, and what the browser complained of.

    Then something may be done on the page, until a condition holds and everything is drawn again.
    """
    made.save(folder / "report.html")
    context = chromium.new_context(offline=True, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((folder / "report.html").as_uri())
    page.wait_for_function("() => document.documentElement.dataset.drawn")
    if act:
        page.evaluate(f"() => {{ {act} }}")
        page.wait_for_function(f"() => ({until}) && document.documentElement.dataset.drawn")
    dom = page.content()
    context.close()
    return dom, complaints


def test_a_browser_draws_every_picture_offline_without_a_complaint(
    chromium: Any, whole: Report, tmp_path: Path
) -> None:
    dom, complaints = opened(chromium, tmp_path, whole)
    assert complaints == []
    assert 'data-drawn="all"' in dom
    for kind in PLOT_KINDS:
        figure = dom.split(f'id="figure-{kind}"')[1].split("</figure>")[0]
        assert len(re.findall(r"<svg\b", figure)) == 1 and "Save as SVG" in figure


def test_a_browser_draws_sixty_systems_and_a_choice_of_them(chromium: Any, many: Report, tmp_path: Path) -> None:
    choose = """
      document.querySelectorAll("#systems .boxes input").forEach((box, i) => { box.checked = i < 2 || i === 40; });
      document.querySelector("#systems .boxes input").dispatchEvent(new Event("change"));
    """
    chosen = "document.querySelector('#picked').textContent === '3 of 60'"
    dom, complaints = opened(chromium, tmp_path, many, choose, chosen)
    assert complaints == []
    assert 'data-drawn="all"' in dom and "3 of 60" in dom
    boxes = dom.split('id="figure-boxes"')[1].split("</figure>")[0]
    assert len(set(re.findall(r"system\d\d", boxes.split("<svg", 1)[1]))) == 3
    rows = dom.split('id="leaderboard-table"')[1].split("</table>")[0]
    assert rows.count('hidden=""') == 57


def test_a_browser_sorts_tables_and_follows_links_to_topics(chromium: Any, whole: Report, tmp_path: Path) -> None:
    act = """
      const buttons = document.querySelectorAll("#leaderboard-table thead button");
      buttons[1].click(); buttons[1].click();
      location.hash = "#topic=7&system=titles.run&against=lm.run";
    """
    followed = "document.querySelector('#explorer').textContent.includes('Topic 7')"
    dom, complaints = opened(chromium, tmp_path, whole, act, followed)
    assert complaints == []
    rows = dom.split('id="leaderboard-table"')[1].split("</table>")[0]
    names = re.findall(r'<tr data-system="([^"]*)"', rows)
    assert names == ["titles.run", "bm25.run", "lm.run", "lsi.run"] and 'aria-sort="ascending"' in rows
    explorer = dom.split('id="explorer"')[1].split("</section>")[0]
    assert "Topic 7" in explorer and "numb fingers" in explorer
    assert re.search(r"<h5>titles.run .*<h5>lm.run ", explorer, re.S)


def test_a_browser_tells_values_on_hover(chromium: Any, whole: Report, tmp_path: Path) -> None:
    hover = """
      const mark = document.querySelector("#figure-heatmap .mark-rect path");
      const box = mark.getBoundingClientRect();
      for (const kind of ["pointerover", "pointermove"]) {
        mark.dispatchEvent(new PointerEvent(kind, {bubbles: true, clientX: box.x + 4, clientY: box.y + 4}));
      }
    """
    shown = "document.querySelector('#vg-tooltip-element')?.textContent"
    dom, complaints = opened(chromium, tmp_path, whole, hover, shown)
    told = re.sub("<[^>]*>", " ", dom.split('id="vg-tooltip-element"')[1])
    assert complaints == [] and re.search(r"Topic +7 +System +lsi\.run +nDCG@10 +0\.8", told)


def test_a_browser_shows_hostile_texts_as_texts(chromium: Any, tmp_path: Path) -> None:
    qrels = {"q": {f"{EVIL}{d}": d % 2 for d in range(4)}, "r": {EVIL: 1}}
    runs = {
        name: {"q": dict(zip(qrels["q"], scores, strict=True)), "r": {EVIL: 1.0}}
        for name, scores in ((EVIL, [4.0, 3.0, 2.0, 1.0]), ("<img src=x onerror=alert(1)>", [1.0, 2.0, 3.0, 4.0]))
    }
    dom, complaints = opened(chromium, tmp_path, report(evaluate(qrels, runs), documents=[Document(f"{EVIL}0", EVIL)]))
    assert complaints == [] and 'data-drawn="all"' in dom and "<img" not in dom.split("<script")[0]


def test_a_browser_draws_names_that_every_object_of_javascript_has(chromium: Any, tmp_path: Path) -> None:
    names, queries = ["toString", "constructor", "__proto__", "a\u202eb"], ["valueOf", "__proto__", "3"]
    qrels = {query: {"constructor": 1, "b": 0, "c": 2} for query in queries}
    runs = {name: {q: {"constructor": 1.0 + i, "b": 2.5, "c": 3.2} for q in queries} for i, name in enumerate(names)}
    made = report(evaluate(qrels, runs, ["nDCG@10"]), documents=[Document("b", "text of b")])
    dom, complaints = opened(chromium, tmp_path, made)
    assert complaints == [] and 'data-drawn="all"' in dom
    scatter = dom.split('id="figure-scatter"')[1].split("</figure>")[0].split("<svg", 1)[1]
    assert all(name in scatter for name in ("constructor", "__proto__", "a\\u202eb"))
    assert "undefined" not in dom.split('id="explorer"')[1].split("</section>")[0]


def test_a_browser_goes_from_topic_to_topic_by_keys_and_unfolds_for_paper(
    chromium: Any, whole: Report, tmp_path: Path
) -> None:
    act = """
      for (const key of ["n", "n", "p"]) dispatchEvent(new KeyboardEvent("keydown", {key}));
      const folded = () => document.querySelectorAll("#topics details:not([open])").length;
      const counts = [folded()];
      for (const kind of ["beforeprint", "afterprint"]) { dispatchEvent(new Event(kind)); counts.push(folded()); }
      document.body.dataset.seen = `${document.querySelector("#explorer select").selectedIndex} ${counts.join(" ")}`;
    """
    dom, complaints = opened(chromium, tmp_path, whole, act)
    seen = re.search('data-seen="([^"]*)"', dom)
    assert complaints == [] and seen is not None
    at, *folded = seen[1].split()
    assert at == "1" and folded == ["10", "0", "10"]


def test_a_browser_needs_no_sideways_scrolling_of_the_page(chromium: Any, tmp_path: Path) -> None:
    long = "x" * 300
    qrels, run = {long: {long: 1, "b": 0}, "2": {"b": 1}}, {long: {long: 1.0, "b": 2.0}, "2": {"b": 1.0}}
    made = report(evaluate(qrels, {long: run, "other": run}, ["nDCG@10"]), topics=[Topic(long, title=long)])
    wide = """
      const root = document.documentElement;
      root.dataset.wide = root.scrollWidth > root.clientWidth;
    """
    dom, complaints = opened(chromium, tmp_path, made, wide)
    assert complaints == [] and 'data-wide="false"' in dom


# Real runs


@pytest.mark.slow
def test_the_deep_learning_track_has_a_report(shared_data: Path) -> None:
    folder = shared_data / "dl19"
    runs = sorted((folder / "runs").glob("*.gz"))[:3]
    evaluator = Evaluator(next(folder.glob("qrels*")), ["nDCG@10", "AP(rel=2)"])
    scores = evaluator.evaluate(runs)
    made = report(scores)
    best = max(scores.runs, key=lambda run: scores.mean("nDCG@10", run.name))
    assert made.title.startswith(f"{best.name} leads with nDCG@10")
