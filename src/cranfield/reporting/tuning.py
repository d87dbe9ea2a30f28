"""The result of tuning, as text and as JSON."""

from __future__ import annotations

from typing import Any

from cranfield.base import pluralize
from cranfield.lab import Setting, Tuning
from cranfield.tables import Cell, Table, dump_json, format_number, render_text

PLACES = 4
MOST = 10  # settings shown


def as_text(tuning: Tuning, width: int, styled: bool) -> str:
    """The choice of each fold, the best settings, and the score to expect."""
    parts = render_text([_folds(tuning), _settings(tuning)], width, styled)
    return parts + "\n" + "\n".join(sentences(tuning)) + "\n"


def sentences(tuning: Tuning) -> list[str]:
    """The conclusions, with the unbiased score first."""
    held, best = tuning.held_out, tuning.optimistic
    found = tuning.held_out_interval
    where = f" [{found.low:.4f}, {found.high:.4f}]" if found else ""
    tried = pluralize(len(tuning.settings), "setting")
    lines = [
        f"Held out: {tuning.measure} {held:.4f}{where}, each topic with the parameters chosen on the other folds.",
        f"Best of {tried} on all {len(tuning.topics)} topics: {best:.4f} with "
        f"{format_setting(tuning.settings[tuning.best])}, chosen on the same topics and therefore optimistic, "
        f"here by {abs(best - held):.4f}.",
    ]
    chosen = {format_setting(fold.setting) for fold in tuning.folds}
    agree = "the same setting" if len(chosen) == 1 else f"{len(chosen)} different settings"
    lines.append(f"The {len(tuning.folds)} folds chose {agree}.")
    return lines


def as_json(tuning: Tuning) -> str:
    content: dict[str, Any] = {
        "measure": tuning.measure,
        "topics": len(tuning.topics),
        "held_out": tuning.held_out,
        "optimistic": tuning.optimistic,
        "best": dict(tuning.settings[tuning.best]),
        "seed": tuning.seed,
        "folds": [
            {
                "topics": list(fold.topics),
                "setting": dict(fold.setting),
                "elsewhere": fold.elsewhere,
                "here": fold.here,
            }
            for fold in tuning.folds
        ],
        "settings": [{**setting, "mean": mean} for setting, mean in zip(tuning.settings, tuning.means, strict=True)],
        "per_topic": tuning.per_topic,
    }
    return dump_json(content)


def format_setting(setting: Setting) -> str:
    """A setting, as it follows the name of a system.

    >>> format_setting({"k1": 0.9, "b": 0.4})
    'k1=0.9,b=0.4'
    """
    return ",".join(f"{name}={value:g}" for name, value in setting.items())


def _folds(tuning: Tuning) -> Table:
    rows = tuple(
        (
            Cell(str(i)),
            Cell(format_setting(fold.setting)),
            Cell(str(len(fold.topics))),
            Cell(format_number(fold.elsewhere, PLACES)),
            Cell(format_number(fold.here, PLACES)),
        )
        for i, fold in enumerate(tuning.folds, 1)
    )
    return Table("", ("Fold", "Chosen", "Topics", "Other folds", "Held out"), rows)


def _settings(tuning: Tuning) -> Table:
    means = tuning.means
    order = sorted(range(len(means)), key=lambda i: (-means[i] if tuning.more_is_better else means[i], i))[:MOST]
    rows = tuple(
        (Cell(format_setting(tuning.settings[i])), Cell(format_number(means[i], PLACES), best=i == order[0]))
        for i in order
    )
    title = f"all topics, the best {len(rows)} of {len(means)} settings" if len(means) > MOST else "all topics"
    return Table(title, ("Setting", tuning.measure), rows)
