"""The private names of Dagster that the project uses, all but those of its storage, in one place.

Each function says what the public way is, why it is not enough, and falls back to it when a name
is gone. `test_dagster_internals.py` tells after an upgrade which of them still hold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from dagster import (
    AssetExecutionContext,
    AssetKey,
    AssetMaterialization,
    DagsterRun,
    Executor,
    ExecutorDefinition,
    InitExecutorContext,
    MultiPartitionsDefinition,
    executor,
    in_process_executor,
)

if TYPE_CHECKING:
    from dagster._core.events import DagsterEvent
    from dagster._core.execution.context.system import PlanOrchestrationContext
    from dagster._core.execution.plan.plan import ExecutionPlan
    from dagster._core.execution.retries import RetryMode

__all__ = [
    "PartitionMetadata",
    "code_location_of",
    "in_process_executor_after",
    "log_committed_partitions",
    "record_partition_metadata",
]

_LOG = logging.getLogger(__name__)

PartitionMetadata = Mapping[tuple[AssetKey, str], Mapping[str, Any]]
"""By asset and partition key, what `add_asset_metadata` takes: plain or metadata values by name."""


def record_partition_metadata(context: AssetExecutionContext, metadata: PartitionMetadata) -> None:
    """Attach metadata to partitions of this step, before their outputs are handled.

    Gives the events what `context.add_asset_metadata(..., partition_key=...)` would, for all
    entries at once: that call reads the whole partition range again and copies all metadata each
    time, 13 ms for each of 1,000 partitions. Not thread-safe, as the public call is not.

    Raises `ValueError` for an asset or a partition that this step does not materialize.
    """
    if not metadata:
        return
    _check_targets(context, metadata)
    if not _replace_accumulator(context, metadata):
        for (asset_key, partition), entries in metadata.items():
            context.add_asset_metadata(entries, asset_key=asset_key, partition_key=partition)


def log_committed_partitions(
    context: AssetExecutionContext, metadata_by_key: PartitionMetadata
) -> None:
    """Log a materialization for each of these partitions; for a step that is about to fail.

    Dagster writes the materializations of a range after the step's success only. With these
    logged before the error goes on, the UI shows what was committed as materialized and the rest
    of the range as failed. Written in batches where `DAGSTER_EVENT_BATCH_SIZE` is set.
    """
    by_asset = sorted(metadata_by_key.items(), key=lambda item: item[0])
    # One batch for each asset: the event log updates one asset's row for a batch.
    for _, entries in groupby(by_asset, key=lambda item: item[0][0]):
        materializations = [
            AssetMaterialization(
                asset_key=asset_key,
                partition=partition,
                metadata=values,
                tags=_axis_tags(context, partition),
            )
            for (asset_key, partition), values in entries
        ]
        if not _log_in_batch(context, materializations):
            for materialization in materializations:
                context.log_event(materialization)


def code_location_of(run: DagsterRun) -> str | None:
    """The name of the code location that a run was launched from; None for a run in process."""
    origin = getattr(run, "remote_job_origin", None)
    return None if origin is None else str(origin.location_name)


def in_process_executor_after(prepare: Callable[[str], None]) -> ExecutorDefinition:
    """The in-process executor, calling `prepare` with the run id before the first step.

    There is no public hook around a whole run that assets launched from the UI pass as well.
    Raises `RuntimeError` on use if Dagster's own executor cannot be created any more; there is no
    other way to fall back to.
    """

    @executor(name="in_process", config_schema=in_process_executor.config_schema.as_field())
    def prepared(context: InitExecutorContext) -> Executor:
        create = in_process_executor.executor_creation_fn
        if create is None:
            raise RuntimeError("in_process_executor no longer carries its creation function")
        return _PreparedExecutor(create(context), prepare)

    return prepared


class _PreparedExecutor(Executor):
    def __init__(self, inner: Executor, prepare: Callable[[str], None]) -> None:
        self._inner = inner
        self._prepare = prepare

    @property
    def retries(self) -> RetryMode:
        return self._inner.retries

    def execute(
        self, plan_context: PlanOrchestrationContext, execution_plan: ExecutionPlan
    ) -> Iterator[DagsterEvent]:
        self._prepare(plan_context.run_id)
        yield from self._inner.execute(plan_context, execution_plan)


def _check_targets(context: AssetExecutionContext, metadata: PartitionMetadata) -> None:
    materialized_keys = context.selected_asset_keys
    partitions = frozenset(context.partition_keys)
    for asset_key, partition in metadata:
        if asset_key not in materialized_keys or partition not in partitions:
            raise ValueError(
                f"{asset_key.to_user_string()} [{partition}] is not materialized by this step"
            )


def _replace_accumulator(context: AssetExecutionContext, metadata: PartitionMetadata) -> bool:
    try:
        from dagster._core.execution.context.metadata_logging import (
            AssetMetadataHandle,
            OutputMetadataAccumulator,
        )
    except ImportError as reason:
        return _fallen_back("partition metadata is recorded one by one", reason)
    step = getattr(context.op_execution_context, "_step_execution_context", None)
    accumulator = getattr(step, "_metadata_accumulator", None)
    if step is None or not isinstance(accumulator, OutputMetadataAccumulator):
        return _fallen_back("partition metadata is recorded one by one", "no accumulator")
    merged: dict[Any, Mapping[str, Any]] = dict(accumulator.per_output_metadata)
    for (asset_key, partition), entries in metadata.items():
        handle = AssetMetadataHandle(asset_key=asset_key, partition_key=partition)
        merged[handle] = {**merged.get(handle, {}), **entries}
    step._metadata_accumulator = OutputMetadataAccumulator(per_output_metadata=merged)
    return True


def _log_in_batch(
    context: AssetExecutionContext, materializations: list[AssetMaterialization]
) -> bool:
    try:
        from dagster._core.events import DagsterEvent, DagsterEventBatchMetadata
    except ImportError as reason:
        return _fallen_back("materializations are logged one by one", reason)
    step = getattr(context.op_execution_context, "_step_execution_context", None)
    if step is None or not hasattr(DagsterEvent, "asset_materialization"):
        return _fallen_back("materializations are logged one by one", "no step context")
    batch_id = str(uuid4())
    for materialization, is_last in _with_last(materializations):
        DagsterEvent.asset_materialization(
            step, materialization, DagsterEventBatchMetadata(batch_id, is_last)
        )
    return True


def _with_last(
    materializations: list[AssetMaterialization],
) -> Iterator[tuple[AssetMaterialization, bool]]:
    for position, materialization in enumerate(materializations, start=1):
        yield materialization, position == len(materializations)


def _axis_tags(context: AssetExecutionContext, partition: str) -> dict[str, str]:
    # Dagster tags the events of a step that succeeds with both axes, but not what is logged.
    definition = context.assets_def.partitions_def
    if not isinstance(definition, MultiPartitionsDefinition):
        return {}
    axes = definition.get_partition_key_from_str(partition).keys_by_dimension
    return {f"dagster/partition/{axis}": key for axis, key in axes.items()}


def _fallen_back(what: str, reason: object) -> bool:
    _LOG.warning("%s: %s", what, reason)
    return False
