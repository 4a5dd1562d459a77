"""Forgetting (spec F1, F2) and what is said or read again; settings of single tenants.

Belongs here: archiving after other changes. Does not: the rule's borders (test_decay_store).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest

from memory_pipeline.adapters.decay_store import archive_decayed, read_decaying
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.upkeep import decay
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.reading.facts import read_facts
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    fold_all,
    import_history,
    remember,
    scalar,
    scripted_workshop,
    thread,
)

POLICY = Policy()
NEIGHBOUR = TenantId("acme/user_2")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=1)
    for tenant_id in (TENANT, NEIGHBOUR):
        remember(database, "works at: acme; likes: tea", "likes: jazz", tenant_id=tenant_id)
    yield database
    database.close()


def make_old(url: str, age: timedelta, statement: str = "%") -> None:
    with psycopg.connect(url) as connection:
        connection.execute(
            "update memory.fact_access a set first_recorded_at = now() - %s from memory.facts f"
            " where f.content_key = a.content_key and f.statement like %s",
            [age, statement],
        )
        connection.execute(
            "update memory.facts set recorded_at = now() - %s where statement like %s",
            [age, statement],
        )


def test_an_archived_fact_that_is_said_again_is_not_forgotten_the_next_day(
    database: Database, database_url: str
) -> None:
    make_old(database_url, timedelta(days=181), "% tea")
    assert len(archive_decayed(database, TENANT, POLICY)) == 1
    import_history(database, [thread("later", ("likes: tea", START + 9 * DAY))])
    fold_all(scripted_workshop(database, ScriptedExtractor()))
    assert archive_decayed(database, TENANT, POLICY) == []
    assert "tea" in {f.object for f in read_facts(database, TENANT)}


def test_each_tenants_own_settings_decide(database: Database, database_url: str) -> None:
    make_old(database_url, timedelta(days=20))
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update memory.tenants set settings = '{\"decay_half_life_days\": 5}'"
            " where tenant_id = %s",
            [NEIGHBOUR],
        )
    assert decay(database, TENANT) == []
    assert len(decay(database, NEIGHBOUR)) == 3


@pytest.mark.parametrize("days", [-400, -1])
def test_a_clock_that_was_ahead_makes_no_fact_go(
    database: Database, database_url: str, days: int
) -> None:
    make_old(database_url, timedelta(days=days))
    assert archive_decayed(database, TENANT, POLICY) == []


def test_a_fact_without_a_counter_is_as_old_as_its_row(
    database: Database, database_url: str
) -> None:
    make_old(database_url, timedelta(days=181), "% tea")
    with psycopg.connect(database_url) as connection:
        connection.execute("delete from memory.fact_access")
    assert [f.statement for f in archive_decayed(database, TENANT, POLICY)] == ["user likes tea"]


def test_an_archived_fact_bumps_each_of_its_entities_once_a_pass(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.dirty_entities set bumps = 0")
    make_old(database_url, timedelta(days=181))
    archive_decayed(database, TENANT, POLICY)
    assert (
        scalar(
            database_url,
            "select max(bumps) from memory.dirty_entities where tenant_id = %s",
            [TENANT],
        )
        == 1
    )


def test_the_preview_counts_all_that_will_go(database: Database, database_url: str) -> None:
    make_old(database_url, timedelta(days=181))
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id,"
            " predicate, object_text, statement, valid_time, known_time, confidence,"
            " memory_category, tier, attributes, recipe_id, recorded_at)"
            " select f.tenant_id, f.generation_id, gen_random_uuid(), 1, f.subject_id, 'has',"
            " n::text, 'user has ' || n, tstzrange('2020-01-01', null), f.known_time, 0.9,"
            " f.memory_category, f.tier, f.attributes, f.recipe_id, now() - interval '181 days'"
            " from memory.facts f, generate_series(1, 1200) n"
            " where f.statement = 'user likes tea' and f.tenant_id = %s",
            [TENANT],
        )
    due = sum(f.is_due for f in read_decaying(database, TENANT, POLICY))
    assert due == len(archive_decayed(database, TENANT, POLICY))
