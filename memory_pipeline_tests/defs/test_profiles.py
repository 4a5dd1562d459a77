"""Runs that renew profiles (spec P3, P4): many tenants in one, events where there was work.

Belongs here: the asset, the sensor and the schedule on a real instance. Does not: what becomes of
one entity (adapters/test_profile_builder).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from memory_pipeline.adapters import environment, workshop
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_store import due_tenants
from memory_pipeline.definitions import defs
from memory_pipeline.defs import resources, rests
from memory_pipeline.defs.assets.profiles import PROFILES, ProfileRun, profiles
from memory_pipeline.defs.partitions import (
    RANGE_END_TAG,
    RANGE_START_TAG,
    TENANT_PARTITIONS,
    TENANT_TAG,
    register_partitions,
    tenant_key,
)
from memory_pipeline.defs.runs import walk_resources
from memory_pipeline.defs.upkeep_profiles import (
    PROFILE_JOB,
    UPKEEP_TAG,
    dirty_profiles,
    refresh_profiles,
    weekly_profiles,
)
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.adapters.models.endpoints import endpoint_of
from memory_pipeline_tests.adapters.profile_walks import bump, bumps, texts
from memory_pipeline_tests.defs.model_walks import AimedServer, chats
from memory_pipeline_tests.scripted import remember
from memory_pipeline_tests.scripted_server import Fault, FaultKind

ANN, BOB, EVE = TenantId("ann"), TenantId("bob_2"), TenantId("eve")
HASHED = "hashed-ngrams/384/1"


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setenv(environment.EMBEDDING_MODEL, HASHED)
    database = resources.memory_database()
    for tenant_id in (ANN, BOB):
        remember(database, "works at: acme; likes: tea", tenant_id=tenant_id)
    yield database
    database.close()


@pytest.fixture
def instance(database: Database, dagster_instance: dg.DagsterInstance) -> dg.DagsterInstance:
    for tenant_id in (ANN, BOB, EVE):
        register_partitions(dagster_instance, tenant_id, 1)
    return dagster_instance


@pytest.fixture
def server(server: AimedServer, monkeypatch: pytest.MonkeyPatch) -> AimedServer:
    monkeypatch.setattr(workshop, "_endpoint", lambda: endpoint_of(server))
    return server


def run(instance: dg.DagsterInstance, **options: Any) -> dg.ExecuteInProcessResult:
    job = dg.Definitions(
        assets=[profiles], jobs=[refresh_profiles], resources=walk_resources()
    ).resolve_job_def(PROFILE_JOB)
    return job.execute_in_process(instance=instance, raise_on_error=False, **options)


def full() -> dg.RunConfig:
    return dg.RunConfig(ops={PROFILES: ProfileRun(is_full=True)})


def events(instance: dg.DagsterInstance) -> dict[str | None, dict[str, Any]]:
    """The newest metadata of each partition."""
    records = instance.fetch_materializations(dg.AssetKey(PROFILES), limit=100, ascending=True)
    found = {}
    for record in records.records:
        event = record.asset_materialization
        assert event is not None
        found[event.partition] = {name: value.value for name, value in event.metadata.items()}
    return found


def tick(instance: dg.DagsterInstance) -> dg.SensorResult | dg.SkipReason:
    result = dirty_profiles(dg.build_sensor_context(instance=instance))
    assert isinstance(result, dg.SensorResult | dg.SkipReason)
    return result


def some_run(instance: dg.DagsterInstance, status: str, upkeep: str = "dirty_profiles") -> None:
    tags = {UPKEEP_TAG: upkeep}
    dg_status = dg.DagsterRunStatus(status)
    instance.add_run(dg.DagsterRun(job_name=PROFILE_JOB, status=dg_status, tags=tags))


def test_one_run_takes_every_tenant_with_dirty_entities_and_gives_each_an_event(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    assert run(instance).success
    found = events(instance)
    assert set(found) == {"ann", "bob__2"}
    assert found["ann"] | {"price_usd": 0} == {
        "written": 3, "extractive": 3, "unchanged": 0, "retired": 0, "failed": 0, "held": 0,
        "waiting": 0, "sentences": 4, "dropped_sentences": 0, "calls": 0, "cache_hits": 0,
        "prompt_tokens": 0, "completion_tokens": 0, "price_usd": 0,
    }  # fmt: skip
    assert bumps(database_url, ANN) == bumps(database_url, BOB) == {}


def test_tenants_without_work_get_no_event(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    run(instance)
    bump(database_url, "tea", tenant_id=BOB)
    before = instance.fetch_materializations(dg.AssetKey(PROFILES), limit=100).records
    assert run(instance).success
    after = instance.fetch_materializations(dg.AssetKey(PROFILES), limit=100).records
    assert [record.partition_key for record in after[: len(after) - len(before)]] == ["bob__2"]


def test_a_run_takes_at_most_so_many_tenants_the_one_that_waits_longest_first(
    instance: dg.DagsterInstance, database: Database
) -> None:
    config = dg.RunConfig(ops={PROFILES: ProfileRun(max_tenants=1)})
    assert run(instance, run_config=config).success
    assert set(events(instance)) == {"ann"}
    assert list(due_tenants(database, 10)) == [BOB]


def test_chosen_tenants_are_refreshed_in_one_run_and_all_of_them_get_an_event(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    result = run(instance, tags={RANGE_START_TAG: "ann", RANGE_END_TAG: "eve"})
    assert result.success
    assert {key: value["written"] for key, value in events(instance).items()} == {
        "ann": 3, "bob__2": 3, "eve": 0,
    }  # fmt: skip
    assert set(texts(database_url, BOB)) == {"user", "acme", "tea"}


def test_one_chosen_tenant_leaves_the_others_dirty(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    assert run(instance, partition_key="bob__2").success
    assert set(events(instance)) == {"bob__2"}
    assert bumps(database_url, ANN) != {}


def test_a_full_run_takes_all_tenants_and_asks_about_what_changed_only(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    assert run(instance, run_config=full()).success
    asked = len(chats(server))
    assert asked == 6
    assert run(instance, run_config=full()).success
    assert len(chats(server)) == asked
    assert {value["unchanged"] for value in events(instance).values()} == {3}


@pytest.mark.parametrize(("choice", "is_shown"), [("single", True), ("off", False)])
def test_texts_stand_in_the_event_of_a_run_over_one_tenant_where_that_is_allowed(
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    choice: str,
    is_shown: bool,
) -> None:
    monkeypatch.setenv(environment.EVENT_TEXT, choice)
    run(instance, partition_key="ann")
    assert ("profiles" in events(instance)["ann"]) == is_shown
    assert ("likes tea" in str(events(instance))) == is_shown


def test_no_text_stands_in_the_events_of_a_run_over_several_tenants(
    instance: dg.DagsterInstance,
) -> None:
    result = run(instance)
    assert "tea" not in str(events(instance))
    assert not any("tea" in (event.message or "") for event in result.all_events)


def test_an_outage_fails_the_run_after_what_was_answered_is_stored_and_shown(
    instance: dg.DagsterInstance, database: Database, database_url: str, server: AimedServer
) -> None:
    server.aim = lambda body: (
        Fault(FaultKind.SERVER_ERROR, times=None)
        if "Entity: user" in str(body["messages"][-1]["content"])
        else None
    )
    result = run(instance, partition_key="ann")
    assert not result.success
    assert events(instance)["ann"]["waiting"] >= 1
    assert "user" in bumps(database_url, ANN)
    assert "user" not in texts(database_url, ANN)


def test_a_used_up_budget_fails_the_run_and_the_next_goes_on(
    instance: dg.DagsterInstance,
    database: Database,
    database_url: str,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(environment.BUDGET_TOKENS, "6000")
    workshop.run_budget.cache_clear()
    workshop._chat_model.cache_clear()
    result = run(instance)
    assert not result.success
    first = len(chats(server))
    assert 0 < first < 6
    monkeypatch.delenv(environment.BUDGET_TOKENS)
    workshop.run_budget.cache_clear()
    workshop._chat_model.cache_clear()
    assert run(instance).success
    assert len(chats(server)) == 6
    assert bumps(database_url, ANN) == bumps(database_url, BOB) == {}


def test_the_sensor_asks_for_one_run_without_a_tenant_tag(instance: dg.DagsterInstance) -> None:
    result = tick(instance)
    assert isinstance(result, dg.SensorResult)
    (request,) = result.run_requests or []
    assert (request.job_name, request.run_key, request.partition_key) == (PROFILE_JOB, None, None)
    assert TENANT_TAG not in request.tags
    assert not any(tag.startswith("dagster/partition") for tag in request.tags)


def test_an_idle_sensor_starts_no_run(instance: dg.DagsterInstance) -> None:
    run(instance)
    assert isinstance(tick(instance), dg.SkipReason)


@pytest.mark.parametrize("status", ["STARTING", "STARTED", "CANCELING"])
def test_while_a_run_is_under_way_no_second_one_is_asked_for(
    instance: dg.DagsterInstance, status: str
) -> None:
    some_run(instance, status)
    assert isinstance(tick(instance), dg.SkipReason)


def test_a_full_refresh_under_way_does_not_hold_up_what_is_dirty(
    instance: dg.DagsterInstance,
) -> None:
    some_run(instance, "STARTED", upkeep="all_profiles")
    assert isinstance(tick(instance), dg.SensorResult)


def test_after_a_failure_the_sensor_rests_and_goes_on(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    some_run(instance, "FAILURE")
    assert isinstance(tick(instance), dg.SkipReason)
    monkeypatch.setattr(rests, "_SHORTEST_REST", timedelta(0))
    assert isinstance(tick(instance), dg.SensorResult)


def test_the_weekly_schedule_asks_for_a_full_run_without_a_tenant_tag(
    instance: dg.DagsterInstance,
) -> None:
    context = dg.build_schedule_context(instance=instance)
    (request,) = weekly_profiles.evaluate_tick(context).run_requests or []
    assert request.run_config["ops"][PROFILES]["config"]["is_full"] is True
    assert TENANT_TAG not in request.tags
    assert run(instance, run_config=request.run_config).success
    assert set(events(instance)) == {tenant_key(ANN), tenant_key(BOB)}


def test_the_job_of_the_definitions_runs_with_and_without_a_chosen_tenant(
    instance: dg.DagsterInstance, database_url: str
) -> None:
    job = defs.resolve_job_def(PROFILE_JOB)
    assert job.execute_in_process(instance=instance, partition_key="ann").success
    assert set(events(instance)) == {"ann"}
    assert job.execute_in_process(instance=instance).success
    assert set(events(instance)) == {"ann", "bob__2"}
    assert bumps(database_url, BOB) == {}
    statuses = instance.get_status_by_partition(
        dg.AssetKey(PROFILES), ["ann", "bob__2", "eve"], TENANT_PARTITIONS
    )
    assert statuses is not None
    assert [status and status.value for status in statuses.values()] == [
        "MATERIALIZED",
        "MATERIALIZED",
        None,
    ]
