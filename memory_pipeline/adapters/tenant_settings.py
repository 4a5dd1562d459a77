"""Settings of one tenant from all layers, and whether there is such a tenant.

Belongs here: defaults, environment, tenant row, run, in this order. Does not: what settings mean
(domain/policy). Light to import: commands need it that load no model.
"""

from collections.abc import Mapping

from memory_pipeline.adapters import environment
from memory_pipeline.adapters.conversation_store import ConversationStore
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.domain.policy import Policy, make_policy


class UnknownTenantError(LookupError):
    """No tenant of this name has any history."""


def tenant_policy(
    database: Database, tenant_id: TenantId, run_settings: Mapping[str, object]
) -> Policy:
    """Settings of one tenant: defaults, environment, tenant row, run; later layers win.

    Raises `UnknownTenantError`, and `PolicyError` for a setting out of range.
    """
    row = ConversationStore(database).tenant(tenant_id)
    if row is None:
        raise UnknownTenantError(
            f"there is no tenant {tenant_id!r}: import its history first "
            "(memory-pipeline import PATH --tenant NAME)"
        )
    return make_policy(environment.setting_overrides(), row["settings"], run_settings)
