"""How threads are cut: caps, silences, and cutting piece by piece.

Belongs here: the pure cut and its token estimate. Does not: importing and storing of episodes.
"""

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.stages.windows import (
    TimedMessage,
    WindowBounds,
    cut_windows,
    estimate_tokens,
)

START = datetime(2025, 3, 1, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def _at(*minutes: int, tokens: int = 10) -> list[TimedMessage]:
    return [
        TimedMessage(seq=seq, said_at=START + MINUTE * minute, token_count=tokens)
        for seq, minute in enumerate(minutes)
    ]


def _ranges(windows: list[WindowBounds]) -> list[tuple[int, int]]:
    return [(window.first_seq, window.last_seq) for window in windows]


@st.composite
def threads(draw: st.DrawFn) -> list[TimedMessage]:
    steps = draw(st.lists(st.tuples(st.integers(1, 3), st.integers(-50, 50), st.integers(0, 120))))
    seq, minute, messages = 0, 0, []
    for ahead, gap, tokens in steps:
        seq, minute = seq + ahead, minute + gap
        messages.append(TimedMessage(seq, START + MINUTE * minute, tokens))
    return messages


def _cut(messages: list[TimedMessage]) -> list[WindowBounds]:
    return cut_windows(messages, max_messages=4, max_tokens=100)


def test_no_messages_give_no_window() -> None:
    assert cut_windows([]) == []


def test_a_silence_of_exactly_the_idle_time_does_not_close_a_window() -> None:
    assert _ranges(cut_windows(_at(0, 30, 60))) == [(0, 2)]


def test_a_longer_silence_closes_a_window() -> None:
    assert _ranges(cut_windows(_at(0, 10, 41, 45))) == [(0, 1), (2, 3)]


def test_a_clock_that_jumps_backwards_closes_a_window_too() -> None:
    assert _ranges(cut_windows(_at(100, 101, 60))) == [(0, 1), (2, 2)]


def test_a_window_spans_its_least_and_greatest_time() -> None:
    (window,) = cut_windows(_at(10, 5, 20))

    assert window == WindowBounds(0, 2, START + 5 * MINUTE, START + 20 * MINUTE, 3, 30)


def test_the_message_cap_closes_a_window() -> None:
    assert _ranges(cut_windows(_at(0, 1, 2, 3, 4), max_messages=2)) == [(0, 1), (2, 3), (4, 4)]


def test_a_message_above_the_token_cap_is_alone_in_its_window() -> None:
    messages = [
        TimedMessage(0, START, 10),
        TimedMessage(1, START, 500),
        TimedMessage(2, START, 10),
    ]

    assert _ranges(cut_windows(messages, max_tokens=100)) == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("caps", [{"max_messages": 0}, {"max_tokens": 0}])
def test_a_cap_below_one_is_refused(caps: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        cut_windows(_at(0), **caps)  # type: ignore[arg-type]


def test_messages_out_of_order_are_refused() -> None:
    with pytest.raises(ValueError, match="does not come after"):
        cut_windows(list(reversed(_at(0, 1))))


@given(threads())
def test_windows_cover_every_message_once_and_in_order(messages: list[TimedMessage]) -> None:
    windows = _cut(messages)

    covered = [
        message.seq
        for window in windows
        for message in messages
        if window.first_seq <= message.seq <= window.last_seq
    ]
    assert covered == [message.seq for message in messages]
    assert sum(window.message_count for window in windows) == len(messages)


@given(threads())
def test_windows_respect_the_caps(messages: list[TimedMessage]) -> None:
    for window in _cut(messages):
        assert window.message_count <= 4
        assert window.token_count <= 100 or window.message_count == 1


@given(threads())
def test_no_silence_lies_inside_a_window(messages: list[TimedMessage]) -> None:
    starts = {window.first_seq for window in _cut(messages)}

    for before, after in pairwise(messages):
        if after.seq not in starts:
            assert abs(after.said_at - before.said_at) <= timedelta(minutes=30)


@given(threads(), st.data())
def test_cutting_on_from_the_end_of_a_window_changes_nothing(
    messages: list[TimedMessage], data: st.DataObject
) -> None:
    windows = _cut(messages)
    done = data.draw(st.integers(0, len(windows)))
    last_seq = windows[done - 1].last_seq if done else -1

    first = _cut([message for message in messages if message.seq <= last_seq])
    rest = _cut([message for message in messages if message.seq > last_seq])

    assert first + rest == windows


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 1),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("我住在北京", 5),
        ("我住abcde", 4),
        ("한국어", 3),
    ],
)
def test_tokens_are_estimated_by_characters(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_longer_text_never_costs_fewer_tokens(text: str, more: str) -> None:
    assert estimate_tokens(text + more) >= estimate_tokens(text)
