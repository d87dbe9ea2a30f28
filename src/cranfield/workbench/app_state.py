"""The state that all requests share, and what they are about: `get_app_state(request)`."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from cranfield.base import Record
from cranfield.workbench.security import AllowedHosts

if TYPE_CHECKING:
    from cranfield.experiment import Workspace
    from cranfield.workbench.accounts import Accounts
    from cranfield.workbench.judge.judging_service import JudgingService

DATA_FOLDER = ".cranfield"  # in a workspace: files that can be deleted and are then recreated


class User(Record):
    """The user of a request. Coordinators may do everything that assessors may."""

    name: str
    role: str = "assessor"
    is_local: bool = False  # the only user, on this machine, without an account

    def may(self, role: str) -> bool:
        return self.role == "coordinator" or self.role == role


class DataSource(Record):
    """The data to explore: a workspace, or qrels and runs without one."""

    workspace: Workspace | None = None
    qrels: str | None = None
    runs: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        if self.workspace is not None:
            return self.workspace.title or self.workspace.folder.resolve().name
        return "cranfield"


class NavEntry(Record):
    """A link in the navigation, shown to users with a role."""

    label: str
    path: str
    role: str = "coordinator"
    group: str = "Judging"


class AppState(Record, eq=False):
    """The state of a server, except for what is in the database."""

    source: DataSource
    hosts: AllowedHosts
    key: bytes  # for CSRF tokens
    local_user: User | None = None  # the user of all requests where nobody signs in
    accounts: Accounts | None = None
    judging: JudgingService | None = None
    entries: Sequence[NavEntry] = ()
    cache: dict[str, Any] = field(default_factory=dict)
    cookie: str = "cranfield_session"

    @property
    def title(self) -> str:
        return self.source.title

    @property
    def log_id(self) -> str:
        """Identifies the judgment log; the same after a restart."""
        return hashlib.sha256(b"log of judgments\0" + self.key).hexdigest()[:16]

    def list_entries(self, user: User | None) -> list[NavEntry]:
        """The navigation of a user."""
        return [entry for entry in self.entries if user is not None and user.may(entry.role)]

    def group_entries(self, user: User | None) -> dict[str, list[NavEntry]]:
        """The navigation of a user, by group."""
        groups: dict[str, list[NavEntry]] = {}
        for entry in self.list_entries(user):
            groups.setdefault(entry.group, []).append(entry)
        return groups

    def make_token(self, session: str) -> str:
        """The CSRF token of a session; the same after a restart."""
        return hmac.new(self.key, session.encode(), hashlib.sha256).hexdigest()

    def is_token(self, session: str, token: str) -> bool:
        return hmac.compare_digest(self.make_token(session).encode(), token.encode("utf-8", "backslashreplace"))


def get_app_state(request: Request) -> AppState:
    state: AppState = request.app.state.workbench
    return state


def get_accounts(request: Request) -> Accounts:
    """The accounts, on routes that exist only if there are any."""
    accounts = get_app_state(request).accounts
    assert accounts is not None
    return accounts


def get_judging(request: Request) -> JudgingService:
    """The judging service, on routes that exist only if there is one."""
    judging = get_app_state(request).judging
    assert judging is not None
    return judging
