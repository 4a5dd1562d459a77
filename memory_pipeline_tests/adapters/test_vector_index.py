"""Big tenants get a graph index of their own, and lose it when they shrink."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import psycopg
import pytest
from pgvector import HalfVector
from pgvector.psycopg import register_vector

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.vector_index import Promotions, index_name, promote_big_tenants
from memory_pipeline.domain.ids import GenerationId, TenantId, derive_id
from memory_pipeline_tests.bench.filled_memory import fill_tenant, raw_vectors

BIG, SMALL = TenantId('o\'neil/"big" %s {x}'), TenantId("small")

BIG_GENERATION = GenerationId(derive_id("generation", BIG, "1"))
BIG_INDEX = index_name(BIG_GENERATION)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    fill_tenant(database_url, BIG, 600)
    fill_tenant(database_url, SMALL, 100)
    database = Database(database_url, max_connections=1)
    yield database
    database.close()


def _indexes(url: str) -> dict[str, bool]:
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "select relname, indisvalid from pg_index join pg_class on oid = indexrelid"
            " where relname like 'facts\\_graph%'"
        ).fetchall()
    return dict(rows)


def test_only_a_tenant_of_so_many_live_facts_gets_an_index_and_once(
    database: Database, database_url: str
) -> None:
    assert promote_big_tenants(database, 500) == Promotions(created=(BIG,))
    assert _indexes(database_url) == {BIG_INDEX: True}
    assert promote_big_tenants(database, 500) == Promotions()


def test_the_largest_come_first_where_there_may_be_only_so_many(database: Database) -> None:
    assert promote_big_tenants(database, 50, most=1).created == (BIG,)


def test_a_tenant_that_shrinks_a_little_keeps_its_index_and_loses_it_when_it_shrinks_much(
    database: Database, database_url: str
) -> None:
    promote_big_tenants(database, 500)
    assert promote_big_tenants(database, 700) == Promotions()
    assert promote_big_tenants(database, 2_000) == Promotions(dropped=(BIG_INDEX,))
    assert _indexes(database_url) == {}


def test_an_index_that_a_crash_left_half_made_is_made_again(
    database: Database, database_url: str
) -> None:
    promote_big_tenants(database, 500)
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "update pg_index set indisvalid = false from pg_class"
            " where oid = indexrelid and relname = %s",
            [BIG_INDEX],
        )
    assert promote_big_tenants(database, 500) == Promotions(created=(BIG,))
    assert _indexes(database_url) == {BIG_INDEX: True}


def test_a_second_call_at_the_same_time_changes_nothing(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as other:
        other.execute("select pg_advisory_lock(hashtextextended('memory:vector_index', 0))")
        assert promote_big_tenants(database, 500) == Promotions()
    assert promote_big_tenants(database, 500).created == (BIG,)


def test_a_search_that_names_its_tenant_uses_the_index(
    database: Database, database_url: str
) -> None:
    promote_big_tenants(database, 500)
    topics, noises = raw_vectors()
    vector = HalfVector(np.asarray(topics[0] + noises[0]).tolist())
    with psycopg.connect(database_url) as connection:
        register_vector(connection)
        connection.execute("set local enable_sort = off")
        connection.execute("set local hnsw.iterative_scan = strict_order")
        plan = connection.execute(
            psycopg.ClientCursor(connection)
            .mogrify(
                "explain select fact_id from memory.facts where tenant_id = %s"
                " and generation_id = %s and upper_inf(known_time)"
                " order by embedding <=> %s limit 5",
                [BIG, BIG_GENERATION, vector],
            )
            .encode()
        ).fetchall()
    assert BIG_INDEX in str(plan)
