"""Rules for dates of the calendar: "5 May 2023", "3/5/2024", "June", "Q3 2024", "the 90s".

Belongs here: names and numbers of days, months, seasons, quarters, years, decades and holidays.
Does not: dates counted from the message (temporal_relative).
"""

from collections.abc import Iterable
from datetime import date
from typing import Final

from memory_pipeline.stages import temporal_words as words
from memory_pipeline.stages.temporal_calendar import (
    Frame,
    Period,
    months_from,
    one_day,
    part_of,
    turn_of_month,
    turn_of_year,
)
from memory_pipeline.stages.temporal_rules import IN, LED, ON, Match, RuleBook, leads_of

NAMED: Final = RuleBook()

_SHORT_YEAR: Final = rf"(?P<year>{words.YEAR}|['\u2019]\d\d\b)"
_FULL_YEAR: Final = rf"(?P<year>{words.YEAR})"
_BEHIND: Final = r"(?:\s*,\s*|\s+of\s+|\s+in\s+|\s+)"
_OPTIONAL_YEAR: Final = rf"(?:{_BEHIND}{_FULL_YEAR})?"
_WEEKDAY_BEFORE: Final = rf"(?:{words.WEEKDAY}\.?,?\s+(?:the\s+)?)?"
_DAY: Final = rf"(?P<day>{words.DAY_NUMBER})"
_MONTH: Final = rf"(?P<month>{words.MONTH})"
# "may" and "march" are verbs unless a preposition, an ordinal or a capital marks a date.
_SURE_MONTH: Final = rf"(?!(?-i:may|march)\b){_MONTH}"
_NOT_A_CLOCK: Final = r"(?![:%]|[-./]\d|\s?[ap]m\b)"
# What can follow "the 9th" or "around 2000"; a noun makes them a floor or a count.
_NO_NOUN: Final = (
    r"(?=\s*(?:$|[.,;:!?)\-\u2013\u2014\n]|(?:i|we|he|she|they|it|you|my|our|and|but|so|at|with"
    r"|because|when|for|to|until|till|through|from|that|which)\b))"
)


def _written_year(match: Match, frame: Frame) -> int | None:
    digits = (match["year"] or "").lstrip("'\u2019")
    if not digits:
        return None
    if len(digits) == 4:
        return int(digits)
    # Two digits mean this century up to ten years ahead of the message.
    return 2000 + int(digits) if int(digits) <= frame.said_on.year - 1990 else 1900 + int(digits)


def _day_of_year(match: Match, frame: Frame, month: int, day: int) -> Period:
    year = _written_year(match, frame)
    if year is not None:
        return one_day(date(year, month, day))
    return turn_of_year(frame, lambda candidate: one_day(date(candidate, month, day)))


def _months_of_year(match: Match, frame: Frame, month: int, count: int) -> Period:
    year = _written_year(match, frame)
    if year is not None:
        return months_from(year, month, count)
    return turn_of_year(frame, lambda candidate: months_from(candidate, month, count))


def _place_in(names: Iterable[str], word: str) -> int:
    """1 for the first name, 2 for the second; a number stands for itself."""
    folded = word.lower()
    return list(names).index(folded) + 1 if folded.isalpha() else int(folded)


@NAMED.add(
    r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)"
    r"(?:[T\s]\d\d:\d\d[\d:.]*(?:Z|[+-]\d\d:?\d\d)?)?(?![\w-])"
)
@NAMED.add(r"(?P<y>(?:19|20)\d\d)/(?P<m>\d\d?)/(?P<d>\d\d?)(?![\w/])")
@NAMED.add(r"(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>(?:19|20)\d\d)(?![\w.]?\d)", leads=ON)
def _year_month_day(match: Match, frame: Frame) -> Period:
    return one_day(date(int(match["y"]), int(match["m"]), int(match["d"])))


@NAMED.add(r"(?P<a>\d\d?)/(?P<b>\d\d?)/(?P<year>(?:19|20)\d\d|\d\d)(?![\w/])")
@NAMED.add(r"(?P<a>\d\d?)-(?P<b>\d\d?)-(?P<year>(?:19|20)\d\d)(?![\w-])", leads=ON)
@NAMED.add(
    r"(?P<a>\d\d?)/(?P<b>\d\d?)(?P<year>)(?![\w/%.]|\s*(?:cups?|of|stars?|would|rating)\b)",
    leads=leads_of("on", "since"),
    is_floating=True,
)
def _slashed(match: Match, frame: Frame) -> Period:
    """Month first, as in American use, unless the first number can't be a month."""
    first, second = int(match["a"]), int(match["b"])
    month, day = (second, first) if first > 12 else (first, second)
    return _day_of_year(match, frame, month, day)


@NAMED.add(r"(?P<y>(?:19|20)\d\d)[-/](?P<m>0[1-9]|1[0-2])(?![\w/-])", leads=IN)
@NAMED.add(r"(?P<m>0?[1-9]|1[0-2])/(?P<y>(?:19|20)\d\d)(?![\w/-])", leads=IN)
def _numeric_month(match: Match, frame: Frame) -> Period:
    return months_from(int(match["y"]), int(match["m"]), 1)


_SUFFIX: Final = r"(?:st|nd|rd|th)"
_DAY_FIRST: Final = rf"{_WEEKDAY_BEFORE}{_DAY}\s*"
_MONTH_FIRST: Final = rf" (?:the )?{_DAY}{_SUFFIX}?\b{_NOT_A_CLOCK}"


@NAMED.add(rf"{_DAY_FIRST}{_SURE_MONTH}{_OPTIONAL_YEAR}", is_floating=True)
@NAMED.add(rf"{_DAY_FIRST}{_MONTH}{_BEHIND}{_FULL_YEAR}")
@NAMED.add(rf"{_DAY_FIRST}{_MONTH}{_OPTIONAL_YEAR}", leads=ON, is_floating=True)
@NAMED.add(
    rf"{_WEEKDAY_BEFORE}(?:the )?{_DAY}{_SUFFIX}(?: day)?(?: of)? {_MONTH}{_OPTIONAL_YEAR}",
    is_floating=True,
)
@NAMED.add(
    rf"the (?P<day>{words.one_of(words.ORDINALS)})(?: day)? of {_MONTH}{_OPTIONAL_YEAR}",
    is_floating=True,
)
@NAMED.add(rf"{_WEEKDAY_BEFORE}{_SURE_MONTH}{_MONTH_FIRST}{_OPTIONAL_YEAR}", is_floating=True)
@NAMED.add(rf"{_WEEKDAY_BEFORE}{_MONTH}{_MONTH_FIRST}{_BEHIND}{_FULL_YEAR}")
@NAMED.add(rf"{_MONTH} (?:the )?{_DAY}{_SUFFIX}\b{_OPTIONAL_YEAR}", is_floating=True)
@NAMED.add(rf"{_WEEKDAY_BEFORE}{_MONTH}{_MONTH_FIRST}{_OPTIONAL_YEAR}", leads=ON, is_floating=True)
def _day_and_month(match: Match, frame: Frame) -> Period:
    day = _place_in(words.ORDINALS, match["day"])
    return _day_of_year(match, frame, words.month_number(match["month"]), day)


@NAMED.add(
    rf"(?:the month of )?{_MONTH}(?P<year>)(?!\s*\d)",
    leads=IN - leads_of("by", "from"),
    is_floating=True,
)
@NAMED.add(
    # A name behind the month makes it a first name: "a letter from June Carter".
    rf"{_MONTH}(?P<year>)(?!\s*\d|\s(?-i:[A-Z][a-z]))",
    leads=leads_of("by", "from"),
    is_floating=True,
)
@NAMED.add(rf"{_SURE_MONTH}(?: of |\s*,\s*| ){_SHORT_YEAR}")
@NAMED.add(rf"{_MONTH}(?: of |\s*,\s*| ){_FULL_YEAR}")
@NAMED.add(rf"{_MONTH}(?: of |\s*,\s*| ){_SHORT_YEAR}", leads=IN)
def _month(match: Match, frame: Frame) -> Period:
    return _months_of_year(match, frame, words.month_number(match["month"]), 1)


@NAMED.add(
    # Round thousands are counts more often than years, unless a clause goes on behind them.
    rf"(?:the year )?(?P<year>(?!\d\d00){words.YEAR})\b{words.NOT_A_QUANTITY}",
    leads=IN - leads_of("around"),
)
@NAMED.add(rf"(?:the year )?(?P<year>{words.YEAR})\b{words.NOT_A_QUANTITY}{_NO_NOUN}", leads=IN)
@NAMED.add(r"(?P<year>['\u2019]\d\d)\b(?!['\u2019]?s)", leads=IN)
def _year(match: Match, frame: Frame) -> Period:
    return _months_of_year(match, frame, 1, 12)


@NAMED.add(rf"(?:the )?(?P<season>{words.SEASON})(?: of|,)? {_SHORT_YEAR}")
@NAMED.add(
    rf"the (?P<season>(?!fall){words.SEASON})\b(?P<year>)(?!\s*\d| of\b)",
    leads=IN | leads_of("at"),
    is_floating=True,
)
@NAMED.add(
    # "Inspired by autumn" and "after the fall" are no dates.
    rf"(?P<season>(?!fall){words.SEASON})\b(?P<year>)(?!\s*\d| of\b)",
    leads=IN - leads_of("by"),
    is_floating=True,
)
@NAMED.add(
    r"(?:the )?(?P<season>fall)\b(?P<year>)(?!\s*\d| of\b)",
    leads=leads_of("in", "during", "to", "part"),
    is_floating=True,
)
def _season(match: Match, frame: Frame) -> Period:
    return _months_of_year(match, frame, words.SEASON_MONTHS[match["season"].lower()], 3)


@NAMED.add(rf"(?:the )?Q(?P<quarter>[1-4])(?: of |\s*,\s*|/| |){_SHORT_YEAR}")
@NAMED.add(
    rf"the (?P<quarter>first|second|third|fourth) quarter of (?P<year>{words.YEAR})",
)
@NAMED.add(r"Q(?P<quarter>[1-4])\b(?P<year>)", leads=IN, is_floating=True)
def _quarter(match: Match, frame: Frame) -> Period:
    number = _place_in(words.ORDINALS, match["quarter"])
    return _months_of_year(match, frame, number * 3 - 2, 3)


@NAMED.add(r"(?:the )?(?P<y>(?:19|20)\d0)['\u2019]?s\b", leads=IN)
@NAMED.add(r"the ['\u2019]?(?P<y>[1-9]0)['\u2019]?s\b", leads=IN)
@NAMED.add(rf"the (?P<y>{words.one_of(words.DECADES)})\b", leads=IN)
def _decade(match: Match, frame: Frame) -> Period:
    named = match["y"].lower()
    first = words.DECADES[named] if named in words.DECADES else int(named)
    if first < 100:
        century = frame.said_on.year // 100 * 100
        first += century if first + century <= frame.said_on.year else century - 100
    return months_from(first, 1, 120)


@NAMED.add(r"the (?P<part>early|mid|late)[ \-]+['\u2019]?(?P<y>[1-9]0)['\u2019]?s\b", leads=IN)
@NAMED.add(rf"the (?P<part>early|mid|late)[ \-]+(?P<y>{words.one_of(words.DECADES)})\b", leads=IN)
def _part_of_decade(match: Match, frame: Frame) -> Period:
    return part_of(_decade(match, frame), words.PARTS[match["part"].lower()])


@NAMED.add(
    rf"(?P<holiday>{words.HOLIDAY})(?:(?:,| of| in)? (?P<year>{words.YEAR}))?",
    leads=LED,
    is_floating=True,
)
def _holiday(match: Match, frame: Frame) -> Period:
    return _day_of_year(match, frame, *words.holiday_date(match["holiday"]))


@NAMED.add(rf"the {_DAY}(?:st|nd|rd|th)\b{_NO_NOUN}", leads=ON, is_floating=True)
def _day_of_month(match: Match, frame: Frame) -> Period:
    return turn_of_month(frame, int(match["day"]))
