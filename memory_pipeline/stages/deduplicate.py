"""When two claims are one: exact repeats, endings, near-duplicates, and what the judge must see.

Belongs here: spec D1-D5 and the choice of pairs (J1). Does not: verdicts (stages/judge), what
changes follow (domain/plan), similarities (they come with the state).
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from memory_pipeline.domain.changes import (
    Closure,
    DistinctClaims,
    MemoryState,
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
from memory_pipeline.domain.fact import FactVersion, end_of, has_ended, start_of
from memory_pipeline.domain.ids import EntityId
from memory_pipeline.domain.policy import Policy, is_single_valued

_NEGATION = re.compile(r"\b(?:not|no|never|none|without|cannot|\w+n't|dislikes?|hates?|avoids?)\b")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_UNIT = re.compile(r"(?<=\d)\s*([a-z€$£%]+)")
_CALENDAR = re.compile(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b"
    r"|\b(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
)

_PAIR_ORDER = {
    PairReason.RESTATED: 0,
    PairReason.REDATED: 0,
    PairReason.SLOT: 1,
    PairReason.ENDING: 2,
    PairReason.NEAR_DUPLICATE: 3,
    PairReason.BAND: 3,
}


def deduplicate(
    graph: ResolvedGraph, state: MemoryState, profile: EmbeddingProfile, policy: Policy
) -> DistinctClaims:
    """Claims of one episode against memory and each other (spec D1-D5), pairs capped (J1)."""
    work = _Deduplication(graph, state, profile, policy)
    for claim in work.merge_equal_triples():
        work.place(claim)
    return work.result()


@dataclass
class _Deduplication:
    """The state of one call; nothing outlives it."""

    graph: ResolvedGraph
    state: MemoryState
    profile: EmbeddingProfile
    policy: Policy
    survivors: list[ResolvedClaim] = field(default_factory=list)
    closures: list[Closure] = field(default_factory=list)
    restatements: list[Restatement] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    outcomes: list[ClaimOutcome] = field(default_factory=list)
    uncertainties: list[Uncertainty] = field(default_factory=list)
    kept: list[ResolvedClaim] = field(default_factory=list)

    def merge_equal_triples(self) -> list[ResolvedClaim]:
        """One claim per triple and stay; of repeats, the stated bounds win (spec D1, D4)."""
        merged: list[ResolvedClaim] = []
        for resolved in self.graph.claims:
            twin = next((i for i, m in enumerate(merged) if _is_same_stay(m, resolved)), None)
            if twin is None:
                merged.append(resolved)
                continue
            merged[twin] = _merge(merged[twin], resolved)
            self.outcomes.append(
                outcome_of(
                    resolved.claim,
                    Outcome.REINFORCED,
                    f"says the same as {merged[twin].claim.ref} of this episode",
                )
            )
        return merged

    def place(self, resolved: ResolvedClaim) -> None:
        """Decide whether a claim closes, repeats, duplicates or survives."""
        self.kept.append(resolved)
        claim = resolved.claim
        live_twin = self._live_twin(resolved)
        if live_twin is not None:
            self._place_repeat(claim, live_twin)
            return
        duplicate = self._near_duplicate(resolved)
        if duplicate:
            self.kept.pop()
            self.outcomes.append(outcome_of(claim, Outcome.NEAR_DUPLICATE, duplicate))
            return
        self.survivors.append(resolved)
        self._choose_pairs(resolved)

    def _live_twin(self, resolved: ResolvedClaim) -> FactVersion | None:
        """The live fact of the same triple whose stay this claim speaks of."""
        for fact in self.state.facts:
            if (
                is_same_triple(resolved, fact)
                and not has_ended(fact.valid_until, resolved.claim.said_at)
                and not _is_other_stay(resolved.claim, fact)
            ):
                return fact
        return None

    def _place_repeat(self, claim: Claim, fact: FactVersion) -> None:
        if claim.valid_until is not None:
            if claim.confidence < self.policy.min_confidence:
                self.kept.pop()
                self.outcomes.append(
                    outcome_of(claim, Outcome.UNCERTAIN, "an ending below min_confidence")
                )
                self.uncertainties.append(uncertainty_of(claim, "unsure ending"))
                return
            self.closures.append(
                Closure(ref=claim.ref, fact_id=fact.fact_id, valid_until=claim.valid_until)
            )
            return
        self.restatements.append(Restatement(ref=claim.ref, fact_id=fact.fact_id))
        if claim.confidence < self.policy.min_confidence:
            return
        if fact.valid_until is not None:
            reason = PairReason.RESTATED
        elif claim.has_stated_start and claim.valid_from != fact.valid_from:
            reason = PairReason.REDATED
        else:
            return
        self.pairs.append(Pair(ref=claim.ref, fact_id=fact.fact_id, reason=reason, similarity=1.0))

    def _near_duplicate(self, resolved: ResolvedClaim) -> str:
        """Why the claim is a mere rewording of something held; empty when it is not (spec D3)."""
        if resolved.claim.valid_until is not None:
            return ""
        ref = resolved.claim.ref
        for fact in self.state.facts:
            if (
                fact.subject_id == resolved.subject_id
                and not has_ended(fact.valid_until, resolved.claim.said_at)
                and self.state.similarity(ref, str(fact.fact_id)) >= self.profile.duplicate
                and not differs_from_fact(resolved, fact)
            ):
                return f"rewords the fact: {fact.statement}"
        for earlier in self.survivors:
            if (
                earlier.subject_id == resolved.subject_id
                and self.state.similarity(ref, earlier.claim.ref) >= self.profile.duplicate
                and not differs_from_claim(resolved, earlier)
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
            similarity = self.state.similarity(claim.ref, str(fact.fact_id))
            reason = self._pair_reason(resolved, fact, similarity)
            if reason is None or (is_history and reason is not PairReason.ENDING):
                continue
            self.pairs.append(
                Pair(ref=claim.ref, fact_id=fact.fact_id, reason=reason, similarity=similarity)
            )

    def _pair_reason(
        self, resolved: ResolvedClaim, fact: FactVersion, similarity: float
    ) -> PairReason | None:
        has_same_object = same_object(resolved, fact)
        if resolved.claim.predicate == fact.predicate:
            return None if has_same_object else PairReason.SLOT
        if has_same_object:
            return PairReason.ENDING if resolved.claim.valid_until is not None else None
        if similarity >= self.profile.duplicate:
            return PairReason.NEAR_DUPLICATE
        return PairReason.BAND if similarity >= self.profile.band_low else None

    def result(self) -> DistinctClaims:
        """Everything decided, pairs capped per claim and per call in a fixed order."""
        asked, rest = _cap_pairs(self.pairs, {c.claim.ref: c.claim for c in self.kept}, self.policy)
        return DistinctClaims(
            survivors=tuple(self.survivors),
            closures=tuple(self.closures),
            restatements=tuple(self.restatements),
            pairs=asked,
            not_judged=rest,
            outcomes=tuple(self.outcomes),
            uncertainties=tuple(self.uncertainties),
            claims=tuple(self.kept),
        )


def _cap_pairs(
    pairs: list[Pair], claims: dict[str, Claim], policy: Policy
) -> tuple[tuple[Pair, ...], tuple[Pair, ...]]:
    """Single-valued slots, then endings, then nearest; the rest is recorded as not judged."""

    def rank(pair: Pair) -> tuple[int, bool, float, str]:
        is_single = is_single_valued(claims[pair.ref].predicate)
        return (_PAIR_ORDER[pair.reason], not is_single, -pair.similarity, str(pair.fact_id))

    asked: list[Pair] = []
    rest: list[Pair] = []
    per_claim: dict[str, int] = {}
    for pair in sorted(pairs, key=lambda p: (rank(p), claims[p.ref].order)):
        count = per_claim.get(pair.ref, 0)
        if count < policy.pairs_per_claim and len(asked) < policy.pairs_per_call:
            per_claim[pair.ref] = count + 1
            asked.append(pair)
        else:
            rest.append(pair)
    order = {ref: claim.order for ref, claim in claims.items()}
    asked.sort(key=lambda p: (order[p.ref], str(p.fact_id)))
    return tuple(asked), tuple(rest)


def _is_same_stay(one: ResolvedClaim, other: ResolvedClaim) -> bool:
    if not (
        one.subject_id == other.subject_id
        and one.claim.predicate == other.claim.predicate
        and _object_key(one) == _object_key(other)
    ):
        return False
    return not (_is_after(one.claim, other.claim) or _is_after(other.claim, one.claim))


def _is_after(later: Claim, earlier: Claim) -> bool:
    """Whether a claim's stated start lies at or behind the other's end: two stays (spec D4)."""
    return (
        later.has_stated_start
        and earlier.valid_until is not None
        and start_of(later.valid_from) >= earlier.valid_until
    )


def _merge(first: ResolvedClaim, second: ResolvedClaim) -> ResolvedClaim:
    """One claim of two equal ones: stated start, given end and better confidence win."""
    one, two = first.claim, second.claim
    dated = one if one.has_stated_start or not two.has_stated_start else two
    valid_until = one.valid_until if one.valid_until is not None else two.valid_until
    valid_from = dated.valid_from
    if valid_until is not None and valid_from is not None and valid_from >= valid_until:
        valid_from = None
    ending = two if one.valid_until is None and two.valid_until is not None else one
    claim = one.model_copy(
        update={
            "valid_from": valid_from,
            "valid_until": valid_until,
            "has_stated_start": dated.has_stated_start,
            "confidence": max(one.confidence, two.confidence),
            "evidence": ending.evidence,
            "said_at": max(one.said_at, two.said_at),
        }
    )
    return first.model_copy(update={"claim": claim})


def _is_other_stay(claim: Claim, fact: FactVersion) -> bool:
    """Whether claim and fact of one triple speak of disjoint periods (spec D4)."""
    if claim.has_stated_start and start_of(claim.valid_from) >= end_of(fact.valid_until):
        return True
    if claim.valid_until is None or claim.valid_until > start_of(fact.valid_from):
        return False
    return fact.has_stated_start or claim.has_stated_start


def is_same_triple(resolved: ResolvedClaim, fact: FactVersion) -> bool:
    """Whether claim and fact share subject, predicate and object."""
    return (
        resolved.subject_id == fact.subject_id
        and resolved.claim.predicate == fact.predicate
        and same_object(resolved, fact)
    )


def same_object(resolved: ResolvedClaim, fact: FactVersion) -> bool:
    """Whether claim and fact have the same object, entity or value."""
    return _object_key(resolved) == fact.object_key()


def _object_key(resolved: ResolvedClaim) -> tuple[EntityId | None, str | None]:
    if resolved.object_id is not None:
        return (resolved.object_id, None)
    return (None, resolved.claim.object)


def differs_from_fact(resolved: ResolvedClaim, fact: FactVersion) -> bool:
    """Whether a likeness must not count as a repeat of the fact (spec D3)."""
    return _differs(
        (resolved.claim.predicate, *_object_key(resolved), statement_of(resolved.claim)),
        (fact.predicate, *fact.object_key(), fact.statement),
    )


def differs_from_claim(resolved: ResolvedClaim, other: ResolvedClaim) -> bool:
    """The same between two claims of one episode."""
    return _differs(
        (resolved.claim.predicate, *_object_key(resolved), statement_of(resolved.claim)),
        (other.claim.predicate, *_object_key(other), statement_of(other.claim)),
    )


_Comparable = tuple[str, EntityId | None, str | None, str]


def _differs(one: _Comparable, other: _Comparable) -> bool:
    predicate, object_id, object_text, statement = one
    has_same_object = (object_id, object_text) == other[1:3]
    if predicate == other[0] and not has_same_object:
        return True
    if object_id != other[1]:
        return True
    return any(
        _tokens(pattern, statement) != _tokens(pattern, other[3])
        for pattern in (_NEGATION, _NUMBER, _UNIT, _CALENDAR)
    )


def _tokens(pattern: re.Pattern[str], text: str) -> list[str]:
    found: Iterable[str] = pattern.findall(text.lower())
    if pattern is _NEGATION:
        return ["negative"] if len(list(found)) % 2 else []
    return sorted(found)


def statement_of(claim: Claim) -> str:
    """The text that stands for a claim wherever it is compared or embedded."""
    return f"{claim.subject} {claim.predicate} {claim.object}"


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
