"""The connections of a server: all requests share a pool of SQLAlchemy's, of a size that a database can bear.

SQL itself is written over DB-API, once for the server and for the terminal, which needs no extra: see
`judging.database`. What a server needs beyond that is what the pool does: no more connections than so many, a wait that
ends in a sentence, and none that is used again after it failed or was left in the midst of a transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

from sqlalchemy import exc
from sqlalchemy.pool import QueuePool

from cranfield.annotation import PATIENCE, Database, DatabaseBusy
from cranfield.errors import CranfieldError

KEPT = 20  # connections that stay open
MORE = 20  # opened when these are in use, and closed afterwards: starlette runs 40 requests at once
WARM = 8  # that are open when a server begins
OLDEST = 1800  # seconds; what is between a server and its database forgets connections that are silent for long

D = TypeVar("D", bound=Database)


class Pooled:
    """Connections of a database out of a pool."""

    def __init__(self, database: Database, kept: int = KEPT, more: int = MORE, patience: float = PATIENCE) -> None:
        self._database = database
        self._patience = patience
        self.pool = QueuePool(
            lambda: database.connect(),
            pool_size=kept,
            max_overflow=more,
            timeout=patience,
            recycle=OLDEST,
            # the one used last knows most of what is read, and the others may grow old
            use_lifo=True,
            # asks the server only if a transaction is open, which ours never leave behind
            reset_on_return="rollback",
        )

    @contextmanager
    def taken(self) -> Iterator[Any]:
        """A connection for the time being; one that failed is not used again."""
        pool = self.pool
        try:
            proxy = pool.connect()
        except exc.TimeoutError:
            raise DatabaseBusy(
                f"{self._database.name}: all connections have been in use for {self._patience:g} s. "
                "Nothing was saved; try again."
            ) from None
        try:
            yield proxy.dbapi_connection
        except CranfieldError:  # it was refused by us, and rolled back: the connection is as good as before
            raise
        except BaseException:
            proxy.invalidate()
            raise
        finally:
            proxy.close()
            if pool is not self.pool:  # closed meanwhile
                pool.dispose()

    def close(self) -> None:
        """End all connections that nobody is using; those in use end when they come back."""
        before, self.pool = self.pool, self.pool.recreate()
        before.dispose()


def pooled(database: D, kept: int = KEPT, more: int = MORE, patience: float = PATIENCE) -> D:
    """The same database, which takes its connections from a pool from now on."""
    database.close()
    database.connections = Pooled(database, kept, more, patience)
    return database


def warm_up(database: Database, n: int = WARM) -> None:
    """Open some connections before the first request needs one, which takes its time with PostgreSQL."""
    with ExitStack() as stack:
        for _ in range(n):
            stack.enter_context(database.connections.taken())
