"""The canonical digest of a tenant's live memory (spec G1): equal memory, equal digest.

Belongs here: hashing the lines. Does not: what a line holds (sql/queries/digest.sql).
"""

import hashlib

from memory_pipeline.adapters.postgres import Database, execute
from memory_pipeline.adapters.queries import query
from memory_pipeline.domain.ids import TenantId
from memory_pipeline.reading.scope import require_tenant

_LINES_PER_FETCH = 5_000


def digest(database: Database, tenant_id: TenantId) -> str:
    """Hex sha256 over sorted lines of content, free of ids, tenant and database clocks.

    Two tenants with the same history and recipe have the same digest, however it was imported.
    The lines are streamed. Raises `NotFoundError` for an unknown tenant.
    """
    keys = {"tenant_id": tenant_id}
    content = hashlib.sha256()
    with database.tenant(tenant_id) as connection:
        require_tenant(execute(connection, "reading_tenant", keys).fetchone(), tenant_id)
        execute(connection, "read_in_utc")
        execute(connection, "prefer_hash_joins")
        with connection.cursor(name="digest_lines") as lines:
            lines.itersize = _LINES_PER_FETCH
            lines.execute(query("digest_lines"), keys)
            for row in lines:
                content.update(row["line"].encode())
                content.update(b"\n")
    return content.hexdigest()
