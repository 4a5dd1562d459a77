"""The hot path: five assets, one walk over a tenant's episodes in position order.

Belongs here: the multi_asset and how partitions map to episodes. Does not: the stages.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import dagster as dg
import psycopg

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.memory_writer import OutOfOrderError
from memory_pipeline.adapters.tenant_walk import MissingExtractionError
from memory_pipeline.adapters.work_lock import TenantBusyError, hold_work_lock
from memory_pipeline.adapters.workshop import configured_recipe
from memory_pipeline.defs.dagster_internals import (
    log_committed_partitions,
    record_partition_metadata,
)
from memory_pipeline.defs.event_text import episode_text
from memory_pipeline.defs.io_managers import EpisodeStream, FoldedEpisode, Receipt, Walked
from memory_pipeline.defs.partitions import (
    EPISODE_GRID,
    ordinals_by_tenant,
    partition_key,
    partition_number_of,
)
from memory_pipeline.defs.progress import episode_given_up
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.stages.ports import ExtractionError

FOLD_IO = "fold_io"
_COMMITTED = frozenset({"done", "skipped", "given_up"})
_DEFERRED = (OutOfOrderError, ExtractionError, MissingExtractionError, TenantBusyError)
"""Errors of one tenant that leave the others of a box to go on."""

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
        self._wanted = {
            TenantId(tenant): ordinals
            for tenant, ordinals in ordinals_by_tenant(partition_keys).items()
        }
        self._shows_text = len(partition_keys) == 1 and environment.event_text() == "single"
        self._folded: dict[tuple[TenantId, int], Mapping[str, Any]] = {}
        self._texts: Mapping[str, Mapping[str, Any]] = {}

    def episodes(self) -> Walked:
        """All selected open episodes; metadata of all partitions is recorded at the end."""
        deferred: list[str] = []
        may_extract = dg.AssetKey(STAGES[0]) in self._context.selected_asset_keys
        try:
            for tenant_id, ordinals in self._wanted.items():
                try:
                    with hold_work_lock(
                        self._walks.database().url,
                        tenant_id,
                        "walk",
                        on_wait=self._context.log.info,
                    ):
                        walk = self._walks.walk(tenant_id)
                        yield from walk.walk(ordinals, may_extract=may_extract)
                except _DEFERRED as error:
                    deferred.append(str(error))
            if deferred:
                raise dg.Failure("; ".join(deferred), allow_retries=False)
        except BaseException:
            log_committed_partitions(self._context, self._metadata(only_committed=True))
            raise
        record_partition_metadata(self._context, self._metadata(only_committed=False))
        self._context.log.info(f"folded {len(self._folded)} episodes")

    def folded(self, episode: FoldedEpisode) -> None:
        """Remember one committed episode."""
        self._folded[(episode.walked.tenant_id, episode.walked.ordinal)] = episode.counts
        if episode.walked.is_given_up:
            episode_given_up()
        if self._shows_text:
            self._texts = episode_text(self._walks.database(), episode)

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

    def _metadata(
        self, *, only_committed: bool
    ) -> dict[tuple[dg.AssetKey, str], Mapping[str, Any]]:
        selected = self._context.selected_asset_keys
        keys = {stage: dg.AssetKey(stage) for stage in STAGES if dg.AssetKey(stage) in selected}
        entries: dict[tuple[dg.AssetKey, str], Mapping[str, Any]] = {}
        for tenant_id, ordinals in self._wanted.items():
            statuses = self._statuses_of_the_rest(tenant_id, ordinals)
            for ordinal in sorted(ordinals):
                counts = self._folded.get((tenant_id, ordinal))
                status = statuses.get(ordinal)
                if counts is None and only_committed and status not in _COMMITTED:
                    continue
                partition = partition_key(tenant_id, partition_number_of(ordinal))
                for stage, key in keys.items():
                    shown = _flat(counts[stage]) if counts else _rest(status)
                    entries[(key, partition)] = {**shown, **self._texts.get(stage, {})}
        return entries

    def _statuses_of_the_rest(
        self, tenant_id: TenantId, ordinals: frozenset[int]
    ) -> Mapping[int, str]:
        """How far the episodes are that this run did not fold."""
        rest = [ordinal for ordinal in ordinals if (tenant_id, ordinal) not in self._folded]
        if not rest:
            return {}
        try:
            return ConversationStore(self._walks.database()).statuses(tenant_id, rest)
        except psycopg.Error:
            # The database may be what made the run fail: that error is the one to show.
            self._context.log.warning(f"can't tell which episodes of {tenant_id} were done before")
            return {}


def _rest(status: str | None) -> dict[str, Any]:
    """What is said of a partition without work: done before, set aside, or no episode at all."""
    if status is None:
        return {"episodes": 0}
    return {"resumed": True} if status in _COMMITTED else {"status": status}


def _flat(counts: Mapping[str, Any]) -> dict[str, Any]:
    """Counts as metadata values; nested ones as JSON."""
    return {
        name: json.dumps(value, sort_keys=True) if isinstance(value, dict) else value
        for name, value in counts.items()
    }
