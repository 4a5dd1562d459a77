"""Hashed n-grams: stable vectors, near-equal texts near, everything else apart."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_pipeline.adapters.hashed_embedder import HashedNgramEmbedder
from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID, PROFILES


def _similarity(left: str, right: str) -> float:
    vectors = np.array(HashedNgramEmbedder().embed([left, right]))
    return float(vectors[0] @ vectors[1])


def test_hashed_vectors_never_change() -> None:
    vector = HashedNgramEmbedder().embed(["User works at Google"])[0]
    head = [(place, round(number, 4)) for place, number in enumerate(vector) if number][:6]
    assert head == [
        (7, 0.1313),
        (13, 0.1313),
        (14, 0.1313),
        (22, 0.1313),
        (25, 0.1313),
        (29, 0.1313),
    ]


@given(st.lists(st.text(st.characters(codec=None)), max_size=4))
def test_hashed_vectors_have_unit_length_for_any_text(texts: list[str]) -> None:
    vectors = HashedNgramEmbedder().embed(texts)
    assert [len(vector) for vector in vectors] == [384] * len(texts)
    assert [float(np.linalg.norm(vector)) for vector in vectors] == pytest.approx([1] * len(texts))


def test_hashed_vectors_ignore_case_and_spacing() -> None:
    embed = HashedNgramEmbedder().embed
    assert embed(["  User works\tat GOOGLE "]) == embed(["user works at google"])


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("user is 34 years old", "user is 35 years old"),
        ("user works at google", "user works at anthropic"),
        ("wants large screen", "prefers big display"),
        ("bob smith", "rob smith"),
    ],
)
def test_hashed_vectors_take_no_other_statement_for_a_duplicate(left: str, right: str) -> None:
    duplicate = PROFILES[HASHED_NGRAMS_ID].duplicate
    assert _similarity(left, right) < duplicate


def test_hashed_vectors_rank_a_slip_of_the_pen_above_another_statement() -> None:
    slip = _similarity("user works at google", "user work at google")
    assert slip > _similarity("user works at google", "clara likes hiking")
