"""One episode through all stages, up to its change set; ports do the reading.

Belongs here: the order of the stages and what each hands to the next.
Does not: the stages' rules, the write (an IO manager applies the change set), Dagster.
"""

import hashlib
from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime

from pydantic import BaseModel, ConfigDict

from memory_pipeline.domain.changes import (
    ChangeSet,
    DistinctClaims,
    FinalOutcome,
    GenerationHead,
    Judgement,
    MemoryState,
    ResolvedGraph,
    Verdict,
)
from memory_pipeline.domain.claim import USER, GuardedGraph, NothingSaid, ResolvedClaim
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.embedding import Embedder, EmbeddingProfile, cosine
from memory_pipeline.domain.extraction import KnownLists, Tier
from memory_pipeline.domain.fact import next_known_instant
from memory_pipeline.domain.ids import EpisodeId
from memory_pipeline.domain.plan import facts_that_may_end, may_end_a_link, plan_changes
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.deduplicate import deduplicate
from memory_pipeline.stages.extract import extract_with_tier
from memory_pipeline.stages.guard import GUARD_VERSION, GuardLimits, guard
from memory_pipeline.stages.judge import Judge, Question, complete_judgements
from memory_pipeline.stages.likeness import statement_of
from memory_pipeline.stages.ports import Extractor, MemoryReader, NearnessLimits
from memory_pipeline.stages.resolve import NameIndex, resolve, unknown_names
from memory_pipeline.stages.small_talk import is_small_talk

_SPARE = 10
"""Facts considered for a claim besides as many as are judged: some turn out to be no pair."""
MOST_REMAKES = 3
"""How often the plan of an episode is remade because memory moved under it (spec W2)."""


class StalePlanError(RuntimeError):
    """Memory has moved since the plan was made; nothing was written."""


class Frozen(BaseModel):
    """Base of the values here."""

    model_config = ConfigDict(frozen=True)


class FoldPlan(Frozen):
    """A change set with what the stages made on the way and the vectors the write stores."""

    changes: ChangeSet
    resolved: ResolvedGraph
    distinct: DistinctClaims
    vectors: dict[str, tuple[float, ...]]


def extraction_digest(window: Window, known: KnownLists, extractor: Extractor) -> str:
    """Names everything an extraction depends on: equal input, equal digest."""
    content = "\x1f".join(
        (
            extractor.version,
            GUARD_VERSION,
            known.model_dump_json(),
            *(
                f"{m.seq}|{m.role}|{m.is_own}|{m.said_at.isoformat()}|{m.text}"
                for m in window.messages
            ),
        )
    )
    return hashlib.sha256(content.encode()).hexdigest()


def extract_episode(
    window: Window, known: KnownLists, extractor: Extractor, policy: Policy, attempt: int = 1
) -> GuardedGraph:
    """Extract and guard one window; small talk needs no extractor (spec X10).

    `attempt` is the number of the episode's try (spec E5).
    """
    own = window.own_messages()
    if not own:
        return GuardedGraph(tier=Tier.NONE, tier_reason="the user says nothing in this window")
    if all(is_small_talk(m.text) for m in own):
        return GuardedGraph(
            tier=Tier.NONE,
            tier_reason="greetings and acknowledgements only",
            nothing_said=tuple(
                NothingSaid(message_id=m.message_id, reason="small_talk") for m in own
            ),
        )
    tiered = extract_with_tier(extractor, window, known, attempt)
    guarded = guard(
        tiered.graph,
        window,
        known,
        tier=tiered.tier,
        tier_reason=tiered.reason,
        limits=GuardLimits(
            max_facts=policy.max_facts_per_episode,
            object_chars=policy.object_chars,
            quote_chars=policy.quote_chars,
        ),
    )
    return guarded.model_copy(
        update={"request_digests": tiered.request_digests, "usage": tiered.usage}
    )


class Folder:
    """Folds guarded episodes into memory: reads through a port, plans, writes nothing."""

    def __init__(
        self,
        reader: MemoryReader,
        embedder: Embedder,
        judge: Judge,
        profile: EmbeddingProfile,
        policy: Policy,
    ) -> None:
        self._reader = reader
        self._embedder = embedder
        self._judge = judge
        self._profile = profile
        self._policy = policy
        considered = policy.pairs_per_claim + _SPARE
        self._limits = NearnessLimits(
            minimum_similarity=min(profile.band_low, profile.duplicate),
            considered=considered,
            counted=max(considered, policy.pairs_per_call),
        )

    def plan(
        self,
        episode_id: EpisodeId,
        ended_at: datetime,
        guarded: GuardedGraph,
        earlier_survivors: frozenset[str] = frozenset(),
    ) -> FoldPlan:
        """The plan of one episode against memory as it stands now."""
        if not guarded.claims:
            return self._plan_without_claims(self._reader.head(), episode_id, ended_at, guarded)
        head, index, name_vectors = self._look_up_names(guarded)
        resolved = resolve(
            guarded,
            index,
            tenant_id=head.tenant_id,
            episode_id=episode_id,
            vectors=name_vectors,
            profile=self._profile,
        )
        statements = self._embed(
            list(dict.fromkeys(statement_of(c.claim) for c in resolved.claims))
        )
        state = self._read_state(head, resolved.claims, statements)
        distinct = deduplicate(resolved, state, self._profile, self._policy, earlier_survivors)
        judgements = self._judge_pairs(state, distinct)
        if may_end_a_link(state, distinct, judgements):
            ending = facts_that_may_end(distinct, judgements)
            state = self._reader.with_links(state, ending, resolved.claims)
        changes = plan_changes(state, episode_id, ended_at, distinct, judgements, earlier_survivors)
        return FoldPlan(
            changes=self._complete(changes, guarded, resolved, distinct),
            resolved=resolved,
            distinct=distinct,
            vectors={**name_vectors, **statements},
        )

    def _plan_without_claims(
        self,
        head: GenerationHead,
        episode_id: EpisodeId,
        ended_at: datetime,
        guarded: GuardedGraph,
    ) -> FoldPlan:
        changes = ChangeSet(
            head=head,
            episode_id=episode_id,
            known_at=next_known_instant(ended_at, head.last_known_at),
            status="skipped" if guarded.tier is Tier.NONE else "folded",
        )
        return FoldPlan(
            changes=self._complete(changes, guarded, ResolvedGraph(), DistinctClaims()),
            resolved=ResolvedGraph(),
            distinct=DistinctClaims(),
            vectors={},
        )

    def _look_up_names(
        self, guarded: GuardedGraph
    ) -> tuple[GenerationHead, NameIndex, dict[str, tuple[float, ...]]]:
        """Who holds the episode's names, and vectors and neighbours of names nobody holds.

        A homonym of another family holds nothing: its name gets a vector as a new one does.
        """
        mentions = [m for m in guarded.mentions if m.name != USER]
        index = self._reader.name_index([m.name for m in mentions])
        head = index.head or self._reader.head()
        unknown = unknown_names(guarded, index)
        if not unknown:
            return head, index, {}
        vectors = self._embed(unknown)
        near = self._reader.nearest_entities(vectors)
        return head, index.model_copy(update={"neighbours": near}), vectors

    def _embed(self, texts: Sequence[str]) -> dict[str, tuple[float, ...]]:
        vectors = self._embedder.embed(texts)
        return {text: tuple(vector) for text, vector in zip(texts, vectors, strict=True)}

    def _read_state(
        self,
        head: GenerationHead,
        claims: Sequence[ResolvedClaim],
        statements: Mapping[str, Sequence[float]],
    ) -> MemoryState:
        by_ref = {c.claim.ref: statements[statement_of(c.claim)] for c in claims}
        state = self._reader.neighbourhood(head, claims, by_ref, self._limits)
        similarities = dict(state.similarities)
        refs = list(by_ref)
        for index, one in enumerate(refs):
            for other in refs[:index]:
                if (one, other) not in similarities:
                    similarities[(one, other)] = cosine(by_ref[one], by_ref[other])
        return state.model_copy(update={"similarities": similarities})

    def _judge_pairs(self, state: MemoryState, distinct: DistinctClaims) -> tuple[Judgement, ...]:
        unasked = tuple(
            Judgement(
                ref=pair.ref,
                fact_id=pair.fact_id,
                verdict=Verdict.NOT_JUDGED,
                reason="more pairs than one call takes",
                judge="none",
                pair_reason=pair.reason,
            )
            for pair in distinct.not_judged
        )
        if not distinct.pairs:
            return unasked
        facts = {f.fact_id: f for f in state.facts}
        claims = {c.claim.ref: c.claim for c in distinct.claims}
        questions = [
            Question(
                pair=pair,
                claim=claims[pair.ref],
                fact=facts[pair.fact_id],
                fact_quote=state.quotes.get(pair.fact_id, ""),
            )
            for pair in distinct.pairs
        ]
        return complete_judgements(questions, self._judge.judge(questions)) + unasked

    def _complete(
        self,
        changes: ChangeSet,
        guarded: GuardedGraph,
        resolved: ResolvedGraph,
        distinct: DistinctClaims,
    ) -> ChangeSet:
        """Add what guards and resolution found: entities, remarks, the rest of the ledger."""
        placed = {final.outcome.ref for final in changes.outcomes}
        earlier = [o for o in (*guarded.dropped, *resolved.dropped) if o.ref not in placed]
        accepted = {final.outcome.ref for final in changes.outcomes if final.fact_id is not None}
        named = [c for c in resolved.claims if c.claim.ref in accepted]
        used = {c.subject_id for c in named} | {c.object_id for c in named if c.object_id}
        linked = tuple(e for e in resolved.touched if e in used)
        return changes.model_copy(
            update={
                "new_entities": tuple(e for e in resolved.new_entities if e.entity_id in used),
                "new_aliases": tuple(a for a in resolved.new_aliases if a.entity_id in used),
                "linked_entities": linked,
                "dirty_entities": tuple(sorted({*changes.dirty_entities, *linked}, key=str)),
                "outcomes": (*changes.outcomes, *(FinalOutcome(outcome=o) for o in earlier)),
                "uncertainties": (
                    *guarded.uncertainties,
                    *resolved.uncertainties,
                    *changes.uncertainties,
                ),
                "instructions": guarded.instructions,
                "nothing_said": guarded.nothing_said,
                "resolved_slots": self._settled_slots(distinct, accepted),
            }
        )

    def _settled_slots(
        self, distinct: DistinctClaims, accepted: Container[str]
    ) -> tuple[tuple[str, str], ...]:
        """Slots that got a confident value: their open uncertainties are settled (spec X8)."""
        return tuple(
            sorted(
                {
                    (c.claim.subject, c.claim.predicate)
                    for c in distinct.claims
                    if c.claim.ref in accepted and c.claim.confidence >= self._policy.min_confidence
                }
            )
        )


def plan_and_write(
    plan: Callable[[frozenset[str]], FoldPlan], write: Callable[[FoldPlan], bool]
) -> FoldPlan:
    """Plan and write one episode; a plan that turns out stale is remade (spec W2).

    `plan` takes the refs that survived earlier plans; `write` says whether the plan still held.
    Raises `StalePlanError` when memory moved under every plan.
    """
    survivors: frozenset[str] = frozenset()
    for _ in range(1 + MOST_REMAKES):
        made = plan(survivors)
        if write(made):
            return made
        survivors |= frozenset(c.claim.ref for c in made.distinct.survivors)
    raise StalePlanError(
        f"memory moved under {1 + MOST_REMAKES} plans of episode {made.changes.episode_id}: "
        "nothing was written, process it again"
    )
