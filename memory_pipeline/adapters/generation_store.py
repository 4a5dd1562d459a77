"""Generations and recipes: which build of a tenant's memory is live, and what shapes it.

Belongs here: opening the live generation, moving it on, checking that vectors fit. Does not: facts.
"""

from datetime import datetime

import psycopg
from psycopg.types.json import Jsonb

from memory_pipeline.adapters.postgres import Database, Row, RowConnection, execute
from memory_pipeline.domain.embedding import Embedder, find_profile
from memory_pipeline.domain.ids import GenerationId, TenantId, derive_id
from memory_pipeline.domain.recipe import Recipe
from memory_pipeline.stages.walk import StalePlanError

STALE_PLAN = "MP001"
"""SQLSTATE of a generation that moved on since it was read."""


class VectorWidthError(RuntimeError):
    """Stored vectors and the configured embedding model do not fit each other."""


def check_vector_width(database: Database, embedder: Embedder) -> None:
    """Fail before any work when the model's vectors do not fit the column, naming both."""
    with database.operator() as connection:
        row = execute(connection, "stored_vector_width").fetchone()
    width = row["dimensions"] if row else None
    if width != embedder.dimensions:
        raise VectorWidthError(
            f"the database stores vectors of {width} dimensions, the embedding model "
            f"{embedder.profile_id} makes {embedder.dimensions}: choose a model of that width "
            "with MEMORY_EMBEDDING_MODEL, or use another database"
        )


def open_live_generation(
    database: Database, tenant_id: TenantId, recipe: Recipe, embedder: Embedder
) -> GenerationId:
    """The tenant's live generation, made when there is none; later episodes follow `recipe`.

    Raises `VectorWidthError` when the generation's vectors come from another embedding profile:
    a generation never mixes two (spec R5). One that holds nothing yet takes the new profile.
    """
    profile = find_profile(embedder.profile_id, embedder.dimensions)
    first = GenerationId(derive_id("generation", tenant_id, "1"))
    keys = {"tenant_id": tenant_id, "recipe_id": recipe.recipe_id(), "generation_id": first}
    with database.tenant(tenant_id) as connection:
        execute(connection, "insert_profile", profile.model_dump())
        execute(
            connection, "insert_recipe", keys | {"content": Jsonb(recipe.model_dump(mode="json"))}
        )
        live = execute(connection, "live_generation", keys).fetchone()
        if live is None:
            execute(
                connection, "insert_first_generation", keys | {"profile_id": profile.profile_id}
            )
            return first
        generation_id = GenerationId(live["generation_id"])
        of_live = keys | {"generation_id": generation_id}
        if live["profile_id"] != profile.profile_id and not _adopt_profile(
            connection, of_live | {"profile_id": profile.profile_id}
        ):
            raise VectorWidthError(
                f"tenant {tenant_id}'s memory holds vectors of {live['profile_id']}, the "
                f"configured embedding model is {profile.profile_id}: set MEMORY_EMBEDDING_MODEL "
                "to the former, or rebuild the memory"
            )
        execute(connection, "adopt_recipe", of_live)
    return generation_id


def _adopt_profile(connection: RowConnection, keys: Row) -> bool:
    """Whether the generation holds no vector yet, so that its profile could be changed."""
    execute(connection, "lock_tenant", keys)
    return execute(connection, "adopt_profile", keys).rowcount > 0


def live_generation(database: Database, tenant_id: TenantId) -> GenerationId | None:
    """The tenant's live generation, None before its first run."""
    with database.tenant(tenant_id) as connection:
        row = execute(connection, "live_generation", {"tenant_id": tenant_id}).fetchone()
    return GenerationId(row["generation_id"]) if row else None


def claim_event(connection: RowConnection, keys: Row) -> datetime:
    """The known instant of a change by upkeep, with the tenant locked until it is committed.

    `keys` hold tenant, generation and the version that the change was planned on, or None for any.
    Raises `StalePlanError` when the generation is at another one.
    """
    try:
        row = execute(connection, "claim_event", keys).fetchone()
    except psycopg.Error as error:
        if error.sqlstate != STALE_PLAN:
            raise
        raise StalePlanError(str(error).strip().splitlines()[0]) from error
    known_at: datetime = (row or {})["known_at"]
    return known_at
