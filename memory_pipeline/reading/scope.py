"""What every read shares: one tenant, one round trip, values with times in UTC.

Belongs here: the base of the values, running named statements for a tenant that exists.
Does not: any particular read.
"""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from memory_pipeline.adapters.postgres import Database, Row, execute
from memory_pipeline.domain.ids import TenantId


class NotFoundError(LookupError):
    """What was asked for does not exist; the message says what to do."""


class UnreadableError(ValueError):
    """What was asked for can't be read: no id, no words; the message says what to write."""


def _in_utc(instant: datetime) -> datetime:
    return instant.astimezone(UTC)


Instant = Annotated[datetime, AfterValidator(_in_utc)]
"""An aware time in UTC, whatever zone the connection speaks."""


class Reading(BaseModel):
    """Base of what reads give; columns that only help to make the value are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


def read(
    database: Database, tenant_id: TenantId, *statements: tuple[str, dict[str, Any]]
) -> list[list[Row]]:
    """The rows of each (named statement, parameters), all in one transaction and round trip.

    `tenant_id` is among the parameters of each. Raises `NotFoundError` for an unknown tenant.
    """
    keys = {"tenant_id": tenant_id}
    with database.tenant_pipeline(tenant_id) as connection:
        tenant = execute(connection, "reading_tenant", keys)
        cursors = [execute(connection, name, keys | rest) for name, rest in statements]
    require_tenant(tenant.fetchone(), tenant_id)
    return [cursor.fetchall() for cursor in cursors]


def require_tenant(row: Row | None, tenant_id: TenantId) -> None:
    """Raise `NotFoundError` when the row of the tenant is missing."""
    if row is None:
        raise NotFoundError(
            f"there is no tenant {tenant_id!r}: import its history first "
            "(memory-pipeline import PATH --tenant NAME)"
        )


def ensure_tenant_exists(database: Database, tenant_id: TenantId) -> None:
    """Raise `NotFoundError` when nothing was ever imported for the tenant."""
    read(database, tenant_id)
