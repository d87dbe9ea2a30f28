"""Topics and documents: every format is read, written, recognised, and fails with a plain message."""

from __future__ import annotations

import csv
import gzip
import json
import random
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path

import pytest

from cranfield.base import replace
from cranfield.data.collection import Document, Subtopic, Topic
from cranfield.errors import FormatError, InputError
from cranfield.io.topics_documents import (
    DOCUMENT_FORMATS,
    TOPIC_FORMATS,
    detect_document_format,
    detect_topic_format,
    read_documents,
    read_topics,
    write_documents,
    write_topics,
)

Write = Callable[[str | bytes], Path]
FULL_TOPIC = Topic(
    id="301",
    title="Topic: AT&T <wing> & R&amp;D",
    description="What is 3 < 4 > 2?",
    narrative="Say \"yes\" or 'no'.",
    subtopics=(Subtopic("1", "the <b>first</b> one", "nav"), Subtopic("2a", "the second")),
    fields={"type": "faceted", "querytime": "Tue Feb 08 2011"},
)
FULL_DOCUMENT = Document(
    id="FT911-3",
    text="AT&T's R&amp;D: a <b> c\nand 3 < 4\n</DOC> stays text",
    title='On "flow", <i>etc.</i>',
    fields={"author": "A. Author", "url": "http://x.org/?a=1&copy=2"},
)

SGML = """<top>
<num> Number: 301
<title> International Organized Crime

<desc> Description:
Identify organizations that participate in
international criminal activity.

<narr> Narrative:
A relevant document must, as a minimum, identify the organization &amp; the type.
</top>

<top>
<num> Number: 302 <title> Poliomyelitis and Post-Polio <desc> Description: Is it <i>under</i> control?
</top>
"""
XML = """<?xml version="1.0"?>
<!DOCTYPE t [ <!ELEMENT topic (query)> ]>
<topics>
<!-- <topic number="0"><query>not this one</query></topic> -->
<topic number="1" type="faceted">
  <query>obama &amp; family</query>
  <description>Find
  information.</description>
  <subtopic number="1" type="nav"> <![CDATA[a < b]]> </subtopic>
  <subtopic number="2" type="inf">Second</subtopic>
</topic>
<topic number="2"><title>french lick</title><narrative>Long.</narrative></topic>
</topics>
"""
TREC_DOCUMENTS = """<DOC>
<DOCNO> FT911-1 </DOCNO>
<DATE>910514</DATE>
<HEADLINE>
FT  14 MAY 91 / AT&T and others
</HEADLINE>
<TEXT>
<P>if a < b & c &gt; d</P>
</TEXT>
</DOC>
<DOC>
<DOCNO>FT911-2</DOCNO>
<TEXT>one</TEXT>
<TEXT>two</TEXT>
</DOC>
"""
SMART = ".I 001\r\n.T\r\nwing\r\nflow\r\n.A\r\nlee,p.\r\n.W\r\n first line\r\nsecond .\r\n.I 2\r\n.W\r\nother\r\n"
JSONL_TOPICS = '{"_id": "q1", "text": "wing flow"}\n\n{"_id": 7, "text": "heat"}\n'
JSONL_DOCUMENTS = '{"_id": "d1", "title": "t", "text": "x"}\n{"_id": "d2", "text": "y", "n": [1, 2]}\n'
TSV = "q1\twing flow\nq2\theat \"transfer\nq3\tslip's\n"
CSV = 'id,title,text,url\nd1,"a, b","two\nlines",u\nd2,t,"say ""x""",\n'


@pytest.fixture
def file(tmp_path: Path) -> Write:
    def write(content: str | bytes) -> Path:
        path = tmp_path / "input"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_sgml_topics_with_open_tags_are_read(file: Write) -> None:
    first, second = read_topics(file(SGML))
    assert (first.id, first.title) == ("301", "International Organized Crime")
    assert first.description == "Identify organizations that participate in international criminal activity."
    assert first.narrative.endswith("the organization & the type.")
    assert second == Topic("302", "Poliomyelitis and Post-Polio", "Is it under control?")


def test_sgml_topics_in_upper_case_with_closed_tags_and_old_elements_are_read(file: Write) -> None:
    content = (
        "<TOP>\n<HEAD> Tipster\n<NUM> Number: 051</NUM>\n<DOM> Domain: Economics\n"
        "<TITLE> Topic: Airbus</TITLE>\n<CON> Concept(s):\n1. a\n2. b\n</TOP>"
    )
    (topic,) = read_topics(file(content))
    assert topic.id == "051"
    assert topic.title == "Airbus"
    assert topic.fields == {"head": "Tipster", "domain": "Economics", "concepts": "1. a 2. b"}


def test_the_description_stands_in_for_a_missing_title(file: Write) -> None:
    (topic,) = read_topics(file("<top>\n<num> Number: 201\n<desc> Description:\nDrugs\n</top>"))
    assert topic.title == topic.description == "Drugs"


def test_xml_topics_are_read_with_subtopics_comments_and_cdata(file: Write) -> None:
    first, second = read_topics(file(XML))
    assert first == Topic(
        "1",
        "obama & family",
        "Find information.",
        subtopics=(Subtopic("1", "a < b", "nav"), Subtopic("2", "Second", "inf")),
        fields={"type": "faceted"},
    )
    assert second == Topic("2", "french lick", narrative="Long.")


def test_no_entity_of_an_xml_file_is_ever_looked_up(file: Write) -> None:
    content = (
        '<!DOCTYPE t [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
        '<t><topic number="1"><query>see &x;</query></topic></t>'
    )
    assert read_topics(file(content))[0].title == "see &x;"


def test_trec_documents_are_read_however_sloppy(file: Write) -> None:
    first, second = read_documents(file(TREC_DOCUMENTS))
    assert first == Document("FT911-1", "if a < b & c > d", "FT 14 MAY 91 / AT&T and others", {"date": "910514"})
    assert second == Document("FT911-2", "one\ntwo")


def test_a_web_page_within_a_trec_document_gives_title_and_text(file: Write) -> None:
    content = (
        "<DOC>\n<DOCNO>G1</DOCNO>\n<DOCHDR>\nhttp://x.org\n</DOCHDR>\n"
        "<html><head><title>The page</title></head><body>Some <b>bold</b> words<p>more</body></html>\n</DOC>"
    )
    (document,) = read_documents(file(content))
    assert document.title == "The page"
    assert document.text.split() == ["Some", "bold", "words", "more"]
    assert document.fields["dochdr"] == "http://x.org"


def test_a_document_may_have_its_id_and_title_as_attributes(file: Write) -> None:
    (document,) = read_documents(file('<docs><doc id="12" url="u"\n title="Wing">\nText\n</doc></docs>'))
    assert document == Document("12", "Text", "Wing", {"url": "u"})


def test_trec_documents_longer_than_a_block_are_put_together(file: Write) -> None:
    line = "many words on a line of text\n"
    texts = [line * 100_000, line, line * 50_000]
    content = "".join(f'<doc\n id="{i}">\n{text}</doc>\n' for i, text in enumerate(texts))
    found = list(read_documents(file(content)))
    assert [d.id for d in found] == ["0", "1", "2"]
    assert [d.text for d in found] == [text.strip() for text in texts]


def test_smart_files_keep_ids_as_written_and_drop_carriage_returns(file: Write) -> None:
    first, second = read_documents(file(SMART))
    assert first == Document("001", "first line\nsecond .", "wing flow", {"author": "lee,p."})
    assert second == Document("2", "other")


def test_smart_topics_have_their_text_as_title(file: Write) -> None:
    first, second = read_topics(file(SMART))
    assert first == Topic("001", "first line second .", fields={"title": "wing flow", "author": "lee,p."})
    assert second == Topic("2", "other")


def test_json_lines_are_read_under_the_usual_names(file: Write) -> None:
    assert read_topics(file(JSONL_TOPICS)) == (Topic("q1", "wing flow"), Topic("7", "heat"))
    record = {
        "qid": "q9",
        "query": "x",
        "narrative": "n",
        "subtopics": ["a", {"number": 5, "text": "b", "type": "nav"}],
        "metadata": {"description": "d", "lang": "en"},
    }
    assert read_topics(file(json.dumps(record))) == (
        Topic("q9", "x", "d", "n", (Subtopic("1", "a"), Subtopic("5", "b", "nav")), {"lang": "en"}),
    )


def test_json_documents_keep_what_else_is_said_of_them(file: Write) -> None:
    first, second = read_documents(file(JSONL_DOCUMENTS))
    assert first == Document("d1", "x", "t")
    assert second == Document("d2", "y", fields={"n": "[1, 2]"})
    (passage,) = read_documents(file('{"pid": "p1", "docid": "d1", "passage": "x", "null": null}'))
    assert passage == Document("p1", "x", fields={"docid": "d1"})


def test_tables_without_header_are_read_as_ms_marco(file: Write) -> None:
    assert [t.title for t in read_topics(file(TSV))] == ["wing flow", 'heat "transfer', "slip's"]
    assert [d.text for d in read_documents(file(TSV))] == ["wing flow", 'heat "transfer', "slip's"]
    (document,) = read_documents(file("D1\thttp://x.org\tThe title\tThe body\n"))
    assert document == Document("D1", "The body", "The title", {"url": "http://x.org"})


def test_tables_with_a_header_are_read_by_name(file: Write) -> None:
    first, second = read_documents(file(CSV))
    assert first == Document("d1", "two\nlines", "a, b", {"url": "u"})
    assert second == Document("d2", 'say "x"', "t")
    (topic,) = read_topics(file("Query\tQuery ID\nwing flow\tq1\n"))
    assert topic == Topic("q1", "wing flow")


def test_large_csv_fields_are_read_and_the_limit_of_the_process_stays(file: Write) -> None:
    before = csv.field_size_limit()
    (document,) = read_documents(file("id,text\nd1,{}\n".format("x" * (before + 1))))
    assert len(document.text) == before + 1
    assert csv.field_size_limit() == before


def test_ids_that_are_not_utf8_survive(file: Write, tmp_path: Path) -> None:
    documents = list(read_documents(file(b".I d\xe9\n.W\ncaf\xe9\n")))
    for format in DOCUMENT_FORMATS:
        write_documents(documents, tmp_path / "out", format)
        assert b"d\xe9" in (tmp_path / "out").read_bytes()
        assert list(read_documents(tmp_path / "out")) == documents


@pytest.mark.parametrize("format", TOPIC_FORMATS)
def test_topics_come_back_as_written(format: str, tmp_path: Path) -> None:
    kept = {
        "trec": FULL_TOPIC,
        "xml": FULL_TOPIC,
        "jsonl": FULL_TOPIC,
        "beir": FULL_TOPIC,
        "smart": Topic("301", FULL_TOPIC.title, fields={"type": "faceted"}),
        "tsv": Topic("301", FULL_TOPIC.title),
        "csv": replace(FULL_TOPIC, subtopics=()),
    }[format]
    path = tmp_path / "topics"
    write_topics([FULL_TOPIC, Topic("302", "other")], path, format)
    assert read_topics(path) == (kept, Topic("302", "other"))


@pytest.mark.parametrize("format", DOCUMENT_FORMATS)
def test_documents_come_back_as_written(format: str, tmp_path: Path) -> None:
    kept = {
        "trec": FULL_DOCUMENT,
        "xml": FULL_DOCUMENT,
        "jsonl": FULL_DOCUMENT,
        "beir": FULL_DOCUMENT,
        "csv": FULL_DOCUMENT,
        "smart": Document(FULL_DOCUMENT.id, FULL_DOCUMENT.text, FULL_DOCUMENT.title, {"author": "A. Author"}),
        "tsv": Document(FULL_DOCUMENT.id, FULL_DOCUMENT.text.replace("\n", " "), FULL_DOCUMENT.title),
    }[format]
    path = tmp_path / "documents"
    write_documents(iter([FULL_DOCUMENT, Document("d2", "")]), path, format)
    assert list(read_documents(path)) == [kept, Document("d2", "")]


def test_a_smart_text_that_looks_like_a_mark_does_not_break_the_file(tmp_path: Path) -> None:
    document = Document("1", "one\n.W\n.I 7\n.Net\nend")
    write_documents([document, Document("2", "x")], tmp_path / "docs.smart")
    first, second = read_documents(tmp_path / "docs.smart")
    assert first == Document("1", "one\n .W\n .I 7\n.Net\nend")
    assert second == Document("2", "x")


def test_white_space_in_a_tsv_text_becomes_a_space(tmp_path: Path) -> None:
    write_topics([Topic("1", "wing\tflow\r\n heat")], tmp_path / "topics.tsv")
    assert (tmp_path / "topics.tsv").read_bytes() == b"1\twing flow heat\n"


def test_a_first_topic_that_reads_like_a_header_is_still_a_topic(tmp_path: Path) -> None:
    write_topics([Topic("topic", "query")], tmp_path / "topics.tsv")
    assert read_topics(tmp_path / "topics.tsv") == (Topic("topic", "query"),)


@pytest.mark.parametrize("id", ["a\tb", "a\nb", " a", "a\r"])
def test_ids_that_a_format_cannot_hold_are_refused_and_nothing_is_written(id: str, tmp_path: Path) -> None:
    for format in DOCUMENT_FORMATS.keys() - {"jsonl", "beir"}:
        with pytest.raises(InputError, match="cannot keep"):
            write_documents([Document("ok", "x"), Document(id, "x")], tmp_path / "out", format)
    for format in TOPIC_FORMATS.keys() - {"jsonl", "beir"}:
        with pytest.raises(InputError, match="cannot keep"):
            write_topics([Topic(id, "x")], tmp_path / "out", format)
    assert not list(tmp_path.iterdir())
    write_documents([Document(id, "x")], tmp_path / "out.jsonl")
    assert [d.id for d in read_documents(tmp_path / "out.jsonl")] == [id]


@pytest.mark.parametrize("id", ["", " ", "\ud800"])
def test_ids_that_are_none_are_refused(id: str, tmp_path: Path, file: Write) -> None:
    with pytest.raises(InputError):
        write_documents([Document(id, "x")], tmp_path / "out.jsonl")
    with pytest.raises(InputError, match="line 2"):
        list(read_documents(file('{"_id": "ok", "text": ""}\n' + json.dumps({"_id": id, "text": "x"}))))


def test_halves_of_characters_in_a_text_can_be_written(tmp_path: Path, file: Write) -> None:
    (document,) = read_documents(file(r'{"_id": "d", "text": "a\ud800b"}'))
    assert document.text == "a\ufffdb"
    write_documents([Document("d", "a\ud800b")], tmp_path / "out.tsv")
    assert next(read_documents(tmp_path / "out.tsv")).text == "a\ufffdb"


def test_the_suffix_chooses_the_format_and_the_compression(tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    write_documents([Document("d", "x")], path)
    assert gzip.decompress(path.read_bytes()) == b'{"_id": "d", "title": "", "text": "x"}\n'
    with pytest.raises(FormatError, match="format=/--format"):
        write_documents([Document("d", "x")], tmp_path / "corpus.dat")


def test_documents_are_read_from_a_folder_and_a_pattern(tmp_path: Path) -> None:
    write_documents([Document("1", "x")], tmp_path / "a.jsonl")
    write_documents([Document("2", "y")], tmp_path / "b.trec")
    assert [d.id for d in read_documents(tmp_path)] == ["1", "2"]
    assert [d.id for d in read_documents(tmp_path / "*.trec")] == ["2"]


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (SGML, "trec"),
        (XML, "xml"),
        (SMART, "smart"),
        (JSONL_TOPICS, "jsonl"),
        (TSV, "tsv"),
        ("qid,query\n1,x", "csv"),
        (TREC_DOCUMENTS, None),
        ("1 0 d1 1\n", None),
        ("", None),
    ],
)
def test_topics_are_recognised(head: str, format: str | None) -> None:
    found = detect_topic_format(head.encode())
    assert (found and found[0]) == format


@pytest.mark.parametrize(
    ("head", "format"),
    [
        (TREC_DOCUMENTS, "trec"),
        (SMART, "smart"),
        (JSONL_DOCUMENTS, "jsonl"),
        (TSV, "tsv"),
        ("D1\thttps://x.org\tt\tb\n", "tsv"),
        (CSV, "csv"),
        (SGML, None),
        ("1\t0\td1\t1\n", None),
        ("", None),
    ],
)
def test_documents_are_recognised(head: str, format: str | None) -> None:
    found = detect_document_format(head.encode())
    assert (found and found[0]) == format


def test_an_unknown_format_is_answered_with_what_was_seen_and_what_is_known(file: Write) -> None:
    with pytest.raises(FormatError, match=r"begins with 'hello'.*trec, xml.*format=/--topics-format"):
        read_topics(file("hello"))
    with pytest.raises(FormatError, match="unknown document format 'html'"):
        read_documents(file("hello"), format="html")


def test_a_named_format_overrules_the_head(file: Write) -> None:
    (topic,) = read_topics(file("{\tbrace\n"), format="tsv")
    assert topic == Topic("{", "brace")


@pytest.mark.parametrize(
    "content",
    [
        b"<topic " + b"a" * 500_000 + b"></topic>",
        b"<topic number='1'><query>x" + b"<!--" * 100_000 + b"</query></topic>",
        b"<topic number='1'><query>&#" + b"9" * 100_000 + b";" + b"<a b=" * 100_000 + b"</query></topic>",
    ],
)
def test_odd_markup_is_read_in_linear_time(content: bytes, file: Write) -> None:
    """If time were quadratic, this would take minutes or hours."""
    try:
        read_topics(file(content))
    except InputError:
        pass


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error(content: bytes, file: Write) -> None:
    for format in (None, *TOPIC_FORMATS):
        with pytest.raises(InputError, match="the file is empty"):
            read_topics(file(content), format)
    with pytest.raises(InputError, match="the file is empty"):
        next(read_documents(file(content)))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (SGML + SGML, 16, "topic '301' occurs again, first on line 1"),
        (XML + XML, 17 + 1, "topic '1' occurs again, first on line 5"),
        (SGML + "<top>\n<num> Number: 303\n<title> x", 16, "cut off"),
        ("<t>\n<top>\n</top>\n<top><num> Number: 1 <title> x</top>", 2, "empty id"),
        (SGML + "<top><num> Number: 7 </top>", 16, "has no text"),
        (SMART.replace(".I 2", ".I 001"), 10, "occurs again"),
        (".I 1\n.W\nx\n.I\n.W\ny\n", 4, "empty id"),
        (".I 1\nfoo\n", 2, "expected a section"),
        (JSONL_TOPICS + "{", 4, "expected a JSON object"),
        (JSONL_TOPICS + "[1]", 4, "expected a JSON object"),
        (JSONL_TOPICS + '{"text": "x"}', 4, "no id"),
        (JSONL_TOPICS + '{"_id": 1.5, "text": "x"}', 4, "id is '1.5'"),
        (JSONL_TOPICS + '{"_id": "x"}', 4, "has no text"),
        ('{"_id": "a", "text": ' + "[" * 100_000, 1, "expected a JSON object"),
        ('{"_id": ' + "1" * 5000 + ', "text": "x"}', 1, "expected a JSON object"),
        (TSV + "q4\n", 4, "expected 2 columns, 'id text', found 1"),
        (TSV + "\tx\n", 4, "empty id"),
        ('qid,query\nq1,"two\nlines"\nq1,x\n', 4, "occurs again, first on line 2"),
        ('qid,query\nq1,x\nq2,"open\n', 3, "not CSV"),
        ("qid,query\nq1\n", 2, "expected 2 columns"),
    ],
)
def test_errors_in_topics_name_the_line(content: str, line: int, message: str, file: Write) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read_topics(file(content))
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (TREC_DOCUMENTS + "<DOC>\n<DOCNO>3</DOCNO>", 16, "cut off"),
        (TREC_DOCUMENTS + "<DOC>\n<TEXT>x</TEXT></DOC>", 16, "no id"),
        (TREC_DOCUMENTS.replace("</DOC>", "", 1), 11, "begins on line 1"),
        (TREC_DOCUMENTS + "\n</DOC>", 17, "without a <DOC>"),
        (TREC_DOCUMENTS + "loose\n", 16, "outside of a document"),
        (JSONL_DOCUMENTS + '{"_id": "x"}', 3, "has no text"),
        ("a\thttp://x\tc\td\na\tb\n", 2, "expected 4 columns"),
    ],
)
def test_errors_in_documents_name_the_line(content: str, line: int, message: str, file: Write) -> None:
    with pytest.raises(InputError, match=message) as caught:
        list(read_documents(file(content)))
    assert caught.value.line == line


def test_a_csv_without_header_says_what_it_needs(file: Write) -> None:
    with pytest.raises(InputError, match=r"line 1: expected a header .* found '1, x'"):
        read_topics(file("1,x\n"), "csv")


def test_documents_are_streamed(file: Write) -> None:
    documents = read_documents(file(JSONL_DOCUMENTS + "not JSON"))
    assert next(documents).id == "d1"


def mutated(content: bytes, chance: random.Random) -> bytes:
    """The content with a few bytes flipped, a stretch cut out, or one repeated."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        start, length = chance.randrange(len(data) + 1), chance.randint(1, 30)
        kind = chance.randrange(4)
        if kind == 0:
            data[start : start + 1] = bytes([chance.randrange(256)])
        elif kind == 1:
            del data[start : start + length]
        elif kind == 2:
            data[start:start] = data[start : start + length]
        else:
            data[start:start] = chance.choice([b"<", b">", b"\n", b"\t", b'"', b"&#55296;", b"\\ud800", b".I\n"])
    return bytes(data)


def rewrite(path: Path, out: Path, topic_format: str | None, document_format: str | None) -> None:
    """Read the file as topics and as documents and write them again; errors must be printable."""
    try:
        write_topics(read_topics(path, topic_format), out, topic_format or "xml")
    except InputError as error:
        str(error).encode("utf-8")
    try:
        write_documents(read_documents(path, document_format), out, document_format or "trec")
    except InputError as error:
        str(error).encode("utf-8")


@pytest.mark.parametrize("seed", range(20))
def test_no_damage_to_a_file_gives_anything_but_an_input_error(seed: int, file: Write, tmp_path: Path) -> None:
    chance = random.Random(seed)
    for content in (SGML, XML, SMART, JSONL_TOPICS, TSV, CSV, JSONL_DOCUMENTS, TREC_DOCUMENTS):
        path = file(mutated(content.encode(), chance))
        for topic_format, document_format in zip_longest((None, *TOPIC_FORMATS), DOCUMENT_FORMATS):
            rewrite(path, tmp_path / "out", topic_format, document_format)


@pytest.mark.parametrize(
    ("documents", "how_many", "topics", "how_many_topics"),
    [
        ("cran/cran.all.1400", 1400, "cran/cran.qry", 225),
        ("cacm/cacm.all", 3204, "cacm/query.text", 64),
        ("cisi/CISI.ALL", 1460, "cisi/CISI.QRY", 112),
        ("med/MED.ALL", 1033, "med/MED.QRY", 30),
    ],
)
def test_the_classic_collections_are_complete(
    documents: str, how_many: int, topics: str, how_many_topics: int, shared_data: Path, tmp_path: Path
) -> None:
    read = list(read_documents(shared_data / "classic" / documents))
    assert len({d.id for d in read}) == len(read) == how_many
    assert len(read_topics(shared_data / "classic" / topics)) == how_many_topics
    assert not any("\r" in d.text for d in read)
    for format in ("jsonl", "trec", "smart", "csv"):
        write_documents(read, tmp_path / "out", format)
        assert list(read_documents(tmp_path / "out")) == read


def test_the_quirks_of_the_classic_collections_are_kept(shared_data: Path) -> None:
    topics = read_topics(shared_data / "classic/cran/cran.qry")
    assert [t.id for t in topics[:4]] == ["001", "002", "004", "008"]
    assert topics[0].title.startswith("what similarity laws must be obeyed")
    first = next(read_documents(shared_data / "classic/cacm/cacm.all"))
    assert first.fields["author"] == "Perlis, A. J.\nSamelson,K."
    assert first.fields["references"].startswith("100\t5\t1\n")


@pytest.mark.parametrize(("year", "subtopics"), [("2009", 243), ("2012", 195)])
def test_diversity_topics_come_with_their_subtopics(year: str, subtopics: int, shared_data: Path) -> None:
    path = shared_data / f"diversity/wt{year}.topics.xml"
    topics = read_topics(path)
    assert len(topics) == 50
    assert sum(len(t.subtopics) for t in topics) == subtopics == path.read_text().count("<subtopic ")
    assert all(t.title and t.description and t.fields["type"] for t in topics)


@pytest.mark.parametrize("format", ["trec", "xml", "jsonl"])
def test_diversity_topics_come_back_as_written(format: str, shared_data: Path, tmp_path: Path) -> None:
    topics = read_topics(shared_data / "diversity/wt2009.topics.xml")
    write_topics(topics, tmp_path / "out", format)
    assert read_topics(tmp_path / "out") == topics


def test_a_beir_data_set_is_complete(shared_data: Path) -> None:
    folder = shared_data / "beir/business-reports"
    assert sum(1 for _ in read_documents(folder / "corpus.jsonl")) == 671
    topics = read_topics(folder / "queries.jsonl")
    assert len(topics) == 50
    assert topics[0] == Topic("q_1", "How can AI agents transform retail banking operations?")
