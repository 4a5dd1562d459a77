"""Rests between runs that fail, and which runs are still under way.

Belongs here: the one rule by which sensors wait. Does not: what each sensor asks for (sensors,
upkeep_profiles).
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import takewhile

import dagster as dg

UNFINISHED = [
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

_ENDED_BADLY = (dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.CANCELED)
_RUNS_LOOKED_AT = 8
_SHORTEST_REST = timedelta(minutes=2)
_LONGEST_REST = timedelta(hours=1)


def is_resting(
    instance: dg.DagsterInstance, tags: Mapping[str, str], now: datetime, *, patience: int
) -> bool:
    """Whether more than `patience` runs with these tags failed in a row, the last too short ago.

    A wrong setting or an outage fails every run alike: without a rest each tick would add another
    one, and each would spend a budget of its own. The rest doubles with every further failure.
    """
    latest = instance.get_run_records(dg.RunsFilter(tags=dict(tags)), limit=_RUNS_LOOKED_AT)
    failed = list(takewhile(lambda r: r.dagster_run.status in _ENDED_BADLY, latest))
    if len(failed) <= patience:
        return False
    rest: timedelta = min(_SHORTEST_REST * 2 ** (len(failed) - patience - 1), _LONGEST_REST)
    return now - failed[0].update_timestamp < rest
