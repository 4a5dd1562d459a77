"""Repair in the database: merging entities of one name, and taking a merge apart (spec M1).

Belongs here: one tenant's repair, each in one transaction, recorded as events. Does not: which
entities and facts (stages/repair).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from memory_pipeline.adapters.generation_store import claim_event
from memory_pipeline.adapters.postgres import (
    Database,
    Row,
    RowConnection,
    execute,
    execute_many,
)
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.ids import EntityId, FactId, GenerationId, TenantId, derive_id
from memory_pipeline.domain.plan import OBSERVER
from memory_pipeline.stages.repair import (
    ClosedFact,
    EntityRepairs,
    FactRepairs,
    HeldFact,
    Merge,
    MovedFact,
    NamedEntity,
    plan_entities,
    plan_facts,
)
from memory_pipeline.stages.resolve import user_entity
from memory_pipeline.stages.walk import StalePlanError

_ENDS = ("subject_id", "object_id")
_MOST_PLANS = 4
"""Plans of one repair, the first and its remakes, when memory moves under it."""


class UnknownMergeError(LookupError):
    """There is no such merge to take apart; the message says where to look."""


@dataclass(frozen=True)
class Repaired:
    """What a repair did, or would do: `known_at` is None when nothing was written."""

    entities: EntityRepairs
    facts: FactRepairs
    known_at: datetime | None = None


@dataclass(frozen=True)
class RecordedMerge:
    """A merge as it was recorded; `undone_at` is set when it was taken apart."""

    event_id: UUID
    loser: str
    winner: str
    type: str
    known_at: datetime
    undone_at: datetime | None


@dataclass(frozen=True)
class _Head:
    generation_id: GenerationId
    version: int
    folded_count: int


@dataclass(frozen=True)
class _Plan:
    """What to do, and the memory it was made on: its head (None: no memory), facts held."""

    repairs: EntityRepairs
    facts: FactRepairs
    head: _Head | None
    held: tuple[HeldFact, ...] = ()

    def of_gone_entities(self) -> dict[FactId, HeldFact]:
        """The held facts that have an entity at either end which is merged away or retired."""
        gone = {*self.repairs.winner_of(), *_ids(self.repairs.retired)}
        return {f.fact_id: f for f in self.held if not gone.isdisjoint((f.subject_id, f.object_id))}


def repair_tenant(database: Database, tenant_id: TenantId, *, dry_run: bool = False) -> Repaired:
    """Merge the tenant's entities of equal type and normalised name; with `dry_run` only tell.

    All or nothing, and nothing the second time. Raises `StalePlanError` when memory kept moving.
    """
    for attempt in range(1, _MOST_PLANS + 1):
        plan = _plan(database, tenant_id)
        if plan.head is None or plan.repairs.is_empty or dry_run:
            return Repaired(plan.repairs, plan.facts)
        try:
            return Repaired(plan.repairs, plan.facts, _apply(database, tenant_id, plan.head, plan))
        except StalePlanError:
            if attempt == _MOST_PLANS:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def read_merges(database: Database, tenant_id: TenantId) -> list[RecordedMerge]:
    """Every merge of the tenant, the latest first."""
    with database.tenant_reads(tenant_id) as connection:
        cursor = execute(connection, "merges", {"tenant_id": tenant_id})
    return [_recorded(row) for row in cursor.fetchall()]


def _recorded(row: Row) -> RecordedMerge:
    loser, winner = row["content"]["loser"], row["content"]["winner"]
    return RecordedMerge(
        event_id=row["correction_id"],
        loser=loser["name"],
        winner=winner["name"],
        type=loser["type"],
        known_at=row["known_at"],
        undone_at=row["undone_at"],
    )


def undo_merge(database: Database, tenant_id: TenantId, event_id: UUID) -> RecordedMerge:
    """Take a merge apart: facts that still hold where it put them go back to their entities.

    What was closed as a duplicate is believed again. Repair will not merge the two again. Raises
    `UnknownMergeError` for one that is not there or was taken apart before.
    """
    keys: Row = {"tenant_id": tenant_id}
    with database.tenant(tenant_id) as connection:
        _standing_merge(connection, keys, event_id)
        head = _head(execute(connection, "repairable_entities", keys).fetchall())
        keys |= {"generation_id": head.generation_id, "version": None}
        keys["known_at"] = claim_event(connection, keys)
        # Behind the tenant's lock: of two who take it apart at once one comes too late.
        row = _standing_merge(connection, keys, event_id)
        _take_apart(connection, keys, row["content"])
        execute(connection, "undo_event", keys | {"correction_id": event_id})
    return _recorded(row)


def _standing_merge(connection: RowConnection, keys: Row, event_id: UUID) -> Row:
    merges = execute(connection, "merges", keys).fetchall()
    for row in merges:
        if row["correction_id"] == event_id and row["undone_at"] is None:
            return row
    raise UnknownMergeError(
        f"tenant {keys['tenant_id']!r} has no merge {event_id} to take apart: see "
        "`memory-pipeline upkeep repair --list`"
    )


def _plan(database: Database, tenant_id: TenantId) -> _Plan:
    keys: Row = {"tenant_id": tenant_id}
    with database.tenant_reads(tenant_id) as connection:
        entities = execute(connection, "repairable_entities", keys)
        undone = execute(connection, "undone_merges", keys)
    rows = entities.fetchall()
    if not rows:
        return _Plan(EntityRepairs(), FactRepairs(), None)
    head = _head(rows)
    named = [
        NamedEntity(EntityId(row["entity_id"]), row["name"], EntityType(row["type"]))
        for row in rows
        if row["entity_id"] is not None
    ]
    fixed = {user_entity(tenant_id).entity_id}
    fixed |= {entity.entity_id for entity in named if entity.name == OBSERVER}
    repairs = plan_entities(
        named, fixed, {(row["loser_id"], row["winner_id"]) for row in undone.fetchall()}
    )
    if repairs.is_empty:
        return _Plan(repairs, FactRepairs(), head)
    touched = [*repairs.winner_of(), *repairs.winner_of().values()]
    touched += [entity.entity_id for entity in repairs.retired]
    keys |= {"generation_id": head.generation_id, "entity_ids": touched}
    with database.tenant_reads(tenant_id) as connection:
        facts = execute(connection, "facts_of_entities", keys)
    held = tuple(HeldFact(**row) for row in facts.fetchall())
    return _Plan(repairs, plan_facts(held, repairs), head, held)


def _head(rows: Sequence[Row]) -> _Head:
    return _Head(
        GenerationId(rows[0]["generation_id"]), rows[0]["version"], rows[0]["folded_count"]
    )


def _apply(database: Database, tenant_id: TenantId, head: _Head, plan: _Plan) -> datetime:
    """Write the plan, if memory is where it was made on; the known instant of the change."""
    keys: Row = {
        "tenant_id": tenant_id,
        "generation_id": head.generation_id,
        "version": head.version,
        "after_fold": head.folded_count,
        "made_by": "repair",
    }
    repairs, facts, before = plan.repairs, plan.facts, plan.of_gone_entities()
    with database.tenant(tenant_id) as connection:
        known_at = keys["known_at"] = claim_event(connection, keys)
        followers = execute(
            connection, "followers", keys | {"entity_ids": list(repairs.winner_of())}
        ).fetchall()
        _write_facts(connection, keys, facts)
        for merge in repairs.merges:
            mine = [r["entity_id"] for r in followers if r["redirect_to"] == merge.loser.entity_id]
            ids = {"entity_ids": [merge.loser.entity_id, *mine]}
            execute(
                connection, "redirect_entities", keys | ids | {"target_id": merge.winner.entity_id}
            )
            _record(connection, keys, "merge", _merge_content(merge, mine, before, facts))
        for entity in repairs.retired:
            execute(connection, "retire_entity", keys | {"entity_id": entity.entity_id})
            _record(connection, keys, "retire", {"entity": _shown(entity)})
        dirty = {m.winner.entity_id for m in repairs.merges}
        dirty |= {e for m in facts.moved for e in (m.subject_id, m.object_id) if e}
        closed = [before[c.fact_id] for c in facts.closed if c.fact_id in before]
        dirty |= {e for f in closed for e in (f.subject_id, f.object_id) if e}
        dirty -= set(repairs.winner_of())
        execute(connection, "bump_dirty", keys | {"entity_ids": sorted(dirty, key=str)})
    return known_at


def _write_facts(connection: RowConnection, keys: Row, facts: FactRepairs) -> None:
    """Duplicates go before the moved ones come, or the unique index would refuse these."""
    closed = [
        {"fact_id": c.fact_id, "version": c.version, "reason": c.reason.value}
        | {"successor_id": c.successor_id}
        for c in facts.closed
    ]
    moved = [
        {"fact_id": m.fact_id, "version": m.version, "reason": None, "successor_id": None}
        for m in facts.moved
    ]
    execute_many(connection, "close_repaired", [keys | row for row in closed + moved])
    execute_many(connection, "insert_repaired", [keys | asdict(m) for m in facts.moved])


def _record(connection: RowConnection, keys: Row, kind: str, content: Mapping[str, Any]) -> None:
    event_id = derive_id(kind, keys["tenant_id"], keys["known_at"].isoformat(), repr(content))
    execute(
        connection,
        "insert_event",
        keys | {"correction_id": event_id, "kind": kind, "content": Jsonb(dict(content))},
    )


def _shown(entity: NamedEntity) -> dict[str, str]:
    return {"entity_id": str(entity.entity_id), "name": entity.name, "type": entity.type.value}


def _merge_content(
    merge: Merge,
    followers: Sequence[EntityId],
    before: Mapping[FactId, HeldFact],
    facts: FactRepairs,
) -> dict[str, Any]:
    """Enough to replay the merge by content, and to take it apart."""
    loser_id = merge.loser.entity_id

    def mine(changed: Iterable[MovedFact | ClosedFact]) -> list[dict[str, str | None]]:
        return [
            {
                "fact_id": str(c.fact_id),
                "subject_id": str(before[c.fact_id].subject_id),
                "object_id": str(before[c.fact_id].object_id or "") or None,
            }
            for c in changed
            if c.fact_id in before
            and loser_id in (before[c.fact_id].subject_id, before[c.fact_id].object_id)
        ]

    return {
        "loser": _shown(merge.loser),
        "winner": _shown(merge.winner),
        "followers": [str(entity_id) for entity_id in followers],
        "moved": mine(facts.moved),
        "closed": mine(facts.closed),
    }


def _ids(entities: Iterable[NamedEntity]) -> list[EntityId]:
    return [entity.entity_id for entity in entities]


def _take_apart(connection: RowConnection, keys: Row, content: Mapping[str, Any]) -> None:
    """Free the loser and what followed it, and give its facts back."""
    loser_id, winner_id = (UUID(content[who]["entity_id"]) for who in ("loser", "winner"))
    # Of what followed the loser, that which still means the winner: the rest was freed before.
    noted = keys | {"entity_ids": [UUID(entity_id) for entity_id in content["followers"]]}
    still = execute(connection, "meaning", noted | {"target_id": winner_id}).fetchall()
    followers = [row["entity_id"] for row in still]
    for ids, target in (([loser_id], None), (followers, loser_id)):
        execute(connection, "redirect_entities", keys | {"entity_ids": ids, "target_id": target})
    given_back = {UUID(row["fact_id"]): row for row in (*content["moved"], *content["closed"])}
    last = execute(connection, "last_versions", keys | {"fact_ids": list(given_back)}).fetchall()
    ends = sorted({UUID(row[end]) for row in given_back.values() for end in _ENDS if row[end]})
    # The other end of a fact may mean something else by now, and goes on meaning it.
    meant = {
        row["entity_id"]: row["winner_id"]
        for row in execute(connection, "winners", keys | {"entity_ids": ends}).fetchall()
    }
    back = [
        keys
        | {"fact_id": row["fact_id"], "version": row["version"], "reason": None}
        | {"successor_id": None}
        | {end: _meant(given_back[row["fact_id"]][end], meant) for end in _ENDS}
        for row in last
        if row["is_believed"] or row["dropped_reason"] == "merged"
    ]
    execute_many(connection, "close_repaired", back)
    execute_many(connection, "insert_repaired", back)
    dirty = sorted({loser_id, winner_id, *meant.values()}, key=str)
    execute(connection, "bump_dirty", keys | {"entity_ids": dirty})


def _meant(entity_id: str | None, meant: Mapping[UUID, UUID]) -> UUID | None:
    return None if entity_id is None else meant[UUID(entity_id)]
