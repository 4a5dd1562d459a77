"""Runs started by commands, in their own process: one range of one tenant.

Belongs here: tags, lock and configuration of such a run. Does not: what it does.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import dagster as dg
from dagster_postgres.utils import DagsterPostgresException
from sqlalchemy.exc import OperationalError

from memory_pipeline.adapters.database_urls import memory_url
from memory_pipeline.adapters.environment import EnvironmentValueError
from memory_pipeline.adapters.generation_store import VectorWidthError
from memory_pipeline.adapters.models.budget import BudgetForbidsCallError
from memory_pipeline.adapters.models.endpoint import ModelConfigurationError
from memory_pipeline.adapters.tenant_walk import MissingExtractionError
from memory_pipeline.adapters.workshop import NoModelError
from memory_pipeline.defs.assets.episode_summaries import episode_summaries
from memory_pipeline.defs.assets.walked_episodes import FOLD_IO, STAGES, walked_episodes
from memory_pipeline.defs.io_managers import FoldIOManager
from memory_pipeline.defs.jobs import WALK_JOB, walk_episodes
from memory_pipeline.defs.partitions import partition_number_of, range_tags
from memory_pipeline.defs.progress import episodes_counted_by
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.defs.zombies import RUN_LOCK_TAG, hold_run_lock
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.model import BudgetExhaustedError
from memory_pipeline.domain.policy import PolicyError
from memory_pipeline.stages.heuristic_rules.parser import ParserMissingError


class WalkFailedError(RuntimeError):
    """The run failed; the message is its cause. What was committed stays.

    `is_lasting` says that running again with the same settings would end the same way.
    """

    def __init__(self, message: str, *, is_lasting: bool = False) -> None:
        super().__init__(message)
        self.is_lasting = is_lasting


class BudgetStopError(WalkFailedError):
    """The run stopped because money, tokens or quota are used up; it can go on later (X13)."""


_SPENT = {BudgetExhaustedError.__name__, BudgetForbidsCallError.__name__}
_LASTING = {
    error.__name__
    for error in (
        BudgetForbidsCallError,
        EnvironmentValueError,
        MissingExtractionError,
        ModelConfigurationError,
        NoModelError,
        ParserMissingError,
        PolicyError,
        VectorWidthError,
    )
}
_OWN_CLASS = re.compile(r"^(?:memory_pipeline\.[\w.]+|dagster\.[\w.]*Failure): ")
"""Our own errors speak for themselves; others are known by their class."""


@dataclass(frozen=True)
class RunOptions:
    """How one run differs from the usual one.

    `stage` starts at that stage, from the stored outputs of the one before; `on_folded` is called
    after each folded episode, `on_given_up` for those among them that were given up; `walks` opens
    the walks.
    """

    stage: str | None = None
    context_stride: int | None = None
    on_folded: Callable[[], None] = lambda: None
    on_given_up: Callable[[], None] = lambda: None
    walks: WalkResource | None = None


def walk_resources(walks: WalkResource | None = None) -> dict[str, object]:
    """The resources that the walk needs, by key; `walks` replaces what opens walks."""
    walks = walks or WalkResource()
    return {"walks": walks, FOLD_IO: FoldIOManager(walks.database)}


def run_walk(
    instance: dg.DagsterInstance,
    tenant_id: TenantId,
    first: int,
    last: int,
    options: RunOptions | None = None,
) -> str:
    """Walk a tenant's ordinals `first` to `last` in this process; the Dagster run id.

    Raises `WalkFailedError` with the cause when the run fails.
    """
    options = options or RunOptions()
    job = dg.Definitions(
        assets=[walked_episodes, episode_summaries],
        jobs=[walk_episodes],
        resources=walk_resources(options.walks),
    ).resolve_job_def(WALK_JOB)
    run_id = str(uuid4())
    tags = range_tags(tenant_id, partition_number_of(first), partition_number_of(last))
    with (
        hold_run_lock(memory_url(), run_id),
        episodes_counted_by(options.on_folded, options.on_given_up),
    ):
        try:
            result = job.execute_in_process(
                run_id=run_id,
                instance=instance,
                tags={**tags, RUN_LOCK_TAG: "held"},
                run_config=_run_config(options),
                asset_selection=_from_stage(options.stage),
                raise_on_error=False,
            )
        except (OperationalError, DagsterPostgresException) as error:
            raise WalkFailedError("the database went away") from error
    if not result.success:
        classes, message = _cause(result)
        failure = BudgetStopError if classes & _SPENT else WalkFailedError
        raise failure(message, is_lasting=bool(classes & _LASTING))
    return run_id


def _run_config(options: RunOptions) -> dict[str, object]:
    config: dict[str, object] = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}
    if options.context_stride is not None:
        config["resources"] = {"walks": {"config": {"context_stride": options.context_stride}}}
    return config


def _from_stage(stage: str | None) -> list[dg.AssetKey] | None:
    if stage is None:
        return None
    return [dg.AssetKey(name) for name in STAGES[STAGES.index(stage) :]]


def _cause(result: dg.ExecuteInProcessResult) -> tuple[set[str | None], str]:
    """The classes of the failed step's errors, and the innermost one in one line."""
    classes: set[str | None] = set()
    for event in result.all_events:
        if event.is_step_failure:
            error = event.step_failure_data.error
            while error is not None and error.cause is not None:
                classes.add(error.cls_name)
                error = error.cause
            if error is not None:
                message = " ".join(error.message.split())
                # Our own failures speak for themselves; other errors are known by their class.
                classes.add(error.cls_name)
                return classes, _OWN_CLASS.sub("", message)
    return classes, "the run failed before its first step"
