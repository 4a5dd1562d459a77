"""Fixtures shared by all tests: one PostgreSQL server per test run, one database per test.

Belongs here: the server of the run, the migrated template, databases copied from it.
Does not: data, doubles and builders, which live beside the tests that use them.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from hypothesis import settings
from psycopg import sql

from memory_pipeline.adapters.embedded_postgres import (
    EmbeddedPostgres,
    EmbeddedPostgresError,
    Server,
)
from memory_pipeline.adapters.migrations import migrate

MIGRATIONS = Path(__file__).parents[1] / "sql" / "migrations"
TEMPLATE = "memory_template"
_RUN_DIR = "MEMORY_PIPELINE_TEST_RUN_DIR"
_PREFIX = "memory_pipeline_tests-"
_ROOMY_BYTES = 4_000_000_000

# A loaded machine is no reason to fail; what takes too long shows in the durations.
# The same examples every time, so that a change is blamed for what it broke; `make test-long`
# looks for new ones.
settings.register_profile("memory_pipeline", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile("memory_pipeline")


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder of this run, before any worker inherits the environment."""
    if _is_controller(config):
        _remove_leftovers()
        run_dir = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=_scratch_dir()))
        # As root the server runs under another account, which must pass through.
        run_dir.chmod(0o711)
        os.environ[_RUN_DIR] = str(run_dir)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server, if any test started it, after the last worker has ended."""
    if _is_controller(config) and _RUN_DIR in os.environ:
        _remove_run(Path(os.environ.pop(_RUN_DIR)))


@pytest.fixture(scope="session")
def scratch_dir() -> Path:
    """A folder for the temporary folders of servers, in memory where there is room."""
    return _scratch_dir()


@pytest.fixture(scope="session")
def postgres_server() -> Server:
    """The server of this run, shared by all workers; the first to need it starts it."""
    # Nobody needs these rows after a crash of the machine.
    unsafe = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    return EmbeddedPostgres(Path(os.environ[_RUN_DIR]), settings=unsafe).ensure()


@pytest.fixture(scope="session")
def template_database(postgres_server: Server) -> str:
    """The name of a database with the schema applied; made by the first worker that asks."""
    with (
        (Path(os.environ[_RUN_DIR]) / "template.lock").open("w") as lock,
        psycopg.connect(postgres_server.url("postgres"), autocommit=True) as admin,
    ):
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = admin.execute("select 1 from pg_database where datname = %s", [TEMPLATE])
        if found.fetchone() is None:
            draft = f"{TEMPLATE}_draft"
            _execute(admin, "drop database if exists {}", draft)
            _execute(admin, "create database {}", draft)
            migrate(postgres_server.url(draft), MIGRATIONS)
            _execute(admin, "alter database {} rename to {}", draft, TEMPLATE)
    return TEMPLATE


@pytest.fixture
def database_url(postgres_server: Server, template_database: str) -> Iterator[str]:
    """The URL of a database of this test alone, with the schema applied and no rows."""
    yield from _temporary_database(postgres_server, template_database)


@pytest.fixture
def empty_database_url(postgres_server: Server) -> Iterator[str]:
    """The URL of a database of this test alone, without any schema."""
    yield from _temporary_database(postgres_server, "template1")


def _temporary_database(server: Server, template: str) -> Iterator[str]:
    name = f"test_{uuid.uuid4().hex[:16]}"
    with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
        _execute(admin, "create database {} template {}", name, template)
    yield server.url(name)
    with psycopg.connect(server.url("postgres"), autocommit=True) as admin:
        _execute(admin, "drop database {} with (force)", name)


def _execute(admin: psycopg.Connection, statement: str, *names: str) -> None:
    text = statement.format(*(sql.Identifier(name).as_string() for name in names))
    admin.execute(text.encode())


def _is_controller(config: pytest.Config) -> bool:
    return not hasattr(config, "workerinput")


def _scratch_dir() -> Path:
    in_memory = Path("/dev/shm")  # noqa: S108 -- every folder made in it has a name of its own
    if in_memory.is_dir() and os.access(in_memory, os.W_OK):
        # Some tests run programs from their folder, which containers often forbid here.
        can_run = not os.statvfs(in_memory).f_flag & getattr(os, "ST_NOEXEC", 0)
        if can_run and shutil.disk_usage(in_memory).free > _ROOMY_BYTES:
            return in_memory
    return Path(tempfile.gettempdir())


def _remove_run(run_dir: Path) -> None:
    EmbeddedPostgres(run_dir).stop()
    shutil.rmtree(run_dir, ignore_errors=True)


def _remove_leftovers() -> None:
    """Clear away the runs of our own user whose controller was killed."""
    for run_dir in _scratch_dir().glob(f"{_PREFIX}*"):
        controller = run_dir.name.removeprefix(_PREFIX).partition("-")[0]
        # Another run may be clearing away the same folder.
        with contextlib.suppress(FileNotFoundError, EmbeddedPostgresError):
            is_ours = run_dir.stat().st_uid == os.geteuid()
            if is_ours and controller.isdigit() and not _is_running(int(controller)):
                _remove_run(run_dir)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
