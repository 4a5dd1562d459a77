"""Claims: what an episode asserts, guarded and evidenced but not yet accepted.

Belongs here: the claim, the account of where every candidate ended. Does not: how guards decide
(stages/guard, stages/evidence) and accepted facts (domain/fact).
"""

from datetime import datetime
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from memory_pipeline.domain.extraction import EntityType, MemoryCategory, Tier
from memory_pipeline.domain.ids import EntityId, MessageId
from memory_pipeline.domain.model import Usage

USER = "user"
"""The canonical name of the tenant's own person entity (spec X6)."""


class Evidence(BaseModel):
    """Where a claim is said: `text[span_start:span_end]` of the message is exactly `quote`."""

    model_config = ConfigDict(frozen=True)

    message_id: MessageId
    span_start: int = Field(ge=0)
    span_end: int = Field(ge=0)
    quote: str
    said_at: datetime


class Mention(BaseModel):
    """A named thing of an episode after guards: canonical spelling, valid type."""

    model_config = ConfigDict(frozen=True)

    name: str
    type: EntityType
    memory_category: MemoryCategory = MemoryCategory.CONTEXT


class Claim(BaseModel):
    """One guarded candidate. `ref` is unique in its episode (`c1`, `c2`, ... in answer order).

    `object` names an entity when `object_is_entity`, else it is the value itself.
    `valid_from` None = unbounded; `valid_until` is exclusive, None = open.
    `has_stated_start` says whether the text gave the start (spec D5) or the message's time stands
    in for it. `evidence` is None only for candidates that come without a quote check.
    """

    model_config = ConfigDict(frozen=True)

    ref: str
    order: int
    subject: str
    predicate: str
    object: str
    object_is_entity: bool
    confidence: float = Field(ge=0, le=1)
    memory_category: MemoryCategory
    said_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    has_stated_start: bool = False
    evidence: Evidence | None = None
    tier: Tier = Tier.HEURISTICS


class Outcome(StrEnum):
    """Where a candidate ended (spec W6); the ledger counts candidates by these words."""

    INSERTED = "inserted"
    REINFORCED = "reinforced"
    CLOSED = "closed"
    RENEWED = "renewed"
    UNCERTAIN = "uncertain"
    NEAR_DUPLICATE = "near_duplicate"
    VERDICT_NEW = "verdict_new"
    RACE = "race"
    OVER_LIMIT = "over_limit"
    NOT_LINKED = "not_linked"
    SELF_LOOP = "self_loop"
    EMPTY_PREDICATE = "empty_predicate"
    EMPTY_OBJECT = "empty_object"


class ClaimOutcome(BaseModel):
    """The end of one candidate; `detail` says why in a short sentence for `why-not`."""

    model_config = ConfigDict(frozen=True)

    ref: str
    outcome: Outcome
    subject: str
    predicate: str
    object: str
    detail: str = ""
    message_id: MessageId | None = None
    quote: str = ""


class Uncertainty(BaseModel):
    """An open point of an episode (spec X8); `candidate` holds the whole claim as text if any."""

    model_config = ConfigDict(frozen=True)

    about: str
    reason: str
    subject: str | None = None
    predicate: str | None = None
    candidate: str | None = None
    message_id: MessageId | None = None


class Instruction(BaseModel):
    """A standing order after guards; `is_active` False is a revocation (spec X8)."""

    model_config = ConfigDict(frozen=True)

    label: str
    description: str
    is_active: bool
    message_id: MessageId | None = None


class NothingSaid(BaseModel):
    """Why an own message gave no candidate; closes its line in the ledger (spec W6)."""

    model_config = ConfigDict(frozen=True)

    message_id: MessageId
    reason: str


class GuardedGraph(BaseModel):
    """An extraction after guards and evidence check: the input of resolution."""

    model_config = ConfigDict(frozen=True)

    mentions: tuple[Mention, ...] = ()
    claims: tuple[Claim, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    uncertainties: tuple[Uncertainty, ...] = ()
    dropped: tuple[ClaimOutcome, ...] = ()
    nothing_said: tuple[NothingSaid, ...] = ()
    tier: Tier = Tier.HEURISTICS
    tier_reason: str = ""
    candidate_count: int = 0
    request_digests: tuple[str, ...] = ()
    usage: Usage = Usage()


class ResolvedClaim(BaseModel):
    """A claim whose names are entities: `object_id` is set exactly when the object is an entity."""

    model_config = ConfigDict(frozen=True)

    claim: Claim
    subject_id: EntityId
    object_id: EntityId | None
