"""What a fold reads and what it writes, as values: memory state, verdicts, the change set.

Belongs here: the shapes that pass between stages, plan and the transactional write.
Does not: deciding (domain/plan) and executing (adapters).
"""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.claim import (
    Claim,
    ClaimOutcome,
    Evidence,
    Instruction,
    NothingSaid,
    ResolvedClaim,
    Uncertainty,
)
from memory_pipeline.domain.fact import EndedReason, Entity, FactVersion
from memory_pipeline.domain.ids import (
    EntityId,
    EpisodeId,
    FactId,
    GenerationId,
    RecipeId,
    TenantId,
)


class Frozen(BaseModel):
    """Base of the values here."""

    model_config = ConfigDict(frozen=True)


class GenerationHead(Frozen):
    """Where a generation stands; a plan holds for exactly this `version`."""

    tenant_id: TenantId
    generation_id: GenerationId
    recipe_id: RecipeId
    version: int
    folded_count: int
    last_known_at: datetime | None


class Neighbour(Frozen):
    """A fact in a claim's slot or near to it that is too far down to be judged."""

    fact_id: FactId
    is_slot: bool
    similarity: float


class MemoryState(Frozen):
    """The part of memory that can matter to one episode's claims: believed versions only.

    `facts` holds same-slot, same-object and same-triple facts (ended ones too) and near
    neighbours; with `has_links` also every believed edge and whatever hangs on an entity.
    `similarities` maps (claim ref, fact id as text or another ref) to a cosine; `beyond` says by
    ref which facts there are besides.
    """

    head: GenerationHead
    user_id: EntityId
    facts: tuple[FactVersion, ...] = ()
    similarities: dict[tuple[str, str], float] = {}
    quotes: dict[FactId, str] = {}
    beyond: dict[str, tuple[Neighbour, ...]] = {}
    has_links: bool = False

    def similarity(self, ref: str, other: str) -> float:
        """Cosine of a claim with a fact or an earlier claim; 0 when they are not near."""
        return self.similarities.get((ref, other), self.similarities.get((other, ref), 0.0))


class AliasReason(StrEnum):
    """Why a name means an entity (spec R1, R4)."""

    FOLDED = "folded"
    ACRONYM = "acronym"
    NICKNAME = "nickname"
    TOKEN_SUBSET = "token_subset"  # noqa: S105 - a rule's name, not a secret
    VECTOR = "vector"
    STATED = "stated"


class NewAlias(Frozen):
    """Another name of an entity, found by a rule or by vectors, stored to be found again."""

    alias: str
    entity_id: EntityId
    reason: AliasReason


class ResolvedGraph(Frozen):
    """Claims on entities, with what resolution adds to memory."""

    claims: tuple[ResolvedClaim, ...] = ()
    new_entities: tuple[Entity, ...] = ()
    new_aliases: tuple[NewAlias, ...] = ()
    touched: tuple[EntityId, ...] = ()
    names: dict[str, str] = {}
    dropped: tuple[ClaimOutcome, ...] = ()
    uncertainties: tuple[Uncertainty, ...] = ()


class PairReason(StrEnum):
    """Why a claim and a fact are put before the judge (spec J1)."""

    SLOT = "slot"
    ENDING = "ending"
    BAND = "band"
    NEAR_DUPLICATE = "near_duplicate"
    RESTATED = "restated"
    REDATED = "redated"


class Pair(Frozen):
    """One question for the judge: does this claim replace this fact?"""

    ref: str
    fact_id: FactId
    reason: PairReason
    similarity: float = 0.0


class Verdict(StrEnum):
    """Answer on one pair (spec J3)."""

    OLD = "old"
    NEW = "new"
    NEITHER = "neither"
    NOT_JUDGED = "not_judged"


class Judgement(Frozen):
    """A verdict with its grounds; `is_correction` only matters to `old` (spec J6)."""

    ref: str
    fact_id: FactId
    verdict: Verdict
    is_correction: bool = False
    reason: str = ""
    judge: str = "rules"
    pair_reason: PairReason = PairReason.SLOT


class Closure(Frozen):
    """A claim that gives a live fact its end (spec D2)."""

    ref: str
    fact_id: FactId
    valid_until: datetime


class Restatement(Frozen):
    """A claim that repeats a live fact and so is not inserted (spec D1, D5)."""

    ref: str
    fact_id: FactId


class MergedClaim(Frozen):
    """A claim that says the same as an earlier one of its episode, `into` being that one's ref."""

    claim: Claim
    into: str


class DistinctClaims(Frozen):
    """Claims after deduplication: who survives, who closes, who repeats, who goes to the judge."""

    survivors: tuple[ResolvedClaim, ...] = ()
    closures: tuple[Closure, ...] = ()
    restatements: tuple[Restatement, ...] = ()
    merged: tuple[MergedClaim, ...] = ()
    pairs: tuple[Pair, ...] = ()
    not_judged: tuple[Pair, ...] = ()
    outcomes: tuple[ClaimOutcome, ...] = ()
    uncertainties: tuple[Uncertainty, ...] = ()
    claims: tuple[ResolvedClaim, ...] = ()


class VersionClosure(Frozen):
    """The end of a version's known time. `dropped_reason` is set where no newer one follows."""

    fact_id: FactId
    version: int
    dropped_reason: EndedReason | None = None
    dropped_for: FactId | None = None


class EvidenceRow(Frozen):
    """Which message says a fact, and in what sense."""

    fact_id: FactId
    ref: str
    kind: Literal["asserted", "reinforced", "closed", "corrected"]
    evidence: Evidence | None
    quote: str


class FinalOutcome(Frozen):
    """A candidate's end with the fact it led to, if any."""

    outcome: ClaimOutcome
    fact_id: FactId | None = None


class ChangeSet(Frozen):
    """All row changes of one episode, applied in one transaction or not at all."""

    head: GenerationHead
    episode_id: EpisodeId
    known_at: datetime
    status: Literal["folded", "given_up", "skipped"] = "folded"
    new_entities: tuple[Entity, ...] = ()
    new_aliases: tuple[NewAlias, ...] = ()
    version_closures: tuple[VersionClosure, ...] = ()
    versions: tuple[FactVersion, ...] = ()
    evidence: tuple[EvidenceRow, ...] = ()
    outcomes: tuple[FinalOutcome, ...] = ()
    judgements: tuple[Judgement, ...] = ()
    instructions: tuple[Instruction, ...] = ()
    uncertainties: tuple[Uncertainty, ...] = ()
    resolved_slots: tuple[tuple[str, str], ...] = ()
    nothing_said: tuple[NothingSaid, ...] = ()
    dirty_entities: tuple[EntityId, ...] = ()
    linked_entities: tuple[EntityId, ...] = ()
