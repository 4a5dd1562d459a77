"""Deterministic vectors of the scripted embedding model: a bag of words, hashed and signed.

Equal texts get equal vectors, texts that share words lie near, others at a right angle.
"""

import base64
import re
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_PLACES_PER_WORD = 6
_WORD = re.compile(r"\w+")


@lru_cache(maxsize=65_536)
def vector_of(text: str, dimensions: int) -> NDArray[np.float32]:
    """A unit vector; a text without words points along the first axis."""
    counts = np.zeros(dimensions)
    for word in _WORD.findall(text.casefold()):
        for turn in range(_PLACES_PER_WORD):
            digest = blake2b(f"{turn}:{word}".encode(), digest_size=8).digest()
            value = int.from_bytes(digest, "big")
            counts[(value >> 1) % dimensions] += 1.0 if value & 1 else -1.0
    length = float(np.linalg.norm(counts))
    if length == 0.0:
        counts[0] = length = 1.0
    return (counts / length).astype(np.float32)


def encoded(vector: NDArray[np.float32], encoding: str) -> str | list[float]:
    """The vector as base64 of 32-bit numbers, or as a list of numbers."""
    if encoding == "base64":
        return base64.b64encode(vector.astype("<f4").tobytes()).decode("ascii")
    numbers: list[float] = vector.astype(np.float64).tolist()
    return numbers
