"""Planning a repair (spec M1): who wins, what moves, what is closed.

Belongs here: the pure plan. Does not: its write (adapters/test_repair_store).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.fact import EndedReason
from memory_pipeline.domain.ids import EntityId, FactId
from memory_pipeline.stages.repair import (
    EntityRepairs,
    HeldFact,
    NamedEntity,
    plan_entities,
    plan_facts,
)

START = datetime(2024, 1, 1, tzinfo=UTC)
USER = EntityId(UUID(int=99))


def entity(number: int, name: str, entity_type: EntityType = EntityType.ORG) -> NamedEntity:
    return NamedEntity(EntityId(UUID(int=number)), name, entity_type)


def fact(
    number: int, subject: int, target: int | str, start: int | None = None, end: int | None = None
) -> HeldFact:
    return HeldFact(
        fact_id=FactId(UUID(int=1_000 + number)),
        version=1,
        subject_id=EntityId(UUID(int=subject)),
        predicate="likes",
        object_id=EntityId(UUID(int=target)) if isinstance(target, int) else None,
        object_text=target if isinstance(target, str) else None,
        valid_from=None if start is None else START + timedelta(days=start),
        valid_until=None if end is None else START + timedelta(days=end),
        known_from=START + timedelta(days=number),
    )


def merged(*entities: NamedEntity) -> EntityRepairs:
    return plan_entities(entities, {USER})


def test_entities_of_one_type_and_name_become_the_one_with_the_smallest_id() -> None:
    repairs = merged(entity(3, "Acme Inc."), entity(1, "acme"), entity(2, "ACME"))
    assert repairs.winner_of() == {
        EntityId(UUID(int=2)): EntityId(UUID(int=1)),
        EntityId(UUID(int=3)): EntityId(UUID(int=1)),
    }


def test_another_type_or_name_is_another_entity() -> None:
    assert merged(
        entity(1, "apple"), entity(2, "apple", EntityType.FOOD), entity(3, "apples")
    ).is_empty


def test_the_user_is_never_merged() -> None:
    user = NamedEntity(USER, "user", EntityType.PERSON)
    assert plan_entities([user, entity(1, "the user", EntityType.PERSON)], {USER}).is_empty


def test_what_somebody_took_apart_is_not_merged_again() -> None:
    pair = (entity(1, "acme"), entity(2, "Acme"))
    undone = {(pair[1].entity_id, pair[0].entity_id)}
    assert plan_entities(pair, {USER}, undone).is_empty


def test_a_name_that_normalises_to_nothing_is_retired_with_its_facts() -> None:
    nameless = entity(1, "\u200b \u202e")
    repairs = merged(nameless, entity(2, "acme"))
    assert repairs.retired == (nameless,)
    plan = plan_facts([fact(1, 99, 1), fact(2, 1, "red"), fact(3, 99, 2)], repairs)
    assert [(c.fact_id.int - 1_000, c.reason) for c in plan.closed] == [
        (1, EndedReason.INVALIDATED),
        (2, EndedReason.INVALIDATED),
    ]
    assert not plan.moved


def test_both_ends_of_a_losers_facts_are_corrected() -> None:
    plan = plan_facts([fact(1, 99, 2), fact(2, 2, "red")], merged(entity(1, "a"), entity(2, "A")))
    assert [(m.subject_id.int, m.object_id and m.object_id.int) for m in plan.moved] == [
        (99, 1),
        (1, None),
    ]


def test_a_duplicate_of_what_the_winner_holds_is_closed_and_names_it() -> None:
    facts = [fact(1, 99, 2), fact(2, 99, 1)]
    plan = plan_facts(facts, merged(entity(1, "a"), entity(2, "A")))
    (closed,) = plan.closed
    assert (closed.fact_id, closed.reason) == (facts[0].fact_id, EndedReason.MERGED)
    assert closed.successor_id == facts[1].fact_id
    assert not plan.moved


def test_two_stays_stay_two() -> None:
    facts = [fact(1, 99, 2, 0, 10), fact(2, 99, 1, 20)]
    plan = plan_facts(facts, merged(entity(1, "a"), entity(2, "A")))
    assert [m.fact_id for m in plan.moved] == [facts[0].fact_id]
    assert not plan.closed


def test_a_fact_between_two_names_of_one_thing_is_closed() -> None:
    plan = plan_facts([fact(1, 1, 2)], merged(entity(1, "a"), entity(2, "A")))
    assert [c.reason for c in plan.closed] == [EndedReason.MERGED]


_facts = st.lists(
    st.tuples(
        st.integers(1, 6), st.integers(1, 6), st.one_of(st.none(), st.integers(0, 30)),
        st.integers(31, 60) | st.none(),
    ).filter(lambda drawn: drawn[0] != drawn[1]),
    max_size=12,
)  # fmt: skip


@given(_facts)
def test_after_a_repair_no_loser_and_no_doubled_stay_is_left_and_the_next_finds_nothing(
    drawn: list[tuple[int, int, int | None, int | None]],
) -> None:
    entities = [entity(1, "a"), entity(2, "A"), entity(3, "b"), entity(4, "the b"), entity(5, "c")]
    facts = [fact(number, *content) for number, content in enumerate(drawn)]
    repairs = merged(*entities)
    plan = plan_facts(facts, repairs)
    closed = {c.fact_id for c in plan.closed}
    ends = {m.fact_id: (m.subject_id, m.object_id) for m in plan.moved}
    left = [
        (*ends.get(f.fact_id, (f.subject_id, f.object_id)), f)
        for f in facts
        if f.fact_id not in closed
    ]
    losers = set(repairs.winner_of())
    assert not any({subject, target} & losers for subject, target, _ in left)
    for subject, target, moved in left:
        if moved.fact_id not in ends:
            continue
        for other_subject, other_target, other in left:
            if other is not moved and (other_subject, other_target) == (subject, target):
                stays = [(f.valid_from, f.valid_until) for f in (moved, other)]
                assert stays[0] != stays[1]
                assert stays[0][1] or stays[1][1]
    assert {c.successor_id for c in plan.closed} - {None} <= {f.fact_id for _, _, f in left}
    in_use = [e for e in entities if e.entity_id not in losers]
    assert merged(*in_use).is_empty


@given(st.permutations(range(6)))
def test_the_order_of_reading_does_not_matter(order: list[int]) -> None:
    facts = [
        fact(n, *ends) for n, ends in enumerate([(99, 1), (99, 2), (2, 3), (1, 3), (4, 2), (3, 1)])
    ]
    repairs = merged(entity(2, "A"), entity(1, "a"), entity(3, "b"), entity(4, "B"))
    assert plan_facts([facts[i] for i in order], repairs) == plan_facts(facts, repairs)
