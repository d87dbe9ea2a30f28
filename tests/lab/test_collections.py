"""Collections by name and folder."""

from __future__ import annotations

import gzip
import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from cranfield import evaluate
from cranfield.data.collection import Document
from cranfield.errors import InputError, MissingExtra
from cranfield.lab.collections import KINDS, collections_in, is_named, open_collection, qrels_from, topics_from
from cranfield.lab.collections.base import address_of
from cranfield.lab.collections.catalogue import KNOWN, count
from cranfield.lab.index import build
from cranfield.lab.systems import query_text, system_named
from tests.io.test_lzw import packed
from tests.io.test_trec_web import BLOG08, GOV2
from tests.io.test_warc import HTTP, record

Fill = Callable[[dict[str, str | bytes]], Path]


@pytest.fixture
def fill(tmp_path: Path) -> Fill:
    """A folder with files."""

    def fill_(files: dict[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / "here" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / "here"

    return fill_


SMART_DOCS = ".I 1\n.T\nlamps\n.A\nlee\n.W\nlamps .\n red lamps\n.I 2\n.T\nbells\n.W\nbells .\n"
SMALL: dict[str, dict[str, str | bytes]] = {
    "cranfield": {
        "cran.all.1400": SMART_DOCS,
        "cran.qry": ".I 001\n.W\nred lamps\n.I 004\n.W\nbells\n",
        "cranqrel": "1 1 2 \n1 2 -1\n2 2 1 \n2 1 -1",
    },
    "cacm": {"cacm.all": SMART_DOCS, "query.text": ".I 1\n.W\nlamps\n", "qrels.text": "01 0001  0 0\n"},
    "cisi": {
        "CISI.ALL": SMART_DOCS.replace("\n", "\r\n"),
        "CISI.QRY": ".I 1\r\n.W\r\nlamps\r\n",
        "CISI.REL": "     1      2\t0\t0.000000\r\n",
    },
    "med": {"MED.ALL": SMART_DOCS, "MED.QRY": ".I 1\r\n.W\r\nlamps\r\n", "MED.REL": "1 0 2 1\n", "MED.REL.OLD": "x"},
    "adi": {"ADI.ALL": SMART_DOCS, "ADI.QRY": ".I 1\n.W\nlamps\n", "ADI.REL": "1   2   0   0.000000   \n"},
    "npl": {
        "doc-text": "1\nlamps\n   /\n2\nbells\n   /\n",
        "query-text": "1\nRED LAMPS\n/\n",
        "rlv-ass": "1\n    2\n   /\n",
        "doc-vecs": "1  4 5 /\n",
    },
    "time": {
        "TIME.ALL": "*TEXT 017 01/04/63 PAGE 020\n\nLAMPS\n\n*TEXT 020 01/04/63 PAGE 021\n\nBELLS\n\n*STOP\n",
        "TIME.QUE": "*FIND      1\n\n LAMPS\n\n*STOP\n",
        "TIME.REL": "  1   2\n",
        "TIME.STP": "A\n",
    },
    "lisa": {
        "LISA0.001": "Document    1\nLAMPS.\n\nRED.\n" + "*" * 44 + "\n",
        "LISA0.501": "Document    2\nBELLS.\n\nLOUD.\n" + "*" * 44 + "\n",
        "LISA.QUE": "1\nI AM INTERESTED IN LAMPS. #\n",
        "LISARJ.NUM": "   1    1     2\n",
        "LISA.REL": "Query 1\n1 Relevant Refs:\n1 -1\n",
        "README": "about\n",
    },
}


@pytest.mark.parametrize("name", SMALL)
def test_a_classic_collection_has_documents_topics_and_judgments(name: str, fill: Fill) -> None:
    folder = fill(SMALL[name])
    collection = open_collection(f"{name}:{folder}")
    assert (collection.name, collection.where) == (name, str(folder)) and collection.notes
    assert [document.id for document in collection.documents()] == ["1", "2"]
    assert [document.id for document in collection.documents()] == ["1", "2"], "from the beginning each time"
    assert collection.topics()[0].id == "1"
    judged = collection.qrels().to_dict()
    assert judged == (
        {"1": {"1": 3.0}, "2": {"2": 4.0}} if name == "cranfield" else {"1": {next(iter(judged["1"])): 1.0}}
    )
    (found,) = collections_in(str(folder.parent))
    assert found.name == name and open_collection(str(folder)).name == name


def test_cranfields_queries_are_numbered_in_their_order(fill: Fill) -> None:
    first, second = open_collection(f"Cranfield:{fill(SMALL['cranfield'])}").topics()
    assert (first.id, first.title, first.fields) == ("1", "red lamps", {"number": "001"})
    assert (second.id, second.fields["number"]) == ("2", "004")


def test_names_of_files_may_differ_in_case_and_be_packed(fill: Fill) -> None:
    files = {name.upper() + ".gz": gzip.compress(str(text).encode()) for name, text in SMALL["cacm"].items()}
    collection = open_collection(f"cacm:{fill(files)}")
    assert len(list(collection.documents())) == 2 and collection.qrels().to_dict() == {"1": {"1": 1.0}}


def test_lisas_older_judgments_serve_if_there_are_no_others(fill: Fill) -> None:
    files = {name: text for name, text in SMALL["lisa"].items() if name != "LISARJ.NUM"}
    assert open_collection(f"lisa:{fill(files)}").qrels().to_dict() == {"1": {"1": 1.0}}


# bm25s with its own English stop list gives these, k1 1.2, b 0.75
FIGURES = {"med": ("med", 0.699), "cacm": ("cacm", 0.499), "cisi": ("cisi", 0.381), "cranfield": ("cran", 0.369)}
SIZES = {
    "med": (1033, 30, 696),
    "cacm": (3204, 64, 796),
    "cisi": (1460, 112, 3114),
    "cranfield": (1400, 225, 1612),
}


@pytest.mark.parametrize("name", FIGURES)
def test_bm25_on_real_collections_is_what_others_find(name: str, shared_data: Path) -> None:
    folder, expected = FIGURES[name]
    collection = open_collection(f"{name}:{shared_data / 'classic' / folder}")
    texts = {topic.id: query_text(topic) for topic in collection.topics()}
    run = system_named("bm25").search(build(collection.documents()), texts)
    assert evaluate(collection.qrels(), run, ["nDCG@10"]).mean("nDCG@10") == pytest.approx(expected, abs=0.001)


def test_real_folders_are_recognised_and_counted(shared_data: Path) -> None:
    found = {one.name: one for one in collections_in(str(shared_data))}
    assert {*SIZES, "beir"} <= set(found)
    counts = {name: count(found[name]) for name in (*SIZES, "beir")}
    for name, size in SIZES.items():
        assert (counts[name].documents, counts[name].topics, counts[name].judgments) == size
    assert any("225 rows with code" in note for note in counts["cranfield"].notes)
    assert any("225 rows" in note for note in open_collection(counts["cranfield"].open_by).qrels().notes)
    assert (counts["beir"].documents, counts["beir"].judgments) == (671, 203)


FT = "<DOC>\n<DOCNO> FT911-1 </DOCNO>\n<HEADLINE>Lamps</HEADLINE>\n<TEXT>\ncaf\xe9\n</TEXT>\n</DOC>\n"
FB = "<DOC>\n<DOCNO> FBIS3-1 </DOCNO>\n<TEXT>bells</TEXT>\n</DOC>\n"
CR = "<DOC>\n<DOCNO>CR93E-1</DOCNO>\n<TEXT>speech</TEXT>\n</DOC>\n"
DISKS: dict[str, str | bytes] = {
    "fbis/fb396001.z": packed(FB.encode()),
    "ft/ft911/ft911_1": FT.encode("latin-1"),
    "cr/hfiles/cr93e1": gzip.compress(CR.encode()),
    "readme.txt": "About these disks.\n",
    "dtds/ft.dtd": "<!ELEMENT TEXT (#PCDATA)>\n",
    "04.testset": "<top>\n<num> Number: 301\n<title> Lamps\n</top>\n",
    "qrels.robust2004.txt": "301 0 FT911-1 1\n301 0 FBIS3-1 0\n",
}


def test_disks_of_trec_are_read_from_folders_packed_or_not(fill: Fill) -> None:
    collection = open_collection(f"trec:{fill(DISKS)}")
    by_id = {document.id: document for document in collection.documents()}
    assert list(by_id) == ["CR93E-1", "FBIS3-1", "FT911-1"]
    assert by_id["FT911-1"] == Document("FT911-1", "café", "Lamps", {"encoding": "latin-1"})
    assert [topic.id for topic in collection.topics()] == ["301"] and len(collection.qrels()) == 2
    assert any("2 files without documents left out" in note for note in collection.notes)
    assert any("without=cr" in note for note in collection.notes)


def test_a_folder_may_be_left_out(fill: Fill) -> None:
    folder = fill(DISKS)
    collection = open_collection(f"trec:{folder}?without=cr")
    assert [document.id for document in collection.documents()] == ["FBIS3-1", "FT911-1"]
    assert "1 file left out as asked (cr)." in collection.notes
    with pytest.raises(InputError, match="no folder or file 'wsj' to leave out"):
        open_collection(f"trec:{folder}?without=wsj")


def test_topics_and_judgments_may_be_named(fill: Fill) -> None:
    folder = fill(DISKS | {"topics.other": "<top>\n<num> Number: 7\n<title> Bells\n</top>\n"})
    with pytest.raises(InputError, match="several files could hold the topics.*Choose"):
        open_collection(f"trec:{folder}").topics()
    collection = open_collection(f"trec:{folder}?topics=topics.other&qrels={folder / 'qrels.robust2004.txt'}")
    assert [topic.id for topic in collection.topics()] == ["7"] and len(collection.qrels()) == 2
    assert [topic.id for topic in topics_from(f"trec:{folder}?topics=04.testset")] == ["301"]


def test_web_collections_of_trec_have_pages(fill: Fill) -> None:
    extras = {"GOV2_extras/url2id.gz": gzip.compress(b"http://x.org GX000-00-0000000\n")}
    folder = fill({"GX000/00.gz": gzip.compress(GOV2), "GX000/01.gz": gzip.compress(BLOG08), **extras})
    found = list(open_collection(f"trecweb:{folder}").documents())
    assert [document.id[:4] for document in found] == ["GX00", "GX00", "BLOG"] and found[0].text.startswith("of café")
    assert count(open_collection(f"trecweb:{folder}")).encodings == {"latin-1": 1, "utf-8": 2}


def test_of_blog08_the_permalinks_are_read(fill: Fill) -> None:
    folder = fill({"20080114/permalinks-000.gz": gzip.compress(BLOG08), "20080114/feeds-000.gz": gzip.compress(b"<X>")})
    collection = open_collection(f"trecweb:{folder}")
    assert len(list(collection.documents())) == 1
    assert any("1 file of feeds and homepages" in note for note in collection.notes)


def test_archives_of_clueweb_have_pages(fill: Fill) -> None:
    page = record(HTTP + b"<title>A</title>lamp", WARC_TREC_ID="clueweb12-0000tw-00-00000")
    folder = fill({"ClueWeb12_00/0000tw/0000tw-00.warc.gz": gzip.compress(page), "checksums/x.md5": "0 1\n"})
    (document,) = open_collection(f"warc:{folder}").documents()
    assert (document.id, document.title, document.text) == ("clueweb12-0000tw-00-00000", "A", "lamp")
    (alone,) = open_collection(f"warc:{folder / 'ClueWeb12_00/0000tw/0000tw-00.warc.gz'}").documents()
    assert alone == document


MSMARCO: dict[str, str | bytes] = {
    "collection.tsv": '0\tlamps "red\n1\tbells\n',
    "queries.dev.small.tsv": "7\twhat is a lamp\n",
    "qrels.dev.small.tsv": "7\t0\t0\t1\n",
    "queries.train.tsv": "8\tbell\n9\tlamp\n",
    "qrels.train.tsv": "8\t0\t1\t1\n",
    "msmarco-test2019-queries.tsv": "5\tlamp\n",
    "2019qrels-pass.txt": "5 Q0 0 3\n",
}


def test_msmarco_has_splits(fill: Fill) -> None:
    folder = fill(MSMARCO)
    small = open_collection(f"msmarco:{folder}")
    assert [document.text for document in small.documents()] == ['lamps "red', "bells"]
    assert [topic.id for topic in small.topics()] == ["7"] and small.qrels().to_dict() == {"7": {"0": 1.0}}
    train = open_collection(f"msmarco:{folder}?split=train")
    assert [topic.id for topic in train.topics()] == ["8", "9"] and train.qrels().to_dict() == {"8": {"1": 1.0}}
    assert open_collection(f"msmarco:{folder}?split=test2019").qrels().to_dict() == {"5": {"0": 3.0}}
    with pytest.raises(InputError, match="no topics in this folder. Expected queries.eval.tsv"):
        open_collection(f"msmarco:{folder}?split=eval").topics()


def test_msmarco_has_documents_too(fill: Fill) -> None:
    files = {
        "msmarco-docs.tsv.gz": gzip.compress(b"D1\thttp://x.org\tLamps\tred\n"),
        "msmarco-docdev-queries.tsv": "7\tlamp\n",
        "msmarco-docdev-qrels.tsv": "7 0 D1 1\n",
    }
    collection = open_collection(f"msmarco:{fill(files)}")
    assert list(collection.documents()) == [Document("D1", "red", "Lamps", {"url": "http://x.org"})]
    assert collection.topics()[0].id == "7" and collection.qrels().to_dict() == {"7": {"D1": 1.0}}


BEIR: dict[str, str | bytes] = {
    "corpus.jsonl": '{"_id": "a", "title": "Lamps", "text": "red"}\n{"_id": "b", "text": "bells"}\n',
    "queries.jsonl": '{"_id": "1", "text": "lamp"}\n{"_id": "2", "text": "bell"}\n',
    "qrels/test.tsv": "query-id\tcorpus-id\tscore\n1\ta\t1\n",
    "qrels/dev.tsv": "query-id\tcorpus-id\tscore\n2\tb\t2\n",
}


def test_beir_has_splits_and_topics_are_those_of_the_split(fill: Fill) -> None:
    folder = fill(BEIR)
    test, dev = open_collection(f"beir:{folder}"), open_collection(f"beir:{folder}?split=dev")
    assert [document.id for document in test.documents()] == ["a", "b"]
    assert [topic.id for topic in test.topics()] == ["1"] and [topic.id for topic in dev.topics()] == ["2"]
    assert test.qrels().to_dict() == {"1": {"a": 1.0}} and dev.qrels().to_dict() == {"2": {"b": 2.0}}
    with pytest.raises(InputError, match="no split 'train': it has 'dev', 'test'"):
        open_collection(f"beir:{folder}?split=train")
    assert len(topics_from(f"beir:{folder}?topics=queries.jsonl")) == 2


def test_the_only_split_of_beir_serves_and_none_is_no_error_until_it_is_asked_for(fill: Fill, tmp_path: Path) -> None:
    folder = fill({name: text for name, text in BEIR.items() if name != "qrels/test.tsv"})
    assert qrels_from(f"beir:{folder}").queries == ("2",)
    (folder / "qrels" / "dev.tsv").unlink()
    collection = open_collection(f"beir:{folder}")
    assert len(collection.topics()) == 2
    with pytest.raises(InputError, match=r"no judgments in this folder. Expected qrels/test.tsv. Or name a file"):
        collection.qrels()


class Doc(NamedTuple):
    doc_id: str
    title: str
    body: str
    url: str


class WebDoc(NamedTuple):
    doc_id: str
    body: bytes
    body_content_type: str


class Query(NamedTuple):
    query_id: str
    query: str
    description: str
    subtopics: tuple[Any, ...]


class SubtopicOf(NamedTuple):
    number: str
    text: str
    type: str


class Judged(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


class StandIn:
    """What ir_datasets gives, without a network."""

    def load(self, id: str) -> StandIn:
        if id != "lamps/test":
            raise KeyError(id)
        return self

    def has_docs(self) -> bool:
        return True

    has_queries = has_qrels = has_docs

    def docs_iter(self) -> Iterator[Any]:
        yield Doc("a", "Lamps", "red", "http://x.org")
        yield WebDoc("b", b"<title>Bells</title>loud", "text/html")
        raise OSError("the download stopped\nat the second file")

    def queries_iter(self) -> Iterator[Any]:
        yield Query("1", "lamp", "red ones", (SubtopicOf("1", "red", "inf"),))

    def qrels_iter(self) -> Iterator[Any]:
        yield Judged("1", "a", 2, "0")


def test_ir_datasets_is_read_through_its_own_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", StandIn())  # type: ignore[arg-type]
    collection = open_collection("ir_datasets:lamps/test")
    first, second = itertools.islice(collection.documents(), 2)
    assert first == Document("a", "red", "Lamps", {"url": "http://x.org"})
    assert (second.title, second.text) == ("Bells", "loud")
    (topic,) = collection.topics()
    assert (topic.title, topic.description, topic.subtopics[0].text) == ("lamp", "red ones", "red")
    assert collection.qrels().to_dict() == {"1": {"a": 2.0}}
    with pytest.raises(InputError, match="ir_datasets stopped: the download stopped$"):
        list(collection.documents())
    with pytest.raises(InputError, match="ir_datasets knows no such id"):
        open_collection("ir_datasets:bells")


def test_a_real_data_set_of_ir_datasets_is_read(monkeypatch: pytest.MonkeyPatch, fill: Fill) -> None:
    ir_datasets = pytest.importorskip("ir_datasets")
    folder = fill({"docs.tsv": "a\tred lamps\n", "queries.tsv": "1\tlamp\n", "qrels": "1 0 a 2\n"})
    made = ir_datasets.create_dataset(
        docs_tsv=str(folder / "docs.tsv"),
        queries_tsv=str(folder / "queries.tsv"),
        qrels_trec=str(folder / "qrels"),
    )
    monkeypatch.setattr(ir_datasets, "load", lambda id: made)
    collection = open_collection("ir_datasets:ours")
    assert list(collection.documents()) == [Document("a", "red lamps")]
    assert collection.topics()[0].title == "lamp" and collection.qrels().to_dict() == {"1": {"a": 2.0}}


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)  # type: ignore[arg-type]
    with pytest.raises(MissingExtra, match=r"cranfield\[datasets\]"):
        open_collection("ir_datasets:vaswani")


def test_a_file_of_documents_is_a_collection_without_topics(fill: Fill) -> None:
    path = fill(BEIR) / "corpus.jsonl"
    collection = open_collection(str(path))
    assert [document.id for document in collection.documents()] == ["a", "b"] and collection.notes == ()
    with pytest.raises(InputError, match="documents without topics"):
        collection.topics()
    with pytest.raises(InputError, match="documents without judgments"):
        collection.qrels()


def test_parts_that_are_missing_are_errors_when_they_are_asked_for(fill: Fill) -> None:
    collection = open_collection(f"cacm:{fill({'README': 'x'})}")
    with pytest.raises(InputError, match="no documents in this folder. Expected cacm.all"):
        collection.documents()
    with pytest.raises(InputError, match="no topics in this folder. Expected query.text or cacm.qry.*topics=FILE"):
        collection.topics()
    with pytest.raises(InputError, match="no judgments in this folder. Expected qrels.text or cacm.rel"):
        collection.qrels()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ir_datasets"])
def test_a_folder_that_is_not_there_is_an_error_at_once(kind: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such folder"):
        open_collection(f"{kind}:{tmp_path / 'none'}")


@pytest.mark.parametrize(
    "text, says",
    [
        ("cranfeld:x", "no kind of collection 'cranfeld'. Known are cranfield:, cacm:"),
        ("cacm:", "Expected 'cacm:FOLDER'"),
        ("cacm:.?splt=x", "no option 'splt': it has topics, qrels"),
    ],
)
def test_names_that_are_wrong_say_what_is_right(text: str, says: str) -> None:
    with pytest.raises(InputError) as caught:
        open_collection(text)
    assert says in str(caught.value)


def test_addresses_are_told_from_paths() -> None:
    assert is_named("TREC:x") and not is_named("C:\\trec") and not is_named("trec/x:y") and not is_named("-")
    assert address_of("beir:what?.d?split=dev&qrels=a%20b").options == {"split": "dev", "qrels": "a b"}
    assert address_of("beir:what?.d").where == "what?.d"


def test_documents_come_before_the_file_is_read_to_its_end(fill: Fill) -> None:
    folder = fill({"doc-text": "1\nlamps\n   /\n" + "2\nbells\n   /\n" * 200_000 + "damaged\n"})
    documents = open_collection(f"npl:{folder}").documents()
    assert next(documents).id == "1"
    with pytest.raises(InputError, match="found 'damaged'"):
        list(documents)


def test_the_table_of_the_literature_is_as_printed() -> None:
    sizes = {known.title: (known.documents, known.queries) for known in KNOWN}
    assert sizes["Cranfield 2"] == (1400, 225) and sizes["MEDLARS"] == (450, 29) and sizes["INSPEC"] == (12684, 77)
    assert len(sizes) == 13 and all(known.kind in KINDS for known in KNOWN if known.kind)
