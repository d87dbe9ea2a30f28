"""Collections with splits: BEIR's layout and MS MARCO's files."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from cranfield.base import format_id, join_names
from cranfield.data import Document, Qrels, Topic
from cranfield.errors import InputError
from cranfield.io import read_documents, read_qrels, read_topics, strip_compression_suffix
from cranfield.lab.collections.base import Address, Collection, assembled, matching, missing, the_one

CORPUS = ("corpus.jsonl",)
QUERIES = ("queries.jsonl",)
MSMARCO_DOCUMENTS = ("collection.tsv", "msmarco-docs.tsv", "fulldocs.tsv", "docs.tsv")
_V2_FOLDERS = ("msmarco_v2_passage", "msmarco_v2_doc")
# {split} is dev.small, dev, train, eval …; the files of documents and of version 2 have names of their own
_MSMARCO_TOPICS = (
    "queries.{split}.tsv",
    "msmarco-doc{split}-queries.tsv",
    "msmarco-{split}-queries.tsv",
    "passv2_{split}_queries.tsv",
    "docv2_{split}_queries.tsv",
)
_MSMARCO_QRELS = (
    "qrels.{split}.tsv",
    "msmarco-doc{split}-qrels.tsv",
    "passv2_{split}_qrels.tsv",
    "docv2_{split}_qrels.tsv",
    "{year}qrels-pass.txt",
    "{year}qrels-docs.txt",
    "{year}.qrels.pass*.txt",
)
_USUAL_SPLITS = ("dev.small", "dev", "test2019", "test2020", "dev1", "dev2", "eval.small", "eval", "train")


def open_beir(address: Address) -> Collection:
    """A data set in BEIR's layout: corpus.jsonl, queries.jsonl, qrels/test.tsv."""
    address.allow("topics", "qrels", "split")
    matching(address.where, ())
    judged, notes = _beir_split(address)

    def documents() -> Iterator[Document]:
        files = matching(address.where, CORPUS)
        if not files:
            raise missing(address, "documents", CORPUS[0])
        return read_documents(files[0], "jsonl")

    def topics() -> tuple[Topic, ...]:
        file = the_one(matching(address.where, QUERIES), address, "topics", QUERIES[0], "topics")
        found = read_topics(file, "jsonl")
        if judged is None:
            return found
        wanted = set(read_qrels(judged).queries)
        return tuple(topic for topic in found if topic.id in wanted)

    def qrels() -> Qrels:
        if judged is None:
            raise missing(address, "judgments", "qrels/test.tsv", "qrels")
        return read_qrels(judged)

    return assembled(address, documents, topics, qrels, notes)


def open_msmarco(address: Address) -> Collection:
    """MS MARCO's passages or documents: collection.tsv or msmarco-docs.tsv, and the queries and qrels of a split."""
    address.allow("topics", "qrels", "split")
    matching(address.where, ())
    split, note = _msmarco_split(address)

    def documents() -> Iterator[Document]:
        files = matching(address.where, MSMARCO_DOCUMENTS)
        folders = [path for name in _V2_FOLDERS if os.path.isdir(path := os.path.join(address.where, name))]
        if not files and not folders:
            expected = f"{', '.join(MSMARCO_DOCUMENTS[:3])} or a folder {' or '.join(_V2_FOLDERS)}"
            raise missing(address, "documents", expected)
        return read_documents(files[0], "tsv") if files else read_documents(folders[0], "jsonl")

    def topics() -> tuple[Topic, ...]:
        expected = f"queries.{split}.tsv or msmarco-doc{split}-queries.tsv"
        return read_topics(the_one(_of_split(address, _MSMARCO_TOPICS, split), address, "topics", expected, "topics"))

    def qrels() -> Qrels:
        expected = f"qrels.{split}.tsv or msmarco-doc{split}-qrels.tsv"
        return read_qrels(the_one(_of_split(address, _MSMARCO_QRELS, split), address, "judgments", expected, "qrels"))

    return assembled(address, documents, topics, qrels, note)


def _beir_split(address: Address) -> tuple[str | None, list[str]]:
    """The judgments of the split that is asked for, of test, or of the only one there is; and what to say of it."""
    folder = os.path.join(address.where, "qrels")
    files = matching(folder, ("*.tsv",)) if os.path.isdir(folder) else []
    splits = {os.path.splitext(os.path.basename(strip_compression_suffix(file)))[0]: file for file in files}
    split = address.options.get("split")
    if split is not None and split not in splits:
        found = f"it has {join_names(splits)}" if splits else "it has no qrels"
        raise InputError(f"there is no split {format_id(split)}: {found}.", str(address))
    split = split or next(iter(splits) if len(splits) == 1 else (name for name in ("test",) if name in splits), None)
    if split is None and splits:
        raise InputError(f"there is no split 'test': choose one of {join_names(splits)} with ?split=.", str(address))
    if split is None:
        return None, []
    note = f"The split is {split}: topics are the queries of queries.jsonl that qrels/{split}.tsv judges."
    return splits[split], [note]


def _msmarco_split(address: Address) -> tuple[str, list[str]]:
    split = address.options.get("split")
    if split is not None:
        return split, [f"The split is {split}."]
    split = next((name for name in _USUAL_SPLITS if _of_split(address, _MSMARCO_TOPICS, name)), _USUAL_SPLITS[0])
    return split, [f"The split is {split}; ?split= chooses another."]


def _of_split(address: Address, patterns: tuple[str, ...], split: str) -> list[str]:
    year = "".join(char for char in split if char.isdigit())
    wanted = [pattern.format(split=split, year=year) for pattern in patterns if year or "{year}" not in pattern]
    return matching(address.where, [pattern.lower() for pattern in wanted])


BENCHMARKS: dict[str, Callable[[Address], Collection]] = {"beir": open_beir, "msmarco": open_msmarco}
