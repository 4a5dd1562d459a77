"""Resolution over the list of hard names, with the local model's vectors (spec R1-R4).

Belongs here: that no change makes it worse. Does not: figures for people
(bench/resolution_quality).
"""

import pytest

from memory_pipeline.adapters.local_embedder import LocalEmbedder
from memory_pipeline_tests.bench.resolution_quality import (
    NamePair,
    are_merged,
    read_pairs,
    settings_of,
)

LEAST_FOUND = 0.9
"""Of names that are one thing; in both halves more were found when this was written."""


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    pytest.importorskip("onnxruntime")
    return LocalEmbedder()


def _merged(pairs: list[NamePair], embedder: LocalEmbedder) -> list[tuple[str, str, str, bool]]:
    return [
        (pair.one, pair.other, way, are_merged(episodes, embedder))
        for pair in pairs
        for way, episodes in settings_of(pair).items()
    ]


def test_r3_no_two_different_things_of_the_list_become_one(embedder: LocalEmbedder) -> None:
    different = [pair for pair in read_pairs() if pair.label == "different"]
    assert [item for item in _merged(different, embedder) if item[3]] == []


def test_r4_most_names_of_one_thing_are_found_whichever_comes_first(
    embedder: LocalEmbedder,
) -> None:
    same = _merged([pair for pair in read_pairs() if pair.label == "same"], embedder)
    assert sum(item[3] for item in same) / len(same) >= LEAST_FOUND
