"""Planning: from claims and verdicts to the row changes of one episode. Pure and total.

Belongs here: which facts replace which (spec J4-J6, W2, W3), as values only.
Does not: clocks, databases, models, and the choice of pairs (stages/deduplicate).
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memory_pipeline.domain.changes import (
    ChangeSet,
    DistinctClaims,
    EvidenceRow,
    FinalOutcome,
    Judgement,
    MemoryState,
    PairReason,
    Verdict,
)
from memory_pipeline.domain.claim import (
    Claim,
    ClaimOutcome,
    Outcome,
    ResolvedClaim,
    Uncertainty,
)
from memory_pipeline.domain.drafts import FactDrafts, is_same_triple
from memory_pipeline.domain.fact import (
    LAST_INSTANT,
    EndedReason,
    FactVersion,
    end_of,
    has_ended,
    next_known_instant,
    start_of,
)
from memory_pipeline.domain.ids import EpisodeId, FactId, derive_id

OBSERVER = "graph observations"
"""Subject of insights; exempt from the cascade (spec W3, I3)."""

_UNTOUCHABLE = {Verdict.NEITHER, Verdict.NOT_JUDGED}


def plan_changes(
    state: MemoryState,
    episode_id: EpisodeId,
    ended_at: datetime,
    distinct: DistinctClaims,
    judgements: tuple[Judgement, ...],
    earlier_survivors: frozenset[str] = frozenset(),
) -> ChangeSet:
    """The change set of one episode against one state of memory.

    `earlier_survivors` are refs that survived a plan made on a state that has moved since: one
    that now repeats a committed fact ends as `race` (spec W2). The caller adds what resolution and
    guards found (entities, instructions, uncertainties) with `model_copy`.
    """
    known_at = next_known_instant(ended_at, state.head.last_known_at)
    plan = _Plan(state, episode_id, known_at, distinct, judgements, earlier_survivors)
    plan.insert_survivors()
    if state.has_links:
        plan.withdraw_unlinked()
    plan.apply_closures()
    plan.apply_verdicts()
    if state.has_links:
        plan.drafts.cascade(state.user_id)
    return plan.change_set()


@dataclass
class _Plan:
    """The work of one call; nothing outlives it and nothing given is changed."""

    state: MemoryState
    episode_id: EpisodeId
    known_at: datetime
    distinct: DistinctClaims
    judgements: tuple[Judgement, ...]
    earlier_survivors: frozenset[str]
    drafts: FactDrafts = field(init=False)
    claims: dict[str, Claim] = field(default_factory=dict)
    fact_of: dict[str, FactId] = field(default_factory=dict)
    refuted: set[str] = field(default_factory=set)
    outcomes: list[FinalOutcome] = field(default_factory=list)
    evidence: list[EvidenceRow] = field(default_factory=list)
    uncertainties: list[Uncertainty] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drafts = FactDrafts(self.state.facts, self.episode_id, self.known_at)
        self.claims = {c.claim.ref: c.claim for c in self.distinct.claims}
        self.outcomes = [FinalOutcome(outcome=o) for o in self.distinct.outcomes]
        self.uncertainties = list(self.distinct.uncertainties)
        # A claim with any `new` verdict goes, and its own `old` verdicts with it (J4).
        self.refuted = {j.ref for j in self.judgements if j.verdict is Verdict.NEW}

    # ---- claims

    def insert_survivors(self) -> None:
        """New facts, each with its own stay; refuted claims end in the ledger."""
        for resolved in self.distinct.survivors:
            claim = resolved.claim
            if claim.ref in self.refuted:
                self._end(claim, Outcome.VERDICT_NEW, "the judge kept what was believed")
                continue
            older = self._begins_no_earlier(claim)
            limit = LAST_INSTANT if older is None else start_of(older.valid_from)
            if min(limit, end_of(claim.valid_until)) <= start_of(claim.valid_from):
                self._end(claim, Outcome.UNCERTAIN, "no period is left to hold it")
                self.uncertainties.append(_whole_candidate(claim, "no period left to hold it"))
                self.refuted.add(claim.ref)
                continue
            self._insert(resolved, older)

    def _begins_no_earlier(self, claim: Claim) -> FactVersion | None:
        """The first fact that the claim changes but that begins no earlier than it (J6)."""
        facts = [
            self.drafts.by_id[j.fact_id].now
            for j in self._changes()
            if j.ref == claim.ref
            and not j.is_correction
            and j.pair_reason is not PairReason.ENDING
            and start_of(claim.valid_from) <= start_of(self.drafts.by_id[j.fact_id].now.valid_from)
        ]
        # What they say breaks ties, not ids, which differ between tenants with one history.
        return min(facts, key=lambda f: (start_of(f.valid_from), f.statement), default=None)

    def _insert(self, resolved: ResolvedClaim, older: FactVersion | None) -> None:
        """Add the claim as a fact that ends, at the latest, where `older` begins."""
        claim = resolved.claim
        fact = _new_fact(resolved, self.state, self.episode_id, self.known_at)
        if older is not None and start_of(older.valid_from) < end_of(claim.valid_until):
            ending: dict[str, object] = {
                "valid_until": older.valid_from,
                "ended_reason": EndedReason.SUPERSEDED,
                "ended_by": self.episode_id,
                "successor_id": older.fact_id,
            }
            fact = fact.model_copy(update=ending)
        elif claim.valid_until is not None:
            ending = {"ended_reason": EndedReason.ENDED, "ended_by": self.episode_id}
            fact = fact.model_copy(update=ending)
        is_renewal = any(
            is_same_triple(old, fact) and end_of(old.valid_until) <= start_of(fact.valid_from)
            for old in self.state.facts
        )
        self.drafts.add(fact)
        self.fact_of[claim.ref] = fact.fact_id
        self._end(claim, Outcome.RENEWED if is_renewal else Outcome.INSERTED, "", fact.fact_id)
        self._cite(claim, fact.fact_id, "asserted")

    def withdraw_unlinked(self) -> None:
        """What only a refuted claim linked to the user goes with it (spec X3)."""
        never_true = {
            j.fact_id
            for j in self._changes()
            if j.is_correction
            and j.pair_reason not in (PairReason.RESTATED, PairReason.REDATED)
            and self.fact_of.get(j.ref) != j.fact_id
        }
        for fact_id in self.drafts.withdraw_unlinked(self.state.user_id, never_true):
            ref = next(r for r, found in self.fact_of.items() if found == fact_id)
            del self.fact_of[ref]
            self.refuted.add(ref)
            self.evidence = [row for row in self.evidence if row.fact_id != fact_id]
            self.outcomes = [o for o in self.outcomes if o.outcome.ref != ref]
            detail = "what linked it to the user was not accepted"
            self._end(self.claims[ref], Outcome.NOT_LINKED, detail)

    # ---- endings and verdicts

    def apply_closures(self) -> None:
        """Endings of live facts the user stated (spec D2); repeats count as reinforcement."""
        for closure in self.distinct.closures:
            claim = self.claims[closure.ref]
            self.fact_of[claim.ref] = closure.fact_id
            self.drafts.close(closure.fact_id, closure.valid_until, EndedReason.ENDED)
            self._end(claim, Outcome.CLOSED, "", closure.fact_id)
            self._cite(claim, closure.fact_id, "closed")
        for restated in self.distinct.restatements:
            claim = self.claims[restated.ref]
            self.fact_of[claim.ref] = restated.fact_id
            is_race = restated.ref in self.earlier_survivors
            outcome = Outcome.RACE if is_race else Outcome.REINFORCED
            self._end(claim, outcome, "", restated.fact_id)
            self._cite(claim, restated.fact_id, "reinforced")
        for merged in self.distinct.merged:
            fact_id = self.fact_of.get(merged.into)
            detail = f"says the same as {merged.into} of this episode"
            outcome = Outcome.REINFORCED if fact_id is not None else self._end_of(merged.into)
            self._end(merged.claim, outcome, detail, fact_id)
            if fact_id is not None:
                self._cite(merged.claim, fact_id, "reinforced")

    def _end_of(self, ref: str) -> Outcome:
        return next(o.outcome.outcome for o in self.outcomes if o.outcome.ref == ref)

    def apply_verdicts(self) -> None:
        """What `old` verdicts do to the facts they name (spec J5, J6), earliest heir first."""
        for judgement in sorted(self._changes(), key=self._heir_order):
            claim = self.claims[judgement.ref]
            heir = self.fact_of.get(judgement.ref)
            match judgement.pair_reason:
                case PairReason.RESTATED:
                    self.drafts.reopen(judgement.fact_id)
                case PairReason.REDATED:
                    self.drafts.redate(judgement.fact_id, claim.valid_from)
                case PairReason.ENDING if claim.valid_until and not judgement.is_correction:
                    self.drafts.close(judgement.fact_id, claim.valid_until, EndedReason.ENDED)
                case _ if heir == judgement.fact_id:
                    pass  # what the claim repeats can't be replaced by it
                case _ if judgement.is_correction:
                    self.drafts.drop(judgement.fact_id, EndedReason.INVALIDATED, heir)
                case _ if heir is not None:
                    self.drafts.supersede(judgement.fact_id, heir)

    def _changes(self) -> list[Judgement]:
        return [
            j
            for j in self.judgements
            if j.verdict is Verdict.OLD
            and j.ref not in self.refuted
            and j.ref in self.claims
            and j.fact_id in self.drafts.by_id
        ]

    def _heir_order(self, judgement: Judgement) -> tuple[datetime, int, str]:
        claim = self.claims[judgement.ref]
        return (start_of(claim.valid_from), claim.order, str(judgement.fact_id))

    # ---- result

    def _end(
        self, claim: Claim, outcome: Outcome, detail: str, fact_id: FactId | None = None
    ) -> None:
        line = ClaimOutcome(
            ref=claim.ref,
            outcome=outcome,
            subject=claim.subject,
            predicate=claim.predicate,
            object=claim.object,
            detail=detail,
            message_id=claim.evidence.message_id if claim.evidence else None,
            quote=claim.evidence.quote if claim.evidence else "",
        )
        self.outcomes.append(FinalOutcome(outcome=line, fact_id=fact_id))

    def _cite(
        self, claim: Claim, fact_id: FactId, kind: Literal["asserted", "reinforced", "closed"]
    ) -> None:
        self.evidence.append(
            EvidenceRow(
                fact_id=fact_id,
                ref=claim.ref,
                kind=kind,
                evidence=claim.evidence,
                quote=claim.evidence.quote if claim.evidence else "",
            )
        )

    def change_set(self) -> ChangeSet:
        """Everything the write needs that follows from claims and verdicts."""
        changed = [draft.now for draft in self.drafts.changed()]
        dirty = {e for fact in changed for e in (fact.subject_id, fact.object_id) if e}
        return ChangeSet(
            head=self.state.head,
            episode_id=self.episode_id,
            known_at=self.known_at,
            version_closures=self.drafts.closures(),
            versions=self.drafts.versions(),
            evidence=tuple(self.evidence),
            outcomes=tuple(self.outcomes),
            judgements=self.judgements,
            uncertainties=tuple(self.uncertainties),
            dirty_entities=tuple(sorted(dirty, key=str)),
        )


def _new_fact(
    resolved: ResolvedClaim, state: MemoryState, episode_id: EpisodeId, known_at: datetime
) -> FactVersion:
    claim = resolved.claim
    object_key = str(resolved.object_id) if resolved.object_id else f"text:{claim.object}"
    fact_id = derive_id(
        "fact",
        state.head.tenant_id,
        str(resolved.subject_id),
        claim.predicate,
        object_key,
        str(episode_id),
        claim.ref,
    )
    return FactVersion(
        fact_id=FactId(fact_id),
        version=1,
        subject_id=resolved.subject_id,
        predicate=claim.predicate,
        object_id=resolved.object_id,
        object_text=None if resolved.object_id else claim.object,
        statement=f"{claim.subject} {claim.predicate} {claim.object}",
        valid_from=claim.valid_from,
        valid_until=claim.valid_until,
        known_from=known_at,
        confidence=claim.confidence,
        memory_category=claim.memory_category,
        tier=claim.tier,
        has_stated_start=claim.has_stated_start,
        opened_by=episode_id,
    )


def _whole_candidate(claim: Claim, reason: str) -> Uncertainty:
    return Uncertainty(
        about=f"{claim.subject} {claim.predicate} {claim.object}",
        reason=reason,
        subject=claim.subject,
        predicate=claim.predicate,
        candidate=claim.model_dump_json(exclude={"evidence"}),
        message_id=claim.evidence.message_id if claim.evidence else None,
    )


def may_end_a_link(
    state: MemoryState, distinct: DistinctClaims, judgements: tuple[Judgement, ...]
) -> bool:
    """Whether the plan will need links: an edge may end, or what is told hangs on one."""
    if any(c.subject_id != state.user_id for c in distinct.survivors):
        return True
    named = facts_that_may_end(distinct, judgements)
    return any(
        f.object_id is not None or f.subject_id != state.user_id
        for f in state.facts
        if f.fact_id in named
    )


def facts_that_may_end(
    distinct: DistinctClaims, judgements: tuple[Judgement, ...]
) -> frozenset[FactId]:
    """Facts that the plan may end, drop or let last longer by itself, the cascade apart."""
    judged = (j.fact_id for j in judgements if j.verdict not in _UNTOUCHABLE)
    return frozenset(c.fact_id for c in distinct.closures).union(judged)


def is_live(fact: FactVersion, at: datetime) -> bool:
    """Believed and not ended at an instant; a future fact counts (spec D)."""
    return not has_ended(fact.valid_until, at)
