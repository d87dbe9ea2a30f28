"""Move-to-front: stay with a system as long as its documents are relevant."""

from __future__ import annotations

import numpy as np

from cranfield.pooling.strategy import Asker, Asks, Pointers, chosen


class MoveToFront(Asker):
    """Take the next documents of the system with the highest priority; a non-relevant one lowers it by one.

    Cormack, Palmer & Clarke 1998, topic by topic. All systems start with the same priority. After a document that is
    not relevant the system with the highest priority is next, which may be the same.
    """

    def asks(self) -> Asks:
        pointers, chance = Pointers(self.lists), self.chance()
        priority = np.zeros(len(self.lists.docs))
        while pointers.has_more.any():
            system = chosen(priority, pointers.has_more, self.setting.ties, chance)
            while pointers.has_more[system]:
                grade = yield pointers.take(system)
                if not self.relevant(grade):
                    priority[system] -= 1
                    break
