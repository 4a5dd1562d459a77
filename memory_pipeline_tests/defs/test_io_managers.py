"""The fold of one episode as the IO manager does it: its counts, and what others did before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import psycopg
import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stored_models import CallCounts, StoredChatModel
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.stages.walk import FoldPlan
from memory_pipeline_tests.scripted import (
    TENANT,
    ScriptedExtractor,
    daily,
    fold_all,
    import_history,
    memory_content,
    scalar,
    scripted_workshop,
)


@dataclass
class Calls:
    """Stands for a model whose calls are counted."""

    counts: CallCounts


@dataclass(frozen=True)
class JudgedOnce(WalkedEpisode):
    """Each plan asks the judge: the first by a call, later ones find the answer stored."""

    after_plan: Callable[[], None] = lambda: None

    def plan(self, earlier_survivors: frozenset[str] = frozenset()) -> FoldPlan:
        calls = cast(Calls, self.calls)
        is_first = not earlier_survivors
        calls.counts += CallCounts(misses=1) if is_first else CallCounts(hits=1)
        made = super().plan(earlier_survivors)
        if is_first:
            self.after_plan()
        return made


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url, max_connections=2)
    import_history(database, daily("works at: acme; likes: tea"))
    yield database
    database.close()


def judged_once(database: Database, after_plan: Callable[[], None]) -> JudgedOnce:
    workshop = scripted_workshop(database, ScriptedExtractor())
    for walked in TenantWalk(workshop, TENANT).walk():
        counted = replace(walked, calls=cast(StoredChatModel, Calls(CallCounts(misses=40))))
        break
    return JudgedOnce(**vars(counted), after_plan=after_plan)


def test_an_episode_counts_the_calls_of_the_plan_that_was_written(
    database: Database, database_url: str
) -> None:
    def move() -> None:
        with psycopg.connect(database_url) as other:
            other.execute("update memory.generations set version = version + 1")

    undisturbed = judged_once(database, lambda: None)
    remade = judged_once(database, move)
    folded = fold_episode(database, remade)
    assert folded is not None
    judged = folded.counts["judged_claims"]
    assert (judged["model_calls"], judged["cache_hits"]) == (0, 1)
    stored = "select counts -> 'judged_claims' -> 'cache_hits' from memory.folds"
    assert scalar(database_url, stored) == 1
    assert fold_episode(database, undisturbed) is None


def test_an_episode_that_another_process_folded_after_the_plan_gives_nothing(
    database: Database, database_url: str
) -> None:
    workshop = scripted_workshop(database, ScriptedExtractor())
    late = judged_once(database, lambda: _fold_elsewhere(database_url))
    assert fold_episode(database, late) is None
    before = memory_content(database_url)
    assert fold_all(workshop) == []
    assert memory_content(database_url) == before
    assert scalar(database_url, "select count(*) from memory.folds") == 1


def _fold_elsewhere(url: str) -> None:
    other = Database(url)
    assert fold_all(scripted_workshop(other, ScriptedExtractor())) == [1]
    other.close()


def test_a_write_that_fails_alike_every_time_gives_the_episode_up_at_the_cap(
    database: Database, database_url: str
) -> None:
    with psycopg.connect(database_url) as connection:
        connection.execute(
            "alter table memory.facts add constraint no_tea check (statement not like '%tea')"
        )
    workshop = scripted_workshop(database, ScriptedExtractor())
    for attempt in (1, 2, 3):
        with pytest.raises(psycopg.IntegrityError, match="no_tea"):
            fold_all(workshop)
        attempts = "select extraction_attempts from memory.episodes"
        assert scalar(database_url, attempts) == attempt
    assert fold_all(workshop) == [1]
    assert scalar(database_url, "select extraction_status from memory.episodes") == "given_up"
