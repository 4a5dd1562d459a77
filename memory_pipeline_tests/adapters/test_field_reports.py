"""Faults reported of other systems, by their ids, where they concern the database itself.

Belongs here: rows of another worker that a write transaction meets. Does not: two whole workers
(cases) and refusals of stale plans (test_memory_writer).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

import psycopg
import pytest

from memory_pipeline.adapters.memory_writer import apply_changes
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk
from memory_pipeline.domain.changes import ChangeSet
from memory_pipeline.stages.walk import FoldPlan
from memory_pipeline_tests.field_reports import needs_reports, report
from memory_pipeline_tests.scripted import (
    TENANT,
    ScriptedExtractor,
    daily,
    import_history,
    scalar,
    scripted_workshop,
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    # One connection, so that the next write meets whatever state the first one left it in.
    database = Database(database_url, max_connections=1)
    import_history(database, daily("works at: acme; likes: tea", "works at: globex"))
    yield database
    database.close()


def next_plan(database: Database) -> FoldPlan:
    workshop = scripted_workshop(database, ScriptedExtractor())
    return next(TenantWalk(workshop, TENANT).walk()).plan()


def insert_entities(connection: psycopg.Connection, changes: ChangeSet) -> None:
    """The plan's new things, as another worker makes them."""
    for entity in changes.new_entities:
        connection.execute(
            "insert into memory.entities (tenant_id, generation_id, entity_id, name, type, "
            "memory_category, known_from, last_linked_at) values (%s, %s, %s, %s, %s, %s, %s, %s)",
            [
                changes.head.tenant_id,
                changes.head.generation_id,
                entity.entity_id,
                entity.name,
                entity.type.value,
                entity.memory_category.value,
                changes.known_at,
                changes.known_at,
            ],
        )


def counts(url: str) -> tuple[object, object]:
    """How many things and facts there are."""
    return (
        scalar(url, "select count(*) from memory.entities"),
        scalar(url, "select count(*) from memory.facts"),
    )


@needs_reports
def test_b45_things_that_another_worker_has_committed_do_not_abort_the_write(
    database: Database, database_url: str
) -> None:
    plan = next_plan(database)
    with psycopg.connect(database_url) as other:
        insert_entities(other, plan.changes)
    apply_changes(database, plan.changes, plan.vectors)
    survived = counts(database_url) == (len(plan.changes.new_entities), 2)
    assert survived is report("B45")["expected"]["transaction_survives"]
    after = next_plan(database)
    apply_changes(database, after.changes, after.vectors)
    assert scalar(database_url, "select count(*) from memory.folds") == 2


@pytest.mark.parametrize("is_committed", [True, False])
def test_b45_things_that_another_worker_is_about_to_commit_are_waited_for(
    database: Database, database_url: str, is_committed: bool
) -> None:
    plan = next_plan(database)
    with psycopg.connect(database_url) as other:
        insert_entities(other, plan.changes)
        writing = threading.Thread(
            target=apply_changes, args=(database, plan.changes, plan.vectors)
        )
        writing.start()
        _await_blocked(database_url)
        if is_committed:
            other.commit()
        else:
            other.rollback()
        writing.join(30)
    assert counts(database_url) == (len(plan.changes.new_entities), 2)


def _await_blocked(url: str) -> None:
    """Return once a session waits for another one's row."""
    waiting = (
        "select count(*) from pg_stat_activity where datname = current_database() "
        "and wait_event_type = 'Lock'"
    )
    pause = threading.Event()
    for _ in range(400):
        if scalar(url, waiting):
            return
        pause.wait(0.05)
    raise AssertionError("the write never met the other worker's row")
