"""Prepositions and ranges around dates: "since June", "from A to B", "9-13 September".

Belongs here: which bound a preposition gives, and how two ends settle each other. Does not:
single dates (temporal_grammar) and lengths of time (temporal_durations).
"""

import re
from dataclasses import replace
from datetime import date
from typing import Final

from memory_pipeline.stages import temporal_words as words
from memory_pipeline.stages.temporal_calendar import DAY, Frame, Period
from memory_pipeline.stages.temporal_grammar import read_date
from memory_pipeline.stages.temporal_match import NoSuchDayError, Place, Reader, TemporalMatch
from memory_pipeline.stages.temporal_rules import Lead, Reading

_LEADS: Final[tuple[tuple[str, Lead], ...]] = (
    (r"(?:ever\s+)?since(?:\s+(?:back\s+)?in)?", "since"),
    (r"(?:starting|beginning(?!\s+of\b))(?:\s+(?:on|in|from|with))?", "from"),
    (r"as\s+(?:of|from)|effective(?:\s+(?:from|on|as\s+of))?|from", "from"),
    (r"up\s+to\s+and\s+including|through(?!out)|thru", "through"),
    (r"(?:up\s+)?until|till|['\u2019]?til|up\s+to|no\s+later\s+than", "until"),
    (r"before", "before"),
    (r"by", "by"),
    (r"after", "after"),
    (r"during|throughout|all\s+through", "during"),
    (r"(?:back\s+|sometime\s+)?on", "on"),
    (r"(?:back\s+|sometime\s+|some\s+time\s+)?in", "in"),
    (r"at|over", "at"),
    (r"around|circa", "around"),
)
_LEAD: Final = re.compile(
    "(?:"
    + "|".join(rf"(?P<lead{number}>{pattern})" for number, (pattern, _) in enumerate(_LEADS))
    + r")\s+(?:(?:about|around|roughly|approximately|circa|sometime|at\s+least|exactly|just)\s+)*",
    re.IGNORECASE,
)
_RANGE_WORD: Final = re.compile(
    r"\s*(?:(?P<closed>through|thru|up\s+to\s+and\s+including)\s|(?P<and>and)\s"
    r"|(?:to|up\s+to|till?|until)\s|(?P<dash>[-\u2013\u2014]))\s*",
    re.IGNORECASE,
)
_OPEN_END: Final = re.compile(r"(?:the\s+)?(?:present(?:\s+day)?|now|today|date)\b", re.IGNORECASE)
_ONWARDS: Final = re.compile(r"\s+(?:onwards?|forward|on)\b(?!\s+\w)", re.IGNORECASE)


def lead_at(text: str, start: int) -> tuple[Lead, int]:
    """The preposition at `start` and the offset behind it; none is "" and `start` itself."""
    match = _LEAD.match(text, start)
    if not match or not match.lastgroup:
        return "", start
    return _LEADS[int(match.lastgroup.removeprefix("lead"))][1], match.end()


def _read_date_with_bounds(place: Place) -> TemporalMatch | None:
    """A date with or without its preposition, and the other end of a range where one follows."""
    lead, start = lead_at(place.text, place.start)
    first = read_date(place.text, start, lead)
    if first is None:
        return None
    if lead in ("", "from", "since", "during", "in", "on") and (
        ranged := _with_other_end(place, first, lead)
    ):
        return ranged
    return _bounded(place, first, lead)


def _bounded(place: Place, reading: Reading, lead: Lead) -> TemporalMatch | None:
    end = reading.end
    try:
        period = reading.resolve(place.frame(lead, is_floating=reading.is_floating))
    except (ValueError, OverflowError, LookupError) as error:
        raise NoSuchDayError(end) from error
    match lead:
        case "since" | "from":
            onwards = _ONWARDS.match(place.text, end)
            return place.match(onwards.end() if onwards else end, "from", period.first, None)
        case "after":
            return place.match(end, "from", period.end, None)
        case "until" | "by" | "before":
            return place.match(end, "until", None, period.until)
        case "through":
            return place.match(end, "until", None, period.end)
        case "during":
            return place.match(end, "during", period.first, period.end)
        case _:
            return place.match(end, "at", period.first, None)


def _with_other_end(
    place: Place, first: Reading, lead: Lead, joined_by_and: bool = False
) -> TemporalMatch | None:
    word = _RANGE_WORD.match(place.text, first.end)
    if not word or bool(word["and"]) != joined_by_and:
        return None
    frame = place.frame(lead, is_floating=first.is_floating)
    if still := _OPEN_END.match(place.text, word.end()):
        return place.match(still.end(), "from", first.resolve(frame).first, None)
    second = read_date(place.text, word.end(), "to")
    if second is None:
        return None
    since, until = _settle(first, second, frame)
    closing = until.end if word["closed"] else until.until
    if since.first >= closing:
        return None
    return place.match(second.end, "during", since.first, closing)


def _settle(first: Reading, second: Reading, frame: Frame) -> tuple[Period, Period]:
    """Both ends of a range; an end without a year takes its turn from the other one."""
    if first.is_floating and (frame.is_past or not second.is_floating):
        until = second.resolve(frame)
        before = replace(frame, anchor=until.first - DAY, is_past=True)
        return first.resolve(before), until
    since = first.resolve(frame)
    return since, second.resolve(replace(frame, anchor=since.first, is_past=False))


_BETWEEN: Final = re.compile(r"(?:some\s?time\s+)?between\s+", re.IGNORECASE)


def _read_between(place: Place) -> TemporalMatch | None:
    opening = _BETWEEN.match(place.text, place.start)
    first = read_date(place.text, opening.end(), "from") if opening else None
    return _with_other_end(place, first, "from", joined_by_and=True) if first else None


_YEARS: Final = re.compile(
    r"(?:(?:from|in|during)\s+)?(?P<a>(?:19|20)\d\d)(?:\s*[-\u2013]\s*|\s+(?:to|until|till?)\s+)"
    r"(?P<b>(?:19|20)\d\d|(?P<open>present|now|today))\b(?!\s?[-\u2013/]\s?\d|%|\.\d)"
    rf"{words.NOT_A_QUANTITY}",
    re.IGNORECASE,
)


def _read_years(place: Place) -> TemporalMatch | None:
    """`2015-2019`, alone or behind a preposition."""
    match = _YEARS.match(place.text, place.start)
    if not match:
        return None
    since = date(int(match["a"]), 1, 1)
    if match["open"]:
        return place.match(match.end(), "from", since, None)
    until = date(int(match["b"]), 1, 1)
    return place.match(match.end(), "during", since, until) if since < until else None


_DAYS: Final = re.compile(
    rf"(?:(?P<between>between\s+)|(?:from|on|in)\s+)?(?:the\s+)?(?:(?P<month>{words.MONTH})\s+)?"
    rf"(?P<day>{words.DAY_NUMBER})(?:st|nd|rd|th)?"
    r"(?:\s*[-\u2013]\s*|\s+(?:to|until|till?|(?P<and>and)|(?P<closed>through|thru))\s+)(?=\S)",
    re.IGNORECASE,
)
_NEXT_TOKENS: Final = 24


def _read_days(place: Place) -> TemporalMatch | None:
    """Days of one month: `from 9 to 13 September`, `September 9-13, 2023`."""
    match = _DAYS.match(place.text, place.start)
    if not match or bool(match["and"]) != bool(match["between"]):
        return None
    second = _borrowing(place.text, match.end(), match["month"])
    if second is None:
        return None
    last: Period = second.resolve(place.frame("on", is_floating=second.is_floating))
    first = last.first.replace(day=int(match["day"]))
    if first >= last.first:
        return None
    until = last.end if match["closed"] else last.first
    return place.match(second.end, "during", first, until)


def _borrowing(text: str, start: int, month: str | None) -> Reading | None:
    """The last day of such a range, which borrows the month's name where it comes first."""
    if month is None:
        second = read_date(text, start, "on")
        names_month = second and re.search(words.MONTH, text[start : second.end], re.IGNORECASE)
        return second if names_month else None
    prefix = f"{month} "
    second = read_date(prefix + text[start : start + _NEXT_TOKENS], 0, "on")
    if second is None or second.end <= len(prefix):
        return None
    return replace(second, end=start + second.end - len(prefix))


RANGE_READERS: Final[tuple[Reader, ...]] = (
    _read_days,
    _read_years,
    _read_between,
    _read_date_with_bounds,
)
