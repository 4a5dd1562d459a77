"""What dateparser is asked: spans that the grammar found and can't count itself.

Belongs here: compound counts ("1 year and 2 months ago"), hours, full dates in unusual order. Does
not: searching a text; dateparser takes "we" and "may" for dates, and a length for a day ahead.
"""

import re
from datetime import date, datetime
from functools import lru_cache
from typing import Final

from memory_pipeline.stages.temporal_calendar import is_plausible

_COUNT: Final = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten)\s+"
_UNIT: Final = r"(?:minute|hour|day|week|month|year)s?"
# The word "ago" is required, so that a mere length ("6 years") never becomes a day.
COMPOUND_AGO: Final = re.compile(
    rf"(?:{_COUNT}{_UNIT}(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+){_COUNT}{_UNIT}){{1,3}}"
    rf"|{_COUNT}(?:minute|hour)s?)\s+ago\b",
    re.IGNORECASE,
)
_FULL_DATE: Final = re.compile(
    r"(?=.*\b(?:19|20)\d\d\b)(?=.*\b(?:[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?\b)[\w\s,.]*"
    r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b[\w\s,.]*",
    re.IGNORECASE,
)


def by_dateparser(span: str, said_at: datetime) -> date | None:
    """The day of a span of one of the two known forms, or None; `said_at` is naive UTC."""
    if COMPOUND_AGO.fullmatch(span) or (len(span) <= 40 and _FULL_DATE.fullmatch(span)):
        return _parsed(" ".join(span.lower().split()), said_at)
    return None


@lru_cache(maxsize=1024)
def _parsed(span: str, base: datetime) -> date | None:
    # Imported here: loading it costs more than reading most conversations.
    import dateparser

    found = dateparser.parse(
        span,
        languages=["en"],
        settings={
            "RELATIVE_BASE": base,
            "REQUIRE_PARTS": ["day", "month", "year"],
            "TIMEZONE": "UTC",
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
    return found.date() if found is not None and is_plausible(found.date()) else None
