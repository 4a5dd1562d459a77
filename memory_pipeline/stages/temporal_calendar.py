"""Calendar arithmetic of dated phrases: periods, their parts, and which turn of a cycle is meant.

Belongs here: dates in, dates out. Does not: words and patterns (temporal_words, temporal_grammar).
Seasons are meteorological and northern: spring starts on 1 March, winter on 1 December.
"""

import calendar
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal, assert_never

DAY = timedelta(days=1)
WEEK = timedelta(days=7)
EARLIEST_YEAR = 1900
LATEST_YEAR = 2200

Unit = Literal["day", "week", "month", "quarter", "year", "decade"]
Part = Literal["start", "middle", "late", "end"]


@dataclass(frozen=True)
class Period:
    """Days from `first` up to, not including, `end`.

    `closes` is what "until" the phrase means where that is not `first`: the end of June closes on
    1 July although it is the day of 30 June.
    """

    first: date
    end: date
    closes: date | None = None

    @property
    def until(self) -> date:
        """The exclusive bound that "until" gives."""
        return self.closes or self.first


@dataclass(frozen=True)
class Frame:
    """What a phrase is read against: the day it was said, and where a cycle is counted from.

    `is_past` decides for phrases that fit several turns of a cycle ("on Friday", "in June"):
    the latest one, or else the coming one.
    """

    said_on: date
    anchor: date
    is_past: bool


def is_plausible(day: date) -> bool:
    """Whether a year may stand in memory; anything else is a slip or a number read as a year."""
    return EARLIEST_YEAR <= day.year <= LATEST_YEAR


def one_day(day: date) -> Period:
    """A single day as a period."""
    return Period(day, day + DAY)


def shift_months(day: date, months: int) -> date:
    """The same day in another month, or that month's last day.

    Raises ValueError when the year leaves the calendar.
    """
    index = day.year * 12 + day.month - 1 + months
    year, month = index // 12, index % 12 + 1
    if not 1 <= year <= 9999:
        raise ValueError(year)
    return date(year, month, min(day.day, calendar.monthrange(year, month)[1]))


def shift(day: date, unit: Unit, count: float) -> date:
    """`day` moved by `count` units; half units are counted in months, or days for a week."""
    match unit:
        case "day":
            return day + timedelta(days=int(count))
        case "week":
            return day + timedelta(days=int(count * 7))
        case "month":
            whole = shift_months(day, int(count))
            return whole + timedelta(days=int((count - int(count)) * 30))
        case "quarter":
            return shift_months(day, int(count * 3))
        case "year":
            return shift_months(day, int(count * 12))
        case "decade":
            return shift_months(day, int(count * 120))
        case _:
            assert_never(unit)


def unit_around(day: date, unit: Unit) -> Period:
    """The calendar unit that holds `day`; weeks start on Monday."""
    match unit:
        case "day":
            return one_day(day)
        case "week":
            first = day - timedelta(days=day.weekday())
            return Period(first, first + WEEK)
        case "month":
            return months_from(day.year, day.month, 1)
        case "quarter":
            return months_from(day.year, (day.month - 1) // 3 * 3 + 1, 3)
        case "year":
            return months_from(day.year, 1, 12)
        case "decade":
            return months_from(day.year // 10 * 10, 1, 120)
        case _:
            assert_never(unit)


def months_from(year: int, month: int, count: int) -> Period:
    """`count` whole months from the first of the given one."""
    first = date(year, month, 1)
    return Period(first, shift_months(first, count))


def part_of(whole: Period, part: Part) -> Period:
    """The beginning, middle, late stretch or end of a period.

    A month's middle is the 15th and it is late from the 21st. Longer periods are halved, and late
    from three quarters on, in whole months: a year from 1 October.
    """
    match part:
        case "start":
            return whole
        case "middle":
            return Period(_at_share(whole, 0.5), whole.end)
        case "late":
            return Period(_at_share(whole, 0.75), whole.end)
        case "end":
            return Period(whole.end - DAY, whole.end, closes=whole.end)
        case _:
            assert_never(part)


def _at_share(whole: Period, share: float) -> date:
    days = (whole.end - whole.first).days
    if days <= 7:
        return whole.first + DAY * int(days * share)
    if days <= 31:
        return whole.first.replace(day=15 if share == 0.5 else 21)
    return shift_months(whole.first, int(round(days / 30.44) * share))


def turn_of_year(frame: Frame, in_year: Callable[[int], Period]) -> Period:
    """The turn of a yearly cycle that a phrase without a year means.

    The turn under way counts as past and as coming. Raises ValueError when no year has the day.
    """
    year = frame.anchor.year
    # Eight years hold a 29 February even around a century without a leap day.
    years = range(year + 1, year - 9, -1) if frame.is_past else range(year - 1, year + 9)
    for candidate in years:
        try:
            period = in_year(candidate)
        except ValueError:
            continue
        if period.first <= frame.anchor if frame.is_past else period.end > frame.anchor:
            return period
    raise ValueError(frame.anchor)


def turn_of_month(frame: Frame, day_of_month: int) -> Period:
    """The turn of a day of the month ("the 9th") that is meant; today counts both ways."""
    for count in range(13):
        month = shift_months(frame.anchor.replace(day=1), -count if frame.is_past else count)
        if day_of_month > calendar.monthrange(month.year, month.month)[1]:
            continue
        day = month.replace(day=day_of_month)
        if day <= frame.anchor if frame.is_past else day >= frame.anchor:
            return one_day(day)
    raise ValueError(day_of_month)


def weekday_before(day: date, weekday: int) -> date:
    """The latest such weekday before `day`, never `day` itself (Monday is 0)."""
    return day - timedelta(days=(day.weekday() - weekday - 1) % 7 + 1)


def weekday_after(day: date, weekday: int) -> date:
    """The first such weekday after `day`, never `day` itself (Monday is 0)."""
    return day + timedelta(days=(weekday - day.weekday() - 1) % 7 + 1)
