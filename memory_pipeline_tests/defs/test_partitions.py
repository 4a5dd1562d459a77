"""Keys, packing and registration of the grid of partitions."""

import re

import pytest
from dagster import DagsterInstance, MultiPartitionKey, PartitionKeyRange
from dagster._core.storage.tags import (
    ASSET_PARTITION_RANGE_END_TAG,
    ASSET_PARTITION_RANGE_START_TAG,
)
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.defs.partitions import (
    EPISODE_GRID,
    MAX_PARTITION_NUMBER,
    TENANT_TAG,
    Cell,
    grid_size,
    ordinals_of,
    parse_partition_key,
    partition_key,
    partition_number_of,
    range_tags,
    register_partitions,
    tenant_key,
    tenant_of,
)

tenants = st.text(min_size=1, max_size=40)
numbers = st.integers(min_value=1, max_value=MAX_PARTITION_NUMBER)


@given(tenants)
def test_a_tenant_comes_back_from_its_key(tenant: str) -> None:
    assert tenant_of(tenant_key(tenant)) == tenant


@given(tenants)
def test_a_tenant_key_has_only_characters_that_dagster_never_interprets(tenant: str) -> None:
    assert re.fullmatch(r"[a-z0-9_-]+", tenant_key(tenant))


@given(st.text(alphabet="ab_-2fF/", max_size=8))
def test_a_key_that_is_accepted_is_the_only_key_of_its_tenant(key: str) -> None:
    try:
        tenant = tenant_of(key)
    except ValueError:
        return
    assert tenant_key(tenant) == key


@pytest.mark.parametrize(
    ("tenant", "key"),
    [
        ("acme/user_42", "acme_2fuser__42"),
        ("a-b", "a-b"),
        ("A", "_41"),
        ("é", "_c3_a9"),
        ("a|b,c", "a_7cb_2cc"),
    ],
)
def test_plain_names_stay_readable_and_others_are_spelled_in_bytes(tenant: str, key: str) -> None:
    assert tenant_key(tenant) == key


@pytest.mark.parametrize("tenant", ["", "\ud800", "ü" * 84])
def test_a_name_that_cannot_be_a_key_is_refused(tenant: str) -> None:
    with pytest.raises(ValueError, match=r"tenant key|surrogates"):
        tenant_key(tenant)


@pytest.mark.parametrize("key", ["", "A", "a_", "a_2", "_61", "a_2F", "a/b", "_c3", "ключ"])
def test_a_string_that_no_tenant_has_as_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"tenant key|codec"):
        tenant_of(key)


@given(tenants, numbers)
def test_a_partition_key_is_the_one_dagster_makes_of_its_axes(tenant: str, number: int) -> None:
    of_dagster = MultiPartitionKey({"tenant": tenant_key(tenant), "episode": f"{number:06d}"})
    assert partition_key(tenant, number) == of_dagster


@given(tenants, numbers)
def test_a_cell_comes_back_from_its_partition_key(tenant: str, number: int) -> None:
    key = partition_key(tenant, number)
    assert parse_partition_key(key) == Cell(tenant=tenant, partition_number=number)


@pytest.mark.parametrize(
    "key", ["", "000001", "1|a", "000001|", "000000|a", "a|000001", "0000001|a", "00000\u0661|a"]
)
def test_a_string_that_is_no_partition_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"key|partition numbers"):
        parse_partition_key(key)


@pytest.mark.parametrize("number", [0, MAX_PARTITION_NUMBER + 1])
def test_a_number_whose_key_would_sort_wrongly_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match="partition numbers"):
        partition_key("a", number)


@given(numbers, st.integers(min_value=1, max_value=500))
def test_every_ordinal_lies_in_the_partition_that_is_said_to_hold_it(
    ordinal: int, episodes_per_partition: int
) -> None:
    number = partition_number_of(ordinal, episodes_per_partition)
    assert ordinal in ordinals_of(number, episodes_per_partition)


@given(st.integers(min_value=1, max_value=50), st.integers(min_value=1, max_value=20))
def test_partitions_in_order_hold_all_ordinals_once_and_in_order(
    partitions: int, episodes_per_partition: int
) -> None:
    held = [
        ordinal
        for number in range(1, partitions + 1)
        for ordinal in ordinals_of(number, episodes_per_partition)
    ]
    assert held == list(range(1, partitions * episodes_per_partition + 1))


def test_range_tags_carry_the_tenant_that_the_queue_limits_by() -> None:
    assert range_tags("a/b", 2, 10) == {
        ASSET_PARTITION_RANGE_START_TAG: "000002|a_2fb",
        ASSET_PARTITION_RANGE_END_TAG: "000010|a_2fb",
        TENANT_TAG: "a_2fb",
    }


def test_an_empty_range_is_refused() -> None:
    with pytest.raises(ValueError, match="empty range"):
        range_tags("a", 3, 2)


def test_registering_adds_both_axes_in_order(dagster_instance: DagsterInstance) -> None:
    register_partitions(dagster_instance, "a", 2)
    register_partitions(dagster_instance, "b", 3)
    register_partitions(dagster_instance, "a", 1)
    assert list(dagster_instance.get_dynamic_partitions("tenant")) == ["a", "b"]
    assert list(dagster_instance.get_dynamic_partitions("episode")) == [
        "000001",
        "000002",
        "000003",
    ]


def test_the_size_of_the_grid_is_tenants_by_the_longest(dagster_instance: DagsterInstance) -> None:
    register_partitions(dagster_instance, "a", 2)
    register_partitions(dagster_instance, "b", 5)
    assert grid_size(dagster_instance).cells == 10


def test_a_range_is_the_partitions_of_one_tenant_alone(dagster_instance: DagsterInstance) -> None:
    register_partitions(dagster_instance, "a", 2)
    register_partitions(dagster_instance, "b", 12)
    keys = EPISODE_GRID.get_partition_keys_in_range(
        PartitionKeyRange(partition_key("b", 2), partition_key("b", 11)),
        dynamic_partitions_store=dagster_instance,
    )
    assert sorted(keys) == [partition_key("b", number) for number in range(2, 12)]
