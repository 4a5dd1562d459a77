"""The job that gives big tenants a vector index of their own, and its schedule.

Belongs here: when indexes follow the size of memories. Does not: making them
(adapters/vector_index).
"""

import dagster as dg

from memory_pipeline.adapters.vector_index import promote_big_tenants
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.defs.upkeep_profiles import UPKEEP_TAG


@dg.op(description="Partial HNSW indexes for memories of many facts; drops what is spent.")
def follow_sizes(context: dg.OpExecutionContext, walks: WalkResource) -> None:
    """Make and drop indexes, concurrently with everything else."""
    changed = promote_big_tenants(walks.database())
    context.add_output_metadata({"created": len(changed.created), "dropped": len(changed.dropped)})


@dg.job(tags={UPKEEP_TAG: "vector_indexes", "dagster/priority": "-2"})
def index_big_tenants() -> None:
    """Recall over 10,000 facts and more needs an index; fewer are compared one by one."""
    follow_sizes()


nightly_indexes = dg.ScheduleDefinition(
    name="nightly_indexes",
    job=index_big_tenants,
    cron_schedule="30 2 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Gives big tenants a vector index of their own, and takes it from shrunk ones.",
)
