"""One process at a time at one work on one tenant: waiting, giving up, and what sets it free."""

from __future__ import annotations

import psycopg
import pytest

from memory_pipeline.adapters.work_lock import TenantBusyError, hold_work_lock
from memory_pipeline.domain.ids import TenantId

ANN, BOB = TenantId("ann"), TenantId("bob")
_END_HOLDERS = (
    "select pg_terminate_backend(pid) from pg_stat_activity "
    "where datname = current_database() and application_name like 'memory-pipeline walk%'"
)


def test_a_second_one_is_told_who_is_at_work_and_gives_up(database_url: str) -> None:
    told: list[str] = []
    with (
        hold_work_lock(database_url, ANN, "walk"),
        pytest.raises(TenantBusyError, match=r"tenant ann .*memory-pipeline walk, process \d+ on"),
        hold_work_lock(database_url, ANN, "walk", wait_seconds=0.3, on_wait=told.append),
    ):
        pytest.fail("two at once")
    (line,) = told
    assert line.startswith("waiting for tenant ann: memory-pipeline walk, process")


def test_another_tenant_and_another_work_are_free(database_url: str) -> None:
    with (
        hold_work_lock(database_url, ANN, "walk"),
        hold_work_lock(database_url, BOB, "walk", wait_seconds=0),
        hold_work_lock(database_url, ANN, "summaries", wait_seconds=0),
    ):
        pass


def test_the_end_of_the_block_and_of_the_session_set_it_free(database_url: str) -> None:
    with hold_work_lock(database_url, ANN, "walk"):
        pass
    with hold_work_lock(database_url, ANN, "walk", wait_seconds=0):
        with psycopg.connect(database_url, autocommit=True) as owner:
            owner.execute(_END_HOLDERS)
        with hold_work_lock(database_url, ANN, "walk", wait_seconds=5):
            pass
