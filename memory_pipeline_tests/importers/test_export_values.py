"""Readings of single loose values."""

from datetime import UTC, datetime

import pytest

from memory_pipeline.importers.export_values import (
    first_of,
    id_of,
    instant_of,
    list_of,
    mapping_of,
    text_of,
)

EVENING = datetime(2025, 5, 5, 19, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2025-05-05T19:00:00Z",
        "2025-05-05T19:00:00",
        "2025-05-05 19:00:00",
        "2025-05-05 19:00:00 UTC",
        "2025-05-05T21:00:00+02:00",
        "2025-05-05T19:00:00.000000000Z",
        1746471600,
        1746471600.0,
        "1746471600",
        1746471600_000,
        "1746471600000",
        1746471600_000_000,
        1746471600_000_000_000,
    ],
)
def test_an_instant_is_read_in_every_common_spelling(value: object) -> None:
    instant = instant_of(value)
    assert instant == EVENING
    assert instant.tzinfo is UTC


def test_a_date_alone_is_its_midnight() -> None:
    assert instant_of("2025-05-05") == datetime(2025, 5, 5, tzinfo=UTC)


def test_fractions_of_a_second_are_kept() -> None:
    assert instant_of(1741600012.5017) == datetime(2025, 3, 10, 9, 46, 52, 501700, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "yesterday",
        True,
        0,
        -5,
        float("nan"),
        float("inf"),
        1e300,
        10**400,
        "9" * 500,
        "0001-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "1970-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        {"seconds": 1},
    ],
)
def test_what_is_no_plausible_instant_is_none(value: object) -> None:
    assert instant_of(value) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a-1", "a-1"), (" a ", "a"), (7, "7"), (0, "0"), ("", None), (True, None), (1.5, None)],
)
def test_ids_are_text_or_whole_numbers(value: object, expected: str | None) -> None:
    assert id_of(value) == expected


def test_values_of_another_type_are_read_as_nothing() -> None:
    assert (mapping_of([1]), list_of("ab"), text_of(7)) == ({}, [], "")


def test_the_first_field_that_holds_something_counts() -> None:
    assert first_of({"a": None, "b": "", "c": 0, "d": 1}, ("a", "b", "c", "d")) == 0
