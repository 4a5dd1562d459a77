"""Dated phrases, single dates and written bounds: a table of phrases, and what holds of any text.

The table is `temporal_phrases.jsonl`: one text a row, with the one phrase it holds, or none.
"""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.stages.temporal import (
    find_bounds,
    find_unresolved,
    parse_bound,
    resolve_date,
)

SAID_AT = datetime(2023, 11, 2, 18, tzinfo=UTC)
TABLE = Path(__file__).with_name("temporal_phrases.jsonl")
ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()
]


def _name(row: dict[str, Any]) -> str:
    return f"{row['text']}|{row['said_at']}|{row.get('is_past')}"


def _day(value: str | None) -> date | None:
    return date.fromisoformat(value) if value else None


@pytest.mark.parametrize("row", ROWS, ids=_name)
def test_a_phrase_gives_the_bounds_of_its_row(row: dict[str, Any]) -> None:
    said_at = datetime.fromisoformat(row["said_at"])
    found = find_bounds(row["text"], said_at, is_past=row.get("is_past"))
    expected = (
        [(row["phrase"], row["kind"], _day(row["from"]), _day(row["until"]))]
        if row["phrase"]
        else []
    )
    assert [
        (match.text, match.kind, match.valid_from, match.valid_until) for match in found
    ] == expected


def test_the_table_covers_every_kind_and_the_refusals() -> None:
    assert {row["kind"] for row in ROWS} == {None, "from", "until", "at", "during", "for"}


def test_phrases_come_in_text_order_with_their_spans() -> None:
    text = "I moved to Oslo in 2012, left in March 2015 and have lived in Porto since last June."
    found = find_bounds(text, SAID_AT)
    assert [match.text for match in found] == ["in 2012", "in March 2015", "since last June"]
    assert [text[match.start : match.end] for match in found] == [match.text for match in found]


def test_a_phrase_is_read_against_the_message_whatever_day_it_is_read_on() -> None:
    text = "I started last Monday"
    days = [SAID_AT + timedelta(days=offset) for offset in range(7)]
    found = [find_bounds(text, day)[0].valid_from for day in days]
    assert found == [date(2023, 10, 30)] * 4 + [date(2023, 10, 30)] + [date(2023, 11, 6)] * 2


def test_a_message_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        find_bounds("yesterday", datetime(2023, 11, 2))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("phrase", "day"),
    [
        ("last Monday", date(2023, 10, 30)),
        ("Monday", date(2023, 11, 6)),
        ("in 2019", date(2019, 1, 1)),
        ("2019", date(2019, 1, 1)),
        ("the 31st of August", date(2024, 8, 31)),
        ("since June", date(2023, 6, 1)),
        ("next September.", date(2024, 9, 1)),
        ("the end of June", date(2024, 6, 30)),
        ("in two weeks", date(2023, 11, 16)),
        ("for three years", date(2020, 11, 2)),
        ("2 years, 3 months ago", date(2021, 8, 2)),
        ("2019, 5 May", date(2019, 5, 5)),
    ],
)
def test_one_phrase_resolves_to_its_first_day(phrase: str, day: date) -> None:
    assert resolve_date(phrase, SAID_AT) == day


def test_the_tense_given_for_one_phrase_decides_its_turn() -> None:
    assert resolve_date("the 31st of August", SAID_AT, is_past=True) == date(2023, 8, 31)


@pytest.mark.parametrize(
    "phrase",
    [
        "", "we", "may", "sun", "second", "soonish", "after 6 years", "6 years", "9/10", "1/2",
        "2025-02-30", "YYYY-MM-DD", "31 June", "hace 3 meses", "3pm", "June and July", "v2.0",
    ],
)  # fmt: skip
def test_a_phrase_that_names_no_day_resolves_to_nothing(phrase: str) -> None:
    assert resolve_date(phrase, SAID_AT) is None


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2025-03-01", datetime(2025, 3, 1, tzinfo=UTC)),
        (" 2025-03-01 ", datetime(2025, 3, 1, tzinfo=UTC)),
        ("2024-02-29", datetime(2024, 2, 29, tzinfo=UTC)),
        ("1900-01-01", datetime(1900, 1, 1, tzinfo=UTC)),
        ("2200-12-31", datetime(2200, 12, 31, tzinfo=UTC)),
        ("2025-03-01T10:00:00Z", datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("2025-03-01T10:00:00+02:00", datetime(2025, 3, 1, 8, tzinfo=UTC)),
        ("2025-03-01 10:00", datetime(2025, 3, 1, 10, tzinfo=UTC)),
        ("2025-03-01T10:00:00.250Z", datetime(2025, 3, 1, 10, 0, 0, 250_000, tzinfo=UTC)),
    ],
)
def test_a_written_date_becomes_an_aware_instant(written: str, instant: datetime) -> None:
    bound = parse_bound(written, SAID_AT)
    assert bound == instant
    assert bound is not None
    assert bound.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "written",
    [
        None, "", "null", "None", "YYYY-MM-DD", "soonish", "2025-02-30", "2025-13-01", "1899-12-31",
        "2201-01-01", "0000-00-00", "0001-01-01T00:00:00+14:00", "20250301", "2025-03", "2025",
        "2025-W03-1", "03/01/2025", "last Monday", "2025-03-01T25:00:00Z", "9999-12-31T23:59:59Z",
        "2025-03-01 and later", "\u0662\u0660\u0662\u0665-\u0660\u0663-\u0660\u0661",
    ],
)  # fmt: skip
def test_what_is_no_written_date_gives_no_bound(written: str | None) -> None:
    assert parse_bound(written, SAID_AT) is None


def test_vague_phrases_are_reported_and_give_no_bound() -> None:
    text = "I quit a few weeks ago, since I was 12 I swim, and in my twenties I read for years."
    assert [phrase.text for phrase in find_unresolved(text)] == [
        "a few weeks ago",
        "since I was 12",
        "in my twenties",
        "for years",
    ]
    assert find_bounds(text, SAID_AT) == []


_WORDS = st.sampled_from(
    [
        "since", "until", "from", "to", "on", "in", "for", "the", "of", "last", "this", "next",
        "early", "mid", "late", "end", "beginning", "may", "May", "march", "June", "5", "5th",
        "31", "31st", "2019", "'19", "3/5", "12/31/2020", "-", ",", ".", "and", "between",
        "through", "ago", "from", "now", "two", "a", "couple", "weeks", "years", "month", "Monday",
        "Fri", "weekend", "summer", "Christmas", "Q3", "90s", "yesterday", "today", "999", "0",
        "February", "30", "29", "we", "sun", "second", "I", "was", "will", "2024-02-30",
        "2024-02-29", "decade", "decades", "\u017funday", "boxing\n day",
    ]
)  # fmt: skip
_TEXTS = st.lists(_WORDS, max_size=12).map(" ".join) | st.text(max_size=60)
_INSTANTS = st.datetimes(
    min_value=datetime(1, 1, 2),  # noqa: DTZ001
    max_value=datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.just(UTC),
)


@given(text=_TEXTS, said_at=_INSTANTS, is_past=st.none() | st.booleans())
def test_any_text_gives_ordered_matches_that_quote_it(
    text: str, said_at: datetime, is_past: bool | None
) -> None:
    position = 0
    for match in find_bounds(text, said_at, is_past=is_past):
        assert position <= match.start < match.end
        assert text[match.start : match.end] == match.text
        assert match.valid_from or match.valid_until
        if match.valid_from and match.valid_until:
            assert match.valid_from < match.valid_until
        position = match.end


@given(text=_TEXTS, said_at=_INSTANTS)
def test_the_same_text_and_instant_give_the_same_day(text: str, said_at: datetime) -> None:
    day = resolve_date(text, said_at)
    assert day == resolve_date(text, said_at)
    assert day is None or 1900 <= day.year <= 2200


_PLAIN = [
    "I", "we", "second", "sun", "mon", "wed", "sat", "a", "of", "3", "12", "$20", "2.5", "v1.2.3",
    "555-0199", "moved", "will", ",", "and", "love", "99%", "room", "caf\u00e9",
]  # fmt: skip
# What a preposition would make a date ("in may", "on 9/10"), and the prepositions.
_AMBIGUOUS = ["may", "march", "fall", "spring", "24/7", "9/10", "1/2", "Christmas"]
_PREPOSITIONS = [
    "since", "until", "from", "to", "on", "in", "at", "by", "for", "the", "last", "next", "this",
    "early", "end", "within", "after", "between",
]  # fmt: skip


@given(
    words=st.lists(st.sampled_from(_PLAIN + _AMBIGUOUS), max_size=12)
    | st.lists(st.sampled_from(_PLAIN + _PREPOSITIONS), max_size=12)
)
def test_a_text_without_temporal_words_holds_no_phrase(words: list[str]) -> None:
    assert find_bounds(" ".join(words), SAID_AT) == []


@given(written=st.text(max_size=40) | st.none())
def test_any_written_bound_is_an_instant_or_nothing(written: str | None) -> None:
    bound = parse_bound(written, SAID_AT)
    assert bound is None or bound.tzinfo is UTC
