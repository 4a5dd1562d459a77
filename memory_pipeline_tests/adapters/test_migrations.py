"""The migration runner, on real databases and temporary folders of migrations."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from memory_pipeline.adapters import migrations
from memory_pipeline.adapters.embedded_postgres import Server
from memory_pipeline.adapters.migrations import MigrationError, migrate, pending, read_migrations

FIRST = "create table memory.first (id int primary key);"
SECOND = "create table memory.second (id int primary key);\ninsert into memory.second values (1);"


def folder_of(folder: Path, **statements: str) -> Path:
    """A folder with one file per argument, called `n0001_name="statements"`."""
    folder.mkdir(exist_ok=True)
    for name, text in statements.items():
        (folder / f"{name.removeprefix('n')}.sql").write_text(text)
    return folder


def one_value(url: str, query: bytes) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query).fetchone()
    return row[0] if row else None


def test_an_empty_folder_still_makes_the_schema_and_the_extension(
    empty_database_url: str, tmp_path: Path
) -> None:
    assert migrate(empty_database_url, folder_of(tmp_path)) == []
    assert one_value(empty_database_url, b"select count(*) from memory.schema_migrations") == 0
    assert one_value(empty_database_url, b"select '[1,2]'::halfvec(2)::text") == "[1,2]"


def test_files_are_applied_in_order_and_only_once(empty_database_url: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, n0001_first=FIRST, n0002_second=SECOND)
    assert migrate(empty_database_url, folder) == ["0001_first", "0002_second"]
    assert migrate(empty_database_url, folder) == []
    assert one_value(empty_database_url, b"select count(*) from memory.second") == 1


def test_pending_names_what_is_missing_and_changes_nothing(
    empty_database_url: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, n0001_first=FIRST, n0002_second=SECOND)
    assert pending(empty_database_url, folder) == ["0001_first", "0002_second"]
    assert one_value(empty_database_url, b"select to_regnamespace('memory')") is None
    migrate(empty_database_url, folder)
    folder_of(tmp_path, n0003_third="select 1;")
    assert pending(empty_database_url, folder) == ["0003_third"]


def test_a_failing_file_leaves_no_trace_and_the_ones_before_it_applied(
    empty_database_url: str, tmp_path: Path
) -> None:
    broken = "create table memory.half (id int);\nselect 1;\nselect no_such_column;"
    folder = folder_of(tmp_path, n0001_first=FIRST, n0002_broken=broken)
    with pytest.raises(MigrationError, match=r"0002_broken.sql, line 3, failed: .*no_such_column"):
        migrate(empty_database_url, folder)
    assert one_value(empty_database_url, b"select to_regclass('memory.half')") is None
    assert pending(empty_database_url, folder) == ["0002_broken"]


def test_a_mended_file_can_be_applied_after_it_failed(
    empty_database_url: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, n0001_first="select no_such_column;")
    with pytest.raises(MigrationError, match="no_such_column"):
        migrate(empty_database_url, folder)
    assert migrate(empty_database_url, folder_of(tmp_path, n0001_first=FIRST)) == ["0001_first"]


def test_a_file_that_ends_its_transaction_is_refused(
    empty_database_url: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, n0001_commits=f"{FIRST} commit;")
    with pytest.raises(MigrationError, match="ends its transaction"):
        migrate(empty_database_url, folder)


def test_a_changed_file_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    migrate(empty_database_url, folder_of(tmp_path, n0001_first=FIRST))
    folder = folder_of(tmp_path, n0001_first=f"{FIRST} -- and a word")
    for ask in (migrate, pending):
        with pytest.raises(MigrationError, match="0001_first was changed after"):
            ask(empty_database_url, folder)


def test_windows_line_ends_are_no_change(empty_database_url: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, n0001_second=SECOND.replace("second", "lines"))
    migrate(empty_database_url, folder)
    file = folder / "0001_second.sql"
    file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    assert migrate(empty_database_url, folder) == []


def test_a_database_newer_than_the_code_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, n0001_first=FIRST, n0002_second=SECOND)
    migrate(empty_database_url, folder)
    (folder / "0002_second.sql").unlink()
    for ask in (migrate, pending):
        with pytest.raises(MigrationError, match=r"does not know \(0002_second\).*newer"):
            ask(empty_database_url, folder)


def test_a_hole_in_what_was_applied_is_refused(empty_database_url: str, tmp_path: Path) -> None:
    folder = folder_of(tmp_path, n0001_first=FIRST, n0002_second=SECOND)
    migrate(empty_database_url, folder)
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("delete from memory.schema_migrations where name = '0001_first'")
    with pytest.raises(MigrationError, match="0001_first is not applied, but a later one is"):
        migrate(empty_database_url, folder)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["0001_a", "0003_c"], "number 0002 is missing before 0003_c.sql"),
        (["0002_b"], "number 0001 is missing before 0002_b.sql"),
        (["0000_a"], "0000_a.sql: numbers start at 0001"),
        (["0001_a", "0001_b"], "0001_a.sql and 0001_b.sql share a number"),
        (["0001_a", "2_b"], "2_b.sql is not named like"),
        (["0001_a", "0002_Upper"], "0002_Upper.sql is not named like"),
    ],
)
def test_a_folder_out_of_order_is_refused(tmp_path: Path, names: list[str], message: str) -> None:
    folder = folder_of(tmp_path, **dict.fromkeys(names, "select 1;"))
    with pytest.raises(MigrationError, match=message):
        read_migrations(folder)


def test_a_missing_folder_is_refused_rather_than_taken_for_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(MigrationError, match="there is no folder of migrations"):
        read_migrations(tmp_path / "nowhere")


def test_other_files_in_the_folder_are_ignored(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, n0001_first=FIRST)
    (folder / "README.md").write_text("words")
    assert [migration.name for migration in read_migrations(folder)] == ["0001_first"]


def test_several_callers_at_once_apply_each_file_once(
    empty_database_url: str, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, n0001_first=FIRST, n0002_second=SECOND)
    with ThreadPoolExecutor(4) as threads:
        applied = list(threads.map(lambda _: migrate(empty_database_url, folder), range(4)))
    assert sorted(name for names in applied for name in names) == ["0001_first", "0002_second"]


def test_percent_signs_and_accents_reach_the_server_as_written(
    empty_database_url: str, tmp_path: Path
) -> None:
    text = "create table memory.words as select 'naïve 100%s'::text as word;"
    migrate(empty_database_url, folder_of(tmp_path, n0001_words=text))
    assert one_value(empty_database_url, b"select word from memory.words") == "naïve 100%s"


def as_plain_role(server: Server, url: str) -> str:
    """The same database for a role that may create schemas in it and nothing more."""
    name = url.partition("@/")[2].partition("?")[0]
    role = f"{name}_role"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create role {role} login".encode())
        connection.execute(f"grant create on database {name} to {role}".encode())
    return server.url(name, user=role)


def test_a_role_that_may_not_create_the_extension_is_told_what_to_run(
    postgres_server: Server, empty_database_url: str, tmp_path: Path
) -> None:
    url = as_plain_role(postgres_server, empty_database_url)
    with pytest.raises(MigrationError, match="run as a superuser: create extension vector"):
        migrate(url, folder_of(tmp_path, n0001_first=FIRST))


def test_a_plain_role_can_migrate_once_the_extension_is_there(
    postgres_server: Server, empty_database_url: str, tmp_path: Path
) -> None:
    url = as_plain_role(postgres_server, empty_database_url)
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("create extension vector")
    assert migrate(url, folder_of(tmp_path, n0001_first=FIRST)) == ["0001_first"]


def test_a_role_without_rights_on_the_database_is_told_so(
    postgres_server: Server, empty_database_url: str, tmp_path: Path
) -> None:
    url = as_plain_role(postgres_server, empty_database_url)
    name = url.partition("@/")[2].partition("?")[0]
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("create extension vector")
        connection.execute(f"revoke create on database {name} from {name}_role".encode())
    with pytest.raises(MigrationError, match="may not create the schema"):
        migrate(url, folder_of(tmp_path, n0001_first=FIRST))


def test_an_older_vector_extension_is_refused_with_the_statement_that_updates_it(
    empty_database_url: str, tmp_path: Path
) -> None:
    with psycopg.connect(empty_database_url, autocommit=True) as connection:
        connection.execute("create extension vector")
        # The wheel ships no old version; the catalogue is what the check reads.
        connection.execute("update pg_extension set extversion = '0.7.4' where extname = 'vector'")
    with pytest.raises(MigrationError, match=r"0\.7\.4, at least 0\.8 .*alter extension vector"):
        migrate(empty_database_url, folder_of(tmp_path))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("_MIN_SERVER", 990000, "at least 99 is needed"),
        ("_MIN_VECTOR", (99, 0), "at least 99.0 is needed; install a newer pgvector"),
        (
            "_VECTOR_VERSIONS",
            "select null::text, null::text",
            "has no extension vector; install pgvector >= 0.8",
        ),
    ],
)
def test_a_server_that_offers_too_little_is_refused(
    empty_database_url: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
    message: str,
) -> None:
    monkeypatch.setattr(migrations, name, value)
    with pytest.raises(MigrationError, match=message):
        migrate(empty_database_url, folder_of(tmp_path))
    assert one_value(empty_database_url, b"select to_regnamespace('memory')") is None


def test_a_database_of_a_test_holds_every_migration_of_the_project(database_url: str) -> None:
    folder = Path(__file__).parents[2] / "sql" / "migrations"
    assert pending(database_url, folder) == []
