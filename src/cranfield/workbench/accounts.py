"""Who may come in: accounts, invitations and sessions, in the database of the judgments.

Of sessions and invitations only digests are kept: whoever reads the database cannot use them.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from functools import lru_cache

from cranfield.annotation import Connection, Database, Migration, checked_assessor, migrate, now
from cranfield.base import Record
from cranfield.errors import InputError
from cranfield.workbench.app_state import User
from cranfield.workbench.passwords import Cost, checked, hashed, is_right

DAY = 86_400.0
INVITED = 7 * DAY  # seconds for which an invitation can be used
IDLE, LONGEST = 7 * DAY, 30 * DAY  # seconds without a request after which a session ends, and at all
ROLES = ("assessor", "coordinator")

MIGRATIONS = (
    Migration(
        1,
        "accounts, invitations, sessions",
        (
            """
            CREATE TABLE users (
                name TEXT PRIMARY KEY, role TEXT NOT NULL, password TEXT NOT NULL, added_at TEXT NOT NULL,
                is_closed INTEGER NOT NULL DEFAULT 0
            )
            """,
            """
            CREATE TABLE invitations (
                digest TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, made_by TEXT NOT NULL,
                until {real} NOT NULL
            )
            """,
            """
            CREATE TABLE sessions (
                digest TEXT PRIMARY KEY, name TEXT NOT NULL REFERENCES users (name), begun {real} NOT NULL,
                seen {real} NOT NULL
            )
            """,
            "CREATE INDEX sessions_of_user ON sessions (name)",
            "CREATE TABLE secrets (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        ),
    ),
)


class Account(Record):
    """Somebody who can sign in, or is invited to."""

    name: str
    role: str
    state: str  # open, closed or invited
    added_at: str | None = None


class Accounts:
    """The accounts of a server. Threads and processes may share one."""

    def __init__(self, database: Database, cost: Cost | None = None, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._cost = cost
        self._clock = clock
        migrate(database, "accounts", MIGRATIONS)

    def close(self) -> None:
        self.database.close()

    # Accounts

    def are_there(self) -> bool:
        """Whether anybody can sign in, or is invited as a coordinator."""

        def work(at: Connection) -> bool:
            return (
                at.value("SELECT 1 FROM users WHERE is_closed = 0 LIMIT 1") is not None
                or at.value("SELECT 1 FROM invitations WHERE role = 'coordinator' AND until > ? LIMIT 1", self._clock())
                is not None
            )

        return self.database.read(work)

    def everybody(self) -> list[Account]:
        """All accounts, and those who are invited, by name."""

        def work(at: Connection) -> list[Account]:
            users = at.rows("SELECT name, role, is_closed, added_at FROM users")
            invited = at.rows("SELECT DISTINCT name, role FROM invitations WHERE until > ?", self._clock())
            found = {name: Account(name, role, "closed" if shut else "open", at_) for name, role, shut, at_ in users}
            for name, role in invited:
                found.setdefault(name, Account(name, role, "invited"))
            return sorted(found.values(), key=lambda one: one.name.lower())

        return self.database.read(work)

    def check(self, name: str, password: str) -> User | None:
        """Who signs in; None where name or password is wrong, which takes as long."""
        row = self.database.read(
            lambda at: at.row("SELECT role, password FROM users WHERE name = ? AND is_closed = 0", name)
        )
        if row is None:
            is_right(password, _nobody(self._cost))
            return None
        return User(name, row[0]) if is_right(password, row[1]) else None

    def change_password(self, name: str, password: str) -> None:
        """Give an account another password; all its sessions end."""
        kept = hashed(checked(password, name), self._cost)

        def work(at: Connection) -> None:
            at.run("UPDATE users SET password = ? WHERE name = ?", kept, name)
            at.run("DELETE FROM sessions WHERE name = ?", name)

        self.database.write(work)

    def set_closed(self, name: str, is_closed: bool) -> None:
        """Close an account, or open it again; what its owner judged stays. The last coordinator stays, too."""

        def work(at: Connection) -> None:
            if at.value("SELECT 1 FROM users WHERE name = ?", name) is None:
                raise InputError(f"there is no account of {name!r:.80}.")
            at.run("UPDATE users SET is_closed = ? WHERE name = ?", int(is_closed), name)
            if is_closed:
                at.run("DELETE FROM sessions WHERE name = ?", name)
                at.run("DELETE FROM invitations WHERE name = ?", name)
            _keep_a_coordinator(at)

        self.database.write(work)

    def set_role(self, name: str, role: str) -> None:
        """Make somebody a coordinator or an assessor."""
        role = _role(role)

        def work(at: Connection) -> None:
            if not at.run("UPDATE users SET role = ? WHERE name = ?", role, name):
                raise InputError(f"there is no account of {name!r:.80}.")
            _keep_a_coordinator(at)

        self.database.write(work)

    # Invitations

    def invite(self, name: str, role: str = "assessor", by: str = "") -> str:
        """A secret by which somebody may choose a password, once, within a week; a second one for the same name
        replaces the first. For somebody who has an account it is a way to a new password."""
        name, role, secret = checked_assessor(name), _role(role), secrets.token_urlsafe(24)

        def work(at: Connection) -> None:
            known = at.value("SELECT role FROM users WHERE name = ?", name)
            at.run("DELETE FROM invitations WHERE name = ? OR until <= ?", name, self._clock())
            at.run(
                "INSERT INTO invitations VALUES (?, ?, ?, ?, ?)",
                _digest(secret),
                name,
                known or role,
                by,
                self._clock() + INVITED,
            )

        self.database.write(work)
        return secret

    def invited(self, secret: str) -> User | None:
        """Who is invited by a secret, if it still holds."""
        row = self.database.read(
            lambda at: at.row(
                "SELECT name, role FROM invitations WHERE digest = ? AND until > ?", _digest(secret), self._clock()
            )
        )
        return None if row is None else User(*row)

    def accept(self, secret: str, password: str) -> User:
        """Take up an invitation: the account is made, or gets a new password."""
        user = self.invited(secret)
        if user is None:
            raise InputError("this invitation is used or out of date. Ask for another one.")
        kept = hashed(checked(password, user.name), self._cost)

        def work(at: Connection) -> None:
            if not at.run("DELETE FROM invitations WHERE digest = ?", _digest(secret)):
                raise InputError("this invitation is used. Ask for another one.")
            at.run(
                """
                INSERT INTO users (name, role, password, added_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET password = excluded.password, is_closed = 0
                """,
                user.name,
                user.role,
                kept,
                now(),
            )
            at.run("DELETE FROM sessions WHERE name = ?", user.name)

        self.database.write(work)
        return user

    def uninvite(self, name: str) -> None:
        """Take an invitation back."""
        self.database.write(lambda at: at.run("DELETE FROM invitations WHERE name = ?", name))

    # Sessions

    def begin(self, user: User) -> str:
        """A new session; the secret that its cookie holds."""
        secret, moment = secrets.token_urlsafe(32), self._clock()

        def work(at: Connection) -> None:
            at.run("DELETE FROM sessions WHERE begun < ? OR seen < ?", moment - LONGEST, moment - IDLE)
            at.run("INSERT INTO sessions VALUES (?, ?, ?, ?)", _digest(secret), user.name, moment, moment)

        self.database.write(work)
        return secret

    def user(self, secret: str) -> User | None:
        """Whose session it is, if it has not ended."""
        digest, moment = _digest(secret), self._clock()
        row = self.database.read(
            lambda at: at.row(
                """
                SELECT u.name, u.role, s.begun, s.seen FROM sessions s JOIN users u ON u.name = s.name
                WHERE s.digest = ? AND u.is_closed = 0
                """,
                digest,
            )
        )
        if row is None or row[2] < moment - LONGEST or row[3] < moment - IDLE:
            return None
        if row[3] < moment - DAY / 4:  # not at every request, which would wait for the disk
            self.database.write(lambda at: at.run("UPDATE sessions SET seen = ? WHERE digest = ?", moment, digest))
        return User(row[0], row[1])

    def end(self, secret: str) -> None:
        """Sign out."""
        self.database.write(lambda at: at.run("DELETE FROM sessions WHERE digest = ?", _digest(secret)))


def kept_key(database: Database) -> bytes:
    """A secret of a server, made once and kept."""
    migrate(database, "accounts", MIGRATIONS)
    known = database.read(lambda at: at.value("SELECT value FROM secrets WHERE name = 'tokens'"))
    if known is None:
        fresh = secrets.token_hex(32)

        def work(at: Connection) -> str:
            at.run("INSERT INTO secrets VALUES ('tokens', ?) ON CONFLICT (name) DO NOTHING", fresh)
            return str(at.value("SELECT value FROM secrets WHERE name = 'tokens'"))

        known = database.write(work)
    return bytes.fromhex(known)


def _keep_a_coordinator(at: Connection) -> None:
    if at.value("SELECT 1 FROM users WHERE role = 'coordinator' AND is_closed = 0 LIMIT 1") is None:
        raise InputError("there must be a coordinator: make somebody else one first.")


def _role(role: str) -> str:
    if role not in ROLES:
        raise InputError(f"role {role!r:.40}, expected {' or '.join(ROLES)}.")
    return role


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


@lru_cache(2)
def _nobody(cost: Cost | None) -> str:
    """A password that nobody has, to compare with where there is no account."""
    return hashed(secrets.token_hex(16), cost)
