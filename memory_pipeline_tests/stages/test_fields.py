"""What single fields look like after tidying.

Belongs here: names, predicates, texts, numbers. Does not: whole candidates (test_guard).
"""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.domain.extraction import EntityType, MemoryCategory
from memory_pipeline.stages.fields import (
    clamp_confidence,
    clean_text,
    cut,
    halves_grapheme,
    normalise_name,
    normalise_predicate,
    normalise_value,
    read_category,
    read_type,
)


@pytest.mark.parametrize(
    ("name", "tidy"),
    [
        ("  Marta ", "marta"),
        ("The\nBlue  Note", "the blue note"),
        ("O\u2019Brien", "o'brien"),
        ("\u201cBrightwell\u201d,", "brightwell"),
        ("mar\u202eta\u200b\x00", "marta"),
        ("C++", "c++"),
        ("acme inc.", "acme inc."),
        ("\ud800", ""),
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"),
    ],
)
def test_a_name_is_lower_case_on_one_line(name: str, tidy: str) -> None:
    assert normalise_name(name) == tidy


@pytest.mark.parametrize(
    ("predicate", "tidy"),
    [
        ("  Works   AT!! ", "works at"),
        ("Keeps notes: about", "keeps notes about"),
        ("is_allergic-to", "is allergic to"),
        ("doesn\u2019t like", "does not like"),
        ("can't eat", "can not eat"),
        ("?!", ""),
    ],
)
def test_a_predicate_is_words_alone(predicate: str, tidy: str) -> None:
    assert normalise_predicate(predicate) == tidy


@pytest.mark.parametrize(
    ("value", "tidy"),
    [
        ("25000  EUR", "25000 eur"),
        ("\u201cO negative\u201d", "o negative"),
        ("https://example.org/AbC", "https://example.org/AbC"),
        ("Wifi key aB3xZ", "wifi key aB3xZ"),
        ("A\nGreen\x00 Kayak", "a green kayak"),
    ],
)
def test_a_value_is_lower_case_where_case_says_nothing(value: str, tidy: str) -> None:
    assert normalise_value(value, 500) == tidy


@given(st.text(), st.integers(1, 40))
def test_tidying_a_value_twice_changes_nothing(text: str, limit: int) -> None:
    once = normalise_value(text, limit)

    assert normalise_value(once, limit) == once
    assert len(once) <= limit


@pytest.mark.parametrize(
    ("value", "clamped"),
    [(1.7, 1.0), (-0.4, 0.0), (0.3, 0.3), (None, 0.49), (math.nan, 0.49), (math.inf, 0.49)],
)
def test_a_confidence_is_clamped_and_defaults_when_it_is_no_number(
    value: float | None, clamped: float
) -> None:
    assert clamp_confidence(value, 0.49) == clamped


def test_unknown_types_and_categories_fall_back() -> None:
    assert (read_type(" person "), read_type("robot")) == (EntityType.PERSON, EntityType.THING)
    assert read_category("Identity") == MemoryCategory.IDENTITY
    assert read_category("gossip") == MemoryCategory.CONTEXT


def test_a_cut_keeps_graphemes_whole() -> None:
    assert cut("ab\U0001f44d\U0001f3fdc", 3) == "ab"
    assert cut("e" + "\u0301" * 9, 4) == "e" + "\u0301" * 3


@given(st.text())
def test_tidying_a_name_twice_changes_nothing(text: str) -> None:
    once = normalise_name(text)

    assert normalise_name(once) == once


@given(st.text())
def test_tidying_a_predicate_twice_changes_nothing(text: str) -> None:
    once = normalise_predicate(text)

    assert normalise_predicate(once) == once


@given(st.text(), st.integers(1, 40))
def test_clean_text_is_short_one_line_and_visible(text: str, limit: int) -> None:
    cleaned = clean_text(text, limit)

    assert len(cleaned) <= limit
    assert cleaned == " ".join(cleaned.split())
    assert not any(unicodedata.category(char) in {"Cc", "Cs"} for char in cleaned)


@given(st.text(), st.integers(1, 40))
def test_a_cut_is_a_start_of_the_text(text: str, limit: int) -> None:
    kept = cut(text, limit)

    assert text.startswith(kept)
    assert len(kept) == limit or not text or kept == text or halves_grapheme(text, len(kept) + 1)
