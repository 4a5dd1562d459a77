"""Merges that meet (spec M1): chains, shared facts, and taking them apart in any order.

Belongs here: several merges on a real database. Does not: single ones (test_repair_store).
"""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.repair_store import (
    RecordedMerge,
    read_merges,
    repair_tenant,
    undo_merge,
)
from memory_pipeline.reading.facts import read_facts
from memory_pipeline.reading.profiles import find_entity
from memory_pipeline_tests.scripted import TENANT, memory_content, remember, scalar

FIRST, SECOND = (f"00000000-0000-0000-0000-00000000000{n}" for n in (1, 2))
LOSER_ENDS = (
    "select count(*) from memory.facts f join memory.entities e on e.tenant_id = f.tenant_id"
    " and e.generation_id = f.generation_id and e.entity_id in (f.subject_id, f.object_id)"
    " where upper_inf(f.known_time) and e.redirect_to is not null"
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Three spellings of one thing, each visited."""
    database = Database(database_url, max_connections=1)
    remember(database, "visits: acme", "visits: globex", "visits: initech")
    yield database
    database.close()


def rename(url: str, name: str, new_name: str) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("update memory.entities set name = %s where name = %s", [new_name, name])


def visited(database: Database) -> set[str]:
    return {f.object for f in read_facts(database, TENANT)}


def merge_of(database: Database, loser: str) -> RecordedMerge:
    return next(
        m for m in read_merges(database, TENANT) if m.loser == loser and m.undone_at is None
    )


def add_entity(url: str, entity_id: str, name: str, like: str) -> None:
    """An entity of this id and name, otherwise like another."""
    with psycopg.connect(url) as connection:
        connection.execute(
            "insert into memory.entities (tenant_id, generation_id, entity_id, name, type,"
            " memory_category, known_from, last_linked_at) select tenant_id, generation_id,"
            " %s, %s, type, memory_category, known_from, last_linked_at"
            " from memory.entities where name = %s limit 1",
            [UUID(entity_id), name, like],
        )


def chained(database: Database, url: str) -> None:
    """Of globex and initech one means the other, which then means a third of a smaller id."""
    rename(url, "globex", "Hooli")
    rename(url, "initech", "HOOLI")
    repair_tenant(database, TENANT)
    add_entity(url, FIRST, "hooli", "acme")
    repair_tenant(database, TENANT)


def test_a_chain_of_merges_ends_at_one_entity(database: Database, database_url: str) -> None:
    chained(database, database_url)
    in_use = "select count(*) from memory.entities where redirect_to is null and lower(name) like"
    assert scalar(database_url, in_use + " 'hooli'") == 1
    assert visited(database) == {"acme", "hooli"}
    assert scalar(database_url, LOSER_ENDS) == 0


@pytest.mark.parametrize("newest_first", [True, False])
def test_a_chain_can_be_taken_apart_in_any_order(
    database: Database, database_url: str, newest_first: bool
) -> None:
    chained(database, database_url)
    merges = read_merges(database, TENANT)
    for merge in merges if newest_first else reversed(merges):
        undo_merge(database, TENANT, merge.event_id)
        assert scalar(database_url, LOSER_ENDS) == 0
    redirected = "select count(*) from memory.entities where redirect_to is not null"
    assert scalar(database_url, redirected) == 0
    assert visited(database) == {"acme", "Hooli", "HOOLI"}


def test_taking_one_merge_apart_leaves_the_other_end_of_its_facts_merged(
    database: Database, database_url: str
) -> None:
    """A fact between two losers: giving one back must not free the other."""
    with psycopg.connect(database_url) as connection:
        # The user visits globex -> acme visits globex; both ends lose.
        connection.execute(
            "update memory.facts f set subject_id = e.entity_id from memory.entities e"
            " where e.name = 'initech' and f.object_id in"
            " (select entity_id from memory.entities where name = 'globex')"
        )
    add_entity(database_url, FIRST, "Initech", "initech")
    add_entity(database_url, SECOND, "Globex", "globex")
    repair_tenant(database, TENANT)
    undo_merge(database, TENANT, merge_of(database, "initech").event_id)
    assert scalar(database_url, LOSER_ENDS) == 0


def test_two_that_were_taken_apart_do_not_meet_in_a_third(
    database: Database, database_url: str
) -> None:
    rename(database_url, "acme", "Hooli")
    rename(database_url, "globex", "HOOLI")
    repair_tenant(database, TENANT)
    (merge,) = read_merges(database, TENANT)
    undo_merge(database, TENANT, merge.event_id)
    add_entity(database_url, FIRST, "hooli", "Hooli")
    repair_tenant(database, TENANT)
    meant = scalar(
        database_url,
        "select count(distinct coalesce(redirect_to, entity_id)) from memory.entities"
        " where name in ('Hooli', 'HOOLI')",
    )
    assert meant == 2


def test_a_refused_undo_leaves_everything_as_it_was(database: Database, database_url: str) -> None:
    chained(database, database_url)
    content = memory_content(database_url)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "create function memory.refuse() returns trigger language plpgsql as"
            " $$ begin raise exception 'no room'; end $$"
        )
        connection.execute(
            "create trigger refuse before update on memory.corrections for each row"
            " execute function memory.refuse()"
        )
    with pytest.raises(psycopg.errors.RaiseException):
        undo_merge(database, TENANT, read_merges(database, TENANT)[0].event_id)
    assert memory_content(database_url) == content


def test_a_merged_entity_is_found_by_either_name(database: Database, database_url: str) -> None:
    rename(database_url, "globex", "hooli inc")
    rename(database_url, "initech", "hooli")
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.entities set type = 'ORG' where name like 'hooli%'")
    repair_tenant(database, TENANT)
    found = {find_entity(database, TENANT, name).entity_id for name in ("hooli", "Hooli Inc")}
    assert len(found) == 1


def test_what_was_told_apart_by_title_or_number_is_not_merged_overnight(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.entities set type = 'PERSON' where name <> 'user'")
    rename(database_url, "globex", "mr smith")
    rename(database_url, "initech", "mrs smith")
    assert repair_tenant(database, TENANT).entities.is_empty
