"""The keys of judging, the same in terminal, packet and workbench."""

from __future__ import annotations

from cranfield.base import Record


class Action(Record):
    """Something a judge can do besides giving a grade. The first key is the one that is shown."""

    name: str
    keys: tuple[str, ...]  # as browsers call them
    label: str
    about: str

    @property
    def key(self) -> str:
        return self.keys[0]


ACTIONS = (
    Action("back", ("b", "k", "ArrowLeft"), "Back", "to the document before; a grade given there replaces the old one"),
    Action("forward", ("f", "j", "ArrowRight"), "Forward", "to the document after, as far as you have come"),
    Action("undo", ("u",), "Undo", "take back what you did last, and show that document"),
    Action("skip", ("s",), "Skip", "put the document off: it comes again at the end"),
    Action("cannot", ("x",), "Cannot judge", "broken, empty, in another language; this is not the lowest grade"),
    Action("note", ("n",), "Note", "write a remark about the document"),
    Action("topic", ("t",), "Next topic", "go on with the next topic that has documents left"),
    Action("find", ("/",), "Find", "look for words in the document"),
    Action("highlight", ("h",), "Highlight", "mark the words of the topic, or do not"),
    Action("guidelines", ("g",), "Guidelines", "how to judge"),
    Action("help", ("?",), "Help", "all keys"),
)
BY_KEY = {key: action for action in ACTIONS for key in action.keys}
