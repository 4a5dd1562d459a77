"""Composition root of the Dagster project: everything the code location offers.

Belongs here: putting assets, jobs, sensors and resources together. Does not: any of them.
"""

import dagster as dg

from memory_pipeline.adapters.database_urls import memory_url
from memory_pipeline.defs.assets.episode_summaries import episode_summaries
from memory_pipeline.defs.assets.profiles import profiles
from memory_pipeline.defs.assets.upkeep import archived_facts, insights_asset, merged_entities
from memory_pipeline.defs.assets.walked_episodes import walked_episodes
from memory_pipeline.defs.checks import memory_checks
from memory_pipeline.defs.jobs import check_memory, walk_episodes
from memory_pipeline.defs.runs import walk_resources
from memory_pipeline.defs.schedules import nightly_checks
from memory_pipeline.defs.sensors import new_episodes, sweep
from memory_pipeline.defs.upkeep import UPKEEP_JOBS, UPKEEP_SCHEDULES
from memory_pipeline.defs.upkeep_profiles import (
    dirty_profiles,
    refresh_profiles,
    weekly_profiles,
)
from memory_pipeline.defs.vector_indexes import index_big_tenants, nightly_indexes
from memory_pipeline.defs.zombies import run_lock_executor

defs = dg.Definitions(
    assets=[
        walked_episodes,
        episode_summaries,
        profiles,
        insights_asset,
        archived_facts,
        merged_entities,
    ],
    asset_checks=[memory_checks],
    jobs=[walk_episodes, check_memory, refresh_profiles, *UPKEEP_JOBS, index_big_tenants],
    schedules=[nightly_checks, weekly_profiles, *UPKEEP_SCHEDULES, nightly_indexes],
    sensors=[new_episodes, sweep, dirty_profiles],
    resources=walk_resources(),
    executor=run_lock_executor(memory_url),
)
