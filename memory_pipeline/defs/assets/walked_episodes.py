"""The hot path: five assets, one walk over a tenant's episodes in position order.

Belongs here: the multi_asset and how partitions map to episodes. Does not: the stages.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import dagster as dg

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError
from memory_pipeline.adapters.tenant_walk import WalkedEpisode
from memory_pipeline.adapters.workshop import configured_recipe
from memory_pipeline.defs.dagster_internals import (
    log_committed_partitions,
    record_partition_metadata,
)
from memory_pipeline.defs.io_managers import EpisodeStream, FoldedEpisode, Receipt
from memory_pipeline.defs.partitions import (
    EPISODE_GRID,
    ordinals_of,
    parse_partition_key,
    partition_key,
    partition_number_of,
)
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.ports import ExtractionError

FOLD_IO = "fold_io"
STAGES = ("extracted_graphs", "resolved_entities", "distinct_claims", "judged_claims", "facts")

_DESCRIPTIONS = {
    "extracted_graphs": "What each episode says, guarded and with evidence. Partition: one episode "
    "of one tenant. Re-running reuses stored extractions of equal input.",
    "resolved_entities": "Names turned into entities: exact, alias rule, nearest neighbour, new. "
    "Partition: one episode of one tenant.",
    "distinct_claims": "Claims after deduplication: survivors, endings, repeats, pairs to judge. "
    "Partition: one episode of one tenant.",
    "judged_claims": "Verdicts on contradictions. Partition: one episode of one tenant.",
    "facts": "Bi-temporal facts, written in one transaction per episode, in position order. "
    "Partition: one episode of one tenant. Re-running a folded episode changes nothing.",
}


def _specs() -> list[dg.AssetSpec]:
    recipe = configured_recipe()
    return [
        dg.AssetSpec(
            stage,
            deps=[STAGES[index - 1]] if index else [],
            group_name="memory",
            kinds={"postgres"},
            description=_DESCRIPTIONS[stage],
            code_version=recipe.stage_digest(stage),
        ).with_io_manager_key(FOLD_IO)
        for index, stage in enumerate(STAGES)
    ]


@dg.multi_asset(
    specs=_specs(),
    can_subset=True,
    partitions_def=EPISODE_GRID,
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def walked_episodes(
    context: dg.AssetExecutionContext, walks: WalkResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Walk the selected partitions, tenant by tenant, through all stages in position order.

    Episodes already folded are reported and cost nothing; a cell without an episode is nothing to
    do; an episode whose turn has not come fails the run cleanly after the other tenants' work.
    """
    report = _Report(context, walks)
    stream = EpisodeStream(report.episodes(), report.folded)
    selected = [stage for stage in STAGES if dg.AssetKey(stage) in context.selected_asset_keys]
    for index, stage in enumerate(selected):
        receipt = Receipt(asset=stage, check=report.check)
        yield dg.MaterializeResult(asset_key=stage, value=receipt if index else stream)


class _Report:
    """What this step walked, for the events of its partitions."""

    def __init__(self, context: dg.AssetExecutionContext, walks: WalkResource) -> None:
        self._context = context
        self._walks = walks
        # Read once: Dagster looks the whole range up in its database at every call.
        partition_keys = context.partition_keys
        self._wanted = _ordinals_by_tenant(partition_keys)
        self._shows_text = len(partition_keys) == 1 and environment.event_text() == "single"
        self._folded: dict[tuple[TenantId, int], Mapping[str, Any]] = {}

    def episodes(self) -> Iterator[WalkedEpisode]:
        """All selected open episodes; metadata of all partitions is recorded at the end."""
        deferred: list[str] = []
        try:
            for tenant_id, ordinals in self._wanted.items():
                try:
                    yield from self._walks.walk(tenant_id).walk(ordinals)
                except (OutOfOrderError, ExtractionError) as error:
                    deferred.append(str(error))
            if deferred:
                raise dg.Failure("; ".join(deferred), allow_retries=False)
        except BaseException:
            log_committed_partitions(self._context, self._metadata(only_folded=True))
            raise
        record_partition_metadata(self._context, self._metadata(only_folded=False))
        self._context.log.info(f"folded {len(self._folded)} episodes")

    def folded(self, episode: FoldedEpisode) -> None:
        """Remember one committed episode."""
        self._folded[(episode.walked.tenant_id, episode.walked.ordinal)] = episode.counts
        if self._shows_text:
            self._context.log.info(_fact_table(episode))

    def check(self) -> None:
        """Raise unless every selected episode has left the queue."""
        for tenant_id, ordinals in self._wanted.items():
            store = ConversationStore(self._walks.database())
            open_ones = [
                row["ordinal"]
                for row in store.walk_episodes(tenant_id)
                if row["ordinal"] in ordinals
            ]
            if open_ones:
                raise dg.Failure(f"episodes {open_ones} of tenant {tenant_id} are still open")

    def _metadata(self, *, only_folded: bool) -> dict[tuple[dg.AssetKey, str], Mapping[str, Any]]:
        selected = self._context.selected_asset_keys
        entries: dict[tuple[dg.AssetKey, str], Mapping[str, Any]] = {}
        for tenant_id, ordinals in self._wanted.items():
            for ordinal in sorted(ordinals):
                counts = self._folded.get((tenant_id, ordinal))
                if counts is None and only_folded:
                    continue
                partition = partition_key(tenant_id, partition_number_of(ordinal))
                for stage in STAGES:
                    key = dg.AssetKey(stage)
                    if key in selected:
                        entries[(key, partition)] = _flat(counts[stage] if counts else {})
        return entries


def _ordinals_by_tenant(keys: Sequence[str]) -> dict[TenantId, frozenset[int]]:
    """Which ordinals of which tenant the partition keys stand for, tenants sorted."""
    wanted: dict[TenantId, set[int]] = defaultdict(set)
    for key in keys:
        cell = parse_partition_key(key)
        wanted[TenantId(cell.tenant)].update(ordinals_of(cell.partition_number))
    return {tenant: frozenset(wanted[tenant]) for tenant in sorted(wanted)}


def _flat(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Counts as metadata values; nested ones as JSON. What was done before says so."""
    if not counts:
        return {"resumed": True}
    return {
        name: json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
        for name, value in counts.items()
    }


def _fact_table(episode: FoldedEpisode) -> str:
    """The facts of one episode as lines, for the log of a single-episode run."""
    lines = [
        f"{v.statement} [{v.valid_from or '...'}, {v.valid_until or '...'})"
        for v in episode.plan.changes.versions
    ]
    return "\n".join([f"episode {episode.walked.ordinal}: {len(lines)} versions", *lines])
