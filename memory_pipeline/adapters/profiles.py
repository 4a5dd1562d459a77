"""Profiles of tenants, as commands, runs and schedules ask for them (spec P4).

Belongs here: the three calls and the parts they open. Does not: how batches are built
(profile_builder) and when (defs).
"""

import threading
from collections.abc import Iterable, Iterator

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.generation_store import check_vector_width
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.profile_builder import (
    Batch,
    ProfileBuilder,
    ProfileParts,
    ProfileReport,
    Refused,
)
from memory_pipeline.adapters.profile_store import FIRST_ENTITY, ProfileStore
from memory_pipeline.adapters.tenant_settings import tenant_policy
from memory_pipeline.adapters.workshop import open_embedder, tenant_asker, tenant_secret
from memory_pipeline.domain.ids import EntityId, TenantId
from memory_pipeline.domain.model import ModelUnavailableError
from memory_pipeline.domain.policy import Policy, PolicyError, make_policy
from memory_pipeline.stages.profile import ProfileWriter


class NoProfileError(LookupError):
    """There is nothing to build a profile on: no such entity, or no fact about it that holds."""


class ProfileFailedError(RuntimeError):
    """The model gave no usable profile; the try is counted."""


def refresh_dirty_profiles(
    database: Database, tenant_ids: Iterable[TenantId], *, is_exhaustive: bool = False
) -> Iterator[ProfileReport]:
    """Rebuild, of each tenant, the entities that wait longest: `profile_batch_size` at most.

    With `is_exhaustive` batch after batch until nothing is due. One report for each batch that
    had something to do, as it is stored; work goes on as the iterator is read. Raises
    `BudgetExhaustedError` after storing what was done: the same call goes on from there.
    """
    yield from _builder().build(_due_batches(database, tenant_ids, is_exhaustive))


def refresh_all_profiles(
    database: Database, tenant_ids: Iterable[TenantId]
) -> Iterator[ProfileReport]:
    """Bring all profiles of the tenants up to date, batch by batch.

    An unchanged grounding makes no call, so that a refresh that was stopped, begun again, soon
    stands where it stopped. Held entities are left alone. Reports and errors as in
    `refresh_dirty_profiles`.
    """
    yield from _builder().build(_all_batches(database, tenant_ids))


def build_profile(database: Database, tenant_id: TenantId, entity_id: EntityId) -> ProfileReport:
    """Build one entity's profile now, held or not, and store it.

    Raises `NoProfileError` where nothing is visible (a profile it may have had is retired),
    `ProfileFailedError` after two bad answers, `ModelUnavailableError` and
    `BudgetExhaustedError`.
    """
    parts = open_profile_parts(database, tenant_id)
    claim = parts.store.claim_one(entity_id)
    if not claim.entities:
        raise NoProfileError(f"tenant {tenant_id!r} has no entity {entity_id}")
    (report,) = ProfileBuilder(1).build([Batch(parts, claim)])
    name = claim.entities[0].grounding.name
    if report.retired:
        raise NoProfileError(f"nothing that holds is known about {name!r}")
    if report.failures:
        raise ProfileFailedError(f"no profile of {name!r}: {report.failures[0][1]}")
    if report.waiting:
        raise ModelUnavailableError(report.problem)
    return report


def open_profile_parts(database: Database, tenant_id: TenantId) -> ProfileParts:
    """The parts for one tenant; without a configured model profiles are extractive.

    Raises `UnknownTenantError`, and `VectorWidthError` before any work when vectors won't fit.
    """
    policy = tenant_policy(database, tenant_id, {})
    embedder = open_embedder(database, tenant_id)
    check_vector_width(database, embedder)
    model = environment.fast_model()
    asker = tenant_asker(database, tenant_id) if model else None
    secret = tenant_secret(database, tenant_id) if model else b""
    return ProfileParts(
        tenant_id=tenant_id,
        store=ProfileStore(database, tenant_id, policy),
        writer=ProfileWriter(asker, model, secret, policy.profile_chars),
        embedder=embedder,
        gate=threading.BoundedSemaphore(policy.profile_build_concurrency),
        calls=asker,
    )


def _builder() -> ProfileBuilder:
    policy: Policy = make_policy(environment.setting_overrides())
    return ProfileBuilder(policy.profile_build_concurrency)


def _due_batches(
    database: Database, tenant_ids: Iterable[TenantId], is_exhaustive: bool
) -> Iterator[Batch | Refused]:
    for tenant_id in tenant_ids:
        try:
            parts = open_profile_parts(database, tenant_id)
        except PolicyError as error:
            yield Refused(tenant_id, str(error))
            continue
        while (claim := parts.store.claim_due()).entities:
            yield Batch(parts, claim)
            if not is_exhaustive:
                break


def _all_batches(database: Database, tenant_ids: Iterable[TenantId]) -> Iterator[Batch | Refused]:
    for tenant_id in tenant_ids:
        try:
            parts = open_profile_parts(database, tenant_id)
        except PolicyError as error:
            yield Refused(tenant_id, str(error))
            continue
        claim, last = parts.store.claim_next(FIRST_ENTITY)
        while last is not None:
            if claim.entities:
                yield Batch(parts, claim)
            claim, last = parts.store.claim_next(last)
