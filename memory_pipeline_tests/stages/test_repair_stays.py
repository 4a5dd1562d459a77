"""Which stays a repair takes for duplicates (spec M1): none that says more than what is kept.

Belongs here: periods of the facts of winners and losers. Does not: the rest of the plan.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.domain.ids import EntityId, FactId
from memory_pipeline.stages.repair import HeldFact, NamedEntity, plan_entities, plan_facts

START = datetime(2024, 1, 1, tzinfo=UTC)
USER = EntityId(UUID(int=99))
REPAIRS = plan_entities(
    [
        NamedEntity(EntityId(UUID(int=1)), "acme", EntityType.ORG),
        NamedEntity(EntityId(UUID(int=2)), "Acme", EntityType.ORG),
    ],
    {USER},
)


def stay(number: int, target: int, start: int | None, end: int | None) -> HeldFact:
    return HeldFact(
        fact_id=FactId(UUID(int=1_000 + number)),
        version=1,
        subject_id=USER,
        predicate="works at",
        object_id=EntityId(UUID(int=target)),
        object_text=None,
        valid_from=None if start is None else START + timedelta(days=start),
        valid_until=None if end is None else START + timedelta(days=end),
        known_from=START + timedelta(days=number),
    )


@pytest.mark.parametrize(
    ("winners", "losers"),
    [((0, 100), (50, None)), ((0, 100), (50, 200)), ((50, 100), (None, 100))],
)
def test_a_stay_that_reaches_beyond_the_winners_is_not_lost(
    winners: tuple[int | None, int | None], losers: tuple[int | None, int | None]
) -> None:
    plan = plan_facts([stay(1, 1, *winners), stay(2, 2, *losers)], REPAIRS)
    assert [m.fact_id for m in plan.moved] == [FactId(UUID(int=1_002))]
    assert not plan.closed


def test_a_stay_within_the_winners_is_a_duplicate() -> None:
    plan = plan_facts([stay(1, 1, 0, None), stay(2, 2, 50, 100)], REPAIRS)
    assert [c.fact_id for c in plan.closed] == [FactId(UUID(int=1_002))]
