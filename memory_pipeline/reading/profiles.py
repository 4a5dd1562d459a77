"""Profiles as people read them: the list, one with what it cites, those that failed.

Belongs here: rows and reads. Does not: building (adapters/profiles) and how they look (cli).
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from memory_pipeline.adapters.postgres import Database, Row
from memory_pipeline.domain.ids import EntityId, TenantId
from memory_pipeline.reading.scope import Instant, NotFoundError, Reading, read
from memory_pipeline.stages.fields import normalise_name


class CitedFact(Reading):
    """A fact that a sentence stands on."""

    fact_id: UUID
    subject: str
    predicate: str
    object: str
    valid_from: Instant | None
    valid_until: Instant | None


class CitedSentence(Reading):
    """A sentence of a profile; ids of facts not believed any more have no fact."""

    text: str
    fact_ids: tuple[UUID, ...]
    facts: tuple[CitedFact, ...] = ()


class DroppedRow(Reading):
    """A sentence that was left out, and why."""

    text: str
    reason: str


class ProfileRow(Reading):
    """The profile of an entity; stale when something changed since it was written.

    `is_extractive`: put together from the facts, no model wrote it. `is_held`: the last tries to
    renew it failed.
    """

    entity_id: UUID
    entity: str
    type: str
    text: str
    is_extractive: bool
    is_stale: bool
    is_held: bool
    model: str | None
    written_at: Instant
    sentences: tuple[CitedSentence, ...]
    dropped: tuple[DroppedRow, ...]


class HeldRow(Reading):
    """An entity whose profile failed; held ones are not tried again until asked for."""

    entity_id: UUID
    entity: str
    type: str
    attempts: int
    reason: str | None
    is_held: bool
    held_at: Instant | None
    next_try_at: Instant | None
    dirty_since: Instant


class NamedEntityRow(Reading):
    """An entity that a name or the first digits of an id stand for."""

    entity_id: UUID
    name: str
    type: str


def read_profiles(database: Database, tenant_id: TenantId) -> list[ProfileRow]:
    """Profiles in use by name, the user's first. Raises `NotFoundError` for an unknown tenant."""
    (rows,) = read(database, tenant_id, ("read_profiles", {"entity_id": None}))
    return [_profile(row, {}) for row in rows]


def read_profile(database: Database, tenant_id: TenantId, entity_id: EntityId) -> ProfileRow | None:
    """One profile with the facts it cites; None when the entity has none in use."""
    keys = {"entity_id": entity_id}
    rows, facts = read(database, tenant_id, ("read_profiles", keys), ("read_cited_facts", keys))
    cited = {row["fact_id"]: CitedFact.model_validate(row) for row in facts}
    return _profile(rows[0], cited) if rows else None


def read_failed_profiles(
    database: Database, tenant_id: TenantId, *, only_held: bool = False
) -> list[HeldRow]:
    """Entities whose profile failed since it was last written, held ones first."""
    (rows,) = read(database, tenant_id, ("read_held_profiles", {}))
    found = [HeldRow.model_validate(row) for row in rows]
    return [row for row in found if row.is_held or not only_held]


def find_entity(database: Database, tenant_id: TenantId, text: str) -> NamedEntityRow:
    """The entity that a name, another name or eight digits of an id stand for.

    Raises `NotFoundError` when there is none, or several, with their ids.
    """
    words = {"name": normalise_name(text), "text": text.strip().lower()}
    (rows,) = read(database, tenant_id, ("entities_named", words))
    found = [NamedEntityRow.model_validate(row) for row in rows]
    exact = [row for row in found if row.name == words["name"]]
    candidates = exact or found
    if not candidates:
        raise NotFoundError(
            f"tenant {tenant_id!r} knows nothing called {text!r}: see `memory-pipeline entities "
            f"--tenant {tenant_id}`"
        )
    if len(candidates) > 1:
        raise NotFoundError(f"{text!r} may be {_listed(candidates)}: name one by its id")
    return candidates[0]


def _listed(rows: Sequence[NamedEntityRow]) -> str:
    return " or ".join(f"{row.name} ({row.type}, {str(row.entity_id)[:8]})" for row in rows[:10])


def _profile(row: Row, cited: Mapping[UUID, CitedFact]) -> ProfileRow:
    sentences = []
    for span in row["citations"]:
        ids = tuple(UUID(fact_id) for fact_id in span["facts"])
        sentences.append(
            CitedSentence(
                text=row["text"][span["start"] : span["end"]],
                fact_ids=ids,
                facts=tuple(cited[fact_id] for fact_id in ids if fact_id in cited),
            )
        )
    return ProfileRow.model_validate({**row, "sentences": tuple(sentences)})
