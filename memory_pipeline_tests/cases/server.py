"""Where the cases' rows go: a database of their own that is gone afterwards.

Belongs here: the throw-away database, on the given server or an embedded one.
Does not: anything a case says.
"""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from memory_pipeline.adapters.embedded_postgres import EmbeddedPostgres
from memory_pipeline.adapters.environment import database_url
from memory_pipeline.adapters.migrations import migrate
from memory_pipeline.adapters.queries import migrations_folder

_UNSAFE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@contextmanager
def throw_away_database() -> Iterator[str]:
    """The URL of an empty database with the schema applied, on MEMORY_DATABASE_URL's server.

    Without that variable an embedded server runs in a temporary folder while the block does.
    Where the given role may not create databases, the given database itself is used: its rows
    stay, in tenants that nobody else has.
    """
    given = database_url()
    if given is not None:
        with _database_on(given) as url:
            yield url
        return
    with tempfile.TemporaryDirectory(prefix="memory_pipeline_cases-") as folder:
        # As root the server runs under another account, which must pass through.
        Path(folder).chmod(0o711)
        postgres = EmbeddedPostgres(Path(folder) / "home", settings=_UNSAFE)
        try:
            with _database_on(postgres.ensure().url("postgres")) as url:
                yield url
        finally:
            postgres.stop()


@contextmanager
def _database_on(url: str) -> Iterator[str]:
    name = f"memory_cases_{uuid.uuid4().hex[:12]}"
    identifier = sql.Identifier(name)
    with psycopg.connect(url, autocommit=True) as admin:
        try:
            admin.execute(sql.SQL("create database {} template template0").format(identifier))
        except psycopg.errors.InsufficientPrivilege:
            migrate(url, migrations_folder())
            yield url
            return
        own = make_conninfo(url, dbname=name)
        try:
            migrate(own, migrations_folder())
            yield own
        finally:
            admin.execute(sql.SQL("drop database {} with (force)").format(identifier))
