"""Accounts, invitations and sessions, in the database of the judgments.

Only digests of the secrets of sessions and invitations are stored, so reading the database does not give access.
"""

from __future__ import annotations

import hashlib
import secrets
import time
from collections.abc import Callable
from functools import lru_cache

from cranfield.annotation import Connection, Database, Migration, check_assessor_name, migrate, utc_now
from cranfield.base import Record
from cranfield.errors import InputError
from cranfield.workbench.app_state import User
from cranfield.workbench.passwords import Cost, check_password, hash_password, verify_password

DAY = 86_400.0
INVITATION_LIFETIME = 7 * DAY  # seconds
MAX_IDLE, MAX_SESSION = 7 * DAY, 30 * DAY  # seconds until a session ends: without requests, and in any case
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
    """An account, or an invitation to create one."""

    name: str
    role: str
    state: str  # open, closed or invited
    added_at: str | None = None


class Accounts:
    """The accounts of a server. Safe to share between threads and processes."""

    def __init__(self, database: Database, cost: Cost | None = None, clock: Callable[[], float] = time.time) -> None:
        self.database = database
        self._cost = cost
        self._clock = clock
        migrate(database, "accounts", MIGRATIONS)

    def close(self) -> None:
        self.database.close()

    # Accounts

    def has_any(self) -> bool:
        """Whether there is an open account, or an invitation for a coordinator."""

        def work(at: Connection) -> bool:
            return (
                at.value("SELECT 1 FROM users WHERE is_closed = 0 LIMIT 1") is not None
                or at.value("SELECT 1 FROM invitations WHERE role = 'coordinator' AND until > ? LIMIT 1", self._clock())
                is not None
            )

        return self.database.read(work)

    def list_all(self) -> list[Account]:
        """All accounts and invitations, by name."""

        def work(at: Connection) -> list[Account]:
            users = at.rows("SELECT name, role, is_closed, added_at FROM users")
            invited = at.rows("SELECT DISTINCT name, role FROM invitations WHERE until > ?", self._clock())
            accounts = {
                name: Account(name, role, "closed" if is_closed else "open", added_at)
                for name, role, is_closed, added_at in users
            }
            for name, role in invited:
                accounts.setdefault(name, Account(name, role, "invited"))
            return sorted(accounts.values(), key=lambda account: account.name.lower())

        return self.database.read(work)

    def authenticate(self, name: str, password: str) -> User | None:
        """The user with this name and password, or None. Takes the same time either way."""
        row = self.database.read(
            lambda at: at.row("SELECT role, password FROM users WHERE name = ? AND is_closed = 0", name)
        )
        if row is None:
            verify_password(password, _dummy_hash(self._cost))
            return None
        return User(name, row[0]) if verify_password(password, row[1]) else None

    def change_password(self, name: str, password: str) -> None:
        """Set a new password and end all sessions of the account."""
        stored = hash_password(check_password(password, name), self._cost)

        def work(at: Connection) -> None:
            at.run("UPDATE users SET password = ? WHERE name = ?", stored, name)
            at.run("DELETE FROM sessions WHERE name = ?", name)

        self.database.write(work)

    def set_closed(self, name: str, is_closed: bool) -> None:
        """Close an account, or open it again. Its judgments stay. The last coordinator cannot be closed."""

        def work(at: Connection) -> None:
            if at.value("SELECT 1 FROM users WHERE name = ?", name) is None:
                raise InputError(f"there is no account {name!r:.80}.")
            at.run("UPDATE users SET is_closed = ? WHERE name = ?", int(is_closed), name)
            if is_closed:
                at.run("DELETE FROM sessions WHERE name = ?", name)
                at.run("DELETE FROM invitations WHERE name = ?", name)
            _require_coordinator(at)

        self.database.write(work)

    def set_role(self, name: str, role: str) -> None:
        """Change the role of an account."""
        role = _check_role(role)

        def work(at: Connection) -> None:
            if not at.run("UPDATE users SET role = ? WHERE name = ?", role, name):
                raise InputError(f"there is no account {name!r:.80}.")
            _require_coordinator(at)

        self.database.write(work)

    # Invitations

    def invite(self, name: str, role: str = "assessor", by: str = "") -> str:
        """The secret of a new invitation, valid once and for a week; it replaces an earlier one for the same name.

        Whoever has an account already can use it to set a new password.
        """
        name, role, secret = check_assessor_name(name), _check_role(role), secrets.token_urlsafe(24)

        def work(at: Connection) -> None:
            known = at.value("SELECT role FROM users WHERE name = ?", name)
            at.run("DELETE FROM invitations WHERE name = ? OR until <= ?", name, self._clock())
            at.run(
                "INSERT INTO invitations VALUES (?, ?, ?, ?, ?)",
                _digest(secret),
                name,
                known or role,
                by,
                self._clock() + INVITATION_LIFETIME,
            )

        self.database.write(work)
        return secret

    def find_invited(self, secret: str) -> User | None:
        """The user that a valid invitation is for."""
        row = self.database.read(
            lambda at: at.row(
                "SELECT name, role FROM invitations WHERE digest = ? AND until > ?", _digest(secret), self._clock()
            )
        )
        return None if row is None else User(*row)

    def accept(self, secret: str, password: str) -> User:
        """Create the account of an invitation, or set its password."""
        user = self.find_invited(secret)
        if user is None:
            raise InputError("this invitation was used already or has expired. Ask for a new one.")
        stored = hash_password(check_password(password, user.name), self._cost)

        def work(at: Connection) -> None:
            if not at.run("DELETE FROM invitations WHERE digest = ?", _digest(secret)):
                raise InputError("this invitation was used already. Ask for a new one.")
            at.run(
                """
                INSERT INTO users (name, role, password, added_at) VALUES (?, ?, ?, ?)
                ON CONFLICT (name) DO UPDATE SET password = excluded.password, is_closed = 0
                """,
                user.name,
                user.role,
                stored,
                utc_now(),
            )
            at.run("DELETE FROM sessions WHERE name = ?", user.name)

        self.database.write(work)
        return user

    def revoke_invitation(self, name: str) -> None:
        """Withdraw an invitation."""
        self.database.write(lambda at: at.run("DELETE FROM invitations WHERE name = ?", name))

    # Sessions

    def start_session(self, user: User) -> str:
        """Start a session; returns the secret for its cookie."""
        secret, moment = secrets.token_urlsafe(32), self._clock()

        def work(at: Connection) -> None:
            at.run("DELETE FROM sessions WHERE begun < ? OR seen < ?", moment - MAX_SESSION, moment - MAX_IDLE)
            at.run("INSERT INTO sessions VALUES (?, ?, ?, ?)", _digest(secret), user.name, moment, moment)

        self.database.write(work)
        return secret

    def find_user(self, secret: str) -> User | None:
        """The user of a session that has not ended."""
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
        if row is None or row[2] < moment - MAX_SESSION or row[3] < moment - MAX_IDLE:
            return None
        if row[3] < moment - DAY / 4:  # not on every request: a write waits for the disk
            self.database.write(lambda at: at.run("UPDATE sessions SET seen = ? WHERE digest = ?", moment, digest))
        return User(row[0], row[1])

    def end_session(self, secret: str) -> None:
        """Sign out."""
        self.database.write(lambda at: at.run("DELETE FROM sessions WHERE digest = ?", _digest(secret)))


def load_token_key(database: Database) -> bytes:
    """The key of CSRF tokens, created on first use and stored in the database."""
    migrate(database, "accounts", MIGRATIONS)
    known = database.read(lambda at: at.value("SELECT value FROM secrets WHERE name = 'tokens'"))
    if known is None:
        fresh = secrets.token_hex(32)

        def work(at: Connection) -> str:
            at.run("INSERT INTO secrets VALUES ('tokens', ?) ON CONFLICT (name) DO NOTHING", fresh)
            return str(at.value("SELECT value FROM secrets WHERE name = 'tokens'"))

        known = database.write(work)
    return bytes.fromhex(known)


def _require_coordinator(at: Connection) -> None:
    if at.value("SELECT 1 FROM users WHERE role = 'coordinator' AND is_closed = 0 LIMIT 1") is None:
        raise InputError("there must be at least one coordinator: make someone else coordinator first.")


def _check_role(role: str) -> str:
    if role not in ROLES:
        raise InputError(f"unknown role {role!r:.40}, expected {' or '.join(ROLES)}.")
    return role


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "backslashreplace")).hexdigest()


@lru_cache(2)
def _dummy_hash(cost: Cost | None) -> str:
    """A hash to compare with if there is no such account."""
    return hash_password(secrets.token_hex(16), cost)
