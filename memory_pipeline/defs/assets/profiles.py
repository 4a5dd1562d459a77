"""Profiles of entities, renewed where facts changed; one run takes many tenants.

Belongs here: the asset, how tenants are chosen, its metadata. Does not: building
(adapters/profiles) and when it runs (defs/upkeep_profiles).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import dagster as dg

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_builder import ProfileReport
from memory_pipeline.adapters.profile_store import due_tenants, tenants_with_memory
from memory_pipeline.adapters.profiles import refresh_all_profiles, refresh_dirty_profiles
from memory_pipeline.adapters.stored_models import CallCounts
from memory_pipeline.defs.assets.side_branch import side_branch
from memory_pipeline.defs.dagster_internals import (
    log_committed_partitions,
    record_partition_metadata,
)
from memory_pipeline.defs.event_text import profiles_table
from memory_pipeline.defs.partitions import TENANT_PARTITIONS, chosen_tenants, tenant_key
from memory_pipeline.defs.resources import WalkResource
from memory_pipeline.domain.ids import TenantId

PROFILES = "profiles"
TENANTS_A_RUN = 1_000
"""Tenants that one run takes at most; the next tick takes the rest."""


class ProfileRun(dg.Config):
    """What a run without chosen partitions does: the dirty ones, or all profiles of all tenants."""

    is_full: bool = False
    max_tenants: int = TENANTS_A_RUN


@side_branch(
    PROFILES,
    after="facts",
    partitions=TENANT_PARTITIONS,
    description="A paragraph about each entity whose sentences cite facts. Partition: one "
    "tenant; one run takes many. Re-running asks only about what changed.",
)
def profiles(
    context: dg.AssetExecutionContext, config: ProfileRun, walks: WalkResource
) -> Iterator[dg.MaterializeResult[Any]]:
    """Refresh all profiles of chosen tenants, or, with no partition chosen, what is dirty anywhere.

    Without chosen partitions only tenants that had something to do get an event. What is stored
    stays when the run fails; a tenant's failed entities are counted and fail nothing.
    """
    database = walks.database()
    chosen = chosen_tenants(context)
    done = _Done(context)
    try:
        for report in _reports(database, chosen, config):
            done.add(report)
        done.raise_if_unfinished()
    except BaseException:
        log_committed_partitions(context, done.metadata())
        raise
    if chosen is None:
        log_committed_partitions(context, done.metadata())
        return
    nothing: Mapping[str, Any] = {"written": 0}
    entries = {(dg.AssetKey(PROFILES), tenant_key(tenant)): nothing for tenant in chosen}
    record_partition_metadata(context, {**entries, **done.metadata()})
    yield dg.MaterializeResult(asset_key=PROFILES)


def _reports(
    database: Database, chosen: Iterable[TenantId] | None, config: ProfileRun
) -> Iterator[ProfileReport]:
    if chosen is None and not config.is_full:
        return refresh_dirty_profiles(database, due_tenants(database, config.max_tenants))
    known = tenants_with_memory(database)
    wanted = known if chosen is None else sorted(set(known) & set(chosen))
    return refresh_all_profiles(database, wanted)


@dataclass
class _Done:
    """Sums of a run by tenant, for its events."""

    context: dg.AssetExecutionContext
    reports: dict[TenantId, list[ProfileReport]] = field(default_factory=dict)
    problem: str = ""

    def add(self, report: ProfileReport) -> None:
        """Take in one batch."""
        self.reports.setdefault(report.tenant_id, []).append(report)
        self.problem = self.problem or report.problem
        self.context.log.info(
            f"{tenant_key(report.tenant_id)}: {len(report.written)} profiles written, "
            f"{report.kept} unchanged, {report.retired} retired, {len(report.failures)} failed"
        )

    def raise_if_unfinished(self) -> None:
        """Fail a run that had to give entities back, so that it is seen; they stay due."""
        if self.problem:
            waiting = sum(r.waiting for reports in self.reports.values() for r in reports)
            raise dg.Failure(f"{waiting} profiles wait: {self.problem}", allow_retries=False)

    def metadata(self) -> dict[tuple[dg.AssetKey, str], Mapping[str, Any]]:
        """Entries by asset and partition; texts only of a run over one tenant, where allowed."""
        shows_text = len(self.reports) == 1 and environment.event_text() == "single"
        return {
            (dg.AssetKey(PROFILES), tenant_key(tenant)): _counts(reports)
            | (_texts(reports) if shows_text else {})
            for tenant, reports in self.reports.items()
        }


def _counts(reports: Iterable[ProfileReport]) -> dict[str, Any]:
    listed = list(reports)
    written = [profile for report in listed for profile in report.written]
    calls = sum((report.calls for report in listed), CallCounts())
    return {
        "written": len(written),
        "extractive": sum(profile.is_extractive for profile in written),
        "unchanged": sum(report.kept for report in listed),
        "retired": sum(report.retired for report in listed),
        "failed": sum(len(report.failures) for report in listed),
        "held": sum(report.held for report in listed),
        "waiting": sum(report.waiting for report in listed),
        "sentences": sum(profile.sentences for profile in written),
        "dropped_sentences": sum(len(profile.dropped) for profile in written),
        "calls": calls.misses,
        "cache_hits": calls.hits,
        "prompt_tokens": calls.prompt_tokens,
        "completion_tokens": calls.completion_tokens,
        "price_usd": calls.price_usd,
    }


def _texts(reports: Iterable[ProfileReport]) -> dict[str, Any]:
    written = [profile for report in reports for profile in report.written]
    return {"profiles": profiles_table(written)} if written else {}
