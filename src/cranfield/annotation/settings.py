"""How judging is organised: grades, guidelines, judgments for each pair, and what is mixed in to check judges."""

from __future__ import annotations

import json
from typing import Any

from cranfield.annotation.database import Connection, JudgingError
from cranfield.annotation.grades import USUAL, Scale
from cranfield.base import Record, field_names
from cranfield.errors import InputError

HOLD = 900.0  # seconds

# as TREC tells its assessors (Voorhees and Harman, TREC: Experiment and Evaluation in Information Retrieval, 2005)
USUAL_GUIDELINES = """\
Imagine that you write a report on the topic. A document is relevant if you would use any of it in the report, even \
one sentence.

Judge each document by itself: what other documents say, and whether you have seen the same before, does not \
count. Judge by what the topic asks for, not by whether words of the topic are there.

Choose the grade whose definition fits best; be the same to the last document as to the first. Choose "Cannot judge" \
if a document is broken or not to be understood: it is no grade. Skip what you want to come back to."""


def shown_guidelines(own: str) -> str:
    """What a judge reads who asks for guidelines: those of the project, or else the usual ones."""
    return own.strip() or USUAL_GUIDELINES


class Settings(Record):
    """What holds for all assessors of a log."""

    scale: Scale = USUAL
    guidelines: str = ""
    judgments: int = 1  # different assessors for each pair
    overlap: float = 0.0  # the share of pairs that get one more
    repeats: float = 0.0  # the share of an assessor's documents that come a second time
    hold: float = HOLD  # seconds for which a document that somebody looks at is not given to others
    dispute: float = 1.0  # how far apart grades must be for a pair to be adjudicated
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.judgments <= 1000:
            raise InputError(f"judgments for each pair: {self.judgments}, expected 1 or more.")
        for what, share in (("overlap", self.overlap), ("repeats", self.repeats)):
            if not 0 <= share <= 1:
                raise InputError(f"{what} is {share:g}, expected a share from 0 to 1.")
        if not 0 < self.hold < 1e9:
            raise InputError(f"hold is {self.hold:g}, expected seconds above 0.")
        if not self.dispute > 0:
            raise InputError(f"dispute is {self.dispute:g}, expected a difference of grades above 0.")


def load_settings(at: Connection) -> Settings:
    """The settings as they are now."""
    known = {name: json.loads(value) for name, value in at.rows("SELECT name, value FROM settings")}
    if not known:
        return Settings()
    scale = Scale.from_dicts(known.pop("scale"))
    fields = field_names(Settings)
    return Settings(scale, **{name: value for name, value in known.items() if name in fields})


def save_settings(at: Connection, settings: Settings) -> None:
    """Keep settings. The grades may not change once somebody has judged by them."""
    before = load_settings(at)
    if settings.scale.values != before.scale.values and at.value(
        "SELECT 1 FROM events WHERE grade IS NOT NULL LIMIT 1"
    ):
        missing = at.rows("SELECT DISTINCT grade FROM events WHERE grade IS NOT NULL ORDER BY grade")
        lost = [grade for (grade,) in missing if grade not in settings.scale.values]
        if lost:
            given = ", ".join(f"{grade:g}" for grade in lost)
            raise JudgingError(f"documents were judged {given}, which is none of the grades given. Keep these grades.")
    values: dict[str, Any] = {name: getattr(settings, name) for name in field_names(Settings)}
    values["scale"] = settings.scale.to_dicts()
    for name, value in values.items():
        at.run(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            json.dumps(value, ensure_ascii=False),
        )
