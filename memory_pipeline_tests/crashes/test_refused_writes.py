"""A connection that writes were refused on serves on, however often that was (spec W1, W2)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import StalePlanError, apply_changes
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.crashes.histories import import_episodes, rich_workshop
from memory_pipeline_tests.scripted import fold_all

TENANT = TenantId("ann")
_MANY = 12
"""psycopg prepares a statement at its sixth use: some of those must lie behind a refusal."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    # One connection, so that refusals and what follows meet on it.
    database = Database(database_url, max_connections=1)
    yield database
    database.close()


def test_statements_prepared_behind_a_refusal_are_not_taken_for_prepared(
    database: Database,
) -> None:
    import_episodes(database, TENANT)
    workshop = rich_workshop(database, TENANT)
    conversations = ConversationStore(database)
    for walked in TenantWalk(workshop, TENANT).walk():
        changes = walked.plan().changes
        break
    stale = changes.model_copy(update={"head": changes.head.model_copy(update={"version": 7})})
    for served_before in range(6):
        database.close()
        for _ in range(served_before):
            conversations.release_leases(TENANT)
        for _ in range(_MANY):
            with pytest.raises(StalePlanError):
                apply_changes(database, stale, {})
            conversations.release_leases(TENANT)
    assert fold_all(workshop, TENANT) == [1, 2, 3, 4, 5]
