"""The lock of a run, and the sweep that tells a live run from one whose process is gone."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from dagster import (
    AssetExecutionContext,
    AssetSelection,
    DagsterInstance,
    DagsterRunStatus,
    Definitions,
    JobDefinition,
    asset,
    define_asset_job,
    validate_run_config,
)
from dagster._core.definitions.job_base import InMemoryJob
from dagster._core.events import DagsterEvent
from dagster._core.execution.api import execute_run
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.test_utils import create_run_for_test
from hypothesis import given
from hypothesis import strategies as st
from tenacity import Retrying, retry_if_result, stop_after_delay, wait_fixed

from memory_pipeline.defs import zombies
from memory_pipeline.defs.zombies import (
    RUN_LOCK_TAG,
    RunLockHeldError,
    fail_zombie_runs,
    hold_run_lock,
    run_lock_executor,
    run_lock_key,
)

MINUTE = timedelta(minutes=1)

HOLDER = """
import sys
from memory_pipeline.defs.zombies import hold_run_lock
with hold_run_lock(sys.argv[1], sys.argv[2]):
    print("held", flush=True)
    sys.stdin.read()
"""


def origin(location: str) -> RemoteJobOrigin:
    return RemoteJobOrigin(
        RemoteRepositoryOrigin(RegisteredCodeLocationOrigin(location), "__repository__"), "job"
    )


def make_run(
    instance: DagsterInstance,
    status: DagsterRunStatus = DagsterRunStatus.STARTED,
    location: str = "memory_pipeline",
) -> str:
    run = create_run_for_test(
        instance, "job", status=DagsterRunStatus.NOT_STARTED, remote_job_origin=origin(location)
    )
    instance.report_dagster_event(DagsterEvent("PIPELINE_STARTING", "job"), run.run_id)
    if status in (DagsterRunStatus.STARTED, DagsterRunStatus.CANCELING):
        instance.report_dagster_event(DagsterEvent("PIPELINE_START", "job"), run.run_id)
    if status == DagsterRunStatus.CANCELING:
        instance.report_run_canceling(run)
    return str(run.run_id)


def later() -> datetime:
    return datetime.now(UTC) + timedelta(hours=1)


def status_of(instance: DagsterInstance, run_id: str) -> DagsterRunStatus:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return run.status


def is_free(url: str, run_id: str) -> bool:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "select pg_try_advisory_lock(%s)", [run_lock_key(run_id)]
        ).fetchone()
    assert row is not None
    return bool(row[0])


def becomes_free(url: str, run_id: str) -> bool:
    """Whether nobody holds the lock soon: the server notices the end of a session later."""
    attempts = Retrying(
        stop=stop_after_delay(10),
        wait=wait_fixed(0.05),
        retry=retry_if_result(lambda is_seen_free: not is_seen_free),
        retry_error_callback=lambda _: False,
    )
    return bool(attempts(is_free, url, run_id))


@contextmanager
def holder_process(url: str, run_id: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, url, run_id],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@given(st.uuids(), st.uuids())
def test_two_runs_have_two_keys_of_64_bits(first: object, second: object) -> None:
    one, other = run_lock_key(str(first)), run_lock_key(str(second))
    assert (one == other) == (first == second)
    assert -(2**63) <= one < 2**63


def test_a_lock_is_held_in_the_block_and_free_after_it(dagster_database_url: str) -> None:
    with hold_run_lock(dagster_database_url, "run"):
        assert not is_free(dagster_database_url, "run")
        assert is_free(dagster_database_url, "another run")
    assert becomes_free(dagster_database_url, "run")


def test_a_lock_is_free_after_an_error(dagster_database_url: str) -> None:
    with pytest.raises(LookupError), hold_run_lock(dagster_database_url, "run"):
        raise LookupError
    assert becomes_free(dagster_database_url, "run")


def test_a_run_that_is_started_twice_is_refused(dagster_database_url: str) -> None:
    with (
        hold_run_lock(dagster_database_url, "run"),
        pytest.raises(RunLockHeldError, match="run"),
        hold_run_lock(dagster_database_url, "run", wait_seconds=0.2),
    ):
        pass


def test_a_run_is_failed_once_its_process_was_killed(
    dagster_instance: DagsterInstance, dagster_database_url: str
) -> None:
    run_id = make_run(dagster_instance)
    with holder_process(dagster_database_url, run_id) as process:
        assert fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later()) == []
        assert status_of(dagster_instance, run_id) == DagsterRunStatus.STARTED
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # The server ends the session a moment after the process.
        with hold_run_lock(dagster_database_url, run_id):
            pass
    assert fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later()) == [run_id]
    assert status_of(dagster_instance, run_id) == DagsterRunStatus.FAILURE


@pytest.mark.parametrize(
    ("status", "end"),
    [
        (DagsterRunStatus.STARTING, DagsterRunStatus.FAILURE),
        (DagsterRunStatus.STARTED, DagsterRunStatus.FAILURE),
        (DagsterRunStatus.CANCELING, DagsterRunStatus.CANCELED),
    ],
)
def test_a_run_without_a_process_ends_as_far_as_it_had_come(
    dagster_instance: DagsterInstance,
    dagster_database_url: str,
    status: DagsterRunStatus,
    end: DagsterRunStatus,
) -> None:
    run_id = make_run(dagster_instance, status)
    assert status_of(dagster_instance, run_id) == status
    assert fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later()) == [run_id]
    assert status_of(dagster_instance, run_id) == end


@pytest.mark.parametrize("status", [DagsterRunStatus.STARTING, DagsterRunStatus.STARTED])
def test_a_run_is_left_alone_before_the_age_is_reached(
    dagster_instance: DagsterInstance, dagster_database_url: str, status: DagsterRunStatus
) -> None:
    run_id = make_run(dagster_instance, status)
    soon = datetime.now(UTC) + timedelta(seconds=30)
    assert fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, soon) == []
    assert status_of(dagster_instance, run_id) == status


@pytest.mark.parametrize(
    "status", [DagsterRunStatus.NOT_STARTED, DagsterRunStatus.SUCCESS, DagsterRunStatus.FAILURE]
)
def test_a_run_that_waits_or_has_ended_is_left_alone(
    dagster_instance: DagsterInstance, dagster_database_url: str, status: DagsterRunStatus
) -> None:
    run = create_run_for_test(
        dagster_instance, "job", status=status, remote_job_origin=origin("memory_pipeline")
    )
    assert fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later()) == []
    assert status_of(dagster_instance, run.run_id) == status


def test_a_run_of_another_code_location_is_left_alone(
    dagster_instance: DagsterInstance, dagster_database_url: str
) -> None:
    run_id = make_run(dagster_instance, location="somebody_elses")
    assert fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later()) == []
    assert status_of(dagster_instance, run_id) == DagsterRunStatus.STARTED


def test_a_run_in_process_is_known_by_its_tag(
    dagster_instance: DagsterInstance, dagster_database_url: str
) -> None:
    tagged, untagged = (
        create_run_for_test(dagster_instance, "job", status=DagsterRunStatus.STARTED, tags=tags)
        for tags in ({RUN_LOCK_TAG: "true"}, {})
    )
    failed = fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later())
    assert failed == [tagged.run_id]
    assert status_of(dagster_instance, untagged.run_id) == DagsterRunStatus.STARTED


def test_a_sweep_leaves_no_lock_behind(
    dagster_instance: DagsterInstance, dagster_database_url: str
) -> None:
    run_id = make_run(dagster_instance)
    fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later())
    assert becomes_free(dagster_database_url, run_id)


def test_the_runs_of_one_sweep_are_given_oldest_first(
    dagster_instance: DagsterInstance, dagster_database_url: str
) -> None:
    run_ids = [make_run(dagster_instance) for _ in range(3)]
    with hold_run_lock(dagster_database_url, run_ids[1]):
        failed = fail_zombie_runs(dagster_instance, dagster_database_url, MINUTE, later())
    assert failed == [run_ids[0], run_ids[2]]


def job_that_looks_at_its_lock(url: str, seen: list[bool], *, is_failing: bool) -> JobDefinition:
    @asset
    def looking(context: AssetExecutionContext) -> None:
        seen.append(is_free(url, context.run.run_id))
        if is_failing:
            raise LookupError

    return Definitions(
        assets=[looking],
        jobs=[define_asset_job("look", selection=AssetSelection.all())],
        executor=run_lock_executor(lambda: url),
    ).resolve_job_def("look")


@pytest.mark.parametrize(
    ("is_failing", "end"), [(False, DagsterRunStatus.SUCCESS), (True, DagsterRunStatus.FAILURE)]
)
def test_the_executor_holds_the_lock_until_after_the_end_of_the_run(
    dagster_instance: DagsterInstance,
    dagster_database_url: str,
    is_failing: bool,
    end: DagsterRunStatus,
) -> None:
    seen: list[bool] = []
    job = job_that_looks_at_its_lock(dagster_database_url, seen, is_failing=is_failing)
    run = dagster_instance.create_run_for_job(job)
    try:
        execute_run(InMemoryJob(job), run, dagster_instance)
        assert seen == [False]
        assert status_of(dagster_instance, run.run_id) == end
        assert not is_free(dagster_database_url, run.run_id)
    finally:
        zombies._locks_of_this_process.close()
    assert becomes_free(dagster_database_url, run.run_id)


def test_the_executor_takes_the_configuration_of_the_in_process_one() -> None:
    job = job_that_looks_at_its_lock("", [], is_failing=False)
    config: dict[str, Any] = {"execution": {"config": {"retries": {"disabled": {}}}}}
    validated = validate_run_config(job, config)
    assert validated["execution"]["in_process"]["retries"] == {"disabled": {}}
