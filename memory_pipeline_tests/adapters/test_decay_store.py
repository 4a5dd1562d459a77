"""Forgetting (spec F1, F2): what goes, exactly when, and what stays to be seen.

Belongs here: archiving on a real database whose rows are made older. Does not: Dagster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from memory_pipeline.adapters.decay_store import archive_decayed, read_decaying
from memory_pipeline.adapters.memory_writer import StalePlanError, apply_changes
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    fold_all,
    import_history,
    memory_content,
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


def recorded_ago(url: str, age: timedelta, statement: str = "%", reads: int | None = None) -> None:
    """Make facts of the tenant so old, or, with reads, last read so long ago."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "insert into memory.fact_access as a (tenant_id, content_key, first_recorded_at,"
            " access_count, last_accessed_at) select distinct f.tenant_id, f.content_key,"
            " now() - %(age)s, %(reads)s::bigint, case when %(reads)s > 0 then now() - %(age)s end"
            " from memory.facts f where f.tenant_id = %(tenant)s and f.statement like %(like)s"
            " on conflict (tenant_id, content_key) do update set"
            " first_recorded_at = excluded.first_recorded_at,"
            " access_count = excluded.access_count, last_accessed_at = excluded.last_accessed_at",
            {"age": age, "like": statement, "reads": reads or 0, "tenant": TENANT},
        )


def archived(database: Database, policy: Policy = POLICY) -> set[str]:
    return {fact.statement for fact in archive_decayed(database, TENANT, policy)}


def live(database: Database, tenant_id: TenantId = TENANT) -> set[str]:
    return {f"{f.predicate} {f.object}" for f in read_facts(database, tenant_id)}


def test_an_unread_fact_goes_after_two_half_lives_and_not_a_moment_before(
    database: Database, database_url: str
) -> None:
    recorded_ago(database_url, timedelta(days=180, seconds=-60))
    assert archived(database) == set()
    recorded_ago(database_url, timedelta(days=180, seconds=60), "% tea")
    assert archived(database) == {"user likes tea"}


def test_a_fact_read_once_stays_three_half_lives_from_the_read(
    database: Database, database_url: str
) -> None:
    recorded_ago(database_url, timedelta(days=270, seconds=-60), reads=1)
    assert archived(database) == set()
    recorded_ago(database_url, timedelta(days=270, seconds=60), reads=1)
    assert len(archived(database)) == 3


def test_a_fact_exactly_at_the_floor_stays(database_url: str) -> None:
    left = scalar(database_url, "select memory.half_lives_left(interval '180 days', 0, 90.0, 0.25)")
    assert left == 0


def test_no_age_and_no_half_life_is_too_large(database: Database, database_url: str) -> None:
    recorded_ago(database_url, timedelta(days=700_000))
    shortest = Policy(decay_half_life_days=0.01)
    assert all(fact.relevance < 1e-80 for fact in read_decaying(database, TENANT, shortest))
    assert len(archived(database, shortest)) == 3


@pytest.mark.parametrize(("days", "reads"), [(0, 0), (10, 0), (200, 0), (200, 1), (900, 900)])
def test_the_preview_tells_relevance_and_the_day_a_fact_goes(
    database: Database, database_url: str, days: int, reads: int
) -> None:
    recorded_ago(database_url, timedelta(days=days), "% tea", reads)
    (fact,) = (f for f in read_decaying(database, TENANT, POLICY) if f.statement.endswith("tea"))
    relevance = 0.5 ** (days / 90) * (1 + reads)
    assert fact.relevance == pytest.approx(relevance, rel=1e-4)
    assert fact.is_due == (relevance < 0.25)
    assert fact.archived_from is not None
    assert fact.is_due == (fact.archived_from < datetime.now(UTC))
    assert (fact.statement in archived(database)) == fact.is_due


def test_a_floor_of_zero_keeps_everything(database: Database, database_url: str) -> None:
    recorded_ago(database_url, timedelta(days=70_000))
    keep = Policy(decay_floor=0)
    assert archived(database, keep) == set()
    assert {fact.archived_from for fact in read_decaying(database, TENANT, keep)} == {None}


def test_facts_that_ended_and_facts_to_come_are_left_alone(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        for period, predicate in (("[,2020-01-01)", "works at"), ("[2999-01-01,)", "likes")):
            connection.execute(
                "update memory.facts set valid_time = %s where predicate = %s", [period, predicate]
            )
    recorded_ago(database_url, timedelta(days=1_000))
    assert archived(database) == set()


def test_what_is_archived_is_gone_now_and_there_in_history_and_at_past_instants(
    database: Database, database_url: str
) -> None:
    before = read_facts(database, TENANT, known_at=datetime(2024, 1, 9, tzinfo=UTC))
    recorded_ago(database_url, timedelta(days=181), "% tea")
    (gone,) = archive_decayed(database, TENANT, POLICY)
    assert live(database) == {"works at acme", "likes jazz"}
    (row,) = (
        f for f in read_facts(database, TENANT, with_history=True) if f.fact_id == gone.fact_id
    )
    assert (row.status, row.known_until) == (FactStatus.ARCHIVED, gone.known_at)
    after = read_facts(database, TENANT, known_at=datetime(2024, 1, 9, tzinfo=UTC))
    assert [(f.fact_id, f.status) for f in after] == [(f.fact_id, f.status) for f in before]
    assert read_ledger(database, TENANT).adds_up


def test_each_archived_fact_is_an_event_by_content_and_makes_its_entities_dirty(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.dirty_entities set bumps = 0")
    recorded_ago(database_url, timedelta(days=181), "% tea")
    (gone,) = archive_decayed(database, TENANT, POLICY)
    with psycopg.connect(database_url) as connection:
        event = connection.execute(
            "select kind, made_by, content ->> 'statement', known_at, after_fold"
            " from memory.corrections where tenant_id = %s",
            [TENANT],
        ).fetchall()
        dirty = connection.execute(
            "select e.name from memory.dirty_entities d join memory.entities e"
            " using (tenant_id, generation_id, entity_id) where d.bumps > 0 order by 1"
        ).fetchall()
    assert event == [("archive", "decay", "user likes tea", gone.known_at, 2)]
    assert dirty == [("tea",), ("user",)]


def test_doing_it_again_changes_nothing(database: Database, database_url: str) -> None:
    recorded_ago(database_url, timedelta(days=181))
    archive_decayed(database, TENANT, POLICY)
    content = memory_content(database_url)
    version = scalar(database_url, "select max(version) from memory.generations")
    assert archived(database) == set()
    assert memory_content(database_url) == content
    assert scalar(database_url, "select max(version) from memory.generations") == version


def test_other_tenants_keep_what_they_have(database: Database, database_url: str) -> None:
    content = memory_content(database_url, NEIGHBOUR)
    recorded_ago(database_url, timedelta(days=181))
    assert len(archived(database)) == 3
    assert memory_content(database_url, NEIGHBOUR) == content


def test_a_plan_made_before_the_archiving_is_stale(database: Database, database_url: str) -> None:
    import_history(database, [thread("later", ("likes: tea", START + 9 * DAY))])
    workshop = scripted_workshop(database, ScriptedExtractor())
    plan = next(TenantWalk(workshop, TENANT).walk()).plan()
    recorded_ago(database_url, timedelta(days=181), "% tea")
    assert archived(database) == {"user likes tea"}
    with pytest.raises(StalePlanError):
        apply_changes(database, plan.changes, plan.vectors)


def test_said_again_an_archived_fact_is_believed_anew(
    database: Database, database_url: str
) -> None:
    recorded_ago(database_url, timedelta(days=181), "% tea")
    (gone,) = archive_decayed(database, TENANT, POLICY)
    import_history(database, [thread("later", ("likes: tea", START + 9 * DAY))])
    fold_all(scripted_workshop(database, ScriptedExtractor()))
    (again,) = (f for f in read_facts(database, TENANT) if f.object == "tea")
    assert again.fact_id != gone.fact_id
    assert again.known_from > gone.known_at
