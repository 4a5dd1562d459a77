"""Facts as they hold at one valid instant and were believed at one known instant.

Belongs here: the row of a fact and its status (design.md, words). Does not: how facts change
(domain/plan), one fact in depth (reading/explain).
"""

from datetime import UTC, datetime
from uuid import UUID

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.fact import EndedReason, FactStatus, end_of, has_ended, start_of
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.scope import Instant, Reading, read

_DROPPED = {
    EndedReason.INVALIDATED: FactStatus.INVALIDATED,
    EndedReason.DECAYED: FactStatus.ARCHIVED,
    EndedReason.MERGED: FactStatus.ENDED,
}
"""Why the last version of a fact is not believed any more, as a status."""


class FactRow(Reading):
    """One version of a fact. Periods are half-open, None = unbounded.

    `episode` is the ordinal of the episode that opened the fact, None for one that no episode
    made. `source_quote` is `text[span_start:span_end]` of the message.
    """

    fact_id: UUID
    subject: str
    predicate: str
    object: str
    object_is_entity: bool
    valid_from: Instant | None
    valid_until: Instant | None
    known_from: Instant
    known_until: Instant | None
    status: FactStatus
    superseded_by: UUID | None
    confidence: float
    memory_category: str
    source_quote: str | None
    message_id: UUID | None
    episode: int | None
    span_start: int | None
    span_end: int | None


def read_facts(
    database: Database,
    tenant_id: TenantId,
    *,
    valid_at: datetime | None = None,
    known_at: datetime | None = None,
    with_history: bool = False,
) -> list[FactRow]:
    """Facts that hold at `valid_at`, as believed at `known_at` (last); by default those that hold
    now and those that will.

    With history: every version known by `known_at`, of any status. A version that a later one
    of its fact replaced has the status it had while it was believed, and its `known_until`.
    Sorted by subject (the user first), predicate, start, object. Raises `NotFoundError` for an
    unknown tenant.
    """
    at = valid_at or datetime.now(UTC)
    parameters = {"valid_at": at, "known_at": known_at, "with_history": with_history}
    _, rows = read(database, tenant_id, ("prefer_hash_joins", {}), ("read_facts", parameters))
    facts = [_fact(row, at, known_at) for row in rows]
    if valid_at is None or with_history:
        return facts
    return [fact for fact in facts if fact.status is FactStatus.LIVE]


def _fact(row: Row, at: datetime, known_at: datetime | None) -> FactRow:
    status = status_of(row, at, known_at)
    return FactRow(**row, status=status, superseded_by=row["successor_id"])


def status_of(row: Row, at: datetime, known_at: datetime | None = None) -> FactStatus:
    """Status of a version at a valid instant, as known at `known_at` (None = by now).

    `row` holds the periods, `is_last` (no newer version is known), `ended_reason` and
    `successor_id`.
    """
    if not _is_believed(row, known_at):
        if row["is_last"]:
            return _DROPPED.get(EndedReason(row["ended_reason"] or "ended"), FactStatus.ENDED)
        at = row["known_until"]  # later beliefs say nothing of this one
    valid_until = row["valid_until"]
    if has_ended(valid_until, at):
        is_superseded = (
            row["ended_reason"] == EndedReason.SUPERSEDED or row["successor_id"] is not None
        )
        return FactStatus.SUPERSEDED if is_superseded else FactStatus.ENDED
    return FactStatus.FUTURE if start_of(row["valid_from"]) > at else FactStatus.LIVE


def _is_believed(row: Row, known_at: datetime | None) -> bool:
    if known_at is None:
        return row["known_until"] is None
    return end_of(row["known_until"]) > known_at
