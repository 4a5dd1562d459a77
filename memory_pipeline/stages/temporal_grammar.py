"""One date expression of a text, from all books of rules ("last June", "the end of 2019").

Belongs here: which rule wins, and parts of a period. Does not: the rules (temporal_named,
temporal_relative), and prepositions and ranges (temporal_ranges).
"""

import re
from functools import partial
from typing import Final

from memory_pipeline.stages import temporal_words as words
from memory_pipeline.stages.temporal_calendar import Frame, Part, Period, part_of
from memory_pipeline.stages.temporal_named import NAMED
from memory_pipeline.stages.temporal_relative import RELATIVE
from memory_pipeline.stages.temporal_rules import Lead, Reading

_PART: Final = re.compile(
    r"(?:the\s+)?(?:very\s+)?(?:(?P<noun>beginning|start|middle|end)\s+of\s+"
    r"|(?P<adjective>early|mid|late)(?:\s+in\s+|\s*-\s*|\s+))(?!of\b)",
    re.IGNORECASE,
)
# How an expression can begin: one match that spares most words of a text all the rules. A rule that
# begins otherwise needs its word here.
_BEGINNING: Final = re.compile(
    rf"['\u2019]?\d|{words.NUMBER}[\s-]+(?:{words.UNIT}|weekend)"
    r"|the\s+(?:['\u2019]?\d|q\d|beginning|start|middle|end|very|early|mid|late|day\s|week|month|year"
    rf"|quarter|last|past|next|coming|this|{words.one_of(words.ORDINALS)}\s"
    rf"|{words.SEASON}|{words.one_of(words.DECADES)})"
    r"|(?:beginning|start|middle|end|very)\s+(?:of|end)\b|(?:early|mid|late)\b"
    r"|(?:last|past|this|next|coming|earlier|later|year|about|around|roughly|almost|nearly|over|just"
    r"|some|now|today|tonight|tomorrow|yesterday|q[1-4])"
    rf"|{words.MONTH}|{words.WEEKDAY}|{words.SEASON}|{words.HOLIDAY}",
    re.IGNORECASE,
)


def read_date(text: str, start: int, lead: Lead) -> Reading | None:
    """The longest date expression that stands at `start` behind a preposition, if any."""
    if not _BEGINNING.match(text, start):
        return None
    part = _PART.match(text, start)
    # A part stands on a whole period, so parts do not nest.
    if part and lead != "part" and (inner := read_date(text, part.end(), "part")):
        named = words.PARTS[(part["noun"] or part["adjective"]).lower()]
        return Reading(inner.end, partial(_resolve_part, named, inner), inner.is_floating)
    readings = [book.longest(text, start, lead) for book in (NAMED, RELATIVE)]
    return max(
        (reading for reading in readings if reading), key=lambda found: found.end, default=None
    )


def _resolve_part(part: Part, inner: Reading, frame: Frame) -> Period:
    return part_of(inner.resolve(frame), part)
