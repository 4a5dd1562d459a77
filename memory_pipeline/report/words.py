"""Stored values as a person reads them: clean text, dates, periods, counts.

Belongs here: wording of single values; markup is escaped later, by the template. Does not: layout.
"""

import re
from datetime import datetime, timedelta

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""English whatever the locale of the machine is: the same memory gives the same page."""

_TURNS_TEXT = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Marks that change the direction of what follows, also outside their own element."""

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Controls, line separators and what is no character: a page must not hold them."""

_ELLIPSIS = "…"
_TO = " \N{EN DASH} "


def plain(text: str, limit: int) -> str:
    """Text in one line of at most `limit` characters, free of what could forge a page's look."""
    cut = text[: limit * 4]  # white space folds, so some reserve is read; the rest never shows
    folded = " ".join(_CONTROLS.sub(" ", _TURNS_TEXT.sub("", cut)).split())
    if len(folded) <= limit and len(cut) == len(text):
        return folded
    return folded[: limit - 1].rstrip() + _ELLIPSIS


def date_words(instant: datetime) -> str:
    """`1 Jun 2024`."""
    return f"{instant.day} {month_words(instant)}"


def month_words(instant: datetime) -> str:
    """`Jun 2024`."""
    return f"{_MONTHS[instant.month - 1]} {instant.year}"


def day_words(instant: datetime) -> str:
    """`1 Jun`."""
    return f"{instant.day} {_MONTHS[instant.month - 1]}"


def instant_words(instant: datetime) -> str:
    """`1 Jun 2024, 09:30 UTC`, or the date alone at midnight."""
    if instant.hour or instant.minute:
        return f"{date_words(instant)}, {instant:%H:%M} UTC"
    return date_words(instant)


def period_words(start: datetime | None, until: datetime | None) -> str:
    """A half-open period: `since A`, `until B`, both with a dash between, or `no dates known`."""
    if start is None:
        return "no dates known" if until is None else f"until {date_words(until)}"
    if until is None:
        return f"since {date_words(start)}"
    if until - start == timedelta(days=1) and not (start.hour or start.minute):
        return f"on {date_words(start)}"
    if start.date() == until.date():
        return f"{date_words(start)}, {start:%H:%M}{_TO}{until:%H:%M}"
    return f"{date_words(start)}{_TO}{date_words(until)}"


def valid_words(start: datetime | None, until: datetime | None, at: datetime) -> str:
    """A valid period seen at an instant: what begins later is `from A`, not `since A`."""
    if start is not None and until is None and start > at:
        return f"from {date_words(start)}"
    return period_words(start, until)


def count_words(count: int, one: str, many: str | None = None) -> str:
    """`1 fact`, `1,200 facts`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def name_words(name: str) -> str:
    """A code's name as words: `nothing_durable` -> `nothing durable`."""
    return name.replace("_", " ")
