"""Which unknown names of an episode are one thing, with each other and with what memory holds.

Belongs here: choosing among several matches, merging transitively, doubts (spec R1, R4). Does not:
whether two names can be one (stages/alias_rules) and making entities (stages/resolve).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

from memory_pipeline.domain.changes import AliasReason
from memory_pipeline.domain.claim import Mention
from memory_pipeline.domain.embedding import EmbeddingProfile, cosine
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import Entity
from memory_pipeline.stages.alias_rules import (
    Named,
    alias_rule,
    are_two_persons,
    is_first_name,
    may_be_one,
)
from memory_pipeline.stages.name_folding import fold_name
from memory_pipeline.stages.name_words import ARTICLES

_STRENGTH: Final = (
    AliasReason.FOLDED,
    AliasReason.NICKNAME,
    AliasReason.ACRONYM,
    AliasReason.TOKEN_SUBSET,
    AliasReason.VECTOR,
)
"""Rules from the strongest to the weakest."""
_AMBIGUOUS: Final = frozenset({AliasReason.NICKNAME, AliasReason.ACRONYM, AliasReason.TOKEN_SUBSET})
"""Rules by which a name may mean several things; then it means none of them."""


@dataclass(frozen=True)
class Candidate:
    """An entity of memory by all the names it has, as far as the reader knows them."""

    entity: Entity
    names: tuple[Entity, ...]
    is_fully_known: bool


@dataclass(frozen=True)
class Group:
    """Names that are one thing: `entity` if memory holds it, else `best` names a new one.

    `reasons` says by which rule a member joined.
    """

    members: tuple[Mention, ...]
    best: Mention
    entity: Entity | None
    reasons: Mapping[str, AliasReason]


@dataclass(frozen=True)
class Grouping:
    """All groups, and names kept apart with what they might have meant."""

    groups: tuple[Group, ...]
    doubts: tuple[tuple[str, tuple[str, ...]], ...]


Node = str
"""A name, or an entity's id behind a mark that no name holds."""
Near = Mapping[str, Sequence[tuple[Candidate, float]]]


@dataclass(frozen=True)
class _Edge:
    """Two nodes that a rule takes for one; `is_mergeable` False only tells of a rival."""

    one: Node
    other: Node
    reason: AliasReason
    similarity: float
    is_mergeable: bool = True

    def order(self) -> tuple[int, float, list[str]]:
        return (_STRENGTH.index(self.reason), -self.similarity, sorted((self.one, self.other)))

    def partner(self, node: Node) -> Node:
        return self.other if node == self.one else self.one


def group_names(
    mentions: Sequence[Mention],
    near: Near,
    vectors: Mapping[str, Sequence[float]],
    profile: EmbeddingProfile,
) -> Grouping:
    """Groups of names that are one thing, the same in whatever order the names come.

    `near` holds for each name what memory may hold of it, with the cosine.
    """
    work = _Grouping(mentions, near, vectors, profile)
    work.find_edges()
    work.leave_ambiguous_apart()
    work.merge()
    return Grouping(work.groups(), tuple(sorted(work.doubts.items())))


@dataclass
class _Grouping:
    mentions: Sequence[Mention]
    near: Near
    vectors: Mapping[str, Sequence[float]]
    profile: EmbeddingProfile
    edges: list[_Edge] = field(default_factory=list)
    candidates: dict[Node, Candidate] = field(default_factory=dict)
    members: dict[Node, list[Node]] = field(default_factory=dict)
    doubts: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_name = {m.name: m for m in self.mentions}
        for found in self.near.values():
            for candidate, _ in found:
                self.candidates.setdefault(_node(candidate.entity), candidate)

    def find_edges(self) -> None:
        """Compare every unknown name with memory's candidates and with the other names."""
        for mention in self.mentions:
            for candidate, similarity in self.near.get(mention.name, ()):
                self._compare_with_memory(mention, candidate, similarity)
        for one, other in combinations(self.mentions, 2):
            similarity = self._cosine(one.name, other.name)
            reason = alias_rule(one, other, similarity, self.profile)
            if reason is not None:
                self.edges.append(_Edge(one.name, other.name, reason, similarity))
        self._find_rivals()

    def _compare_with_memory(
        self, mention: Mention, candidate: Candidate, similarity: float
    ) -> None:
        if any(are_two_persons(mention, named) for named in candidate.names):
            return
        reasons = [
            alias_rule(mention, named, similarity if named is candidate.entity else 0, self.profile)
            for named in candidate.names
        ]
        known = [reason for reason in reasons if reason is not None]
        if not known:
            return
        reason = min(known, key=_STRENGTH.index)
        entity = candidate.entity
        # Whoever is known by a first name may have a surname already, which nobody told us.
        is_blind = is_first_name(entity) and not is_first_name(mention)
        is_mergeable = not is_blind or candidate.is_fully_known or reason is AliasReason.FOLDED
        if not is_mergeable:
            self.doubts[mention.name] = (entity.name, "somebody else")
        self.edges.append(_Edge(mention.name, _node(entity), reason, similarity, is_mergeable))

    def _find_rivals(self) -> None:
        """A first name that memory holds may already mean another person that memory holds."""
        linked = {edge.other for edge in self.edges}
        persons = [c for c in self.candidates.values() if c.entity.type is EntityType.PERSON]
        for first in persons:
            if _node(first.entity) not in linked or not is_first_name(first.entity):
                continue
            for other in persons:
                is_rival = alias_rule(first.entity, other.entity, 1, self.profile)
                if other is not first and is_rival is AliasReason.TOKEN_SUBSET:
                    ids = (_node(first.entity), _node(other.entity))
                    self.edges.append(_Edge(*ids, is_rival, 0, is_mergeable=False))

    def leave_ambiguous_apart(self) -> None:
        """Drop the weak edges of names that could mean several things, and note the doubt."""
        joined = {frozenset((edge.one, edge.other)) for edge in self.edges}
        unclear: set[Node] = set()
        for node in self._nodes():
            mine = [edge for edge in self.edges if node in (edge.one, edge.other)]
            if not mine or any(edge.reason is AliasReason.FOLDED for edge in mine):
                continue
            best = min((edge.reason for edge in mine), key=_STRENGTH.index)
            partners = {e.partner(node) for e in mine if e.reason is best in _AMBIGUOUS}
            if any(frozenset(pair) not in joined for pair in combinations(sorted(partners), 2)):
                unclear.add(node)
                self.doubts[self._spelling(node)] = tuple(sorted(map(self._spelling, partners)))
        self.edges = [
            edge
            for edge in self.edges
            if edge.reason is AliasReason.FOLDED or not unclear & {edge.one, edge.other}
        ]

    def merge(self) -> None:
        """Unite along the edges, the strongest first, unless what is united excludes it."""
        self.members = {node: [node] for node in self._nodes()}
        for edge in sorted(self.edges, key=_Edge.order):
            one, other = self.members[edge.one], self.members[edge.other]
            if edge.is_mergeable and one is not other and self._can_unite(one, other):
                one.extend(other)
                for node in other:
                    self.members[node] = one

    def _can_unite(self, one: Sequence[Node], other: Sequence[Node]) -> bool:
        if sum(node in self.candidates for node in (*one, *other)) > 1:
            return False
        return all(
            may_be_one(a, b) and not are_two_persons(a, b)
            for first in one
            for second in other
            for a in self._names(first)
            for b in self._names(second)
        )

    def groups(self) -> tuple[Group, ...]:
        """One group for every set of names, in the order of its best name."""
        found: dict[int, Group] = {}
        for mention in self.mentions:
            nodes = self.members[mention.name]
            if id(nodes) not in found:
                found[id(nodes)] = self._group(nodes)
        return tuple(sorted(found.values(), key=lambda group: group.best.name))

    def _group(self, nodes: Sequence[Node]) -> Group:
        members = sorted((self._by_name[n] for n in nodes if n in self._by_name), key=_preference)
        entities = [self.candidates[n].entity for n in nodes if n in self.candidates]
        centre = _node(entities[0]) if entities else members[0].name
        reasons: dict[str, AliasReason] = {}
        for member in members:
            inside = [
                edge
                for edge in sorted(self.edges, key=_Edge.order)
                if member.name in (edge.one, edge.other) and edge.partner(member.name) in nodes
            ]
            direct = [edge for edge in inside if centre == edge.partner(member.name)]
            if member.name != centre and inside:
                reasons[member.name] = (direct or inside)[0].reason
        return Group(tuple(members), members[0], entities[0] if entities else None, reasons)

    def _nodes(self) -> tuple[Node, ...]:
        return (*self._by_name, *self.candidates)

    def _names(self, node: Node) -> Sequence[Named]:
        if node in self._by_name:
            return (self._by_name[node],)
        return self.candidates[node].names

    def _spelling(self, node: Node) -> str:
        return self._names(node)[0].name

    def _cosine(self, one: str, other: str) -> float:
        a, b = self.vectors.get(one), self.vectors.get(other)
        return cosine(a, b) if a and b else 0.0


def _node(entity: Entity) -> Node:
    return f"\0{entity.entity_id}"


def _preference(mention: Mention) -> tuple[bool, int, int, bool, int, str]:
    """The fullest name first: it says most of the thing, and does not depend on the order."""
    folded = fold_name(mention.name, mention.type)
    return (
        mention.type is EntityType.THING,
        -len(folded.split()),
        -len(folded),
        mention.name.split()[0] in ARTICLES,
        -len(mention.name),
        mention.name,
    )
