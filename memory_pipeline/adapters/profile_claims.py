"""Entities claimed by a builder of profiles, and what it made of each of them, as values.

Belongs here: claims and results. Does not: how they are read and stored (adapters/profile_store).
"""

from dataclasses import dataclass
from uuid import UUID

from memory_pipeline.domain.ids import EntityId, GenerationId
from memory_pipeline.domain.profile import Grounding, Profile


@dataclass(frozen=True)
class StoredProfile:
    """What is known of an entity's present profile, in use or not."""

    grounding: str
    facts_digest: str
    is_extractive: bool


@dataclass(frozen=True)
class ClaimedEntity:
    """An entity to profile. `observed` bumps are those that its grounding takes in.

    `is_out_of_use`: it means another entity now, or never gets a profile.
    """

    generation_id: GenerationId
    grounding: Grounding
    observed: int
    failed_tries: int
    is_out_of_use: bool
    stored: StoredProfile | None

    @property
    def entity_id(self) -> EntityId:
        """The entity."""
        return self.grounding.entity_id


@dataclass(frozen=True)
class Claim:
    """Entities claimed together; `embedding_profile` is that of their memory's vectors."""

    claim_id: UUID
    entities: tuple[ClaimedEntity, ...]
    embedding_profile: str = ""


@dataclass(frozen=True)
class Retire:
    """The entity has no profile any more."""

    entity: ClaimedEntity


@dataclass(frozen=True)
class Keep:
    """The profile stands as it is."""

    entity: ClaimedEntity


@dataclass(frozen=True)
class Write:
    """A new profile. `model` and its digests are None where no model wrote it."""

    entity: ClaimedEntity
    profile: Profile
    grounding: str
    facts_digest: str
    model: str | None = None
    prompt_digest: str | None = None
    request_digest: str | None = None
    vector: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Fail:
    """The profile could not be built, and that is the entity's own fault."""

    entity: ClaimedEntity
    reason: str


@dataclass(frozen=True)
class Release:
    """Nothing was done, and nobody is to blame; `is_resting`: not to be tried again at once."""

    entity: ClaimedEntity
    is_resting: bool = False


Result = Retire | Keep | Write | Fail | Release
