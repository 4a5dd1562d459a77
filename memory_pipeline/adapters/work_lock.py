"""One process at a time at one work on one tenant, so that no model call is paid for twice.

Belongs here: the lock that spans a whole walk. Does not: the guarantee that memory is right, which
is the lock of each transaction (conversation.sql, `lock_tenant`).
"""

import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal

import psycopg
from psycopg.rows import dict_row

from memory_pipeline.adapters.postgres import Row, RowConnection, check_reachable, execute
from memory_pipeline.domain.ids import TenantId

Work = Literal["walk", "summaries"]

WAIT_SECONDS = 30.0
"""How long a second process waits; the sweep comes back anyway."""
_PAUSE_SECONDS: Final = 0.25
_NAME_CHARS: Final = 63


class TenantBusyError(RuntimeError):
    """Another process is at this work on the tenant; the message says which."""


def _nobody(_message: str) -> None:
    """Nobody wants to know."""


@contextmanager
def hold_work_lock(
    database_url: str,
    tenant_id: TenantId,
    work: Work,
    *,
    wait_seconds: float | None = None,
    on_wait: Callable[[str], None] = _nobody,
) -> Iterator[None]:
    """Be the only process at this work on the tenant for the length of the block.

    The lock is one of the database's sessions, on a connection of its own without a transaction:
    the server gives it back when this process ends, however it ends. A pooler in transaction mode
    in between loses it, which costs money and never rows. `on_wait` hears once who is waited for.
    Raises `TenantBusyError` when the lock is not free within `wait_seconds` (`WAIT_SECONDS`).
    """
    patience = WAIT_SECONDS if wait_seconds is None else wait_seconds
    check_reachable(database_url)
    with psycopg.connect(database_url, autocommit=True, row_factory=dict_row) as connection:
        name = f"memory-pipeline {work}, process {os.getpid()} on {socket.gethostname()}"
        execute(connection, "settle_session", {"name": name[:_NAME_CHARS]})
        keys = {"tenant_id": tenant_id, "work": work}
        deadline = time.monotonic() + patience
        is_told = False
        while not _is_taken(connection, keys):
            if time.monotonic() >= deadline:
                raise TenantBusyError(
                    f"tenant {tenant_id} is at work elsewhere ({_holder(connection, keys)}) and "
                    f"was not free within {patience:g} s: what is open waits for that one or "
                    "the next run"
                )
            if not is_told:
                on_wait(f"waiting for tenant {tenant_id}: {_holder(connection, keys)}")
                is_told = True
            time.sleep(_PAUSE_SECONDS)
        yield


def _is_taken(connection: RowConnection, keys: Row) -> bool:
    row = execute(connection, "try_work_lock", keys).fetchone()
    return bool(row and row["is_held"])


def _holder(connection: RowConnection, keys: Row) -> str:
    row = execute(connection, "holder_of_work_lock", keys).fetchone()
    if row is None:
        return "who it was has just ended"
    since = f", since {row['since']:%Y-%m-%d %H:%M:%S %Z}" if row["since"] else ""
    return f"{row['name'] or 'another process'}{since}"
