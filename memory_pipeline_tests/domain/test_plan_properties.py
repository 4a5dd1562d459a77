"""What holds of every plan, whatever the claims, the memory and the judge say."""

from collections import Counter
from datetime import timedelta
from itertools import combinations
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from memory_pipeline.domain.changes import (
    ChangeSet,
    DistinctClaims,
    Judgement,
    MemoryState,
    PairReason,
    ResolvedGraph,
    Verdict,
)
from memory_pipeline.domain.claim import USER, ResolvedClaim
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.fact import FactVersion, end_of, start_of
from memory_pipeline.domain.plan import plan_changes
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.deduplicate import deduplicate
from memory_pipeline_tests.domain.memory_builders import (
    EPISODE,
    NOW,
    believed,
    claim,
    fact,
    state,
)

PROFILE = EmbeddingProfile(
    profile_id="test", dimensions=3, entity_merge=0.9, duplicate=0.9, band_low=0.5, second_signal=1
)
Plan = tuple[MemoryState, DistinctClaims, tuple[Judgement, ...]]

_months = st.integers(min_value=-8, max_value=8)


class _World(NamedTuple):
    """What may be said of what: few words, so that collisions are the rule."""

    abouts: st.SearchStrategy[str]
    predicates: st.SearchStrategy[str]
    things: st.SearchStrategy[tuple[str, bool]]


_WIDE = _World(
    st.sampled_from([USER, USER, "halden", "marta"]),
    st.sampled_from(["works at", "likes"]),
    st.sampled_from([(USER, True), ("halden", True), ("marta", True), ("red", False)]),
)
_NARROW = _World(
    st.just(USER), st.just("likes"), st.sampled_from([("red", False), ("blue", False)])
)


def _day(month: int | None) -> str | None:
    if month is None:
        return None
    return (NOW + timedelta(days=30 * month)).date().isoformat()


@st.composite
def _facts(draw: st.DrawFn, world: _World) -> tuple[FactVersion, ...]:
    """Believed facts as a database may hold them: one open-ended stay of a triple, stays apart."""
    facts: list[FactVersion] = []
    for number in range(draw(st.integers(0, 7))):
        about, (target, names) = draw(world.abouts), draw(world.things)
        start = draw(_months)
        end = draw(st.none() | st.integers(start + 1, start + 8))
        made = fact(
            f"f{number}",
            draw(world.predicates),
            target,
            about=about,
            names=names,
            since=_day(start) if draw(st.booleans()) else None,
            until=_day(end),
            successor="f9" if end is not None and draw(st.booleans()) else None,
            is_start_stated=draw(st.booleans()),
            version=draw(st.integers(1, 3)),
        )
        if about != target and not any(_meet(made, other) for other in facts):
            facts.append(made)
    return tuple(facts)


def _meet(one: FactVersion, other: FactVersion) -> bool:
    return _triple(one) == _triple(other) and (
        start_of(one.valid_from) < end_of(other.valid_until)
        and start_of(other.valid_from) < end_of(one.valid_until)
    )


def _triple(version: FactVersion) -> tuple[object, ...]:
    return (version.subject_id, version.predicate, version.object_key())


@st.composite
def _claims(draw: st.DrawFn, world: _World, is_guarded: bool = False) -> tuple[ResolvedClaim, ...]:
    """Claims; only what passed the guards never ends before it begins."""
    made: list[ResolvedClaim] = []
    for number in range(draw(st.integers(0, 6))):
        about, (target, names) = draw(world.abouts), draw(world.things)
        claimed = claim(
            f"c{number}",
            draw(world.predicates),
            target,
            about=about,
            names=names,
            since=_day(draw(st.none() | _months)),
            until=_day(draw(st.none() | _months)),
            confidence=draw(st.sampled_from([0.2, 0.9])),
        )
        start, end = claimed.claim.valid_from, claimed.claim.valid_until
        is_inverted = end_of(end) <= start_of(start)
        if about != target and not (is_guarded and is_inverted):
            made.append(claimed)
    return tuple(made)


@st.composite
def _plans(draw: st.DrawFn, is_guarded: bool = False) -> Plan:
    """Distinct claims out of arbitrary ones, and verdicts on asked and on made-up pairs."""
    world = draw(st.sampled_from([_WIDE, _NARROW]))
    facts, claims = draw(_facts(world)), draw(_claims(world, is_guarded))
    near = st.sampled_from([0.0, 0.6, 0.95])
    similar = {(c.claim.ref, str(f.fact_id)): draw(near) for c in claims for f in facts}
    before = state(*facts).model_copy(
        update={
            "similarities": similar,
            "has_links": draw(st.booleans()),
        }
    )
    earlier = frozenset(draw(st.sets(st.sampled_from(["c0", "c1", "c2"]))))
    distinct = deduplicate(ResolvedGraph(claims=claims), before, PROFILE, Policy(), earlier)
    verdicts = st.sampled_from(Verdict)
    judgements = [
        Judgement(
            ref=pair.ref,
            fact_id=pair.fact_id,
            verdict=draw(verdicts),
            is_correction=draw(st.booleans()),
            pair_reason=pair.reason,
        )
        for pair in distinct.pairs
    ]
    for _ in range(draw(st.integers(0, 2)) if claims and facts else 0):
        judgements.append(
            Judgement(
                ref=draw(st.sampled_from(claims)).claim.ref,
                fact_id=draw(st.sampled_from(facts)).fact_id,
                verdict=draw(verdicts),
                is_correction=draw(st.booleans()),
                pair_reason=draw(st.sampled_from(PairReason)),
            )
        )
    return before, distinct, tuple(judgements)


def _changes(plan: Plan) -> ChangeSet:
    before, distinct, judgements = plan
    return plan_changes(before, EPISODE, NOW, distinct, judgements)


@given(_plans())
def test_a_plan_is_pure(plan: Plan) -> None:
    before, distinct, judgements = plan
    copies = before.model_copy(deep=True), distinct.model_copy(deep=True), tuple(judgements)
    first = _changes(plan)
    assert (before, distinct, judgements) == copies
    assert _changes(copies) == first


@settings(max_examples=300)
@given(_plans())
def test_no_version_holds_for_no_time(plan: Plan) -> None:
    for version in _changes(plan).versions:
        assert start_of(version.valid_from) < end_of(version.valid_until)


@settings(max_examples=300)
@given(_plans())
def test_a_triple_has_one_open_ended_believed_fact_at_most(plan: Plan) -> None:
    after = believed(plan[0], _changes(plan)).values()
    open_ended = Counter(_triple(v) for v in after if v.valid_until is None)
    assert set(open_ended.values()) <= {1}


@given(_plans(is_guarded=True))
def test_d4_stays_of_one_triple_do_not_meet_but_for_one_renewed_over_a_stay_that_is_over(
    plan: Plan,
) -> None:
    after = list(believed(plan[0], _changes(plan)).values())
    over = {f.fact_id for f in plan[0].facts if end_of(f.valid_until) <= NOW}
    for one, other in combinations(after, 2):
        assert not _meet(one, other) or over & {one.fact_id, other.fact_id}


@given(_plans())
def test_a_fact_has_one_believed_version_and_versions_count_up_by_one(plan: Plan) -> None:
    changes = _changes(plan)
    before = {f.fact_id: f.version for f in plan[0].facts}
    closed = {c.fact_id: c.version for c in changes.version_closures}
    assert len(closed) == len(changes.version_closures)
    assert len({v.fact_id for v in changes.versions}) == len(changes.versions)
    assert all(before[fact_id] == number for fact_id, number in closed.items())
    for version in changes.versions:
        assert version.version == before.get(version.fact_id, 0) + 1
        assert version.known_from == changes.known_at
        assert (version.version == 1) == (version.fact_id not in closed)


@given(_plans())
def test_every_closed_version_is_followed_by_another_or_says_why_not(plan: Plan) -> None:
    changes = _changes(plan)
    followed = {v.fact_id for v in changes.versions}
    for closure in changes.version_closures:
        assert (closure.dropped_reason is None) == (closure.fact_id in followed)


@given(_plans())
def test_w6_every_claim_has_exactly_one_outcome(plan: Plan) -> None:
    refs = Counter(final.outcome.ref for final in _changes(plan).outcomes)
    placed = {c.claim.ref for c in plan[1].claims} | {o.ref for o in plan[1].outcomes}
    placed |= {m.claim.ref for m in plan[1].merged}
    assert refs == Counter(placed)


@given(_claims(_WIDE) | _claims(_NARROW))
def test_w6_deduplication_loses_no_claim(claims: tuple[ResolvedClaim, ...]) -> None:
    distinct = deduplicate(ResolvedGraph(claims=claims), state(), PROFILE, Policy())
    places = [c.claim.ref for c in distinct.claims] + [o.ref for o in distinct.outcomes]
    places += [m.claim.ref for m in distinct.merged]
    assert Counter(places) == Counter(c.claim.ref for c in claims)


@given(_plans())
def test_the_known_instant_lies_strictly_behind_the_last_one(plan: Plan) -> None:
    last = plan[0].head.last_known_at
    assert last is not None
    assert _changes(plan).known_at > last


@given(_plans())
def test_a_plan_without_verdicts_takes_no_fact_from_belief(plan: Plan) -> None:
    before, distinct, _ = plan
    if before.has_links:
        before = before.model_copy(update={"has_links": False})
    changes = plan_changes(before, EPISODE, NOW, distinct, ())
    assert {f.fact_id for f in before.facts} <= believed(before, changes).keys()
