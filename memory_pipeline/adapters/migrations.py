"""The migration runner: numbered SQL files, applied forward only and remembered by checksum.

Belongs here: order, checksums, the lock, what the server must offer.
Does not: the schema itself (sql/migrations) and the embedded server (embedded_postgres).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import errors as pg_errors
from psycopg.pq import TransactionStatus

_MIN_SERVER = 150000
_MIN_VECTOR = (0, 8)
_FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql")
# Any constant will do, as long as nothing else in the database takes the same one.
_LOCK_KEY = 0x6D656D_6D696772

_TAKE_LOCK = "select pg_advisory_xact_lock(%s)"
_HAS_TABLE = "select to_regclass('memory.schema_migrations') is not null"
_HAS_SCHEMA = "select to_regnamespace('memory') is not null"
_CREATE_SCHEMA = "create schema memory"
_CREATE_TABLE = """
create table memory.schema_migrations (
    name text primary key,
    sha256 text not null,
    applied_at timestamptz not null default clock_timestamp()
)
"""
_READ_APPLIED = 'select name, sha256 from memory.schema_migrations order by name collate "C"'
_REMEMBER = "insert into memory.schema_migrations (name, sha256) values (%s, %s)"
_VECTOR_VERSIONS = """
select
    (select extversion from pg_extension where extname = 'vector'),
    (select default_version from pg_available_extensions where name = 'vector')
"""
_CREATE_VECTOR = "create extension vector"


class MigrationError(RuntimeError):
    """The database cannot be brought to the state of this code; the message says why."""


@dataclass(frozen=True)
class Migration:
    """One file. `name` is its stem, `sha256` counts line ends as LF whatever the checkout made."""

    name: str
    statements: bytes
    sha256: str


def migrate(connection_url: str, folder: Path) -> list[str]:
    """Apply what is missing; gives the names applied by this call, in order.

    Any number of processes may call it at once. Each file runs in a transaction of its own; when
    one fails, those before it stay applied. Raises MigrationError, and psycopg.OperationalError
    if the database cannot be reached.
    """
    migrations = read_migrations(folder)
    applied_here: list[str] = []
    with _connect(connection_url) as connection:
        with connection.transaction():
            connection.execute(_TAKE_LOCK, [_LOCK_KEY])
            _require_server(connection)
            _require_vector(connection)
            if not _has_table(connection):
                _create_table(connection)
        while True:
            # The lock lasts for one transaction, so that it also holds behind a pooler.
            with connection.transaction():
                connection.execute(_TAKE_LOCK, [_LOCK_KEY])
                missing = _missing(migrations, _read_applied(connection))
                if not missing:
                    return applied_here
                _apply(connection, missing[0], folder)
            applied_here.append(missing[0].name)


def pending(connection_url: str, folder: Path) -> list[str]:
    """The names that `migrate` would apply, in order; changes nothing. Raises as `migrate`."""
    migrations = read_migrations(folder)
    with _connect(connection_url) as connection:
        applied = _read_applied(connection) if _has_table(connection) else {}
    return [migration.name for migration in _missing(migrations, applied)]


def read_migrations(folder: Path) -> list[Migration]:
    """The migrations of a folder in order. MigrationError on a gap, a double or a bad name."""
    if not folder.is_dir():
        raise MigrationError(f"there is no folder of migrations at {folder}")
    files = sorted(folder.glob("*.sql"))
    for expected, file in enumerate(files, start=1):
        match = _FILE_NAME.fullmatch(file.name)
        if match is None:
            raise MigrationError(f"{file.name} is not named like 0001_subject.sql")
        number = int(match[1])
        if number == 0:
            raise MigrationError(f"{file.name}: numbers start at 0001")
        if number < expected:
            raise MigrationError(f"{files[expected - 2].name} and {file.name} share a number")
        if number > expected:
            raise MigrationError(f"number {expected:04d} is missing before {file.name}")
    return [_read(file) for file in files]


def _connect(connection_url: str) -> psycopg.Connection:
    return psycopg.connect(
        connection_url, autocommit=True, prepare_threshold=None, client_encoding="utf8"
    )


def _read(file: Path) -> Migration:
    statements = file.read_bytes().replace(b"\r\n", b"\n")
    return Migration(file.stem, statements, hashlib.sha256(statements).hexdigest())


def _missing(migrations: Sequence[Migration], applied: Mapping[str, str]) -> list[Migration]:
    """What is not applied yet, after checking that the rest is what was applied."""
    known = {migration.name for migration in migrations}
    unknown = [name for name in applied if name not in known]
    if unknown:
        raise MigrationError(
            f"the database has migrations that this code does not know ({', '.join(unknown)}): it "
            "is newer than the code, or a file was renamed. Upgrade the code"
        )
    for migration in migrations:
        if applied.get(migration.name, migration.sha256) != migration.sha256:
            raise MigrationError(
                f"{migration.name} was changed after it had been applied. Restore the file and "
                "put the change into a new migration"
            )
    missing = [migration for migration in migrations if migration.name not in applied]
    if missing and missing != list(migrations[len(applied) :]):
        raise MigrationError(
            f"{missing[0].name} is not applied, but a later one is; migrations run in order, so "
            "memory.schema_migrations was changed by hand"
        )
    return missing


def _apply(connection: psycopg.Connection, migration: Migration, folder: Path) -> None:
    file = folder / f"{migration.name}.sql"
    try:
        if migration.statements.strip():
            connection.execute(migration.statements)
        if connection.info.transaction_status is not TransactionStatus.INTRANS:
            raise MigrationError(f"{file} ends its transaction; leave commit and rollback out")
        connection.execute(_REMEMBER, [migration.name, migration.sha256])
    except psycopg.Error as error:
        line = _line(migration.statements, error.diag.statement_position)
        raise MigrationError(f"{file}{line} failed: {error}") from error


def _line(statements: bytes, position: str | None) -> str:
    if position is None:
        return ""
    before = statements.decode(errors="replace")[: int(position)]
    return f", line {before.count(chr(10)) + 1},"


def _has_table(connection: psycopg.Connection) -> bool:
    return connection.execute(_HAS_TABLE).fetchone() == (True,)


def _read_applied(connection: psycopg.Connection) -> dict[str, str]:
    return {str(name): str(sha256) for name, sha256 in connection.execute(_READ_APPLIED)}


def _create_table(connection: psycopg.Connection) -> None:
    try:
        # "if not exists" would ask for a right on the database that an owner of an existing
        # schema need not have.
        if connection.execute(_HAS_SCHEMA).fetchone() != (True,):
            connection.execute(_CREATE_SCHEMA)
        connection.execute(_CREATE_TABLE)
    except pg_errors.InsufficientPrivilege as error:
        raise MigrationError(
            f"user {connection.info.user} may not create the schema in database "
            f"{connection.info.dbname}; migrate as its owner, or grant create on it"
        ) from error


def _require_server(connection: psycopg.Connection) -> None:
    version = connection.info.server_version
    if version < _MIN_SERVER:
        raise MigrationError(
            f"the server is PostgreSQL {version // 10000}, at least {_MIN_SERVER // 10000} is "
            "needed; upgrade it"
        )


def _require_vector(connection: psycopg.Connection) -> None:
    row = connection.execute(_VECTOR_VERSIONS).fetchone()
    installed, available = row if row is not None else (None, None)
    needed = ".".join(str(part) for part in _MIN_VECTOR)
    if installed is None and available is None:
        raise MigrationError(
            f"the server has no extension vector; install pgvector >= {needed} for PostgreSQL "
            f"{connection.info.server_version // 10000} on it"
        )
    if _version(installed or available) < _MIN_VECTOR:
        can_update = available is not None and _version(available) >= _MIN_VECTOR
        remedy = "run: alter extension vector update" if can_update else "install a newer pgvector"
        raise MigrationError(
            f"the extension vector is {installed or available}, at least {needed} is needed; "
            f"{remedy}"
        )
    if installed is None:
        try:
            connection.execute(_CREATE_VECTOR)
        except pg_errors.InsufficientPrivilege as error:
            raise MigrationError(
                f"user {connection.info.user} may not create the extension vector in database "
                f"{connection.info.dbname}; run as a superuser: create extension vector"
            ) from error


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))
