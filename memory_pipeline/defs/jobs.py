"""Jobs: what a command, a sensor or a person launches.

Belongs here: selections of assets. Does not: when they run (schedules, sensors).
"""

import dagster as dg

from memory_pipeline.defs.assets.episode_summaries import SUMMARIES
from memory_pipeline.defs.assets.walked_episodes import STAGES

WALK_JOB = "walk_episodes"

walk_episodes = dg.define_asset_job(
    WALK_JOB,
    selection=dg.AssetSelection.assets(*STAGES, SUMMARIES).without_checks(),
    description="Take episodes of one tenant into its memory, in position order.",
)

check_memory = dg.define_asset_job(
    "check_memory",
    selection=dg.AssetSelection.checks_for_assets("facts"),
    description="Check the invariants of all tenants' memory.",
)
