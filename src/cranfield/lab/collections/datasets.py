"""Collections that ir_datasets knows by an id (extra: datasets)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from cranfield.data import Document, Qrels, Subtopic, Topic
from cranfield.errors import CranfieldError, InputError, MissingExtra
from cranfield.io import QrelsRows, check_id, ensure_title, normalize_space, read_page, replace_lone_surrogates
from cranfield.lab.collections.base import Address, Collection, assembled

# what ir_datasets calls the parts of documents and queries, the first that there is being taken
_TEXT = ("text", "body", "abstract", "contents")
_QUERY = ("title", "query", "text", "question")
_DESCRIPTION, _NARRATIVE = ("description", "desc"), ("narrative", "narr")


def open_dataset(address: Address) -> Collection:
    """A data set of ir_datasets, which downloads what it does not have."""
    address.allow("topics", "qrels")
    dataset = _loaded(address)

    def documents() -> Iterator[Document]:
        _refuse_missing(dataset.has_docs(), "documents", address)
        return _each(dataset.docs_iter, _document, address)

    def topics() -> Iterator[Topic]:
        _refuse_missing(dataset.has_queries(), "topics", address)
        return _each(dataset.queries_iter, _topic, address)

    def qrels() -> Qrels:
        _refuse_missing(dataset.has_qrels(), "judgments", address)
        rows = QrelsRows()
        for line, judged in enumerate(_each(dataset.qrels_iter, lambda row, _: row, address), 1):
            subtopic = str(getattr(judged, "subtopic_id", "") or getattr(judged, "iteration", "") or "0")
            rows.add(str(judged.query_id), str(judged.doc_id), float(judged.relevance), line, subtopic)
        return rows.qrels(str(address), None, "error")

    return assembled(address, documents, topics, qrels, (f"Read through ir_datasets as {address.where}.",))


def _loaded(address: Address) -> Any:
    try:
        ir_datasets: Any = import_module("ir_datasets")
    except ImportError:
        raise MissingExtra(str(address), "datasets") from None
    try:
        return ir_datasets.load(address.where)
    except KeyError:
        raise InputError("ir_datasets knows no such id.", str(address)) from None


def _refuse_missing(has: bool, what: str, address: Address) -> None:
    if not has:
        raise InputError(f"this data set has no {what}.", str(address))


def _each(items: Callable[[], Iterable[Any]], made: Callable[[Any, Address], Any], address: Address) -> Iterator[Any]:
    with _saying(address):
        for item in items():
            yield made(item, address)


@contextmanager
def _saying(address: Address) -> Iterator[None]:
    """Word what stops ir_datasets (no network, a licence, a full disk) as any other error."""
    try:
        yield
    except CranfieldError:
        raise
    except Exception as error:
        why = str(error).strip().split("\n")[0] or type(error).__name__
        raise InputError(f"ir_datasets stopped: {why}", str(address)) from None


def _document(item: Any, address: Address) -> Document:
    values = dict(zip(item._fields, item, strict=True))
    id = check_id(str(values.pop("doc_id")), "document", str(address), 0)
    title = str(values.pop("title", "") or "")
    name = next((name for name in _TEXT if name in values), None)
    text = item.default_text() if name is None else values.pop(name)
    others = {key: replace_lone_surrogates(value) for key, value in values.items() if isinstance(value, str) and value}
    if isinstance(text, bytes):  # ClueWeb's pages
        page = read_page(text, str(values.get("body_content_type") or ""))
        return Document(id, page.text, title or page.title, {**others, **page.fields()})
    return Document(id, replace_lone_surrogates(str(text)), replace_lone_surrogates(title), others)


def _topic(item: Any, address: Address) -> Topic:
    values = dict(zip(item._fields, item, strict=True))
    id = check_id(str(values.pop("query_id")), "topic", str(address), 0)
    title, description, narrative = (_taken(values, names) for names in (_QUERY, _DESCRIPTION, _NARRATIVE))
    subtopics = tuple(
        Subtopic(str(sub.number), normalize_space(str(sub.text)), str(getattr(sub, "type", "")))
        for sub in values.pop("subtopics", None) or ()
    )
    fields = {key: replace_lone_surrogates(value) for key, value in values.items() if isinstance(value, str) and value}
    return ensure_title(Topic(id, title, description, narrative, subtopics, fields), str(address), 0)


def _taken(values: dict[str, Any], names: tuple[str, ...]) -> str:
    name = next((name for name in names if isinstance(values.get(name), str)), None)
    return "" if name is None else normalize_space(replace_lone_surrogates(values.pop(name)))
