"""Periods and known instants (design, words)."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.fact import (
    FIRST_INSTANT,
    LAST_INSTANT,
    TICK,
    end_of,
    has_ended,
    next_known_instant,
    start_of,
)
from memory_pipeline_tests.domain.memory_builders import NOW, fact


def test_unbounded_periods_reach_from_the_first_to_the_last_instant() -> None:
    assert (start_of(None), end_of(None)) == (FIRST_INSTANT, LAST_INSTANT)
    assert FIRST_INSTANT.tzinfo is not None


@pytest.mark.parametrize(("after", "is_over"), [(timedelta(), True), (TICK, True), (-TICK, False)])
def test_ends_are_exclusive(after: timedelta, is_over: bool) -> None:
    assert has_ended(NOW, NOW + after) is is_over


def test_an_open_end_never_comes() -> None:
    assert not has_ended(None, NOW + timedelta(days=36_500))


def test_an_episode_is_known_when_it_ended_or_just_after_the_one_before() -> None:
    assert next_known_instant(NOW, None) == NOW
    assert next_known_instant(NOW, NOW - TICK) == NOW
    assert next_known_instant(NOW, NOW) == NOW + TICK
    assert next_known_instant(NOW, NOW + timedelta(days=1)) == NOW + timedelta(days=1) + TICK


@given(st.lists(st.integers(0, 5), min_size=2, max_size=8))
def test_known_instants_of_a_walk_always_rise(days: list[int]) -> None:
    known: list[datetime] = []
    for number in days:
        known.append(next_known_instant(NOW + timedelta(days=number), known[-1] if known else None))
    assert known == sorted(set(known))


def test_a_value_and_a_thing_of_one_name_are_two_objects() -> None:
    value, thing = fact("f1", "likes", "jazz"), fact("f2", "likes", "jazz", names=True)
    assert value.object_key() != thing.object_key()
