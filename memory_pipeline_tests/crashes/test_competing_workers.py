"""Processes that walk the same open episodes at once: each is folded once, refusals have names.

Belongs here: concurrency of whole walks (spec W1, W5). Does not: kills, stale plans in detail.
"""

from __future__ import annotations

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.digest import digest
from memory_pipeline_tests.crashes.histories import (
    RICH_HISTORY,
    import_episodes,
    rich_workshop,
)
from memory_pipeline_tests.crashes.test_random_kills import working_life
from memory_pipeline_tests.crashes.worker import Job
from memory_pipeline_tests.crashes.workers import Workers, broken_rules, locks_left
from memory_pipeline_tests.scripted import fold_all, scalar

HISTORY = (*RICH_HISTORY, *working_life(7))
REFUSALS = {"OutOfOrderError", "StalePlanError"}


def compete(
    workers: Workers, database: Database, processes: int, tenants: tuple[str, ...]
) -> list[dict[str, int]]:
    """Let so many processes walk these tenants, each in another order; the refusals of each."""
    for tenant in ("whole", *tenants):
        import_episodes(database, TenantId(tenant), HISTORY)
    whole = TenantId("whole")
    fold_all(rich_workshop(database, whole), whole)
    database.close()
    places = [number % len(tenants) for number in range(processes)]
    jobs = [Job(tenants=tenants[p:] + tenants[:p], competes=True) for p in places]
    ended = workers.run(database.url, *jobs)
    assert [(e.signal, e.exit_code, e.error) for e in ended] == [(0, 0, "")] * processes
    assert locks_left(database.url) == 0
    for tenant in map(TenantId, tenants):
        folded = [ordinal for e in ended for ordinal in e.folded[tenant]]
        assert sorted(folded) == list(range(1, len(HISTORY) + 1))
        assert digest(database, tenant) == digest(database, whole)
        assert broken_rules(database, tenant) == []
    assert {name for e in ended for name in e.refusals} <= REFUSALS
    assert scalar(database.url, _DEADLOCKS) == 0
    return [e.refusals for e in ended]


_DEADLOCKS = "select deadlocks from pg_stat_database where datname = current_database()"


def test_four_processes_on_one_tenant_fold_each_episode_once(
    workers: Workers, database: Database
) -> None:
    compete(workers, database, 4, ("one",))


def test_four_processes_on_three_tenants_fold_each_episode_once(
    workers: Workers, database: Database
) -> None:
    compete(workers, database, 4, ("one", "two", "three"))


@pytest.mark.long
def test_sixteen_processes_on_one_tenant_fold_each_episode_once(
    workers: Workers, database: Database
) -> None:
    compete(workers, database, 16, ("one",))


@pytest.mark.long
def test_sixteen_processes_on_eight_tenants_fold_each_episode_once(
    workers: Workers, database: Database
) -> None:
    compete(workers, database, 16, tuple(f"tenant {n}" for n in range(8)))
