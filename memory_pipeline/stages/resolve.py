"""When two names are one: from names to entities (spec R1-R4).

Belongs here: the order of rules, families, vetoes, aliases. Does not: finding candidates in a
database (adapters hand in a `NameIndex`) and making vectors.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from nicknames import NickNamer
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
from memory_pipeline.stages.deduplicate import outcome_of

RESOLVER_VERSION = "resolve/1"

_NAMED_THINGS = frozenset(
    {
        EntityType.ORG,
        EntityType.PRODUCT,
        EntityType.SKILL,
        EntityType.TOPIC,
        EntityType.EVENT,
        EntityType.ROLE,
        EntityType.CONCEPT,
    }
)
ALIAS_PREDICATES = frozenset(
    {"is also called", "is called", "is known as", "is nicknamed", "goes by", "has nickname"}
)
"""What the user says a thing is called is another name of it, found again later (spec R4)."""

_ARTICLES = frozenset({"a", "an", "the", "my", "our"})
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir"})
_LEGAL = frozenset({"inc", "ltd", "llc", "gmbh", "bv", "corp", "co", "plc", "ag", "sa", "company"})
_SMALL_WORDS = frozenset({"of", "the", "and", "for", "de", "la"})
_MODEL_WORDS = frozenset(
    {
        "pro",
        "max",
        "mini",
        "plus",
        "ultra",
        "lite",
        "air",
        "xl",
        "se",
        "junior",
        "jr",
        "senior",
        "sr",
    }
)


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


def family_of(entity_type: EntityType) -> str:
    """Entities of different families never are one, whatever their names (spec R2)."""
    return "NAMED" if entity_type in _NAMED_THINGS else entity_type.value


def fits(one: EntityType, other: EntityType) -> bool:
    """Whether two types can be one entity: THING fits any."""
    return EntityType.THING in (one, other) or family_of(one) == family_of(other)


@lru_cache(maxsize=65_536)
def fold_name(name: str) -> str:
    """A name without accents, punctuation, articles, titles and legal suffixes, lower-cased."""
    flat = unicodedata.normalize("NFKD", name.casefold())
    flat = "".join(c for c in flat if not unicodedata.combining(c))
    words = re.sub(r"[^\w\s]", " ", re.sub(r"['\u2019]s ", " ", flat)).split()
    while words and words[0] in _ARTICLES | _TITLES and len(words) > 1:
        words = words[1:]
    while words and words[-1] in _LEGAL and len(words) > 1:
        words = words[:-1]
    return " ".join(words) or name


def lookup_keys(name: str) -> tuple[str, ...]:
    """Every spelling under which an entity of this name may be found exactly."""
    return tuple(dict.fromkeys((name, fold_name(name))))


@lru_cache(maxsize=1)
def _nick_namer() -> NickNamer:
    return NickNamer()


def alias_rule(one: str, other: str, similarity: float, second: float) -> AliasReason | None:
    """Which rule makes two names one, cheapest first (R4).

    Digits, model letters and model words that differ veto every rule (R3).
    """
    a, b = fold_name(one), fold_name(other)
    if _distinguishers(one) != _distinguishers(other):
        return None
    if a == b:
        return AliasReason.FOLDED
    if _is_acronym(a, b) or _is_acronym(b, a):
        return AliasReason.ACRONYM
    if _is_nickname(a, b):
        return AliasReason.NICKNAME
    if similarity >= second and _is_token_subset(a, b):
        return AliasReason.TOKEN_SUBSET
    return None


def _is_acronym(short: str, long: str) -> bool:
    words = [w for w in long.split() if w not in _SMALL_WORDS]
    if len(words) < 2 or not 2 <= len(short) <= 6 or " " in short:
        return False
    return short == "".join(w[0] for w in words) or short == "".join(w[0] for w in long.split())


def _is_nickname(one: str, other: str) -> bool:
    """Same surname, and one first name is a nickname of the other."""
    a, b = one.split(), other.split()
    if len(a) < 2 or len(b) < 2 or a[-1] != b[-1] or a[0] == b[0]:
        return False
    namer = _nick_namer()
    return b[0] in namer.nicknames_of(a[0]) or a[0] in namer.nicknames_of(b[0])


def _is_token_subset(one: str, other: str) -> bool:
    a, b = set(one.split()), set(other.split())
    return bool(a) and bool(b) and a != b and (a < b or b < a)


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
    compared with each other through them.
    """
    work = _Resolution(graph, index, tenant_id, episode_id, vectors, profile)
    for mention in graph.mentions:
        work.place(mention)
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

    def place(self, mention: Mention) -> None:
        """Find or make the entity of one mention."""
        if mention.name == USER:
            self._place_user()
            return
        entity = self._exact(mention) or self._similar(mention)
        if entity is None:
            entity = Entity(
                entity_id=EntityId(
                    derive_id(
                        "entity",
                        self.tenant_id,
                        mention.name,
                        family_of(mention.type),
                        str(self.episode_id),
                    )
                ),
                name=mention.name,
                type=mention.type,
                memory_category=mention.memory_category,
            )
            self.new.append(entity)
            folded = fold_name(mention.name)
            if folded != mention.name:
                self._add_alias(folded, entity, AliasReason.FOLDED)
        self.found[mention.name] = entity

    def _place_user(self) -> None:
        if self.index.user is None:
            self.new.append(user_entity(self.tenant_id))
        self.found[USER] = self.index.user or user_entity(self.tenant_id)

    def _exact(self, mention: Mention) -> Entity | None:
        """Holders of the very name or its folded form, of a fitting family (R1, R2)."""
        for key in lookup_keys(mention.name):
            known = [e for e in self.index.holders.get(key, ()) if fits(e.type, mention.type)]
            made = [e for e in self.new if fold_name(e.name) == key and fits(e.type, mention.type)]
            holders = known or made
            if not holders:
                continue
            # A thing of unknown kind is second choice: the mention says which kind it means.
            holders.sort(
                key=lambda e: (
                    family_of(e.type) == family_of(mention.type),
                    e.last_linked_at,
                    str(e.entity_id),
                ),
                reverse=True,
            )
            if mention.type is EntityType.THING and len({family_of(e.type) for e in holders}) > 1:
                self.uncertainties.append(
                    Uncertainty(
                        about=f"which {mention.name} is meant",
                        reason="several things have this name; the one linked last was taken",
                        subject=mention.name,
                    )
                )
            return holders[0]
        return None

    def _similar(self, mention: Mention) -> Entity | None:
        candidates = list(self.index.neighbours.get(mention.name, ()))
        candidates += [(e, self._cosine(mention.name, e.name)) for e in self.new if e.name != USER]
        candidates = [
            (e, s) for e, s in candidates if fits(e.type, mention.type) and e.name != USER
        ]
        candidates.sort(key=lambda pair: (-pair[1], str(pair[0].entity_id)))
        for entity, similarity in candidates:
            reason = alias_rule(mention.name, entity.name, similarity, self.profile.second_signal)
            if reason:
                return self._merge(mention, entity, reason)
        for entity, similarity in candidates:
            if similarity >= self.profile.entity_merge and self._may_merge(mention, entity):
                return self._merge(mention, entity, AliasReason.VECTOR)
        return None

    def _may_merge(self, mention: Mention, entity: Entity) -> bool:
        """Vectors alone merge only same types without differing digits or model letters (R3)."""
        if entity.type != mention.type:
            return False
        return _distinguishers(mention.name) == _distinguishers(entity.name)

    def _merge(self, mention: Mention, entity: Entity, reason: AliasReason) -> Entity:
        self._add_alias(mention.name, entity, reason)
        return entity

    def _add_alias(self, alias: str, entity: Entity, reason: AliasReason) -> None:
        self.aliases.append(NewAlias(alias=alias, entity_id=entity.entity_id, reason=reason))

    def _cosine(self, one: str, other: str) -> float:
        a, b = self.vectors.get(one), self.vectors.get(other)
        return sum(x * y for x, y in zip(a, b, strict=True)) if a and b else 0.0

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
                self._add_alias(
                    target.name if target else claim.object, subject, AliasReason.STATED
                )
        touched = {e.entity_id for e in self.found.values()}
        return ResolvedGraph(
            claims=tuple(claims),
            new_entities=tuple(self.new),
            new_aliases=tuple(self.aliases),
            touched=tuple(sorted(touched, key=str)),
            names={raw: entity.name for raw, entity in self.found.items()},
            dropped=tuple(dropped),
            uncertainties=tuple(self.uncertainties),
        )


def _distinguishers(name: str) -> list[str]:
    """Parts that tell models and versions apart: digits, single letters, romans, model words."""
    words = fold_name(name).split()
    return sorted(
        w
        for w in words
        if w in _MODEL_WORDS or re.search(r"\d", w) or re.fullmatch(r"[a-z]|[ivx]+", w)
    )


def _rewritten(claim: Claim, subject: Entity, target: Entity | None) -> ResolvedClaim:
    object_name = target.name if target else claim.object
    return ResolvedClaim(
        claim=claim.model_copy(update={"subject": subject.name, "object": object_name}),
        subject_id=subject.entity_id,
        object_id=target.entity_id if target else None,
    )
