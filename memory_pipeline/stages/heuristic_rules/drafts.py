"""The candidate on its way from a clause to the extracted graph.

What belongs here: the value that readings make and later rules date, end or correct.
What does not: how any of it is found.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from memory_pipeline.domain.extraction import EntityType
from memory_pipeline.stages.heuristic_rules.noun_phrases import Phrase

SURE = 0.5
SHAKY = 0.4


@dataclass(frozen=True)
class Reading:
    """Predicate and object of a clause, before subject and dates.

    `hint` is the type the predicate calls for; `after` as in predicates.Rule; `is_general` when no
    table knew the verb.
    """

    predicate: str
    object: str
    label: str = ""
    is_proper: bool = False
    hint: EntityType | None = None
    after: str | None = None
    is_general: bool = False


def reading_of(
    predicate: str,
    phrase: Phrase,
    hint: EntityType | None = None,
    after: str | None = None,
    *,
    is_general: bool = False,
) -> Reading:
    """The reading whose object is a noun phrase."""
    return Reading(predicate, phrase.text, phrase.label, phrase.is_proper, hint, after, is_general)


@dataclass(frozen=True)
class Draft:
    """One candidate. `type` is None for a literal object; `is_ended` marks an ending.

    `seq` is the message that says it. The date of an `is_undated` one is its object, and bounds
    nothing.

    `start` and `end` are characters of the parsed sentence; dates are days, the end exclusive.
    """

    subject: str
    predicate: str
    object: str
    type: EntityType | None = None
    confidence: float = SURE
    quote: str = ""
    start: int = 0
    end: int = 0
    is_ended: bool = False
    is_history: bool = False
    is_past: bool = False
    is_future: bool = False
    is_link: bool = False
    is_undated: bool = False
    seq: int = -1
    valid_from: date | None = None
    valid_until: date | None = None

    @property
    def triple(self) -> tuple[str, str, str]:
        """What two candidates must share to be the same."""
        return (self.subject, self.predicate, self.object)
