"""The judgments that exist before a pool is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from cranfield.base import Record
from cranfield.data import Qrels
from cranfield.errors import CranfieldError
from cranfield.io import as_qrels


class PriorJudgments(Record, eq=False):
    """Judgments by query. A negative grade marks a document that was pooled but not judged."""

    qrels: Qrels | None = None

    @classmethod
    def of(cls, judged: Any) -> PriorJudgments:
        return cls(None if judged is None else as_qrels(judged))

    @cached_property
    def grades(self) -> dict[str, dict[str, float]]:
        """query -> doc -> grade, of the judged documents."""
        every = {} if self.qrels is None else self.qrels.to_dict()
        return {query: {doc: grade for doc, grade in docs.items() if grade >= 0} for query, docs in every.items()}

    @property
    def negative(self) -> int:
        """The number of negative grades, unless the qrels are those of a sample, where they are usual."""
        if self.qrels is None or "stratum" in self.qrels.extra:
            return 0
        return int((self.qrels.grades < 0).sum())

    def of_query(self, query: str) -> Mapping[str, float]:
        return self.grades.get(query, {})

    def judged_queries(self, queries: Iterable[str]) -> list[str]:
        """Those of the queries that have judgments."""
        if self.qrels is None:
            raise CranfieldError("pooling judged topics only needs judgments: name them with --judged.")
        judged = [query for query in queries if query in self.grades]
        if not judged:
            raise CranfieldError("runs and judgments have no query in common. See 'cranfield check'.")
        return judged
