"""An experiment: what a workspace asks for and is missing is made, and whatever is unchanged is left as it is.

`perform` makes the index, the runs, the pool, the scores, the comparison and the report, each in a process of its own
that may fail without the others, and says what became of each. It may be killed at any moment: an output is put in
its place only when it is whole, with a stamp that says what it was made of, so that the next time goes on from there.
"""

from cranfield.experiment.performing import Event, Planned, perform, plan

__all__ = ["Event", "Planned", "perform", "plan"]
