"""Lengths of time as bounds: "for three years", "in two weeks", "over the past 6 months".

Belongs here: what a length counts from. Does not: dates and ranges (temporal_ranges). A bare length
("after 6 years") is no date and gives nothing.
"""

import re
from dataclasses import replace
from typing import Final

from memory_pipeline.stages import temporal_words as words
from memory_pipeline.stages.temporal_calendar import shift
from memory_pipeline.stages.temporal_fallback import COMPOUND_AGO, by_dateparser
from memory_pipeline.stages.temporal_match import Place, Reader, TemporalMatch, first_match
from memory_pipeline.stages.temporal_ranges import RANGE_READERS, lead_at
from memory_pipeline.stages.temporal_relative import counted_day

_LENGTH: Final = (
    r"(?:(?:about|around|almost|nearly|roughly|over|more\s+than|at\s+least|another|exactly)\s+)?"
    rf"(?P<n>{words.NUMBER})(?:\s+(?:full|long|whole|more))?[\s-]+(?P<unit>{words.UNIT})"
    r"(?P<half>\s+and\s+a\s+half)?(?!['\u2019]|\s+(?:olds?|ago|of|after|before)\b)"
)
_BACK: Final = r"(?:the\s+|these\s+)?(?:last|past)\s+"
_FOR: Final = re.compile(
    rf"(?:(?P<since>since)|for)\s+(?:(?P<back>{_BACK})|(?P<ahead>the\s+next\s+|another\s+))?"
    rf"{_LENGTH}(?:\s+(?:now|already)\b)?",
    re.IGNORECASE,
)
_WITHIN: Final = re.compile(
    rf"(?:(?:over|during|in|within)\s+(?:(?P<back>{_BACK})|(?P<ahead>the\s+(?:next|coming)\s+))"
    rf"|within\s+|(?P<in>in)\s+){_LENGTH}(?:\s+time\b)?",
    re.IGNORECASE,
)
_LAST_ONE: Final = re.compile(
    rf"(?:over|during|in|for|within)\s+(?:the|this)\s+(?:last|past)\s+(?P<unit>{words.UNIT})"
    r"(?!['\u2019]|\s+of\b)",
    re.IGNORECASE,
)
_RATE: Final = re.compile(r"\b(?:once|twice|times)\s+$", re.IGNORECASE)
_SPACE: Final = re.compile(r"\s+|,\s+(?=(?:from|until|till|between|starting)\b)", re.IGNORECASE)


def _read_for(place: Place) -> TemporalMatch | None:
    """`for three years`, alone or with the date it ends or begins on."""
    match = _FOR.match(place.text, place.start)
    if not match:
        return None
    end, said_on = match.end(), place.said_on
    if match["ahead"]:
        return place.match(end, "for", said_on, counted_day(match, said_on, 1))
    if match["since"]:
        return place.match(end, "from", counted_day(match, said_on, -1), None)
    if (other := _date_behind(place, end)) is not None:
        return _settled_by(place, match, other)
    if place.tense == "future" and not match["back"]:
        # "I'll stay for two weeks": when they begin is not said.
        return None
    return place.match(end, "for", counted_day(match, said_on, -1), None)


def _settled_by(place: Place, length: re.Match[str], other: TemporalMatch) -> TemporalMatch | None:
    """A length with a date behind it: counted back from an end, forward from a beginning."""
    if other.kind == "until" and other.valid_until:
        since = counted_day(length, other.valid_until, -1)
        return place.match(other.end, "for", since, other.valid_until)
    if other.kind == "from" and other.valid_from:
        until = counted_day(length, other.valid_from, 1)
        return place.match(other.end, "for", other.valid_from, until)
    return place.match(other.end, other.kind, other.valid_from, other.valid_until)


def _date_behind(place: Place, end: int) -> TemporalMatch | None:
    space = _SPACE.match(place.text, end)
    if not space:
        return None
    return first_match(replace(place, start=space.end()), RANGE_READERS)


def _read_within(place: Place) -> TemporalMatch | None:
    """`in two weeks`, `within a month`, `over the past 6 months`, `in the next 3 days`."""
    match = _WITHIN.match(place.text, place.start)
    if not match:
        return None
    if match["back"]:
        since = counted_day(match, place.said_on, -1)
        return place.match(match.end(), "for", since, None)
    # "I read it in two weeks" is how long it took, "twice in a week" how often.
    if place.tense == "past" or _RATE.search(place.text, max(0, place.start - 12), place.start):
        return None
    day = counted_day(match, place.said_on, 1)
    if match["in"]:
        return place.match(match.end(), "at", day, None)
    return place.match(match.end(), "until", None, day)


def _read_compound_ago(place: Place) -> TemporalMatch | None:
    """`1 year and 2 months ago`, `an hour ago`."""
    lead, start = lead_at(place.text, place.start)
    match = COMPOUND_AGO.match(place.text, start)
    day = by_dateparser(match[0], place.said_at.replace(tzinfo=None)) if match else None
    if match is None or day is None:
        return None
    return place.match(match.end(), "from" if lead == "since" else "at", day, None)


def _read_last_one(place: Place) -> TemporalMatch | None:
    """`over the past year`: twelve months up to the message, not the calendar year before."""
    match = _LAST_ONE.match(place.text, place.start)
    if not match:
        return None
    unit, size = words.unit_of(match["unit"])
    return place.match(match.end(), "for", shift(place.said_on, unit, -size), None)


DURATION_READERS: Final[tuple[Reader, ...]] = (
    _read_compound_ago,
    _read_for,
    _read_within,
    _read_last_one,
)
