"""One episode through all stages up to its change set (spec J2, W2, W3, X2, X8, X10)."""

from collections.abc import Collection, Mapping, Sequence

import pytest

from memory_pipeline.domain.changes import (
    GenerationHead,
    Judgement,
    MemoryState,
    Verdict,
)
from memory_pipeline.domain.claim import USER, GuardedGraph, Mention, Outcome, ResolvedClaim
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.extraction import (
    EntityType,
    Tier,
)
from memory_pipeline.domain.fact import Entity, FactVersion
from memory_pipeline.domain.ids import FactId
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.judge import Question
from memory_pipeline.stages.ports import NearnessLimits
from memory_pipeline.stages.resolve import NameIndex, user_entity
from memory_pipeline.stages.walk import (
    MOST_REMAKES,
    Folder,
    FoldPlan,
    StalePlanError,
    plan_and_write,
)
from memory_pipeline_tests.domain.memory_builders import (
    EPISODE,
    NOW,
    TENANT,
    claim,
    day,
    entity_id,
    fact,
    fact_id,
    judged,
    state,
)

PROFILE = EmbeddingProfile(
    profile_id="test",
    dimensions=4,
    entity_merge=0.9,
    duplicate=0.9,
    band_low=0.5,
    second_signal=0.6,
)
HALDEN = fact("f1", "works at", "halden", names=True)
OFFICE = fact("f2", "has office in", "leeds", about="halden")


class _Memory:
    """A reader over given facts and entities that counts what it is asked."""

    def __init__(self, facts: Sequence[FactVersion] = (), entities: Sequence[Entity] = ()) -> None:
        self._state = state(*facts).model_copy(
            update={
                "has_links": False,
                "user_id": user_entity(TENANT).entity_id,
                "quotes": {fact.fact_id: "I work at Halden" for fact in facts},
            }
        )
        self._entities = entities
        self.asked: list[str] = []

    def head(self) -> GenerationHead:
        return self._state.head

    def name_index(self, names: Sequence[str]) -> NameIndex:
        holders: dict[str, tuple[Entity, ...]] = {}
        for entity in self._entities:
            holders[entity.name] = (*holders.get(entity.name, ()), entity)
        return NameIndex(head=self._state.head, user=user_entity(TENANT), holders=holders)

    def nearest_entities(
        self, vectors: Mapping[str, Sequence[float]]
    ) -> dict[str, tuple[tuple[Entity, float], ...]]:
        return {}

    def neighbourhood(
        self,
        head: GenerationHead,
        claims: Sequence[ResolvedClaim],
        vectors: Mapping[str, Sequence[float]],
        limits: NearnessLimits,
    ) -> MemoryState:
        return self._state

    def with_links(
        self, state: MemoryState, ending: Collection[FactId], claims: Sequence[ResolvedClaim]
    ) -> MemoryState:
        self.asked.append("with_links")
        return state.model_copy(update={"has_links": True})


class _Embedder:
    """Every text the same vector, but for those that are told apart."""

    profile_id = "test"
    dimensions = 4

    def __init__(self, apart: Mapping[str, int] | None = None) -> None:
        self._apart = apart or {}
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.texts += texts
        return [[float(place == self._apart.get(text, 0)) for place in range(4)] for text in texts]


class _Judge:
    """Says one thing of every pair and remembers the calls."""

    version = "one answer"

    def __init__(self, verdict: Verdict = Verdict.OLD) -> None:
        self._verdict = verdict
        self.calls: list[tuple[Question, ...]] = []

    def judge(self, questions: Sequence[Question]) -> tuple[Judgement, ...]:
        self.calls.append(tuple(questions))
        return tuple(
            judged(q.pair.ref, "f1", self._verdict, why=q.pair.reason).model_copy(
                update={"fact_id": q.pair.fact_id}
            )
            for q in questions
        )


def _user_fact(version: FactVersion) -> FactVersion:
    """The fact with the tenant's own user as subject."""
    is_users = version.subject_id == entity_id(USER)
    subject = user_entity(TENANT).entity_id if is_users else version.subject_id
    return version.model_copy(update={"subject_id": subject})


def _guarded(*claims: ResolvedClaim, kinds: Mapping[str, EntityType] | None = None) -> GuardedGraph:
    names = {c.claim.subject for c in claims}
    names |= {c.claim.object for c in claims if c.claim.object_is_entity}
    found = kinds or {}
    return GuardedGraph(
        mentions=tuple(
            Mention(
                name=name,
                type=EntityType.PERSON if name == USER else found.get(name, EntityType.ORG),
            )
            for name in sorted(names)
        ),
        claims=tuple(c.claim for c in claims),
        tier=Tier.FAST,
    )


def _planned(
    guarded: GuardedGraph,
    memory: _Memory | None = None,
    embedder: _Embedder | None = None,
    judge: _Judge | None = None,
    policy: Policy | None = None,
) -> FoldPlan:
    folder = Folder(
        memory or _Memory(),
        embedder or _Embedder(),
        judge or _Judge(),
        PROFILE,
        policy or Policy(),
    )
    return folder.plan(EPISODE, NOW, guarded)


def _outcomes(plan: FoldPlan) -> dict[str, Outcome]:
    return {f.outcome.ref: f.outcome.outcome for f in plan.changes.outcomes}


def _known(name: str, kind: EntityType) -> Entity:
    return Entity(entity_id=entity_id(name), name=name, type=kind)


def test_an_episode_without_claims_reads_nothing_and_embeds_nothing() -> None:
    embedder, judge = _Embedder(), _Judge()
    plan = _planned(GuardedGraph(tier=Tier.NONE), embedder=embedder, judge=judge)
    assert plan.changes.status == "skipped"
    assert (embedder.texts, judge.calls) == ([], [])


def test_an_episode_that_gave_no_claim_after_extraction_counts_as_folded() -> None:
    assert _planned(GuardedGraph(tier=Tier.FAST)).changes.status == "folded"


def test_j2_no_pairs_no_call() -> None:
    judge = _Judge()
    _planned(_guarded(claim("c1", "plays", "cello")), judge=judge)
    assert judge.calls == []


def test_j2_all_pairs_of_an_episode_go_in_one_call_with_the_quote_of_the_fact() -> None:
    judge = _Judge()
    memory = _Memory([_user_fact(HALDEN), _user_fact(fact("f3", "lives in", "porto"))])
    _planned(
        _guarded(claim("c1", "works at", "x"), claim("c2", "lives in", "leiden")),
        memory,
        _Embedder({"user works at x": 1, "user lives in leiden": 2}),
        judge,
    )
    (questions,) = judge.calls
    assert [(q.pair.ref, q.pair.fact_id) for q in questions] == [
        ("c1", fact_id("f1")),
        ("c2", fact_id("f3")),
    ]
    assert {q.fact_quote for q in questions} == {"I work at Halden"}


def test_j1_pairs_over_the_cap_are_recorded_and_not_asked() -> None:
    judge = _Judge()
    memory = _Memory([_user_fact(fact(f"f{n}", "likes", f"band {n}")) for n in range(3)])
    plan = _planned(
        _guarded(claim("c1", "likes", "jazz")), memory, judge=judge, policy=Policy(pairs_per_call=2)
    )
    assert len(judge.calls[0]) == 2
    verdicts = [j.verdict for j in plan.changes.judgements]
    assert verdicts == [Verdict.OLD, Verdict.OLD, Verdict.NOT_JUDGED]


def test_d3_claims_of_one_batch_are_compared_through_their_vectors() -> None:
    claims = _guarded(claim("c1", "wants", "large screen"), claim("c2", "prefers", "big display"))
    assert _outcomes(_planned(claims))["c2"] is Outcome.NEAR_DUPLICATE
    apart = _Embedder({"user prefers big display": 1})
    assert _outcomes(_planned(claims, embedder=apart))["c2"] is Outcome.INSERTED


def test_r1_a_known_name_is_not_embedded_again() -> None:
    embedder = _Embedder()
    memory = _Memory(entities=[_known("halden", EntityType.ORG)])
    _planned(_guarded(claim("c1", "works at", "halden", names=True)), memory, embedder)
    assert embedder.texts == ["user works at halden"]


def test_r2_a_homonym_of_another_family_gets_a_vector_of_its_own() -> None:
    memory = _Memory(entities=[_known("apple", EntityType.ORG)])
    plan = _planned(
        _guarded(claim("c1", "eats", "apple", names=True), kinds={"apple": EntityType.FOOD}), memory
    )
    assert [e.type for e in plan.changes.new_entities] == [EntityType.FOOD]
    assert "apple" in plan.vectors


def test_a_thing_that_only_a_dropped_claim_names_is_not_stored() -> None:
    memory = _Memory([_user_fact(fact("f1", "works at", "halden"))])
    plan = _planned(
        _guarded(
            claim("c1", "works at", "brightwell", names=True),
            claim("c2", "invests in", "kestrel", names=True),
        ),
        memory,
        _Embedder({"user invests in kestrel": 1, "kestrel": 2, "brightwell": 3}),
        _Judge(Verdict.NEW),
    )
    assert _outcomes(plan) == {"c1": Outcome.VERDICT_NEW, "c2": Outcome.INSERTED}
    assert [e.name for e in plan.changes.new_entities] == ["kestrel"]


def test_p3_every_entity_that_the_episode_resolved_becomes_dirty() -> None:
    memory = _Memory([_user_fact(HALDEN)], [_known("halden", EntityType.ORG)])
    plan = _planned(_guarded(claim("c1", "works at", "halden", names=True)), memory)
    assert _outcomes(plan) == {"c1": Outcome.REINFORCED}
    assert set(plan.changes.dirty_entities) == {
        user_entity(TENANT).entity_id,
        entity_id("halden"),
    }


def test_w3_links_are_read_where_an_edge_may_end_and_only_there() -> None:
    known = [_known("halden", EntityType.ORG)]
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    memory = _Memory([_user_fact(HALDEN), OFFICE], known)
    plan = _planned(_guarded(ending), memory)
    assert memory.asked == ["with_links"]
    office = next(v for v in plan.changes.versions if v.fact_id == OFFICE.fact_id)
    assert office.valid_until == day("2025-08-31")
    calm = _Memory([_user_fact(HALDEN)], known)
    _planned(_guarded(claim("c1", "plays", "cello")), calm)
    assert calm.asked == []


def test_x8_a_confident_value_settles_its_slot() -> None:
    plan = _planned(
        _guarded(
            claim("c1", "works at", "brightwell"), claim("c2", "lives in", "x", confidence=0.3)
        ),
        embedder=_Embedder({"user lives in x": 1}),
    )
    assert plan.changes.resolved_slots == (("user", "works at"),)


def test_w2_a_stale_plan_is_remade_with_what_survived_before() -> None:
    plans: list[frozenset[str]] = []
    made = _planned(_guarded(claim("c1", "plays", "cello")))

    def plan(survivors: frozenset[str]) -> FoldPlan:
        plans.append(survivors)
        return made

    assert plan_and_write(plan, lambda _: len(plans) == 2) is made
    assert plans == [frozenset(), frozenset({"c1"})]


def test_w2_a_plan_is_remade_three_times_at_most() -> None:
    made = _planned(_guarded(claim("c1", "plays", "cello")))
    written: list[FoldPlan] = []

    def write(plan: FoldPlan) -> bool:
        written.append(plan)
        return False

    with pytest.raises(StalePlanError, match="4 plans of episode"):
        plan_and_write(lambda _: made, write)
    assert len(written) == 1 + MOST_REMAKES == 4
