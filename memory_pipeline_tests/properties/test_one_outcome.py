"""However a history is cut into runs, shared among workers or told again, the memory is one."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.adapters.memory_writer import AlreadyFoldedError, apply_changes
from memory_pipeline.adapters.postgres import Database, execute
from memory_pipeline.reading.digest import digest
from memory_pipeline.stages.walk import FoldPlan
from memory_pipeline_tests.properties.effort import examples
from memory_pipeline_tests.properties.histories import Candidate, Episode, History, histories
from memory_pipeline_tests.properties.observing import checksums
from memory_pipeline_tests.properties.running import Tenant, folded_tenant, new_tenant


def _digest(tenant: Tenant) -> str:
    return digest(tenant.database, tenant.tenant_id)


def _in_pieces(tenant: Tenant, cuts: Sequence[int]) -> None:
    """Import and fold piece by piece, each piece in a run of its own."""
    episodes = tenant.history.episodes
    for first, end in pairwise(sorted({0, *cuts, len(episodes)})):
        tenant.import_episodes(episodes[first:end])
        tenant.fold()


@examples(40)
@given(history=histories(), cuts=st.lists(st.integers(1, 5), max_size=3))
def test_any_split_into_runs_gives_the_digest_of_one_run(
    memory: Database, history: History, cuts: list[int]
) -> None:
    pieces = new_tenant(memory, history)
    _in_pieces(pieces, [cut for cut in cuts if cut < len(history.episodes)])
    assert _digest(pieces) == _digest(folded_tenant(memory, history))


@examples(25)
@given(history=histories(), workers=st.integers(2, 4))
def test_any_number_of_racing_workers_gives_the_digest_of_one(
    memory: Database, bystander: Tenant, history: History, workers: int
) -> None:
    others = checksums(bystander)
    raced = new_tenant(memory, history)
    raced.import_episodes(history.episodes)
    raced.race(workers)
    assert _digest(raced) == _digest(folded_tenant(memory, history))
    assert checksums(bystander) == others


@examples(25)
@given(history=histories(), place=st.integers(0, 5))
def test_a_replay_of_any_episode_is_refused_and_changes_no_row(
    memory: Database, history: History, place: int
) -> None:
    tenant = new_tenant(memory, history)
    tenant.import_episodes(history.episodes)
    walked = tenant.fold()
    before = (_digest(tenant), checksums(tenant))
    again = walked[place % len(walked)].plan()
    with pytest.raises(AlreadyFoldedError):
        apply_changes(memory, again.changes, again.vectors)
    tenant.import_episodes(history.episodes)
    assert tenant.fold() == []
    assert (_digest(tenant), checksums(tenant)) == before


def test_a_connection_serves_on_after_many_refused_writes(memory: Database) -> None:
    likes = Candidate("user", "likes", "acme"), Candidate("user", "likes", "red")
    history = History(tuple(Episode(month, 0, likes) for month in range(4)))
    told = new_tenant(memory, history)
    told.import_episodes(history.episodes[:1])
    (first,) = told.fold()
    with closing(Database(memory.url, max_connections=1)) as database:
        tenant = replace(told, database=database)
        _refuse(tenant, memory, first.plan())
        tenant.import_episodes(history.episodes[1:2])
        assert len(tenant.fold()) == 1
        again = first.plan()
        for _ in range(6):
            _refuse(tenant, memory, again)
        tenant.import_episodes(history.episodes[2:])
        assert len(tenant.fold()) == 2


def _refuse(tenant: Tenant, others: Database, plan: FoldPlan) -> None:
    """Write what is written already, behind another's turn: all its statements are under way."""
    with ThreadPoolExecutor(1) as worker:
        with others.tenant(tenant.tenant_id) as other:
            execute(other, "lock_tenant", {"tenant_id": tenant.tenant_id})
            refused = worker.submit(apply_changes, tenant.database, plan.changes, plan.vectors)
            wait([refused], timeout=0.1)
        assert isinstance(refused.exception(), AlreadyFoldedError)
