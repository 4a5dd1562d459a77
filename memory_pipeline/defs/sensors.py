"""Sensors: new episodes become range runs, stuck ones are picked up, dead runs are ended.

Belongs here: when the walk runs by itself. Does not: what is open (adapters) and what a range is
(partitions).
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta

import dagster as dg

from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.database_urls import memory_url
from memory_pipeline.defs.jobs import WALK_JOB, walk_episodes
from memory_pipeline.defs.partitions import (
    TENANT_TAG,
    partition_number_of,
    range_tags,
    register_partitions,
    tenant_key,
)
from memory_pipeline.defs.resources import memory_database
from memory_pipeline.defs.rests import UNFINISHED, is_resting
from memory_pipeline.defs.zombies import fail_zombie_runs
from memory_pipeline.domain.ids import TenantId

_EPISODES_A_TICK = 2_000
_ZOMBIE_AGE = timedelta(minutes=1)
_PATIENCE = 1
"""Failed runs of a tenant that are picked up at once; the next ones wait."""


@dg.sensor(
    job=walk_episodes,
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Sends one range run per tenant for newly closed episodes.",
)
def new_episodes(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Read the ingest sequence behind the cursor, add partitions, ask for one run per tenant."""
    store = ConversationStore(memory_database())
    rows = store.open_episodes_after(int(context.cursor or 0), _EPISODES_A_TICK)
    if not rows:
        return dg.SkipReason("no new episodes")
    attempts: dict[TenantId, int] = defaultdict(int)
    for row in rows:
        tenant_id = TenantId(row["tenant_id"])
        attempts[tenant_id] = max(attempts[tenant_id], row["extraction_attempts"])
    return dg.SensorResult(
        run_requests=list(_range_requests(context.instance, store, attempts)),
        cursor=str(max(row["ingest_seq"] for row in rows)),
    )


@dg.sensor(
    job=walk_episodes,
    minimum_interval_seconds=120,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Picks up open episodes that no run works on, and ends runs whose process is gone.",
)
def sweep(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """End zombie runs, then ask for a run of every tenant with open episodes and no run."""
    ended = fail_zombie_runs(context.instance, memory_url(), _ZOMBIE_AGE, datetime.now(UTC))
    store = ConversationStore(memory_database())
    busy = {
        run.tags[TENANT_TAG]
        for run in context.instance.get_runs(dg.RunsFilter(statuses=UNFINISHED))
        if TENANT_TAG in run.tags
    }
    now = datetime.now(UTC)
    stuck = {
        tenant_id: attempts
        for tenant_id, attempts in store.tenants_with_open_episodes().items()
        if tenant_key(tenant_id) not in busy
        and not is_resting(
            context.instance, {TENANT_TAG: tenant_key(tenant_id)}, now, patience=_PATIENCE
        )
    }
    requests = [
        # Without a run key: a key once used is never launched again, and these runs died.
        dg.RunRequest(job_name=WALK_JOB, tags=request.tags)
        for request in _range_requests(context.instance, store, stuck)
    ]
    if not requests:
        return dg.SkipReason(f"nothing is stuck; {len(ended)} dead runs ended")
    return dg.SensorResult(run_requests=requests)


def _range_requests(
    instance: dg.DagsterInstance, store: ConversationStore, attempts: Mapping[TenantId, int]
) -> Iterator[dg.RunRequest]:
    """One range per tenant over its open episodes, partitions registered first, in order."""
    highest = store.highest_ordinals()
    for tenant_id, attempt in sorted(attempts.items()):
        register_partitions(instance, tenant_id, partition_number_of(highest[tenant_id]))
        store.set_aside_late(tenant_id)
        ordinals = [row["ordinal"] for row in store.walk_episodes(tenant_id)]
        if not ordinals:
            continue
        first, last = min(ordinals), max(ordinals)
        yield dg.RunRequest(
            run_key=f"{tenant_key(tenant_id)}:{first}-{last}:{attempt}",
            job_name=WALK_JOB,
            tags=range_tags(tenant_id, partition_number_of(first), partition_number_of(last)),
        )
