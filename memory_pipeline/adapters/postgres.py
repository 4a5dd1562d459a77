"""Connections to the memory database: pools, tenant scope, operator scope.

Belongs here: how a connection is opened and which role it speaks with. Does not: any statement
about memory (stores) and starting a server (embedded_postgres).
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import Connection
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool

from memory_pipeline.adapters.queries import query
from memory_pipeline.domain.ids import TenantId

Row = dict[str, Any]
RowConnection = Connection[Row]


class DatabaseUnavailableError(RuntimeError):
    """The database can't be reached; the message names it without its password."""


class Database:
    """A pool over one database, made on first use in each process (never before a fork)."""

    def __init__(self, url: str, *, max_connections: int = 8) -> None:
        self.url = url
        self._max_connections = max_connections
        self._pools: dict[int, ConnectionPool[RowConnection]] = {}
        self._lock = threading.Lock()

    def _pool(self) -> ConnectionPool[RowConnection]:
        with self._lock:
            pool = self._pools.get(os.getpid())
            if pool is None:
                check_reachable(self.url)
                pool = ConnectionPool(
                    self.url,
                    connection_class=Connection[Row],
                    kwargs={"row_factory": dict_row},
                    configure=_configure,
                    min_size=1,
                    max_size=self._max_connections,
                    open=True,
                    name="memory",
                )
                self._pools[os.getpid()] = pool
            return pool

    @contextmanager
    def tenant(self, tenant_id: TenantId) -> Iterator[RowConnection]:
        """One transaction that sees and writes this tenant's rows only."""
        with self._pool().connection() as connection, connection.transaction():
            execute(connection, "enter_tenant", {"tenant_id": tenant_id})
            yield connection

    @contextmanager
    def tenant_pipeline(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        """The same in one round trip: results are read after the block, not in it.

        `is_fold` makes the server plan each statement once for all values. Begin and commit are
        statements of the pipeline: `Connection.transaction` would wait for the server three times.
        """
        with self._pool().connection() as connection:
            try:
                with connection.pipeline():
                    execute(connection, "begin")
                    _enter(connection, tenant_id, is_fold=is_fold)
                    yield connection
                    execute(connection, "commit")
            except BaseException:
                _roll_back(connection)
                raise

    @contextmanager
    def tenant_reads(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        """Reads of one tenant in one round trip: results are read after the block, not in it.

        The pipeline itself is the transaction that the tenant scope lasts for, which saves two
        statements; never write through it, since a second sync would end the transaction.
        """
        with self._pool().connection() as connection:
            try:
                with connection.pipeline():
                    _enter(connection, tenant_id, is_fold=is_fold)
                    yield connection
            except BaseException:
                _roll_back(connection)
                raise

    @contextmanager
    def operator(self) -> Iterator[RowConnection]:
        """One transaction that reads ids, counts and status of all tenants, no text."""
        with self._pool().connection() as connection, connection.transaction():
            execute(connection, "enter_operator")
            yield connection

    def close(self) -> None:
        """Close this process's pool; the next use opens another."""
        with self._lock:
            pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()


def _configure(connection: RowConnection) -> None:
    from pgvector.psycopg import register_vector  # loads numpy: not for commands that only ask

    connection.autocommit = True
    register_vector(connection)


def _enter(connection: RowConnection, tenant_id: TenantId, *, is_fold: bool) -> None:
    keys = {"tenant_id": tenant_id}
    if is_fold:
        execute(connection, "enter_fold", keys)
    else:
        execute(connection, "enter_tenant", keys)


def _roll_back(connection: RowConnection) -> None:
    """Leave a broken pipeline with nothing open and nothing taken for prepared.

    The server skips what stands behind a refusal, but the client counts it as prepared; only a
    rollback of the connection's own, which needs an open transaction, makes it forget.
    """
    if connection.closed:
        return
    if connection.info.transaction_status is TransactionStatus.IDLE:
        execute(connection, "begin")
    connection.rollback()


def execute(
    connection: RowConnection,
    name: str,
    parameters: dict[str, Any] | None = None,
    *,
    is_binary: bool = False,
) -> psycopg.Cursor[Row]:
    """Run a named statement; `is_binary` takes its values as they are instead of as text."""
    return connection.execute(query(name), parameters, binary=is_binary)


def execute_many(connection: RowConnection, name: str, rows: list[dict[str, Any]]) -> None:
    """Run a named statement once for each row, in one batch; nothing happens for no rows."""
    if rows:
        connection.cursor().executemany(query(name), rows)


def check_reachable(url: str) -> None:
    """Raise `DatabaseUnavailableError` in plain words when nobody answers at the URL."""
    scheme, separator, _ = url.partition("://")
    if separator and scheme not in ("postgresql", "postgres"):
        raise DatabaseUnavailableError(
            f"MEMORY_DATABASE_URL must begin with postgresql://, not {scheme}://"
        )
    try:
        psycopg.connect(url, connect_timeout=10).close()
    except psycopg.OperationalError as error:
        raise DatabaseUnavailableError(
            f"can't connect to the memory database at {without_password(url)}: "
            f"{str(error).strip().splitlines()[0]}. Check MEMORY_DATABASE_URL, or unset it to use "
            "the embedded server."
        ) from error
    except psycopg.ProgrammingError as error:
        raise DatabaseUnavailableError(
            f"MEMORY_DATABASE_URL is no PostgreSQL URL: {str(error).strip()}. "
            "Expected postgresql://user@host:5432/database"
        ) from error


def without_password(url: str) -> str:
    """The URL as it may be shown."""
    head, at, tail = url.rpartition("@")
    scheme, separator, rest = head.partition("://")
    if not at or not separator:
        return url
    return f"{scheme}://{rest.partition(':')[0]}@{tail}"
