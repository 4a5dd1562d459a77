"""Which entity a name means (spec R1-R4).

Belongs here: one mention against memory, the map of names. Does not: pairs of names
(test_alias_rules) and names of one episode among each other (test_grouping).
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import pytest

from memory_pipeline.domain.changes import AliasReason, ResolvedGraph
from memory_pipeline.domain.claim import USER, GuardedGraph, Mention, Outcome
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import EpisodeId
from memory_pipeline.stages.name_folding import lookup_keys
from memory_pipeline.stages.resolve import NameIndex, resolve, user_entity
from memory_pipeline_tests.domain.memory_builders import (
    EPISODE,
    NOW,
    TENANT,
    claim,
    entity_id,
)

PROFILE = EmbeddingProfile(
    profile_id="test",
    dimensions=2,
    entity_merge=0.88,
    duplicate=0.95,
    band_low=0.80,
    second_signal=0.6,
)
ORG, PERSON, PRODUCT = EntityType.ORG, EntityType.PERSON, EntityType.PRODUCT
FOOD, PLACE, THING = EntityType.FOOD, EntityType.PLACE, EntityType.THING


def _entity(name: str, kind: EntityType, *, days_ago: int = 30, word: str = "") -> Entity:
    return Entity(
        entity_id=entity_id(word or f"{name} {kind}"),
        name=name,
        type=kind,
        last_linked_at=NOW - timedelta(days=days_ago),
    )


def _resolved(
    *mentions: tuple[str, EntityType],
    held: Sequence[Entity] = (),
    near: Mapping[str, Sequence[tuple[Entity, float]]] | None = None,
    vectors: Mapping[str, Sequence[float]] | None = None,
    episode_id: EpisodeId = EPISODE,
) -> ResolvedGraph:
    """The user likes each mention; `held` are found by name, `near` by vector."""
    holders: dict[str, tuple[Entity, ...]] = {}
    for entity in held:
        for key in lookup_keys(entity.name, entity.type):
            holders[key] = (*holders.get(key, ()), entity)
    return resolve(
        GuardedGraph(
            mentions=(
                Mention(name=USER, type=PERSON),
                *(Mention(name=name, type=kind) for name, kind in mentions),
            ),
            claims=tuple(
                claim(f"c{number}", "likes", name, names=True).claim
                for number, (name, _) in enumerate(mentions, start=1)
            ),
        ),
        NameIndex(
            user=user_entity(TENANT),
            holders=holders,
            neighbours={name: tuple(found) for name, found in (near or {}).items()},
        ),
        tenant_id=TENANT,
        episode_id=episode_id,
        vectors=vectors or {},
        profile=PROFILE,
    )


def _objects(graph: ResolvedGraph) -> list[str]:
    return [c.claim.object for c in graph.claims]


def test_r1_a_known_name_is_reused() -> None:
    known = _entity("halden", ORG)
    graph = _resolved(("halden", ORG), held=[known])
    assert [c.object_id for c in graph.claims] == [known.entity_id]
    assert graph.new_entities == ()


def test_r1_a_name_that_nobody_has_makes_an_entity_with_an_id_of_its_own_content() -> None:
    first, again = _resolved(("halden", ORG)), _resolved(("halden", ORG))
    assert [e.name for e in first.new_entities] == ["halden"]
    assert first == again


def test_r1_a_near_neighbour_of_the_same_type_is_the_same_thing() -> None:
    known = _entity("brightwell", ORG)
    graph = _resolved(("bright labs", ORG), near={"bright labs": [(known, 0.88)]})
    assert _objects(graph) == ["brightwell"]
    assert [(a.alias, a.reason) for a in graph.new_aliases] == [("bright labs", AliasReason.VECTOR)]


@pytest.mark.parametrize(
    ("kind", "cosine"), [(ORG, 0.879), (PRODUCT, 0.99), (PLACE, 0.99), (THING, 0.99)]
)
def test_r1_another_type_or_a_lower_cosine_is_another_thing(
    kind: EntityType, cosine: float
) -> None:
    known = _entity("brightwell", ORG)
    graph = _resolved(("bright labs", kind), near={"bright labs": [(known, cosine)]})
    assert _objects(graph) == ["bright labs"]


def test_r1_the_map_rewrites_every_subject_and_object() -> None:
    known = _entity("brightwell", ORG)
    graph = resolve(
        GuardedGraph(
            mentions=(Mention(name=USER, type=PERSON), Mention(name="bright labs", type=ORG)),
            claims=(
                claim("c1", "works at", "bright labs", names=True).claim,
                claim("c2", "has office in", "leeds", about="bright labs").claim,
            ),
        ),
        NameIndex(neighbours={"bright labs": ((known, 0.95),)}),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert graph.claims[0].claim.object == graph.claims[1].claim.subject == "brightwell"
    assert graph.names["bright labs"] == "brightwell"


@pytest.mark.parametrize(
    ("known", "mentioned", "is_one"),
    [
        (ORG, FOOD, False),
        (ORG, PLACE, False),
        (PERSON, ORG, False),
        (ORG, PRODUCT, True),
        (EntityType.SKILL, EntityType.TOPIC, True),
        (THING, FOOD, True),
        (ORG, THING, True),
    ],
)
def test_r2_one_name_in_two_families_is_two_things(
    known: EntityType, mentioned: EntityType, is_one: bool
) -> None:
    graph = _resolved(("apple", mentioned), held=[_entity("apple", known)])
    assert (graph.new_entities == ()) is is_one


def test_r2_of_several_homonyms_the_one_linked_last_is_taken_and_the_doubt_recorded() -> None:
    older = _entity("apple", ORG, days_ago=90)
    newer = _entity("apple", FOOD, days_ago=2)
    graph = _resolved(("apple", THING), held=[older, newer])
    assert graph.claims[0].object_id == newer.entity_id
    assert len(graph.uncertainties) == 1


def test_r2_a_mention_of_known_kind_prefers_its_kind_to_a_thing_of_unknown_kind() -> None:
    thing = _entity("apple", THING, days_ago=1)
    org = _entity("apple", ORG, days_ago=90)
    graph = _resolved(("apple", ORG), held=[thing, org])
    assert graph.claims[0].object_id == org.entity_id
    assert graph.uncertainties == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("iphone 14", "iphone 15"),
        ("novablast 5", "novablast"),
        ("model s", "model x"),
        ("model", "model s"),
        ("iphone", "iphone pro"),
        ("henry iv", "henry v"),
    ],
)
def test_r3_names_that_differ_in_a_number_or_model_letter_never_merge(one: str, other: str) -> None:
    known = _entity(one, PRODUCT)
    graph = _resolved((other, PRODUCT), near={other: [(known, 0.99)]})
    assert _objects(graph) == [other]


def test_r3_nothing_merges_with_the_user() -> None:
    user = user_entity(TENANT)
    graph = _resolved(("users", PERSON), near={"users": [(user, 0.99)]})
    assert _objects(graph) == ["users"]


def test_r4_a_folded_spelling_is_stored_and_found_again() -> None:
    made = _resolved(("the kestrel", ORG))
    assert [(a.alias, a.reason) for a in made.new_aliases] == [("kestrel", AliasReason.FOLDED)]
    found = _resolved(("kestrel", ORG), held=made.new_entities)
    assert found.new_entities == ()


def test_r4_new_names_of_one_batch_are_compared_with_each_other() -> None:
    graph = _resolved(
        ("kestrel laboratory", ORG),
        ("kestrel works", ORG),
        ("dr. vorkova", PERSON),
        ("vorkova", PERSON),
        vectors={"kestrel laboratory": (1.0, 0.0), "kestrel works": (0.9, 0.436)},
    )
    assert [e.name for e in graph.new_entities] == ["dr. vorkova", "kestrel laboratory"]


def test_x6_what_becomes_a_self_loop_after_resolution_is_dropped() -> None:
    known = _entity("halden", ORG)
    graph = resolve(
        GuardedGraph(
            mentions=(Mention(name="halden", type=ORG), Mention(name="halden ltd", type=ORG)),
            claims=(claim("c1", "owns", "halden ltd", about="halden", names=True).claim,),
        ),
        NameIndex(holders={"halden": (known,)}),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert graph.claims == ()
    assert [o.outcome for o in graph.dropped] == [Outcome.SELF_LOOP]


def test_one_name_made_in_two_episodes_is_two_ids_so_that_no_merge_hides_in_an_id() -> None:
    other = EpisodeId(UUID(int=8))
    first, second = _resolved(("halden", ORG)), _resolved(("halden", ORG), episode_id=other)
    assert first.new_entities[0].entity_id != second.new_entities[0].entity_id


def test_b25_another_model_is_another_entity_whatever_the_cosine() -> None:
    known = _entity("canon r6", PRODUCT)
    graph = _resolved(
        ("canon r6", PRODUCT),
        ("canon r8", PRODUCT),
        held=[known],
        near={"canon r8": [(known, 0.95)]},
    )
    assert _objects(graph) == ["canon r6", "canon r8"]
