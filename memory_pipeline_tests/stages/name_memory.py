"""A memory of names in a dictionary: what the store would answer resolution, episode by episode.

Belongs here: holders by name and alias, neighbours by cosine. Does not: any rule of resolution.
"""

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from memory_pipeline.domain.changes import NewAlias, ResolvedGraph
from memory_pipeline.domain.claim import USER, GuardedGraph, Mention
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import EpisodeId
from memory_pipeline.stages.name_folding import lookup_keys
from memory_pipeline.stages.resolve import (
    HeldEntity,
    NameIndex,
    resolve,
    unknown_names,
    user_entity,
)
from memory_pipeline_tests.domain.memory_builders import NOW, TENANT, claim

Vectors = Mapping[str, Sequence[float]]
Named = tuple[str, EntityType]
NEIGHBOURS = 10


def dot(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine of two unit vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def likes(mentions: Sequence[Named]) -> GuardedGraph:
    """An episode in which the user likes each of the things."""
    return GuardedGraph(
        mentions=(
            Mention(name=USER, type=EntityType.PERSON),
            *(Mention(name=name, type=kind) for name, kind in mentions),
        ),
        claims=tuple(
            claim(f"c{number}", "likes", name, names=True).claim
            for number, (name, _) in enumerate(mentions, start=1)
        ),
    )


class NameMemory:
    """Entities and aliases of one tenant, grown by `hear`."""

    def __init__(
        self,
        profile: EmbeddingProfile,
        embed: Callable[[Sequence[str]], list[list[float]]] = lambda texts: [[0.0] for _ in texts],
    ) -> None:
        self._profile = profile
        self._embed = embed
        self._vectors: dict[str, Sequence[float]] = {}
        self._episodes = 0
        self.entities: list[Entity] = []
        self.aliases: list[NewAlias] = []

    def hear(self, *mentions: Named) -> ResolvedGraph:
        """Resolves one episode's mentions against what was heard before, and keeps the result."""
        self._episodes += 1
        holders = self._holders([name for name, _ in mentions])
        unknown = unknown_names(likes(mentions), NameIndex(holders=holders))
        vectors = dict(zip(unknown, self._embed(unknown), strict=True)) if unknown else {}
        graph = resolve(
            likes(mentions),
            NameIndex(
                user=user_entity(TENANT),
                holders=holders,
                neighbours={name: self._near(vector) for name, vector in vectors.items()},
            ),
            tenant_id=TENANT,
            episode_id=EpisodeId(UUID(int=self._episodes)),
            vectors=vectors,
            profile=self._profile,
        )
        linked = NOW.replace(microsecond=self._episodes)
        known = {e.entity_id: e for e in (*self.entities, *graph.new_entities)}
        for touched in graph.touched:
            if touched in known:
                known[touched] = known[touched].model_copy(update={"last_linked_at": linked})
        self.entities = list(known.values())
        self.aliases += graph.new_aliases
        self._vectors.update(vectors)
        return graph

    def _holders(self, names: Sequence[str]) -> dict[str, tuple[Entity, ...]]:
        found: dict[str, tuple[Entity, ...]] = {}
        for key in {key for name in names for key in lookup_keys(name)}:
            ids = {alias.entity_id for alias in self.aliases if alias.alias == key}
            held = tuple(e for e in self.entities if e.name == key or e.entity_id in ids)
            if held:
                found[key] = tuple(self._with_aliases(e) for e in held)
        return found

    def _near(self, vector: Sequence[float]) -> tuple[tuple[Entity, float], ...]:
        scored = [
            (self._with_aliases(e), dot(vector, self._vectors[e.name]))
            for e in self.entities
            if e.name in self._vectors
        ]
        return tuple(sorted(scored, key=lambda pair: -pair[1])[:NEIGHBOURS])

    def _with_aliases(self, entity: Entity) -> HeldEntity:
        names = (a.alias for a in self.aliases if a.entity_id == entity.entity_id)
        return HeldEntity(**entity.model_dump(), aliases=tuple(sorted(set(names))))
