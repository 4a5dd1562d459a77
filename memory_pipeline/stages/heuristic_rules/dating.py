"""Puts the dated phrases of a clause on its candidates.

What belongs here: which bound a phrase is for which kind of candidate. What does not: what date
a phrase means (stages/temporal).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.temporal import TemporalMatch, find_bounds

# Facts whose date is their object.
_DATES = frozenset({"has birthday", "has anniversary", "has wedding anniversary", "was born on"})


@dataclass(frozen=True)
class DatedPhrases:
    """Dated phrases of a sentence, in order, read for what is told as past and for the rest.

    "In March" is the latest March of somebody who moved, and the coming one of somebody who will.
    """

    past: Sequence[TemporalMatch]
    other: Sequence[TemporalMatch]


def dated_phrases(text: str, said_at: datetime) -> DatedPhrases:
    """Both readings of the dated phrases of a sentence."""
    said = find_bounds(text, said_at)
    said = [m for m in said if not _RECURRING.match(text[m.end :])]
    model = {m.start() + 1 for m in _MODEL_YEAR.finditer(text)}
    other = [m for m in said if not _within(m, text, model)]
    past = find_bounds(text, said_at, is_past=True) if other else ()
    kept = {m.start for m in other}
    return DatedPhrases([m for m in past if m.start in kept], other)


# `a Honda Civic from 2009` tells the year it was built.
_OWNING = re.compile(r"\b(?:own|have|has|got|drive|drives|is|ride|bought)\b")
_RECURRING = re.compile(r"\s*(?:nights|mornings|evenings|afternoons)\b", re.IGNORECASE)
_MODEL_YEAR = re.compile(r"(?<=\w) from (?:19|20)\d\d\b(?! (?:to|until|till|on)\b)")


def _within(match: TemporalMatch, text: str, starts: set[int]) -> bool:
    is_owned = re.search(
        r"\b(?:own|have|has|got|drive|drives|is|ride|bought)\b", text[: match.start]
    )
    return is_owned is not None and any(s <= match.start <= s + 6 for s in starts)


def dated(draft: Draft, phrases: DatedPhrases, said_on: date) -> Draft:
    """The draft with the bounds that its clause states.

    An ending or history without a date ends on the day it is told.
    """
    if draft.is_undated or draft.predicate in _DATES or draft.predicate.endswith(" on"):
        return draft
    if draft.is_ended and draft.is_future:
        return _closing(draft, phrases)
    is_told = draft.is_past or draft.is_ended or draft.is_history
    matches = phrases.past if is_told else phrases.other
    here = [m for m in matches if draft.start <= m.start < draft.end]
    for match in here:
        draft = _bounded(draft, match, said_on)
    if (draft.is_ended or draft.is_history) and draft.valid_until is None:
        draft = replace(draft, valid_until=said_on)
    if draft.is_history and draft.valid_until and draft.valid_until > said_on:
        draft = replace(draft, valid_until=said_on)
    if draft.valid_from and draft.valid_until and draft.valid_until <= draft.valid_from:
        return replace(draft, valid_from=None)
    return draft


def _closing(draft: Draft, phrases: DatedPhrases) -> Draft:
    """What will end holds until then."""
    here = [m for m in phrases.other if draft.start <= m.start < draft.end]
    ends = [m.valid_until if m.kind == "until" else m.valid_from for m in here]
    return replace(draft, valid_until=next((e for e in ends if e), None), is_ended=False)


def _bounded(draft: Draft, match: TemporalMatch, said_on: date) -> Draft:
    if draft.is_history and match.kind == "for":
        return draft
    if draft.is_ended and match.kind in {"at", "during", "from"}:
        end = match.valid_from or match.valid_until
        return replace(draft, valid_until=end)
    if draft.is_history and match.kind in {"at", "during"}:
        return replace(draft, valid_from=match.valid_from, valid_until=match.valid_until)
    if match.kind == "until":
        return replace(draft, valid_until=match.valid_until)
    if match.kind in {"from", "for"}:
        return replace(draft, valid_from=match.valid_from, valid_until=match.valid_until)
    if draft.is_past or draft.is_future or (match.valid_from and match.valid_from > said_on):
        end = None if draft.is_past else match.valid_until
        return replace(draft, valid_from=match.valid_from, valid_until=end)
    return draft
