"""The bundled test collection is what its README says, and fit to learn from."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from cranfield import evaluate, read_documents, read_qrels, read_run, read_topics
from cranfield.cli import main
from cranfield.evaluation import Scores
from cranfield.text.analysis import Analysis

EXAMPLE = Path(__file__).parent.parent / "src/cranfield/example"
README = (EXAMPLE / "README.md").read_text()
RUNS = sorted(path.stem for path in EXAMPLE.glob("*.run"))
DOCUMENTS = {document.id: document for document in read_documents(EXAMPLE / "documents.jsonl")}
TOPICS = {topic.id: topic for topic in read_topics(EXAMPLE / "topics.xml")}
QRELS = read_qrels(EXAMPLE / "qrels.txt").to_dict()
RELEVANT = [(topic, doc) for topic, grades in QRELS.items() for doc, grade in grades.items() if grade > 0]


@pytest.fixture(scope="module")
def scores() -> Scores:
    return evaluate(EXAMPLE / "qrels.txt", {name: EXAMPLE / f"{name}.run" for name in RUNS}, ["nDCG@10"])


def words(doc: str) -> int:
    return len(DOCUMENTS[doc].text.split())


def sentences(text: str) -> Iterator[str]:
    """Sentences in lower case, without punctuation."""
    for sentence in re.split(r"(?<=[.!?…])[\"'”’)]*\s+", text):
        if bare := " ".join(re.findall(r"\w+", sentence.lower())):
            yield bare


# Documents and topics


def test_there_are_two_hundred_documents_of_60_to_200_words() -> None:
    assert len(DOCUMENTS) >= 200
    assert {doc: words(doc) for doc in DOCUMENTS if not 60 <= words(doc) <= 200} == {}


def test_no_two_documents_share_a_title_or_a_sentence() -> None:
    seen: dict[str, str] = {}
    shared = [
        (seen[sentence], document.id, sentence)
        for document in DOCUMENTS.values()
        for sentence in {*sentences(document.text), *sentences(document.title or "")}
        if seen.setdefault(sentence, document.id) != document.id
    ]
    assert shared == [] and len(seen) > 5 * len(DOCUMENTS)


def test_there_are_thirty_topics_with_title_description_and_narrative() -> None:
    assert list(TOPICS) == [str(number) for number in range(1, 31)]
    for field in ("title", "description", "narrative"):
        texts = [getattr(topic, field) for topic in TOPICS.values()]
        assert all(texts) and len(set(texts)) == 30


def test_topics_are_of_every_kind() -> None:
    pytest.importorskip("snowballstemmer")
    counts = {topic: sum(grade > 0 for grade in grades.values()) for topic, grades in QRELS.items()}
    assert sum(count >= 10 for count in counts.values()) >= 5
    wanted = [topic.id for topic in TOPICS.values() if "wanted document" in (topic.narrative or "")]
    assert len(wanted) >= 3 and all(list(QRELS[topic].values()).count(3) == 1 for topic in wanted)
    without = {topic for topic in counts if 2 * len(without_a_word_of_the_title(topic)) >= counts[topic]}
    assert 5 <= len(without) <= 25


# Judgments


def without_a_word_of_the_title(topic: str) -> list[str]:
    """Relevant documents of a topic that have no content word of its title."""
    analysis = Analysis(stop_words="english-long")
    title = set(analysis.terms(TOPICS[topic].title))
    texts = {doc: f"{DOCUMENTS[doc].title} {DOCUMENTS[doc].text}" for asked, doc in RELEVANT if asked == topic}
    return [doc for doc, text in texts.items() if not title & set(analysis.terms(text))]


def test_grades_go_from_0_to_3_for_known_topics_and_documents() -> None:
    assert list(QRELS) == list(TOPICS)
    assert set(chain.from_iterable(QRELS.values())) <= set(DOCUMENTS)
    assert {grade for grades in QRELS.values() for grade in grades.values()} == {0, 1, 2, 3}
    assert {topic for topic, _ in RELEVANT} == set(TOPICS)


@pytest.mark.parametrize("name", RUNS)
def test_the_first_twenty_of_every_run_are_judged(name: str, scores: Scores) -> None:
    for topic, docs in read_run(EXAMPLE / f"{name}.run").to_dict().items():
        assert set(list(docs)[:20]) <= set(QRELS[topic]), topic
    # also where ties are broken by id
    assert scores.unjudged(20, name) == 0


def test_a_fifth_of_the_relevant_documents_have_no_word_of_the_title() -> None:
    pytest.importorskip("snowballstemmer")
    count = sum(len(without_a_word_of_the_title(topic)) for topic in TOPICS)
    assert count >= len(RELEVANT) / 5
    assert f"Of all {len(RELEVANT)} relevant documents, {count} ({count / len(RELEVANT):.0%}" in README.replace(
        " %", "%"
    )


# Runs


def test_systems_are_separated(scores: Scores) -> None:
    best, *_, worst = sorted(RUNS, key=lambda name: -scores.mean("nDCG@10", name))
    assert scores.mean("nDCG@10", best) - scores.mean("nDCG@10", worst) >= 0.2
    high, low = scores.interval("nDCG@10", best), scores.interval("nDCG@10", worst)
    assert high is not None and low is not None and high.low > low.high


def test_every_system_wins_some_topic(scores: Scores) -> None:
    values = {name: scores.per_query("nDCG@10", name) for name in RUNS}
    winners = set()
    for topic in TOPICS:
        first, second = sorted(RUNS, key=lambda name: -values[name][topic])[:2]
        if values[first][topic] > values[second][topic] + 1e-9:
            winners.add(first)
    assert winners == set(RUNS)


def test_the_commands_of_the_readme_make_the_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("snowballstemmer")
    for name in ("documents.jsonl", "topics.xml"):
        shutil.copy(EXAMPLE / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in re.findall(r"^\$ cranfield (.*)$", README, re.M):
        with pytest.raises(SystemExit) as ended:
            main([*command.split(), "--quiet"])
        assert ended.value.code == 0
    assert sorted(path.stem for path in tmp_path.glob("*.run")) == sorted(RUNS)
    for name in RUNS:
        made, shipped = (read_run(folder / f"{name}.run").to_dict() for folder in (tmp_path, EXAMPLE))
        assert {topic: list(docs) for topic, docs in made.items()} == {t: list(d) for t, d in shipped.items()}, name
        for topic, docs in shipped.items():
            assert made[topic] == pytest.approx(docs, rel=0, abs=1e-9)


# What the README says


def test_the_readme_has_the_figures() -> None:
    lengths = sorted(map(words, DOCUMENTS))
    grades = [grade for judged in QRELS.values() for grade in judged.values()]
    flat = " ".join(README.split())
    assert f"{len(DOCUMENTS)} short documents" in flat and f"{len(grades):,} judgments" in flat
    assert f"have {lengths[0]} to {lengths[-1]} words each, {lengths[len(lengths) // 2]} in the median" in flat
    assert f"and {sum(lengths):,} in all" in flat
    for grade in range(4):
        assert re.search(rf"^\| {grade} \|.*\| {grades.count(grade):,} \|$", README, re.M)
    wanted = [topic.id for topic in TOPICS.values() if "wanted document" in (topic.narrative or "")]
    many = [topic for topic, judged in QRELS.items() if sum(grade > 0 for grade in judged.values()) >= 10]
    for kind in (many, wanted):
        assert f"| {len(kind)}: {', '.join(kind)} |" in README
    missing = [topic for topic in TOPICS if topic not in read_run(EXAMPLE / "titles.run").to_dict()]
    assert f"none at all for topics {', '.join(missing[:-1])} and {missing[-1]}." in flat


def test_the_readme_names_topics_by_their_words() -> None:
    pytest.importorskip("snowballstemmer")
    shares = {
        topic: len(without_a_word_of_the_title(topic)) / sum(asked == topic for asked, _ in RELEVANT)
        for topic in TOPICS
    }
    other = [topic for topic, share in shares.items() if share >= 0.5]
    same = [topic for topic, share in shares.items() if share <= 0.2]
    assert f"| {len(other)}: {', '.join(other)} |" in README and f"| {len(same)}: {', '.join(same)} |" in README
