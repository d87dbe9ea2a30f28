"""Move-to-front: stay with a system as long as its documents are relevant."""

from __future__ import annotations

import numpy as np

from cranfield.pooling.selector import Cursors, Selection, Selector, choose_best


class MoveToFront(Selector):
    """Select documents of the system with the highest priority; a document that is not relevant lowers it by one.

    Cormack, Palmer & Clarke 1998, for each topic by itself. All systems start with the same priority. After a document
    that is not relevant the system with the highest priority is next, which may be the same one.
    """

    def select(self) -> Selection:
        cursors, rng = Cursors(self.lists), self.rng()
        priority = np.zeros(len(self.lists.docs))
        while cursors.has_more.any():
            system = choose_best(priority, cursors.has_more, self.context.ties, rng)
            while cursors.has_more[system]:
                grade = yield cursors.take(system)
                if not self.is_relevant(grade):
                    priority[system] -= 1
                    break
