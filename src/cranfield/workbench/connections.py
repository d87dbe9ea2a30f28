"""A pool of database connections that all requests share (SQLAlchemy's).

The SQL is written for DB-API, once for the server and the terminal (`cranfield.annotation`). The pool limits the number
of connections, gives up with a message after a while, and discards connections that failed or are in a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from sqlalchemy import exc
from sqlalchemy.pool import QueuePool

from cranfield.annotation import LOCK_TIMEOUT, Database, DatabaseBusy
from cranfield.errors import CranfieldError

POOL_SIZE = 20  # connections that stay open
MAX_OVERFLOW = 20  # opened if these are in use, and closed afterwards: starlette runs 40 requests at once
WARM_CONNECTIONS = 8  # opened when a server starts
MAX_AGE = 1800  # seconds; firewalls drop connections that are idle for long

D = TypeVar("D", bound=Database)


class ConnectionPool:
    """The connections of a database."""

    def __init__(self, database: Database, size: int, overflow: int, timeout: float) -> None:
        self._database = database
        self._timeout = timeout
        self.pool = QueuePool(
            lambda: database.connect(),
            pool_size=size,
            max_overflow=overflow,
            timeout=timeout,
            recycle=MAX_AGE,
            # the connection used last has the warmest cache, and the others may expire
            use_lifo=True,
            # contacts the server only if a transaction is open, which we never leave behind
            reset_on_return="rollback",
        )

    @contextmanager
    def acquire(self) -> Iterator[Any]:
        """Borrow a connection; one that fails is discarded."""
        pool = self.pool
        try:
            proxy = pool.connect()
        except exc.TimeoutError:
            raise DatabaseBusy(
                f"{self._database.name}: all connections have been in use for {self._timeout:g} s. "
                "Nothing was saved; try again."
            ) from None
        try:
            yield proxy.dbapi_connection
        except CranfieldError:  # refused by our own checks and rolled back: the connection is fine
            raise
        except BaseException:
            proxy.invalidate()
            raise
        finally:
            proxy.close()
            if pool is not self.pool:  # closed meanwhile
                pool.dispose()

    def close(self) -> None:
        """Close all idle connections; those in use are closed when they are returned."""
        before, self.pool = self.pool, self.pool.recreate()
        before.dispose()


def use_pool(database: D, size: int = POOL_SIZE, overflow: int = MAX_OVERFLOW, timeout: float = LOCK_TIMEOUT) -> D:
    """Make a database take its connections from a pool."""
    database.close()
    database.connections = ConnectionPool(database, size, overflow, timeout)
    return database


def warm_up(database: Database, n: int = WARM_CONNECTIONS) -> None:
    """Open some connections before the first request needs one: PostgreSQL takes a while."""
    with ExitStack() as stack:
        for _ in range(n):
            stack.enter_context(database.connections.acquire())
