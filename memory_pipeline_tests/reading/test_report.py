"""A whole memory in one value: everything the page shows, read without a query per fact."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.postgres import Database, RowConnection
from memory_pipeline.domain.fact import FactStatus
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.report import read_report
from memory_pipeline.reading.scope import NotFoundError
from memory_pipeline.report.page import render_page
from memory_pipeline_tests.reading.histories import (
    ANN,
    BOB,
    HISTORY,
    Fact,
    Line,
    as_owner,
    day,
    remember,
    store,
)
from memory_pipeline_tests.reading.test_lists import METRIC, REVOKED, UNSURE

NOW = datetime(2025, 1, 1, tzinfo=UTC)

ADD_PROFILE = """
insert into memory.profiles
    (tenant_id, generation_id, entity_id, text, citations, grounding, retired_at)
select e.tenant_id, e.generation_id, e.entity_id, %s, %s, 'test', %s
from memory.entities e where e.tenant_id = %s and e.name = %s
"""


class CountingDatabase(Database):
    """Counts transactions, each of which is one round trip of reads."""

    transactions = 0

    @contextmanager
    def tenant_pipeline(
        self, tenant_id: TenantId, *, is_fold: bool = False
    ) -> Iterator[RowConnection]:
        self.transactions += 1
        with super().tenant_pipeline(tenant_id, is_fold=is_fold) as connection:
            yield connection


def test_a_report_holds_every_version_with_its_status_at_the_instant(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    found = read_report(database, ANN, valid_at=NOW)
    statuses = {(row.object, row.status) for row in found.facts if row.known_until is None}
    assert ("berlin", FactStatus.SUPERSEDED) in statuses
    assert ("porto", FactStatus.LIVE) in statuses
    assert ("a boat", FactStatus.ENDED) in statuses
    before = read_report(database, ANN, valid_at=day("2024-02-01"))
    assert ("porto", FactStatus.FUTURE) in {(row.object, row.status) for row in before.facts}


def test_the_head_says_how_far_the_memory_reaches(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    head = read_report(database, ANN, valid_at=NOW).head
    assert (head.generation, head.folded, head.episodes, head.messages) == (1, 6, 6, 6)
    assert (head.first_at, head.newest_at) == (day("2024-01-10"), day("2024-08-01"))
    assert head.recipe_id is not None


def test_a_report_names_the_recipe_that_is_live(database: Database) -> None:
    remember(database, ANN, HISTORY[0])
    found = read_report(database, ANN)
    assert found.recipe is not None
    assert found.recipe.recipe_id == found.head.recipe_id


def test_a_report_before_the_first_run_has_a_head_and_nothing_else(database: Database) -> None:
    store(database, ANN, HISTORY)
    found = read_report(database, ANN)
    assert (found.head.generation, found.head.folded, found.head.episodes) == (None, 0, 6)
    assert (found.recipe, found.facts, found.profiles) == (None, (), ())
    assert found.ledger.messages == {"pending": 6}


def test_profiles_come_with_the_facts_they_cite_and_without_the_retired(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, *HISTORY)
    cited = [str(uuid4()), str(uuid4())]
    spans = [{"from": 0, "to": 9, "facts": [cited[1], cited[0]]}, {"facts": cited}]
    as_owner(database_url, ADD_PROFILE, "Lives in Porto.", Jsonb(spans), None, ANN, "user")
    as_owner(database_url, ADD_PROFILE, "A place.", Jsonb([]), None, ANN, "porto")
    as_owner(database_url, ADD_PROFILE, "Gone.", Jsonb([]), NOW, ANN, "berlin")
    profiles = read_report(database, ANN).profiles
    assert [(p.entity, p.text) for p in profiles] == [
        ("user", "Lives in Porto."),
        ("porto", "A place."),
    ]
    assert [str(each) for each in profiles[0].cited] == [cited[1], cited[0]]


def test_instructions_and_open_points_are_there_in_every_state(database: Database) -> None:
    remember(database, ANN, METRIC, REVOKED, UNSURE)
    found = read_report(database, ANN)
    assert [order.is_active for order in found.instructions] == [False]
    assert [point.about for point in found.uncertainties] == ["where the user works"]


def test_a_report_shows_nothing_of_another_tenant(database: Database) -> None:
    remember(database, ANN, *HISTORY)
    remember(database, BOB, Line("2024-01-10", "I like tea.", (Fact("likes", "tea"),)))
    found = read_report(database, BOB)
    assert {row.object for row in found.facts} == {"tea"}
    assert found.head.messages == 1
    assert "porto" not in render_page(found)


def test_reading_takes_as_many_round_trips_for_many_facts_as_for_one(
    database: Database, database_url: str
) -> None:
    many = [
        Line(f"2024-03-{n:02}", f"I like thing {n}.", (Fact("likes", f"thing {n}"),))
        for n in range(1, 25)
    ]
    remember(database, ANN, *many)
    remember(database, BOB, HISTORY[0])
    counting = CountingDatabase(database_url, max_connections=1)
    trips = []
    for tenant_id in (ANN, BOB):
        counting.transactions = 0
        read_report(counting, tenant_id)
        trips.append(counting.transactions)
    counting.close()
    assert trips[0] == trips[1] <= 10


def test_a_memory_that_moves_while_it_is_read_is_read_again(
    database: Database, database_url: str
) -> None:
    remember(database, ANN, HISTORY[0])

    class Moving(Database):
        """Bumps the memory's version after each of the first reads."""

        moves = 3

        @contextmanager
        def tenant_pipeline(
            self, tenant_id: TenantId, *, is_fold: bool = False
        ) -> Iterator[RowConnection]:
            with super().tenant_pipeline(tenant_id, is_fold=is_fold) as connection:
                yield connection
            if self.moves:
                self.moves -= 1
                as_owner(database_url, "update memory.generations set version = version + 1")

    moving = Moving(database_url, max_connections=1)
    assert read_report(moving, ANN).is_settled
    moving.moves = 1000
    assert not read_report(moving, ANN).is_settled
    moving.close()


def test_an_unknown_tenant_is_an_error_that_says_what_to_do(database: Database) -> None:
    with pytest.raises(NotFoundError, match="import its history first"):
        read_report(database, TenantId("nobody"))


def test_the_same_memory_gives_the_same_page(database: Database) -> None:
    remember(database, ANN, *HISTORY, METRIC, UNSURE)
    pages = [render_page(read_report(database, ANN, valid_at=NOW)) for _ in range(2)]
    assert pages[0] == pages[1]
    assert all(name in pages[0] for name in ("berlin", "porto", "apex", "hiking", "a boat"))
