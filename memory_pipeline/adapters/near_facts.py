"""The facts that can matter to an episode's claims, read for all claims at once.

Belongs here: asking for what shares subject and object, slot or meaning with a claim, and telling
it apart by claim. Does not: ranking by signs (sign_index), what is near enough (stages).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from pgvector import HalfVector
from psycopg import Cursor

from memory_pipeline.adapters.postgres import Row, RowConnection, execute
from memory_pipeline.adapters.sign_index import Ids, Vector
from memory_pipeline.domain.changes import Neighbour
from memory_pipeline.domain.claim import ResolvedClaim
from memory_pipeline.domain.extraction import MemoryCategory, Tier
from memory_pipeline.domain.fact import EndedReason, FactVersion
from memory_pipeline.domain.ids import EntityId, FactId
from memory_pipeline.stages.ports import NearnessLimits

Cursors = tuple[Cursor[Row], Cursor[Row]]
"""Answers on same objects and on neighbours."""


@dataclass(frozen=True)
class NearFacts:
    """A question for all claims of an episode; `vectors` by claim ref."""

    claims: Sequence[ResolvedClaim]
    vectors: Mapping[str, Vector]
    limits: NearnessLimits

    def ask(self, connection: RowConnection, keys: Row, near: Sequence[Ids]) -> Cursors:
        """Ask in a pipeline; `near` holds for each claim the facts to compare it with."""
        claims = self.claims
        same_object = {
            "subjects": [c.subject_id for c in claims],
            "objects": [c.object_id for c in claims],
            "texts": [None if c.object_id else c.claim.object for c in claims],
        }
        nearby = {
            "subject_ids": [c.subject_id for c in claims],
            "predicates": [c.claim.predicate for c in claims],
            "said_at": [c.claim.said_at for c in claims],
            "first_said_at": min(c.claim.said_at for c in claims),
            "vectors": [HalfVector(list(self.vectors[c.claim.ref])) for c in claims],
            "near": list(near),
            "minimum": self.limits.minimum_similarity,
            "considered": self.limits.considered,
            "counted": self.limits.counted,
        }
        return (
            execute(connection, "facts_of_objects", keys | same_object),
            execute(connection, "nearby_facts", keys | nearby),
        )

    def read(self, cursors: Cursors) -> dict[str, Any]:
        """The parts of a `MemoryState` that follow from the answers."""
        same_object, nearby = cursors
        rows = {row["fact_id"]: row for row in same_object.fetchall()}
        refs = [claim.claim.ref for claim in self.claims]
        similarities: dict[tuple[str, str], float] = {}
        beyond: dict[str, list[Neighbour]] = defaultdict(list)
        for row in nearby.fetchall():
            is_considered = row["version"] is not None
            if is_considered:
                rows[row["fact_id"]] = row
            for ref, other in _neighbours(row, refs):
                if not is_considered:
                    beyond[ref].append(other)
                similarities[ref, str(other.fact_id)] = other.similarity
        return {
            "facts": tuple(fact_of(rows[key]) for key in sorted(rows, key=in_order)),
            "similarities": similarities,
            "quotes": {FactId(key): row["quote"] for key, row in rows.items() if row["quote"]},
            "beyond": {ref: tuple(others) for ref, others in beyond.items()},
        }


def _neighbours(row: Row, refs: Sequence[str]) -> Iterator[tuple[str, Neighbour]]:
    """The claims, by ref, that a fact is near to; one without a vector is as far as can be."""
    for claim, is_slot, similarity in zip(
        row["claims"], row["slots"], row["similarities"], strict=True
    ):
        yield (
            refs[claim - 1],
            Neighbour.model_construct(
                fact_id=FactId(row["fact_id"]), is_slot=is_slot, similarity=similarity or 0.0
            ),
        )


def in_order(key: UUID) -> int:
    """Sorts ids as the server does; faster than comparing them."""
    return key.int


def fact_of(row: Row) -> FactVersion:
    """A version from a row; built without validation, since every fold reads many."""
    ended_reason: str | None = row["ended_reason"]
    successor: Any = row["successor_id"]
    known_from: datetime = row["known_from"]
    return FactVersion.model_construct(
        fact_id=FactId(row["fact_id"]),
        version=row["version"],
        subject_id=EntityId(row["subject_id"]),
        predicate=row["predicate"],
        object_id=EntityId(row["object_id"]) if row["object_id"] else None,
        object_text=row["object_text"],
        statement=row["statement"],
        valid_from=row["valid_from"],
        valid_until=row["valid_until"],
        known_from=known_from,
        confidence=row["confidence"],
        memory_category=MemoryCategory(row["memory_category"]),
        tier=Tier(row["tier"]),
        has_stated_start=bool(row["has_stated_start"]),
        opened_by=row["opened_by"],
        ended_by=row["ended_by"],
        ended_reason=EndedReason(ended_reason) if ended_reason else None,
        successor_id=FactId(successor) if successor else None,
    )
