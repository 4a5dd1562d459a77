"""The embedder of last resort: no model, no download, no meaning.

Here: character n-grams hashed into a vector of fixed length, which finds equal and nearly equal
texts. Not here: anything that knows a language.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np

from memory_pipeline.domain.embedding import HASHED_NGRAMS_ID

_DIMENSIONS: Final = 384
_NGRAM_SIZES: Final = (2, 3, 4)


class HashedNgramEmbedder:
    """Character n-grams hashed into 384 places: equal and nearly equal texts, nothing more.

    The same text gives the same vector on every machine and in every release of this profile.
    """

    profile_id: Final = HASHED_NGRAMS_ID
    dimensions: Final = _DIMENSIONS

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit-length vector for each text, in order; letter case and spacing don't count."""
        return [self._embed_one(text) for text in texts]

    def _embed_one(self, text: str) -> list[float]:
        counts = np.zeros(self.dimensions, dtype=np.float64)
        for gram in _ngrams(text):
            place, sign = _hash_ngram(gram)
            counts[place] += sign
        length = float(np.linalg.norm(counts))
        if length == 0.0:
            # Opposite signs in the same places; any fixed direction will do.
            counts[0] = length = 1.0
        vector: list[float] = (counts / length).tolist()
        return vector


def _ngrams(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).casefold()
    padded = f" {' '.join(folded.split())} "
    for size in _NGRAM_SIZES:
        for start in range(len(padded) - size + 1):
            yield padded[start : start + size]


@lru_cache(maxsize=65_536)
def _hash_ngram(gram: str) -> tuple[int, int]:
    """Place and sign of a gram; the sign makes collisions cancel out on average."""
    digest = blake2b(gram.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    value = int.from_bytes(digest, "big")
    return (value >> 1) % _DIMENSIONS, 1 if value & 1 else -1
