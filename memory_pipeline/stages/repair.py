"""Repair: which entities are one by type and name, and what becomes of their facts (spec M1).

Belongs here: pure planning over what a generation holds. Does not: reading and applying it
(adapters/repair_store), the merging of new names (stages/resolve).
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory_pipeline.domain.claim import Mention
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import EndedReason, end_of, start_of
from memory_pipeline.domain.ids import EntityId, FactId
from memory_pipeline.stages.alias_rules import may_be_one
from memory_pipeline.stages.fields import normalise_name
from memory_pipeline.stages.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity in use."""

    entity_id: EntityId
    name: str
    type: EntityType


@dataclass(frozen=True, slots=True)
class Merge:
    """`loser` becomes a redirect to `winner`."""

    loser: NamedEntity
    winner: NamedEntity


@dataclass(frozen=True, slots=True)
class EntityRepairs:
    """Merges, sorted, and entities whose name normalises to nothing."""

    merges: tuple[Merge, ...] = ()
    retired: tuple[NamedEntity, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to repair."""
        return not (self.merges or self.retired)

    def winner_of(self) -> dict[EntityId, EntityId]:
        """The redirect map."""
        return {m.loser.entity_id: m.winner.entity_id for m in self.merges}


@dataclass(frozen=True, slots=True)
class HeldFact:
    """The believed version of a fact, as far as endpoints and stays matter."""

    fact_id: FactId
    version: int
    subject_id: EntityId
    predicate: str
    object_id: EntityId | None
    object_text: str | None
    valid_from: datetime | None
    valid_until: datetime | None
    known_from: datetime


@dataclass(frozen=True, slots=True)
class MovedFact:
    """A fact that goes on with corrected endpoints."""

    fact_id: FactId
    version: int
    subject_id: EntityId
    object_id: EntityId | None


@dataclass(frozen=True, slots=True)
class ClosedFact:
    """A fact that is believed no more: a duplicate of `successor_id`, or about nothing."""

    fact_id: FactId
    version: int
    reason: EndedReason
    successor_id: FactId | None = None


@dataclass(frozen=True, slots=True)
class FactRepairs:
    """What happens to the believed facts of merged and retired entities."""

    moved: tuple[MovedFact, ...] = ()
    closed: tuple[ClosedFact, ...] = ()


def plan_entities(
    entities: Iterable[NamedEntity],
    fixed: Collection[EntityId],
    undone: Collection[tuple[EntityId, EntityId]] = (),
) -> EntityRepairs:
    """Entities of equal type and normalised name become the one with the smallest id.

    `fixed` are never touched (the user, the observer of insights); `undone` are pairs that
    somebody took apart again: they don't meet in a third one either. What forbids a merge when a
    name comes up (another digit, mr and mrs) forbids it here.
    """
    parted = {frozenset(pair) for pair in undone}
    groups: dict[tuple[EntityType, str], list[NamedEntity]] = defaultdict(list)
    retired: list[NamedEntity] = []
    for entity in sorted(entities, key=lambda e: str(e.entity_id)):
        if entity.entity_id in fixed:
            continue
        tidy = normalise_name(entity.name)
        if tidy:
            groups[(entity.type, fold_name(tidy, entity.type))].append(entity)
        else:
            retired.append(entity)
    merges = [
        Merge(loser=loser, winner=one[0])
        for group in groups.values()
        for one in _split(group, parted)
        for loser in one[1:]
    ]
    return EntityRepairs(
        tuple(sorted(merges, key=lambda m: str(m.loser.entity_id))), tuple(retired)
    )


def _split(
    group: Sequence[NamedEntity], parted: Collection[frozenset[EntityId]]
) -> list[list[NamedEntity]]:
    """Entities of one name by what they can be: each joins the first of which it may be all."""
    ones: list[list[NamedEntity]] = []
    for entity in group:
        for one in ones:
            if all(_may_meet(entity, other, parted) for other in one):
                one.append(entity)
                break
        else:
            ones.append([entity])
    return ones


def _may_meet(
    one: NamedEntity, other: NamedEntity, parted: Collection[frozenset[EntityId]]
) -> bool:
    if frozenset((one.entity_id, other.entity_id)) in parted:
        return False
    return may_be_one(
        Mention(name=one.name, type=one.type), Mention(name=other.name, type=other.type)
    )


def plan_facts(facts: Sequence[HeldFact], repairs: EntityRepairs) -> FactRepairs:
    """Corrected endpoints for every fact of a loser; what the winner holds already is closed.

    `facts` are the believed ones that touch a loser, a winner or a retired entity. A stay is a
    duplicate where one that is kept covers it, or where both are open-ended; a fact between two
    names of one thing says nothing any more.
    """
    winner_of = repairs.winner_of()
    retired = {entity.entity_id for entity in repairs.retired}
    closed: list[ClosedFact] = []
    moved: list[MovedFact] = []
    kept: dict[tuple[object, ...], list[HeldFact]] = defaultdict(list)
    for fact in sorted(facts, key=lambda f: _seniority(f, winner_of)):
        if retired & {fact.subject_id, fact.object_id}:
            closed.append(ClosedFact(fact.fact_id, fact.version, EndedReason.INVALIDATED))
            continue
        subject = winner_of.get(fact.subject_id, fact.subject_id)
        target = winner_of.get(fact.object_id, fact.object_id) if fact.object_id else None
        triple = (subject, fact.predicate, target, fact.object_text)
        twin = next((k for k in kept[triple] if _covers(k, fact)), None)
        if (subject, target) == (fact.subject_id, fact.object_id):
            kept[triple].append(fact)
        elif subject == target:
            closed.append(ClosedFact(fact.fact_id, fact.version, EndedReason.MERGED))
        elif twin is not None:
            closed.append(ClosedFact(fact.fact_id, fact.version, EndedReason.MERGED, twin.fact_id))
        else:
            kept[triple].append(fact)
            moved.append(MovedFact(fact.fact_id, fact.version, subject, target))
    return FactRepairs(tuple(moved), tuple(closed))


def _seniority(
    fact: HeldFact, winner_of: Mapping[EntityId, EntityId]
) -> tuple[bool, datetime, str]:
    """What the winners hold comes first, then what was known first."""
    is_moved = fact.subject_id in winner_of or fact.object_id in winner_of
    return (is_moved, fact.known_from, str(fact.fact_id))


def _covers(kept: HeldFact, other: HeldFact) -> bool:
    """Whether nothing is lost with the other one; memory holds one open-ended fact of a triple."""
    if kept.valid_until is None and other.valid_until is None:
        return True
    return start_of(kept.valid_from) <= start_of(other.valid_from) and end_of(
        other.valid_until
    ) <= end_of(kept.valid_until)
