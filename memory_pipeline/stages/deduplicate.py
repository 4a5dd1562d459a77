"""When two claims are one: exact repeats, endings, near-duplicates, and what the judge must see.

Belongs here: spec D1-D5 and the choice of pairs (J1). Does not: verdicts (stages/judge), what
changes follow (domain/plan), similarities (they come with the state).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from memory_pipeline.domain.changes import (
    Closure,
    DistinctClaims,
    MemoryState,
    MergedClaim,
    Pair,
    PairReason,
    ResolvedGraph,
    Restatement,
)
from memory_pipeline.domain.claim import (
    Claim,
    ClaimOutcome,
    Outcome,
    ResolvedClaim,
    Uncertainty,
)
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.fact import TICK, FactVersion, end_of, has_ended, start_of
from memory_pipeline.domain.ids import FactId
from memory_pipeline.domain.policy import Policy, is_single_valued
from memory_pipeline.stages.equal_triples import is_same_stay, merge_equal_triples
from memory_pipeline.stages.likeness import (
    differs_from_claim,
    differs_from_fact,
    is_same_triple,
    same_object,
    statement_of,
)


def deduplicate(
    graph: ResolvedGraph,
    state: MemoryState,
    profile: EmbeddingProfile,
    policy: Policy,
    earlier_survivors: frozenset[str] = frozenset(),
) -> DistinctClaims:
    """Claims of one episode against memory and each other (spec D1-D5), pairs capped (J1).

    `earlier_survivors` are refs that survived on a state that has moved since: where they now
    repeat a committed fact they are judged all the same, so that what they replace ends (W2).
    """
    work = _Deduplication(graph, state, profile, policy, earlier_survivors)
    claims = work.merge_equal_triples()
    work.read_endings(claims)
    for claim in claims:
        work.place(claim)
    return work.result()


@dataclass
class _Deduplication:
    """The state of one call; nothing outlives it."""

    graph: ResolvedGraph
    state: MemoryState
    profile: EmbeddingProfile
    policy: Policy
    earlier_survivors: frozenset[str]
    survivors: list[ResolvedClaim] = field(default_factory=list)
    closures: list[Closure] = field(default_factory=list)
    restatements: list[Restatement] = field(default_factory=list)
    merged: list[MergedClaim] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    beyond: list[Pair] = field(default_factory=list)
    outcomes: list[ClaimOutcome] = field(default_factory=list)
    uncertainties: list[Uncertainty] = field(default_factory=list)
    kept: list[ResolvedClaim] = field(default_factory=list)
    closed_by: dict[str, FactVersion] = field(default_factory=dict)
    facts: dict[FactId, FactVersion] = field(init=False)
    ids: dict[FactId, str] = field(init=False)

    def __post_init__(self) -> None:
        self.facts = {fact.fact_id: fact for fact in self.state.facts}
        self.ids = {fact_id: str(fact_id) for fact_id in self.facts}

    def merge_equal_triples(self) -> list[ResolvedClaim]:
        """One claim per triple and stay, endings that are not sure enough left out (D1, D2)."""
        claims, merged = merge_equal_triples(self._without_unsure_endings())
        self.merged = list(merged)
        return claims

    def _without_unsure_endings(self) -> list[ResolvedClaim]:
        """Claims but for those that would end a surer one of the same stay (D2)."""
        least = self.policy.min_confidence
        sure = [
            c
            for c in self.graph.claims
            if c.claim.valid_until is None and c.claim.confidence >= least
        ]
        kept: list[ResolvedClaim] = []
        for resolved in self.graph.claims:
            claim = resolved.claim
            is_unsure = claim.valid_until is not None and claim.confidence < least
            if is_unsure and any(is_same_stay(resolved, other) for other in sure):
                self._doubt(claim)
            else:
                kept.append(resolved)
        return kept

    def read_endings(self, claims: Sequence[ResolvedClaim]) -> None:
        """Note the ends that claims give to facts, the first end first.

        What begins behind an end stated in the same breath is another stay (D4), so the other
        claims are held against the facts as these ends leave them.
        """
        ending = [c for c in claims if c.claim.valid_until is not None]
        for resolved in sorted(ending, key=lambda c: end_of(c.claim.valid_until)):
            claim, twin = resolved.claim, self._twin(resolved)
            is_sure = claim.confidence >= self.policy.min_confidence
            if twin is not None and is_sure and claim.valid_until != twin.valid_until:
                self.closed_by[claim.ref] = twin
                self.facts[twin.fact_id] = twin.model_copy(
                    update={"valid_until": claim.valid_until}
                )

    def place(self, resolved: ResolvedClaim) -> None:
        """Decide whether a claim closes, repeats, duplicates or survives."""
        claim = resolved.claim
        twin = self.closed_by.get(claim.ref) or self._twin(resolved)
        if twin is not None:
            if self._place_repeat(claim, twin):
                self.kept.append(resolved)
                if claim.ref in self.earlier_survivors:
                    self._choose_pairs(resolved)
            return
        duplicate = self._near_duplicate(resolved)
        if duplicate:
            self.outcomes.append(outcome_of(claim, Outcome.NEAR_DUPLICATE, duplicate))
            return
        self.kept.append(resolved)
        self.survivors.append(resolved)
        self._choose_pairs(resolved)

    def _twin(self, resolved: ResolvedClaim) -> FactVersion | None:
        """The fact of the same triple whose stay this claim speaks of."""
        claim = resolved.claim
        twins = [
            fact
            for fact in self.facts.values()
            if is_same_triple(resolved, fact) and _speaks_of(claim, fact)
        ]
        return min(twins, key=lambda fact: _distance(claim, fact), default=None)

    def _place_repeat(self, claim: Claim, fact: FactVersion) -> bool:
        """Close or restate a fact; False when the claim is not sure enough to close it."""
        is_sure = claim.confidence >= self.policy.min_confidence
        is_redated = claim.has_stated_start and claim.valid_from != fact.valid_from
        reason = PairReason.REDATED if is_redated else None
        if claim.valid_until is not None and claim.valid_until != fact.valid_until:
            if not is_sure:
                self._doubt(claim)
                return False
            self.closures.append(
                Closure(ref=claim.ref, fact_id=fact.fact_id, valid_until=claim.valid_until)
            )
        else:
            self.restatements.append(Restatement(ref=claim.ref, fact_id=fact.fact_id))
            if claim.valid_until is None and fact.valid_until is not None:
                reason = PairReason.RESTATED
        if reason is not None and is_sure:
            self.pairs.append(
                Pair(ref=claim.ref, fact_id=fact.fact_id, reason=reason, similarity=1.0)
            )
        return True

    def _doubt(self, claim: Claim) -> None:
        self.outcomes.append(outcome_of(claim, Outcome.UNCERTAIN, "an ending below min_confidence"))
        self.uncertainties.append(uncertainty_of(claim, "unsure ending"))

    def _near_duplicate(self, resolved: ResolvedClaim) -> str:
        """Why the claim is a mere rewording of something held; empty when it is not (spec D3)."""
        if resolved.claim.valid_until is not None:
            return ""
        ref = resolved.claim.ref
        for fact in self.facts.values():
            if (
                fact.subject_id == resolved.subject_id
                and not has_ended(fact.valid_until, resolved.claim.said_at)
                and self.state.similarity(ref, self.ids[fact.fact_id]) >= self.profile.duplicate
                and not differs_from_fact(resolved, fact)
                and not _has_other_dates(resolved.claim, fact)
            ):
                return f"rewords the fact: {fact.statement}"
        for earlier in self.survivors:
            if (
                earlier.subject_id == resolved.subject_id
                and self.state.similarity(ref, earlier.claim.ref) >= self.profile.duplicate
                and not differs_from_claim(resolved, earlier)
                and not _have_other_dates(resolved.claim, earlier.claim)
            ):
                return f"rewords {earlier.claim.ref} of this episode: {statement_of(earlier.claim)}"
        return ""

    def _choose_pairs(self, resolved: ResolvedClaim) -> None:
        """Pairs of one survivor (spec J1): low confidence none, history only its own endings."""
        claim = resolved.claim
        if claim.confidence < self.policy.min_confidence:
            return
        is_history = has_ended(claim.valid_until, claim.said_at)
        for fact in self.state.facts:
            if fact.subject_id != resolved.subject_id or has_ended(fact.valid_until, claim.said_at):
                continue
            similarity = self.state.similarity(claim.ref, self.ids[fact.fact_id])
            reason = self._pair_reason(resolved, fact, similarity)
            if reason is None or (is_history and reason is not PairReason.ENDING):
                continue
            self.pairs.append(
                Pair(ref=claim.ref, fact_id=fact.fact_id, reason=reason, similarity=similarity)
            )
        if not is_history:
            self._count_beyond(claim.ref)

    def _count_beyond(self, ref: str) -> None:
        """Pairs that there would be if more facts were considered; objects differ in all."""
        for other in self.state.beyond.get(ref, ()):
            reason = PairReason.SLOT if other.is_slot else self._likeness(other.similarity)
            if reason is not None and other.fact_id not in self.facts:
                self.beyond.append(
                    Pair(
                        ref=ref,
                        fact_id=other.fact_id,
                        reason=reason,
                        similarity=other.similarity,
                    )
                )

    def _pair_reason(
        self, resolved: ResolvedClaim, fact: FactVersion, similarity: float
    ) -> PairReason | None:
        has_same_object = same_object(resolved, fact)
        if resolved.claim.predicate == fact.predicate:
            return None if has_same_object else PairReason.SLOT
        if has_same_object and resolved.claim.valid_until is not None:
            return PairReason.ENDING
        reason = self._likeness(similarity)
        return None if has_same_object and reason is PairReason.BAND else reason

    def _likeness(self, similarity: float) -> PairReason | None:
        """Why a claim and a fact that is not of its slot are judged, by their similarity."""
        if similarity >= self.profile.duplicate:
            # The claim survived, so it differs in what a likeness does not show (D3).
            return PairReason.NEAR_DUPLICATE
        return PairReason.BAND if similarity >= self.profile.band_low else None

    def result(self) -> DistinctClaims:
        """Everything decided, pairs capped per claim and per call in a fixed order."""
        claims = {c.claim.ref: c.claim for c in self.kept}
        facts = {fact.fact_id: fact for fact in self.state.facts}
        asked, rest = _cap_pairs(self.pairs, claims, facts, self.policy)
        return DistinctClaims(
            survivors=tuple(self.survivors),
            closures=tuple(self.closures),
            restatements=tuple(self.restatements),
            merged=tuple(self.merged),
            pairs=asked,
            not_judged=(*rest, *self.beyond),
            outcomes=tuple(self.outcomes),
            uncertainties=tuple(self.uncertainties),
            claims=tuple(self.kept),
        )


def _cap_pairs(
    pairs: list[Pair], claims: dict[str, Claim], facts: Mapping[FactId, FactVersion], policy: Policy
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Single-valued slots, then endings, then nearest; the rest is recorded as not judged.

    Ties are broken by what the facts say, so that equal histories judge equal pairs.
    """

    def content(pair: Pair) -> tuple[str, datetime, str]:
        fact = facts[pair.fact_id]
        return (fact.statement, start_of(fact.valid_from), str(pair.fact_id))

    def rank(pair: Pair) -> tuple[int, float, int, tuple[str, datetime, str]]:
        claim = claims[pair.ref]
        return (_urgency(pair, claim), -pair.similarity, claim.order, content(pair))

    asked: list[Pair] = []
    rest: list[Pair] = []
    per_claim: dict[str, int] = {}
    for pair in sorted(pairs, key=rank):
        count = per_claim.get(pair.ref, 0)
        if count < policy.pairs_per_claim and len(asked) < policy.pairs_per_call:
            per_claim[pair.ref] = count + 1
            asked.append(pair)
        else:
            rest.append(pair)
    asked.sort(key=lambda p: (claims[p.ref].order, content(p)))
    return tuple(asked), tuple(rest)


def _urgency(pair: Pair, claim: Claim) -> int:
    match pair.reason:
        case PairReason.RESTATED | PairReason.REDATED:
            return 0
        case PairReason.SLOT:
            return 1 if is_single_valued(claim.predicate) else 3
        case PairReason.ENDING:
            return 2
        case PairReason.NEAR_DUPLICATE | PairReason.BAND:
            return 3
        case _:
            assert_never(pair.reason)


def _speaks_of(claim: Claim, fact: FactVersion) -> bool:
    """Whether claim and fact of one triple mean one stay; disjoint periods are two (spec D4)."""
    if has_ended(fact.valid_until, claim.said_at):
        # Of what is over, only a claim that knows of the end speaks; any other is a new stay.
        return (
            claim.valid_until is not None
            and start_of(claim.valid_from) < end_of(fact.valid_until)
            and start_of(fact.valid_from) < claim.valid_until
        )
    if claim.has_stated_start and start_of(claim.valid_from) >= end_of(fact.valid_until):
        return False
    if claim.valid_until is None or claim.valid_until > start_of(fact.valid_from):
        return True
    return not (fact.has_stated_start or claim.has_stated_start)


def _has_other_dates(claim: Claim, fact: FactVersion) -> bool:
    """Whether a claim states another start than the fact, or one behind its end (spec D3, D4)."""
    is_behind = start_of(claim.valid_from) >= end_of(fact.valid_until)
    is_other = fact.has_stated_start and claim.valid_from != fact.valid_from
    return claim.has_stated_start and (is_behind or is_other)


def _have_other_dates(later: Claim, earlier: Claim) -> bool:
    """Whether two claims of one batch state different bounds (spec D3, D4)."""
    are_dated = later.has_stated_start and earlier.has_stated_start
    is_other = are_dated and later.valid_from != earlier.valid_from
    return is_other or later.valid_until != earlier.valid_until


def _distance(claim: Claim, fact: FactVersion) -> tuple[bool, bool, datetime, str]:
    """Orders the stays a claim may mean: the one that holds when it speaks of, then live ones."""
    if claim.valid_until is not None:
        spoken_of = claim.valid_until - TICK
    else:
        spoken_of = start_of(claim.valid_from) if claim.has_stated_start else claim.said_at
    holds = start_of(fact.valid_from) <= spoken_of < end_of(fact.valid_until)
    is_over = has_ended(fact.valid_until, claim.said_at)
    return (not holds, is_over, start_of(fact.valid_from), str(fact.fact_id))


def outcome_of(claim: Claim, outcome: Outcome, detail: str = "") -> ClaimOutcome:
    """The ledger line of a claim."""
    return ClaimOutcome(
        ref=claim.ref,
        outcome=outcome,
        subject=claim.subject,
        predicate=claim.predicate,
        object=claim.object,
        detail=detail,
        message_id=claim.evidence.message_id if claim.evidence else None,
        quote=claim.evidence.quote if claim.evidence else "",
    )


def uncertainty_of(claim: Claim, reason: str) -> Uncertainty:
    """An uncertainty that holds the whole candidate, so that nothing is lost."""
    return Uncertainty(
        about=statement_of(claim),
        reason=reason,
        subject=claim.subject,
        predicate=claim.predicate,
        candidate=claim.model_dump_json(exclude={"evidence"}),
        message_id=claim.evidence.message_id if claim.evidence else None,
    )
