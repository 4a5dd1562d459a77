"""The queue of entities to profile, what a builder sees of them, and what it stores (spec P1-P4).

Belongs here: claims, groundings, results, each in one short transaction. Does not: building
(adapters/profile_builder), the values (adapters/profile_claims).
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any
from uuid import UUID, uuid4

from pgvector import HalfVector
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.answer_store import storable
from memory_pipeline.adapters.postgres import Database, Row, RowConnection, execute
from memory_pipeline.adapters.profile_claims import (
    Claim,
    ClaimedEntity,
    Fail,
    Keep,
    Release,
    Result,
    Retire,
    StoredProfile,
    Write,
)
from memory_pipeline.adapters.queries import query
from memory_pipeline.domain.extraction import EntityType, MemoryCategory
from memory_pipeline.domain.ids import EntityId, FactId, GenerationId, TenantId
from memory_pipeline.domain.plan import OBSERVER
from memory_pipeline.domain.policy import Policy
from memory_pipeline.domain.profile import GroundFact, Grounding
from memory_pipeline.stages.resolve import user_entity

FIRST_ENTITY = EntityId(UUID(int=0))
"""Before all ids: where a full refresh begins."""


_REASON_CHARS = 1_000
_REST_MINUTES = 5


class ProfileStore:
    """The profiles of one tenant's live memory.

    Whoever claimed an entity last alone may store its profile: a claim that was lost stores
    nothing, so that no counter is lowered twice for one observation.
    """

    def __init__(self, database: Database, tenant_id: TenantId, policy: Policy) -> None:
        self._database = database
        self._keys: Row = {"tenant_id": tenant_id}
        self._tenant_id = tenant_id
        self._policy = policy

    def claim_due(self) -> Claim:
        """The entities that wait longest, at most `profile_batch_size`, with their groundings.

        As every claim: for `lease_minutes`, in one round trip to claim and one to read.
        """
        return self._claim("claim_due_profiles", {})

    def claim_next(self, after: EntityId) -> tuple[Claim, EntityId | None]:
        """The next entities behind `after` by id, dirty or not, and the last id looked at.

        Held, resting and claimed ones are passed by; None when there is none behind `after`.
        """
        claim = self._claim("claim_next_profiles", {"after": after})
        keys = self._keys | {"after": after, "batch_size": self._policy.profile_batch_size}
        with self._database.tenant_reads(self._tenant_id) as connection:
            cursor = execute(connection, "last_of_next_entities", keys)
        row = cursor.fetchone()
        return claim, EntityId(row["entity_id"]) if row else None

    def claim_one(self, entity_id: EntityId) -> Claim:
        """One entity, whoever had it; empty when the live memory has none of this id."""
        return self._claim("claim_profile", {"entity_id": entity_id})

    def _claim(self, statement: str, parameters: Row) -> Claim:
        keys = self._keys | parameters
        keys |= {
            "claim_id": uuid4(),
            "batch_size": self._policy.profile_batch_size,
            "lease_minutes": self._policy.lease_minutes,
            "facts_k": self._policy.profile_facts_k,
            "exempt": OBSERVER,
            "user_id": user_entity(self._tenant_id).entity_id,
        }
        # One writer at a time, so that no two wait for each other's rows.
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute(connection, "lock_profiles", keys)
            execute(connection, "bump_outlived_profiles", keys)
            claimed = connection.execute(query(statement), keys)
        mine = claimed.fetchall()
        if not mine:
            return Claim(keys["claim_id"], ())
        keys |= {"generation_id": mine[0]["generation_id"]}
        keys |= {"entity_ids": [row["entity_id"] for row in mine]}
        # One statement sees counters and facts as one instant left them.
        with self._database.tenant_reads(self._tenant_id) as connection:
            names = execute(connection, "names_of_user", keys)
            groundings = execute(connection, "claimed_groundings", keys)
        rows = groundings.fetchall()
        user_names = tuple((names.fetchone() or {"names": ()})["names"])
        entities = tuple(
            _claimed(list(group), user_names)
            for _, group in groupby(rows, key=lambda row: row["entity_id"])
        )
        return Claim(keys["claim_id"], entities, rows[0]["profile_id"] if rows else "")

    def store(self, claim: Claim, results: Iterable[Result]) -> dict[EntityId, bool]:
        """Store results in one transaction and one round trip: which entities' were accepted.

        A result is refused where somebody else claimed the entity meanwhile. For a `Fail` the
        answer is whether the entity is held from now on.
        """
        chosen = list(results)
        answers: list[tuple[Result, Any]] = []
        with self._database.tenant_pipeline(self._tenant_id) as connection:
            execute(connection, "lock_profiles", self._keys)
            for result in chosen:
                answers.append((result, self._store(connection, claim, result)))
        accepted: dict[EntityId, bool] = {}
        for result, cursor in answers:
            row = cursor.fetchone() if cursor.description is not None else None
            is_said = row is not None and bool(next(iter(row.values())))
            accepted[result.entity.entity_id] = is_said
        return accepted

    def _store(self, connection: RowConnection, claim: Claim, result: Result) -> Any:
        entity = result.entity
        keys = self._keys | {
            "generation_id": entity.generation_id,
            "entity_id": entity.entity_id,
            "claim_id": claim.claim_id,
            "observed": entity.observed,
            "observed_at": entity.grounding.at,
            "holds_until": entity.grounding.holds_until(),
        }
        match result:
            case Retire():
                return execute(connection, "retire_profile", keys)
            case Keep():
                return execute(connection, "keep_profile", keys)
            case Write():
                return execute(connection, "store_profile", keys | _columns(result))
            case Fail(reason=reason):
                limits = {
                    "reason": storable(reason)[:_REASON_CHARS],
                    "most_attempts": self._policy.profile_attempts,
                }
                return execute(connection, "fail_profile", keys | limits)
            case Release(is_resting=is_resting):
                rest = _REST_MINUTES if is_resting else 0
                released = {"entity_ids": [entity.entity_id], "rest_minutes": rest}
                return execute(connection, "release_profiles", keys | released)

    def release(self, claim: Claim, *, is_resting: bool = False) -> None:
        """Give claimed entities back, to be tried by anybody at once or after a while."""
        if claim.entities:
            self.store(claim, [Release(entity, is_resting) for entity in claim.entities])

    def retry(self, entity_id: EntityId | None = None) -> list[EntityId]:
        """Held entities, and those that rest after a failure, are due again; which ones."""
        with self._database.tenant(self._tenant_id) as connection:
            cursor = execute(
                connection, "retry_held_profiles", self._keys | {"entity_id": entity_id}
            )
            return [EntityId(row["entity_id"]) for row in cursor.fetchall()]


def due_tenants(database: Database, limit: int) -> dict[TenantId, int]:
    """Tenants with entities to profile now and how many, the one that waits longest first."""
    with database.operator() as connection:
        rows = execute(connection, "tenants_with_due_profiles", {"limit": limit}).fetchall()
    return {TenantId(row["tenant_id"]): row["entities"] for row in rows}


def tenants_with_memory(database: Database) -> list[TenantId]:
    """Every tenant whose memory has a live generation."""
    with database.operator() as connection:
        rows = execute(connection, "tenants_with_memory").fetchall()
    return [TenantId(row["tenant_id"]) for row in rows]


def _claimed(rows: Sequence[Row], user_names: tuple[str, ...]) -> ClaimedEntity:
    first = rows[0]
    stored = StoredProfile(first["grounding"], first["facts_digest"], first["is_extractive"])
    return ClaimedEntity(
        generation_id=GenerationId(first["generation_id"]),
        grounding=Grounding(
            entity_id=EntityId(first["entity_id"]),
            name=first["name"],
            type=EntityType(first["type"]),
            facts=tuple(_fact(row) for row in rows if row["fact_id"] is not None),
            at=first["observed_at"].astimezone(UTC),
            aliases=tuple(first["aliases"]),
            user_names=user_names,
        ),
        observed=first["bumps"],
        failed_tries=first["failed_tries"],
        is_out_of_use=first["is_out_of_use"],
        stored=stored if first["grounding"] is not None else None,
    )


def _fact(row: Row) -> GroundFact:
    return GroundFact(
        fact_id=FactId(row["fact_id"]),
        subject=row["subject"],
        predicate=row["predicate"],
        object=row["object"],
        valid_from=_in_utc(row["valid_from"]),
        valid_until=_in_utc(row["valid_until"]),
        known_from=row["known_from"].astimezone(UTC),
        has_stated_start=row["has_stated_start"],
        quote=row["quote"],
        memory_category=MemoryCategory(row["memory_category"]),
    )


def _in_utc(instant: datetime | None) -> datetime | None:
    return None if instant is None else instant.astimezone(UTC)


def _columns(write: Write) -> Row:
    profile = write.profile
    return {
        "text": profile.text,
        "citations": Jsonb(
            [
                {"start": start, "end": end, "facts": [str(i) for i in sentence.fact_ids]}
                for start, end, sentence in profile.spans()
            ]
        ),
        "dropped": Jsonb([{"text": d.text, "reason": d.reason} for d in profile.dropped]),
        "cited_facts": list(profile.cited()),
        "is_extractive": profile.is_extractive,
        "grounding": write.grounding,
        "facts_digest": write.facts_digest,
        "model": write.model,
        "prompt_digest": write.prompt_digest,
        "request_digest": write.request_digest,
        "embedding": None if write.vector is None else HalfVector(list(write.vector)),
    }
