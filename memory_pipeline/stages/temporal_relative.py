"""Rules for dates counted from the message: "last Monday", "two weeks ago", "next September".

Belongs here: what last, this, next, ago and bare weekdays mean. Does not: dates of the calendar
(temporal_named).
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Final

from memory_pipeline.stages import temporal_words as words
from memory_pipeline.stages.temporal_calendar import (
    DAY,
    WEEK,
    Frame,
    Period,
    months_from,
    one_day,
    shift,
    shift_months,
    unit_around,
    weekday_after,
    weekday_before,
)
from memory_pipeline.stages.temporal_rules import ON, Match, RuleBook, leads_of

RELATIVE: Final = RuleBook()

_SIDE: Final = r"(?P<side>last|past|this past|this|next|coming|this coming)"
_LAST: Final = frozenset(("last", "past", "this past"))


def _side_of(match: Match) -> int:
    """-1 for the last one, 0 for this one, 1 for the next one."""
    side = " ".join(match["side"].lower().split())
    return -1 if side in _LAST else 1 if side.endswith(("next", "coming")) else 0


def _turn_aside(match: Match, frame: Frame, in_year: Callable[[int], Period]) -> Period:
    """The turn wholly before the day, the one under way or this year's, or the next to start."""
    said, side = frame.said_on, _side_of(match)
    turns = [in_year(year) for year in range(said.year - 2, said.year + 3)]
    if side < 0:
        return [turn for turn in turns if turn.end <= said][-1]
    if side > 0:
        return next(turn for turn in turns if turn.first > said)
    return next((turn for turn in turns if turn.first <= said < turn.end), turns[2])


# "This may help" is no month: the two verbs need their capital.
@RELATIVE.add(rf"{_SIDE} (?P<month>(?!(?-i:may|march)\b){words.MONTH})(?!\s*\d)")
def _month_aside(match: Match, frame: Frame) -> Period:
    month = words.month_number(match["month"])
    return _turn_aside(match, frame, lambda year: months_from(year, month, 1))


@RELATIVE.add(rf"{_SIDE} (?P<season>{words.SEASON})\b")
def _season_aside(match: Match, frame: Frame) -> Period:
    month = words.SEASON_MONTHS[match["season"].lower()]
    return _turn_aside(match, frame, lambda year: months_from(year, month, 3))


@RELATIVE.add(rf"{_SIDE} (?P<holiday>{words.HOLIDAY})")
def _holiday_aside(match: Match, frame: Frame) -> Period:
    month, day = words.holiday_date(match["holiday"])
    return _turn_aside(match, frame, lambda year: one_day(date(year, month, day)))


@RELATIVE.add(rf"(?P<month>{words.MONTH})(?:,| of)? {_SIDE} year\b")
@RELATIVE.add(rf"{_SIDE} year,?(?: in)? (?P<month>{words.MONTH})(?!\s*\d)")
def _month_of_a_year(match: Match, frame: Frame) -> Period:
    year = frame.said_on.year + _side_of(match)
    return months_from(year, words.month_number(match["month"]), 1)


@RELATIVE.add(rf"(?:the )?(?P<season>{words.SEASON}) of {_SIDE} year\b")
def _season_of_a_year(match: Match, frame: Frame) -> Period:
    year = frame.said_on.year + _side_of(match)
    return months_from(year, words.SEASON_MONTHS[match["season"].lower()], 3)


@RELATIVE.add(
    rf"the (?P<day>{words.DAY_NUMBER})(?:st|nd|rd|th) of (?P<side>this|last|next|the) month\b"
)
def _day_of_a_month(match: Match, frame: Frame) -> Period:
    month = shift_months(frame.said_on.replace(day=1), _side_of(match))
    return one_day(month.replace(day=int(match["day"])))


@RELATIVE.add(
    rf"{_SIDE} (?P<weekday>{words.WEEKDAY})(?!['\u2019]s){words.DAY_PART}", is_floating=True
)
def _weekday_aside(match: Match, frame: Frame) -> Period:
    """Last: the latest before the day. This: the first from the day on. Next: the first after.

    Of what has happened, this one is the latest up to the day.
    """
    weekday, side = words.weekday_number(match["weekday"]), _side_of(match)
    if side < 0:
        return one_day(weekday_before(frame.said_on, weekday))
    if side == 0 and frame.is_past:
        return one_day(weekday_before(frame.said_on + DAY, weekday))
    return one_day(weekday_after(frame.said_on if side else frame.said_on - DAY, weekday))


@RELATIVE.add(rf"(?P<weekday>{words.WEEKDAY})(?: of)? {_SIDE} week\b")
def _weekday_of_a_week(match: Match, frame: Frame) -> Period:
    monday = unit_around(frame.said_on, "week").first + WEEK * _side_of(match)
    return one_day(monday + DAY * words.weekday_number(match["weekday"]))


@RELATIVE.add(
    rf"(?P<weekday>{words.WEEKDAY})(?!['\u2019]s){words.DAY_PART}", leads=ON, is_floating=True
)
@RELATIVE.add(
    # Bare weekdays are dates at the end of a clause only: "I start Monday", not "Friday is fun".
    r"(?<!black\s)(?<!good\s)(?<!any\s)(?<!\ba\s)(?<!the\s)(?<!one\s)(?<!love\s)(?<!hate\s)"
    rf"(?P<weekday>{words.FULL_WEEKDAY}){words.DAY_PART}(?=\s*(?:$|[.,;!?)\n]|at\s+\d))",
    is_floating=True,
)
def _weekday(match: Match, frame: Frame) -> Period:
    weekday = words.weekday_number(match["weekday"])
    turn = weekday_before if frame.is_past else weekday_after
    return one_day(turn(frame.anchor, weekday))


_NAMED_DAYS: Final = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "today": 0,
    "now": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}


@RELATIVE.add(
    rf"(?:(?:earlier|later) )?(?P<name>{words.one_of(_NAMED_DAYS.keys() - {'now'})})"
    rf"\b(?!['\u2019]s){words.DAY_PART}"
)
@RELATIVE.add(
    r"(?P<name>now)(?: on)?\b",
    leads=leads_of("from", "since", "until", "through", "to"),
)
def _named_day(match: Match, frame: Frame) -> Period:
    return one_day(frame.said_on + DAY * _NAMED_DAYS[" ".join(match["name"].lower().split())])


@RELATIVE.add(rf"{_SIDE} (?P<unit>week|month|quarter|year|decade)\b(?! of\b)")
@RELATIVE.add(r"the (?P<side>)(?P<unit>week|month|quarter|year)\b", leads=leads_of("part"))
def _unit_aside(match: Match, frame: Frame) -> Period:
    unit, _ = words.unit_of(match["unit"])
    return unit_around(
        shift(unit_around(frame.said_on, unit).first, unit, _side_of(match)),
        unit,
    )


@RELATIVE.add(r"the (?P<unit>week|month|year) before last\b")
def _unit_before_last(match: Match, frame: Frame) -> Period:
    unit, _ = words.unit_of(match["unit"])
    return unit_around(shift(unit_around(frame.said_on, unit).first, unit, -2), unit)


@RELATIVE.add(rf"{_SIDE} weekend\b")
def _weekend_aside(match: Match, frame: Frame) -> Period:
    """Saturday and Sunday; the last one has passed, this one is under way or comes first."""
    side = _side_of(match)
    passed = weekday_before(frame.said_on - DAY, 5)
    first = weekday_after(frame.said_on, 5) if side > 0 else passed + WEEK * (1 + side)
    return Period(first, first + 2 * DAY)


@RELATIVE.add(r"the weekend\b", leads=ON | leads_of("at"), is_floating=True)
def _weekend(match: Match, frame: Frame) -> Period:
    passed = weekday_before(frame.said_on - DAY, 5)
    first = passed if frame.is_past else passed + WEEK
    return Period(first, first + 2 * DAY)


@RELATIVE.add(rf"(?P<n>{words.NUMBER}) weekends? ago\b")
def _weekends_ago(match: Match, frame: Frame) -> Period:
    passed = weekday_before(frame.said_on - DAY, 5)
    first = passed - WEEK * (int(words.count_of(match["n"])) - 1)
    return Period(first, first + 2 * DAY)


@RELATIVE.add(
    rf"(?:(?:about|around|roughly|almost|nearly|over|just over|just|some) )?(?P<n>{words.NUMBER})"
    rf"\s*-?\s*(?P<unit>{words.UNIT})(?P<half> and a half)? (?:ago|back)\b"
)
def _ago(match: Match, frame: Frame) -> Period:
    return one_day(counted_day(match, frame.said_on, -1))


@RELATIVE.add(
    rf"(?P<n>{words.NUMBER}) (?P<unit>{words.UNIT})(?P<half> and a half)? from (?:now|today)\b"
)
def _from_now(match: Match, frame: Frame) -> Period:
    return one_day(counted_day(match, frame.said_on, 1))


def counted_day(match: re.Match[str], day: date, sign: int) -> date:
    """`day` moved by the groups `n`, `unit` and `half` of a match, back for a negative sign."""
    unit, size = words.unit_of(match["unit"])
    count = words.count_of(match["n"]) * size + (0.5 if match["half"] else 0)
    return shift(day, unit, sign * count)
