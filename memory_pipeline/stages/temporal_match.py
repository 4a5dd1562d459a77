"""What a dated phrase gives, and the place in a text where one is being read.

Belongs here: TemporalMatch and what its readers share. Does not: the readers (temporal_ranges,
temporal_durations).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Literal

from memory_pipeline.stages.temporal_calendar import Frame, is_plausible
from memory_pipeline.stages.temporal_rules import Lead
from memory_pipeline.stages.temporal_tense import Tense, tense_around

Kind = Literal["from", "until", "at", "during", "for"]


@dataclass(frozen=True)
class TemporalMatch:
    """A dated phrase of a text and the days it names.

    `text` is `[start, end)` of the text, preposition included; `valid_until` is exclusive, as
    given. `at` names a point (`valid_from` is its first day), `during` both bounds, `for` a stretch
    that reaches up to the message unless it says otherwise.
    """

    start: int
    end: int
    kind: Kind
    text: str
    valid_from: date | None
    valid_until: date | None


@dataclass(frozen=True)
class Place:
    """A start in a text, the instant of the message (UTC), and the tense asked for, if any."""

    text: str
    start: int
    said_at: datetime
    is_past: bool | None

    @property
    def said_on(self) -> date:
        """The day of the message, in UTC."""
        return self.said_at.date()

    @cached_property
    def tense(self) -> Tense | None:
        """The tense asked for, or else the one of the clause."""
        if self.is_past is not None:
            return "past" if self.is_past else "future"
        return tense_around(self.text, self.start)

    def frame(self, lead: Lead, *, is_floating: bool) -> Frame:
        """What a date behind the preposition is read against; "since" always looks back.

        Only a floating date needs the tense, which costs more than the date.
        """
        is_past = is_floating and (lead == "since" or self.tense == "past")
        return Frame(self.said_on, self.said_on, is_past)

    def match(
        self, end: int, kind: Kind, since: date | None, until: date | None
    ) -> TemporalMatch | None:
        """The match from this start up to `end`, unless a day of it is beyond belief."""
        if any(day is not None and not is_plausible(day) for day in (since, until)):
            return None
        return TemporalMatch(self.start, end, kind, self.text[self.start : end], since, until)


class NoSuchDayError(ValueError):
    """A date expression that no calendar has ("31 June 2020"), ending at `end`.

    It is passed over as a whole, so that no part of it ("June 2020") is read as a date.
    """

    def __init__(self, end: int) -> None:
        super().__init__(end)
        self.end = end


Reader = Callable[[Place], TemporalMatch | None]


def first_match(place: Place, readers: Iterable[Reader]) -> TemporalMatch | None:
    """What the first reader that knows the phrase makes of it.

    Raises NoSuchDayError for an impossible date.
    """
    for read in readers:
        try:
            match = read(place)
        except NoSuchDayError:
            raise
        except (ValueError, OverflowError, LookupError):
            # A count or a range that leaves the calendar.
            continue
        if match:
            return match
    return None
