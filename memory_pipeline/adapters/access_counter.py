"""Counts of what was read, gathered in this process and written now and then (spec F2).

Belongs here: the buffer, when it is written, that nothing is lost in a clean exit.
Does not: what counts as read (reading/recall) and what the counts are for (forgetting).
"""

import atexit
import contextlib
import logging
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from memory_pipeline.adapters.postgres import Database, RowConnection, execute
from memory_pipeline.domain.ids import TenantId

FLUSH_SECONDS = 5.0
"""Age of the oldest count at which all are written."""
FLUSH_KEYS = 1_000
"""Facts with a count waiting at which all are written."""

_log = logging.getLogger(__name__)


class NotCountedError(RuntimeError):
    """Counts of reads could not be written; they wait for the next try."""


@dataclass(frozen=True, slots=True)
class _Reads:
    count: int
    last_at: datetime

    def __add__(self, other: "_Reads") -> "_Reads":
        return _Reads(self.count + other.count, max(self.last_at, other.last_at))


_Waiting = dict[tuple[TenantId, UUID], _Reads]


def _write(connection: RowConnection, tenant_id: TenantId, reads: _Waiting) -> None:
    parameters = {
        "tenant_id": tenant_id,
        "content_keys": [key for _, key in reads],
        "reads": [read.count for read in reads.values()],
        "last_at": [read.last_at for read in reads.values()],
    }
    with connection.transaction():
        execute(connection, "enter_tenant", {"tenant_id": tenant_id})
        execute(connection, "commit_lazily")
        execute(connection, "bump_access", parameters)


class AccessCounter:
    """The counts of one database, safe to share between threads.

    A thread of its own writes them after `FLUSH_SECONDS`, or at once after `FLUSH_KEYS` facts,
    over a connection of its own: a reader never waits, and it works after the pool was closed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._waiting: _Waiting = {}
        self._timer: threading.Timer | None = None

    def count(self, tenant_id: TenantId, content_keys: Iterable[UUID]) -> None:
        """Each of these facts was returned to a reader once more, now."""
        once = _Reads(1, datetime.now(UTC))
        self._add({(tenant_id, key): once for key in content_keys})

    def _add(self, reads: _Waiting) -> None:
        with self._lock:
            self._keep(reads)
            is_full = len(self._waiting) >= FLUSH_KEYS
            if not self._waiting or (self._timer is not None and not is_full):
                return
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(0 if is_full else FLUSH_SECONDS, self._flush_quietly)
            self._timer.daemon = True
            self._timer.start()

    def _keep(self, reads: _Waiting) -> None:
        for key, more in reads.items():
            known = self._waiting.get(key)
            self._waiting[key] = known + more if known else more

    def flush(self) -> None:
        """Write all counts, one statement for each tenant; nothing to write costs nothing.

        Raises `NotCountedError` when the database refuses; the counts are kept.
        """
        with self._lock:
            waiting, self._waiting = self._waiting, {}
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
        if not waiting:
            return
        try:
            with psycopg.connect(self._url, row_factory=dict_row, autocommit=True) as connection:
                for tenant_id in sorted({tenant_id for tenant_id, _ in waiting}):
                    own = {place: waiting[place] for place in waiting if place[0] == tenant_id}
                    _write(connection, tenant_id, own)
                    waiting = {place: waiting[place] for place in waiting if place not in own}
        except psycopg.Error as error:
            with self._lock:
                self._keep(waiting)
            raise NotCountedError(f"reads were not counted: {error}") from error

    def _flush_quietly(self) -> None:
        try:
            self.flush()
        except NotCountedError as error:
            _log.warning("%s", error)

    def forget(self) -> None:
        """Drop what waits: a forked child must not write its parent's counts again."""
        self._lock = threading.Lock()
        self._waiting, self._timer = {}, None


_counters: dict[str, AccessCounter] = {}
_counters_lock = threading.Lock()


def access_counter(database: Database) -> AccessCounter:
    """The counter of a database, one for each in this process."""
    with _counters_lock:
        counter = _counters.get(database.url)
        if counter is None:
            counter = _counters[database.url] = AccessCounter(database.url)
        return counter


def flush_access_counts(database: Database) -> None:
    """Write what was counted in this process. Raises `NotCountedError`."""
    access_counter(database).flush()


@atexit.register
def _flush_all() -> None:
    for counter in list(_counters.values()):
        counter._flush_quietly()


def _forget_all() -> None:
    global _counters_lock
    _counters_lock = threading.Lock()
    for counter in _counters.values():
        counter.forget()


with contextlib.suppress(AttributeError):  # where processes can't fork there is nothing to do
    os.register_at_fork(after_in_child=_forget_all)
