"""A candidate on its way through the guards, and the account of what is put aside.

Belongs here: the two values that every guard shares. Does not: any rule (stages/guard).
"""

from dataclasses import dataclass, field
from datetime import datetime

from memory_pipeline.domain.claim import USER, ClaimOutcome, Evidence, Outcome, Uncertainty
from memory_pipeline.domain.extraction import ExtractedFact
from memory_pipeline.domain.ids import MessageId
from memory_pipeline.stages.fields import clean_text

TEXT_CHARS = 500
"""Longest description, uncertainty or reason."""

NAMING_PREDICATES = frozenset(
    {"has name", "has first name", "has full name", "has given name", "has nickname"}
    | {"is named", "is called", "is known as", "goes by", "name", "name is"}
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A candidate on its way through the guards. `fact` is tidy, its dates still text.

    `doubt` says why the quoted words do not carry it; empty when they may. `is_echo`: nobody
    says it but the prompt.
    """

    ref: str
    fact: ExtractedFact
    confidence: float
    said_at: datetime
    evidence: Evidence | None = None
    doubt: str = ""
    is_echo: bool = False
    object_is_entity: bool = False
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    has_stated_start: bool = False
    unread_dates: tuple[str, ...] = ()

    @property
    def order(self) -> int:
        return int(self.ref[1:])

    @property
    def message_id(self) -> MessageId | None:
        return self.evidence.message_id if self.evidence else None

    def names_the_user(self) -> bool:
        return self.fact.subject == USER and self.fact.predicate in NAMING_PREDICATES


@dataclass(frozen=True, slots=True)
class Account:
    """What the guards put aside; the lists grow while one graph is guarded."""

    dropped: list[ClaimOutcome] = field(default_factory=list)
    uncertainties: list[Uncertainty] = field(default_factory=list)

    def drop(self, candidate: Candidate, outcome: Outcome, detail: str) -> None:
        fact = candidate.fact
        self.dropped.append(
            ClaimOutcome(
                ref=candidate.ref,
                outcome=outcome,
                subject=fact.subject,
                predicate=fact.predicate,
                object=fact.object,
                detail=detail,
                message_id=candidate.message_id,
                quote=candidate.evidence.quote if candidate.evidence else fact.source_quote,
            )
        )

    def doubt(self, candidate: Candidate, reason: str) -> None:
        """Drops the candidate and keeps the whole of it as an uncertainty."""
        self.drop(candidate, Outcome.UNCERTAIN, reason)
        self.note(candidate, reason, candidate.fact.model_dump_json())

    def note(self, candidate: Candidate, reason: str, whole: str | None = None) -> None:
        fact = candidate.fact
        self.uncertainties.append(
            Uncertainty(
                about=clean_text(f"{fact.subject} {fact.predicate} {fact.object}", TEXT_CHARS),
                reason=reason,
                subject=fact.subject,
                predicate=fact.predicate,
                candidate=whole,
                message_id=candidate.message_id,
            )
        )
