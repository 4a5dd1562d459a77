"""What ends with the last link to a thing (spec W3)."""

import pytest

from memory_pipeline.domain.changes import (
    ChangeSet,
    DistinctClaims,
    Judgement,
    MemoryState,
    PairReason,
)
from memory_pipeline.domain.fact import EndedReason, FactVersion
from memory_pipeline.domain.plan import OBSERVER, plan_changes
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
OFFICE = fact("f3", "has office in", "leeds docks", about="halden")


def _plan(before: MemoryState, distinct: DistinctClaims, *judgements: Judgement) -> ChangeSet:
    return plan_changes(before, EPISODE, NOW, distinct, judgements)


def _after(before: MemoryState, changes: ChangeSet, name: str) -> FactVersion:
    return believed(before, changes)[fact_id(name)]


def test_w3_facts_about_a_thing_end_with_the_last_link_to_it() -> None:
    before = state(HALDEN, OFFICE)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    changes = _plan(before, closing(ending, "f1"))
    office = _after(before, changes, "f3")
    assert (office.valid_until, office.ended_reason) == (day("2025-08-31"), EndedReason.CASCADE)


def test_w3_the_cascade_follows_an_end_that_lies_ahead() -> None:
    before = state(HALDEN, OFFICE)
    ending = claim("c1", "works at", "halden", names=True, until="2026-01-31")
    changes = _plan(before, closing(ending, "f1"))
    assert _after(before, changes, "f3").valid_until == day("2026-01-31")


def test_w3_the_cascade_is_transitive() -> None:
    site = fact("f3", "has site", "leeds docks", about="halden", names=True)
    berth = fact("f4", "has berth", "7", about="leeds docks")
    before = state(HALDEN, site, berth)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    changes = _plan(before, closing(ending, "f1"))
    ends = {_after(before, changes, name).valid_until for name in ("f3", "f4")}
    assert ends == {day("2025-08-31")}


def test_w3_what_is_restated_behind_a_link_that_will_end_lasts_no_longer() -> None:
    link = fact("f1", "works at", "halden", names=True, until="2026-01-31")
    office = fact("f3", "has office in", "leeds docks", about="halden", until="2026-01-31")
    again = claim("c1", "has office in", "leeds docks", about="halden")
    before = state(link, office)
    changes = _plan(before, restating(again, "f3"), judged("c1", "f3", why=PairReason.RESTATED))
    assert _after(before, changes, "f3") == office


def test_w3_what_is_given_a_later_end_than_its_link_ends_with_the_link() -> None:
    link = fact("f1", "works at", "halden", names=True, until="2026-01-31")
    office = fact("f3", "has office in", "leeds docks", about="halden", until="2025-12-01")
    longer = claim("c1", "has office in", "leeds docks", about="halden", until="2026-06-01")
    before = state(link, office)
    changes = _plan(before, closing(longer, "f3"))
    assert _after(before, changes, "f3").valid_until == link.valid_until


def test_w3_what_is_given_an_earlier_end_than_its_link_keeps_that_end() -> None:
    link = fact("f1", "works at", "halden", names=True, until="2026-01-31")
    office = fact(
        "f3", "has office in", "leeds docks", about="halden", until="2026-01-31",
        is_start_stated=False,
    )  # fmt: skip
    ending = claim("c1", "has office in", "leeds docks", about="halden", until="2023-06-01")
    before = state(link, office)
    after = _after(before, _plan(before, closing(ending, "f3")), "f3")
    assert (after.valid_from, after.valid_until) == (None, day("2023-06-01"))


def test_w3_what_is_re_dated_to_before_the_end_of_its_link_ends_with_the_link() -> None:
    link = fact("f1", "works at", "halden", names=True, until="2025-06-01")
    office = fact("f3", "has office in", "leeds docks", about="halden", since="2025-07-01")
    again = claim("c1", "has office in", "leeds docks", about="halden", since="2024-02-01")
    before = state(link, office)
    changes = _plan(before, restating(again, "f3"), judged("c1", "f3", why=PairReason.REDATED))
    after = _after(before, changes, "f3")
    assert (after.valid_from, after.valid_until) == (day("2024-02-01"), link.valid_until)


@pytest.mark.parametrize("until", [None, "2026-06-01"])
def test_w3_what_is_told_again_ends_with_a_link_that_was_never_true(until: str | None) -> None:
    office = fact("f3", "has office in", "leeds docks", about="halden", until="2026-01-31")
    again = claim("c1", "has office in", "leeds docks", about="halden", until=until)
    told = restating(again, "f3") if until is None else closing(again, "f3")
    other = claim("c2", "works at", "hald", names=True)
    both = told.model_copy(update={"survivors": (other,), "claims": (again, other)})
    before = state(HALDEN, office)
    changes = _plan(
        before,
        both,
        judged("c1", "f3", why=PairReason.RESTATED if until is None else PairReason.SLOT),
        judged("c2", "f1", is_correction=True),
    )
    assert _after(before, changes, "f3").valid_until == changes.known_at


def test_w3_what_hangs_on_a_link_that_the_cascade_drops_ends_too() -> None:
    cleo = fact("f1", "knows", "cleo", names=True)
    town = fact("f2", "moves to", "bern", about="cleo", names=True, since="2025-12-20")
    river = fact("f3", "lies on", "aare", about="bern", until="2025-12-01")
    before = state(cleo, town, river)
    ending = claim("c1", "knows", "cleo", names=True, until="2025-12-15")
    changes = _plan(before, closing(ending, "f1"))
    after = believed(before, changes)
    assert fact_id("f2") not in after
    assert after[fact_id("f3")].valid_until == changes.known_at


@pytest.mark.parametrize(
    "other",
    [
        fact("f5", "holds shares in", "halden", names=True),
        fact("f5", "employs", "user", about="halden", names=True),
    ],
    ids=["from the user", "to the user"],
)
def test_w3_another_link_keeps_what_hangs_on_it(other: FactVersion) -> None:
    before = state(HALDEN, OFFICE, other)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    changes = _plan(before, closing(ending, "f1"))
    assert _after(before, changes, "f3") == OFFICE


def test_w3_a_link_of_the_same_episode_saves_what_hangs_on_it() -> None:
    before = state(HALDEN, OFFICE)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    new = claim("c2", "holds shares in", "halden", names=True)
    assert _after(before, _plan(before, closing(ending, "f1", new)), "f3") == OFFICE


def test_w3_a_link_that_was_never_true_ends_what_hangs_on_it_now_but_not_its_past() -> None:
    past = fact("f4", "had office in", "york", about="halden", until="2022-01-01", since=None)
    before = state(HALDEN, OFFICE, past)
    changes = _plan(
        before,
        surviving(claim("c1", "works at", "hald", names=True)),
        judged("c1", "f1", is_correction=True),
    )
    assert _after(before, changes, "f3").valid_until == changes.known_at
    assert _after(before, changes, "f4") == past


def test_w3_a_fact_that_would_begin_after_the_last_link_is_dropped() -> None:
    planned = fact("f3", "opens in", "york", about="halden", since="2026-01-01")
    before = state(HALDEN, planned)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    changes = _plan(before, closing(ending, "f1"))
    dropped = next(c for c in changes.version_closures if c.fact_id == planned.fact_id)
    assert dropped.dropped_reason is EndedReason.CASCADE
    assert planned.fact_id not in believed(before, changes)


def test_w3_insights_are_exempt_from_the_cascade() -> None:
    insight = fact("f3", "observes", "a pattern", about=OBSERVER)
    before = state(HALDEN, insight)
    ending = claim("c1", "works at", "halden", names=True, until="2025-08-31")
    assert _after(before, _plan(before, closing(ending, "f1")), "f3") == insight
