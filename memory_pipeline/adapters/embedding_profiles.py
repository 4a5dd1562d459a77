"""Thresholds of embedding models as an installation keeps them, beside the vectors (spec R5).

Belongs here: adopting a measured profile before its first use, reading it. Does not: measuring
(stages/thresholds) and the shipped profiles (domain/embedding).
"""

from memory_pipeline.adapters.postgres import Database, execute
from memory_pipeline.domain.embedding import Embedder, EmbeddingProfile, find_profile
from memory_pipeline.domain.ids import TenantId

_NO_TENANT = TenantId("-")
"""Profiles belong to no tenant; the scope only gives the role that may read and add them."""


class ProfileAdoptedError(RuntimeError):
    """The installation already has other thresholds for this model."""


def profile_of(database: Database, embedder: Embedder) -> EmbeddingProfile:
    """The thresholds that hold for this embedder here: the stored ones, else the shipped ones.

    Raises ValueError when the stored vectors of this model have another number of dimensions.
    """
    shipped = find_profile(embedder.profile_id, embedder.dimensions)
    with database.tenant(_NO_TENANT) as connection:
        row = execute(connection, "stored_profile", {"profile_id": embedder.profile_id}).fetchone()
    if row is None:
        return shipped
    stored = EmbeddingProfile.model_validate(row)
    if stored.dimensions != embedder.dimensions:
        raise ValueError(
            f"{stored.profile_id} has {stored.dimensions} dimensions here, not "
            f"{embedder.dimensions}: another model answers under its name"
        )
    return stored


def adopt_profile(database: Database, profile: EmbeddingProfile) -> None:
    """Keep these thresholds for the model, from the first generation on that uses it.

    Memory never changes its thresholds midway: once a model has some here, others are refused
    with `ProfileAdoptedError`. Adopting the same ones again is harmless.
    """
    with database.tenant(_NO_TENANT) as connection:
        execute(connection, "insert_profile", profile.model_dump())
        row = execute(connection, "stored_profile", {"profile_id": profile.profile_id}).fetchone()
    if row is not None and EmbeddingProfile.model_validate(row) != profile:
        stored = EmbeddingProfile.model_validate(row)
        raise ProfileAdoptedError(
            f"this database already has thresholds for {profile.profile_id} (entity_merge "
            f"{stored.entity_merge:g}, duplicate {stored.duplicate:g}, band_low "
            f"{stored.band_low:g}): what was built with them can't change them midway, so adopt "
            "others before the first run, in a new database"
        )
