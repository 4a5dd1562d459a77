"""Episodes of runs: imported with their partitions, and what became of them.

Belongs here: what tests of runs share about episodes. Does not: fixtures (conftest) and walks.
"""

from __future__ import annotations

import dagster as dg

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs.partitions import register_partitions
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.scripted import daily, import_history

ANN = TenantId("ann")


def history(
    instance: dg.DagsterInstance, database: Database, *texts: str, tenant_id: TenantId = ANN
) -> None:
    """Import an episode for each text, a day apart, with their partitions."""
    import_history(database, daily(*texts), tenant_id)
    register_partitions(instance, tenant_id, len(texts))


def statuses(database: Database, last: int, tenant_id: TenantId = ANN) -> list[str]:
    """The status of each episode up to the last; every one of them must be there."""
    found = ConversationStore(database).statuses(tenant_id, range(1, last + 1))
    return [found[ordinal] for ordinal in range(1, last + 1)]
