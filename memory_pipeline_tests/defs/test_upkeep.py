"""Runs of upkeep (spec F2, M1, I1): many tenants in one, events where there was work.

Belongs here: the three assets and their schedules on a real instance. Does not: what a pass does to
rows (adapters/test_decay_store, test_repair_store, test_insight_store).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from threading import Barrier
from typing import Any
from xml.etree import ElementTree

import dagster as dg
import psycopg
import pytest

from memory_pipeline.adapters import environment, workshop
from memory_pipeline.adapters.insight_store import InsightReport
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.upkeep import insights
from memory_pipeline.adapters.vector_index import promote_big_tenants
from memory_pipeline.definitions import defs
from memory_pipeline.defs import resources, vector_indexes
from memory_pipeline.defs.assets import upkeep as assets
from memory_pipeline.defs.partitions import RANGE_END_TAG, RANGE_START_TAG, register_partitions
from memory_pipeline.defs.runs import walk_resources
from memory_pipeline.defs.upkeep import UPKEEP_JOBS, UPKEEP_SCHEDULES
from memory_pipeline.defs.vector_indexes import index_big_tenants
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import BudgetExhaustedError
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.insights import read_insights
from memory_pipeline_tests.adapters.models.endpoints import endpoint_of
from memory_pipeline_tests.defs.model_walks import AimedServer, configure, spoken
from memory_pipeline_tests.scripted import remember, scalar
from memory_pipeline_tests.scripted_server import Asked

ANN, BOB = TenantId("ann"), TenantId("bob_2")
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
    for tenant_id in (ANN, BOB):
        register_partitions(dagster_instance, tenant_id, 1)
    return dagster_instance


def grow_old(url: str, tenant_id: TenantId) -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "update memory.fact_access set first_recorded_at = now() - interval '181 days'"
            " where tenant_id = %s",
            [tenant_id],
        )


def run(instance: dg.DagsterInstance, name: str, **options: Any) -> dg.ExecuteInProcessResult:
    job = dg.Definitions(
        assets=[assets.archived_facts, assets.merged_entities, assets.insights_asset],
        jobs=list(UPKEEP_JOBS),
        resources=walk_resources(),
    ).resolve_job_def(name)
    return job.execute_in_process(instance=instance, raise_on_error=False, **options)


def events(instance: dg.DagsterInstance, asset: str) -> dict[str | None, dict[str, Any]]:
    records = instance.fetch_materializations(dg.AssetKey(asset), limit=100, ascending=True)
    found = {}
    for record in records.records:
        event = record.asset_materialization
        assert event is not None
        found[event.partition] = {name: value.value for name, value in event.metadata.items()}
    return found


def of_one(tenant_key: str) -> dict[str, str]:
    return {RANGE_START_TAG: tenant_key, RANGE_END_TAG: tenant_key}


def test_one_run_archives_for_all_tenants_and_only_changes_get_an_event(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    grow_old(database_url, BOB)
    assert run(instance, "decay_memory").success
    assert events(instance, assets.ARCHIVED_FACTS) == {"bob__2": {"archived": 2, "left": 0}}
    assert read_facts(database, BOB) == []
    assert len(read_facts(database, ANN)) == 2


def test_a_tenant_with_a_broken_setting_blocks_no_other(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    grow_old(database_url, BOB)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update memory.tenants set settings = '{\"decay_floor\": 7}' where tenant_id = 'ann'"
        )
    result = run(instance, "decay_memory")
    assert not result.success
    assert read_facts(database, BOB) == []
    assert set(events(instance, assets.ARCHIVED_FACTS)) == {"bob__2"}


def _svg(markdown: str) -> ElementTree.Element:
    encoded = markdown.partition("base64,")[2].rstrip(")")
    return ElementTree.fromstring(base64.b64decode(encoded))  # noqa: S314 - our own


def test_a_run_over_one_tenant_shows_what_goes_next_and_how_relevance_is_spread(
    instance: dg.DagsterInstance,
) -> None:
    assert run(instance, "decay_memory", tags=of_one("ann")).success
    shown = events(instance, assets.ARCHIVED_FACTS)["ann"]
    assert (shown["archived"], shown["left"]) == (0, 2)
    assert "| user likes tea | 1.00 | 0 |" in shown["going_next"]
    texts = [node.text for node in _svg(shown["relevance"]).iter() if node.text]
    assert "0.5 to 1" in texts
    assert len(shown["relevance"]) < 10_000


def test_text_stays_out_of_events_where_it_is_off(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.EVENT_TEXT, "off")
    assert run(instance, "decay_memory", tags=of_one("ann")).success
    assert events(instance, assets.ARCHIVED_FACTS)["ann"] == {"changed": 0}


def test_repair_merges_in_a_run_and_draws_the_entities(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.entities set name = 'Acme' where name = 'tea'")
    assert run(instance, "repair_memory", tags=of_one("ann")).success
    shown = events(instance, assets.MERGED_ENTITIES)["ann"]
    assert shown["merged"] == 1
    assert {"user"} < {node.text for node in _svg(shown["entities"]).iter() if node.text}
    assert run(instance, "repair_memory").success
    assert events(instance, assets.MERGED_ENTITIES)["bob__2"]["merged"] == 1


def test_without_a_model_no_insight_is_written_and_the_run_says_so(
    instance: dg.DagsterInstance, database: Database
) -> None:
    assert run(instance, "find_insights").success
    assert events(instance, assets.INSIGHTS) == {}
    assert read_insights(database, ANN) == []


def _insightful(asked: Asked) -> str:
    if asked.schema_name != "insights":
        return spoken(asked)
    item = {"facts": ["f1", "f2"], "statement": "Tea comes with acme.", "significance": 0.8}
    return json.dumps({"insights": [item]})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[AimedServer]:
    with AimedServer(_insightful) as server:
        configure(monkeypatch, server, strong=False)
        monkeypatch.setattr(workshop, "_endpoint", lambda: endpoint_of(server))
        yield server


def test_insights_of_all_tenants_come_in_one_run(
    instance: dg.DagsterInstance, database: Database, server: AimedServer
) -> None:
    assert run(instance, "find_insights").success
    found = events(instance, assets.INSIGHTS)
    assert {key: shown["inserted"] for key, shown in found.items()} == {"ann": 1, "bob__2": 1}
    assert [row.statement for row in read_insights(database, ANN)] == ["Tea comes with acme."]
    assert run(instance, "find_insights").success
    assert events(instance, assets.INSIGHTS)["ann"]["inserted"] == 0


def test_insights_of_several_tenants_are_asked_for_side_by_side(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = Barrier(2, timeout=30)

    def together(asked: Asked) -> str:
        if asked.schema_name == "insights":
            both.wait()
        return _insightful(asked)

    with AimedServer(together) as server:
        configure(monkeypatch, server, strong=False)
        monkeypatch.setattr(workshop, "_endpoint", lambda: endpoint_of(server))
        assert run(instance, "find_insights").success
    assert len(events(instance, assets.INSIGHTS)) == 2


def test_an_exhausted_budget_keeps_what_is_done_and_fails_the_run(
    instance: dg.DagsterInstance,
    database: Database,
    server: AimedServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[TenantId] = []

    def once(found: Database, tenant_id: TenantId) -> InsightReport:
        if done:
            raise BudgetExhaustedError("spent")
        done.append(tenant_id)
        return insights(found, tenant_id)

    monkeypatch.setattr(assets, "insights", once)
    assert not run(instance, "find_insights").success
    assert list(events(instance, assets.INSIGHTS)) == ["ann"]


def test_upkeep_is_scheduled_and_on_by_default() -> None:
    cron = {schedule.name: schedule.cron_schedule for schedule in UPKEEP_SCHEDULES}
    assert cron == {
        "daily_decay": "0 2 * * *",
        "nightly_repair": "0 3 * * *",
        "weekly_insights": "0 5 * * 0",
    }
    known = {schedule.name: schedule for schedule in defs.schedules or ()}
    for name in [*cron, "nightly_indexes"]:
        assert known[name].default_status is dg.DefaultScheduleStatus.RUNNING


def test_a_tenant_that_has_grown_gets_an_index_of_its_own_in_a_run(
    instance: dg.DagsterInstance, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        vector_indexes, "promote_big_tenants", lambda found: promote_big_tenants(found, threshold=2)
    )
    result = index_big_tenants.execute_in_process(instance=instance, resources=walk_resources())
    assert result.success
    indexes = "select count(*) from pg_class where relname like %s"
    assert scalar(database_url, indexes, ["facts\\_graph%"]) == 2
