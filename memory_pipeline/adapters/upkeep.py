"""Upkeep of single tenants as assets and commands ask for it: decay, repair, insights.

Belongs here: opening the parts and settings of one tenant. Does not: what each pass does
(decay_store, repair_store, insight_store), profiles (profiles), and when (defs).
"""

from memory_pipeline.adapters.decay_store import (
    ArchivedFact,
    DecayingFact,
    archive_decayed,
    read_decaying,
)
from memory_pipeline.adapters.insight_store import InsightReport, derive_insights
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.tenant_settings import tenant_policy
from memory_pipeline.adapters.workshop import NoModelError, open_embedder, open_insight_finder
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import PolicyError
from memory_pipeline.stages.answers import BadAnswerError
from memory_pipeline.stages.walk import StalePlanError

NO_MODEL_FOR_INSIGHTS = "insights need a language model, and none is configured: none are written"
OF_ONE_TENANT = (BadAnswerError, PolicyError, StalePlanError)
"""Errors of one tenant that leave the passes over others to go on."""


def decay(database: Database, tenant_id: TenantId) -> list[ArchivedFact]:
    """Archive what faded; see `archive_decayed`."""
    return archive_decayed(database, tenant_id, tenant_policy(database, tenant_id, {}))


def decaying(database: Database, tenant_id: TenantId) -> list[DecayingFact]:
    """What will be archived and when; changes nothing."""
    return read_decaying(database, tenant_id, tenant_policy(database, tenant_id, {}))


def insights(database: Database, tenant_id: TenantId) -> InsightReport:
    """Search for insights; see `derive_insights`. Raises `NoModelError` without a model."""
    policy = tenant_policy(database, tenant_id, {})
    finder = open_insight_finder(database, tenant_id, policy)
    if finder is None:
        raise NoModelError(NO_MODEL_FOR_INSIGHTS)
    return derive_insights(database, tenant_id, finder, open_embedder(database, tenant_id), policy)
