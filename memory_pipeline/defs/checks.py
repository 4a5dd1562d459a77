"""Asset checks of memory: invariants over all tenants, in SQL, naming offenders.

Belongs here: how checks show in Dagster. Does not: the invariants (reading/checks, checks.sql).
Unpartitioned on purpose: partitioned checks stay planned for ever on range runs.
"""

from collections.abc import Iterator

import dagster as dg

from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.reading.checks import CHECKS, read_check


@dg.multi_asset_check(
    specs=[
        dg.AssetCheckSpec(name, asset="facts", description=about, blocking=True)
        for name, about in CHECKS.items()
    ]
)
def memory_checks(walks: WalkResource) -> Iterator[dg.AssetCheckResult]:
    """Check every tenant; an invariant that does not hold names up to 20 tenants."""
    for name in CHECKS:
        problems = read_check(walks.database(), name)
        yield dg.AssetCheckResult(
            check_name=name,
            asset_key="facts",
            passed=not problems,
            metadata={"tenants": len(problems), "offenders": dict(sorted(problems.items())[:20])},
        )
