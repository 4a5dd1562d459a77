"""When profiles are renewed: every minute what is dirty, every week all of them.

Belongs here: the job, its sensor and schedule. Does not: what a run does (assets/profiles).
"""

from datetime import UTC, datetime

import dagster as dg

from memory_pipeline.adapters.profile_store import due_tenants
from memory_pipeline.defs.assets.profiles import PROFILES, TENANTS_A_RUN, ProfileRun
from memory_pipeline.defs.resources import memory_database
from memory_pipeline.defs.rests import UNFINISHED, is_resting

PROFILE_JOB = "refresh_profiles"
UPKEEP_TAG = "upkeep"
"""Tells the runs of upkeep apart. They carry no tenant tag: they take many tenants, and would
otherwise wait for the walks of one of them, or these for them. Claims in the database keep two
runs off one entity."""
_DIRTY_RUN = {UPKEEP_TAG: "dirty_profiles", "dagster/priority": "-1"}
_FULL_RUN = {UPKEEP_TAG: "all_profiles", "dagster/priority": "-2"}

refresh_profiles = dg.define_asset_job(
    PROFILE_JOB,
    selection=dg.AssetSelection.assets(PROFILES).without_checks(),
    description="Renew profiles: of all tenants what is dirty, or all of the chosen tenants.",
)


@dg.sensor(
    job=refresh_profiles,
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Sends one run for all tenants with dirty entities, unless one is under way.",
)
def dirty_profiles(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Ask for a run when an entity is due; the run itself looks up whose, the oldest first."""
    due = due_tenants(memory_database(), TENANTS_A_RUN)
    if not due:
        return dg.SkipReason("no profile is due")
    mine = {UPKEEP_TAG: _DIRTY_RUN[UPKEEP_TAG]}
    if context.instance.get_runs(dg.RunsFilter(tags=mine, statuses=UNFINISHED), limit=1):
        return dg.SkipReason("a run is under way")
    if is_resting(context.instance, mine, datetime.now(UTC), patience=0):
        return dg.SkipReason("the last runs failed: the next one waits a while")
    # Without a run key: the next one asks for the same and must be launched all the same.
    return dg.SensorResult(run_requests=[dg.RunRequest(job_name=PROFILE_JOB, tags=_DIRTY_RUN)])


weekly_profiles = dg.ScheduleDefinition(
    name="weekly_profiles",
    job=refresh_profiles,
    cron_schedule="0 4 * * 0",
    run_config=dg.RunConfig(ops={PROFILES: ProfileRun(is_full=True)}),
    tags=_FULL_RUN,
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Brings all profiles of all tenants up to date; what is unchanged costs nothing.",
)
