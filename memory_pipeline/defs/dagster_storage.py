"""Dagster's own storage on PostgreSQL, with one connection pool and planned events in bulk.

Belongs here: how Dagster reaches its database. Does not: tables of the memory, anything an asset
calls. Loaded by name from `dagster.yaml`; the private names it touches have contract tests.
"""

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self, cast
from weakref import WeakSet

from dagster import DagsterEventType, EventLogEntry
from dagster._serdes import ConfigurableClassData
from dagster_postgres import DagsterPostgresStorage, PostgresEventLogStorage
from dagster_postgres.utils import (
    create_pg_engine,
    get_token_provider_from_config,
    pg_url_from_config,
)
from sqlalchemy import Engine, func, make_url, select
from sqlalchemy.pool import NullPool, QueuePool

__all__ = ["PlannedBatchEventLogStorage", "PooledStorage", "with_psycopg2"]

_LOG = logging.getLogger(__name__)

EVENT_BATCH_SIZE = 500
POOL_SIZE = 2
MAX_OVERFLOW = 20
POOL_RECYCLE_SECONDS = 300

# Any constant does; it only has to differ from the advisory locks of the memory database.
_TABLE_CREATION_LOCK = 0x6D656D5F64616773

_PLANNED_BATCH_NAMES = (
    "index_transaction",
    "prepare_insert_event_batch",
    "_store_asset_event",
    "_store_asset_event_tags",
)

_pooled_engines: WeakSet[Engine] = WeakSet()


def _forget_connections_of_parent() -> None:
    # close=False: the sockets are still the parent's, closing them here would end its sessions.
    for engine in list(_pooled_engines):
        engine.dispose(close=False)


os.register_at_fork(after_in_child=_forget_connections_of_parent)


def with_psycopg2(url: str) -> str:
    """`url` with the driver spelled out where it names none.

    dagster-postgres is written for psycopg2, while a bare `postgresql://` means another driver
    under the current SQLAlchemy and breaks the webserver.
    """
    parsed = make_url(url)
    if parsed.drivername not in {"postgresql", "postgres"}:
        return url
    spelled_out = parsed.set(drivername="postgresql+psycopg2")
    return spelled_out.render_as_string(hide_password=False)


def _is_planned_materialization(entry: EventLogEntry) -> bool:
    return entry.dagster_event_type == DagsterEventType.ASSET_MATERIALIZATION_PLANNED


class PlannedBatchEventLogStorage(PostgresEventLogStorage):
    """The event log that writes a batch of planned materializations in one statement.

    dagster-postgres batches materializations only; planned ones cost it several round trips for
    each asset and partition, which is most of what Dagster adds to a range run.
    """

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        planned = [entry for entry in events if _is_planned_materialization(entry)]
        if not planned or not self._can_batch_planned():
            super().store_event_batch(events)
            return
        # Planned checks come in the same batch. They go first: if they fail, Dagster stores the
        # whole batch again one by one, and nothing planned must stand there twice.
        others = [entry for entry in events if not _is_planned_materialization(entry)]
        if others:
            super().store_event_batch(others)
        self._store_planned(planned)

    def _can_batch_planned(self) -> bool:
        missing = [name for name in _PLANNED_BATCH_NAMES if not hasattr(self, name)]
        if missing:
            _LOG.warning("planned events are stored one by one: no %s", ", ".join(missing))
        return not missing

    def _store_planned(self, planned: Sequence[EventLogEntry]) -> None:
        insert = self.prepare_insert_event_batch(planned)
        with self.index_transaction() as connection:
            inserted = connection.execute(insert.returning(insert.table.c.id))
            event_ids = [cast(int, row[0]) for row in inserted]
            self._store_asset_event_tags(connection, planned, event_ids)
            last_of_asset = {
                str(entry.get_dagster_event().asset_key): (entry, event_id)
                for entry, event_id in zip(planned, event_ids, strict=True)
            }
            # Sorted, so that two runs planned at once lock the rows of the assets in one order.
            for _, (entry, event_id) in sorted(last_of_asset.items()):
                self._store_asset_event(connection, entry, event_id)

    def dispose(self) -> None:
        super().dispose()
        self._engine.dispose()


class PooledStorage(DagsterPostgresStorage):
    """Runs, events and schedules of Dagster behind one pooled engine with pre-ping.

    The stock storage opens a connection for nearly every call. Configuration is that of
    dagster-postgres, but all of it is optional: with neither `postgres_url` nor `postgres_db`, the
    URL is that of `memory_pipeline.adapters.database_urls.dagster_url`. Tables are created on first
    use; processes that start together on an empty database wait for one another. Loading it from
    `dagster.yaml` turns on event batching in the process, unless `DAGSTER_EVENT_BATCH_SIZE` is set.
    """

    def __init__(
        self,
        postgres_url: str,
        should_autocreate_tables: bool = True,
        inst_data: ConfigurableClassData | None = None,
        token_provider: Any = None,
    ) -> None:
        url = with_psycopg2(postgres_url)
        self._token_provider = token_provider
        with _table_creation(url, token_provider, is_needed=should_autocreate_tables):
            super().__init__(url, should_autocreate_tables, inst_data, token_provider)
        self._event_log_storage = PlannedBatchEventLogStorage(
            url, should_autocreate_tables=False, token_provider=token_provider
        )
        self._event_log_storage.should_autocreate_tables = should_autocreate_tables
        self._share(
            self._pooled_engine(
                pool_size=POOL_SIZE,
                max_overflow=MAX_OVERFLOW,
                pool_recycle=POOL_RECYCLE_SECONDS,
            )
        )

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> Self:
        # Dagster reads this from the environment alone, in whichever process plans or runs; every
        # one of them loads its storage first. Unset, all events would go one by one.
        os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", str(EVENT_BATCH_SIZE))
        return cls(
            postgres_url=_url_of(config_value),
            should_autocreate_tables=config_value.get("should_autocreate_tables", True),
            inst_data=inst_data,
            token_provider=get_token_provider_from_config(config_value),
        )

    def _pooled_engine(self, **pool: Any) -> Engine:
        engine = create_pg_engine(
            self.postgres_url,
            self._token_provider,
            isolation_level="AUTOCOMMIT",
            poolclass=QueuePool,
            pool_pre_ping=True,
            **pool,
        )
        _pooled_engines.add(engine)
        return engine

    def _share(self, engine: Engine) -> None:
        for storage in (self._run_storage, self._event_log_storage, self._schedule_storage):
            if hasattr(storage, "_engine"):
                storage._engine = engine
            else:
                _LOG.warning("%s keeps its own connections", type(storage).__name__)


@contextmanager
def _table_creation(url: str, token_provider: Any, *, is_needed: bool) -> Iterator[None]:
    if not is_needed:
        yield
        return
    engine = create_pg_engine(url, token_provider, poolclass=NullPool)
    # Held by a transaction, not a session, so that it also works through a pooler.
    with engine.begin() as connection:
        connection.execute(select(func.pg_advisory_xact_lock(_TABLE_CREATION_LOCK)))
        yield


def _url_of(config_value: Mapping[str, Any]) -> str:
    if config_value.get("postgres_url") or config_value.get("postgres_db"):
        return str(pg_url_from_config(config_value))
    # Here and not at the top: asking for the URL may start the embedded server, and a storage
    # with a configured URL must not need that module at all.
    from memory_pipeline.adapters.database_urls import dagster_url

    return dagster_url()
