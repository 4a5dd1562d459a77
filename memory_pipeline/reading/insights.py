"""Insights of a tenant and the account of how they were found.

Belongs here: two lists. Does not: finding them (stages/insight, adapters/insight_store).
"""

from typing import Any
from uuid import UUID

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.scope import Instant, Reading, read


class InsightRow(Reading):
    """What several facts show together; `significance` in [0, 1], `derived_from` are fact ids."""

    fact_id: UUID
    statement: str
    significance: float
    derived_from: tuple[UUID, ...]
    known_from: Instant
    known_until: Instant | None
    ended_reason: str | None


class InsightRunRow(Reading):
    """One search over `facts` facts: each proposal with its outcome, in the order of deciding."""

    run_at: Instant
    facts: int
    request_digest: str | None
    outcomes: tuple[dict[str, Any], ...]


def read_insights(
    database: Database, tenant_id: TenantId, *, with_history: bool = False
) -> list[InsightRow]:
    """Insights that are believed, the latest first; with history also archived ones.

    Raises `NotFoundError` for an unknown tenant.
    """
    (rows,) = read(database, tenant_id, ("read_insights", {"with_history": with_history}))
    return [InsightRow(**row) for row in rows]


def read_insight_runs(
    database: Database, tenant_id: TenantId, limit: int = 20
) -> list[InsightRunRow]:
    """The latest searches. Raises `NotFoundError` for an unknown tenant."""
    (rows,) = read(database, tenant_id, ("read_insight_runs", {"limit": limit}))
    return [InsightRunRow(**row) for row in rows]
