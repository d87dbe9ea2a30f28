"""The key bindings for judging, shared by terminal, packet and workbench."""

from __future__ import annotations

from cranfield.base import Record


class Action(Record):
    """Something an assessor can do besides giving a grade. The first key is the one shown."""

    name: str
    keys: tuple[str, ...]  # as browsers call them
    label: str
    about: str

    @property
    def key(self) -> str:
        return self.keys[0]


JUDGING_ACTIONS = (
    Action("back", ("b", "k", "ArrowLeft"), "Back", "go to the previous document; a new grade replaces the old one"),
    Action("forward", ("f", "j", "ArrowRight"), "Forward", "go to the next document, as far as you have seen them"),
    Action("undo", ("u",), "Undo", "revert your last action, and show its document"),
    Action("skip", ("s",), "Skip", "leave the document for later: it comes again at the end"),
    Action("cannot", ("x",), "Cannot judge", "broken, empty, in another language; this is not the lowest grade"),
    Action("note", ("n",), "Note", "write a note about the document"),
    Action("topic", ("t",), "Next topic", "continue with the next topic that has documents left"),
    Action("find", ("/",), "Find", "search for words in the document"),
    Action("highlight", ("h",), "Highlight", "turn highlighting of the topic's words on or off"),
    Action("guidelines", ("g",), "Guidelines", "show the guidelines"),
    Action("help", ("?",), "Help", "show all keys"),
)
ACTIONS_BY_KEY = {key: action for action in JUDGING_ACTIONS for key in action.keys}
