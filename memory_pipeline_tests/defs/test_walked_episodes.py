"""Real runs of the walk on PostgreSQL: events, resuming, failures, subsets, boxes of tenants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg
import psycopg
import pytest

from memory_pipeline.adapters import environment, work_lock
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError, apply_changes
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_walk import TenantWalk
from memory_pipeline.defs import io_managers
from memory_pipeline.defs.assets.episode_summaries import episode_summaries
from memory_pipeline.defs.assets.walked_episodes import STAGES, walked_episodes
from memory_pipeline.defs.jobs import WALK_JOB, walk_episodes
from memory_pipeline.defs.partitions import (
    RANGE_END_TAG,
    RANGE_START_TAG,
    partition_key,
    register_partitions,
)
from memory_pipeline.defs.runs import RunOptions, WalkFailedError, run_walk, walk_resources
from memory_pipeline.domain.ids import TenantId
from memory_pipeline_tests.defs.episodes import ANN, history
from memory_pipeline_tests.defs.scripted_walks import ScriptedWalks
from memory_pipeline_tests.scripted import (
    DAY,
    START,
    ScriptedExtractor,
    import_history,
    memory_content,
    scalar,
    thread,
)

BOB = TenantId("bob_2")
JOBS = tuple(f"works at: firm{n}" for n in range(1, 7))

Events = dict[tuple[str, str], list[Mapping[str, Any]]]


@pytest.fixture(autouse=True)
def extractor(monkeypatch: pytest.MonkeyPatch) -> ScriptedExtractor:
    scripted = ScriptedExtractor()
    monkeypatch.setattr(ScriptedWalks, "extractor", scripted)
    return scripted


def run(
    instance: dg.DagsterInstance, first: int, last: int, tenant_id: TenantId = ANN, **more: Any
) -> str:
    return run_walk(instance, tenant_id, first, last, RunOptions(walks=ScriptedWalks(), **more))


def run_box(instance: dg.DagsterInstance, first: str, last: str) -> dg.ExecuteInProcessResult:
    """What the UI launches for a selection over several tenants."""
    job = dg.Definitions(
        assets=[walked_episodes, episode_summaries],
        jobs=[walk_episodes],
        resources=walk_resources(ScriptedWalks()),
    ).resolve_job_def(WALK_JOB)
    return job.execute_in_process(
        instance=instance,
        tags={RANGE_START_TAG: first, RANGE_END_TAG: last},
        raise_on_error=False,
    )


def events(instance: dg.DagsterInstance, stages: tuple[str, ...] = STAGES) -> Events:
    """Metadata of all materializations by stage and partition, oldest first."""
    found: Events = {}
    for stage in stages:
        records = instance.fetch_materializations(
            dg.AssetKey(stage), limit=1_000, ascending=True
        ).records
        for record in records:
            event = record.asset_materialization
            assert event is not None
            assert event.partition is not None
            metadata = {name: entry.value for name, entry in event.metadata.items()}
            found.setdefault((stage, event.partition), []).append(metadata)
    return found


def run_status(instance: dg.DagsterInstance) -> dg.DagsterRunStatus:
    (latest,) = instance.get_runs(limit=1)
    return latest.status


def statuses(database: Database, last: int, tenant_id: TenantId = ANN) -> list[str | None]:
    found = ConversationStore(database).statuses(tenant_id, range(1, last + 1))
    return [found.get(ordinal) for ordinal in range(1, last + 1)]


def test_a_range_run_materialises_all_stages_of_every_partition_with_counts(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, *JOBS[:3])
    run(instance, 1, 3)
    found = events(instance)
    assert sorted(found) == sorted((s, partition_key(ANN, n)) for s in STAGES for n in (1, 2, 3))
    assert partition_key(ANN, 1) == "000001|ann"
    assert all(len(metadata) == 1 for metadata in found.values())
    extracted = found["extracted_graphs", "000002|ann"][0]
    assert (extracted["claims"], extracted["tier"], extracted["cache_hits"]) == (
        1,
        "heuristics",
        0,
    )
    assert found["judged_claims", "000002|ann"][0]["verdicts"] == '{"old": 1}'
    facts = found["facts", "000002|ann"][0]
    assert (facts["new_versions"], facts["closed_versions"], facts["status"]) == (2, 1, "folded")


def test_no_word_of_a_conversation_reaches_the_events_of_a_range_run(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, "works at: zanzibar", "works at: quux")
    run(instance, 1, 2)
    logs = [str(entry) for entry in instance.all_logs(instance.get_runs(limit=1)[0].run_id)]
    assert not [line for line in logs if "zanzibar" in line or "quux" in line]


def test_the_event_of_a_single_episode_shows_its_facts(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, "works at: zanzibar")
    run(instance, 1, 1)
    assert "user works at zanzibar" in str(events(instance)["facts", "000001|ann"][0])


def test_a_strict_installation_shows_no_facts(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(environment.EVENT_TEXT, "off")
    history(instance, database, "works at: zanzibar")
    run_id = run(instance, 1, 1)
    assert not any("zanzibar" in str(entry) for entry in instance.all_logs(run_id))


def test_the_same_run_again_costs_nothing_and_says_resumed(
    instance: dg.DagsterInstance,
    database: Database,
    database_url: str,
    extractor: ScriptedExtractor,
) -> None:
    history(instance, database, *JOBS[:3])
    run(instance, 1, 3)
    before = memory_content(database_url)
    run(instance, 1, 3)
    assert extractor.ordinals() == [1, 2, 3]
    assert memory_content(database_url) == before
    assert events(instance)["facts", "000002|ann"][1] == {"resumed": True}


def test_a_failed_run_shows_what_it_committed_and_a_second_one_resumes(
    instance: dg.DagsterInstance, database: Database, extractor: ScriptedExtractor
) -> None:
    history(instance, database, "likes: tea", "likes: milk", "boom", "likes: beer")
    with pytest.raises(WalkFailedError, match=r"^no answer for episode 3 \(attempt 1 of 3\)$"):
        run(instance, 1, 4)
    assert run_status(instance) == dg.DagsterRunStatus.FAILURE
    assert instance.get_materialized_partitions(dg.AssetKey("facts")) == {
        "000001|ann",
        "000002|ann",
    }
    assert events(instance)["facts", "000002|ann"][0]["status"] == "folded"
    extractor.is_broken = False
    run(instance, 1, 4)
    assert len(instance.get_materialized_partitions(dg.AssetKey("facts"))) == 4
    assert statuses(database, 4) == ["done"] * 4
    assert extractor.ordinals() == [1, 2, 3, 3, 4]


def test_a_run_that_fails_again_still_shows_what_was_done_before_it(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, "likes: tea", "boom")
    for _ in range(2):
        with pytest.raises(WalkFailedError):
            run(instance, 1, 2)
    # Newer than the planned events of the second run, which would else show it as failed.
    assert events(instance)["facts", "000001|ann"][1] == {"resumed": True}


def test_an_error_of_the_write_fails_the_run_with_its_own_words_after_the_committed_are_shown(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(instance, database, *JOBS[:3])

    def broken_disk(*arguments: Any, **named: Any) -> None:
        if arguments[1].head.folded_count == 1:
            raise psycopg.errors.DiskFull("the disk is full")
        apply_changes(*arguments, **named)

    monkeypatch.setattr(io_managers, "apply_changes", broken_disk)
    with pytest.raises(WalkFailedError, match=r"^psycopg.errors.DiskFull: the disk is full$"):
        run(instance, 1, 3)
    assert instance.get_materialized_partitions(dg.AssetKey("facts")) == {"000001|ann"}
    monkeypatch.setattr(io_managers, "apply_changes", apply_changes)
    run(instance, 1, 3)
    assert statuses(database, 3) == ["done"] * 3


def test_a_run_from_a_later_stage_uses_stored_extractions(
    instance: dg.DagsterInstance, database: Database, extractor: ScriptedExtractor
) -> None:
    history(instance, database, *JOBS[:2])
    next(TenantWalk(ScriptedWalks(context_stride=2).workshop(ANN), ANN).walk())
    assert sorted(extractor.ordinals()) == [1, 2]
    run(instance, 1, 2, stage="judged_claims")
    assert sorted(extractor.ordinals()) == [1, 2]
    assert statuses(database, 2) == ["done", "done"]
    assert {stage for stage, _ in events(instance)} == {"judged_claims", "facts"}


def test_a_run_from_a_later_stage_without_a_stored_extraction_says_where_to_start(
    instance: dg.DagsterInstance, database: Database, extractor: ScriptedExtractor
) -> None:
    history(instance, database, *JOBS[:2])
    with pytest.raises(WalkFailedError, match=r"episode 1 .* start at extracted_graphs"):
        run(instance, 1, 2, stage="facts")
    assert extractor.seen == []
    assert statuses(database, 2) == ["pending", "pending"]


def test_ordinals_out_of_turn_fail_the_run_and_change_nothing(
    instance: dg.DagsterInstance, database: Database, extractor: ScriptedExtractor
) -> None:
    history(instance, database, *JOBS[:3])
    with pytest.raises(WalkFailedError, match=r"episode 1 of tenant ann is open.*before episode 2"):
        run(instance, 2, 3)
    assert run_status(instance) == dg.DagsterRunStatus.FAILURE
    assert extractor.seen == []
    assert statuses(database, 3) == ["pending"] * 3


def test_a_box_over_two_tenants_walks_each_in_order_and_leaves_others_alone(
    instance: dg.DagsterInstance, database: Database
) -> None:
    carl = TenantId("carl")
    for tenant_id, count in ((ANN, 3), (BOB, 2), (carl, 3)):
        history(instance, database, *JOBS[:count], tenant_id=tenant_id)
    result = run_box(instance, partition_key(ANN, 1), partition_key(BOB, 3))
    assert result.success
    assert statuses(database, 3) == ["done"] * 3
    assert statuses(database, 3, BOB) == ["done", "done", None]
    assert statuses(database, 3, carl) == ["pending"] * 3
    found = events(instance, ("facts",))
    assert found["facts", partition_key(BOB, 3)] == [{"episodes": 0}]
    assert len(found) == 6


def test_a_tenant_whose_turn_has_not_come_does_not_hold_up_the_others_of_a_box(
    instance: dg.DagsterInstance, database: Database
) -> None:
    for tenant_id in (ANN, BOB):
        history(instance, database, *JOBS[:3], tenant_id=tenant_id)
    run(instance, 1, 1, BOB)
    result = run_box(instance, partition_key(ANN, 2), partition_key(BOB, 3))
    assert not result.success
    assert statuses(database, 3) == ["pending"] * 3
    assert statuses(database, 3, BOB) == ["done"] * 3
    materialised = instance.get_materialized_partitions(dg.AssetKey("facts"))
    assert materialised == {partition_key(BOB, n) for n in (1, 2, 3)}


def test_a_write_refused_for_one_tenant_does_not_hold_up_the_others_of_a_box(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    for tenant_id in (ANN, BOB):
        history(instance, database, *JOBS[:2], tenant_id=tenant_id)

    def refused(*arguments: Any, **named: Any) -> None:
        if arguments[1].head.tenant_id == ANN and arguments[1].head.folded_count == 1:
            raise OutOfOrderError("not now")
        apply_changes(*arguments, **named)

    monkeypatch.setattr(io_managers, "apply_changes", refused)
    result = run_box(instance, partition_key(ANN, 1), partition_key(BOB, 2))
    assert not result.success
    assert statuses(database, 2) == ["done", "pending"]
    assert statuses(database, 2, BOB) == ["done", "done"]


def test_a_late_episode_of_a_range_is_left_and_said_to_be_late(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, *JOBS[:2])
    run(instance, 1, 2)
    import_history(database, [thread("early", ("likes: tea", START + DAY / 2))], ANN)
    import_history(database, [thread("next", ("likes: milk", START + 9 * DAY))], ANN)
    register_partitions(instance, ANN, 4)
    run(instance, 1, 4)
    found = events(instance, ("facts",))
    assert found["facts", "000003|ann"] == [{"status": "late"}]
    assert found["facts", "000004|ann"][0]["status"] == "folded"


def test_an_episode_given_up_is_materialised_as_such_and_the_next_goes_on(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, "boom", "likes: tea")
    for _ in range(2):
        with pytest.raises(WalkFailedError):
            run(instance, 1, 2)
    run(instance, 1, 2)
    assert statuses(database, 2) == ["given_up", "done"]
    assert events(instance)["facts", "000001|ann"][-1]["status"] == "given_up"


def test_the_stride_of_a_run_reaches_the_recipe(
    instance: dg.DagsterInstance, database: Database, database_url: str
) -> None:
    history(instance, database, *JOBS[:2])
    run(instance, 1, 2, context_stride=2)
    settings = scalar(database_url, "select content -> 'settings' from memory.recipes")
    assert ["context_stride", 2] in settings  # type: ignore[operator]


def test_every_folded_episode_is_told_to_who_asked(
    instance: dg.DagsterInstance, database: Database
) -> None:
    history(instance, database, *JOBS[:3])
    told: list[int] = []
    run(instance, 1, 3, on_folded=lambda: told.append(1))
    assert len(told) == 3


def test_the_run_carries_the_tenants_tag(instance: dg.DagsterInstance, database: Database) -> None:
    history(instance, database, *JOBS[:1], tenant_id=BOB)
    run_id = run(instance, 1, 1, BOB)
    found = instance.get_run_by_id(run_id)
    assert found is not None
    assert found.tags["tenant"] == "bob__2"


def test_a_run_of_a_tenant_that_another_process_is_at_fails_cleanly_and_says_so(
    instance: dg.DagsterInstance, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    history(instance, database, *JOBS[:1])
    monkeypatch.setattr(work_lock, "WAIT_SECONDS", 0.0)
    busy = r"^tenant ann is at work elsewhere \(memory-pipeline walk, process \d+ on .*since"
    options = RunOptions(walks=ScriptedWalks())
    with (
        work_lock.hold_work_lock(database.url, ANN, "walk"),
        pytest.raises(WalkFailedError, match=busy),
    ):
        run_walk(instance, ANN, 1, 1, options)
    run_walk(instance, ANN, 1, 1, options)
    assert ConversationStore(database).statuses(ANN, [1]) == {1: "done"}
