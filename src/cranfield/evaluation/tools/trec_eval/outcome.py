"""What a call of trec_eval leaves behind: standard output, standard error, an exit code."""

from __future__ import annotations

from cranfield.base import Record

CRASH, ABORT = 139, 134  # what a shell reports of a program ended by a segmentation fault, or by itself


class Outcome(Record):
    """What was printed, and how it ended; `help_for` names the measures that help is asked about, None for none."""

    out: str = ""
    err: str = ""
    code: int = 0
    help_for: tuple[str, ...] | None = None


class Stop(Exception):
    """The end of a call before its time, with what trec_eval says then."""

    def __init__(self, code: int, err: str = "") -> None:
        super().__init__(err)
        self.code, self.err = code, err

    @property
    def is_crash(self) -> bool:
        return self.code in (CRASH, ABORT)


def crash(why: str) -> Stop:
    """Where trec_eval itself crashes there is nothing to reproduce but the fact; it is said why."""
    return Stop(CRASH, f"trec_eval: Segmentation fault ({why})\n")
