"""When two claims are one, and what goes before the judge (spec D1-D5, J1, J5)."""

from collections.abc import Mapping

import pytest

from memory_pipeline.domain.changes import DistinctClaims, Neighbour, PairReason, ResolvedGraph
from memory_pipeline.domain.claim import Outcome, ResolvedClaim
from memory_pipeline.domain.embedding import EmbeddingProfile
from memory_pipeline.domain.fact import FactVersion
from memory_pipeline.domain.policy import Policy
from memory_pipeline.stages.deduplicate import deduplicate
from memory_pipeline_tests.domain.memory_builders import claim, day, fact, fact_id, state

PROFILE = EmbeddingProfile(
    profile_id="test",
    dimensions=3,
    entity_merge=0.88,
    duplicate=0.95,
    band_low=0.80,
    second_signal=0.85,
)
HALDEN = fact("f1", "works at", "halden", names=True)
CUT = fact("f1", "is on", "a cut", until="2025-12-01")


def _distinct(
    *claims: ResolvedClaim,
    facts: tuple[FactVersion, ...] = (),
    similar: Mapping[tuple[str, str], float] | None = None,
    policy: Policy | None = None,
    earlier: frozenset[str] = frozenset(),
    beyond: Mapping[str, tuple[Neighbour, ...]] | None = None,
) -> DistinctClaims:
    before = state(*facts, similar=similar).model_copy(update={"beyond": beyond or {}})
    return deduplicate(ResolvedGraph(claims=claims), before, PROFILE, policy or Policy(), earlier)


def _survivors(distinct: DistinctClaims) -> list[str]:
    return [c.claim.ref for c in distinct.survivors]


def _pairs(distinct: DistinctClaims) -> list[tuple[str, str]]:
    words = {fact_id(f"f{number}"): f"f{number}" for number in range(40)}
    return [(pair.ref, words[pair.fact_id]) for pair in distinct.pairs]


def _outcomes(distinct: DistinctClaims) -> dict[str, Outcome]:
    return {o.ref: o.outcome for o in distinct.outcomes}


def test_d1_a_live_fact_said_again_is_a_restatement_and_not_judged() -> None:
    distinct = _distinct(claim("c1", "works at", "halden", names=True), facts=(HALDEN,))
    assert [r.fact_id for r in distinct.restatements] == [HALDEN.fact_id]
    assert (_survivors(distinct), distinct.pairs) == ([], ())


def test_d1_a_future_fact_said_again_is_a_restatement() -> None:
    future = fact("f1", "works at", "halden", since="2026-01-01")
    distinct = _distinct(claim("c1", "works at", "halden"), facts=(future,))
    assert len(distinct.restatements) == 1


def test_d1_restating_a_fact_whose_end_lies_ahead_is_judged() -> None:
    distinct = _distinct(claim("c1", "is on", "a cut"), facts=(CUT,))
    assert _pairs(distinct) == [("c1", "f1")]
    assert distinct.pairs[0].reason is PairReason.RESTATED


def test_d1_restating_the_end_that_is_known_changes_nothing() -> None:
    distinct = _distinct(claim("c1", "is on", "a cut", until="2025-12-01"), facts=(CUT,))
    assert (distinct.closures, distinct.pairs) == ((), ())
    assert len(distinct.restatements) == 1


def test_d1_equal_triples_of_one_batch_merge_and_the_stated_bounds_win() -> None:
    distinct = _distinct(
        claim("c1", "is on", "a cut", confidence=0.6),
        claim("c2", "is on", "a cut", since="2025-08-01"),
        claim("c3", "is on", "a cut", until="2025-12-01", confidence=0.7),
    )
    (merged,) = distinct.survivors
    assert (merged.claim.valid_from, merged.claim.valid_until) == (
        day("2025-08-01"),
        day("2025-12-01"),
    )
    assert merged.claim.confidence == 0.7
    assert [(m.claim.ref, m.into) for m in distinct.merged] == [("c2", "c1"), ("c3", "c1")]


def test_d2_an_exact_match_with_an_end_closes_the_fact() -> None:
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    distinct = _distinct(ending, facts=(HALDEN,))
    (closure,) = distinct.closures
    assert (closure.fact_id, closure.valid_until) == (HALDEN.fact_id, day("2025-08-31"))
    assert (_survivors(distinct), distinct.pairs) == ([], ())


def test_d2_an_unsure_closure_becomes_an_uncertainty_with_the_whole_candidate() -> None:
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31", confidence=0.2)
    distinct = _distinct(ending, facts=(HALDEN,))
    assert distinct.closures == ()
    assert _outcomes(distinct) == {"c1": Outcome.UNCERTAIN}
    assert "2025-08-31" in (distinct.uncertainties[0].candidate or "")


def test_d2_an_unsure_end_does_not_end_a_surer_claim_of_the_batch() -> None:
    distinct = _distinct(
        claim("c1", "plays", "cello"),
        claim("c2", "plays", "cello", until="2025-10-01", confidence=0.2),
    )
    (survivor,) = distinct.survivors
    assert survivor.claim.valid_until is None
    assert _outcomes(distinct) == {"c2": Outcome.UNCERTAIN}


def test_d2_of_several_stays_the_one_is_closed_that_the_end_lies_in() -> None:
    first = fact("f1", "lives in", "porto", since="2024-01-01", until="2025-12-01")
    second = fact("f2", "lives in", "porto", since="2026-03-01")
    for until, name in (("2025-11-01", "f1"), ("2026-08-01", "f2")):
        distinct = _distinct(claim("c1", "lives in", "porto", until=until), facts=(first, second))
        assert [c.fact_id for c in distinct.closures] == [fact_id(name)]


def test_d3_another_wording_of_a_live_fact_is_dropped() -> None:
    distinct = _distinct(
        claim("c1", "prefers", "big display"),
        facts=(fact("f1", "wants", "large screen"),),
        similar={("c1", "f1"): 0.96},
    )
    assert _outcomes(distinct) == {"c1": Outcome.NEAR_DUPLICATE}


def test_d3_another_wording_of_an_earlier_claim_is_dropped() -> None:
    distinct = _distinct(
        claim("c1", "wants", "large screen"),
        claim("c2", "prefers", "big display"),
        similar={("c1", "c2"): 0.95},
    )
    assert _survivors(distinct) == ["c1"]


def test_d3_a_likeness_below_the_threshold_is_no_duplicate() -> None:
    distinct = _distinct(
        claim("c1", "wants", "large screen"),
        claim("c2", "prefers", "big display"),
        similar={("c1", "c2"): 0.949},
    )
    assert _survivors(distinct) == ["c1", "c2"]


def test_d3_another_subject_is_never_a_duplicate() -> None:
    distinct = _distinct(
        claim("c1", "prefers", "big display", about="marta"),
        facts=(fact("f1", "wants", "large screen"),),
        similar={("c1", "f1"): 0.99},
    )
    assert (_survivors(distinct), distinct.pairs) == (["c1"], ())


def test_d3_another_subject_of_the_batch_is_never_a_duplicate() -> None:
    distinct = _distinct(
        claim("c1", "wants", "large screen"),
        claim("c2", "prefers", "big display", about="marta"),
        similar={("c1", "c2"): 0.99},
    )
    assert _survivors(distinct) == ["c1", "c2"]


@pytest.mark.parametrize(
    ("claimed", "known"),
    [
        (claim("c1", "likes", "jazz"), fact("f1", "likes", "jazz bands")),
        (claim("c1", "does not like", "jazz"), fact("f1", "likes", "jazz")),
        (claim("c1", "dislikes", "jazz"), fact("f1", "likes", "jazz")),
        (claim("c1", "has budget of", "25000 eur"), fact("f1", "can spend", "20000 eur")),
        (claim("c1", "has run", "10 km"), fact("f1", "runs", "10 miles")),
        (claim("c1", "keeps", "two cats"), fact("f1", "has", "three cats")),
        (claim("c1", "trains on", "mondays"), fact("f1", "trains every", "tuesdays")),
        (
            claim("c1", "banks with", "halden", names=True),
            fact("f1", "is client of", "haldane", names=True),
        ),
        (claim("c1", "prefers", "big display", until="2025-12-01"), fact("f1", "wants", "screen")),
    ],
    ids=[
        "same predicate",
        "negation",
        "opposite verb",
        "number",
        "unit",
        "number word",
        "weekday",
        "entity",
        "end",
    ],
)
def test_d3_a_likeness_that_differs_in_what_counts_goes_to_the_judge(
    claimed: ResolvedClaim, known: FactVersion
) -> None:
    distinct = _distinct(claimed, facts=(known,), similar={("c1", "f1"): 0.97})
    assert _survivors(distinct) == ["c1"]
    assert _pairs(distinct) == [("c1", "f1")]


def test_d3_claims_of_one_batch_that_differ_in_a_number_both_stand() -> None:
    distinct = _distinct(
        claim("c1", "has car budget of", "20000 eur"),
        claim("c2", "has spending limit of", "25000 eur"),
        similar={("c1", "c2"): 0.98},
    )
    assert (_survivors(distinct), distinct.pairs) == (["c1", "c2"], ())


def test_d4_and_b04_the_same_words_after_the_end_are_a_second_stay() -> None:
    stay = fact("f1", "is assigned to", "billing", since="2023-01-01", until="2023-06-30")
    again = claim("c1", "is assigned to", "billing", since="2025-01-01")
    distinct = _distinct(again, facts=(stay,))
    assert (_survivors(distinct), distinct.restatements, distinct.pairs) == (["c1"], (), ())


def test_d4_an_earlier_stay_does_not_close_the_present_one() -> None:
    stay = fact("f1", "works at", "halden", since="2024-01-01")
    earlier = claim("c1", "works at", "halden", since="2019-01-01", until="2021-01-01")
    distinct = _distinct(earlier, facts=(stay,))
    assert (_survivors(distinct), distinct.closures) == (["c1"], ())


def test_d4_two_stays_of_one_batch_stay_two() -> None:
    distinct = _distinct(
        claim("c1", "works at", "halden", since="2015-01-01", until="2019-01-01"),
        claim("c2", "works at", "halden", since="2023-01-01"),
    )
    assert _survivors(distinct) == ["c1", "c2"]


def test_d4_a_dated_past_stay_does_not_swallow_the_present_one() -> None:
    """From 2015 to 2019, and back there now."""
    distinct = _distinct(
        claim("c1", "works at", "halden", since="2015-01-01", until="2019-01-01"),
        claim("c2", "works at", "halden"),
    )
    assert _survivors(distinct) == ["c1", "c2"]


def test_d4_history_told_twice_is_one_stay() -> None:
    stay = fact("f1", "works at", "kestrel", since="2015-01-01", until="2019-06-30")
    again = claim("c1", "works at", "kestrel", since="2015-01-01", until="2019-06-30")
    distinct = _distinct(again, facts=(stay,))
    assert (_survivors(distinct), len(distinct.restatements)) == ([], 1)


def test_d5_another_stated_start_is_judged() -> None:
    distinct = _distinct(
        claim("c1", "works at", "halden", names=True, since="2024-04-01"), facts=(HALDEN,)
    )
    assert [(p.ref, p.reason) for p in distinct.pairs] == [("c1", PairReason.REDATED)]


def test_j1_same_subject_and_predicate_with_another_object_is_judged() -> None:
    distinct = _distinct(claim("c1", "works at", "brightwell"), facts=(HALDEN,))
    assert [(p.ref, p.reason) for p in distinct.pairs] == [("c1", PairReason.SLOT)]


def test_j1_same_object_with_an_end_is_judged_whatever_the_verb() -> None:
    ending = claim("c1", "is retiring from", "halden", names=True, until="2025-12-01")
    distinct = _distinct(ending, facts=(HALDEN,))
    assert [(p.ref, p.reason) for p in distinct.pairs] == [("c1", PairReason.ENDING)]


def test_j1_same_object_without_an_end_is_not_judged() -> None:
    distinct = _distinct(
        claim("c1", "is employed by", "halden", names=True),
        facts=(HALDEN,),
        similar={("c1", "f1"): 0.9},
    )
    assert distinct.pairs == ()


@pytest.mark.parametrize(("similarity", "is_judged"), [(0.79, False), (0.80, True), (0.94, True)])
def test_j1_the_band_is_judged(similarity: float, is_judged: bool) -> None:
    distinct = _distinct(
        claim("c1", "is employed by", "brightwell"),
        facts=(HALDEN,),
        similar={("c1", "f1"): similarity},
    )
    assert bool(distinct.pairs) is is_judged


def test_j1_another_subject_and_what_is_over_are_not_judged() -> None:
    distinct = _distinct(
        claim("c1", "works at", "brightwell"),
        facts=(
            fact("f1", "works at", "halden", about="marta"),
            fact("f2", "works at", "halden", until="2025-06-01"),
        ),
        similar={("c1", "f1"): 0.9, ("c1", "f2"): 0.9},
    )
    assert distinct.pairs == ()


def test_j1_caps_keep_single_values_then_endings_then_the_nearest() -> None:
    facts = (
        fact("f1", "likes", "lake"),
        fact("f2", "owns", "kayak"),
        fact("f3", "likes", "jazz"),
        fact("f4", "lives in", "porto"),
    )
    claims = (
        claim("c1", "likes", "sea"),
        claim("c2", "sold", "kayak", until="2025-12-01"),
        claim("c3", "lives in", "leiden"),
    )
    similar = {("c1", "f1"): 0.5, ("c1", "f3"): 0.6}
    asked = [
        _pairs(_distinct(*claims, facts=facts, similar=similar, policy=Policy(pairs_per_call=most)))
        for most in (1, 2, 3)
    ]
    assert asked == [
        [("c3", "f4")],
        [("c2", "f2"), ("c3", "f4")],
        [("c1", "f3"), ("c2", "f2"), ("c3", "f4")],
    ]


def test_j1_pairs_over_the_cap_are_recorded_as_not_judged() -> None:
    facts = tuple(fact(f"f{number}", "likes", f"band {number}") for number in range(12))
    distinct = _distinct(claim("c1", "likes", "jazz"), facts=facts)
    assert (len(distinct.pairs), len(distinct.not_judged)) == (10, 2)


def test_j1_facts_too_far_down_to_be_considered_are_recorded_as_not_judged() -> None:
    band, rival = (
        Neighbour(fact_id=fact_id(name), is_slot=is_slot, similarity=0.85)
        for name, is_slot in (("f30", False), ("f31", True))
    )
    far = Neighbour(fact_id=fact_id("f32"), is_slot=False, similarity=0.1)
    known = Neighbour(fact_id=fact_id("f1"), is_slot=True, similarity=0.6)
    beyond = {"c1": (band, rival, far, known)}
    distinct = _distinct(claim("c1", "likes", "jazz"), facts=(HALDEN,), beyond=beyond)
    reasons = {pair.fact_id: pair.reason for pair in distinct.not_judged}
    assert reasons == {band.fact_id: PairReason.BAND, rival.fact_id: PairReason.SLOT}


def test_j5_nothing_is_counted_beyond_what_history_or_an_unsure_claim_is_judged_against() -> None:
    beyond = {"c1": (Neighbour(fact_id=fact_id("f31"), is_slot=True, similarity=0.9),)}
    past = claim("c1", "likes", "jazz", since="2015-01-01", until="2019-06-30")
    assert _distinct(past, beyond=beyond).not_judged == ()
    assert _distinct(claim("c1", "likes", "jazz", confidence=0.4), beyond=beyond).not_judged == ()


def test_j5_history_is_judged_only_against_the_same_subject_and_object() -> None:
    past = claim("c1", "worked at", "halden", names=True, since="2015-01-01", until="2019-06-30")
    distinct = _distinct(
        past,
        facts=(HALDEN, fact("f2", "worked at", "brightwell")),
        similar={("c1", "f1"): 0.9, ("c1", "f2"): 0.9},
    )
    assert _pairs(distinct) == [("c1", "f1")]


def test_j5_an_unsure_survivor_is_stored_and_never_judged() -> None:
    distinct = _distinct(
        claim("c1", "works at", "brightwell", confidence=0.49),
        facts=(HALDEN,),
        similar={("c1", "f1"): 0.9},
    )
    assert (_survivors(distinct), distinct.pairs) == (["c1"], ())


def test_w2_what_repeats_a_committed_fact_is_judged_if_it_survived_before() -> None:
    committed = fact("f2", "works at", "brightwell", since="2025-09-10")
    repeat = claim("c1", "works at", "brightwell")
    facts = (HALDEN, committed)
    assert _pairs(_distinct(repeat, facts=facts)) == []
    raced = _distinct(repeat, facts=facts, earlier=frozenset({"c1"}))
    assert _pairs(raced) == [("c1", "f1")]
    assert len(raced.restatements) == 1


def test_b01_merely_mentioning_a_related_thing_is_not_judged() -> None:
    treasurer = fact("f2", "is treasurer of", "rowing club", names=True)
    distinct = _distinct(
        claim("c1", "administers", "halden wiki"),
        claim("c2", "asked for", "an audit of the rowing club"),
        facts=(HALDEN, treasurer),
        similar={("c1", "f1"): 0.74, ("c2", "f2"): 0.77},
    )
    assert (_survivors(distinct), distinct.pairs) == (["c1", "c2"], ())


def test_b21_a_name_said_again_is_not_appended_to_itself() -> None:
    known = fact("f1", "has name", "tjalling")
    distinct = _distinct(claim("c1", "has name", "tjalling"), facts=(known,))
    assert (_survivors(distinct), distinct.pairs) == ([], ())


def test_b41_the_same_slot_with_another_object_is_judged_whatever_the_likeness() -> None:
    distinct = _distinct(
        claim("c1", "works at", "brightwell"), facts=(HALDEN,), similar={("c1", "f1"): 0.96}
    )
    assert _pairs(distinct) == [("c1", "f1")]
