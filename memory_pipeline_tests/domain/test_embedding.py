"""Which thresholds a model gets."""

import pytest
from pydantic import ValidationError

from memory_pipeline.domain.embedding import (
    HASHED_NGRAMS_ID,
    MINILM_INT8_ID,
    NEVER,
    PROFILES,
    EmbeddingProfile,
    find_profile,
)


def test_a_measured_model_gets_its_own_thresholds() -> None:
    assert find_profile("all-MiniLM-L6-v2/int8/1", 384) == EmbeddingProfile(
        profile_id="all-MiniLM-L6-v2/int8/1",
        dimensions=384,
        entity_merge=0.90,
        duplicate=0.92,
        band_low=0.57,
        second_signal=0.60,
    )


def test_a_profile_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PROFILES[MINILM_INT8_ID].duplicate = 0.5  # type: ignore[misc]


def test_an_unmeasured_model_gets_the_general_thresholds() -> None:
    assert find_profile("some/model", 1536) == EmbeddingProfile(
        profile_id="some/model",
        dimensions=1536,
        entity_merge=0.88,
        duplicate=0.95,
        band_low=0.80,
        second_signal=0.85,
    )


def test_a_measured_model_of_another_width_is_refused() -> None:
    with pytest.raises(ValueError, match="384 dimensions, not 512"):
        find_profile(MINILM_INT8_ID, 512)


def test_hashed_ngrams_neither_merge_entities_nor_ask_for_a_verdict() -> None:
    profile = PROFILES[HASHED_NGRAMS_ID]
    assert profile.entity_merge == profile.band_low == profile.second_signal == NEVER
