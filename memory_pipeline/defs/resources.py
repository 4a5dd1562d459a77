"""Resources: the memory database and the workshop, made in the process that uses them.

Belongs here: run configuration and life time. Does not: choosing the parts (adapters/workshop).
"""

from functools import lru_cache

import dagster as dg

from memory_pipeline.adapters.database_urls import memory_url
from memory_pipeline.adapters.postgres import Database
from memory_pipeline.adapters.summary_writer import SummaryWriter
from memory_pipeline.adapters.tenant_walk import TenantWalk, Workshop
from memory_pipeline.adapters.workshop import open_summary_writer, open_workshop
from memory_pipeline.domain.ids import TenantId


@lru_cache(maxsize=4)
def _database(url: str) -> Database:
    return Database(url)


def memory_database() -> Database:
    """The memory database of this process; one pool, opened on first use."""
    return _database(memory_url())


class WalkResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Opens walks; run configuration may set `context_stride` for one run."""

    context_stride: int | None = None

    def database(self) -> Database:
        """The memory database."""
        return memory_database()

    def workshop(self, tenant_id: TenantId) -> Workshop:
        """The parts of one tenant's walk."""
        settings = {} if self.context_stride is None else {"context_stride": self.context_stride}
        return open_workshop(self.database(), tenant_id, settings)

    def summary_writer(self, tenant_id: TenantId) -> SummaryWriter | None:
        """Writes one tenant's summaries; None when no model is configured."""
        return open_summary_writer(self.database(), tenant_id)

    def walk(self, tenant_id: TenantId) -> TenantWalk:
        """The walk over one tenant's open episodes."""
        return TenantWalk(self.workshop(tenant_id), tenant_id)
