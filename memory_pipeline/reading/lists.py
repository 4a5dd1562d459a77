"""Lists of what a tenant has beside facts: entities, episodes, instructions, open points.

Belongs here: one row type and one read for each list. Does not: facts (reading/facts).
"""

from collections.abc import Sequence
from uuid import UUID

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.scope import Instant, Reading, read


class EntityRow(Reading):
    """A thing that memory knows; `facts` counts believed facts about it or pointing to it."""

    entity_id: UUID
    name: str
    type: str
    memory_category: str
    aliases: tuple[str, ...]
    facts: int
    last_linked_at: Instant


class EpisodeRow(Reading):
    """A window of a thread. `ordinal` = arrival, `position` = rank in time, both from 1."""

    ordinal: int
    position: int
    thread_id: str
    first_seq: int
    last_seq: int
    started_at: Instant
    ended_at: Instant
    messages: int
    status: str
    attempts: int
    error: str | None
    summary_status: str


class InstructionRow(Reading):
    """One state of a standing order; `quote` is the beginning of the message that gave it."""

    label: str
    description: str
    is_active: bool
    known_from: Instant
    known_until: Instant | None
    message_id: UUID | None
    quote: str | None


class UncertaintyRow(Reading):
    """An open point. `candidate` is a whole candidate as JSON text, where there was one."""

    about: str
    reason: str
    subject: str | None
    predicate: str | None
    candidate: str | None
    message_id: UUID | None
    opened_by: int | None
    resolved_by: int | None
    resolved_at: Instant | None


def read_entities(database: Database, tenant_id: TenantId) -> list[EntityRow]:
    """Entities by name, the user first; merged ones are left out.

    Raises `NotFoundError` for an unknown tenant, as all reads here do.
    """
    _, rows = read(database, tenant_id, ("prefer_hash_joins", {}), ("read_entities", {}))
    return [EntityRow.model_validate(row) for row in rows]


def read_episodes(
    database: Database, tenant_id: TenantId, *, statuses: Sequence[str] | None = None
) -> list[EpisodeRow]:
    """Episodes in position order, all or those with one of the statuses."""
    parameters = {"statuses": None if statuses is None else list(statuses)}
    (rows,) = read(database, tenant_id, ("read_episodes", parameters))
    return [EpisodeRow.model_validate(row) for row in rows]


def read_instructions(
    database: Database, tenant_id: TenantId, *, with_history: bool = False
) -> list[InstructionRow]:
    """Instructions by label as they stand, revoked ones with `is_active` False.

    With history also the states they had before.
    """
    (rows,) = read(database, tenant_id, ("read_instructions", {"with_history": with_history}))
    return [InstructionRow.model_validate(row) for row in rows]


def read_uncertainties(
    database: Database, tenant_id: TenantId, *, with_resolved: bool = False
) -> list[UncertaintyRow]:
    """Open points in the order they came up; with resolved also those settled since."""
    (rows,) = read(database, tenant_id, ("read_uncertainties", {"with_resolved": with_resolved}))
    return [UncertaintyRow.model_validate(row) for row in rows]
