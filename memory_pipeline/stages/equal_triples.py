"""Claims of one episode that say the same of the same stay become one (spec D1, D4).

Belongs here: when two claims speak of one stay, and what the one that is left says. Does not:
likeness of different words and memory (stages/deduplicate).
"""

from collections.abc import Mapping, Sequence

from memory_pipeline.domain.changes import MergedClaim
from memory_pipeline.domain.claim import Claim, ResolvedClaim
from memory_pipeline.domain.fact import start_of
from memory_pipeline.stages.likeness import object_key


def merge_equal_triples(
    claims: Sequence[ResolvedClaim],
) -> tuple[list[ResolvedClaim], tuple[MergedClaim, ...]]:
    """One claim per triple and stay, and those that are no more; the stated bounds win."""
    absorbed: list[MergedClaim] = []
    while len(merged := _merge_once(claims, absorbed)) < len(claims):
        claims = merged  # a merge can widen a stay, so that it meets another
    into = {m.claim.ref: m.into for m in absorbed}
    return merged, tuple(m.model_copy(update={"into": _last_of(m.into, into)}) for m in absorbed)


def _merge_once(
    claims: Sequence[ResolvedClaim], absorbed: list[MergedClaim]
) -> list[ResolvedClaim]:
    merged: list[ResolvedClaim] = []
    for resolved in claims:
        twin = next((i for i, m in enumerate(merged) if is_same_stay(m, resolved)), None)
        if twin is None:
            merged.append(resolved)
            continue
        kept = _merge(merged[twin], resolved)
        absorbed.append(_absorbed(merged[twin].claim, resolved.claim, kept.claim))
        merged[twin] = kept
    return merged


def _last_of(ref: str, into: Mapping[str, str]) -> str:
    """The claim that a chain of merges ends in."""
    while ref in into:
        ref = into[ref]
    return ref


def is_same_stay(one: ResolvedClaim, other: ResolvedClaim) -> bool:
    """Whether two claims of one episode are the same triple and mean one stay."""
    if not (
        one.subject_id == other.subject_id
        and one.claim.predicate == other.claim.predicate
        and object_key(one) == object_key(other)
    ):
        return False
    return not (is_after(one.claim, other.claim) or is_after(other.claim, one.claim))


def is_after(later: Claim, earlier: Claim) -> bool:
    """Whether a claim begins at or behind the other's end: two stays (spec D4).

    An end alone, without any stated start, is the end of the stay that the other claim is about.
    """
    return (
        (later.has_stated_start or earlier.has_stated_start)
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
    confidence = max(one.confidence, two.confidence)
    if one.valid_until is not None or two.valid_until is not None:
        # An end is as sure as the claim that states it (D2).
        confidence = max(c.confidence for c in (one, two) if c.valid_until is not None)
    claim = one.model_copy(
        update={
            "valid_from": valid_from,
            "valid_until": valid_until,
            "has_stated_start": dated.has_stated_start,
            "confidence": confidence,
            "evidence": ending.evidence,
            "said_at": max(one.said_at, two.said_at),
        }
    )
    return first.model_copy(update={"claim": claim})


def _absorbed(first: Claim, second: Claim, kept: Claim) -> MergedClaim:
    """The claim that is no more, with the words that the one kept does not cite."""
    words = first.evidence if kept.evidence == second.evidence else second.evidence
    return MergedClaim(claim=second.model_copy(update={"evidence": words}), into=kept.ref)
