"""Puts the dated phrases of a clause on its candidates.

What belongs here: which bound a phrase is for which kind of candidate. What does not: what date
a phrase means (stages/temporal).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from memory_pipeline.stages.heuristic_rules.drafts import Draft
from memory_pipeline.stages.temporal import TemporalMatch, find_bounds


@dataclass(frozen=True)
class DatedPhrases:
    """Dated phrases of a sentence, in order, read for what is told as past and for the rest.

    "In March" is the latest March of somebody who moved, and the coming one of somebody who will.
    """

    past: Sequence[TemporalMatch]
    other: Sequence[TemporalMatch]


def dated_phrases(text: str, said_at: datetime) -> DatedPhrases:
    """Both readings of the dated phrases of a sentence."""
    other = find_bounds(text, said_at)
    return DatedPhrases(find_bounds(text, said_at, is_past=True) if other else (), other)


def dated(draft: Draft, phrases: DatedPhrases, said_on: date) -> Draft:
    """The draft with the bounds that its clause states.

    An ending or history without a date ends on the day it is told.
    """
    if draft.is_undated:
        return draft
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
