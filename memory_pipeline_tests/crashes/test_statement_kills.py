"""A worker killed at any boundary between statements leaves the whole episode or nothing of it.

Belongs here: kill -9 at chosen statements of an episode that changes memory in every way (spec
W1, W5). Does not: kills at random instants (test_random_kills).
"""

from __future__ import annotations

import signal
from collections.abc import Sequence

import pytest

from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.digest import digest
from memory_pipeline_tests.crashes.histories import (
    RICH,
    RICH_HISTORY,
    import_episodes,
    rich_workshop,
)
from memory_pipeline_tests.crashes.worker import Job
from memory_pipeline_tests.crashes.workers import Workers, broken_rules, locks_left
from memory_pipeline_tests.scripted import fold_all, scalar

EARLIER = tuple(range(1, RICH))
LATER = tuple(range(RICH + 1, len(RICH_HISTORY) + 1))
KINDS = {
    "insert_entity", "insert_alias", "touch_entity", "bump_dirty", "close_version", "insert_fact",
    "insert_version", "insert_evidence", "insert_outcome", "insert_message_outcome",
    "yield_to_twins", "insert_judgement", "close_instruction", "insert_instruction",
    "insert_uncertainty", "resolve_uncertainties", "upsert_stage_outputs", "insert_fold",
    "finish_episode",
}  # fmt: skip
"""Every statement of the write."""


def job(tenant: str, killed_behind: int | None = None) -> Job:
    return Job(tenants=(tenant,), before=EARLIER, ordinals=(RICH,), killed_behind=killed_behind)


def undisturbed_digests(database: Database) -> tuple[str, str, str]:
    """Digests before and behind the rich episode, and of the whole history."""
    tenant = TenantId("whole")
    import_episodes(database, tenant)
    workshop = rich_workshop(database, tenant)
    found = []
    for ordinals in (EARLIER, (RICH,), LATER):
        assert tuple(fold_all(workshop, tenant, ordinals)) == ordinals
        found.append(digest(database, tenant))
    database.close()
    return found[0], found[1], found[2]


def statements_of_one_episode(workers: Workers, database: Database) -> tuple[str, ...]:
    """Names of the statements of the rich episode, its write among them."""
    import_episodes(database, TenantId("counted"))
    database.close()
    (ended,) = workers.run(database.url, job("counted"))
    assert (ended.signal, ended.exit_code, ended.error) == (0, 0, "")
    return ended.statements


def kill_behind(
    workers: Workers, database: Database, statements: Sequence[str], boundaries: Sequence[int]
) -> None:
    """Kill a worker at each boundary and look at what it leaves; then let another finish."""
    before, behind, whole = undisturbed_digests(database)
    committed = statements.index("commit", statements.index("insert_fold")) + 1
    for boundary in boundaries:
        tenant = TenantId(f"killed-behind-{boundary}")
        import_episodes(database, tenant)
        database.close()
        (ended,) = workers.run(database.url, job(tenant, boundary))
        assert ended.signal == signal.SIGKILL
        assert locks_left(database.url) == 0
        found = digest(database, tenant)
        assert found == (behind if boundary >= committed else before), statements[boundary - 1]
        assert broken_rules(database, tenant) == []
        (again,) = workers.run(database.url, Job(tenants=(tenant,)))
        assert again.folded[tenant] == (LATER if boundary >= committed else (RICH, *LATER))
        assert digest(database, tenant) == whole
        assert broken_rules(database, tenant) == []
        assert dirt(database.url, tenant) == dirt(database.url, "whole")


def dirt(url: str, tenant: str) -> object:
    """How often each entity's profile was made out of date, which no digest holds."""
    return scalar(
        url,
        "select array_agg(e.name || ' ' || d.bumps order by e.name, e.type)"
        " from memory.dirty_entities d join memory.entities e using (tenant_id, entity_id)"
        " where d.tenant_id = %s",
        [tenant],
    )


def test_the_rich_episode_runs_every_statement_of_the_write(
    workers: Workers, database: Database
) -> None:
    assert set(statements_of_one_episode(workers, database)) >= KINDS


def test_a_worker_killed_between_statements_leaves_no_half_episode_and_no_lock(
    workers: Workers, database: Database
) -> None:
    statements = statements_of_one_episode(workers, database)
    commit = statements.index("commit", statements.index("insert_fold"))
    claim = statements.index("claim_version")
    spread = range(claim + 1, commit, max(1, (commit - claim) // 5))
    chosen = {0, claim, *spread, commit, commit + 1, len(statements)}
    kill_behind(workers, database, statements, sorted(chosen))


@pytest.mark.long
def test_a_worker_killed_at_every_statement_leaves_no_half_episode_and_no_lock(
    workers: Workers, database: Database
) -> None:
    statements = statements_of_one_episode(workers, database)
    kill_behind(workers, database, statements, range(len(statements) + 1))
