"""The digest: equal for equal memory, different after any change of it."""

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.reading.digest import digest
from memory_pipeline.reading.scope import NotFoundError
from memory_pipeline_tests.reading.histories import (
    ANN,
    BOB,
    HISTORY,
    Line,
    as_owner,
    fold,
    remember,
    store,
)
from memory_pipeline_tests.reading.test_lists import METRIC, SURE, UNSURE

_LINES = sorted([*HISTORY, METRIC, UNSURE, SURE], key=lambda line: line.at)


def test_two_tenants_with_the_same_history_have_the_same_digest(database: Database) -> None:
    remember(database, ANN, *_LINES)
    remember(database, BOB, *_LINES)
    assert digest(database, ANN) == digest(database, BOB)


def test_a_history_imported_and_folded_in_pieces_has_the_same_digest(database: Database) -> None:
    remember(database, ANN, *_LINES)
    for line in _LINES:
        remember(database, BOB, line)
    assert digest(database, ANN) == digest(database, BOB)


def test_a_history_that_arrived_backwards_has_the_same_digest(database: Database) -> None:
    remember(database, ANN, *_LINES)
    for line in reversed(_LINES):
        store(database, BOB, [line])
    fold(database, BOB, _LINES)
    assert digest(database, ANN) == digest(database, BOB)


def test_unprocessed_messages_do_not_change_the_digest(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    before = digest(database, ANN)
    store(database, ANN, [METRIC, Line("2030-01-01", "Later.")])
    assert digest(database, ANN) == before


def test_the_servers_time_zone_does_not_change_the_digest(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    nepal = "options=-cTimeZone%3DAsia/Kathmandu"
    elsewhere = Database(f"{database_url}{'&' if '?' in database_url else '?'}{nepal}")
    try:
        assert digest(elsewhere, ANN) == digest(database, ANN)
    finally:
        elsewhere.close()


@pytest.mark.parametrize(
    "change",
    [
        "update memory.facts set valid_time = tstzrange('2024-02-02Z', null) where version = 2",
        "update memory.facts set confidence = 0.8 where predicate = 'likes'",
        "update memory.facts set memory_category = 'identity' where predicate = 'likes'",
        "update memory.facts set tier = 'strong' where predicate = 'likes'",
        "update memory.facts set object_text = 'biking' where predicate = 'likes'",
        "update memory.facts set successor_id = fact_id where predicate = 'likes'",
        "update memory.fact_evidence set quote = 'I like' where claim_ref = 'c2'",
        "update memory.fact_evidence set span_end = 32 where claim_ref = 'c2'",
        "update memory.entities set name = 'oporto' where name = 'porto'",
        "update memory.entities set redirect_to = entity_id where name = 'porto'",
        "update memory.folds set known_at = '2024-01-11Z' where fold_number = 1",
        "update memory.instructions set description = 'Use feet'",
        "update memory.uncertainties set resolved_at = null",
        "update memory.judged_pairs set verdict = 'neither' where is_correction",
        "update memory.claim_outcomes set outcome = 'race' where predicate = 'likes'",
        "delete from memory.message_outcomes where reason = 'question'",
    ],
)
def test_any_change_of_memory_changes_the_digest(
    database: Database, database_url: str, change: str
) -> None:
    remember(database, ANN, *_LINES)
    before = digest(database, ANN)
    assert as_owner(database_url, change) >= 1
    assert digest(database, ANN) != before


def test_the_clock_of_the_database_does_not_matter(database: Database, database_url: str) -> None:
    remember(database, ANN, *HISTORY)
    before = digest(database, ANN)
    as_owner(database_url, "update memory.facts set recorded_at = '1999-01-01Z'")
    as_owner(database_url, "update memory.folds set recorded_at = '1999-01-01Z'")
    assert digest(database, ANN) == before


def test_a_tenant_without_memory_has_the_digest_of_nothing(database: Database) -> None:
    store(database, ANN, HISTORY)
    nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(database, ANN) == nothing


def test_an_unknown_tenant_has_no_digest(database: Database) -> None:
    with pytest.raises(NotFoundError, match="there is no tenant"):
        digest(database, ANN)
