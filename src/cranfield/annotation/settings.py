"""The settings of a log: grades, guidelines, judgments per pair, and checks of assessors."""

from __future__ import annotations

import json
from typing import Any

from cranfield.annotation.database import Connection, JudgingError
from cranfield.annotation.grades import DEFAULT_SCALE, Scale
from cranfield.base import Record, field_names
from cranfield.errors import InputError

HOLD_SECONDS = 900.0  # seconds

# after the instructions of TREC (Voorhees and Harman, TREC: Experiment and Evaluation in Information Retrieval, 2005)
DEFAULT_GUIDELINES = """\
Imagine that you are writing a report on the topic. A document is relevant if you would use any part of it in the \
report, even one sentence.

Judge each document on its own: it does not matter what other documents say, or whether you have seen the same \
before. Judge by what the topic asks for, not by whether its words occur.

Choose the grade whose definition fits best, and apply the same standard to all documents. Choose "Cannot judge" if a \
document is broken or incomprehensible: this is not a grade. Skip a document to come back to it later."""


def choose_guidelines(own: str) -> str:
    """The guidelines to show: those of the project, or the default ones."""
    return own.strip() or DEFAULT_GUIDELINES


class Settings(Record):
    """The settings for all assessors of a log."""

    scale: Scale = DEFAULT_SCALE
    guidelines: str = ""
    judgments: int = 1  # per pair, by different assessors
    overlap: float = 0.0  # share of pairs that need one more judgment
    repeats: float = 0.0  # share of an assessor's documents that are shown a second time
    hold: float = HOLD_SECONDS  # seconds for which a document shown to an assessor is not offered to others
    dispute: float = 1.0  # difference of grades from which a pair is adjudicated
    seed: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.judgments <= 1000:
            raise InputError(f"judgments per pair: {self.judgments}, expected 1 to 1,000.")
        for what, share in (("overlap", self.overlap), ("repeats", self.repeats)):
            if not 0 <= share <= 1:
                raise InputError(f"{what} is {share:g}, expected a share from 0 to 1.")
        if not 0 < self.hold < 1e9:
            raise InputError(f"hold is {self.hold:g}, expected a number of seconds above 0.")
        if not self.dispute > 0:
            raise InputError(f"dispute is {self.dispute:g}, expected a difference of grades above 0.")


def load_settings(db: Connection) -> Settings:
    """Read the current settings."""
    stored = {name: json.loads(value) for name, value in db.rows("SELECT name, value FROM settings")}
    if not stored:
        return Settings()
    scale = Scale.from_dicts(stored.pop("scale"))
    fields = field_names(Settings)
    return Settings(scale, **{name: value for name, value in stored.items() if name in fields})


def save_settings(db: Connection, settings: Settings) -> None:
    """Store settings. Grades that have been given must stay on the scale."""
    before = load_settings(db)
    if settings.scale.values != before.scale.values and db.value(
        "SELECT 1 FROM events WHERE grade IS NOT NULL LIMIT 1"
    ):
        missing = db.rows("SELECT DISTINCT grade FROM events WHERE grade IS NOT NULL ORDER BY grade")
        lost = [grade for (grade,) in missing if grade not in settings.scale.values]
        if lost:
            names = ", ".join(f"{grade:g}" for grade in lost)
            raise JudgingError(f"documents were judged {names}: the new scale must include these grades.")
    values: dict[str, Any] = {name: getattr(settings, name) for name in field_names(Settings)}
    values["scale"] = settings.scale.to_dicts()
    for name, value in values.items():
        db.run(
            "INSERT INTO settings VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            name,
            json.dumps(value, ensure_ascii=False),
        )
