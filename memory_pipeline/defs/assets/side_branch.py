"""What the assets beside the walk have in common: what waits for one of them waits for nobody.

Belongs here: their decorator. Does not: what each does, and the walk (walked_episodes).
"""

from collections.abc import Callable
from typing import Any

import dagster as dg


def side_branch(
    name: str, *, after: str, partitions: dg.PartitionsDefinition[str], description: str
) -> Callable[[Callable[..., Any]], dg.AssetsDefinition]:
    """Makes an asset of a function that may leave partitions without an event.

    One run takes any number of partitions. `after` names the asset that it reads.
    """
    spec = dg.AssetSpec(
        name,
        deps=[after],
        group_name="memory",
        kinds={"postgres"},
        skippable=True,
        description=description,
    )
    return dg.multi_asset(
        name=name,
        specs=[spec],
        partitions_def=partitions,
        backfill_policy=dg.BackfillPolicy.single_run(),
    )
