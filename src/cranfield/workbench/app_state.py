"""What is served and to whom: the things that every request finds in `request.app.state.site`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from cranfield.base import Record
from cranfield.workbench.security import Doors

if TYPE_CHECKING:
    from cranfield.experiment import Workspace
    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.judge.judging_service import Room


class User(Record):
    """Who is asking. A coordinator may do what an assessor may; whoever is alone on this machine may do everything."""

    name: str
    role: str = "assessor"
    is_alone: bool = False

    def may(self, role: str) -> bool:
        return self.role == "coordinator" or self.role == role


class Served(Record):
    """What is explored: a workspace, or judgments and runs without one."""

    workspace: Workspace | None = None
    qrels: str | None = None
    runs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What to call it."""
        if self.workspace is not None:
            return self.workspace.title or self.workspace.folder.resolve().name
        return "cranfield"


class Entry(Record):
    """A page that the navigation leads to, for a role."""

    label: str
    path: str
    role: str = "coordinator"
    group: str = "Judging"


class Site(Record, eq=False):
    """A server's state, but for what is in the database."""

    served: Served
    doors: Doors
    key: bytes  # for tokens
    alone: User | None = None  # who is asking where nobody signs in
    accounts: Accounts | None = None
    room: Room | None = None
    entries: Sequence[Entry] = ()
    kept: dict[str, Any] = field(default_factory=dict)  # what parts keep between requests
    cookie: str = "cranfield_session"

    @property
    def title(self) -> str:
        return self.served.title

    @property
    def log(self) -> str:
        """What tells the log of judgments that is served from others; it outlives the server."""
        return hashlib.sha256(b"log of judgments\0" + self.key).hexdigest()[:16]

    def entries_for(self, user: User | None) -> list[Entry]:
        return [entry for entry in self.entries if user is not None and user.may(entry.role)]

    def groups_for(self, user: User | None) -> dict[str, list[Entry]]:
        """The entries by group, in their order."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries_for(user):
            found.setdefault(entry.group, []).append(entry)
        return found

    def token(self, session: str) -> str:
        """The token that forms and scripts of a session must send; it outlives the server."""
        return hmac.new(self.key, session.encode(), hashlib.sha256).hexdigest()

    def is_token(self, session: str, token: str) -> bool:
        return hmac.compare_digest(self.token(session).encode(), token.encode("utf-8", "backslashreplace"))
