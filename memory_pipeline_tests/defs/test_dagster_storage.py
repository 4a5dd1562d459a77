"""Contracts of the pooled storage with dagster-postgres, on a real PostgreSQL."""

import logging
import multiprocessing
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dagster import (
    AssetCheckResult,
    AssetCheckSpec,
    AssetKey,
    AssetSpec,
    BackfillPolicy,
    DagsterEventType,
    DagsterInstance,
    Definitions,
    EventLogEntry,
    JobDefinition,
    MaterializeResult,
    define_asset_job,
    multi_asset,
)
from dagster_postgres import PostgresEventLogStorage
from sqlalchemy import Engine, MetaData, create_engine, event, func, inspect, make_url, select, text
from sqlalchemy.pool import NullPool, QueuePool

from memory_pipeline.adapters import environment
from memory_pipeline.defs import dagster_storage
from memory_pipeline.defs.dagster_storage import (
    EVENT_BATCH_SIZE,
    POOL_SIZE,
    PlannedBatchEventLogStorage,
    PooledStorage,
    with_psycopg2,
)
from memory_pipeline.defs.partitions import (
    EPISODE_GRID,
    partition_key,
    range_tags,
    register_partitions,
)

PLANNED = DagsterEventType.ASSET_MATERIALIZATION_PLANNED
NAMES = ("first", "second")
PARTITIONS = 40
BATCH_SIZE_VARIABLE = "DAGSTER_EVENT_BATCH_SIZE"

END_OTHER_SESSIONS = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""

ignore_fork_of_threads = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@multi_asset(
    specs=[AssetSpec(name) for name in NAMES],
    check_specs=[AssetCheckSpec("holds", asset=NAMES[0])],
    partitions_def=EPISODE_GRID,
    backfill_policy=BackfillPolicy.single_run(),
)
def two_assets() -> Iterator[MaterializeResult[Any]]:
    yield MaterializeResult(asset_key=NAMES[0], check_results=[AssetCheckResult(passed=True)])
    yield MaterializeResult(asset_key=NAMES[1])


class EndOfProcess(logging.Handler):
    """Ends the process where it would only have warned."""

    def emit(self, record: logging.LogRecord) -> None:
        os._exit(1)


@pytest.fixture(autouse=True)
def _batched_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(BATCH_SIZE_VARIABLE, "500")


def job() -> JobDefinition:
    return Definitions(
        assets=[two_assets], jobs=[define_asset_job("both", selection="*")]
    ).resolve_job_def("both")


def run_range(instance: DagsterInstance) -> str:
    register_partitions(instance, "a", PARTITIONS)
    result = job().execute_in_process(instance=instance, tags=range_tags("a", 1, PARTITIONS))
    return result.run_id


def engines(instance: DagsterInstance) -> list[Engine]:
    storages: list[Any] = [
        instance.run_storage,
        instance.event_log_storage,
        instance.schedule_storage,
    ]
    return [storage._engine for storage in storages]


def planned_of(instance: DagsterInstance, run_id: str) -> list[tuple[str, str | None]]:
    entries = instance.all_logs(run_id, of_type=PLANNED)
    events = [entry.get_dagster_event() for entry in entries]
    return [(str(event.asset_key), event.partition) for event in events]


def rows(url: str, table_name: str, *columns: str) -> list[tuple[Any, ...]]:
    engine = create_engine(with_psycopg2(url), poolclass=NullPool)
    metadata = MetaData()
    metadata.reflect(engine, only=[table_name])
    table = metadata.tables[table_name]
    with engine.connect() as connection:
        found = connection.execute(select(*(table.c[column] for column in columns)))
        return sorted(tuple(row) for row in found)


@pytest.mark.parametrize(
    ("url", "spelled_out"),
    [
        ("postgresql://u:p%40@h:1/d", "postgresql+psycopg2://u:p%40@h:1/d"),
        ("postgres://h/d", "postgresql+psycopg2://h/d"),
        ("postgresql://u@/d?host=/a/b&port=5", "postgresql+psycopg2://u@/d?host=%2Fa%2Fb&port=5"),
        ("postgresql+psycopg2://h/d", "postgresql+psycopg2://h/d"),
    ],
)
def test_a_url_that_names_no_driver_gets_the_one_dagster_is_written_for(
    url: str, spelled_out: str
) -> None:
    assert with_psycopg2(url) == spelled_out
    assert make_url(with_psycopg2(url)).get_driver_name() == "psycopg2"


def test_the_instance_loads_the_storage_by_its_name(dagster_instance: DagsterInstance) -> None:
    assert isinstance(dagster_instance.event_log_storage, PlannedBatchEventLogStorage)


def test_a_copy_of_the_instance_from_its_reference_has_the_same_storage(
    dagster_instance: DagsterInstance,
) -> None:
    with DagsterInstance.from_ref(dagster_instance.get_ref()) as copy:
        assert isinstance(copy.event_log_storage, PlannedBatchEventLogStorage)


def test_without_a_configured_url_the_environment_names_the_database(
    dagster_database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(environment.DAGSTER_URL, dagster_database_url)
    repository_root = Path(__file__).parents[2]
    (tmp_path / "dagster.yaml").write_text((repository_root / "dagster.yaml").read_text())
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        register_partitions(instance, "a", 1)
    assert rows(dagster_database_url, "dynamic_partitions", "partition") == [("000001",), ("a",)]


@pytest.mark.parametrize(("before", "after"), [(None, str(EVENT_BATCH_SIZE)), ("7", "7")])
def test_loading_the_storage_turns_event_batching_on_unless_it_is_set(
    dagster_instance: DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    before: str | None,
    after: str,
) -> None:
    monkeypatch.delenv(BATCH_SIZE_VARIABLE)
    if before is not None:
        monkeypatch.setenv(BATCH_SIZE_VARIABLE, before)
    with DagsterInstance.from_ref(dagster_instance.get_ref()) as copy:
        assert isinstance(copy.event_log_storage, PlannedBatchEventLogStorage)
        assert os.environ[BATCH_SIZE_VARIABLE] == after


def test_the_three_storages_share_one_pool(dagster_instance: DagsterInstance) -> None:
    first, *others = engines(dagster_instance)
    assert isinstance(first.pool, QueuePool)
    assert all(other is first for other in others)


def test_many_calls_use_few_connections(dagster_instance: DagsterInstance) -> None:
    connections: list[object] = []
    event.listen(engines(dagster_instance)[0], "connect", lambda *args: connections.append(args))
    run_range(dagster_instance)
    assert 0 < len(connections) <= POOL_SIZE


def test_a_call_after_the_server_dropped_all_sessions_works(
    dagster_instance: DagsterInstance,
) -> None:
    register_partitions(dagster_instance, "a", 1)
    killer = create_engine(engines(dagster_instance)[0].url, poolclass=NullPool)
    with killer.connect() as connection:
        ended = connection.execute(text(END_OTHER_SESSIONS)).scalars().all()
    assert ended
    assert list(dagster_instance.get_dynamic_partitions("tenant")) == ["a"]


@ignore_fork_of_threads
def test_a_forked_child_and_its_parent_do_not_share_a_connection(
    dagster_instance: DagsterInstance,
) -> None:
    register_partitions(dagster_instance, "a", 1)
    engine = engines(dagster_instance)[0]
    with engine.connect() as connection:
        of_parent = connection.execute(select(func.pg_backend_pid())).scalar_one()

    def has_own_connection() -> None:
        with engine.connect() as connection:
            own = connection.execute(select(func.pg_backend_pid())).scalar_one()
        os._exit(0 if own != of_parent else 1)

    child = multiprocessing.get_context("fork").Process(target=has_own_connection)
    child.start()
    child.join()
    assert child.exitcode == 0
    with engine.connect() as connection:
        assert connection.execute(select(func.pg_backend_pid())).scalar_one() == of_parent


@ignore_fork_of_threads
def test_processes_that_start_at_once_on_an_empty_database_all_find_the_tables(
    dagster_database_url: str,
) -> None:
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(4)

    def start() -> None:
        # dagster-postgres tries again, and warns, when it meets another process: not always enough.
        logging.getLogger().addHandler(EndOfProcess(logging.WARNING))
        barrier.wait()
        storage = PooledStorage(dagster_database_url)
        assert storage.run_storage.get_runs_count() == 0
        assert storage.schedule_storage.all_instigator_state() == []

    children = [context.Process(target=start) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0, 0, 0]
    assert len(rows(dagster_database_url, "alembic_version", "version_num")) == 1


def test_no_table_is_created_where_configuration_says_so(dagster_database_url: str) -> None:
    PooledStorage(dagster_database_url, should_autocreate_tables=False)
    engine = create_engine(with_psycopg2(dagster_database_url), poolclass=NullPool)
    assert inspect(engine).get_table_names() == []


def test_each_planned_event_of_a_range_is_stored_once(dagster_instance: DagsterInstance) -> None:
    run_id = run_range(dagster_instance)
    keys = [partition_key("a", number) for number in range(1, PARTITIONS + 1)]
    expected = [(str(AssetKey(name)), key) for name in NAMES for key in keys]
    assert sorted(planned_of(dagster_instance, run_id), key=str) == sorted(expected, key=str)


def test_planned_checks_in_the_same_batch_are_stored_too(
    dagster_instance: DagsterInstance,
) -> None:
    run_id = run_range(dagster_instance)
    planned_checks = dagster_instance.all_logs(
        run_id, of_type=DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED
    )
    assert len(planned_checks) == 1


def captured_planned_batch(
    instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> list[EventLogEntry]:
    """The planned events as Dagster hands them over: real ones, of a real range run."""
    batches: list[EventLogEntry] = []
    store = type(instance.event_log_storage).store_event_batch

    def capture(self: PlannedBatchEventLogStorage, events: list[EventLogEntry]) -> None:
        batches.extend(entry for entry in events if entry.dagster_event_type == PLANNED)
        store(self, events)

    with monkeypatch.context() as patch:
        patch.setattr(type(instance.event_log_storage), "store_event_batch", capture)
        run_range(instance)
    return batches


def test_a_planned_batch_leaves_the_rows_that_the_stock_storage_would(
    dagster_instance: DagsterInstance, dagster_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = captured_planned_batch(dagster_instance, monkeypatch)
    pooled = PooledStorage(dagster_database_url).event_log_storage
    event_columns = ("run_id", "event", "dagster_event_type", "asset_key", "partition", "step_key")
    asset_columns = ("asset_key", "last_run_id", "last_materialization_timestamp")

    def stored() -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        return (
            rows(dagster_database_url, "event_logs", *event_columns),
            rows(dagster_database_url, "asset_keys", *asset_columns),
        )

    pooled.store_event_batch(batch)
    in_bulk = stored()
    pooled.wipe()
    PostgresEventLogStorage(with_psycopg2(dagster_database_url)).store_event_batch(batch)
    assert len(in_bulk[0]) == 2 * PARTITIONS
    assert in_bulk == stored()


def test_the_number_of_statements_does_not_grow_with_the_planned_batch(
    dagster_instance: DagsterInstance, dagster_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = captured_planned_batch(dagster_instance, monkeypatch)
    storage: Any = PooledStorage(dagster_database_url).event_log_storage
    storage.store_event_batch(batch[:2])
    statements: list[str] = []
    event.listen(storage._engine, "before_cursor_execute", lambda *args: statements.append(args[2]))
    storage.store_event_batch(batch)
    assert len(statements) == 1 + len(NAMES)


def test_a_planned_batch_that_fails_half_way_leaves_nothing(
    dagster_instance: DagsterInstance, dagster_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = captured_planned_batch(dagster_instance, monkeypatch)
    storage = PooledStorage(dagster_database_url).event_log_storage

    def refuse(*_: object) -> None:
        raise OSError("no space left")

    with monkeypatch.context() as patch:
        patch.setattr(PostgresEventLogStorage, "_store_asset_event", refuse)
        with pytest.raises(OSError, match="no space"):
            storage.store_event_batch(batch)
    assert rows(dagster_database_url, "event_logs", "run_id") == []


def test_planned_events_are_stored_one_by_one_when_a_private_name_is_gone(
    dagster_instance: DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dagster_storage, "_PLANNED_BATCH_NAMES", ("gone_in_a_later_release",))
    run_id = run_range(dagster_instance)
    assert len(planned_of(dagster_instance, run_id)) == 2 * PARTITIONS


def test_the_private_names_of_the_planned_batch_exist() -> None:
    missing = [
        name
        for name in dagster_storage._PLANNED_BATCH_NAMES
        if not hasattr(PostgresEventLogStorage, name)
    ]
    assert missing == []


def test_the_engines_that_the_webserver_puts_in_place_work(
    dagster_instance: DagsterInstance,
) -> None:
    dagster_instance.optimize_for_webserver(
        statement_timeout=5_000, pool_recycle=300, max_overflow=2
    )
    register_partitions(dagster_instance, "a", 1)
    assert list(dagster_instance.get_dynamic_partitions("tenant")) == ["a"]
