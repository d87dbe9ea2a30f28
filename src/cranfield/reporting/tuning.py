"""What tuning found, as text and as JSON."""

from __future__ import annotations

from typing import Any

from cranfield.base import pluralize
from cranfield.lab import Setting, Tuning
from cranfield.tables import Cell, Table, dumped, number, render

PLACES = 4
MOST = 10  # settings that are shown


def as_text(tuning: Tuning, width: int, styled: bool) -> str:
    """The choice of each fold, the best settings, and what to expect."""
    parts = render.terminal([_folds(tuning), _settings(tuning)], width, styled)
    return parts + "\n" + "\n".join(sentences(tuning)) + "\n"


def sentences(tuning: Tuning) -> list[str]:
    """What may be claimed, the honest figure first."""
    held, best = tuning.held_out, tuning.optimistic
    found = tuning.held_out_interval
    where = f" [{found.low:.4f}, {found.high:.4f}]" if found else ""
    tried = pluralize(len(tuning.settings), "setting")
    lines = [
        f"Held out: {tuning.measure} {held:.4f}{where}, every topic with the parameters chosen on the other folds.",
        f"Best of {tried} on all {len(tuning.topics)} topics: {best:.4f} with {shown(tuning.settings[tuning.best])}, "
        f"chosen by the topics it is scored on and so optimistic, here by {abs(best - held):.4f}.",
    ]
    chosen = {shown(fold.setting) for fold in tuning.folds}
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
    return dumped(content)


def shown(setting: Setting) -> str:
    """A setting as it is written after a system's name.

    >>> shown({"k1": 0.9, "b": 0.4})
    'k1=0.9,b=0.4'
    """
    return ",".join(f"{name}={value:g}" for name, value in setting.items())


def _folds(tuning: Tuning) -> Table:
    rows = tuple(
        (
            Cell(str(i)),
            Cell(shown(fold.setting)),
            Cell(str(len(fold.topics))),
            Cell(number(fold.elsewhere, PLACES)),
            Cell(number(fold.here, PLACES)),
        )
        for i, fold in enumerate(tuning.folds, 1)
    )
    return Table("", ("Fold", "Chosen", "Topics", "Elsewhere", "Held out"), rows)


def _settings(tuning: Tuning) -> Table:
    means = tuning.means
    order = sorted(range(len(means)), key=lambda i: (-means[i] if tuning.more_is_better else means[i], i))[:MOST]
    rows = tuple((Cell(shown(tuning.settings[i])), Cell(number(means[i], PLACES), best=i == order[0])) for i in order)
    title = f"all topics, the best {len(rows)} of {len(means)} settings" if len(means) > MOST else "all topics"
    return Table(title, ("Setting", tuning.measure), rows)
