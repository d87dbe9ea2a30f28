"""An experiment: what a workspace asks for and is missing is made, and whatever is unchanged is left as it is.

`perform` makes the index, the runs, the pool, the scores, the comparison and the report, each in a process of its own
that may fail without the others, and says what became of each. It may be killed at any moment: an output is put in
its place only when it is whole, with a stamp that says what it was made of, so that the next time goes on from there.
"""

from cranfield.experiment.demo import lay_out
from cranfield.experiment.init import begin
from cranfield.experiment.plan import index_settings
from cranfield.experiment.runner import Event, Planned, number_of_steps, outcome, perform, plan
from cranfield.experiment.worker_pool import WorkerPool
from cranfield.experiment.workspace import FILE, Adaptive, Collection, Given, Judging, Workspace, open_workspace

__all__ = [
    "Adaptive",
    "Collection",
    "Event",
    "FILE",
    "Given",
    "Judging",
    "Planned",
    "WorkerPool",
    "Workspace",
    "begin",
    "index_settings",
    "lay_out",
    "number_of_steps",
    "open_workspace",
    "outcome",
    "perform",
    "plan",
]
