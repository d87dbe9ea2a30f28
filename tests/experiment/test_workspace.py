"""cranfield.toml: what it says, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cranfield.errors import InputError
from cranfield.experiment.workspace import (
    Adaptive,
    Efficiency,
    Engine,
    Fusion,
    Given,
    Indexing,
    Search,
    open_workspace,
    parse_workspace,
)

COLLECTION = '[collection]\ndocuments = "docs.jsonl"\ntopics = "topics.xml"\nqrels = "qrels.txt"\n'
SYSTEMS = '[systems]\nbm25 = "bm25"\n'
ALL = """
title = "Lamps"
seed = 7
jobs = 3
actor = { name = "A. Person", team = "lamps" }

[collection]
title = "lamps"
documents = "docs.jsonl"
topics = "topics.xml"
qrels = "qrels.txt"
index = { fields = ["title"], stemmer = "none", stop_words = "english-long" }
formats = { qrels = "plain" }

[systems]
bm25 = "bm25:k1=0.9"
lm = { system = "lm:mu=300", fields = "title, description", depth = 10, feedback = "train.txt" }
mine = { run = "runs/mine.run", format = "trec" }
fts = { engine = "sqlite:fts.db", index = false, timeout = 2.5, headers = ["A: b"] }
rrf = { fuse = ["bm25", "lm"], method = "rrf", params = { k = 10 }, weights = [1, 2.5] }

[evaluation]
measures = ["AP", "nDCG@10"]
baseline = "bm25"
depth = 50
rel = 2

[pool]
depth = 5
systems = ["bm25"]

[efficiency]
repetitions = 3
clients = [1, 4]
rate = 20
indexing = false

[report]
file = "pages/lamps.html"
"""


def test_everything_that_can_be_said_is_read() -> None:
    workspace = parse_workspace(ALL, "lab")
    (collection,) = workspace.collections
    assert (workspace.title, workspace.seed, workspace.jobs) == ("Lamps", 7, 3)
    assert dict(workspace.actor) == {"name": "A. Person", "team": "lamps"}
    assert collection.index == Indexing(("title",), "none", "english-long")
    assert (collection.name, collection.title, dict(collection.formats)) == ("", "lamps", {"qrels": "plain"})
    bm25, lm, mine, fts, rrf = workspace.systems
    assert bm25 == Search("bm25", "bm25:k1=0.9")
    assert lm == Search("lm", "lm:mu=300", ("title", "description"), 10, "train.txt")
    assert mine == Given("mine", "runs/mine.run", "trec")
    assert isinstance(fts, Engine) and not fts.index and fts.options == {"headers": ["A: b"], "timeout": 2.5}
    assert (
        isinstance(rrf, Fusion) and rrf.uses == ("bm25", "lm") and rrf.weights == (1, 2.5) and rrf.params == {"k": 10}
    )
    assert workspace.evaluation.measures == ("AP", "nDCG@10") and workspace.evaluation.baseline == ("bm25",)
    assert workspace.pool.depth == 5 and workspace.report.file == "pages/lamps.html" and workspace.report.asked
    assert workspace.efficiency == Efficiency(3, 1, (1, 4), 1.0, 20.0, 10, False)
    assert workspace.run_file(bm25, collection) == "runs/bm25.run"
    assert workspace.run_file(mine, collection) == "runs/mine.run"


def test_what_is_not_said_has_its_usual_value() -> None:
    workspace = parse_workspace(COLLECTION + SYSTEMS)
    assert workspace.evaluation.depth == 1000 and workspace.pool.depth == 20 and workspace.seed == 1
    assert workspace.report.file == "report.html" and not workspace.report.asked
    assert workspace.efficiency is None
    assert parse_workspace(COLLECTION + SYSTEMS + "[efficiency]\nclients = 2").efficiency == Efficiency(clients=(2,))
    assert parse_workspace(COLLECTION + SYSTEMS + '[report]\nfile = ""').report.file == ""


def test_several_collections_have_folders_of_their_own() -> None:
    text = COLLECTION.replace("[collection]", "[collections.lamps]") + '[collections.bells]\ndocuments = "adi:adi"\n'
    workspace = parse_workspace(text + '[systems]\nbm25 = "bm25"\nmine = { run = "{collection}/mine.run" }\n')
    lamps, bells = workspace.collections
    assert (lamps.path("runs/bm25.run"), bells.name) == ("lamps/runs/bm25.run", "bells")
    assert bells.has_topics and bells.has_qrels
    assert [workspace.run_file(system, bells) for system in workspace.systems] == [
        "bells/runs/bm25.run",
        "bells/mine.run",
    ]


@pytest.mark.parametrize(
    "text, says",
    [
        ("[collection", "this is no TOML: "),
        (SYSTEMS, "collection is missing, expected a table."),
        (COLLECTION, "systems is missing, expected a table."),
        (COLLECTION + "[systems]", "[systems] is empty, expected at least one"),
        ("seeds = 1\n" + COLLECTION + SYSTEMS, "seeds is unknown. Did you mean seed? Expected in the file: title, "),
        ('seed = "one"\n' + COLLECTION + SYSTEMS, 'seed is "one", expected a whole number from 0.'),
        ("seed = true\n" + COLLECTION + SYSTEMS, "seed is true, expected a whole number from 0."),
        ("jobs = 0\n" + COLLECTION + SYSTEMS, "jobs is 0, expected a whole number from 1."),
        ("jobs = 99999999999\n" + COLLECTION + SYSTEMS, "jobs is 99999999999, expected a whole number from 1."),
        ("actor = { name = 3 }\n" + COLLECTION + SYSTEMS, "actor.name is 3, expected text in quotes."),
        (COLLECTION.replace('"docs.jsonl"', "[1]") + SYSTEMS, "collection.documents is [1], expected text in quotes."),
        (
            COLLECTION + "topic = 1\n" + SYSTEMS,
            "collection.topic is unknown. Did you mean topics? Expected in [collection]",
        ),
        (COLLECTION + 'index = "no"\n' + SYSTEMS, 'collection.index is "no", expected a table.'),
        (
            COLLECTION + "index = { fields = [] }\n" + SYSTEMS,
            "collection.index.fields is [], expected a list of texts.",
        ),
        (
            COLLECTION + 'formats = { qrels = "x" }\n' + SYSTEMS,
            'collection.formats.qrels is "x", expected one of trec,',
        ),
        (COLLECTION + "[systems]\nbm25 = 1", 'systems.bm25 is 1, expected text such as "bm25:k1=0.9"'),
        (COLLECTION + "[systems]\nbm25 = {}", "systems.bm25 has nothing, expected exactly one of system, run, fuse"),
        (COLLECTION + '[systems]\na = { run = "x", fuse = ["b"] }', "systems.a has run and fuse, expected exactly one"),
        (COLLECTION + '[systems]\n"a/b" = "bm25"', 'systems."a/b": a system\'s name has letters, digits and'),
        (
            COLLECTION + SYSTEMS + 'a = { fuse = ["bm26"] }',
            'systems.a.fuse has "bm26", expected one of [systems]: bm25, a.',
        ),
        (COLLECTION + '[systems]\na = { fuse = ["b"] }\nb = { fuse = ["a"] }', "goes round in a circle"),
        (
            COLLECTION + SYSTEMS + 'a = { fuse = ["bm25"], weights = ["x"] }',
            "systems.a.weights is ['x'], expected a list of",
        ),
        (
            COLLECTION + SYSTEMS + '[evaluation]\nbaseline = "lm"',
            'evaluation.baseline has "lm", expected one of [systems]',
        ),
        (
            COLLECTION + SYSTEMS + "[evaluation]\nalpha = 1.0",
            "evaluation.alpha is 1.0, expected a number between 0 and 1.",
        ),
        (
            COLLECTION + SYSTEMS + '[evaluation]\nties = "x"',
            'evaluation.ties is "x", expected one of trec, doc-ascending',
        ),
        (COLLECTION + SYSTEMS + "[evaluation]\nrel = nan", "evaluation.rel is nan, expected a number"),
        (COLLECTION + SYSTEMS + "[pool]\ndepth = -1", "pool.depth is -1, expected a whole number from 0."),
        (
            COLLECTION + SYSTEMS + "[efficiency]\nclients = [0]",
            "efficiency.clients is [0], expected whole numbers from 1",
        ),
        (COLLECTION + SYSTEMS + '[efficiency]\nclients = "1,2"', 'efficiency.clients is "1,2", expected whole numbers'),
        (COLLECTION + SYSTEMS + "[efficiency]\nseconds = 0", "efficiency.seconds is 0, expected a number above 0."),
        (COLLECTION + SYSTEMS + "[efficiency]\nrate = -1", "efficiency.rate is -1, expected a number from 0."),
        (COLLECTION + SYSTEMS + "[efficiency]\nrepetition = 1", "Did you mean repetitions?"),
        (
            COLLECTION + SYSTEMS + '[efficiency]\n[report]\nfile = "efficiency.json"',
            'report.file is "efficiency.json", which is the costs: choose another.',
        ),
        (COLLECTION + SYSTEMS + '[report]\nfile = "../x"', 'report.file is "../x", expected a file within the folder.'),
        (COLLECTION + SYSTEMS + '[report]\nfile = "scores.tsv"', 'report.file is "scores.tsv", which is the scores'),
        (COLLECTION + SYSTEMS + '[report]\nfile = "qrels.txt"', "which is collection.qrels: choose another."),
        (
            COLLECTION + SYSTEMS + 'b = { run = "runs/bm25.run" }',
            "is runs/bm25.run, where the run of systems.bm25 goes",
        ),
        (COLLECTION.replace("docs.jsonl", "runs/bm25.run") + SYSTEMS, "collection.documents is runs/bm25.run, where"),
        ('[collection]\ntopics = "t"\n' + SYSTEMS, "collection.documents is missing: bm25 searches them."),
        ('[collection]\ndocuments = "d"\n' + SYSTEMS, "collection.topics is missing: bm25 searches for them."),
        (COLLECTION + SYSTEMS + "[collections.x]\n", "there is both [collection] and [collections]"),
        ("[collections]\n" + SYSTEMS, "[collections] is empty"),
        ("[collections.runs]\n" + SYSTEMS, "a collection cannot be called runs"),
        ('[collections.a]\n[collections.b]\n[systems]\nm = { run = "m.run" }', "expected {collection} in it"),
    ],
)
def test_what_is_wrong_is_said_with_file_key_and_what_was_expected(text: str, says: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_workspace(text, "lab")
    assert str(raised.value).startswith("lab/cranfield.toml: ") and says in str(raised.value)


def test_an_engine_elsewhere_is_filled_only_if_one_says_so() -> None:
    text = COLLECTION + '[systems]\na = { engine = "sqlite:a.db" }\nb = { engine = "opensearch+http://host/docs" }\n'
    assert [system.index for system in parse_workspace(text).systems if isinstance(system, Engine)] == [True, False]


def test_a_folder_or_its_file_is_opened(tmp_path: Path) -> None:
    (tmp_path / "cranfield.toml").write_text(COLLECTION + SYSTEMS)
    assert open_workspace(tmp_path) == open_workspace(tmp_path / "cranfield.toml")
    with pytest.raises(
        InputError, match="there is no such folder. An experiment is a folder with a cranfield.toml in it"
    ):
        open_workspace(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="there is no such file. An experiment is a folder"):
        open_workspace(tmp_path / "empty")
    (tmp_path / "cranfield.toml").write_bytes(b'[collection]\ntitle = "\xe9"\n')
    with pytest.raises(InputError, match="line 2: this is not UTF-8"):
        open_workspace(tmp_path)


def test_what_a_workspace_names_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "docs.jsonl").write_text('{"_id": "a", "text": "red lamps"}\n')
    (tmp_path / "topics.xml").write_text('{"_id": "1", "text": "lamps"}\n')
    (tmp_path / "qrels.txt").write_text("1 0 a 1\n")
    (tmp_path / "mine.run").write_text("1 Q0 a 1 0.5 me\n")
    (tmp_path / "cranfield.toml").write_text(COLLECTION + '[systems]\nmine = { run = "mine.run" }\n')
    workspace = open_workspace(tmp_path)
    (collection,), (mine,) = workspace.collections, workspace.systems
    assert [document.id for document in workspace.documents(collection)] == ["a"]
    assert [topic.title for topic in workspace.topics(collection)] == ["lamps"]
    assert workspace.qrels(collection).to_dict() == {"1": {"a": 1.0}}
    assert workspace.run(mine, collection).to_dict() == {"1": {"a": 0.5}}


def test_a_collection_by_name_has_its_parts_in_one_word(shared_data: Path) -> None:
    workspace = parse_workspace('[collection]\ndocuments = "med:med"\n' + SYSTEMS, shared_data / "classic")
    (collection,) = workspace.collections
    assert len(list(workspace.documents(collection))) == 1033 and len(workspace.topics(collection)) == 30
    assert len(workspace.qrels(collection).queries) == 30


# Judging


def test_everything_about_judging_is_read() -> None:
    workspace = parse_workspace(
        COLLECTION
        + """
[judging]
pool = ["a.jsonl", "b.jsonl"]
log = "postgresql://host/judging"
guidelines = "how.txt"
assessors = ["ada", "grace"]
judgments = 2
overlap = 0.25
repeats = 0.05
gold = "gold.qrels"
hold = 60
dispute = 2
sample = "form.txt"
search = false
adaptive = { strategy = "mtf", depth = 50, budget = 200, batch = 10 }
[[judging.grades]]
value = 0
label = "No"
[[judging.grades]]
value = 1
label = "Yes"
definition = "It helps."
"""
    )
    judging = workspace.judging
    assert judging is not None and workspace.systems == ()
    assert (judging.pools, judging.log, judging.guidelines) == (
        ("a.jsonl", "b.jsonl"),
        "postgresql://host/judging",
        "how.txt",
    )
    assert (judging.judgments, judging.overlap, judging.repeats, judging.hold, judging.dispute) == (
        2,
        0.25,
        0.05,
        60,
        2,
    )
    assert (judging.gold, judging.sample, judging.search) == ("gold.qrels", "form.txt", None)
    assert judging.grades == ((0.0, "No", ""), (1.0, "Yes", "It helps."))
    assert judging.adaptive == Adaptive("mtf", 50, 200, 10)


def test_what_is_not_said_of_judging_is_left_to_the_log() -> None:
    assert parse_workspace(COLLECTION + SYSTEMS).judging is None
    judging = parse_workspace(COLLECTION + SYSTEMS + "[judging]\n").judging
    assert judging is not None and judging.judgments is None and judging.search == "bm25"
    assert parse_workspace(COLLECTION + '[judging]\ngrades = "grades.tsv"').judging.grades == "grades.tsv"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overlap = 2", "a number between 0 and 1"),
        ("judgments = 0", "a whole number from 1"),
        ("hold = 0", "above 0"),
        ("grades = [1]", "value, label and definition"),
        ('grades = [{label = "x"}]', "value is missing"),
        ('grades = [{value = "x"}]', "a number"),
        ("adaptive = {}", "strategy is missing"),
        ("pools = 'x'", "Did you mean pool"),
        ("collection = 'x'", "judging.collection"),
    ],
)
def test_what_is_wrong_about_judging_is_told(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_workspace(f"{COLLECTION}[judging]\n{text}\n")


def test_without_judging_there_must_be_systems() -> None:
    with pytest.raises(InputError, match="systems is missing"):
        parse_workspace(COLLECTION)
