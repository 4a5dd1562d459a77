"""Schedules: what happens at fixed times. When something runs is changed here.

Belongs here: cron lines. Does not: what the jobs do.
"""

import dagster as dg

from memory_pipeline.defs.jobs import check_memory

nightly_checks = dg.ScheduleDefinition(
    name="nightly_checks",
    job=check_memory,
    cron_schedule="30 3 * * *",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Checks the invariants of all tenants' memory.",
)
