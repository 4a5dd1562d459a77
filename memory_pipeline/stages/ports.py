"""What the walk needs of the outside world, as protocols that adapters fill.

Belongs here: ports used by more than one stage. Does not: their implementations.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory_pipeline.domain.changes import GenerationHead, MemoryState
from memory_pipeline.domain.claim import ResolvedClaim
from memory_pipeline.domain.conversation import Window
from memory_pipeline.domain.extraction import ExtractedGraph, KnownLists, Tier
from memory_pipeline.domain.fact import Entity
from memory_pipeline.domain.ids import FactId
from memory_pipeline.stages.resolve import NameIndex


class ExtractionError(RuntimeError):
    """An extractor could not answer for a window; the episode counts an attempt (spec E5)."""


class Extractor(Protocol):
    """Turns a window into a raw graph; one of the tiers of spec X10."""

    @property
    def version(self) -> str:
        """Names extractor and revision; part of the recipe."""
        ...

    @property
    def tier(self) -> Tier:
        """Which tier this extractor is."""
        ...

    def extract(self, window: Window, known: KnownLists) -> ExtractedGraph:
        """What the window says, before any guard. Only the user's own words count.

        Raises `ExtractionError` when there is no usable answer.
        """
        ...


@dataclass(frozen=True)
class NearnessLimits:
    """Which facts are read for a claim: those in its slot, and those that are near to it.

    Of each kind the nearest `considered` may be judged; it is told of up to `counted`.
    """

    minimum_similarity: float
    considered: int
    counted: int


class MemoryReader(Protocol):
    """Reads of one generation, each in one round trip."""

    def head(self) -> GenerationHead:
        """Where the generation stands now."""
        ...

    def name_index(self, names: Sequence[str]) -> NameIndex:
        """Exact holders of the names, with the head of the generation they were read at."""
        ...

    def nearest_entities(
        self, vectors: Mapping[str, Sequence[float]]
    ) -> dict[str, tuple[tuple[Entity, float], ...]]:
        """The entities nearest to each name, with their cosine, nearest first."""
        ...

    def neighbourhood(
        self,
        head: GenerationHead,
        claims: Sequence[ResolvedClaim],
        vectors: Mapping[str, Sequence[float]],
        limits: NearnessLimits,
    ) -> MemoryState:
        """Believed facts that can matter to the claims; `vectors` by claim ref."""
        ...

    def with_links(
        self, state: MemoryState, ending: Collection[FactId], claims: Sequence[ResolvedClaim]
    ) -> MemoryState:
        """The same state with the believed facts that decide what ends with the links `ending`.

        New links may begin at subjects of `claims`: every way to those counts too (spec W3).
        """
        ...
