"""From names to entities: exact name, alias rules, nearest neighbour, else a new one (spec R1-R4).

Belongs here: which of several things a name means, the map of names, aliases to store. Does not:
whether two names can be one (stages/alias_rules), the database (a `NameIndex` is handed in).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.changes import AliasReason, GenerationHead, NewAlias, ResolvedGraph
from memory_pipeline.domain.claim import (
    USER,
    Claim,
    ClaimOutcome,
    GuardedGraph,
    Mention,
    Outcome,
    ResolvedClaim,
    Uncertainty,
)
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import EntityType, MemoryCategory
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import EntityId, EpisodeId, TenantId, derive_id
from memory_pipeline.stages.alias_rules import family_of, fits, may_be_one
from memory_pipeline.stages.deduplicate import outcome_of
from memory_pipeline.stages.fields import normalise_name
from memory_pipeline.stages.grouping import Candidate, Group, group_names
from memory_pipeline.stages.name_book import USER_SUBJECTS
from memory_pipeline.stages.name_folding import lookup_keys

__all__ = ["HeldEntity", "NameIndex", "fits", "lookup_keys", "resolve", "user_entity"]

RESOLVER_VERSION = "resolve/2"

ALIAS_PREDICATES = frozenset(
    {"is also called", "is called", "is known as", "is nicknamed", "goes by", "has nickname"}
)
"""What the user says a thing is called is another name of it, found again later (spec R4)."""


class HeldEntity(Entity):
    """An entity with its other names, where the reader knows them.

    A full name joins a shorter one only when those are known not to exclude it.
    """

    aliases: tuple[str, ...] = ()


class NameIndex(BaseModel):
    """What memory knows of an episode's names: exact holders and nearest neighbours.

    `holders` maps a name or folded name to entities that have it as name or alias;
    `neighbours` maps a name to (entity, cosine), nearest first.
    """

    model_config = ConfigDict(frozen=True)

    head: GenerationHead | None = None
    user: Entity | None = None
    holders: dict[str, tuple[Entity, ...]] = {}
    neighbours: dict[str, tuple[tuple[Entity, float], ...]] = {}


def user_entity(tenant_id: TenantId) -> Entity:
    """The synthetic person entity of the tenant's user; equal in every generation."""
    return Entity(
        entity_id=EntityId(derive_id("entity", tenant_id, USER)),
        name=USER,
        type=EntityType.PERSON,
        memory_category=MemoryCategory.IDENTITY,
    )


def unknown_names(graph: GuardedGraph, index: NameIndex) -> list[str]:
    """Names that nothing in memory has: those that need vectors and neighbours."""
    return [
        mention.name
        for mention in graph.mentions
        if mention.name != USER and not _holders(mention, index)[1]
    ]


def resolve(
    graph: GuardedGraph,
    index: NameIndex,
    *,
    tenant_id: TenantId,
    episode_id: EpisodeId,
    vectors: Mapping[str, Sequence[float]],
    profile: EmbeddingProfile,
) -> ResolvedGraph:
    """Claims on entities: exact name, alias rule, nearest neighbour, else a new entity.

    `vectors` holds unit vectors of names that memory does not know; names of one episode are
    compared with each other through them. The order of the mentions does not matter.
    """
    work = _Resolution(graph, index, tenant_id, episode_id, vectors, profile)
    work.place_all()
    return work.result()


@dataclass
class _Resolution:
    """The work of one call."""

    graph: GuardedGraph
    index: NameIndex
    tenant_id: TenantId
    episode_id: EpisodeId
    vectors: Mapping[str, Sequence[float]]
    profile: EmbeddingProfile
    found: dict[str, Entity] = field(default_factory=dict)
    new: list[Entity] = field(default_factory=list)
    aliases: list[NewAlias] = field(default_factory=list)
    uncertainties: list[Uncertainty] = field(default_factory=list)

    def place_all(self) -> None:
        """Find or make the entity of every mention."""
        unknown: list[Mention] = []
        for mention in sorted(self.graph.mentions, key=lambda m: (m.name != USER, m.name)):
            if mention.name == USER:
                self._place_user()
            elif (entity := self._exact(mention)) is not None:
                self.found[mention.name] = entity
            else:
                unknown.append(mention)
        if not unknown:
            return
        grouping = group_names(unknown, self._candidates(unknown), self.vectors, self.profile)
        for group in grouping.groups:
            self._place_group(group)
        for name, others in grouping.doubts:
            self._doubt(
                f"whether {name} is {' or '.join(others)}",
                "more than one thing could be meant; they were kept apart",
                name,
            )

    def _place_user(self) -> None:
        if self.index.user is None:
            self.new.append(user_entity(self.tenant_id))
        self.found[USER] = self.index.user or user_entity(self.tenant_id)

    def _exact(self, mention: Mention) -> Entity | None:
        """The holder of the very name or its folded form, of a fitting family (R1, R2).

        Of several the one of the mention's family, then the one that has it as its own name, then
        the one linked last; nothing is the user but by the user's own names (R3).
        """
        key, holders = _holders(mention, self.index)
        return self._chosen(mention, key, holders) if holders else None

    def _chosen(self, mention: Mention, key: str, holders: Sequence[Entity]) -> Entity:
        is_vague = mention.type is EntityType.THING

        def rank(entity: Entity) -> tuple[bool, bool]:
            # A thing of unknown kind is second choice: the mention says which kind it means.
            is_kin = not is_vague and family_of(entity.type) == family_of(mention.type)
            return (is_kin, not is_vague and entity.name == key)

        best = max(map(rank, holders))
        rivals = [e for e in holders if rank(e) == best]
        if len({e.entity_id for e in rivals}) > 1:
            self._doubt(
                f"which {mention.name} is meant",
                "several things have this name; the one linked last was taken",
                mention.name,
            )
        return max(rivals, key=lambda e: (e.last_linked_at, str(e.entity_id)))

    def _candidates(self, unknown: Iterable[Mention]) -> dict[str, list[tuple[Candidate, float]]]:
        """What memory holds near each name, and what the episode's other names turned out to be."""
        others = [(e, 0.0) for e in self.found.values()]
        return {
            mention.name: [
                (_candidate(entity), similarity)
                for entity, similarity in (*self.index.neighbours.get(mention.name, ()), *others)
                if entity.name != USER and fits(entity.type, mention.type)
            ]
            for mention in unknown
        }

    def _place_group(self, group: Group) -> None:
        """One entity for all names of a group: the known one, else a new one of its best name."""
        entity = group.entity
        if entity is None:
            entity = self._make(group.best)
        for mention in group.members:
            self.found[mention.name] = entity
            reason = group.reasons.get(mention.name, AliasReason.FOLDED)
            for spelling in lookup_keys(mention.name, mention.type):
                self._add_alias(spelling, entity, reason)

    def _make(self, mention: Mention) -> Entity:
        parts = (mention.name, family_of(mention.type), str(self.episode_id))
        entity = Entity(
            entity_id=EntityId(derive_id("entity", self.tenant_id, *parts)),
            name=mention.name,
            type=mention.type,
            memory_category=mention.memory_category,
        )
        self.new.append(entity)
        return entity

    def _add_alias(self, alias: str, entity: Entity, reason: AliasReason) -> None:
        is_there = any((a.alias, a.entity_id) == (alias, entity.entity_id) for a in self.aliases)
        if alias and alias != entity.name and alias not in USER_SUBJECTS and not is_there:
            self.aliases.append(NewAlias(alias=alias, entity_id=entity.entity_id, reason=reason))

    def _doubt(self, about: str, reason: str, name: str) -> None:
        self.uncertainties.append(Uncertainty(about=about, reason=reason, subject=name))

    def result(self) -> ResolvedGraph:
        """Rewrite subjects and objects; what became a self-loop ends in the ledger."""
        claims: list[ResolvedClaim] = []
        dropped: list[ClaimOutcome] = []
        for claim in self.graph.claims:
            subject = self.found[claim.subject]
            target = self.found[claim.object] if claim.object_is_entity else None
            if target is not None and target.entity_id == subject.entity_id:
                dropped.append(
                    outcome_of(claim, Outcome.SELF_LOOP, "both names mean the same thing")
                )
                continue
            claims.append(_rewritten(claim, subject, target))
            if claim.predicate in ALIAS_PREDICATES and subject.name != USER:
                stated = target.name if target else normalise_name(claim.object)
                self._add_alias(stated, subject, AliasReason.STATED)
        touched = {e.entity_id for e in self.found.values()}
        return ResolvedGraph(
            claims=tuple(claims),
            new_entities=tuple(self.new),
            new_aliases=tuple(self.aliases),
            touched=tuple(sorted(touched, key=str)),
            names={raw: entity.name for raw, entity in sorted(self.found.items())},
            dropped=tuple(dropped),
            uncertainties=tuple(self.uncertainties),
        )


def _holders(mention: Mention, index: NameIndex) -> tuple[str, list[Entity]]:
    """Who has the name, and under which spelling; a title or number may tell two apart."""
    for key in lookup_keys(mention.name, mention.type):
        holders = [
            e
            for e in index.holders.get(key, ())
            if e.name != USER and fits(e.type, mention.type)
            if key == mention.name or may_be_one(mention, e)
        ]
        if holders:
            return key, holders
    return "", []


def _candidate(entity: Entity) -> Candidate:
    if not isinstance(entity, HeldEntity):
        return Candidate(entity=entity, names=(entity,), is_fully_known=False)
    others = (entity.model_copy(update={"name": alias}) for alias in entity.aliases)
    return Candidate(entity=entity, names=(entity, *others), is_fully_known=True)


def _rewritten(claim: Claim, subject: Entity, target: Entity | None) -> ResolvedClaim:
    object_name = target.name if target else claim.object
    return ResolvedClaim(
        claim=claim.model_copy(update={"subject": subject.name, "object": object_name}),
        subject_id=subject.entity_id,
        object_id=target.entity_id if target else None,
    )
