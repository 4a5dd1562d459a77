"""Planning: from claims and verdicts to the row changes of one episode. Pure and total.

Belongs here: which facts replace which (spec J4-J6, W2, W3), as values only.
Does not: clocks, databases, models, and the choice of pairs (stages/deduplicate).
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from memory_pipeline.domain.changes import (
    ChangeSet,
    DistinctClaims,
    EvidenceRow,
    FinalOutcome,
    Judgement,
    MemoryState,
    PairReason,
    Verdict,
    VersionClosure,
)
from memory_pipeline.domain.claim import (
    Claim,
    ClaimOutcome,
    Outcome,
    ResolvedClaim,
    Uncertainty,
)
from memory_pipeline.domain.fact import (
    FIRST_INSTANT,
    EndedReason,
    FactVersion,
    end_of,
    has_ended,
    next_known_instant,
    start_of,
)
from memory_pipeline.domain.ids import EntityId, EpisodeId, FactId, derive_id

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
    plan.drop_refuted()
    plan.insert_survivors()
    plan.apply_closures()
    plan.apply_verdicts()
    plan.cascade()
    return plan.change_set()


@dataclass
class _Draft:
    """What a fact becomes: `before` is the believed version, None for a new fact."""

    before: FactVersion | None
    now: FactVersion
    is_dropped: bool = False


@dataclass
class _Plan:
    """The work of one call; nothing outlives it and nothing given is changed."""

    state: MemoryState
    episode_id: EpisodeId
    known_at: datetime
    distinct: DistinctClaims
    judgements: tuple[Judgement, ...]
    earlier_survivors: frozenset[str]
    drafts: dict[FactId, _Draft] = field(default_factory=dict)
    claims: dict[str, ResolvedClaim] = field(default_factory=dict)
    fact_of: dict[str, FactId] = field(default_factory=dict)
    refuted: set[str] = field(default_factory=set)
    outcomes: list[FinalOutcome] = field(default_factory=list)
    evidence: list[EvidenceRow] = field(default_factory=list)
    uncertainties: list[Uncertainty] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.drafts = {f.fact_id: _Draft(before=f, now=f) for f in self.state.facts}
        self.claims = {c.claim.ref: c for c in self.distinct.claims}
        self.outcomes = [FinalOutcome(outcome=o) for o in self.distinct.outcomes]
        self.uncertainties = list(self.distinct.uncertainties)

    # ---- claims

    def drop_refuted(self) -> None:
        """A claim with any `new` verdict goes, and its own `old` verdicts with it (J4)."""
        self.refuted = {j.ref for j in self.judgements if j.verdict is Verdict.NEW}

    def insert_survivors(self) -> None:
        """New facts, each with its own stay; refuted claims end in the ledger."""
        for resolved in self.distinct.survivors:
            claim = resolved.claim
            if claim.ref in self.refuted:
                self._end(claim, Outcome.VERDICT_NEW, "the judge kept what was believed")
                continue
            limit = self._limit_by_older_start(claim)
            if limit is not None and limit <= start_of(claim.valid_from):
                self._end(claim, Outcome.UNCERTAIN, "replaces a fact that begins no later")
                self.uncertainties.append(_whole_candidate(claim, "no period left to hold it"))
                self.refuted.add(claim.ref)
                continue
            self._insert(resolved, limit)

    def _limit_by_older_start(self, claim: Claim) -> datetime | None:
        """Where the claim must end because what it changes begins no earlier (spec J6)."""
        limits = [
            start_of(self.drafts[j.fact_id].now.valid_from)
            for j in self._changes()
            if j.ref == claim.ref
            and j.pair_reason is not PairReason.ENDING
            and start_of(claim.valid_from) <= start_of(self.drafts[j.fact_id].now.valid_from)
        ]
        return min(limits, default=None)

    def _insert(self, resolved: ResolvedClaim, limit: datetime | None) -> None:
        claim = resolved.claim
        valid_until = claim.valid_until
        reason = EndedReason.ENDED if valid_until is not None else None
        successor: FactId | None = None
        if limit is not None and limit < end_of(valid_until):
            valid_until, reason = limit, EndedReason.SUPERSEDED
            successor = next(
                j.fact_id
                for j in self._changes()
                if j.ref == claim.ref and start_of(self.drafts[j.fact_id].now.valid_from) == limit
            )
        fact = _new_fact(resolved, self.state, self.episode_id, self.known_at).model_copy(
            update={
                "valid_until": valid_until,
                "ended_reason": reason,
                "ended_by": self.episode_id if reason else None,
                "successor_id": successor,
            }
        )
        self.drafts[fact.fact_id] = _Draft(before=None, now=fact)
        self.fact_of[claim.ref] = fact.fact_id
        self._end(claim, Outcome.INSERTED, "", fact.fact_id)
        self._cite(claim, fact.fact_id, "asserted")

    # ---- endings and verdicts

    def apply_closures(self) -> None:
        """Endings of live facts the user stated (spec D2); repeats count as reinforcement."""
        for closure in self.distinct.closures:
            claim = self.claims[closure.ref].claim
            self._close(closure.fact_id, closure.valid_until, EndedReason.ENDED)
            self._end(claim, Outcome.CLOSED, "", closure.fact_id)
            self._cite(claim, closure.fact_id, "closed")
        for restated in self.distinct.restatements:
            claim = self.claims[restated.ref].claim
            self.fact_of[claim.ref] = restated.fact_id
            is_race = restated.ref in self.earlier_survivors
            outcome = Outcome.RACE if is_race else Outcome.REINFORCED
            self._end(claim, outcome, "", restated.fact_id)
            self._cite(claim, restated.fact_id, "reinforced")

    def apply_verdicts(self) -> None:
        """What `old` verdicts do to the facts they name (spec J5, J6), earliest heir first."""
        changes = sorted(self._changes(), key=self._heir_order)
        for judgement in changes:
            claim = self.claims[judgement.ref].claim
            match judgement.pair_reason:
                case PairReason.RESTATED:
                    self._reopen(judgement.fact_id)
                case PairReason.REDATED:
                    self._redate(judgement.fact_id, claim)
                case PairReason.ENDING if claim.valid_until is not None:
                    self._close(judgement.fact_id, claim.valid_until, EndedReason.ENDED)
                case _ if judgement.is_correction:
                    self._invalidate(judgement.fact_id, self.fact_of.get(judgement.ref))
                case _:
                    self._supersede(judgement.fact_id, claim, self.fact_of.get(judgement.ref))

    def _changes(self) -> list[Judgement]:
        return [
            j
            for j in self.judgements
            if j.verdict is Verdict.OLD and j.ref not in self.refuted and j.ref in self.claims
        ]

    def _heir_order(self, judgement: Judgement) -> tuple[datetime, int]:
        claim = self.claims[judgement.ref].claim
        return (start_of(claim.valid_from), claim.order)

    def _close(self, fact_id: FactId, until: datetime, reason: EndedReason) -> None:
        """End a fact at `until`; a start that was only the message's time gives way to it."""
        now = self.drafts[fact_id].now
        if start_of(now.valid_from) >= until:
            if now.has_stated_start:
                self._invalidate(fact_id, None)
                return
            now = now.model_copy(update={"valid_from": None})
        self._revise(now, valid_until=until, ended_reason=reason, ended_by=self.episode_id)

    def _supersede(self, fact_id: FactId, claim: Claim, heir: FactId | None) -> None:
        draft = self.drafts[fact_id]
        now, start = draft.now, start_of(claim.valid_from)
        if draft.is_dropped or now.successor_id is not None or start <= start_of(now.valid_from):
            return
        if now.ended_reason is EndedReason.ENDED and now.valid_until is not None:
            self._revise(now, successor_id=heir)  # an end the user stated beats a derived one
            return
        if start < end_of(now.valid_until):
            self._revise(
                now,
                valid_until=start,
                ended_reason=EndedReason.SUPERSEDED,
                ended_by=self.episode_id,
                successor_id=heir,
            )

    def _reopen(self, fact_id: FactId) -> None:
        self._revise(
            self.drafts[fact_id].now,
            valid_until=None,
            ended_reason=None,
            ended_by=None,
            successor_id=None,
        )

    def _redate(self, fact_id: FactId, claim: Claim) -> None:
        now = self.drafts[fact_id].now
        if start_of(claim.valid_from) < end_of(now.valid_until):
            self._revise(now, valid_from=claim.valid_from, has_stated_start=True)

    def _invalidate(self, fact_id: FactId, heir: FactId | None) -> None:
        draft = self.drafts[fact_id]
        if draft.is_dropped:
            return
        draft.is_dropped = True
        draft.now = draft.now.model_copy(
            update={
                "ended_reason": EndedReason.INVALIDATED,
                "ended_by": self.episode_id,
                "successor_id": heir,
            }
        )

    def _revise(self, fact: FactVersion, **changes: object) -> None:
        self.drafts[fact.fact_id].now = fact.model_copy(update=changes)

    # ---- cascade

    def cascade(self) -> None:
        """Facts about what is no longer reachable from the user end with the last link (W3)."""
        if not self.state.has_links:
            return
        before = _reach(self.state.user_id, [d.before for d in self.drafts.values() if d.before])
        after = _reach(self.state.user_id, self._links_after())
        for draft in list(self.drafts.values()):
            fact = draft.now
            reach = after.get(fact.subject_id, FIRST_INSTANT)
            if (
                draft.is_dropped
                or fact.subject_id == self.state.user_id
                or (draft.before is None and start_of(fact.valid_from) >= reach)
                or fact.subject_id not in before
                or reach >= before[fact.subject_id]
                or end_of(fact.valid_until) <= reach
            ):
                continue
            self._close(
                fact.fact_id, reach if reach > FIRST_INSTANT else self.known_at, EndedReason.CASCADE
            )

    def _links_after(self) -> list[FactVersion]:
        """Links live before or new now, with the ends they have now."""
        return [d.now for d in self.drafts.values() if not d.is_dropped]

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

    def _cite(self, claim: Claim, fact_id: FactId, kind: str) -> None:
        self.evidence.append(
            EvidenceRow.model_validate(
                {
                    "fact_id": fact_id,
                    "ref": claim.ref,
                    "kind": kind,
                    "evidence": claim.evidence,
                    "quote": claim.evidence.quote if claim.evidence else "",
                }
            )
        )

    def change_set(self) -> ChangeSet:
        """Net versions: one per changed fact, however many changes met in the episode."""
        closures: list[VersionClosure] = []
        versions: list[FactVersion] = []
        dirty: set[EntityId] = set()
        for draft in self.drafts.values():
            if draft.before is not None and draft.now == draft.before:
                continue
            dirty |= {e for e in (draft.now.subject_id, draft.now.object_id) if e}
            if draft.before is None:
                versions.append(draft.now)
                continue
            closures.append(_closure_of(draft))
            if not draft.is_dropped:
                versions.append(
                    draft.now.model_copy(
                        update={"version": draft.before.version + 1, "known_from": self.known_at}
                    )
                )
        return ChangeSet(
            head=self.state.head,
            episode_id=self.episode_id,
            known_at=self.known_at,
            version_closures=tuple(sorted(closures, key=lambda c: str(c.fact_id))),
            versions=tuple(sorted(versions, key=lambda v: str(v.fact_id))),
            evidence=tuple(self.evidence),
            outcomes=tuple(self.outcomes),
            judgements=self.judgements,
            uncertainties=tuple(self.uncertainties),
            dirty_entities=tuple(sorted(dirty, key=str)),
        )


def _closure_of(draft: _Draft) -> VersionClosure:
    before = draft.before
    if before is None:
        raise AssertionError("only a believed version can be closed")
    if draft.is_dropped:
        return VersionClosure(
            fact_id=before.fact_id,
            version=before.version,
            ended_reason=draft.now.ended_reason,
            successor_id=draft.now.successor_id,
        )
    return VersionClosure(fact_id=before.fact_id, version=before.version)


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


def _reach(user_id: EntityId, links: Iterable[FactVersion]) -> dict[EntityId, datetime]:
    """Until when each entity is linked to the user: the best of its paths, each as long as its
    shortest link (widest-path search)."""
    outgoing: dict[EntityId, list[FactVersion]] = defaultdict(list)
    for link in links:
        if link.object_id is not None:
            outgoing[link.subject_id].append(link)
    reach = {user_id: end_of(None)}
    queue = [user_id]
    while queue:
        source = queue.pop()
        for link in outgoing[source]:
            target = link.object_id
            until = min(reach[source], end_of(link.valid_until))
            if target is not None and until > reach.get(target, FIRST_INSTANT):
                reach[target] = until
                queue.append(target)
    return reach


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
    """Whether the plan will need every link, because an edge may end or be dropped."""
    facts = {f.fact_id: f for f in state.facts}
    named = {c.fact_id for c in distinct.closures}
    named |= {j.fact_id for j in judgements if j.verdict not in _UNTOUCHABLE}
    return any(facts[fact_id].object_id is not None for fact_id in named if fact_id in facts)


def is_live(fact: FactVersion, at: datetime) -> bool:
    """Believed and not ended at an instant; a future fact counts (spec D)."""
    return not has_ended(fact.valid_until, at)
