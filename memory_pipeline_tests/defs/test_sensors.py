"""When the walk runs by itself: new episodes, what is stuck, and definitions that load cleanly."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from datetime import timedelta

import dagster as dg
import pytest

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs import resources, rests, sensors
from memory_pipeline.defs.jobs import WALK_JOB
from memory_pipeline.defs.partitions import (
    RANGE_END_TAG,
    RANGE_START_TAG,
    TENANT_TAG,
    register_partitions,
)
from memory_pipeline.defs.runs import RunOptions, WalkFailedError, run_walk
from memory_pipeline.defs.sensors import new_episodes, sweep
from memory_pipeline.defs.zombies import RUN_LOCK_TAG
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.defs.scripted_walks import ScriptedWalks
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    ScriptedExtractor,
    daily,
    import_history,
    thread,
)

ANN, BOB = TenantId("ann"), TenantId("bob_2")


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setattr(ScriptedWalks, "extractor", ScriptedExtractor())
    database = resources.memory_database()
    yield database
    database.close()


def tick(
    sensor: dg.SensorDefinition, instance: dg.DagsterInstance, cursor: str | None = None
) -> dg.SensorResult | dg.SkipReason:
    result = sensor(dg.build_sensor_context(instance=instance, cursor=cursor))
    assert isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def requests(result: dg.SensorResult | dg.SkipReason) -> Sequence[dg.RunRequest]:
    assert isinstance(result, dg.SensorResult)
    return result.run_requests or []


def ranges(result: dg.SensorResult | dg.SkipReason) -> list[tuple[str, str, str]]:
    return [
        (r.tags[TENANT_TAG], r.tags[RANGE_START_TAG], r.tags[RANGE_END_TAG])
        for r in requests(result)
    ]


def some_run(instance: dg.DagsterInstance, tenant_key: str, status: str) -> None:
    dg_status = dg.DagsterRunStatus(status)
    instance.add_run(
        dg.DagsterRun(job_name=WALK_JOB, status=dg_status, tags={TENANT_TAG: tenant_key})
    )


def test_new_episodes_ask_for_one_range_run_of_each_tenant(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("likes: tea", "likes: milk", "likes: beer"), ANN)
    import_history(database, daily("likes: wine"), BOB)
    result = tick(new_episodes, instance)
    assert ranges(result) == [
        ("ann", "000001|ann", "000003|ann"),
        ("bob__2", "000001|bob__2", "000001|bob__2"),
    ]
    assert {request.job_name for request in requests(result)} == {WALK_JOB}


def test_new_episodes_add_the_keys_of_both_axes(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("likes: tea", "likes: milk"), BOB)
    tick(new_episodes, instance)
    assert instance.get_dynamic_partitions("tenant") == ["bob__2"]
    assert instance.get_dynamic_partitions("episode") == ["000001", "000002"]


def test_the_cursor_moves_over_what_was_asked_for(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("likes: tea", "likes: milk"), ANN)
    first = tick(new_episodes, instance)
    assert isinstance(first, dg.SensorResult)
    assert first.cursor == "2"
    assert isinstance(tick(new_episodes, instance, first.cursor), dg.SkipReason)
    import_history(database, [thread("more", ("likes: beer", START + 9 * DAY))], ANN)
    second = tick(new_episodes, instance, first.cursor)
    # The first range may still be waiting; what is done by then costs the second run nothing.
    assert ranges(second) == [("ann", "000001|ann", "000003|ann")]
    assert [r.run_key for r in requests(second)] != [r.run_key for r in requests(first)]


def test_without_any_episode_new_episodes_skips(
    instance: dg.DagsterInstance, database: Database
) -> None:
    assert isinstance(tick(new_episodes, instance), dg.SkipReason)


def test_j7_late_episodes_ask_for_no_run(instance: dg.DagsterInstance, database: Database) -> None:
    import_history(database, daily("likes: tea", "likes: milk"), ANN)
    register_partitions(instance, ANN, 2)
    run_walk(instance, ANN, 1, 2, RunOptions(walks=ScriptedWalks()))
    import_history(database, [thread("early", ("likes: beer", START))], ANN)
    assert isinstance(tick(new_episodes, instance), dg.SkipReason)
    assert isinstance(tick(sweep, instance), dg.SkipReason)


def test_the_run_key_holds_range_and_attempt(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("boom", "likes: milk"), ANN)
    (first,) = requests(tick(new_episodes, instance))
    assert first.run_key == "ann:1-2:0"


def test_a_failed_episode_is_swept_up_without_a_run_key(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("boom"), ANN)
    register_partitions(instance, ANN, 1)
    with pytest.raises(WalkFailedError):
        run_walk(instance, ANN, 1, 1, RunOptions(walks=ScriptedWalks()))
    result = tick(sweep, instance)
    assert ranges(result) == [("ann", "000001|ann", "000001|ann")]
    assert [request.run_key for request in requests(result)] == [None]


def test_the_sweep_asks_for_open_episodes_that_the_cursor_has_passed(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("likes: tea", "likes: milk"), ANN)
    assert isinstance(tick(new_episodes, instance, "2"), dg.SkipReason)
    assert ranges(tick(sweep, instance)) == [("ann", "000001|ann", "000002|ann")]


@pytest.mark.parametrize("status", ["STARTING", "STARTED", "CANCELING"])
def test_the_sweep_leaves_a_tenant_with_a_run_in_progress_alone(
    instance: dg.DagsterInstance, database: Database, status: str
) -> None:
    import_history(database, daily("likes: tea"), ANN)
    import_history(database, daily("likes: tea"), BOB)
    some_run(instance, "bob__2", status)
    assert [tenant for tenant, _, _ in ranges(tick(sweep, instance))] == ["ann"]


def test_the_sweep_ends_a_dead_run_and_asks_for_its_tenant_in_one_tick(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "_ZOMBIE_AGE", timedelta(days=-1))
    import_history(database, daily("likes: tea"), ANN)
    dead = dg.DagsterRun(
        job_name=WALK_JOB,
        status=dg.DagsterRunStatus.STARTED,
        tags={TENANT_TAG: "ann", RUN_LOCK_TAG: "held"},
    )
    instance.add_run(dead)
    assert [tenant for tenant, _, _ in ranges(tick(sweep, instance))] == ["ann"]
    found = instance.get_run_by_id(dead.run_id)
    assert found is not None
    assert found.status == dg.DagsterRunStatus.FAILURE


@pytest.mark.parametrize(
    ("outcomes", "is_asked_for"),
    [
        (["FAILURE"], True),
        (["FAILURE", "FAILURE"], False),
        (["FAILURE", "SUCCESS", "FAILURE"], True),
    ],
)
def test_a_tenant_whose_runs_keep_failing_rests_before_the_next(
    instance: dg.DagsterInstance, database: Database, outcomes: list[str], is_asked_for: bool
) -> None:
    import_history(database, daily("likes: tea"), ANN)
    for status in outcomes:
        some_run(instance, "ann", status)
    assert isinstance(tick(sweep, instance), dg.SensorResult) == is_asked_for


def test_a_rest_ends(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rests, "_SHORTEST_REST", timedelta(0))
    import_history(database, daily("likes: tea"), ANN)
    for _ in range(3):
        some_run(instance, "ann", "FAILURE")
    assert [tenant for tenant, _, _ in ranges(tick(sweep, instance))] == ["ann"]


def test_with_nothing_open_the_sweep_skips(
    instance: dg.DagsterInstance, database: Database
) -> None:
    import_history(database, daily("likes: tea"), ANN)
    register_partitions(instance, ANN, 1)
    run_walk(instance, ANN, 1, 1, RunOptions(walks=ScriptedWalks()))
    assert isinstance(tick(sweep, instance), dg.SkipReason)


_LOAD = """
import warnings
warnings.filterwarnings("error")
import dagster as dg
warnings.filterwarnings("error")
from memory_pipeline.definitions import defs
dg.Definitions.validate_loadable(defs)
job = defs.resolve_job_def("walk_episodes")
print(type(job.executor_def).__name__, job.executor_def.name, len(job.graph.nodes))
"""


def test_the_definitions_load_and_validate_without_a_warning_or_a_database() -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith("MEMORY_")}
    done = subprocess.run(
        [sys.executable, "-c", _LOAD], capture_output=True, text=True, check=False, env=clean
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["ExecutorDefinition", "in_process", "2"]
