"""The one write of facts: all or nothing, once, in order, and a pool that survives refusals."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import (
    AlreadyFoldedError,
    LostVersionError,
    OutOfOrderError,
    StalePlanError,
    apply_changes,
)
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.stage_outputs import StageRecord
from memory_pipeline.adapters.tenant_walk import TenantWalk, WalkedEpisode
from memory_pipeline.defs.io_managers import fold_episode
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.walk import FoldPlan
from memory_pipeline_tests.crashes.histories import RICH_HISTORY, import_episodes, rich_workshop
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

HISTORY = ("works at: acme; likes: tea", "works at: globex", "likes: coffee; likes: tea")


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    # One connection, so that a refusal and what follows it meet on the same one.
    database = Database(database_url, max_connections=1)
    import_history(database, daily(*HISTORY))
    yield database
    database.close()


def next_walked(database: Database) -> WalkedEpisode:
    workshop = scripted_workshop(database, ScriptedExtractor())
    return next(TenantWalk(workshop, TENANT).walk())


def apply(database: Database, plan: FoldPlan, **changed: Any) -> None:
    apply_changes(database, plan.changes.model_copy(update=changed), plan.vectors)


def test_a_change_set_writes_facts_evidence_outcomes_and_the_episodes_status(
    database: Database, database_url: str
) -> None:
    apply(database, next_walked(database).plan())
    counts = {
        table: scalar(database_url, f"select count(*) from memory.{table}")  # noqa: S608
        for table in ("folds", "facts", "fact_evidence", "claim_outcomes", "dirty_entities")
    }
    assert counts == {
        "folds": 1, "facts": 2, "fact_evidence": 2, "claim_outcomes": 2, "dirty_entities": 3,
    }  # fmt: skip
    assert scalar(database_url, "select version from memory.generations") == 1
    statuses = ConversationStore(database).statuses(TENANT, [1, 2, 3])
    assert statuses == {1: "done", 2: "pending", 3: "pending"}


def test_vectors_of_new_facts_and_entities_are_stored(
    database: Database, database_url: str
) -> None:
    apply(database, next_walked(database).plan())
    missing = "select count(*) from memory.{} where embedding is null"
    assert scalar(database_url, missing.format("facts")) == 0
    assert scalar(database_url, missing.format("entities") + " and name <> 'user'") == 0


def test_a_new_version_of_a_fact_keeps_its_vector(database: Database, database_url: str) -> None:
    fold_all(scripted_workshop(database, ScriptedExtractor()), ordinals=[1, 2])
    of_acme = "select count(distinct {}) from memory.facts where statement like %s"
    assert scalar(database_url, of_acme.format("version"), ["%acme"]) == 2
    assert scalar(database_url, of_acme.format("embedding::text"), ["%acme"]) == 1


def test_a_change_set_is_applied_once(database: Database, database_url: str) -> None:
    plan = next_walked(database).plan()
    apply(database, plan)
    before = memory_content(database_url)
    with pytest.raises(AlreadyFoldedError):
        apply(database, plan)
    head = plan.changes.head.model_copy(update={"version": 1})
    with pytest.raises(AlreadyFoldedError):
        apply(database, plan, head=head)
    assert memory_content(database_url) == before


def test_a_plan_made_before_another_write_is_refused_and_writes_nothing(
    database: Database, database_url: str
) -> None:
    walked = next_walked(database)
    plan = walked.plan()
    with psycopg.connect(database_url) as other:
        other.execute("update memory.generations set version = version + 1")
    before = memory_content(database_url)
    with pytest.raises(StalePlanError, match="version 1, the plan was made at 0"):
        apply(database, plan)
    assert memory_content(database_url) == before
    apply(database, walked.plan())
    assert scalar(database_url, "select count(*) from memory.folds") == 1


def test_w1_a_write_waits_for_whoever_holds_the_tenants_lock(
    database: Database, database_url: str
) -> None:
    walked = next_walked(database)
    head = walked.plan().changes.head
    claim = "select memory.claim_version(%s, %s, %s, %s, now())"
    parameters = (TENANT, head.generation_id, head.version, walked.episode_id)
    with psycopg.connect(database_url) as holder, psycopg.connect(database_url) as writer:
        holder.execute("select memory.lock_tenant(%s)", (TENANT,))
        writer.execute("set local lock_timeout = '50ms'")
        with pytest.raises(psycopg.errors.LockNotAvailable):
            writer.execute(claim, parameters)
        writer.rollback()
        holder.rollback()
        writer.execute(claim, parameters)


def test_an_episode_whose_turn_has_not_come_is_refused(
    database: Database, database_url: str
) -> None:
    second = scalar(database_url, "select episode_id from memory.episodes where ordinal = 2")
    plan = next_walked(database).plan()
    with pytest.raises(OutOfOrderError, match="before 2 is still open"):
        apply(database, plan, episode_id=second)
    assert memory_content(database_url)["facts"] == []


def test_an_episode_before_the_last_folded_one_is_refused(
    database: Database, database_url: str
) -> None:
    walked = next_walked(database)
    with psycopg.connect(database_url) as other:
        other.execute(
            "update memory.generations g set folded_ended_at = e.ended_at,"
            " folded_thread_id = e.thread_id, folded_first_seq = e.first_seq"
            " from memory.episodes e where e.ordinal = 2"
        )
    with pytest.raises(OutOfOrderError, match="episode 1 lies before the last folded one"):
        apply(database, walked.plan())


def test_an_error_in_the_middle_of_the_write_rolls_all_of_it_back(
    database: Database, database_url: str
) -> None:
    walked = next_walked(database)
    plan = walked.plan()
    impossible = plan.changes.versions[0].model_copy(update={"confidence": 7.0})
    before = memory_content(database_url)
    with pytest.raises(psycopg.errors.CheckViolation):
        apply(database, plan, versions=(impossible, *plan.changes.versions[1:]))
    assert memory_content(database_url) == before
    assert scalar(database_url, "select version from memory.generations") == 0


_COPY_OF_NEW_FACT = """
    with entity as (
        insert into memory.entities (tenant_id, generation_id, entity_id, name, type,
            memory_category, known_from, last_linked_at)
        select g.tenant_id, g.generation_id, %(object_id)s, 'globex', 'ORG', 'context', now(), now()
        from memory.generations g)
    insert into memory.facts (tenant_id, generation_id, fact_id, version, subject_id, predicate,
        object_id, statement, valid_time, known_time, confidence, memory_category, tier, recipe_id)
    select g.tenant_id, g.generation_id, %(fact_id)s, 1, %(subject_id)s, %(predicate)s,
        %(object_id)s, %(statement)s, tstzrange(%(valid_from)s, null), tstzrange(now(), null), 0.9,
        'context', 'heuristics', g.recipe_id
    from memory.generations g"""


def second_plan(database: Database) -> FoldPlan:
    """The plan that replaces `works at acme` by `works at globex`."""
    fold_all(scripted_workshop(database, ScriptedExtractor()), ordinals=[1])
    return next_walked(database).plan()


def write_past_the_lock(url: str, plan: FoldPlan, fact_id: object = None) -> None:
    """Store the plan's new fact as somebody does who takes no lock and moves no version."""
    (new,) = [v for v in plan.changes.versions if v.version == 1]
    row = new.model_dump() | {"fact_id": fact_id or new.fact_id}
    with psycopg.connect(url) as other:
        other.execute(_COPY_OF_NEW_FACT, row)


def test_w2_a_new_fact_that_the_backstop_keeps_out_ends_as_race_on_the_fact_that_is_there(
    database: Database, database_url: str
) -> None:
    plan = second_plan(database)
    there = uuid4()
    write_past_the_lock(database_url, plan, there)
    apply(database, plan)
    of_globex = "select array_agg({}) from memory.{} where {} like '%%globex'"
    assert scalar(database_url, of_globex.format("fact_id", "facts", "statement")) == [there]
    assert scalar(database_url, of_globex.format("fact_id", "fact_evidence", "quote")) == [there]
    assert scalar(database_url, of_globex.format("kind", "fact_evidence", "quote")) == [
        "reinforced"
    ]
    ended = scalar(
        database_url, "select array[outcome, fact_id::text] from memory.claim_outcomes"
        " where object = 'globex'"
    )  # fmt: skip
    assert ended == ["race", str(there)]
    heir = "select successor_id from memory.facts where statement like '%%acme' and version = 2"
    assert scalar(database_url, heir) == there


def test_w5_a_new_fact_that_is_there_already_stays_as_it_is(
    database: Database, database_url: str
) -> None:
    plan = second_plan(database)
    write_past_the_lock(database_url, plan)
    apply(database, plan)
    of_globex = "select {} from memory.{} where {} like '%%globex'"
    assert scalar(database_url, of_globex.format("count(*)", "facts", "statement")) == 1
    assert scalar(database_url, of_globex.format("outcome", "claim_outcomes", "object")) == (
        "inserted"
    )
    assert scalar(database_url, of_globex.format("kind", "fact_evidence", "quote")) == "asserted"


def test_a_change_of_a_fact_that_has_no_room_fails_the_whole_write(
    database: Database, database_url: str
) -> None:
    plan = second_plan(database)
    (changed,) = [v for v in plan.changes.versions if v.version > 1]
    with psycopg.connect(database_url) as other:
        other.execute(
            "update memory.facts set version = %s where fact_id = %s",
            [changed.version, changed.fact_id],
        )
    before = memory_content(database_url)
    with pytest.raises(LostVersionError, match=r"has no room: .*facts_pkey.*Nothing was written"):
        apply(database, plan)
    assert memory_content(database_url) == before
    assert scalar(database_url, "select version from memory.generations") == 1


def test_w4_a_write_adds_versions_and_ends_known_times_and_changes_nothing_else(
    database: Database, database_url: str
) -> None:
    tenant = TenantId("rich")
    import_episodes(database, tenant)
    workshop = rich_workshop(database, tenant)
    rows: dict[object, tuple[object, ...]] = {}
    known: dict[object, object] = {}
    for ordinal in range(1, len(RICH_HISTORY) + 1):
        assert fold_all(workshop, tenant, [ordinal]) == [ordinal]
        now, until = versions_of(database_url, tenant)
        assert {key: now.get(key) for key in rows} == rows
        assert {key: until[key] for key in known if known[key]} == {
            key: end for key, end in known.items() if end
        }
        rows, known = now, until
    assert len(rows) > len(RICH_HISTORY)
    assert None in known.values()
    assert any(known.values())


def versions_of(
    url: str, tenant: TenantId
) -> tuple[dict[object, tuple[object, ...]], dict[object, object]]:
    """What a version says for good, and when it ceased to be believed, by fact and version."""
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "select array[fact_id::text, version::text], upper(known_time), lower(known_time),"
            " statement, valid_time, confidence, attributes, opened_by, recorded_at, recipe_id"
            " from memory.facts where tenant_id = %s",
            [tenant],
        ).fetchall()
    return {tuple(r[0]): r[2:] for r in found}, {tuple(r[0]): r[1] for r in found}


def test_the_pool_serves_on_after_refusals_and_errors(
    database: Database, database_url: str
) -> None:
    walked = next_walked(database)
    plan = walked.plan()
    stale = plan.changes.head.model_copy(update={"version": 5})
    impossible = plan.changes.versions[0].model_copy(update={"confidence": 7.0})
    no_output: Any = None
    impossible_record = StageRecord(walked.episode_id, "facts", "", no_output)
    for _ in range(3):
        with pytest.raises(StalePlanError):
            apply(database, plan, head=stale)
        with pytest.raises(psycopg.errors.CheckViolation):
            apply(database, plan, versions=(impossible,))
        with pytest.raises(AttributeError):
            apply_changes(database, plan.changes, plan.vectors, [impossible_record])
        with pytest.raises(psycopg.ProgrammingError, match="cannot adapt"):
            apply(database, plan, known_at=object())
    apply(database, walked.plan())
    assert scalar(database_url, "select count(*) from memory.folds") == 1


def test_a_fold_remakes_a_plan_that_turned_out_stale(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = next_walked(database)
    moves = iter(range(2))
    plan = WalkedEpisode.plan

    def plan_then_move(self: WalkedEpisode, survivors: frozenset[str] = frozenset()) -> FoldPlan:
        made = plan(self, survivors)
        if next(moves, None) is not None:
            with psycopg.connect(database_url) as other:
                other.execute("update memory.generations set version = version + 1")
        return made

    monkeypatch.setattr(WalkedEpisode, "plan", plan_then_move)
    assert fold_episode(database, walked) is not None
    assert scalar(database_url, "select version from memory.generations") == 3


def test_a_fold_gives_up_after_three_remade_plans(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    walked = next_walked(database)
    plan = walked.plan()
    stale = plan.changes.model_copy(
        update={"head": plan.changes.head.model_copy(update={"version": 9})}
    )
    plans: list[int] = []

    def always_stale(self: WalkedEpisode, survivors: frozenset[str] = frozenset()) -> FoldPlan:
        plans.append(len(survivors))
        return plan.model_copy(update={"changes": stale})

    monkeypatch.setattr(WalkedEpisode, "plan", always_stale)
    with pytest.raises(StalePlanError):
        fold_episode(database, walked)
    assert plans == [0, 2, 2, 2]


def _fold_history(url: str) -> None:
    database = Database(url)
    fold_all(scripted_workshop(database, ScriptedExtractor()))
    database.close()


def test_two_processes_folding_the_same_episodes_fold_each_once(
    database: Database, database_url: str
) -> None:
    database.close()  # A pool must not be carried over a fork.
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_fold_history, args=[database_url]) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    assert scalar(database_url, "select count(*) from memory.folds") == 3
    assert scalar(database_url, "select count(*) from memory.facts where version = 1") == 4
