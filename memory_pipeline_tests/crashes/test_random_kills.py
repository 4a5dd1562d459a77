"""Workers that are killed, or whose sessions are ended, at any instant: nothing shows afterwards.

Belongs here: many random ends of a worker that walks a history (spec W1, W5). Does not: chosen
statements (test_statement_kills).
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from typing import Literal

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.digest import digest
from memory_pipeline_tests.crashes.histories import import_episodes
from memory_pipeline_tests.crashes.worker import Ended, Job
from memory_pipeline_tests.crashes.workers import Workers, broken_rules, locks_left

_FIRMS = ("halden", "brightwell", "kestrel")
_PER_TENANT = 2
_WORKING = (0.3, 0.7)
"""The part of an undisturbed worker's time in which it has a session and work to do."""
Disturbance = Literal["kill", "terminate"]


def working_life(episodes: int) -> Iterator[tuple[str, ...]]:
    """Jobs that change, friends and things that come and go, orders given and taken back."""
    for number in range(episodes):
        yield (
            f"works at: {_FIRMS[number % 3]}; likes: dish {number % 6}; drives: volvo",
            (
                "halden / has office in: leeds; is friend of: robert smith; always: be brief",
                f"owns: rex; lives in: porto; unsure: dish {number}",
                f"owns: rex until 2024-01-{number + 1:02d}; no more: be brief",
            )[number % 3],
        )


EPISODES = 27


def disturb(workers: Workers, database: Database, times: int, how: Disturbance) -> tuple[int, int]:
    """End workers of several tenants' walks `times` times in all, each tenant's memory checked.

    Returns how many workers had something to lose, and how many folds were made before the last
    worker of each tenant, which nobody disturbs.
    """
    chance = random.Random(f"{how} {times}")  # noqa: S311 - the same parts of a life each time
    whole = _import(database, "whole")
    started = time.monotonic()
    workers.run(database.url, Job(tenants=(whole,)))
    undisturbed_seconds = time.monotonic() - started
    expected = digest(database, whole)
    hit = folded_before = 0
    for first in range(0, times, _PER_TENANT):
        tenant = _import(database, f"{how}-{first}")
        database.close()
        # Early ends first: they leave work to those that come later. Not before the worker has
        # connected: with no session to end it would do all the work undisturbed.
        for part in sorted(
            chance.uniform(*_WORKING) for _ in range(min(_PER_TENANT, times - first))
        ):
            (ended,) = workers.run(
                database.url,
                Job(tenants=(tenant,)),
                disturb_after=part * undisturbed_seconds,
                disturb=how,
            )
            hit += _was_hit(ended)
            assert locks_left(database.url) == 0
        (last,) = workers.run(database.url, Job(tenants=(tenant,)))
        assert (last.signal, last.exit_code, last.error) == (0, 0, "")
        folded_before += EPISODES - len(last.folded[tenant])
        assert digest(database, tenant) == expected
        assert broken_rules(database, tenant) == []
    return hit, folded_before


def _import(database: Database, name: str) -> TenantId:
    tenant = TenantId(name)
    import_episodes(database, tenant, tuple(working_life(EPISODES)))
    return tenant


def _was_hit(ended: Ended) -> bool:
    assert ended.signal in (0, signal.SIGKILL)
    assert ended.exit_code == 0
    return ended.signal == signal.SIGKILL or ended.error != ""


def test_workers_killed_at_random_instants_leave_the_memory_of_an_undisturbed_one(
    workers: Workers, database: Database
) -> None:
    hit, folded_before = disturb(workers, database, 6, "kill")
    assert hit
    assert folded_before


def test_sessions_ended_at_random_instants_leave_the_memory_of_an_undisturbed_one(
    workers: Workers, database: Database
) -> None:
    hit, folded_before = disturb(workers, database, 6, "terminate")
    assert hit
    assert folded_before


@pytest.mark.long
@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_two_hundred_random_ends_leave_the_memory_of_an_undisturbed_worker(
    workers: Workers, database: Database, how: Disturbance
) -> None:
    hit, folded_before = disturb(workers, database, 200, how)
    assert hit > 50
    assert folded_before
