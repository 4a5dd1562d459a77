"""Repair on a real database (spec M1): one transaction, whole history, reversible, idempotent.

Belongs here: the write of merges and taking them apart. Does not: the plan (stages/test_repair).
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from time import sleep
from uuid import UUID, uuid4

import psycopg
import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.repair_store import (
    UnknownMergeError,
    read_merges,
    repair_tenant,
    undo_merge,
)
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.facts import FactRow, read_facts
from memory_pipeline.reading.ledger import read_ledger
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    TENANT,
    ScriptedExtractor,
    fold_all,
    import_history,
    memory_content,
    remember,
    scalar,
    scripted_workshop,
    thread,
)

NEIGHBOUR = TenantId("acme/user_2")
_WAITING = (
    "select count(*) from pg_locks where locktype = 'advisory' and not granted and database ="
    " (select oid from pg_database where datname = current_database())"
)
HISTORY = (
    "works at: acme; likes: tea; visits: acme",
    "likes: acmx; visits: acmx",
    "works at: globex",
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """Memory in which `acmx` was by a later spelling rule found to be `acme`."""
    database = Database(database_url, max_connections=1)
    for tenant_id in (TENANT, NEIGHBOUR):
        remember(database, *HISTORY, tenant_id=tenant_id)
    with psycopg.connect(database_url) as connection:
        connection.execute("update memory.entities set name = 'Acme' where name = 'acmx'")
    yield database
    database.close()


def held(database: Database, *, with_history: bool = False) -> list[FactRow]:
    return read_facts(database, TENANT, with_history=with_history)


def names(database: Database) -> set[str]:
    return {f"{f.predicate} {f.object}" for f in held(database)}


def winner_name(url: str) -> object:
    return scalar(
        url,
        "select name from memory.entities where tenant_id = %s and lower(name) = 'acme'"
        " order by entity_id limit 1",
        [TENANT],
    )


def test_the_loser_redirects_and_its_facts_go_on_between_the_right_entities(
    database: Database, database_url: str
) -> None:
    repaired = repair_tenant(database, TENANT)
    winner = winner_name(database_url)
    assert len(repaired.entities.merges) == 1
    assert names(database) == {
        f"likes {winner}", f"visits {winner}", "likes tea", "works at globex",
    }  # fmt: skip
    assert {f.object for f in held(database, with_history=True)} == {winner, "tea", "globex"}
    believed_loser = scalar(
        database_url,
        "select count(*) from memory.facts f join memory.entities e"
        " using (tenant_id, generation_id)"
        " where e.redirect_to is not null and e.entity_id in (f.subject_id, f.object_id)"
        " and upper_inf(f.known_time)",
    )
    assert believed_loser == 0
    assert read_ledger(database, TENANT).adds_up


def test_a_duplicate_is_closed_as_merged_and_stays_in_history(
    database: Database, database_url: str
) -> None:
    repaired = repair_tenant(database, TENANT)
    (closed,) = repaired.facts.closed
    (row,) = (f for f in held(database, with_history=True) if f.fact_id == closed.fact_id)
    assert (row.status, row.known_until) == (FactStatus.ENDED, repaired.known_at)
    successor = scalar(
        database_url,
        "select dropped_for from memory.facts where fact_id = %s and tenant_id = %s",
        [closed.fact_id, TENANT],
    )
    assert successor == closed.successor_id


def test_a_second_repair_writes_nothing(database: Database, database_url: str) -> None:
    repair_tenant(database, TENANT)
    content = memory_content(database_url)
    again = repair_tenant(database, TENANT)
    assert again.known_at is None
    assert again.entities.is_empty
    assert memory_content(database_url) == content


def test_a_dry_run_tells_and_writes_nothing(database: Database, database_url: str) -> None:
    content = memory_content(database_url)
    told = repair_tenant(database, TENANT, dry_run=True)
    assert memory_content(database_url) == content
    done = repair_tenant(database, TENANT)
    assert (told.entities, told.facts) == (done.entities, done.facts)


def test_other_tenants_keep_what_they_have(database: Database, database_url: str) -> None:
    content = memory_content(database_url, NEIGHBOUR)
    repair_tenant(database, TENANT)
    assert memory_content(database_url, NEIGHBOUR) == content


def test_a_merge_can_be_taken_apart_and_is_not_made_again(database: Database) -> None:
    before = {(f.fact_id, f.object, f.status) for f in held(database)}
    repair_tenant(database, TENANT)
    (merge,) = read_merges(database, TENANT)
    undo_merge(database, TENANT, merge.event_id)
    assert {(f.fact_id, f.object, f.status) for f in held(database)} == before
    assert repair_tenant(database, TENANT).entities.is_empty
    assert read_merges(database, TENANT)[0].undone_at is not None


@pytest.mark.parametrize("is_done", [True, False])
def test_only_a_merge_that_stands_can_be_taken_apart(database: Database, is_done: bool) -> None:
    repair_tenant(database, TENANT)
    event_id = uuid4()
    if is_done:
        event_id = read_merges(database, TENANT)[0].event_id
        undo_merge(database, TENANT, event_id)
    with pytest.raises(UnknownMergeError, match="upkeep repair --list"):
        undo_merge(database, TENANT, event_id)


def test_of_two_who_take_a_merge_apart_at_once_one_comes_too_late(
    database: Database, database_url: str
) -> None:
    repair_tenant(database, TENANT)
    event_id = read_merges(database, TENANT)[0].event_id

    def undo(_: int) -> str:
        with closing(Database(database_url)) as own:
            try:
                return undo_merge(own, TENANT, event_id).loser
            except UnknownMergeError:
                return "too late"

    with psycopg.connect(database_url) as holder, ThreadPoolExecutor(2) as pool:
        holder.execute("select memory.lock_tenant(%s)", [TENANT])
        both = [pool.submit(undo, number) for number in range(2)]
        while scalar(database_url, _WAITING) != len(both):
            sleep(0.01)
        holder.rollback()
        told = [undone.result(20) for undone in both]
    assert sorted(name == "too late" for name in told) == [False, True]


def test_what_meant_the_loser_means_the_winner_and_comes_back_with_it(
    database: Database, database_url: str
) -> None:
    repair_tenant(database, TENANT)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into memory.entities (tenant_id, generation_id, entity_id, name, type,"
            " memory_category, known_from, last_linked_at) select tenant_id, generation_id,"
            " '00000000-0000-0000-0000-000000000001', 'The Acme', type, memory_category,"
            " known_from, last_linked_at from memory.entities where tenant_id = %s"
            " and redirect_to is null and lower(name) = 'acme'",
            [TENANT],
        )
    repair_tenant(database, TENANT)
    targets = "select array_agg(distinct redirect_to) from memory.entities where tenant_id = %s"
    assert scalar(database_url, targets + " and redirect_to is not null", [TENANT]) == [UUID(int=1)]
    undo_merge(database, TENANT, read_merges(database, TENANT)[0].event_id)
    assert scalar(database_url, targets + " and redirect_to is not null", [TENANT]) != [UUID(int=1)]


def test_the_losers_other_names_mean_the_winner_from_then_on(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "insert into memory.entity_aliases (tenant_id, generation_id, alias, entity_id, reason,"
            " known_from) select tenant_id, generation_id, 'acmx', entity_id, 'stated', known_from"
            " from memory.entities where name = 'Acme' and tenant_id = %s",
            [TENANT],
        )
    repair_tenant(database, TENANT)
    import_history(database, [thread("later", ("hires: acmx", START + 9 * DAY))])
    fold_all(scripted_workshop(database, ScriptedExtractor()))
    assert f"hires {winner_name(database_url)}" in names(database)


def test_a_refused_write_leaves_everything_as_it_was(database: Database, database_url: str) -> None:
    content = memory_content(database_url)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "create function memory.refuse() returns trigger language plpgsql as"
            " $$ begin raise exception 'no room'; end $$"
        )
        connection.execute(
            "create trigger refuse before insert on memory.corrections"
            " for each row execute function memory.refuse()"
        )
    with pytest.raises(psycopg.Error, match="no room"):
        repair_tenant(database, TENANT)
    assert memory_content(database_url) == content
