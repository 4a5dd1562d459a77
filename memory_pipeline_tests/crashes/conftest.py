"""Fixtures of the crash tests: the process that forks workers, and the database they meet in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline_tests.crashes.workers import Workers


@pytest.fixture(scope="session")
def workers() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=2)
    yield database
    database.close()
