"""Fixtures of the reading tests: an open database."""

from collections.abc import Iterator

import pytest

from memory_pipeline.adapters.postgres import Database


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """The pool over this test's database."""
    database = Database(database_url, max_connections=2)
    yield database
    database.close()
