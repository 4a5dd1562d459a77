"""How often one episode waits for the database, whatever it says.

Belongs here: round trips by step, counted at the protocol. Does not: what the steps do.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.crashes.histories import import_episodes, rich_workshop
from memory_pipeline_tests.crashes.wire import traced
from memory_pipeline_tests.scripted import (
    ScriptedExtractor,
    daily,
    fold_all,
    import_history,
    scripted_workshop,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="libpq traces on Linux only")

TENANT = TenantId("ann")
KNOWN = (
    "works at: halden; halden / has office in: leeds; owns: rex; owns: volvo; lives in: porto",
    "plays: cello; likes: tea; speaks: dutch",
)
ONE_CLAIM = ("works at: brightwell",)
"""Names something new and ends a link: every step of a fold is needed."""
TWELVE_CLAIMS = (
    "works at: brightwell; owns: rex until 2024-01-02; owns: volvo until 2024-01-02",
    "lives in: leeds; is friend of: robert smith; plays: cello; likes: coffee; speaks: danish",
    "has job title: lead; works at: kestrel; robert smith / lives in: porto; likes: long walks",
)
KNOWN_THINGS = ("owns: rex; likes: tea",)
"""Names nothing new and ends nothing."""


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=1)
    yield database
    database.close()


def _walk(walk: TenantWalk) -> Generator[WalkedEpisode, None, None]:
    yield from walk.walk()


@contextmanager
def walk_behind(
    database: Database, known: tuple[str, ...], said: tuple[str, ...]
) -> Iterator[Iterator[WalkedEpisode]]:
    """A walk that has brought and folded what is known and will bring what is said next."""
    import_episodes(database, TENANT, (known, said))
    with closing(_walk(TenantWalk(rich_workshop(database, TENANT), TENANT))) as walk:
        assert fold_episode(database, next(walk)) is not None
        yield walk


def turns_of_fold(database: Database, trace: Path, said: tuple[str, ...]) -> tuple[int, int]:
    """Round trips of the plan and of the write of one episode behind the known ones."""
    with walk_behind(database, KNOWN, said) as walk, traced(database, trace) as wire:
        walked = next(walk)
        wire.turns()
        walked.plan()
        planning = wire.turns()
        folded = fold_episode(database, walked)
        writing = wire.turns() - planning
    assert folded is not None
    outcomes = folded.counts["facts"]["outcomes"]
    if said == TWELVE_CLAIMS:
        assert sum(outcomes.values()) == 12
        assert outcomes["closed"] == 2
        assert set(folded.counts["facts"]["ended"]) == {"superseded", "ended", "cascade"}
        assert folded.counts["judged_claims"]["pairs"] > 5
    return planning, writing


@pytest.mark.parametrize("said", [ONE_CLAIM, TWELVE_CLAIMS])
def test_a_fold_waits_five_times_for_any_number_of_claims(
    database: Database, tmp_path: Path, said: tuple[str, ...]
) -> None:
    # Names, their neighbours, the claims' neighbourhood, links, and all of the write at once.
    assert turns_of_fold(database, tmp_path / "trace", said) == (4, 1)


def test_a_fold_that_names_nothing_new_and_ends_nothing_waits_three_times(
    database: Database, tmp_path: Path
) -> None:
    assert turns_of_fold(database, tmp_path / "trace", KNOWN_THINGS) == (2, 1)


def test_a_fold_without_claims_waits_twice(database: Database, tmp_path: Path) -> None:
    assert turns_of_fold(database, tmp_path / "trace", ("what now?",)) == (1, 1)


def test_a_walk_waits_once_for_an_episode_that_it_has_taken(
    database: Database, tmp_path: Path
) -> None:
    # What the extraction is shown; what it gave is kept with the fold's first read, and episodes
    # are taken many at once.
    with (
        walk_behind(database, KNOWN, TWELVE_CLAIMS) as walk,
        traced(database, tmp_path / "trace") as wire,
    ):
        next(walk)
        assert wire.turns() == 1


def test_an_episode_waits_six_times_at_most_keeping_its_extraction_included(
    database: Database, tmp_path: Path
) -> None:
    with (
        walk_behind(database, KNOWN, TWELVE_CLAIMS) as walk,
        traced(database, tmp_path / "trace") as wire,
    ):
        walked = next(walk)
        assert fold_episode(database, walked) is not None
        assert wire.turns() == 6


def test_where_more_is_known_than_is_shown_a_walk_waits_once_as_well_from_its_second_episode_on(
    database: Database, tmp_path: Path
) -> None:
    import_history(
        database, daily("owns: rex; owns: volvo; likes: tea", *3 * ("likes: tea",)), TENANT
    )
    extractor, few = ScriptedExtractor(), {"known_facts": 2, "known_entities": 2}
    workshop = scripted_workshop(database, extractor, TENANT, few)
    assert fold_all(workshop, TENANT, (1, 2)) == [1, 2]
    with (
        closing(_walk(TenantWalk(workshop, TENANT))) as walk,
        traced(database, tmp_path / "trace") as wire,
    ):
        assert fold_episode(database, next(walk)) is not None
        wire.turns()
        next(walk)
        assert wire.turns() == 1
    assert [len(known.facts) for _, known in extractor.seen[-2:]] == [2, 2]


def test_statements_that_go_alone_are_counted_one_by_one(
    database: Database, tmp_path: Path
) -> None:
    with traced(database, tmp_path / "trace") as wire:
        with database.operator() as connection:
            wire.turns()
            for _ in range(3):
                connection.execute("select 1")
            assert wire.turns() == 3
        with database.tenant_pipeline(TENANT) as connection:
            wire.turns()
            for _ in range(3):
                connection.execute("select 1")
        assert wire.turns() == 1
