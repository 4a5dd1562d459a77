"""Stored values in words: dates, periods, text that can't forge the look of a page."""

from datetime import UTC, datetime

import pytest

from memory_pipeline.report.words import (
    count_words,
    instant_words,
    period_words,
    plain,
    valid_words,
)
from memory_pipeline_tests.report.memories import NOW, at


@pytest.mark.parametrize(
    ("start", "until", "expected"),
    [
        (None, None, "no dates known"),
        ("2024-06-01", None, "since 1 Jun 2024"),
        (None, "2024-06-01", "until 1 Jun 2024"),
        ("2024-01-10", "2024-06-01", "10 Jan 2024 \N{EN DASH} 1 Jun 2024"),
        ("2024-06-01", "2024-06-02", "on 1 Jun 2024"),
        ("2024-06-01T09:00", "2024-06-01T11:30", "1 Jun 2024, 09:00 \N{EN DASH} 11:30"),
    ],
)
def test_a_period_reads_like_a_sentence(
    start: str | None, until: str | None, expected: str
) -> None:
    assert period_words(at(start), at(until)) == expected


def test_what_has_not_begun_is_not_told_as_since() -> None:
    assert valid_words(at("2025-03-01"), None, NOW) == "from 1 Mar 2025"
    assert valid_words(at("2024-03-01"), None, NOW) == "since 1 Mar 2024"


def test_an_instant_shows_its_time_only_where_it_has_one() -> None:
    assert instant_words(datetime(2024, 6, 1, tzinfo=UTC)) == "1 Jun 2024"
    assert instant_words(datetime(2024, 6, 1, 7, 5, tzinfo=UTC)) == "1 Jun 2024, 07:05 UTC"


def test_counts_agree_with_their_nouns() -> None:
    assert count_words(1, "fact") == "1 fact"
    assert count_words(1200, "fact holds", "facts hold") == "1,200 facts hold"


def test_text_is_cut_at_its_limit_and_says_so() -> None:
    assert plain("abcdef", 6) == "abcdef"
    assert plain("abcdefg", 6) == "abcde…"
    assert plain("a" * 10**6, 6) == "aaaaa…"


def test_text_becomes_one_line_without_controls_and_turned_directions() -> None:
    assert plain("a\n\t b\x00c\x1b[31m\u2028d", 40) == "a b c [31m d"
    assert plain("\u202eevil\u2066", 40) == "evil"


def test_text_of_every_script_and_joined_emoji_stay_whole() -> None:
    text = "שלום 你好 👩\u200d👩\u200d👧 naïve"
    assert plain(text, 40) == text
