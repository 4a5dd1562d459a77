"""Which of several things a name means, and names of one episode among each other (spec R1-R4).

Belongs here: order, ambiguity, transitive merges, several episodes. Does not: single pairs
(test_alias_rules).
"""

from collections.abc import Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.changes import AliasReason, ResolvedGraph
from memory_pipeline.domain.claim import USER, GuardedGraph, Mention
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import EpisodeId
from memory_pipeline.stages.resolve import NameIndex, resolve, user_entity
from memory_pipeline_tests.domain.memory_builders import EPISODE, TENANT, claim, entity_id
from memory_pipeline_tests.stages.name_memory import Named, NameMemory, likes

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


def _alike(texts: Sequence[str]) -> list[list[float]]:
    """All names point one way, near enough for a second signal and too far for a merge alone."""
    return [[0.75**0.5, *(0.5 if i == hash_of(t) else 0.0 for i in range(997))] for t in texts]


def hash_of(text: str) -> int:
    """A number below 997 that only depends on the text."""
    return sum((place + 1) * ord(char) for place, char in enumerate(text)) % 997


def _memory() -> NameMemory:
    return NameMemory(PROFILE, _alike)


def _names(memory: NameMemory) -> list[str]:
    return sorted(entity.name for entity in memory.entities if entity.name != USER)


def _persons(*names: str) -> list[Named]:
    return [(name, PERSON) for name in names]


def test_r4_a_first_name_joins_the_only_person_who_has_it_and_is_found_again() -> None:
    memory = _memory()
    memory.hear(*_persons("anna schmidt"))
    joined = memory.hear(*_persons("anna"))
    assert [(a.alias, a.reason) for a in joined.new_aliases] == [("anna", AliasReason.TOKEN_SUBSET)]
    assert memory.hear(*_persons("anna")).new_aliases == ()
    assert _names(memory) == ["anna schmidt"]


def test_r4_a_first_name_that_two_persons_have_stays_apart_and_the_doubt_is_recorded() -> None:
    memory = _memory()
    memory.hear(*_persons("anna schmidt", "anna mueller"))
    graph = memory.hear(*_persons("anna"))
    assert _names(memory) == ["anna", "anna mueller", "anna schmidt"]
    assert [u.about for u in graph.uncertainties] == [
        "whether anna is anna mueller or anna schmidt"
    ]


def test_r4_a_full_name_joins_a_first_name_unless_another_surname_is_known() -> None:
    memory = _memory()
    memory.hear(*_persons("anna"))
    memory.hear(*_persons("anna schmidt"))
    memory.hear(*_persons("anna mueller"))
    assert _names(memory) == ["anna", "anna mueller"]


def test_r4_two_full_names_of_one_episode_do_not_share_the_first_name_that_memory_holds() -> None:
    memory = _memory()
    memory.hear(*_persons("anna"))
    graph = memory.hear(*_persons("anna schmidt", "anna mueller"))
    assert _names(memory) == ["anna", "anna mueller", "anna schmidt"]
    assert len(graph.uncertainties) == 1


def test_r4_a_full_name_does_not_join_a_first_name_whose_other_names_are_unknown() -> None:
    anna = Entity(entity_id=entity_id("anna"), name="anna", type=PERSON)
    graph = resolve(
        likes(_persons("anna schmidt")),
        NameIndex(user=user_entity(TENANT), neighbours={"anna schmidt": ((anna, 0.75),)}),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert [e.name for e in graph.new_entities] == ["anna schmidt"]
    assert len(graph.uncertainties) == 1


def test_r4_a_nickname_of_two_persons_stays_apart() -> None:
    memory = _memory()
    memory.hear(*_persons("alexander lind", "alexandra lind"))
    graph = memory.hear(*_persons("alex lind"))
    assert "alex lind" in _names(memory)
    assert len(graph.uncertainties) == 1


def test_r4_an_acronym_of_two_things_stays_apart() -> None:
    memory = _memory()
    memory.hear(("machine learning", EntityType.SKILL), ("maximum likelihood", EntityType.SKILL))
    assert len(memory.hear(("ml", EntityType.SKILL)).uncertainties) == 1
    assert "ml" in _names(memory)


def test_r4_merges_of_one_episode_are_transitive() -> None:
    memory = _memory()
    graph = memory.hear(
        ("the new york city", PLACE), ("nyc", PLACE), ("new york city", PLACE), ("new york", PLACE)
    )
    assert _names(memory) == ["new york city"]
    assert {(a.alias, a.reason) for a in graph.new_aliases} == {
        ("nyc", AliasReason.ACRONYM),
        ("new york", AliasReason.TOKEN_SUBSET),
        ("the new york city", AliasReason.FOLDED),
    }


def test_r4_a_new_name_is_compared_with_what_the_episodes_known_names_mean() -> None:
    memory = NameMemory(PROFILE)  # no vector is near: memory offers no neighbour
    memory.hear(("international business machines", ORG))
    memory.hear(("international business machines", ORG), ("ibm", ORG))
    assert _names(memory) == ["international business machines"]


def test_r4_a_folded_spelling_of_a_merged_name_is_found_again_too() -> None:
    memory = _memory()
    memory.hear(("international business machines", ORG))
    memory.hear(("the ibm", ORG))
    assert memory.hear(("ibm", ORG)).new_entities == ()


def test_r3_no_chain_of_merges_unites_two_models() -> None:
    memory = _memory()
    memory.hear(*[(name, PRODUCT) for name in ("canon r6", "canon r8", "canon", "the canon r6")])
    assert _names(memory) == ["canon", "canon r6", "canon r8"]


def test_r3_a_person_called_a_user_is_not_the_user() -> None:
    graph = resolve(
        likes([("my user", PERSON)]),
        NameIndex(user=user_entity(TENANT), holders={"user": (user_entity(TENANT),)}),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert [e.name for e in graph.new_entities] == ["my user"]


def test_r3_nothing_is_stored_as_another_name_that_means_the_user() -> None:
    graph = resolve(
        GuardedGraph(
            mentions=(Mention(name=USER, type=PERSON), Mention(name="rex", type=THING)),
            claims=(claim("c1", "is called", "me", about="rex").claim,),
        ),
        NameIndex(user=user_entity(TENANT)),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert graph.new_aliases == ()


def test_r4_a_stated_name_is_found_again() -> None:
    graph = resolve(
        GuardedGraph(
            mentions=(Mention(name=USER, type=PERSON), Mention(name="rex", type=THING)),
            claims=(claim("c1", "is also called", "Rexy", about="rex").claim,),
        ),
        NameIndex(user=user_entity(TENANT)),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert [(a.alias, a.reason) for a in graph.new_aliases] == [("rexy", AliasReason.STATED)]


def test_r2_an_entity_of_this_name_comes_before_one_that_is_also_called_so() -> None:
    own = Entity(entity_id=entity_id("own"), name="anna", type=PERSON)
    other = Entity(entity_id=entity_id("other"), name="anna schmidt", type=PERSON)
    graph = resolve(
        likes(_persons("anna")),
        NameIndex(user=user_entity(TENANT), holders={"anna": (other, own)}),
        tenant_id=TENANT,
        episode_id=EPISODE,
        vectors={},
        profile=PROFILE,
    )
    assert graph.claims[0].object_id == own.entity_id
    assert graph.uncertainties == ()


def test_r2_a_thing_of_unknown_kind_among_several_is_doubtful_also_within_a_family() -> None:
    memory = _memory()
    memory.hear(("apple", ORG))
    memory.hear(("apple", FOOD))
    graph = memory.hear(("apple", THING))
    apple = next(e for e in memory.entities if e.type is FOOD)
    assert graph.claims[0].object_id == apple.entity_id
    assert len(graph.uncertainties) == 1


POOL: list[Named] = [
    *_persons("anna", "anna schmidt", "anna mueller", "dr. vorkova", "vorkova", "olga vorkova"),
    *_persons("bob smith", "robert smith", "bob", "alex lind", "alexander lind", "alexandra lind"),
    *[(name, ORG) for name in ("ibm", "international business machines", "ibm ltd", "the ibm")],
    *[(name, ORG) for name in ("halden", "halden group", "halden gmbh", "the halden group")],
    *[(name, PRODUCT) for name in ("canon r6", "canon r8", "canon", "honda civic", "civic")],
    *[(name, PLACE) for name in ("nyc", "new york", "new york city", "york")],
    ("apple", THING), ("apple inc", ORG), ("apples", FOOD), ("the apple", FOOD),
]  # fmt: skip


def _result(graph: ResolvedGraph) -> tuple[object, ...]:
    """What resolution found, without the claims, which come in the order of the mentions."""
    return (
        graph.names,
        graph.new_entities,
        set(graph.new_aliases),
        graph.touched,
        set(graph.uncertainties),
    )


@given(data=st.data())
def test_r4_the_same_names_in_any_order_give_the_same_entities(data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.sampled_from(POOL), unique=True, min_size=2, max_size=14))
    shuffled = data.draw(st.permutations(chosen))
    before = data.draw(st.lists(st.sampled_from(POOL), unique=True, max_size=4))
    results = []
    for mentions in (chosen, shuffled):
        memory = _memory()
        for mention in before:
            memory.hear(mention)
        results.append(_result(memory.hear(*mentions)))
    assert results[0] == results[1]


@given(mentions=st.lists(st.sampled_from(POOL), unique=True, min_size=1, max_size=14))
def test_r4_every_name_that_is_not_its_entitys_own_is_an_alias_with_a_reason(
    mentions: list[Named],
) -> None:
    memory = _memory()
    graph = memory.hear(*mentions)
    stored = {(alias.alias, alias.entity_id) for alias in graph.new_aliases}
    own = {entity.name: entity.entity_id for entity in graph.new_entities}
    for name, canonical in graph.names.items():
        assert name == canonical or (name, own[canonical]) in stored


@given(mentions=st.lists(st.sampled_from(POOL), unique=True, min_size=1, max_size=14))
def test_r1_names_heard_before_make_nothing_new(mentions: list[Named]) -> None:
    memory = _memory()
    first = memory.hear(*mentions)
    again = memory.hear(*mentions)
    assert again.new_entities == ()
    assert again.names == first.names


def test_an_episode_resolved_twice_gives_equal_ids() -> None:
    graphs = [
        resolve(
            likes(_persons("anna", "anna schmidt")),
            NameIndex(),
            tenant_id=TENANT,
            episode_id=EpisodeId(UUID(int=3)),
            vectors={},
            profile=PROFILE,
        )
        for _ in range(2)
    ]
    assert graphs[0] == graphs[1]
