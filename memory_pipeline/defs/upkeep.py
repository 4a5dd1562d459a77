"""When memory is kept up: decay daily, repair nightly, insights weekly.

Belongs here: jobs and schedules. Does not: what a run does (assets/upkeep), profiles
(upkeep_profiles). Each run takes all tenants; one process, and an event where something changed.
"""

import dagster as dg

from memory_pipeline.defs.assets.upkeep import ARCHIVED_FACTS, INSIGHTS, MERGED_ENTITIES
from memory_pipeline.defs.upkeep_profiles import UPKEEP_TAG

_PASSES = (
    ("decay_memory", ARCHIVED_FACTS, "daily_decay", "0 2 * * *", "Archive what nobody reads."),
    ("repair_memory", MERGED_ENTITIES, "nightly_repair", "0 3 * * *", "Merge double entities."),
    ("find_insights", INSIGHTS, "weekly_insights", "0 5 * * 0", "See what facts show together."),
)

UPKEEP_JOBS = tuple(
    dg.define_asset_job(
        job,
        selection=dg.AssetSelection.assets(asset).without_checks(),
        description=f"{description} Of all tenants, or of the chosen ones.",
        tags={UPKEEP_TAG: asset, "dagster/priority": "-2"},
    )
    for job, asset, _, _, description in _PASSES
)

UPKEEP_SCHEDULES = tuple(
    dg.ScheduleDefinition(
        name=name,
        job=job,
        cron_schedule=cron,
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"{description} All tenants, in one run.",
    )
    for job, (_, _, name, cron, description) in zip(UPKEEP_JOBS, _PASSES, strict=True)
)
