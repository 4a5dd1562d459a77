"""Dates of a message: the dated phrases it holds, single phrases, and dates an extractor wrote.

Belongs here: the way in for other stages. Does not: the grammar (temporal_phrases for bounds,
temporal_grammar for single dates), or what a bound means for a claim.
"""

import re
from datetime import UTC, date, datetime
from typing import Final

from memory_pipeline.stages.temporal_calendar import is_plausible
from memory_pipeline.stages.temporal_fallback import by_dateparser
from memory_pipeline.stages.temporal_match import TemporalMatch
from memory_pipeline.stages.temporal_phrases import (
    UnresolvedPhrase,
    phrases_of,
    single_date,
    unresolved_phrases_of,
    whole_phrase,
)

__all__ = [
    "TemporalMatch",
    "UnresolvedPhrase",
    "find_bounds",
    "find_unresolved",
    "parse_bound",
    "resolve_date",
]


def find_bounds(
    text: str, said_at: datetime, *, is_past: bool | None = None
) -> list[TemporalMatch]:
    """The dated phrases of a text, in order, without overlaps.

    `is_past` settles phrases that fit several turns of a cycle ("on Friday", "in June"): the latest
    or the coming one. Without it the tense of the clause decides, and "coming" where that is open;
    "since" always looks back. Raises ValueError for a naive `said_at`.
    """
    return phrases_of(text, _utc(said_at), is_past)


def find_unresolved(text: str) -> list[UnresolvedPhrase]:
    """Phrases that speak of time and name no day ("a few weeks ago"), in order.

    They give no bound; they are what an uncertainty can quote.
    """
    return unresolved_phrases_of(text)


def resolve_date(phrase: str, said_at: datetime, *, is_past: bool | None = None) -> date | None:
    """The first day that one phrase names ("last Monday", "in 2019"), or None.

    The grammar is asked first, dateparser (English only) about compound counts and full dates that
    the grammar does not know. `is_past` as for find_bounds. Raises ValueError for a naive
    `said_at`.
    """
    at = _utc(said_at)
    phrase = phrase.strip().rstrip(".,;:!?").rstrip()
    if (day := single_date(phrase, at.date(), is_past)) is not None:
        return day
    if match := whole_phrase(phrase, at, is_past):
        return match.valid_from or match.valid_until
    return by_dateparser(phrase, at.replace(tzinfo=None))


def parse_bound(value: str | None, said_at: datetime) -> datetime | None:
    """A date or instant that an extractor wrote, as an aware UTC instant, or None.

    `YYYY-MM-DD` is 00:00 UTC and an instant without an offset is taken as UTC. Placeholders, junk,
    impossible dates and years outside 1900-2200 give None; so does wording such as "last Monday",
    which is for resolve_date. A written date never depends on `said_at`, which is taken so that
    callers treat every bound alike.
    """
    if value is None or not _WRITTEN_DATE.fullmatch(written := value.strip()):
        return None
    try:
        instant = datetime.fromisoformat(written.upper())
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=UTC)
        instant = instant.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return instant if is_plausible(instant.date()) else None


_WRITTEN_DATE: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII | re.IGNORECASE,
)


def _utc(said_at: datetime) -> datetime:
    if said_at.tzinfo is None:
        raise ValueError("said_at must be an aware datetime")
    return said_at.astimezone(UTC)
