"""Contracts of the private names of Dagster, each compared with what the public way gives."""

import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest
from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetSpec,
    BackfillPolicy,
    DagsterInstance,
    DagsterRun,
    Definitions,
    ExecuteInProcessResult,
    MaterializeResult,
    MultiPartitionKey,
    MultiPartitionsDefinition,
    define_asset_job,
    multi_asset,
)
from dagster._core.definitions.partitions.context import partition_loading_context
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteJobOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.storage.partition_status_cache import get_and_update_asset_status_cache_value
from sqlalchemy import text

from memory_pipeline.defs.dagster_internals import (
    PartitionMetadata,
    code_location_of,
    log_committed_partitions,
    record_partition_metadata,
)
from memory_pipeline.defs.partitions import (
    EPISODE_GRID,
    partition_key,
    range_tags,
    register_partitions,
)

NAMES = ("first", "second")
FIRST, SECOND = (AssetKey(name) for name in NAMES)
PARTITIONS = 4
KEYS = [partition_key("a", number) for number in range(1, PARTITIONS + 1)]
INTERNALS = "dagster._core.execution.context.metadata_logging"

Body = Callable[[AssetExecutionContext], None]


class CommitError(Exception):
    """What a stage raises in the middle of a range."""


@pytest.fixture(autouse=True)
def _batched_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_EVENT_BATCH_SIZE", "500")


def run(instance: DagsterInstance, body: Body, tenant: str = "a") -> ExecuteInProcessResult:
    @multi_asset(
        specs=[AssetSpec(name) for name in NAMES],
        can_subset=True,
        partitions_def=EPISODE_GRID,
        backfill_policy=BackfillPolicy.single_run(),
    )
    def two_assets(context: AssetExecutionContext) -> Iterator[MaterializeResult[Any]]:
        body(context)
        for name in NAMES:
            yield MaterializeResult(asset_key=name)

    register_partitions(instance, tenant, PARTITIONS)
    job = Definitions(
        assets=[two_assets], jobs=[define_asset_job("both", selection="*")]
    ).resolve_job_def("both")
    return job.execute_in_process(
        instance=instance, tags=range_tags(tenant, 1, PARTITIONS), raise_on_error=False
    )


def stored_metadata(instance: DagsterInstance) -> dict[tuple[AssetKey, str], Mapping[str, Any]]:
    stored: dict[tuple[AssetKey, str], Mapping[str, Any]] = {}
    for asset_key in (FIRST, SECOND):
        for record in instance.fetch_materializations(asset_key, limit=100).records:
            materialization = record.asset_materialization
            assert materialization is not None
            assert materialization.partition is not None
            values = {name: entry.value for name, entry in materialization.metadata.items()}
            stored[asset_key, materialization.partition] = values
    return stored


def counts() -> dict[tuple[AssetKey, str], dict[str, int]]:
    return {
        (asset_key, key): {"claims": position}
        for asset_key in (FIRST, SECOND)
        for position, key in enumerate(KEYS)
    }


def test_recorded_metadata_reaches_the_event_of_its_asset_and_partition(
    dagster_instance: DagsterInstance,
) -> None:
    result = run(dagster_instance, lambda context: record_partition_metadata(context, counts()))
    assert result.success
    assert stored_metadata(dagster_instance) == counts()


def test_recorded_metadata_joins_what_the_public_call_added_before(
    dagster_instance: DagsterInstance,
) -> None:
    def body(context: AssetExecutionContext) -> None:
        context.add_asset_metadata({"tokens": 5}, asset_key=FIRST, partition_key=KEYS[0])
        record_partition_metadata(context, {(FIRST, KEYS[0]): {"claims": 3}})

    run(dagster_instance, body)
    assert stored_metadata(dagster_instance)[FIRST, KEYS[0]] == {"tokens": 5, "claims": 3}


def test_the_public_call_can_add_to_recorded_metadata(dagster_instance: DagsterInstance) -> None:
    def body(context: AssetExecutionContext) -> None:
        record_partition_metadata(context, {(FIRST, KEYS[0]): {"claims": 3}})
        context.add_asset_metadata({"tokens": 5}, asset_key=FIRST, partition_key=KEYS[0])

    run(dagster_instance, body)
    assert stored_metadata(dagster_instance)[FIRST, KEYS[0]] == {"tokens": 5, "claims": 3}


@pytest.mark.parametrize(
    "target",
    [(FIRST, partition_key("a", PARTITIONS + 1)), (AssetKey("third"), KEYS[0])],
    ids=["partition", "asset"],
)
def test_metadata_of_what_the_step_does_not_materialize_is_refused(
    dagster_instance: DagsterInstance, target: tuple[AssetKey, str]
) -> None:
    raised: list[str] = []

    def body(context: AssetExecutionContext) -> None:
        try:
            record_partition_metadata(context, {target: {"claims": 1}})
        except ValueError as error:
            raised.append(str(error))

    run(dagster_instance, body)
    assert len(raised) == 1
    assert target[1] in raised[0]


def test_metadata_is_recorded_by_the_public_call_when_a_private_name_is_gone(
    dagster_instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    def body(context: AssetExecutionContext) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(sys.modules, INTERNALS, ModuleType("without_any_name"))
            record_partition_metadata(context, counts())

    with caplog.at_level(logging.WARNING, logger="memory_pipeline"):
        run(dagster_instance, body)
    assert "one by one" in caplog.text
    assert stored_metadata(dagster_instance) == counts()


def fail_after(committed: PartitionMetadata, *, without: str | None = None) -> Body:
    def body(context: AssetExecutionContext) -> None:
        with pytest.MonkeyPatch.context() as patch:
            if without is not None:
                patch.delattr(without)
            log_committed_partitions(context, committed)
        raise CommitError("the third episode")

    return body


def half() -> PartitionMetadata:
    return {(asset_key, key): {"claims": 1} for asset_key in (FIRST, SECOND) for key in KEYS[:2]}


@pytest.mark.parametrize("asset_key", [FIRST, SECOND])
def test_a_failed_range_shows_the_committed_partitions_done_and_the_rest_failed(
    dagster_instance: DagsterInstance, asset_key: AssetKey
) -> None:
    result = run(dagster_instance, fail_after(half()))
    assert not result.success
    with partition_loading_context(dynamic_partitions_store=dagster_instance):
        status = get_and_update_asset_status_cache_value(dagster_instance, asset_key, EPISODE_GRID)
        assert status is not None
        done = status.deserialize_materialized_partition_subsets(EPISODE_GRID)
        failed = status.deserialize_failed_partition_subsets(EPISODE_GRID)
    assert sorted(done.get_partition_keys()) == KEYS[:2]
    assert sorted(failed.get_partition_keys()) == KEYS[2:]


def test_a_logged_materialization_carries_its_metadata_and_the_tags_of_both_axes(
    dagster_instance: DagsterInstance,
) -> None:
    run(dagster_instance, fail_after(half()))
    record, *_ = dagster_instance.fetch_materializations(FIRST, limit=1, ascending=True).records
    materialization = record.asset_materialization
    assert materialization is not None
    assert materialization.metadata["claims"].value == 1
    assert materialization.tags is not None
    assert materialization.tags["dagster/partition/tenant"] == "a"
    assert materialization.tags["dagster/partition/episode"] == "000001"


def test_the_row_of_each_asset_knows_its_last_logged_materialization(
    dagster_instance: DagsterInstance,
) -> None:
    run(dagster_instance, fail_after(half()))
    storage: Any = dagster_instance.event_log_storage
    with storage.index_connection() as connection:
        rows = connection.execute(text("select last_materialization from asset_keys"))
        stored = list(rows.scalars())
    assert len(stored) == len(NAMES)
    assert all(KEYS[1] in event for event in stored)


def test_committed_partitions_are_logged_one_by_one_when_a_private_name_is_gone(
    dagster_instance: DagsterInstance, caplog: pytest.LogCaptureFixture
) -> None:
    gone = "dagster._core.events.DagsterEventBatchMetadata"
    with caplog.at_level(logging.WARNING, logger="memory_pipeline"):
        run(dagster_instance, fail_after(half(), without=gone))
    assert "one by one" in caplog.text
    assert set(stored_metadata(dagster_instance)) == set(half())


def test_a_range_run_again_after_a_failure_has_every_partition_done(
    dagster_instance: DagsterInstance,
) -> None:
    run(dagster_instance, fail_after(half()))
    run(dagster_instance, lambda context: None)
    done = dagster_instance.get_materialized_partitions(SECOND)
    assert done == set(KEYS)


def test_a_key_of_the_step_equals_the_plain_string(dagster_instance: DagsterInstance) -> None:
    seen: list[str] = []
    run(dagster_instance, lambda context: seen.extend(context.partition_keys))
    assert sorted(seen) == KEYS
    assert all(isinstance(key, MultiPartitionKey) for key in seen)
    assert {hash(key) for key in seen} == {hash(key) for key in KEYS}


def test_a_run_tells_the_code_location_it_was_launched_from() -> None:
    location = RegisteredCodeLocationOrigin("memory_pipeline")
    origin = RemoteJobOrigin(RemoteRepositoryOrigin(location, "__repository__"), "both")
    assert code_location_of(DagsterRun("both", remote_job_origin=origin)) == "memory_pipeline"


def test_a_run_in_process_has_no_code_location() -> None:
    assert code_location_of(DagsterRun("both")) is None


def test_the_grid_makes_dagster_keys_of_plain_strings() -> None:
    assert isinstance(EPISODE_GRID, MultiPartitionsDefinition)
    key = EPISODE_GRID.get_partition_key_from_str(KEYS[0])
    assert key == KEYS[0]
    assert dict(key.keys_by_dimension) == {"episode": "000001", "tenant": "a"}
