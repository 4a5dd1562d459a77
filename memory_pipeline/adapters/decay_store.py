"""Forgetting in the database: archiving what faded, and telling what will (spec F1, F2).

Belongs here: running both for one tenant. Does not: the rule (decay.sql, on the database's clock),
counting reads (access_counters).
"""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from memory_pipeline.adapters.postgres import Database, Row, execute
from memory_pipeline.domain.ids import FactId, TenantId
from memory_pipeline.domain.policy import Policy


@dataclass(frozen=True)
class ArchivedFact:
    """A fact that is believed no more since `known_at`."""

    fact_id: FactId
    statement: str
    known_at: datetime


@dataclass(frozen=True)
class DecayingFact:
    """A fact that holds, with its relevance in [0, inf) and when it goes unless it is read.

    `archived_from` is None where it never goes.
    """

    fact_id: FactId
    statement: str
    access_count: int
    last_accessed_at: datetime | None
    counted_from: datetime
    relevance: float
    is_due: bool
    archived_from: datetime | None


def archive_decayed(database: Database, tenant_id: TenantId, policy: Policy) -> list[ArchivedFact]:
    """Archive the tenant's facts of less relevance than the floor, in one statement.

    An unread fact goes `half_life * log2(1 / floor)` after it was recorded: 180 days by default.
    Ended facts and those still to come are left alone. Doing it twice archives nothing twice.
    """
    with database.tenant_pipeline(tenant_id) as connection:
        cursor = execute(connection, "archive_decayed", _parameters(tenant_id, policy))
    return [ArchivedFact(**row) for row in cursor.fetchall()]


def read_decaying(
    database: Database, tenant_id: TenantId, policy: Policy, limit: int | None = None
) -> list[DecayingFact]:
    """The facts that hold now, those first that go first, all or so many; changes nothing."""
    with database.tenant_reads(tenant_id) as connection:
        cursor = execute(
            connection, "read_decaying", _parameters(tenant_id, policy) | {"limit": limit}
        )
    return [
        DecayingFact(**row | {"relevance": float(row["relevance"])}) for row in cursor.fetchall()
    ]


def _parameters(tenant_id: TenantId, policy: Policy) -> Row:
    return {
        "tenant_id": tenant_id,
        "floor": Decimal(str(policy.decay_floor)),
        "half_life_days": Decimal(str(policy.decay_half_life_days)),
    }
