"""Tenants never see each other, the operator sees no text, the application owns nothing (S1)."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.scripted import remember

ANN, BOB = TenantId("ann"), TenantId("bob")

_TENANT_TABLES = """
    select c.relname
    from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
    where c.relnamespace = 'memory'::regnamespace and c.relkind in ('r', 'p')
"""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    for tenant_id, texts in (
        (ANN, ("works at: acme", "likes: tea")),
        (BOB, ("works at: globex; likes: beer",)),
    ):
        remember(database, *texts, tenant_id=tenant_id)
    yield database
    database.close()


@pytest.fixture
def owner(database: Database, database_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_url) as connection:
        yield connection


def names(connection: psycopg.Connection, statement: str) -> list[str]:
    return sorted(row[0] for row in connection.execute(statement.encode()).fetchall())


def become(connection: psycopg.Connection, role: str, tenant_id: str | None = None) -> None:
    connection.execute("select set_config('role', %s, false)", [role])
    if tenant_id is not None:
        connection.execute("select set_config('memory.tenant_id', %s, false)", [tenant_id])


def test_without_a_tenant_the_application_sees_nothing(owner: psycopg.Connection) -> None:
    tables = names(owner, _TENANT_TABLES)
    become(owner, "memory_app")
    for table in tables:
        assert names(owner, f"select tenant_id from memory.{table}") == [], table  # noqa: S608


def test_with_a_tenant_the_application_sees_that_tenants_rows_only(
    owner: psycopg.Connection,
) -> None:
    tables = names(owner, _TENANT_TABLES)
    everything = {t: set(names(owner, f"select tenant_id from memory.{t}")) for t in tables}  # noqa: S608
    become(owner, "memory_app", ANN)
    for table in tables:
        seen = set(names(owner, f"select tenant_id from memory.{table}"))  # noqa: S608
        assert seen == everything[table] & {ANN}, table
    assert sum(ANN in tenants for tenants in everything.values()) > 10


def test_the_application_cannot_write_a_row_of_another_tenant(owner: psycopg.Connection) -> None:
    become(owner, "memory_app", ANN)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        owner.execute(
            "insert into memory.threads (tenant_id, thread_id, format, title)"
            " values ('bob', 'x', 'test', '')"
        )


def test_the_application_cannot_move_a_row_to_another_tenant(owner: psycopg.Connection) -> None:
    become(owner, "memory_app", ANN)
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"):
        owner.execute("update memory.facts set tenant_id = 'bob'")


def test_the_application_cannot_touch_rows_of_another_tenant(owner: psycopg.Connection) -> None:
    become(owner, "memory_app", ANN)
    changed = owner.execute("update memory.episodes set summary = '{}' where tenant_id = 'bob'")
    assert changed.rowcount == 0


def test_the_application_may_not_delete(owner: psycopg.Connection) -> None:
    tables = names(owner, _TENANT_TABLES)
    for table in tables:
        allowed = owner.execute(
            "select has_table_privilege('memory_app', %s, 'delete')", [f"memory.{table}"]
        ).fetchone()
        assert allowed == (False,), table


def test_the_application_owns_nothing_and_bypasses_nothing(owner: psycopg.Connection) -> None:
    owned = names(
        owner,
        "select classid::regclass::text from pg_shdepend d join pg_roles r on r.oid = d.refobjid"
        " where r.rolname in ('memory_app', 'memory_operator') and d.deptype = 'o'",
    )
    assert owned == []
    attributes = owner.execute(
        "select bool_or(rolsuper or rolbypassrls or rolcanlogin or rolcreaterole) from pg_roles"
        " where rolname in ('memory_app', 'memory_operator')"
    ).fetchone()
    assert attributes == (False,)


def test_every_table_of_tenants_has_forced_row_security(owner: psycopg.Connection) -> None:
    unforced = names(
        owner, _TENANT_TABLES + " and not (c.relrowsecurity and c.relforcerowsecurity)"
    )
    assert unforced == []
    assert len(names(owner, _TENANT_TABLES)) > 20


def test_every_key_of_a_table_of_tenants_starts_with_the_tenant(owner: psycopg.Connection) -> None:
    others = names(
        owner,
        _TENANT_TABLES
        + " and exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary"
        " and i.indkey[0] <> a.attnum)",
    )
    keyed = names(
        owner,
        _TENANT_TABLES
        + " and exists (select from pg_index i where i.indrelid = c.oid and i.indisprimary)",
    )
    assert others == []
    assert keyed == names(owner, _TENANT_TABLES)


def test_the_operator_sees_counts_of_all_tenants(database: Database) -> None:
    store = ConversationStore(database)
    assert store.tenants() == [ANN, BOB]
    assert store.highest_ordinals() == {ANN: 2, BOB: 1}
    with database.operator() as connection:
        facts = connection.execute(
            "select tenant_id, count(*) as count from memory.facts group by 1 order by 1"
        ).fetchall()
    assert [(row["tenant_id"], row["count"]) for row in facts] == [("ann", 2), ("bob", 2)]


_STATUS_WORDS = frozenset(
    {
        "tenant_id", "thread_id", "folded_thread_id", "recipe_id", "profile_id", "ref", "kind",
        "status", "extraction_status", "summary_status", "outcome", "verdict", "judge", "tier",
        "ended_reason", "stage", "leased_by", "counts",
    }
)  # fmt: skip


def test_the_operator_reads_ids_counts_and_status_and_no_text(owner: psycopg.Connection) -> None:
    readable = names(
        owner,
        "select c.relname || '.' || a.attname from pg_class c join pg_attribute a"
        " on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped"
        " where c.relnamespace = 'memory'::regnamespace and c.relkind = 'r'"
        " and has_column_privilege('memory_operator', c.oid, a.attnum, 'select')"
        " and a.atttypid in ('text'::regtype, 'jsonb'::regtype, 'text[]'::regtype,"
        " 'halfvec'::regtype)",
    )
    wordy = [column for column in readable if column.partition(".")[2] not in _STATUS_WORDS]
    # The reason of a publication is the operator's own.
    assert wordy == ["publications.reason"]
    assert "folds.status" in readable


def test_the_operator_is_refused_what_people_said(database: Database) -> None:
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"),
        database.operator() as connection,
    ):
        connection.execute("select text from memory.messages")


def test_the_operator_may_not_write(database: Database) -> None:
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied"),
        database.operator() as connection,
    ):
        connection.execute("update memory.episodes set extraction_attempts = 0")


def test_a_scope_ends_with_its_transaction(database_url: str, database: Database) -> None:
    one = Database(database_url, max_connections=1)
    with one.tenant(ANN):
        pass
    with one.tenant_pipeline(ANN):
        pass
    with one._pool().connection() as connection:
        row = connection.execute(
            "select current_user = session_user as is_owner, memory.current_tenant() as tenant"
        ).fetchone()
    one.close()
    assert row == {"is_owner": True, "tenant": None}


def test_a_scope_ends_with_a_transaction_that_failed(database_url: str, database: Database) -> None:
    one = Database(database_url, max_connections=1)
    for scope in (one.tenant, one.tenant_pipeline):
        with pytest.raises(psycopg.errors.DivisionByZero), scope(ANN) as connection:
            connection.execute("select 1 / 0")
        with pytest.raises(ZeroDivisionError), scope(ANN) as connection:
            raise ZeroDivisionError
    with one._pool().connection() as connection:
        row = connection.execute(
            "select current_user = session_user as is_owner, memory.current_tenant() as tenant"
        ).fetchone()
    one.close()
    assert row == {"is_owner": True, "tenant": None}


def test_interleaved_tenants_never_see_each_others_rows(database: Database) -> None:
    def look(number: int) -> set[str]:
        tenant_id = ANN if number % 2 else BOB
        scope = database.tenant if number % 3 else database.tenant_pipeline
        with scope(tenant_id) as connection:
            cursor = connection.execute("select tenant_id from memory.facts")
        return {row["tenant_id"] for row in cursor.fetchall()} ^ {tenant_id}

    with ThreadPoolExecutor(6) as pool:
        assert all(strangers == set() for strangers in pool.map(look, range(120)))
