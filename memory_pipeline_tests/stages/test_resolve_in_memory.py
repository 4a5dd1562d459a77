"""Names resolved against a real PostgreSQL, episode by episode (spec R1, R4, R5).

Belongs here: what the store must offer for the rules to find. Does not: the rules (test_resolve,
test_alias_rules, test_grouping).
"""

from collections.abc import Iterator

import psycopg
import pytest

from memory_pipeline.adapters.embedding_profiles import adopt_profile
from memory_pipeline.adapters.local_embedder import load_embedder
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID, PROFILES, Embedder
from memory_pipeline.domain.extraction import ExtractedGraph, KnownLists
from memory_pipeline_tests.scripted import (
    ScriptedExtractor,
    daily,
    fold_all,
    import_history,
    scripted_workshop,
)

NEARER = [f"bn{letter}" for letter in "cdfghjklmpqrstvwxyz"]
"""Short names that vectors put before the words that an acronym stands for."""


class PersonExtractor(ScriptedExtractor):
    """The same, every object being a person."""

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """The facts that the user's messages spell out, about persons."""
        graph = super().extract(window, known)
        persons = tuple(e.model_copy(update={"type": "PERSON"}) for e in graph.entities)
        return graph.model_copy(update={"entities": persons})


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A database of this test's own."""
    opened = Database(database_url)
    yield opened
    opened.close()


def _tell(
    database: Database,
    *texts: str,
    extractor: ScriptedExtractor | None = None,
    embedder: Embedder | None = None,
) -> None:
    import_history(database, daily(*texts))
    fold_all(scripted_workshop(database, extractor or ScriptedExtractor(), embedder=embedder))


def _names(database: Database) -> list[str]:
    return _column(database, "select name from memory.entities where name <> 'user' order by name")


def _aliases(database: Database) -> list[str]:
    return _column(
        database, "select alias || ': ' || reason from memory.entity_aliases order by alias"
    )


def _column(database: Database, statement: str) -> list[str]:
    with psycopg.connect(database.url) as connection:
        return [str(row[0]) for row in connection.execute(statement)]


def test_r4_a_merge_is_stored_with_its_reason_and_its_name_found_in_the_next_episode(
    database: Database,
) -> None:
    _tell(database, "works at: halden", "invests in: the halden group", "audits: halden group")
    assert _names(database) == ["halden"]
    assert _aliases(database) == ["halden group: token_subset", "the halden group: token_subset"]


def test_r4_a_folded_spelling_is_found_in_the_next_episode(database: Database) -> None:
    _tell(database, "works at: Café Müller GmbH", "invests in: cafe mueller", "audits: cafe muller")
    assert _names(database) == ["café müller gmbh"]


def test_r4_an_acronym_is_found_among_many_names_that_are_nearer(database: Database) -> None:
    pytest.importorskip("onnxruntime")
    halves = ("; ".join(f"knows: {name}" for name in part) for part in (NEARER[:10], NEARER[10:]))
    _tell(
        database,
        "banks with: bank of new england",
        *halves,
        "likes: bne",
        embedder=load_embedder("local"),
    )
    assert "bne" not in _names(database)


def test_r4_a_full_name_joins_the_first_name_that_memory_holds(database: Database) -> None:
    pytest.importorskip("onnxruntime")
    _tell(
        database,
        "knows: anna",
        "trusts: anna schmidt",
        "trusts: anna mueller",
        extractor=PersonExtractor(),
        embedder=load_embedder("local"),
    )
    assert _names(database) == ["anna", "anna mueller"]


def test_r5_a_walk_uses_the_thresholds_that_were_adopted(database: Database) -> None:
    adopt_profile(database, PROFILES[HASHED_NGRAMS_ID].model_copy(update={"entity_merge": 0.5}))
    _tell(database, "works at: kestrel research", "invests in: kestrel researching")
    assert _names(database) == ["kestrel research"]
