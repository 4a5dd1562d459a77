"""Facts: accepted claims, as versions with two periods each, and their status at a point in time.

Belongs here: the version value, period arithmetic, status. Does not: how versions come to be
(domain/plan) and how they are stored (adapters).
"""

from datetime import UTC, datetime, timedelta
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.extraction import EntityType, MemoryCategory, Tier
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId

FIRST_INSTANT = datetime.min.replace(tzinfo=UTC)
LAST_INSTANT = datetime.max.replace(tzinfo=UTC)
TICK = timedelta(microseconds=1)


class EndedReason(StrEnum):
    """Why a fact's period ended, or why a version is not believed any more."""

    ENDED = "ended"
    SUPERSEDED = "superseded"
    CASCADE = "cascade"
    INVALIDATED = "invalidated"
    REDATED = "redated"
    REOPENED = "reopened"
    DECAYED = "decayed"
    MERGED = "merged"


class FactStatus(StrEnum):
    """What a fact is at one (valid, known) point."""

    LIVE = "live"
    FUTURE = "future"
    ENDED = "ended"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    ARCHIVED = "archived"


class Entity(BaseModel):
    """A resolved thing of one generation."""

    model_config = ConfigDict(frozen=True)

    entity_id: EntityId
    name: str
    type: EntityType
    memory_category: MemoryCategory = MemoryCategory.CONTEXT
    last_linked_at: datetime = FIRST_INSTANT


class FactVersion(BaseModel):
    """One version of a fact. Valid time `[valid_from, valid_until)`, None = unbounded.

    `ended_reason` with `successor_id` says why `valid_until` stands there.
    """

    model_config = ConfigDict(frozen=True)

    fact_id: FactId
    version: int
    subject_id: EntityId
    predicate: str
    object_id: EntityId | None
    object_text: str | None
    statement: str
    valid_from: datetime | None
    valid_until: datetime | None
    known_from: datetime
    confidence: float
    memory_category: MemoryCategory
    tier: Tier
    has_stated_start: bool = False
    opened_by: EpisodeId | None = None
    ended_by: EpisodeId | None = None
    ended_reason: EndedReason | None = None
    successor_id: FactId | None = None

    def object_key(self) -> tuple[EntityId | None, str | None]:
        """What two facts must share to have the same object."""
        return (self.object_id, self.object_text)


def start_of(valid_from: datetime | None) -> datetime:
    """An unbounded start as the first instant, so that starts compare."""
    return valid_from or FIRST_INSTANT


def end_of(valid_until: datetime | None) -> datetime:
    """An open end as the last instant, so that ends compare."""
    return valid_until or LAST_INSTANT


def has_ended(valid_until: datetime | None, at: datetime) -> bool:
    """Whether a period is over at an instant; ends are exclusive."""
    return end_of(valid_until) <= at


def next_known_instant(ended_at: datetime, last_known_at: datetime | None) -> datetime:
    """Known instant of an episode: its end, but always after the one before (design.md, words)."""
    if last_known_at is None:
        return ended_at
    return max(ended_at, last_known_at + TICK)
