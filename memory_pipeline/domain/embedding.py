"""What the rest of the code knows of embeddings: the port and the thresholds of each model.

Here: the Embedder protocol, how near two vectors are, embedding profiles and their registry. Not
here: any model, any rule that uses a threshold.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from pydantic import BaseModel, ConfigDict, Field

MINILM_INT8_ID: Final = "all-MiniLM-L6-v2/int8/1"
HASHED_NGRAMS_ID: Final = "hashed-ngrams/384/1"

NEVER: Final = 2.0
"""A threshold that no cosine similarity reaches: the rule it guards is switched off."""


class Embedder(Protocol):
    """Turns texts into vectors of one length, so that near in meaning is near in angle."""

    @property
    def profile_id(self) -> str:
        """Names the model, its numeric form and its revision; stored beside the vectors."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit-length vector for each text, in the order given; no texts, no vectors."""
        ...


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    """Cosine similarity of two unit vectors of one length, in [-1, 1]."""
    return sum(x * y for x, y in zip(one, other, strict=True))


class EmbeddingProfile(BaseModel):
    """Cosine similarities at which one embedding model means something.

    Scores of different models do not compare, so every model has numbers of its own and
    vectors of two profiles never meet in one generation.
    """

    model_config = ConfigDict(frozen=True)

    profile_id: str = Field(min_length=1)
    dimensions: int = Field(gt=0)
    entity_merge: float = Field(ge=0, le=NEVER, description="two names are one, vector alone")
    duplicate: float = Field(ge=0, le=NEVER, description="two statements say the same")
    band_low: float = Field(ge=0, le=NEVER, description="from here up a pair is worth judging")
    second_signal: float = Field(
        ge=0, le=NEVER, description="enough to confirm what another alias rule suggests"
    )


PROFILES: Final[Mapping[str, EmbeddingProfile]] = MappingProxyType(
    {
        profile.profile_id: profile
        for profile in (
            EmbeddingProfile(
                profile_id=MINILM_INT8_ID,
                dimensions=384,
                entity_merge=0.90,
                duplicate=0.92,
                band_low=0.57,
                second_signal=0.60,
            ),
            # Shared letters say nothing about meaning: only near-exact text counts.
            EmbeddingProfile(
                profile_id=HASHED_NGRAMS_ID,
                dimensions=384,
                entity_merge=NEVER,
                duplicate=0.98,
                band_low=NEVER,
                second_signal=NEVER,
            ),
        )
    }
)
"""The profiles that were measured, by profile id."""


def find_profile(profile_id: str, dimensions: int) -> EmbeddingProfile:
    """The measured profile of a model, or cautious general thresholds under its id.

    Raises ValueError when a measured model is said to have another number of dimensions.
    """
    measured = PROFILES.get(profile_id)
    if measured is None:
        return EmbeddingProfile(
            profile_id=profile_id,
            dimensions=dimensions,
            entity_merge=0.88,
            duplicate=0.95,
            band_low=0.80,
            second_signal=0.85,
        )
    if measured.dimensions != dimensions:
        raise ValueError(
            f"{profile_id} has {measured.dimensions} dimensions, not {dimensions}: "
            "another model answers under its name"
        )
    return measured
