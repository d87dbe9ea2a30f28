"""Systems by name: a model with parameters, then feedback, as in `bm25:k1=0.9,b=0.4+rm3:docs=5`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.collection import Floats, Ints, Qrels, Run, Topic
from cranfield.errors import CranfieldError
from cranfield.lab.dense import LSI
from cranfield.lab.feedback import FEEDBACK, Feedback
from cranfield.lab.index import Index
from cranfield.lab.models import DEPTH, MODELS, Model
from cranfield.records import record

FIELDS = ("title",)
Ranked = tuple[Ints, Floats]


@record
class System:
    """What searches: a model, and feedback if there is any."""

    name: str
    model: Model
    feedback: Feedback | None = None

    def search(
        self,
        index: Index,
        queries: Mapping[str, str],
        depth: int = DEPTH,
        relevant: Mapping[str, Sequence[str]] | None = None,
    ) -> Run:
        """The best documents of each query, as a run; `relevant` documents serve as feedback in place of the first."""
        asked = [index.query(text) for text in queries.values()]
        found = self.model.search(index, asked, depth if self.feedback is None else max(depth, self.feedback.docs))
        if self.feedback is not None:
            given = [None if relevant is None else _numbers(index, relevant.get(query, ())) for query in queries]
            found = [self._again(index, *each, depth) for each in zip(asked, found, given, strict=True)]
        return as_run(index, list(queries), [(docs[:depth], scores[:depth]) for docs, scores in found], self.name)

    def _again(self, index: Index, query: Any, first: Ranked, given: Ints | None, depth: int) -> Ranked:
        """Search with what was learned from the documents given, or from the first ones of the first search."""
        assert self.feedback is not None
        docs, scores = first[0][: self.feedback.docs], first[1][: self.feedback.docs]
        if given is not None:
            docs, scores = given, np.ones(len(given))
        if not len(docs):
            return first
        better = self.feedback.expanded(index, query, docs, scores)
        (found,) = self.feedback.model(index, self.model, docs.tolist()).search(index, [better], depth)
        return found


def system_named(text: str) -> System:
    """A system by its name.

    >>> system_named("bm25:k1=0.9+rm3").model
    BM25(k1=0.9, b=0.75)
    """
    base, *more = text.split("+")
    model = _made(base, {**MODELS, LSI.name: LSI}, "system")
    if len(more) > 1:
        raise CranfieldError(f"system {text!r}: only one kind of feedback after the model.")
    return System(text, model, _made(more[0], FEEDBACK, "feedback") if more else None)


def with_setting(text: str, setting: Mapping[str, float]) -> System:
    """A system with some parameters set: those of the model or, where only that has them, of the feedback.

    >>> with_setting("bm25:b=0.4+rm3", {"k1": 0.9, "terms": 20}).name
    'bm25:b=0.4,k1=0.9+rm3:terms=20'
    """
    base, *more = text.split("+")
    fields = system_named(base).model.__dataclass_fields__
    for name, value in setting.items():
        if more and name not in fields:
            more[0] = _extended(more[0], name, value)
        else:
            base = _extended(base, name, value)
    return system_named("+".join([base, *more]))


def fitting(text: str, setting: Mapping[str, float]) -> dict[str, float]:
    """A setting as a system can take it: whole numbers where it wants them."""
    system = system_named(text)
    fields = {**(system.feedback.__dataclass_fields__ if system.feedback else {}), **system.model.__dataclass_fields__}
    whole = {name for name, field in fields.items() if type(field.default) is int}
    return {name: round(value) if name in whole else value for name, value in setting.items()}


def _extended(text: str, name: str, value: float) -> str:
    return f"{text}{',' if ':' in text else ':'}{name}={value:g}"


def query_text(topic: Topic, fields: Iterable[str] = FIELDS) -> str:
    """The words of a topic that are searched with."""
    plain = ("title", "description", "narrative")
    parts = (str(getattr(topic, field)) if field in plain else topic.fields.get(field, "") for field in fields)
    return " ".join(part for part in parts if part)


def relevant_documents(qrels: Qrels, rel: float = 1.0) -> dict[str, list[str]]:
    """The documents of each query that are judged relevant."""
    return {query: [d for d, grade in judged.items() if grade >= rel] for query, judged in qrels.to_dict().items()}


def as_run(index: Index, queries: Sequence[str], found: Sequence[Ranked], name: str) -> Run:
    """Ranked documents by number, as a run."""
    ids = np.array(index.docs, dtype=object)
    sizes = [len(docs) for docs, _ in found]
    return Run.from_rows(
        [query for query, size in zip(queries, sizes, strict=True) for _ in range(size)],
        np.concatenate([ids[docs] for docs, _ in found] or [np.empty(0, object)]),
        np.concatenate([scores for _, scores in found] or [np.empty(0)]),
        ranks=np.concatenate([np.arange(1, size + 1) for size in sizes] or [np.empty(0, np.int64)]),
        name=name,
        tag=name,
        empty_queries=[query for query, size in zip(queries, sizes, strict=True) if not size],
    )


def _numbers(index: Index, docs: Iterable[str]) -> Ints:
    return np.array(sorted(index.doc_numbers[doc] for doc in docs if doc in index.doc_numbers), dtype=np.int64)


def _made(text: str, kinds: Mapping[str, type[Any]], what: str) -> Any:
    """A model or a kind of feedback out of `name:parameter=value,…`."""
    name, _, rest = text.partition(":")
    if name not in kinds:
        raise CranfieldError(f"no {what} {name!r}: expected one of {', '.join(kinds)}.")
    fields = kinds[name].__dataclass_fields__
    values: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if not sign or key not in fields:
            raise CranfieldError(f"{name} has no parameter {key!r}: it has {', '.join(fields) or 'none'}.")
        values[key] = _number(name, key, value, type(fields[key].default))
    return kinds[name](**values)


def _number(name: str, key: str, value: str, kind: type) -> float | int:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not np.isfinite(number) or number < 0 or (kind is int and number != int(number)):
        wanted = "a whole number" if kind is int else "a number"
        raise CranfieldError(f"{name}: {key}={value} is not {wanted} from 0.")
    return int(number) if kind is int else number
