"""All dated phrases of a text: where one may begin, what is skipped, which reader is asked.

Belongs here: the walk over a text, and phrases that recur or stay open. Does not: what a phrase
means (temporal_ranges, temporal_durations).
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from memory_pipeline.stages import temporal_words as words
from memory_pipeline.stages.temporal_calendar import Frame, is_plausible
from memory_pipeline.stages.temporal_durations import DURATION_READERS
from memory_pipeline.stages.temporal_grammar import read_date
from memory_pipeline.stages.temporal_match import (
    NoSuchDayError,
    Place,
    Reader,
    TemporalMatch,
    first_match,
)
from memory_pipeline.stages.temporal_ranges import RANGE_READERS, lead_at
from memory_pipeline.stages.temporal_rules import Lead

_READERS: Final[tuple[Reader, ...]] = DURATION_READERS + RANGE_READERS

_TIME_WORD: Final = (
    r"yesterday|today|tonight|tomorrow|ago|now|last\s+night|this\s+(?:morning|afternoon|evening)"
    r"|(?:day|week|fortnight|month|quarter|year|decade|wk|yr|weekend)s?"
    rf"|(?!(?-i:may)\b){words.MONTH}|{words.WEEKDAY}|{words.SEASON}|{words.HOLIDAY}"
    rf"|{words.one_of(words.DECADES)}"
    # The commonest verb of all these words asks for a preposition or a number.
    r"|(?:in|since|from|until|till|by|before|after|through|thru|during|to|of|about|around|mid|early"
    r"|late|last|next|coming|past|between|and)[\s\-]+may|may\s+(?:the\s+)?\d|\d\w*\s+may"
)
# Most messages hold no date: one search decides that before any rule is tried.
_MAY_BE_DATED: Final = re.compile(
    rf"\b(?:19|20)\d\d(?!\d)|['\u2019]\d\d\b|\d/\d|\d(?:st|nd|rd|th)\b|\d0['\u2019]?s\b|\bQ[1-4]"
    rf"|\d(?={words.MONTH})|\b(?:{_TIME_WORD})\b",
    re.IGNORECASE,
)
# Behind a letter, a digit or one of these signs stands no date, but a price, a version, a link.
_OPENER: Final = re.compile(
    r"(?<![\w$\u20ac\u00a3#@/\\.:+\-\u2013'\u2019])(?:\d|[a-z])", re.IGNORECASE
)
_RECURRING: Final = re.compile(
    r"(?:every|each)\s+(?:other\s+|second\s+|single\s+)?"
    rf"(?:{words.WEEKDAY}|{words.MONTH}|{words.SEASON}|{words.HOLIDAY}|{words.UNIT})"
    rf"{words.DAY_PART}",
    re.IGNORECASE,
)
_WORKING_WEEK: Final = re.compile(
    rf"(?:from\s+)?{words.WEEKDAY}\s*(?:to|through|thru|until|till|-|\u2013)\s*{words.WEEKDAY}",
    re.IGNORECASE,
)
# Verbs and fractions, unless a preposition makes them dates.
_NO_DATE_ALONE: Final = re.compile(r"may|march|\d+/\d+")
_LEADS_OF_A_BARE_PHRASE: Final[tuple[Lead, ...]] = ("", "on", "in")


def phrases_of(text: str, said_at: datetime, is_past: bool | None) -> list[TemporalMatch]:
    """The dated phrases of a text, in order, without overlaps."""
    if not _MAY_BE_DATED.search(text):
        return []
    found: list[TemporalMatch] = []
    position = 0
    while opener := _OPENER.search(text, position):
        place = Place(text, opener.start(), said_at, is_past)
        if habit_end := _recurs_until(place):
            position = habit_end
            continue
        try:
            match = first_match(place, _READERS)
        except NoSuchDayError as error:
            position = error.end
            continue
        position = match.end if match else opener.end()
        if match:
            found.append(match)
    return found


def _recurs_until(place: Place) -> int | None:
    """Where a habit ends that begins here: "every Monday", "Monday to Friday" without a tense."""
    if match := _RECURRING.match(place.text, place.start):
        return match.end()
    match = _WORKING_WEEK.match(place.text, place.start)
    return match.end() if match and place.tense in (None, "present") else None


def whole_phrase(phrase: str, said_at: datetime, is_past: bool | None) -> TemporalMatch | None:
    """The dated phrase that fills a text, if it is one."""
    try:
        match = first_match(Place(phrase, 0, said_at, is_past), _READERS)
    except NoSuchDayError:
        return None
    return match if match and match.end == len(phrase) else None


def single_date(phrase: str, said_on: date, is_past: bool | None) -> date | None:
    """The first day of one date expression that fills the phrase, preposition aside."""
    if _NO_DATE_ALONE.fullmatch(phrase):
        return None
    lead, start = lead_at(phrase, 0)
    frame = Frame(said_on, said_on, bool(is_past) or lead == "since")
    for name in (lead, *_LEADS_OF_A_BARE_PHRASE):
        reading = read_date(phrase, start, name)
        if reading is None or reading.end != len(phrase):
            continue
        try:
            first = reading.resolve(frame).first
        except (ValueError, OverflowError, LookupError):
            return None
        return first if is_plausible(first) else None
    return None


@dataclass(frozen=True)
class UnresolvedPhrase:
    """Words about time that name no day: "a few weeks ago", "since I was 12"."""

    start: int
    end: int
    text: str


_VAGUE: Final = r"(?:a\s+(?:few|couple(?!\s+of))|few|several|some|many|so\s+many)"
_OPEN: Final = re.compile(
    rf"\b(?:(?:{_VAGUE}\s+{words.UNIT}|a\s+(?:long\s+)?(?:while|time))\s+(?:ago|back)\b"
    rf"|(?:for|over|in)\s+(?:the\s+(?:last|past|next)\s+)?(?:{_VAGUE}\s+)?"
    r"(?:days|weeks|months|years|ages|decades|a\s+(?:long\s+)?(?:while|time))\b"
    r"|(?:since|until|till|when|before|after)\s+(?:i|we|he|she|they)\s+(?:was|were|turned?|am|is)"
    r"\s+(?:about\s+)?\d{1,2}\b"
    r"|(?:in|since|during)\s+(?:my|his|her|their|our)\s+(?:early\s+|mid[\s-]+|late\s+)?"
    r"(?:\d0s|teens|twenties|thirties|forties|fifties|sixties|seventies|childhood|youth)\b"
    r"|(?:since|until|till|after|before)\s+then\b)",
    re.IGNORECASE,
)


def unresolved_phrases_of(text: str) -> list[UnresolvedPhrase]:
    """The phrases of a text that speak of time and name no day, in order."""
    return [
        UnresolvedPhrase(match.start(), match.end(), match[0]) for match in _OPEN.finditer(text)
    ]
