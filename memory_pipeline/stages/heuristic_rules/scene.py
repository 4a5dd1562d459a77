"""A parsed sentence with everything that its clauses share, and how a clause becomes drafts.

What belongs here: the shared value. What does not: rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory_pipeline.domain.extraction import KnownLists
from memory_pipeline.stages.heuristic_rules.cast import Cast
from memory_pipeline.stages.heuristic_rules.clauses import Clause
from memory_pipeline.stages.heuristic_rules.drafts import Draft, Reading
from memory_pipeline.stages.heuristic_rules.entity_types import owned_type, type_of

if TYPE_CHECKING:
    from spacy.tokens import Doc


@dataclass(frozen=True)
class Scene:
    """A sentence; `dated` are the tokens of its dated phrases."""

    doc: Doc
    cast: Cast
    known: KnownLists
    dated: frozenset[int]
    has_date: bool


def draft_of(subject: str, reading: Reading, clause: Clause) -> Draft:
    """The draft that a reading of a clause makes for a subject."""
    kind = type_of(reading.object, reading.label, reading.is_proper, reading.hint)
    kind = owned_type(reading.object, reading.predicate, kind)
    return Draft(
        subject,
        reading.predicate,
        reading.object,
        kind,
        start=clause.start,
        end=clause.end,
    )
