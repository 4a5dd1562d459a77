"""Short words for claims, facts and states, for tests of everything that decides about them.

Belongs here: values with sensible defaults. Does not: any rule.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, UUID, uuid5

from memory_pipeline.domain.changes import (
    ChangeSet,
    Closure,
    DistinctClaims,
    GenerationHead,
    Judgement,
    MemoryState,
    PairReason,
    Restatement,
    Verdict,
)
from memory_pipeline.domain.claim import USER, Claim, Evidence, ResolvedClaim
from memory_pipeline.domain.extraction import MemoryCategory, Tier
from memory_pipeline.domain.fact import EndedReason, FactVersion
from memory_pipeline.domain.ids import (
    EntityId,
    EpisodeId,
    FactId,
    GenerationId,
    MessageId,
    RecipeId,
    TenantId,
)

NOW = datetime(2025, 9, 15, 12, tzinfo=UTC)
TENANT = TenantId("acme/user_42")
EPISODE = EpisodeId(UUID(int=7))
BEFORE = datetime(2025, 9, 14, tzinfo=UTC)


def day(text: str) -> datetime:
    """A day at 00:00 UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def entity_id(name: str) -> EntityId:
    """The id of a named thing."""
    return EntityId(uuid5(NAMESPACE_URL, f"entity {name}"))


def fact_id(name: str) -> FactId:
    """The id of a fact by a test's word for it."""
    return FactId(uuid5(NAMESPACE_URL, f"fact {name}"))


def claim(
    ref: str,
    predicate: str,
    target: str,
    *,
    about: str = USER,
    names: bool = False,
    since: str | None = None,
    until: str | None = None,
    confidence: float = 0.9,
    quote: str = "",
    said_at: datetime = NOW,
) -> ResolvedClaim:
    """A claim; `names`: its object is an entity, `since` and `until`: stated days.

    Without `since` it begins when it is said, or nowhere if it had ended by then (spec X7).
    """
    valid_until = day(until) if until else None
    is_past = valid_until is not None and valid_until <= said_at
    start = day(since) if since else None if is_past else said_at
    return ResolvedClaim(
        claim=Claim(
            ref=ref,
            order=int(ref[1:]),
            subject=about,
            predicate=predicate,
            object=target,
            object_is_entity=names,
            confidence=confidence,
            memory_category=MemoryCategory.CONTEXT,
            said_at=said_at,
            valid_from=start,
            valid_until=valid_until,
            has_stated_start=since is not None,
            evidence=_said(quote, said_at) if quote else None,
            tier=Tier.HEURISTICS,
        ),
        subject_id=entity_id(about),
        object_id=entity_id(target) if names else None,
    )


def _said(quote: str, said_at: datetime) -> Evidence:
    return Evidence(
        message_id=MessageId(UUID(int=1)),
        span_start=0,
        span_end=len(quote),
        quote=quote,
        said_at=said_at,
    )


def fact(
    name: str,
    predicate: str,
    target: str,
    *,
    about: str = USER,
    names: bool = False,
    since: str | None = "2024-01-01",
    until: str | None = None,
    successor: str | None = None,
    is_start_stated: bool = True,
    tier: Tier = Tier.HEURISTICS,
    version: int = 1,
) -> FactVersion:
    """A believed fact; with a `successor` its end was derived, else the user stated it."""
    reason = EndedReason.SUPERSEDED if successor else EndedReason.ENDED
    return FactVersion(
        fact_id=fact_id(name),
        version=version,
        subject_id=entity_id(about),
        predicate=predicate,
        object_id=entity_id(target) if names else None,
        object_text=None if names else target,
        statement=f"{about} {predicate} {target}",
        valid_from=day(since) if since else None,
        valid_until=day(until) if until else None,
        known_from=day("2024-01-01"),
        confidence=0.9,
        memory_category=MemoryCategory.CONTEXT,
        tier=tier,
        has_stated_start=is_start_stated and since is not None,
        ended_reason=reason if until else None,
        successor_id=fact_id(successor) if successor else None,
    )


def state(
    *facts: FactVersion,
    similar: Mapping[tuple[str, str], float] | None = None,
    last_known_at: datetime | None = BEFORE,
) -> MemoryState:
    """Memory that holds these facts; `similar` by (claim, claim or the test's word for a fact)."""
    words = {str(fact_id(f"f{number}")): f"f{number}" for number in range(40)}
    ids = {word: known for known, word in words.items()}
    return MemoryState(
        head=GenerationHead(
            tenant_id=TENANT,
            generation_id=GenerationId(UUID(int=3)),
            recipe_id=RecipeId("recipe"),
            version=4,
            folded_count=4,
            last_known_at=last_known_at,
        ),
        user_id=entity_id(USER),
        facts=tuple(facts),
        similarities={
            (one, ids.get(other, other)): value for (one, other), value in (similar or {}).items()
        },
        has_links=True,
    )


def surviving(*claims: ResolvedClaim) -> DistinctClaims:
    """Claims that all survived deduplication."""
    return DistinctClaims(survivors=claims, claims=claims)


def closing(ending: ResolvedClaim, name: str, *survivors: ResolvedClaim) -> DistinctClaims:
    """A claim that gives a fact its end, and others that survived."""
    until = ending.claim.valid_until
    if until is None:
        raise ValueError("a claim without an end closes nothing")
    closure = Closure(ref=ending.claim.ref, fact_id=fact_id(name), valid_until=until)
    return DistinctClaims(closures=(closure,), survivors=survivors, claims=(ending, *survivors))


def restating(repeat: ResolvedClaim, name: str) -> DistinctClaims:
    """A claim that repeats a fact."""
    restated = Restatement(ref=repeat.claim.ref, fact_id=fact_id(name))
    return DistinctClaims(restatements=(restated,), claims=(repeat,))


def judged(
    ref: str,
    name: str,
    verdict: Verdict = Verdict.OLD,
    *,
    why: PairReason = PairReason.SLOT,
    is_correction: bool = False,
) -> Judgement:
    """A verdict on a claim and a fact."""
    return Judgement(
        ref=ref,
        fact_id=fact_id(name),
        verdict=verdict,
        is_correction=is_correction,
        pair_reason=why,
    )


def believed(before: MemoryState, changes: ChangeSet) -> dict[FactId, FactVersion]:
    """What is believed after a change set, by fact."""
    closed = {(c.fact_id, c.version) for c in changes.version_closures}
    after = {f.fact_id: f for f in before.facts if (f.fact_id, f.version) not in closed}
    return after | {v.fact_id: v for v in changes.versions}
