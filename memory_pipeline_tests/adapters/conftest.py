"""What tests of the adapters share: the database of a test, opened as production opens it.

Belongs here: fixtures that many modules need as they are. Does not: a memory to begin with.
"""

from collections.abc import Iterator

import pytest

from memory_pipeline.adapters.postgres import Database


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """An empty database with the schema applied."""
    database = Database(database_url)
    yield database
    database.close()
