"""The database of these tests: one for each module, since every example has a tenant of its own."""

import uuid
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest
from psycopg import sql

from memory_pipeline.adapters.embedded_postgres import Server
from memory_pipeline.adapters.postgres import Database
from memory_pipeline_tests.properties.histories import THINGS, Candidate, Episode, History
from memory_pipeline_tests.properties.running import Tenant, folded_tenant


@pytest.fixture(scope="module")
def memory(postgres_server: Server, template_database: str) -> Iterator[Database]:
    """A database with the schema applied and no rows, shared by the module's examples."""
    name = f"properties_{uuid.uuid4().hex[:16]}"
    named = {"name": sql.Identifier(name), "template": sql.Identifier(template_database)}
    create = sql.SQL("create database {name} template {template}").format(**named)
    drop = sql.SQL("drop database {name} with (force)").format(**named)
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as admin:
        admin.execute(create)
    with closing(Database(postgres_server.url(name))) as database:
        yield database
    with psycopg.connect(postgres_server.url("postgres"), autocommit=True) as admin:
        admin.execute(drop)


@pytest.fixture(scope="module")
def bystander(memory: Database) -> Tenant:
    """Another tenant of the database, with a memory that no example may touch."""
    user = tuple(Candidate("user", "likes", thing) for thing in THINGS)
    ending = (Candidate("user", "likes", "acme", valid_until="2024-02-01"),)
    return folded_tenant(memory, History((Episode(0, 0, user), Episode(2, 0, ending))))
