"""Summaries of episodes: a side branch that extraction never reads or waits for.

Belongs here: the asset. Does not: writing (adapters/summary_writer).
"""

from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg

from memory_pipeline.defs.assets.side_branch import side_branch
from memory_pipeline.defs.dagster_internals import record_partition_metadata
from memory_pipeline.defs.partitions import (
    EPISODE_GRID,
    ordinals_by_tenant,
    partition_key,
    partition_number_of,
)
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.domain.ids import TenantId

SUMMARIES = "episode_summaries"


@side_branch(
    SUMMARIES,
    after="extracted_graphs",
    partitions=EPISODE_GRID,
    description="A summary and key learnings of each episode, embedded. Partition: one "
    "episode of one tenant. Re-running writes what is missing or failed; needs a model.",
)
def episode_summaries(
    context: dg.AssetExecutionContext, walks: WalkResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Summarise the selected episodes; a failure is recorded and stops nobody.

    Without a model nothing is materialised: the episodes wait for one.
    """
    entries: dict[tuple[dg.AssetKey, str], Mapping[str, Any]] = {}
    partition_keys = frozenset(context.partition_keys)
    for tenant, ordinals in ordinals_by_tenant(partition_keys).items():
        writer = walks.summary_writer(TenantId(tenant))
        if writer is None:
            context.log.info("no language model is configured: no summaries")
            return
        for report in writer.write(ordinals):
            partition = partition_key(tenant, partition_number_of(report.ordinal))
            if partition in partition_keys:
                entries[(dg.AssetKey(SUMMARIES), partition)] = {
                    "status": report.status,
                    "key_learnings": report.learnings,
                    "prompt_tokens": report.usage.prompt_tokens,
                    "completion_tokens": report.usage.completion_tokens,
                    "error": report.error,
                }
    record_partition_metadata(context, entries)
    yield dg.MaterializeResult(asset_key=SUMMARIES)
