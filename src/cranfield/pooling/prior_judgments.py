"""The judgments there are when a pool is made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from cranfield.base import Record
from cranfield.data import Qrels
from cranfield.errors import CranfieldError
from cranfield.io import as_qrels


class Known(Record, eq=False):
    """Judgments by query; a grade below 0 is that of a document which was pooled but not judged."""

    qrels: Qrels | None = None

    @classmethod
    def of(cls, judged: Any) -> Known:
        return cls(None if judged is None else as_qrels(judged))

    @cached_property
    def grades(self) -> dict[str, dict[str, float]]:
        """query -> doc -> grade, of what is judged."""
        every = {} if self.qrels is None else self.qrels.to_dict()
        return {query: {doc: grade for doc, grade in own.items() if grade >= 0} for query, own in every.items()}

    @property
    def negative(self) -> int:
        """How many grades below 0 there are where a sample is not what they come from."""
        if self.qrels is None or "stratum" in self.qrels.extra:
            return 0
        return int((self.qrels.grades < 0).sum())

    def of_query(self, query: str) -> Mapping[str, float]:
        return self.grades.get(query, {})

    def among(self, queries: Iterable[str]) -> list[str]:
        """The queries that have judgments."""
        if self.qrels is None:
            raise CranfieldError("only judged topics are asked for, but there are no judgments: name them, --judged.")
        found = [query for query in queries if query in self.grades]
        if not found:
            raise CranfieldError("runs and judgments have no query in common. See 'cranfield check'.")
        return found
