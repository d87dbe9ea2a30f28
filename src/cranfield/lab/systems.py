"""Systems by name: a model with parameters, then feedback, then diversity, as in `bm25:k1=0.9,b=0.4+rm3:docs=5+mmr`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base import Parameter, Record, check_value, join_names, pluralize
from cranfield.data import Floats, Ints, Qrels, Run, Topic
from cranfield.errors import CranfieldError
from cranfield.lab.dense import NEEDS, SIMILARITIES, Dense, Space
from cranfield.lab.diversity import MMR, Likeness, all_documents, by_words
from cranfield.lab.feedback import FEEDBACK, Feedback
from cranfield.lab.index import Index
from cranfield.lab.models import DEPTH, MODELS, Model, Query
from cranfield.lab.stage import Stage, spell_parameter

FIELDS = ("title",)
TOGETHER = 200  # topics whose documents' vectors are held at a time
Ranked = tuple[Ints, Floats]


class System(Record):
    """What searches: a model, and feedback and diversity if there are any."""

    name: str
    model: Model
    feedback: Feedback | None = None
    diversity: MMR | None = None

    @property
    def is_dense(self) -> bool:
        """Whether it searches by vectors that are given, and not by words."""
        return isinstance(self.model, Dense)

    def described(self, space: Space | None = None) -> str:
        """The name, with what it does not say.

        >>> system_named("dense").described()
        'dense, inner product'
        """
        parts = [self.name]
        if isinstance(self.model, Dense) and "similarity=" not in self.name:
            parts.append(SIMILARITIES[self.model.similarity])
        if self.diversity is not None:
            parts.append(f"mmr by cosines of {'words' if space is None else space.docs.name}")
        return ", ".join(parts)

    def search(
        self,
        index: Index | None,
        queries: Mapping[str, str],
        depth: int = DEPTH,
        relevant: Mapping[str, Sequence[str]] | None = None,
        space: Space | None = None,
    ) -> Run:
        """The best documents of each query, as a run; `relevant` documents serve as feedback in place of the first.

        A `space` has the vectors for dense retrieval, and those that mmr compares; without one it compares words.
        """
        wanted = depth if self.diversity is None else max(depth, self.diversity.docs)
        if self.is_dense:
            ids, found, notes = self._by_vectors(queries, wanted, space)
        elif index is None:
            raise CranfieldError(f"{self.name} searches by words and needs an index, made by 'cranfield index'.")
        else:
            ids, found, notes = self._by_words(index, queries, wanted, relevant)
        if self.diversity is not None:
            found = _diverse(self.diversity, found, index, space)
        return as_run(ids, list(queries), [(docs[:depth], scores[:depth]) for docs, scores in found], self.name, notes)

    def _by_vectors(self, queries: Mapping[str, str], depth: int, space: Space | None) -> Found:
        assert isinstance(self.model, Dense)
        if space is None:
            raise CranfieldError(f"{self.name} {NEEDS}.")
        return space.ids, space.search(list(queries), self.model.similarity, depth), ()

    def _by_words(
        self, index: Index, queries: Mapping[str, str], depth: int, relevant: Mapping[str, Sequence[str]] | None
    ) -> Found:
        asked = [index.query(text) for text in queries.values()]
        found = self.model.search(index, asked, depth if self.feedback is None else max(depth, self.feedback.docs))
        if self.feedback is None:
            return index.docs, found, ()
        given = [None if relevant is None else _numbers(index, relevant.get(query, ())) for query in queries]
        found = [self._again(index, *each, depth) for each in zip(asked, found, given, strict=True)]
        return index.docs, found, _unknown(index, queries, relevant or {})

    def _again(self, index: Index, query: Query, first: Ranked, given: Ints | None, depth: int) -> Ranked:
        """Search with what was learned from the documents given, or from the first ones of the first search."""
        assert self.feedback is not None
        docs, scores = first[0][: self.feedback.docs], first[1][: self.feedback.docs]
        if given is not None:
            docs, scores = given, np.ones(len(given))
        if not len(docs):
            return first
        return self.feedback.search(index, self.model, query, docs, scores, depth)


Found = tuple[Sequence[str], list[Ranked], tuple[str, ...]]  # ids of documents, what was found, what to know of it


def system_named(text: str) -> System:
    """A system by its name.

    >>> system_named("bm25:k1=0.9+rm3").model
    BM25(k1=0.9, b=0.75)
    >>> system_named("bm25+rm3+mmr:lambda=0.7").diversity
    MMR(lambda_=0.7, docs=100)
    """
    base, *more = text.split("+")
    model = _made(base, MODELS, "system")
    stages = [(MMR if _name(stage) == MMR.name else Feedback, stage) for stage in more]
    if [kind for kind, _ in stages] not in ([], [Feedback], [MMR], [Feedback, MMR]):
        raise CranfieldError(f"system {text!r}: only one kind of feedback after the model, and mmr after that.")
    feedback = next((_made(stage, FEEDBACK, "feedback", _OR_MMR) for kind, stage in stages if kind is Feedback), None)
    diversity = next((_made(stage, {MMR.name: MMR}, "stage") for kind, stage in stages if kind is MMR), None)
    if feedback is not None and isinstance(model, Dense):
        raise CranfieldError(f"system {text!r}: feedback adds words to a query, and dense has none; only mmr after it.")
    return System(text, model, feedback, diversity)


_OR_MMR = ", or mmr to diversify"


def with_setting(text: str, setting: Mapping[str, float]) -> System:
    """A system with some parameters set: those of the model or, where it has none such, of what comes after it.

    >>> with_setting("bm25:b=0.4+rm3", {"k1": 0.9, "terms": 20}).name
    'bm25:b=0.4,k1=0.9+rm3:terms=20'
    """
    system_named(text)
    stages = text.split("+")
    for name, value in setting.items():
        at = next((i for i, stage in enumerate(stages) if name in _parameters(stage)), 0)
        stages[at] = _extended(stages[at], name, value)
    return system_named("+".join(stages))


def fitting(text: str, setting: Mapping[str, float]) -> dict[str, float]:
    """A setting as a system can take it: whole numbers where it wants them."""
    system_named(text)
    parameters = {name: one for stage in text.split("+")[::-1] for name, one in _parameters(stage).items()}
    whole = {name for name, parameter in parameters.items() if parameter.whole}
    return {name: round(value) if name in whole else value for name, value in setting.items()}


def _parameters(stage: str) -> dict[str, Parameter]:
    """The parameters of a stage by name."""
    kind: type[Stage] = {**FEEDBACK, MMR.name: MMR, **MODELS}[_name(stage)]
    return {spell_parameter(field): parameter for field, parameter in kind.parameters.items()}


def _name(stage: str) -> str:
    return stage.partition(":")[0]


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


def as_run(
    ids: Sequence[str], queries: Sequence[str], found: Sequence[Ranked], name: str, notes: tuple[str, ...] = ()
) -> Run:
    """Ranked documents by number, as a run."""
    known = np.array(ids, dtype=object)
    sizes = [len(docs) for docs, _ in found]
    return Run.from_rows(
        [query for query, size in zip(queries, sizes, strict=True) for _ in range(size)],
        np.concatenate([known[docs] for docs, _ in found] or [np.empty(0, object)]),
        np.concatenate([scores for _, scores in found] or [np.empty(0)]),
        ranks=np.concatenate([np.arange(1, size + 1) for size in sizes] or [np.empty(0, np.int64)]),
        name=name,
        tag=name,
        notes=notes,
        empty_queries=[query for query, size in zip(queries, sizes, strict=True) if not size],
    )


def _diverse(mmr: MMR, found: Sequence[Ranked], index: Index | None, space: Space | None) -> list[Ranked]:
    """Rankings by marginal relevance; documents are compared by their vectors where there are some."""
    reranked: list[Ranked] = []
    for start in range(0, len(found), TOGETHER):
        together = found[start : start + TOGETHER]
        if space is not None:
            like: Likeness = space.likeness(all_documents(together, mmr.docs))
        else:
            assert index is not None
            like = by_words(index)
        reranked += [mmr.reranked(each, like) for each in together]
    return reranked


def _numbers(index: Index, docs: Iterable[str]) -> Ints:
    return np.array(sorted(index.doc_numbers[doc] for doc in docs if doc in index.doc_numbers), dtype=np.int64)


def _unknown(index: Index, queries: Iterable[str], relevant: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What could not be learned from."""
    unknown = dict.fromkeys(d for query in queries for d in relevant.get(query, ()) if d not in index.doc_numbers)
    if not unknown:
        return ()
    return (f"{pluralize(len(unknown), 'document')} given as relevant not in the index: {join_names(unknown)}",)


def _made(text: str, kinds: Mapping[str, type[Any]], what: str, more: str = "") -> Any:
    """A model or another stage out of `name:parameter=value,…`."""
    name, _, rest = text.partition(":")
    if name not in kinds:
        raise CranfieldError(f"no {what} {name!r}: expected one of {', '.join(kinds)}{more}.")
    fields = {spell_parameter(field): field for field in kinds[name].parameters}
    values: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        key, sign, value = part.partition("=")
        if not sign or key not in fields:
            raise CranfieldError(f"{name} has no parameter {key!r}: it has {', '.join(fields) or 'none'}.")
        field = fields[key]
        values[field] = check_value(name, kinds[name].parameters[field], key, value)
    return kinds[name](**values)
