"""Telling a run that works from one whose process is gone, by a lock that dies with the process.

Belongs here: the lock of a run, the executor that holds it, and the sweep. When the sweep runs is
said by the schedules and by the `dev` command.
"""

import atexit
import hashlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
from dagster import (
    DagsterInstance,
    DagsterRun,
    DagsterRunStatus,
    ExecutorDefinition,
    RunRecord,
    RunsFilter,
)
from sqlalchemy import Connection, create_engine, func, select
from sqlalchemy.pool import NullPool
from tenacity import RetryError, Retrying, retry_if_result, stop_after_delay, wait_fixed

from memory_pipeline.defs.dagster_internals import code_location_of, in_process_executor_after

__all__ = [
    "CODE_LOCATION",
    "RUN_LOCK_TAG",
    "RunLockHeldError",
    "fail_zombie_runs",
    "hold_run_lock",
    "run_lock_executor",
    "run_lock_key",
]

CODE_LOCATION = "memory_pipeline"
RUN_LOCK_TAG = "memory_pipeline/run_lock"
"""Set this tag on a run started in process: it has no code location to know it by."""

_UNFINISHED = [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING]

# After this long without an answer the server drops a lost machine's session, and its lock.
_KEEPALIVE = {
    "tcp_keepalives_idle": "30",
    "tcp_keepalives_interval": "10",
    "tcp_keepalives_count": "3",
}

# Kept until the process ends, not the executor: between the last step and the event that ends the
# run, a sweep would find the lock free and the run started, and fail a run that succeeds.
_locks_of_this_process = ExitStack()
_runs_of_this_process: set[str] = set()
atexit.register(_locks_of_this_process.close)


class RunLockHeldError(RuntimeError):
    """Another process holds the lock of this run: the run was started twice."""


def run_lock_key(run_id: str) -> int:
    """The advisory lock key of a Dagster run, a signed 64-bit integer."""
    digest = hashlib.sha256(f"memory_pipeline.run:{run_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big", signed=True)


@contextmanager
def hold_run_lock(connection_url: str, run_id: str, wait_seconds: float = 10.0) -> Iterator[None]:
    """Hold the session lock of a run, on a connection of its own, for the length of the block.

    `connection_url` is a libpq URL of the memory database; a pooler in transaction mode in
    between would lose the lock. Raises `RunLockHeldError` if it is not free within
    `wait_seconds` (a sweep that looks at the run holds it for a moment).
    """
    with _session(connection_url) as connection:
        attempts = Retrying(
            stop=stop_after_delay(wait_seconds),
            wait=wait_fixed(0.1),
            retry=retry_if_result(lambda is_locked: not is_locked),
        )
        try:
            attempts(_try_lock, connection, run_id)
        except RetryError as error:
            raise RunLockHeldError(f"run {run_id} is held by another process") from error
        # Closing the session gives the lock back.
        yield


def fail_zombie_runs(
    instance: DagsterInstance, connection_url: str, older_than: timedelta, now: datetime
) -> list[str]:
    """End the project's runs whose process is gone; gives their run ids, oldest first.

    A run counts as ours by its code location or by `RUN_LOCK_TAG`; it is gone if it is starting,
    started or canceling for longer than `older_than` and its lock is free. It becomes failed, or
    canceled if a person had asked for that. Runs that never take the lock must not be launched
    from this code location: `run_lock_executor` takes it for every job.
    """
    records = instance.get_run_records(RunsFilter(statuses=_UNFINISHED), ascending=True)
    suspects = [
        record.dagster_run.run_id
        for record in records
        if _is_ours(record.dagster_run) and now - _in_state_since(record) > older_than
    ]
    if not suspects:
        return []
    with _session(connection_url) as connection:
        return [run_id for run_id in suspects if _end_if_free(instance, connection, run_id)]


def run_lock_executor(connection_url: Callable[[], str]) -> ExecutorDefinition:
    """The in-process executor that takes the run's lock first and keeps it until the process ends.

    Give it to `Definitions(executor=...)`, so that runs of any job, and assets launched from the
    UI, hold a lock. `connection_url` is asked in the run's process. `execute_in_process` ignores
    executors: there, use `hold_run_lock` and `RUN_LOCK_TAG`.
    """

    def prepare(run_id: str) -> None:
        if run_id not in _runs_of_this_process:
            _locks_of_this_process.enter_context(hold_run_lock(connection_url(), run_id))
            _runs_of_this_process.add(run_id)

    return in_process_executor_after(prepare)


@contextmanager
def _session(connection_url: str) -> Iterator[Connection]:
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: psycopg.connect(connection_url),
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
    )
    with engine.connect() as connection:
        settings = {**_KEEPALIVE, "idle_session_timeout": "0"}
        connection.execute(
            select(*(func.set_config(name, value, False) for name, value in settings.items()))
        )
        yield connection


def _try_lock(connection: Connection, run_id: str) -> bool:
    key = run_lock_key(run_id)
    return bool(connection.execute(select(func.pg_try_advisory_lock(key))).scalar_one())


def _is_ours(run: DagsterRun) -> bool:
    return code_location_of(run) == CODE_LOCATION or RUN_LOCK_TAG in run.tags


def _in_state_since(record: RunRecord) -> datetime:
    # Time in the queue does not count: a run that waited for a day may have been launched just now.
    if record.start_time is not None:
        return datetime.fromtimestamp(record.start_time, UTC)
    return record.update_timestamp


def _end_if_free(instance: DagsterInstance, connection: Connection, run_id: str) -> bool:
    if not _try_lock(connection, run_id):
        return False
    try:
        # Read again under the lock: a run that ended since the list was read is no zombie.
        run = instance.get_run_by_id(run_id)
        if run is None or run.status not in _UNFINISHED:
            return False
        message = "The process of this run is gone: nothing holds the run's lock."
        if run.status == DagsterRunStatus.CANCELING:
            instance.report_run_canceled(run, message)
        else:
            instance.report_run_failed(run, message)
        return True
    finally:
        connection.execute(select(func.pg_advisory_unlock(run_lock_key(run_id))))
