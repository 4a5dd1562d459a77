"""Facts by status, on both time axes, with and without history."""

from datetime import UTC, datetime, timedelta

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.reading.facts import FactRow, read_facts
from memory_pipeline.reading.scope import NotFoundError
from memory_pipeline_tests.reading.histories import (
    ANN,
    BOB,
    HISTORY,
    Fact,
    Line,
    as_owner,
    day,
    remember,
    store,
)

_UPKEEP = """
update memory.facts
set known_time = tstzrange(lower(known_time), '2024-12-01Z'), dropped_reason = %s
where predicate = 'likes' and upper_inf(known_time)
"""


def _statuses(rows: list[FactRow]) -> dict[str, FactStatus]:
    return {f"{row.predicate} {row.object}": row.status for row in rows}


def _row(rows: list[FactRow], words: str) -> FactRow:
    """The one row of a fact, the latest version where there are several."""
    found = [row for row in rows if f"{row.predicate} {row.object}" == words]
    return max(found, key=lambda row: row.known_from)


def test_without_flags_only_what_holds_now_is_listed(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    assert _statuses(read_facts(database, ANN)) == {
        "likes hiking": FactStatus.LIVE,
        "lives in porto": FactStatus.LIVE,
        "works at apex": FactStatus.LIVE,
    }


def test_a_row_says_who_said_it_where_and_when(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    row = _row(read_facts(database, ANN), "likes hiking")
    assert (row.source_quote, row.span_start, row.span_end) == ("I like hiking", 20, 33)
    assert row.message_id is not None
    assert (row.subject, row.object_is_entity, row.episode) == ("user", False, 2)
    assert (row.valid_from, row.valid_until) == (day("2024-02-01"), None)
    assert (row.known_from, row.known_until) == (day("2024-02-01"), None)
    assert row.confidence == pytest.approx(0.9)


def test_a_fact_that_begins_later_is_future(database: Database) -> None:
    start = datetime.now(UTC).date() + timedelta(days=400)
    line = Line(
        "2024-01-01", "I will live in Rome.", (Fact("lives in", "Rome", start.isoformat()),)
    )
    remember(database, ANN, line)
    (row,) = read_facts(database, ANN)
    assert row.status is FactStatus.FUTURE


def test_valid_at_gives_what_held_at_that_instant(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, valid_at=day("2024-03-01"))
    assert _statuses(rows) == {
        "likes hiking": FactStatus.LIVE,
        "lives in berlin": FactStatus.LIVE,
    }


def test_the_end_of_a_period_is_exclusive(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    just_before = read_facts(database, ANN, valid_at=day("2024-05-31T23:59:59"))
    at_the_end = read_facts(database, ANN, valid_at=day("2024-06-01"))
    assert _statuses(just_before)["lives in berlin"] is FactStatus.LIVE
    assert "lives in berlin" not in _statuses(at_the_end)
    assert _statuses(at_the_end)["lives in porto"] is FactStatus.LIVE


def test_known_at_gives_what_was_believed_then(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, known_at=day("2024-03-01"))
    assert _statuses(rows) == {
        "likes hiking": FactStatus.LIVE,
        "lives in berlin": FactStatus.LIVE,
        "works at acme": FactStatus.LIVE,
    }
    assert _row(rows, "works at acme").superseded_by is None


def test_a_belief_starts_with_its_known_instant(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    instant = day("2024-01-10")
    assert read_facts(database, ANN, known_at=instant - timedelta(microseconds=1)) == []
    assert len(read_facts(database, ANN, known_at=instant)) == 1


def test_both_axes_together_answer_what_we_believed_about_then(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, valid_at=day("2024-07-15"), known_at=day("2024-05-01"))
    assert _statuses(rows)["lives in berlin"] is FactStatus.LIVE
    assert "lives in porto" not in _statuses(rows)


def test_history_shows_the_superseded_fact_with_its_successor(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, with_history=True)
    berlin, porto = _row(rows, "lives in berlin"), _row(rows, "lives in porto")
    assert berlin.status is FactStatus.SUPERSEDED
    assert berlin.superseded_by == porto.fact_id
    assert berlin.valid_until == porto.valid_from


def test_history_shows_the_version_that_a_later_one_replaced(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, with_history=True)
    first, second = [row for row in rows if row.object == "berlin"]
    assert first.fact_id == second.fact_id
    assert first.known_until == second.known_from == day("2024-06-01")
    assert (first.status, first.valid_until) == (FactStatus.LIVE, None)


def test_history_shows_what_was_never_true_as_invalidated(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, with_history=True)
    acme = _row(rows, "works at acme")
    assert acme.status is FactStatus.INVALIDATED
    assert acme.superseded_by == _row(rows, "works at apex").fact_id
    assert acme.known_until == day("2024-07-01")


def test_history_shows_a_period_that_is_over_as_ended(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    boat = _row(read_facts(database, ANN, with_history=True), "rents a boat")
    assert (boat.status, boat.superseded_by) == (FactStatus.ENDED, None)
    assert boat.valid_until == day("2024-09-01")


@pytest.mark.parametrize(
    ("reason", "status"), [("decayed", FactStatus.ARCHIVED), ("merged", FactStatus.ENDED)]
)
def test_history_shows_what_upkeep_dropped(
    database: Database, database_url: str, reason: str, status: FactStatus
) -> None:
    remember(database, ANN, *HISTORY)
    assert as_owner(database_url, _UPKEEP, reason) == 1
    assert _row(read_facts(database, ANN, with_history=True), "likes hiking").status is status
    assert "likes hiking" not in _statuses(read_facts(database, ANN))


def test_what_was_dropped_later_is_live_to_a_reader_of_the_past(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    as_owner(database_url, _UPKEEP, "decayed")
    for with_history in (False, True):
        rows = read_facts(database, ANN, known_at=day("2024-11-30"), with_history=with_history)
        assert _row(rows, "likes hiking").status is FactStatus.LIVE


def test_history_as_of_a_known_instant_holds_nothing_learnt_later(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    rows = read_facts(database, ANN, known_at=day("2024-06-15"), with_history=True)
    assert {row.object for row in rows} == {"berlin", "porto", "acme", "hiking"}
    assert _row(rows, "works at acme").status is FactStatus.LIVE
    assert _row(rows, "lives in berlin").status is FactStatus.SUPERSEDED


def test_a_stated_end_with_a_successor_counts_as_superseded(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    name_heir = """
        update memory.facts f set successor_id = heir.fact_id from memory.facts heir
        where f.predicate = 'rents' and heir.predicate = 'likes'"""
    assert as_owner(database_url, name_heir) == 1
    rows = read_facts(database, ANN, with_history=True)
    assert _row(rows, "rents a boat").status is FactStatus.SUPERSEDED


def test_the_user_comes_first_then_names_in_order(database: Database) -> None:
    person = Fact("is friends with", "Anna", entity_type="PERSON")
    hers = Fact("lives in", "Zug", entity_type="PLACE", subject="Anna")
    text = "Anna is my friend, she lives in Zug. I like tea and art."
    line = Line("2024-01-01", text, (hers, person, Fact("likes", "tea"), Fact("likes", "art")))
    remember(database, ANN, line)
    order = [(r.subject, r.predicate, r.object) for r in read_facts(database, ANN)]
    assert order == [
        ("user", "is friends with", "anna"),
        ("user", "likes", "art"),
        ("user", "likes", "tea"),
        ("anna", "lives in", "zug"),
    ]


def test_merged_entities_go_by_the_name_of_the_last_winner(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    redirect = """
        update memory.entities loser set redirect_to = winner.entity_id
        from memory.entities winner where loser.name = %s and winner.name = %s"""
    as_owner(database_url, redirect, "porto", "acme")
    as_owner(database_url, redirect, "acme", "berlin")
    assert "lives in berlin" in _statuses(read_facts(database, ANN))


def test_a_tenant_that_was_never_processed_has_no_facts(database: Database) -> None:
    store(database, ANN, HISTORY)
    assert read_facts(database, ANN, with_history=True) == []


def test_one_tenant_never_sees_the_facts_of_another(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    remember(database, BOB, HISTORY[0])
    assert [row.object for row in read_facts(database, BOB)] == ["berlin"]


def test_an_unknown_tenant_is_named_with_what_to_do(database: Database) -> None:
    with pytest.raises(NotFoundError, match="there is no tenant 'acme/ann': import"):
        read_facts(database, ANN)
