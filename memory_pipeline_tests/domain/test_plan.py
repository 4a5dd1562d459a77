"""What an episode's claims and verdicts do to facts (spec D, J4-J6, W2, W3)."""

from datetime import timedelta

import pytest

from memory_pipeline.domain.changes import (
    ChangeSet,
    DistinctClaims,
    Judgement,
    MemoryState,
    MergedClaim,
    PairReason,
    Verdict,
)
from memory_pipeline.domain.claim import Outcome
from memory_pipeline.domain.fact import EndedReason, FactVersion
from memory_pipeline.domain.plan import may_end_a_link, plan_changes
from memory_pipeline_tests.domain.memory_builders import (
    EPISODE,
    NOW,
    believed,
    claim,
    closing,
    day,
    fact,
    fact_id,
    judged,
    restating,
    state,
    surviving,
)

HALDEN = fact("f1", "works at", "halden", names=True)
PORTO = fact("f2", "lives in", "porto", since="2025-01-01")


def _plan(
    before: MemoryState,
    distinct: DistinctClaims,
    *judgements: Judgement,
    earlier: frozenset[str] = frozenset(),
) -> ChangeSet:
    return plan_changes(before, EPISODE, NOW, distinct, judgements, earlier)


def _after(before: MemoryState, changes: ChangeSet, name: str) -> FactVersion:
    return believed(before, changes)[fact_id(name)]


def _born(changes: ChangeSet, ref: str = "c1") -> FactVersion:
    born = next(o.fact_id for o in changes.outcomes if o.outcome.ref == ref)
    return next(v for v in changes.versions if v.fact_id == born)


def _outcome(changes: ChangeSet, ref: str = "c1") -> Outcome:
    (found,) = [o.outcome.outcome for o in changes.outcomes if o.outcome.ref == ref]
    return found


def test_a_survivor_becomes_the_first_version_of_a_fact_with_its_evidence() -> None:
    changes = _plan(state(), surviving(claim("c1", "plays", "cello", quote="I play cello")))
    born = _born(changes)
    assert (born.version, born.known_from, born.valid_from) == (1, changes.known_at, NOW)
    assert born.ended_reason is None
    (cited,) = changes.evidence
    assert (cited.kind, cited.quote, cited.fact_id) == ("asserted", "I play cello", born.fact_id)


def test_j4_a_claim_with_any_new_verdict_goes_with_its_own_old_verdicts() -> None:
    before = state(HALDEN, PORTO)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "brightwell")),
        judged("c1", "f1", Verdict.OLD),
        judged("c1", "f2", Verdict.NEW),
    )
    assert (changes.versions, changes.version_closures) == ((), ())
    assert _outcome(changes) is Outcome.VERDICT_NEW


@pytest.mark.parametrize(
    "own", [judged("c1", "f1", is_correction=True), judged("c1", "f1", why=PairReason.ENDING)]
)
def test_j4_a_discarded_claim_corrects_and_ends_nothing(own: Judgement) -> None:
    changes = _plan(
        state(HALDEN, PORTO),
        surviving(claim("c1", "left", "halden", names=True, until="2025-01-15")),
        own,
        judged("c1", "f2", Verdict.NEW),
    )
    assert (changes.versions, changes.version_closures) == ((), ())


@pytest.mark.parametrize("verdict", [Verdict.NEITHER, Verdict.NOT_JUDGED])
def test_j3_without_an_old_verdict_both_facts_stand(verdict: Verdict) -> None:
    before = state(HALDEN)
    changes = _plan(
        before, surviving(claim("c1", "works at", "brightwell")), judged("c1", "f1", verdict)
    )
    assert changes.version_closures == ()
    assert _outcome(changes) is Outcome.INSERTED


def test_j6_a_changed_fact_ends_where_its_successor_begins() -> None:
    before = state(HALDEN)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "brightwell", since="2025-03-01")),
        judged("c1", "f1"),
    )
    old = _after(before, changes, "f1")
    assert (old.valid_until, old.ended_reason) == (day("2025-03-01"), EndedReason.SUPERSEDED)
    assert old.successor_id == _born(changes).fact_id
    assert (old.version, old.known_from) == (2, changes.known_at)


def test_j6_a_future_start_leaves_no_gap() -> None:
    before = state(HALDEN)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "brightwell", since="2026-02-01")),
        judged("c1", "f1"),
    )
    assert _after(before, changes, "f1").valid_until == _born(changes).valid_from


def test_j6_a_new_start_before_the_old_one_leaves_the_old_fact_alone() -> None:
    before = state(HALDEN)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "brightwell", since="2023-01-01")),
        judged("c1", "f1"),
    )
    assert changes.version_closures == ()
    born = _born(changes)
    assert (born.valid_until, born.successor_id) == (HALDEN.valid_from, HALDEN.fact_id)


def test_j6_a_claim_that_replaces_a_fact_of_the_same_start_is_kept_as_uncertain() -> None:
    before = state(HALDEN)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "brightwell", since="2024-01-01")),
        judged("c1", "f1"),
    )
    assert (changes.versions, _outcome(changes)) == ((), Outcome.UNCERTAIN)
    assert "brightwell" in (changes.uncertainties[0].candidate or "")


def test_j6_a_claim_without_a_period_left_ends_nothing_else() -> None:
    advises = fact("f2", "advises", "brightwell", names=True, since="2023-01-01")
    changes = _plan(
        state(HALDEN, advises),
        surviving(
            claim(
                "c1", "works at", "brightwell", names=True, since="2024-01-01", until="2026-04-01"
            )
        ),
        judged("c1", "f1"),
        judged("c1", "f2", why=PairReason.ENDING),
    )
    assert (changes.versions, changes.version_closures) == ((), ())
    assert _outcome(changes) is Outcome.UNCERTAIN


def test_j6_of_two_facts_with_one_start_what_they_say_decides_which_is_the_successor() -> None:
    for names in (("f1", "f2"), ("f2", "f1")):
        facts = [fact(n, "works at", at) for n, at in zip(names, ("acme", "zeiss"), strict=True)]
        before = state(*facts)
        new = surviving(claim("c1", "works at", "brightwell", since="2023-01-01"))
        changes = _plan(before, new, judged("c1", "f1"), judged("c1", "f2"))
        assert _born(changes).successor_id == facts[0].fact_id


def test_j6_a_corrected_fact_was_never_true() -> None:
    before = state(PORTO)
    changes = _plan(
        before,
        surviving(claim("c1", "lives in", "lisbon")),
        judged("c1", "f2", is_correction=True),
    )
    (closure,) = changes.version_closures
    assert closure.dropped_reason is EndedReason.INVALIDATED
    assert closure.dropped_for == _born(changes).fact_id
    assert fact_id("f2") not in believed(before, changes)


def test_j6_a_correction_keeps_a_start_before_the_one_it_corrects() -> None:
    before = state(PORTO)
    changes = _plan(
        before,
        surviving(claim("c1", "lives in", "lisbon", since="2024-06-01")),
        judged("c1", "f2", is_correction=True),
    )
    assert (_born(changes).valid_from, _born(changes).valid_until) == (day("2024-06-01"), None)


def test_j6_an_ending_in_other_words_ends_the_fact_without_a_successor() -> None:
    owns = fact("f1", "owns", "novablast 5", names=True)
    before = state(owns)
    ending = claim("c1", "is retiring", "novablast 5", names=True, until="2025-10-01")
    changes = _plan(before, surviving(ending), judged("c1", "f1", why=PairReason.ENDING))
    old = _after(before, changes, "f1")
    assert (old.valid_until, old.ended_reason) == (day("2025-10-01"), EndedReason.ENDED)
    assert old.successor_id is None


def test_j6_an_end_the_user_stated_beats_one_that_follows_from_a_successor() -> None:
    """Closed and replaced in one breath: the day the user gave stays."""
    before = state(HALDEN)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    new = claim("c2", "works at", "brightwell", since="2025-08-01")
    changes = _plan(before, closing(ending, "f1", new), judged("c2", "f1"))
    old = _after(before, changes, "f1")
    assert (old.valid_until, old.ended_reason) == (day("2025-08-31"), EndedReason.ENDED)
    assert old.successor_id == _born(changes, "c2").fact_id
    assert old.version == 2


@pytest.mark.parametrize("starts", [("2025-05-01", "2025-03-01"), ("2025-03-01", "2025-03-01")])
def test_j6_of_two_heirs_the_earliest_start_then_claim_order_is_the_successor(
    starts: tuple[str, str],
) -> None:
    before = state(PORTO)
    heirs = [claim(f"c{i}", "lives in", f"town {i}", since=s) for i, s in enumerate(starts, 1)]
    changes = _plan(before, surviving(*heirs), judged("c1", "f2"), judged("c2", "f2"))
    old = _after(before, changes, "f2")
    heir = "c1" if starts[0] == starts[1] else "c2"
    assert (old.valid_until, old.successor_id) == (
        day("2025-03-01"),
        _born(changes, heir).fact_id,
    )


def test_j6_an_heir_that_begins_before_the_known_successor_takes_its_place() -> None:
    until_spring = fact("f1", "works at", "halden", until="2026-03-01", successor="f3")
    before = state(until_spring)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "brightwell", since="2025-12-01")),
        judged("c1", "f1"),
    )
    old = _after(before, changes, "f1")
    assert old.successor_id == _born(changes).fact_id
    assert old.valid_until == day("2025-12-01")


def test_j5_history_ends_nothing_that_began_after_it() -> None:
    """A historical claim never inverts an interval."""
    owns = fact("f1", "owns", "kayak", since="2024-01-01")
    before = state(owns)
    changes = _plan(
        before,
        surviving(claim("c1", "sold", "kayak", until="2023-05-01")),
        judged("c1", "f1", why=PairReason.ENDING),
    )
    assert changes.version_closures == ()
    assert _outcome(changes) is Outcome.INSERTED


def test_d2_a_closure_gives_the_fact_its_end_and_inserts_nothing() -> None:
    before = state(HALDEN)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    changes = _plan(before, closing(ending, "f1"))
    old = _after(before, changes, "f1")
    assert (old.valid_until, old.ended_reason, old.ended_by) == (
        day("2025-08-31"),
        EndedReason.ENDED,
        EPISODE,
    )
    assert [v.fact_id for v in changes.versions] == [HALDEN.fact_id]
    assert _outcome(changes) is Outcome.CLOSED


def test_d2_a_start_that_was_only_a_messages_time_gives_way_to_a_stated_end() -> None:
    heard = fact("f1", "lives in", "porto", since="2025-09-10", is_start_stated=False)
    before = state(heard)
    changes = _plan(before, closing(claim("c1", "lives in", "porto", until="2025-09-01"), "f1"))
    old = _after(before, changes, "f1")
    assert (old.valid_from, old.valid_until) == (None, day("2025-09-01"))


def test_d1_a_restated_fact_gets_evidence_and_no_new_version() -> None:
    before = state(PORTO)
    changes = _plan(before, restating(claim("c1", "lives in", "porto"), "f2"))
    assert (changes.versions, changes.version_closures) == ((), ())
    assert [e.kind for e in changes.evidence] == ["reinforced"]
    assert _outcome(changes) is Outcome.REINFORCED


def test_d1_a_claim_that_merged_into_another_is_evidence_of_its_fact() -> None:
    first, second = claim("c1", "plays", "cello"), claim("c2", "plays", "cello", quote="my cello")
    merged = (MergedClaim(claim=second.claim, into="c1"),)
    changes = _plan(state(), surviving(first).model_copy(update={"merged": merged}))
    assert _outcome(changes, "c2") is Outcome.REINFORCED
    assert [(e.ref, e.kind, e.fact_id) for e in changes.evidence] == [
        ("c1", "asserted", _born(changes).fact_id),
        ("c2", "reinforced", _born(changes).fact_id),
    ]


def test_d1_an_old_verdict_on_a_restated_fact_removes_its_end() -> None:
    on_a_cut = fact("f1", "is on", "a cut", until="2025-12-01")
    before = state(on_a_cut)
    changes = _plan(
        before,
        restating(claim("c1", "is on", "a cut"), "f1"),
        judged("c1", "f1", why=PairReason.RESTATED),
    )
    now = _after(before, changes, "f1")
    assert (now.valid_until, now.ended_reason, now.successor_id) == (None, None, None)


def test_d1_an_end_stays_where_a_later_stay_of_the_same_triple_follows() -> None:
    """Two open-ended facts of one triple can't be stored."""
    first = fact("f1", "is on", "a cut", until="2025-12-01")
    second = fact("f2", "is on", "a cut", since="2026-02-01")
    before = state(first, second)
    changes = _plan(
        before,
        restating(claim("c1", "is on", "a cut"), "f1"),
        judged("c1", "f1", why=PairReason.RESTATED),
    )
    assert changes.versions == ()


def test_d5_an_old_verdict_on_another_stated_start_re_dates_the_fact() -> None:
    before = state(PORTO)
    changes = _plan(
        before,
        restating(claim("c1", "lives in", "porto", since="2025-04-01"), "f2"),
        judged("c1", "f2", why=PairReason.REDATED),
    )
    now = _after(before, changes, "f2")
    assert (now.valid_from, now.valid_until, now.version) == (day("2025-04-01"), None, 2)


def test_d5_a_fact_is_not_re_dated_over_another_stay_of_its_triple() -> None:
    first = fact("f1", "lives in", "porto", since="2020-01-01", until="2021-01-01")
    changes = _plan(
        state(first, PORTO),
        restating(claim("c1", "lives in", "porto", since="2019-01-01"), "f2"),
        judged("c1", "f2", why=PairReason.REDATED),
    )
    assert (changes.versions, changes.version_closures) == ((), ())


def test_w2_a_survivor_equal_to_an_expired_fact_starts_a_new_stay() -> None:
    gone = fact("f1", "lives in", "porto", since="2020-01-01", until="2024-06-01")
    before = state(gone)
    changes = _plan(before, surviving(claim("c1", "lives in", "porto", since="2025-02-01")))
    assert _outcome(changes) is Outcome.RENEWED
    assert _born(changes).fact_id != gone.fact_id
    assert _after(before, changes, "f1") == gone


def test_w2_a_claim_that_repeats_what_another_worker_committed_ends_as_race() -> None:
    """Its old verdict still applies, the committed fact being the successor."""
    committed = fact("f3", "works at", "brightwell", since="2025-09-01")
    before = state(HALDEN, committed)
    changes = _plan(
        before,
        restating(claim("c1", "works at", "brightwell"), "f3"),
        judged("c1", "f1"),
        earlier=frozenset({"c1"}),
    )
    assert _outcome(changes) is Outcome.RACE
    old = _after(before, changes, "f1")
    assert (old.successor_id, old.valid_until) == (committed.fact_id, committed.valid_from)


def test_the_links_are_needed_only_where_an_edge_may_end() -> None:
    before = state(HALDEN, PORTO)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    moved = surviving(claim("c1", "lives in", "lisbon"))
    assert may_end_a_link(before, closing(ending, "f1"), ())
    assert not may_end_a_link(before, moved, (judged("c1", "f2"),))
    assert not may_end_a_link(before, moved, (judged("c1", "f1", Verdict.NEITHER),))


def test_the_links_are_needed_where_a_fact_about_a_thing_may_last_longer() -> None:
    office = fact("f3", "has office in", "leeds docks", about="halden", until="2026-01-31")
    again = restating(claim("c1", "has office in", "leeds docks", about="halden"), "f3")
    before = state(HALDEN, office)
    assert may_end_a_link(before, again, (judged("c1", "f3", why=PairReason.RESTATED),))
    assert not may_end_a_link(before, again, ())


def test_the_known_instant_lies_behind_the_last_one_whenever_the_episode_ended() -> None:
    later = NOW + timedelta(days=2)
    changes = _plan(state(last_known_at=later), surviving(claim("c1", "plays", "cello")))
    assert changes.known_at == later + timedelta(microseconds=1)


def test_b14_a_verdict_on_a_fact_that_nobody_knows_changes_nothing() -> None:
    changes = _plan(state(HALDEN), surviving(claim("c1", "plays", "cello")), judged("c1", "f12"))
    assert changes.version_closures == ()


def test_entities_of_every_changed_fact_become_dirty() -> None:
    before = state(HALDEN)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    changes = _plan(before, closing(ending, "f1"))
    assert set(changes.dirty_entities) == {HALDEN.subject_id, HALDEN.object_id}
