"""What runs need: Dagster's own storage, empty or with its tables made, memory and a model server.

A file that needs memory or an instance in another state has a fixture of that name of its own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from dagster import DagsterInstance
from psycopg import sql

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.embedded_postgres import Server
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.defs import resources
from memory_pipeline.defs.dagster_storage import PooledStorage
from memory_pipeline_tests.defs.model_walks import AimedServer, configure, spoken

POOLED_STORAGE = """
storage:
  custom:
    module: memory_pipeline.defs.dagster_storage
    class: PooledStorage
    config: {{postgres_url: "{url}"}}
telemetry: {{enabled: false}}
"""


@contextmanager
def _database(server: Server, template: str) -> Iterator[str]:
    name = f"dagster_{uuid4().hex}"
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        create = sql.SQL("create database {} template {}")
        connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
    try:
        yield name
    finally:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            drop = sql.SQL("drop database {} with (force)")
            connection.execute(drop.format(sql.Identifier(name)))


@pytest.fixture
def dagster_database_url(empty_database_url: str) -> str:
    """The libpq URL of an empty database, to be filled by Dagster's storage or by locks."""
    return empty_database_url


@pytest.fixture(scope="session")
def _database_with_tables(postgres_server: Server) -> Iterator[str]:
    with _database(postgres_server, template="template1") as name:
        PooledStorage(postgres_server.url(name)).event_log_storage.dispose()
        yield name


@pytest.fixture
def dagster_instance(
    postgres_server: Server, _database_with_tables: str, tmp_path: Path
) -> Iterator[DagsterInstance]:
    """An instance on a fresh database of its own, behind the storage class of the project."""
    with _database(postgres_server, template=_database_with_tables) as name:
        config = POOLED_STORAGE.format(url=postgres_server.url(name))
        (tmp_path / "dagster.yaml").write_text(config)
        with DagsterInstance.from_config(str(tmp_path)) as instance:
            yield instance


@pytest.fixture
def database(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """The memory that runs write to, empty."""
    monkeypatch.setenv(environment.DATABASE_URL, database_url)
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "500")
    database = resources.memory_database()
    yield database
    database.close()


@pytest.fixture
def instance(database: Database, dagster_instance: DagsterInstance) -> DagsterInstance:
    """An instance whose runs write to that memory."""
    return dagster_instance


@pytest.fixture
def server(database: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[AimedServer]:
    """The configured model, which reads `predicate: object` off the user's lines."""
    with AimedServer(spoken) as server:
        configure(monkeypatch, server, strong=False)
        yield server
